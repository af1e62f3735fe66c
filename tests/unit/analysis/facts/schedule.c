// SPDX-License-Identifier: GPL-2.0-only
#include "facts/schedule.h"

#include <limits.h>
#include <string.h>

#include "analysis/events/made_tracepoints.h"
#include "test.h"

enum { SWITCH = 1, WAKING, MIGRATE, OTHER, SENT };

#define COMM(at) MADE_FIELD("char comm[16]", at, 16, 0)
static const struct made_format formats[] = {
	{ "sched:sched_switch",
	  MADE_FORMAT("sched_switch", 1,
		      MADE_FIELD("char prev_comm[16]", 8, 16, 0) MADE_FIELD(
			      "pid_t prev_pid", 24, 4, 1) MADE_FIELD("int prev_prio", 28, 4, 1)
			      MADE_FIELD("long prev_state", 32, 8, 1)
				      MADE_FIELD("char next_comm[16]", 40, 16, 0)
					      MADE_FIELD("pid_t next_pid", 56, 4, 1)
						      MADE_FIELD("int next_prio", 60, 4, 1),
		      "\"\""),
	  SWITCH },
	{ "sched:sched_waking",
	  MADE_FORMAT("sched_waking", 2,
		      COMM(8) MADE_FIELD("pid_t pid", 24, 4, 1) MADE_FIELD("int prio", 28, 4, 1)
			      MADE_FIELD("int target_cpu", 32, 4, 1),
		      "\"\""),
	  WAKING },
	{ "sched:sched_migrate_task",
	  MADE_FORMAT("sched_migrate_task", 3,
		      COMM(8) MADE_FIELD("pid_t pid", 24, 4, 1) MADE_FIELD("int prio", 28, 4, 1)
			      MADE_FIELD("int orig_cpu", 32, 4, 1)
				      MADE_FIELD("int dest_cpu", 36, 4, 1),
		      "\"\""),
	  MIGRATE },
	{ "irq:irq_handler_entry",
	  MADE_FORMAT("irq_handler_entry", 4, MADE_FIELD("int irq", 8, 4, 1), "\"\""), OTHER },
	{ "ipi:ipi_send_cpu",
	  MADE_FORMAT("ipi_send_cpu", 5, MADE_FIELD("unsigned int cpu", 8, 4, 0), "\"\""), SENT },
};

static struct made_sample on_cpu(struct made_sample sample, uint32_t cpu)
{
	sample.cpu = cpu;
	return sample;
}

/* Thread 7 is the one that is followed; state 0: it is preempted. */
static struct made_sample switched(uint64_t time, uint32_t cpu, int32_t from, uint64_t state,
				   int32_t to)
{
	struct {
		char prev_comm[16];
		int32_t prev_pid, prev_prio;
		uint64_t prev_state;
		char next_comm[16];
		int32_t next_pid, next_prio;
	} fields = { "", from, from ? 120 : 140, state, "", to, to == 7 ? 19 : 120 };

	snprintf(fields.prev_comm, 16, "task%d", from);
	snprintf(fields.next_comm, 16, "task%d", to);
	return on_cpu(made_sample(SWITCH, time, (uint32_t)from, &fields, 56), cpu);
}

static struct made_sample woken(uint64_t time, uint32_t cpu, uint32_t by, int32_t tid, int32_t to)
{
	struct {
		char comm[16];
		int32_t pid, prio, target_cpu;
	} fields = { "late", tid, 19, to };

	return on_cpu(made_sample(WAKING, time, by, &fields, sizeof(fields)), cpu);
}

static struct made_sample migrated(uint64_t time, uint32_t cpu, int32_t tid, int32_t to)
{
	struct {
		char comm[16];
		int32_t pid, prio, orig_cpu, dest_cpu;
	} fields = { "late", tid, 19, 0, to };

	return on_cpu(made_sample(MIGRATE, time, 1, &fields, sizeof(fields)), cpu);
}

static struct made_sample other(uint64_t time, uint32_t cpu)
{
	return on_cpu(made_sample(OTHER, time, 7, &(int32_t){ 5 }, 4), cpu);
}

static struct made_sample sent_itself(uint64_t time, uint32_t cpu)
{
	return on_cpu(made_sample(SENT, time, 7, &cpu, 4), cpu);
}

