// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture_internal.h"

#include <inttypes.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/stat.h>

#include "build_id.h"
#include "io.h"
#include "kernel_function.h"
#include "task.h"
#include "text.h"
#include "util.h"

/* Of a perf-PID.map: longer names are cut, and what is behind is not read. */
#define JIT_LINE_MAX 1024
#define JIT_MAP_MAX (64u << 20)

static bool capture_symbols_have(const struct capture_symbols *symbols,
				 struct kallsyms_place *place)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols->known); i++) {
		const struct kallsyms_place *known = &symbols->known[i];
		uint64_t address = place->address;

		if (!known->start || (known->address != address &&
				      (address < known->start || address >= known->end)))
			continue;
		*place = *known;
		place->address = address;
		return true;
	}
	return false;
}

int capture_symbols_find(struct capture_symbols *symbols, struct kallsyms_place *places, size_t nr)
{
	bool all = symbols;
	int err;

	for (size_t i = 0; i < nr && all; i++)
		all = capture_symbols_have(symbols, &places[i]);
	if (all)
		return 0;
	err = kallsyms_places(places, nr);
	for (size_t i = 0; symbols && i < nr; i++) {
		if (places[i].start && !capture_symbols_have(symbols, &places[i]))
			symbols->known[symbols->next++ % ARRAY_SIZE(symbols->known)] = places[i];
	}
	return err;
}

/* Number of frames of the interrupt; without one, of the program. */
static size_t count_own_frames(const struct kallsyms_place *places, size_t nr)
{
	const char *call;
	size_t own = 0;

	/* What called the program that took the stack. */
	for (; own < nr; own++) {
		if (!places[own].start || kernel_function_find(places[own].name, KERNEL_TRIGGER))
			continue;
		call = kernel_function_after(places[own].name, KERNEL_BEFORE_SYSCALL);
		if (!call || strcmp(call, "bpf"))
			break;
	}
	/* Addresses are hidden, or this one is unknown. */
	if (own == nr)
		own = 0;
	for (size_t i = own; i < nr; i++) {
		if (places[i].start && kernel_function_find(places[i].name, KERNEL_INTERRUPT))
			return i + 1;
	}
	return own;
}

static size_t stack_size_count(int32_t size, size_t each, size_t max)
{
	size_t nr = size > 0 ? (size_t)size / each : 0;

	return nr < max ? nr : max;
}

/* Adds kernel frames; without symbols, addresses only. */
static int add_kernel_frames(struct perf_poke_frame *frames, const struct trigger_stack *stack,
			     struct capture_symbols *symbols, size_t *nr)
{
	size_t found = stack_size_count(stack->kernel_size, sizeof(stack->kernel[0]),
					TRIGGER_KERNEL_FRAMES);
	_cleanup_free_ struct kallsyms_place *places = calloc(found + 1, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < found; i++)
		places[i].address = stack->kernel[i];
	if (found)
		capture_symbols_find(symbols, places, found);
	for (size_t i = count_own_frames(places, found); i < found; i++) {
		struct perf_poke_frame *frame = &frames[(*nr)++];
		const struct kallsyms_place *place = &places[i];

		frame->address = place->address;
		if (!place->start)
			continue;
		frame->offset = place->address - place->start;
		frame->symbol = strdup(place->name);
		frame->file = place->module[0] ? strdup(place->module) : NULL;
		if (!frame->symbol || (place->module[0] && !frame->file))
			return -ENOMEM;
	}
	return 0;
}

/* If the file has no build id or is gone, name and offset remain. */
static void frame_find_build_id(struct perf_poke_frame *frame, uint32_t pid)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *path = strfmt("/proc/%" PRIu32 "/root%s", pid, frame->file);
	struct build_id id = {};

	if (frame->file[0] != '/' || !path)
		return;
	fd = regular_open(AT_FDCWD, path);
	if (fd >= 0)
		id = build_id_of_elf(fd);
	frame->build_id_size = id.size;
	memcpy(frame->build_id, id.bytes, id.size);
}

