// SPDX-License-Identifier: GPL-2.0-only
#include "render.h"

#include <asm/special_insns.h>
#include <linux/math64.h>

/* Of the interrupt, in Event Trace: the local timer's */
#define VECTOR 0xec

struct rendering {
	struct ptsim_packets *p;
	const struct ptsim_config *config;
	u32 cycle;     /* of the last CYC packet */
	u32 tnt_cycle; /* of the youngest branch not written yet */
	u64 tsc;       /* at cycle 0 */
	u64 *next_mtc;
	struct ptsim_traced traced;
	bool inside;
	u32 calls; /* inside of the ranges, not returned from, since they were entered */
	u32 last;  /* cycle of the last step */
};

bool ptsim_is_inside(const struct ptsim_config *config, u64 ip)
{
	for (unsigned int i = 0; i < config->range_count; i++) {
		if (ip - config->ranges[i].start < config->ranges[i].size)
			return true;
	}
	return !config->range_count;
}

u64 ptsim_ctc(u64 tsc)
{
	return div_u64(tsc * ptsim_clock.d, ptsim_clock.n);
}

/*
 * When, after tsc, bits of the CTC change that MTC packets are made of. Rounded down, as decoders
 * do, so that the CTC is what that packet tells one cycle later.
 */
u64 ptsim_next_mtc(const struct ptsim_config *config, u64 tsc)
{
	u64 ctc = ((ptsim_ctc(tsc) >> config->mtc_period) + 1) << config->mtc_period;

	return div_u64(ctc * ptsim_clock.n, ptsim_clock.d);
}

static u64 fast_counter(u64 tsc)
{
	return tsc - div_u64(ptsim_ctc(tsc) * ptsim_clock.n, ptsim_clock.d);
}

void ptsim_render_time(struct ptsim_packets *p, const struct ptsim_config *config, u64 tsc)
{
	if (!config->tsc)
		return;
	ptsim_tsc(p, tsc);
	if (config->mtc)
		ptsim_tma(p, ptsim_ctc(tsc), fast_counter(tsc));
}

void ptsim_render_psb(struct ptsim_packets *p, const struct ptsim_config *config, u64 tsc,
		      u64 cycles, u64 ip)
{
	const struct ptsim_psb psb = {
		.tsc_on = config->tsc,
		.tma_on = config->mtc,
		.pip_on = ptsim_pip_packets && config->packets,
		.tsc = tsc,
		.cr3 = __native_read_cr3() & PAGE_MASK,
		.ctc = config->mtc ? ptsim_ctc(tsc) : 0,
		.fast_counter = config->mtc ? fast_counter(tsc) : 0,
		.ratio = ptsim_clock.max_nonturbo_ratio,
		.cycles = { cycles / 2, cycles - cycles / 2 },
		.ip = ip,
	};

	ptsim_psb_plus(p, &psb);
}

static void render_cyc(struct rendering *r, u32 cycle)
{
	if (!r->config->cyc || cycle - r->cycle < r->config->cyc_min)
		return;
	ptsim_cyc(r->p, cycle - r->cycle);
	r->cycle = cycle;
}

static void render_tnt(struct rendering *r)
{
	if (!r->p->tnt_count)
		return;
	render_cyc(r, r->tnt_cycle);
	ptsim_write_tnt(r->p);
}

static void render_mtc(struct rendering *r, u32 cycle)
{
	while (r->next_mtc && *r->next_mtc <= r->tsc + cycle) {
		u64 after = *r->next_mtc + 1;

		render_tnt(r);
		render_cyc(r, *r->next_mtc - r->tsc);
		ptsim_mtc(r->p, ptsim_ctc(after) >> r->config->mtc_period);
		*r->next_mtc = ptsim_next_mtc(r->config, after);
	}
}

static void render_branch(struct rendering *r, const struct ptsim_step *step)
{
	unsigned int max = ptsim_long_tnt ? PTSIM_TNT_LONG_MAX : PTSIM_TNT_SHORT_MAX;

	ptsim_add_tnt(r->p, step->taken);
	r->tnt_cycle = step->cycle;
	if (r->p->tnt_count >= max)
		render_tnt(r);
}

/* A return is compressed if its call was traced: with an address filter that is not sure. */
static bool is_compressed(struct rendering *r, const struct ptsim_step *step)
{
	if (step->kind != PTSIM_RETURN || r->config->noretcomp)
		return false;
	if (!r->config->range_count)
		return true;
	if (!r->calls)
		return false;
	r->calls--;
	return true;
}

static void render_ip(struct rendering *r, const struct ptsim_step *step, enum ptsim_ip_packet type)
{
	render_tnt(r);
	render_cyc(r, step->cycle);
	if (step->kind == PTSIM_INTERRUPT && r->config->event)
		ptsim_cfe(r->p, PTSIM_INTR, VECTOR);
	if (step->kind == PTSIM_INTERRUPT)
		ptsim_ip(r->p, PTSIM_FUP, step->from);
	ptsim_ip(r->p, type, step->to);
}

static void render_inside(struct rendering *r, const struct ptsim_step *step)
{
	r->traced.branches += step->taken;
	r->calls += step->call;
	if (step->kind == PTSIM_CONDITIONAL || is_compressed(r, step))
		render_branch(r, step);
	else if (step->kind != PTSIM_DIRECT)
		render_ip(r, step, PTSIM_TIP);
}

static void render_enter(struct rendering *r, const struct ptsim_step *step)
{
	render_cyc(r, step->cycle);
	ptsim_mode_exec_64(r->p);
	ptsim_ip(r->p, PTSIM_TIP_PGE, step->to);
	r->calls = 0;
	r->traced.entered++;
}

/* Whatever branch it is that leaves: there is a TIP.PGD in place of its TNT, TIP or nothing. */
static void render_leave(struct rendering *r, const struct ptsim_step *step)
{
	render_ip(r, step, PTSIM_TIP_PGD);
	r->traced.left++;
}

static void render_step(struct rendering *r, const struct ptsim_step *step)
{
	bool inside = ptsim_is_inside(r->config, step->to);

	render_mtc(r, step->cycle);
	if (r->inside)
		r->traced.instructions += step->cycle - r->last;
	r->last = step->cycle;
	if (r->inside && inside)
		render_inside(r, step);
	else if (inside)
		render_enter(r, step);
	else if (r->inside)
		render_leave(r, step);
	r->inside = inside;
}

struct ptsim_traced ptsim_render_iteration(struct ptsim_packets *p,
					   const struct ptsim_program *program,
					   const struct ptsim_config *config, u64 tsc,
					   u64 *next_mtc)
{
	struct rendering r = { .p = p, .config = config, .tsc = tsc, .next_mtc = next_mtc };

	p->last_ip_known = false;
	r.inside = ptsim_is_inside(config, (u64)program->entry);
	for (unsigned int i = 0; i < program->step_count; i++)
		render_step(&r, &program->steps[i]);
	render_tnt(&r);
	render_cyc(&r, program->counts.cycles);
	return r.traced;
}
