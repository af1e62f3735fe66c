// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The command line uses it: see also tests/unit/ctl/commands/start.c. */
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "options/config.h"
#include "test.h"

/* With * for the names of a table. */
static void check_said(const char *pattern)
{
	if (fnmatch(pattern, perf_poke__last_error(), 0))
		fail_msg("'%s', not '%s'", perf_poke__last_error(), pattern);
}

static void refuses(int error, const char *name, const char *value, const char *why)
{
	struct perf_poke_opts opts = { .sz = sizeof(opts) };

	assert_int_equal(perf_poke__opts_set(&opts, name, value), error);
	check_said(why);
	perf_poke__opts_release(&opts);
}

TEST(sets_each_kind)
{
	struct perf_poke_opts opts = { .sz = sizeof(opts) };
	char value[] = "/tmp/a";

	assert_int_equal(perf_poke__opts_set(&opts, "cpu", "2,4-7"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "threshold", "1.5ms"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "cooldown", "2"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "buffer", "64K"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "count", "3"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "recorder", "events"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "recorder", "none"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "no-samples", NULL), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "freeze-all", "yes"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "freeze-all", "no"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "output", value), 0);
	memset(value, 'x', sizeof(value) - 1);
	assert_string_equal(opts.cpus, "2,4-7");
	assert_int_equal(opts.threshold_ns, 1500000);
	assert_int_equal(opts.cooldown_ns, 2000000000);
	assert_int_equal(opts.buffer_size, 65536);
	assert_int_equal(opts.max_captures, 3);
	assert_int_equal(opts.recorder, PERF_POKE_RECORDER_NONE);
	assert_true(opts.no_samples);
	assert_false(opts.freeze_all);
	assert_string_equal(opts.output, "/tmp/a");
	perf_poke__opts_release(&opts);
	assert_null(opts.owned);
	perf_poke__opts_release(&opts);
}

TEST(refuses_values)
{
	refuses(-ENOENT, "tresholds", "1", "no such option");
	refuses(-EINVAL, "threshold", "1x",
		"not a time (use 30us, 1.5ms, 2s; a bare number is microseconds)");
	refuses(-EINVAL, "threshold", NULL, "empty; a value is needed");
	refuses(-EINVAL, "count", "0", "must be 1 or more");
	refuses(-EINVAL, "freeze-all", "maybe", "takes yes, no, or no value");
	refuses(-EINVAL, "cpu", "x", "not a list of CPUs (use 3 or 2,4-7)");
	refuses(-EINVAL, "recorder", "x", "not a recorder (use auto, *, none*)");
	refuses(-EINVAL, "filter", "x == 1", "needs an event before it");
}

/* A program compiled against fewer members. */
TEST(spares_what_older_programs_lack)
{
	struct perf_poke_opts opts = { .sz = offsetof(struct perf_poke_opts, cooldown_ns) };

	assert_int_equal(perf_poke__opts_set(&opts, "threshold", "5"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "cooldown", "50"), -EINVAL);
	assert_int_equal(opts.cooldown_ns, 0);
	perf_poke__opts_release(&opts);
	opts.sz = offsetof(struct perf_poke_opts, owned);
	assert_int_equal(perf_poke__opts_set(&opts, "cpu", "1"), -EINVAL);
}

/* Like a binding that knows only the head of the struct. */
TEST(works_in_a_buffer_of_zeros)
{
	union {
		struct perf_poke_opts opts;
		char bytes[4096];
	} all = { .bytes = { 0 } };
	struct config config;

	all.opts.sz = sizeof(all);
	assert_int_equal(perf_poke__opts_set(&all.opts, "cpu", "0"), 0);
	assert_int_equal(perf_poke__opts_set(&all.opts, "trigger", "thread=60us"), 0);
	assert_int_equal(perf_poke__opts_set(&all.opts, "trigger", "marker=hit"), 0);
	assert_int_equal(config_init(&config, &all.opts), 0);
	perf_poke__opts_release(&all.opts);
	assert_int_equal(config.opts.nr_triggers, 2);
	assert_int_equal(config.opts.triggers[0].threshold_ns, 60000);
	assert_string_equal(config.opts.triggers[1].text, "hit");
	config_destroy(&config);
}

