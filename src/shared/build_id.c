// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "build_id.h"

#include <gelf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* Limit of a plausible PT_NOTE segment. */
#define NOTES_MAX (64 << 10)
#define NOTE_ALIGN(size) (((size_t)(size) + 3) & ~(size_t)3)

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

struct build_id build_id_of_elf(int fd)
{
	struct build_id id = {};
	size_t nr = 0;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &nr))
		nr = 0;
	for (size_t i = 0; i < nr && !id.size; i++) {
		const Elf_Data *notes;
		GElf_Phdr segment;

		if (!gelf_getphdr(elf, i, &segment) || segment.p_type != PT_NOTE ||
		    segment.p_filesz > NOTES_MAX)
			continue;
		notes = elf_getdata_rawchunk(elf, segment.p_offset, segment.p_filesz, ELF_T_BYTE);
		if (notes)
			id = build_id_of_notes(notes->d_buf, notes->d_size);
	}
	elf_end(elf);
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
