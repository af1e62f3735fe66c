// SPDX-License-Identifier: GPL-2.0-only
#include <sqlite3.h>
#include <string.h>

#include "explain.h"
#include "store/store.h"

#define BUSY_MS 60000
#define STATEMENTS_MAX 4

struct sqlite {
	sqlite3 *db;
	struct {
		const char *name;
		sqlite3_stmt *statement;
	} statements[STATEMENTS_MAX];
	size_t nr;
};

static int failed(const struct sqlite *s, char **why)
{
	return say_why(why, -EIO, "sqlite: %s", sqlite3_errmsg(s->db));
}

static int sqlite_open(void **db, const char *where, char **why)
{
	struct sqlite *s = *db = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = sqlite3_open_v2(where, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (r)
		return failed(s, why);
	sqlite3_busy_timeout(s->db, BUSY_MS);
	return 0;
}

static int sqlite_run(void *db, const char *sql, char **why)
{
	struct sqlite *s = db;

	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) ? failed(s, why) : 0;
}

/* For SQLite, a parameter such as $1 is a name, numbered by its first occurrence. */
static int sqlite_prepare(void *db, const char *name, const char *sql, int nr, char **why)
{
	struct sqlite *s = db;

	if (s->nr == STATEMENTS_MAX)
		return -ENOSPC;
	s->statements[s->nr].name = name;
	if (sqlite3_prepare_v2(s->db, sql, -1, &s->statements[s->nr].statement, NULL))
		return failed(s, why);
	s->nr++;
	return 0;
}

static int sqlite_insert(void *db, const char *name, const char *const *values, int nr, char **why)
{
	struct sqlite *s = db;
	sqlite3_stmt *statement;
	size_t i = 0;
	int r = 0;

	while (i < s->nr && strcmp(s->statements[i].name, name))
		i++;
	if (i == s->nr)
		return -EINVAL;
	statement = s->statements[i].statement;
	for (int k = 0; k < nr && !r; k++)
		r = sqlite3_bind_text(statement, k + 1, values[k], -1, SQLITE_STATIC);
	if (!r && sqlite3_step(statement) != SQLITE_DONE)
		r = -1;
	if (sqlite3_reset(statement) || r)
		return failed(s, why);
	return 0;
}

static void sqlite_close(void *db)
{
	struct sqlite *s = db;

	if (!s)
		return;
	for (size_t i = 0; i < s->nr; i++)
		sqlite3_finalize(s->statements[i].statement);
	sqlite3_close(s->db);
	free(s);
}

const struct store_engine store_sqlite = {
	.open = sqlite_open,
	.run = sqlite_run,
	.prepare = sqlite_prepare,
	.insert = sqlite_insert,
	.close = sqlite_close,
	.begin = "BEGIN IMMEDIATE",
};
