// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On a fake tracefs: a folder with events/SYSTEM/NAME/id. */
#include "recorder/events/events.h"
#include "recorder/recorder.h"

#include <fcntl.h>
#include <string.h>

#include "helpers.h"
#include "messages.h"

static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };

static int make_tracefs(void **state)
{
	struct folder *folder;
	int fd;

	if (make_folder(state))
		return -1;
	folder = *state;
	fd = folder->fd;
	put_file(fd, "events/sched/sched_switch/id", "10\n");
	put_file(fd, "events/sched/sched_wakeup/id", "11\n");
	put_file(fd, "events/sched/sched_wakeup_new/id", "12\n");
	put_file(fd, "events/sched/enable", "0\n");
	put_file(fd, "events/timer/hrtimer_start/id", "20\n");
	put_file(fd, "events/timer/hrtimer_expire_entry/id", "21\n");
	put_file(fd, "events/timer/timer_expire_entry/id", "22\n");
	put_file(fd, "events/irq/tasklet_entry/id", "25\n");
	put_file(fd, "events/irq_vectors/local_timer_entry/id", "30\n");
	put_file(fd, "events/irq_vectors/local_timer_exit/id", "31\n");
	put_file(fd, "events/irq_vectors/reschedule_entry/id", "32\n");
	put_file(fd, "events/irq_vectors/thermal_apic_entry/id", "33\n");
	put_file(fd, "events/irq_vectors/threshold_apic_entry/id", "34\n");
	/* Events without an ID, like those of the ftrace system; one with an invalid ID. */
	put_file(fd, "events/ftrace/function/format", "");
	put_file(fd, "events/ftrace/print/id", "5\n");
	put_file(fd, "events/bad/empty/id", "");
	put_file(fd, "events/odd/long/id", "1234567890123456789012345678901234567890\n");
	put_file(fd, "outside/event/id", "99\n");
	memset(&messages, 0, sizeof(messages));
	return 0;
}

static int open_list(void **state, struct event_list *list, const struct perf_poke_event *asked,
		     size_t nr)
{
	const struct folder *folder = *state;

	*list = (struct event_list){};
	return event_list_open(list, asked, nr, folder->fd, folder->fd, &log_of_test);
}

static const struct event *find(const struct event_list *list, const char *name)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (!strcmp(list->events[i].name, name))
			return &list->events[i];
	}
	fail_msg("%s is not in the list", name);
	return NULL;
}

TEST_WITH(takes_names, make_tracefs, remove_folder)
{
	const struct perf_poke_event asked[] = { { "timer:hrtimer_start", NULL },
						 { "sched:sched_switch", "prev_pid == 1" } };
	struct event_list list;

	assert_int_equal(open_list(state, &list, asked, 2), 0);
	assert_int_equal(list.nr, 2);
	assert_string_equal(list.events[0].name, "timer:hrtimer_start");
	assert_int_equal(list.events[0].id, 20);
	assert_null(list.events[0].filter);
	assert_false(list.events[0].optional);
	assert_string_equal(list.events[1].name, "sched:sched_switch");
	assert_int_equal(list.events[1].id, 10);
	assert_string_equal(list.events[1].filter, "prev_pid == 1");
	event_list_close(&list);
	assert_int_equal(list.nr, 0);
	assert_int_equal(messages.nr, 0);
}

TEST_WITH(resolves_globs, make_tracefs, remove_folder)
{
	const struct perf_poke_event asked[] = { { "sched:sched_w*", "pid > 1" },
						 { "irq_vectors:[lx]*_e?[ti]*", NULL } };
	struct event_list list;

	assert_int_equal(open_list(state, &list, asked, 2), 0);
	assert_int_equal(list.nr, 4);
	assert_int_equal(find(&list, "sched:sched_wakeup")->id, 11);
	assert_int_equal(find(&list, "sched:sched_wakeup_new")->id, 12);
	assert_string_equal(find(&list, "sched:sched_wakeup_new")->filter, "pid > 1");
	assert_int_equal(find(&list, "irq_vectors:local_timer_entry")->id, 30);
	assert_int_equal(find(&list, "irq_vectors:local_timer_exit")->id, 31);
	for (size_t i = 0; i < list.nr; i++)
		assert_true(list.events[i].optional);
	event_list_close(&list);
}

