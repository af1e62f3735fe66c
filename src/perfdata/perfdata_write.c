// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Layout: header | ids | attrs | data | feature table | feature bodies. */
#include "internal.h"

#include <assert.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "io.h"

#define HEADER_SIZE 104
#define ATTR_SIZE 128
#define BLOCK_SIZE (1024 * 1024)

static_assert(sizeof(struct perf_event_attr) >= ATTR_SIZE, "linux/perf_event.h is too old");

struct perfdata {
	int dirfd;
	int fd;
	int error;
	uint64_t size;
	struct perfdata_section attrs;
	struct perfdata_section data;
	struct perfdata_buf pending;
	struct perfdata_features own;  /* features of this file only */
	struct perfdata_buf auxtraces; /* offsets and sizes */
	bool use_clockid;
	clockid_t clockid;
};

static void buf_add_section(struct perfdata_buf *buf, struct perfdata_section section)
{
	perfdata_buf_u64(buf, section.offset);
	perfdata_buf_u64(buf, section.size);
}

static void buf_add_file_header(struct perfdata_buf *buf, const struct perfdata *pd,
				uint64_t features)
{
	perfdata_buf_u64(buf, PERFDATA_MAGIC);
	perfdata_buf_u64(buf, HEADER_SIZE);
	perfdata_buf_u64(buf, ATTR_SIZE + sizeof(struct perfdata_section));
	buf_add_section(buf, pd->attrs);
	buf_add_section(buf, pd->data);
	buf_add_section(buf, (struct perfdata_section){});
	perfdata_buf_u64(buf, features);
	perfdata_buf_zero(buf, 3 * sizeof(uint64_t));
}

static void buf_add_attr(struct perfdata_buf *buf, const struct perf_event_attr *attr)
{
	struct perf_event_attr cut = *attr;

	cut.size = ATTR_SIZE;
	/* Older perf rejects aux_action (Linux 6.13) as a reserved field; decoders ignore it. */
	memset((char *)&cut + AUX_ACTION_OFFSET, 0, sizeof(uint32_t));
	perfdata_buf_add(buf, &cut, ATTR_SIZE);
}

static void buf_add_event_desc(struct perfdata_buf *body, const struct perfdata_event *events,
			       size_t nr)
{
	perfdata_buf_u32(body, nr);
	perfdata_buf_u32(body, ATTR_SIZE);
	for (size_t i = 0; i < nr; i++) {
		buf_add_attr(body, &events[i].attr);
		perfdata_buf_u32(body, events[i].nr_ids);
		perfdata_buf_string(body, events[i].name);
		perfdata_buf_add(body, events[i].ids, events[i].nr_ids * sizeof(uint64_t));
	}
}

/* Writes all that precedes the data. The data size in the header is 0 until the file is
 * complete. */
static int write_file_head(struct perfdata *pd, const struct perfdata_event *events, size_t nr)
{
	struct perfdata_section ids = { .offset = HEADER_SIZE };

	pd->attrs.offset = HEADER_SIZE;
	for (size_t i = 0; i < nr; i++)
		pd->attrs.offset += events[i].nr_ids * sizeof(uint64_t);
	pd->attrs.size = nr * (ATTR_SIZE + sizeof(struct perfdata_section));
	pd->data.offset = pd->attrs.offset + pd->attrs.size;

	buf_add_file_header(&pd->pending, pd, 0);
	for (size_t i = 0; i < nr; i++)
		perfdata_buf_add(&pd->pending, events[i].ids, events[i].nr_ids * sizeof(uint64_t));
	for (size_t i = 0; i < nr; i++) {
		ids.size = events[i].nr_ids * sizeof(uint64_t);
		buf_add_attr(&pd->pending, &events[i].attr);
		buf_add_section(&pd->pending, ids);
		ids.offset += ids.size;
	}
	pd->size = pd->data.offset;
	return pd->pending.error;
}

static void perfdata_freep(struct perfdata **pd)
{
	perfdata_free(*pd);
}

