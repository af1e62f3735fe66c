// SPDX-License-Identifier: GPL-2.0-only
#include "symbols/symbol_table.h"

#include <search.h>

#include "array.h"

void symbol_table_release(struct symbol_table *table)
{
	tdestroy(table->symbols, free);
	names_free(table->texts);
}

static int compare(const void *a, const void *b)
{
	const struct symbol *one = a, *other = b;

	return array_compare(one->start, other->start)
		       ?: array_compare(one->end, other->end)
		       ?: array_compare((uintptr_t)one->text, (uintptr_t)other->text);
}

const struct symbol *symbol_table_keep(struct symbol_table *table, const char *name, uint64_t start,
				       uint64_t end, bool kernel)
{
	struct symbol symbol = { .start = start, .end = end, .kernel = kernel };
	struct symbol *kept, *const *found;

	symbol.text = names_get(table->texts, names_add(table->texts, name));
	if (names_error(table->texts))
		return NULL;
	found = tfind(&symbol, &table->symbols, compare);
	if (found)
		return *found;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return NULL;
	*kept = symbol;
	if (tsearch(kept, &table->symbols, compare))
		return kept;
	free(kept);
	return NULL;
}
