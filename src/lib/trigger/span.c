// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The text of a span, and the functions that it names in programs and libraries. */
#include "trigger/trigger_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>

#include "units.h"
#include "util.h"

#define OVERRUN "," TRIGGER_OVERRUN
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

static const struct span_row {
	const char *name, *usage;
	int parts;
	bool is_entry, is_exit;
	bool whole; /* without an exit: until the function returns */
	bool fields;
} rows[SPAN_KINDS] = {
	[SPAN_TP] = { "tp", "tp:SYS:NAME[/FILTER/]", 2, true, true, false, true },
	[SPAN_FN] = { "fn", "fn:FUNCTION", 1, true, true, true, false },
	[SPAN_UPROBE] = { "uprobe", "uprobe:FILE:SYMBOL[+OFFSET]", 2, true, true, true, false },
	[SPAN_URETPROBE] = { "uretprobe", "uretprobe:FILE:SYMBOL", 2, false, true, false, false },
	[SPAN_USDT] = { "usdt", "usdt:FILE:PROVIDER:NAME", 3, true, true, false, false },
};

static int span_refuse_text(const struct span *span, const struct log *log, const char *why,
			    const char *text)
{
	return log_error(log, -EINVAL, "span %s: '%s': %s", span->name, text, why);
}

static const struct span_row *point_row_of_text(const char *text)
{
	for (size_t i = 0; i < SPAN_KINDS; i++) {
		size_t length = strlen(rows[i].name);

		if (!strncmp(text, rows[i].name, length) && text[length] == ':')
			return &rows[i];
	}
	return NULL;
}

/* Finds the two dots before EXIT: paths may contain dots too. */
static char *span_find_exit_text(char *text)
{
	char *dots = text;

	while ((dots = strstr(dots, ".."))) {
		if (point_row_of_text(dots + 2))
			return dots;
		dots++;
	}
	return NULL;
}

/* Splits NAME/FILTER/ of a tracepoint. */
static int point_cut_filter(struct span_point *point, const struct span *span,
			    const struct log *log)
{
	char *name = (char *)point->parts[1], *begin = strchr(name, '/');
	int has = event_has_filter(name);

	if (!has)
		return 0;
	if (has < 0 || begin == name)
		return span_refuse_text(span, log,
					"the filter must stand between two slashes "
					"(tp:sched:sched_switch/next_prio < 50/)",
					name);
	*begin = '\0';
	begin[strlen(begin + 1)] = '\0';
	point->filter = begin + 1;
	return 0;
}

static int span_parse_point(struct span_point *point, const struct span *span, char *text,
			    const struct log *log)
{
	const struct span_row *row = point_row_of_text(text);
	char *part;

	if (!row)
		return span_refuse_text(
			span, log,
			"must be tp:SYS:NAME[/FILTER/], fn:FUNCTION, uprobe:FILE:SYMBOL[+OFFSET], "
			"uretprobe:FILE:SYMBOL, or usdt:FILE:PROVIDER:NAME",
			text);
	point->kind = (enum span_kind)(row - rows);
	part = text + strlen(row->name) + 1;
	for (int i = 0; i < row->parts; i++) {
		/* The last part takes the rest, such as the colons of C++. */
		size_t length = i + 1 < row->parts ? strcspn(part, ":") : strlen(part);

		if (!length || (i + 1 < row->parts && !part[length]))
			return log_error(log, -EINVAL, "span %s: '%s': must be %s", span->name,
					 row->name, row->usage);
		point->parts[i] = part;
		part += length;
		if (*part)
			*part++ = '\0';
	}
	return point->kind == SPAN_TP ? point_cut_filter(point, span, log) : 0;
}

