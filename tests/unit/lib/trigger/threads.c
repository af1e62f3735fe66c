// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Whom the trigger wakeup watches. There is one process, which this test looks up itself. */
#include "trigger/threads.h"

#include <string.h>

#include "messages.h"
#include "test.h"
#include "trigger/target.h"

#define PID 1
#define FIRST_NAMESPACE_PID 5001

int __wrap_target_find(int pid, struct poke_target *task)
{
	if (pid != PID)
		return -ESRCH;
	task->tid = FIRST_NAMESPACE_PID;
	return 0;
}

static int configure(const char *task, struct trigger_threads *threads, struct messages *messages)
{
	const struct config config = {
		.task = (char *)task,
		.thresholds[TRIGGER_WAKEUP] = 1,
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

	assert_int_equal(configure("1", &threads, &messages), 0);
	assert_int_equal(threads.wakeup_pid, FIRST_NAMESPACE_PID);
	assert_int_equal(configure("007x", &threads, &messages), 0);
	assert_string_equal(threads.wakeup_comm, "007x");
	assert_int_equal(threads.wakeup_pid, 0);
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
