// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/cli.h"
#include "commands/commands.h"
#include "ftrace/trace_dat.h"
#include "pt/decode.h"
#include "session/session.h"

struct check_args {
	bool json;
};

static const struct option_spec options[] = {
	{ "json", 0, OPTION_FLAG, .offset = offsetof(struct check_args, json),
	  .help = "print JSON, see perf-poke-capture(5)" },
};

static const char notes[] = "Exit codes: 0 start can run, 1 it cannot, 2 usage.\n";

static void print_capability(void *ctx, const struct perf_poke_capability *capability)
{
	struct console *con = ctx;
	bool have = capability->have;

	if (con->json) {
		json_print_line(con, json_capability_line(capability));
		return;
	}
	fprintf(con->out, "%-20s %-3s  %s%s\n", capability->name, have ? "yes" : "no",
		capability->purpose, !have && capability->required ? " (required)" : "");
	if (!have)
		fprintf(con->out, "%-20s      %s; %s\n", "", capability->detail,
			capability->remedy);
	else if (*capability->detail)
		fprintf(con->out, "%-20s      %s\n", "", capability->detail);
}

/* Capabilities of this program, not of the library, which does not decode. */
static void check_libtracecmd(struct console *con)
{
	const struct perf_poke_capability capability = {
		.sz = sizeof(struct perf_poke_capability),
		.name = "libtracecmd",
		.purpose = "read captures of ftrace: report, export, causes",
		.detail = trace_dat_is_built() ? "" : "this program was built without it",
		.remedy = "rebuild with libtracecmd-dev (Debian) or libtracecmd-devel (Fedora), or "
			  "install trace-cmd and use script",
		.have = trace_dat_is_built(),
	};

	print_capability(con, &capability);
}

static void check_libipt(struct console *con)
{
	const struct perf_poke_capability capability = {
		.sz = sizeof(struct perf_poke_capability),
		.name = "libipt",
		.purpose = "read captures of Intel PT: report, export, script, causes",
		.detail = decode_is_built() ? "" : "this program was built without it",
		.remedy = "rebuild with libipt-dev (Debian) or libipt-devel (Fedora), or "
			  "install perf and use script",
		.have = decode_is_built(),
	};

	print_capability(con, &capability);
}

static enum exit_code run_check(struct console *con, int argc, char **argv)
{
	struct check_args args = { 0 };
	int err;

	err = command_options(&command_check, con, argc, argv, &args);
	if (err)
		return command_options_exit(err);
	console_use_json(con, args.json);
	err = perf_poke__check(print_capability, con);
	check_libipt(con);
	check_libtracecmd(con);
	if (err && err != -EOPNOTSUPP) {
		console_error(con, "check: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (con->json)
		json_print_line(con, json_check_line(!err));
	else
		fprintf(con->out, "\n%s\n",
			err ? "perf-poke-ctl start cannot run here: a requirement is missing."
			    : "perf-poke-ctl start can run here.");
	return err ? EXIT_FAILED : EXIT_FINE;
}

const struct command command_check = {
	.name = "check",
	.summary = "Check what this system supports, and how to get what is missing.",
	.arguments = "[--json]",
	.example = "perf-poke-ctl check",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.folds = true,
	.run = run_check,
};
