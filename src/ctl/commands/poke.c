// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "commands/commands.h"
#include "session/session.h"

/* Polling interval of --wait. */
#define LOOK_US 5000

struct poke_args {
	const char *session;
	bool wait;
};

#define TARGET(member) .offset = offsetof(struct poke_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(session), .metavar = "SESSION",
	  .help = "optional if only one session is alive" },
	{ "wait", 'w', OPTION_FLAG, TARGET(wait),
	  .help = "wait until the capture is complete; print its folder" },
};

static const char notes[] = "The session takes a capture as if a spike had occurred.\n"
			    "\n"
			    "Exit codes: 0 fine, 1 no such session, not armed, or the capture "
			    "failed,\n"
			    "2 usage, or no SESSION given although several are alive.\n";

static enum exit_code print_poked_capture(struct console *con, const struct session_entry *session,
					  uint64_t sequence)
{
	_cleanup_free_ char *path = NULL;
	int err = capture_folder_of_poke(session->output, sequence, &path);

	if (!err) {
		fprintf(con->out, "%s\n", path);
		return EXIT_FINE;
	}
	if (err == -ENOENT)
		console_error(con, "session '%s': the capture failed", session->name);
	else
		console_error(con, "'%s': %s", session->output, strerror(-err));
	return EXIT_FAILED;
}

/* Captures are reported in the order of their spikes. */
static enum exit_code wait_for_capture(struct console *con, const struct session_entry *before,
				       uint64_t sequence)
{
	for (;;) {
		_cleanup_(session_list_release) struct session_list list = { 0 };
		const struct session_entry *now;

		if (session_list_read(&list, con))
			return EXIT_FAILED;
		now = session_list_find(&list, before->name);
		if (now && now->last_sequence >= sequence)
			return print_poked_capture(con, now, sequence);
		if (!now || !now->alive || now->pid != before->pid) {
			console_error(con, "session '%s' ended before the capture", before->name);
			return EXIT_FAILED;
		}
		usleep(LOOK_US);
	}
}

static enum exit_code run_poke(struct console *con, int argc, char **argv)
{
	_cleanup_(session_list_release) struct session_list list = { 0 };
	const struct session_entry *chosen;
	struct poke_args args = { 0 };
	enum exit_code code;
	int err;

	err = command_options(&command_poke, con, argc, argv, &args);
	if (err)
		return command_options_exit(err);
	code = session_list_pick(&list, con, args.session, &chosen);
	if (code != EXIT_FINE)
		return code;
	err = perf_poke__session_poke(chosen->name);
	if (err < 0) {
		console_error(con, "session '%s': %s", chosen->name,
			      err == -EBUSY    ? "not armed: taking a capture, or finished"
			      : err == -ENOENT ? "dead (perf-poke-ctl stop removes it)"
					       : strerror(-err));
		return EXIT_FAILED;
	}
	return args.wait ? wait_for_capture(con, chosen, (uint64_t)err) : EXIT_FINE;
}

const struct command command_poke = {
	.name = "poke",
	.summary = "Make a session take a capture now.",
	.arguments = "[SESSION] [--wait]",
	.example = "perf-poke-ctl poke --wait",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_poke,
};
