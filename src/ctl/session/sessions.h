/* SPDX-License-Identifier: GPL-2.0-only */
/* The sessions of the machine, for the commands that are about one of them. */
#ifndef CTL_SESSION_SESSIONS_H
#define CTL_SESSION_SESSIONS_H

#include "cli/command.h"

/* What is needed to choose one and to see what became of it. */
struct session_entry {
	char *name;
	bool alive;
	int pid;
	uint64_t last_sequence;
	char *output;
};

struct session_list {
	struct session_entry *entries;
	size_t nr;
	bool out_of_memory;
};

/* Returns 0, or a negative errno and the error has been printed. */
int sessions_read(struct session_list *list, struct console *con) _must_check_;
void sessions_release(struct session_list *list);

/* For perf_poke__sessions(): ctx is the list. */
void sessions_add(void *ctx, const struct perf_poke_session *session);

/* NULL: there is none of this name. */
const struct session_entry *sessions_find(const struct session_list *list, const char *name);

/* The one of this name, alive or dead; without a name, the only one that is alive. Returns
 * EXIT_FINE, or the error has been printed. */
enum exit_code sessions_choose(const struct session_list *list, struct console *con,
			       const char *name, const struct session_entry **chosen) _must_check_;

/* Says what went wrong with looking for sessions. */
void sessions_error(struct console *con, int error);

#endif