/* Frames of a process, and which of them are in executable mappings. */
struct user_stack {
	struct perf_poke_frame *frames;
	size_t nr;
	uint32_t pid;
	bool is_code[TRIGGER_USER_FRAMES];
};

static void user_stack_take_mapping(void *ctx, const struct mapping_line *line)
{
	struct user_stack *stack = ctx;

	for (size_t i = 0; i < stack->nr; i++) {
		struct perf_poke_frame *frame = &stack->frames[i];

		if (frame->address < line->start || frame->address >= line->end)
			continue;
		stack->is_code[i] = strchr(line->access, 'x');
		if (frame->file || !line->name[0])
			continue;
		frame->file = strdup(line->name);
		if (!frame->file || frame->build_id_size)
			continue;
		frame->offset = frame->address - line->start + line->offset;
		frame_find_build_id(frame, stack->pid);
	}
}

bool capture_each_mapping(uint32_t pid, void (*take)(void *ctx, const struct mapping_line *line),
			  void *ctx)
{
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_free_ char *text = NULL;
	char path[64];
	size_t size = 0;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	/* Else another process may have that PID here. */
	file = pids_are_global() ? fopen(path, "re") : NULL;
	while (file && getline(&text, &size, file) > 0) {
		struct mapping_line line;
		int at = 0;

		found = true;
		text[strcspn(text, "\n")] = '\0';
		if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*u %n", &line.start,
			   &line.end, line.access, &line.offset, &at) < 4)
			continue;
		line.name = at ? text + at : "";
		take(ctx, &line);
	}
	return found;
}

static void stack_frame_release(struct perf_poke_frame *frame)
{
	free((char *)frame->symbol);
	free((char *)frame->file);
	*frame = (struct perf_poke_frame){};
}

/* Below and above, no process of Linux on 64 bits has code. */
#define USER_FIRST 0x1000
#define USER_LAST ((UINT64_C(1) << 56) - 1)

/* mapped: the mappings are known. Otherwise the kernel may have found the files. */
static bool is_code_address(const struct user_stack *stack, size_t i, bool mapped)
{
	uint64_t address = stack->frames[i].address;

	if (mapped)
		return stack->is_code[i];
	if (stack->frames[0].build_id_size)
		return stack->frames[i].build_id_size;
	return address >= USER_FIRST && address <= USER_LAST;
}

/* The first frame is where the task was. A caller that is not code, and all behind it, are data
 * that code without frame pointers left in the register. */
static void drop_data_frames(struct user_stack *stack, bool mapped)
{
	size_t kept = 1;

	while (kept < stack->nr && is_code_address(stack, kept, mapped))
		kept++;
	while (stack->nr > kept)
		stack_frame_release(&stack->frames[--stack->nr]);
}

/* Whether the line of a perf-PID.map, such as `7f0012345678 40 LazyCompile:~run app.js:3`, has the
 * frame. *name is in the line. */
static bool jit_line_has(const char *line, uint64_t address, uint64_t *start, const char **name)
{
	uint64_t size;
	int at = 0;

	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %n", start, &size, &at) != 2 || !at)
		return false;
	*name = line + at;
	return line[at] && address >= *start && address - *start < size;
}

/* The last line of an address applies: code is compiled again in the same place. */
static void user_stack_take_jit_line(struct user_stack *stack, char *line)
{
	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < stack->nr; i++) {
		struct perf_poke_frame *frame = &stack->frames[i];
		const char *name;
		uint64_t start;
		char *symbol;

		if (!stack->is_code[i] || frame->build_id_size ||
		    !jit_line_has(line, frame->address, &start, &name))
			continue;
		symbol = strdup(name);
		if (!symbol)
			continue;
		free((char *)frame->symbol);
		frame->symbol = utf8_repair_text(symbol);
		if (!frame->file)
			frame->offset = frame->address - start;
	}
}

