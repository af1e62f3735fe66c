/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Synthetic programs for struct calls. Standard input has a line for each of
 *
 *	symbol NAME START END k|u
 *	comm TIME TID NAME
 *	begin TIME CPU PID TID TO
 *	insn TIME CPU PID TID IP LENGTH IRQS CYCLES BRANCH TO
 *	event TIME CPU PID TID FROM END TO
 *	error TIME CPU PID TID FROM END 0
 *
 * with numbers as hexadecimal digits; names of a task before what it does, in their order. IRQS,
 * BRANCH and END are the values of enum irq_change, code_branch and decode_end; with FEEDER_WAITS
 *in IRQS the instruction waits for an interrupt. A branch to 0 is one to untraced code.
 */
#ifndef TEST_FEEDER_H
#define TEST_FEEDER_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls/calls.h"
#include "code/code.h"
#include "code/names.h"
#include "pt/decode.h"

#define FEEDER_ITEMS 50
#define FEEDER_WAITS 0x10

struct feeder_comm {
	uint64_t time;
	int tid;
	char name[16];
};

/* Stands in for the decoder. */
struct decode {
	struct symbol symbols[100000], unknown;
	size_t nr;
	struct feeder_comm comms[1000];
	size_t nr_comms;
};

struct feeder {
	struct decode decode;
	struct names *names;
	struct calls *calls;
	struct decode_item items[FEEDER_ITEMS];
	struct code_block blocks[FEEDER_ITEMS];
	struct code_row rows[FEEDER_ITEMS];
	size_t nr;
};

static inline void feeder_must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "feed: %s\n", what);
	exit(1);
}

const struct symbol *decode_symbol(struct decode *decode, const struct decode_item *item,
				   uint64_t ip)
{
	for (size_t i = 0; i < decode->nr; i++) {
		if (symbol_contains(&decode->symbols[i], ip))
			return &decode->symbols[i];
	}
	return &decode->unknown;
}

const char *decode_thread_name(struct decode *decode, int tid, uint64_t time)
{
	for (size_t i = decode->nr_comms; i--;) {
		const struct feeder_comm *comm = &decode->comms[i];

		if (comm->tid == tid && comm->time <= time)
			return comm->name;
	}
	return tid ? "task" : NULL;
}

static inline bool feeder_symbol(struct feeder *feeder, const char *line)
{
	struct symbol *symbol = &feeder->decode.symbols[feeder->decode.nr];
	char name[64], kind;

	if (sscanf(line, "symbol %63s %" SCNx64 " %" SCNx64 " %c", name, &symbol->start,
		   &symbol->end, &kind) != 4)
		return false;
	feeder_must(++feeder->decode.nr < ARRAY_SIZE(feeder->decode.symbols), "too many symbols");
	symbol->text = strdup(name);
	feeder_must(!!symbol->text, "no memory");
	symbol->kernel = kind == 'k';
	code_number_names(symbol, feeder->names);
	return true;
}

static inline bool feeder_comm(struct feeder *feeder, const char *line)
{
	struct feeder_comm *comm = &feeder->decode.comms[feeder->decode.nr_comms];

	feeder_must(feeder->decode.nr_comms < ARRAY_SIZE(feeder->decode.comms), "too many names");
	if (sscanf(line, "comm %" SCNx64 " %x %15s", &comm->time, (unsigned int *)&comm->tid,
		   comm->name) != 3)
		return false;
	feeder->decode.nr_comms++;
	return true;
}

static inline void feeder_flush(struct feeder *feeder)
{
	calls_add(feeder->calls, feeder->items, feeder->nr);
	feeder->nr = 0;
}

