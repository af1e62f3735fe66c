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
	struct perfdata_file file;

	write_file(*state, samples, ARRAY_SIZE(samples), &file);
	check_times(&file, &(struct sample_window){ .end = UINT64_MAX },
		    "5@2 10@0 20@1 30@0 30@1 40@1 50@0 55@2 60@2 ");
	check_times(&file, &(struct sample_window){ .begin = 20, .end = 50 },
		    "20@1 30@0 30@1 40@1 50@0 ");
	check_times(&file, &(struct sample_window){ .begin = 21, .end = 60 },
		    "30@0 30@1 40@1 50@0 55@2 60@2 ");
	check_times(&file, &(struct sample_window){ .begin = 61, .end = UINT64_MAX }, "");
	perfdata_unmap(&file);
}

/* Of each CPU; not the recording's begin. */
TEST_IN_FOLDER(finds_gaps)
{
	const struct made_sample samples[] = {
		raise(20, 1, 0),	raise(70, 1, 0),	raise(10, 0, 0),
		raise(30, 0, 0),	made_lost(30, 7, 0, 4), raise(40, 0, 0),
		raise(60, 0, 0),	made_lost(60, 7, 0, 1), raise(15, 2, 0),
		made_lost(15, 7, 2, 1),
	};
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	const struct sample_window window = { .begin = 50, .end = UINT64_MAX };
	const struct tracepoint_gap *gaps;
	struct perfdata_file file;
	char *why = NULL;
	size_t nr;

	write_file(*state, samples, ARRAY_SIZE(samples), &file);
	assert_int_equal(tracepoints_new(&tracepoints, &file, &window, &why), 0);
	gaps = tracepoints_gaps(tracepoints, &nr);
	assert_int_equal(nr, 2);
	assert_int_equal(gaps[0].cpu, 0);
	assert_int_equal(gaps[0].begin, 10);
	assert_int_equal(gaps[0].end, 30);
	assert_int_equal(gaps[1].begin, 40);
	assert_int_equal(gaps[1].end, 60);
	assert_string_equal(gaps[1].kind->name, "irq:softirq_entry");
	perfdata_unmap(&file);
}

static void next(struct tracepoints *tracepoints, struct tracepoint_event *event, const char *name)
{
	assert_true(tracepoints_next(tracepoints, event));
	assert_string_equal(event->kind->name, name);
	assert_int_equal(event->tid, 6);
}

static void check_fields(struct tracepoints *tracepoints)
{
	struct tracepoint_event event;
	uint64_t value = 0;
	char text[16];

	next(tracepoints, &event, "irq:softirq_entry");
	assert_true(tracepoint_number(&event, "vec", &value));
	assert_int_equal(value, 3);
	assert_false(tracepoint_number(&event, "irq", &value));
	assert_false(tracepoint_text(&event, "vec", text, sizeof(text)));
	next(tracepoints, &event, "irq:irq_handler_entry");
	assert_true(tracepoint_number(&event, "irq", &value));
	assert_int_equal((int64_t)value, -2);
	assert_true(tracepoint_text(&event, "name", text, sizeof(text)));
	assert_string_equal(text, "eth\n0");
	next(tracepoints, &event, "timer:hrtimer_expire_entry");
	assert_true(tracepoint_text(&event, "comm", text, 4));
	assert_string_equal(text, "123");
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
					       make(9, 30, &timer, sizeof(timer)) };
	const struct sample_window window = { .end = UINT64_MAX };
	_cleanup_(tracepoints_freep) struct tracepoints *tracepoints = NULL;
	struct perfdata_file file;
	char *why = NULL;

	write_file(*state, samples, ARRAY_SIZE(samples), &file);
	assert_int_equal(tracepoints_new(&tracepoints, &file, &window, &why), 0);
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
		next(tracepoints, &event, "irq:irq_handler_entry");
		assert_false(tracepoint_text(&event, "name", text, sizeof(text)));
		assert_string_equal(text, "");
		tracepoints_free(TAKE_PTR(tracepoints));
		perfdata_unmap(&file);
		remove_folder(state);
		make_folder(state);
	}
}

static int read_format(const char *text, size_t size)
{
	const struct tracing_data data = { .long_size = 8 };
	const struct tracing_format format = {
		.system = "x",
		.text = { (const uint8_t *)text, size },
		.id = 7,
	};
	struct event_format *read;
	int r = event_format_new(&read, &data, &format);

	if (!r)
		event_format_free(read);
	return r;
}

/* libtraceevent gets only what has the kernel's layout. */
TEST(takes_formats_of_the_kernel)
{
	static const char *const good[] = { "int a",	      "unsigned long long a",
					    "char comm[16]",  "__data_loc char[] name",
					    "const char * s", "unsigned long args[6]",
					    "u8 a[ETH_ALEN]" };
	static const char *const bad[] = { "int",     "",	"[3] a",	  "int a[[3]]",
					   "int a[3", "int a]", "int (*a)(void)", "int a; int b",
					   "int\ta",  " a b" };
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(good) + ARRAY_SIZE(bad); i++) {
		bool is_good = i < ARRAY_SIZE(good);

		snprintf(text, sizeof(text),
			 "name: x\nID: 7\nformat:\n"
			 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			 "\tfield:%s;\toffset:8;\tsize:4;\n\n"
			 "\tfield:int b;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: x",
			 is_good ? good[i] : bad[i - ARRAY_SIZE(good)]);
		assert_int_equal(read_format(text, strlen(text)), is_good ? 0 : -EINVAL);
		for (size_t size = 0; size < strlen("name: x\nID: 7\nformat:\n"); size++)
			assert_int_equal(read_format(text, size), -EINVAL);
	}
}

TEST(finds_callers_by_their_calls)
{
	static const uint64_t chain[] = {
		PERF_CONTEXT_KERNEL, 0xffffffff81000000, 0xffffffff81000100,
		PERF_CONTEXT_USER,   0x401000,		 0x402000
	};
	static const uint64_t expected[] = { 0xffffffff81000000, 0xffffffff810000ff, 0x401000,
					     0x401fff };
	const struct perfdata_bytes bytes = { (const uint8_t *)chain, sizeof(chain) - 1 };
	uint64_t at = 0, address;
	size_t nr = 0;

	while (tracepoints_frame(&bytes, &at, &address))
		assert_int_equal(address, expected[nr++]);
	/* The last one is cut. */
	assert_int_equal(nr, ARRAY_SIZE(expected) - 1);
}
