// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trace_dat.h"

#include <ctype.h>
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "internal.h"
#include "io.h"

#define MAGIC "\027\010\104tracing"

/* libtraceevent 1.7 warns about __get_cpumask() but knows the equivalent __get_bitmask(). */
static void name_known_function(struct perfdata_buf *format)
{
	static const char new[] = "__get_cpumask(", known[] = "__get_bitmask(";
	char *at;

	_Static_assert(sizeof(new) == sizeof(known), "replaced in place");
	while ((at = memmem(format->data, format->len, new, strlen(new))))
		memcpy(at, known, strlen(known));
}

static int put_tracefs_file(struct perfdata_buf *body, int dirfd, const char *path)
{
	_cleanup_buf_ struct perfdata_buf file = {};
	int err = perfdata_buf_read_file(&file, dirfd, path);

	if (err < 0)
		return err;
	name_known_function(&file);
	perfdata_buf_u64(body, file.len);
	perfdata_buf_append(body, &file);
	return 0;
}

static bool is_tracepoint_name(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon && colon > name && colon[1] && !strpbrk(name, "/.") && !strchr(colon + 1, ':');
}

static bool is_same_system(const char *a, const char *b)
{
	size_t len = strcspn(a, ":") + 1;

	return !strncmp(a, b, len);
}

/* Whether names[i] is the first of its system. */
static bool opens_system(const char *const *names, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (is_same_system(names[i], names[j]))
			return false;
	return true;
}

static bool is_repeated_name(const char *const *names, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!strcmp(names[i], names[j]))
			return true;
	return false;
}

static int put_event_format(struct perfdata_buf *body, int tracefs_fd, const char *name)
{
	const char *colon = strchr(name, ':');
	char path[256];
	int len;

	len = snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(colon - name), name,
		       colon + 1);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -EINVAL;
	return put_tracefs_file(body, tracefs_fd, path);
}

static int put_system_formats(struct perfdata_buf *body, int tracefs_fd, const char *const *names,
			      size_t nr, size_t first)
{
	_cleanup_buf_ struct perfdata_buf formats = {};
	uint32_t nr_formats = 0;
	int err;

	for (size_t i = first; i < nr; i++) {
		if (!is_same_system(names[i], names[first]) || is_repeated_name(names, i))
			continue;
		err = put_event_format(&formats, tracefs_fd, names[i]);
		if (err < 0)
			return err;
		nr_formats++;
	}
	perfdata_buf_add(body, names[first], strcspn(names[first], ":"));
	perfdata_buf_zero(body, 1);
	perfdata_buf_u32(body, nr_formats);
	perfdata_buf_append(body, &formats);
	return body->error;
}

