// SPDX-License-Identifier: GPL-2.0-only
/* Time and counts of CPUs, the window and the spike. */
#include "calls/calls_internal.h"

int calls_new(struct calls **ret, const struct calls_opts *opts, struct timeline *timeline,
	      struct names *names)
{
	struct calls *calls = calloc(1, sizeof(*calls));
	int r;

	if (!calls)
		return -ENOMEM;
	calls->opts = *opts;
	calls->timeline = timeline;
	calls->names = names;
	calls->unknown.name = calls->unknown.base = names_add(names, "[unknown]");
	r = threads_init(&calls->threads, timeline, names);
	if (!r)
		r = cpu_names_new(&calls->cpu_names, names);
	if (r)
		calls_free(calls);
	else
		*ret = calls;
	return r;
}

void calls_free(struct calls *calls)
{
	struct cpu *next_cpu;

	if (!calls)
		return;
	threads_release(&calls->threads);
	for (struct cpu *cpu = calls->cpus; cpu; cpu = next_cpu) {
		next_cpu = cpu->next;
		free(cpu);
	}
	free(calls);
}

struct cpu *calls_cpu(struct calls *calls, int number)
{
	struct cpu *cpu = calls->cpu;

	if (cpu && cpu->number == number)
		return cpu;
	cpu = calls->cpus;
	while (cpu && cpu->number != number)
		cpu = cpu->next;
	calls->cpu = cpu;
	if (cpu)
		return cpu;
	cpu = cpu_new(calls->timeline, calls->names, &calls->cpu_names, number);
	if (!cpu) {
		calls->r = -ENOMEM;
		return NULL;
	}
	cpu->next = calls->cpus;
	calls->cpus = cpu;
	return cpu;
}

/* Of the CPU on the timeline's axis. */
static uint64_t position(const struct calls *calls, const struct cpu *cpu)
{
	switch (calls->opts.axis) {
	case CALLS_CYCLES:
		return cpu->counts.cycles - cpu->origin.cycles;
	case CALLS_INSNS:
		return cpu->counts.insns - cpu->origin.insns;
	case CALLS_TIME:
		break;
	}
	return cpu->now.time;
}

void calls_move(const struct calls *calls, struct cpu *cpu, uint64_t time)
{
	cpu->now.time = time;
	cpu->now.at = position(calls, cpu);
}

static void advance_timeline(struct calls *calls, uint64_t time)
{
	if (!timeline_advance(calls->timeline, time))
		return;
	/* Counting begins where the window opens. */
	for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next) {
		cpu->origin = cpu->counts;
		cpu->now.at = position(calls, cpu);
	}
	if (calls->opts.axis != CALLS_TIME)
		calls->expected_at = 0;
}

static void mark_spike(struct calls *calls, struct cpu *cpu, uint64_t time)
{
	const struct calls_opts *opts = &calls->opts;
	bool counted = opts->axis != CALLS_TIME;
	struct moment now = cpu->now;

	if (calls->has_spike || !opts->spike ||
	    (opts->spike_cpu >= 0 && cpu->number != opts->spike_cpu))
		return;
	if (!calls->has_expected && time >= opts->expected) {
		calls->has_expected = true;
		calls->expected_at = counted ? now.at : opts->expected;
	}
	if (time < opts->spike)
		return;
	calls->has_spike = true;
	advance_timeline(calls, opts->spike);
	if (!counted)
		cpu->now.at = opts->spike;
	cpu_spike(cpu, &calls->cpu_names, calls->expected_at, opts->spike - opts->expected);
	cpu->now = now;
}

/* Until the spike, or the next edge of the window. */
static uint64_t quiet_until(const struct calls *calls)
{
	const struct calls_opts *opts = &calls->opts;
	uint64_t quiet = timeline_quiet_until(calls->timeline);
	uint64_t next = calls->has_expected ? opts->spike : opts->expected;

	if (opts->axis != CALLS_TIME)
		return 0;
	return opts->spike && !calls->has_spike && next <= quiet ? (next ?: 1) - 1 : quiet;
}

void calls_advance(struct calls *calls, struct cpu *cpu, uint64_t time)
{
	if (time > calls->last)
		calls->last = time;
	mark_spike(calls, cpu, time);
	advance_timeline(calls, time);
	calls->quiet = quiet_until(calls);
	calls_move(calls, cpu, time);
}

void calls_count(struct calls *calls, struct cpu *cpu, uint64_t insns, uint64_t cycles)
{
	struct counts *counts = &cpu->thread->stack.counts;

	counts->insns += insns;
	counts->cycles += cycles;
	cpu->counts.insns += insns;
	cpu->counts.cycles += cycles;
	cpu->now.at = position(calls, cpu);
}

void calls_add(struct calls *calls, const struct decode_item *items, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		calls->item = &items[i];
		calls->next = i + 1 < nr ? &items[i + 1] : NULL;
		calls_add_item(calls);
	}
}

uint64_t calls_errors(const struct calls *calls, const struct decode_item **first)
{
	*first = &calls->first_error;
	return calls->errors;
}

int calls_finish(struct calls *calls, uint64_t *at, uint64_t *gaps)
{
	struct moment end = { .time = calls->last, .at = calls->last };

	for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next) {
		cpu->now.time = calls->last;
		cpu->now.at = position(calls, cpu);
		/* After the end of the trace. */
		mark_spike(calls, cpu, UINT64_MAX);
	}
	if (calls->opts.axis != CALLS_TIME) {
		end.at = 0;
		for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next)
			end.at = cpu->now.at > end.at ? cpu->now.at : end.at;
	}
	for (struct thread *thread = calls->threads.first; thread; thread = thread->next)
		stack_finish(&thread->stack, &end);
	*at = end.at;
	*gaps = calls->gaps;
	return calls->r ?: calls->threads.env.r;
}
