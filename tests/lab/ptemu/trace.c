// SPDX-License-Identifier: GPL-2.0-only
#include "trace.h"
#include "inside.h"
#include "psb.h"

#include <x86intrin.h>

#define LOSE_INSNS 1000
/* After so many missed MTC packets the time is told anew. */
#define MTC_MAX 32
/* Code of the firmware for SMIs is below, and nothing else that a running system executes. */
#define SMM_END 0x100000

u64 trace_now(const struct trace *t)
{
	if (t->told)
		return t->told;
	return inside_step() ? t->counted : __rdtsc() + t->tsc_offset;
}

/* -- Time ------------------------------------------------------------------------------------- */

static u64 ctc(const struct trace *t, u64 tsc)
{
	return (unsigned __int128)tsc * t->block->d / t->block->n;
}

static u64 ctc_begin(const struct trace *t, u64 ctc)
{
	return (unsigned __int128)ctc * t->block->n / t->block->d;
}

/* When, after tsc, bits of the CTC change that MTC packets are made of */
static u64 next_mtc(const struct trace *t, u64 tsc)
{
	u64 period = t->block->mtc_period;

	return ctc_begin(t, ((ctc(t, tsc) >> period) + 1) << period);
}

static u64 mtc_ticks(const struct trace *t)
{
	return ctc_begin(t, 1ULL << t->block->mtc_period);
}

/* Beside the executed ips, which are never 0 */
static void log_mark(struct trace *t, enum trace_mark what, u64 value)
{
	u64 mark[2] = { 0, (value & TRACE_MARK_VALUE) | (u64)what << TRACE_MARK_SHIFT };

	if (t->log)
		fwrite(mark, sizeof(mark), 1, t->log);
}

static u64 untold_cycles(const struct trace *t, u64 tsc)
{
	return tsc > t->cycle ? tsc - t->cycle : 0;
}

static void count_cycles(struct trace *t, u64 cycles)
{
	t->cycle += cycles;
	if (t->enabled)
		t->block->cycles += cycles;
	log_mark(t, t->enabled ? TRACE_MARK_CYCLES : TRACE_MARK_UNTRACED_CYCLES, t->cycle);
}

static void tell_cycles(struct trace *t, u64 tsc, u64 min)
{
	u64 cycles = untold_cycles(t, tsc);

	if (!t->block->cyc_on || cycles < min)
		return;
	ptsim_cyc(&t->p, cycles);
	count_cycles(t, cycles);
}

static void begin_time(struct trace *t, u64 tsc)
{
	t->cycle = tsc;
	if (t->block->mtc_on)
		t->next_mtc = next_mtc(t, tsc);
	if (t->block->tsc_on)
		log_mark(t, TRACE_MARK_TIME, tsc);
}

static u16 fast_counter(const struct trace *t, u64 tsc)
{
	return tsc - ctc_begin(t, ctc(t, tsc));
}

static void write_time(struct trace *t, u64 tsc)
{
	begin_time(t, tsc);
	if (t->block->tsc_on)
		ptsim_tsc(&t->p, tsc);
	if (t->block->tsc_on && t->block->mtc_on)
		ptsim_tma(&t->p, ctc(t, tsc), fast_counter(t, tsc));
	ptsim_cbr(&t->p, t->block->ratio);
}

/* The CPU slept since `asleep`. A CYC packet makes decoders count cycles from the time told on. */
static void tell_time_anew(struct trace *t, u64 asleep, u64 tsc)
{
	tell_cycles(t, asleep, 0);
	write_time(t, tsc);
}

/* Before the packet of something that has just happened */
static void tell_time(struct trace *t)
{
	u64 tsc = trace_now(t);

	if (t->block->mtc_on && tsc > t->next_mtc + MTC_MAX * mtc_ticks(t))
		tell_time_anew(t, tsc, tsc);
	while (t->block->mtc_on && t->next_mtc <= tsc) {
		u64 after = t->next_mtc + 1;

		tell_cycles(t, t->next_mtc, t->block->cyc_min);
		ptsim_mtc(&t->p, ctc(t, after) >> t->block->mtc_period);
		t->next_mtc = next_mtc(t, after);
	}
	tell_cycles(t, tsc, t->block->cyc_min);
}

