/* SPDX-License-Identifier: GPL-2.0-only */
/* Spikes without a journal entry of their own: those that the session only counted, and those whose
 * captures were removed before their cause was found. They share one entry per interval, so that a
 * storm of spikes does not flood the journal. */
#ifndef CTL_SESSION_COUNTED_H
#define CTL_SESSION_COUNTED_H

#include "session/results.h"

struct counted_spike {
	uint64_t time_ns;
	uint64_t latency_ns; /* 0: its trigger has no latency */
	enum perf_poke_trigger_kind kind;
	int cpu;
};

/* All zero: a session that has just been armed. */
struct counted {
	uint64_t due; /* time of the next entry, CLOCK_MONOTONIC */
	/* Entries lag one interval behind, because a capture is reported later than its spike is
	 * counted. */
	struct results told, seen;	/* statistics at begin and end of the interval */
	uint64_t told_ns, seen_ns;	/* their times */
	struct counted_spike *captures; /* later than told_ns */
	size_t nr;
	uint64_t nr_before;	     /* number of older captures */
	uint64_t dropped;	     /* number of all dropped captures */
	struct counted_spike latest; /* worst capture dropped since the last entry */
	uint64_t nr_told;	     /* spikes in all entries */
};

/* Adds a capture that will have its own entry. Returns 0 or -ENOMEM. */
int counted_capture(struct counted *counted, const struct perf_poke_spike *spike) _must_check_;

/* The capture will not have its own entry. */
void counted_drop(struct counted *counted, const struct perf_poke_spike *spike);

/* Ends an interval with the statistics of `now_ns`, and takes them. `last`: the entry includes
 * them. Returns the number of spikes for the entry, and the worst of them; its latency is from the
 * histogram, accurate to 1.6%. */
uint64_t counted_take(struct counted *counted, struct results *now, uint64_t now_ns, bool last,
		      struct counted_spike *worst);

/* Makes message and fields of the entry. Returns 0 or -ENOMEM. */
int counted_entry(uint64_t nr, const struct counted_spike *worst, const char *session,
		  char **message, char ***fields) _must_check_;

void counted_release(struct counted *counted);

#endif