/* Code that the process compiled itself has no file. Runtimes write its names to a file for perf,
 * with the PID that they see. It must be the process's own. */
static void user_stack_name_jit_code(struct user_stack *stack, uint32_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char status[64], path[128], line[JIT_LINE_MAX];
	struct stat process, map;
	const char *last;
	_cleanup_close_ int fd = -1;
	size_t read = 0;

	if (task_read_status((int)pid, "NSpid", status, sizeof(status)))
		return;
	last = strrchr(status, '\t');
	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	if (stat(path, &process))
		return;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root/tmp/perf-%.20s.map", pid,
		 last ? last + 1 : status);
	fd = regular_open(AT_FDCWD, path);
	if (fd < 0)
		return;
	if (fstat(fd, &map) || map.st_uid != process.st_uid || !(file = fdopen(fd, "r")))
		return;
	(void)TAKE_FD(fd);
	for (; read < JIT_MAP_MAX && fgets(line, sizeof(line), file); read += strlen(line))
		user_stack_take_jit_line(stack, line);
}

static bool user_stack_has_jit_code(const struct user_stack *stack)
{
	for (size_t i = 0; i < stack->nr; i++) {
		if (stack->is_code[i] && !stack->frames[i].build_id_size)
			return true;
	}
	return false;
}

static void add_user_frames(struct perf_poke_frame *frames, const struct trigger_stack *stack,
			    size_t *nr)
{
	size_t found =
		stack_size_count(stack->user_size, sizeof(stack->user[0]), TRIGGER_USER_FRAMES);
	size_t ids = stack_size_count(stack->build_ids_size, sizeof(stack->build_ids[0]),
				      TRIGGER_USER_FRAMES);
	struct user_stack user = { .frames = &frames[*nr], .pid = stack->pid };

	for (; user.nr < found && stack->user[user.nr]; user.nr++) {
		const struct trigger_build_id *id = &stack->build_ids[user.nr];
		struct perf_poke_frame *frame = &user.frames[user.nr];

		frame->user = true;
		frame->address = stack->user[user.nr];
		if (user.nr >= ids || id->status != BPF_STACK_BUILD_ID_VALID)
			continue;
		frame->offset = id->offset;
		frame->build_id_size = sizeof(id->build_id);
		memcpy(frame->build_id, id->build_id, sizeof(id->build_id));
	}
	if (user.nr)
		drop_data_frames(&user,
				 capture_each_mapping(user.pid, user_stack_take_mapping, &user));
	if (user_stack_has_jit_code(&user))
		user_stack_name_jit_code(&user, stack->pid);
	*nr += user.nr;
}

struct perf_poke_frame *capture_stack_new(const struct trigger_stack *stack,
					  struct capture_symbols *symbols, size_t *nr)
{
	struct perf_poke_frame *frames =
		calloc(TRIGGER_KERNEL_FRAMES + TRIGGER_USER_FRAMES, sizeof(*frames));

	*nr = 0;
	if (!frames)
		return NULL;
	if (!add_kernel_frames(frames, stack, symbols, nr))
		add_user_frames(frames, stack, nr);
	if (*nr)
		return frames;
	free(frames);
	return NULL;
}

struct perf_poke_frame *capture_stack_user_frame(uint64_t address, uint32_t pid)
{
	struct user_stack stack = { .frames = calloc(1, sizeof(*stack.frames)),
				    .nr = 1,
				    .pid = pid };

	if (!stack.frames)
		return NULL;
	stack.frames->user = true;
	stack.frames->address = address;
	if (capture_each_mapping(pid, user_stack_take_mapping, &stack)) {
		if (user_stack_has_jit_code(&stack))
			user_stack_name_jit_code(&stack, pid);
		return stack.frames;
	}
	free(stack.frames);
	return NULL;
}

void capture_stack_free(struct perf_poke_frame *frames, size_t nr)
{
	for (size_t i = 0; frames && i < nr; i++)
		stack_frame_release(&frames[i]);
	free(frames);
}
