// SPDX-License-Identifier: GPL-2.0-only
#include <limits.h>
#include <string.h>

#include "clock.h"
#include "commands/commands.h"
#include "session/session.h"

#define CPU_MAX 8191

struct report_late_args {
	const char *session, *label;
	uint64_t latency_ns, cpu, tid;
};

#define TARGET(member) .offset = offsetof(struct report_late_args, member)

static const struct option_spec options[] = {
	{ NULL, 0, OPTION_WORD, TARGET(session), .metavar = "SESSION",
	  .help = "optional if only one session is alive" },
	{ "latency", 0, OPTION_TIME, .required = true, .min = 1, .max = 3600 * NSEC_PER_SEC,
	  TARGET(latency_ns), .metavar = "TIME", .help = "the latency to report" },
	{ "label", 0, OPTION_STRING, TARGET(label), .metavar = "TEXT",
	  .help = "text for the capture, at most 63 bytes" },
	{ "cpu", 'c', OPTION_COUNT, .min = 0, .max = CPU_MAX, TARGET(cpu), .metavar = "CPU",
	  .help = "the late CPU (the only one that the session watches)" },
	{ "tid", 0, OPTION_COUNT, .min = 1, .max = INT_MAX, TARGET(tid), .metavar = "TID",
	  .help = "the late thread (unknown)" },
};

static const char notes[] =
	"Needs a session with --trigger report=TIME, which counts the latency. If it reaches\n"
	"TIME, the trace of the CPU is frozen before this command returns, and captured.\n"
	"Programs use perf_poke__report() of libperfpoke, which is faster.\n"
	"\n"
	"Exit codes: 0 captured, 1 failed, 2 usage, 3 counted only: below the threshold, or the\n"
	"session is not armed.\n";

static const char *session_error_text(int error)
{
	switch (error) {
	case -ENOENT:
		return "dead (perf-poke-ctl stop removes it)";
	case -EPERM:
	case -EACCES:
		return "needs root";
	default:
		return strerror(-error);
	}
}

static enum exit_code send_late_report(struct console *con, const struct session_entry *session,
				       const struct perf_poke_report *report)
{
	struct perf_poke_reporter *reporter = NULL;
	int opened = perf_poke__session_open(&reporter, session->name);
	int err = opened ? opened : perf_poke__session_report(reporter, report);

	perf_poke__session_close(reporter);
	if (err >= 0)
		return err ? EXIT_FINE : EXIT_NO_SPIKE;
	if (opened == -ENXIO)
		console_error(con, "session '%s': started without --trigger report=TIME",
			      session->name);
	else if (err == -ENXIO)
		console_error(con, "session '%s': does not watch CPU %d, or it is offline",
			      session->name, report->cpu);
	else
		console_error(con, "session '%s': %s", session->name, session_error_text(err));
	return EXIT_FAILED;
}

static enum exit_code run_report_late(struct console *con, int argc, char **argv)
{
	_cleanup_(session_list_release) struct session_list list = { 0 };
	struct perf_poke_report report = { .sz = sizeof(report) };
	struct report_late_args args = { .cpu = CPU_MAX + 1 };
	const struct session_entry *chosen;
	enum exit_code code;
	int err;

	err = command_options(&command_report_late, con, argc, argv, &args);
	if (err)
		return command_options_exit(err);
	report.actual_ns = clock_ns(CLOCK_MONOTONIC);
	code = session_list_pick(&list, con, args.session, &chosen);
	if (code != EXIT_FINE)
		return code;
	report.expected_ns = report.actual_ns - args.latency_ns;
	report.cpu = args.cpu > CPU_MAX ? chosen->only_cpu : (int)args.cpu;
	report.tid = args.tid ? (int)args.tid : -1;
	report.label = args.label;
	if (report.cpu >= 0)
		return send_late_report(con, chosen, &report);
	console_error(con, "session '%s' watches several CPUs: use --cpu", chosen->name);
	return EXIT_USAGE;
}

const struct command command_report_late = {
	.name = "report-late",
	.summary = "Report a latency to a session.",
	.arguments = "[SESSION] --latency TIME [OPTIONS]",
	.example = "perf-poke-ctl report-late --latency 120us --tid 4711",
	.notes = notes,
	COMMAND_OPTIONS(options),
	.run = run_report_late,
};
