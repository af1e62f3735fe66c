// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The threads that triggers watch, on kernels with more or fewer symbols. The test provides the
 * only process. */
#include "trigger/trigger_internal.h"

#include "helpers.h"
#include "messages.h"
#include "task.h"

#define PID 1
#define FIRST_NAMESPACE_PID 5001

int __wrap_trigger_find_task(int pid, struct poke_target *task)
{
	if (pid != PID)
		return -ESRCH;
	task->tid = FIRST_NAMESPACE_PID;
	return 0;
}

/* The address of a function whose name begins with that letter. */
static struct kernel {
	char hidden;
	bool samples;
} kernel;

int __wrap_kallsyms_find(const char *name, uint64_t *address)
{
	if (*name == kernel.hidden)
		return -ENOENT;
	*address = (uint64_t)*name;
	return 0;
}

bool __wrap_tracefs_has_event(const char *name)
{
	return kernel.samples;
}

int __wrap_tracefs_open(void)
{
	return folder ? dup(folder->fd) : -ENODEV;
}

static int configure(const char *task, struct trigger_threads *threads, struct messages *messages)
{
	const struct config config = {
		.opts.task = task,
		.thresholds[PERF_POKE_TRIGGER_WAKEUP] = 1,
		.log = { messages_add, messages },
	};

	*threads = (struct trigger_threads){};
	*messages = (struct messages){};
	return threads_configure(&config, threads);
}

TEST(finds_a_task)
{
	struct trigger_threads threads;
	struct messages messages;
	char comm[TASK_COMM_SIZE];

	assert_int_equal(configure("1", &threads, &messages), 0);
	assert_int_equal(threads.wakeup_pid, FIRST_NAMESPACE_PID);
	assert_int_equal(configure("007x", &threads, &messages), 0);
	assert_string_equal(threads.wakeup_comm, "007x");
	assert_int_equal(threads.wakeup_pid, 0);
	/* It may start later. */
	assert_string_equal(messages.text, "task '007x': no task has this name yet");
	assert_int_equal(messages.level, PERF_POKE_LOG_WARN);
	assert_int_equal(task_read_comm(getpid(), comm), 0);
	assert_int_equal(configure(comm, &threads, &messages), 0);
	assert_int_equal(messages.nr, 0);
	assert_int_equal(configure("2", &threads, &messages), -ESRCH);
	assert_int_equal(configure("a name of sixteen", &threads, &messages), -EINVAL);
}

/* 4294967297 is 1 in 32 bits. */
TEST(refuses_large_numbers)
{
	static const char *const large[] = { "4294967297", "2147483648", "18446744073709551617" };
	struct trigger_threads threads;
	struct messages messages;
	char said[80];

	for (size_t i = 0; i < ARRAY_SIZE(large); i++) {
		assert_int_equal(configure(large[i], &threads, &messages), -EINVAL);
		snprintf(said, sizeof(said), "task %s: thread IDs go up to 2147483647", large[i]);
		assert_string_equal(messages.text, said);
		assert_int_equal(threads.wakeup_pid, 0);
	}
}

static int use(enum perf_poke_trigger_kind kind, enum perf_poke_workload workload,
	       struct kernel with, struct trigger_threads *threads)
{
	struct messages messages = {};
	struct config config = {
		.workload = workload,
		.log = { messages_add, &messages },
	};
	int err;

	config.thresholds[kind] = 1;
	kernel = with;
	*threads = (struct trigger_threads){};
	err = kind == PERF_POKE_TRIGGER_USER ? user_check_kernel(&config) : 0;
	if (!err)
		err = threads_configure(&config, threads);
	assert_int_equal(messages.nr, err ? 1 : 0);
	return err;
}

/* timerlat's timers are recognised by their callback or, if its address is hidden, by samples. */
TEST_IN_FOLDER(watches_threads_in_user_space)
{
	struct trigger_threads threads;

	assert_int_equal(use(PERF_POKE_TRIGGER_USER, PERF_POKE_WORKLOAD_TIMERLAT, (struct kernel){},
			     &threads),
			 -EOPNOTSUPP);
	put_file(folder->fd, "osnoise/per_cpu/x", "");
	assert_int_equal(
		use(PERF_POKE_TRIGGER_USER, PERF_POKE_WORKLOAD_NONE, (struct kernel){}, &threads),
		-EINVAL);
	assert_int_equal(
		use(PERF_POKE_TRIGGER_USER, PERF_POKE_WORKLOAD_USER, (struct kernel){}, &threads),
		0);
	assert_int_equal(threads.timerlat_irq, 't');
	assert_false(threads.samples || threads.noise);
	assert_int_equal(use(PERF_POKE_TRIGGER_USER, PERF_POKE_WORKLOAD_USER,
			     (struct kernel){ .hidden = 't' }, &threads),
			 -EOPNOTSUPP);
	assert_int_equal(use(PERF_POKE_TRIGGER_USER, PERF_POKE_WORKLOAD_USER,
			     (struct kernel){ .hidden = 't', .samples = true }, &threads),
			 0);
	assert_int_equal(threads.timerlat_irq, 0);
	assert_true(threads.samples && threads.noise);
}

/* Sleeping threads are recognised by the callback of their timers. */
TEST(watches_threads_that_sleep)
{
	const struct kernel hides = { .hidden = 'h', .samples = true };
	struct trigger_threads threads;

	assert_int_equal(use(PERF_POKE_TRIGGER_THREAD, PERF_POKE_WORKLOAD_CYCLIC, (struct kernel){},
			     &threads),
			 0);
	assert_int_equal(threads.hrtimer_wakeup, 'h');
	assert_true(threads.claimed);
	assert_int_equal(
		use(PERF_POKE_TRIGGER_THREAD, PERF_POKE_WORKLOAD_NONE, (struct kernel){}, &threads),
		0);
	assert_false(threads.claimed);
	assert_int_equal(use(PERF_POKE_TRIGGER_THREAD, PERF_POKE_WORKLOAD_NONE, hides, &threads),
			 -EOPNOTSUPP);
	assert_int_equal(
		use(PERF_POKE_TRIGGER_THREAD, PERF_POKE_WORKLOAD_TIMERLAT, hides, &threads), 0);
	assert_true(threads.samples);
	assert_int_equal(use(PERF_POKE_TRIGGER_IRQ, PERF_POKE_WORKLOAD_NONE, hides, &threads), 0);
	assert_false(threads.samples);
}
