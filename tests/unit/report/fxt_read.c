// SPDX-License-Identifier: GPL-2.0-only
#include "fxt_read.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "fxt_spans.h"

#define MAGIC UINT64_C(0x0016547846040010)
#define PROVIDER (UINT64_C(0) | 2 << 4 | 1 << 16 | 1 << 20 | UINT64_C(1) << 52)
#define TEXT(a, b, c, d)                                                                           \
	((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24)
#define SECTION (UINT64_C(0) | 1 << 4 | 2 << 16 | 1 << 20)
#define INITIALIZATION UINT64_C(0x21), UINT64_C(1000000000)
#define HEADER MAGIC, PROVIDER, 'p', SECTION, INITIALIZATION
/* Of up to 8 bytes. */
#define STRING(index, length) (UINT64_C(2) | 2 << 4 | (index) << 16 | UINT64_C(length) << 32)
#define THREAD(index) (UINT64_C(3) | 3 << 4 | (index) << 16)
#define EVENT(size, type, args, thread, category, name)                                            \
	(UINT64_C(4) | (size) << 4 | (type) << 16 | (args) << 20 | (thread) << 24 |                \
	 UINT64_C(category) << 32 | UINT64_C(name) << 48)
#define ARG(size, type, key, value)                                                                \
	(UINT64_C(type) | (size) << 4 | (key) << 16 | (uint64_t)(value) << 32)

struct seen {
	char *text;
	size_t size;
	FILE *file;
	int stop;
};

static int on_event(void *arg, const struct fxt_read_event *event)
{
	struct seen *seen = arg;

	fprintf(seen->file, "%d %" PRIu64 " %" PRIu64 "/%" PRIu64 " %s %s", event->type, event->at,
		event->process, event->thread, event->category, event->name);
	for (size_t i = 0; i < event->nr_args; i++)
		fprintf(seen->file, " %s=%s%" PRIu64, event->args[i].key, event->args[i].text ?: "",
			event->args[i].value);
	if (event->flow)
		fprintf(seen->file, " flow %" PRIu64, event->flow);
	fputc('\n', seen->file);
	return seen->stop;
}

static int on_thread(void *arg, uint64_t process, uint64_t thread, const char *name)
{
	struct seen *seen = arg;

	fprintf(seen->file, "thread %" PRIu64 "/%" PRIu64 " %s\n", process, thread, name);
	return 0;
}

static int on_process(void *arg, uint64_t process, const char *name)
{
	struct seen *seen = arg;

	fprintf(seen->file, "process %" PRIu64 " %s\n", process, name);
	return 0;
}

static int on_switch(void *arg, uint64_t at, int cpu, uint64_t from, uint64_t to)
{
	struct seen *seen = arg;

	fprintf(seen->file, "switch %" PRIu64 " %d %" PRIu64 " %" PRIu64 "\n", at, cpu, from, to);
	return 0;
}

static const struct fxt_read_ops ops = { on_event, on_process, on_thread, on_switch };

static int read_bytes(const void *bytes, size_t size, struct seen *seen, char **why)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)bytes, size ?: 1, "r");
	int r;

	assert_non_null(file);
	if (!size)
		getc(file);
	seen->file = open_memstream(&seen->text, &seen->size);
	r = fxt_read(file, &ops, seen, why);
	fclose(seen->file);
	return r;
}

static const uint64_t good[] = {
	HEADER,
	STRING(1, 3),
	TEXT('c', 'a', 't', 0),
	STRING(2, 4),
	TEXT('n', 'a', 'm', 'e'),
	STRING(3, 1),
	'k',
	THREAD(1),
	10,
	11,
	EVENT(2, 2, 0, 1, 1, 2),
	5,
	/* Thread, category and name in the record itself. */
	EVENT(6, 2, 0, 0, 0x8001, 0x8002),
	6,
	20,
	21,
	'x',
	TEXT('y', 'z', 0, 0),
	EVENT(8, 3, 4, 1, 1, 2),
	7,
	ARG(1, 2, 3, 9),
	ARG(2, 4, 3, 0),
	1ULL << 40,
	ARG(2, 6, 3, 0x8002),
	TEXT('h', 'i', 0, 0),
	ARG(1, 9, 3, 1),
};

