// SPDX-License-Identifier: GPL-2.0-only
#include "cause/cause.h"

#include <string.h>

#include "report/timeline.h"
#include "test.h"

static void check_sentence(struct account *account, const char *expected)
{
	assert_int_equal(account_finish(account), 0);
	assert_string_equal(account->sentence, expected);
}

#define SAYS(pt, expected, ...)                                                                    \
	do {                                                                                       \
		_cleanup_(account_release) struct account account;                                 \
                                                                                                   \
		assert_int_equal(TIMELINE(&account, pt, __VA_ARGS__), 0);                          \
		assert_int_equal(account_finish(&account), 0);                                     \
		assert_string_equal(account.sentence, "IRQ latency 100us: " expected);             \
	} while (0)

TEST(names_who_turned_interrupts_off)
{
	SAYS(true,
	     "80us in acme_flush() with interrupts off, called from foo() < bar() < baz() < ...",
	     TASK(0, "stress 7"), CALL(0, "main"), CALL(1000, "baz"), CALL(2000, "bar"),
	     CALL(3000, "foo"), CALL(110000, "acme_flush"), OFF(110000, "acme_flush"), ON(190000),
	     RETURN(190000));
	/* The function that is there for it only is not the one. */
	SAYS(true, "90us in acme_flush() with interrupts off, called from foo()",
	     TASK(0, "stress 7"), CALL(0, "foo"), CALL(90000, "acme_flush"),
	     CALL(90000, "_raw_spin_lock_irqsave"), OFF(90001, "_raw_spin_lock_irqsave"),
	     RETURN(90010), ON(190000), RETURN(190000));
	/* It took no time. */
	SAYS(true, "90us in acme_flush() with interrupts off", TASK(0, "stress 7"),
	     CALL(90000, "acme_flush"), CALL(90000, "_raw_spin_lock_irq"),
	     OFF(90000, "_raw_spin_lock_irq"), RETURN(90000), ON(190000), RETURN(190000));
	/* Where the time went, in many calls. */
	SAYS(true, "100us in acme_flush() with interrupts off, most of it in delay_tsc()",
	     TASK(0, "stress 7"), CALL(90000, "acme_flush"), OFF(90000, "acme_flush"),
	     CALL(95000, "udelay"), CALL(95000, "delay_tsc"), RETURN(145000), RETURN(145000),
	     CALL(145500, "udelay"), CALL(145500, "delay_tsc"), RETURN(200000), RETURN(200000),
	     RETURN(201000), ON(201000));
	/* Many short ones make no timer late. */
	SAYS(true,
	     "nothing in the window explains it: interrupts were on most of the time, and stress 7 "
	     "ran, at first in foo()",
	     TASK(0, "stress 7"), CALL(0, "foo"), OFF(110000, "foo"), ON(130000),
	     OFF(130001, "foo"), ON(150000), OFF(160000, "foo"), ON(180000));
}

TEST(names_what_interrupts)
{
	SAYS(true,
	     "80us in interrupt asm_sysvec_call_function_single(), most of it in acme_ipi(), "
	     "interrupting foo() < bar()",
	     TASK(0, "stress 7"), CALL(0, "bar"), CALL(0, "foo"),
	     OFF(110000, "asm_sysvec_call_function_single"),
	     ENTER(110000, SPAN_INTERRUPT, "asm_sysvec_call_function_single"),
	     CALL(111000, "acme_ipi"), RETURN(189000), RETURN(190000), ON(190000));
	/* One that turns them on and takes its time. */
	SAYS(true, "80us in softirq handle_softirqs(), most of it in net_rx()", TASK(0, "stress 7"),
	     ENTER(110000, SPAN_SOFTIRQ, "handle_softirqs"), CALL(112000, "net_rx"), RETURN(190000),
	     RETURN(190000));
	SAYS(true, "60us in interrupt irq(), that came 2 times, interrupting foo()",
	     TASK(0, "stress 7"), CALL(0, "foo"), ENTER(110000, SPAN_INTERRUPT, "irq"),
	     RETURN(140000), ENTER(150000, SPAN_INTERRUPT, "irq"), RETURN(180000));
	/* In code with interrupts off. */
	SAYS(true, "70us in NMI asm_exc_nmi(), interrupting foo()", TASK(0, "stress 7"),
	     CALL(0, "foo"), OFF(105000, "foo"), ENTER(120000, SPAN_NMI, "asm_exc_nmi"),
	     RETURN(190000), ON(195000));
	SAYS(true, "70us in exception asm_exc_page_fault(), interrupting foo()",
	     TASK(0, "stress 7"), CALL(0, "foo"), OFF(120000, "asm_exc_page_fault"),
	     ENTER(120000, SPAN_EXCEPTION, "asm_exc_page_fault"), RETURN(190000), ON(190000));
}

