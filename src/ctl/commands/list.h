/* SPDX-License-Identifier: GPL-2.0-only */
/* Selects and sorts the captures of a folder. */
#ifndef CTL_COMMANDS_LIST_H
#define CTL_COMMANDS_LIST_H

#include <json-c/json.h>
#include <perf_poke.h>

#include "cli/command.h"
#include "fingerprint/fingerprint.h"

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
	const struct perf_poke_capture *capture; /* owned */
	uint64_t size;				 /* bytes */
	char fingerprint[FINGERPRINT_ID_SIZE];	 /* empty: none, or not found yet */
	json_object *report;			 /* owned; NULL: not requested, or failed */
};

/* Returns as command_options(). Strings are not copied. */
int list_parse(struct list_args *args, struct console *con, int argc, char **argv) _must_check_;

/* Whether a capture matches the options. */
bool list_wants(const struct list_args *args, const int *cpus, size_t nr_cpus,
		const struct perf_poke_capture *capture);

/* Ties are sorted by time, then by path. */
void list_sort(struct list_entry *entries, size_t nr, enum list_order order);

/* Parses local time such as 2026-11-21 or 2026-11-21 07:01[:43], or a time before now such as 2h.
 * Returns 0 or -EINVAL. */
int list_parse_since(const char *text, uint64_t now_ns, uint64_t *since_ns) _must_check_;

#endif
