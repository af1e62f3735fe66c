/* SPDX-License-Identifier: GPL-2.0-only */
/* Names as numbers, and functions by address. */
#ifndef DECODE_NAMES_H
#define DECODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util.h"

/* Longer strings are truncated; the format allows 32000. */
#define NAMES_LENGTH_MAX 1000

struct names;

int names_new(struct names **ret) _must_check_;
void names_free(struct names *names);

/* The number of a string; 0 if empty, or out of memory. Replaces invalid UTF-8. */
uint32_t names_add(struct names *names, const char *s);

const char *names_get(const struct names *names, uint32_t name);
size_t names_length(const struct names *names, uint32_t name);

/* Where the function of a name begins: an offset in a file of the symbolizer. A name that several
 * functions have has none. */
void names_set_origin(struct names *names, uint32_t name, uint32_t file, uint64_t offset);

/* Writes the line of an origin, such as `request.c:42`. Returns false if it is unknown. */
typedef bool names_find_line(void *context, uint32_t file, uint64_t offset, char *text,
			     size_t size);

/* Without it, no name has a source. NULL: no longer. */
void names_set_lines(struct names *names, names_find_line *find, void *context);

/* The number of the name's line, found when it is first asked for; 0: unknown. */
uint32_t names_source(struct names *names, uint32_t name);

/* One more than the largest number. */
uint32_t names_count(const struct names *names);

/* Returns -ENOMEM if a string was lost. */
int names_error(const struct names *names);

struct symbol {
	uint64_t start, end; /* both 0: unknown */
	uint32_t name;
	uint32_t base; /* name without .cold and the like: of all parts of a function */
	bool kernel;
	bool stubs; /* many, where interrupts of devices begin; with the name of what they jump to
		     */
	const char *text;	      /* NULL: only the number exists */
	struct code_inlines *inlines; /* what is inlined in it; NULL: nothing, or not asked */
	bool asked_inlines;
	/* Where it begins: see names_set_origin(). */
	uint32_t file;
	uint64_t offset;
};

#define SYMBOL_NO_FILE UINT32_MAX

enum irq_change {
	IRQ_SAME,
	IRQ_OFF,
	IRQ_ON,
	IRQ_RESTORED, /* unknown state: counts as on if they were off */
};

/* Numbers the names; call in the one thread that uses symbols. */
void code_number_names(struct symbol *symbol, struct names *names);
static inline const struct symbol *code_named_symbol(const struct symbol *symbol,
						     struct names *names)
{
	if (!symbol->name)
		code_number_names((struct symbol *)symbol, names);
	return symbol;
}

/* Whether two symbols are parts of one function. */
static inline bool symbol_is_same(const struct symbol *a, const struct symbol *b)
{
	return a == b || a->base == b->base;
}

static inline bool symbol_contains(const struct symbol *symbol, uint64_t ip)
{
	return ip >= symbol->start && ip < symbol->end;
}

/* The functions seen, each once. No locking. */
struct symbol_table {
	struct names *texts; /* set by the caller; equal strings share an address */
	void *symbols;	     /* a tree */
};

void symbol_table_release(struct symbol_table *table);

/* Valid until symbol_table_release(). NULL if out of memory. */
const struct symbol *symbol_table_keep(struct symbol_table *table, const char *name, uint64_t start,
				       uint64_t end, bool kernel);

#endif
