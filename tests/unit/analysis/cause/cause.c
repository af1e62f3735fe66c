// SPDX-License-Identifier: GPL-2.0-only
#include "cause/cause.h"

#include <string.h>

#include "analysis/timeline.h"
#include "test.h"

static void say(FILE *file, struct account *account)
{
	assert_int_equal(account_finish(account), 0);
	fprintf(file, "%s\n", account->sentence);
}

#define SAY(pt, ...)                                                                               \
	do {                                                                                       \
		_cleanup_(account_release) struct account account;                                 \
                                                                                                   \
		assert_int_equal(TIMELINE(&account, pt, __VA_ARGS__), 0);                          \
		say(file, &account);                                                               \
	} while (0)

static void names_who_turned_interrupts_off(FILE *file)
{
	SAY(true, TASK(0, "stress 7"), CALL(0, "main"), CALL(1000, "baz"), CALL(2000, "bar"),
	    CALL(3000, "foo"), CALL(110000, "acme_flush"), OFF(110000, "acme_flush"), ON(190000),
	    RETURN(190000));
	/* A function that only disables interrupts is not the culprit. */
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), CALL(90000, "acme_flush"),
	    CALL(90000, "_raw_spin_lock_irqsave"), OFF(90001, "_raw_spin_lock_irqsave"),
	    RETURN(90010), ON(190000), RETURN(190000));
	/* It took no time. */
	SAY(true, TASK(0, "stress 7"), CALL(90000, "acme_flush"), CALL(90000, "_raw_spin_lock_irq"),
	    OFF(90000, "_raw_spin_lock_irq"), RETURN(90000), ON(190000), RETURN(190000));
	/* The function with most of the time, in many calls. */
	SAY(true, TASK(0, "stress 7"), CALL(90000, "acme_flush"), OFF(90000, "acme_flush"),
	    CALL(95000, "udelay"), CALL(95000, "delay_tsc"), RETURN(155000), RETURN(155000),
	    CALL(155500, "other"), CALL(155500, "delay_tsc"), RETURN(200000), RETURN(200000),
	    RETURN(201000), ON(201000));
	/* The first of two of equal length. */
	SAY(true, TASK(0, "stress 7"), CALL(100000, "first"), OFF(100000, "first"), ON(150000),
	    RETURN(150000), CALL(150000, "second"), OFF(150000, "second"), ON(200000),
	    RETURN(200000));
	/* Many short ones make no timer late. */
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), OFF(110000, "foo"), ON(130000),
	    OFF(130001, "foo"), ON(150000), OFF(160000, "foo"), ON(180000));
}

static void names_what_interrupts(FILE *file)
{
	SAY(true, TASK(0, "stress 7"), CALL(0, "bar"), CALL(0, "foo"),
	    OFF(110000, "asm_sysvec_call_function_single"),
	    ENTER(110000, SPAN_INTERRUPT, "asm_sysvec_call_function_single"),
	    CALL(111000, "acme_ipi"), RETURN(189000), RETURN(190000), ON(190000));
	/* A long one that enables interrupts. */
	SAY(true, TASK(0, "stress 7"), ENTER(110000, SPAN_SOFTIRQ, "handle_softirqs"),
	    CALL(112000, "net_rx"), RETURN(190000), RETURN(190000));
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), ENTER(110000, SPAN_INTERRUPT, "irq"),
	    RETURN(140000), ENTER(150000, SPAN_INTERRUPT, "irq"), RETURN(180000));
	/* An NMI in code with interrupts off. */
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), OFF(105000, "foo"),
	    ENTER(120000, SPAN_NMI, "asm_exc_nmi"), RETURN(190000), ON(195000));
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), OFF(120000, "asm_exc_page_fault"),
	    ENTER(120000, SPAN_EXCEPTION, "asm_exc_page_fault"), RETURN(190000), ON(190000));
}

static void names_idle(FILE *file)
{
	/* The CPU waits with interrupts off. */
	SAY(true, IDLE(0, "swapper/1"), CALL(0, "do_idle"), OFF(50000, "do_idle"),
	    ENTER(60000, SPAN_IDLE, "intel_idle"), RETURN(196000), ON(197000));
	SAY(false, IDLE(0, "swapper/1"), ENTER(199000, SPAN_INTERRUPT, "local_timer"));
	SAY(true, IDLE(0, "swapper/1"), ENTER(199000, SPAN_INTERRUPT, "local_timer"));
	/* Several idle periods delay nothing. */
	SAY(false, IDLE(0, "swapper/1"), ENTER(130000, SPAN_INTERRUPT, "reschedule"),
	    RETURN(131000), ENTER(166000, SPAN_INTERRUPT, "reschedule"), RETURN(167000),
	    ENTER(199000, SPAN_INTERRUPT, "local_timer"));
}

