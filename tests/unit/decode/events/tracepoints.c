// SPDX-License-Identifier: GPL-2.0-only
/* Files written by perfdata.h, with Linux's formats. */
#include "events/tracepoints.h"
#include "made_tracepoints.h"
#include "test.h"

#include <inttypes.h>
#include <string.h>

static const struct made_format formats[] = {
	{ "irq:softirq_entry",
	  MADE_FORMAT("softirq_entry", 7, MADE_FIELD("unsigned int vec", 8, 4, 0),
		      "\"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, "
		      "{ 0, \"HI\" }, { 3, \"NET_RX\" })"),
	  7 },
	{ "irq:irq_handler_entry",
	  MADE_FORMAT("irq_handler_entry", 8,
		      MADE_FIELD("int irq", 8, 4, 1) MADE_FIELD("__data_loc char[] name", 12, 4, 0),
		      "\"irq=%d name=%s\", REC->irq, __get_str(name)"),
	  8 },
	{ "timer:hrtimer_expire_entry",
	  MADE_FORMAT("hrtimer_expire_entry", 9,
		      MADE_FIELD("void * function", 8, 8, 0) MADE_FIELD("char comm[8]", 16, 8, 0),
		      "\"function=%ps comm=%s\", REC->function, REC->comm"),
	  9 },
	/* Withheld from libtraceevent, as it divides. */
	{ "test:divided",
	  MADE_FORMAT("divided", 10, MADE_FIELD("int a", 8, 4, 1), "\"%d\", 10 / REC->a"), 10 },
};

static struct made_sample make(uint16_t id, uint64_t time, const void *fields, size_t size)
{
	return made_sample(id, time, 6, fields, size);
}

/* Raises a softirq. */
static struct made_sample raise(uint64_t time, uint32_t cpu, uint32_t vec)
{
	struct made_sample sample = make(7, time, &vec, sizeof(vec));

	sample.cpu = cpu;
	return sample;
}

static void write_file(const struct folder *folder, const struct made_sample *samples, size_t nr,
		       struct perfdata_file *file)
{
	int fd;

	made_tracepoints(folder, formats, ARRAY_SIZE(formats), samples, nr);
	fd = openat(folder->fd, "perf.data/data", O_RDONLY | O_CLOEXEC);
	assert_int_equal(perfdata_map(file, fd), 0);
	close(fd);
}

/* Times within the window, as "10@0 20@1 ". */
static void check_times(const struct perfdata_file *file, const struct sample_window *window,
			const char *expected)
{
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	struct tracepoint_event event;
	char *why = NULL, text[256] = "";

	assert_int_equal(tracepoints_new(&tracepoints, file, window, &why), 0);
	while (tracepoints_next(tracepoints, &event)) {
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%" PRIu64 "@%d ", event.time,
			 event.cpu);
	}
	assert_string_equal(text, expected);
}

TEST_IN_FOLDER(orders_by_time)
{
	const struct made_sample samples[] = { raise(10, 0, 0), raise(30, 0, 0), raise(50, 0, 0),
					       raise(20, 1, 0), raise(30, 1, 0), raise(40, 1, 0),
					       raise(5, 2, 0),	raise(60, 2, 0), raise(55, 2, 0) };
	const int cpus[] = { 1, 2 };
	struct perfdata_file file;

	write_file(*state, samples, ARRAY_SIZE(samples), &file);
	check_times(&file, &(struct sample_window){ .end = UINT64_MAX },
		    "5@2 10@0 20@1 30@0 30@1 40@1 50@0 55@2 60@2 ");
	check_times(&file, &(struct sample_window){ .begin = 20, .end = 50 },
		    "20@1 30@0 30@1 40@1 50@0 ");
	check_times(&file,
		    &(struct sample_window){ .cpus = cpus, .nr_cpus = 2, .begin = 21, .end = 60 },
		    "30@1 40@1 55@2 60@2 ");
	check_times(&file, &(struct sample_window){ .begin = 61, .end = UINT64_MAX }, "");
	perfdata_unmap(&file);
}