static void reads_records(void **state)
{
	const uint64_t more[] = {
		HEADER,
		STRING(1, 3),
		TEXT('c', 'a', 't', 0),
		STRING(2, 4),
		TEXT('n', 'a', 'm', 'e'),
		STRING(3, 7),
		UINT64_C(0x737365636f7270),
		THREAD(1),
		10,
		11,
		EVENT(3, 8, 0, 1, 1, 2),
		5,
		77,
		UINT64_C(7) | 2 << 4 | 1 << 16 | 2 << 24,
		10,
		UINT64_C(7) | 4 << 4 | 2 << 16 | 2 << 24 | UINT64_C(1) << 40,
		11,
		ARG(2, 8, 3, 0),
		10,
		UINT64_C(8) | 4 << 4 | 3 << 20 | UINT64_C(2) << 36 | UINT64_C(1) << 60,
		9,
		11,
		12,
	};
	_cleanup_free_ char *why = NULL;
	struct seen seen = { 0 };

	(void)state;
	assert_int_equal(read_bytes(good, sizeof(good), &seen, &why), 0);
	assert_string_equal(seen.text, "2 5 10/11 cat name\n"
				       "2 6 20/21 x yz\n"
				       "3 7 10/11 cat name k=9 k=1099511627776 k=hi0 k=1\n");
	free(seen.text);
	assert_int_equal(read_bytes(more, sizeof(more), &seen, &why), 0);
	assert_string_equal(seen.text, "8 5 10/11 cat name flow 77\n"
				       "process 10 name\n"
				       "thread 10/11 name\n"
				       "switch 9 3 11 12\n");
	free(seen.text);
	/* What is given to a function may end it. */
	seen.stop = -ECANCELED;
	assert_int_equal(read_bytes(good, sizeof(good), &seen, &why), -ECANCELED);
	assert_string_equal(seen.text, "2 5 10/11 cat name\n");
	free(seen.text);
}

#define REFUSES(reason, ...)                                                                       \
	do {                                                                                       \
		const uint64_t words[] = { __VA_ARGS__ };                                          \
		_cleanup_free_ char *why = NULL;                                                   \
		struct seen seen = { 0 };                                                          \
                                                                                                   \
		assert_int_equal(read_bytes(words, sizeof(words), &seen, &why), -EBADMSG);         \
		free(seen.text);                                                                   \
		assert_string_equal(why, reason);                                                  \
	} while (0)

static void refuses_what_is_wrong(void **state)
{
	(void)state;
	REFUSES("at byte 0: it does not begin as a trace", MAGIC + 1);
	REFUSES("at byte 8: a record of no provider", MAGIC, INITIALIZATION);
	REFUSES("at byte 8: a section of another provider", MAGIC, SECTION);
	REFUSES("at byte 8: metadata of type 3", MAGIC, 1 << 4 | 3 << 16);
	REFUSES("at byte 32: a tick is not a nanosecond", MAGIC, PROVIDER, 'p', SECTION, 0x21, 5);
	REFUSES("at byte 48: a record of no size", HEADER, 0);
	REFUSES("at byte 48: a record of type 5", HEADER, 5 | 1 << 4);
	REFUSES("at byte 48: the file ends in a record", HEADER, STRING(1, 3));
	REFUSES("at byte 48: a string does not fit its record", HEADER, STRING(1, 9), 0);
	REFUSES("at byte 48: a string has a NUL in it", HEADER, STRING(1, 3), TEXT('a', 0, 'b', 0));
	REFUSES("at byte 48: a string is not padded with zeros", HEADER, STRING(1, 1),
		TEXT('a', 'b', 0, 0));
	REFUSES("at byte 48: a string without an index, or reserved bits are set", HEADER,
		STRING(0, 1), 'a');
	REFUSES("at byte 48: string 7 is not in the table", HEADER, EVENT(4, 2, 0, 0, 7, 7), 0, 0,
		0);
	REFUSES("at byte 48: thread 7 is not in the table", HEADER, EVENT(2, 2, 0, 7, 0, 0), 0);
	REFUSES("at byte 48: an event of type 1", HEADER, EVENT(2, 1, 0, 7, 0, 0), 0);
	REFUSES("at byte 48: a record is longer than what is in it", HEADER,
		EVENT(5, 2, 0, 0, 0, 0), 0, 0, 0, 0);
	REFUSES("at byte 48: a record is too short for what is in it", HEADER,
		EVENT(4, 2, 1, 0, 0, 0), 0, 0, 0);
	REFUSES("at byte 48: the size of argument '' is wrong", HEADER, EVENT(5, 2, 1, 0, 0, 0), 0,
		0, 0, ARG(2, 2, 0, 0));
	REFUSES("at byte 48: argument '' is no boolean", HEADER, EVENT(5, 2, 1, 0, 0, 0), 0, 0, 0,
		ARG(1, 9, 0, 2));
	REFUSES("at byte 48: an argument of type 10", HEADER, EVENT(5, 2, 1, 0, 0, 0), 0, 0, 0,
		ARG(1, 10, 0, 0));
	REFUSES("at byte 48: a thread of no process", HEADER, UINT64_C(7) | 2 << 4 | 2 << 16, 11);
	/* Tables are of a provider. */
	REFUSES("at byte 96: string 1 is not in the table", HEADER, STRING(1, 1), 'a', PROVIDER,
		'p', SECTION, SECTION, EVENT(4, 2, 0, 0, 1, 1), 0, 0, 0);
}

