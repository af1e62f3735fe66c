// SPDX-License-Identifier: GPL-2.0-only
#include "psb.h"

#include <linux/string.h>

#define ROW 8

enum item {
	CYC_STATE,
	CYC_TSC,
	PSB,
	STATE,
	FUP,
	PIP,
	TSC,
	TMA,
	CBR,
	PSBEND,
	NONE,
};

static bool has(const struct ptsim_psb *psb, enum item item)
{
	switch (item) {
	case CYC_STATE:
		return psb->cycles[0];
	case CYC_TSC:
		return psb->cycles[1];
	case STATE:
	case FUP:
		return psb->ip;
	case PIP:
		return psb->pip_on;
	case TSC:
		return psb->tsc_on;
	case TMA:
		return psb->tsc_on && psb->tma_on;
	case NONE:
		return false;
	default:
		return true;
	}
}

static void put(struct ptsim_packets *p, const struct ptsim_psb *psb, enum item item)
{
	switch (item) {
	case CYC_STATE:
	case CYC_TSC:
		ptsim_cyc(p, psb->cycles[item == CYC_TSC]);
		break;
	case PSB:
		ptsim_psb(p);
		break;
	case STATE:
		ptsim_mode_tsx(p);
		ptsim_mode_exec_64(p);
		break;
	case FUP:
		ptsim_ip(p, PTSIM_FUP, psb->ip);
		break;
	case PIP:
		ptsim_pip(p, psb->cr3);
		break;
	case TSC:
		ptsim_tsc(p, psb->tsc);
		break;
	case TMA:
		ptsim_tma(p, psb->ctc, psb->fast_counter);
		break;
	case CBR:
		ptsim_cbr(p, psb->ratio);
		break;
	default:
		ptsim_psbend(p);
	}
}

static void pad(struct ptsim_packets *p, unsigned int count)
{
	while (count--)
		p->data[p->size++] = 0;
}

static unsigned int until(const struct ptsim_packets *p, unsigned int place)
{
	return (place - (p->place + p->size)) % ROW;
}

static unsigned int cyc_size(u64 cycles)
{
	unsigned int size = cycles ? 1 : 0;

	for (cycles >>= 5; cycles; cycles >>= 7)
		size++;
	return size;
}

/* A packet at `place` of a row of 8 bytes, with a CYC packet right before it. Without one, there is
 * at least one PAD packet. */
static void put_at(struct ptsim_packets *p, const struct ptsim_psb *psb, enum item item,
		   unsigned int place, enum item cyc)
{
	unsigned int size = has(psb, cyc) ? cyc_size(psb->cycles[cyc == CYC_TSC]) : 0;

	if (!size && !has(psb, item))
		return;
	pad(p, until(p, place - size) ?: (size ? 0 : ROW));
	if (size)
		put(p, psb, cyc);
	if (has(psb, item))
		put(p, psb, item);
}

void ptsim_psb_plus(struct ptsim_packets *p, const struct ptsim_psb *psb)
{
	struct ptsim_psb copy = *psb;

	if (!psb->ip) {
		copy.cycles[1] += copy.cycles[0];
		copy.cycles[0] = 0;
		psb = &copy;
	}
	pad(p, until(p, 0));
	put(p, psb, PSB);
	put_at(p, psb, STATE, 3, CYC_STATE);
	if (has(psb, FUP))
		put(p, psb, FUP);
	put_at(p, psb, PIP, 6, NONE);
	put_at(p, psb, TSC, 6, CYC_TSC);
	put_at(p, psb, TMA, 6, NONE);
	put_at(p, psb, CBR, 0, NONE);
	put(p, psb, PSBEND);
}
