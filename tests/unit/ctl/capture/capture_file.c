// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_file.h"

#include <string.h>
#include <sys/stat.h>

#include "helpers.h"

#define EVENTS(cpu, time_ns)                                                                       \
	"{\"schema\":1,\"spike\":{\"cpu\":" cpu ",\"time_ns\":" time_ns "},"                       \
	"\"recorder\":{\"kind\":\"events\"}}"
#define SPIKE(member)                                                                              \
	"{\"schema\":1,\"spike\":{\"cpu\":1,\"time_ns\":5," member "},"                            \
	"\"recorder\":{\"kind\":\"events\"}}"
#define HARDWARE(member)                                                                           \
	"{\"schema\":1,\"spike\":{\"cpu\":1,\"time_ns\":5},\"hardware\":{" member "},"             \
	"\"recorder\":{\"kind\":\"events\"}}"
#define PT(time_ns, monotonic_ns, perf_ns)                                                         \
	"{\"schema\":1,\"spike\":{\"cpu\":2,\"time_ns\":" time_ns "},\"recorder\":"                \
	"{\"kind\":\"pt\",\"freeze\":\"sample\","                                                  \
	"\"clock\":{\"monotonic_ns\":" monotonic_ns ",\"perf_ns\":" perf_ns "}}}"
#define WHOLE                                                                                      \
	"{\"schema\":1,\"history_ns\":90562087,\"threshold_ns\":50000,\"skid_ns\":7,\"events\":9," \
	"\"lost\":1,\"spike\":{\"sequence\":7,\"cpu\":1,\"function_address\":\"0xf0\","            \
	"\"trigger\":\"irq\","                                                                     \
	"\"latency_ns\":29841094,\"time_ns\":7881842767,\"expected_ns\":7851933892,"               \
	"\"actual_ns\":7881774986,\"wall_time\":\"2026-11-21T07:01:43.081833Z\","                  \
	"\"function\":\"hrtimer_wakeup\",\"pid\":24,\"tid\":25,\"comm\":\"kworker/1:0\","          \
	"\"idle\":true,\"poked\":true},\"recorder\":{\"kind\":\"events\"},\"more\":[{}],"          \
	"\"kernel\":{\"release\":\"7.3.4\",\"version\":\"#1 SMP\"},"                               \
	"\"machine\":{\"hostname\":\"lab\",\"cpu\":\"486\"}}\n"

static int parse(struct capture_file *file, const char *text, char **why)
{
	return capture_file_parse(file, text, strlen(text), why);
}

/* null if TSC was not perf's clock; earlier versions wrote 0. */
TEST(reads_traces_without_times)
{
	static const char *const texts[] = { PT("5", "9", "null"), PT("5", "9", "0") };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_free_ char *why = NULL;
		struct capture_file file;

		assert_int_equal(parse(&file, texts[i], &why), 0);
		assert_true(file.view.no_times && file.view.ends_at_spike);
		assert_int_equal(file.view.spike_ns, 5);
	}
}

TEST(reads_all)
{
	_cleanup_free_ char *why = NULL;
	struct capture_file file;

	assert_int_equal(parse(&file, WHOLE, &why), 0);
	assert_null(why);
	assert_int_equal(file.view.kind, VIEW_EVENTS);
	assert_int_equal(file.view.cpu, 1);
	assert_int_equal(file.view.spike_ns, 7881842767);
	assert_int_equal(file.view.latency_ns, 29841094);
	assert_int_equal(file.view.history_ns, 90562087);
	assert_int_equal(file.sequence, 7);
	assert_int_equal(file.time_ns, 7881842767);
	assert_int_equal(file.expected_ns, 7851933892);
	assert_int_equal(file.view.expected_ns, 7851933892);
	assert_int_equal(file.actual_ns, 7881774986);
	/* date -d 2026-11-21T07:01:43Z +%s */
	assert_int_equal(file.wall_ns, 1795244503081833000);
	assert_true(file.poked && file.idle);
	assert_int_equal(file.pid, 24);
	assert_int_equal(file.tid, 25);
	assert_string_equal(file.comm, "kworker/1:0");
	assert_string_equal(file.function, "hrtimer_wakeup");
	assert_string_equal(file.release, "7.3.4");
	assert_string_equal(file.version, "#1 SMP");
	assert_string_equal(file.hostname, "lab");
	assert_string_equal(file.wall_time, "2026-11-21T07:01:43.081833Z");
	assert_int_equal(file.threshold_ns, 50000);
	assert_int_equal(file.skid_ns, 7);
	assert_int_equal(file.events, 9);
	assert_int_equal(file.lost, 1);
	assert_string_equal(file.function_address, "0xf0");
	assert_string_equal(file.trigger, "irq");
	assert_string_equal(file.model, "486");
}

