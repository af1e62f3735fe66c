// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.h"

#include <signal.h>

#include "parsed.h"

#define PARSED_WORDS "perf-poke-ctl", "start"
PARSED_BY(struct start_args, start_parse_args, start_release_args)

TEST(has_defaults)
{
	_cleanup_(release) struct parsed p = { 0 };

	PARSE(&p, "--cpu", "3");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.err, "");
	assert_int_equal(p.args.opts.sz, sizeof(struct perf_poke_opts));
	assert_string_equal(p.args.opts.cpus, "3");
	assert_int_equal(p.args.opts.threshold_ns, 30000);
	assert_int_equal(p.args.opts.max_captures, 1);
	assert_null(p.args.opts.function);
	assert_int_equal(p.args.opts.workload, PERF_POKE_WORKLOAD_AUTO);
	assert_int_equal(p.args.opts.recorder, PERF_POKE_RECORDER_AUTO);
	assert_null(p.args.opts.events);
	assert_int_equal(p.args.opts.nr_events, 0);
	assert_null(p.args.opts.output);
	assert_null(p.args.opts.session);
	assert_int_equal(p.args.opts.argc, 4);
	assert_string_equal(p.args.opts.argv[0], "perf-poke-ctl");
	assert_int_equal(p.args.duration_ns, 0);
	assert_false(p.args.json);
	assert_false(p.args.detach);
	assert_null(p.args.log);
}

TEST(maps_all)
{
	_cleanup_(release) struct parsed p = { 0 };

	PARSE(&p, "-c2,4-7", "--threshold", "50", "--trigger", "irq", "--function",
	      "hrtimer_wakeup", "--workload=none", "--period=2ms", "--recorder", "events",
	      "--buffer", "1M", "--count=3", "--dur", "10800", "--cool", "2", "-o", "dir", "--json",
	      "--detach", "--log", "journal", "--session", "noon");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.opts.cpus, "2,4-7");
	assert_int_equal(p.args.opts.threshold_ns, 50000);
	assert_string_equal(p.args.opts.function, "hrtimer_wakeup");
	assert_int_equal(p.args.opts.workload, PERF_POKE_WORKLOAD_NONE);
	assert_int_equal(p.args.opts.period_ns, 2000000);
	assert_int_equal(p.args.opts.recorder, PERF_POKE_RECORDER_EVENTS);
	assert_int_equal(p.args.opts.buffer_size, 1 << 20);
	assert_int_equal(p.args.opts.max_captures, 3);
	assert_int_equal(p.args.duration_ns, 3 * 3600 * UINT64_C(1000000000));
	assert_int_equal(p.args.opts.cooldown_ns, 2 * UINT64_C(1000000000));
	assert_string_equal(p.args.opts.output, "dir");
	assert_string_equal(p.args.opts.session, "noon");
	assert_true(p.args.json);
	assert_true(p.args.detach);
	assert_string_equal(p.args.log, "journal");
}

TEST(maps_events)
{
	_cleanup_(release) struct parsed p = { 0 };
	const struct perf_poke_event *events;

	PARSE(&p, "-c1", "-e", "sched:sched_switch", "-eirq:*,timer:*", "--filter", "irq == 3",
	      "--event=a:b", "--filter=c");
	assert_int_equal(p.r, 0);
	assert_int_equal(p.args.opts.nr_events, 4);
	events = p.args.opts.events;
	assert_string_equal(events[0].name, "sched:sched_switch");
	assert_null(events[0].filter);
	assert_string_equal(events[1].name, "irq:*");
	assert_string_equal(events[1].filter, "irq == 3");
	assert_string_equal(events[2].name, "timer:*");
	assert_string_equal(events[2].filter, "irq == 3");
	assert_string_equal(events[3].filter, "c");
}

TEST(takes_auto_of_rtla)
{
	_cleanup_(release) struct parsed p = { 0 }, one = { 0 };

	PARSE(&p, "-a", "30");
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.opts.cpus, "all");
	assert_int_equal(p.args.opts.threshold_ns, 30000);
	PARSE(&one, "-c1", "--auto=2ms");
	assert_int_equal(one.r, 0);
	assert_string_equal(one.args.opts.cpus, "1");
	assert_int_equal(one.args.opts.threshold_ns, 2000000);
}

