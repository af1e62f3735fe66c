// SPDX-License-Identifier: GPL-2.0-only
#include "cause/fingerprint.h"

#include <string.h>

#include "analysis/timeline.h"
#include "test.h"

struct row {
	const char *name, *wanted;
};

static void check(void (*normalise)(char *buf, const char *name), const struct row *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		char buf[FINGERPRINT_NAME_SIZE];

		normalise(buf, rows[i].name);
		assert_string_equal(buf, rows[i].wanted);
	}
}

/* Symbols of Debian's 6.1, 6.12 and 7.3, as in their kallsyms. */
TEST(strips_what_a_compiler_adds)
{
	static const struct row rows[] = {
		{ "update_blocked_averages.isra.0", "update_blocked_averages" },
		{ "mas_store_b_node.constprop.0.isra.0.cold", "mas_store_b_node" },
		{ "nohz_balance_exit_idle.part.0", "nohz_balance_exit_idle" },
		{ "do_syscall_64.cold", "do_syscall_64" },
		{ "acpi_idle_enter.llvm.1234567", "acpi_idle_enter" },
		{ "__pfx_nvme_irq", "nvme_irq" },
		{ "__pfx_nvme_irq.constprop.0", "nvme_irq" },
		{ "__cfi_nvme_irq", "nvme_irq" },
		{ ".system_call_exception", "system_call_exception" },
		{ "nvme_irq+0x1f/0x90", "nvme_irq" },
		{ "nvme_irq [nvme]", "nvme_irq" },
		{ "__x64_sys_write", "__x64_sys_write" },
		{ "operator<<", "operator__" },
		{ "", "" },
	};

	check(fingerprint_function_name, rows, ARRAY_SIZE(rows));
}

TEST(strips_ids_of_tasks)
{
	static const struct row rows[] = {
		{ "kworker/3:1-events", "kworker" },
		{ "kworker/u16:2+flush-8:0", "kworker" },
		{ "ksoftirqd/11", "ksoftirqd" },
		{ "migration/0", "migration" },
		{ "rcuc/1", "rcuc" },
		{ "rcu_preempt", "rcu_preempt" },
		{ "irq/45-nvme0q1", "irq/nvme" },
		{ "irq/128-s-i915", "irq/i915" },
		{ "irq/9-acpi", "irq/acpi" },
		{ "stress-ng-cpu", "stress-ng-cpu" },
		{ "python3", "python3" },
		{ "pool-12", "pool" },
		{ "CPU 0/KVM", "CPU" },
		{ "my task", "my_task" },
		{ "4", "4" },
	};

	check(fingerprint_task_name, rows, ARRAY_SIZE(rows));
}

/* Names of /proc/interrupts. */
TEST(strips_instances_of_devices)
{
	static const struct row rows[] = {
		{ "nvme0q1", "nvme" },
		{ "nvme12q127", "nvme" },
		{ "eth0-TxRx-3", "eth-TxRx" },
		{ "enp129s0f0-TxRx-63", "enpsf-TxRx" },
		{ "i8042", "i8042" },
		{ "i915", "i915" },
		{ "ahci[0000:00:1f.2]", "ahci" },
		{ "mlx5_comp3@pci:0000:01:00.0", "mlx_comp" },
		{ "snd_hda_intel:card0", "snd_hda_intel" },
		{ "virtio0-input.0", "virtio-input" },
		{ "xhci_hcd", "xhci_hcd" },
		{ "rtc0", "rtc" },
	};

	check(fingerprint_irq_name, rows, ARRAY_SIZE(rows));
}

/* One recorder names the vector, another one its entry function. */
TEST(names_entries_alike)
{
	static const struct row rows[] = {
		{ "asm_sysvec_apic_timer_interrupt", "[local_timer]" },
		{ "local_timer", "[local_timer]" },
		{ "asm_sysvec_call_function_single", "[call_function_single]" },
		{ "call_function_single", "[call_function_single]" },
		{ "asm_sysvec_reschedule_ipi", "[reschedule]" },
		{ "reschedule", "[reschedule]" },
		{ "asm_sysvec_irq_work", "[irq_work]" },
		{ "irq_work", "[irq_work]" },
		{ "asm_common_interrupt", "[irq]" },
		{ "irq 45 nvme0q1", "[irq:nvme]" },
		{ "net_rx_action", "[NET_RX]" },
		{ "NET_RX", "[NET_RX]" },
		{ "tasklet_action", "[TASKLET]" },
		{ "asm_exc_nmi", "[nmi]" },
		{ "asm_exc_page_fault", "[page_fault]" },
	};

	check(fingerprint_entry_token, rows, ARRAY_SIZE(rows));
}

