// SPDX-License-Identifier: GPL-2.0-only
#include "facts/senders.h"

#include "decode/events/made_tracepoints.h"
#include "test.h"

#include <string.h>

enum { SEND = 1, QUEUE, WORK, OTHER };

#define CPU_FIELD MADE_FIELD("unsigned int cpu", 8, 4, 0)
static const struct made_format formats[] = {
	{ "ipi:ipi_send_cpu", MADE_FORMAT("ipi_send_cpu", 1, CPU_FIELD, "\"\""), SEND },
	{ "csd:csd_queue_cpu",
	  MADE_FORMAT("csd_queue_cpu", 2, CPU_FIELD MADE_FIELD("void * func", 16, 8, 0), "\"\""),
	  QUEUE },
	{ "workqueue:workqueue_queue_work",
	  MADE_FORMAT("workqueue_queue_work", 3,
		      MADE_FIELD("int cpu", 8, 4, 1) MADE_FIELD("void * function", 16, 8, 0),
		      "\"\""),
	  WORK },
	{ "sched:sched_wakeup", MADE_FORMAT("sched_wakeup", 4, CPU_FIELD, "\"\""), OTHER },
};

static struct made_sample sent(uint16_t id, uint64_t time, uint32_t to, uint64_t function)
{
	const struct {
		uint32_t cpu, reserved;
		uint64_t function;
	} fields = { to, 0, function };

	return made_sample(id, time, (uint32_t)time, &fields, sizeof(fields));
}

static void read_all(struct senders *senders, const struct made_sample *samples, size_t nr, int cpu,
		     uint64_t begin)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = made_tracepoints_open(
		folder, formats, ARRAY_SIZE(formats), samples, nr,
		"ffffffff81000000 T ipi_mb\nffffffff81000100 T vmstat_update\n");
	struct tracepoint_event event;

	*senders = (struct senders){ 0 };
	while (tracepoints_next(tracepoints, &event)) {
		if (event.time >= begin)
			senders_take(senders, tracepoints, &event, cpu);
	}
	senders_name(senders, tracepoints_file(tracepoints));
}

TEST_IN_FOLDER(finds_who_asked_this_cpu)
{
	const struct made_sample samples[] = {
		sent(QUEUE, 5, 3, 0xffffffff81000000),
		sent(QUEUE, 10, 3, 0xffffffff81000000),
		sent(SEND, 11, 3, 0),
		sent(QUEUE, 12, 2, 0xffffffff81000000),
		sent(WORK, 13, 3, 0xffffffff81000100),
		sent(OTHER, 14, 3, 0),
		sent(SEND, 15, 2, 0),
		sent(QUEUE, 16, 3, 0x1234),
		sent(QUEUE, 20, 3, 0xffffffff81000000),
	};
	struct senders senders;

	read_all(&senders, samples, ARRAY_SIZE(samples), 3, 7);
	assert_int_equal(senders.nr, 5);
	/* The newest one before it with the same function. */
	assert_int_equal(senders_find(&senders, 18, "ipi_mb")->tid, 10);
	assert_int_equal(senders_find(&senders, 20, "ipi_mb")->tid, 20);
	assert_false(senders_find(&senders, 20, "ipi_mb")->queued);
	assert_int_equal(senders_find(&senders, 18, "vmstat_update")->tid, 13);
	assert_true(senders_find(&senders, 18, "vmstat_update")->queued);
	assert_null(senders_find(&senders, 9, "ipi_mb"));
	assert_null(senders_find(&senders, 18, "other"));
	/* The function is unknown or not recorded. */
	assert_int_equal(senders_find(&senders, 15, NULL)->tid, 11);
	assert_int_equal(senders_find(&senders, 18, NULL)->tid, 16);
}

/* Functions that only send are left out. */
TEST_IN_FOLDER(names_callers)
{
	static const uint64_t frames[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000200,
					   0xffffffff81000000, 0xffffffff81000100 };
	const struct made_sample sample = sent(SEND, 10, 3, 0);
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints =
		made_tracepoints_open(folder, formats, ARRAY_SIZE(formats), &sample, 1,
				      "ffffffff81000000 T ipi_mb\n"
				      "ffffffff81000100 T vmstat_update\n"
				      "ffffffff81000200 T smp_call_function_single\n");
	struct senders senders = { 0 };
	struct tracepoint_event event;

	assert_true(tracepoints_next(tracepoints, &event));
	event.callchain = (struct perfdata_bytes){ (const uint8_t *)frames, sizeof(frames) };
	senders_take(&senders, tracepoints, &event, 3);
	assert_int_equal(senders.rows[0].nr_callers, 2);
	assert_string_equal(senders.rows[0].callers[0], "ipi_mb");
	assert_string_equal(senders.rows[0].callers[1], "vmstat_update");
}

TEST_IN_FOLDER(names_who_asked)
{
	const struct made_sample samples[] = {
		made_comm(10, "before"),
		sent(SEND, 10, 3, 0),
		sent(SEND, 11, 3, 0),
		made_comm(12, "another"),
		made_comm(10, "as long as it is"),
	};
	struct senders senders;

	read_all(&senders, samples, ARRAY_SIZE(samples), 3, 0);
	assert_string_equal(senders_find(&senders, 10, NULL)->task, "as long as it i");
	assert_string_equal(senders_find(&senders, 11, NULL)->task, "");
}

TEST_IN_FOLDER(keeps_the_newest)
{
	struct made_sample samples[SENDERS_MAX + 5];
	struct senders senders;

	for (uint32_t i = 0; i < ARRAY_SIZE(samples); i++)
		samples[i] = sent(SEND, i + 1, 3, 0);
	read_all(&senders, samples, ARRAY_SIZE(samples), 3, 0);
	assert_int_equal(senders.nr, ARRAY_SIZE(samples));
	assert_int_equal(senders_find(&senders, UINT64_MAX, NULL)->tid, ARRAY_SIZE(samples));
	assert_null(senders_find(&senders, 5, NULL));
	assert_non_null(senders_find(&senders, 6, NULL));
}

TEST(says_who_it_was)
{
	struct sender sender = { .cpu = 0, .tid = 1234, .task = "gpu-poller" };
	_cleanup_free_ char *text = NULL;

	strcpy(sender.callers[0], "membarrier_private_expedited");
	strcpy(sender.callers[1], "__x64_sys_membarrier");
	sender.nr_callers = 2;
	text = WRITTEN(file, sender_put(file, &sender);
		       sender_put(file, &(struct sender){ .cpu = 2 }));
	assert_string_equal(text, ", sent by CPU 0, task 1234 gpu-poller, from "
				  "membarrier_private_expedited() < __x64_sys_membarrier()"
				  ", sent by CPU 2, idle");
}
