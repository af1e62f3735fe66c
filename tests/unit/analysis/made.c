// SPDX-License-Identifier: GPL-2.0-only
#include "made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "util.h"

#define MAGIC UINT64_C(0x32454c4946524550)
#define HEADER_SIZE 104
#define NR_EVENTS 2

static void add(struct perfdata_buf *buf, const void *data, size_t len)
{
	if (!len)
		return;
	buf->data = realloc(buf->data, buf->len + len);
	assert_non_null(buf->data);
	memcpy(buf->data + buf->len, data, len);
	buf->len += len;
}

static void add_u64(struct perfdata_buf *buf, uint64_t value)
{
	add(buf, &value, sizeof(value));
}

void made_record(struct made *made, uint32_t type, uint16_t misc, const void *body, size_t len)
{
	struct perf_event_header header = { type, misc, (uint16_t)(sizeof(header) + len) };

	add(&made->data, &header, sizeof(header));
	add(&made->data, body, len);
}

void made_event(struct made *made, uint32_t type, uint16_t misc, const void *body, size_t len,
		struct made_id id)
{
	size_t padded = (len + 7) & ~(size_t)7;
	uint8_t bytes[1024] = {};

	id.id = MADE_ID + MADE_CPUS + id.cpu;
	assert_true(padded + sizeof(id) <= sizeof(bytes));
	if (len)
		memcpy(bytes, body, len);
	memcpy(bytes + padded, &id, sizeof(id));
	made_record(made, type, misc, bytes, padded + sizeof(id));
}

void made_comm(struct made *made, uint16_t misc, uint32_t pid, uint32_t tid, const char *name,
	       uint64_t time)
{
	struct {
		uint32_t pid, tid;
		char name[16];
	} body = { pid, tid, "" };

	strncpy(body.name, name, sizeof(body.name) - 1);
	made_event(made, PERF_RECORD_COMM, misc, &body, sizeof(body),
		   (struct made_id){ pid, tid, time, 0 });
}

void made_fork(struct made *made, uint32_t pid, uint32_t ppid, uint32_t tid, uint32_t ptid,
	       uint64_t time)
{
	struct {
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} body = { pid, ppid, tid, ptid, time };

	made_event(made, PERF_RECORD_FORK, 0, &body, sizeof(body),
		   (struct made_id){ ppid, ptid, time, 0 });
}

void made_mmap(struct made *made, uint16_t misc, uint32_t pid, uint64_t start, uint64_t len,
	       uint64_t pgoff, const char *name, const char *build_id, uint64_t time)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, len, pgoff;
		uint8_t id_size, reserved[3], id[20];
		uint32_t prot, flags;
		char name[64];
	} body = { pid, pid, start, len, pgoff, .prot = PROT_READ | PROT_EXEC };

	if (build_id) {
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
		body.id_size = sizeof(body.id);
		memcpy(body.id, build_id, sizeof(body.id));
	}
	strncpy(body.name, name, sizeof(body.name) - 1);
	made_event(made, PERF_RECORD_MMAP2, misc, &body, sizeof(body),
		   (struct made_id){ pid, pid, time, 0 });
}

void made_switch(struct made *made, uint32_t cpu, uint64_t time, bool out, uint32_t pid,
		 uint32_t tid, uint32_t other_pid, uint32_t other_tid)
{
	uint32_t body[] = { other_pid, other_tid };

	made_event(made, PERF_RECORD_SWITCH_CPU_WIDE, out ? PERF_RECORD_MISC_SWITCH_OUT : 0, body,
		   sizeof(body), (struct made_id){ pid, tid, time, cpu });
}