TEST_WITH(adds_what_osnoise_reports, make_tracefs, remove_folder)
{
	const struct perf_poke_event asked = { "timer:hrtimer_start", NULL };
	const struct folder *folder = *state;
	struct event_list list;

	assert_int_equal(open_list(state, &list, &asked, 1), 0);
	assert_int_equal(event_list_add_osnoise(&list, folder->fd), -ENOENT);
	put_file(folder->fd, "events/osnoise/irq_noise/id", "40\n");
	put_file(folder->fd, "events/osnoise/thread_noise/id", "41\n");
	put_file(folder->fd, "events/osnoise/timerlat_sample/id", "42\n");
	put_file(folder->fd, "events/osnoise/sample_threshold/id", "43\n");
	assert_int_equal(event_list_add_osnoise(&list, folder->fd), 0);
	assert_int_equal(list.nr, 4);
	assert_int_equal(find(&list, "osnoise:thread_noise")->id, 41);
	assert_int_equal(find(&list, "osnoise:sample_threshold")->id, 43);
	event_list_close(&list);
}

/* Only as much as fits is read. */
TEST_WITH(survives_a_long_number, make_tracefs, remove_folder)
{
	const struct perf_poke_event asked = { "odd:long", NULL };
	struct event_list list;

	assert_int_equal(open_list(state, &list, &asked, 1), 0);
	assert_int_equal(list.events[0].id, UINT64_MAX);
	event_list_close(&list);
}

/* Interrupts have senders and wakeups have wakers, also if the user chose the events. */
TEST_WITH(knows_whose_requests_to_record, make_tracefs, remove_folder)
{
	const struct perf_poke_event asked[] = { { "sched:sched_switch", NULL },
						 { "sched:sched_wakeup", NULL },
						 { "irq_vectors:resch*", NULL },
						 { "sched:sched_waking", NULL },
						 { "sched:sched_migrate_task", NULL } };
	static const unsigned int senders[] = {
		0,
		SENDERS_WAKERS | SENDERS_MIGRATIONS,
		SENDERS_WAKERS | SENDERS_MIGRATIONS | SENDERS_REQUESTS,
		SENDERS_MIGRATIONS | SENDERS_REQUESTS,
		SENDERS_REQUESTS,
	};
	struct event_list list;

	put_file(folder->fd, "events/sched/sched_waking/id", "13\n");
	put_file(folder->fd, "events/sched/sched_migrate_task/id", "14\n");
	for (size_t i = 0; i < ARRAY_SIZE(senders); i++) {
		assert_int_equal(open_list(state, &list, asked, i + 1), 0);
		assert_int_equal(event_list_senders(&list), senders[i]);
		event_list_close(&list);
	}
}

/* perf can open only events with an ID. */
TEST_WITH(globs_leave_out_what_has_no_id, make_tracefs, remove_folder)
{
	const struct perf_poke_event all[] = { { "ftrace:*", NULL } };
	const struct perf_poke_event none[] = { { "ftrace:func*", NULL } };
	struct event_list list;

	assert_int_equal(open_list(state, &list, all, 1), 0);
	assert_int_equal(list.nr, 1);
	assert_string_equal(list.events[0].name, "ftrace:print");
	event_list_close(&list);
	assert_int_equal(open_list(state, &list, none, 1), -ENOENT);
}

TEST_WITH(default_is_what_there_is, make_tracefs, remove_folder)
{
	struct event_list list;

	assert_int_equal(open_list(state, &list, NULL, 0), 0);
	assert_int_equal(list.nr, 12);
	find(&list, "sched:sched_switch");
	find(&list, "sched:sched_wakeup");
	find(&list, "sched:sched_wakeup_new");
	find(&list, "timer:hrtimer_start");
	find(&list, "timer:hrtimer_expire_entry");
	find(&list, "timer:timer_expire_entry");
	find(&list, "irq:tasklet_entry");
	find(&list, "irq_vectors:local_timer_entry");
	find(&list, "irq_vectors:local_timer_exit");
	find(&list, "irq_vectors:reschedule_entry");
	for (size_t i = 0; i < list.nr; i++) {
		assert_true(list.events[i].optional);
		assert_null(list.events[i].filter);
	}
	/* The probe's detail names what is missing. */
	assert_true(messages.nr > 0);
	assert_int_equal(messages.level, PERF_POKE_LOG_DEBUG);
	assert_non_null(strstr(messages.text, ": this kernel has none"));
	event_list_close(&list);
}

TEST_WITH(default_leaves_out_interrupts_that_never_came, make_tracefs, remove_folder)
{
	const struct folder *folder = *state;
	const struct perf_poke_event asked = { "irq_vectors:*", NULL };
	struct event_list list;

	put_file(folder->fd, "proc/interrupts",
		 "           CPU0       CPU1\n"
		 " TRM:          0         20   Thermal event interrupts\n"
		 " THR:          0          0   Threshold APIC interrupts\n");
	assert_int_equal(open_list(state, &list, NULL, 0), 0);
	assert_int_equal(list.nr, 11);
	find(&list, "irq_vectors:thermal_apic_entry");
	event_list_close(&list);
	/* What the user names stays. */
	assert_int_equal(open_list(state, &list, &asked, 1), 0);
	find(&list, "irq_vectors:threshold_apic_entry");
	event_list_close(&list);
}

