// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The TRACING_DATA feature: the head of a trace.dat file, version 0.6. */
#include "internal.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#define MAGIC "\027\010\104tracing"
#define VERSION "0.6"

/* libtraceevent 1.7 warns about __get_cpumask() but knows the equivalent __get_bitmask(). */
static void name_known_function(struct perfdata_buf *format)
{
	static const char new[] = "__get_cpumask(", known[] = "__get_bitmask(";
	char *at;

	_Static_assert(sizeof(new) == sizeof(known), "replaced in place");
	while ((at = memmem(format->data, format->len, new, strlen(new))))
		memcpy(at, known, strlen(known));
}

static int put_file(struct perfdata_buf *body, int dirfd, const char *path)
{
	_cleanup_buf_ struct perfdata_buf file = {};
	int r = perfdata_buf_read_file(&file, dirfd, path);

	if (r < 0)
		return r;
	name_known_function(&file);
	perfdata_buf_u64(body, file.len);
	perfdata_buf_append(body, &file);
	return 0;
}

static void put_head(struct perfdata_buf *body)
{
	const uint8_t big_endian = BYTE_ORDER == BIG_ENDIAN;
	const uint8_t long_size = sizeof(long);

	perfdata_buf_add(body, MAGIC, sizeof(MAGIC) - 1);
	perfdata_buf_add(body, VERSION, sizeof(VERSION));
	perfdata_buf_add(body, &big_endian, 1);
	perfdata_buf_add(body, &long_size, 1);
	perfdata_buf_u32(body, sysconf(_SC_PAGESIZE));
}

static int put_page_formats(struct perfdata_buf *body, int tracefs_fd)
{
	int r;

	perfdata_buf_add(body, "header_page", sizeof("header_page"));
	r = put_file(body, tracefs_fd, "events/header_page");
	if (r < 0)
		return r;
	perfdata_buf_add(body, "header_event", sizeof("header_event"));
	return put_file(body, tracefs_fd, "events/header_event");
}

static bool is_event_name(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon && colon > name && colon[1] && !strpbrk(name, "/.") && !strchr(colon + 1, ':');
}

static bool same_system(const char *a, const char *b)
{
	size_t len = strcspn(a, ":") + 1;

	return !strncmp(a, b, len);
}

/* Whether names[i] is the first of its system. */
static bool opens_system(const char *const *names, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (same_system(names[i], names[j]))
			return false;
	return true;
}

static bool is_repeated(const char *const *names, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!strcmp(names[i], names[j]))
			return true;
	return false;
}

static int put_format(struct perfdata_buf *body, int tracefs_fd, const char *name)
{
	const char *colon = strchr(name, ':');
	char path[256];
	int len;

	len = snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(colon - name), name,
		       colon + 1);
	if (len < 0 || (size_t)len >= sizeof(path))
		return -EINVAL;
	return put_file(body, tracefs_fd, path);
}

static int put_system(struct perfdata_buf *body, int tracefs_fd, const char *const *names,
		      size_t nr, size_t first)
{
	_cleanup_buf_ struct perfdata_buf formats = {};
	uint32_t nr_formats = 0;
	int r;

	for (size_t i = first; i < nr; i++) {
		if (!same_system(names[i], names[first]) || is_repeated(names, i))
			continue;
		r = put_format(&formats, tracefs_fd, names[i]);
		if (r < 0)
			return r;
		nr_formats++;
	}
	perfdata_buf_add(body, names[first], strcspn(names[first], ":"));
	perfdata_buf_zero(body, 1);
	perfdata_buf_u32(body, nr_formats);
	perfdata_buf_append(body, &formats);
	return body->error;
}

static int put_formats(struct perfdata_buf *body, int tracefs_fd, const char *const *names,
		       size_t nr)
{
	uint32_t nr_systems = 0;
	int r;

	for (size_t i = 0; i < nr; i++) {
		if (!is_event_name(names[i]))
			return -EINVAL;
		nr_systems += opens_system(names, i);
	}
	/* No separate list for ftrace: its events are like others. */
	perfdata_buf_u32(body, 0);
	perfdata_buf_u32(body, nr_systems);
	for (size_t i = 0; i < nr; i++) {
		if (!opens_system(names, i))
			continue;
		r = put_system(body, tracefs_fd, names, nr, i);
		if (r < 0)
			return r;
	}
	return 0;
}

static void put_optional_files(struct perfdata_buf *body, int tracefs_fd)
{
	_cleanup_buf_ struct perfdata_buf printk_formats = {};
	_cleanup_buf_ struct perfdata_buf saved_cmdlines = {};

	/* No kallsyms: perf skips them. */
	perfdata_buf_u32(body, 0);
	if (perfdata_buf_read_file(&printk_formats, tracefs_fd, "printk_formats") < 0)
		printk_formats.len = 0;
	perfdata_buf_u32(body, printk_formats.len);
	perfdata_buf_append(body, &printk_formats);
	if (perfdata_buf_read_file(&saved_cmdlines, tracefs_fd, "saved_cmdlines") < 0)
		saved_cmdlines.len = 0;
	perfdata_buf_u64(body, saved_cmdlines.len);
	perfdata_buf_append(body, &saved_cmdlines);
}

int perfdata_features_add_tracing(struct perfdata_features *features, int tracefs_fd,
				  const char *const *names, size_t nr)
{
	_cleanup_buf_ struct perfdata_buf body = {};
	int r;

	put_head(&body);
	r = put_page_formats(&body, tracefs_fd);
	if (r < 0)
		return r;
	r = put_formats(&body, tracefs_fd, names, nr);
	if (r < 0)
		return r;
	put_optional_files(&body, tracefs_fd);
	if (body.error)
		return body.error;
	features->body[PERFDATA_FEATURE_TRACING_DATA] = body;
	body = (struct perfdata_buf){};
	return 0;
}