TEST(names_idle)
{
	/* It waits with interrupts off. */
	SAYS(true,
	     "exit from idle: the CPU was idle for 96us of that, in intel_idle(), and slow to "
	     "leave",
	     IDLE(0, "swapper/1"), CALL(0, "do_idle"), OFF(50000, "do_idle"),
	     ENTER(60000, SPAN_IDLE, "intel_idle"), RETURN(196000), ON(197000));
	SAYS(false,
	     "exit from idle: the CPU was idle for 99us of that, in swapper/1, and no interrupt is "
	     "recorded in "
	     "that time",
	     IDLE(0, "swapper/1"), ENTER(199000, SPAN_INTERRUPT, "local_timer"));
	SAYS(true,
	     "exit from idle: the CPU was idle for 99us of that, in swapper/1, and slow to leave",
	     IDLE(0, "swapper/1"), ENTER(199000, SPAN_INTERRUPT, "local_timer"));
}

TEST(tells_what_is_missing)
{
	SAYS(true, "the trace of 90us of that is missing", TASK(0, "stress 7"), CALL(0, "foo"),
	     GAP(100000, SPAN_LOST, "[lost]"), END_GAP(190000));
	SAYS(true, "90us in code of which there is no trace", TASK(0, "stress 7"), CALL(0, "foo"),
	     GAP(100000, SPAN_UNTRACED, "[not traced]"), END_GAP(190000));
	SAYS(true, "90us in SMI", TASK(0, "stress 7"), CALL(0, "foo"),
	     GAP(100000, SPAN_UNTRACED, "SMI"), END_GAP(190000));
	SAYS(true, "what is recorded does not reach back to when it was to expire",
	     TASK(170000, "stress 7"), CALL(170000, "foo"));
	SAYS(true, "nothing took even half of that; the most, 40us, is of irq", TASK(0, "stress 7"),
	     ENTER(110000, SPAN_INTERRUPT, "irq"), RETURN(150000),
	     ENTER(150000, SPAN_SOFTIRQ, "net_rx_action"), RETURN(185000));
}

TEST(tells_what_events_do_not_show)
{
	SAYS(false,
	     "blocking thread stress 7 ran for 100us of that; whether with interrupts off, events "
	     "do not show",
	     TASK(0, "stress 7"));
	SAYS(false, "80us in interrupt call_function_single, interrupting stress/7",
	     TASK(0, "stress 7"), ENTER(110000, SPAN_INTERRUPT, "call_function_single"),
	     RETURN(190000));
	SAYS(false, "80us in softirq NET_RX, interrupting stress/7", TASK(0, "other 8"),
	     { LANE_TASKS, 50000, SPAN_THREAD, NULL }, TASK(50000, "stress 7"),
	     ENTER(110000, SPAN_SOFTIRQ, "NET_RX"), RETURN(190000));
}

#define FRAME(name)                                                                                \
	{                                                                                          \
		name, "", false, true                                                              \
	}

static bool account_irqs_on;

/* As SAYS, of events with a stack. */
#define STACK_SAYS(expected, these, ...)                                                           \
	do {                                                                                       \
		_cleanup_(account_release) struct account account;                                 \
                                                                                                   \
		assert_int_equal(TIMELINE(&account, false, __VA_ARGS__), 0);                       \
		account.facts.stack.nr = ARRAY_SIZE(these);                                        \
		account.facts.stack.irqs_on = account_irqs_on;                                     \
		memcpy(account.facts.stack.frames, these, sizeof(these));                          \
		assert_int_equal(account_finish(&account), 0);                                     \
		assert_string_equal(account.sentence, "IRQ latency 100us: " expected);             \
	} while (0)

