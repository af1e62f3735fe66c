// SPDX-License-Identifier: GPL-2.0-only
/* Source lines and inlined functions, as addr2line -i has them. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <string.h>

#include "code/elf_file.h"

/* Nesting of lexical blocks. */
#define BLOCKS_MAX 256

static bool elf_file_address_of(Elf *elf, uint64_t offset, uint64_t *address)
{
	GElf_Phdr header;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    offset < header.p_offset || offset - header.p_offset >= header.p_filesz)
			continue;
		*address = offset - header.p_offset + header.p_vaddr;
		return true;
	}
	return false;
}

/* Some compilers write no .debug_aranges. */
static Dwarf_Die *find_unit(struct elf_file *file, uint64_t address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(file->module, address, bias);

	while (!unit || dwarf_haspc(unit, address - *bias) == 0) {
		unit = dwfl_module_nextcu(file->module, unit, bias);
		if (!unit || dwarf_haspc(unit, address - *bias) > 0)
			return unit;
	}
	return unit;
}

static const char *name_of_function(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ?: dwarf_diename(die);
}

static const char *name_of_source(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static uint32_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, &value) &&
			       value <= INT32_MAX
		       ? (uint32_t)value
		       : 0;
}

/* Where the inlined function was called from. */
static void move_to_caller(Dwarf_Die *unit, Dwarf_Die *inlined, struct elf_place *place)
{
	size_t number = number_of(inlined, DW_AT_call_file), nr;
	Dwarf_Files *files;

	place->source = NULL;
	place->line = number_of(inlined, DW_AT_call_line);
	if (number && !dwarf_getsrcfiles(unit, &files, &nr) && number < nr)
		place->source = name_of_source(dwarf_filesrc(files, number, NULL, NULL));
}

size_t elf_file_find_places(struct elf_file *file, uint64_t offset,
			    struct elf_place places[ELF_PLACES_MAX])
{
	Dwarf_Die *unit, *innermost = NULL, *scopes = NULL;
	struct elf_place place = {};
	Dwarf_Addr bias = 0;
	uint64_t address;
	Dwfl_Line *line;
	int nr, line_number = 0;
	size_t found = 0;

	if (!file->elf || !elf_file_address_of(file->elf, offset, &address))
		return 0;
	unit = find_unit(file, address, &bias);
	if (!unit)
		return 0;
	line = dwfl_module_getsrc(file->module, address);
	if (line)
		place.source =
			name_of_source(dwfl_lineinfo(line, NULL, &line_number, NULL, NULL, NULL));
	place.line = line_number > 0 ? (uint32_t)line_number : 0;
	nr = dwarf_getscopes(unit, address - bias, &innermost);
	/* Behind an inlined function, these are the scopes of its definition. */
	nr = nr > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
	for (int i = 0; i < nr && found < ELF_PLACES_MAX; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		place.function = name_of_function(&scopes[i]);
		places[found++] = place;
		if (tag == DW_TAG_subprogram)
			break;
		move_to_caller(unit, &scopes[i], &place);
	}
	if (!found && place.source)
		places[found++] = place;
	free(innermost);
	free(scopes);
	return found;
}

struct inlined_list {
	struct elf_inlined *list;
	size_t nr;
	uint32_t number;
	uint64_t begin, end; /* of the code, as addresses of debug information */
	uint64_t to_offset;  /* added to these */
};

static void add_inlined_pieces(struct inlined_list *found, Dwarf_Die *die, uint32_t depth)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		if (begin < found->begin)
			begin = found->begin;
		if (end > found->end)
			end = found->end;
		if (begin >= end || found->nr == ELF_INLINED_MAX)
			continue;
		found->list[found->nr++] = (struct elf_inlined){
			.begin = begin + found->to_offset,
			.end = end + found->to_offset,
			.function = name_of_function(die),
			.number = found->number,
			.depth = depth,
		};
	}
	found->number++;
}

static void add_inlined_below(struct inlined_list *found, Dwarf_Die *parent, uint32_t depth,
			      uint32_t blocks)
{
	Dwarf_Die die;
	int err = dwarf_child(parent, &die);

	for (; !err && found->nr < ELF_INLINED_MAX; err = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);
		bool inlined = tag == DW_TAG_inlined_subroutine;

		if (!inlined && tag != DW_TAG_lexical_block)
			continue;
		if (inlined)
			add_inlined_pieces(found, &die, depth);
		/* Blocks are as deep as a stranger's file says. */
		if (depth < ELF_PLACES_MAX && blocks < BLOCKS_MAX)
			add_inlined_below(found, &die, depth + inlined, blocks + 1);
	}
}

size_t elf_file_find_inlined(struct elf_file *file, uint64_t offset, uint64_t size,
			     struct elf_inlined list[ELF_INLINED_MAX])
{
	Dwarf_Die *unit, *innermost = NULL, *scopes = NULL;
	struct inlined_list found = { .list = list };
	Dwarf_Addr bias = 0;
	uint64_t address;
	int nr;

	if (!file->elf || !elf_file_address_of(file->elf, offset, &address))
		return 0;
	unit = find_unit(file, address, &bias);
	if (!unit)
		return 0;
	found.begin = address - bias;
	found.end = found.begin + size;
	found.to_offset = offset - found.begin;
	nr = dwarf_getscopes(unit, found.begin, &innermost);
	nr = nr > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
	for (int i = 0; i < nr; i++) {
		if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram)
			continue;
		add_inlined_below(&found, &scopes[i], 0, 0);
		break;
	}
	free(innermost);
	free(scopes);
	return found.nr;
}
