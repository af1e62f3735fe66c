// SPDX-License-Identifier: GPL-2.0-only
/* Source lines and inlined functions, as addr2line -i has them. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <string.h>

#include "code/elf_file.h"

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
