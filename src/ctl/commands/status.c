// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "cpulist.h"
#include "session/session.h"
#include "text.h"
#include "units.h"

#define WATCH_S 1

struct status_args {
	const char *session;
	bool json;
	bool watch;
};

#define TARGET(member) .offset = offsetof(struct status_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(session), .metavar = "SESSION",
	  .help = "show only this session (all)" },
	{ "watch", 'w', OPTION_FLAG, TARGET(watch), .help = "refresh every second, until Ctrl-C" },
	{ "json", 0, OPTION_FLAG, TARGET(json), .help = "print JSON, see perf-poke-capture(5)" },
};

static const char notes[] =
	"A session is dead if its process was killed; stop, or the next start, removes its\n"
	"leftovers. Missed expiries are reported by start only.\n"
	"\n"
	"Exit codes: 0 fine (also without sessions), 1 no such session, or sessions cannot be\n"
	"listed, 2 usage.\n";

static void print_thresholds(FILE *file, const struct perf_poke_session *session)
{
	bool named = false;

	if (!session->threshold_ns) {
		fprintf(file, ", threshold unknown");
		return;
	}
	/* Usually only irq. */
	if (session->nr_kinds < 2) {
		fprintf(file, ", threshold %s", FORMAT_TIME(session->threshold_ns));
		return;
	}
	for (size_t i = 0; i < session->nr_kinds; i++) {
		const struct perf_poke_session_kind *kind = session->kinds[i];

		if (kind->threshold_ns)
			kind_put_threshold(file, kind->kind, kind->threshold_ns, &named);
	}
}

static void print_watched_cpus(FILE *file, const struct perf_poke_session *session)
{
	_cleanup_free_ char *list = NULL;

	if (cpulist_format(session->cpus, session->nr_cpus, &list))
		return;
	fprintf(file, "  %-10s CPU%s %s", "watches", session->nr_cpus > 1 ? "s" : "", list);
	print_thresholds(file, session);
	fprintf(file, ", timer %s, workload %s\n", CLEAN(session->function), session->workload);
}

static void print_recorder_state(FILE *file, const struct perf_poke_session *session)
{
	fprintf(file, "  %-10s %s%s%s", "recorder", session->recorder,
		*session->freeze ? ", freeze " : "", session->freeze);
	if (session->nr_targets) {
		fprintf(file, ", delivery %s to",
			*session->delivery ? session->delivery : "unknown");
		for (size_t i = 0; i < session->nr_targets; i++)
			fprintf(file, " %d", session->targets[i]);
		fprintf(file, ", %s", FORMAT_COUNT(session->pokes, "poke", "pokes"));
		if (session->merged)
			fprintf(file, ", %" PRIu64 " more merged", session->merged);
	}
	fputc('\n', file);
}

static void print_latency_stats(FILE *file, const struct perf_poke_session_kind *kind)
{
	const struct perf_poke_stats *stats = kind->stats;

	if (kind->kind == PERF_POKE_TRIGGER_IRQ)
		fprintf(file, "  %-10s %s", "latency",
			FORMAT_COUNT(stats->count, "expiry", "expiries"));
	else
		fprintf(file, "  %-10s %s", kind_display_name(kind->kind),
			FORMAT_COUNT(stats->count, "time", "times"));
	if (stats->count)
		fprintf(file, ", p50 %s, p99 %s, p99.9 %s, max %s", FORMAT_TIME(kind->p50_ns),
			FORMAT_TIME(kind->p99_ns), FORMAT_TIME(kind->p999_ns),
			FORMAT_TIME(stats->max_ns));
	fprintf(file, ", %s\n", FORMAT_COUNT(stats->spikes, "spike", "spikes"));
}

static int format_session_cell(const void *ctx, enum perf_poke_trigger_kind kind, size_t i,
			       struct perf_poke_stats *stats, uint64_t *p99_ns)
{
	const struct perf_poke_session *session = ctx;

	for (size_t k = 0; k < session->nr_kinds; k++) {
		if (session->kinds[k]->kind != kind)
			continue;
		*stats = *session->kinds[k]->cpu_stats[i];
		*p99_ns = session->kinds[k]->cpu_p99_ns[i];
		return 0;
	}
	return -ENXIO;
}

static void print_status_table(FILE *file, const struct perf_poke_session *session, size_t columns)
{
	const struct top_table table = { session->cpus, session->nr_cpus, columns,
					 format_session_cell, session };

	top_print_table(file, &table);
}