static void read_all(struct schedule *schedule, struct names *names,
		     const struct made_sample *samples, size_t nr)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = made_tracepoints_open(
		folder, formats, ARRAY_SIZE(formats), samples, nr, "ffffffff81000000 T f\n");
	struct tracepoint_event event;

	assert_int_equal(schedule_add_gaps(schedule, tracepoints), 0);
	while (tracepoints_next(tracepoints, &event))
		assert_int_equal(schedule_add_event(schedule, names, &event), 0);
	assert_int_equal(schedule_add_comms(schedule, names, tracepoints), 0);
}

static const struct thread_known nothing = { .cpu = -1 };

/* As `running 0 100-120`, each followed by a blank. */
static void check_stays(const struct made_sample *samples, size_t nr,
			const struct thread_known *known, const char *expected, uint64_t lost_ns)
{
	static const char *const states[] = { "unknown", "running", "runnable", "asleep" };
	struct schedule schedule = { 0 };
	struct thread_stays stays;
	struct names *names;
	char text[512] = "";
	uint64_t sum = 0;

	assert_int_equal(names_new(&names), 0);
	read_all(&schedule, names, samples, nr);
	assert_int_equal(schedule_follow_thread(&schedule, 7, 100, 200, known, &stays), 0);
	for (size_t i = 0; i < stays.nr; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %d %d-%d ",
			 states[stays.list[i].state], stays.list[i].unsure ? "?" : "",
			 stays.list[i].cpu, (int)stays.list[i].begin, (int)stays.list[i].end);
	for (size_t i = 0; i < THREAD_STATES; i++)
		sum += stays.sums[i];
	assert_int_equal(stays.lost_ns, lost_ns);
	assert_string_equal(text, expected);
	assert_int_equal(sum, 100);
	thread_stays_release(&stays);
	schedule_release(&schedule);
	names_free(names);
}

#define CHECK_LOST(known, expected, lost_ns, ...)                                                  \
	check_stays((const struct made_sample[]){ __VA_ARGS__ },                                   \
		    sizeof((const struct made_sample[]){ __VA_ARGS__ }) /                          \
			    sizeof(struct made_sample),                                            \
		    known, expected, lost_ns)
#define CHECK(known, expected, ...) CHECK_LOST(known, expected, 0, __VA_ARGS__)

TEST_IN_FOLDER(follows_a_thread_that_waits_for_a_lock)
{
	CHECK(&nothing, "running 0 100-110 asleep 0 110-170 runnable 0 170-175 running 0 175-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 0), woken(170, 1, 9, 7, 0),
	      switched(175, 0, 0, 0, 7));
}

TEST_IN_FOLDER(follows_a_thread_that_is_preempted)
{
	CHECK(&nothing, "running 0 100-120 runnable 0 120-180 running 0 180-200 ",
	      switched(90, 0, 1, 0, 7), switched(120, 0, 7, 0, 8), switched(180, 0, 8, 0, 7));
}

/* The bit for preemption alone is no sleep. */
TEST_IN_FOLDER(takes_preemption_for_no_sleep)
{
	CHECK(&nothing, "running 0 100-120 runnable 0 120-200 ", switched(90, 0, 1, 0, 7),
	      switched(120, 0, 7, 0x100, 8));
}

TEST_IN_FOLDER(deduces_that_it_ran_before)
{
	CHECK(&nothing, "running 0 100-120 asleep 0 120-200 ", other(50, 0),
	      switched(120, 0, 7, 2, 0));
}

TEST_IN_FOLDER(deduces_that_it_slept_before)
{
	CHECK(&nothing, "asleep 0 100-150 runnable 0 150-200 ", switched(50, 0, 1, 0, 2),
	      woken(150, 1, 9, 7, 0));
}

/* The recording begins later than the latency. */
TEST_IN_FOLDER(knows_nothing_before_the_recording)
{
	CHECK(&nothing, "unknown -1 100-115 running 0 115-120 asleep 0 120-200 ", other(115, 0),
	      switched(120, 0, 7, 2, 0));
}

/* Wakeups are recorded of all CPUs, and reach further back. */
TEST_IN_FOLDER(knows_when_switches_were_recorded)
{
	CHECK(&nothing, "unknown -1 100-120 running 0 120-200 ", woken(50, 0, 9, 8, 0),
	      switched(120, 0, 1, 0, 7));
}

TEST_IN_FOLDER(knows_that_a_reporter_runs)
{
	const struct thread_known runs = { .runs_on = true };

	CHECK(&runs, "running 0 100-200 ", switched(50, 0, 1, 0, 2));
}