static void check_span(const char *trigger, const char *span, const char *said)
{
	struct perf_poke_opts opts = { .sz = sizeof(opts) };
	struct perf_poke *pp;

	assert_int_equal(perf_poke__opts_set(&opts, "cpu", "0"), 0);
	if (trigger)
		assert_int_equal(perf_poke__opts_set(&opts, "trigger", trigger), 0);
	if (span)
		assert_int_equal(perf_poke__opts_set(&opts, "span", span), 0);
	assert_int_equal(perf_poke__new(&pp, &opts), -EINVAL);
	check_said(said);
	perf_poke__opts_release(&opts);
}

TEST(adds_targets)
{
	struct perf_poke_opts opts = { .sz = sizeof(opts) };
	char number[] = "100";

	assert_int_equal(perf_poke__opts_set(&opts, "any-process", NULL), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "signal", "usr1"), 0);
	assert_int_equal(opts.signal, SIGUSR1);
	assert_int_equal(perf_poke__opts_set(&opts, "signal", "12"), 0);
	assert_int_equal(opts.signal, 12);
	for (int i = 0; i < 16; i++) {
		snprintf(number, sizeof(number), "%d", 100 + i);
		assert_int_equal(perf_poke__opts_set(&opts, "perf-pid", number), 0);
		assert_int_equal(opts.nr_targets, i + 1);
		assert_int_equal(opts.targets[i].pid, 100 + i);
	}
	assert_int_equal(opts.target_sz, sizeof(struct perf_poke_target));
	assert_true(opts.any_process);
	assert_int_equal(perf_poke__opts_set(&opts, "perf-pid", "115"), -EINVAL);
	assert_string_equal(perf_poke__last_error(), "more than 16 targets");
	perf_poke__opts_release(&opts);
	refuses(-EINVAL, "perf-pid", "0", "not a process or thread id");
	refuses(-EINVAL, "perf-pid", "perf", "not a process or thread id");
	refuses(-EINVAL, "signal", "SIGNOT", "not a signal (use SIGUSR2, USR2 or 12)");
}

TEST(a_span_and_its_trigger_need_each_other)
{
	struct perf_poke_opts opts = { .sz = sizeof(opts) };

	assert_int_equal(perf_poke__opts_set(&opts, "span", "a=fn:f"), 0);
	assert_int_equal(perf_poke__opts_set(&opts, "trigger", "a=1ms"), 0);
	assert_string_equal(opts.triggers[0].text, "a=fn:f");
	perf_poke__opts_release(&opts);
	check_span(NULL, "a=fn:f", "span 'a=fn:f': needs the trigger a=TIME");
#define NOT_A_TRIGGER                                                                              \
	": not a trigger (use irq, thread, *; as irq, irq=30us, *; or the NAME of a span)"
	check_span("a=1ms", "ab=fn:f", "trigger 'a'" NOT_A_TRIGGER);
	check_span("thred", NULL, "trigger 'thred'" NOT_A_TRIGGER);
	check_span("=5us", NULL, "trigger ''" NOT_A_TRIGGER);
}

TEST(names_are_unique)
{
	const struct perf_poke_option *option, *other;

	for (size_t i = 0; (option = perf_poke__option(i)); i++) {
		assert_true(option->name[0] && option->help[0]);
		assert_true(option->axis < 0 || perf_poke__choice(option->axis, 0));
		for (size_t j = 0; j < i && (other = perf_poke__option(j)); j++) {
			assert_string_not_equal(option->name, other->name);
			assert_true(!option->letter || option->letter != other->letter);
		}
	}
}
