// SPDX-License-Identifier: GPL-2.0-only
#include <libpq-fe.h>
#include <string.h>

#include "explain.h"
#include "store/store.h"

/* Only the first line of a message states the error. */
static int failed(const PGconn *db, char **why)
{
	const char *text = PQerrorMessage(db);

	return say_why(why, -EIO, "postgresql: %.*s", (int)strcspn(text, "\n"), text);
}

/* Ignores the NOTICE that a table exists. */
static void ignore(void *arg, const PGresult *result)
{
}

static int pg_open(void **db, const char *where, char **why)
{
	*db = PQconnectdb(where);
	if (!*db)
		return -ENOMEM;
	PQsetNoticeReceiver(*db, ignore, NULL);
	if (PQstatus(*db) != CONNECTION_OK || PQsetClientEncoding(*db, "UTF8"))
		return failed(*db, why);
	return 0;
}

static int check(PGconn *db, PGresult *result, char **why)
{
	ExecStatusType status = PQresultStatus(result);

	PQclear(result);
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ? 0 : failed(db, why);
}

static int pg_run(void *db, const char *sql, char **why)
{
	return check(db, PQexec(db, sql), why);
}

static int pg_prepare(void *db, const char *name, const char *sql, int nr, char **why)
{
	return check(db, PQprepare(db, name, sql, nr, NULL), why);
}

static int pg_insert(void *db, const char *name, const char *const *values, int nr, char **why)
{
	return check(db, PQexecPrepared(db, name, nr, values, NULL, NULL, 0), why);
}

static void pg_close(void *db)
{
	PQfinish(db);
}

const struct store_engine store_postgresql = {
	.open = pg_open,
	.run = pg_run,
	.prepare = pg_prepare,
	.insert = pg_insert,
	.close = pg_close,
	/* One writer at a time: two that update the same causes in different orders would
	 * deadlock. */
	.begin = "BEGIN; SELECT pg_advisory_xact_lock(hashtext('perf_poke'))",
	.url = true,
};
