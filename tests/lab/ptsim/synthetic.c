// SPDX-License-Identifier: GPL-2.0-only
/*
 * A source of packets: a CPU that runs one iteration of a program, a cycle of the TSC for each
 * instruction, sleeps, wakes up for the next one, and so on, as often as makes the bytes per second
 * that are asked for. While it sleeps no cycles are counted and no MTC packets are made, as on
 * hardware; it wakes up with the time.
 */
#include "packets.h"
#include "program.h"
#include "ptsim.h"
#include "render.h"

#include <asm/tsc.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

/* What an MTC packet adds, with two CYC packets and a TNT packet that it cuts in two */
#define MTC_MAX 8
/* From when the CPU wakes up to the next iteration; told within PSB+ only, before TSC */
#define WAKE_CYCLES 160

struct synthetic {
	const struct ptsim_program *program;
	u64 next_tsc; /* when the next iteration begins */
	u64 last_tsc; /* until then packets have told the time */
	u64 next_mtc;
	size_t iteration_size;
	bool long_tnt; /* of the iteration: */
	struct ptsim_config config;
	struct ptsim_traced traced;
	u8 iteration[PTSIM_ITERATION_MAX]; /* its packets, without MTC */
	u8 scratch[2 * PTSIM_ITERATION_MAX];
};

static int open(struct ptsim_stream *s)
{
	s->private = kvzalloc(sizeof(struct synthetic), GFP_KERNEL);
	return s->private ? 0 : -ENOMEM;
}

static void close(struct ptsim_stream *s)
{
	kvfree(s->private);
}

static void configure(struct ptsim_stream *s)
{
	struct synthetic *y = s->private;
	const struct ptsim_program *program = &ptsim_programs[ptsim_program_index];
	struct ptsim_packets p = { .data = y->iteration };

	if (y->program == program && y->long_tnt == ptsim_long_tnt &&
	    !memcmp(&y->config, &s->config, sizeof(y->config)))
		return;
	y->program = program;
	y->long_tnt = ptsim_long_tnt;
	y->config = s->config;
	y->traced = ptsim_render_iteration(&p, program, &s->config, 0, NULL);
	y->iteration_size = p.size;
	s->chunk_max = p.size + PTSIM_PSB_MAX;
	if (s->config.mtc)
		s->chunk_max +=
			MTC_MAX * ((ptsim_ctc(program->counts.cycles) >> s->config.mtc_period) + 2);
}

static u64 entry(const struct synthetic *y)
{
	return (u64)y->program->entry;
}

/* Between iterations */
static bool branches_on(const struct ptsim_stream *s)
{
	return s->config.packets && ptsim_is_inside(&s->config, entry(s->private));
}

static bool psb_due(const struct ptsim_stream *s)
{
	return s->psb_due || s->since_psb >= s->config.psb_bytes;
}

static void psb_written(struct ptsim_stream *s)
{
	s->psb_due = false;
	s->since_psb = 0;
}

static u64 wake_cycles(const struct ptsim_stream *s, u64 tsc)
{
	const struct synthetic *y = s->private;
	u64 cycles = min_t(u64, tsc - y->last_tsc, WAKE_CYCLES);

	return s->config.cyc && cycles >= s->config.cyc_min ? cycles : 0;
}

static void told_time(struct ptsim_stream *s, u64 tsc)
{
	struct synthetic *y = s->private;

	y->last_tsc = tsc;
	if (s->config.mtc)
		y->next_mtc = ptsim_next_mtc(&s->config, tsc);
}

static void start(struct ptsim_stream *s, u64 tsc)
{
	struct synthetic *y = s->private;
	struct ptsim_packets p = { .data = y->scratch, .place = s->aux->head };

	if (psb_due(s)) {
		ptsim_render_psb(&p, &s->config, tsc, wake_cycles(s, tsc), 0);
		psb_written(s);
	} else {
		ptsim_render_time(&p, &s->config, tsc);
		ptsim_cbr(&p, ptsim_clock.max_nonturbo_ratio);
	}
	if (branches_on(s)) {
		ptsim_mode_exec_64(&p);
		p.last_ip_known = false;
		ptsim_ip(&p, PTSIM_TIP_PGE, entry(y));
	}
	ptsim_emit(s, p.data, p.size);
	told_time(s, tsc);
	y->next_tsc = tsc;
}

