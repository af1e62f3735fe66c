// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <gelf.h>

#include "util.h"

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
static void mangle(struct search *search)
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

static bool begins_with(const char *text, const char *with)
{
	return *with && !strncmp(text, with, strlen(with));
}

static bool matches(const struct search *search, const char *name)
{
	if (!search->mangled[0])
		return !strcmp(name, search->name);
	/* A name with a dot is a part split off by the compiler. */
	return !strchr(name, '.') &&
	       (begins_with(name, search->mangled) || begins_with(name, search->mangled_const));
}

static bool is_hidden(Elf_Data *versions, int index)
{
	GElf_Versym version;

	return versions && gelf_getversym(versions, index, &version) && version & VERSION_HIDDEN;
}

static void look_in_table(struct search *search, Elf *elf, Elf_Scn *section, Elf_Data *versions)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Shdr header;
	GElf_Sym symbol;

	if (!data || !gelf_getshdr(section, &header))
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);

		if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
		    !name || is_hidden(versions, i) || !matches(search, name))
			continue;
		/* Aliases, and symbols in both tables, have equal addresses. */
		if (search->found && search->address != symbol.st_value)
			search->several = true;
		search->address = symbol.st_value;
		search->found = true;
	}
}

static void look_in_tables(struct search *search, Elf *elf)
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
			look_in_table(search, elf, section, versions);
		else if (header.sh_type == SHT_SYMTAB)
			look_in_table(search, elf, section, NULL);
	}
}

static int find_offset(Elf *elf, uint64_t address, uint64_t *offset)
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
	_cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct search search = { .name = name };
	int err = -ENOEXEC;
	Elf *elf;

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		look_in_tables(&search, elf);
		if (!search.found) {
			mangle(&search);
			look_in_tables(&search, elf);
		}
		err = search.several ? -ENOTUNIQ
		      : search.found ? find_offset(elf, search.address, offset)
				     : -ENOENT;
	}
	elf_end(elf);
	return err;
}
