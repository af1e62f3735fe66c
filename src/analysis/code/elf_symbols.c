// SPDX-License-Identifier: GPL-2.0-only
#include <gelf.h>
#include <limits.h>
#include <string.h>

#include "array.h"
#include "code/symbols.h"
#include "text.h"

/* Size of a PLT entry if the section has none. */
#define PLT_ENTRY 16

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

/* The mapped file, and the file with the symbol table. */
struct reading {
	Elf *mapped, *elf;
	size_t names; /* of sections of `elf` */
	struct symbols *symbols;
};

static Elf *open_elf_symbols(int fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

static const char *elf_section_name(const struct reading *reading, const GElf_Shdr *header)
{
	return elf_strptr(reading->elf, reading->names, header->sh_name) ?: "";
}

static Elf_Scn *find_elf_section(const struct reading *reading, uint32_t type, const char *name,
				 GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(reading->elf, section))) {
		if (gelf_getshdr(section, header) && header->sh_type == type &&
		    (!name || !strcmp(elf_section_name(reading, header), name)))
			return section;
	}
	return NULL;
}

/* Separate symbol files have no valid code offsets. */
static bool elf_code_offset(Elf *elf, uint64_t address, uint64_t *offset)
{
	GElf_Phdr header;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    address < header.p_vaddr || address - header.p_vaddr >= header.p_memsz)
			continue;
		*offset = address - header.p_vaddr + header.p_offset;
		return true;
	}
	return false;
}

static bool is_hidden_symbol(const GElf_Sym *symbol)
{
	int visibility = GELF_ST_VISIBILITY(symbol->st_other);

	return visibility == STV_HIDDEN || visibility == STV_INTERNAL;
}

/* Hand-written assembly has only labels. */
static bool is_wanted_symbol(const struct reading *reading, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf_getscn(reading->elf, symbol->st_shndx);
	GElf_Shdr header;
	const char *name;

	if (symbol->st_shndx == SHN_UNDEF || !section || !gelf_getshdr(section, &header) ||
	    !(header.sh_flags & SHF_ALLOC))
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
		return true;
	case STT_NOTYPE:
		name = elf_section_name(reading, &header);
		return !is_hidden_symbol(symbol) && (strstr(name, "text") || strstr(name, "data"));
	default:
		return false;
	}
}

static int add_elf_symbol(const struct reading *reading, const GElf_Sym *symbol, const char *name)
{
	struct symbols_entry entry = { .binding = GELF_ST_BIND(symbol->st_info) };

	if (!name || !*name || !is_wanted_symbol(reading, symbol) ||
	    !elf_code_offset(reading->mapped, symbol->st_value, &entry.start))
		return 0;
	if (__builtin_add_overflow(entry.start, symbol->st_size, &entry.end))
		return 0;
	return symbols_add(reading->symbols, &entry, name, strlen(name));
}

