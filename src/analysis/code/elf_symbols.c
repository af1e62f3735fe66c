// SPDX-License-Identifier: GPL-2.0-only
#include "code/elf_file.h"

#include <gelf.h>
#include <limits.h>
#include <string.h>

#include "array.h"
#include "text.h"

/* Size of a PLT entry if the section has none. */
#define X86_PLT_ENTRY 16
/* Arm Architecture Reference Manual, C6.2 */
#define ARM64_ADRP 0x90000000U
#define ARM64_ADRP_MASK 0x9f000000U
#define ARM64_LDR 0xf9400000U /* of 64 bits, with an unsigned offset */
#define ARM64_LDR_MASK 0xffc00000U
#define ARM64_BR 0xd61f0000U
#define ARM64_BR_MASK 0xfffffc1fU
#define ARM64_BTI_C 0xd503245fU
#define ARM64_NOP 0xd503201fU

struct plt;
struct plt_code;
struct plt_entry;

/* What differs between architectures, by the number that a file has */
struct elf_arch {
	uint16_t machine;
	/* A symbol of "$" and one of these marks where code or data begins. It names nothing. */
	const char *marks;
	/* Finds the first entry of a PLT with a symbol behind *entry. */
	bool (*next_plt_entry)(const struct plt *plt, const struct plt_code *code,
			       struct plt_entry *entry);
};

static bool is_hidden_symbol(const GElf_Sym *symbol)
{
	int visibility = GELF_ST_VISIBILITY(symbol->st_other);

	return visibility == STV_HIDDEN || visibility == STV_INTERNAL;
}

static const char *elf_section_name(Elf *elf, const GElf_Shdr *header)
{
	size_t names;

	return elf_getshdrstrndx(elf, &names) ? "" : elf_strptr(elf, names, header->sh_name) ?: "";
}

static Elf_Scn *find_elf_section(Elf *elf, uint32_t type, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, header) && header->sh_type == type &&
		    (!name || !strcmp(elf_section_name(elf, header), name)))
			return section;
	}
	return NULL;
}

/* Hand-written assembly has only labels. */
static bool is_wanted_symbol(Elf *elf, GElf_Word number, const GElf_Sym *symbol)
{
	Elf_Scn *section = elf && number != SHN_UNDEF ? elf_getscn(elf, number) : NULL;
	GElf_Shdr header;
	const char *name;

	if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC))
		return false;
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT:
		return true;
	case STT_NOTYPE:
		name = elf_section_name(elf, &header);
		return !is_hidden_symbol(symbol) && (strstr(name, "text") || strstr(name, "data"));
	default:
		return false;
	}
}

static bool is_mark(const struct elf_arch *arch, const char *name)
{
	return name[0] == '$' && name[1] && strchr(arch->marks, name[1]) &&
	       (!name[2] || name[2] == '.');
}

/* Of the debug file or the file itself, and of .gnu_debugdata. */
static int add_module_symbols(const struct elf_file *file, const struct elf_arch *arch,
			      struct symbols *symbols)
{
	int nr = dwfl_module_getsymtab(file->module), err = 0;

	for (int i = 1; i < nr && !err; i++) {
		struct symbols_entry entry = {};
		GElf_Addr address, bias;
		GElf_Word section;
		GElf_Sym symbol;
		Elf *elf;
		const char *name = dwfl_module_getsym_info(file->module, i, &symbol, &address,
							   &section, &elf, &bias);

		entry.binding = name ? GELF_ST_BIND(symbol.st_info) : 0;
		if (!name || !*name || is_mark(arch, name) ||
		    !is_wanted_symbol(elf, section, &symbol) ||
		    !elf_file_offset_of(file->elf, address, &entry.start) ||
		    __builtin_add_overflow(entry.start, symbol.st_size, &entry.end))
			continue;
		err = symbols_add(symbols, &entry, name, strlen(name));
	}
	return err;
}