/* -- Branches --------------------------------------------------------------------------------- */

static void write_tnt(struct trace *t)
{
	if (!t->p.tnt_count)
		return;
	tell_time(t);
	ptsim_write_tnt(&t->p);
}

static void add_tnt(struct trace *t, bool taken)
{
	ptsim_add_tnt(&t->p, taken);
	if (t->p.tnt_count >= (t->block->long_tnt ? PTSIM_TNT_LONG_MAX : PTSIM_TNT_SHORT_MAX))
		write_tnt(t);
}

static void write_ip(struct trace *t, enum ptsim_ip_packet type, u64 ip)
{
	write_tnt(t);
	tell_time(t);
	ptsim_ip(&t->p, type, ip);
}

static void forget_calls(struct trace *t)
{
	t->call_count = 0;
}

static void push_call(struct trace *t, const struct insn *call)
{
	/* A call of what comes next is how code asks for its own address. */
	if (t->block->noretcomp || (call->kind == INSN_CALL && call->target == insn_end(call)))
		return;
	t->calls[t->call_next++ % TRACE_CALLS] = insn_end(call);
	if (t->call_count < TRACE_CALLS)
		t->call_count++;
}

static bool is_compressed(struct trace *t, u64 to)
{
	if (t->block->noretcomp || !t->call_count)
		return false;
	t->call_count--;
	if (t->calls[--t->call_next % TRACE_CALLS] == to)
		return true;
	/* Decoders do not agree what of the stack is left then. */
	forget_calls(t);
	return false;
}

static void write_return(struct trace *t, u64 to)
{
	if (is_compressed(t, to))
		add_tnt(t, true);
	else
		write_ip(t, PTSIM_TIP, to);
}

static void write_pip(struct trace *t)
{
	t->cr3 = t->new_cr3;
	if (!t->block->pip)
		return;
	write_tnt(t);
	tell_time(t);
	ptsim_pip(&t->p, t->cr3);
}

static bool is_traced(const struct trace *t, u64 ip)
{
	const struct ptemu_block *b = t->block;

	if (!(insn_is_user(ip) ? b->user : b->kernel))
		return false;
	for (u64 i = 0; i < b->range_count; i++) {
		if (ip - b->ranges[i][0] < b->ranges[i][1])
			return true;
	}
	return !b->range_count;
}

static void enter(struct trace *t, u64 to)
{
	forget_calls(t);
	write_ip(t, PTSIM_TIP_PGE, to);
}

/* Where it goes is told by a filter of addresses, not by one of privilege. */
static void leave(struct trace *t, u64 from, u64 to)
{
	if (insn_is_user(from) == insn_is_user(to)) {
		write_ip(t, PTSIM_TIP_PGD, to);
		return;
	}
	write_tnt(t);
	tell_time(t);
	ptsim_tip_pgd_no_ip(&t->p);
}

static void unexplained(struct trace *t, u64 to)
{
	t->block->unexplained++;
	if (t->block->unexplained < 20)
		fprintf(stderr, "ptemu: from %#llx, kind %d, to %#llx\n",
			(unsigned long long)t->expected, t->last ? t->last->kind : -1,
			(unsigned long long)to);
}

/* Both ends are traced. */
static void write_branch(struct trace *t, const struct insn *insn, u64 to)
{
	switch (insn->kind) {
	case INSN_CONDITIONAL:
		if (to != insn->target && to != insn_end(insn))
			unexplained(t, to);
		add_tnt(t, to == insn->target);
		break;
	case INSN_CALL:
		push_call(t, insn);
		/* fall through */
	case INSN_JUMP:
		if (to != insn->target)
			unexplained(t, to);
		break;
	case INSN_INDIRECT_CALL:
		push_call(t, insn);
		/* fall through */
	case INSN_INDIRECT_JUMP:
	case INSN_FAR:
		write_ip(t, PTSIM_TIP, to);
		break;
	case INSN_RETURN:
		write_return(t, to);
		break;
	default:
		if (to != insn_end(insn))
			unexplained(t, to);
		return;
	}
	t->block->branches += to != insn_end(insn);
}

