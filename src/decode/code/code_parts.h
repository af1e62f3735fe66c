/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by views, with a lock: files, their sections for libipt, functions. */
#ifndef DECODE_CODE_PARTS_H
#define DECODE_CODE_PARTS_H

#include "code/code.h"
#include "code/patches.h"
#include "sideband/sideband.h"

struct code_traced;
struct pt_image_section_cache;

/* A part of a file or of the kernel at an address, with a unique number in libipt's cache. */
struct code_section {
	const char *path;
	uint64_t offset, size, start;
	struct code_traced *file; /* NULL: the kernel */
	int isid;
};

/* The code at an address, until something else is mapped there. */
struct code_region {
	uint64_t start, end;
	const struct code_section *section;
	const struct patches_site *site; /* patched site; NULL: none */
	size_t version;
};

bool code_is_kernel(uint64_t ip);

/* Opens the file on first use. -ENOENT: its code is not here. */
int code_region(struct code *code, const struct sideband_maps *maps, uint64_t time, uint64_t ip,
		struct code_region *region);

/* NULL: unknown number. */
const struct code_section *code_section(struct code *code, int isid);

/* For an address in a section; NULL: in none. */
const struct symbol *code_symbol_at(struct code *code, const struct code_section *section,
				    uint64_t ip);

/* libipt's cache of sections. code_cache_add() returns the number of a section or a negative
 * errno. */
int code_cache_new(struct pt_image_section_cache **ret) _must_check_;
void code_cache_free(struct pt_image_section_cache *cache);
int code_cache_add(struct pt_image_section_cache *cache,
		   const struct code_section *section) _must_check_;

struct pt_image_section_cache *code_sections(const struct code *code);
const struct sideband *code_sideband(const struct code *code);
/* Time of the next change of kernel code after `time`. */
uint64_t code_until(const struct code *code, uint64_t time);
/* Without traced user space, all processes look the same. */
bool code_kernel_only(const struct code *code);

#endif
