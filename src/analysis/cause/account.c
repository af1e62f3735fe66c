// SPDX-License-Identifier: GPL-2.0-only
#include "cause/account.h"

#include <errno.h>
#include <stdlib.h>

#include "cause/fingerprint_make.h"

/* The trace has no times. */
#define WINDOW_INSNS 20000

static int make_findings(struct account *account)
{
	struct findings *findings = &account->findings;
	const struct spans *spans = account->spans;
	struct facts facts = account->facts;
	int r;

	if (!facts.no_times)
		return findings_make(findings, spans, &facts, account->window_ns);
	/* Positions are instruction counts; only the end has a time. */
	facts.spike.expected_ns = facts.spike.actual_ns = facts.spike.time_ns = spans->end;
	r = findings_make(findings, spans, &facts, WINDOW_INSNS);
	if (!r)
		findings->path = lane_at_end(&spans->lanes[LANE_CODE], spans->end);
	return r;
}

/* The part of a late thread's latency that is most of it, as a latency of its own: so far as a CPU
 * explains it, it is explained in one way for threads and interrupts. */
static void make_part(struct facts *part, const struct late_thread *thread)
{
	struct perf_poke_spike *spike = &part->spike;
	const struct thread_stay *longest = &thread->longest;
	bool is_one = longest->end - longest->begin >= thread->part_ns / 5 * 4;

	switch (thread->part) {
	case PART_INTERRUPT:
		spike->kind = PERF_POKE_TRIGGER_IRQ;
		spike->actual_ns = spike->expected_ns + spike->irq_ns;
		part->stack = part->holder.interrupted ? part->holder : (struct spike_stack){ 0 };
		break;
	case PART_RUNNABLE:
		if (facts_is_reported(part)) {
			spike->kind = PERF_POKE_TRIGGER_WAKEUP;
			spike->irq_ns = 0;
			part->stack = (struct spike_stack){ 0 };
			part->holder = thread->rival;
		} else {
			is_one = false;
		}
		break;
	case PART_RUNNING:
		break;
	case PART_MIXED:
	case PART_UNKNOWN:
	case PART_ASLEEP:
		is_one = false;
		break;
	}
	if (is_one && thread->part != PART_INTERRUPT) {
		spike->expected_ns = longest->begin;
		spike->actual_ns = longest->end;
	}
	spike->latency_ns = spike->actual_ns - spike->expected_ns;
}

/* Finds the cause in that part. */
static int blame_part(struct account *account)
{
	struct findings findings;
	int r;

	make_part(&account->blamed, account->thread);
	r = findings_make(&findings, account->spans, &account->blamed, account->window_ns);
	if (r)
		return r;
	r = cause_find(&account->cause, &findings, &account->blamed);
	if (!r) {
		fingerprint_make(&account->fingerprint, &account->cause, &findings,
				 &account->blamed);
		account->sentence = cause_sentence(&account->cause, &findings, &account->blamed,
						   &account->facts);
		r = account->sentence ? 0 : -ENOMEM;
	}
	findings_release(&findings);
	return r;
}

int account_finish(struct account *account)
{
	int r = make_findings(account);

	account->blamed = account->facts;

	/* A task reported late may have run all the time. */
	if (!r && facts_have_times(&account->facts) && !account->facts.spike.poked &&
	    !facts_is_reported(&account->facts))
		r = analysis_make(&account->analysis, &account->findings, &account->facts);
	if (!r && account->thread)
		return blame_part(account);
	if (!r)
		r = cause_find(&account->cause, &account->findings, &account->facts);
	if (r)
		return r;
	fingerprint_make(&account->fingerprint, &account->cause, &account->findings,
			 &account->facts);
	account->sentence = cause_sentence(&account->cause, &account->findings, &account->facts,
					   &account->facts);
	return account->sentence ? 0 : -ENOMEM;
}

void account_release(struct account *account)
{
	free(account->sentence);
	analysis_release(&account->analysis);
	findings_release(&account->findings);
	free(account->senders);
	late_thread_free(account->thread);
	spans_free(account->spans);
	*account = (struct account){ 0 };
}

size_t account_before(const struct account *account, const struct span *span)
{
	const struct spike_stack *stack = &account->facts.stack;
	size_t at = STACK_NONE;

	if (account->spans->has_functions && span->end >= account->spans->end)
		at = spike_stack_find(stack, account_name(account, span->name));
	return at == STACK_NONE ? stack->nr : at + 1;
}
