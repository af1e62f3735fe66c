// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/elf_symbols.h"

#include <string.h>

#include <gelf.h>

#include "util.h"

struct symbols {
	Elf *elf;
	Elf_Data *data;
	GElf_Shdr header;
	size_t nr;
};

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

static bool find_table(Elf *elf, uint32_t type, struct symbols *symbols)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &symbols->header) || symbols->header.sh_type != type ||
		    !symbols->header.sh_entsize)
			continue;
		symbols->elf = elf;
		symbols->data = elf_getdata(section, NULL);
		symbols->nr = symbols->header.sh_size / symbols->header.sh_entsize;
		return symbols->data;
	}
	return false;
}

static bool is_function(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
	       symbol->st_value;
}

/* From an address of the program to an offset in its file. */
static bool to_offset(Elf *elf, uint64_t address, uint64_t *offset)
{
	GElf_Phdr header;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_LOAD ||
		    address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
			continue;
		*offset = address - header.p_vaddr + header.p_offset;
		return true;
	}
	return false;
}

/* Hand-written assembler often has no sizes. */
static uint64_t size_to_next(const struct symbols *symbols, uint64_t address)
{
	uint64_t next = 0;
	GElf_Sym symbol;

	for (size_t i = 0; i < symbols->nr; i++) {
		if (gelf_getsym(symbols->data, i, &symbol) && is_function(&symbol) &&
		    symbol.st_value > address && (!next || symbol.st_value < next))
			next = symbol.st_value;
	}
	return next ? next - address : 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct symbol_range *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

static int add_range(const struct symbols *symbols, const GElf_Sym *symbol,
		     struct symbol_range **ranges, size_t *nr)
{
	struct symbol_range *at, range = {
		.size = symbol->st_size ?: size_to_next(symbols, symbol->st_value),
		.global = GELF_ST_BIND(symbol->st_info) == STB_GLOBAL,
	};

	if (!to_offset(symbols->elf, symbol->st_value, &range.start))
		return 0;
	/* Another version of the same. */
	for (size_t i = 0; i < *nr; i++) {
		if ((*ranges)[i].start == range.start)
			return 0;
	}
	at = reallocarray(*ranges, *nr + 1, sizeof(*at));
	if (!at)
		return -ENOMEM;
	at[(*nr)++] = range;
	*ranges = at;
	return 0;
}

int elf_symbols_ranges(const char *path, const char *name, struct symbol_range **ret, size_t *nr)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_endp) Elf *elf = NULL;
	_cleanup_free_ struct symbol_range *ranges = NULL;
	struct symbols symbols = {};
	size_t found = 0;
	int err = 0;

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return -ENOEXEC;
	if (!find_table(elf, SHT_SYMTAB, &symbols) && !find_table(elf, SHT_DYNSYM, &symbols))
		return -ENOENT;
	for (size_t i = 0; i < symbols.nr && !err; i++) {
		const char *its_name;
		GElf_Sym symbol;

		if (!gelf_getsym(symbols.data, i, &symbol) || !is_function(&symbol))
			continue;
		its_name = elf_strptr(elf, symbols.header.sh_link, symbol.st_name);
		if (its_name && !strcmp(its_name, name))
			err = add_range(&symbols, &symbol, &ranges, &found);
	}
	if (err || !found)
		return err ?: -ENOENT;
	qsort(ranges, found, sizeof(*ranges), compare_ranges);
	*ret = TAKE_PTR(ranges);
	*nr = found;
	return 0;
}