/* As of Linux 7.1. What the user names has no filter but the user's. */
TEST_WITH(default_leaves_out_the_schedulers_tick, make_tracefs, remove_folder)
{
	static const char *const names[] = { "timer:hrtimer_start", "timer:hrtimer_expire_entry" };
	const struct perf_poke_event asked = { "timer:hrtimer_*", NULL };
	struct event_list list;

	put_file(folder->fd, "events/timer/hrtimer_rearm/id", "23\n");
	assert_int_equal(open_list(state, &list, NULL, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names) && kallsyms_has("hrtick"); i++)
		assert_string_equal(find(&list, names[i])->filter, "function.function != hrtick");
	assert_string_equal(find(&list, "timer:hrtimer_rearm")->filter, "deferred == 1");
	assert_null(find(&list, "timer:timer_expire_entry")->filter);
	event_list_close(&list);
	assert_int_equal(open_list(state, &list, &asked, 1), 0);
	assert_int_equal(list.nr, 3);
	for (size_t i = 0; i < list.nr; i++)
		assert_null(list.events[i].filter);
	event_list_close(&list);
}

TEST_WITH(no_default_at_all, make_tracefs, remove_folder)
{
	_cleanup_close_ int fd = openat(folder->fd, "outside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct event_list list = {};

	assert_true(fd >= 0);
	assert_int_equal(event_list_open(&list, NULL, 0, fd, fd, &log_of_test), -ENOENT);
	assert_string_equal(messages.text,
			    "this kernel has none of the default events: name some (-e)");
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
	assert_null(list.events);
}

/* The last mention decides. An event that is required once is not optional, in any order. */
TEST_WITH(mentions_twice, make_tracefs, remove_folder)
{
	const struct perf_poke_event asked[] = {
		{ "sched:*", "pid > 1" },	{ "sched:sched_switch", "prev_pid == 2" },
		{ "sched:sched_wakeup", NULL }, { "timer:hrtimer_start", "softexpires > 1" },
		{ "timer:hrtimer*", NULL },
	};
	struct event_list list;

	assert_int_equal(open_list(state, &list, asked, ARRAY_SIZE(asked)), 0);
	assert_int_equal(list.nr, 5);
	assert_string_equal(find(&list, "sched:sched_switch")->filter, "prev_pid == 2");
	assert_false(find(&list, "sched:sched_switch")->optional);
	assert_null(find(&list, "sched:sched_wakeup")->filter);
	assert_string_equal(find(&list, "sched:sched_wakeup_new")->filter, "pid > 1");
	assert_true(find(&list, "sched:sched_wakeup_new")->optional);
	assert_null(find(&list, "timer:hrtimer_start")->filter);
	assert_false(find(&list, "timer:hrtimer_start")->optional);
	event_list_close(&list);
}

/* Tracepoints and samples: the defaults apply to the kind that is not named. */
TEST_WITH(takes_what_is_sampled, make_tracefs, remove_folder)
{
	const struct perf_poke_event sampled = { "cpu-clock/period=9/k", NULL };
	const struct perf_poke_event filtered = { "cycles", "x == 1" };
	const struct perf_poke_event both[] = { { "sched:sched_switch", NULL }, sampled };
	struct event_list list;

	assert_int_equal(open_list(state, &list, both, 2), 0);
	assert_int_equal(list.nr, 2);
	assert_int_equal(list.events[0].id, 10);
	assert_string_equal(list.events[1].name, sampled.name);
	assert_int_equal(list.events[1].id, 0);
	assert_int_equal(list.events[1].sampled.sample_period, 9);
	assert_true(list.events[1].sampled.exclude_user);
	event_list_close(&list);
	assert_int_equal(open_list(state, &list, &sampled, 1), 0);
	assert_true(find(&list, "sched:sched_switch")->optional);
	assert_false(find(&list, sampled.name)->optional);
	event_list_close(&list);
	assert_int_equal(open_list(state, &list, &filtered, 1), -EINVAL);
	assert_string_equal(messages.text,
			    "event 'cycles': not a tracepoint, so it takes no filter");
}

/* If the machine has it, and no other is named. */
TEST_WITH(adds_samples, make_tracefs, remove_folder)
{
	const struct perf_poke_event tracepoint = { "sched:sched_switch", NULL };
	const struct perf_poke_event sampled = { "cpu-clock", NULL };
	const int cpu = 3;
	struct event_list list;

	put_file(folder->fd, "proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu lahf\n");
	assert_int_equal(open_list(state, &list, &tracepoint, 1), 0);
	assert_int_equal(event_list_add_samples(&list, folder->fd, &cpu, 1, &log_of_test), 0);
	assert_int_equal(list.nr, 1);
	put_file(folder->fd, "sys/bus/event_source/devices/cpu/type", "4\n");
	put_file(folder->fd, "sys/devices/system/cpu/isolated", "1,3-5\n");
	put_file(folder->fd, "sys/devices/system/cpu/nohz_full", "(null)\n");
	assert_int_equal(event_list_add_samples(&list, folder->fd, &cpu, 1, &log_of_test), 0);
	assert_int_equal(list.nr, 1);
	put_file(folder->fd, "sys/devices/system/cpu/isolated", "\n");
	put_file(folder->fd, "sys/devices/system/cpu/nohz_full", "2-3\n");
	assert_int_equal(event_list_add_samples(&list, folder->fd, &cpu, 1, &log_of_test), 0);
	assert_int_equal(list.nr, 1);
	put_file(folder->fd, "sys/devices/system/cpu/nohz_full", "4\n");
	assert_int_equal(event_list_add_samples(&list, folder->fd, &cpu, 1, &log_of_test), 0);
	assert_int_equal(list.nr, 2);
	assert_true(find(&list, "cycles")->optional);
	assert_string_equal(messages.text, "an NMI samples the watched CPUs each 300000 cycles "
					   "(--no-samples: none)");
	event_list_close(&list);
	assert_int_equal(open_list(state, &list, &sampled, 1), 0);
	assert_int_equal(event_list_add_samples(&list, folder->fd, &cpu, 1, &log_of_test), 0);
	assert_string_equal(list.events[list.nr - 1].name, "cpu-clock");
	event_list_close(&list);
}

static void check_refused(void **state, const char *name, int error, const char *problem)
{
	const struct perf_poke_event asked[] = { { "sched:sched_switch", "prev_pid == 1" },
						 { name, NULL } };
	char message[1200];
	struct event_list list;

	memset(&messages, 0, sizeof(messages));
	assert_int_equal(open_list(state, &list, asked, 2), error);
	snprintf(message, sizeof(message), "event '%s': %s", name, problem);
	assert_string_equal(messages.text, message);
	assert_int_equal(messages.nr, 1);
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
	assert_null(list.events);
	assert_int_equal(list.nr, 0);
}

TEST_WITH(refuses_names, make_tracefs, remove_folder)
{
	static const char malformed[] =
		"neither of the form system:name, as in sched:sched_switch, nor one that is "
		"sampled, as cpu-clock";
	static const char no_pmu[] = "there is no PMU '..' (ls /sys/bus/event_source/devices)";
	static const char unknown[] =
		"this kernel has no such tracepoint (perf list tracepoint shows them)";
	static const char *const malformed_names[] = {
		"",
		":",
		"sched",
		"sched:",
		":sched_switch",
		"..:outside",
		".:sched",
		"sched:../../outside/event",
		"sched:sched_switch/../../../outside/event",
		"sched:.",
		"sched:..",
		"sched:.hidden",
		"sched:/sched_switch",
		"sched:../*",
	};
	static const char *const unknown_names[] = {
		"sched:none", "none:sched_switch", "sched:none*",
		"none:*",     "sch*:sched_switch", "ftrace:function",
	};
	char long_name[600] = "sched:";

	for (size_t i = 0; i < ARRAY_SIZE(malformed_names); i++)
		check_refused(state, malformed_names[i], -EINVAL, malformed);
	for (size_t i = 0; i < ARRAY_SIZE(unknown_names); i++)
		check_refused(state, unknown_names[i], -ENOENT, unknown);
	check_refused(state, "../outside/:event", -ENOENT, no_pmu);
	check_refused(state, "../outside:event", -EINVAL, "the second / is missing");
	check_refused(state, "/sched:sched_switch", -EINVAL, "the second / is missing");
	check_refused(state, "sched:enable", -ENOTDIR, strerror(ENOTDIR));
	check_refused(state, "bad:empty", -EIO, strerror(EIO));
	check_refused(state, "bad:*", -EIO, strerror(EIO));
	memset(long_name + 6, 'n', sizeof(long_name) - 7);
	check_refused(state, long_name, -ENAMETOOLONG, strerror(ENAMETOOLONG));
}
