// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A capture has all bytes of a real CPU's trace in the ring from the first PSB on. */
#include "replay.h"

#include <string.h>

#include "helpers.h"
#include "pt_packets.h"
#include "realpt.h"
#include "util.h"

#define ROUNDS 20
#define REPEATED 3

static const char *const recordings[] = {
	"drio-926b.perf.data",
	"drio-0b3b.perf.data",
	"drio-c2d9.perf.data",
	"perf.data.intel_pt-4.14",
};

static void open_recording(struct replay *replay, const char *name)
{
	_cleanup_free_ char *path = realpt_path("perf.data", name);

	replay_open(replay, path);
	replay_repeat(replay, REPEATED);
}

/* The ring from the first PSB that is not older than the session. */
static size_t expected_len(const struct replay *replay, const uint8_t *ring, size_t len)
{
	struct pt_psb psb = {};
	size_t begin = len;

	if (replay->offline)
		return 0;
	for (size_t at = 0; pt_psb_find_timed(ring, len, at, &psb); at = psb.offset + 1) {
		begin = psb.offset;
		if (!psb.tsc || psb.tsc >= replay->started_tsc)
			break;
	}
	return len - begin;
}

static void check_trace(const struct replay *replay, const struct replay_trace *wrote,
			const struct replay_trace *from, size_t ring, size_t end)
{
	size_t last = end < from->len ? end : from->len;
	size_t held = last < ring ? last : ring;
	size_t len = expected_len(replay, from->bytes + last - held, held);

	assert_int_equal(wrote->cpu, from->cpu);
	/* PAD follows, to 8 bytes. */
	assert_int_equal(wrote->len, (len + 7) / 8 * 8);
	assert_memory_equal(wrote->bytes, from->bytes + last - len, len);
}

static void check_ring(const struct replay *replay, const char *output, size_t ring, size_t end)
{
	_cleanup_free_ char *path = replay_capture(replay, output, ring, end);
	_cleanup_free_ char *data = NULL;
	struct replay wrote;

	assert_true(asprintf(&data, "%s/perf.data/data", path) > 0);
	replay_open(&wrote, data);
	assert_int_equal(wrote.nr, replay->nr);
	for (size_t i = 0; i < replay->nr; i++)
		check_trace(replay, &wrote.traces[i], &replay->traces[i], ring, end);
	replay_close(&wrote);
}

static void check_rings(const struct replay *replay, const char *output)
{
	size_t longest = 0;

	for (size_t i = 0; i < replay->nr; i++)
		longest = replay->traces[i].len > longest ? replay->traces[i].len : longest;
	for (int i = 0; i < ROUNDS; i++)
		check_ring(replay, output, 256 + rand() % longest, 1 + rand() % longest);
}

TEST_IN_FOLDER(keeps_every_segment)
{
	srand(1);
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		struct replay replay;

		open_recording(&replay, recordings[i]);
		check_rings(&replay, folder->path);
		replay_close(&replay);
	}
}

TEST_IN_FOLDER(keeps_every_segment_since_the_start)
{
	srand(2);
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		const struct replay_trace *trace;
		struct replay replay;

		open_recording(&replay, recordings[i]);
		trace = &replay.traces[replay.nr - 1];
		replay.started_tsc = pt_psb_first_tsc(trace->bytes, trace->len, trace->len / 2);
		check_rings(&replay, folder->path);
		replay_close(&replay);
	}
}

TEST_IN_FOLDER(keeps_every_segment_without_times)
{
	srand(3);
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		struct replay replay;

		open_recording(&replay, recordings[i]);
		replay_forget_times(&replay);
		check_rings(&replay, folder->path);
		replay_close(&replay);
	}
}

TEST_IN_FOLDER(leaves_out_what_offline_cpus_had)
{
	for (size_t i = 0; i < ARRAY_SIZE(recordings); i++) {
		struct replay replay;

		open_recording(&replay, recordings[i]);
		replay.started_tsc = UINT64_C(1) << 54;
		check_ring(&replay, folder->path, 1 << 20, 1 << 20);
		replay.offline = true;
		check_ring(&replay, folder->path, 1 << 20, 1 << 20);
		replay_close(&replay);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2 || !realpt_find(argv[1]))
		return 77;
	return run_all(NULL, NULL);
}
