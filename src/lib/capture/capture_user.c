// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What it takes to unwind the user stack of a spike later, by the files' unwind tables. A stack has
 * secrets of the program: of its words, only those are kept that point to code or into the stack.
 */
#include "capture/capture_internal.h"

#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "build_id.h"
#include "io.h"
#include "json_util.h"
#include "text.h"
#include "util.h"

#define MAPPINGS_MAX 4096
/* struct pt_regs of x86-64 */
#define R15 0
#define RIP 16
#define CS 17
#define RSP 19
#define CS_64 0x33
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

static bool is_kept(struct mappings *mappings, const struct trigger_user *user, uint64_t word)
{
	uint64_t sp = user->registers[RSP];

	return (word >= sp && word - sp <= user->size) || mappings_have_code(mappings, word);
}

static void put_registers(FILE *file, struct mappings *mappings, const struct trigger_user *user)
{
	/* The callers' that calls keep: RBX, RBP, R12 to R15. */
	static const size_t kept[] = { 5, 4, 3, 2, 1, R15 };

	fprintf(file, "%" PRIx64 " %" PRIx64, (uint64_t)user->registers[RIP],
		(uint64_t)user->registers[RSP]);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		uint64_t value = user->registers[kept[i]];

		fprintf(file, " %" PRIx64, is_kept(mappings, user, value) ? value : 0);
	}
}

/* Each word as its index and value. */
static void put_words(FILE *file, struct mappings *mappings, const struct trigger_user *user)
{
	const char *before = "";
	uint64_t word;

	for (size_t i = 0; i < user->size / sizeof(word) && i < WORDS; i++) {
		memcpy(&word, user->memory + i * sizeof(word), sizeof(word));
		if (!is_kept(mappings, user, word))
			continue;
		fprintf(file, "%s%zx:%" PRIx64, before, i, word);
		before = " ";
	}
}

/* A line each: start, end, offset in the file, build ID, name. Without a build ID, a file cannot be
 * told from another version. */
static void put_code(FILE *file, const struct mappings *mappings, uint32_t pid)
{
	for (size_t i = 0; i < mappings->nr; i++) {
		const struct mapping *mapping = &mappings->list[i];
		_cleanup_close_ int fd = -1;
		_cleanup_free_ char *path = NULL;
		char hex[BUILD_ID_HEX_SIZE];
		struct build_id id;

		if (!mapping->used)
			continue;
		path = strfmt("/proc/%" PRIu32 "/root%s", pid, mapping->file);
		fd = path ? regular_open(AT_FDCWD, path) : -1;
		id = fd >= 0 ? build_id_of_elf(fd) : (struct build_id){};
		if (!id.size)
			continue;
		build_id_format(&id, hex);
		fprintf(file, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %s %s\n", mapping->start,
			mapping->end, mapping->offset, hex, mapping->file);
	}
}

static void add_written(struct json_object *json, const char *key, FILE *file, char **text)
{
	if (!fclose(file))
		json_add_text(json, key, utf8_repair_text(*text));
	freep(text);
	*text = NULL;
}

struct json_object *capture_user_json(const struct trigger_user *user, uint32_t pid)
{
	_cleanup_(mappings_release) struct mappings mappings = {};
	struct json_object *json;
	char *text = NULL;
	size_t size;
	FILE *file;

	if (!user->size || user->registers[CS] != CS_64)
		return NULL;
	capture_each_mapping(pid, mappings_take, &mappings);
	if (!mappings_have_code(&mappings, user->registers[RIP]))
		return NULL;
	json = json_object_new_object();
	json_add_u64(json, "size", user->size);
	file = open_memstream(&text, &size);
	if (file) {
		put_registers(file, &mappings, user);
		add_written(json, "registers", file, &text);
	}
	file = open_memstream(&text, &size);
	if (file) {
		put_words(file, &mappings, user);
		add_written(json, "words", file, &text);
	}
	file = open_memstream(&text, &size);
	if (file) {
		put_code(file, &mappings, pid);
		add_written(json, "code", file, &text);
	}
	return json;
}