static void fingerprint_of(struct fingerprint *fingerprint, struct account *account)
{
	assert_int_equal(account_finish(account), 0);
	*fingerprint = account->fingerprint;
	account_release(account);
}

static void check_text(const struct fingerprint *fingerprint, const char *wanted)
{
	_cleanup_free_ char *text = fingerprint_text(fingerprint);

	assert_string_equal(text, wanted);
}

static void put_stack(struct spike_stack *stack, const char *const *names, size_t nr)
{
	for (stack->nr = 0; stack->nr < nr; stack->nr++) {
		struct spike_frame *frame = &stack->frames[stack->nr];

		snprintf(frame->name, sizeof(frame->name), "%s", names[stack->nr]);
		frame->function = true;
	}
}

static void give_stack(struct account *account, const char *const *names, size_t nr)
{
	put_stack(&account->facts.stack, names, nr);
	account->facts.stack.irqs = IRQS_WERE_OFF;
}

TEST(is_the_same_of_two_recorders_and_two_kernels)
{
	static const char *const old[] = { "_raw_spin_unlock_irqrestore",
					   "acme_flush.isra.0",
					   "acme_write",
					   "vfs_write",
					   "ksys_write",
					   "do_syscall_64",
					   "entry_SYSCALL_64_after_hwframe" };
	static const char *const new[] = { "acme_flush",      "acme_write",   "vfs_write",
					   "__x64_sys_write", "x64_sys_call", "do_syscall_64" };
	struct fingerprint events, pt;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
	give_stack(&account, new, ARRAY_SIZE(new));
	fingerprint_of(&events, &account);
	check_text(&events, "v5 irqs-off acme_flush<acme_write<[write]");
	/* `python3 -c 'import zlib; print("%08x" % zlib.crc32(b"v5 irqs-off ..."))'` */
	assert_string_equal(events.id, "irqs-off/acme_flush:0db23299");

	/* The callers of acme_write() were called before the trace began. */
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "acme_write"),
				  CALL(100000, "acme_flush"), OFF(100000, "acme_flush"),
				  CALL(110000, "delay_tsc"), RETURN(190000), ON(200000)),
			 0);
	give_stack(&account, new, ARRAY_SIZE(new));
	fingerprint_of(&pt, &account);
	assert_string_equal(pt.id, events.id);

	/* The system call's function is not on the stack: it tail-calls ksys_write(). */
	assert_int_equal(TIMELINE(&account, false, TASK(0, "other 9")), 0);
	give_stack(&account, old, ARRAY_SIZE(old));
	fingerprint_of(&pt, &account);
	assert_string_equal(pt.id, events.id);
}

/* An idle CPU that polls makes calls of others at once: the cause is that of the interrupt. */
TEST(knows_a_call_without_an_interrupt)
{
	static const struct senders senders = {
		.rows = { { .time = 105000,
			    .function = "acme_ipi",
			    .callers = { "acme_send" },
			    .nr_callers = 1 } },
		.nr = 1,
	};
	static const char wanted[] = "v5 interrupt acme_ipi<[call_function_single] from acme_send";
	struct fingerprint interrupted, polled;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "swapper/1"),
				  ENTER(110000, SPAN_INTERRUPT, "call_function_single"),
				  CALL(111000, "acme_ipi"), RETURN(189000), RETURN(190000)),
			 0);
	account.facts.senders = &senders;
	fingerprint_of(&interrupted, &account);
	check_text(&interrupted, wanted);
	assert_int_equal(TIMELINE(&account, false, TASK(0, "swapper/1"),
				  ENTER(110000, SPAN_INTERRUPT, "acme_ipi"),
				  CALL(111000, "acme_inner"), RETURN(189000), RETURN(190000)),
			 0);
	account.facts.senders = &senders;
	strcpy(account.facts.arch, "x86_64");
	fingerprint_of(&polled, &account);
	check_text(&polled, wanted);
	/* It has one interrupt for calls. */
	assert_int_equal(TIMELINE(&account, false, TASK(0, "swapper/1"),
				  ENTER(110000, SPAN_INTERRUPT, "acme_ipi"), RETURN(190000)),
			 0);
	account.facts.senders = &senders;
	strcpy(account.facts.arch, "aarch64");
	fingerprint_of(&polled, &account);
	check_text(&polled, "v5 interrupt acme_ipi<[call_function] from acme_send");
}

