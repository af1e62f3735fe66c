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

struct checked {
	struct console *con;
	size_t nr_unknown;
};

static void print_capability(void *ctx, const struct perf_poke_capability *capability)
{
	struct checked *checked = ctx;
	struct console *con = checked->con;
	bool have = capability->have;
	const char *word = have ? "yes" : capability->unknown ? "?" : "no";

	checked->nr_unknown += capability->unknown;
	if (con->json) {
		json_print_line(con, json_capability_line(capability));
		return;
	}
	fprintf(con->out, "%-20s %-3s  %s%s\n", capability->name, word, capability->purpose,
		!have && capability->required ? " (required)" : "");
	if (capability->unknown)
		fprintf(con->out, "%-20s      cannot be seen without root: %s\n", "",
			capability->detail);
	else if (!have)
		fprintf(con->out, "%-20s      %s; %s\n", "", capability->detail,
			capability->remedy);
	else if (*capability->detail)
		fprintf(con->out, "%-20s      %s\n", "", capability->detail);
}

/* Capabilities of this program, not of the library, which does not decode. */
static void check_libtracecmd(struct checked *checked)
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

	print_capability(checked, &capability);
}

static void check_libipt(struct checked *checked)
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

	print_capability(checked, &capability);
}

static enum exit_code run_check(struct console *con, int argc, char **argv)
{
	struct checked seen = { con, 0 };
	struct check_args args = { 0 };
	int err;

	err = command_options(&command_check, con, argc, argv, &args);
	if (err)
		return command_options_exit(err);
	console_use_json(con, args.json);
	err = perf_poke__check(print_capability, &seen);
	check_libipt(&seen);
	check_libtracecmd(&seen);
	if (err && err != -EOPNOTSUPP) {
		console_error(con, "check: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (con->json)
		json_print_line(con, json_check_line(!err));
	else
		fprintf(con->out, "\n%s\n",
			!err ? "perf-poke-ctl start can run here."
			: seen.nr_unknown
				? "What this system supports, sudo perf-poke-ctl check shows."
				: "perf-poke-ctl start cannot run here: a requirement is missing.");
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
