// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A spike is completed: its noises, latencies, stacks and late thread. */
#include "capture/capture_internal.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "fake_recorder.h"
#include "helpers.h"

#define START 1000

static struct perf_poke_spike explain(const struct trigger_noise_parts *parts)
{
	struct perf_poke_spike spike = { .kind = PERF_POKE_TRIGGER_NOISE };

	spike_explain_noise(&spike, parts);
	assert_true(spike.has_noise);
	return spike;
}

TEST(sums_what_belongs_to_the_sample)
{
	const struct trigger_noise_parts parts = {
		.start = START,
		.parts = {
			/* From the previous sample. */
			{ START - 1, 9000, TRIGGER_NOISE_IRQ, 1, "older" },
			{ START, 300, TRIGGER_NOISE_IRQ, 236, "local_timer" },
			{ START + 50, 20, TRIGGER_NOISE_NMI, 0, "" },
			{ START + 400, 700, TRIGGER_NOISE_THREAD, 77, "kworker/1:1" },
			{ START + 500, 200, TRIGGER_NOISE_SOFTIRQ, 1, "" },
			{ START + 600, 40, TRIGGER_NOISE_IRQ, 4, "ttyS0" },
			/* Of an unknown class. */
			{ START + 700, 8000, TRIGGER_NOISE_CLASSES, 4, "x" },
		},
	};
	const struct perf_poke_spike spike = explain(&parts);

	assert_int_equal(spike.noise_irq_ns, 340);
	assert_int_equal(spike.noise_softirq_ns, 200);
	assert_int_equal(spike.noise_thread_ns, 700);
	assert_int_equal(spike.noise_nmi_ns, 20);
	assert_int_equal(spike.noise_most_ns, 700);
	assert_string_equal(spike.label, "thread kworker/1:1:77");
}

TEST(has_the_late_thread)
{
	const struct trigger_spike seen = {
		.tid = 3,
		.kind = PERF_POKE_TRIGGER_WAKEUP,
		.late = { 7, 8, 1, 80, -1, "loop" },
	};
	const struct config config = {};
	struct perf_poke_spike spike = spike_from_record(&config, &seen);

	assert_int_equal(spike.late_pid, 7);
	assert_int_equal(spike.late_tid, 8);
	assert_int_equal(spike.late_policy, 1);
	assert_int_equal(spike.late_priority, 80);
	assert_int_equal(spike.late_nice, -1);
	assert_string_equal(spike.late_comm, "loop");
	spike = spike_from_record(&config, &(struct trigger_spike){ .late.tid = 8 });
	assert_int_equal(spike.late_policy, -1);
}

