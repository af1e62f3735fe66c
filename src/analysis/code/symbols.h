/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions by address, with perf's choice of names and bounds. Input is not trusted. */
#ifndef DECODE_SYMBOLS_H
#define DECODE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

struct symbols_entry {
	uint64_t start, end;
	uint32_t name; /* for symbols_name() */
	uint32_t order;
	uint8_t binding; /* STB_... */
	bool in_module;	 /* of the kernel */
};

/* All zero: empty. */
struct symbols {
	struct symbols_entry *entries; /* by start; each start once */
	size_t nr;
	char *text;
	size_t text_size, text_room;
};

/* Reads a copy of /proc/kallsyms, by address. Drops module names. */
int symbols_of_kallsyms(struct symbols *symbols, int fd) _must_check_;

void symbols_release(struct symbols *symbols);

/* NULL: none. */
const struct symbols_entry *symbols_find(const struct symbols *symbols, uint64_t at);
const struct symbols_entry *symbols_by_name(const struct symbols *symbols, const char *name);

static inline const char *symbols_name(const struct symbols *symbols,
				       const struct symbols_entry *entry)
{
	return symbols->text + entry->name;
}

/* For readers: adds a symbol; `size` 0: unknown. The name has `length` bytes. */
int symbols_add(struct symbols *symbols, const struct symbols_entry *entry, const char *name,
		size_t length) _must_check_;

/* Call last: sorts the symbols, extends those without size to the next one, and keeps perf's choice
 * at each address. */
void symbols_finish(struct symbols *symbols);

/* The name of a C++ or Rust function as perf shows it, without arguments, to be freed. Keeps a
 * suffix that begins with '@'. NULL: another language, out of memory, or built without
 * libiberty. */
char *demangle(const char *name);

#endif
