/* SPDX-License-Identifier: GPL-2.0-only */
/* The sessions of the machine, for commands that address one. */
#ifndef CTL_SESSION_SESSIONS_H
#define CTL_SESSION_SESSIONS_H

#include "cli/cli.h"

struct session_entry {
	char *name;
	bool alive;
	int pid;
	uint64_t last_sequence;
	int only_cpu; /* the only CPU watched; -1: several */
	char *output;
};

struct session_list {
	struct session_entry *entries;
	size_t nr;
	bool out_of_memory;
};

/* Returns 0, or a negative errno after printing the error. */
int sessions_read(struct session_list *list, struct console *con) _must_check_;
void sessions_release(struct session_list *list);

/* Callback of perf_poke__sessions(); ctx is the list. */
void sessions_add(void *ctx, const struct perf_poke_session *session);

/* May return NULL. */
const struct session_entry *sessions_find(const struct session_list *list, const char *name);

/* Chooses the session of this name, alive or dead; without a name, the only live one. Returns
 * EXIT_FINE, or another code after printing the error. */
enum exit_code sessions_choose(const struct session_list *list, struct console *con,
			       const char *name, const struct session_entry **chosen) _must_check_;

/* Reads the list and chooses. */
enum exit_code sessions_pick(struct session_list *list, struct console *con, const char *name,
			     const struct session_entry **chosen) _must_check_;

/* Prints an error of perf_poke__sessions(). */
void sessions_error(struct console *con, int error);

#endif