static void stop(struct ptsim_stream *s, u64 tsc)
{
	struct synthetic *y = s->private;
	struct ptsim_packets p = { .data = y->scratch };

	if (!branches_on(s))
		return;
	if (tsc > y->last_tsc)
		ptsim_render_time(&p, &s->config, tsc);
	ptsim_ip(&p, PTSIM_FUP, entry(y));
	ptsim_tip_pgd_no_ip(&p);
	ptsim_emit(s, p.data, p.size);
}

/* From the beginning of an iteration to that of the next */
static u64 period(const struct synthetic *y)
{
	u64 rate = READ_ONCE(ptsim_bytes_per_sec);
	u64 tsc_per_ms = tsc_khz;

	/* 15: the time on waking up. More than 64 bits are needed only for less than a byte per
	 * second. */
	return max_t(u64, y->program->counts.cycles,
		     div64_u64((y->iteration_size + 15) * 1000 * tsc_per_ms, max_t(u64, rate, 1)));
}

static void skip(struct ptsim_stream *s, u64 count, u64 every)
{
	struct synthetic *y = s->private;

	y->next_tsc += count * every;
	s->totals.skipped += count;
}

/* Leaves out what would be too much at a time, but for the newest. */
static void skip_surplus(struct ptsim_stream *s, u64 tsc, u64 every)
{
	struct synthetic *y = s->private;
	u64 most = max_t(u64, s->burst / (y->iteration_size + 15), 1);
	u64 end = y->next_tsc + y->program->counts.cycles;
	u64 due;

	if (end + most * every > tsc)
		return;
	due = div64_u64(tsc - end, every) + 1;
	if (due > most)
		skip(s, due - most, every);
}

static void emit_iteration(struct ptsim_stream *s, u64 tsc)
{
	struct synthetic *y = s->private;
	struct ptsim_packets p = { .data = y->scratch, .place = s->aux->head };
	u64 end = tsc + y->program->counts.cycles;

	if (psb_due(s)) {
		ptsim_render_psb(&p, &s->config, tsc, wake_cycles(s, tsc),
				 branches_on(s) ? entry(y) : 0);
		psb_written(s);
	} else if (tsc > y->last_tsc) {
		ptsim_render_time(&p, &s->config, tsc);
	}
	if (p.size)
		told_time(s, tsc);
	if (s->config.mtc && y->next_mtc <= end) {
		ptsim_render_iteration(&p, y->program, &s->config, tsc, &y->next_mtc);
		ptsim_emit(s, p.data, p.size);
	} else {
		ptsim_emit(s, p.data, p.size);
		ptsim_emit(s, y->iteration, y->iteration_size);
	}
	y->last_tsc = end;
}

static bool next(struct ptsim_stream *s, u64 tsc)
{
	struct synthetic *y = s->private;
	const struct ptsim_counts *counts = &y->program->counts;
	u64 every = period(y);

	if (!s->config.packets)
		return false;
	skip_surplus(s, tsc, every);
	if (y->next_tsc + counts->cycles > tsc)
		return false;
	emit_iteration(s, y->next_tsc);
	s->totals.iterations++;
	s->totals.instructions += y->traced.instructions;
	s->totals.branches += y->traced.branches;
	s->totals.entered += y->traced.entered;
	s->totals.left += y->traced.left;
	y->next_tsc += every;
	return true;
}

/* An iteration is lost; the trace goes on where the next one begins. */
static void overflow(struct ptsim_stream *s, u64 tsc)
{
	struct synthetic *y = s->private;
	struct ptsim_packets p = { .data = y->scratch };

	ptsim_ovf(&p);
	if (branches_on(s))
		ptsim_ip(&p, PTSIM_FUP, entry(y));
	ptsim_emit(s, p.data, p.size);
	y->next_tsc += period(y);
	s->totals.overflows++;
}

const struct ptsim_source ptsim_synthetic = {
	.name = "synthetic",
	.edge_max = PTSIM_PSB_MAX,
	.open = open,
	.close = close,
	.configure = configure,
	.start = start,
	.stop = stop,
	.next = next,
	.overflow = overflow,
};
