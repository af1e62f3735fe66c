// SPDX-License-Identifier: GPL-2.0-only
#include "facts/spans.h"

#include "analysis/events/made_tracepoints.h"
#include "test.h"

#include <inttypes.h>
#include <string.h>

enum {
	TIMER_ENTRY = 1,
	TIMER_EXIT,
	WORK_ENTRY,
	SOFTIRQ_ENTRY,
	SOFTIRQ_EXIT,
	IRQ_ENTRY,
	IRQ_EXIT,
	EXPIRE_ENTRY,
	EXPIRE_EXIT,
	SWITCH,
	WAKEUP,
	IDLE,
	FREQUENCY,
	SEND,
	TASKLET_ENTRY,
	TASKLET_EXIT,
	CALLBACK_ENTRY,
	CALLBACK_EXIT,
	WORK_START,
	WORK_END,
	HRTIMER_START,
	HRTIMER_REARM,
	IPI_ENTRY,
	IPI_EXIT,
};

#define VECTOR MADE_FIELD("int vector", 8, 4, 1)
#define SOFTIRQ MADE_FIELD("unsigned int vec", 8, 4, 0)
#define IRQ MADE_FIELD("int irq", 8, 4, 1)
#define TASKLET MADE_FIELD("void * tasklet", 8, 8, 0) MADE_FIELD("void * func", 16, 8, 0)
#define WORK MADE_FIELD("void * work", 8, 8, 0) MADE_FIELD("void * function", 16, 8, 0)
#define REASON MADE_FIELD("const char * reason", 8, 8, 0)
#define POWER MADE_FIELD("u32 state", 8, 4, 0) MADE_FIELD("u32 cpu_id", 12, 4, 0)
static const struct made_format formats[] = {
	{ "irq_vectors:local_timer_entry", MADE_FORMAT("local_timer_entry", 1, VECTOR, "\"\""), 1 },
	{ "irq_vectors:local_timer_exit", MADE_FORMAT("local_timer_exit", 2, VECTOR, "\"\""), 2 },
	{ "irq_vectors:irq_work_entry", MADE_FORMAT("irq_work_entry", 3, VECTOR, "\"\""), 3 },
	{ "irq:softirq_entry", MADE_FORMAT("softirq_entry", 4, SOFTIRQ, "\"\""), 4 },
	{ "irq:softirq_exit", MADE_FORMAT("softirq_exit", 5, SOFTIRQ, "\"\""), 5 },
	{ "irq:irq_handler_entry",
	  MADE_FORMAT("irq_handler_entry", 6, IRQ MADE_FIELD("__data_loc char[] name", 12, 4, 0),
		      "\"\""),
	  6 },
	{ "irq:irq_handler_exit", MADE_FORMAT("irq_handler_exit", 7, IRQ, "\"\""), 7 },
	{ "timer:hrtimer_expire_entry",
	  MADE_FORMAT("hrtimer_expire_entry", 8, MADE_FIELD("void * function", 8, 8, 0), "\"\""),
	  8 },
	{ "timer:hrtimer_expire_exit",
	  MADE_FORMAT("hrtimer_expire_exit", 9, MADE_FIELD("void * hrtimer", 8, 8, 0), "\"\""), 9 },
	{ "sched:sched_switch",
	  MADE_FORMAT("sched_switch", 10,
		      MADE_FIELD("char prev_comm[16]", 8, 16, 0)
			      MADE_FIELD("char next_comm[16]", 24, 16, 0)
				      MADE_FIELD("pid_t next_pid", 40, 4, 1),
		      "\"\""),
	  10 },
	{ "sched:sched_wakeup",
	  MADE_FORMAT("sched_wakeup", 11, MADE_FIELD("char comm[16]", 8, 16, 0), "\"\""), 11 },
	{ "power:cpu_idle", MADE_FORMAT("cpu_idle", 12, POWER, "\"\""), 12 },
	{ "power:cpu_frequency", MADE_FORMAT("cpu_frequency", 13, POWER, "\"\""), 13 },
	{ "ipi:ipi_send_cpu",
	  MADE_FORMAT("ipi_send_cpu", 14, MADE_FIELD("unsigned int cpu", 8, 4, 0), "\"\""), 14 },
	{ "irq:tasklet_entry", MADE_FORMAT("tasklet_entry", 15, TASKLET, "\"\""), 15 },
	{ "irq:tasklet_exit", MADE_FORMAT("tasklet_exit", 16, TASKLET, "\"\""), 16 },
	{ "timer:timer_expire_entry",
	  MADE_FORMAT("timer_expire_entry", 17, MADE_FIELD("void * function", 8, 8, 0), "\"\""),
	  17 },
	{ "timer:timer_expire_exit",
	  MADE_FORMAT("timer_expire_exit", 18, MADE_FIELD("void * timer", 8, 8, 0), "\"\""), 18 },
	{ "workqueue:workqueue_execute_start",
	  MADE_FORMAT("workqueue_execute_start", 19, WORK, "\"\""), 19 },
	{ "workqueue:workqueue_execute_end", MADE_FORMAT("workqueue_execute_end", 20, WORK, "\"\""),
	  20 },
	{ "timer:hrtimer_start",
	  MADE_FORMAT("hrtimer_start", 21,
		      MADE_FIELD("void * hrtimer", 8, 8, 0) MADE_FIELD("s64 softexpires", 16, 8, 1),
		      "\"\""),
	  21 },
	{ "timer:hrtimer_rearm",
	  MADE_FORMAT("hrtimer_rearm", 22,
		      MADE_FIELD("s64 next_event", 8, 8, 1) MADE_FIELD("bool deferred", 16, 1, 0),
		      "\"\""),
	  22 },
	{ "ipi:ipi_entry", MADE_FORMAT("ipi_entry", 23, REASON, "\"\""), 23 },
	{ "ipi:ipi_exit", MADE_FORMAT("ipi_exit", 24, REASON, "\"\""), 24 },
};

