// SPDX-License-Identifier: GPL-2.0-only
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "explain.h"
#include "strfmt.h"
#include "utf8.h"

/* A dialect of both engines. SQLite stores times as text, which sorts. */
static const char schema[] = "CREATE TABLE IF NOT EXISTS perf_poke_causes ("
			     " fingerprint TEXT NOT NULL PRIMARY KEY,"
			     " kind TEXT NOT NULL,"
			     " cause TEXT NOT NULL,"
			     " sentence TEXT NOT NULL,"
			     " worst_ns BIGINT NOT NULL);"
			     "CREATE TABLE IF NOT EXISTS perf_poke_captures ("
			     " host TEXT NOT NULL,"
			     " taken TIMESTAMPTZ NOT NULL,"
			     " cpu INTEGER NOT NULL,"
			     " latency_ns BIGINT NOT NULL,"
			     " trigger_name TEXT NOT NULL,"
			     " task TEXT NOT NULL,"
			     " capture TEXT NOT NULL,"
			     " fingerprint TEXT NOT NULL REFERENCES perf_poke_causes,"
			     " PRIMARY KEY (host, taken, cpu, latency_ns));"
			     "CREATE INDEX IF NOT EXISTS perf_poke_captures_cause"
			     " ON perf_poke_captures (fingerprint, taken);";

#define CAUSE_VALUES 5
static const char put_cause[] =
	"INSERT INTO perf_poke_causes (fingerprint, kind, cause, sentence, worst_ns)"
	" VALUES ($1, $2, $3, $4, $5)"
	" ON CONFLICT (fingerprint) DO UPDATE"
	" SET sentence = excluded.sentence, worst_ns = excluded.worst_ns"
	" WHERE excluded.worst_ns > perf_poke_causes.worst_ns";

#define CAPTURE_VALUES 8
static const char put_capture[] =
	"INSERT INTO perf_poke_captures"
	" (host, taken, cpu, latency_ns, trigger_name, task, capture, fingerprint)"
	" VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
	" ON CONFLICT (host, taken, cpu, latency_ns) DO UPDATE"
	" SET trigger_name = excluded.trigger_name, task = excluded.task,"
	" capture = excluded.capture, fingerprint = excluded.fingerprint";

static const struct scheme {
	const char *prefix;
	const struct store_engine *engine; /* NULL: not in this build */
	const char *library;
} schemes[] = {
#ifdef HAVE_SQLITE
	{ "sqlite:", &store_sqlite, "libsqlite3" },
#else
	{ "sqlite:", NULL, "libsqlite3" },
#endif
#ifdef HAVE_POSTGRESQL
	{ "postgresql://", &store_postgresql, "libpq" },
	{ "postgres://", &store_postgresql, "libpq" },
#else
	{ "postgresql://", NULL, "libpq" },
	{ "postgres://", NULL, "libpq" },
#endif
};

/* Messages must not repeat the URL: it may contain a password. */
static const struct scheme *find_scheme(const char *url, char **why)
{
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		const struct scheme *scheme = &schemes[i];
		size_t length = strlen(scheme->prefix);

		if (strncmp(url, scheme->prefix, length))
			continue;
		if (!scheme->engine) {
			say_why(why, -EINVAL, "built without %s", scheme->library);
			return NULL;
		}
		if (!url[length])
			break;
		return scheme;
	}
	say_why(why, -EINVAL, "not a database (use sqlite:FILE or postgresql://HOST/NAME)");
	return NULL;
}

int store_check(const char *url, char **why)
{
	return find_scheme(url, why) ? 0 : -EINVAL;
}

struct storing {
	const struct store_engine *engine;
	void *db;
	char **why;
};

static int insert_cause(const struct storing *s, const struct seen *seen)
{
	_cleanup_free_ char *cause = fingerprint_text(&seen->fingerprint);
	_cleanup_free_ char *worst = strfmt("%" PRIu64, seen->worst_ns);
	_cleanup_free_ char *sentence = strdup(seen->sentence);
	const char *values[CAUSE_VALUES] = { seen->fingerprint.id, seen->fingerprint.kind, cause,
					     sentence, worst };

	if (!cause || !worst || !sentence)
		return -ENOMEM;
	utf8_repair(sentence);
	return s->engine->insert(s->db, "cause", values, CAUSE_VALUES, s->why);
}

static int insert_capture(const struct storing *s, const struct causes *causes,
			  const struct sighting *sighting)
{
	_cleanup_free_ char *path = strdup(sighting->path);
	_cleanup_free_ char *host = strdup(sighting->host);
	char taken[CLOCK_UTC_SIZE], cpu[16], latency[24], task[sizeof(sighting->task)];
	const char *values[CAPTURE_VALUES] = {
		host,
		taken,
		cpu,
		latency,
		sighting->trigger,
		task,
		path,
		causes->seen[sighting->kind].fingerprint.id,
	};

	if (!path || !host)
		return -ENOMEM;
	utf8_repair(path);
	utf8_repair(host);
	memcpy(task, sighting->task, sizeof(task));
	utf8_repair(task);
	/* Microseconds, the resolution of PostgreSQL. */
	clock_format_utc(taken, sighting->wall_ns);
	snprintf(cpu, sizeof(cpu), "%d", sighting->cpu);
	snprintf(latency, sizeof(latency), "%" PRIu64, sighting->latency_ns);
	return s->engine->insert(s->db, "capture", values, CAPTURE_VALUES, s->why);
}

static int store_all(const struct storing *s, const struct causes *causes)
{
	const struct store_engine *engine = s->engine;
	int r = engine->run(s->db, engine->begin, s->why);

	if (!r)
		r = engine->run(s->db, schema, s->why);
	if (!r)
		r = engine->prepare(s->db, "cause", put_cause, CAUSE_VALUES, s->why);
	if (!r)
		r = engine->prepare(s->db, "capture", put_capture, CAPTURE_VALUES, s->why);
	for (size_t i = 0; i < causes->nr_seen && !r; i++)
		r = insert_cause(s, &causes->seen[i]);
	for (size_t i = 0; i < causes->nr && !r; i++)
		r = insert_capture(s, causes, &causes->sightings[i]);
	return r ?: engine->run(s->db, "COMMIT", s->why);
}

int store_causes(const struct causes *causes, const char *url, char **why)
{
	const struct scheme *scheme = find_scheme(url, why);
	struct storing s = { .why = why };
	int r;

	if (!scheme)
		return -EINVAL;
	s.engine = scheme->engine;
	r = s.engine->open(&s.db, s.engine->url ? url : url + strlen(scheme->prefix), why);
	if (!r)
		r = store_all(&s, causes);
	s.engine->close(s.db);
	return r;
}
