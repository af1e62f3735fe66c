/* SPDX-License-Identifier: GPL-2.0-only */
/* A program or library and its debug information, by libdwfl. libdw neither bounds its memory nor
 * survives all that a stranger may write into a file: only the symbolizer's process uses this. */
#ifndef DECODE_ELF_FILE_H
#define DECODE_ELF_FILE_H

#include <elfutils/libdwfl.h>

#include "code/files.h"
#include "code/symbols.h"

struct elf_file {
	Dwfl *dwfl;
	Dwfl_Module *module;
	Elf *elf; /* the mapped file */
	int fd;	  /* the same */
	const struct files_places *places;
	struct files_wanted wanted;
	Dwfl_Callbacks callbacks;
	char *debug_path;
	int debug; /* its separate file, once it was searched for; -1: none */
};

/* Opens a file that the caller has open. `wanted` must stay valid, with its name. -ENOEXEC: not an
 * ELF file. Call elf_file_close() also on failure. */
int elf_file_open(struct elf_file *file, const struct files_places *places,
		  const struct files_wanted *wanted, int fd) _must_check_;
void elf_file_close(struct elf_file *file);

/* Reads its symbols, by file offset. */
int elf_file_read_symbols(struct elf_file *file, struct symbols *symbols) _must_check_;

/* Opens its separate file of debug information. -ENOENT: none is needed, or none is there. */
int elf_file_open_debug(struct elf_file *file) _must_check_;

/* For a find_debuginfo of libdwfl: the same file, without asking a server. Returns a descriptor, or
 * -1. *path may be set, to be freed. */
int elf_file_find_local_debug(struct elf_file *file, const char *debuglink, uint32_t crc,
			      char **path);

/* Deeper ones are cut. */
#define ELF_PLACES_MAX 32

/* A line, and the function it is in. The strings are libdw's; NULL: unknown. */
struct elf_place {
	const char *function; /* as the linker has it */
	const char *source;   /* without folders */
	uint32_t line;	      /* 0: unknown */
};

/* Finds the line of code at a file offset, and the callers' lines of functions that are inlined
 * there, innermost first; the last is of the function itself. Returns their number. */
size_t elf_file_find_places(struct elf_file *file, uint64_t offset,
			    struct elf_place places[ELF_PLACES_MAX]);

/* Code of a function that is inlined in another. */
struct elf_inlined {
	uint64_t begin, end; /* file offsets */
	const char *function;
	uint32_t number; /* of the function's inlined ones: one may be in pieces */
	uint32_t depth;
};

#define ELF_INLINED_MAX 4096

/* Finds what is inlined in the code from an offset on, callers first. Returns their number. */
size_t elf_file_find_inlined(struct elf_file *file, uint64_t offset, uint64_t size,
			     struct elf_inlined list[ELF_INLINED_MAX]);

/* Separate symbol files have no valid code offsets: converts by the mapped file. */
bool elf_file_offset_of(Elf *elf, uint64_t address, uint64_t *offset);

#endif