/* FIELD or argN, for both; or ENTRY's:EXIT's. */
static int span_parse_by(struct span *span, char *by, const struct log *log)
{
	struct span_point *points[] = { &span->entry, &span->exit };
	char *colon;

	if (!by || !strcmp(by, "thread"))
		return 0;
	span->by = !strcmp(by, "cpu") ? SPAN_BY_CPU : SPAN_BY_ARGUMENT;
	if (span->by == SPAN_BY_CPU)
		return 0;
	colon = strchr(by, ':');
	if (colon)
		*colon = '\0';
	span->entry.argument = by;
	span->exit.argument = colon ? colon + 1 : by;
	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		const char *name = points[i]->argument;
		bool number =
			!strncmp(name, "arg", 3) && name[3] >= '1' && name[3] <= '5' && !name[4];

		if (points[i]->kind == SPAN_URETPROBE)
			return span_refuse_text(
				span, log,
				"a return has no arguments: use by=thread, or another EXIT", name);
		if (!*name || number == rows[points[i]->kind].fields)
			return span_refuse_text(
				span, log,
				"by must be thread, cpu, the field of a tracepoint, or arg1 "
				"to arg5 of a function or usdt (as by=FIELD, or by=dev:arg1 "
				"where ENTRY's differs from EXIT's)",
				name);
	}
	return 0;
}

/* Whether entry and exit name the same function. */
static bool is_one_function(const struct span_point *entry, const struct span_point *exit)
{
	if (entry->kind == SPAN_FN && exit->kind == SPAN_FN)
		return !strcmp(entry->parts[0], exit->parts[0]);
	return entry->kind == SPAN_UPROBE && exit->kind == SPAN_URETPROBE &&
	       !strcmp(entry->parts[0], exit->parts[0]) && !strcmp(entry->parts[1], exit->parts[1]);
}

static int span_parse_points(struct span *span, char *text, const struct log *log)
{
	char *exit = span_find_exit_text(text);
	int err;

	if (exit) {
		*exit = '\0';
		exit += 2;
	}
	err = span_parse_point(&span->entry, span, text, log);
	if (err)
		return err;
	span->whole = !exit && rows[span->entry.kind].whole;
	if (span->whole) {
		span->exit = span->entry;
		if (span->entry.kind == SPAN_UPROBE)
			span->exit.kind = SPAN_URETPROBE;
		return 0;
	}
	if (!exit)
		return span_refuse_text(span, log, "has no EXIT (ENTRY..EXIT)",
					rows[span->entry.kind].name);
	if (!rows[span->entry.kind].is_entry)
		return span_refuse_text(span, log, "can only be an EXIT (ENTRY..EXIT)",
					rows[span->entry.kind].name);
	err = span_parse_point(&span->exit, span, exit, log);
	if (!err)
		span->whole = is_one_function(&span->entry, &span->exit);
	return err;
}

/* Cuts the options after the points. C++ symbols may contain commas. */
static char *span_cut_by_text(char *text)
{
	char *by = NULL;

	for (char *at = text; (at = strstr(at, ",by=")); at++)
		by = at;
	if (!by)
		return NULL;
	*by = '\0';
	return by + strlen(",by=");
}

int span_parse_text(struct span *span, const char *text, const struct log *log)
{
	const char *equal = text ? strchr(text, '=') : NULL;
	size_t length = equal ? (size_t)(equal - text) : 0;
	char *by;
	int err;

	*span = (struct span){};
	if (!length || length >= TRIGGER_LABEL_SIZE || strspn(text, NAME_CHARACTERS) != length)
		return log_error(log, -EINVAL,
				 "span '%s': must be NAME=ENTRY..EXIT, with a NAME of at most %d "
				 "letters, digits, - . or _",
				 text ? text : "", TRIGGER_LABEL_SIZE - 1);
	span->name = strndup(text, length);
	span->text = strdup(equal + 1);
	if (!span->name || !span->text) {
		span_destroy(span);
		return -ENOMEM;
	}
	length = strlen(span->text);
	if (length >= strlen(OVERRUN) && !strcmp(span->text + length - strlen(OVERRUN), OVERRUN)) {
		span->text[length - strlen(OVERRUN)] = '\0';
		span->overrun = true;
	}
	by = span_cut_by_text(span->text);
	err = span_parse_points(span, span->text, log) ?: span_parse_by(span, by, log);
	if (err)
		span_destroy(span);
	return err;
}

