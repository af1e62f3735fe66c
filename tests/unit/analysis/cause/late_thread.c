// SPDX-License-Identifier: GPL-2.0-only
#include "cause/late_thread.h"

#include <limits.h>
#include <string.h>

#include "analysis/events/made_tracepoints.h"
#include "analysis/timeline.h"
#include "array.h"
#include "test.h"
#include "text.h"

#define KERNEL 0xffffffff81000000
#define FUNCTION_SIZE 0x100
#define USER 0x400000
#define LATE 7
#define LOCK 1
#define DISK 2
#define REAL_TIME_80 19
#define NICE_0 120

/* Of the kernel; those of programs begin with `u:`. */
static const char *const functions[] = {
	"__schedule",
	"schedule",
	"futex_wait_queue",
	"futex_wait",
	"__x64_sys_futex",
	"do_syscall_64",
	"try_to_wake_up",
	"wake_up_q",
	"futex_wake",
	"io_schedule",
	"folio_wait_bit_common",
	"filemap_fault",
	"handle_mm_fault",
	"exc_page_fault",
	"asm_exc_page_fault",
	"jbd2_log_wait_commit",
	"ext4_sync_file",
	"__x64_sys_fsync",
	"blk_update_request",
	"virtblk_done",
	"vring_interrupt",
	"__handle_irq_event_percpu",
	"asm_common_interrupt",
	"do_nanosleep",
	"__x64_sys_nanosleep",
	"hrtimer_wakeup",
	"__hrtimer_run_queues",
	"hrtimer_interrupt",
	"__mutex_lock",
	"acme_ioctl",
	"__x64_sys_ioctl",
	"wait_for_completion",
	"synchronize_rcu",
	"acme_wait",
	"rcu_core",
	"handle_softirqs",
	"do_signal_stop",
	"get_signal",
	"do_sigtimedwait",
	"__x64_sys_rt_sigtimedwait",
	"do_sys_poll",
	"__x64_sys_poll",
	"u:pthread_mutex_lock",
	"u:request",
	"u:main",
	"u:__pthread_barrier_wait",
	"u:sem_post",
	"u:lll_lock_wake",
	"futex_lock_pi",
};

static uint64_t address_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (!strcmp(functions[i], name))
			return (has_prefix(name, "u:") ? USER : KERNEL) + i * FUNCTION_SIZE;
	}
	fail_msg("no function %s", name);
	return 0;
}

static uint32_t name_user(void *context, struct names *names, const struct tracepoint_event *event,
			  uint64_t address, struct samples_file *file)
{
	assert_int_equal(event->pid, LATE);
	return names_add(names, functions[(address - USER) / FUNCTION_SIZE] + strlen("u:"));
}

struct happening {
	struct schedule_event event;
	const char *from, *to;
	const char *stack; /* as `schedule futex_wait` */
};

/* A switch from one task to another; state 0: the first still wants to run. */
#define SWITCH(at, on, from_tid, from_comm, state, to_tid, to_comm, frames)                        \
	{                                                                                          \
		{ .time = at,                                                                      \
		  .kind = SCHEDULE_SWITCH,                                                         \
		  .cpu = on,                                                                       \
		  .tid = from_tid,                                                                 \
		  .other = to_tid,                                                                 \
		  .sleep_state = state,                                                            \
		  .to_cpu = on,                                                                    \
		  .pid = from_tid },                                                               \
			from_comm, to_comm, frames                                                 \
	}
/* A wakeup on CPU 0 of a thread of CPU 1. */
#define WAKE(at, by_tid, by_comm, of_tid, frames)                                                  \
	{                                                                                          \
		{ .time = at,                                                                      \
		  .kind = SCHEDULE_WAKING,                                                         \
		  .cpu = 0,                                                                        \
		  .tid = of_tid,                                                                   \
		  .other = by_tid,                                                                 \
		  .to_cpu = 1,                                                                     \
		  .pid = by_tid },                                                                 \
			NULL, by_comm, frames                                                      \
	}

#define ARMS(at, due, function_name)                                                               \
	{                                                                                          \
		{ .time = at,                                                                      \
		  .kind = SCHEDULE_ARM,                                                            \
		  .cpu = 1,                                                                        \
		  .tid = LATE,                                                                     \
		  .expires = due,                                                                  \
		  .function = address_of(function_name) },                                         \
			NULL, NULL, NULL                                                           \
	}

