// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "code/symbols.h"

/* The kernel's names have less than 512 bytes. The file is not trusted: longer lines are no
 * symbols.
 */
#define LINE_MAX_SIZE 4096

/* What perf considers a function or variable. Variables end functions. */
static bool is_symbol(char type)
{
	return type && strchr("TWDB", toupper(type));
}

static uint8_t binding_of(char type)
{
	if (type == 'W')
		return STB_WEAK;
	return isupper(type) ? STB_GLOBAL : STB_LOCAL;
}

/* For 200,000 lines, strtoull() would take as long as all the rest. */
static const char *parse_hex(const char *text, uint64_t *value)
{
	*value = 0;
	for (;; text++) {
		unsigned int digit = (unsigned char)*text;

		if (digit - '0' < 10)
			*value = *value << 4 | (digit - '0');
		else if (digit - 'a' < 6)
			*value = *value << 4 | (digit - 'a' + 10);
		else
			return text;
	}
}

/* Such as `ffffffff81000000 T _stext` and `ffffffffc0000000 t init\t[MODULE]`. */
static int add_line(struct symbols *symbols, const char *line)
{
	struct symbols_entry entry = {};
	const char *end = parse_hex(line, &entry.start);
	size_t length;

	if (end == line || end[0] != ' ' || !is_symbol(end[1]) || end[2] != ' ')
		return 0;
	length = strcspn(end + 3, "\t\n");
	entry.end = entry.start;
	entry.binding = binding_of(end[1]);
	entry.in_module = end[3 + length] == '\t';
	return symbols_add(symbols, &entry, end + 3, length);
}

int symbols_of_kallsyms(struct symbols *symbols, int fd)
{
	_cleanup_close_ int own = dup(fd);
	_cleanup_fclose_ FILE *file = own < 0 ? NULL : fdopen(own, "r");
	char line[LINE_MAX_SIZE];
	bool is_rest = false;
	int r = 0;

	if (!file)
		return -errno;
	own = -1;
	while (!r && fgets(line, sizeof(line), file)) {
		bool is_end = strchr(line, '\n') || feof(file);

		if (is_end && !is_rest)
			r = add_line(symbols, line);
		is_rest = !is_end;
	}
	if (!r && ferror(file))
		r = -EIO;
	if (r)
		symbols_release(symbols);
	else
		symbols_finish(symbols);
	return r;
}
