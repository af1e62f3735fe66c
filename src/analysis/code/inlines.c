// SPDX-License-Identifier: GPL-2.0-only
/* Functions that a compiler has inlined in others: which ones at each address. */
#include <string.h>

#include "array.h"
#include "code/code_parts.h"
#include "code/symbolizer.h"

/* Deeper ones are cut. */
#define CHAIN_MAX 32

/* Code from an address up to the next stretch. */
struct stretch {
	uint64_t start;
	struct code_chain *chain; /* NULL: none */
};

struct code_inlines {
	struct code_inlined *list; /* by number */
	size_t nr;
	struct stretch *stretches; /* by address */
	size_t nr_stretches;
};

void code_inlines_free(struct code_inlines *inlines)
{
	if (!inlines)
		return;
	for (size_t i = 0; i < inlines->nr_stretches; i++)
		free(inlines->stretches[i].chain);
	for (size_t i = 0; inlines->list && i < inlines->nr; i++)
		free((char *)inlines->list[i].text);
	free(inlines->stretches);
	free(inlines->list);
	free(inlines);
}

static int name_inlined(struct code_inlines *inlines, const struct source_inlines *found)
{
	for (size_t i = 0; i < found->nr; i++) {
		const char *name = found->text + found->list[i].function;
		struct code_inlined *one = &inlines->list[found->list[i].number];

		if (one->text)
			continue;
		one->text = demangle(name) ?: strdup(*name ? name : "[inlined]");
		if (!one->text)
			return -ENOMEM;
	}
	return 0;
}

static int compare_stretches(const void *a, const void *b)
{
	const struct stretch *one = a, *other = b;

	return array_compare(one->start, other->start);
}

/* Wherever one begins or ends. */
static int divide_function(struct code_inlines *inlines, const struct source_inlines *found)
{
	size_t kept = 0;

	inlines->stretches = calloc(2 * found->nr, sizeof(*inlines->stretches));
	if (!inlines->stretches)
		return -ENOMEM;
	for (size_t i = 0; i < found->nr; i++) {
		inlines->stretches[2 * i].start = found->list[i].begin;
		inlines->stretches[2 * i + 1].start = found->list[i].end;
	}
	qsort(inlines->stretches, 2 * found->nr, sizeof(*inlines->stretches), compare_stretches);
	for (size_t i = 1; i < 2 * found->nr; i++) {
		if (inlines->stretches[i].start != inlines->stretches[kept].start)
			inlines->stretches[++kept] = inlines->stretches[i];
	}
	inlines->nr_stretches = kept + 1;
	return 0;
}

/* The list has callers before what they call. */
static int set_stretch_chain(struct code_inlines *inlines, const struct source_inlines *found,
			     struct stretch *stretch)
{
	struct code_inlined *chain[CHAIN_MAX];
	uint32_t nr = 0;

	for (size_t i = 0; i < found->nr && nr < CHAIN_MAX; i++) {
		if (found->list[i].begin <= stretch->start && stretch->start < found->list[i].end)
			chain[nr++] = &inlines->list[found->list[i].number];
	}
	if (!nr)
		return 0;
	stretch->chain = malloc(sizeof(*stretch->chain) + nr * sizeof(*chain));
	if (!stretch->chain)
		return -ENOMEM;
	stretch->chain->nr = nr;
	memcpy(stretch->chain->list, chain, nr * sizeof(*chain));
	return 0;
}

struct code_inlines *code_inlines_new(struct symbolizer *symbolizer, const struct symbol *symbol)
{
	_cleanup_(source_inlines_release) struct source_inlines found = {};
	struct code_inlines *inlines;
	int err = symbolizer_find_inlined(symbolizer, symbol->file, symbol->offset,
					  symbol->end - symbol->start, &found);

	inlines = err || !found.nr ? NULL : calloc(1, sizeof(*inlines));
	if (!inlines)
		return NULL;
	for (size_t i = 0; i < found.nr; i++) {
		if (found.list[i].number >= inlines->nr)
			inlines->nr = found.list[i].number + 1UL;
		found.list[i].begin += symbol->start - symbol->offset;
		found.list[i].end += symbol->start - symbol->offset;
	}
	inlines->list = calloc(inlines->nr, sizeof(*inlines->list));
	err = inlines->list ? name_inlined(inlines, &found) : -ENOMEM;
	err = err ?: divide_function(inlines, &found);
	for (size_t i = 0; i < inlines->nr_stretches && !err; i++)
		err = set_stretch_chain(inlines, &found, &inlines->stretches[i]);
	if (!err)
		return inlines;
	code_inlines_free(inlines);
	return NULL;
}

const struct code_chain *code_chain_at(const struct code_inlines *inlines, uint64_t ip)
{
	size_t nr = ARRAY_COUNT_BEFORE(inlines->nr_stretches, i, inlines->stretches[i].start <= ip);

	return nr ? inlines->stretches[nr - 1].chain : NULL;
}
