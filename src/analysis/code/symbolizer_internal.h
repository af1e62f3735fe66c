/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two processes of the symbolizer say to each other. */
#ifndef DECODE_SYMBOLIZER_INTERNAL_H
#define DECODE_SYMBOLIZER_INTERNAL_H

#include "code/elf_file.h"
#include "code/symbolizer.h"

/* Files whose debug information stays open. */
#define SYMBOLIZER_FILES_MAX 256

enum request_kind {
	REQUEST_SYMBOLS,
	REQUEST_DEBUG,
	REQUEST_PLACES,
	REQUEST_INLINED,
	REQUEST_UNWIND,
};

/* Followed by the name of the file, or by offsets; of a function, by its offset and size; of a
 * stack, by the numbers of struct unwind_wanted. */
struct request {
	uint32_t kind;
	uint32_t number;
	uint32_t nr; /* of bytes or offsets */
	struct build_id id;
};

/* Followed by entries, then by text. */
struct reply {
	int32_t err;
	uint32_t number;
	uint32_t nr, text_size;
};

/* Seconds that a request may take. */
unsigned int symbolizer_limit_s(void);

int symbolizer_read(int fd, void *data, size_t size);
int symbolizer_send(int fd, const void *data, size_t size);

/* With a descriptor; -1: none. */
int symbolizer_send_fd(int socket, const void *data, size_t size, int fd);
int symbolizer_read_fd(int socket, void *data, size_t size, int *fd);

/* A stack as numbers: registers, size, number of words, words, code. In unwind.c. */
#define UNWIND_REGISTERS (sizeof(struct unwind_registers) / sizeof(uint64_t))
#define UNWIND_NUMBERS_MAX(wanted)                                                                 \
	(UNWIND_REGISTERS + 2 + 2 * (wanted)->nr_words + 4 * (wanted)->nr_code)

/* Leaves out code of files that another child knew. Returns the number of numbers. */
size_t unwind_put_numbers(uint64_t *numbers, const struct unwind_wanted *wanted, uint32_t child);

/* The child's. Returns the number of frames. */
size_t unwind_frames(struct elf_file *const *files, size_t nr_files, const uint64_t *numbers,
		     size_t nr, uint64_t frames[UNWIND_FRAMES_MAX]);

/* The child. */
_Noreturn void symbolizer_serve(const struct files_places *places, int socket);

#endif