static void log_insn(struct trace *t, const struct insn *insn)
{
	t->block->instructions++;
	if (t->log)
		fwrite(&insn->ip, sizeof(insn->ip), 1, t->log);
}

/* What it is, before the packets of where it goes */
static void write_cfe(struct trace *t, enum ptsim_event event, u8 vector, u64 cr2)
{
	if (!t->block->event)
		return;
	write_tnt(t);
	tell_time(t);
	if (event == PTSIM_INTR && vector == PAGE_FAULT)
		ptsim_evd_cr2(&t->p, cr2);
	ptsim_cfe(&t->p, event, vector);
}

/* The instruction is done, and the CPU goes on at `to`. */
static void retire(struct trace *t, const struct insn *insn, u64 to)
{
	bool enabled = is_traced(t, to);

	if (t->enabled && !t->lose)
		log_insn(t, insn);
	if (t->enabled && !t->lose && !enabled)
		log_mark(t, TRACE_MARK_LEAVE, to);
	if (insn->kind == INSN_CR3 && t->enabled)
		write_pip(t);
	if (t->enabled && enabled)
		write_branch(t, insn, to);
	else if (enabled)
		enter(t, to);
	else if (t->enabled)
		leave(t, insn->ip, to);
	t->enabled = enabled;
}

static void wake(struct trace *t)
{
	if (!t->halted)
		return;
	write_tnt(t);
	tell_time_anew(t, t->halted, trace_now(t));
	t->halted = 0;
}

/* An interrupt or exception */
static void write_event(struct trace *t, u64 from, u64 to, u8 vector, u64 cr2)
{
	bool enabled = is_traced(t, to);

	wake(t);
	if (t->enabled) {
		write_cfe(t, PTSIM_INTR, vector, cr2);
		if (!t->lose)
			log_mark(t, TRACE_MARK_EVENT, from);
		write_ip(t, PTSIM_FUP, from);
		if (enabled)
			ptsim_ip(&t->p, PTSIM_TIP, to);
		else if (insn_is_user(from) == insn_is_user(to))
			ptsim_ip(&t->p, PTSIM_TIP_PGD, to);
		else
			ptsim_tip_pgd_no_ip(&t->p);
		t->block->branches++;
	} else if (enabled) {
		enter(t, to);
	}
	t->enabled = enabled;
}

/* QEMU does not tell an SMI, and where it came shows when the CPU goes on there. */
static void write_smi(struct trace *t, u64 ip)
{
	t->told = t->smi;
	if (t->last && t->last->ip != ip)
		retire(t, t->last, ip);
	wake(t);
	if (t->enabled) {
		write_cfe(t, PTSIM_SMI, 0, 0);
		if (!t->lose)
			log_mark(t, TRACE_MARK_EVENT, ip);
		write_ip(t, PTSIM_FUP, ip);
		ptsim_tip_pgd_no_ip(&t->p);
		t->block->branches++;
	}
	t->enabled = false;
	t->told = t->smi = 0;
	write_cfe(t, PTSIM_RSM, 0, 0);
	if (is_traced(t, ip)) {
		enter(t, ip);
		t->enabled = true;
	}
	t->last = NULL;
	t->expected = ip;
}

/* -- Beginning, end, and what comes now and then ---------------------------------------------- */

static void write_psb(struct trace *t, u64 ip)
{
	const struct ptemu_block *b = t->block;
	u64 tsc, cycles;

	write_tnt(t);
	tsc = trace_now(t);
	cycles = untold_cycles(t, tsc);
	if (!b->cyc_on || cycles < b->cyc_min)
		cycles = 0;
	if (cycles)
		count_cycles(t, cycles);
	begin_time(t, tsc);
	ptsim_psb_plus(&t->p, &(struct ptsim_psb){
				      .tsc_on = b->tsc_on,
				      .tma_on = b->mtc_on,
				      .pip_on = b->pip && b->kernel,
				      .tsc = tsc,
				      .cr3 = t->cr3,
				      .ctc = b->mtc_on ? ctc(t, tsc) : 0,
				      .fast_counter = b->mtc_on ? fast_counter(t, tsc) : 0,
				      .ratio = b->ratio,
				      .cycles = { cycles / 2, cycles - cycles / 2 },
				      .ip = ip,
			      });
	t->since_psb = 0;
	forget_calls(t);
}

