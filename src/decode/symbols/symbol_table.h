/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions seen, each once. Not locked. */
#ifndef DECODE_SYMBOL_TABLE_H
#define DECODE_SYMBOL_TABLE_H

#include "symbols/symbol.h"
#include "util.h"

struct symbol_table;

int symbol_table_new(struct symbol_table **ret) _must_check_;
void symbol_table_free(struct symbol_table *table);

/* Valid until symbol_table_free(). NULL if out of memory. */
const struct symbol *symbol_table_keep(struct symbol_table *table, const char *name, uint64_t start,
				       uint64_t end, bool kernel);

#endif
