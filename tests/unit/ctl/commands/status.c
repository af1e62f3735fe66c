// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <errno.h>

#include "test.h"
#include "util.h"

static const int cpus[] = { 2, 4, 5 };
static const int targets[] = { 4712, 4713 };
static const uint64_t p99_ns[] = { 3300, 0, 3400 };
static const struct perf_poke_stats cpu_stats[] = {
	{ .count = 900,
	  .min_ns = 500,
	  .sum_ns = 900000,
	  .last_ns = 1500,
	  .max_ns = 83000,
	  .spikes = 4 },
	{ 0 },
	{ .count = 100, .min_ns = 2000, .sum_ns = 300000, .last_ns = 3000, .max_ns = 4000 },
};
static const struct perf_poke_stats irq_stats = { .count = 1000, .max_ns = 83000, .spikes = 4 };
static const struct perf_poke_stats user_stats = { .count = 998, .max_ns = 93000 };
static const struct perf_poke_stats *const stats_rows[] = { &cpu_stats[0], &cpu_stats[1],
							    &cpu_stats[2] };
static const struct perf_poke_session_kind *const kinds[] = {
	&(const struct perf_poke_session_kind){ .kind = PERF_POKE_TRIGGER_IRQ,
						.threshold_ns = 30000,
						.stats = &irq_stats,
						.p50_ns = 1200,
						.p99_ns = 3400,
						.p999_ns = 8000,
						.cpu_stats = stats_rows,
						.cpu_p99_ns = p99_ns },
	&(const struct perf_poke_session_kind){ .kind = PERF_POKE_TRIGGER_USER,
						.threshold_ns = 60000,
						.stats = &user_stats,
						.p50_ns = 2200,
						.p99_ns = 4400,
						.p999_ns = 9000,
						.cpu_stats = stats_rows,
						.cpu_p99_ns = p99_ns },
};

static struct perf_poke_session session(void)
{
	return (struct perf_poke_session){
		.sz = sizeof(struct perf_poke_session),
		.name = "noon",
		.alive = true,
		.pid = 4711,
		.armed_for_ns = UINT64_C(123000000000),
		.cpus = cpus,
		.nr_cpus = ARRAY_SIZE(cpus),
		.threshold_ns = 30000,
		.function = "hrtimer_wakeup",
		.recorder = "pt",
		.freeze = "pause",
		.delivery = "task-work",
		.workload = "cyclic",
		.output = "/tmp/out",
		.captures = 3,
		.failed = 1,
		.max_captures = 10,
		.last_capture = "/tmp/out/a\nb",
		.kinds = kinds,
		.nr_kinds = 1,
		.targets = targets,
		.nr_targets = ARRAY_SIZE(targets),
		.pokes = 8,
		.merged = 2,
	};
}

static void show_in(FILE *file, const char *title, const struct perf_poke_session *shown,
		    size_t columns)
{
	fprintf(file, "# %s\n", title);
	status_print_session(file, shown, columns);
	fputc('\n', file);
}

static void show(FILE *file, const char *title, const struct perf_poke_session *shown)
{
	show_in(file, title, shown, 0);
}

static void show_all(FILE *file)
{
	const struct perf_poke_session shown = session();

	show(file, "all there is", &shown);
}

static void show_little(FILE *file)
{
	const struct perf_poke_session_kind nothing = { .stats = &cpu_stats[1],
							.cpu_stats = &stats_rows[1],
							.cpu_p99_ns = &p99_ns[1] };
	const struct perf_poke_session_kind *const only[] = { &nothing };
	struct perf_poke_session shown = session();

	shown.alive = false;
	shown.nr_cpus = 1;
	shown.freeze = shown.last_capture = "";
	shown.nr_targets = 0;
	shown.kinds = only;
	shown.pending = 2;
	shown.max_captures = UINT64_MAX;
	show(file, "dead, without a limit, nothing measured", &shown);
	shown.pid = 0;
	shown.armed_for_ns = 0;
	shown.nr_cpus = 0;
	show(file, "its name only", &shown);
	shown.alive = true;
	show(file, "its name only, alive", &shown);
}

static void show_thresholds(FILE *file)
{
	struct perf_poke_session_kind irq = *kinds[0], other = *kinds[1];
	const struct perf_poke_session_kind *const both[] = { &irq, &other };
	struct perf_poke_session shown = session();

	shown.nr_kinds = 2;
	shown.nr_cpus = 1;
	shown.merged = 0;
	shown.output = shown.last_capture = "";
	show(file, "two kinds of triggers", &shown);
	show_in(file, "two kinds of triggers in 80 columns", &shown, 80);
	irq.threshold_ns = 0;
	other.kind = PERF_POKE_TRIGGER_MARKER;
	other.threshold_ns = 1;
	shown.kinds = both;
	show(file, "a marker only", &shown);
	irq.stats = &(struct perf_poke_stats){ .count = 1, .spikes = 1 };
	shown.nr_kinds = 1;
	shown.pokes = 1;
	shown.threshold_ns = 0;
	show(file, "unknown threshold, one of each", &shown);
}

GOLDEN(PART(show_all), PART(show_little), PART(show_thresholds))

#define OTHER ", started by another version of perf-poke"

/* Instead of the library's. */
static struct {
	const char *names[2];
	int r;
} machine;

int perf_poke__sessions(perf_poke_session_fn fn, void *ctx)
{
	for (size_t i = 0; i < ARRAY_SIZE(machine.names) && machine.names[i]; i++)
		fn(ctx, &(struct perf_poke_session){ .name = machine.names[i], .alive = true });
	return machine.r;
}

static void check_run(const char *option, enum exit_code code, const char *out)
{
	char *argv[] = { "perf-poke-ctl", "status", (char *)option, NULL };
	_cleanup_free_ char *shown = NULL, *said = NULL;
	struct console con = { 0 };

	said = WRITTEN(
		err, con.err = err;
		shown = WRITTEN(file, con.out = file; assert_int_equal(
					command_status.run(&con, option ? 3 : 2, argv), code)));
	assert_string_equal(shown, out);
	assert_int_equal(con.errors, code ? 1 : 0);
}

TEST(shows_all_sessions_or_one)
{
	machine.names[0] = machine.names[1] = NULL;
	check_run(NULL, EXIT_FINE, "no sessions\n");
	check_run("--json", EXIT_FINE, "");
	check_run("noon", EXIT_FAILED, "");
	machine.names[0] = "noon";
	machine.names[1] = "night";
	check_run(NULL, EXIT_FINE, "noon  alive" OTHER "\n\nnight  alive" OTHER "\n");
	check_run("night", EXIT_FINE, "night  alive" OTHER "\n");
	check_run("dawn", EXIT_FAILED, "");
	check_run("--no-such", EXIT_USAGE, "");
	machine.r = -EPERM;
	check_run("noon", EXIT_FAILED, "noon  alive" OTHER "\n");
	machine.r = 0;
}