/* Any bytes: an error or none, and no harm. */
static void survives_any_bytes(void **state)
{
	unsigned char bytes[sizeof(good)];
	unsigned int random = 1;

	(void)state;
	for (unsigned int i = 0; i < 4000; i++) {
		_cleanup_free_ char *why = NULL;
		struct seen seen = { 0 };
		size_t size;

		memcpy(bytes, good, sizeof(good));
		for (unsigned int n = 0; n < 1 + i % 4; n++) {
			random = random * 1103515245 + 12345;
			bytes[(random >> 8) % sizeof(bytes)] = (unsigned char)(random >> 20);
		}
		random = random * 1103515245 + 12345;
		size = i % 3 ? sizeof(bytes) : (random >> 8) % sizeof(bytes);
		assert_true(read_bytes(bytes, size, &seen, &why) <= 0);
		free(seen.text);
	}
}

/* Slices as of a track of a CPU, of which one was found late and is in front. */
static void makes_spans(void **state)
{
	const uint64_t words[] = {
		HEADER,
		UINT64_C(2) | 3 << 4 | 1 << 16 | UINT64_C(15) << 32, /* CPU 1 functions */
		UINT64_C(0x7566203120555043),
		UINT64_C(0x736e6f6974636e),
		STRING(2, 7),
		UINT64_C(0x737365636f7270),
		STRING(3, 6),
		UINT64_C(0x6c656e72656b),
		STRING(4, 1),
		'a',
		STRING(5, 1),
		'b',
		THREAD(1),
		10,
		11,
		UINT64_C(7) | 4 << 4 | 2 << 16 | 1 << 24 | UINT64_C(1) << 40,
		11,
		ARG(2, 8, 2, 0),
		10,
		EVENT(2, 2, 0, 1, 3, 4),
		50,
		EVENT(2, 2, 0, 1, 3, 5),
		20,
		EVENT(2, 3, 0, 1, 3, 5),
		40,
		EVENT(2, 2, 0, 1, 3, 5),
		60,
		EVENT(2, 3, 0, 1, 3, 5),
		70,
		EVENT(2, 3, 0, 1, 3, 4),
		80,
	};
	_cleanup_fclose_ FILE *file = fmemopen((void *)words, sizeof(words), "r");
	_cleanup_(spans_freep) struct spans *spans = NULL;
	_cleanup_free_ char *why = NULL;
	const struct lane *lane;

	(void)state;
	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(fxt_spans_read(file, 1, spans, &why), 0);
	lane = &spans->lanes[LANE_CODE];
	assert_int_equal(lane->nr, 3);
	assert_int_equal(lane->spans[0].begin, 20);
	assert_true(lane->spans[0].cut);
	assert_int_equal(lane->spans[1].begin, 50);
	assert_int_equal(lane->spans[1].end, 80);
	assert_int_equal(lane->spans[2].parent, 1);
	assert_int_equal(lane->spans[2].depth, 1);
	assert_false(lane->spans[2].cut);
	assert_int_equal(lane_at(lane, 65), 2);
	assert_int_equal(lane_at(lane, 70), 1);
	assert_int_equal(lane_at(lane, 45), SPAN_NONE);
	rewind(file);
	spans_free(TAKE_PTR(spans));
	assert_int_equal(spans_new(&spans), 0);
	assert_int_equal(fxt_spans_read(file, 2, spans, &why), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_records),
		cmocka_unit_test(refuses_what_is_wrong),
		cmocka_unit_test(survives_any_bytes),
		cmocka_unit_test(makes_spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
