/* SPDX-License-Identifier: GPL-2.0-only */
/* What views have in common: files, sections of them for libipt, functions. All is locked. */
#ifndef DECODE_CODE_PARTS_H
#define DECODE_CODE_PARTS_H

#include <intel-pt.h>

#include "code.h"
#include "patches.h"
#include "sideband.h"

struct code_traced;

/* A part of a file, or of the kernel, at an address. Each has one number in libipt's cache. */
struct code_section {
	const char *path;
	uint64_t offset, size, start;
	struct code_traced *file; /* NULL: the kernel */
	int isid;
};

/* What is at an address as long as nothing is mapped. */
struct code_region {
	uint64_t start, end;
	const struct code_section *section;
	const struct patches_site *site; /* that is patched; NULL: none */
	size_t version;
};

bool code_is_kernel(uint64_t ip);

/* Opens the file when it is asked for the first time. -ENOENT: there is no code of it here. */
int code_region(struct code *code, const struct sideband_maps *maps, uint64_t time, uint64_t ip,
		struct code_region *region);

/* NULL: not a number of ours. */
const struct code_section *code_section(struct code *code, int isid);

/* Of an address in a section, or (NULL) in none. */
const struct symbol *code_symbol_at(struct code *code, const struct code_section *section,
				    uint64_t ip);

struct pt_image_section_cache *code_sections(const struct code *code);
const struct sideband *code_sideband(const struct code *code);
/* When the code of the kernel changes after `time`. */
uint64_t code_until(const struct code *code, uint64_t time);
/* User space is not in the trace: no process differs from another. */
bool code_kernel_only(const struct code *code);

#endif