TEST(names_each_class)
{
	static const struct {
		struct trigger_noise_part part;
		const char *label;
	} rows[] = {
		{ { START, 5, TRIGGER_NOISE_IRQ, 236, "local_timer" }, "irq local_timer:236" },
		{ { START, 5, TRIGGER_NOISE_SOFTIRQ, 9, "" }, "softirq RCU:9" },
		{ { START, 5, TRIGGER_NOISE_SOFTIRQ, 10, "" }, "softirq ?:10" },
		{ { START, 5, TRIGGER_NOISE_THREAD, 1, "a-long-name-cut" },
		  "thread a-long-name-cut:1" },
		{ { START, 5, TRIGGER_NOISE_NMI, 0, "" }, "nmi" },
		{ { START - 1, 5, TRIGGER_NOISE_NMI, 0, "" }, "hardware" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct trigger_noise_parts parts = { .start = START,
							   .parts = { rows[i].part } };

		assert_string_equal(explain(&parts).label, rows[i].label);
	}
}

/* Replaces the trigger's: the second call has the thread's latency, the third that in user space.
 */
static int looks;

bool __wrap_trigger_read_latencies(const struct trigger *trigger, int cpu, uint64_t sequence,
				   struct trigger_latencies *latencies)
{
	looks++;
	assert_int_equal(cpu, 3);
	assert_int_equal(sequence, 7);
	*latencies = (struct trigger_latencies){
		.thread_ns = looks > 1 ? 90000 : 0,
		.user_ns = looks > 2 ? 95000 : 0,
		.noise = { .irq_ns = 10, .softirq_ns = 20, .thread_ns = 30, .nmi_ns = 40 },
	};
	return true;
}

static struct trigger_stacks seen; /* of spikes with a stack */

bool __wrap_trigger_read_stacks(const struct trigger *trigger, uint64_t sequence,
				struct trigger_stacks *stacks)
{
	*stacks = seen;
	return true;
}

/* arm64 needs the function's name, too, which is not known here. */
#ifdef __aarch64__
#define HELD_OFF -1
#else
#define HELD_OFF 1
#endif

int __wrap_trigger_read_code(const struct trigger *trigger, uint64_t address,
			     uint8_t code[TRIGGER_CODE_SIZE])
{
	static const uint8_t enables[TRIGGER_CODE_SIZE] = { [10] = 0xfb, 0x0f, 0x1f, 0x44 };

	memcpy(code, enables, sizeof(enables));
	return 0;
}

bool __wrap_trigger_has_noise(const struct trigger *trigger)
{
	return true;
}

static void check_latencies(enum perf_poke_trigger_kind wanted, bool poked, int expected_looks)
{
	struct capture *capture = fake_capture(7);

	looks = 0;
	memset(config.thresholds, 0, sizeof(config.thresholds));
	config.thresholds[wanted] = 1;
	env.trigger = (struct trigger *)&looks;
	capture->spike.poked = poked;
	write_capture(capture);
	assert_int_equal(looks, expected_looks);
	assert_int_equal(capture->spike.thread_ns, looks > 1 ? 90000 : 0);
	assert_int_equal(capture->spike.user_ns, looks > 2 ? 95000 : 0);
	assert_int_equal(capture->spike.has_noise, looks > 0);
	assert_int_equal(capture->spike.noise_irq_ns, looks ? 10 : 0);
	assert_int_equal(capture->spike.noise_softirq_ns, looks ? 20 : 0);
	assert_int_equal(capture->spike.noise_thread_ns, looks ? 30 : 0);
	assert_int_equal(capture->spike.noise_nmi_ns, looks ? 40 : 0);
	capture_free(&env, capture);
}

TEST_WITH(waits_for_the_late_thread, make_output, remove_output)
{
	check_latencies(PERF_POKE_TRIGGER_IRQ, false, 0);
	check_latencies(PERF_POKE_TRIGGER_THREAD, false, 2);
	check_latencies(PERF_POKE_TRIGGER_USER, false, 3);
	check_latencies(PERF_POKE_TRIGGER_USER, true, 0);
}

static int irqs_off(enum perf_poke_trigger_kind kind, bool idle,
		    const struct trigger_stacks *stacks)
{
	struct capture *capture = fake_capture(7);
	int irqs_off;

	seen = *stacks;
	env.trigger = (struct trigger *)&seen;
	capture->spike.kind = kind;
	capture->spike.idle = idle;
	write_capture(capture);
	irqs_off = capture->spike.irqs_off;
	capture_free(&env, capture);
	return irqs_off;
}

/* User space runs with interrupts on; unknown without a stack, and in the idle task. Of a late
 * thread, the code that the timer's interrupt hit counts. */
TEST_WITH(knows_if_interrupts_were_off, make_output, remove_output)
{
	const struct trigger_stacks none = {};
	const struct trigger_stacks user = { .spike.user_size = 8, .spike.user = { 0x10 } };
	const struct trigger_stacks kernel = { .spike.kernel_size = 8, .spike.kernel = { 0x10 } };
	const struct trigger_stacks holder = {
		.spike.user_size = 8,
		.spike.user = { 0x10 },
		.holder = { .since_ns = 1, .interrupted_size = 8, .interrupted = { 0x10 } },
	};

	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_IRQ, false, &user), 0);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_IRQ, false, &none), -1);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_THREAD, false, &user), -1);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_IRQ, false, &kernel), HELD_OFF);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_IRQ, true, &kernel), -1);
	assert_int_equal(irqs_off(PERF_POKE_TRIGGER_THREAD, false, &holder), HELD_OFF);
}