TEST(reads_the_least)
{
	_cleanup_free_ char *why = NULL;
	struct capture_file file;

	assert_int_equal(parse(&file, EVENTS("-1", "5"), &why), 0);
	assert_int_equal(file.view.cpu, -1);
	assert_int_equal(file.wall_ns, 0);
	assert_int_equal(file.view.expected_ns, 0);
	assert_string_equal(file.comm, "");
	assert_int_equal(parse(&file, SPIKE("\"function\":null"), &why), 0);
	assert_string_equal(file.function, "");
	assert_int_equal(parse(&file, SPIKE("\"comm\":\"\303\244,}\\\"\""), &why), 0);
	assert_string_equal(file.comm, "\303\244,}\"");
	assert_int_equal(parse(&file, SPIKE("\"of_later\":-99999999999999999999"), &why), 0);
	assert_int_equal(parse(&file, PT("7361536417", "7366384740", "7380134244"), &why), 0);
	assert_int_equal(file.view.kind, VIEW_PT);
	assert_true(file.view.sampled);
	assert_int_equal(file.time_ns, 7361536417);
	assert_int_equal(file.view.spike_ns, 7375285921);
	assert_null(why);
}

#define KERNEL(symbol, module)                                                                     \
	"{\"address\":\"0xffffffffc0001234\",\"symbol\":" symbol ",\"module\":" module             \
	",\"offset\":7,\"user\":false}"
#define USER(file, offset)                                                                         \
	"{\"address\":\"0x4321\",\"file\":" file ",\"build_id\":null,\"offset\":" offset           \
	",\"user\":true}"

TEST(reads_stacks)
{
	static const char *const names[] = { "acme_flush", "[0xffffffffc0001234]", "libc.so.6+0x22",
					     "[0x4321]", "[0x4321]" };
	_cleanup_free_ char *why = NULL;
	struct capture_file file;

	assert_int_equal(
		parse(&file,
		      SPIKE("\"stack\":[" KERNEL("\"acme_flush\"", "\"acme\"") "," KERNEL(
			      "null", "null") "," USER("\"/lib/libc.so.6\"",
						       "34") "," USER("null",
								      "34") "," USER("\"/a\"",
										     "null") "]"),
		      &why),
		0);
	assert_int_equal(file.stack.nr, ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_string_equal(file.stack.frames[i].name, names[i]);
		assert_int_equal(file.stack.frames[i].user, i > 1);
		assert_int_equal(file.stack.frames[i].function, i == 0);
	}
	assert_string_equal(file.stack.frames[0].module, "acme");
	assert_int_equal(file.holder.nr, 0);
	assert_int_equal(
		parse(&file,
		      SPIKE("\"holder\":{\"tid\":7,\"interrupted\":true,\"stack\":[" KERNEL(
			      "\"foo\"", "null") "]}"),
		      &why),
		0);
	assert_int_equal(file.holder.nr, 1);
	assert_int_equal(file.holder.tid, 7);
	assert_true(file.holder.interrupted);
	assert_string_equal(file.holder.frames[0].name, "foo");
}

TEST(cuts_what_is_long)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ char *why = NULL;
	struct capture_file file;
	char comm[200];

	memset(comm, 'a', sizeof(comm));
	assert_true(asprintf(&text, SPIKE("\"comm\":\"%.*s\""), (int)sizeof(comm), comm) > 0);
	assert_int_equal(parse(&file, text, &why), 0);
	assert_int_equal(strlen(file.comm), sizeof(file.comm) - 1);
}