static void add_stack(struct schedule *schedule, struct schedule_event *event, const char *stack)
{
	char name[64];
	int length;

	event->frames = schedule->nr_frames;
	while (stack && sscanf(stack, "%63s%n", name, &length) == 1) {
		assert_int_equal(array_grow(&schedule->frames, schedule->nr_frames, 8), 0);
		schedule->frames[schedule->nr_frames++] = address_of(name);
		event->nr_frames++;
		stack += length;
	}
}

static int prio_of(int tid)
{
	return tid == LATE ? REAL_TIME_80 : tid >= 90 ? 99 - tid : tid ? NICE_0 : 140;
}

/* The kernel missed hits of the trigger. */
static bool span_is_uncertain;
/* Since when switches of CPUs 0 and 1 are recorded. */
static uint64_t recorded_since = 10;

static void make_schedule(struct schedule *schedule, struct names *names,
			  const struct happening *list, size_t nr)
{
	schedule->nr_cpus = 2;
	schedule->cpus = calloc(2, sizeof(*schedule->cpus));
	for (int i = 0; i < 2; i++)
		schedule->cpus[i] = (struct schedule_cpu){ i, true, recorded_since };
	for (size_t i = 0; i < nr; i++) {
		struct schedule_event event = list[i].event;

		event.prio = prio_of(event.tid);
		event.other_prio = prio_of(event.other);
		event.name = list[i].from ? names_add(names, list[i].from) : 0;
		event.other_name = list[i].to ? names_add(names, list[i].to) : 0;
		add_stack(schedule, &event, list[i].stack);
		assert_int_equal(array_grow(&schedule->events, schedule->nr, sizeof(event)), 0);
		schedule->events[schedule->nr++] = event;
		/* As a comm record has it. */
		if (event.kind != SCHEDULE_WAKING || !list[i].to)
			continue;
		assert_int_equal(
			array_grow(&schedule->comms, schedule->nr_comms, sizeof(*schedule->comms)),
			0);
		schedule->comms[schedule->nr_comms++] =
			(struct schedule_comm){ event.other, event.other_name, 0 };
	}
}

static struct tracepoints *kernel;
static uint64_t nr_lost;
/* The trace may begin later than the switches. */
static uint64_t traced_since;
/* By Intel PT, of the kernel alone */
static bool in_user_space;
/* Of CPU 1, if it has an end. */
static struct schedule_gap gap;

/* In 2 of 3 samples, innermost first, with this many of the kernel; 0: no samples. */
static const char *const sampled[] = { "clear_page_erms", "folio_zero_user", "handle_mm_fault",
				       "asm_exc_page_fault", "fill" };
static uint32_t nr_sampled_of_kernel;

static void add_samples(struct spans *spans)
{
	struct samples *samples = &spans->samples;

	for (uint64_t at = 120000; at < 180000 && nr_sampled_of_kernel; at += 20000) {
		size_t skipped = at == 140000 ? ARRAY_SIZE(sampled) - 1 : 0;

		assert_int_equal(array_grow(&samples->list, samples->nr, sizeof(*samples->list)),
				 0);
		samples->list[samples->nr++] = (struct sampled){
			.at = at,
			.first = samples->nr_frames,
			.nr = ARRAY_SIZE(sampled) - (uint32_t)skipped,
			.nr_kernel = skipped ? 0 : nr_sampled_of_kernel,
		};
		for (size_t i = skipped; i < ARRAY_SIZE(sampled); i++) {
			assert_int_equal(array_grow(&samples->frames, samples->nr_frames,
						    sizeof(*samples->frames)),
					 0);
			samples->frames[samples->nr_frames++] = names_add(spans->names, sampled[i]);
		}
	}
}

