// SPDX-License-Identifier: GPL-2.0-only
/* What only the view needs; lib/capture/read tests the rest. */
#include <sys/stat.h>

#include "opened.h"

#define CAPTURE(spike, recorder)                                                                   \
	"{\"schema\":1,\"history_ns\":9,\"spike\":{" spike "},\"recorder\":{" recorder "},"        \
	"\"kernel\":{\"version\":\"#1 SMP\"}}"
#define EVENTS(spike) CAPTURE("\"time_ns\":5,\"cpu\":" spike, "\"kind\":\"events\"")
#define PT(time_ns, clock)                                                                         \
	CAPTURE("\"cpu\":2,\"latency_ns\":4,\"expected_ns\":1,\"time_ns\":" time_ns,               \
		"\"kind\":\"pt\",\"freeze\":\"sample\",\"clock\":{" clock "}")

/* null if TSC was not perf's clock; earlier versions wrote 0. */
TEST_IN_FOLDER(reads_traces_without_times)
{
	static const char *const texts[] = { PT("5", "\"monotonic_ns\":9,\"perf_ns\":null"),
					     PT("5", "\"monotonic_ns\":9,\"perf_ns\":0") };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_(capture_file_close) struct capture_file file;
		char *why = NULL;

		assert_int_equal(open_text(&file, texts[i], &why), 0);
		assert_true(file.view.no_times && file.view.ends_at_spike);
		assert_int_equal(file.view.spike_ns, 5);
	}
}

TEST_IN_FOLDER(reads_views)
{
	_cleanup_(capture_file_close) struct capture_file pt, poke;
	char *why = NULL;

	assert_int_equal(open_text(&pt,
				   PT("7361536417", "\"monotonic_ns\":7366384740,"
						    "\"perf_ns\":7380134244"),
				   &why),
			 0);
	assert_int_equal(pt.view.recorder, PERF_POKE_RECORDER_PT);
	assert_int_equal(pt.view.cpu, 2);
	assert_true(pt.view.sampled && pt.view.ends_at_spike);
	assert_int_equal(pt.view.spike_ns, 7375285921);
	assert_int_equal(pt.view.expected_ns, 7375285921 - 7361536416);
	assert_int_equal(pt.view.latency_ns, 4);
	assert_int_equal(pt.view.history_ns, 9);
	assert_int_equal(open_text(&poke, EVENTS("-1"), &why), 0);
	assert_int_equal(poke.view.recorder, PERF_POKE_RECORDER_EVENTS);
	assert_int_equal(poke.view.cpu, -1);
	assert_int_equal(poke.view.spike_ns, 5);
	assert_int_equal(poke.view.expected_ns, 0);
	assert_null(why);
}

TEST_IN_FOLDER(reads_the_rest_by_path)
{
	_cleanup_(capture_file_close) struct capture_file file;
	char *why = NULL;

	assert_int_equal(open_text(&file, EVENTS("1"), &why), 0);
	assert_int_equal(capture_file_number(&file, "history_ns", 7), 9);
	assert_int_equal(capture_file_number(&file, "hardware.smis", 7), 7);
	assert_string_equal(capture_file_text(&file, "kernel.version"), "#1 SMP");
	assert_string_equal(capture_file_text(&file, "kernel.release"), "");
}

TEST_IN_FOLDER(refuses)
{
#define CLOCK "recorder.clock.monotonic_ns is missing or not a non-negative integer"
	static const struct {
		const char *text;
		const char *why;
	} rows[] = {
		{ "{\"schema\":2}", "schema 2: this version reads 1" },
		{ EVENTS("-2"), "spike.cpu -2: no such CPU" },
		{ CAPTURE("\"time_ns\":5,\"cpu\":1", "\"kind\":\"ta\\npe\""),
		  "recorder.kind 'ta pe' is unknown to this version" },
		{ PT("5", ""), CLOCK },
		{ PT("5", "\"monotonic_ns\":-5"), CLOCK },
		{ PT("5", "\"monotonic_ns\":9,\"perf_ns\":3"),
		  "recorder.clock: the spike is before the clock's start" },
		{ "", "empty file" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(capture_file_close) struct capture_file file;
		_cleanup_free_ char *why = NULL;

		assert_int_equal(open_text(&file, rows[i].text, &why), -EINVAL);
		assert_string_equal(why, rows[i].why);
	}
}

TEST_IN_FOLDER(says_what_is_no_file)
{
	struct capture_file file;
	char *why = NULL;

	assert_int_equal(capture_file_open(&file, folder->path, &why), -ENOENT);
	assert_null(why);
	/* Reading would wait for a writer. */
	assert_int_equal(mkfifoat(folder->fd, CAPTURE_FILE_NAME, 0600), 0);
	assert_int_equal(capture_file_open(&file, folder->path, &why), -EINVAL);
	assert_string_equal(why, "not a regular file");
	free(why);
	capture_file_close(&file);
}
