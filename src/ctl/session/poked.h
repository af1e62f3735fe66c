/* SPDX-License-Identifier: GPL-2.0-only */
/* The targets of a session: started and configured, poked, and their files collected. */
#ifndef CTL_SESSION_POKED_H
#define CTL_SESSION_POKED_H

#include "session/child.h"
#include "session/results.h"
#include "session/targets.h"

struct poked {
	const struct target_args *args;
	struct console *con;
	struct perf_poke_target targets[TARGETS_MAX];
	struct child child; /* child_none without a command */
	struct child_config config;
	char wake[PERF_RECORD_WAKE];
	int *watched;
	struct perf_files before; /* files older than the command */
	bool started;
};

/* No targets, for poked_release(). */
extern const struct poked poked_none;

/* Creates the process of the command, if any, and adds the targets to opts. Arguments are not
 * copied. Returns 0, or a negative errno after printing the error. */
int poked_prepare(struct poked *poked, const struct target_args *args, struct console *con,
		  struct perf_poke_opts *opts) _must_check_;

/* child_start(), if there is a command. */
int poked_start(struct poked *poked, int interrupt) _must_check_;

/* Stops the command and finds its files. Returns 0, or a negative errno after printing the error.
 */
int poked_finish(struct poked *poked, int signals, struct result_perf *result) _must_check_;

void poked_release(struct poked *poked);

#endif
