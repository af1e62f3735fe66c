// SPDX-License-Identifier: GPL-2.0-only
#include "render.h"

#include <asm/special_insns.h>
#include <linux/math64.h>

struct rendering {
	struct ptsim_packets *p;
	const struct ptsim_config *config;
	u32 cycle;     /* of the last CYC packet */
	u32 tnt_cycle; /* of the youngest branch not written yet */
	u64 tsc;       /* at cycle 0 */
	u64 *next_mtc;
};

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

void ptsim_render_time(struct ptsim_packets *p, const struct ptsim_config *config, u64 tsc)
{
	if (!config->tsc)
		return;
	ptsim_tsc(p, tsc);
	if (config->mtc) {
		u64 ctc = ptsim_ctc(tsc);

		ptsim_tma(p, ctc, tsc - div_u64(ctc * ptsim_clock.n, ptsim_clock.d));
	}
}

/* With an IP if branches are being traced, else 0 */
void ptsim_render_psb(struct ptsim_packets *p, const struct ptsim_config *config, u64 tsc, u64 ip)
{
	ptsim_psb(p);
	ptsim_render_time(p, config, tsc);
	ptsim_cbr(p, ptsim_clock.max_nonturbo_ratio);
	if (ptsim_pip_packets && config->packets)
		ptsim_pip(p, __native_read_cr3() & PAGE_MASK);
	if (ip) {
		ptsim_mode_exec_64(p);
		ptsim_ip(p, PTSIM_FUP, ip);
	}
	ptsim_psbend(p);
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

static void render_step(struct rendering *r, const struct ptsim_step *step)
{
	render_mtc(r, step->cycle);
	if (step->kind == PTSIM_CONDITIONAL ||
	    (step->kind == PTSIM_RETURN && !r->config->noretcomp)) {
		render_branch(r, step);
		return;
	}
	render_tnt(r);
	render_cyc(r, step->cycle);
	if (step->kind == PTSIM_INTERRUPT)
		ptsim_ip(r->p, PTSIM_FUP, step->from);
	ptsim_ip(r->p, PTSIM_TIP, step->to);
}

void ptsim_render_iteration(struct ptsim_packets *p, const struct ptsim_program *program,
			    const struct ptsim_config *config, u64 tsc, u64 *next_mtc)
{
	struct rendering r = { .p = p, .config = config, .tsc = tsc, .next_mtc = next_mtc };

	p->last_ip_known = false;
	for (unsigned int i = 0; i < program->step_count; i++)
		render_step(&r, &program->steps[i]);
	render_tnt(&r);
	render_cyc(&r, program->counts.cycles);
}
