// SPDX-License-Identifier: GPL-2.0-only
/* What a capture has kept of a user stack, and the file that its code is mapped from: lines with
 * the architecture, size, registers, words, and one for each mapping; an empty line; the file. */
#include <string.h>

#include "code/symbolizer_internal.h"
#include "facts/captures.h"
#include "fuzz.h"

struct input {
	char *text;
	const char *arch, *registers, *words, *code;
	uint64_t size;
	int file; /* of all mappings */
};

/* Memory is bounded, so that malloc() fails. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static struct input input;
static struct elf_file elf;

/* The capture of the input. */
const char *perf_poke__capture_text(const struct perf_poke_capture *capture, const char *path)
{
	return !strcmp(path, "machine.arch")	       ? input.arch
	       : !strcmp(path, "user_stack.registers") ? input.registers
	       : !strcmp(path, "user_stack.words")     ? input.words
						       : input.code;
}

int perf_poke__capture_number(const struct perf_poke_capture *capture, const char *path,
			      uint64_t *value)
{
	*value = input.size;
	return 0;
}

/* The file of the input is each file, and its own debug file. */
int files_open_wanted(const struct files_places *places, const struct files_wanted *wanted,
		      char **path)
{
	return fcntl(input.file, F_DUPFD_CLOEXEC, 0);
}

int files_open_cached_debug(const struct files_places *places, const struct files_wanted *wanted)
{
	return fcntl(input.file, F_DUPFD_CLOEXEC, 0);
}

/* Instead of a process of its own, in which a fault would lose all names. */
int symbolizer_open_file(struct symbolizer *symbolizer, const struct files_wanted *wanted, int fd,
			 struct symbols *symbols, uint32_t *number)
{
	*number = elf.module ? 0 : SYMBOLIZER_NO_FILE;
	return 0;
}

int symbolizer_unwind(struct symbolizer *symbolizer, const struct unwind_wanted *wanted,
		      uint64_t frames[UNWIND_FRAMES_MAX], size_t *nr)
{
	_cleanup_free_ uint64_t *numbers = calloc(UNWIND_NUMBERS_MAX(wanted), sizeof(*numbers));
	struct elf_file *file = &elf;
	size_t nr_numbers;

	must(numbers && wanted->nr_words <= UNWIND_WORDS_MAX && wanted->nr_code <= UNWIND_CODE_MAX);
	nr_numbers = unwind_put_numbers(numbers, wanted, 0);
	must(nr_numbers <= UNWIND_NUMBERS_MAX(wanted));
	*nr = unwind_frames(&file, 1, numbers, nr_numbers, frames);
	must(*nr <= UNWIND_FRAMES_MAX);
	return 0;
}

/* Ends the line at *text, and returns the next one. */
static char *cut_line(char *text)
{
	text += strcspn(text, "\n");
	if (*text)
		*text++ = '\0';
	return text;
}

/* Returns the size of the text. */
static size_t read_input(const uint8_t *data, size_t size)
{
	const uint8_t *end = memmem(data, size, "\n\n", 2);
	size_t length = end ? (size_t)(end - data) + 2 : size;
	char *size_text;

	input.text = strndup((const char *)data, length);
	must(input.text);
	input.arch = input.text;
	size_text = cut_line(input.text);
	input.registers = cut_line(size_text);
	input.size = strtoull(size_text, NULL, 0);
	input.words = cut_line((char *)input.registers);
	input.code = cut_line((char *)input.words);
	return length;
}

static int unwind(void)
{
	const struct perf_poke_frame frames[] = {
		{ .symbol = "asm_sysvec_apic_timer_interrupt" },
		{ .user = true, .address = strtoull(input.registers, NULL, 16) },
	};
	const struct perf_poke_frame *const stack[] = { &frames[0], &frames[1] };
	const struct perf_poke_spike spike = { .stack = stack, .nr_frames = ARRAY_SIZE(stack) };
	const struct perf_poke_capture capture = { .spike = &spike };
	struct unwound_stack unwound;
	int r;

	must(!capture_unwind(&unwound, &capture, &(struct files_places){}, NULL));
	must(unwound.nr <= STACK_FRAMES_MAX);
	for (size_t i = 0; i < unwound.nr; i++) {
		const struct perf_poke_frame *frame = unwound.rows[i];

		must(i < ARRAY_SIZE(stack)
			     ? frame == stack[i]
			     : frame->user && frame->file && frame->build_id_size &&
				       frame->build_id_size <= sizeof(frame->build_id));
	}
	r = unwound.nr ? 0 : -ENODATA;
	unwound_release(&unwound);
	return r;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	const struct files_wanted wanted = { .name = "/nowhere/fuzz" };
	size_t length = read_input(data, size);
	int r = -ENODATA;

	input.file = fuzz_file(data + length, size - length);
	if (!elf_file_open(&elf, &(struct files_places){}, &wanted, input.file))
		r = unwind();
	elf_file_close(&elf);
	close(input.file);
	free(input.text);
	return r;
}