TEST(names_what_an_interrupt_runs)
{
	struct fingerprint events, pt;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7"),
				  ENTER(110000, SPAN_INTERRUPT, "call_function_single"),
				  CALL(111000, "acme_ipi"), RETURN(189000), RETURN(190000)),
			 0);
	fingerprint_of(&events, &account);
	check_text(&events, "v5 interrupt acme_ipi<[call_function_single]");
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "foo"),
				  OFF(110000, "asm_sysvec_call_function_single"),
				  ENTER(110000, SPAN_INTERRUPT, "asm_sysvec_call_function_single"),
				  CALL(110100, "__flush_smp_call_function_queue"),
				  CALL(111000, "acme_ipi"), CALL(111000, "delay_tsc"),
				  RETURN(189000), RETURN(189000), RETURN(189900), RETURN(190000),
				  ON(190000)),
			 0);
	fingerprint_of(&pt, &account);
	assert_string_equal(pt.id, events.id);
}

/* Events tell the function of each tasklet, Intel PT all between. */
TEST(names_what_a_softirq_runs)
{
	struct fingerprint events, pt;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7"),
				  ENTER(110000, SPAN_SOFTIRQ, "TASKLET"),
				  CALL(111000, "acme_tasklet"), RETURN(150000),
				  CALL(150000, "acme_tasklet"), RETURN(189000), RETURN(190000)),
			 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	fingerprint_of(&events, &account);
	check_text(&events, "v5 softirq acme_tasklet<[TASKLET]");
	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "foo"),
				  ENTER(110000, SPAN_SOFTIRQ, "handle_softirqs"),
				  ENTER(110100, SPAN_SOFTIRQ, "tasklet_action"),
				  CALL(110200, "tasklet_action_common"),
				  CALL(111000, "acme_tasklet"), RETURN(150000),
				  CALL(150000, "acme_tasklet"), RETURN(189000), RETURN(189900),
				  RETURN(189950), RETURN(190000)),
			 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	fingerprint_of(&pt, &account);
	assert_string_equal(pt.id, events.id);

	/* Without symbols */
	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7"),
				  ENTER(110000, SPAN_SOFTIRQ, "TASKLET"),
				  CALL(110000, "0xffffffffc0001234"), RETURN(190000),
				  RETURN(190000)),
			 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	fingerprint_of(&events, &account);
	check_text(&events, "v5 softirq [TASKLET]");
}

/* Intel PT of the kernel alone has a gap where events have the stack of the timer's interrupt. */
TEST(names_who_ran_in_user_space)
{
	struct fingerprint events, pt;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "loop 77")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	fingerprint_of(&events, &account);
	check_text(&events, "v5 thread task:loop");
	assert_int_equal(TIMELINE(&account, true, TASK(0, "loop 77"),
				  GAP(90000, SPAN_UNTRACED, "[not traced]"), END_GAP(195000)),
			 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	fingerprint_of(&pt, &account);
	assert_string_equal(pt.id, events.id);

	/* A timer waits for no task. */
	assert_int_equal(TIMELINE(&account, true, TASK(0, "loop 77"),
				  GAP(90000, SPAN_UNTRACED, "[not traced]"), END_GAP(195000)),
			 0);
	fingerprint_of(&pt, &account);
	check_text(&pt, "v5 untraced");
}

