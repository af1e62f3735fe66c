/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stores captures and causes in a database; see docs/fleet.md.
 *
 * store/ has the schema, and one file per engine. It may include causes/.
 */
#ifndef CTL_STORE_STORE_H
#define CTL_STORE_STORE_H

#include "causes/groups.h"

struct store_engine {
	/* Returns 0, or a negative errno with *why (allocated). `where` is the URL without its
	 * scheme, or the whole URL if `url` is set. */
	int (*open)(void **db, const char *where, char **why);
	/* Runs statements without parameters. */
	int (*run)(void *db, const char *sql, char **why);
	/* Prepares a statement with parameters $1, $2 ... Values are always bound, never part of
	 * the SQL. */
	int (*prepare)(void *db, const char *name, const char *sql, int nr, char **why);
	int (*insert)(void *db, const char *name, const char *const *values, int nr, char **why);
	void (*close)(void *db);
	const char *begin; /* begins a transaction that waits for other writers */
	bool url;
};

extern const struct store_engine store_sqlite, store_postgresql;

/* Whether this build supports the scheme of `url`. Returns 0, or -EINVAL with *why. */
int store_check(const char *url, char **why) _must_check_;

/* Inserts or updates all captures and causes in one transaction. Returns 0, or a negative errno
 * with *why (allocated). */
int store_causes(const struct causes *causes, const char *url, char **why) _must_check_;

#endif