/* PLT entries jump to an address that the linker stores, which a relocation names. */
struct plt {
	Elf *elf;
	struct symbols *found;
	Elf_Data *numbered, *symbols; /* .rela.plt, .dynsym */
	size_t strings;
	struct place {
		uint64_t address;
		size_t symbol;
	} * places; /* sorted */
	size_t nr;
};

/* A section with such entries. */
struct plt_code {
	const uint8_t *bytes;
	size_t size, entry_size; /* 0: the section does not tell */
	uint64_t address;
};

struct plt_entry {
	size_t start, end; /* in the section */
	size_t symbol;
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

static bool find_plt_place(const struct plt *plt, uint64_t address, size_t *symbol)
{
	const struct place wanted = { .address = address };
	const struct place *found =
		plt->nr ? bsearch(&wanted, plt->places, plt->nr, sizeof(wanted), compare_plt_places)
			: NULL;

	if (found)
		*symbol = found->symbol;
	return found;
}

/* Jumps by an address, or pushes the index of a relocation in .rela.plt. The first entry of a PLT
 * begins with another push. */
static bool x86_read_plt_entry(const struct plt *plt, const uint8_t *line, size_t size,
			       uint64_t address, size_t *symbol)
{
	GElf_Rela relocation;
	int32_t operand;

	for (size_t i = 0; i + 6 <= size && memcmp(line, "\xff\x35", 2); i++) {
		if (!memcmp(line + i, "\xff\x25", 2)) {
			memcpy(&operand, line + i + 2, sizeof(operand));
			return find_plt_place(plt, address + i + 6 + (uint64_t)(int64_t)operand,
					      symbol);
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

static bool x86_next_plt_entry(const struct plt *plt, const struct plt_code *code,
			       struct plt_entry *entry)
{
	size_t size = code->entry_size ?: X86_PLT_ENTRY;

	while (size <= code->size && entry->end <= code->size - size) {
		entry->start = entry->end;
		entry->end += size;
		if (x86_read_plt_entry(plt, code->bytes + entry->start, size,
				       code->address + entry->start, &entry->symbol))
			return true;
	}
	return false;
}

static uint32_t arm64_instruction(const struct plt_code *code, size_t at)
{
	uint32_t word;

	memcpy(&word, code->bytes + at, sizeof(word));
	return word;
}

/* The address that `adrp xN, page` and `ldr xM, [xN, #offset]` read. */
static bool arm64_read_slot(uint32_t adrp, uint32_t ldr, uint64_t pc, uint64_t *slot)
{
	uint64_t page = (adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);

	if ((adrp & ARM64_ADRP_MASK) != ARM64_ADRP || (ldr & ARM64_LDR_MASK) != ARM64_LDR ||
	    (ldr >> 5 & 31) != (adrp & 31))
		return false;
	/* Pages of 4 KiB, of 21 bits with a sign */
	page = (page ^ 1 << 20) - (1 << 20);
	*slot = (pc & ~0xfffULL) + (page << 12) + (ldr >> 10 & 0xfff) * sizeof(*slot);
	return true;
}

/* Entries have 16 bytes, or 24 with an instruction for signed addresses or branch targets, which
 * the section does not tell. That of the header reads what no relocation is for. */
static bool arm64_next_plt_entry(const struct plt *plt, const struct plt_code *code,
				 struct plt_entry *entry)
{
	size_t word = sizeof(uint32_t), at = entry->end, size = code->size - code->size % word;
	uint64_t slot;

	for (; at + 2 * word <= size; at += word) {
		if (arm64_read_slot(arm64_instruction(code, at), arm64_instruction(code, at + word),
				    code->address + at, &slot) &&
		    find_plt_place(plt, slot, &entry->symbol))
			break;
	}
	if (at + 2 * word > size)
		return false;
	entry->start = at;
	if (at > entry->end && arm64_instruction(code, at - word) == ARM64_BTI_C)
		entry->start -= word;
	at += 2 * word;
	while (at < size && (arm64_instruction(code, at) & ARM64_BR_MASK) != ARM64_BR)
		at += word;
	for (at += word; at < size && arm64_instruction(code, at) == ARM64_NOP;)
		at += word;
	entry->end = at < size ? at : size;
	return true;
}

static int add_plt_symbol(const struct plt *plt, size_t number, struct symbols_entry entry)
{
	_cleanup_free_ char *text = NULL;
	GElf_Sym symbol;
	const char *name;

	if (number > INT_MAX || !gelf_getsym(plt->symbols, (int)number, &symbol))
		return 0;
	name = elf_strptr(plt->elf, plt->strings, symbol.st_name);
	if (!name)
		return 0;
	text = strfmt("%s@plt", name);
	return text ? symbols_add(plt->found, &entry, text, strlen(text)) : -ENOMEM;
}

static int add_plt_section(const struct plt *plt, const struct elf_arch *arch, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = find_elf_section(plt->elf, SHT_PROGBITS, name, &header);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	struct plt_entry entry = {};
	struct plt_code code;
	int err = 0;

	if (!data || !data->d_buf || header.sh_offset > INT64_MAX)
		return 0;
	code = (struct plt_code){ data->d_buf, data->d_size, header.sh_entsize, header.sh_addr };
	while (!err && arch->next_plt_entry(plt, &code, &entry))
		err = add_plt_symbol(
			plt, entry.symbol,
			(struct symbols_entry){ .start = header.sh_offset + entry.start,
						.end = header.sh_offset + entry.end,
						.binding = STB_GLOBAL });
	return err;
}

/* libdwfl has no names of these. With indirect branch tracking, calls go to .plt.sec. */
static int add_plt_symbols(Elf *elf, const struct elf_arch *arch, struct symbols *found)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	GElf_Shdr header, dynamic;
	Elf_Scn *symbols = find_elf_section(elf, SHT_DYNSYM, NULL, &dynamic);
	struct plt plt = { .elf = elf, .found = found };
	Elf_Scn *section = NULL;
	int err = 0;

	plt.symbols = symbols ? elf_getdata(symbols, NULL) : NULL;
	if (!plt.symbols || !arch->next_plt_entry)
		return 0;
	plt.strings = dynamic.sh_link;
	while (!err && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    header.sh_link != elf_ndxscn(symbols))
			continue;
		if (!strcmp(elf_section_name(elf, &header), ".rela.plt"))
			plt.numbered = elf_getdata(section, NULL);
		err = add_plt_places(&plt, elf_getdata(section, NULL));
	}
	if (plt.nr)
		qsort(plt.places, plt.nr, sizeof(*plt.places), compare_plt_places);
	for (size_t i = 0; !err && i < ARRAY_SIZE(names); i++)
		err = add_plt_section(&plt, arch, names[i]);
	free(plt.places);
	return err;
}

/* Without a row, a file has no names of PLT entries. */
static const struct elf_arch *find_elf_arch(Elf *elf)
{
	static const struct elf_arch unknown = { .marks = "" };
	static const struct elf_arch arches[] = {
		{ EM_X86_64, "", x86_next_plt_entry },
		{ EM_AARCH64, "dx", arm64_next_plt_entry },
	};
	GElf_Ehdr header;

	for (size_t i = 0; gelf_getehdr(elf, &header) && i < ARRAY_SIZE(arches); i++) {
		if (arches[i].machine == header.e_machine)
			return &arches[i];
	}
	return &unknown;
}

int elf_file_read_symbols(struct elf_file *file, struct symbols *symbols)
{
	const struct elf_arch *arch;
	int err;

	if (!file->elf)
		return 0;
	arch = find_elf_arch(file->elf);
	err = add_module_symbols(file, arch, symbols);
	/* As in perf, the PLT does not end the preceding function. */
	symbols_finish(symbols);
	err = err ?: add_plt_symbols(file->elf, arch, symbols);
	if (err)
		symbols_release(symbols);
	else
		symbols_finish(symbols);
	return err;
}
