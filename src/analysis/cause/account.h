/* SPDX-License-Identifier: GPL-2.0-only */
/* The account of a capture: what a report on it says. Includes the parts of the latency in the
 * terms of rtla's auto-analysis. */
#ifndef ANALYSIS_ACCOUNT_H
#define ANALYSIS_ACCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "cause/cause.h"
#include "cause/findings.h"
#include "cause/fingerprint.h"
#include "cause/late_thread.h"
#include "facts/captures.h"

/* In rtla's order. For an interrupt, all parts but the delay and the latencies add up to the
 * latency. For a thread, the delay and the parts after it do. */
enum analysis_kind {
	ANALYSIS_PREVIOUS_IRQ, /* before the timer's IRQ, in the delay */
	ANALYSIS_IRQ_DELAY,
	ANALYSIS_TIMER_IRQ,
	ANALYSIS_BLOCKING_THREAD, /* interrupted by the timer's IRQ */
	ANALYSIS_NMI,
	ANALYSIS_IRQ, /* after the timer's IRQ */
	ANALYSIS_SOFTIRQ,
	ANALYSIS_THREAD, /* another thread, or an exception */
	ANALYSIS_UNKNOWN,
	ANALYSIS_IRQ_LATENCY,
	ANALYSIS_THREAD_LATENCY,
	ANALYSIS_NR,
};

struct analysis_row {
	enum analysis_kind kind;
	uint32_t name;	  /* of what ran; 0: none */
	const char *note; /* instead of a name; may be empty */
	uint64_t time_ns;
};

struct analysis {
	struct analysis_row *rows;
	size_t nr;
};

/* Returns 0 or -ENOMEM. */
int analysis_make(struct analysis *analysis, const struct findings *findings,
		  const struct facts *facts) _must_check_;
void analysis_release(struct analysis *analysis);

/* Such as `Blocking thread`. */
const char *analysis_term(enum analysis_kind kind);

#define ACCOUNT_COLUMNS 100
/* With fewer, tables have no room for names. */
#define ACCOUNT_COLUMNS_MIN 70

struct account {
	const char *capture; /* the capture's folder */
	size_t columns;	     /* that its text may take; 0: ACCOUNT_COLUMNS */
	struct facts facts;
	struct statistics statistics; /* for the HTML page */
	uint64_t window_ns;	      /* how long before the spike */
	/* Errors of the decoder in the window, the first one, and what helps; the texts may be
	 * empty.
	 */
	uint64_t errors;
	char first_error[160];
	const char *error_help;
	/* Of Intel PT with times: executed after the spike, and for how long */
	uint64_t after_insns, after_ns;
	struct senders *senders;       /* NULL: no events recorded */
	struct late_thread *thread;    /* NULL: as in facts */
	struct symbolizer *symbolizer; /* of names_source(); NULL: there is none */
	struct spans *spans;
	struct findings findings;
	struct facts blamed; /* facts of the part of the latency that the cause explains */
	struct analysis analysis;
	struct cause cause;
	struct fingerprint fingerprint;
	char *sentence;
};

struct account_want {
	uint64_t window_ns; /* before the spike; 0: default */
	uint64_t after_ns;  /* after the spike */
	const char *symfs;  /* see struct decode_opts */
	bool lines;	    /* of stacks, in programs */
};

/* Reads a capture. Returns 0, or a negative errno with *why: -EINTR if it was stopped. `folder` is
 * not copied. */
int account_load(struct account *account, const struct analysis_hooks *hooks, const char *folder,
		 const struct account_want *want, char **why) _must_check_;

/* Computes the rest; set capture, facts, window and spans before. Returns 0 or -ENOMEM. */
int account_finish(struct account *account) _must_check_;
void account_release(struct account *account);
/* Only what was read of the trace, to read it again. */
void account_release_spans(struct account *account);

static inline const char *account_name(const struct account *account, uint32_t name)
{
	return names_get(account->spans->names, name);
}

/* The line where a function begins, such as `request.c:42`; "" if it is unknown. */
static inline const char *account_source(const struct account *account, uint32_t name)
{
	return names_get(account->spans->names, names_source(account->spans->names, name));
}

/* Finds the callers of a path's outermost function from before the trace: they are on the stack at
 * the spike, unless they have returned. Returns the first such frame, or the number of frames if
 * there is none. */
size_t account_callers_before(const struct account *account, const struct span *span);

#endif
