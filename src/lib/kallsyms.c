// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "kallsyms.h"

#include <stdbool.h>
#include <string.h>

#include "util.h"

#define SYMBOL_MAX 512 /* KSYM_NAME_LEN of Linux 6.1 and later */

struct symbol {
	uint64_t address;
	char type;
	char name[SYMBOL_MAX];
};

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
		if (match(ctx, &symbol))
			break;
	}
	return ferror(file) ? -EIO : 0;
}

struct find {
	const char *name;
	uint64_t address;
	unsigned int matches;
	bool hidden;
};

static bool find_match(void *ctx, const struct symbol *symbol)
{
	struct find *find = ctx;

	if (!strchr("tTwW", symbol->type) || strcmp(symbol->name, find->name))
		return false;
	if (!symbol->address)
		find->hidden = true;
	else if (!find->matches++)
		find->address = symbol->address;
	return false;
}

int kallsyms_find(const char *name, uint64_t *address)
{
	struct find find = { .name = name };
	int err;

	err = kallsyms_each(find_match, &find);
	if (err)
		return err;
	if (find.hidden)
		return -EPERM;
	if (!find.matches)
		return -ENOENT;
	*address = find.address;
	return find.matches > 1 ? -ENOTUNIQ : 0;
}

struct name {
	uint64_t address;
	char *name;
	size_t size;
	bool found;
};

static bool name_match(void *ctx, const struct symbol *symbol)
{
	struct name *name = ctx;

	if (symbol->address != name->address || !strchr("tTwW", symbol->type))
		return false;
	snprintf(name->name, name->size, "%s", symbol->name);
	name->found = true;
	return true;
}

int kallsyms_name(uint64_t address, char *name, size_t size)
{
	struct name ctx = { .address = address, .name = name, .size = size };
	int err;

	if (!address)
		return -ENOENT;
	err = kallsyms_each(name_match, &ctx);
	if (err)
		return err;
	return ctx.found ? 0 : -ENOENT;
}
