// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vdso.h"

#include <link.h>
#include <sys/auxv.h>

int vdso_find(struct vdso *vdso)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const ElfW(Ehdr) *header = (const void *)base;
	const ElfW(Phdr) *segments = (const void *)(base ? base + header->e_phoff : NULL);
	size_t end;

	*vdso = (struct vdso){ .id = build_id_of_vdso() };
	if (!base || !vdso->id.size)
		return -ENOENT;
	vdso->image = base;
	vdso->size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	for (int i = 0; i < header->e_phnum; i++) {
		end = segments[i].p_offset + segments[i].p_filesz;
		if (segments[i].p_type == PT_LOAD && end > vdso->size)
			vdso->size = end;
	}
	return 0;
}
