// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vdso.h"

#include <link.h>
#include <sys/auxv.h>

/* The kernel wrote these headers, so they are trusted. */

int vdso_find(struct vdso *vdso)
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
