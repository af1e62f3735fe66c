// SPDX-License-Identifier: GPL-2.0-only
#include "code/symbols.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

#include "array.h"

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#endif

#define PAGE 4096

void symbols_release(struct symbols *symbols)
{
	free(symbols->entries);
	free(symbols->text);
	*symbols = (struct symbols){};
}

static int symbols_make_room(struct symbols *symbols, size_t length)
{
	if (array_grow(&symbols->entries, symbols->nr, sizeof(*symbols->entries)))
		return -ENOMEM;
	if (symbols->text_room - symbols->text_size <= length) {
		size_t room = 2 * symbols->text_room + length + PAGE;
		char *text = room > UINT32_MAX ? NULL : realloc(symbols->text, room);

		if (!text)
			return -ENOMEM;
		symbols->text = text;
		symbols->text_room = room;
	}
	return 0;
}

int symbols_add(struct symbols *symbols, const struct symbols_entry *entry, const char *name,
		size_t length)
{
	struct symbols_entry *added;
	int err = symbols_make_room(symbols, length);

	if (err)
		return err;
	added = &symbols->entries[symbols->nr];
	*added = *entry;
	added->name = (uint32_t)symbols->text_size;
	added->order = (uint32_t)symbols->nr++;
	memcpy(symbols->text + symbols->text_size, name, length);
	symbols->text[symbols->text_size + length] = '\0';
	symbols->text_size += length + 1;
	return 0;
}

static int compare_symbol_entries(const void *a, const void *b)
{
	const struct symbols_entry *one = a, *other = b;

	return array_compare(one->start, other->start) ?: array_compare(one->order, other->order);
}

/* End of the page after this one. */
static uint64_t end_of_next_page(uint64_t address)
{
	return (address + 2 * PAGE - 1) / PAGE * PAGE;
}

/* There is a gap between the kernel proper and its modules. */
static void set_symbol_ends(struct symbols *symbols)
{
	for (size_t i = 0; i < symbols->nr; i++) {
		struct symbols_entry *entry = &symbols->entries[i], *next = entry + 1;

		if (entry->end != entry->start)
			continue;
		if (i + 1 == symbols->nr || entry->in_module != next->in_module)
			entry->end = end_of_next_page(entry->start);
		else
			entry->end = next->start;
	}
}

/* Less is better. */
static int compare_properties(bool one, bool other)
{
	return other - one;
}

/* Whether perf prefers `other` to `one`, an earlier symbol at the same address. */
static bool is_better_symbol(const struct symbols *symbols, const struct symbols_entry *other,
			     const struct symbols_entry *one)
{
	_cleanup_free_ char *plain = demangle(symbols_name(symbols, one));
	_cleanup_free_ char *other_plain = demangle(symbols_name(symbols, other));
	const char *name = plain ?: symbols_name(symbols, one);
	const char *other_name = other_plain ?: symbols_name(symbols, other);
	size_t length = strlen(name), other_length = strlen(other_name);
	int err = compare_properties(one->end != one->start, other->end != other->start);

	err = err ?: compare_properties(one->binding != STB_WEAK, other->binding != STB_WEAK);
	err = err ?: compare_properties(one->binding == STB_GLOBAL, other->binding == STB_GLOBAL);
	if (err)
		return err > 0;
	err = (int)strspn(name, "_") - (int)strspn(other_name, "_");
	if (err)
		return err > 0;
	if (length != other_length)
		return other_length > length;
	return !strncmp(name, "SyS", 3) || !strncmp(name, "compat_SyS", 10);
}

static void keep_best_symbols(struct symbols *symbols)
{
	size_t kept = 0;

	for (size_t i = 1; i < symbols->nr; i++) {
		const struct symbols_entry *entry = &symbols->entries[i];

		if (entry->start != symbols->entries[kept].start)
			symbols->entries[++kept] = *entry;
		else if (is_better_symbol(symbols, entry, &symbols->entries[kept]))
			symbols->entries[kept] = *entry;
	}
	if (symbols->nr)
		symbols->nr = kept + 1;
}