/* Thread 7 is late from 100us to 200us, on CPU 1. */
static void say_thread(FILE *file, const struct happening *list, size_t nr, uint64_t irq_ns,
		       enum perf_poke_trigger_kind kind, const struct scheduling_facts *scheduling,
		       const char *task)
{
	_cleanup_(schedule_release) struct schedule schedule = { 0 };
	_cleanup_(account_release) struct account account;
	struct thread_namer namer = { .tracepoints = kernel, .user = name_user };

	assert_int_equal(in_user_space
				 ? TIMELINE(&account, true, TASK(0, task),
					    GAP(0, SPAN_UNTRACED, "[not traced]"), END_GAP(201000))
				 : TIMELINE(&account, false, TASK(traced_since, task)),
			 0);
	account.facts.spike.kind = kind;
	account.facts.spike.irq_ns = irq_ns;
	account.facts.spike.uncertain = span_is_uncertain;
	account.facts.capture.lost = nr_lost;
	account.facts.spike.ran_cpu = 1;
	account.facts.spike.late_tid = account.facts.spike.late_pid = LATE;
	strcpy(account.facts.spike.label, "req");
	if (scheduling)
		account.facts.scheduling = *scheduling;
	namer.names = account.spans->names;
	make_schedule(&schedule, namer.names, list, nr);
	if (gap.end) {
		assert_int_equal(array_grow(&schedule.gaps, 0, sizeof(gap)), 0);
		schedule.gaps[schedule.nr_gaps++] = gap;
	}
	add_samples(account.spans);
	assert_int_equal(late_thread_new(&account.thread, &schedule, &account.facts, &namer), 0);
	assert_non_null(account.thread);
	account.facts.thread = account.thread;
	assert_int_equal(account_finish(&account), 0);
	fprintf(file, "%s\n    %s\n", account.sentence, account.fingerprint.id);
}

#define SAY_OF(task, irq_ns, kind, scheduling, ...)                                                \
	say_thread(file, (const struct happening[]){ __VA_ARGS__ },                                \
		   sizeof((const struct happening[]){ __VA_ARGS__ }) / sizeof(struct happening),   \
		   irq_ns, PERF_POKE_TRIGGER_##kind, scheduling, task)
/* The CPU runs a thread that has nothing to do with it. */
#define SAY(irq_ns, kind, scheduling, ...)                                                         \
	SAY_OF("bystander 8", irq_ns, kind, scheduling, __VA_ARGS__)

#define FUTEX                                                                                      \
	"__schedule schedule futex_wait_queue futex_wait __x64_sys_futex do_syscall_64 "           \
	"u:pthread_mutex_lock u:request u:main"
#define WOKEN_BY_FUTEX "try_to_wake_up wake_up_q futex_wake __x64_sys_futex do_syscall_64"
#define FSYNC                                                                                      \
	"__schedule schedule io_schedule jbd2_log_wait_commit ext4_sync_file __x64_sys_fsync "     \
	"do_syscall_64"
#define BY_DISK                                                                                    \
	"try_to_wake_up blk_update_request virtblk_done vring_interrupt "                          \
	"__handle_irq_event_percpu asm_common_interrupt"
#define BY_TIMER                                                                                   \
	"try_to_wake_up hrtimer_wakeup __hrtimer_run_queues hrtimer_interrupt "                    \
	"asm_common_interrupt"
#define NANOSLEEP "__schedule schedule do_nanosleep __x64_sys_nanosleep do_syscall_64 u:request"

#define RUNS SWITCH(90000, 1, 0, "swapper/1", 0, LATE, "victim", NULL)
/* The waker's system call is in this function. */
#define WAKES_IN(function_name)                                                                    \
	{                                                                                          \
		{ .time = 194000,                                                                  \
		  .kind = SCHEDULE_WAKING,                                                         \
		  .cpu = 0,                                                                        \
		  .tid = LATE,                                                                     \
		  .other = 33,                                                                     \
		  .to_cpu = 1,                                                                     \
		  .pid = LATE,                                                                     \
		  .call_ip = address_of(function_name) },                                          \
			NULL, "other", WOKEN_BY_FUTEX                                              \
	}
#define IDLES(at, state, frames) SWITCH(at, 1, LATE, "victim", state, 0, "swapper/1", frames)
#define SEEN(at)                                                                                   \
	{                                                                                          \
		{ .time = at,                                                                      \
		  .kind = SCHEDULE_SEEN,                                                           \
		  .cpu = 1,                                                                        \
		  .tid = LATE,                                                                     \
		  .to_cpu = 1,                                                                     \
		  .pid = LATE },                                                                   \
			NULL, NULL, NULL                                                           \
	}
#define RESUMES SWITCH(195000, 1, 0, "swapper/1", 0, LATE, "victim", NULL)

static void names_who_held_a_lock(FILE *file)
{
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX),
	    SWITCH(50000, 0, 1, "init", 1, 9, "holder", NULL),
	    WAKE(194000, 9, "holder", LATE, WOKEN_BY_FUTEX), RESUMES);
	/* On a CPU that is not recorded. */
	SAY(0, REPORT, NULL, RUNS, IDLES(101000, 1, FUTEX),
	    WAKE(194000, 33, "other", LATE, WOKEN_BY_FUTEX), RESUMES);
}