/* Of task 7, with one number. */
static struct made_sample event(uint16_t id, uint64_t time, uint64_t number)
{
	return made_sample(id, time, 7, &number, sizeof(number));
}

static struct made_sample handler(uint64_t time, uint32_t irq, const char *name)
{
	struct {
		uint32_t irq;
		uint16_t at, size;
		char name[16];
	} fields = { irq, 16, 16, "" };

	snprintf(fields.name, sizeof(fields.name), "%s", name);
	return made_sample(IRQ_ENTRY, time, 7, &fields, sizeof(fields));
}

static struct made_sample switched(uint64_t time, uint32_t tid, const char *previous,
				   const char *next, int32_t next_tid)
{
	struct {
		char previous[16], next[16];
		int32_t next_tid;
	} fields = { .next_tid = next_tid };

	snprintf(fields.previous, sizeof(fields.previous), "%s", previous);
	snprintf(fields.next, sizeof(fields.next), "%s", next);
	return made_sample(SWITCH, time, tid, &fields, sizeof(fields));
}

/* The function of a tasklet or of a work item */
static struct made_sample function(uint16_t id, uint64_t time, uint64_t address)
{
	const uint64_t fields[] = { 0xffff888000000000, address };

	return made_sample(id, time, 7, fields, sizeof(fields));
}

static struct senders senders;

static int read_events(struct spans *spans, const struct made_sample *samples, size_t nr,
		       uint64_t begin)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = made_tracepoints_open(
		folder, formats, ARRAY_SIZE(formats), samples, nr,
		"ffffffff81000000 T tick_nohz_handler\nffffffff81000100 T other\n");

	_cleanup_(schedule_release) struct schedule schedule = { 0 };

	senders = (struct senders){ 0 };
	return events_spans_read(tracepoints, 0, begin, 90, spans, &senders, &schedule);
}