TEST(names_what_the_interrupt_came_upon)
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

	STACK_SAYS("100us with interrupts off while stress 7 ran, until they were on again in "
		   "acme_flush() [acme], called from foo() < bar() < baz() < ...",
		   flush, TASK(0, "stress 7"));
	STACK_SAYS("blocking thread stress 7 ran for 100us of that; the interrupt came in user "
		   "space, in "
		   "libc.so.6+0x12, so no code of the kernel kept it waiting, but hardware, "
		   "firmware or a hypervisor",
		   user, TASK(0, "stress 7"));
	STACK_SAYS("blocking thread stress 7 ran for 100us of that; the interrupt came in "
		   "do_syscall_64(), so no "
		   "code of the kernel kept it waiting, but hardware, firmware or a hypervisor",
		   passing, TASK(0, "stress 7"));
	account_irqs_on = true;
	STACK_SAYS("blocking thread stress 7 ran for 100us of that; the interrupt came in "
		   "_raw_spin_unlock_irqrestore(), so no code of the kernel kept it waiting, but "
		   "hardware, firmware or a hypervisor",
		   flush, TASK(0, "stress 7"));
	account_irqs_on = false;
	STACK_SAYS("100us with interrupts off while stress 7 ran, until they were on again in "
		   "acme_flush(), called from foo()",
		   nested, TASK(0, "stress 7"));
	STACK_SAYS("100us with interrupts off while stress 7 ran, until they were on again in "
		   "acme_flush(), called from foo()",
		   preempted, TASK(0, "stress 7"));
	STACK_SAYS("100us with interrupts off while stress 7 ran, until they were on again in "
		   "acme_flush()",
		   scheduling, TASK(0, "stress 7"));
	STACK_SAYS("100us with interrupts off while stress 7 ran, until they were on again in "
		   "acme_flush()",
		   entry, TASK(0, "stress 7"));
	STACK_SAYS("blocking thread stress 7 ran for 100us of that; whether with interrupts off, "
		   "events do not "
		   "show",
		   gone, TASK(0, "stress 7"));
	STACK_SAYS("exit from idle: the CPU was idle for 100us of that, in swapper/1, and no "
		   "interrupt is recorded "
		   "in that time",
		   idle, IDLE(0, "swapper/1"));
	STACK_SAYS("100us with interrupts off while swapper/1 ran, until they were on again in "
		   "flush_smp_call_function_queue(), called from do_idle()",
		   queue, IDLE(0, "swapper/1"));
	/* The interrupt has ended, or goes on: only then was it come upon. */
	STACK_SAYS("80us in interrupt call_function_single, interrupting stress/7", flush,
		   TASK(0, "stress 7"), ENTER(110000, SPAN_INTERRUPT, "call_function_single"),
		   RETURN(190000));
	STACK_SAYS("90us in softirq NET_RX, at last in acme_flush() [acme], called from foo() < "
		   "bar() < baz() < ..., interrupting stress/7",
		   flush, TASK(0, "stress 7"), ENTER(110000, SPAN_SOFTIRQ, "NET_RX"));
}

TEST(names_where_a_thread_was_switched_from)
{
	static const struct spike_frame frames[] = {
		FRAME("__schedule"),
		FRAME("preempt_schedule"),
		{ "acme_copy", "acme", false, true },
		FRAME("foo"),
		{ "libc.so.6+0x12", "", true, false },
		{ "loop+0x34", "", true, false },
	};
	static const struct {
		int tid;
		const char *said;
	} rows[] = {
		{ 7, "Thread latency 100us: blocking thread stress 7 ran for 100us of that, until "
		     "it was switched "
		     "from in acme_copy() [acme], called from foo(), for user space in "
		     "libc.so.6+0x12, called from loop+0x34" },
		{ 8, "Thread latency 100us: blocking thread stress 7 ran for 100us of that; what "
		     "it executed is not recorded" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
		account.facts.thread = true;
		account.facts.stack.tid = rows[i].tid;
		account.facts.stack.nr = ARRAY_SIZE(frames);
		memcpy(account.facts.stack.frames, frames, sizeof(frames));
		check_sentence(&account, rows[i].said);
	}
}

/* It had the CPU before another one, or the interrupt itself was what was late. */
TEST(names_who_had_the_cpu)
{
	static const struct spike_frame before[] = { FRAME("acme_hold"), FRAME("foo") };
	static const struct {
		int last;
		bool interrupted;
		uint64_t irq_ns;
		const char *where;
		bool slept;
	} rows[] = {
		{ 9, false, 0, ", until it was switched from in acme_hold(), called from foo()" },
		{ 9, true, 10000, "; the timer's interrupt hit acme_hold(), called from foo()" },
		{ 7, true, 80000, "; the timer's interrupt hit acme_hold(), called from foo()" },
		{ 7, true, 10000, ", until it was switched from in acme_wait()" },
		{ 7, true, 10000, "; the timer's interrupt hit acme_hold(), called from foo()",
		  .slept = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(account_release) struct account account;
		char said[160];

		assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
		account.facts.thread = true;
		account.facts.irq_ns = rows[i].irq_ns;
		account.facts.stack.tid = rows[i].last;
		account.facts.stack.nr = 2;
		account.facts.stack.frames[0] = (struct spike_frame)FRAME("preempt_schedule");
		account.facts.stack.frames[1] = (struct spike_frame)FRAME("acme_wait");
		if (rows[i].slept)
			strcpy(account.facts.stack.frames[0].name, "schedule");
		account.facts.holder.tid = 7;
		account.facts.holder.interrupted = rows[i].interrupted;
		account.facts.holder.nr = ARRAY_SIZE(before);
		memcpy(account.facts.holder.frames, before, sizeof(before));
		assert_int_equal(account_finish(&account), 0);
		snprintf(said, sizeof(said),
			 "Thread latency 100us: blocking thread stress 7 ran for 100us of that"
			 "%s",
			 rows[i].where);
		assert_string_equal(account.sentence, said);
	}
}

/* It was running itself, perhaps; the stack is that of the report. */
TEST(names_what_was_reported)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "loop 7")), 0);
	account.facts.thread = account.facts.reported = true;
	account.facts.stack.tid = 7;
	account.facts.stack.nr = 1;
	account.facts.stack.frames[0] = (struct spike_frame)FRAME("do_syscall_64");
	strcpy(account.facts.label, "control loop");
	check_sentence(&account, "control loop 100us late: loop 7 ran for 100us of that; what it "
				 "executed is not recorded");
}

