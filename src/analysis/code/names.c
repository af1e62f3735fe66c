// SPDX-License-Identifier: GPL-2.0-only
#include "code/names.h"

#include <search.h>
#include <string.h>

#include "array.h"
#include "text.h"

struct name {
	uint32_t number, length;
	uint32_t file; /* of its origin */
	uint64_t offset;
	bool has_origin, is_ambiguous, was_found;
	uint32_t source;
	char text[];
};

struct names {
	struct name **entries; /* 0 is the empty string */
	uint32_t nr;
	void *tree; /* of the entries, by text */
	int err;
	names_find_line *find_line;
	void *context;
};

void names_free(struct names *names)
{
	if (!names)
		return;
	tdestroy(names->tree, free);
	free(names->entries);
	free(names);
}

int names_new(struct names **ret)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names_add(names, "");
	if (names->err) {
		names_free(names);
		return -ENOMEM;
	}
	*ret = names;
	return 0;
}

/* Copies valid UTF-8, truncated to the limit. */
static struct name *new_interned_name(const char *s)
{
	size_t length = strnlen(s, NAMES_LENGTH_MAX + 1);
	struct name *name;

	if (length > NAMES_LENGTH_MAX) {
		/* Do not cut a character. */
		length = NAMES_LENGTH_MAX;
		while (length && ((unsigned char)s[length] & 0xc0) == 0x80)
			length--;
	}
	name = malloc(sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	*name = (struct name){};
	memcpy(name->text, s, length);
	name->text[length] = '\0';
	utf8_repair_text(name->text);
	name->length = (uint32_t)strlen(name->text);
	return name;
}

static int compare_name_texts(const void *a, const void *b)
{
	const struct name *one = a, *other = b;

	return strcmp(one->text, other->text);
}

uint32_t names_add(struct names *names, const char *s)
{
	_cleanup_free_ struct name *name = new_interned_name(s);
	struct name *const *found = NULL;

	if (name && !array_grow(&names->entries, names->nr, sizeof(*names->entries)))
		found = tsearch(name, &names->tree, compare_name_texts);
	if (!found) {
		names->err = -ENOMEM;
		return 0;
	}
	if (*found != name)
		return (*found)->number;
	name->number = names->nr;
	names->entries[names->nr++] = TAKE_PTR(name);
	return names->nr - 1;
}

void names_set_origin(struct names *names, uint32_t name, uint32_t file, uint64_t offset)
{
	struct name *entry = names->entries[name];

	if (entry->has_origin && (entry->file != file || entry->offset != offset))
		entry->is_ambiguous = true;
	entry->has_origin = true;
	entry->file = file;
	entry->offset = offset;
}

void names_set_lines(struct names *names, names_find_line *find, void *context)
{
	names->find_line = find;
	names->context = context;
}

uint32_t names_source(struct names *names, uint32_t name)
{
	struct name *entry = names->entries[name];
	char text[64];

	if (!names->find_line || !entry->has_origin || entry->is_ambiguous || entry->was_found)
		return entry->source;
	entry->was_found = true;
	if (names->find_line(names->context, entry->file, entry->offset, text, sizeof(text)))
		entry->source = names_add(names, text);
	return entry->source;
}

const char *names_get(const struct names *names, uint32_t name)
{
	return names->entries[name]->text;
}

size_t names_length(const struct names *names, uint32_t name)
{
	return names->entries[name]->length;
}

uint32_t names_count(const struct names *names)
{
	return names->nr;
}

int names_error(const struct names *names)
{
	return names->err;
}

#define COLD ".cold"

/* Cold parts of a function have symbols such as function.cold. */
void code_number_names(struct symbol *symbol, struct names *names)
{
	static const char *const stubs[][2] = {
		{ "irq_entries_start", "asm_common_interrupt" },
		/* perf takes this one of the two that begin there. */
		{ "__irqentry_text_start", "asm_common_interrupt" },
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
	if (symbol->name && symbol->file != SYMBOL_NO_FILE)
		names_set_origin(names, symbol->name, symbol->file, symbol->offset);
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

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *one = a, *other = b;

	return array_compare(one->start, other->start)
		       ?: array_compare(one->end, other->end)
		       ?: array_compare((uintptr_t)one->text, (uintptr_t)other->text);
}

const struct symbol *symbol_table_keep(struct symbol_table *table, const char *name, uint64_t start,
				       uint64_t end, bool kernel)
{
	struct symbol symbol = {
		.start = start, .end = end, .kernel = kernel, .file = SYMBOL_NO_FILE
	};
	struct symbol *kept, *const *found;

	symbol.text = names_get(table->texts, names_add(table->texts, name));
	if (names_error(table->texts))
		return NULL;
	found = tfind(&symbol, &table->symbols, compare_symbols);
	if (found)
		return *found;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return NULL;
	*kept = symbol;
	if (tsearch(kept, &table->symbols, compare_symbols))
		return kept;
	free(kept);
	return NULL;
}