/* As `0 interrupt local_timer 1-2`, a line each. */
static void check_lane(const struct spans *spans, enum lane_number number, const char *expected)
{
	const struct lane *lane = &spans->lanes[number];
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	for (uint32_t i = 0; i < lane->nr; i++)
		fprintf(file, "%d %s %s %" PRIu64 "-%" PRIu64 "%s\n", lane->spans[i].depth,
			span_kind_name((enum span_kind)lane->spans[i].kind),
			names_get(spans->names, lane->spans[i].name), lane->spans[i].begin,
			lane->spans[i].end, lane->spans[i].cut ? " cut" : "");
	fclose(file);
	assert_string_equal(text, expected);
}

TEST_IN_FOLDER(reads_events)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		event(TIMER_EXIT, 1, 236),
		event(TIMER_ENTRY, 10, 236),
		event(EXPIRE_ENTRY, 11, 0xffffffff81000000),
		handler(20, 24, "eth 0"),
		event(IRQ_EXIT, 22, 24),
		event(EXPIRE_EXIT, 25, 1),
		event(TIMER_EXIT, 30, 236),
		event(SOFTIRQ_ENTRY, 31, 3),
		event(SOFTIRQ_EXIT, 40, 3),
		event(SOFTIRQ_ENTRY, 41, 77),
		event(EXPIRE_ENTRY, 42, 0x123),
		event(SOFTIRQ_EXIT, 43, 77),
		switched(50, 7, "a b", "swapper/3", 0),
		made_sample(WORK_ENTRY, 60, 0, "", 0),
		switched(70, 0, "swapper/3", "x\n==> next_pid=", 9),
		event(WAKEUP, 80, 0),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	check_lane(spans, LANE_CODE,
		   "0 interrupt local_timer 10-30\n"
		   "1 function tick_nohz_handler 11-25\n"
		   "2 interrupt irq 24 eth 0 20-22\n"
		   "0 softirq NET_RX 31-40\n"
		   "0 softirq 0x4d 41-43\n"
		   "1 function 0x123 42-43\n"
		   "0 interrupt irq_work 60-70\n");
	check_lane(spans, LANE_TASKS,
		   "0 thread a b 7 1-50\n"
		   "0 idle swapper/0 50-70\n"
		   "0 thread x ==> next_pid= 9 70-80\n"
		   "0 thread tid 7 80-90 cut\n");
	assert_int_equal(spans->begin, 1);
	assert_int_equal(spans->end, 90);
	assert_false(spans->has_functions);
}

/* The handler of each is the same, and ends after the interrupt. */
TEST_IN_FOLDER(names_interrupts_from_other_cpus)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		handler(10, 2, "IPI"),	       event(IPI_ENTRY, 11, 0x8000),
		event(IPI_EXIT, 20, 0x8000),   event(IRQ_EXIT, 21, 2),
		event(IPI_ENTRY, 30, 0x9000),  event(TIMER_ENTRY, 31, 236),
		event(IPI_EXIT, 40, 0x9000),   handler(50, 2, "IPI"),
		event(IPI_ENTRY, 51, 0x12345), event(IPI_EXIT, 52, 0x12345),
		event(IRQ_EXIT, 53, 2),	       handler(60, 2, "IPI"),
		event(IPI_ENTRY, 61, 0xa000),  event(IPI_EXIT, 62, 0xa000),
		event(IRQ_EXIT, 63, 2),
	};

	put_file(folder->fd, "printk_formats",
		 "0x8000 : \"Function call interrupts\"\n0x9000 : \"Rescheduling interrupts\"\n"
		 "0xa000 : \"%s: unknown\"\n0x12345 : \"cut");
	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	check_lane(spans, LANE_CODE,
		   "0 interrupt call_function 10-20\n"
		   "0 interrupt reschedule 30-40\n"
		   "1 interrupt local_timer 31-40\n"
		   "0 interrupt irq 2 IPI 50-53\n"
		   "0 interrupt irq 2 IPI 60-63\n");
}