TEST_IN_FOLDER(knows_that_a_reporter_runs_since_the_recording)
{
	const struct thread_known runs = { .runs_on = true };

	CHECK(&runs, "unknown -1 100-130 running 0 130-200 ", switched(130, 0, 1, 0, 2));
}

TEST_IN_FOLDER(knows_that_a_woken_thread_waits)
{
	const struct thread_known waits = { .waits = true };

	CHECK(&waits, "runnable 0 100-190 running 0 190-200 ", switched(50, 0, 1, 0, 2),
	      switched(190, 0, 2, 0, 7));
}

TEST_IN_FOLDER(knows_that_a_woken_thread_still_waits)
{
	const struct thread_known waits = { .waits = true };

	CHECK(&waits, "runnable 0 100-200 ", switched(50, 0, 1, 0, 2));
}

/* The event of its wakeup is lost. */
TEST_IN_FOLDER(knows_that_a_woken_thread_sleeps_no_more)
{
	const struct thread_known waits = { .waits = true };

	CHECK(&waits, "runnable 0 100-190 running 0 190-200 ", switched(40, 0, 1, 0, 7),
	      switched(50, 0, 7, 1, 2), switched(190, 0, 2, 0, 7));
}

TEST_IN_FOLDER(knows_nothing_of_a_thread_without_events)
{
	CHECK(&nothing, "unknown -1 100-200 ", switched(50, 0, 1, 0, 2));
}

/* It moves to CPU 3, runs there, and comes back. */
TEST_IN_FOLDER(loses_a_thread_that_migrates)
{
	CHECK(&nothing,
	      "running 0 100-110 asleep 0 110-120 runnable 0 120-121 unknown 3 121-180 "
	      "runnable 0 180-190 running 0 190-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 0), woken(120, 1, 9, 7, 0),
	      migrated(121, 1, 7, 3), migrated(180, 1, 7, 0), switched(190, 0, 0, 0, 7));
}

/* It ran where nobody saw it get the CPU. */
TEST_IN_FOLDER(does_not_guess_where_a_thread_ran)
{
	CHECK(&nothing, "running 0 100-110 unknown 0 110-150 asleep 0 150-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8), switched(150, 0, 7, 1, 0));
}

/* With Intel PT migrations are not recorded. */
TEST_IN_FOLDER(does_not_guess_where_a_waker_ran)
{
	const struct thread_known runs = { .runs_on = true, .cpu = 3 };

	CHECK(&runs, "running 0 100-110 unknown 0 110-200 ", switched(90, 0, 1, 0, 7),
	      switched(110, 0, 7, 0, 8), switched(120, 0, 8, 1, 0));
}

TEST_IN_FOLDER(does_not_guess_that_a_moved_thread_waited)
{
	CHECK(&nothing, "running 0 100-110 unknown 0 110-180 running 3 180-200 ",
	      switched(50, 3, 9, 0, 0), switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8),
	      switched(180, 3, 0, 0, 7));
}

/* It came back. */
TEST_IN_FOLDER(does_not_guess_that_a_thread_waited_beside_an_idle_cpu)
{
	CHECK(&nothing, "running 0 100-110 unknown 0 110-180 running 0 180-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8), switched(120, 0, 8, 1, 0),
	      switched(180, 0, 0, 0, 7));
}

TEST_IN_FOLDER(follows_a_thread_whose_quota_is_used_up)
{
	const struct thread_known known = { .cpu = -1, .quota = true };

	CHECK(&known, "running 0 100-110 runnable 0 110-180 running 0 180-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8), switched(120, 0, 8, 1, 0),
	      switched(180, 0, 0, 0, 7));
}

TEST_IN_FOLDER(does_not_guess_where_a_thread_was_that_comes_back)
{
	CHECK(&nothing, "running 0 100-110 unknown 0 110-150 runnable 0 150-180 running 0 180-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8), migrated(150, 0, 7, 0),
	      switched(180, 0, 8, 0, 7));
}

TEST_IN_FOLDER(does_not_guess_where_a_woken_thread_was_that_comes_back)
{
	CHECK(&nothing,
	      "running 0 100-110 asleep 0 110-120 unknown 0 120-150 runnable 0 150-180 "
	      "running 0 180-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 8), woken(120, 1, 9, 7, 0),
	      migrated(150, 0, 7, 0), switched(180, 0, 8, 0, 7));
}

TEST_IN_FOLDER(follows_a_thread_that_is_seen_to_move)
{
	CHECK(&nothing,
	      "running 0 100-110 runnable 0 110-150 runnable 3 150-180 running 3 180-200 ",
	      switched(50, 3, 9, 0, 0), switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8),
	      migrated(150, 0, 7, 3), switched(180, 3, 0, 0, 7));
}