static void tells_what_is_missing(FILE *file)
{
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), GAP(100000, SPAN_LOST, "[lost]"),
	    END_GAP(190000));
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), GAP(100000, SPAN_LOST, "[no code]"),
	    END_GAP(190000));
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), GAP(100000, SPAN_LOST, "[not decoded]"),
	    END_GAP(190000));
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), GAP(100000, SPAN_UNTRACED, "[not traced]"),
	    END_GAP(190000));
	SAY(true, TASK(0, "stress 7"), CALL(0, "foo"), GAP(100000, SPAN_UNTRACED, "SMI"),
	    END_GAP(190000));
	SAY(true, TASK(170000, "stress 7"), CALL(170000, "foo"));
	SAY(true, TASK(0, "stress 7"), ENTER(110000, SPAN_INTERRUPT, "irq"), RETURN(150000),
	    ENTER(150000, SPAN_SOFTIRQ, "net_rx_action"), RETURN(185000));
}

/* It was not asked for, though it may be recorded. */
static void tells_what_the_window_leaves_out(FILE *file)
{
	static const uint64_t windows[] = { 80000, 30000 };

	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "foo"),
					  OFF(110000, "foo"), ON(190000)),
				 0);
		account.window_ns = windows[i];
		say(file, &account);
	}
}

static void tells_what_events_do_not_show(FILE *file)
{
	SAY(false, TASK(0, "stress 7"));
	SAY(false, TASK(0, "stress 7"), ENTER(110000, SPAN_INTERRUPT, "call_function_single"),
	    RETURN(190000));
	SAY(false, TASK(0, "other 8"), { LANE_TASKS, 50000, SPAN_THREAD, NULL },
	    TASK(50000, "stress 7"), ENTER(110000, SPAN_SOFTIRQ, "NET_RX"), RETURN(190000));
}

#define FRAME(name)                                                                                \
	{                                                                                          \
		name, "", false, true                                                              \
	}

static enum irqs_before irqs = IRQS_WERE_OFF;
static struct hardware_facts hardware = { .local_irqs_first = true, .late_steal_ns = UINT64_MAX };

/* For events with a stack at the spike. */
#define SAY_STACK(these, ...)                                                                      \
	do {                                                                                       \
		_cleanup_(account_release) struct account account;                                 \
                                                                                                   \
		assert_int_equal(TIMELINE(&account, false, __VA_ARGS__), 0);                       \
		account.facts.stack.nr = ARRAY_SIZE(these);                                        \
		account.facts.stack.irqs = irqs;                                                   \
		account.facts.hardware = hardware;                                                 \
		memcpy(account.facts.stack.frames, these, sizeof(these));                          \
		say(file, &account);                                                               \
	} while (0)