TEST(names_who_made_a_noise)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "osnoise/1 7")), 0);
	account.facts.thread = account.facts.reported = account.facts.noise = true;
	account.facts.noise_most_ns = 70000;
	strcpy(account.facts.label, "thread kworker/1:1:77");
	assert_int_equal(account_finish(&account), 0);
	assert_string_equal(account.sentence,
			    "noise of 100us: thread kworker/1:1:77 made 70us of it");
	assert_string_equal(account.fingerprint.kind, "noise");
	assert_string_equal(account.fingerprint.frames[0], "thread_kworker");
}

TEST(blames_the_hardware_for_a_noise)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "osnoise/1 7")), 0);
	account.facts.thread = account.facts.reported = account.facts.noise = true;
	strcpy(account.facts.label, "hardware");
	assert_int_equal(account_finish(&account), 0);
	assert_string_equal(account.sentence, "noise of 100us: no interrupt and no thread ran: "
					      "the hardware or a hypervisor made it");
}

/* A mark without a latency, or an event. */
TEST(names_what_is_not_late)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "loop 7")), 0);
	account.facts.thread = account.facts.reported = true;
	account.facts.latency_ns = 0;
	account.facts.pid = account.facts.tid = 7;
	strcpy(account.facts.comm, "loop");
	strcpy(account.facts.label, "oom:mark_victim");
	check_sentence(&account, "oom:mark_victim, in loop/7");
}

/* Whom the timer's interrupt interrupted is said of no other interrupt. */
TEST(tells_earlier_tasks_apart)
{
	_cleanup_(account_release) struct account account;

	SAYS(false, "70us in interrupt irq 4 ttyS0, which came while other 8 ran",
	     TASK(0, "other 8"), ENTER(110000, SPAN_INTERRUPT, "irq 4 ttyS0"), RETURN(180000),
	     { LANE_TASKS, 181000, SPAN_THREAD, NULL }, TASK(181000, "stress 7"),
	     ENTER(200000, SPAN_INTERRUPT, "local_timer"));
	/* The timer's interrupt was when the thread was to be woken, not when it ran. */
	assert_int_equal(TIMELINE(&account, false, TASK(0, "other 8"),
				  ENTER(110000, SPAN_INTERRUPT, "irq"), RETURN(190000)),
			 0);
	account.facts.thread = true;
	check_sentence(&account, "Thread latency 100us: 80us in interrupt irq, which "
				 "came while other 8 ran");
}

TEST(tells_that_there_are_no_times)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7")), 0);
	account.facts.no_times = true;
	check_sentence(&account, "IRQ latency 100us: the trace has no times, for TSC "
				 "was not perf's clock");
}

TEST(tells_of_what_was_asked_for)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7")), 0);
	account.facts.poked = true;
	check_sentence(&account, "this capture was asked for: no timer was late");
}

TEST(names_what_ran_instead_of_a_thread)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "ksys_write"),
				  CALL(90000, "acme_write"), CALL(99000, "acme_wait"),
				  RETURN(99900), CALL(101000, "acme_wait"), RETURN(194000),
				  RETURN(195000), RETURN(196000)),
			 0);
	account.facts.thread = true;
	check_sentence(&account,
		       "Thread latency 100us: blocking thread stress 7 ran for 100us of that, "
		       "most of it in "
		       "acme_wait(), called from acme_write() < ksys_write()");
}