static void print_captures_taken(FILE *file, const struct perf_poke_session *session)
{
	fprintf(file, "  %-10s %" PRIu64, "captures", session->captures);
	if (session->max_captures != UINT64_MAX)
		fprintf(file, " of %" PRIu64, session->max_captures);
	fprintf(file, ", %" PRIu64 " failed", session->failed);
	if (session->pending)
		fprintf(file, ", %" PRIu64 " being written", session->pending);
	fputc('\n', file);
}

static void print_session_path(FILE *file, const char *what, const char *path)
{
	_cleanup_free_ char *copy = strdup(path);

	if (copy && *copy)
		fprintf(file, "  %-10s %s\n", what, text_make_printable(copy));
}

void status_print_session(FILE *file, const struct perf_poke_session *session, size_t columns)
{
	fprintf(file, "%s  %s", CLEAN(session->name), session->alive ? "alive" : "dead");
	if (session->pid)
		fprintf(file, ", pid %d", session->pid);
	if (session->armed_for_ns)
		fprintf(file, ", armed %s%s", session->alive ? "for " : "",
			FORMAT_TIME(session->armed_for_ns));
	if (session->armed_for_ns && !session->alive)
		fputs(" ago", file);
	if (session->alive && !session->nr_cpus)
		fputs(", started by another version of perf-poke", file);
	fputc('\n', file);
	/* Sessions killed early or of another version have no more data. */
	if (!session->nr_cpus)
		return;
	print_watched_cpus(file, session);
	print_recorder_state(file, session);
	for (size_t i = 0; i < session->nr_kinds; i++)
		print_latency_stats(file, session->kinds[i]);
	print_captures_taken(file, session);
	print_session_path(file, "output", session->output);
	print_session_path(file, "last", session->last_capture);
	print_status_table(file, session, columns);
	sources_print(file, session->sources, session->nr_sources);
}

struct showing {
	struct console *con;
	const char *wanted; /* NULL: all */
	size_t shown;
};

static void show_one_session(void *ctx, const struct perf_poke_session *session)
{
	struct showing *showing = ctx;

	if (showing->wanted && strcmp(showing->wanted, session->name))
		return;
	if (showing->con->json) {
		json_print_line(showing->con, json_session_line(session));
	} else {
		if (showing->shown)
			fputc('\n', showing->con->out);
		status_print_session(showing->con->out, session, showing->con->columns);
	}
	showing->shown++;
}

static enum exit_code show_sessions(struct console *con, const char *wanted)
{
	struct showing showing = { .con = con, .wanted = wanted };
	int err = perf_poke__sessions(show_one_session, &showing);

	if (err < 0) {
		session_list_print_error(con, err);
		return EXIT_FAILED;
	}
	if (!showing.shown && wanted) {
		console_error(con, "no session named '%s'", wanted);
		return EXIT_FAILED;
	}
	if (!showing.shown && !con->json)
		fputs("no sessions\n", con->out);
	fflush(con->out);
	return EXIT_FINE;
}

/* A terminal is redrawn in place. */
static enum exit_code watch_sessions(struct console *con, const char *wanted)
{
	const struct timespec pause = { .tv_sec = WATCH_S };
	bool terminal = con->columns;
	enum exit_code code = EXIT_FINE;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		if (terminal)
			console_clear_screen(con);
		code = show_sessions(con, wanted);
		if (code != EXIT_FINE || ferror(con->out))
			return code;
		/* Other signals, such as SIGWINCH, only cut the pause short. */
		if (sigtimedwait(&set, NULL, &pause) > 0)
			return EXIT_FINE;
		if (!con->json && !terminal)
			fputc('\n', con->out);
	}
}

static enum exit_code run_status(struct console *con, int argc, char **argv)
{
	struct status_args args = { 0 };
	int err;

	err = command_options(&command_status, con, argc, argv, &args);
	if (err)
		return command_options_exit(err);
	console_use_json(con, args.json);
	return args.watch ? watch_sessions(con, args.session) : show_sessions(con, args.session);
}

const struct command command_status = {
	.name = "status",
	.summary = "Show the sessions of this machine with their latencies.",
	.arguments = "[--json] [--watch] [SESSION]",
	.example = "perf-poke-ctl status --watch",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.folds = true,
	.run = run_status,
};