/* As when a cgroup has no CPU time left. The switch from the idle task is lost. */
TEST_IN_FOLDER(follows_a_thread_that_waits_beside_an_idle_cpu)
{
	CHECK(&nothing, "running 0 100-110 runnable? 0 110-150 running 0 150-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 0), other(150, 0));
}

TEST_IN_FOLDER(follows_a_thread_that_waits_after_another_one)
{
	const struct thread_known known = { .cpu = -1, .quota = true };

	CHECK(&known, "running 0 100-110 runnable? 0 110-150 running 0 150-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8), switched(115, 0, 8, 1, 0),
	      other(150, 0));
}

TEST_IN_FOLDER(does_not_guess_how_long_another_one_ran)
{
	CHECK(&nothing, "running 0 100-110 unknown 0 110-150 running 0 150-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8), switched(115, 0, 8, 1, 9),
	      other(150, 0));
}

/* Nobody saw who woke it, and when. */
TEST_IN_FOLDER(does_not_guess_when_a_thread_was_woken)
{
	CHECK(&nothing, "running 0 100-110 asleep? 0 110-150 running 0 150-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 0), switched(150, 0, 0, 0, 7));
}

/* Some kernels drop the switch from the idle task. */
TEST_IN_FOLDER(sees_that_a_thread_runs)
{
	CHECK(&nothing,
	      "running 0 100-110 asleep 0 110-150 unknown 0 150-160 running 0 160-170 "
	      "asleep? 0 170-180 running 0 180-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 0), woken(150, 1, 9, 7, 0),
	      other(160, 0), switched(170, 0, 7, 1, 0), other(180, 0));
}

/* An interrupt that the switch itself sends is one of the thread before. */
TEST_IN_FOLDER(takes_a_switch_for_no_sign_that_a_thread_runs)
{
	CHECK(&nothing, "running 0 100-110 runnable 0 110-160 running 0 160-170 asleep 0 170-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8), sent_itself(111, 0),
	      switched(160, 0, 8, 0, 7), switched(170, 0, 7, 1, 0), sent_itself(171, 0));
}

/* The switch from the idle task is lost. */
TEST_IN_FOLDER(sees_that_a_thread_runs_by_what_no_switch_does)
{
	CHECK(&nothing, "running 0 100-110 asleep? 0 110-150 running 0 150-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 0), sent_itself(140, 0),
	      other(150, 0), sent_itself(155, 0));
}

TEST_IN_FOLDER(sees_that_another_thread_runs)
{
	CHECK(&nothing, "running 0 100-110 unknown -1 110-200 ", switched(90, 0, 1, 0, 7),
	      woken(110, 0, 9, 8, 0));
}

TEST_IN_FOLDER(knows_that_a_reporter_ran_at_last)
{
	const struct thread_known runs = { .runs_on = true };

	CHECK(&runs, "running 0 100-110 asleep 0 110-150 unknown 0 150-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 0), woken(150, 1, 9, 7, 0));
}

TEST_IN_FOLDER(ignores_wakeups_of_a_thread_that_runs)
{
	CHECK(&nothing, "running 0 100-200 ", switched(90, 0, 1, 0, 7), woken(150, 0, 7, 7, 0));
}

/* Rings of wakeups reach further back than those of switches. */
TEST_IN_FOLDER(does_not_guess_what_followed_an_early_wakeup)
{
	CHECK(&nothing, "unknown -1 100-150 runnable 0 150-190 running 0 190-200 ",
	      woken(50, 1, 9, 7, 0), woken(110, 1, 9, 7, 0), switched(150, 0, 3, 1, 4),
	      switched(190, 0, 4, 1, 7));
}

TEST_IN_FOLDER(takes_a_wakeup_since_switches_are_recorded)
{
	CHECK(&nothing, "unknown -1 100-150 asleep 0 150-170 runnable 0 170-190 running 0 190-200 ",
	      woken(50, 1, 9, 7, 0), switched(150, 0, 3, 1, 4), woken(170, 1, 9, 7, 0),
	      switched(190, 0, 4, 1, 7));
}

/* On a CPU whose switches are not recorded. */
TEST_IN_FOLDER(does_not_guess_what_followed_a_wakeup_elsewhere)
{
	CHECK(&nothing, "unknown -1 100-190 running 0 190-200 ", switched(90, 0, 3, 1, 4),
	      woken(110, 0, 4, 7, 3), switched(190, 0, 4, 1, 7));
}

/* Only one that has run since can be woken again. */
TEST_IN_FOLDER(does_not_take_a_thread_that_is_woken_twice_for_one_that_waits)
{
	CHECK(&nothing, "asleep 0 100-110 unknown 0 110-170 runnable 0 170-175 running 0 175-200 ",
	      switched(90, 0, 1, 1, 0), woken(110, 0, 0, 7, 0), woken(170, 0, 0, 7, 0),
	      switched(175, 0, 0, 0, 7));
}

/* It may have run, and slept again. */
TEST_IN_FOLDER(does_not_guess_what_a_thread_did_in_a_gap)
{
	CHECK_LOST(&nothing,
		   "running 0 100-110 asleep 0 110-120 unknown -1 120-150 asleep 0 150-170 "
		   "runnable 0 170-175 running 0 175-200 ",
		   30, switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 0),
		   switched(120, 0, 0, 0, 3), switched(150, 0, 3, 0, 4),
		   made_lost(150, SWITCH, 0, 9), switched(172, 0, 4, 1, 0),
		   switched(175, 0, 0, 0, 7), woken(170, 1, 9, 7, 0));
}

TEST_IN_FOLDER(knows_that_a_thread_ran_since_a_gap)
{
	CHECK_LOST(&nothing,
		   "running 0 100-110 unknown -1 110-150 running 0 150-170 asleep 0 170-200 ", 40,
		   switched(90, 0, 1, 0, 7), other(110, 0), other(150, 0),
		   made_lost(150, OTHER, 0, 9), switched(170, 0, 7, 1, 0));
}

TEST_IN_FOLDER(does_not_guess_how_a_thread_waited_behind_a_gap)
{
	CHECK_LOST(&nothing, "running 0 100-110 unknown -1 110-170 running 0 170-200 ", 60,
		   switched(90, 0, 1, 0, 7), switched(110, 0, 7, 0, 8), switched(150, 0, 8, 0, 9),
		   made_lost(150, SWITCH, 0, 9), switched(170, 0, 9, 0, 7));
}

/* What it waits for, another CPU shows. */
TEST_IN_FOLDER(takes_a_wakeup_in_a_gap_for_no_more_than_that)
{
	CHECK_LOST(&nothing,
		   "running 0 100-110 unknown -1 110-150 runnable 0 150-170 running 0 170-200 ", 40,
		   switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 8), switched(150, 0, 8, 0, 9),
		   made_lost(150, SWITCH, 0, 9), switched(170, 0, 9, 0, 7), woken(130, 1, 9, 7, 0));
}

/* A gap of a CPU where it is not, or of wakeups while it does not sleep. */
TEST_IN_FOLDER(follows_a_thread_beside_gaps)
{
	CHECK(&nothing, "running 0 100-200 ", switched(90, 0, 1, 0, 7), switched(110, 1, 3, 1, 4),
	      switched(150, 1, 4, 1, 5), made_lost(150, SWITCH, 1, 9), woken(105, 0, 7, 8, 1),
	      woken(155, 0, 7, 8, 1), made_lost(155, WAKING, 0, 2));
}

/* Its wakeup may be among them: then how long it slept is unknown. */
TEST_IN_FOLDER(does_not_guess_when_it_was_woken_in_a_gap)
{
	CHECK_LOST(&nothing,
		   "running 0 100-110 asleep 0 110-120 unknown -1 120-190 running 0 190-200 ", 70,
		   switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 8), switched(190, 0, 8, 1, 7),
		   woken(120, 1, 9, 8, 0), woken(160, 1, 9, 3, 0), made_lost(160, WAKING, 1, 2));
}

