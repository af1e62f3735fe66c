// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the filter does with samples of perf, without perf. Arguments are those of --dlarg, and
 *max-strings=, max-threads=; standard input has a line for each of
 *
 *	symbol NAME START END k|u
 *	comm TIME TID NAME
 *	insn TIME CPU PID TID IP LENGTH IRQS CYCLES
 *	branch TIME CPU PID TID FROM TO LENGTH FLAGS
 *
 * with numbers as hexadecimal digits; names of a task before what it does, in their order. Prints
 *the number of slices and of gaps.
 *
 * With events=FILE these lines are written there, for slices of one trace; with slice=FILE,NEXT,END
 * for each of them they are put together, and nothing is read.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "args.h"
#include "merge.h"
#include "stream.h"

struct comm {
	uint64_t time;
	int tid;
	char name[16];
};

struct feeder {
	const struct symbol *symbols[100000];
	size_t nr;
	struct comm comms[1000];
	size_t nr_comms;
	struct code_cache *code;
	struct calls *calls;
	struct stream_writer *events; /* or NULL */
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
	const struct feeder *feeder = arg;

	for (size_t i = feeder->nr_comms; i--;) {
		const struct comm *comm = &feeder->comms[i];

		if (comm->tid == event->tid && comm->time <= event->time)
			return comm->name;
	}
	return event->tid ? "task" : "swapper";
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "feed: %s\n", what);
	exit(1);
}

static uint32_t place(struct feeder *feeder, const struct calls_event *event, uint64_t ip)
{
	struct code *code = code_find(feeder->code, ip, -1);
	bool insn = ip == event->from && !(event->flags & CALLS_ASYNC);

	if (!ip)
		return 0;
	if (insn && (code->length != event->length || code->irqs != event->irqs))
		code->place = 0;
	if (insn) {
		code->has_insn = true;
		code->length = event->length;
		code->irqs = event->irqs;
	}
	code->symbol = resolve(feeder, event, ip);
	return stream_place(feeder->events, code);
}

static void add(struct feeder *feeder, const struct calls_event *event)
{
	uint32_t from;

	if (!feeder->events) {
		calls_add(feeder->calls, event);
		return;
	}
	from = place(feeder, event, event->from);
	stream_write(feeder->events, event, from, place(feeder, event, event->to), comm, feeder);
}

static bool add_comm(struct feeder *feeder, const char *line)
{
	struct comm *comm = &feeder->comms[feeder->nr_comms];

	must(feeder->nr_comms < ARRAY_SIZE(feeder->comms), "too many names");
	if (sscanf(line, "comm %" SCNx64 " %x %15s", &comm->time, (unsigned int *)&comm->tid,
		   comm->name) != 3)
		return false;
	feeder->nr_comms++;
	return true;
}

static void feed(struct feeder *feeder, const char *line)
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
	if (add_comm(feeder, line))
		return;
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
	add(feeder, &event);
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

static void write_piece(struct merge *merge, int number)
{
	FILE *file = tmpfile();
	int status;
	pid_t pid;

	must(!!file, "no file");
	pid = fork();
	if (!pid)
		_exit(!!merge_write(merge, file));
	must(pid > 0 && !merge_leave_out(merge, NULL, NULL), "cannot leave out");
	must(waitpid(pid, &status, 0) == pid && !status, "cannot write");
	must(!merge_put(merge, number, dup(fileno(file))), "cannot put");
	fclose(file);
}

static void put_together(struct args *args, int nr, char **words)
{
	uint64_t slices, gaps, next, end;
	struct merge *merge;
	char path[4096];

	args->timeline.copying.processes = 3;
	must(!merge_new(&merge, args), "no memory");
	for (int i = 0; i < nr; i++) {
		int r;

		must(sscanf(words[i], "slice=%4095[^,],%" SCNu64 ",%" SCNu64, path, &next, &end) ==
			     3,
		     words[i]);
		r = merge_slice(merge, path, next, end);
		must(!r, r == -ESTALE ? "slices do not fit" : strerror(-r));
		write_piece(merge, i);
	}
	must(!merge_finish(merge, &slices, &gaps), "cannot finish");
	merge_free(merge);
	printf("%" PRIu64 " %" PRIu64 "\n", slices, gaps);
}

static void read_lines(struct feeder *feeder)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin) && *line != '\n')
		feed(feeder, line);
}

static void make_timeline(struct feeder *feeder, struct args *args, struct names *names)
{
	struct timeline *timeline;
	uint64_t at;
	int r;

	args->calls.resolve = resolve;
	args->calls.comm = comm;
	args->calls.arg = feeder;
	must(!timeline_new(&timeline, &args->timeline, names) &&
		     !calls_new(&feeder->calls, &args->calls, timeline, names),
	     "no memory");
	read_lines(feeder);
	r = calls_finish(feeder->calls, &at);
	if (!r)
		r = timeline_finish(timeline, at);
	must(!r, strerror(-r));
	printf("%" PRIu64 " %" PRIu64 "\n", timeline_slices(timeline), calls_gaps(feeder->calls));
	calls_free(feeder->calls);
	timeline_free(timeline);
}

static void write_events(struct feeder *feeder, const char *path, struct names *names)
{
	must(!stream_writer_new(&feeder->events, path, names), path);
	read_lines(feeder);
	must(!stream_writer_finish(feeder->events), path);
	stream_writer_free(feeder->events);
}

int main(int argc, char **argv)
{
	static struct feeder feeder;
	struct args args, limits = { 0 };
	int nr_slices = 0, r;
	struct names *names;
	char *why = NULL;

	argc = take_limits(&limits, argc - 1, argv + 1);
	while (nr_slices < argc && !strncmp(argv[1 + nr_slices], "slice=", strlen("slice=")))
		nr_slices++;
	r = args_parse(&args, argc - nr_slices, argv + 1 + nr_slices, &why);
	must(!r, why);
	args.timeline.max_strings = limits.timeline.max_strings;
	args.timeline.max_threads = limits.timeline.max_threads;
	if (nr_slices) {
		put_together(&args, nr_slices, argv + 1);
		return 0;
	}
	must(!names_new(&names) && !code_cache_new(&feeder.code, names), "no memory");
	if (args.events)
		write_events(&feeder, args.events, names);
	else
		make_timeline(&feeder, &args, names);
	code_cache_free(feeder.code);
	names_free(names);
	return 0;
}
