// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/recorder.h"

#include <fcntl.h>
#include <string.h>

#include "io.h"
#include "util.h"

/* The kernel thread that creates all others. */
#define KTHREADD_PID 2

uint16_t records_max_stack(uint16_t frames)
{
	char text[32];
	unsigned long limit;

	if (read_text_at(AT_FDCWD, "/proc/sys/kernel/perf_event_max_stack", text, sizeof(text)))
		return frames;
	limit = strtoul(text, NULL, 10);
	return limit < frames ? limit : frames;
}

/* A sample has IDENTIFIER, IP, TID, TIME. Other records end with a sample id: TID, TIME, CPU,
 * IDENTIFIER. */
static uint64_t ring_record_time(const struct perf_event_header *header)
{
	const char *record = (const char *)header;
	size_t offset =
		header->type == PERF_RECORD_SAMPLE ? sizeof(*header) + 24U : header->size - 24U;
	uint64_t time_ns;

	if (offset + sizeof(time_ns) > header->size)
		return 0;
	memcpy(&time_ns, record + offset, sizeof(time_ns));
	return time_ns;
}

/* How many events a record says to be lost; 0: another record. LOST has an id before. */
static uint64_t ring_record_lost(const struct perf_event_header *header)
{
	size_t offset = sizeof(*header) + (header->type == PERF_RECORD_LOST ? sizeof(uint64_t) : 0);
	uint64_t lost = 0;

	if ((header->type == PERF_RECORD_LOST || header->type == PERF_RECORD_LOST_SAMPLES) &&
	    offset + sizeof(lost) <= header->size)
		memcpy(&lost, (const char *)header + offset, sizeof(lost));
	return lost;
}

static void records_facts_add(struct records_facts *facts, const struct perf_event_header *header)
{
	uint64_t time_ns = ring_record_time(header);

	if (!facts->first_ns || time_ns < facts->first_ns)
		facts->first_ns = time_ns;
	if (time_ns > facts->last_ns)
		facts->last_ns = time_ns;
	facts->samples += header->type == PERF_RECORD_SAMPLE;
}

/* NULL at the end or at an incomplete record. */
static const void *ring_record_at(const struct ring_copy *copy, size_t offset)
{
	const struct perf_event_header *header = (const void *)(copy->data + offset);

	if (offset + sizeof(*header) > copy->size || header->size < sizeof(*header) ||
	    header->size > copy->size - offset)
		return NULL;
	return header;
}

/* Offsets of records, newest first, except a torn one at the end. */
static size_t ring_records_find(const struct ring_copy *copy, uint32_t *offsets)
{
	const struct perf_event_header *header;
	size_t nr = 0;

	for (size_t offset = 0; (header = ring_record_at(copy, offset)); offset += header->size)
		offsets[nr++] = offset;
	return nr;
}

bool records_first_task(const struct ring_copy *copy, struct records_task *task)
{
	const struct switch_record {
		struct perf_event_header header;
		struct records_task other; /* the next or the previous task */
		struct records_task own;   /* of the sample id: the task that switches in or out */
	} *found = NULL, *record;

	for (size_t offset = 0; (record = ring_record_at(copy, offset));
	     offset += record->header.size) {
		if (record->header.type == PERF_RECORD_SWITCH_CPU_WIDE &&
		    record->header.size >= sizeof(*record))
			found = record;
	}
	if (found)
		*task = found->header.misc & PERF_RECORD_MISC_SWITCH_OUT ? found->own
									 : found->other;
	return found;
}

int records_put_kthreads(struct perfdata_buf *buf, const struct ring_copy *copy, int root_fd)
{
	const struct fork_record {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time_ns;
	} *record = NULL;
	int err = 0;

	for (size_t offset = 0; !err && (record = ring_record_at(copy, offset));
	     offset += record->header.size) {
		if (record->header.type == PERF_RECORD_FORK &&
		    record->header.size >= sizeof(*record) && record->ppid == KTHREADD_PID)
			err = perfdata_put_forked(buf, &record->header, root_fd);
	}
	return err;
}

int records_write_ring(struct perfdata *pd, const struct ring_copy *copy,
		       struct records_facts *facts)
{
	_cleanup_free_ uint32_t *offsets = NULL;
	uint64_t lost;
	int err = 0;

	offsets = calloc(copy->size / sizeof(struct perf_event_header) + 1, sizeof(*offsets));
	if (!offsets)
		return -ENOMEM;
	for (size_t nr = ring_records_find(copy, offsets); nr && !err; nr--) {
		const struct perf_event_header *header = (void *)(copy->data + offsets[nr - 1]);

		/* Events are lost while the ring is paused for a copy. The kernel writes the record
		 * and then the next event: oldest first, it follows that event. */
		lost = ring_record_lost(header);
		facts->lost += lost;
		if (!lost)
			records_facts_add(facts, header);
		err = perfdata_write(pd, header, header->size);
	}
	return err;
}

int records_write_buf(struct perfdata *pd, struct perfdata_buf *buf, int err)
{
	if (!err)
		err = perfdata_write(pd, buf->data, buf->len);
	perfdata_buf_release(buf);
	return err;
}

int ring_copies_new(const struct rings *rings, size_t nr, struct ring_copies **ret)
{
	struct ring_copies *copy = calloc(1, sizeof(*copy) + nr * sizeof(copy->rings[0]));
	int err;

	if (!copy)
		return -ENOMEM;
	copy->nr = nr;
	copy->ids = rings_ids(rings, &copy->nr_ids);
	err = copy->ids ? rings_copy_running(rings, copy->rings) : -ENOMEM;
	if (err) {
		ring_copies_free(copy);
		return err;
	}
	*ret = copy;
	return 0;
}

void ring_copies_free(struct ring_copies *copy)
{
	if (!copy)
		return;
	for (size_t i = 0; i < copy->nr; i++)
		free(copy->rings[i].data);
	free(copy->ids);
	free(copy);
}

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
static size_t spike_make_callchain(const struct perf_poke_frame *const *stack, size_t nr_frames,
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

static int spike_write_stack(struct perfdata *pd, struct sample *sample,
			     const struct perf_poke_frame *const *stack, size_t nr)
{
	sample->ip = stack[0]->address;
	sample->header.misc = stack[0]->user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
	sample->nr = spike_make_callchain(stack, nr, sample->words);
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
			  ? spike_write_stack(pd, &sample, spike->holder, spike->nr_holder_frames)
			  : 0;

	if (err || !spike->nr_frames)
		return err;
	sample.pid = spike->stack_pid;
	sample.tid = spike->stack_tid;
	return spike_write_stack(pd, &sample, spike->stack, spike->nr_frames);
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