TEST(reads_hardware)
{
	struct capture_file file;
	char *why = NULL;

	assert_int_equal(
		parse(&file,
		      HARDWARE("\"since_ns\":9,\"smis\":null,\"steal_ns\":3,\"idle_states\":[{"
			       "\"name\":\"C\\u001b6\",\"exit_latency_ns\":133000}]"),
		      &why),
		0);
	assert_int_equal(file.hardware.since_ns, 9);
	assert_int_equal(file.hardware.steal_ns, 3);
	assert_true(file.hardware.smis == UINT64_MAX && file.hardware.throttles == UINT64_MAX);
	assert_int_equal(file.hardware.nr_states, 1);
	assert_int_equal(file.hardware.states[0].exit_ns, 133000);
	assert_null(strchr(file.hardware.states[0].name, '\033'));
}

TEST(refuses)
{
	static const struct {
		const char *text;
		const char *why;
	} rows[] = {
		{ "", "not JSON: " },
		{ "{\"schema\":1,", "not JSON: " },
		{ "{\"schema\":1}x", "not JSON: " },
		{ "{\"schema\":1}{}", "not JSON: " },
		{ "{\"schema\":1,}", "not JSON: " },
		{ "{\"schema\":1,\"a\":\"\xff\"}", "not JSON: " },
		{ "{\"schema\":1,\"a\":[1, ]}", "not JSON: " },
		{ "{\"schema\":1,\"a\":\"\n\"}", "not JSON: " },
		{ "{\"schema\":1,\"a\":\"\\", "not JSON: " },
		{ "{\"schema\":1,\"a\":'b'}", "not JSON: " },
		{ "{\"schema\":1,\"a\":NaN}", "not JSON: " },
		{ "{\"schema\":1,\"a\":TRUE}", "not JSON: " },
		{ "{\"schema\":1/* one */}", "not JSON: " },
		{ "[[[[[[[[[[[[[[[[[[[[", "not JSON: " },
		{ "[1]", "schema is missing or not a number" },
		{ "{}", "schema is missing or not a number" },
		{ "{\"schema\":\"1\"}", "schema is missing or not a number" },
		{ "{\"schema\":2}", "schema 2: this version reads 1" },
		{ "{\"schema\":1}", "recorder.kind is missing or not a string" },
		{ "{\"schema\":1,\"recorder\":\"pt\"}",
		  "recorder.kind is missing or not a string" },
		{ "{\"schema\":1,\"recorder\":{\"kind\":null}}",
		  "recorder.kind is missing or not a string" },
		{ "{\"schema\":1,\"recorder\":{\"kind\":\"tape\"}}",
		  "recorder.kind 'tape' is unknown to this version" },
		{ "{\"schema\":1,\"recorder\":{\"kind\":\"events\"}}", "spike.time_ns is missing" },
		{ EVENTS("1", "-5"), "spike.time_ns is not a number from 0 on" },
		{ EVENTS("1", "\"5\""), "spike.time_ns is not a number from 0 on" },
		{ EVENTS("null", "5"), "spike.cpu is missing or not a number" },
		{ "{\"schema\":1,\"spike\":{\"cpu\":1,\"time_ns\":5},\"recorder\":"
		  "{\"kind\":\"pt\"}}",
		  "recorder.clock.monotonic_ns is missing" },
		{ "{\"schema\":1,\"spike\":{\"cpu\":1,\"time_ns\":5},\"recorder\":"
		  "{\"kind\":\"pt\",\"clock\":{\"monotonic_ns\":5}}}",
		  "recorder.clock.perf_ns is missing" },
		{ EVENTS("-2", "5"), "spike.cpu -2: no such CPU" },
		{ EVENTS("8192", "5"), "spike.cpu 8192: no such CPU" },
		{ EVENTS("1", "9223372036854775807"), "spike.time_ns is not a number from 0 on" },
		{ EVENTS("1", "1e30"), "spike.time_ns is not a number from 0 on" },
		{ PT("5", "9", "3"), "recorder.clock: the spike is before the clock's start" },
		{ SPIKE("\"latency_ns\":-1"), "spike.latency_ns is not a number from 0 on" },
		{ SPIKE("\"latency_ns\":99999999999999999999"),
		  "spike.latency_ns is not a number from 0 on" },
		{ SPIKE("\"pid\":-1"), "spike.pid is not a task id" },
		{ SPIKE("\"tid\":4294967297"), "spike.tid is not a task id" },
		{ SPIKE("\"idle\":1"), "spike.idle is not true or false" },
		{ SPIKE("\"comm\":[]"), "spike.comm is not a string" },
		{ SPIKE("\"trigger\":7"), "spike.trigger is not a string" },
		{ SPIKE("\"wall_time\":5"), "spike.wall_time is not a date" },
		{ SPIKE("\"wall_time\":\"2026-11-21T07:01:43Z\""),
		  "spike.wall_time is not a date" },
		{ SPIKE("\"stack\":{}"), "spike.stack is not a list" },
		{ SPIKE("\"stack\":[{\"user\":true},7]"), "spike.stack: row 1 is not a frame" },
		{ SPIKE("\"stack\":[{}]"), "spike.stack: row 0 is not a frame" },
		{ SPIKE("\"holder\":{\"tid\":-7}"), "spike.holder.tid is not a task id" },
		{ SPIKE("\"holder\":{\"stack\":[7]}"), "spike.holder.stack: row 0 is not a frame" },
		{ HARDWARE("\"smis\":-1"), "hardware.smis is not a number from 0 on" },
		{ HARDWARE("\"idle_states\":7"), "hardware.idle_states is not a list" },
		{ HARDWARE("\"idle_states\":[[]]"), "hardware.idle_states: row 0 is not a state" },
		{ HARDWARE("\"idle_states\":[{\"exit_latency_ns\":1},{\"name\":\"C1\"}]"),
		  "hardware.idle_states: row 1 is not a state" },
		{ SPIKE("\"wall_time\":\"2026-11-21T07:01:43.88183Z\""),
		  "spike.wall_time is not a date" },
		{ SPIKE("\"wall_time\":\"2026-11-21T07:01:43.+88183Z\""),
		  "spike.wall_time is not a date" },
		{ SPIKE("\"wall_time\":\"2026-11-21T07:01:43.881833\""),
		  "spike.wall_time is not a date" },
		{ SPIKE("\"wall_time\":\"1026-11-21T07:01:43.881833Z\""),
		  "spike.wall_time is not a date" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *why = NULL;
		struct capture_file file;

		assert_int_equal(parse(&file, rows[i].text, &why), -EINVAL);
		assert_non_null(why);
		assert_memory_equal(why, rows[i].why, strlen(rows[i].why));
		/* json-c's own message is not checked. */
		if (strncmp(why, "not JSON", 8))
			assert_string_equal(why, rows[i].why);
	}
}

TEST(refuses_bytes)
{
	static const char with_nul[] = EVENTS("1", "5") "\0";
	_cleanup_free_ char *large = malloc(CAPTURE_FILE_MAX_SIZE + 1);
	_cleanup_free_ char *nul = NULL;
	_cleanup_free_ char *size = NULL;
	struct capture_file file;

	assert_int_equal(capture_file_parse(&file, with_nul, sizeof(with_nul) - 1, &nul), -EINVAL);
	assert_string_equal(nul, "not JSON: contains a NUL");
	assert_non_null(large);
	memset(large, ' ', CAPTURE_FILE_MAX_SIZE + 1);
	assert_int_equal(capture_file_parse(&file, large, CAPTURE_FILE_MAX_SIZE + 1, &size),
			 -EINVAL);
	assert_string_equal(size, "larger than 1M");
}

#define STATISTICS(histogram)                                                                      \
	"{\"statistics\":{\"cpu\":null,\"count\":9,\"min_ns\":1,\"avg_ns\":2,\"p50_ns\":3,"        \
	"\"p99_ns\":4,\"p99_9_ns\":5,\"max_ns\":6,\"spikes\":7,\"unarmed\":8,"                     \
	"\"histogram\":" histogram "}}"

static int parse_statistics(struct statistics *statistics, const char *text, char **why)
{
	return capture_file_parse_statistics(statistics, text, strlen(text), why);
}

TEST(reads_statistics)
{
	struct statistics statistics;
	char *why = NULL;

	assert_int_equal(
		parse_statistics(&statistics, STATISTICS("[[0,16,8],[16,32,0],[64,null,1]]"), &why),
		0);
	assert_null(why);
	assert_int_equal(statistics.cpu, -1);
	assert_int_equal(statistics.count, 9);
	assert_int_equal(statistics.p99_9_ns, 5);
	assert_int_equal(statistics.unarmed, 8);
	assert_int_equal(statistics.nr, 3);
	assert_int_equal(statistics.rows[0].high_ns, 16);
	assert_int_equal(statistics.rows[2].low_ns, 64);
	assert_int_equal(statistics.rows[2].high_ns, UINT64_MAX);
	assert_int_equal(statistics.rows[2].count, 1);
	/* From an earlier version, or without counts. */
	assert_int_equal(parse_statistics(&statistics, "{}", &why), 0);
	assert_int_equal(statistics.count, 0);
	assert_int_equal(parse_statistics(&statistics, "{\"statistics\":null}", &why), 0);
	assert_int_equal(statistics.nr, 0);
}

TEST(refuses_statistics)
{
	static const char *const histograms[] = {
		"7",
		"[7]",
		"[[]]",
		"[[0,1]]",
		"[[0,1,2,3]]",
		"[[0,1,-2]]",
		"[[null,1,2]]",
		"[[0,\"1\",2]]",
		"[[5,5,1]]",
		"[[5,4,1]]",
		"[[0,8,1],[7,9,1]]",
		"[[0,null,1],[9,10,1]]",
		"[[0,9223372036854775807,1]]",
		"[[0,1,1.5]]",
	};
	_cleanup_free_ char *missing = NULL;
	struct statistics statistics;
	_cleanup_free_ char *why = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(histograms); i++) {
		_cleanup_free_ char *text = NULL;
		_cleanup_free_ char *one = NULL;

		assert_true(asprintf(&text, STATISTICS("%s"), histograms[i]) > 0);
		assert_int_equal(parse_statistics(&statistics, text, &one), -EINVAL);
		assert_memory_equal(one, "statistics.histogram", 20);
	}
	assert_int_equal(parse_statistics(&statistics, "{\"statistics\":{\"count\":1}}", &missing),
			 -EINVAL);
	assert_string_equal(missing, "statistics.min_ns is missing");
	for (int over = 0; over < 2; over++) {
		_cleanup_free_ char *rows = WRITTEN(file, fputs("[[0,1,1]", file);
						    for (int i = 1; i < STATISTICS_ROWS_MAX + over;
							 i++) fprintf(file, ",[%d,%d,1]", i, i + 1);
						    fputc(']', file));
		_cleanup_free_ char *text = NULL;

		assert_true(asprintf(&text, STATISTICS("%s"), rows) > 0);
		assert_int_equal(parse_statistics(&statistics, text, &why), over ? -EINVAL : 0);
	}
	assert_string_equal(why, "statistics.histogram is not a list: too many rows");
}

TEST_IN_FOLDER(reads_files)
{
	struct capture_file file;
	char *why = NULL;

	assert_int_equal(capture_file_read(&file, folder->fd, &why), -ENOENT);
	assert_null(why);
	put_file(folder->fd, CAPTURE_FILE_NAME, WHOLE);
	assert_int_equal(capture_file_read(&file, folder->fd, &why), 0);
	assert_int_equal(file.sequence, 7);
	put_file(folder->fd, CAPTURE_FILE_NAME, "");
	assert_int_equal(capture_file_read(&file, folder->fd, &why), -EINVAL);
	assert_string_equal(why, "empty file");
	free(why);
	assert_int_equal(unlinkat(folder->fd, CAPTURE_FILE_NAME, 0), 0);
	/* Reading would wait for a writer. */
	assert_int_equal(mkfifoat(folder->fd, CAPTURE_FILE_NAME, 0600), 0);
	assert_int_equal(capture_file_read(&file, folder->fd, &why), -EINVAL);
	assert_string_equal(why, "not a regular file");
	free(why);
}