static void names_what_the_interrupt_came_upon(FILE *file)
{
	static const struct spike_frame flush[] = {
		FRAME("_raw_spin_unlock_irqrestore"),
		{ "acme_flush", "acme", false, true },
		FRAME("foo"),
		FRAME("bar"),
		FRAME("baz"),
		FRAME("main"),
		{ "libc.so.6+0x12", "", true, false },
	};
	static const struct spike_frame user[] = { { "libc.so.6+0x12", "", true, false } };
	static const struct spike_frame passing[] = { FRAME("do_syscall_64"),
						      { "libc.so.6+0x12", "", true, false } };
	static const struct spike_frame nested[] = {
		FRAME("irqentry_exit"),
		FRAME("asm_sysvec_reschedule_ipi"),
		FRAME("acme_flush"),
		FRAME("foo"),
	};
	static const struct spike_frame preempted[] = {
		FRAME("preempt_schedule_irq"),
		FRAME("irqentry_exit"),
		FRAME("asm_sysvec_reschedule_ipi"),
		FRAME("acme_flush"),
		FRAME("foo"),
	};
	static const struct spike_frame scheduling[] = {
		FRAME("__schedule"),
		FRAME("preempt_schedule_irq"),
		FRAME("asm_sysvec_reschedule_ipi"),
		FRAME("acme_flush"),
	};
	static const struct spike_frame entry[] = { FRAME("asm_sysvec_reschedule_ipi"),
						    FRAME("acme_flush") };
	static const struct spike_frame gone[] = { { "[0xffffffffc0001234]", "", false, false },
						   FRAME("foo") };
	static const struct spike_frame idle[] = { FRAME("default_idle"), FRAME("do_idle") };
	static const struct spike_frame queue[] = { FRAME("flush_smp_call_function_queue"),
						    FRAME("do_idle") };

	SAY_STACK(flush, TASK(0, "stress 7"));
	SAY_STACK(nested, TASK(0, "stress 7"));
	SAY_STACK(preempted, TASK(0, "stress 7"));
	SAY_STACK(scheduling, TASK(0, "stress 7"));
	SAY_STACK(entry, TASK(0, "stress 7"));
	SAY_STACK(gone, TASK(0, "stress 7"));
	SAY_STACK(flush, TASK(0, "stress 7"), ENTER(130000, SPAN_SOFTIRQ, "NET_RX"));
	/* Whether an interrupt came in a gap, nobody knows. */
	SAY_STACK(flush, TASK(0, "stress 7"), GAP(110000, SPAN_LOST, "[lost]"), END_GAP(130000));
	SAY_STACK(flush, TASK(0, "stress 7"), GAP(160000, SPAN_LOST, "[lost]"), END_GAP(180000));
	irqs = IRQS_WERE_ON;
	SAY_STACK(flush, TASK(0, "stress 7"));
	SAY_STACK(user, TASK(0, "stress 7"));
	SAY_STACK(passing, TASK(0, "stress 7"));
	irqs = IRQS_NOT_KNOWN;
	SAY_STACK(flush, TASK(0, "stress 7"));
	SAY_STACK(idle, IDLE(0, "swapper/1"));
	SAY_STACK(queue, IDLE(0, "swapper/1"));
	irqs = IRQS_WERE_OFF;
	/* The stack is of the interrupt only if that has not ended. */
	SAY_STACK(flush, TASK(0, "stress 7"), ENTER(110000, SPAN_INTERRUPT, "call_function_single"),
		  RETURN(198000));
	SAY_STACK(flush, TASK(0, "stress 7"), ENTER(110000, SPAN_SOFTIRQ, "NET_RX"));
}

