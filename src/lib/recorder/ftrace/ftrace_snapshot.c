// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Copies of the rings, and trace.dat. */
#include "recorder/ftrace/ftrace.h"

#include <inttypes.h>
#include <string.h>

#include <tracefs/tracefs.h>

#include "clock.h"
#include "io.h"
#include "json_util.h"
#include "text.h"

struct snapshot {
	const struct ftrace_recorder *ftrace;
	bool paused;	  /* the message was printed: it must be in the trace */
	uint64_t late_ns; /* when the session itself ended the trace; 0: the kernel did */
	struct trace_dat_ring rings[]; /* one per watched CPU, then those of the senders */
};

static size_t snapshot_count_rings(const struct ftrace_recorder *ftrace)
{
	return ftrace->nr_cpus + ftrace_senders_count(ftrace->senders);
}

void ftrace_snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot_count_rings(snapshot->ftrace); i++)
		free(snapshot->rings[i].pages);
	free(snapshot);
}

static int snapshot_read_rings(const struct ftrace_recorder *ftrace, struct snapshot *snapshot)
{
	int err = 0;

	for (size_t i = 0; i < ftrace->nr_cpus && !err; i++)
		err = ftrace_ring_read(&ftrace->cpus[i], ftrace->buffer_size, &snapshot->rings[i]);
	return err;
}

int ftrace_copy_rings(struct recorder *recorder, struct snapshot **ret)
{
	struct ftrace_recorder *ftrace = to_ftrace(recorder);
	struct snapshot *snapshot = calloc(
		1, sizeof(*snapshot) + snapshot_count_rings(ftrace) * sizeof(snapshot->rings[0]));
	int err = 0;

	if (!snapshot)
		return -ENOMEM;
	snapshot->ftrace = ftrace;
	snapshot->paused = recorder->paused;
	if (!recorder->reads_late)
		err = snapshot_read_rings(ftrace, snapshot);
	if (err)
		ftrace_snapshot_free(snapshot);
	else
		*ret = snapshot;
	return err;
}

/* Whether the message of the spike is in one of the rings: it is the last event of its CPU. */
static bool snapshot_has_message(const struct snapshot *snapshot)
{
	const char *message = snapshot->ftrace->base.pause_message;
	const size_t page = sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < snapshot->ftrace->nr_cpus; i++) {
		const struct trace_dat_ring *ring = &snapshot->rings[i];
		size_t tail = ring->size < 2 * page ? ring->size : 2 * page;

		if (tail && memmem(ring->pages + ring->size - tail, tail, message, strlen(message)))
			return true;
	}
	return false;
}

/* In an NMI the kernel does not swap: then the session does it here. */
static int snapshot_read_swapped(struct ftrace_recorder *ftrace, struct snapshot *snapshot)
{
	int err = snapshot_read_rings(ftrace, snapshot);
	if (err || !snapshot->paused || snapshot_has_message(snapshot))
		return err;
	ftrace->late_swaps++;
	err = ftrace_instance_write(ftrace->instance, "snapshot", "1");
	snapshot->late_ns = clock_ns(CLOCK_MONOTONIC);
	return err ? err : snapshot_read_rings(ftrace, snapshot);
}

/* Adds a line with the spike behind the last event of its CPU, in a page of its own. */
static void snapshot_add_marker(const struct ftrace_recorder *ftrace, struct trace_dat_ring *ring,
				const struct perf_poke_spike *spike, uint64_t last_ns)
{
	uint64_t time_ns = last_ns > spike->time_ns ? last_ns : spike->time_ns;
	char text[160];

	snprintf(text, sizeof(text),
		 "perf-poke: spike at %" PRIu64 ".%09" PRIu64 " on CPU %d, latency %" PRIu64
		 " ns\n",
		 spike->time_ns / NSEC_PER_SEC, spike->time_ns % NSEC_PER_SEC, spike->cpu,
		 spike->latency_ns);
	trace_dat_make_marker(ring->pages + ring->size, ftrace->marker_id, time_ns, text);
	ring->size += sysconf(_SC_PAGESIZE);
}

int ftrace_copy_rest(struct recorder *recorder, struct snapshot *snapshot)
{
	struct ftrace_recorder *ftrace = to_ftrace(recorder);
	int err = recorder->reads_late ? snapshot_read_swapped(ftrace, snapshot) : 0;

	return err ? err : ftrace_senders_copy(ftrace->senders, snapshot->rings + ftrace->nr_cpus);
}

int ftrace_write_capture(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
			 const struct perf_poke_spike *spike, struct snapshot_facts *facts)
{
	const struct ftrace_recorder *ftrace = to_ftrace(recorder);
	struct perfdata_buf names = {};
	struct trace_dat dat = {
		.formats = &ftrace->formats,
		.names = &names,
		.clock = "[mono]",
		.version = perf_poke__version(),
		.rings = snapshot->rings,
		.nr_rings = snapshot_count_rings(ftrace),
		.nr_cpus = sysconf(_SC_NPROCESSORS_CONF),
	};
	int err = trace_dat_put_names(&names, ftrace->tracefs, &ftrace->functions, ftrace->root_fd);

	for (size_t i = 0; i < dat.nr_rings; i++) {
		struct trace_dat_ring *ring = &snapshot->rings[i];
		struct trace_dat_facts found;

		trace_dat_ring_drop_gap(ring);
		found = trace_dat_ring_facts(ring);

		facts->events += found.events;
		facts->lost += found.lost;
		if (ring->cpu == spike->cpu ||
		    (spike->cpu < 0 && found.first_ns > facts->oldest_ns))
			facts->oldest_ns = found.first_ns;
		if (ring->cpu == spike->ran_cpu)
			snapshot_add_marker(ftrace, ring, spike, found.last_ns);
		if (ring->cpu >= dat.nr_cpus)
			dat.nr_cpus = ring->cpu + 1;
	}
	facts->still_ns = snapshot->late_ns;
	if (!err)
		err = trace_dat_write(dirfd, "trace.dat", &dat, &facts->size);
	perfdata_buf_release(&names);
	return err;
}
