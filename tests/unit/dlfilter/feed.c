// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the filter does with samples of perf, without perf. Arguments are those of --dlarg, and
 *max-strings=, max-threads=; standard input has a line for each of
 *
 *	symbol NAME START END k|u
 *	insn TIME CPU PID TID IP LENGTH IRQS CYCLES
 *	branch TIME CPU PID TID FROM TO LENGTH FLAGS
 *
 * with numbers as hexadecimal digits. Prints the number of slices and of gaps.
 */
#include <inttypes.h>
#include <string.h>

#include "args.h"
#include "code.h"

struct feeder {
	const struct symbol *symbols[100000];
	size_t nr;
	struct code_cache *code;
};

static const struct symbol *resolve(void *arg, const struct calls_event *event, uint64_t ip)
{
	struct feeder *feeder = arg;

	(void)event;
	for (size_t i = 0; i < feeder->nr; i++) {
		if (symbol_has(feeder->symbols[i], ip))
			return feeder->symbols[i];
	}
	return NULL;
}

static const char *comm(void *arg, const struct calls_event *event)
{
	(void)arg;
	return event->tid ? "task" : "swapper";
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "feed: %s\n", what);
	exit(1);
}

static void feed(struct feeder *feeder, struct calls *calls, const char *line)
{
	struct calls_event event = { 0 };
	unsigned int length, irqs;
	uint64_t start, end;
	char name[64], kind;

	if (sscanf(line, "symbol %63s %" SCNx64 " %" SCNx64 " %c", name, &start, &end, &kind) ==
	    4) {
		must(feeder->nr < ARRAY_SIZE(feeder->symbols), "too many symbols");
		feeder->symbols[feeder->nr++] =
			code_symbol(feeder->code, name, start, end, kind == 'k');
		return;
	}
	if (sscanf(line, "insn %" SCNx64 " %x %x %x %" SCNx64 " %x %x %" SCNx64, &event.time,
		   (unsigned int *)&event.cpu, (unsigned int *)&event.pid,
		   (unsigned int *)&event.tid, &event.from, &length, &irqs, &event.cycles) == 8) {
		event.flags = CALLS_INSN;
		event.insns = 1;
		event.irqs = (enum irq_change)irqs;
	} else {
		must(sscanf(line, "branch %" SCNx64 " %x %x %x %" SCNx64 " %" SCNx64 " %x %x",
			    &event.time, (unsigned int *)&event.cpu, (unsigned int *)&event.pid,
			    (unsigned int *)&event.tid, &event.from, &event.to, &length,
			    &event.flags) == 8,
		     line);
	}
	event.length = (uint8_t)length;
	calls_add(calls, &event);
}

/* Takes the arguments that are of this program only. */
static int take_limits(struct args *args, int argc, char **argv)
{
	int nr = 0;

	for (int i = 0; i < argc; i++) {
		unsigned int number;

		if (sscanf(argv[i], "max-strings=%u", &number) == 1)
			args->timeline.max_strings = (uint16_t)number;
		else if (sscanf(argv[i], "max-threads=%u", &number) == 1)
			args->timeline.max_threads = (uint8_t)number;
		else
			argv[nr++] = argv[i];
	}
	return nr;
}

int main(int argc, char **argv)
{
	static struct feeder feeder;
	struct args args, limits = { 0 };
	struct timeline *timeline;
	struct names *names;
	struct calls *calls;
	char *why = NULL;
	char line[256];
	uint64_t at;
	int r;

	argc = take_limits(&limits, argc - 1, argv + 1);
	r = args_parse(&args, argc, argv + 1, &why);
	must(!r, why);
	args.timeline.max_strings = limits.timeline.max_strings;
	args.timeline.max_threads = limits.timeline.max_threads;
	args.calls.resolve = resolve;
	args.calls.comm = comm;
	args.calls.arg = &feeder;
	must(!names_new(&names) && !code_cache_new(&feeder.code, names) &&
		     !timeline_new(&timeline, &args.timeline, names) &&
		     !calls_new(&calls, &args.calls, timeline, names),
	     "no memory");
	while (fgets(line, sizeof(line), stdin) && *line != '\n')
		feed(&feeder, calls, line);
	r = calls_finish(calls, &at);
	if (!r)
		r = timeline_finish(timeline, at);
	must(!r, strerror(-r));
	printf("%" PRIu64 " %" PRIu64 "\n", timeline_slices(timeline), calls_gaps(calls));
	calls_free(calls);
	timeline_free(timeline);
	code_cache_free(feeder.code);
	names_free(names);
	return 0;
}
