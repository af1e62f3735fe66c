// SPDX-License-Identifier: GPL-2.0-only
/* For perf script --dlfilter: from perf's samples of Intel PT to a file for Perfetto. */
#include <perf/perf_dlfilter.h>
#include <string.h>

#include "args.h"
#include "stream.h"

#define PROGRESS_EVENTS 65536
#define KERNEL_BIT (UINT64_C(1) << 63)
#define INSN_LENGTH_MAX 15
#define VISIBLE __attribute__((visibility("default")))

struct filter {
	struct args args;
	struct names *names;
	struct timeline *timeline;
	struct calls *calls;
	struct code_cache *code;
	struct stream_writer *events; /* what is written instead; or NULL */
	/* Instructions in a row: they are passed on as one event, after what is at hand by then. */
	struct {
		struct calls_event event; /* none, if that has no instructions */
		const struct symbol *symbol;
		uint32_t place;
	} row;
	int cpu, tid; /* of the sample before */
	/* Of the sample that is at hand. */
	void *ctx;
	/* Events have few names, which are perf's own: that was looked at last, and before. */
	struct {
		const char *name;
		enum { OTHER, INSN, BRANCH } kind;
	} event, event_before;
	bool has_insns;
	uint64_t samples;
};

/* Perf fills it in. */
VISIBLE struct perf_dlfilter_fns perf_dlfilter_fns;

static int complain(const char *what, int r)
{
	fprintf(stderr, "perf-poke-fxt: %s%s%s\n", what, r ? ": " : "", r ? strerror(-r) : "");
	return -1;
}

static void release(struct filter *filter)
{
	calls_free(filter->calls);
	timeline_free(filter->timeline);
	code_cache_free(filter->code);
	names_free(filter->names);
	stream_writer_free(filter->events);
	free(filter);
}

static const struct symbol *ask_symbol(struct filter *filter, uint64_t ip)
{
	struct perf_dlfilter_al al = { .size = sizeof(al) };
	char name[256];
	const char *base;
	uint64_t start;

	if (perf_dlfilter_fns.resolve_address(filter->ctx, ip, &al))
		return NULL;
	if (al.sym) {
		start = ip - al.symoff;
		return code_symbol(filter->code, al.sym, start, start + (al.sym_end - al.sym_start),
				   al.is_kernel_ip);
	}
	if (!al.dso)
		return NULL;
	base = strrchr(al.dso, '/');
	snprintf(name, sizeof(name), "[%s]", base ? base + 1 : al.dso);
	return code_symbol(filter->code, name, 0, 0, al.is_kernel_ip);
}

static struct code *find_code(struct filter *filter, const struct calls_event *event, uint64_t ip)
{
	return code_find(filter->code, ip, ip & KERNEL_BIT ? -1 : event->pid);
}

static struct code *know_code(struct filter *filter, const struct calls_event *event, uint64_t ip)
{
	struct code *code = find_code(filter, event, ip);

	if (!code->used) {
		code->symbol = ask_symbol(filter, ip);
		code->used = true;
	}
	return code;
}

static const struct symbol *resolve(void *arg, const struct calls_event *event, uint64_t ip)
{
	struct filter *filter = arg;

	/* Perf is at another sample by now. */
	if (event == &filter->row.event)
		return filter->row.symbol;
	return know_code(filter, event, ip)->symbol;
}

static const char *comm(void *arg, const struct calls_event *event)
{
	struct filter *filter = arg;
	const struct perf_dlfilter_al *al = perf_dlfilter_fns.resolve_ip(filter->ctx);

	(void)event;
	return al ? al->comm : NULL;
}

static int begin(struct filter *filter, char **why)
{
	int argc = 0;
	char **argv = perf_dlfilter_fns.args(filter->ctx, &argc);
	int r;

	r = args_parse(&filter->args, argc, argv, why);
	if (!r)
		r = names_new(&filter->names);
	if (!r)
		r = code_cache_new(&filter->code, filter->names);
	if (!r && filter->args.events)
		return stream_writer_new(&filter->events, filter->args.events, filter->names);
	if (!r)
		r = timeline_new(&filter->timeline, &filter->args.timeline, filter->names);
	if (r)
		return r;
	filter->args.calls.resolve = resolve;
	filter->args.calls.comm = comm;
	filter->args.calls.arg = filter;
	return calls_new(&filter->calls, &filter->args.calls, filter->timeline, filter->names);
}