static int put_event_formats(struct perfdata_buf *body, int tracefs_fd, const char *const *names,
			     size_t nr)
{
	uint32_t nr_systems = 0;
	int err;

	for (size_t i = 0; i < nr; i++) {
		if (!is_tracepoint_name(names[i]))
			return -EINVAL;
		nr_systems += opens_system(names, i);
	}
	perfdata_buf_u32(body, nr_systems);
	for (size_t i = 0; i < nr; i++) {
		if (!opens_system(names, i))
			continue;
		err = put_system_formats(body, tracefs_fd, names, nr, i);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Formats of the tracers' own events, which have a list of their own. */
static int put_ftrace_formats(struct perfdata_buf *body, int tracefs_fd)
{
	_cleanup_buf_ struct perfdata_buf formats = {};
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	uint32_t nr = 0;
	int err = opendir_at(&dir, tracefs_fd, "events/ftrace");

	while (!err && (entry = readdir(dir))) {
		char path[300];

		snprintf(path, sizeof(path), "events/ftrace/%s/format", entry->d_name);
		if (entry->d_name[0] == '.' || faccessat(tracefs_fd, path, F_OK, 0))
			continue;
		err = put_tracefs_file(&formats, tracefs_fd, path);
		nr++;
	}
	perfdata_buf_u32(body, nr);
	perfdata_buf_append(body, &formats);
	return err ? err : body->error;
}

int trace_dat_put_formats(struct perfdata_buf *head, const char *version, int tracefs_fd,
			  const char *const *names, size_t nr, bool ftrace_too)
{
	const uint8_t big_endian = BYTE_ORDER == BIG_ENDIAN;
	const uint8_t long_size = sizeof(long);
	int err;

	perfdata_buf_add(head, MAGIC, sizeof(MAGIC) - 1);
	perfdata_buf_add(head, version, strlen(version) + 1);
	perfdata_buf_add(head, &big_endian, 1);
	perfdata_buf_add(head, &long_size, 1);
	perfdata_buf_u32(head, sysconf(_SC_PAGESIZE));
	perfdata_buf_add(head, "header_page", sizeof("header_page"));
	err = put_tracefs_file(head, tracefs_fd, "events/header_page");
	if (err < 0)
		return err;
	perfdata_buf_add(head, "header_event", sizeof("header_event"));
	err = put_tracefs_file(head, tracefs_fd, "events/header_event");
	if (err < 0)
		return err;
	/* To perf the tracers' events are like others. */
	if (ftrace_too)
		err = put_ftrace_formats(head, tracefs_fd);
	else
		perfdata_buf_u32(head, 0);
	if (!err)
		err = put_event_formats(head, tracefs_fd, names, nr);
	return err ? err : head->error;
}

/* Lines of /proc/kallsyms with functions, which are half of them. */
int trace_dat_put_functions(struct perfdata_buf *body, int root_fd)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *line = NULL;
	int fd = openat(root_fd, "proc/kallsyms", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t len;

	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while ((len = getline(&line, &size, file)) > 0) {
		const char *type = strchr(line, ' ');

		if (type && type[1] && strchr("tTwW", type[1]))
			perfdata_buf_add(body, line, len);
	}
	return body->error;
}

/* Whether the lines, such as "1234 name", have this thread. */
static bool has_task_line(const struct perfdata_buf *lines, const char *tid)
{
	const size_t length = strlen(tid);
	const char *end = (const char *)lines->data + lines->len;

	for (const char *line = (const char *)lines->data; line && line < end;) {
		if ((size_t)(end - line) > length && !memcmp(line, tid, length) &&
		    line[length] == ' ')
			return true;
		line = memchr(line, '\n', end - line);
		line += !!line;
	}
	return false;
}

/* Names of the tasks that the kernel has saved none of: it keeps few of those that it traces. */
static int put_task_names(struct perfdata_buf *body, const struct perfdata_buf *saved, int root_fd)
{
	_cleanup_closedir_ DIR *processes = NULL;
	struct dirent *process, *thread;
	int err = opendir_at(&processes, root_fd, "proc");

	while (!err && (process = readdir(processes))) {
		_cleanup_closedir_ DIR *threads = NULL;
		char path[600], name[32], text[64];

		snprintf(path, sizeof(path), "%s/task", process->d_name);
		if (!isdigit(process->d_name[0]) || opendir_at(&threads, dirfd(processes), path))
			continue;
		while ((thread = readdir(threads))) {
			snprintf(path, sizeof(path), "%s/comm", thread->d_name);
			if (!isdigit(thread->d_name[0]) || has_task_line(saved, thread->d_name) ||
			    read_text_at(dirfd(threads), path, name, sizeof(name)))
				continue;
			snprintf(text, sizeof(text), "%.10s %s\n", thread->d_name, name);
			perfdata_buf_add(body, text, strlen(text));
		}
	}
	return err ? err : body->error;
}

int trace_dat_put_names(struct perfdata_buf *head, int tracefs_fd,
			const struct perfdata_buf *functions, int root_fd)
{
	_cleanup_buf_ struct perfdata_buf formats = {}, saved = {}, tasks = {};
	int err = 0;

	if (perfdata_buf_read_file(&saved, tracefs_fd, "saved_cmdlines") < 0)
		saved.len = 0;
	if (root_fd >= 0)
		err = put_task_names(&tasks, &saved, root_fd);
	if (err)
		return err;
	perfdata_buf_u32(head, functions ? functions->len : 0);
	if (functions)
		perfdata_buf_append(head, functions);
	if (perfdata_buf_read_file(&formats, tracefs_fd, "printk_formats") < 0)
		formats.len = 0;
	perfdata_buf_u32(head, formats.len);
	perfdata_buf_append(head, &formats);
	perfdata_buf_u64(head, saved.len + tasks.len);
	perfdata_buf_append(head, &saved);
	perfdata_buf_append(head, &tasks);
	return head->error;
}

enum trace_dat_option {
	OPTION_DONE,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_VERSION = 9,
};

static void put_option(struct perfdata_buf *buf, uint16_t option, const char *text)
{
	perfdata_buf_add(buf, &option, sizeof(option));
	perfdata_buf_u32(buf, strlen(text) + 1);
	perfdata_buf_add(buf, text, strlen(text) + 1);
}

/* What is between the head and the pages. at: the offset of this in the file. */
static void put_index(struct perfdata_buf *buf, const struct trace_dat *dat, uint64_t at)
{
	const uint16_t done = OPTION_DONE;
	const size_t page = sysconf(_SC_PAGESIZE);
	const uint64_t clock_size = strlen(dat->clock) + 1;
	struct utsname names = {};
	char uname_text[sizeof(names)];
	uint64_t pages;

	perfdata_buf_u32(buf, dat->nr_cpus);
	perfdata_buf_add(buf, "options  ", sizeof("options  "));
	put_option(buf, OPTION_TRACECLOCK, dat->clock);
	uname(&names);
	snprintf(uname_text, sizeof(uname_text), "%s %s %s", names.sysname, names.nodename,
		 names.release);
	put_option(buf, OPTION_UNAME, uname_text);
	put_option(buf, OPTION_VERSION, dat->version);
	perfdata_buf_add(buf, &done, sizeof(done));
	perfdata_buf_add(buf, "flyrecord", sizeof("flyrecord"));
	pages = at + buf->len + 2 * sizeof(uint64_t) * dat->nr_cpus + sizeof(clock_size) +
		clock_size;
	pages = (pages + page - 1) / page * page;
	for (int cpu = 0; cpu < dat->nr_cpus; cpu++) {
		const struct trace_dat_ring *ring = NULL;

		for (size_t i = 0; i < dat->nr_rings; i++) {
			if (dat->rings[i].cpu == cpu)
				ring = &dat->rings[i];
		}
		perfdata_buf_u64(buf, ring && ring->size ? pages : 0);
		perfdata_buf_u64(buf, ring ? ring->size : 0);
		pages += ring ? ring->size : 0;
	}
	/* libtracecmd reads the clock once more, from here. */
	perfdata_buf_u64(buf, clock_size);
	perfdata_buf_add(buf, dat->clock, clock_size);
	perfdata_buf_zero(buf, (page - (at + buf->len) % page) % page);
}

int trace_dat_write(int dirfd, const char *name, const struct trace_dat *dat, uint64_t *size)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	_cleanup_buf_ struct perfdata_buf index = {};
	int err = fd < 0 ? -errno : 0;

	*size = dat->formats->len + dat->names->len;
	put_index(&index, dat, *size);
	*size += index.len;
	if (!err)
		err = index.error;
	if (!err)
		err = write_all(fd, dat->formats->data, dat->formats->len);
	if (!err)
		err = write_all(fd, dat->names->data, dat->names->len);
	if (!err)
		err = write_all(fd, index.data, index.len);
	/* In the order of CPUs, as the index has them. */
	for (int cpu = 0; cpu < dat->nr_cpus && !err; cpu++) {
		for (size_t i = 0; i < dat->nr_rings && !err; i++) {
			if (dat->rings[i].cpu != cpu)
				continue;
			err = write_all(fd, dat->rings[i].pages, dat->rings[i].size);
			*size += dat->rings[i].size;
		}
	}
	/* Some file systems report a full disk only here. */
	if (!err && close(TAKE_FD(fd)))
		err = -errno;
	return err;
}

/* Pages of the kernel's ring buffer: see its events/header_page and events/header_event. */

struct page_header {
	uint64_t time_ns;
	unsigned long commit; /* bytes of events, and flags */
	uint8_t data[];
};

/* Events before this page are missing; their number is behind the events. */
#define MISSED_EVENTS (1UL << 31)
#define MISSED_STORED (1UL << 30)
#define COMMIT_MASK ((1UL << 27) - 1)

struct event_header {
#if BYTE_ORDER == LITTLE_ENDIAN
	uint32_t type_len : 5, time_delta : 27;
#else
	uint32_t time_delta : 27, type_len : 5;
#endif
	uint32_t array[];
};

enum { TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

#define ABSOLUTE_BITS 59

/* Returns false if the page makes no sense. */
static bool page_add_facts(const struct page_header *page, size_t page_size,
			   struct trace_dat_facts *facts)
{
	size_t length = page->commit & COMMIT_MASK, at = 0;
	uint64_t time_ns = page->time_ns;

	if (length > page_size - sizeof(*page))
		return false;
	if (facts->events && page->commit & MISSED_EVENTS) {
		unsigned long missed = 1;

		if (page->commit & MISSED_STORED &&
		    length + sizeof(missed) <= page_size - sizeof(*page))
			memcpy(&missed, page->data + length, sizeof(missed));
		facts->lost += missed;
	}
	while (at + sizeof(struct event_header) + sizeof(uint32_t) <= length) {
		const struct event_header *event = (const void *)(page->data + at);
		uint64_t delta = event->time_delta;
		uint32_t more = event->array[0];

		if (event->type_len == TYPE_PADDING && !delta)
			break;
		if (event->type_len >= TYPE_TIME_EXTEND)
			delta |= (uint64_t)more << 27;
		if (event->type_len == TYPE_TIME_STAMP)
			time_ns = (time_ns >> ABSOLUTE_BITS << ABSOLUTE_BITS) | delta;
		else
			time_ns += delta;
		at += sizeof(*event);
		if (event->type_len >= TYPE_TIME_EXTEND) {
			at += sizeof(more);
			continue;
		}
		if (event->type_len && event->type_len < TYPE_PADDING)
			at += event->type_len * sizeof(uint32_t);
		else
			at += more < sizeof(more) ? sizeof(more) : (more + 3) / 4 * 4;
		if (event->type_len == TYPE_PADDING)
			continue;
		facts->events++;
		facts->first_ns = facts->first_ns ? facts->first_ns : time_ns;
		facts->last_ns = time_ns;
	}
	return true;
}

struct trace_dat_facts trace_dat_ring_facts(const struct trace_dat_ring *ring)
{
	const size_t page_size = sysconf(_SC_PAGESIZE);
	struct trace_dat_facts facts = {};

	for (size_t at = 0; at + page_size <= ring->size; at += page_size) {
		if (!page_add_facts((const void *)(ring->pages + at), page_size, &facts))
			break;
	}
	return facts;
}

void trace_dat_ring_drop_gap(struct trace_dat_ring *ring)
{
	const size_t page_size = sysconf(_SC_PAGESIZE);
	size_t begin = 0;

	for (size_t at = 0; at + page_size <= ring->size; at += page_size) {
		const struct page_header *page = (const void *)(ring->pages + at);

		if (page->commit & MISSED_EVENTS)
			begin = at;
	}
	ring->size -= begin;
	memmove(ring->pages, ring->pages + begin, ring->size);
}

void trace_dat_make_marker(uint8_t *page, uint16_t id, uint64_t time_ns, const char *text)
{
	/* The fields that all events have, then the address of the caller. */
	struct {
		uint16_t type;
		uint8_t flags, preempt_count;
		int32_t pid;
		unsigned long ip;
	} fields = { .type = id };
	const size_t page_size = sysconf(_SC_PAGESIZE);
	struct page_header *header = (void *)page;
	struct event_header *event = (void *)header->data;
	size_t length = (sizeof(fields) + strlen(text) + 1 + 3) / 4 * 4;

	memset(page, 0, page_size);
	header->time_ns = time_ns;
	header->commit = sizeof(*event) + sizeof(uint32_t) + length;
	event->array[0] = sizeof(uint32_t) + length;
	memcpy(event->array + 1, &fields, sizeof(fields));
	strcpy((char *)(event->array + 1) + sizeof(fields), text);
}