/* Others may have stopped the CPU while interrupts were off. */
static void tells_what_cannot_be_told_apart(FILE *file)
{
	static const struct spike_frame flush[] = {
		FRAME("_raw_spin_unlock_irqrestore"),
		{ "acme_flush", "acme", false, true },
	};
	static const struct hardware_facts rows[] = {
		{ .hypervisor = 1, .late_steal_ns = UINT64_MAX },
		{ .hypervisor = UINT64_MAX, .late_steal_ns = UINT64_MAX },
		{ .since_ns = 1000000, .smis = 1, .late_steal_ns = UINT64_MAX },
		{ .since_ns = 1000000, .hypervisor = 1, .late_steal_ns = 0 },
		/* Some of it may be from before the timer was due. */
		{ .since_ns = 1000000, .hypervisor = 1, .late_steal_ns = 60000 },
		{ .since_ns = 1000000, .hypervisor = 1, .late_steal_ns = 90000 },
		{ .since_ns = 1000000, .hypervisor = 1, .late_steal_ns = 290000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		hardware = rows[i];
		SAY_STACK(flush, TASK(60000, "stress 7"));
	}
	/* A handler of which only the begin and the end are recorded, and one whose function is. */
	hardware = rows[0];
	SAY_STACK(flush, TASK(0, "stress 7"), ENTER(110000, SPAN_INTERRUPT, "local_timer"),
		  RETURN(198000));
	SAY_STACK(flush, TASK(0, "stress 7"), ENTER(110000, SPAN_INTERRUPT, "call_function_single"),
		  CALL(111000, "acme_ipi"), RETURN(197000), RETURN(198000));
	hardware = (struct hardware_facts){ .local_irqs_first = true, .late_steal_ns = UINT64_MAX };
}

/* Then nothing that ran, nor steal time, delayed its interrupt by more than the rest. */
static void knows_when_the_timer_was_armed(FILE *file)
{
	static const struct arming rows[] = {
		{ .at = 90000 },
		{ .at = 140000 },
		{ .at = 199000 },
		{ .at = 90000, .rearmed = 99000 },
		{ .at = 90000, .rearmed = 160000 },
		{ .at = 170000, .rearmed = 160000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
		account.spans->arming = rows[i];
		strcpy(account.facts.function, "hrtimer_wakeup");
		say(file, &account);
		fprintf(file, "    %s\n", account.fingerprint.id);
	}
}

/* A pending timer does not let others go first. */
static void knows_when_interrupts_were_on(FILE *file)
{
	static const struct spike_frame flush[] = { FRAME("acme_flush") };
	static const struct {
		enum span_kind kind;
		const char *name;
		uint64_t begin, end;
	} rows[] = {
		{ SPAN_INTERRUPT, "irq 36 virtio1-req.0", 130000, 131000 },
		{ SPAN_INTERRUPT, "irq 36 virtio1-req.0", 170000, 171000 },
		/* Both were pending. */
		{ SPAN_INTERRUPT, "reschedule", 198000, 199000 },
		{ SPAN_INTERRUPT, "irq 36 virtio1-req.0", 198000, 199000 },
		/* Nothing was pending when it had ended. */
		{ SPAN_INTERRUPT, "reschedule", 170000, 171000 },
		{ SPAN_INTERRUPT, "irq 36 virtio1-req.0", 110000, 180000 },
		{ SPAN_SOFTIRQ, "NET_RX", 110000, 198000 },
		{ SPAN_SOFTIRQ, "NET_RX", 110000, 120000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		SAY_STACK(flush, TASK(0, "stress 7"),
			  ENTER(rows[i].begin, rows[i].kind, rows[i].name), RETURN(rows[i].end),
			  ENTER(199500, SPAN_INTERRUPT, "local_timer"));
	/* Nor another task. */
	SAY_STACK(flush, TASK(0, "other 8"), { LANE_TASKS, 170000, SPAN_THREAD, NULL },
		  TASK(170000, "stress 7"), ENTER(199500, SPAN_INTERRUPT, "local_timer"));
	SAY_STACK(flush, TASK(0, "other 8"), { LANE_TASKS, 199000, SPAN_THREAD, NULL },
		  TASK(199000, "stress 7"), ENTER(199500, SPAN_INTERRUPT, "local_timer"));
	/* Other architectures do not order them. */
	hardware.local_irqs_first = false;
	SAY_STACK(flush, TASK(0, "stress 7"), ENTER(198000, SPAN_INTERRUPT, "irq 36 virtio1-req.0"),
		  RETURN(199000), ENTER(199500, SPAN_INTERRUPT, "irq 11 arch_timer"));
	hardware.local_irqs_first = true;
}

static void names_where_a_thread_was_switched_from(FILE *file)
{
	static const struct spike_frame frames[] = {
		FRAME("__schedule"),
		FRAME("preempt_schedule"),
		{ "acme_copy", "acme", false, true },
		FRAME("foo"),
		{ "libc.so.6+0x12", "", true, false },
		{ "loop+0x34", "", true, false },
	};
	static const int tids[] = { 7, 8 };

	for (size_t i = 0; i < ARRAY_SIZE(tids); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		account.facts.stack.tid = tids[i];
		account.facts.stack.nr = ARRAY_SIZE(frames);
		memcpy(account.facts.stack.frames, frames, sizeof(frames));
		say(file, &account);
	}
}

/* The holder ran before another task; or the interrupt itself was late. */
static void names_who_had_the_cpu(FILE *file)
{
	static const struct spike_frame before[] = { FRAME("acme_hold"), FRAME("foo") };
	static const struct {
		int last;
		bool interrupted;
		uint64_t irq_ns;
		bool slept, began, offered, returned;
	} rows[] = {
		{ 9, false, 0 },
		{ 9, true, 10000 },
		{ 7, true, 80000 },
		{ 7, true, 10000 },
		{ 7, true, 10000, .slept = true },
		{ 7, true, 10000, .slept = true, .began = true },
		{ 9, true, 10000, .began = true },
		{ 7, true, 10000, .offered = true },
		{ 7, true, 10000, .slept = true, .returned = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		account.facts.spike.irq_ns = rows[i].irq_ns;
		account.facts.stack.tid = rows[i].last;
		account.facts.stack.nr = 2;
		account.facts.stack.frames[0] = (struct spike_frame)FRAME("preempt_schedule");
		account.facts.stack.frames[1] = (struct spike_frame)FRAME("acme_wait");
		if (rows[i].slept)
			strcpy(account.facts.stack.frames[0].name, "schedule");
		if (rows[i].returned)
			strcpy(account.facts.stack.frames[1].name, "foo");
		if (rows[i].offered)
			account.facts.stack = (struct spike_stack){
				.tid = 7,
				.nr = 3,
				.frames = { FRAME("preempt_schedule_common"),
					    FRAME("__cond_resched"), FRAME("acme_wait") },
			};
		account.facts.holder.tid = 7;
		account.facts.holder.interrupted = rows[i].interrupted;
		account.facts.holder.nr = ARRAY_SIZE(before);
		memcpy(account.facts.holder.frames, before, sizeof(before));
		if (rows[i].began)
			strcpy(account.facts.holder.frames[0].name, "finish_task_switch.isra.0");
		say(file, &account);
	}
}

/* In time, so of the frames only that one is known: with symbols, without, and in no file. */
/* What every write() executes says nothing. */
static void names_more_than_a_system_call(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(90000, "ksys_write"),
				  CALL(90000, "vfs_write"), CALL(100000, "acme_check"),
				  RETURN(130000), CALL(130000, "acme_write"), RETURN(200000)),
			 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	say(file, &account);
}

static void names_what_was_hit_in_user_space(FILE *file)
{
	static const struct spike_frame hits[] = {
		{ "acme_poll", "acme", true, false },
		{ "libc.so.6+0x12", "", true, false },
		{ "[0x4321]", "", true, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(hits); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		account.facts.spike.irq_ns = 10000;
		account.facts.holder = (struct spike_stack){
			.frames = { hits[i] }, .nr = 1, .tid = 7, .interrupted = true
		};
		say(file, &account);
	}
}

/* The reporting thread itself may have been running; the stack is that of the report. */
static void say_reported(FILE *file, int late_tid)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "loop 7")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_REPORT;
	account.facts.stack.tid = 7;
	account.facts.stack.nr = 1;
	account.facts.stack.frames[0] = (struct spike_frame)FRAME("do_syscall_64");
	strcpy(account.facts.spike.label, "control loop");
	account.facts.spike.late_tid = late_tid;
	say(file, &account);
}

static void names_what_was_reported(FILE *file)
{
	/* From elsewhere, without a thread. */
	say_reported(file, 7);
	say_reported(file, 0);
}

static void names_who_made_a_noise(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "osnoise/1 7")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_NOISE;
	account.facts.spike.noise_most_ns = 70000;
	strcpy(account.facts.spike.label, "thread kworker/1:1:77");
	say(file, &account);
	assert_string_equal(account.fingerprint.kind, "noise");
	assert_string_equal(account.fingerprint.frames[0], "thread_kworker");
}

static void blames_the_hardware_for_a_noise(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "osnoise/1 7")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_NOISE;
	strcpy(account.facts.spike.label, "hardware");
	say(file, &account);
}

/* A marker or an event, without a latency. */
static void names_what_is_not_late(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "loop 7")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_REPORT;
	account.facts.spike.latency_ns = 0;
	account.facts.spike.pid = account.facts.spike.tid = 7;
	strcpy(account.facts.spike.comm, "loop");
	strcpy(account.facts.spike.label, "oom:mark_victim");
	say(file, &account);
}