static void follows_the_chain_of_waits(FILE *file)
{
	SAY(0, SPAN, NULL, RUNS, SWITCH(95000, 0, 1, "init", 1, 9, "holder", NULL),
	    IDLES(101000, 1, FUTEX), SWITCH(102000, 0, 9, "holder", 2, 0, "swapper/0", FSYNC),
	    WAKE(190000, 0, NULL, 9, BY_DISK),
	    SWITCH(191000, 0, 0, "swapper/0", 0, 9, "holder", NULL),
	    WAKE(194000, 9, "holder", LATE, WOKEN_BY_FUTEX), RESUMES);
	/* The holder wants to run, but another thread does. */
	SAY(0, SPAN, NULL, RUNS, SWITCH(95000, 0, 1, "init", 1, 9, "holder", NULL),
	    IDLES(101000, 1, FUTEX), SWITCH(102000, 0, 9, "holder", 0, 95, "hog", NULL),
	    SWITCH(191000, 0, 95, "hog", 1, 9, "holder", NULL),
	    WAKE(194000, 9, "holder", LATE, WOKEN_BY_FUTEX), RESUMES);
}

static void names_sleeps_of_its_own(FILE *file)
{
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, NANOSLEEP), WAKE(194000, 0, NULL, LATE, BY_TIMER),
	    RESUMES);
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, NANOSLEEP), WAKE(120000, 0, NULL, LATE, BY_TIMER),
	    SWITCH(121000, 1, 0, "swapper/1", 0, LATE, "victim", NULL), IDLES(122000, 1, NANOSLEEP),
	    WAKE(194000, 0, NULL, LATE, BY_TIMER), RESUMES);
}

/* On what a futex is built, its waker shows; if not, one that is like others. */
static void names_what_a_futex_is(FILE *file)
{
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX), WAKES_IN("u:lll_lock_wake"), RESUMES);
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX), WAKES_IN("u:__pthread_barrier_wait"),
	    RESUMES);
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX), WAKES_IN("u:sem_post"), RESUMES);
	SAY(0, SPAN, NULL, RUNS,
	    IDLES(101000, 1, "__schedule schedule futex_lock_pi __x64_sys_futex do_syscall_64"),
	    WAKES_IN("u:lll_lock_wake"), RESUMES);
	/* Of a pipe, it says nothing. */
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, NANOSLEEP), WAKES_IN("u:sem_post"), RESUMES);
}

/* The wakeup and the switch from the idle task are lost. */
static void deduces_that_its_timer_woke_it(FILE *file)
{
	SAY(0, SPAN, NULL, RUNS, ARMS(100500, 194000, "hrtimer_wakeup"),
	    IDLES(101000, 1, NANOSLEEP), SEEN(195000));
	/* It ran before the timer was due; slept for another reason; the timer is another one. */
	SAY(0, SPAN, NULL, RUNS, ARMS(100500, 197000, "hrtimer_wakeup"),
	    IDLES(101000, 1, NANOSLEEP), SEEN(195000));
	SAY(0, SPAN, NULL, RUNS, ARMS(100500, 194000, "hrtimer_wakeup"), IDLES(101000, 1, FUTEX),
	    SEEN(195000));
	SAY(0, SPAN, NULL, RUNS, ARMS(100500, 194000, "hrtimer_interrupt"),
	    IDLES(101000, 1, NANOSLEEP), SEEN(195000));
}

