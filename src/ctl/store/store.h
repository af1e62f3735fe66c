/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures and their causes as tables of a database; see docs/fleet.md.
 *
 * store/ has the schema and one file an engine. It may include causes/.
 */
#ifndef CTL_STORE_STORE_H
#define CTL_STORE_STORE_H

#include "causes/groups.h"

struct store_engine {
	/* Returns 0, or a negative errno with *why (allocated). `where` is what follows the scheme,
	 * or the whole URL if url is set. */
	int (*open)(void **db, const char *where, char **why);
	/* Statements without parameters. */
	int (*run)(void *db, const char *sql, char **why);
	/* A statement with parameters $1, $2 ..., which are only ever bound. */
	int (*prepare)(void *db, const char *name, const char *sql, int nr, char **why);
	int (*insert)(void *db, const char *name, const char *const *values, int nr, char **why);
	void (*close)(void *db);
	const char *begin; /* a transaction that waits for other writers */
	bool url;
};

extern const struct store_engine store_sqlite, store_postgresql;

/* Whether `url` has a scheme that this build knows. Returns 0 or -EINVAL with *why. */
int store_check(const char *url, char **why) _must_check_;

/* Inserts or updates all captures and causes in one transaction. Returns 0, or a negative errno
 * with *why (allocated). */
int store_causes(const struct causes *causes, const char *url, char **why) _must_check_;

#endif