/* One instruction, and where its branch goes. */
static inline void feeder_insn(struct feeder *feeder, struct decode_item *item,
			       const unsigned int *words)
{
	static const uint8_t ends[] = {
		[CODE_NO_BRANCH] = DECODE_ON,  [CODE_JUMP] = DECODE_JUMP,
		[CODE_COND] = DECODE_JUMP,     [CODE_CALL] = DECODE_CALL,
		[CODE_RETURN] = DECODE_RETURN, [CODE_SYSCALL] = DECODE_SYSCALL,
		[CODE_SYSRET] = DECODE_SYSRET, [CODE_IRET] = DECODE_IRET,
		[CODE_VM_ENTRY] = DECODE_JUMP,
	};
	unsigned int length = words[0], irqs = words[1] & ~FEEDER_WAITS, branch = words[3];
	bool waits = words[1] & FEEDER_WAITS;
	struct code_block *block = &feeder->blocks[feeder->nr];
	struct code_row *row = &feeder->rows[feeder->nr];

	feeder_must(branch < ARRAY_SIZE(ends), "no such branch");
	*row = (struct code_row){
		.first = item->first,
		.last = item->first,
		.symbol = decode_symbol(&feeder->decode, item, item->first),
		.insns = 1,
		.irqs = (uint8_t)irqs,
	};
	*block = (struct code_block){
		.first = item->first,
		.last = item->first,
		.rows = row,
		.nr_rows = 1,
		.symbol = irqs == IRQ_SAME && !waits ? row->symbol : NULL,
		.insns = 1,
		.length = (uint8_t)length,
		.branch = (uint8_t)branch,
		.waits = waits,
	};
	item->code = block;
	item->insns = 1;
	item->cycles = words[2];
	item->end = branch && !item->to ? DECODE_DISABLED : ends[branch];
}

static inline void feeder_line(struct feeder *feeder, const char *line)
{
	struct decode_item *item = &feeder->items[feeder->nr];
	unsigned int words[4];
	char kind[8];
	int at = 0;

	if (feeder_symbol(feeder, line) || feeder_comm(feeder, line))
		return;
	*item = (struct decode_item){ .kind = DECODE_BLOCK };
	feeder_must(sscanf(line, "%7s %" SCNx64 " %x %x %x %" SCNx64 "%n", kind, &item->time,
			   (unsigned int *)&item->cpu, (unsigned int *)&item->pid,
			   (unsigned int *)&item->tid, &item->from, &at) == 6,
		    line);
	if (!strcmp(kind, "begin")) {
		item->kind = DECODE_BEGIN;
		item->to = item->from;
		item->from = 0;
	} else if (sscanf(line + at, "%x %x %x %x %" SCNx64, words, words + 1, words + 2, words + 3,
			  &item->to) == 5) {
		item->first = item->from;
		item->from = 0;
		feeder_insn(feeder, item, words);
	} else {
		feeder_must(sscanf(line + at, "%x %" SCNx64, words, &item->to) == 2, line);
		item->end = (uint8_t)words[0];
	}
	if (!strcmp(kind, "error"))
		item->kind = DECODE_ERROR;
	if (++feeder->nr == FEEDER_ITEMS)
		feeder_flush(feeder);
}

/* Reads all input. Prints the numbers of slices and gaps if requested; returns as
 * timeline_finish(). */
static inline int feeder_run(struct feeder *feeder, struct calls_opts *calls,
			     const struct timeline_opts *opts, bool print)
{
	struct timeline *timeline;
	char line[256];
	uint64_t at, gaps;
	int r;

	calls->decode = &feeder->decode;
	feeder->decode.unknown.name = feeder->decode.unknown.base =
		names_add(feeder->names, "[unknown]");
	feeder_must(!timeline_new(&timeline, opts, feeder->names) &&
			    !calls_new(&feeder->calls, calls, timeline, feeder->names),
		    "no memory");
	while (fgets(line, sizeof(line), stdin) && *line != '\n')
		feeder_line(feeder, line);
	feeder_flush(feeder);
	r = calls_finish(feeder->calls, &at, &gaps) ?: timeline_finish(timeline, at);
	if (!r && print)
		printf("%" PRIu64 " %" PRIu64 "\n", timeline_slices(timeline), gaps);
	calls_free(feeder->calls);
	timeline_free(timeline);
	return r;
}

#endif
