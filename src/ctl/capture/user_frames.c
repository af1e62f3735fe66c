// SPDX-License-Identifier: GPL-2.0-only
#include "capture/captures.h"

#include <string.h>

#include "code/symbols.h"
#include "text.h"

/* The symbols of one file: frames of a file follow each other. */
struct user_file {
	const struct files_places *places;
	struct build_id id;
	struct symbols symbols;
};

static void user_file_release(struct user_file *file)
{
	symbols_release(&file->symbols);
}

static struct build_id id_of(const struct perf_poke_frame *frame)
{
	struct build_id id = { .size = (uint8_t)frame->build_id_size };

	memcpy(id.bytes, frame->build_id, sizeof(id.bytes));
	return id;
}

/* Without symbols if the file is not found. */
static void read_file(struct user_file *file, const struct perf_poke_frame *frame)
{
	const struct files_wanted wanted = { .name = frame->file ?: "", .id = id_of(frame) };
	_cleanup_close_ int fd = -1, debug = -1;
	_cleanup_free_ char *path = NULL;

	symbols_release(&file->symbols);
	file->symbols = (struct symbols){ 0 };
	file->id = wanted.id;
	fd = files_open(file->places, &wanted, &path);
	if (fd < 0)
		return;
	debug = files_open_debug(file->places, &wanted, fd);
	if (symbols_of_elf(&file->symbols, fd, debug)) {
		symbols_release(&file->symbols);
		file->symbols = (struct symbols){ 0 };
	}
}

/* is_return: the address is behind a call, which may be the function's last instruction. */
static void name_frame(struct user_file *file, const struct perf_poke_frame *frame, bool is_return,
		       struct spike_frame *to)
{
	const struct build_id id = id_of(frame);
	const struct symbols_entry *entry;
	_cleanup_free_ char *plain = NULL;
	char hex[FILES_HEX_SIZE];
	const char *name;

	if (!id.size || frame->offset < is_return)
		return;
	if (memcmp(&id, &file->id, sizeof(id)))
		read_file(file, frame);
	entry = symbols_find(&file->symbols, frame->offset - is_return);
	if (!entry)
		return;
	name = symbols_name(&file->symbols, entry);
	plain = demangle(name);
	printable_copy(to->name, sizeof(to->name), plain ?: name);
	files_hex(&id, hex);
	/* The process has ended. The first digits will do, as for a commit. */
	if (frame->file)
		printable_copy(to->module, sizeof(to->module), basename(frame->file));
	else
		snprintf(to->module, sizeof(to->module), "build ID %.12s", hex);
}

static void name_stack(struct user_file *file, struct spike_stack *stack,
		       const struct perf_poke_frame *const *frames)
{
	for (size_t i = 0; i < stack->nr; i++) {
		if (frames[i]->user)
			name_frame(file, frames[i], i && frames[i - 1]->user, &stack->frames[i]);
	}
}

void user_frames_name(struct facts *facts, const struct perf_poke_spike *spike,
		      const struct files_places *places)
{
	_cleanup_(user_file_release) struct user_file file = { .places = places };

	name_stack(&file, &facts->stack, spike->stack);
	name_stack(&file, &facts->holder, spike->holder);
}
