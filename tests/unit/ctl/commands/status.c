// SPDX-License-Identifier: GPL-2.0-only
#include "commands/status.h"

#include <errno.h>
#include <string.h>

#include "commands/commands.h"
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

static void check(const struct perf_poke_session *shown, const char *expected)
{
	_cleanup_free_ char *text = WRITTEN(file, status_print(file, shown));

	assert_string_equal(text, expected);
}

TEST(shows_all)
{
	const struct perf_poke_session shown = session();

	check(&shown,
	      "noon  alive, pid 4711, armed for 2m03s\n"
	      "  watches    CPUs 2,4-5, threshold 30us, timer hrtimer_wakeup, workload cyclic\n"
	      "  recorder   pt, freeze pause, delivery task-work to 4712 4713, 8 pokes, 2 more "
	      "merged\n"
	      "  latency    1000 expiries, p50 1.2us, p99 3.4us, p99.9 8us, max 83us, 4 spikes\n"
	      "  captures   3 of 10, 1 failed\n"
	      "  output     /tmp/out\n"
	      "  last       /tmp/out/a b\n"
	      "             | irq                                                 \n"
	      "CPU    count |      cur      min      avg      p99      max  spikes\n"
	      "  2      900 |    1.5us    500ns      1us    3.3us     83us       4\n"
	      "  4        0 |        -        -        -        -        -       0\n"
	      "  5      100 |      3us      2us      3us    3.4us      4us       0\n");
}

TEST(shows_little)
{
	static const struct perf_poke_session_kind nothing = { .stats = &cpu_stats[1],
							       .cpu_stats = &stats_rows[1],
							       .cpu_p99_ns = &p99_ns[1] };
	struct perf_poke_session shown = session();

	shown.alive = false;
	shown.nr_cpus = 1;
	shown.freeze = shown.last_capture = "";
	shown.nr_targets = 0;
	shown.kinds = &(const struct perf_poke_session_kind *){ &nothing };
	shown.pending = 2;
	shown.max_captures = UINT64_MAX;
	check(&shown, "noon  dead, pid 4711, armed 2m03s ago\n"
		      "  watches    CPU 2, threshold 30us, timer hrtimer_wakeup, workload cyclic\n"
		      "  recorder   pt\n"
		      "  latency    0 expiries, 0 spikes\n"
		      "  captures   3, 1 failed, 2 being written\n"
		      "  output     /tmp/out\n"
		      "             | irq                                                 \n"
		      "CPU    count |      cur      min      avg      p99      max  spikes\n"
		      "  2        0 |        -        -        -        -        -       0\n");
}

TEST(shows_kinds)
{
	struct perf_poke_session shown = session();

	shown.nr_kinds = 2;
	shown.nr_cpus = 1;
	shown.merged = 0;
	shown.output = shown.last_capture = "";
	check(&shown,
	      "noon  alive, pid 4711, armed for 2m03s\n"
	      "  watches    CPU 2, threshold irq 30us, user 60us, timer hrtimer_wakeup, workload "
	      "cyclic\n"
	      "  recorder   pt, freeze pause, delivery task-work to 4712 4713, 8 pokes\n"
	      "  latency    1000 expiries, p50 1.2us, p99 3.4us, p99.9 8us, max 83us, 4 spikes\n"
	      "  user       998 times, p50 2.2us, p99 4.4us, p99.9 9us, max 93us, 0 spikes\n"
	      "  captures   3 of 10, 1 failed\n"
	      "             | irq                                                 "
	      " | user                                                \n"
	      "CPU    count |      cur      min      avg      p99      max  spikes"
	      " |      cur      min      avg      p99      max  spikes\n"
	      "  2      900 |    1.5us    500ns      1us    3.3us     83us       4"
	      " |    1.5us    500ns      1us    3.3us     83us       4\n");
}

TEST(shows_kinds_without_a_threshold)
{
	struct perf_poke_session_kind irq = *kinds[0], marker = *kinds[1];
	struct perf_poke_session shown = session();
	_cleanup_free_ char *text = NULL;

	irq.threshold_ns = 0;
	marker.kind = PERF_POKE_TRIGGER_MARKER;
	marker.threshold_ns = 1;
	shown.kinds = (const struct perf_poke_session_kind *[]){ &irq, &marker };
	shown.nr_kinds = 2;
	text = WRITTEN(file, status_print(file, &shown));
	assert_non_null(strstr(text, "CPUs 2,4-5, threshold marker any, timer"));
}

TEST(shows_the_warm_up)
{
	struct perf_poke_session shown = session();
	const struct perf_poke_session_kind one = {
		.stats = &(struct perf_poke_stats){ .count = 1, .spikes = 1 },
		.cpu_stats = &stats_rows[1],
		.cpu_p99_ns = &p99_ns[1]
	};

	shown.nr_cpus = 1;
	shown.threshold_ns = 0;
	shown.kinds = &(const struct perf_poke_session_kind *){ &one };
	shown.pokes = 1;
	shown.merged = 0;
	shown.output = shown.last_capture = "";
	check(&shown, "noon  alive, pid 4711, armed for 2m03s\n"
		      "  watches    CPU 2, threshold being measured, timer hrtimer_wakeup, "
		      "workload cyclic\n"
		      "  recorder   pt, freeze pause, delivery task-work to 4712 4713, 1 poke\n"
		      "  latency    1 expiry, p50 0ns, p99 0ns, p99.9 0ns, max 0ns, 1 spike\n"
		      "  captures   3 of 10, 1 failed\n"
		      "             | irq                                                 \n"
		      "CPU    count |      cur      min      avg      p99      max  spikes\n"
		      "  2        0 |        -        -        -        -        -       0\n");
}

TEST(shows_the_name)
{
	struct perf_poke_session shown = session();

	shown.pid = 0;
	shown.armed_for_ns = 0;
	shown.nr_cpus = 0;
	check(&shown, "noon  alive\n");
	shown.alive = false;
	check(&shown, "noon  dead\n");
}

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
	check_run(NULL, EXIT_FINE, "noon  alive\n\nnight  alive\n");
	check_run("night", EXIT_FINE, "night  alive\n");
	check_run("dawn", EXIT_FAILED, "");
	check_run("--no-such", EXIT_USAGE, "");
	machine.r = -EPERM;
	check_run("noon", EXIT_FAILED, "noon  alive\n");
	machine.r = 0;
}
