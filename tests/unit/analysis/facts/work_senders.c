// SPDX-License-Identifier: GPL-2.0-only
#include "facts/work_senders.h"

#include "analysis/events/made_tracepoints.h"
#include "test.h"

#include <string.h>

enum { SEND = 1, QUEUE, WORK, OTHER, MASK, KICK };

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
	{ "ipi:ipi_send_cpumask",
	  MADE_FORMAT("ipi_send_cpumask", 5,
		      MADE_FIELD("__data_loc cpumask_t cpumask", 8, 4, 0)
			      MADE_FIELD("void * callback", 16, 8, 0),
		      "\"\""),
	  MASK },
};
/* Since Linux 6.4 */
static const struct made_format with_callback[] = {
	{ "ipi:ipi_send_cpu",
	  MADE_FORMAT("ipi_send_cpu", 6, CPU_FIELD MADE_FIELD("void * callback", 16, 8, 0), "\"\""),
	  KICK },
};

static struct senders senders;

static const struct sender *find(uint64_t at, const char *function)
{
	return senders_find(&senders, &(struct senders_want){ .at = at, .function = function });
}

static const struct sender *find_kind(uint64_t at, enum sender_kind kind)
{
	return senders_find(&senders, &(struct senders_want){ .at = at, .kind = kind });
}

static struct made_sample sent(uint16_t id, uint64_t time, uint32_t to, uint64_t function)
{
	const struct {
		uint32_t cpu, reserved;
		uint64_t function;
	} fields = { to, 0, function };

	return made_sample(id, time, (uint32_t)time, &fields, sizeof(fields));
}

static struct made_sample sent_to_mask(uint64_t time, uint64_t low, uint64_t high, uint16_t size)
{
	const struct {
		uint16_t at, size;
		uint32_t reserved;
		uint64_t callback, mask[2];
	} fields = { 24, size, 0, 0xffffffff81000200, { low, high } };

	return made_sample(MASK, time, (uint32_t)time, &fields, sizeof(fields));
}

static void read_again(int cpu, uint64_t begin)
{
	const struct sample_window window = { .end = UINT64_MAX };
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	_cleanup_free_ char *data = NULL;
	struct tracepoint_event event;
	char *why = NULL;

	assert_int_not_equal(asprintf(&data, "%s/perf.data", folder->path), -1);
	assert_int_equal(tracepoints_open(&tracepoints, data, &window, &why), 0);
	senders = (struct senders){ 0 };
	while (tracepoints_next(tracepoints, &event)) {
		if (event.time >= begin)
			senders_add_event(&senders, tracepoints, &event, cpu);
	}
	senders_add_names(&senders, tracepoints);
}

static void read_all(const struct made_sample *samples, size_t nr, int cpu, uint64_t begin)
{
	made_tracepoints(folder, formats, ARRAY_SIZE(formats), samples, nr);
	put_file(folder->fd, "perf.data/kcore_dir/kallsyms",
		 "ffffffff81000000 T ipi_mb\nffffffff81000100 T vmstat_update\n");
	read_again(cpu, begin);
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
		/* Work that nobody can name is no interrupt. */
		sent(WORK, 17, 3, 0x1234),
		sent(QUEUE, 20, 3, 0xffffffff81000000),
	};
	read_all(samples, ARRAY_SIZE(samples), 3, 7);
	assert_int_equal(senders.nr, 6);
	/* The newest one before it with the same function. */
	assert_int_equal(find(18, "ipi_mb")->tid, 10);
	assert_int_equal(find(20, "ipi_mb")->tid, 20);
	assert_false(find(20, "ipi_mb")->kind == SENDER_OF_WORK);
	assert_int_equal(find(18, "vmstat_update")->tid, 13);
	assert_true(find(18, "vmstat_update")->kind == SENDER_OF_WORK);
	assert_null(find(9, "ipi_mb"));
	assert_null(find(18, "other"));
	/* The function is unknown or not recorded. */
	assert_int_equal(find(15, NULL)->tid, 11);
	assert_int_equal(find(18, NULL)->tid, 11);
	assert_int_equal(find_kind(18, SENDER_OF_CALL)->tid, 16);
}

/* What another CPU was sent is nothing of this one. */
TEST_IN_FOLDER(looks_at_the_mask)
{
	const struct made_sample samples[] = {
		sent_to_mask(10, 1 << 3, 0, 16),
		sent_to_mask(11, 1 << 2, 0, 16),
		sent_to_mask(12, 0, 1 << 3, 16),
		/* It cannot be read: outside of the event, or no such field. */
		sent_to_mask(13, 1 << 3, 0, 200),
	};

	read_all(samples, ARRAY_SIZE(samples), 3, 0);
	assert_int_equal(senders.nr, 1);
	assert_int_equal(find_kind(20, SENDER_OF_CALL)->tid, 10);
	read_again(67, 0);
	assert_int_equal(senders.nr, 1);
	assert_int_equal(find_kind(20, SENDER_OF_CALL)->tid, 12);
	read_again(200, 0);
	assert_int_equal(senders.nr, 0);
}

