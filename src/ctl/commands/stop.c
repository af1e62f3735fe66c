// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "clock.h"
#include "commands/commands.h"
#include "session/session.h"
#include "units.h"

/* Polling interval. */
#define LOOK_US 20000

struct stop_args {
	const char *session;
	bool all;
	uint64_t timeout_ns; /* 0: no limit */
};

#define TARGET(member) .offset = offsetof(struct stop_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(session), .metavar = "SESSION",
	  .help = "optional if only one session is alive" },
	{ "all", 'a', OPTION_FLAG, TARGET(all),
	  .help = "stop all sessions and remove leftovers of dead ones" },
	{ "timeout", 0, OPTION_DURATION, .min = NSEC_PER_SEC / 1000, .max = 8760 * NSEC_PER_HOUR,
	  TARGET(timeout_ns), .metavar = "TIME", .help = "maximum time to wait (no limit)" },
};

static const char notes[] =
	"Waits until the session has written its last capture and unloaded its programs.\n"
	"Removes the leftovers of a session whose process was killed.\n"
	"Times take ns, us, ms, s, m, h or d; a bare number is seconds.\n"
	"\n"
	"Exit codes: 0 stopped (--all: also without sessions), 1 no such session, timeout or "
	"failure, 2 usage, or no SESSION\n"
	"given although several are alive.\n";

static void print_restore_message(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	console_log_message(ctx, level, msg);
}

/* Restores kernel settings that killed sessions changed. Returns their number, or a negative errno.
 */
static int restore_leftovers(struct console *con)
{
	int err = perf_poke__restore(print_restore_message, con);

	if (err > 0)
		console_info(con, "restored the kernel settings of killed sessions");
	return err;
}

/* Asks a session to stop, or removes a dead one. */
static enum exit_code ask_session_to_stop(struct console *con, const struct session_entry *entry)
{
	int err = perf_poke__session_stop(entry->name);

	if (!err) {
		console_info(con, "session '%s' was dead: removed its leftovers", entry->name);
		err = restore_leftovers(con);
	}
	/* -ENOENT: it has just ended. */
	if (err >= 0 || err == -ENOENT)
		return EXIT_FINE;
	console_error(con, "session '%s': cannot stop it: %s", entry->name, strerror(-err));
	return EXIT_FAILED;
}

/* The name may have been reused: compares the PID. Returns 1, 0, or a negative errno after printing
 * the error. */
static int is_session_alive(struct console *con, const struct session_entry *entry)
{
	_cleanup_(session_list_release) struct session_list now = { 0 };
	const struct session_entry *found;
	int err = session_list_read(&now, con);

	if (err)
		return err;
	found = session_list_find(&now, entry->name);
	return found && found->alive && found->pid == entry->pid;
}

static enum exit_code wait_for_session_end(struct console *con, const struct session_entry *entry,
					   uint64_t end_ns, uint64_t timeout_ns)
{
	for (;;) {
		int err = is_session_alive(con, entry);

		if (!err)
			return EXIT_FINE;
		if (err < 0)
			return EXIT_FAILED;
		if (clock_ns(CLOCK_MONOTONIC) >= end_ns) {
			console_error(con, "session '%s' did not stop within %s", entry->name,
				      FORMAT_TIME(timeout_ns));
			return EXIT_FAILED;
		}
		usleep(LOOK_US);
	}
}

/* Asks all sessions before waiting for any. Continues after failures. */
static enum exit_code stop_sessions(struct console *con, const struct session_entry *entries,
				    size_t nr, uint64_t timeout_ns)
{
	uint64_t end_ns = timeout_ns ? clock_ns(CLOCK_MONOTONIC) + timeout_ns : UINT64_MAX;
	_cleanup_free_ enum exit_code *asked = calloc(nr, sizeof(*asked));
	enum exit_code code = EXIT_FINE;

	if (!asked) {
		console_error(con, "%s", strerror(ENOMEM));
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < nr; i++)
		asked[i] = ask_session_to_stop(con, &entries[i]);
	for (size_t i = 0; i < nr; i++) {
		if (entries[i].alive && asked[i] == EXIT_FINE)
			asked[i] = wait_for_session_end(con, &entries[i], end_ns, timeout_ns);
		if (asked[i] != EXIT_FINE)
			code = asked[i];
	}
	return code;
}

static enum exit_code run_stop(struct console *con, int argc, char **argv)
{
	_cleanup_(session_list_release) struct session_list list = { 0 };
	const struct session_entry *chosen;
	struct stop_args args = { 0 };
	enum exit_code code;
	int err;

	err = command_options(&command_stop, con, argc, argv, &args);
	if (err)
		return command_options_exit(err);
	if (args.all && args.session) {
		console_error(con, "--all excludes SESSION '%s'", args.session);
		return EXIT_USAGE;
	}
	err = session_list_read(&list, con);
	if (err)
		return EXIT_FAILED;
	if (args.all && list.nr)
		return stop_sessions(con, list.entries, list.nr, args.timeout_ns);
	if (args.all) {
		err = restore_leftovers(con);
		if (!err)
			console_info(con, "no session is alive");
		return err < 0 ? EXIT_FAILED : EXIT_FINE;
	}
	code = session_list_choose(&list, con, args.session, &chosen);
	return code == EXIT_FINE ? stop_sessions(con, chosen, 1, args.timeout_ns) : code;
}

const struct command command_stop = {
	.name = "stop",
	.summary = "Stop a session and wait until it has ended.",
	.arguments = "[SESSION] [OPTIONS]",
	.example = "perf-poke-ctl stop --all",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_stop,
};