void span_destroy(struct span *span)
{
	free(span->name);
	free(span->text);
	*span = (struct span){};
}

/* -- Functions of a program or library */

#define VERSION_HIDDEN 0x8000 /* of a symbol version that is not the default */
#define NAME_MAX_SIZE 512

struct search {
	const char *name;
	/* C++ names up to the arguments; empty: search for `name`. */
	char mangled[NAME_MAX_SIZE], mangled_const[NAME_MAX_SIZE];
	uint64_t address;
	bool found, several;
};

/* a::b becomes _ZN1a1bE, or _ZNK1a1bE for a const method; f becomes _Z1f. */
static void search_mangle_name(struct search *search)
{
	char parts[NAME_MAX_SIZE] = "";
	const char *part = search->name;
	bool nested = strstr(part, "::");
	size_t used = 0;

	while (*part) {
		size_t length = strcspn(part, ":");

		if (!length || used + length + 16 > sizeof(parts))
			return;
		used += (size_t)sprintf(parts + used, "%zu%.*s", length, (int)length, part);
		part += length;
		if (!strncmp(part, "::", 2))
			part += 2;
		else if (*part)
			return;
	}
	if (!used)
		return;
	snprintf(search->mangled, sizeof(search->mangled), nested ? "_ZN%.500sE" : "_Z%.500s",
		 parts);
	if (nested)
		snprintf(search->mangled_const, sizeof(search->mangled_const), "_ZNK%.500sE",
			 parts);
}

static bool symbol_matches(const struct search *search, const char *name)
{
	size_t length = strlen(search->mangled), length_const = strlen(search->mangled_const);

	if (!length)
		return !strcmp(name, search->name);
	/* A name with a dot is a part split off by the compiler. */
	return !strchr(name, '.') &&
	       (!strncmp(name, search->mangled, length) ||
		(length_const && !strncmp(name, search->mangled_const, length_const)));
}

static void search_symbol_table(struct search *search, Elf *elf, Elf_Scn *section,
				Elf_Data *versions)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Versym version;
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(section, &header))
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);

		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
		    !name || !symbol_matches(search, name))
			continue;
		if (versions && gelf_getversym(versions, i, &version) && version & VERSION_HIDDEN)
			continue;
		/* Aliases, and symbols in both tables, have equal addresses. */
		if (search->found && search->address != symbol.st_value)
			search->several = true;
		search->address = symbol.st_value;
		search->found = true;
	}
}

static void search_symbol_tables(struct search *search, Elf *elf)
{
	Elf_Scn *section = NULL;
	Elf_Data *versions = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_GNU_versym)
			versions = elf_getdata(section, NULL);
	}
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_DYNSYM)
			search_symbol_table(search, elf, section, versions);
		else if (header.sh_type == SHT_SYMTAB)
			search_symbol_table(search, elf, section, NULL);
	}
}

static int file_offset_of_address(Elf *elf, uint64_t address, uint64_t *offset)
{
	GElf_Phdr segment;

	for (int i = 0; gelf_getphdr(elf, i, &segment); i++) {
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*offset = address - segment.p_vaddr + segment.p_offset;
		return 0;
	}
	return -ENOENT;
}

int elf_function_find(const char *file, const char *name, uint64_t *offset)
{
	_cleanup_close_ int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct search search = { .name = name };
	int err = -ENOEXEC;
	Elf *elf;

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		search_symbol_tables(&search, elf);
		if (!search.found) {
			search_mangle_name(&search);
			search_symbol_tables(&search, elf);
		}
		err = search.several ? -ENOTUNIQ
		      : search.found ? file_offset_of_address(elf, search.address, offset)
				     : -ENOENT;
	}
	elf_end(elf);
	return err;
}
