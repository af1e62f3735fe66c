// SPDX-License-Identifier: GPL-2.0-only
#include "symbol_table.h"

#include "names.h"

#define ROOM 1024

struct symbol_table {
	struct names *texts;	 /* so that equal ones are at the same place */
	struct symbol **symbols; /* by hash */
	uint32_t nr, room;
};

int symbol_table_new(struct symbol_table **ret)
{
	struct symbol_table *table = calloc(1, sizeof(*table));

	if (!table || names_new(&table->texts)) {
		free(table);
		return -ENOMEM;
	}
	*ret = table;
	return 0;
}

void symbol_table_free(struct symbol_table *table)
{
	if (!table)
		return;
	for (uint32_t i = 0; i < table->room; i++)
		free(table->symbols[i]);
	free(table->symbols);
	names_free(table->texts);
	free(table);
}

static uint32_t find(const struct symbol_table *table, const char *text, uint64_t start,
		     uint64_t end)
{
	uint32_t i = (uint32_t)((start ^ (uintptr_t)text) * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; i++) {
		const struct symbol *symbol = table->symbols[i & (table->room - 1)];

		if (!symbol ||
		    (symbol->text == text && symbol->start == start && symbol->end == end))
			return i & (table->room - 1);
	}
}

static int grow(struct symbol_table *table)
{
	struct symbol **old = table->symbols;
	uint32_t room = table->room;

	table->room = room ? 2 * room : ROOM;
	table->symbols = calloc(table->room, sizeof(*table->symbols));
	if (!table->symbols) {
		table->symbols = old;
		table->room = room;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < room; i++) {
		if (old[i])
			table->symbols[find(table, old[i]->text, old[i]->start, old[i]->end)] =
				old[i];
	}
	free(old);
	return 0;
}

const struct symbol *symbol_table_keep(struct symbol_table *table, const char *name, uint64_t start,
				       uint64_t end, bool kernel)
{
	const char *text = names_get(table->texts, names_add(table->texts, name));
	struct symbol *symbol;
	uint32_t i;

	if (names_error(table->texts))
		return NULL;
	if (2 * table->nr >= table->room && grow(table))
		return NULL;
	i = find(table, text, start, end);
	if (table->symbols[i])
		return table->symbols[i];
	symbol = malloc(sizeof(*symbol));
	if (!symbol)
		return NULL;
	*symbol = (struct symbol){
		.start = start,
		.end = end,
		.number = ++table->nr,
		.kernel = kernel,
		.text = text,
	};
	table->symbols[i] = symbol;
	return symbol;
}