static const char *resolve(void *context, uint64_t address, uint64_t *start)
{
	*start = address;
	return address == 0xffffffff81000000 ? context : NULL;
}

static void next(struct tracepoints *tracepoints, struct tracepoint_event *event, const char *name,
		 const char *printed)
{
	const char *text = NULL;

	assert_true(tracepoints_next(tracepoints, event));
	assert_string_equal(event->kind->name, name);
	assert_int_equal(event->tid, 6);
	assert_int_equal(tracepoints_print(tracepoints, event, &text), 0);
	assert_string_equal(text, printed);
}

static void check_fields(struct tracepoints *tracepoints)
{
	struct tracepoint_event event;
	uint64_t value = 0;
	char text[16];

	next(tracepoints, &event, "irq:softirq_entry", "vec=3 [action=NET_RX]");
	assert_true(tracepoint_number(&event, "vec", &value));
	assert_int_equal(value, 3);
	assert_false(tracepoint_number(&event, "irq", &value));
	assert_false(tracepoint_text(&event, "vec", text, sizeof(text)));
	next(tracepoints, &event, "irq:irq_handler_entry", "irq=-2 name=eth 0");
	assert_true(tracepoint_number(&event, "irq", &value));
	assert_int_equal((int64_t)value, -2);
	assert_true(tracepoint_text(&event, "name", text, sizeof(text)));
	assert_string_equal(text, "eth\n0");
	next(tracepoints, &event, "timer:hrtimer_expire_entry",
	     "function=tick_nohz_handler comm=12345678");
	assert_true(tracepoint_text(&event, "comm", text, 4));
	assert_string_equal(text, "123");
	next(tracepoints, &event, "test:divided", "a=0");
	assert_false(tracepoints_next(tracepoints, &event));
}

TEST_IN_FOLDER(reads_fields)
{
	static const struct {
		uint64_t function;
		char comm[8];
	} timer = { 0xffffffff81000000, "12345678" };
	/* Place and size of the name, which is behind the fields. */
	static const struct {
		int32_t irq;
		uint16_t at, size;
		char name[6];
	} handler = { -2, 16, 6, "eth\n0" };
	const struct made_sample samples[] = { raise(10, 0, 3),
					       make(8, 20, &handler, sizeof(handler)),
					       make(9, 30, &timer, sizeof(timer)),
					       make(10, 40, "\0\0\0", 4) };
	const struct sample_window window = { .end = UINT64_MAX };
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	struct perfdata_file file;
	char *why = NULL;

	write_file(*state, samples, ARRAY_SIZE(samples), &file);
	assert_int_equal(tracepoints_new(&tracepoints, &file, &window, &why), 0);
	assert_int_equal(tracepoints_resolve(tracepoints, resolve, (void *)"tick_nohz_handler"), 0);
	check_fields(tracepoints);
	tracepoints_free(TAKE_PTR(tracepoints));
	perfdata_unmap(&file);
}

/* A field, or its data, lies behind the end. */
TEST_IN_FOLDER(trusts_no_offset)
{
	static const uint16_t places[][2] = { { 16, 53 }, { 69, 0 }, { 65535, 65535 } };
	const struct sample_window window = { .end = UINT64_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const struct {
			int32_t irq;
			uint16_t at, size;
		} handler = { 1, places[i][0], places[i][1] };
		_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
		const struct made_sample sample = make(8, 1, &handler, sizeof(handler));
		struct tracepoint_event event;
		struct perfdata_file file;
		char *why = NULL, text[16];

		write_file(*state, &sample, 1, &file);
		assert_int_equal(tracepoints_new(&tracepoints, &file, &window, &why), 0);
		next(tracepoints, &event, "irq:irq_handler_entry", "[damaged]");
		assert_false(tracepoint_text(&event, "name", text, sizeof(text)));
		assert_string_equal(text, "");
		tracepoints_free(TAKE_PTR(tracepoints));
		perfdata_unmap(&file);
		remove_folder(state);
		make_folder(state);
	}
}
