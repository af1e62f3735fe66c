// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/spike_sample.h"

#include <stdbool.h>

#include "base/branches.h"
#include "recorder/records.h"

#define CHAIN_MAX 256
#define BRANCHES_MAX 64
/* Of a branch, as the kernel writes it. */
#define BRANCH_WORDS 3

/* The kernel counts its ids from 1. */
static const uint64_t spike_id = UINT64_C(1) << 63;

struct perfdata_event spike_sample_event(const struct perf_event_attr *attr,
					 const struct perf_poke_spike *spike)
{
	struct perf_event_attr own = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(own),
		/* Not the dummy event, whose samples perf report leaves out. */
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1,
		.sample_type = RECORDS_SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN,
		.read_format = attr->read_format,
		.sample_id_all = attr->sample_id_all,
		.use_clockid = attr->use_clockid,
		.clockid = attr->clockid,
	};

	if (spike->nr_branches) {
		own.sample_type |= PERF_SAMPLE_BRANCH_STACK;
		own.branch_sample_type = BRANCHES_TYPE;
	}
	return (struct perfdata_event){ own, "spike", &spike_id, 1 };
}

/* Addresses, with a mark where those of the kernel and of user space begin. */
static size_t make_callchain(const struct perf_poke_spike *spike, uint64_t *chain)
{
	size_t nr = 0;

	for (size_t i = 0; i < spike->nr_frames && nr + 2 <= CHAIN_MAX; i++) {
		const struct perf_poke_frame *frame = spike->stack[i];

		if (!i || frame->user != spike->stack[i - 1]->user)
			chain[nr++] = frame->user ? PERF_CONTEXT_USER : PERF_CONTEXT_KERNEL;
		chain[nr++] = frame->address;
	}
	return nr;
}

/* Returns the number of words. */
static size_t make_branches(const struct perf_poke_spike *spike, uint64_t *words)
{
	size_t nr = spike->nr_branches < BRANCHES_MAX ? spike->nr_branches : BRANCHES_MAX;

	if (!nr)
		return 0;
	*words++ = nr;
	for (size_t i = 0; i < nr; i++) {
		*words++ = spike->branches[i].from;
		*words++ = spike->branches[i].to;
		*words++ = spike->branches[i].flags;
	}
	return 1 + nr * BRANCH_WORDS;
}

int spike_sample_write(struct perfdata *pd, const struct perf_poke_spike *spike, uint64_t time_ns)
{
	struct {
		struct perf_event_header header;
		uint64_t id, ip;
		uint32_t pid, tid;
		uint64_t time_ns;
		uint32_t cpu, reserved;
		uint64_t nr;
		uint64_t words[CHAIN_MAX + 1 + BRANCH_WORDS * BRANCHES_MAX];
	} sample = {
		.header.type = PERF_RECORD_SAMPLE,
		.id = spike_id,
		.pid = spike->stack_pid,
		.tid = spike->stack_tid,
		.time_ns = time_ns,
		.cpu = spike->ran_cpu,
	};

	size_t nr;

	if (!spike->nr_frames)
		return 0;
	sample.ip = spike->stack[0]->address;
	sample.header.misc =
		spike->stack[0]->user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	sample.nr = make_callchain(spike, sample.words);
	nr = sample.nr + make_branches(spike, sample.words + sample.nr);
	sample.header.size = offsetof(__typeof__(sample), words) + nr * sizeof(uint64_t);
	return perfdata_write(pd, &sample, sample.header.size);
}