static void check_spans_at_gap(uint64_t begin, const char *code, const char *tasks,
			       const char *gaps)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		switched(10, 7, "a b", "c", 9),
		made_sample(TIMER_ENTRY, 20, 9, &(uint64_t){ 236 }, 8),
		switched(60, 8, "d", "e", 7),
		made_lost(60, SWITCH, 0, 5),
		event(TIMER_ENTRY, 70, 236),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), begin), 0);
	check_lane(spans, LANE_CODE, code);
	check_lane(spans, LANE_TASKS, tasks);
	check_lane(spans, LANE_GAPS, gaps);
}

/* What ran, and what ended, in a gap is not known. */
TEST_IN_FOLDER(ends_spans_at_a_gap)
{
	check_spans_at_gap(0, "0 interrupt local_timer 20-20\n0 interrupt local_timer 70-90 cut\n",
			   "0 thread a b 7 10-10\n0 thread c 9 10-20\n0 thread d 8 60-60\n"
			   "0 thread e 7 60-90 cut\n",
			   "0 lost [lost] 20-60\n");
}

TEST_IN_FOLDER(begins_a_window_in_a_gap)
{
	check_spans_at_gap(40, "0 interrupt local_timer 20-40\n0 interrupt local_timer 70-90 cut\n",
			   "0 thread c 9 10-40\n0 thread d 8 60-60\n0 thread e 7 60-90 cut\n",
			   "0 lost [lost] 40-60\n");
}

/* The switch to it was lost. */
TEST_IN_FOLDER(names_tasks_by_the_spike)
{
	const struct perf_poke_spike spike = {
		.tid = 7, .comm = "a b", .late_tid = 8, .late_comm = "c\n"
	};
	static const struct schedule schedule = { 0 };
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		event(TIMER_ENTRY, 10, 236),
		made_sample(WORK_ENTRY, 20, 8, "", 0),
		made_sample(WORK_ENTRY, 30, 9, "", 0),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	assert_int_equal(events_spans_name_tasks(spans, &schedule, &spike), 0);
	check_lane(spans, LANE_TASKS,
		   "0 thread a b 7 10-20\n0 thread c  8 20-30\n0 thread tid 9 30-90 cut\n");
}

/* Of one timer, until its interrupt. */
TEST_IN_FOLDER(knows_when_a_timer_was_armed)
{
	static const uint64_t rearmed[] = { 100, 1 }, at_once[] = { 100, 0 };
	static const uint64_t mine[] = { 0x3000, 12345 };
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		event(HRTIMER_START, 10, 0x1000),
		event(HRTIMER_START, 20, 0x1000),
		event(HRTIMER_START, 30, 0x2000),
		made_sample(HRTIMER_REARM, 40, 7, rearmed, sizeof(rearmed)),
		made_sample(HRTIMER_REARM, 45, 7, at_once, sizeof(at_once)),
		event(HRTIMER_START, 60, 0x1000),
		made_sample(HRTIMER_START, 60, 8, mine, sizeof(mine)),
		made_sample(HRTIMER_REARM, 61, 7, rearmed, sizeof(rearmed)),
	};

	assert_int_equal(spans_new(&spans), 0);
	spans->arming = (struct arming){ .timer = 0x1000, .until = 50, .tid = 8 };
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	assert_int_equal(spans->arming.at, 20);
	assert_int_equal(spans->arming.rearmed, 40);
	assert_int_equal(spans->arming.due, 12345);
}