static void begin(struct trace *t, u64 ip)
{
	t->cycle = trace_now(t);
	t->p.last_ip_known = false;
	if (t->block->psb_due) {
		write_psb(t, 0);
		t->block->psb_due = 0;
	} else {
		tell_time_anew(t, t->cycle, t->cycle);
	}
	if (is_traced(t, ip)) {
		ptsim_mode_exec_64(&t->p);
		enter(t, ip);
		t->enabled = true;
	}
}

void trace_start(struct trace *t, u64 cr3)
{
	t->on = true;
	t->enabled = false;
	t->smi = 0;
	t->last = NULL;
	t->expected = 0;
	t->halted = 0;
	t->lose = 0;
	t->cr3 = cr3;
	t->p = (struct ptsim_packets){ .data = t->buffer, .place = t->block->offset };
	forget_calls(t);
}

void trace_stop(struct trace *t, const struct insn *at)
{
	t->on = false;
	if (!t->enabled || t->lose)
		return;
	write_ip(t, PTSIM_FUP, at->ip);
	ptsim_tip_pgd_no_ip(&t->p);
}

void trace_overflow(struct trace *t)
{
	t->lose = LOSE_INSNS;
}

/* Nothing of what happens is kept; at the end the trace goes on with `ip`. */
static void lose(struct trace *t, u64 ip, size_t size)
{
	t->p.size = size;
	t->p.tnt = 0;
	t->p.tnt_count = 0;
	t->block->lost++;
	if (--t->lose)
		return;
	t->block->overflows++;
	forget_calls(t);
	t->p.last_ip_known = false;
	ptsim_ovf(&t->p);
	tell_time_anew(t, t->cycle, trace_now(t));
	if (t->enabled)
		ptsim_ip(&t->p, PTSIM_FUP, ip);
}

/* An instruction may begin twice, and the first time is forgotten: each round of a REP, and what
 * QEMU cannot do within a block. */
static bool is_again(const struct trace *t, const struct insn *insn)
{
	if (!t->last || t->last->ip != insn->ip)
		return false;
	return (insn->kind != INSN_JUMP && insn->kind != INSN_CONDITIONAL) ||
	       insn->target != insn->ip;
}

void trace_insn(struct trace *t, const struct insn *insn)
{
	size_t before = t->p.size;

	if (insn->ip < SMM_END) {
		if (!t->smi)
			t->smi = trace_now(t);
		return;
	}
	if (t->smi)
		write_smi(t, insn->ip);
	if (is_again(t, insn))
		return;
	if (t->last)
		retire(t, t->last, insn->ip);
	else if (!t->expected)
		begin(t, insn->ip);
	else if (t->expected != insn->ip)
		unexplained(t, insn->ip);
	t->last = insn;
	t->expected = insn->ip;
	t->halted = insn->kind == INSN_HALT ? trace_now(t) : 0;
	if (t->lose)
		lose(t, insn->ip, before);
	t->since_psb += t->p.size - before;
	if (t->since_psb >= t->block->psb_bytes && !t->lose)
		write_psb(t, t->enabled ? insn->ip : 0);
}

void trace_event(struct trace *t, u64 from, u64 to, u8 vector, u64 cr2)
{
	size_t before = t->p.size;

	/* Now and then QEMU tells of an exception that goes nowhere, before the real one. */
	if ((!t->last && !t->expected) || from == to || to < SMM_END)
		return;
	if (t->smi)
		write_smi(t, from);
	/* With its own ip the last instruction has not been done, or not all of its rounds, or it
	 * is an int3 or the like, which is told as what happens instead of it. */
	if (t->last && from != t->last->ip)
		retire(t, t->last, from);
	write_event(t, from, to, vector, cr2);
	t->last = NULL;
	t->expected = to;
	if (t->lose)
		t->p.size = before;
	t->since_psb += t->p.size - before;
}