TEST(names_softirqs_devices_and_threads)
{
	struct fingerprint found;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7"),
				  ENTER(110000, SPAN_SOFTIRQ, "NET_RX"), RETURN(190000)),
			 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	fingerprint_of(&found, &account);
	check_text(&found, "v5 softirq [NET_RX]");
	assert_true(!strncmp(found.id, "softirq/NET_RX:", 15));

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7"),
				  ENTER(110000, SPAN_INTERRUPT, "irq 45 nvme0q1"), RETURN(190000)),
			 0);
	fingerprint_of(&found, &account);
	check_text(&found, "v5 interrupt [irq:nvme]");

	assert_int_equal(TIMELINE(&account, false, TASK(0, "kworker/3:1 77")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	fingerprint_of(&found, &account);
	check_text(&found, "v5 thread task:kworker");
}

/* The task was switched out for the late thread with this stack. */
#define CHECK_SWITCHED(task, frames, wanted)                                                       \
	do {                                                                                       \
		struct fingerprint found;                                                          \
		struct account account;                                                            \
                                                                                                   \
		assert_int_equal(TIMELINE(&account, false, TASK(0, task)), 0);                     \
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;                               \
		account.facts.stack.tid = 7;                                                       \
		give_stack(&account, frames, ARRAY_SIZE(frames));                                  \
		fingerprint_of(&found, &account);                                                  \
		check_text(&found, wanted);                                                        \
	} while (0)

TEST(tells_preempted_threads_from_sleepers)
{
	static const char *const preempted[] = { "__schedule", "preempt_schedule", "acme_walk",
						 "work_for_cpu_fn", "process_one_work" };
	static const char *const asleep[] = { "__schedule", "schedule", "do_nanosleep",
					      "__x64_sys_clock_nanosleep", "do_syscall_64" };
	/* Voluntary preemption, from Debian's 6.12. */
	static const char *const between[] = { "__schedule", "__cond_resched", "process_one_work",
					       "worker_thread", "kthread" };
	static const char *const ended[] = { "__schedule", "do_task_dead", "do_exit",
					     "do_group_exit", "get_signal" };

	CHECK_SWITCHED("acme 7", ended, "v5 thread task:acme");
	CHECK_SWITCHED("kworker/1:1 7", between, "v5 thread task:kworker");
	CHECK_SWITCHED("acme 7", preempted, "v5 thread acme_walk<work_for_cpu_fn<[workqueue]");
	CHECK_SWITCHED("acme 7", asleep, "v5 thread task:acme");
}

/* The late interrupt hit `hit`, and the thread was switched out in acme_walk() after it. */
static void check_interrupted(const char *const *hit, size_t nr, const char *const *switched,
			      size_t nr_switched, const char *wanted)
{
	struct fingerprint found;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "acme 7")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	account.facts.spike.irq_ns = account.facts.spike.latency_ns;
	account.facts.stack.tid = account.facts.holder.tid = 7;
	account.facts.holder.interrupted = true;
	put_stack(&account.facts.holder, hit, nr);
	give_stack(&account, switched, nr_switched);
	fingerprint_of(&found, &account);
	check_text(&found, wanted);
}

TEST(is_the_same_wherever_the_interrupt_hit)
{
	static const char *const switched[] = { "__schedule", "preempt_schedule", "acme_walk",
						"vfs_write",  "__x64_sys_write",  "do_syscall_64" };
	static const char *const culprit[] = { "acme_walk", "vfs_write", "__x64_sys_write",
					       "do_syscall_64" };
	static const char *const callee[] = { "delay_tsc", "acme_spin",	      "acme_walk",
					      "vfs_write", "__x64_sys_write", "do_syscall_64" };
	static const char *const softirq[] = { "rcu_core",
					       "handle_softirqs",
					       "__irq_exit_rcu",
					       "sysvec_apic_timer_interrupt",
					       "asm_sysvec_apic_timer_interrupt",
					       "acme_walk",
					       "vfs_write",
					       "__x64_sys_write",
					       "do_syscall_64" };
	static const char *const returned[] = { "__schedule", "schedule",
						"syscall_exit_to_user_mode", "do_syscall_64" };
	static const char *const later[] = { "__schedule", "preempt_schedule", "acme_read",
					     "vfs_read",   "__x64_sys_read",   "do_syscall_64" };
	static const char *const wanted = "v5 thread acme_walk<[write]";

	check_interrupted(culprit, ARRAY_SIZE(culprit), switched, ARRAY_SIZE(switched), wanted);
	check_interrupted(callee, ARRAY_SIZE(callee), switched, ARRAY_SIZE(switched), wanted);
	/* A softirq that was on top of it. */
	check_interrupted(softirq, ARRAY_SIZE(softirq), returned, ARRAY_SIZE(returned), wanted);
	/* In another system call by then; and who waits is the culprit, not the delay. */
	check_interrupted(callee, ARRAY_SIZE(callee), later, ARRAY_SIZE(later),
			  "v5 thread acme_spin<acme_walk<[write]");
}

