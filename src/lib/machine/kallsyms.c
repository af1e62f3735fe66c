// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "util.h"

/* Exceeds generated code, such as a BPF program. */
#define GENERATED_MAX (1 << 20)

struct symbol {
	uint64_t address;
	char type;
	/* Valid until the next symbol is read. */
	const char *name, *module; /* module: without brackets; NULL: the kernel proper */
};

struct reader {
	FILE *file;
	char *line;
	size_t size;
	int err; /* valid once read_symbol() has returned false */
};

static struct reader kallsyms_open(void)
{
	struct reader reader = { .file = fopen("/proc/kallsyms", "re") };

	reader.err = reader.file ? 0 : -errno;
	return reader;
}

static void kallsyms_close(struct reader *reader)
{
	fclosep(&reader->file);
	free(reader->line);
}

static bool read_symbol(struct reader *reader, struct symbol *symbol)
{
	while (reader->file && getline(&reader->line, &reader->size, reader->file) > 0) {
		char *end;

		symbol->address = strtoull(reader->line, &end, 16);
		/* What begins with $ marks code or data in modules of arm64. */
		if (end == reader->line || end[0] != ' ' || !end[1] || end[2] != ' ' ||
		    end[3] == '$')
			continue;
		symbol->type = end[1];
		symbol->name = end + 3;
		end += 3 + strcspn(end + 3, "\t\n");
		symbol->module = end[0] == '\t' && end[1] == '[' ? end + 2 : NULL;
		*end = '\0';
		if (symbol->module)
			end[2 + strcspn(symbol->module, "]\n")] = '\0';
		return true;
	}
	if (reader->file && ferror(reader->file))
		reader->err = -EIO;
	return false;
}

static bool is_function_symbol(const struct symbol *symbol)
{
	return strchr("tTwW", symbol->type);
}

static bool read_function_symbol(struct reader *reader, struct symbol *symbol)
{
	while (read_symbol(reader, symbol)) {
		if (is_function_symbol(symbol))
			return true;
	}
	return false;
}

const char *kallsyms_strerror(int err)
{
	if (err == -ENOENT)
		return "the kernel has no such function (see /proc/kallsyms)";
	if (err == -EPERM)
		return "the kernel hides its addresses: needs CAP_SYSLOG, and kernel.kptr_restrict "
		       "below 2";
	return "cannot read /proc/kallsyms";
}

int kallsyms_check(void)
{
	_cleanup_(kallsyms_close) struct reader reader = kallsyms_open();
	struct symbol symbol;

	return read_function_symbol(&reader, &symbol) && !symbol.address ? -EPERM : reader.err;
}

/* Of several symbols at an address, the first wins. */
static void match_places(struct kallsyms_place *places, size_t nr, const struct symbol *symbol)
{
	for (size_t i = 0; i < nr; i++) {
		struct kallsyms_place *place = &places[i];

		if (symbol->address > place->address &&
		    (!place->end || symbol->address < place->end))
			place->end = symbol->address;
		if (symbol->address > place->address || symbol->address <= place->start)
			continue;
		place->start = symbol->address;
		snprintf(place->name, sizeof(place->name), "%.127s", symbol->name);
		snprintf(place->module, sizeof(place->module), "%.63s",
			 symbol->module ? symbol->module : "");
	}
}

/* The end of a module, which no symbol marks; 0: unknown. */
static uint64_t find_module_end(const char *name)
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

/* False past the end of the kernel, the module or generated code: that code is gone, and the symbol
 * is only the nearest one before. */
static bool place_is_in_code(const struct kallsyms_place *place, uint64_t kernel_end)
{
	uint64_t end;

	if (!place->module[0] && kernel_end)
		return place->start >= kernel_end || place->address < kernel_end;
	end = place->module[0] ? find_module_end(place->module) : 0;
	return end ? place->address < end : place->address - place->start < GENERATED_MAX;
}

