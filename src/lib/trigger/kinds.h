/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The kinds of triggers, one row each. */
#ifndef LIB_TRIGGER_KINDS_H
#define LIB_TRIGGER_KINDS_H

#include "options/config.h"
#include "trigger/trigger.h"

struct trigger_row {
	struct perf_poke_choice choice; /* first: see session/choices.c */
	bool timers;			/* watches late timers: needs a workload that arms some */
	bool has_text;			/* in addition to the threshold */
	bool anywhere;			/* also takes spikes on CPUs that are not watched */
	/* Checks the options of the kind, even if it is not watched. Logs. NULL, like the next two:
	 * nothing to do. */
	int (*check)(struct config *config);
	/* Before loading: selects the programs of the kind ("?" in bpf/), and sets their constants
	 * and the sizes of their maps. Logs. */
	int (*load)(struct trigger *trigger, const struct trigger_config *config,
		    const struct log *log);
	/* Attaches programs that their section name does not attach. Logs. */
	int (*attach)(struct trigger *trigger, const struct trigger_config *config,
		      const struct log *log);
	struct probe probe;
};

/* By enum perf_poke_trigger_kind; NULL past the end. */
const struct trigger_row *trigger_row(size_t kind);
const char *trigger_kind_name(unsigned int kind);

/* Sets thresholds and texts from config->triggers. Logs failures. */
int triggers_check(struct config *config);
/* Restores thresholds that an earlier run has adapted. */

#endif
