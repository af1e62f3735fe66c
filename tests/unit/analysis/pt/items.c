// SPDX-License-Identifier: GPL-2.0-only
/* Prints the decoder's items ("items"), their branches in perf script's format ("branches"), or
 * sums
 * ("counts"); the items if joined segments are decoded as one ("whole"); the sums until decoding is
 * stopped ("stopped"); or the sums of runs ("runs"). $BUILDID_DIR has copies of files.
 *
 * usage: items items|branches|counts|whole|stopped|runs PERF.DATA [SYMFS [THREADS [BEGIN END]]] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/code.h"
#include "end_names.h"
#include "pt/blocks.h"
#include "pt/decode.h"
#include "pt/trace.h"
#include "util.h"

static volatile sig_atomic_t stop;
static uint64_t nr_insns, nr_branches, nr_errors, nr_calls, nr_returns, nr_cycles;

static void print_item(const struct decode_item *item)
{
	char text[128];

	printf("%d %d/%d %" PRIu64 " ", item->cpu, item->pid, item->tid, item->time);
	if (item->kind == DECODE_ERROR) {
		decode_error_text(item->error, item->from, text, sizeof(text));
		printf("error %" PRIu64 " %s\n", item->offset, text);
		return;
	}
	if (item->kind == DECODE_BEGIN)
		printf("begin");
	else if (item->code)
		printf("%" PRIx64 " %" PRIx64 " %u %s", item->code->first, item->code->last,
		       item->code->insns, end_names[item->end]);
	else
		printf("- %s", end_names[item->end]);
	printf(" %" PRIx64 " %" PRIx64 " %u%s\n", item->to, item->from, item->cycles,
	       item->kind == DECODE_BLOCK && item->untraced == UNTRACED_SMI ? " SMI" : "");
}

/* The last executed instruction; for an interrupt, the next one. */
static void print_branch(const struct decode_item *item)
{
	uint64_t from = item->kind == DECODE_BLOCK && item->code ? item->code->last : 0;

	if (item->kind == DECODE_ERROR || item->end == DECODE_LOST ||
	    (item->kind == DECODE_BLOCK && item->end == DECODE_ON))
		return;
	if (item->from)
		from = item->from;
	if (item->end == DECODE_OVERFLOW)
		from = 0;
	if (from || item->to)
		printf("%" PRIx64 " %" PRIx64 " %" PRIu64 " %d %d\n", from, item->to, item->time,
		       item->tid, item->cpu);
}

static void count(const struct decode_item *item)
{
	nr_errors += item->kind == DECODE_ERROR;
	nr_cycles += item->cycles;
	if (item->kind != DECODE_BLOCK)
		return;
	nr_insns += item->insns;
	nr_branches += item->end != DECODE_ON && item->end != DECODE_LOST;
	nr_calls += item->end == DECODE_CALL;
	nr_returns += item->end == DECODE_RETURN;
}

/* What decode_new() opens. */
struct parts {
	struct perfdata_file file;
	struct sideband *sideband;
	struct trace *trace;
	struct code *code;
	struct code_view *view;
	struct blocks_env env;
};

static int open_parts(struct parts *parts, const struct decode_opts *opts)
{
	struct code_opts code_opts = { .data = opts->data,
				       .buildid_dir = opts->buildid_dir,
				       .symfs = opts->symfs };
	_cleanup_free_ char *folder = NULL;
	_cleanup_free_ char *why = NULL;
	uint64_t switch_to = 0, end;
	int fd = open(opts->data, O_RDONLY | O_CLOEXEC);

	if (asprintf(&folder, "%s/data", opts->data) > 0 && !access(folder, R_OK))
		fd = open(folder, O_RDONLY | O_CLOEXEC);
	if (perfdata_map(&parts->file, fd) || sideband_new(&parts->sideband, &parts->file, &why) ||
	    trace_new(&parts->trace, &parts->file, parts->sideband, &why))
		return -EINVAL;
	code_opts.sideband = parts->sideband;
	if (code_new(&parts->code, &code_opts, &why) || code_view_new(&parts->view, parts->code))
		return -EINVAL;
	(void)code_kernel_symbol(parts->code, "__switch_to", &switch_to, &end);
	blocks_env_init(&parts->env, parts->sideband, switch_to);
	close(fd);
	return 0;
}

