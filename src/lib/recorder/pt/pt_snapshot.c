// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/pt/pt.h"

#include <sys/mman.h>

#include "clock.h"
#include "perfdata.h"
#include "util.h"

#define CLOCK_TRIES 3

struct pt_pool {
	size_t nr, size;
	uint8_t *kept; /* nr consecutive buffers */
	bool taken[];
};

/* Not malloc(), which may keep freed memory. No huge pages: copying was no faster, and compaction
 * disturbs watched CPUs. */
static uint8_t *pt_pool_map(size_t size, int flags)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags,
			    -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

int pt_pool_new(struct pt_pool **ret, size_t nr, size_t size)
{
	_cleanup_free_ struct pt_pool *pool =
		calloc(1, sizeof(*pool) + nr * sizeof(pool->taken[0]));

	if (!pool)
		return -ENOMEM;
	pool->nr = nr;
	pool->size = size;
	if (nr) {
		pool->kept = pt_pool_map(nr * size, MAP_POPULATE);
		if (!pool->kept)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(pool);
	return 0;
}

uint8_t *pt_pool_take(struct pt_pool *pool)
{
	for (size_t i = 0; i < pool->nr; i++) {
		if (!__atomic_exchange_n(&pool->taken[i], true, __ATOMIC_ACQUIRE))
			return pool->kept + i * pool->size;
	}
	return pt_pool_map(pool->size, 0);
}

void pt_pool_give_back(struct pt_pool *pool, uint8_t *buffer)
{
	if (!buffer)
		return;
	if (buffer >= pool->kept && buffer < pool->kept + pool->nr * pool->size)
		__atomic_store_n(&pool->taken[(buffer - pool->kept) / pool->size], false,
				 __ATOMIC_RELEASE);
	else
		munmap(buffer, pool->size);
}

void pt_pool_free(struct pt_pool *pool)
{
	if (!pool)
		return;
	if (pool->nr)
		munmap(pool->kept, pool->nr * pool->size);
	free(pool);
}

void pt_snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	for (size_t i = 0; i < snapshot->nr; i++) {
		pt_pool_give_back(snapshot->pt->pool, snapshot->traces[i].data);
		free(snapshot->traces[i].sample);
	}
	for (size_t i = 0; snapshot->switches && i < snapshot->pt->nr_cpus; i++)
		free(snapshot->switches[i].data);
	free(snapshot->switches);
	free(snapshot->switch_ids);
	free(snapshot->ids);
	ring_copies_free(snapshot->names);
	ring_copies_free(snapshot->senders);
	ring_copies_free(snapshot->stacks);
	free(snapshot);
}

static int pt_copy_ring(struct pt_recorder *pt, size_t i, struct pt_trace *trace)
{
	size_t next;

	trace->data = pt_pool_take(pt->pool);
	if (!trace->data)
		return -ENOMEM;
	next = pt_events_copy_ring(pt->events, i, trace->data);
	trace->moved = next != pt->cpus[i].next;
	pt->cpus[i].next = next;
	return 0;
}

/* Falls back to the ring: a CPU whose events were not reopened after it was offline has no
 * sample. */
static int pt_take_sample(struct pt_recorder *pt, size_t i, struct pt_trace *trace)
{
	int err = pt_events_take_sample(pt->events, i, (void **)&trace->sample);

	if (err != -ENODATA)
		return err;
	pt->cpus[i].sampled = false;
	pt->cpus[i].frozen = true;
	err = pt_events_disable(pt->events, i);
	return err ? err : pt_copy_ring(pt, i, trace);
}

static int pt_copy_switches(const struct pt_recorder *pt, struct snapshot *snapshot)
{
	size_t nr_ids;

	if (!pt->switches)
		return 0;
	snapshot->switches = calloc(pt->nr_cpus, sizeof(*snapshot->switches));
	snapshot->switch_ids = rings_ids(pt->switches, &nr_ids);
	if (!snapshot->switches || !snapshot->switch_ids)
		return -ENOMEM;
	return rings_copy_running(pt->switches, snapshot->switches);
}

static int pt_copy_traces(struct pt_recorder *pt, struct snapshot *snapshot)
{
	for (size_t i = 0; i < pt->nr_cpus; i++) {
		struct pt_trace *trace = &snapshot->traces[snapshot->nr];
		int err;

		if (!pt->cpus[i].frozen && !pt->cpus[i].sampled)
			continue;
		trace->index = i;
		trace->started_tsc = pt->cpus[i].started_tsc;
		if (pt->cpus[i].sampled)
			err = pt_take_sample(pt, i, trace);
		else
			err = pt_copy_ring(pt, i, trace);
		if (err)
			return err;
		snapshot->nr++;
	}
	return 0;
}

/* Reads three clocks at one moment. Keeps the quickest of several tries, since interrupts may come
 * in between. */
static void pt_read_clocks(struct pt_recorder *pt, struct snapshot *snapshot)
{
	uint64_t best_ns = UINT64_MAX;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
		uint64_t tsc = tsc_read_counter();
		uint64_t took_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;

		if (took_ns >= best_ns)
			continue;
		best_ns = took_ns;
		snapshot->monotonic_ns = before_ns + took_ns / 2;
		snapshot->tsc = tsc;
	}
	tsc_clock_read(&pt->clock, &snapshot->clock);
	if (tsc_is_perf_clock(&snapshot->clock))
		snapshot->perf_ns = tsc_to_perf_ns(&snapshot->clock, snapshot->tsc);
}

int pt_copy_snapshot(struct recorder *recorder, struct snapshot **ret)
{
	struct pt_recorder *pt = to_pt(recorder);
	struct snapshot *snapshot;
	int err;

	snapshot = calloc(1, sizeof(*snapshot) + pt->nr_cpus * sizeof(snapshot->traces[0]));
	if (!snapshot)
		return -ENOMEM;
	snapshot->pt = pt;
	pt_read_clocks(pt, snapshot);
	snapshot->ids = pt_events_ids(pt->events);
	err = snapshot->ids ? pt_copy_traces(pt, snapshot) : -ENOMEM;
	if (err) {
		pt_snapshot_free(snapshot);
		return err;
	}
	*ret = snapshot;
	return 0;
}

int pt_copy_rest(struct recorder *recorder, struct snapshot *snapshot)
{
	struct pt_recorder *pt = to_pt(recorder);

	return pt_copy_switches(pt, snapshot)
		       ?: senders_copy_rings(pt->stacks, &snapshot->stacks)
			       ?: task_names_copy(pt->names, &snapshot->names)
				       ?: senders_copy_rings(pt->senders, &snapshot->senders);
}