/* By the callback: of a reschedule there is none, and of work in interrupts a CPU asks itself. */
TEST_IN_FOLDER(tells_kinds_of_interrupts_apart)
{
	const struct made_sample samples[] = {
		sent(KICK, 10, 0, 0),
		sent(KICK, 11, 0, 0xffffffff81000200),
		sent(KICK, 12, 1, 0xffffffff81000200),
	};

	/* Samples are of CPU 0. */
	made_tracepoints(folder, with_callback, 1, samples, ARRAY_SIZE(samples));
	put_file(folder->fd, "perf.data/kcore_dir/kallsyms", "");
	read_again(0, 0);
	assert_int_equal(find_kind(20, SENDER_OF_RESCHEDULE)->tid, 10);
	assert_int_equal(find_kind(20, SENDER_OF_IRQ_WORK)->tid, 11);
	assert_null(find_kind(20, SENDER_OF_CALL));
	read_again(1, 0);
	assert_int_equal(find_kind(20, SENDER_OF_CALL)->tid, 12);
	assert_null(find_kind(20, SENDER_OF_RESCHEDULE));
}

/* Times of a trace may be too early: then an older sender may not be the right one. */
TEST_IN_FOLDER(doubts_what_the_trace_may_not_show)
{
	const struct made_sample samples[] = {
		sent(SEND, 10, 3, 0),
		sent(SEND, 15, 3, 0),
		sent(SEND, 40, 3, 0),
	};
	struct senders_want want = { .at = 12, .step_ns = 2 };

	read_all(samples, ARRAY_SIZE(samples), 3, 0);
	assert_int_equal(senders_find(&senders, &want)->tid, 10);
	want.step_ns = 3;
	assert_null(senders_find(&senders, &want));
	want.at = 5;
	want.step_ns = 6;
	assert_int_equal(senders_find(&senders, &want)->tid, 10);
}

/* Of a session in a PID namespace perf knows tasks by other IDs, or not at all. */
TEST_IN_FOLDER(takes_ids_of_the_kernel)
{
	struct made_sample samples[] = { sent(SEND, 10, 3, 0), sent(SEND, 11, 3, 0),
					 made_comm(7, "inside"), made_comm(1210, "wrong") };

	samples[0].raw.pid = 1210;
	samples[0].pid = samples[0].tid = 7;
	samples[1].raw.pid = 1211;
	samples[1].pid = samples[1].tid = 0;
	read_all(samples, ARRAY_SIZE(samples), 3, 0);
	assert_int_equal(find(10, NULL)->tid, 1210);
	assert_int_equal(find(10, NULL)->pid, -1);
	assert_string_equal(find(10, NULL)->task, "inside");
	assert_int_equal(find(11, NULL)->tid, 1211);
	assert_string_equal(find(11, NULL)->task, "");
}

/* Functions that only send are left out. */
TEST_IN_FOLDER(names_callers)
{
	/* The call of ipi_mb() is the last instruction before another function. */
	static const uint64_t frames[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000200,
					   0xffffffff81000080, 0xffffffff81000110 };
	const struct made_sample sample = sent(SEND, 10, 3, 0);
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints =
		made_tracepoints_open(folder, formats, ARRAY_SIZE(formats), &sample, 1,
				      "ffffffff81000000 T ipi_mb\n"
				      "ffffffff81000080 T behind_it\n"
				      "ffffffff81000100 T vmstat_update\n"
				      "ffffffff81000200 T smp_call_function_single\n");
	struct tracepoint_event event;

	senders = (struct senders){ 0 };
	assert_true(tracepoints_next(tracepoints, &event));
	event.callchain = (struct perfdata_bytes){ (const uint8_t *)frames, sizeof(frames) };
	senders_add_event(&senders, tracepoints, &event, 3);
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
	read_all(samples, ARRAY_SIZE(samples), 3, 0);
	assert_string_equal(find(10, NULL)->task, "as long as it i");
	assert_string_equal(find(11, NULL)->task, "");
}

TEST_IN_FOLDER(keeps_the_newest)
{
	struct made_sample samples[SENDERS_MAX + 5];
	for (uint32_t i = 0; i < ARRAY_SIZE(samples); i++)
		samples[i] = sent(SEND, i + 1, 3, 0);
	read_all(samples, ARRAY_SIZE(samples), 3, 0);
	assert_int_equal(senders.nr, ARRAY_SIZE(samples));
	assert_int_equal(find(UINT64_MAX, NULL)->tid, ARRAY_SIZE(samples));
	assert_null(find(5, NULL));
	assert_non_null(find(6, NULL));
}

TEST(says_who_it_was)
{
	struct sender sender = { .cpu = 0, .tid = 1234, .task = "gpu-poller" };
	_cleanup_free_ char *text = NULL;

	strcpy(sender.callers[0], "membarrier_private_expedited");
	strcpy(sender.callers[1], "__x64_sys_membarrier");
	sender.nr_callers = 2;
	text = WRITTEN(file, sender_put_text(file, &sender);
		       sender_put_text(file, &(struct sender){ .cpu = 2 }));
	assert_string_equal(text, ", sent by CPU 0, task 1234 gpu-poller, from "
				  "membarrier_private_expedited() < __x64_sys_membarrier()"
				  ", sent by CPU 2, idle");
}