TEST_IN_FOLDER(knows_that_it_slept_on_if_it_is_woken_later)
{
	CHECK(&nothing,
	      "running 0 100-110 asleep 0 110-120 asleep 0 120-185 runnable 0 185-190 "
	      "running 0 190-200 ",
	      switched(90, 0, 1, 0, 7), switched(110, 0, 7, 1, 8), switched(190, 0, 8, 1, 7),
	      woken(120, 1, 9, 8, 0), woken(160, 1, 9, 3, 0), made_lost(160, WAKING, 1, 2),
	      woken(185, 1, 9, 7, 0));
}

TEST_IN_FOLDER(knows_after_a_gap_that_a_reporter_runs)
{
	const struct thread_known runs = { .runs_on = true };

	CHECK_LOST(&runs, "running 0 100-110 unknown -1 110-150 running 0 150-200 ", 40,
		   switched(90, 0, 1, 0, 7), other(110, 0), other(150, 0),
		   made_lost(150, OTHER, 0, 9));
}

TEST_IN_FOLDER(does_not_share_the_time_of_a_gap)
{
	const struct made_sample samples[] = {
		switched(90, 0, 7, 0, 8),     switched(110, 0, 8, 0, 9),  switched(150, 0, 8, 0, 9),
		made_lost(150, SWITCH, 0, 3), switched(190, 0, 9, 0, 10),
	};
	struct schedule_shares shares = { 0 };
	struct schedule schedule = { 0 };
	struct names *names;

	assert_int_equal(names_new(&names), 0);
	read_all(&schedule, names, samples, ARRAY_SIZE(samples));
	assert_int_equal(schedule_share_add(&schedule, 0, 100, 200, &shares), 0);
	schedule_shares_sort(&shares);
	assert_int_equal(shares.nr, 3);
	assert_int_equal(shares.list[0].tid, 9);
	assert_int_equal(shares.list[0].time_ns, 40);
	assert_int_equal(shares.list[1].time_ns, 10);
	assert_int_equal(shares.list[2].time_ns, 10);
	assert_int_equal(schedule_switches_since(&schedule, 0, 149), UINT64_MAX);
	assert_int_equal(schedule_switches_since(&schedule, 0, 150), 150);
	assert_int_equal(schedule_switches_since(&schedule, 0, 110), 90);
	schedule_shares_release(&shares);
	schedule_release(&schedule);
	names_free(names);
}