/* The interrupted task of the spike applies to the timer's interrupt only. */
static void tells_earlier_tasks_apart(FILE *file)
{
	_cleanup_(account_release) struct account account;

	SAY(false, TASK(0, "other 8"), ENTER(110000, SPAN_INTERRUPT, "irq 4 ttyS0"), RETURN(180000),
	    { LANE_TASKS, 181000, SPAN_THREAD, NULL }, TASK(181000, "stress 7"),
	    ENTER(200000, SPAN_INTERRUPT, "local_timer"));
	/* The timer's interrupt wakes the thread, which runs later. */
	assert_int_equal(TIMELINE(&account, false, TASK(0, "other 8"),
				  ENTER(110000, SPAN_INTERRUPT, "irq"), RETURN(190000)),
			 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	say(file, &account);
}

static void tells_that_there_are_no_times(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7")), 0);
	account.facts.no_times = true;
	say(file, &account);
}

static void tells_of_what_was_asked_for(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7")), 0);
	account.facts.spike.poked = true;
	say(file, &account);
}

static void names_what_ran_instead_of_a_thread(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "ksys_write"),
				  CALL(90000, "acme_write"), CALL(99000, "acme_wait"),
				  RETURN(99900), CALL(101000, "acme_wait"), RETURN(194000),
				  RETURN(195000), RETURN(196000)),
			 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	say(file, &account);
}

