// SPDX-License-Identifier: GPL-2.0-only
#include "code.h"

#include <string.h>

#define ENTRIES 65536 /* a power of two */
#define COLD ".cold"

#define OPCODE_POPF 0x9d
#define OPCODE_CLI 0xfa
#define OPCODE_STI 0xfb

struct code_cache {
	struct names *names;
	struct code entries[ENTRIES];
	struct symbol **symbols; /* by hash */
	uint32_t nr, room;
};

void code_cache_free(struct code_cache *cache)
{
	if (!cache)
		return;
	for (uint32_t i = 0; i < cache->room; i++)
		free(cache->symbols[i]);
	free(cache->symbols);
	free(cache);
}

int code_cache_new(struct code_cache **ret, struct names *names)
{
	struct code_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	cache->names = names;
	*ret = cache;
	return 0;
}

struct code *code_find(struct code_cache *cache, uint64_t ip, int pid)
{
	uint64_t hash = (ip ^ (uint64_t)(unsigned int)pid << 40) * UINT64_C(0x9e3779b97f4a7c15);
	struct code *code = &cache->entries[hash >> 32 & (ENTRIES - 1)];

	if (code->ip != ip || code->pid != pid)
		*code = (struct code){ .ip = ip, .pid = pid };
	return code;
}

static uint32_t find(const struct code_cache *cache, uint32_t name, uint64_t start, uint64_t end)
{
	uint32_t i = (uint32_t)((start ^ name) * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; i++) {
		const struct symbol *symbol = cache->symbols[i & (cache->room - 1)];

		if (!symbol ||
		    (symbol->name == name && symbol->start == start && symbol->end == end))
			return i & (cache->room - 1);
	}
}

static int grow(struct code_cache *cache)
{
	struct symbol **old = cache->symbols;
	uint32_t room = cache->room;

	cache->room = room ? 2 * room : 1024;
	cache->symbols = calloc(cache->room, sizeof(struct symbol *));
	if (!cache->symbols) {
		cache->symbols = old;
		cache->room = room;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < room; i++) {
		if (old[i])
			cache->symbols[find(cache, old[i]->name, old[i]->start, old[i]->end)] =
				old[i];
	}
	free(old);
	return 0;
}

/* Rarely executed parts of a function are elsewhere, as function.cold. */
static uint32_t base_name(struct code_cache *cache, const char *name, uint32_t whole)
{
	const char *cold = strstr(name, COLD);
	_cleanup_free_ char *base = NULL;

	if (!cold || cold == name)
		return whole;
	base = strndup(name, (size_t)(cold - name));
	return base ? names_add(cache->names, base) : whole;
}

const struct symbol *code_symbol(struct code_cache *cache, const char *name, uint64_t start,
				 uint64_t end, bool kernel)
{
	uint32_t number = names_add(cache->names, name);
	struct symbol *symbol;
	uint32_t i;

	if (2 * cache->nr >= cache->room && grow(cache))
		return NULL;
	i = find(cache, number, start, end);
	if (cache->symbols[i])
		return cache->symbols[i];
	symbol = malloc(sizeof(*symbol));
	if (!symbol)
		return NULL;
	*symbol = (struct symbol){
		.start = start,
		.end = end,
		.name = number,
		.base = base_name(cache, name, number),
		.number = ++cache->nr,
		.kernel = kernel,
	};
	cache->symbols[i] = symbol;
	return symbol;
}

enum irq_change code_irqs(const uint8_t *bytes, size_t length)
{
	if (length != 1)
		return IRQ_SAME;
	switch (bytes[0]) {
	case OPCODE_CLI:
		return IRQ_OFF;
	case OPCODE_STI:
		return IRQ_ON;
	case OPCODE_POPF:
		return IRQ_RESTORED;
	default:
		return IRQ_SAME;
	}
}