static int print_segment(struct parts *parts, const struct trace_queue *queue,
			 const struct trace_segment *segment)
{
	struct decode_item items[512];
	struct blocks *blocks;
	int r = blocks_new(&blocks, &parts->env, queue, segment, NULL);

	while (!r && !blocks_done(blocks)) {
		size_t nr = 0;

		r = blocks_read(blocks, parts->view, items, ARRAY_SIZE(items), &nr);
		for (size_t i = 0; i < nr; i++)
			print_item(&items[i]);
	}
	blocks_free(blocks);
	return r;
}

static int print_whole(const struct decode_opts *opts)
{
	struct parts parts = { 0 };
	int r = open_parts(&parts, opts);

	for (size_t i = 0; !r && i < trace_nr_queues(parts.trace); i++) {
		const struct trace_queue *queue = trace_queue(parts.trace, i);
		struct trace_segment first, next;
		bool more = trace_seek_segment(queue, 0, &first);

		while (!r && more) {
			next = first;
			while ((more = trace_next_segment(queue, &next)) && next.joined &&
			       next.begin == first.end)
				first.end = next.end;
			r = print_segment(&parts, queue, &first);
			first = next;
		}
	}
	code_view_free(parts.view);
	code_free(parts.code);
	trace_free(parts.trace);
	sideband_free(parts.sideband);
	perfdata_unmap(&parts.file);
	return r;
}

int main(int argc, char **argv)
{
	const struct decode_opts opts = {
		.data = argc > 2 ? argv[2] : "",
		.buildid_dir = getenv("BUILDID_DIR"),
		.symfs = argc > 3 && *argv[3] ? argv[3] : NULL,
		.cpu = -1,
		.threads = argc > 4 ? (unsigned int)atoi(argv[4]) : 1,
		.begin = argc > 6 ? strtoull(argv[5], NULL, 10) : 0,
		.end = argc > 6 ? strtoull(argv[6], NULL, 10) : 0,
		.runs = argc > 1 && !strcmp(argv[1], "runs"),
		.stop = &stop,
	};
	void (*use)(const struct decode_item *item) = count;
	_cleanup_free_ char *why = NULL;
	const struct decode_item *items;
	struct decode *decode;
	struct decode_stats stats;
	size_t nr;
	int r;

	if (argc > 1 && !strcmp(argv[1], "whole"))
		return print_whole(&opts) != 0;
	r = decode_new(&decode, &opts, &why);

	if (r) {
		fprintf(stderr, "%s\n", why ? why : strerror(-r));
		return 1;
	}
	if (!strcmp(argv[1], "items"))
		use = print_item;
	else if (!strcmp(argv[1], "branches"))
		use = print_branch;
	while (!(r = decode_next(decode, &items, &nr)) && nr) {
		for (size_t i = 0; i < nr; i++)
			use(&items[i]);
		stop = !strcmp(argv[1], "stopped");
	}
	decode_stats(decode, &stats);
	if (use == count)
		printf("%" PRIu64 " instructions, %" PRIu64 " branches, %" PRIu64 " calls, %" PRIu64
		       " returns, %" PRIu64 " cycles, %" PRIu64 " errors; %" PRIu64
		       " segments, %" PRIu64 " bytes, %" PRIu64 " overflows; %s\n",
		       nr_insns, nr_branches, nr_calls, nr_returns, nr_cycles, nr_errors,
		       stats.segments, stats.bytes, stats.overflows, stats.first_error);
	decode_free(decode);
	return r != (stop ? -ECANCELED : 0);
}
