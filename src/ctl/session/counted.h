/* SPDX-License-Identifier: GPL-2.0-only */
/* Spikes without an entry of their own in the journal: those that the session only counted, and
 * those whose captures were removed before their cause was found. They share an entry for each
 * interval, so that a storm does not flood the journal. */
#ifndef CTL_SESSION_COUNTED_H
#define CTL_SESSION_COUNTED_H

#include "session/results.h"

struct counted_spike {
	uint64_t time_ns;
	uint64_t latency_ns; /* 0: its trigger measures none */
	enum perf_poke_trigger_kind kind;
	int cpu;
};

/* All zero is a session that has just been armed. */
struct counted {
	uint64_t due; /* time of the next entry (CLOCK_MONOTONIC) */
	/* A capture is reported later than its spike is counted: entries lag an interval behind. */
	struct results told, seen;	/* statistics when the interval began and ended */
	uint64_t told_ns, seen_ns;	/* when that was */
	struct counted_spike *captures; /* after told_ns */
	size_t nr;
	uint64_t nr_before;	     /* captures that were older */
	uint64_t dropped;	     /* of all captures */
	struct counted_spike latest; /* worst of those dropped since the last entry */
	uint64_t nr_told;	     /* spikes in entries so far */
};

/* A capture, which will have an entry of its own. Returns 0 or -ENOMEM. */
int counted_capture(struct counted *counted, const struct perf_poke_spike *spike) _must_check_;

/* It will not. */
void counted_drop(struct counted *counted, const struct perf_poke_spike *spike);

/* Ends an interval with the statistics of `now_ns`, which it takes. `last`: with them, not with
 * those before. Returns how many spikes the entry is for, and the worst of them; its latency is
 * that of the histogram, whose buckets are 1.6% wide. */
uint64_t counted_take(struct counted *counted, struct results *now, uint64_t now_ns, bool last,
		      struct counted_spike *worst);

/* The message and the fields of the entry. Returns 0 or -ENOMEM. */
int counted_entry(uint64_t nr, const struct counted_spike *worst, const char *session,
		  char **message, char ***fields) _must_check_;

void counted_release(struct counted *counted);

#endif