VISIBLE int start(void **data, void *ctx)
{
	struct filter *filter = calloc(1, sizeof(*filter));
	_cleanup_free_ char *why = NULL;
	int r;

	if (!filter)
		return complain("start", -ENOMEM);
	filter->ctx = ctx;
	r = begin(filter, &why);
	if (r) {
		complain(why ?: filter->args.output ?: filter->args.events ?: "start", why ? 0 : r);
		release(filter);
		return -1;
	}
	*data = filter;
	return 0;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return s && !strncmp(s, prefix, strlen(prefix));
}

static void choose_event(struct filter *filter, const char *name)
{
	typeof(filter->event) event = filter->event_before;

	if (event.name != name) {
		event.name = name;
		event.kind = OTHER;
		if (has_prefix(name, "instructions"))
			event.kind = INSN;
		else if (has_prefix(name, "branches"))
			event.kind = BRANCH;
	}
	filter->event_before = filter->event;
	filter->event = event;
}

static uint32_t convert_flags(uint32_t flags)
{
	static const struct {
		uint32_t perf, ours;
	} table[] = {
		{ PERF_DLFILTER_FLAG_CALL, CALLS_CALL },
		{ PERF_DLFILTER_FLAG_RETURN, CALLS_RETURN },
		{ PERF_DLFILTER_FLAG_ASYNC, CALLS_ASYNC },
		{ PERF_DLFILTER_FLAG_INTERRUPT, CALLS_INTERRUPT },
		{ PERF_DLFILTER_FLAG_SYSCALLRET, CALLS_SYSCALL },
		{ PERF_DLFILTER_FLAG_TRACE_BEGIN, CALLS_TRACE_BEGIN },
		{ PERF_DLFILTER_FLAG_TRACE_END, CALLS_TRACE_END },
	};
	uint32_t ours = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (flags & table[i].perf)
			ours |= table[i].ours;
	}
	return ours;
}

/* The instruction itself, from perf: what is interrupted has not been executed. */
static void add_insn(struct filter *filter, struct calls_event *event)
{
	struct code *code = find_code(filter, event, event->from);
	const uint8_t *bytes;
	uint32_t length = 0;

	if (!code->has_insn) {
		bytes = perf_dlfilter_fns.insn(filter->ctx, &length);
		code->irqs = bytes ? code_irqs(bytes, length) : IRQ_SAME;
		code->length = bytes && length < 16 ? (uint8_t)length : 0;
		code->has_insn = true;
	}
	event->length = code->length;
	event->irqs = code->irqs;
}

static uint32_t place_of(struct filter *filter, const struct calls_event *event, uint64_t ip)
{
	return ip ? stream_place(filter->events, know_code(filter, event, ip)) : 0;
}

static void pass_on(struct filter *filter, const struct calls_event *event)
{
	uint32_t from;

	if (!filter->events) {
		calls_add(filter->calls, event);
		return;
	}
	from = place_of(filter, event, event->from);
	stream_write(filter->events, event, from, place_of(filter, event, event->to), comm, filter);
}

static void pass_row(struct filter *filter)
{
	struct calls_event *event = &filter->row.event;

	if (!event->insns)
		return;
	if (filter->events)
		stream_write(filter->events, event, filter->row.place, 0, comm, filter);
	else
		calls_add(filter->calls, event);
	event->insns = 0;
}

static bool continues_row(struct filter *filter, const struct calls_event *event)
{
	const struct calls_event *row = &filter->row.event;
	const struct symbol *symbol = filter->row.symbol;
	uint64_t last = row->last ?: row->from;

	return row->insns && event->irqs == IRQ_SAME && event->time == row->time &&
	       event->pid == row->pid && event->from > last &&
	       event->from - last <= INSN_LENGTH_MAX &&
	       event->from - row->from < CALLS_STRAIGHT_MAX &&
	       ((symbol && symbol_has(symbol, event->from)) ||
		know_code(filter, event, event->from)->symbol == symbol);
}