int kallsyms_places(struct kallsyms_place *places, size_t nr)
{
	_cleanup_(kallsyms_close) struct reader reader = kallsyms_open();
	uint64_t kernel_end = 0;
	struct symbol symbol;

	for (size_t i = 0; i < nr; i++)
		places[i].start = places[i].end = 0;
	while (read_symbol(&reader, &symbol)) {
		if (!strcmp(symbol.name, "_etext"))
			kernel_end = symbol.address;
		else if (symbol.address && is_function_symbol(&symbol))
			match_places(places, nr, &symbol);
	}
	for (size_t i = 0; i < nr; i++) {
		if (reader.err || (places[i].start && !place_is_in_code(&places[i], kernel_end)))
			places[i].start = 0;
		if (places[i].end > kernel_end)
			places[i].end = kernel_end;
		if (places[i].end <= places[i].start || places[i].module[0])
			places[i].end = 0;
	}
	return reader.err;
}

static int find_all_symbols(const char *name, struct symbol_range **ret, size_t *nr)
{
	_cleanup_(kallsyms_close) struct reader reader = kallsyms_open();
	_cleanup_free_ struct symbol_range *ranges = NULL;
	bool hidden = false;
	struct symbol symbol;

	*nr = 0;
	while (read_function_symbol(&reader, &symbol)) {
		if (strcmp(symbol.name, name))
			continue;
		if (array_grow(&ranges, *nr, sizeof(*ranges)))
			return -ENOMEM;
		ranges[(*nr)++] = (struct symbol_range){
			.start = symbol.address,
			.global = isupper((unsigned char)symbol.type),
		};
		hidden |= !symbol.address;
	}
	if (reader.err || hidden || !*nr)
		return reader.err ? reader.err : hidden ? -EPERM : -ENOENT;
	*ret = TAKE_PTR(ranges);
	return 0;
}

bool kallsyms_has(const char *name)
{
	_cleanup_(kallsyms_close) struct reader reader = kallsyms_open();
	struct symbol symbol;

	while (read_symbol(&reader, &symbol)) {
		if (!strcmp(symbol.name, name))
			return true;
	}
	return false;
}

int kallsyms_find(const char *name, uint64_t *address)
{
	_cleanup_free_ struct symbol_range *ranges = NULL;
	size_t nr;
	int err = find_all_symbols(name, &ranges, &nr);

	if (err)
		return err;
	*address = ranges[0].start;
	return nr > 1 ? -ENOTUNIQ : 0;
}

int kallsyms_ranges(const char *name, struct symbol_range **ret, size_t *nr)
{
	_cleanup_(kallsyms_close) struct reader reader = kallsyms_open();
	_cleanup_free_ struct symbol_range *ranges = NULL;
	int err = find_all_symbols(name, &ranges, nr);
	struct symbol symbol;

	if (err)
		return err;
	/* Symbols of modules are not sorted. */
	while (read_symbol(&reader, &symbol)) {
		for (size_t i = 0; i < *nr; i++) {
			uint64_t size = symbol.address - ranges[i].start;

			if (symbol.address > ranges[i].start &&
			    (!ranges[i].size || size < ranges[i].size))
				ranges[i].size = size;
		}
	}
	if (!reader.err)
		*ret = TAKE_PTR(ranges);
	return reader.err;
}

int kallsyms_whole(struct symbol_range *range)
{
	_cleanup_(kallsyms_close) struct reader reader = kallsyms_open();
	uint64_t first = UINT64_MAX, last = 0;
	const uint64_t page = 4096;
	struct symbol symbol;

	while (read_function_symbol(&reader, &symbol)) {
		if (symbol.address && symbol.address < first)
			first = symbol.address;
		if (symbol.address > last)
			last = symbol.address;
	}
	if (reader.err || !last)
		return reader.err ? reader.err : -EPERM;
	/* The end of the last function is unknown: add a page, as perf does. */
	*range = (struct symbol_range){
		.start = first,
		.size = (last + page - 1) / page * page + page - first,
	};
	return 0;
}
