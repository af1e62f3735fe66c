/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by views, with a lock: files, their sections for libipt, functions. */
#ifndef DECODE_CODE_PARTS_H
#define DECODE_CODE_PARTS_H

#include "code/code.h"
#include "code/sideband.h"
#include "code/symbols.h"

/* The copy of the kernel's code and symbols next to a perf.data. */
struct kcore_segment {
	uint64_t start, end, offset;
};

/* Zero with fd -1: none. */
struct kcore {
	char *path;
	int fd;
	struct kcore_segment *segments; /* by address */
	size_t nr;
	struct symbols symbols;
	const char *why; /* why code is missing; NULL: it is not */
};

/* data: a perf.data folder; a plain file has no kcore. text_start: address of the symbol
 * `text_name` in the file; 0: unknown. Returns 0 even without code or symbols, or -ENOMEM. */
int kcore_open(struct kcore *kcore, const char *data, const char *text_name,
	       uint64_t text_start) _must_check_;
void kcore_close(struct kcore *kcore);

/* NULL: none. */
const struct kcore_segment *kcore_find(const struct kcore *kcore, uint64_t address);

/* Places in kernel code that were patched during the trace: their bytes at any time. */
struct patches;

/* Bytes that change. Sites do not overlap. */
struct patches_site {
	uint64_t start, end;
	uint64_t offset;  /* of the first version in the file; others follow */
	size_t first, nr; /* of the changes */
	bool bare;	  /* unknown before the first change */
};

/* kcore has the original bytes; without them, a site begins with its first patch. -E2BIG: too many
 * sites. */
int patches_new(struct patches **ret, const struct sideband_kernel *kernel,
		const struct kcore *kcore) _must_check_;
void patches_free(struct patches *patches);

/* The site at an address. NULL: none; then *start and *end are the gap between sites. */
const struct patches_site *patches_find(const struct patches *patches, uint64_t address,
					uint64_t *start, uint64_t *end);

/* A file with each version's bytes at site->offset + version * (site->end - site->start). */
const char *patches_path(const struct patches *patches);

/* The version of a site at `time`. False: unknown. */
bool patches_version(const struct patches *patches, const struct patches_site *site, uint64_t time,
		     size_t *version);

/* Time of the next change after `time`. */
uint64_t patches_until(const struct patches *patches, uint64_t time);

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
int code_find_region(struct code *code, const struct sideband_maps *maps, uint64_t time,
		     uint64_t ip, struct code_region *region);

/* NULL: unknown number. */
const struct code_section *code_find_section(struct code *code, int isid);

/* For an address in a section, at a time; NULL: in none. */
const struct symbol *code_symbol_at(struct code *code, const struct code_section *section,
				    uint64_t ip, uint64_t time);

/* What is inlined in a function, if that is wanted: read once. NULL: nothing. */
struct code_inlines *code_inlines_of(struct code *code, const struct symbol *symbol);

/* At an address of the function. NULL: nothing. */
const struct code_chain *code_chain_at(const struct code_inlines *inlines, uint64_t ip);

struct symbolizer;

/* Of a function that begins at an offset in a file. NULL if nothing is inlined in it. */
struct code_inlines *code_inlines_new(struct symbolizer *symbolizer, const struct symbol *symbol);
void code_inlines_free(struct code_inlines *inlines);

/* libipt's cache of sections. code_cache_add() returns the number of a section or a negative
 * errno. */
int code_cache_new(struct pt_image_section_cache **ret) _must_check_;
void code_cache_free(struct pt_image_section_cache *cache);
int code_cache_add(struct pt_image_section_cache *cache,
		   const struct code_section *section) _must_check_;

struct pt_image_section_cache *code_sections(const struct code *code);
const struct sideband *code_sideband(const struct code *code);
/* Time of the next change of kernel code after `time`. */
uint64_t code_next_change(const struct code *code, uint64_t time);
/* Without traced user space, all processes look the same. */
bool code_kernel_only(const struct code *code);

#endif