static void names_what_it_waited_for(FILE *file)
{
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 2, FSYNC), WAKE(194000, 0, NULL, LATE, BY_DISK),
	    RESUMES);
	SAY(0, SPAN, NULL, RUNS,
	    IDLES(101000, 2,
		  "schedule io_schedule folio_wait_bit_common filemap_fault handle_mm_fault "
		  "exc_page_fault asm_exc_page_fault u:request"),
	    WAKE(194000, 0, NULL, LATE, BY_DISK), RESUMES);
	SAY(0, SPAN, NULL, RUNS,
	    IDLES(101000, 2, "schedule __mutex_lock acme_ioctl __x64_sys_ioctl do_syscall_64"),
	    WAKE(194000, 33, "other", LATE, "try_to_wake_up acme_ioctl"), RESUMES);
	SAY(0, SPAN, NULL, RUNS,
	    IDLES(101000, 2, "schedule wait_for_completion synchronize_rcu acme_ioctl"),
	    WAKE(194000, 0, NULL, LATE, "try_to_wake_up rcu_core handle_softirqs"), RESUMES);
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 4, "schedule do_signal_stop get_signal"),
	    WAKE(194000, 33, "bash", LATE, "try_to_wake_up"), RESUMES);
	/* Where it was is chance. */
	SAY(0, SPAN, NULL, RUNS,
	    IDLES(101000, 4,
		  "schedule do_signal_stop get_signal "
		  "__x64_sys_ioctl do_syscall_64"),
	    WAKE(194000, 33, "bash", LATE, "try_to_wake_up"), RESUMES);
	/* A place that nothing is known of. */
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, "schedule acme_wait acme_ioctl __x64_sys_ioctl"),
	    WAKE(194000, 33, "other", LATE, "try_to_wake_up"), RESUMES);
}

/* Two programs that wait for a signal wait for different threads. */
/* It slept, but maybe after the span. */
static void blames_nobody_for_an_uncertain_span(FILE *file)
{
	span_is_uncertain = true;
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX),
	    WAKE(194000, 33, "holder", LATE, WOKEN_BY_FUTEX), RESUMES);
	span_is_uncertain = false;
}

static void tells_senders_of_a_signal_apart(FILE *file)
{
	static const char wait[] = "schedule do_sigtimedwait __x64_sys_rt_sigtimedwait u:request";

	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, wait),
	    WAKE(194000, 33, "sender", LATE, "try_to_wake_up"), RESUMES);
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, wait),
	    WAKE(194000, 33, "other", LATE, "try_to_wake_up"), RESUMES);
}

static void tells_a_timeout_apart(FILE *file)
{
	static const char poll[] = "schedule do_sys_poll __x64_sys_poll do_syscall_64 u:request";

	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, poll),
	    WAKE(194000, 33, "other", LATE, "try_to_wake_up"), RESUMES);
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, poll), WAKE(194000, 0, NULL, LATE, BY_TIMER),
	    RESUMES);
}

static void says_what_is_not_recorded(FILE *file)
{
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, NULL), WAKE(194000, 33, NULL, LATE, NULL),
	    RESUMES);
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX));
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX), RESUMES);
	nr_lost = 74;
	SAY(0, SPAN, NULL, RUNS, IDLES(99000, 1, FUTEX),
	    WAKE(101000, 9, "holder", LATE, WOKEN_BY_FUTEX),
	    WAKE(194000, 9, "holder", LATE, WOKEN_BY_FUTEX), RESUMES);
	nr_lost = 0;
}

/* What is lost: whether it went on to sleep; only its first moments; its timer; who ran. */
static void says_that_events_were_lost(FILE *file)
{
	gap = (struct schedule_gap){ .begin = 101500, .end = 170000, .cpu = 1 };
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX),
	    WAKE(194000, 9, "holder", LATE, WOKEN_BY_FUTEX), RESUMES);
	gap = (struct schedule_gap){ .begin = 101500, .end = 110000, .cpu = 1 };
	SAY(0, SPAN, NULL, RUNS, IDLES(101000, 1, FUTEX),
	    WAKE(194000, 9, "holder", LATE, WOKEN_BY_FUTEX), RESUMES);
	gap = (struct schedule_gap){ .begin = 100600, .end = 100900, .cpu = 1 };
	SAY(0, SPAN, NULL, RUNS, ARMS(100500, 194000, "hrtimer_wakeup"),
	    IDLES(101000, 1, NANOSLEEP), SEEN(195000));
	gap = (struct schedule_gap){ .begin = 130000, .end = 160000, .cpu = 1 };
	SAY(0, SPAN, NULL, RUNS, SWITCH(101000, 1, LATE, "victim", 0, 40, "compiler", NULL),
	    SWITCH(140000, 1, 40, "compiler", 0, 41, "linker", NULL),
	    SWITCH(195000, 1, 41, "linker", 0, LATE, "victim", NULL));
	gap = (struct schedule_gap){ 0 };
}