void symbols_finish(struct symbols *symbols)
{
	if (!symbols->nr)
		return;
	qsort(symbols->entries, symbols->nr, sizeof(*symbols->entries), compare_symbol_entries);
	set_symbol_ends(symbols);
	keep_best_symbols(symbols);
}

/* Functions may contain labels: the last label before an address may end before it. */
#define NESTED_MAX 16

const struct symbols_entry *symbols_find(const struct symbols *symbols, uint64_t at)
{
	size_t low = ARRAY_COUNT_BEFORE(symbols->nr, i, symbols->entries[i].start <= at);

	for (size_t i = 0; i < NESTED_MAX && i < low; i++) {
		const struct symbols_entry *entry = &symbols->entries[low - 1 - i];

		if (at < entry->end)
			return entry;
	}
	return NULL;
}

const struct symbols_entry *symbols_by_name(const struct symbols *symbols, const char *name)
{
	for (size_t i = 0; i < symbols->nr; i++) {
		if (!strcmp(symbols_name(symbols, &symbols->entries[i]), name))
			return &symbols->entries[i];
	}
	return NULL;
}

#ifdef HAVE_LIBIBERTY
char *demangle(const char *name)
{
	size_t length = strcspn(name, "@");
	char *mangled, *plain, *text = NULL;

	/* libiberty would also accept old compilers' names, which may be C. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	mangled = strndup(name, length);
	plain = mangled ? cplus_demangle(mangled, DMGL_NO_OPTS) : NULL;
	if (plain && asprintf(&text, "%s%s", plain, name + length) < 0)
		text = NULL;
	free(plain);
	free(mangled);
	return text;
}
#else
char *demangle(const char *name)
{
	return NULL;
}
#endif

/* The kernel's names have less than 512 bytes. The file is not trusted: longer lines are no
 * symbols.
 */
#define LINE_MAX_SIZE 4096

/* What perf considers a function or variable. Variables end functions. */
static bool is_kallsyms_symbol(char type)
{
	return type && strchr("TWDB", toupper(type));
}

static uint8_t kallsyms_binding(char type)
{
	if (type == 'W')
		return STB_WEAK;
	return isupper(type) ? STB_GLOBAL : STB_LOCAL;
}

/* For 200,000 lines, strtoull() would take as long as all the rest. */
static const char *parse_hex_address(const char *text, uint64_t *value)
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
static int add_kallsyms_line(struct symbols *symbols, const char *line)
{
	struct symbols_entry entry = {};
	const char *end = parse_hex_address(line, &entry.start);
	size_t length;

	/* What begins with $ marks code or data in modules of arm64. */
	if (end == line || end[0] != ' ' || !is_kallsyms_symbol(end[1]) || end[2] != ' ' ||
	    end[3] == '$')
		return 0;
	length = strcspn(end + 3, "\t\n");
	entry.end = entry.start;
	entry.binding = kallsyms_binding(end[1]);
	entry.in_module = end[3 + length] == '\t';
	return symbols_add(symbols, &entry, end + 3, length);
}

int symbols_of_kallsyms(struct symbols *symbols, int fd)
{
	_cleanup_close_ int own = dup(fd);
	_cleanup_fclose_ FILE *file = own < 0 ? NULL : fdopen(own, "r");
	char line[LINE_MAX_SIZE];
	bool is_rest = false;
	int err = 0;

	if (!file)
		return -errno;
	own = -1;
	while (!err && fgets(line, sizeof(line), file)) {
		bool is_end = strchr(line, '\n') || feof(file);

		if (is_end && !is_rest)
			err = add_kallsyms_line(symbols, line);
		is_rest = !is_end;
	}
	if (!err && ferror(file))
		err = -EIO;
	if (err)
		symbols_release(symbols);
	else
		symbols_finish(symbols);
	return err;
}
