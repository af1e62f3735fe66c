/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions seen, each once. No locking. */
#ifndef DECODE_SYMBOL_TABLE_H
#define DECODE_SYMBOL_TABLE_H

#include "symbols/names.h"
#include "symbols/symbol.h"

struct symbol_table {
	struct names *texts; /* set by the caller; equal strings share an address */
	void *symbols;	     /* a tree */
};

void symbol_table_release(struct symbol_table *table);

/* Valid until symbol_table_release(). NULL if out of memory. */
const struct symbol *symbol_table_keep(struct symbol_table *table, const char *name, uint64_t start,
				       uint64_t end, bool kernel);

#endif
