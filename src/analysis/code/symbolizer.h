/* SPDX-License-Identifier: GPL-2.0-only */
/* Symbols, source lines and debug files of programs and libraries, which may be a stranger's. */
#ifndef DECODE_SYMBOLIZER_H
#define DECODE_SYMBOLIZER_H

#include "arch.h"
#include "code/files.h"
#include "code/symbols.h"

struct symbolizer;

/* For any thread. The process starts with the first request. `places` is copied. */
int symbolizer_new(struct symbolizer **ret, const struct files_places *places) _must_check_;
void symbolizer_free(struct symbolizer *symbolizer);

static inline void symbolizer_freep(struct symbolizer **symbolizer)
{
	symbolizer_free(*symbolizer);
}

/* Of a file that was not opened. */
#define SYMBOLIZER_NO_FILE UINT32_MAX

/* Reads the symbols of a file, by file offset; *number is for the following requests. -ENOEXEC: not
 * an ELF file. If the file cannot be read within bounds, it has no symbols. */
int symbolizer_open_file(struct symbolizer *symbolizer, const struct files_wanted *wanted, int fd,
			 struct symbols *symbols, uint32_t *number) _must_check_;

/* Opens the separate debug file of a file. -ENOENT: none. */
int symbolizer_open_debug(struct symbolizer *symbolizer, const struct files_wanted *wanted,
			  int fd) _must_check_;

struct source_place {
	uint32_t of; /* index of the offset */
	uint32_t line;
	uint32_t function, source; /* in `text`; may be empty */
};

/* For each offset in turn, its line and those of the callers of inlined functions, innermost first.
 */
struct source_places {
	struct source_place *list;
	size_t nr;
	char *text;
	size_t text_size;
};

void source_places_release(struct source_places *places);

/* Finds the places of code at offsets in a file. Without debug information there are none. */
int symbolizer_find_places(struct symbolizer *symbolizer, uint32_t number, const uint64_t *offsets,
			   size_t nr, struct source_places *places) _must_check_;

/* Code of a function that is inlined in another, from an offset in the file. */
struct source_inlined {
	uint64_t begin, end;
	uint32_t number; /* pieces of one have the same */
	uint32_t depth;
	uint32_t function; /* in `text`; may be empty */
};

/* Callers first. */
struct source_inlines {
	struct source_inlined *list;
	size_t nr;
	char *text;
	size_t text_size;
};

void source_inlines_release(struct source_inlines *inlines);

/* Finds what is inlined in a function, at an offset and of a size. Without debug information there
 * is nothing. */
int symbolizer_find_inlined(struct symbolizer *symbolizer, uint32_t number, uint64_t offset,
			    uint64_t size, struct source_inlines *inlines) _must_check_;

#define UNWIND_WORDS_MAX 2048
#define UNWIND_CODE_MAX 256
#define UNWIND_FRAMES_MAX 64

struct unwind_registers {
	uint64_t pc, sp;
	uint64_t nr; /* of these, which have the numbers of DWARF */
	uint64_t dwarf[ARCH_DWARF_MAX];
};

/* A stack, to be unwound by the tables of the files. */
struct unwind_wanted {
	struct unwind_registers registers;
	uint64_t size; /* of the memory, from the stack pointer on */
	/* Index and value of words that are not zero. */
	uint64_t words[UNWIND_WORDS_MAX][2];
	size_t nr_words;
	/* Mapped code: number of the file, start, end, offset in the file. */
	uint64_t code[UNWIND_CODE_MAX][4];
	size_t nr_code;
};

/* Finds the addresses of the frames, innermost first, of which the others follow calls. Sets *nr to
 * 0 if nothing is known. */
int symbolizer_unwind(struct symbolizer *symbolizer, const struct unwind_wanted *wanted,
		      uint64_t frames[UNWIND_FRAMES_MAX], size_t *nr) _must_check_;

/* Writes a place such as `request.c:42`; "" if it is unknown. */
void source_place_format(const struct source_places *places, size_t i, char *text, size_t size);

/* A names_find_line, whose context is a symbolizer. */
bool symbolizer_find_line(void *symbolizer, uint32_t number, uint64_t offset, char *text,
			  size_t size);

#endif
