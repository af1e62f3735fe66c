// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "build_id.h"

#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/auxv.h>

#include "util.h"

/* Limit of a plausible PT_NOTE segment. */
#define NOTES_MAX (64 << 10)
/* The kernel starts no program with more: load_elf_phdrs() of fs/binfmt_elf.c. */
#define SEGMENTS_SIZE_MAX 65536
#define NOTE_ALIGN(size) (((size_t)(size) + 3) & ~(size_t)3)

void build_id_format(const struct build_id *id, char hex[BUILD_ID_HEX_SIZE])
{
	hex[0] = '\0';
	for (size_t i = 0; i < id->size; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
}

struct build_id build_id_of_notes(const uint8_t *notes, size_t len)
{
	struct build_id id = {};
	size_t at = 0;

	while (len - at >= sizeof(Elf64_Nhdr)) {
		const uint8_t *name = notes + at + sizeof(Elf64_Nhdr);
		size_t name_size, desc_size;
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		name_size = NOTE_ALIGN(note.n_namesz);
		desc_size = NOTE_ALIGN(note.n_descsz);
		at += sizeof(note);
		if (len - at < name_size + desc_size)
			break;
		at += name_size + desc_size;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(name, "GNU", sizeof("GNU")) && note.n_descsz <= sizeof(id.bytes)) {
			id.size = note.n_descsz;
			memcpy(id.bytes, name + name_size, id.size);
			break;
		}
	}
	return id;
}

/* A program header of either class. */
struct segment {
	uint32_t type;
	uint64_t offset, size;
};

static struct segment elf_segment(const uint8_t *table, size_t i, bool is_64)
{
	Elf64_Phdr wide;
	Elf32_Phdr narrow;

	if (is_64) {
		memcpy(&wide, table + i * sizeof(wide), sizeof(wide));
		return (struct segment){ wide.p_type, wide.p_offset, wide.p_filesz };
	}
	memcpy(&narrow, table + i * sizeof(narrow), sizeof(narrow));
	return (struct segment){ narrow.p_type, narrow.p_offset, narrow.p_filesz };
}

/* Not by libelf: a session reads the files of all users' processes, and libelf allocates as many
 * headers as a file claims to have, gigabytes for a sparse file of some kilobytes. */
struct build_id build_id_of_elf(int fd)
{
	_cleanup_free_ uint8_t *table = NULL, *notes = NULL;
	union {
		unsigned char ident[EI_NIDENT];
		Elf32_Ehdr narrow;
		Elf64_Ehdr wide;
	} header = {};
	struct build_id id = {};
	size_t nr, size;
	uint64_t at;
	bool is_64;

	if (pread(fd, &header, sizeof(header), 0) < (ssize_t)sizeof(header.narrow) ||
	    memcmp(header.ident, ELFMAG, SELFMAG) != 0 || header.ident[EI_DATA] != ELFDATA2LSB)
		return id;
	is_64 = header.ident[EI_CLASS] == ELFCLASS64;
	at = is_64 ? header.wide.e_phoff : header.narrow.e_phoff;
	nr = is_64 ? header.wide.e_phnum : header.narrow.e_phnum;
	size = nr * (is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
	if (!size || size > SEGMENTS_SIZE_MAX)
		return id;
	table = malloc(size);
	notes = malloc(NOTES_MAX);
	if (!table || !notes || pread(fd, table, size, (off_t)at) != (ssize_t)size)
		return id;
	for (size_t i = 0; i < nr && !id.size; i++) {
		struct segment segment = elf_segment(table, i, is_64);

		if (segment.type == PT_NOTE && segment.size <= NOTES_MAX &&
		    pread(fd, notes, segment.size, (off_t)segment.offset) == (ssize_t)segment.size)
			id = build_id_of_notes(notes, segment.size);
	}
	return id;
}

/* The kernel wrote these headers, so they are trusted. */

int vdso_find_own(struct vdso *vdso)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = (const void *)base;
	const ElfW(Phdr) *segments = (const void *)(base ? base + header->e_phoff : NULL);

	*vdso = (struct vdso){ .image = base };
	if (!base)
		return -ENOENT;
	vdso->size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	for (int i = 0; i < header->e_phnum; i++) {
		const ElfW(Phdr) *segment = &segments[i];

		if (segment->p_type == PT_NOTE && !vdso->id.size)
			vdso->id = build_id_of_notes(base + segment->p_offset, segment->p_filesz);
		if (segment->p_type == PT_LOAD &&
		    segment->p_offset + segment->p_filesz > vdso->size)
			vdso->size = segment->p_offset + segment->p_filesz;
	}
	return vdso->id.size ? 0 : -ENOENT;
}
