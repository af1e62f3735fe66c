// SPDX-License-Identifier: GPL-2.0-only
/* Advances time and counts, the window and the spike. */
#include "calls/calls_internal.h"

uint64_t calls_position(const struct calls *calls, const struct cpu *cpu)
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
	cpu->now.at = calls_position(calls, cpu);
}

static void advance_timeline(struct calls *calls, uint64_t time)
{
	if (!timeline_advance(calls->timeline, time))
		return;
	/* Counting begins where the window opens. */
	for (struct cpu *cpu = calls->cpus; cpu; cpu = cpu->next) {
		cpu->origin = cpu->counts;
		cpu->now.at = calls_position(calls, cpu);
	}
	if (calls->opts.axis != CALLS_TIME)
		calls->expected_at = 0;
}

void calls_mark_spike(struct calls *calls, struct cpu *cpu, uint64_t time)
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
	calls_mark_spike(calls, cpu, time);
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
	cpu->now.at = calls_position(calls, cpu);
}
