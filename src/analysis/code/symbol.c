// SPDX-License-Identifier: GPL-2.0-only
#include "code/symbol.h"

#include <search.h>
#include <string.h>

#include "array.h"

#define COLD ".cold"

/* Cold parts of a function have symbols such as function.cold. */
void code_number_names(struct symbol *symbol, struct names *names)
{
	static const char *const stubs[][2] = {
		{ "irq_entries_start", "asm_common_interrupt" },
		{ "spurious_entries_start", "asm_spurious_interrupt" },
	};
	const char *cold = strstr(symbol->text, COLD), *text = symbol->text;
	_cleanup_free_ char *base = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(stubs); i++) {
		if (strcmp(symbol->text, stubs[i][0]))
			continue;
		symbol->stubs = true;
		text = stubs[i][1];
	}
	symbol->name = symbol->base = names_add(names, text);
	if (!cold || cold == symbol->text)
		return;
	base = strndup(symbol->text, (size_t)(cold - symbol->text));
	if (base)
		symbol->base = names_add(names, base);
}

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