static int add_symbol_table(const struct reading *reading, uint32_t type)
{
	GElf_Shdr header;
	Elf_Scn *section = find_elf_section(reading, type, NULL, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Sym symbol;
	int err = 0;

	for (int i = 0; data && !err && gelf_getsym(data, i, &symbol); i++)
		err = add_elf_symbol(reading, &symbol,
				     elf_strptr(reading->elf, header.sh_link, symbol.st_name));
	return err;
}

/* PLT entries jump to an address that the linker stores, or push the index of a relocation in
 * .rela.plt. */
struct plt {
	Elf_Data *numbered, *symbols;
	size_t strings;
	struct place {
		uint64_t address;
		size_t symbol;
	} * places; /* sorted */
	size_t nr;
};

static int compare_plt_places(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	return array_compare(one->address, other->address);
}

static int add_plt_places(struct plt *plt, Elf_Data *relocations)
{
	GElf_Rela relocation;

	for (int i = 0; relocations && gelf_getrela(relocations, i, &relocation); i++) {
		if (array_grow(&plt->places, plt->nr, sizeof(*plt->places)))
			return -ENOMEM;
		plt->places[plt->nr++] =
			(struct place){ relocation.r_offset, GELF_R_SYM(relocation.r_info) };
	}
	return 0;
}

/* The first entry of a PLT begins with another push. */
static bool read_plt_entry(const struct plt *plt, const uint8_t *line, size_t size,
			   uint64_t address, size_t *symbol)
{
	struct place wanted = {};
	const struct place *found;
	GElf_Rela relocation;
	int32_t operand;

	for (size_t i = 0; i + 6 <= size && memcmp(line, "\xff\x35", 2); i++) {
		if (!memcmp(line + i, "\xff\x25", 2)) {
			memcpy(&operand, line + i + 2, sizeof(operand));
			wanted.address = address + i + 6 + (uint64_t)(int64_t)operand;
			found = plt->nr ? bsearch(&wanted, plt->places, plt->nr, sizeof(wanted),
						  compare_plt_places)
					: NULL;
			if (found)
				*symbol = found->symbol;
			return found;
		}
		if (line[i] != 0x68)
			continue;
		memcpy(&operand, line + i + 1, sizeof(operand));
		if (!plt->numbered || operand < 0 ||
		    !gelf_getrela(plt->numbered, operand, &relocation))
			return false;
		*symbol = GELF_R_SYM(relocation.r_info);
		return true;
	}
	return false;
}

static int add_plt_symbol(const struct reading *reading, const struct plt *plt, size_t number,
			  struct symbols_entry entry)
{
	_cleanup_free_ char *text = NULL;
	GElf_Sym symbol;
	const char *name;

	if (number > INT_MAX || !gelf_getsym(plt->symbols, (int)number, &symbol))
		return 0;
	name = elf_strptr(reading->elf, plt->strings, symbol.st_name);
	if (!name)
		return 0;
	text = strfmt("%s@plt", name);
	return text ? symbols_add(reading->symbols, &entry, text, strlen(text)) : -ENOMEM;
}

static int add_plt_section(const struct reading *reading, const struct plt *plt, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = find_elf_section(reading, SHT_PROGBITS, name, &header);
	Elf_Data *lines = section ? elf_rawdata(section, NULL) : NULL;
	size_t size = section && header.sh_entsize ? header.sh_entsize : PLT_ENTRY, symbol;
	int err = 0;

	if (!lines || !lines->d_buf || header.sh_offset > INT64_MAX)
		return 0;
	for (size_t at = 0; !err && size <= lines->d_size && at <= lines->d_size - size;
	     at += size) {
		uint64_t start = header.sh_offset + at;

		if (read_plt_entry(plt, (uint8_t *)lines->d_buf + at, size, header.sh_addr + at,
				   &symbol))
			err = add_plt_symbol(reading, plt, symbol,
					     (struct symbols_entry){ .start = start,
								     .end = start + size,
								     .binding = STB_GLOBAL });
	}
	return err;
}

/* With indirect branch tracking, calls go to .plt.sec. */
static int add_plt_symbols(const struct reading *reading)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	GElf_Shdr header, dynamic;
	Elf_Scn *symbols = find_elf_section(reading, SHT_DYNSYM, NULL, &dynamic);
	struct plt plt = { .symbols = symbols ? elf_getdata(symbols, NULL) : NULL };
	Elf_Scn *section = NULL;
	int err = 0;

	if (!plt.symbols)
		return 0;
	plt.strings = dynamic.sh_link;
	while (!err && (section = elf_nextscn(reading->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    header.sh_link != elf_ndxscn(symbols))
			continue;
		if (!strcmp(elf_section_name(reading, &header), ".rela.plt"))
			plt.numbered = elf_getdata(section, NULL);
		err = add_plt_places(&plt, elf_getdata(section, NULL));
	}
	if (plt.nr)
		qsort(plt.places, plt.nr, sizeof(*plt.places), compare_plt_places);
	for (size_t i = 0; !err && i < ARRAY_SIZE(names); i++)
		err = add_plt_section(reading, &plt, names[i]);
	free(plt.places);
	return err;
}

static int add_debug_symbols(struct reading *reading, int fd)
{
	_cleanup_(elf_endp) Elf *elf = open_elf_symbols(fd);
	int err = 0;

	reading->elf = elf;
	if (elf && !elf_getshdrstrndx(elf, &reading->names))
		err = add_symbol_table(reading, SHT_SYMTAB);
	reading->elf = reading->mapped;
	return err;
}

int symbols_of_elf(struct symbols *symbols, int fd, int debug)
{
	_cleanup_(elf_endp) Elf *elf = open_elf_symbols(fd);
	struct reading reading = { .mapped = elf, .elf = elf, .symbols = symbols };
	int err = 0;

	if (!elf)
		return -ENOEXEC;
	if (debug >= 0)
		err = add_debug_symbols(&reading, debug);
	if (!err && !elf_getshdrstrndx(elf, &reading.names)) {
		if (debug < 0 || !symbols->nr)
			err = add_symbol_table(&reading, SHT_SYMTAB);
		err = err ?: add_symbol_table(&reading, SHT_DYNSYM);
		/* As in perf, the PLT does not end the preceding function. */
		symbols_finish(symbols);
		err = err ?: add_plt_symbols(&reading);
	}
	if (err)
		symbols_release(symbols);
	else
		symbols_finish(symbols);
	return err;
}