TEST(refuses)
{
	static const char *const rows[][2] = {
		{ "-c1 -a 50 --threshold 60", "--auto excludes --threshold" },
		{ "-a 0", "-a '0': must be 1ns or more" },
		{ "-c1 --priority 9", "--priority: no such option" },
		{ "-c1 --duration 0", "--duration '0': must be 1ms or more" },
		{ "-c1 --per=2", "--per: ambiguous" },
		{ "-c1 --top --detach", "--top excludes --detach" },
		{ "-c1 --top --json", "--top excludes --json" },
		{ "-c1 --buffer 0", "--buffer '0': must be 4K or more" },
		{ "-c1 --dma-latency 10001",
		  "--dma-latency '10001': must be a whole number, 0 to 10000" },
		{ "-c1 --deepest-idle-state -1",
		  "--deepest-idle-state '-1': must be a whole number, 0 to 9" },
		{ "-c1 --trigger irq=0", "--trigger 'irq=0': '0' is not a time" },
		{ "-c1 --trigger irq=1x", "--trigger 'irq=1x': '1x' is not a time" },
		{ "-c1 --trigger irq --trigger irq=5", "--trigger 'irq=5': 'irq' is named twice" },
		/* Events and their filters. */
		{ "-c1 -e a:b --filter x --filter y",
		  "--filter 'y': the event before it has a filter (join them with &&)" },
		{ "-c1 -e a:b,", "-e 'a:b,': empty event name" },
		{ "-c1 -e a:b,a:b", "-e 'a:b,a:b': 'a:b' is named twice" },
		{ "-c1 -e a:b --event a:b", "--event 'a:b': 'a:b' is named twice" },
		/* Targets. */
		{ "-c1 --perf-pid 99999999999",
		  "--perf-pid '99999999999': not a process or thread id" },
		{ "-c1 --perf-pid 7 --perf-pid 7", "--perf-pid '7': given twice" },
		{ "-c1 --signal 0", "--signal '0': not a signal" },
		{ "-c1 --signal 10 --perf-pid 7",
		  "--signal: perf handles SIGUSR2 only (--any-process for other programs)" },
		{ "-c1 --recorder perf", "--recorder perf needs a target" },
		{ "-c1 --any-process", "--any-process needs a target" },
		{ "-c1 --signal 12", "--signal needs a target" },
		{ "-c1 --delivery relay", "--delivery needs a target" },
		{ "-c1 --delivery tracepoint --perf-pid 7",
		  "--delivery tracepoint needs -- perf record ..." },
		{ "-c1 --housekeeping 0-3", "--housekeeping '0-3': CPU 1 is watched" },
		{ "-c1 --", "--: a command is missing" },
		{ "-c1 -- true", "-- 'true': not a perf record" },
		{ "-c1 --any-process --delivery tracepoint -- true",
		  "--delivery tracepoint: the command is not perf record" },
		{ "-c1 --delivery tracepoint -- perf record -S",
		  "--delivery tracepoint: perf record needs an event, such as -e intel_pt//k" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		refuse_line(rows[i][0], rows[i][1]);
	REFUSES("--threshold '1 2': not a time "
		"(use 30us, 1.5ms, 2s; a bare number is microseconds)",
		"-c1", "--threshold", "1\n2");
}

TEST(takes_a_span)
{
	_cleanup_(release) struct parsed p = { 0 };

	PARSE(&p, "-c1", "--trigger", "request=3ms", "--span", "request=fn:a..fn:b,by=cpu");
	assert_int_equal(p.r, 0);
	assert_int_equal(p.args.opts.nr_triggers, 1);
	assert_int_equal(p.args.opts.triggers[0].kind, PERF_POKE_TRIGGER_SPAN);
	assert_int_equal(p.args.opts.triggers[0].threshold_ns, 3000000);
	assert_string_equal(p.args.opts.triggers[0].text, "request=fn:a..fn:b,by=cpu");
	REFUSES("--trigger 'a=x': 'x' is not a time (use 30us, 1.5ms, 2s, at most 1h; a bare "
		"number is microseconds)",
		"-c1", "--span", "a=fn:f", "--trigger", "a=x");
	REFUSES("--span: given twice", "-c1", "--span", "a=fn:f", "--span", "b=fn:f");
}

TEST(takes_overrun)
{
	_cleanup_(release) struct parsed p = { 0 };

	PARSE(&p, "-c1", "--trigger=wakeup=20ms,overrun", "--task=me", "--trigger=thread,overrun",
	      "--trigger=marker=a,overrun");
	assert_int_equal(p.r, 0);
	assert_int_equal(p.args.opts.triggers[0].kind, PERF_POKE_TRIGGER_WAKEUP);
	assert_int_equal(p.args.opts.triggers[0].threshold_ns, 20000000);
	assert_string_equal(p.args.opts.triggers[0].text, "overrun");
	assert_int_equal(p.args.opts.triggers[1].kind, PERF_POKE_TRIGGER_THREAD);
	assert_int_equal(p.args.opts.triggers[1].threshold_ns, 0);
	assert_string_equal(p.args.opts.triggers[1].text, "overrun");
	assert_string_equal(p.args.opts.triggers[2].text, "a,overrun");
}

TEST(takes_triggers)
{
	_cleanup_(release) struct parsed p = { 0 };

	assert_null(perf_poke__choice(PERF_POKE_AXIS_TRIGGER, KINDS_MAX));
	PARSE(&p, "-c1", "--trigger", "irq", "--trigger=thread=60us", "--trigger=wakeup=2",
	      "--task", "me", "--trigger", "marker=a=b 1us", "--trigger", "event");
	assert_int_equal(p.r, 0);
	assert_int_equal(p.args.opts.nr_triggers, 5);
	assert_int_equal(p.args.opts.triggers[3].kind, PERF_POKE_TRIGGER_MARKER);
	assert_string_equal(p.args.opts.triggers[3].text, "a=b 1us");
	assert_null(p.args.opts.triggers[4].text);
	assert_int_equal(p.args.opts.triggers[0].kind, PERF_POKE_TRIGGER_IRQ);
	assert_int_equal(p.args.opts.triggers[0].threshold_ns, 0);
	assert_null(p.args.opts.triggers[0].text);
	assert_int_equal(p.args.opts.triggers[1].kind, PERF_POKE_TRIGGER_THREAD);
	assert_int_equal(p.args.opts.triggers[1].threshold_ns, 60000);
	assert_int_equal(p.args.opts.triggers[2].kind, PERF_POKE_TRIGGER_WAKEUP);
	assert_int_equal(p.args.opts.triggers[2].threshold_ns, 2000);
	assert_string_equal(p.args.opts.task, "me");
}

/* A comma between slashes separates terms. */
TEST(splits_events)
{
	static const char *const names[] = { "cycles:pp", "cpu/event=1,umask=2/k", "r1a8",
					     "cpu-clock/freq=99", "a:b" };
	_cleanup_(release) struct parsed p = { 0 };

	PARSE(&p, "-c1", "-e", "cycles:pp,cpu/event=1,umask=2/k,r1a8", "-e", "cpu-clock/freq=99",
	      "-e", "a:b", "-g", "--no-samples");
	assert_int_equal(p.r, 0);
	assert_int_equal(p.args.opts.nr_events, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(p.args.opts.events[i].name, names[i]);
	assert_true(p.args.opts.call_graph);
	assert_true(p.args.opts.no_samples);
}

TEST(maps_targets)
{
	_cleanup_(release) struct parsed p = { 0 }, q = { 0 };

	PARSE(&p, "-c1", "--perf-pid", "12", "--perf-pid=13", "--signal", "SIGUSR1",
	      "--any-process", "--delivery", "fasync", "--recorder", "perf", "--housekeeping",
	      "0,2");
	assert_int_equal(p.r, 0);
	assert_int_equal(p.args.opts.nr_targets, 2);
	assert_int_equal(p.args.opts.targets[0].pid, 12);
	assert_int_equal(p.args.opts.targets[1].pid, 13);
	assert_int_equal(p.args.opts.signal, SIGUSR1);
	assert_true(p.args.opts.any_process);
	assert_int_equal(p.args.opts.delivery, PERF_POKE_DELIVERY_FASYNC);
	assert_int_equal(p.args.opts.recorder, PERF_POKE_RECORDER_PERF);
	assert_string_equal(p.args.targets.housekeeping, "0,2");
	assert_null(p.args.targets.command);
	PARSE(&q, "-c1", "--signal=usr2", "--delivery", "tracepoint", "--", "perf", "record", "-e",
	      "a:b", "-S");
	assert_int_equal(q.r, 0);
	assert_int_equal(q.args.opts.signal, SIGUSR2);
	assert_string_equal(q.args.targets.command[0], "perf");
	assert_int_equal(q.args.targets.record.at, 1);
}