#define HOGGED                                                                                     \
	SWITCH(20000, 1, 0, "swapper/1", 0, 98, "hog", NULL),                                      \
		SWITCH(99000, 1, 98, "hog", 0, 40, "compiler", NULL),                              \
		WAKE(100000, 9, "waker", LATE, "try_to_wake_up"),                                  \
		SWITCH(195000, 1, 40, "compiler", 0, LATE, "victim", NULL)

/* After its wakeup the victim is in the run queue. */
#define PASSED_OVER(kind)                                                                          \
	SWITCH(86000, 1, 0, "swapper/1", 0, 98, "hog", NULL),                                      \
		WAKE(100000, 9, "waker", LATE, "try_to_wake_up"),                                  \
		{ { 100001, kind, .cpu = 1, .tid = LATE, .to_cpu = 1 } },                          \
		SWITCH(101000, 1, 98, "hog", 0, 41, "linker", NULL),                               \
		SWITCH(195000, 1, 41, "linker", 0, LATE, "victim", NULL)

static void names_who_ran_instead(FILE *file)
{
	const struct scheduling_facts neither = { .rt_runtime_us = 100, .rt_period_us = 100 };
	const struct scheduling_facts throttling = { .rt_runtime_us = 95, .rt_period_us = 100 };
	const struct scheduling_facts server = { .rt_runtime_us = 95,
						 .rt_period_us = 100,
						 .fair_server = 1 };

	SAY_OF("hog 98", 0, WAKEUP, NULL, SWITCH(90000, 1, 0, "swapper/1", 0, 98, "hog", NULL),
	       WAKE(100000, 9, "waker", LATE, "try_to_wake_up"),
	       SWITCH(195000, 1, 98, "hog", 1, LATE, "victim", "schedule acme_wait"));
	SAY_OF("compiler 40", 0, WAKEUP, &throttling, HOGGED);
	SAY_OF("compiler 40", 0, WAKEUP, &server, HOGGED);
	/* The recording is too short to know; but then, others had more than they are given. */
	recorded_since = 85000;
	SAY_OF("compiler 40", 0, WAKEUP, &server, HOGGED);
	SAY_OF("compiler 40", 0, WAKEUP, &server,
	       SWITCH(86000, 1, 98, "hog", 1, 40, "compiler", NULL),
	       WAKE(100000, 9, "waker", LATE, "try_to_wake_up"),
	       SWITCH(195000, 1, 40, "compiler", 0, LATE, "victim", NULL));
	SAY_OF("linker 41", 0, WAKEUP, &server, PASSED_OVER(SCHEDULE_WAKEUP));
	SAY_OF("linker 41", 0, WAKEUP, &throttling, PASSED_OVER(SCHEDULE_WAKEUP));
	SAY_OF("linker 41", 0, WAKEUP, &neither, PASSED_OVER(SCHEDULE_WAKEUP));
	SAY_OF("linker 41", 0, WAKEUP, &server, PASSED_OVER(SCHEDULE_WAKING));
	recorded_since = 10;
	traced_since = 170000;
	SAY_OF("hog 98", 0, SPAN, NULL, RUNS, SWITCH(110000, 1, LATE, "victim", 0, 98, "hog", NULL),
	       SWITCH(195000, 1, 98, "hog", 1, LATE, "victim", NULL));
	SAY_OF("victim 7", 0, SPAN, NULL, RUNS);
	traced_since = 0;
	/* Nothing hogged the CPU: the kernel did not preempt. */
	SAY_OF("compiler 40", 0, SPAN, &throttling, RUNS,
	       SWITCH(101000, 1, LATE, "victim", 0, 40, "compiler", NULL),
	       SWITCH(195000, 1, 40, "compiler", 0, LATE, "victim", "schedule acme_ioctl"));
}

/* What the kernel did for it tells it from others; in user space recorders see different depths. */
static void names_what_it_executed(FILE *file)
{
	nr_sampled_of_kernel = ARRAY_SIZE(sampled) - 1;
	SAY_OF("victim 7", 0, SPAN, NULL, RUNS);
	nr_sampled_of_kernel = 1;
	SAY_OF("victim 7", 0, SPAN, NULL, RUNS);
	nr_sampled_of_kernel = 0;
	SAY_OF("victim 7", 0, SPAN, NULL, RUNS);
}

/* Switches between two others while the thread waits. */
#define TURN(at, from, to) SWITCH(at, 1, from, "compiler", 0, to, "compiler", NULL)