/* Of those in a row, all but what they count says nothing new. */
static void add_insns(struct filter *filter, const struct calls_event *event, bool other)
{
	struct calls_event *row = &filter->row.event;

	if (!other && continues_row(filter, event)) {
		row->last = event->from;
		row->insns += event->insns;
		row->cycles += event->cycles;
		return;
	}
	pass_row(filter);
	/* The name of a task that is new must be asked for now. */
	if (other || event->irqs != IRQ_SAME || !event->insns) {
		pass_on(filter, event);
		return;
	}
	*row = *event;
	filter->row.symbol = know_code(filter, event, event->from)->symbol;
	filter->row.place = filter->events ? place_of(filter, event, event->from) : 0;
}

static void add_sample(struct filter *filter, const struct perf_dlfilter_sample *sample)
{
	struct calls_event event = {
		.time = sample->time,
		.cpu = sample->cpu < 0 ? 0 : sample->cpu,
		.pid = sample->pid,
		.tid = sample->tid,
		.flags = convert_flags(sample->flags),
		.from = sample->ip,
	};
	bool other = event.cpu != filter->cpu || event.tid != filter->tid;

	filter->cpu = event.cpu;
	filter->tid = event.tid;
	if (filter->event.kind == INSN) {
		filter->has_insns = true;
		event.flags = CALLS_INSN;
		event.insns = sample->period;
		event.cycles = sample->cyc_cnt;
	} else {
		event.to = sample->addr;
		/* Those of instructions are exact. */
		event.insns = filter->has_insns ? 0 : sample->insn_cnt;
		event.cycles = filter->has_insns ? 0 : sample->cyc_cnt;
	}
	if (event.from && !(event.flags & CALLS_ASYNC))
		add_insn(filter, &event);
	if (filter->event.kind == INSN && event.from) {
		add_insns(filter, &event, other);
		return;
	}
	pass_row(filter);
	pass_on(filter, &event);
}

VISIBLE int filter_event_early(void *data, const struct perf_dlfilter_sample *sample, void *ctx)
{
	struct filter *filter = data;

	filter->ctx = ctx;
	if (sample->event != filter->event.name)
		choose_event(filter, sample->event);
	if (filter->event.kind != OTHER &&
	    (filter->args.cpu < 0 || sample->cpu == filter->args.cpu))
		add_sample(filter, sample);
	if (filter->args.progress >= 0 && !(filter->samples++ % PROGRESS_EVENTS))
		dprintf(filter->args.progress, "at %llu\n", (unsigned long long)sample->time);
	return 1;
}

static int finish(struct filter *filter)
{
	uint64_t at;
	int r;

	pass_row(filter);
	r = calls_finish(filter->calls, &at);
	if (!r)
		r = timeline_finish(filter->timeline, at);
	if (r)
		return complain(filter->args.output, r);
	if (filter->args.progress >= 0)
		dprintf(filter->args.progress, "done %llu %llu\n",
			(unsigned long long)timeline_slices(filter->timeline),
			(unsigned long long)calls_gaps(filter->calls));
	return 0;
}

static int finish_events(struct filter *filter)
{
	int r;

	pass_row(filter);
	r = stream_writer_finish(filter->events) ?: names_error(filter->names);
	if (r)
		return complain(filter->args.events, r);
	if (filter->args.progress >= 0)
		dprintf(filter->args.progress, "done 0 0\n");
	return 0;
}

VISIBLE int stop(void *data, void *ctx)
{
	struct filter *filter = data;
	int r;

	(void)ctx;
	if (!filter)
		return 0;
	r = filter->events ? finish_events(filter) : finish(filter);
	release(filter);
	return r;
}

VISIBLE const char *filter_description(const char **long_description)
{
	*long_description =
		"Writes calls of Intel PT in the Fuchsia trace format, for ui.perfetto.dev:\n"
		"perf script --itrace=bei0ns --dlfilter perf-poke-fxt.so --dlarg "
		"output=FILE.fxt.gz\n"
		"--dlarg also takes time=BEGIN,END axis=time|cycles|instructions "
		"tracks=all|threads\n"
		"split=TIME cpu=N spike=NS expected=NS spike-cpu=N.";
	return "Export Intel PT to Perfetto";
}
