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

static void put_section(struct perfdata_buf *buf, struct perfdata_section section)
{
	perfdata_buf_u64(buf, section.offset);
	perfdata_buf_u64(buf, section.size);
}

static void put_header(struct perfdata_buf *buf, const struct perfdata *pd, uint64_t features)
{
	perfdata_buf_u64(buf, PERFDATA_MAGIC);
	perfdata_buf_u64(buf, HEADER_SIZE);
	perfdata_buf_u64(buf, ATTR_SIZE + sizeof(struct perfdata_section));
	put_section(buf, pd->attrs);
	put_section(buf, pd->data);
	put_section(buf, (struct perfdata_section){});
	perfdata_buf_u64(buf, features);
	perfdata_buf_zero(buf, 3 * sizeof(uint64_t));
}

static void put_attr(struct perfdata_buf *buf, const struct perf_event_attr *attr)
{
	struct perf_event_attr cut = *attr;

	cut.size = ATTR_SIZE;
	/* Older perf rejects aux_action (Linux 6.13) as a reserved field; decoders ignore it. */
	memset((char *)&cut + AUX_ACTION_OFFSET, 0, sizeof(uint32_t));
	perfdata_buf_add(buf, &cut, ATTR_SIZE);
}

static void put_event_desc(struct perfdata_buf *body, const struct perfdata_event *events,
			   size_t nr)
{
	perfdata_buf_u32(body, nr);
	perfdata_buf_u32(body, ATTR_SIZE);
	for (size_t i = 0; i < nr; i++) {
		put_attr(body, &events[i].attr);
		perfdata_buf_u32(body, events[i].nr_ids);
		perfdata_buf_string(body, events[i].name);
		perfdata_buf_add(body, events[i].ids, events[i].nr_ids * sizeof(uint64_t));
	}
}

/* Writes all that precedes the data. The data size in the header is 0 until the file is
 * complete. */
static int put_head(struct perfdata *pd, const struct perfdata_event *events, size_t nr)
{
	struct perfdata_section ids = { .offset = HEADER_SIZE };

	pd->attrs.offset = HEADER_SIZE;
	for (size_t i = 0; i < nr; i++)
		pd->attrs.offset += events[i].nr_ids * sizeof(uint64_t);
	pd->attrs.size = nr * (ATTR_SIZE + sizeof(struct perfdata_section));
	pd->data.offset = pd->attrs.offset + pd->attrs.size;

	put_header(&pd->pending, pd, 0);
	for (size_t i = 0; i < nr; i++)
		perfdata_buf_add(&pd->pending, events[i].ids, events[i].nr_ids * sizeof(uint64_t));
	for (size_t i = 0; i < nr; i++) {
		ids.size = events[i].nr_ids * sizeof(uint64_t);
		put_attr(&pd->pending, &events[i].attr);
		put_section(&pd->pending, ids);
		ids.offset += ids.size;
	}
	pd->size = pd->data.offset;
	return pd->pending.error;
}

static int open_file(struct perfdata *pd, int dirfd, const char *dirname)
{
	if (mkdirat(dirfd, dirname, 0700) < 0)
		return -errno;
	pd->dirfd = openat(dirfd, dirname, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (pd->dirfd < 0)
		return -errno;
	pd->fd = openat(pd->dirfd, "data", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (pd->fd < 0)
		return -errno;
	return 0;
}

static void freep_perfdata(struct perfdata **pd)
{
	perfdata_free(*pd);
}

int perfdata_create(struct perfdata **ret, int dirfd, const char *dirname,
		    const struct perfdata_event *events, size_t nr)
{
	_cleanup_(freep_perfdata) struct perfdata *pd = calloc(1, sizeof(*pd));
	int r;

	if (!pd)
		return -ENOMEM;
	pd->dirfd = pd->fd = -1;
	for (size_t i = 0; i < nr && !pd->use_clockid; i++) {
		pd->use_clockid = events[i].attr.use_clockid;
		pd->clockid = events[i].attr.clockid;
	}
	put_event_desc(&pd->own.body[PERFDATA_FEATURE_EVENT_DESC], events, nr);
	r = put_head(pd, events, nr);
	if (r < 0)
		return r;
	r = open_file(pd, dirfd, dirname);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(pd);
	return 0;
}

static int flush(struct perfdata *pd)
{
	if (!pd->error)
		pd->error = write_all(pd->fd, pd->pending.data, pd->pending.len);
	pd->pending.len = 0;
	return pd->error;
}

/* Call with nothing pending. For the page cache, aligned pieces of BLOCK_SIZE are faster than one
 * large write or unaligned pieces. */
static int write_large(struct perfdata *pd, const char *records, size_t len)
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
		flush(pd);
	if (len > BLOCK_SIZE) {
		if (!pd->error)
			pd->error = write_large(pd, records, len);
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
static void put_clock(struct perfdata *pd)
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

static void put_sample_time(struct perfdata *pd, uint64_t first_ns, uint64_t last_ns)
{
	perfdata_buf_u64(&pd->own.body[PERFDATA_FEATURE_SAMPLE_TIME], first_ns);
	perfdata_buf_u64(&pd->own.body[PERFDATA_FEATURE_SAMPLE_TIME], last_ns);
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
		put_section(&table, section);
		section.offset += section.size;
	}
	if (table.error)
		return table.error;
	perfdata_write(pd, table.data, table.len);
	for (size_t i = 0; i < nr; i++)
		perfdata_write(pd, bodies[i]->data, bodies[i]->len);
	return flush(pd);
}

static int rewrite_header(struct perfdata *pd, uint64_t features)
{
	_cleanup_buf_ struct perfdata_buf header = {};

	put_header(&header, pd, features);
	if (header.error)
		return header.error;
	if (lseek(pd->fd, 0, SEEK_SET) < 0)
		return -errno;
	return write_all(pd->fd, header.data, header.len);
}

int perfdata_finish(struct perfdata *pd, const struct perfdata_features *features,
		    uint64_t first_ns, uint64_t last_ns)
{
	uint64_t bits = 0;
	int r;

	pd->data.size = pd->size - pd->data.offset;
	if (pd->auxtraces.len) {
		perfdata_buf_u64(&pd->own.body[PERFDATA_FEATURE_AUXTRACE],
				 pd->auxtraces.len / (2 * sizeof(uint64_t)));
		perfdata_buf_append(&pd->own.body[PERFDATA_FEATURE_AUXTRACE], &pd->auxtraces);
	}
	merge_build_ids(pd, features);
	if (last_ns)
		put_sample_time(pd, first_ns, last_ns);
	if (pd->use_clockid)
		put_clock(pd);
	r = write_features(pd, features, &bits);
	if (r < 0)
		return r;
	r = rewrite_header(pd, bits);
	if (r < 0)
		return r;
	if (close(TAKE_FD(pd->fd)) < 0)
		return -errno;
	return 0;
}

void perfdata_note_auxtrace(struct perfdata *pd, size_t record_size)
{
	perfdata_buf_u64(&pd->auxtraces, pd->size);
	perfdata_buf_u64(&pd->auxtraces, record_size);
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