static void names_threads_that_took_turns(FILE *file)
{
	SAY(0, SPAN, NULL, RUNS, SWITCH(110000, 1, LATE, "victim", 0, 40, "compiler", NULL),
	    TURN(130000, 40, 41), SWITCH(150000, 1, 41, "compiler", 0, LATE, "victim", NULL),
	    SWITCH(160000, 1, LATE, "victim", 0, 42, "compiler", NULL), TURN(180000, 42, 40),
	    SWITCH(195000, 1, 40, "compiler", 0, LATE, "victim", NULL));
	/* Another one ran for longer than each of them. */
	SAY(0, SPAN, NULL, RUNS, SWITCH(101000, 1, LATE, "victim", 0, 90, "helper", NULL),
	    SWITCH(130000, 1, 90, "helper", 0, 40, "compiler", NULL), TURN(150000, 40, 41),
	    TURN(170000, 41, 42), SWITCH(195000, 1, 42, "compiler", 0, LATE, "victim", NULL));
	/* None of them had the CPU for half of that. */
	SAY(0, SPAN, NULL, RUNS, SWITCH(110000, 1, LATE, "victim", 0, 40, "one", NULL),
	    SWITCH(130000, 1, 40, "one", 0, 41, "two", NULL),
	    SWITCH(150000, 1, 41, "two", 0, LATE, "victim", NULL),
	    SWITCH(160000, 1, LATE, "victim", 0, 42, "three", NULL),
	    SWITCH(190000, 1, 42, "three", 0, LATE, "victim", NULL));
	in_user_space = true;
	SAY(0, SPAN, NULL, RUNS, SWITCH(101000, 1, LATE, "victim", 0, 40, "compiler", NULL),
	    TURN(140000, 40, 41), SWITCH(180000, 1, 41, "compiler", 0, LATE, "victim", NULL));
	in_user_space = false;
}

static void names_parts_of_a_late_thread(FILE *file)
{
	/* Its timer's interrupt. */
	SAY(90000, THREAD, NULL, SWITCH(50000, 1, LATE, "victim", 1, 8, "bystander", NULL),
	    WAKE(191000, 0, NULL, LATE, BY_TIMER),
	    SWITCH(195000, 1, 8, "bystander", 0, LATE, "victim", NULL));
	/* Its own code. */
	SAY_OF("victim 7", 0, SPAN, NULL, RUNS, IDLES(199000, 1, FUTEX));
	in_user_space = true;
	SAY_OF("victim 7", 0, SPAN, NULL, RUNS, IDLES(199000, 1, FUTEX));
	in_user_space = false;
	/* A bit of everything. */
	SAY(0, SPAN, NULL, RUNS, IDLES(140000, 1, FUTEX),
	    WAKE(180000, 9, "holder", LATE, WOKEN_BY_FUTEX), RESUMES);
	gap = (struct schedule_gap){ .begin = 130000, .end = 160000, .cpu = 1 };
	SAY(0, SPAN, NULL, RUNS, SWITCH(170000, 1, LATE, "victim", 0, 40, "compiler", NULL));
	gap = (struct schedule_gap){ 0 };
}

static void open_kernel(void)
{
	static struct made_format format = {
		"irq:irq_handler_entry",
		MADE_FORMAT("irq_handler_entry", 1, MADE_FIELD("int irq", 8, 4, 1), "\"\""), 1
	};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		fprintf(file, "%lx T %s\n", KERNEL + i * FUNCTION_SIZE, functions[i]);
	fclose(file);
	kernel = made_tracepoints_open(folder, &format, 1, NULL, 0, text);
}

TEST_IN_FOLDER(prints_what_the_golden_file_has)
{
	static const struct golden_part parts[] = {
		PART(names_who_held_a_lock),	       PART(follows_the_chain_of_waits),
		PART(names_sleeps_of_its_own),	       PART(deduces_that_its_timer_woke_it),
		PART(names_what_it_waited_for),	       PART(tells_a_timeout_apart),
		PART(tells_senders_of_a_signal_apart), PART(blames_nobody_for_an_uncertain_span),
		PART(says_what_is_not_recorded),       PART(says_that_events_were_lost),
		PART(names_what_a_futex_is),	       PART(names_who_ran_instead),
		PART(names_what_it_executed),	       PART(names_threads_that_took_turns),
		PART(names_parts_of_a_late_thread),
	};

	open_kernel();
	check_golden(parts, ARRAY_SIZE(parts));
	tracepoints_free(kernel);
}
