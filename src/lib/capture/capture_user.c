// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What it takes to unwind the user stack of a spike later, by the files' unwind tables. A stack has
 * secrets of the program: of its words, only those are kept that point to code or into the stack.
 */
#include "capture/capture_internal.h"

#include <inttypes.h>
#include <string.h>

#include "arch.h"
#include "array.h"
#include "build_id.h"
#include "io.h"
#include "json_util.h"
#include "text.h"
#include "util.h"

#define MAPPINGS_MAX 4096
#define WORDS (TRIGGER_USER_MEMORY / sizeof(uint64_t))

/* An executable mapping of a file. */
struct mapping {
	uint64_t start, end, offset;
	char *file;
	bool used;
};

struct mappings {
	struct mapping *list;
	size_t nr;
};

struct user_stack {
	const struct trigger_user *user;
	const struct arch_unwind *unwind;
	uint32_t pid;
	struct mappings mappings; /* of that process */
};

static void mappings_release(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->nr; i++)
		free(mappings->list[i].file);
	free(mappings->list);
}

static void mappings_take(void *ctx, const struct mapping_line *line)
{
	struct mapping mapping = { line->start, line->end, line->offset, NULL, false };
	struct mappings *mappings = ctx;

	if (!strchr(line->access, 'x') || line->name[0] != '/' || mappings->nr == MAPPINGS_MAX ||
	    array_grow(&mappings->list, mappings->nr, sizeof(mapping)))
		return;
	mapping.file = strdup(line->name);
	if (mapping.file)
		mappings->list[mappings->nr++] = mapping;
}

static bool mappings_have_code(struct mappings *mappings, uint64_t address)
{
	for (size_t i = 0; i < mappings->nr; i++) {
		struct mapping *mapping = &mappings->list[i];

		if (address < mapping->start || address >= mapping->end)
			continue;
		mapping->used = true;
		return true;
	}
	return false;
}

/* The address that a word is; 0: it is none that is kept. */
static uint64_t kept_address(struct user_stack *stack, uint64_t word)
{
	uint64_t sp = stack->user->registers[stack->unwind->sp];
	uint64_t address = word & stack->unwind->address_mask;

	if (word >= sp && word - sp <= stack->user->size)
		return word;
	return mappings_have_code(&stack->mappings, address) ? address : 0;
}

static void put_registers(FILE *file, struct user_stack *stack)
{
	const struct arch_unwind *unwind = stack->unwind;
	const __u64 *registers = stack->user->registers;

	fprintf(file, "%" PRIx64 " %" PRIx64, (uint64_t)registers[unwind->pc],
		(uint64_t)registers[unwind->sp]);
	for (size_t i = 0; i < unwind->nr_kept; i++)
		fprintf(file, " %" PRIx64, kept_address(stack, registers[unwind->kept[i].word]));
}

/* Each word as its index and value. */
static void put_words(FILE *file, struct user_stack *stack)
{
	const char *before = "";
	uint64_t word;

	for (size_t i = 0; i < stack->user->size / sizeof(word) && i < WORDS; i++) {
		memcpy(&word, stack->user->memory + i * sizeof(word), sizeof(word));
		word = kept_address(stack, word);
		if (!word)
			continue;
		fprintf(file, "%s%zx:%" PRIx64, before, i, word);
		before = " ";
	}
}

/* A line each: start, end, offset in the file, build ID, name. Without a build ID, a file cannot be
 * told from another version. */
static void put_code(FILE *file, struct user_stack *stack)
{
	for (size_t i = 0; i < stack->mappings.nr; i++) {
		const struct mapping *mapping = &stack->mappings.list[i];
		_cleanup_close_ int fd = -1;
		_cleanup_free_ char *path = NULL;
		char hex[BUILD_ID_HEX_SIZE];
		struct build_id id;

		if (!mapping->used)
			continue;
		path = strfmt("/proc/%" PRIu32 "/root%s", stack->pid, mapping->file);
		fd = path ? regular_open(AT_FDCWD, path) : -1;
		id = fd >= 0 ? build_id_of_elf(fd) : (struct build_id){};
		if (!id.size)
			continue;
		build_id_format(&id, hex);
		fprintf(file, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %s %s\n", mapping->start,
			mapping->end, mapping->offset, hex, mapping->file);
	}
}

static void add_written(struct json_object *json, const char *key, struct user_stack *stack,
			void (*put)(FILE *file, struct user_stack *stack))
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return;
	put(file, stack);
	if (!fclose(file))
		json_add_text(json, key, utf8_repair_text(text));
}

static bool is_64_bit(const struct user_stack *stack)
{
	const struct arch_unwind *unwind = stack->unwind;

	return (stack->user->registers[unwind->wide.word] & unwind->wide.mask) ==
	       unwind->wide.value;
}

struct json_object *capture_user_json(const struct trigger_user *user, uint32_t pid)
{
	struct user_stack stack = { user, &arch_here()->unwind, pid, {} };
	struct json_object *json = NULL;

	if (!user->size || !is_64_bit(&stack))
		return NULL;
	capture_each_mapping(pid, mappings_take, &stack.mappings);
	if (mappings_have_code(&stack.mappings, user->registers[stack.unwind->pc])) {
		json = json_object_new_object();
		json_add_u64(json, "size", user->size);
		add_written(json, "registers", &stack, put_registers);
		add_written(json, "words", &stack, put_words);
		add_written(json, "code", &stack, put_code);
	}
	mappings_release(&stack.mappings);
	return json;
}