/* As the softirqs HI, TASKLET and TIMER call them. */
TEST_IN_FOLDER(names_functions_in_softirqs)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		event(SOFTIRQ_ENTRY, 10, 6),
		function(TASKLET_ENTRY, 11, 0xffffffff81000000),
		function(TASKLET_EXIT, 20, 0xffffffff81000000),
		function(TASKLET_ENTRY, 21, 0xffffffff81000100),
		event(TIMER_ENTRY, 22, 236),
		event(TIMER_EXIT, 23, 236),
		function(TASKLET_EXIT, 30, 0xffffffff81000100),
		event(SOFTIRQ_EXIT, 31, 6),
		event(SOFTIRQ_ENTRY, 40, 1),
		event(CALLBACK_ENTRY, 41, 0xffffffff81000100),
		event(CALLBACK_EXIT, 50, 1),
		event(SOFTIRQ_EXIT, 51, 1),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	check_lane(spans, LANE_CODE,
		   "0 softirq TASKLET 10-31\n"
		   "1 function tick_nohz_handler 11-20\n"
		   "1 function other 21-30\n"
		   "2 interrupt local_timer 22-23\n"
		   "0 softirq TIMER 40-51\n"
		   "1 function other 41-50\n");
}

/* The second one sleeps: what runs after it has no event. */
TEST_IN_FOLDER(names_functions_of_work_items)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		function(WORK_START, 10, 0xffffffff81000100),
		event(TIMER_ENTRY, 12, 236),
		event(TIMER_EXIT, 13, 236),
		function(WORK_END, 20, 0xffffffff81000100),
		function(WORK_START, 21, 0xffffffff81000000),
		switched(30, 7, "kworker/0:1", "stress", 8),
		switched(40, 8, "stress", "kworker/0:1", 7),
		function(WORK_END, 50, 0xffffffff81000000),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	check_lane(spans, LANE_CODE,
		   "0 function process_one_work 10-20\n"
		   "1 function other 10-20\n"
		   "2 interrupt local_timer 12-13\n"
		   "0 function process_one_work 21-30\n"
		   "1 function tick_nohz_handler 21-30\n");
}

/* Its exit is in no file. */
TEST_IN_FOLDER(ends_irq_work)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		event(WORK_ENTRY, 10, 246), event(WAKEUP, 12, 0),	event(TIMER_ENTRY, 20, 236),
		event(TIMER_EXIT, 30, 236), event(WORK_ENTRY, 40, 246), event(TIMER_ENTRY, 50, 236),
		event(WORK_ENTRY, 51, 246), event(TIMER_EXIT, 60, 236),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	check_lane(spans, LANE_CODE,
		   "0 interrupt irq_work 10-12\n"
		   "0 interrupt local_timer 20-30\n"
		   "0 interrupt irq_work 40-50\n"
		   "0 interrupt local_timer 50-60\n"
		   "1 interrupt irq_work 51-60\n");
}

/* An exit was lost: the inner span ends with the outer one. */
TEST_IN_FOLDER(goes_on_after_lost_ends)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		event(TIMER_ENTRY, 10, 236),
		event(SOFTIRQ_ENTRY, 11, 3),
		event(TIMER_EXIT, 30, 236),
		event(SOFTIRQ_EXIT, 31, 3),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	check_lane(spans, LANE_CODE, "0 interrupt local_timer 10-30\n1 softirq NET_RX 11-30\n");
	check_lane(spans, LANE_TASKS, "0 thread tid 7 10-90 cut\n");
}

/* The switch, too: none of them goes on in the other task. */
TEST_IN_FOLDER(ends_interrupts_of_another_task)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		event(TIMER_ENTRY, 10, 236), event(TIMER_EXIT, 11, 236),
		event(SOFTIRQ_ENTRY, 12, 9), event(TIMER_ENTRY, 14, 236),
		event(TIMER_EXIT, 15, 236),  made_sample(WORK_ENTRY, 50, 8, "", 0),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	check_lane(spans, LANE_CODE,
		   "0 interrupt local_timer 10-11\n"
		   "0 softirq RCU 12-15\n1 interrupt local_timer 14-15\n"
		   "0 interrupt irq_work 50-90 cut\n");
	check_lane(spans, LANE_TASKS, "0 thread tid 7 10-50\n0 thread tid 8 50-90 cut\n");
}