TEST_IN_FOLDER(shares_a_cpu_among_those_that_ran)
{
	const struct made_sample samples[] = {
		switched(90, 0, 7, 0, 8),  switched(130, 0, 8, 0, 9), switched(150, 0, 9, 0, 8),
		switched(180, 0, 8, 0, 0), switched(185, 1, 1, 0, 2),
	};
	struct schedule_shares shares = { 0 };
	struct schedule schedule = { 0 };
	struct names *names;

	assert_int_equal(names_new(&names), 0);
	read_all(&schedule, names, samples, ARRAY_SIZE(samples));
	assert_int_equal(schedule_share_add(&schedule, 0, 100, 200, &shares), 0);
	schedule_shares_sort(&shares);
	assert_int_equal(shares.nr, 3);
	assert_int_equal(shares.list[0].tid, 8);
	assert_int_equal(shares.list[0].time_ns, 60);
	assert_int_equal(shares.list[0].gave_up, 4);
	assert_string_equal(names_get(names, shares.list[0].name), "task8");
	assert_int_equal(shares.list[1].time_ns, 20);
	assert_int_equal(shares.list[2].tid, 9);
	/* A CPU that is not recorded. */
	schedule_shares_release(&shares);
	shares = (struct schedule_shares){ 0 };
	assert_int_equal(schedule_share_add(&schedule, 3, 100, 200, &shares), 0);
	assert_int_equal(shares.nr, 0);
	schedule_release(&schedule);
	names_free(names);
}

TEST_IN_FOLDER(names_threads)
{
	const struct made_sample samples[] = {
		switched(90, 0, 7, 0, 8),
		woken(95, 1, 30, 7, 0),
		made_comm(30, "waker"),
		made_comm_at(120, SWITCH, 30, "executed"),
		made_comm_at(110, SWITCH, 30, "forked"),
	};
	struct schedule schedule = { 0 };
	struct names *names;

	assert_int_equal(names_new(&names), 0);
	read_all(&schedule, names, samples, ARRAY_SIZE(samples));
	assert_string_equal(names_get(names, schedule_thread_name(&schedule, 7, 200)), "late");
	assert_string_equal(names_get(names, schedule_thread_name(&schedule, 7, 92)), "task7");
	assert_string_equal(names_get(names, schedule_thread_name(&schedule, 8, 200)), "task8");
	assert_string_equal(names_get(names, schedule_thread_name(&schedule, 30, 100)), "waker");
	assert_string_equal(names_get(names, schedule_thread_name(&schedule, 30, 115)), "forked");
	assert_string_equal(names_get(names, schedule_thread_name(&schedule, 30, 200)), "executed");
	assert_int_equal(schedule_thread_name(&schedule, 31, 200), 0);
	schedule_release(&schedule);
	names_free(names);
}