int perfdata_create(struct perfdata **ret, int dirfd, const char *dirname,
		    const struct perfdata_event *events, size_t nr)
{
	_cleanup_(perfdata_freep) struct perfdata *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return -ENOMEM;
	pd->dirfd = pd->fd = -1;
	for (size_t i = 0; i < nr && !pd->use_clockid; i++) {
		pd->use_clockid = events[i].attr.use_clockid;
		pd->clockid = events[i].attr.clockid;
	}
	buf_add_event_desc(&pd->own.body[PERFDATA_FEATURE_EVENT_DESC], events, nr);
	err = write_file_head(pd, events, nr);
	if (err < 0)
		return err;
	if (mkdirat(dirfd, dirname, 0700) < 0)
		return -errno;
	pd->dirfd = openat(dirfd, dirname, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (pd->dirfd < 0)
		return -errno;
	pd->fd = openat(pd->dirfd, "data", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (pd->fd < 0)
		return -errno;
	*ret = TAKE_PTR(pd);
	return 0;
}

static int flush_pending(struct perfdata *pd)
{
	if (!pd->error)
		pd->error = write_all(pd->fd, pd->pending.data, pd->pending.len);
	pd->pending.len = 0;
	return pd->error;
}

/* Call with nothing pending. For the page cache, aligned pieces of BLOCK_SIZE are faster than one
 * large write or unaligned pieces. */
static int write_in_blocks(struct perfdata *pd, const char *records, size_t len)
{
	uint64_t at = pd->size;
	int err = 0;

	while (len && !err) {
		size_t piece = BLOCK_SIZE - at % BLOCK_SIZE;

		if (piece > len)
			piece = len;
		err = write_all(pd->fd, records, piece);
		records += piece;
		at += piece;
		len -= piece;
	}
	return err;
}

int perfdata_write(struct perfdata *pd, const void *records, size_t len)
{
	if (pd->pending.len + len > BLOCK_SIZE)
		flush_pending(pd);
	if (len > BLOCK_SIZE) {
		if (!pd->error)
			pd->error = write_in_blocks(pd, records, len);
	} else {
		perfdata_buf_add(&pd->pending, records, len);
		if (!pd->error)
			pd->error = pd->pending.error;
	}
	if (!pd->error)
		pd->size += len;
	return pd->error;
}

/* Reads the clock before and after the time of day, and uses the middle. */
static void read_clock_offset(struct perfdata *pd)
{
	struct perfdata_buf *body = &pd->own.body[PERFDATA_FEATURE_CLOCK_DATA];
	struct timespec resolution;
	uint64_t before, day, after;

	if (clock_getres(pd->clockid, &resolution) < 0)
		return;
	before = clock_ns(pd->clockid);
	day = clock_ns(CLOCK_REALTIME);
	after = clock_ns(pd->clockid);

	perfdata_buf_u64(&pd->own.body[PERFDATA_FEATURE_CLOCKID],
			 resolution.tv_sec * NSEC_PER_SEC + resolution.tv_nsec);
	perfdata_buf_u32(body, 1);
	perfdata_buf_u32(body, pd->clockid);
	perfdata_buf_u64(body, day);
	perfdata_buf_u64(body, before + (after - before) / 2);
}

/* The kernel first, as in perf. */
static void merge_build_ids(struct perfdata *pd, const struct perfdata_features *features)
{
	struct perfdata_buf *own = perfdata_own_build_ids(pd);
	struct perfdata_buf merged = {};

	if (!own->len || !features)
		return;
	perfdata_buf_append(&merged, &features->body[PERFDATA_FEATURE_BUILD_ID]);
	perfdata_buf_append(&merged, own);
	perfdata_buf_release(own);
	*own = merged;
}

/* Sets the bits of the written features. */
static int write_features(struct perfdata *pd, const struct perfdata_features *features,
			  uint64_t *bits)
{
	_cleanup_buf_ struct perfdata_buf table = {};
	const struct perfdata_buf *bodies[PERFDATA_FEATURE_NR];
	struct perfdata_section section;
	size_t nr = 0;

	for (int i = 0; i < PERFDATA_FEATURE_NR; i++) {
		const struct perfdata_buf *body = &pd->own.body[i];

		if (body->error)
			return body->error;
		if (!body->len && features)
			body = &features->body[i];
		if (!body->len)
			continue;
		bodies[nr++] = body;
		*bits |= 1ULL << i;
	}
	section.offset = pd->size + nr * sizeof(section);
	for (size_t i = 0; i < nr; i++) {
		section.size = bodies[i]->len;
		buf_add_section(&table, section);
		section.offset += section.size;
	}
	if (table.error)
		return table.error;
	perfdata_write(pd, table.data, table.len);
	for (size_t i = 0; i < nr; i++)
		perfdata_write(pd, bodies[i]->data, bodies[i]->len);
	return flush_pending(pd);
}

int perfdata_finish(struct perfdata *pd, const struct perfdata_features *features,
		    uint64_t first_ns, uint64_t last_ns)
{
	_cleanup_buf_ struct perfdata_buf header = {};
	uint64_t bits = 0;
	int err;

	pd->data.size = pd->size - pd->data.offset;
	if (pd->auxtraces.len) {
		perfdata_buf_u64(&pd->own.body[PERFDATA_FEATURE_AUXTRACE],
				 pd->auxtraces.len / (2 * sizeof(uint64_t)));
		perfdata_buf_append(&pd->own.body[PERFDATA_FEATURE_AUXTRACE], &pd->auxtraces);
	}
	merge_build_ids(pd, features);
	if (last_ns) {
		perfdata_buf_u64(&pd->own.body[PERFDATA_FEATURE_SAMPLE_TIME], first_ns);
		perfdata_buf_u64(&pd->own.body[PERFDATA_FEATURE_SAMPLE_TIME], last_ns);
	}
	if (pd->use_clockid)
		read_clock_offset(pd);
	err = write_features(pd, features, &bits);
	if (err < 0)
		return err;
	buf_add_file_header(&header, pd, bits);
	if (header.error)
		return header.error;
	if (lseek(pd->fd, 0, SEEK_SET) < 0)
		return -errno;
	err = write_all(pd->fd, header.data, header.len);
	if (err < 0)
		return err;
	if (close(TAKE_FD(pd->fd)) < 0)
		return -errno;
	return 0;
}

struct perfdata_buf *perfdata_own_build_ids(struct perfdata *pd)
{
	return &pd->own.body[PERFDATA_FEATURE_BUILD_ID];
}

uint64_t perfdata_size(const struct perfdata *pd)
{
	return pd->size;
}

int perfdata_dirfd(const struct perfdata *pd)
{
	return pd->dirfd;
}

void perfdata_free(struct perfdata *pd)
{
	if (!pd)
		return;
	closep(&pd->fd);
	closep(&pd->dirfd);
	perfdata_buf_release(&pd->pending);
	perfdata_buf_release(&pd->auxtraces);
	for (int i = 0; i < PERFDATA_FEATURE_NR; i++)
		perfdata_buf_release(&pd->own.body[i]);
	free(pd);
}

/* Intel PT in a perf.data: the decoder's parameters and the trace. */

#define AUXTRACE_INTEL_PT 1
#define AUXTRACE_SIZE 48

int perfdata_put_pt_info(struct perfdata_buf *buf, const uint64_t fields[PERFDATA_PT_NR],
			 const char *filter)
{
	size_t len = filter ? strlen(filter) : 0;
	size_t padded = len ? ALIGN8(len + 1) : 0;

	perfdata_buf_header(buf, PERFDATA_RECORD_AUXTRACE_INFO, 0,
			    sizeof(struct perf_event_header) +
				    sizeof(uint64_t) * (1 + PERFDATA_PT_NR) + padded);
	perfdata_buf_u32(buf, AUXTRACE_INTEL_PT);
	perfdata_buf_u32(buf, 0);
	for (int i = 0; i < PERFDATA_PT_FILTER_STR_LEN; i++)
		perfdata_buf_u64(buf, fields[i]);
	perfdata_buf_u64(buf, len);
	if (len) {
		perfdata_buf_add(buf, filter, len);
		perfdata_buf_zero(buf, padded - len);
	}
	/* Later versions of perf added fields after the string. */
	for (int i = PERFDATA_PT_FILTER_STR_LEN + 1; i < PERFDATA_PT_NR; i++)
		perfdata_buf_u64(buf, fields[i]);
	return buf->error;
}

int perfdata_put_time_conv(struct perfdata_buf *buf, const struct perf_event_mmap_page *page)
{
	perfdata_buf_header(buf, PERFDATA_RECORD_TIME_CONV, 0,
			    sizeof(struct perf_event_header) + 6 * sizeof(uint64_t));
	perfdata_buf_u64(buf, page->time_shift);
	perfdata_buf_u64(buf, page->time_mult);
	perfdata_buf_u64(buf, page->time_zero);
	perfdata_buf_u64(buf, page->time_cycles);
	perfdata_buf_u64(buf, page->time_mask);
	perfdata_buf_u64(buf, page->cap_user_time_zero | (uint64_t)page->cap_user_time_short << 8);
	return buf->error;
}

int perfdata_put_id_index(struct perfdata_buf *buf, const struct perfdata_event *events, size_t nr,
			  const int *cpus)
{
	size_t ids = 0;

	for (size_t i = 0; i < nr; i++)
		ids += events[i].nr_ids;
	perfdata_buf_header(buf, PERFDATA_RECORD_ID_INDEX, 0,
			    sizeof(struct perf_event_header) + sizeof(uint64_t) * (1 + 4 * ids));
	perfdata_buf_u64(buf, ids);
	for (size_t i = 0; i < nr; i++) {
		for (size_t cpu = 0; cpu < events[i].nr_ids; cpu++) {
			perfdata_buf_u64(buf, events[i].ids[cpu]);
			perfdata_buf_u64(buf, cpu);
			perfdata_buf_u64(buf, cpus[cpu]);
			perfdata_buf_u64(buf, -1);
		}
	}
	return buf->error;
}

int perfdata_write_auxtrace(struct perfdata *pd, const struct perfdata_auxtrace *trace)
{
	static const uint64_t zeros;
	_cleanup_buf_ struct perfdata_buf head = {};
	uint64_t size = 0, padded;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(trace->parts); i++)
		size += trace->parts[i].len;
	padded = ALIGN8(size);

	perfdata_buf_header(&head, PERFDATA_RECORD_AUXTRACE, 0, AUXTRACE_SIZE);
	perfdata_buf_u64(&head, padded);
	perfdata_buf_u64(&head, 0); /* offset in the AUX stream, unused */
	perfdata_buf_u64(&head, trace->reference);
	perfdata_buf_u32(&head, trace->index);
	perfdata_buf_u32(&head, -1);
	perfdata_buf_u32(&head, trace->cpu);
	perfdata_buf_u32(&head, 0);
	if (head.error)
		return head.error;
	perfdata_buf_u64(&pd->auxtraces, pd->size);
	perfdata_buf_u64(&pd->auxtraces, AUXTRACE_SIZE);
	err = perfdata_write(pd, head.data, head.len);
	for (size_t i = 0; !err && i < ARRAY_SIZE(trace->parts); i++)
		err = perfdata_write(pd, trace->parts[i].data, trace->parts[i].len);
	return err ? err : perfdata_write(pd, &zeros, padded - size);
}

#define STRING_ALIGN 64
#define READ_BLOCK (64 * 1024)

void perfdata_buf_release(struct perfdata_buf *buf)
{
	free(buf->data);
	*buf = (struct perfdata_buf){};
}

/* Makes room for `len` bytes. Returns NULL if out of memory, now or before. */
static uint8_t *perfdata_buf_reserve(struct perfdata_buf *buf, size_t len)
{
	size_t size = buf->size ? buf->size : 256;
	uint8_t *data;

	if (buf->error)
		return NULL;
	while (size - buf->len < len)
		size *= 2;
	if (size != buf->size) {
		data = realloc(buf->data, size);
		if (!data) {
			buf->error = -ENOMEM;
			return NULL;
		}
		buf->data = data;
		buf->size = size;
	}
	return buf->data + buf->len;
}

void perfdata_buf_add(struct perfdata_buf *buf, const void *data, size_t len)
{
	uint8_t *to = perfdata_buf_reserve(buf, len);

	if (!to || !len)
		return;
	memcpy(to, data, len);
	buf->len += len;
}

void perfdata_buf_append(struct perfdata_buf *buf, const struct perfdata_buf *other)
{
	perfdata_buf_add(buf, other->data, other->len);
	if (!buf->error)
		buf->error = other->error;
}

void perfdata_buf_zero(struct perfdata_buf *buf, size_t len)
{
	uint8_t *to = perfdata_buf_reserve(buf, len);

	if (!to)
		return;
	memset(to, 0, len);
	buf->len += len;
}

void perfdata_buf_u32(struct perfdata_buf *buf, uint32_t value)
{
	perfdata_buf_add(buf, &value, sizeof(value));
}

void perfdata_buf_u64(struct perfdata_buf *buf, uint64_t value)
{
	perfdata_buf_add(buf, &value, sizeof(value));
}

void perfdata_buf_header(struct perfdata_buf *buf, uint32_t type, uint16_t misc, size_t size)
{
	const struct perf_event_header header = { .type = type, .misc = misc, .size = size };

	perfdata_buf_add(buf, &header, sizeof(header));
}

void perfdata_buf_string(struct perfdata_buf *buf, const char *string)
{
	size_t len = strlen(string);
	size_t padded = (len / STRING_ALIGN + 1) * STRING_ALIGN;

	perfdata_buf_u32(buf, padded);
	perfdata_buf_add(buf, string, len);
	perfdata_buf_zero(buf, padded - len);
}

int perfdata_buf_read_file(struct perfdata_buf *buf, int dirfd, const char *path)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	uint8_t *to;
	ssize_t n;

	if (fd < 0)
		return -errno;
	for (;;) {
		to = perfdata_buf_reserve(buf, READ_BLOCK);
		if (!to)
			return buf->error;
		n = read(fd, to, buf->size - buf->len);
		if (n == 0)
			return 0;
		if (n > 0)
			buf->len += n;
		else if (errno != EINTR)
			return -errno;
	}
}

int perfdata_buf_read_text(struct perfdata_buf *buf, int dirfd, const char *path)
{
	int err = perfdata_buf_read_file(buf, dirfd, path);

	if (err < 0)
		return err;
	perfdata_buf_zero(buf, 1);
	return buf->error;
}