/* In a PID namespace perf knows tasks by other IDs, outside of it by none, and nowhere one that is
 * exiting. The kernel's fields have the IDs of all. */
TEST_IN_FOLDER(follows_the_ids_of_the_kernel)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	struct made_sample samples[] = {
		event(TIMER_ENTRY, 10, 236),
		event(TIMER_EXIT, 20, 236),
		switched(30, 3, "worker", "other", 8),
		event(TIMER_ENTRY, 40, 236),
		event(TIMER_EXIT, 50, 236),
	};
	static const int32_t ids[][2] = { { 3, 7 }, { 3, 7 }, { 3, 7 }, { 0, 8 }, { -1, 8 } };

	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		samples[i].pid = samples[i].tid = (uint32_t)ids[i][0];
		samples[i].raw.pid = ids[i][1];
	}
	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 0), 0);
	check_lane(spans, LANE_TASKS, "0 thread worker 7 10-30\n0 thread other 8 30-90 cut\n");
}

/* Before the window only open spans are kept. */
TEST_IN_FOLDER(is_bounded)
{
	const size_t nr = 150000;
	_cleanup_free_ struct made_sample *samples = calloc(1 + 2 * nr, sizeof(*samples));
	_cleanup_(spans_freep) struct spans *spans = NULL;

	samples[0] = event(TIMER_ENTRY, 1, 236);
	for (size_t i = 0; i < nr; i++) {
		samples[2 * i + 1] = event(SOFTIRQ_ENTRY, 10 + 2 * i, 9);
		samples[2 * i + 2] = event(SOFTIRQ_EXIT, 11 + 2 * i, 9);
	}
	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, 1 + 2 * nr, 10 + 2 * nr), 0);
	assert_int_equal(spans->lanes[LANE_CODE].nr, 1);
	assert_int_equal(spans->lanes[LANE_CODE].spans[0].begin, 1);
	assert_in_range(spans->lanes[LANE_CODE].room, 1, 1 << 17);
	assert_int_equal(spans->begin, 10 + 2 * nr);
}

TEST_IN_FOLDER(tells_that_there_are_none)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, NULL, 0, 0), -ENODATA);
}

/* The number is the state, and above 32 bits the CPU. */
static struct power read_power(size_t nr)
{
	const struct made_sample samples[] = {
		event(IDLE, 10, 3),	      event(IDLE, 20, UINT32_MAX),
		event(FREQUENCY, 21, 800000), event(FREQUENCY, 22, UINT64_C(1) << 32 | 5),
		event(IDLE, 30, 2),
	};
	_cleanup_(spans_freep) struct spans *spans = NULL;

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, nr, 15), 0);
	return spans->power;
}

TEST_IN_FOLDER(takes_power)
{
	struct power power = read_power(4);

	assert_int_equal(power.state, 3);
	assert_int_equal(power.left, 20);
	assert_int_equal(power.frequency_khz, 800000);
}

TEST_IN_FOLDER(takes_a_cpu_that_idles)
{
	struct power power = read_power(5);

	assert_int_equal(power.state, 2);
	assert_int_equal(power.left, 0);
}

/* Of what began before the window, too. */
TEST_IN_FOLDER(takes_all_senders_to_the_cpu)
{
	_cleanup_(spans_freep) struct spans *spans = NULL;
	const struct made_sample samples[] = {
		made_comm(7, "sender"), event(SEND, 10, 0),	     event(SEND, 15, 0),
		event(SEND, 16, 1),	event(TIMER_ENTRY, 20, 236),
	};

	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(read_events(spans, samples, ARRAY_SIZE(samples), 15), 0);
	assert_int_equal(senders.nr, 2);
	assert_int_equal(senders.rows[0].time, 10);
	assert_int_equal(senders.rows[1].time, 15);
	assert_string_equal(senders.rows[0].task, "sender");
}