/* A work item's function is known by its event, wherever the interrupt hit. */
TEST(names_the_function_of_a_work_item)
{
	static const struct {
		const char *function, *hit[5], *wanted;
	} rows[] = {
		{ "acme_work",
		  { "delay_tsc", "acme_spin", "acme_work", "process_one_work", "worker_thread" },
		  "v5 thread acme_work<[workqueue]" },
		{ "acme_work",
		  { "process_one_work", "worker_thread", "kthread", "ret_from_fork" },
		  "v5 thread acme_work<[workqueue]" },
		{ "work_for_cpu_fn",
		  { "acme_spin", "acme_probe", "work_for_cpu_fn", "process_one_work",
		    "worker_thread" },
		  "v5 thread acme_probe<work_for_cpu_fn<[workqueue]" },
		{ "work_for_cpu_fn",
		  { "work_for_cpu_fn", "process_one_work", "worker_thread", "kthread" },
		  "v5 thread work_for_cpu_fn<[workqueue]" },
	};
	static const char *const after[] = { "__schedule", "preempt_schedule_common",
					     "__cond_resched", "process_one_work",
					     "worker_thread" };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fingerprint found;
		struct account account;
		size_t nr = 0;

		while (nr < ARRAY_SIZE(rows[i].hit) && rows[i].hit[nr])
			nr++;
		assert_int_equal(TIMELINE(&account, false, TASK(0, "kworker/1:1 7"),
					  CALL(105000, "process_one_work"),
					  CALL(105000, rows[i].function), RETURN(195000),
					  RETURN(195000)),
				 0);
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		account.facts.stack.tid = account.facts.holder.tid = 7;
		account.facts.holder.interrupted = true;
		put_stack(&account.facts.holder, rows[i].hit, nr);
		give_stack(&account, after, ARRAY_SIZE(after));
		fingerprint_of(&found, &account);
		check_text(&found, rows[i].wanted);
	}
}

/* From one system call to another: it may have spent the time in either, or between. */
TEST(names_a_thread_that_went_on)
{
	static const char *const hit[] = { "prepare_to_wait_event", "pipe_read", "vfs_read",
					   "__x64_sys_read", "do_syscall_64" };
	static const char *const asleep[] = { "__schedule", "schedule", "do_nanosleep",
					      "__x64_sys_clock_nanosleep", "do_syscall_64" };
	struct fingerprint found;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "loop 7")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	account.facts.stack.tid = account.facts.holder.tid = 7;
	account.facts.holder.interrupted = true;
	put_stack(&account.facts.holder, hit, ARRAY_SIZE(hit));
	give_stack(&account, asleep, ARRAY_SIZE(asleep));
	fingerprint_of(&found, &account);
	check_text(&found, "v5 thread task:loop");
}

/* Wherever in user space it was hit, and wherever it was switched out later; but a trace may show
 * the function that took most of the time. */
TEST(knows_user_space_by_the_name_of_the_task)
{
	static const char *const switched[] = { "__schedule", "schedule", "do_nanosleep" };
	struct fingerprint found;
	struct account account;

	for (int known = 0; known < 2; known++) {
		const struct step steps[] = { TASK(0, "acme 7"), CALL(95000, "acme_walk"),
					      RETURN(190000) };

		assert_int_equal(timeline_make(&account, steps, known ? 3 : 1, known), 0);
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		account.facts.stack.tid = account.facts.holder.tid = 7;
		account.facts.holder.interrupted = true;
		account.facts.holder.nr = 1;
		account.facts.holder.frames[0] =
			(struct spike_frame){ "acme_poll", "acme", true, false };
		give_stack(&account, switched, ARRAY_SIZE(switched));
		fingerprint_of(&found, &account);
		check_text(&found, known ? "v5 thread acme_walk" : "v5 thread task:acme");
	}
}

TEST(has_none_of_a_poke)
{
	struct fingerprint found;
	struct account account;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
	account.facts.spike.poked = true;
	fingerprint_of(&found, &account);
	assert_string_equal(found.id, "");
	assert_null(fingerprint_json(&found));
}
