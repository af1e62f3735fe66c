// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/spike_sample.h"

#include "recorder/recorder.h"
#include "util.h"

#define CHAIN_MAX 256

/* The kernel counts its ids from 1. */
static const uint64_t spike_id = UINT64_C(1) << 63;

struct perfdata_event spike_sample_event(const struct perf_event_attr *attr)
{
	struct perf_event_attr own = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(own),
		/* Not the dummy event: perf report omits its samples. */
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1,
		.sample_type = RECORDS_SAMPLE_TYPE | PERF_SAMPLE_CALLCHAIN,
		.read_format = attr->read_format,
		.sample_id_all = attr->sample_id_all,
		.use_clockid = attr->use_clockid,
		.clockid = attr->clockid,
	};

	return (struct perfdata_event){ own, "spike", &spike_id, 1 };
}

/* Addresses, with marks where kernel and user space begin. */
static size_t make_callchain(const struct perf_poke_frame *const *stack, size_t nr_frames,
			     uint64_t *chain)
{
	size_t nr = 0;

	for (size_t i = 0; i < nr_frames && nr + 2 <= CHAIN_MAX; i++) {
		const struct perf_poke_frame *frame = stack[i];

		if (!i || frame->user != stack[i - 1]->user)
			chain[nr++] = frame->user ? PERF_CONTEXT_USER : PERF_CONTEXT_KERNEL;
		chain[nr++] = frame->address;
	}
	return nr;
}

struct sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t nr;
	uint64_t words[CHAIN_MAX];
};

static int write_stack(struct perfdata *pd, struct sample *sample,
		       const struct perf_poke_frame *const *stack, size_t nr)
{
	sample->ip = stack[0]->address;
	sample->header.misc = stack[0]->user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	sample->nr = make_callchain(stack, nr, sample->words);
	sample->header.size = offsetof(struct sample, words) + sample->nr * sizeof(uint64_t);
	return perfdata_write(pd, sample, sample->header.size);
}

int spike_sample_write(struct perfdata *pd, const struct perf_poke_spike *spike, uint64_t time_ns)
{
	struct sample sample = {
		.header.type = PERF_RECORD_SAMPLE,
		.id = spike_id,
		.time_ns = time_ns,
		.cpu = spike->ran_cpu,
		.pid = spike->holder_pid,
		.tid = spike->holder_tid,
	};
	int err = spike->nr_holder_frames
			  ? write_stack(pd, &sample, spike->holder, spike->nr_holder_frames)
			  : 0;

	if (err || !spike->nr_frames)
		return err;
	sample.pid = spike->stack_pid;
	sample.tid = spike->stack_tid;
	return write_stack(pd, &sample, spike->stack, spike->nr_frames);
}

struct spike_processes spike_processes(const struct perf_poke_spike *spike)
{
	const int pids[] = { spike->stack_pid, spike->late_pid, spike->holder_pid };
	struct spike_processes ret = {};
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		bool known = !pids[i];

		for (size_t j = 0; j < nr; j++)
			known |= ret.pids[j] == pids[i];
		if (!known)
			ret.pids[nr++] = pids[i];
	}
	return ret;
}
