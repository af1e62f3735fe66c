// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/kallsyms.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "util.h"

#define SYMBOL_MAX 512 /* KSYM_NAME_LEN of Linux 6.1 and later */
/* Code that the kernel makes as it runs, of one BPF program for instance, is smaller. */
#define MADE_MAX (1 << 20)

struct symbol {
	uint64_t address;
	char type;
	char name[SYMBOL_MAX];
	const char *module; /* without brackets; NULL: the kernel proper */
};

/* What follows the name, cut in place. */
static const char *symbol_module(char *rest)
{
	if (rest[0] != '\t' || rest[1] != '[')
		return NULL;
	rest[2 + strcspn(rest + 2, "]\n")] = '\0';
	return rest + 2;
}

/* Calls `match` for each symbol until it returns true. */
static int kallsyms_each(bool (*match)(void *ctx, const struct symbol *symbol), void *ctx)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	_cleanup_free_ char *line = NULL;
	struct symbol symbol;
	size_t size = 0;

	if (!file)
		return -errno;
	while (getline(&line, &size, file) > 0) {
		char *end;
		size_t len;

		symbol.address = strtoull(line, &end, 16);
		if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
			continue;
		symbol.type = end[1];
		len = strcspn(end + 3, "\t\n");
		if (len >= sizeof(symbol.name))
			continue;
		memcpy(symbol.name, end + 3, len);
		symbol.name[len] = '\0';
		symbol.module = symbol_module(end + 3 + len);
		if (match(ctx, &symbol))
			break;
	}
	return ferror(file) ? -EIO : 0;
}

static bool is_function(const struct symbol *symbol)
{
	return strchr("tTwW", symbol->type);
}

static bool first_match(void *ctx, const struct symbol *symbol)
{
	bool *hidden = ctx;

	*hidden = !symbol->address;
	return is_function(symbol);
}

int kallsyms_check(void)
{
	bool hidden = false;
	int err = kallsyms_each(first_match, &hidden);

	return err ? err : hidden ? -EPERM : 0;
}

struct places {
	struct kallsyms_place *at;
	size_t nr;
	uint64_t end; /* of the kernel proper; 0: not known */
};

/* Of symbols at one address the first. */
static bool place_match(void *ctx, const struct symbol *symbol)
{
	struct places *places = ctx;

	if (!strcmp(symbol->name, "_etext")) {
		places->end = symbol->address;
		return false;
	}
	if (!symbol->address || !is_function(symbol))
		return false;
	for (size_t i = 0; i < places->nr; i++) {
		struct kallsyms_place *place = &places->at[i];

		if (symbol->address > place->address || symbol->address <= place->start)
			continue;
		place->start = symbol->address;
		snprintf(place->name, sizeof(place->name), "%.127s", symbol->name);
		snprintf(place->module, sizeof(place->module), "%s",
			 symbol->module ? symbol->module : "");
	}
	return false;
}

/* No symbol tells where the last function of a module ends; 0: not known. */
static uint64_t module_end(const char *name)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/modules", "re");
	_cleanup_free_ char *line = NULL;
	uint64_t start, bytes;
	size_t size = 0;
	char found[64];

	while (file && getline(&line, &size, file) > 0) {
		if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, found, &bytes, &start) ==
			    3 &&
		    !strcmp(found, name))
			return start + bytes;
	}
	return 0;
}

/* Code that is gone lies behind what lives: before the next symbol, but not in the one found. */
static bool place_lives(const struct kallsyms_place *place, uint64_t kernel_end)
{
	uint64_t end;

	if (!place->module[0] && kernel_end)
		return place->start >= kernel_end || place->address < kernel_end;
	end = place->module[0] ? module_end(place->module) : 0;
	if (end)
		return place->address < end;
	/* Of BPF and the like, which are in no module. */
	return place->address - place->start < MADE_MAX;
}

int kallsyms_places(struct kallsyms_place *at, size_t nr)
{
	struct places places = { .at = at, .nr = nr };
	int err;

	for (size_t i = 0; i < nr; i++)
		at[i].start = 0;
	err = kallsyms_each(place_match, &places);
	for (size_t i = 0; i < nr; i++) {
		if (err || (at[i].start && !place_lives(&at[i], places.end)))
			at[i].start = 0;
	}
	return err;
}

struct ranges {
	const char *name;
	struct symbol_range *at;
	size_t nr;
	bool hidden;
	int error;
};

static bool range_match(void *ctx, const struct symbol *symbol)
{
	struct ranges *ranges = ctx;
	struct symbol_range *at;

	if (!is_function(symbol) || strcmp(symbol->name, ranges->name))
		return false;
	if (!symbol->address) {
		ranges->hidden = true;
		return false;
	}
	at = reallocarray(ranges->at, ranges->nr + 1, sizeof(*at));
	if (!at) {
		ranges->error = -ENOMEM;
		return true;
	}
	at[ranges->nr++] = (struct symbol_range){ symbol->address, 0, isupper(symbol->type) };
	ranges->at = at;
	return false;
}

static int find_all(struct ranges *ranges)
{
	int err = kallsyms_each(range_match, ranges);

	if (!err)
		err = ranges->error;
	if (!err && ranges->hidden)
		err = -EPERM;
	return !err && !ranges->nr ? -ENOENT : err;
}

int kallsyms_find(const char *name, uint64_t *address)
{
	struct ranges ranges = { .name = name };
	int err = find_all(&ranges);

	if (!err) {
		*address = ranges.at[0].start;
		err = ranges.nr > 1 ? -ENOTUNIQ : 0;
	}
	free(ranges.at);
	return err;
}

/* Symbols of modules are not sorted. */
static bool range_end(void *ctx, const struct symbol *symbol)
{
	struct ranges *ranges = ctx;

	for (size_t i = 0; i < ranges->nr; i++) {
		struct symbol_range *range = &ranges->at[i];

		if (symbol->address > range->start &&
		    (!range->size || symbol->address - range->start < range->size))
			range->size = symbol->address - range->start;
	}
	return false;
}

int kallsyms_ranges(const char *name, struct symbol_range **ret, size_t *nr)
{
	struct ranges ranges = { .name = name };
	int err = find_all(&ranges);

	if (!err)
		err = kallsyms_each(range_end, &ranges);
	if (err) {
		free(ranges.at);
		return err;
	}
	*ret = ranges.at;
	*nr = ranges.nr;
	return 0;
}

struct whole {
	uint64_t first, last;
};

static bool whole_match(void *ctx, const struct symbol *symbol)
{
	struct whole *whole = ctx;

	if (!symbol->address || !is_function(symbol))
		return false;
	if (symbol->address < whole->first)
		whole->first = symbol->address;
	if (symbol->address > whole->last)
		whole->last = symbol->address;
	return false;
}

int kallsyms_whole(struct symbol_range *range)
{
	struct whole whole = { .first = UINT64_MAX };
	const uint64_t page = 4096;
	int err = kallsyms_each(whole_match, &whole);

	if (err)
		return err;
	if (!whole.last)
		return -EPERM;
	/* The end of the last function is unknown: add a page, as perf does. */
	*range = (struct symbol_range){
		.start = whole.first,
		.size = (whole.last + page - 1) / page * page + page - whole.first,
	};
	return 0;
}
