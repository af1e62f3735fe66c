// SPDX-License-Identifier: GPL-2.0-only
/* The sideband and the trace of a perf.data. */
#include "pt/trace.h"

#include <string.h>

#include "code/sideband.h"
#include "fuzz.h"

/* Enough for any input of 64 KiB. */
#define SEGMENTS_MAX (64 * 1024 / 16)

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_maps(const struct sideband *sb, int pid, uint64_t time)
{
	struct sideband_maps maps;

	require(!sideband_maps(sb, pid, time, &maps));
	require(maps.from <= time && time < maps.until);
	for (size_t i = 0; i < maps.nr; i++) {
		require(maps.maps[i].start < maps.maps[i].end);
		require(!i || maps.maps[i - 1].end <= maps.maps[i].start);
		require(strlen(maps.maps[i].name) < UINT16_MAX);
	}
	sideband_maps_release(&maps);
}

static void check_tasks(const struct sideband *sb, int cpu)
{
	size_t nr;
	const struct sideband_task *tasks = sideband_tasks(sb, cpu, &nr);

	for (size_t i = 0; i < nr; i++) {
		const char *comm = sideband_comm(sb, tasks[i].tid, tasks[i].time);

		require(tasks[i].time <= tasks[i].latest);
		require(!i || tasks[i - 1].latest <= tasks[i].time);
		require(!comm || strlen(comm) < UINT16_MAX);
		if (tasks[i].time < UINT64_MAX)
			check_maps(sb, tasks[i].pid, tasks[i].time);
	}
}

static void check_kernel(const struct sideband *sb)
{
	const struct sideband_kernel *kernel = sideband_kernel(sb);
	size_t nr;

	for (size_t i = 0; i < kernel->nr_maps; i++)
		require(strlen(kernel->maps[i].name) < UINT16_MAX);
	for (size_t i = 0; i < kernel->nr_ksymbols; i++)
		require(strlen(kernel->ksymbols[i].name) < UINT16_MAX);
	for (size_t i = 0; i < kernel->nr_pokes; i++)
		require(kernel->pokes[i].old_bytes + kernel->pokes[i].old_len ==
			kernel->pokes[i].new_bytes);
	sideband_lost(sb, &nr);
}

/* The segments of a queue, and back again. */
static void check_queue(const struct trace_queue *queue)
{
	struct trace_segment segment, other;
	size_t nr = 0, back = 0;
	uint8_t sum = 0;

	if (!trace_seek_segment(queue, 0, &segment))
		return;
	do {
		require(segment.begin < segment.end && segment.end <= segment.limit);
		require(segment.offset <= trace_size(queue));
		for (const uint8_t *at = segment.begin; at < segment.limit && at < segment.end + 64;
		     at++)
			sum ^= *at;
		require(trace_seek_segment(queue, segment.time, &other));
		require(++nr <= SEGMENTS_MAX);
	} while (trace_next_segment(queue, &segment));
	require(trace_seek_segment(queue, UINT64_MAX, &other) && other.begin == segment.begin);
	do {
		back++;
	} while (trace_previous_segment(queue, &segment));
	require(back == nr && trace_seek_segment(queue, sum, &segment));
}

static int check(const struct perfdata_file *file, char **why)
{
	struct sideband *sb = NULL;
	struct trace *trace = NULL;
	int r = sideband_new(&sb, file, why);

	if (!r) {
		for (int cpu = 0; cpu < 64; cpu++)
			check_tasks(sb, cpu);
		for (int pid = -1; pid < 64; pid++)
			check_maps(sb, pid, 1000);
		check_kernel(sb);
		r = trace_new(&trace, file, sb, why);
	}
	for (size_t i = 0; !r && i < trace_nr_queues(trace); i++)
		check_queue(trace_queue(trace, i));
	require(!r || *why);
	trace_free(trace);
	sideband_free(sb);
	return r;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = fuzz_file(data, size);
	_cleanup_free_ char *why = NULL;
	struct perfdata_file file;
	int r;

	r = perfdata_map(&file, fd);
	if (r)
		return r;
	r = check(&file, &why);
	perfdata_unmap(&file);
	return r;
}
