// SPDX-License-Identifier: GPL-2.0-only
/* The user stack of a spike by the unwind tables of its files: more than frame pointers show, where
 * the code has none. */
#include <inttypes.h>
#include <string.h>

#include "arch.h"
#include "code/symbolizer.h"
#include "facts/captures.h"
#include "text.h"

/* A mapping of code, with the file that is opened for it. */
struct mapped_code {
	uint64_t start, end, offset;
	struct build_id id;
	const char *name; /* in the capture's text */
	size_t length;
};

static bool read_register(uint64_t *value, const char **text)
{
	char *end;

	*value = strtoull(*text, &end, 16);
	if (end == *text)
		return false;
	*text = end;
	return true;
}

/* Program counter, stack pointer, and what functions keep. */
static bool read_registers(struct unwind_registers *registers, const struct arch_unwind *unwind,
			   const char *text)
{
	registers->nr = unwind->nr_dwarf;
	if (!registers->nr || !read_register(&registers->pc, &text) ||
	    !read_register(&registers->sp, &text))
		return false;
	registers->dwarf[unwind->sp_dwarf] = registers->sp;
	for (size_t i = 0; i < unwind->nr_kept; i++) {
		if (!read_register(&registers->dwarf[unwind->kept[i].dwarf], &text))
			return false;
	}
	return true;
}

static void read_words(struct unwind_wanted *wanted, const char *text)
{
	uint64_t index, value;
	int length;

	while (wanted->nr_words < UNWIND_WORDS_MAX &&
	       sscanf(text, " %" SCNx64 ":%" SCNx64 "%n", &index, &value, &length) == 2) {
		wanted->words[wanted->nr_words][0] = index;
		wanted->words[wanted->nr_words++][1] = value;
		text += length;
	}
}

static bool read_build_id(struct build_id *id, const char *hex)
{
	unsigned int byte;

	for (; hex[0] && hex[1] && id->size < sizeof(id->bytes); hex += 2) {
		if (sscanf(hex, "%2x", &byte) != 1)
			return false;
		id->bytes[id->size++] = (uint8_t)byte;
	}
	return id->size;
}

/* A line: start, end, offset, build ID, name. */
static bool read_code_line(struct mapped_code *code, const char *line)
{
	char hex[2 * sizeof(code->id.bytes) + 1];
	int at = 0;

	*code = (struct mapped_code){};
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %40s %n", &code->start, &code->end,
		   &code->offset, hex, &at) != 4 ||
	    !at || code->start >= code->end || !read_build_id(&code->id, hex))
		return false;
	code->name = line + at;
	code->length = strcspn(code->name, "\n");
	return true;
}

/* Opens the file of the code for the symbolizer. */
static void want_code(struct unwind_wanted *wanted, const struct mapped_code *code,
		      const struct files_places *places, struct symbolizer *symbolizer)
{
	_cleanup_free_ char *name = strndup(code->name, code->length), *path = NULL;
	_cleanup_(symbols_release) struct symbols symbols = {};
	const struct files_wanted file = { .name = name, .id = code->id };
	_cleanup_close_ int fd = name ? files_open_wanted(places, &file, &path) : -1;
	uint64_t *row = wanted->code[wanted->nr_code];
	uint32_t number;

	if (fd < 0 || symbolizer_open_file(symbolizer, &file, fd, &symbols, &number) ||
	    number == SYMBOLIZER_NO_FILE)
		return;
	row[0] = number;
	row[1] = code->start;
	row[2] = code->end;
	row[3] = code->offset;
	wanted->nr_code++;
}

/* The line of the mapping that has the address. */
static bool find_code(struct mapped_code *code, const char *text, uint64_t address)
{
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		if (read_code_line(code, text) && address >= code->start && address < code->end)
			return true;
	}
	return false;
}

void unwound_release(struct unwound_stack *unwound)
{
	for (size_t i = 0; i < UNWIND_FRAMES_MAX; i++)
		free((char *)unwound->frames[i].file);
	*unwound = (struct unwound_stack){};
}

/* Frames of the kernel, and the innermost of user space, are as they were. */
static void take_frames(struct unwound_stack *unwound, const struct perf_poke_spike *spike,
			size_t nr_kernel, const char *code_text, const uint64_t *frames, size_t nr)
{
	memcpy(unwound->rows, spike->stack, (nr_kernel + 1) * sizeof(*unwound->rows));
	unwound->nr = nr_kernel + 1;
	for (size_t i = 1; i < nr && unwound->nr < STACK_FRAMES_MAX; i++) {
		struct perf_poke_frame *frame = &unwound->frames[i];
		struct mapped_code code;

		/* The address behind a call may be the end of the mapping. */
		if (!frames[i] || !find_code(&code, code_text, frames[i] - 1))
			break;
		*frame = (struct perf_poke_frame){ .address = frames[i], .user = true };
		frame->file = strndup(code.name, code.length);
		frame->offset = frames[i] - code.start + code.offset;
		frame->build_id_size = code.id.size;
		memcpy(frame->build_id, code.id.bytes, code.id.size);
		unwound->rows[unwound->nr++] = frame;
	}
}

int capture_unwind(struct unwound_stack *unwound, const struct perf_poke_capture *capture,
		   const struct files_places *places, struct symbolizer *symbolizer)
{
	const char *registers = perf_poke__capture_text(capture, "user_stack.registers");
	const char *words = perf_poke__capture_text(capture, "user_stack.words");
	const char *code_text = perf_poke__capture_text(capture, "user_stack.code");
	const char *arch = perf_poke__capture_text(capture, "machine.arch");
	_cleanup_free_ struct unwind_wanted *wanted = calloc(1, sizeof(*wanted));
	const struct perf_poke_spike *spike = capture->spike;
	uint64_t frames[UNWIND_FRAMES_MAX];
	size_t nr_kernel = 0, nr = 0;
	struct mapped_code code;
	int err;

	*unwound = (struct unwound_stack){};
	while (nr_kernel < spike->nr_frames && !spike->stack[nr_kernel]->user)
		nr_kernel++;
	if (!wanted)
		return -ENOMEM;
	if (!registers || !words || !code_text || nr_kernel >= spike->nr_frames ||
	    nr_kernel + 1 >= STACK_FRAMES_MAX || !arch ||
	    !read_registers(&wanted->registers, &arch_find(arch)->unwind, registers) ||
	    wanted->registers.pc != spike->stack[nr_kernel]->address ||
	    perf_poke__capture_number(capture, "user_stack.size", &wanted->size))
		return 0;
	read_words(wanted, words);
	for (const char *line = code_text; *line && wanted->nr_code < UNWIND_CODE_MAX;
	     line += strcspn(line, "\n"), line += *line == '\n') {
		if (read_code_line(&code, line))
			want_code(wanted, &code, places, symbolizer);
	}
	err = symbolizer_unwind(symbolizer, wanted, frames, &nr);
	if (!err && nr > spike->nr_frames - nr_kernel)
		take_frames(unwound, spike, nr_kernel, code_text, frames, nr);
	/* What the tables do not reach is no better than frame pointers. */
	if (unwound->nr <= spike->nr_frames)
		unwound_release(unwound);
	return err;
}