/* Without a trace, the stack at the spike is all there is. */
static void names_what_the_stack_shows(FILE *file)
{
	static const struct spike_frame kept[] = { FRAME("acme_flush"), FRAME("foo") };
	static const struct spike_frame user[] = { { "libc.so.6+0x12", "", true, false } };
	static const struct {
		const struct spike_frame *frames;
		size_t nr;
		bool perf, thread;
	} rows[] = {
		{ kept, 2, false, false }, { kept, 2, true, false }, { user, 1, false, false },
		{ kept, 2, false, true },  { kept, 0, true, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(timeline_make(&account, NULL, 0, false), 0);
		account.facts.recorder =
			rows[i].perf ? PERF_POKE_RECORDER_PERF : PERF_POKE_RECORDER_NONE;
		account.facts.spike.kind =
			rows[i].thread ? PERF_POKE_TRIGGER_THREAD : PERF_POKE_TRIGGER_IRQ;
		account.facts.stack.nr = rows[i].nr;
		memcpy(account.facts.stack.frames, rows[i].frames,
		       rows[i].nr * sizeof(*rows[i].frames));
		say(file, &account);
	}
}

/* A kernel thread's work is found by its function, in a trace or in a stack. */
static void names_who_queued(FILE *file)
{
	static const struct senders senders = {
		.rows = { { .time = 5000,
			    .tid = 5,
			    .kind = SENDER_OF_WORK,
			    .function = "acme_work" },
			  { .time = 107000, .tid = 6, .function = "acme_copy" } },
		.nr = 2,
	};
	static const struct spike_frame frames[] = { FRAME("acme_wait"), FRAME("acme_work") };

	for (int pt = 0; pt < 2; pt++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, pt, TASK(0, "kworker/1:1 7"),
					  CALL(0, "acme_work"), CALL(90000, "acme_wait")),
				 0);
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		account.facts.senders = &senders;
		account.facts.stack.tid = 7;
		account.facts.stack.nr = ARRAY_SIZE(frames);
		memcpy(account.facts.stack.frames, frames, sizeof(frames));
		say(file, &account);
	}
}

static void names_who_sent(FILE *file)
{
	static const struct senders senders = {
		.rows = { { .time = 105000, .tid = 5, .function = "acme_ipi" },
			  { .time = 107000, .tid = 6, .function = "" },
			  { .time = 150000, .tid = 7, .function = "acme_ipi" } },
		.nr = 3,
	};
	static const struct {
		const char *vector, *call;
	} rows[] = {
		{ "call_function_single", "acme_ipi" },
		{ "acme_ipi", "other" },
		{ "reschedule", "other" },
		{ "asm_sysvec_call_function", "other" },
		{ "irq 4", "other" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7"),
					  ENTER(110000, SPAN_INTERRUPT, rows[i].vector),
					  CALL(111000, rows[i].call), RETURN(189000),
					  RETURN(190000)),
				 0);
		account.facts.senders = &senders;
		say(file, &account);
	}
}

GOLDEN(PART(names_who_turned_interrupts_off), PART(names_what_interrupts), PART(names_idle),
       PART(tells_what_is_missing), PART(tells_what_the_window_leaves_out),
       PART(tells_what_events_do_not_show), PART(names_what_the_interrupt_came_upon),
       PART(tells_what_cannot_be_told_apart), PART(knows_when_interrupts_were_on),
       PART(knows_when_the_timer_was_armed), PART(names_where_a_thread_was_switched_from),
       PART(names_who_had_the_cpu), PART(names_more_than_a_system_call),
       PART(names_what_was_hit_in_user_space), PART(names_what_was_reported),
       PART(names_who_made_a_noise), PART(blames_the_hardware_for_a_noise),
       PART(names_what_is_not_late), PART(tells_earlier_tasks_apart),
       PART(tells_that_there_are_no_times), PART(tells_of_what_was_asked_for),
       PART(names_what_ran_instead_of_a_thread), PART(names_what_the_stack_shows),
       PART(names_who_queued), PART(names_who_sent))