/* Without a trace, the stack at the spike is all there is. */
TEST(names_what_the_stack_shows)
{
	static const struct spike_frame kept[] = { FRAME("acme_flush"), FRAME("foo") };
	static const struct spike_frame user[] = { { "libc.so.6+0x12", "", true, false } };
	static const struct {
		const struct spike_frame *frames;
		size_t nr;
		bool perf, thread;
		const char *said;
	} rows[] = {
		{ kept, 2, false, false,
		  "IRQ latency 100us: the interrupt came in acme_flush(), called from foo()" },
		{ kept, 2, true, false,
		  "IRQ latency 100us: the interrupt came in acme_flush(), called from foo(); the "
		  "perf that was poked has the trace" },
		{ user, 1, false, false,
		  "IRQ latency 100us: the interrupt came in libc.so.6+0x12" },
		{ kept, 2, false, true,
		  "Thread latency 100us: nothing was recorded that tells why" },
		{ kept, 0, true, false,
		  "IRQ latency 100us: why is in the trace of the perf that was poked" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(timeline_make(&account, NULL, 0, false), 0);
		account.facts.none = !rows[i].perf;
		account.facts.perf = rows[i].perf;
		account.facts.thread = rows[i].thread;
		account.facts.stack.nr = rows[i].nr;
		memcpy(account.facts.stack.frames, rows[i].frames,
		       rows[i].nr * sizeof(*rows[i].frames));
		check_sentence(&account, rows[i].said);
	}
}

/* Of a kernel thread: by the function of the work, whether a trace shows it or a stack. */
TEST(names_who_queued)
{
	static const struct senders senders = {
		.rows = { { .time = 5000, .tid = 5, .queued = true, .function = "acme_work" },
			  { .time = 107000, .tid = 6, .function = "acme_copy" } },
		.nr = 2,
	};
	static const struct spike_frame frames[] = { FRAME("acme_wait"), FRAME("acme_work") };
	static const char *const said[] = {
		"Thread latency 100us: blocking thread kworker/1:1 7 ran for 100us of that, until "
		"it was switched from in acme_wait(), called from acme_work(), queued by CPU 0, "
		"task 5 ?",
		"Thread latency 100us: blocking thread kworker/1:1 7 ran for 100us of that, most "
		"of it in acme_wait(), called from acme_work(), queued by CPU 0, task 5 ?",
	};

	for (int pt = 0; pt < 2; pt++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, pt, TASK(0, "kworker/1:1 7"),
					  CALL(0, "acme_work"), CALL(90000, "acme_wait")),
				 0);
		account.facts.thread = true;
		account.facts.senders = &senders;
		account.facts.stack.tid = 7;
		account.facts.stack.nr = ARRAY_SIZE(frames);
		memcpy(account.facts.stack.frames, frames, sizeof(frames));
		assert_int_equal(account_finish(&account), 0);
		assert_string_equal(account.sentence, said[pt]);
	}
}

TEST(names_who_sent)
{
	static const struct senders senders = {
		.rows = { { .time = 105000, .tid = 5, .function = "acme_ipi" },
			  { .time = 107000, .tid = 6, .function = "" },
			  { .time = 150000, .tid = 7, .function = "acme_ipi" } },
		.nr = 3,
	};
	static const struct {
		const char *vector, *call, *said;
	} rows[] = {
		{ "call_function_single", "acme_ipi",
		  "80us in interrupt call_function_single, most of it in acme_ipi, sent by CPU 0, "
		  "task 5 ?, interrupting stress/7" },
		{ "acme_ipi", "other",
		  "80us in interrupt acme_ipi, most of it in other, sent by CPU 0, task 5 ?, "
		  "interrupting stress/7" },
		{ "reschedule", "other",
		  "80us in interrupt reschedule, most of it in other, sent by CPU 0, task 6 ?, "
		  "interrupting stress/7" },
		{ "asm_sysvec_call_function", "other",
		  "80us in interrupt asm_sysvec_call_function, most of it in other, sent by CPU 0, "
		  "task 6 ?, interrupting stress/7" },
		{ "irq 4", "other",
		  "80us in interrupt irq 4, most of it in other, interrupting stress/7" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7"),
					  ENTER(110000, SPAN_INTERRUPT, rows[i].vector),
					  CALL(111000, rows[i].call), RETURN(189000),
					  RETURN(190000)),
				 0);
		account.facts.senders = &senders;
		assert_int_equal(account_finish(&account), 0);
		assert_string_equal(account.sentence + strlen("IRQ latency 100us: "), rows[i].said);
	}
}
