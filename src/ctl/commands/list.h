/* SPDX-License-Identifier: GPL-2.0-only */
/* The captures in a folder: which ones, and in what order. */
#ifndef CTL_COMMANDS_LIST_H
#define CTL_COMMANDS_LIST_H

#include <json-c/json.h>

#include "capture/capture_file.h"
#include "cli/command.h"

enum list_order {
	LIST_BY_TIME,
	LIST_BY_LATENCY,
	LIST_BY_CPU,
	LIST_BY_SIZE,
};

struct list_args {
	const char *folder;
	enum list_order order;
	const char *cpus; /* NULL: all */
	uint64_t min_latency_ns;
	uint64_t since_ns; /* since 1970 */
	bool why;
	bool json;
};

struct list_entry {
	char *path;
	uint64_t size; /* bytes of all its files */
	struct capture_file file;
	json_object *report; /* owned; NULL: not asked for, or it failed */
};

/* Returns as command_options(). The result refers to argv. */
int list_parse(struct list_args *args, struct console *con, int argc, char **argv) _must_check_;

/* Whether the options ask for it. */
bool list_wants(const struct list_args *args, const int *cpus, size_t nr_cpus,
		const struct capture_file *file);

/* What compares equal is in the order of time, then of paths. */
void list_sort(struct list_entry *entries, size_t nr, enum list_order order);

/* As 2026-11-21 or 2026-11-21 07:01[:43], local time, or as 2h: that long before now. Returns 0 or
 * -EINVAL. */
int list_parse_since(const char *text, uint64_t now_ns, uint64_t *since_ns) _must_check_;

#endif