void made_info(struct made *made, uint64_t shift, uint64_t mult, uint64_t zero)
{
	uint64_t body[1 + PERFDATA_PT_NR] = { 1 }, *fields = body + 1;

	fields[PERFDATA_PT_PMU_TYPE] = MADE_PMU;
	fields[PERFDATA_PT_TIME_SHIFT] = shift;
	fields[PERFDATA_PT_TIME_MULT] = mult;
	fields[PERFDATA_PT_TIME_ZERO] = zero;
	fields[PERFDATA_PT_CAP_USER_TIME_ZERO] = 1;
	fields[PERFDATA_PT_TSC_BIT] = 0x400;
	fields[PERFDATA_PT_PER_CPU_MMAPS] = 1;
	fields[PERFDATA_PT_MTC_FREQ_BITS] = 0x3c000;
	made_record(made, PERFDATA_RECORD_AUXTRACE_INFO, 0, body, sizeof(body));
}

void made_trace(struct made *made, uint32_t cpu, uint64_t reference, const void *trace, size_t len)
{
	struct {
		uint64_t size, offset, reference;
		uint32_t idx, tid, cpu, reserved;
	} body = { len, 0, reference, cpu, -1U, cpu, 0 };

	made_record(made, PERFDATA_RECORD_AUXTRACE, 0, &body, sizeof(body));
	add(&made->data, trace, len);
}

static struct perf_event_attr attr_of(const struct made *made, size_t event)
{
	return (struct perf_event_attr){
		.type = event ? PERF_TYPE_SOFTWARE : MADE_PMU,
		.size = sizeof(struct perf_event_attr),
		.config = event ? PERF_COUNT_SW_DUMMY : 0x400 | 3 << 14,
		.sample_type = MADE_SAMPLE_TYPE | made->sample_type,
		.aux_sample_size = made->sample_type & PERF_SAMPLE_AUX && !event ? 4096 : 0,
		.exclude_user = 1,
		.sample_id_all = 1,
	};
}

static void add_ids(struct perfdata_buf *buf, size_t event)
{
	for (uint64_t cpu = 0; cpu < MADE_CPUS; cpu++)
		add_u64(buf, MADE_ID + event * MADE_CPUS + cpu);
}

static void add_file(struct perfdata_buf *buf, const struct made *made)
{
	const uint64_t ids = NR_EVENTS * MADE_CPUS * 8;
	const uint64_t attr_size = sizeof(struct perf_event_attr) + 16;
	const uint64_t data = HEADER_SIZE + ids + NR_EVENTS * attr_size;
	const uint64_t header[] = {
		MAGIC,
		HEADER_SIZE,
		attr_size,
		HEADER_SIZE + ids,
		NR_EVENTS * attr_size,
		data,
		made->data.len,
		0,
		0,
		made->feature ? UINT64_C(1) << made->feature : 0,
		0,
		0,
		0,
	};

	add(buf, header, sizeof(header));
	for (size_t i = 0; i < NR_EVENTS; i++)
		add_ids(buf, i);
	for (size_t i = 0; i < NR_EVENTS; i++) {
		struct perf_event_attr attr = attr_of(made, i);

		add(buf, &attr, sizeof(attr));
		add_u64(buf, HEADER_SIZE + i * MADE_CPUS * 8);
		add_u64(buf, MADE_CPUS * 8);
	}
	add(buf, made->data.data, made->data.len);
	if (made->feature) {
		add_u64(buf, buf->len + 16);
		add_u64(buf, made->features.len);
		add(buf, made->features.data, made->features.len);
	}
}

void made_map(struct made *made, struct perfdata_file *file)
{
	_cleanup_close_ int fd = memfd_create("perf.data", MFD_CLOEXEC);
	struct perfdata_buf buf = {};

	add_file(&buf, made);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, buf.data, buf.len), buf.len);
	free(buf.data);
	free(made->data.data);
	free(made->features.data);
	assert_int_equal(perfdata_map(file, fd), 0);
}

struct made_opened made_open(struct made *made)
{
	struct made_opened opened = {};
	char *why;

	made_map(made, &opened.file);
	assert_int_equal(sideband_new(&opened.sb, &opened.file, &why), 0);
	return opened;
}

void made_close(struct made_opened *opened)
{
	sideband_free(opened->sb);
	perfdata_unmap(&opened->file);
}
