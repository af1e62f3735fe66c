// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/cli.h"
#include "commands/commands.h"
#include "cpulist.h"
#include "ftrace/trace_dat.h"
#include "isolation/isolation.h"
#include "pt/decode.h"
#include "session/session.h"

/* Time in which interrupts of the CPUs are counted */
#define COUNT_MS 1000

struct check_args {
	bool json;
	const char *cpus;
};

static const struct option_spec options[] = {
	{ "cpu", 0, OPTION_STRING, .offset = offsetof(struct check_args, cpus), .metavar = "LIST",
	  .help = "judge instead whether these CPUs are isolated, or the word isolated" },
	{ "json", 0, OPTION_FLAG, .offset = offsetof(struct check_args, json),
	  .help = "print JSON, see perf-poke-capture(5)" },
};

static const char notes[] =
	"Exit codes: 0 start can run, or nothing that is known disturbs the CPUs;\n"
	"1 it cannot, or something does, 2 usage.\n";

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

struct isolation_seen {
	struct console *con;
	size_t nr_bad, nr_unknown;
};

static void print_isolation(void *ctx, const struct isolation_finding *finding)
{
	static const char *const words[] = { "ok", "note", "BAD", "?" };
	struct isolation_seen *seen = ctx;
	struct console *con = seen->con;

	seen->nr_bad += finding->verdict == ISOLATION_BAD;
	seen->nr_unknown += finding->verdict == ISOLATION_UNKNOWN;
	if (con->json) {
		json_object *line = json_typed_object("isolation");

		json_add_text(line, "name", finding->name);
		json_add_text(line, "verdict", isolation_verdict_name(finding->verdict));
		json_add_text(line, "file", finding->file);
		json_add_text(line, "detail", finding->detail);
		json_add_text(line, "remedy", finding->remedy);
		json_print_line(con, line);
		return;
	}
	fprintf(con->out, "%-16s %-4s  %s\n", finding->name, words[finding->verdict],
		finding->detail);
	if (finding->verdict == ISOLATION_FINE)
		return;
	fprintf(con->out, "%-16s       %s%s%s\n", "", finding->file, *finding->remedy ? ": " : "",
		finding->remedy);
}

static enum exit_code check_isolation(struct console *con, const char *list)
{
	_cleanup_close_ int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ int *cpus = NULL, *online = NULL;
	struct isolation_seen seen = { .con = con };
	size_t nr, nr_online;
	int err = root_fd < 0 ? -errno : cpulist_parse_words(list, &cpus, &nr);

	if (err == -EINVAL || err == -ERANGE) {
		console_error(con, "--cpu '%s': not a list of CPUs (use 3, 2,4-7, all or isolated)",
			      list);
		return EXIT_USAGE;
	}
	if (!err && !nr) {
		console_error(con, "--cpu '%s': no CPU is isolated", list);
		return EXIT_FAILED;
	}
	if (!err)
		err = cpulist_read("/sys/devices/system/cpu/online", &online, &nr_online);
	if (!err && cpulist_missing(cpus, nr, online, nr_online) >= 0) {
		console_error(con, "--cpu '%s': CPU %d is not online", list,
			      cpulist_missing(cpus, nr, online, nr_online));
		return EXIT_FAILED;
	}
	if (!err)
		err = isolation_judge(root_fd, cpus, nr, COUNT_MS, print_isolation, &seen);
	if (err) {
		console_error(con, "check: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (con->json) {
		json_object *line = json_typed_object("isolated");

		json_add_text(line, "cpus", list);
		json_add_u64(line, "bad", seen.nr_bad);
		json_add_u64(line, "unknown", seen.nr_unknown);
		json_print_line(con, line);
	} else if (seen.nr_bad) {
		fprintf(con->out, "\nCPU %s: %zu of these disturb it.\n", list, seen.nr_bad);
	} else {
		fprintf(con->out, "\nCPU %s: nothing that is known disturbs it; %zu not known.\n",
			list, seen.nr_unknown);
	}
	return seen.nr_bad ? EXIT_FAILED : EXIT_FINE;
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
	if (args.cpus)
		return check_isolation(con, args.cpus);
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
	.arguments = "[--cpu LIST] [--json]",
	.example = "perf-poke-ctl check",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.folds = true,
	.run = run_check,
};
