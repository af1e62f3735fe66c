// SPDX-License-Identifier: GPL-2.0-only
#include <gelf.h>
#include <string.h>

#include "symbols.h"

/* A line of a table of procedure linkage that says no size. */
#define PLT_ENTRY 16

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

/* The file that is mapped, and the one whose table of symbols is read. */
struct reading {
	Elf *mapped, *elf;
	size_t names; /* of sections of `elf` */
	struct symbols *symbols;
};

static Elf *open_elf(int fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	return NULL;
}

static const char *section_name(const struct reading *reading, const GElf_Shdr *header)
{
	return elf_strptr(reading->elf, reading->names, header->sh_name) ?: "";
}

static Elf_Scn *find_section(const struct reading *reading, uint32_t type, const char *name,
			     GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(reading->elf, section))) {
		if (gelf_getshdr(section, header) && header->sh_type == type &&
		    (!name || !strcmp(section_name(reading, header), name)))
			return section;
	}
	return NULL;
}

/* Files of symbols alone have no offsets of code. */
static bool to_offset(Elf *elf, uint64_t address, uint64_t *offset)
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

static bool is_hidden(const GElf_Sym *symbol)
{
	int visibility = GELF_ST_VISIBILITY(symbol->st_other);

	return visibility == STV_HIDDEN || visibility == STV_INTERNAL;
}

/* Hand-written assembler has labels only. */
static bool is_symbol(const struct reading *reading, const GElf_Sym *symbol)
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
		name = section_name(reading, &header);
		return !is_hidden(symbol) && (strstr(name, "text") || strstr(name, "data"));
	default:
		return false;
	}
}

static int add_symbol(const struct reading *reading, const GElf_Sym *symbol, const char *name)
{
	struct symbols_entry entry = { .binding = GELF_ST_BIND(symbol->st_info) };

	if (!name || !*name || !is_symbol(reading, symbol) ||
	    !to_offset(reading->mapped, symbol->st_value, &entry.start))
		return 0;
	if (__builtin_add_overflow(entry.start, symbol->st_size, &entry.end))
		return 0;
	return symbols_add(reading->symbols, &entry, name, strlen(name));
}

static int add_table(const struct reading *reading, uint32_t type)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(reading, type, NULL, &header);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Sym symbol;
	int r = 0;

	for (int i = 0; data && !r && gelf_getsym(data, i, &symbol); i++)
		r = add_symbol(reading, &symbol,
			       elf_strptr(reading->elf, header.sh_link, symbol.st_name));
	return r;
}

/* The lines of a table are in the order of its relocations. */
struct plt {
	Elf_Data *relocations, *symbols;
	size_t strings;
	uint64_t offset, size, entry;
};

static int add_plt_entry(const struct reading *reading, const struct plt *plt, int index)
{
	struct symbols_entry entry = { .binding = STB_GLOBAL };
	_cleanup_free_ char *text = NULL;
	GElf_Rela relocation;
	GElf_Sym symbol;
	const char *name;
	int length;

	if (!gelf_getrela(plt->relocations, index, &relocation))
		return 0;
	if (!gelf_getsym(plt->symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
		return 0;
	name = elf_strptr(reading->elf, plt->strings, symbol.st_name);
	/* Those of indirect functions have none. */
	if (!name)
		return 0;
	length = asprintf(&text, "%s@plt", name);
	if (length < 0) {
		text = NULL;
		return -ENOMEM;
	}
	entry.start = plt->offset + (uint64_t)index * plt->entry;
	entry.end = entry.start + plt->entry;
	return symbols_add(reading->symbols, &entry, text, (size_t)length);
}

static int add_plt_section(const struct reading *reading, struct plt plt, const char *name,
			   bool has_head)
{
	GElf_Shdr header;
	int r = 0;

	if (!find_section(reading, SHT_PROGBITS, name, &header))
		return 0;
	plt.entry = header.sh_entsize ?: PLT_ENTRY;
	if (header.sh_offset > INT64_MAX || header.sh_size > UINT32_MAX ||
	    plt.entry > header.sh_size)
		return 0;
	plt.size = header.sh_size / plt.entry;
	plt.offset = header.sh_offset;
	if (has_head) {
		plt.offset += plt.entry;
		plt.size--;
	}
	if (plt.size > plt.relocations->d_size / sizeof(Elf32_Rela))
		plt.size = plt.relocations->d_size / sizeof(Elf32_Rela);
	for (uint64_t i = 0; i < plt.size && !r; i++)
		r = add_plt_entry(reading, &plt, (int)i);
	return r;
}

/* .plt.sec is where calls go with indirect branch tracking. */
static int add_plt(const struct reading *reading)
{
	GElf_Shdr header, dynamic;
	Elf_Scn *section = find_section(reading, SHT_RELA, ".rela.plt", &header);
	Elf_Scn *symbols = find_section(reading, SHT_DYNSYM, NULL, &dynamic);
	struct plt plt = {
		.relocations = section ? elf_getdata(section, NULL) : NULL,
		.symbols = symbols ? elf_getdata(symbols, NULL) : NULL,
	};
	int r;

	if (!plt.relocations || !plt.symbols || header.sh_link != elf_ndxscn(symbols))
		return 0;
	plt.strings = dynamic.sh_link;
	r = add_plt_section(reading, plt, ".plt", true);
	return r ?: add_plt_section(reading, plt, ".plt.sec", false);
}

static int add_tables(struct reading *reading, bool has_debug)
{
	int r = 0;

	if (elf_getshdrstrndx(reading->elf, &reading->names))
		return 0;
	if (!has_debug)
		r = add_table(reading, SHT_SYMTAB);
	r = r ?: add_table(reading, SHT_DYNSYM);
	/* As perf has it, the table of linkage does not end the function before. */
	symbols_finish(reading->symbols);
	return r ?: add_plt(reading);
}

static int add_debug(struct reading *reading, int fd)
{
	_cleanup_(elf_endp) Elf *elf = open_elf(fd);
	int r = 0;

	reading->elf = elf;
	if (elf && !elf_getshdrstrndx(elf, &reading->names))
		r = add_table(reading, SHT_SYMTAB);
	reading->elf = reading->mapped;
	return r;
}

int symbols_of_elf(struct symbols *symbols, int fd, int debug)
{
	_cleanup_(elf_endp) Elf *elf = open_elf(fd);
	struct reading reading = { .mapped = elf, .elf = elf, .symbols = symbols };
	int r = 0;

	if (!elf)
		return -ENOEXEC;
	if (debug >= 0)
		r = add_debug(&reading, debug);
	r = r ?: add_tables(&reading, debug >= 0 && symbols->nr);
	if (r)
		symbols_release(symbols);
	else
		symbols_finish(symbols);
	return r;
}