#define HIT 0x10
#define SWITCHED 0x20
#define TASK_TID 7

/* The address of the holder's first frame; 0: it has no stack. */
static uint64_t holder_at(const struct trigger_holder *holder, int last_tid)
{
	struct capture *capture = fake_capture(7);
	const struct perf_poke_spike *spike = &capture->spike;
	uint64_t address = 0;

	seen = (struct trigger_stacks){ .spike.tid = (uint32_t)last_tid, .holder = *holder };
	env.trigger = (struct trigger *)&seen;
	capture->spike.kind = PERF_POKE_TRIGGER_THREAD;
	write_capture(capture);
	if (spike->nr_holder_frames) {
		address = spike->holder[0]->address;
		assert_int_equal(spike->holder_tid, TASK_TID);
		assert_int_equal(spike->holder_interrupted, address != SWITCHED);
	}
	assert_true(address != HIT || (spike->nr_holder_frames == 1 && spike->holder[0]->user));
	capture_free(&env, capture);
	return address;
}

/* The interrupt hit user space; later the task was switched out in the kernel. */
TEST_WITH(tells_what_the_interrupt_hit_in_user_space, make_output, remove_output)
{
	struct trigger_holder holder = {
		.since_ns = 1,
		.pid = (uint32_t)getpid(),
		.tid = TASK_TID,
		.user_address = HIT,
		.stack = { .kernel_size = 8, .kernel = { SWITCHED }, .tid = TASK_TID },
	};

	assert_int_equal(holder_at(&holder, TASK_TID), HIT);
	assert_int_equal(holder_at(&holder, TASK_TID + 1), HIT);
	/* The process has ended. */
	holder.pid = UINT32_MAX;
	assert_int_equal(holder_at(&holder, TASK_TID), 0);
	assert_int_equal(holder_at(&holder, TASK_TID + 1), SWITCHED);
	/* It is not known what was hit. */
	holder.pid = (uint32_t)getpid();
	holder.user_address = 0;
	assert_int_equal(holder_at(&holder, TASK_TID), 0);
	/* The kernel was hit, in a system call from that address. */
	holder.user_address = HIT;
	holder.interrupted_size = 8;
	holder.interrupted[0] = HIT + SWITCHED;
	assert_int_equal(holder_at(&holder, TASK_TID), HIT + SWITCHED);
	/* The interrupt was late itself, so the whole stack is from there. */
	holder.interrupted_size = holder.stack.kernel_size = 0;
	holder.at_interrupt = 1;
	assert_int_equal(holder_at(&holder, TASK_TID), 0);
	holder.stack.kernel_size = 8;
	holder.stack.kernel[0] = HIT + SWITCHED;
	assert_int_equal(holder_at(&holder, TASK_TID), HIT + SWITCHED);
}

/* Of a thread that did not run at the spike the trigger has the TID. */
TEST_WITH(finds_the_late_thread, make_output, remove_output)
{
	struct capture *capture = fake_capture(7);
	struct perf_poke_spike *spike = &capture->spike;
	char comm[16];

	assert_int_equal(prctl(PR_GET_NAME, comm), 0);
	spike->late_tid = spike->tid = gettid();
	spike->pid = 0;
	spike->late_policy = -1;
	spike->late_nice = 77;
	write_capture(capture);
	assert_int_equal(spike->late_pid, getpid());
	assert_int_equal(spike->pid, getpid());
	assert_string_equal(spike->late_comm, comm);
	assert_string_equal(spike->comm, comm);
	assert_int_equal(spike->late_policy, sched_getscheduler(0));
	assert_int_equal(spike->late_nice, getpriority(PRIO_PROCESS, 0));
	capture_free(&env, capture);
}
