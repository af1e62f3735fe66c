/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom a session pokes, from before it begins until what they wrote is collected. */
#ifndef CTL_SESSION_POKED_H
#define CTL_SESSION_POKED_H

#include "session/child.h"
#include "session/results.h"
#include "session/targets.h"

struct poked {
	const struct target_args *args;
	struct console *con;
	struct perf_poke_target targets[TARGETS_MAX];
	struct child child; /* none if there is no command */
	struct child_config config;
	char wake[PERF_RECORD_WAKE];
	int *watched;
	struct perf_files before; /* the command */
	bool started;
};

/* Nothing there, for poked_release(). */
extern const struct poked poked_none;

/*
 * Makes the process of the command, if there is one, and puts the targets into opts. What is given
 * must live as long. Returns 0, or a negative errno and the error has been printed.
 */
int poked_prepare(struct poked *poked, const struct target_args *args, struct console *con,
		  struct perf_poke_opts *opts) _must_check_;

/* As child_start(); nothing to do without a command. */
int poked_start(struct poked *poked, int interrupt) _must_check_;

/* Ends the command, and finds what it wrote; `output` is for --archive. Returns 0, or a negative
 * errno when something failed, and the error has been printed. */
int poked_finish(struct poked *poked, int signals, const char *output,
		 struct result_perf *result) _must_check_;

void poked_release(struct poked *poked);

#endif
