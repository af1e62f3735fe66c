// SPDX-License-Identifier: GPL-2.0-only
#include "cause/fingerprint.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "json_add.h"
#include "json_file.h"
#include "text.h"

char *fingerprint_text(const struct fingerprint *fingerprint)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	fprintf(file, "v%d %s", FINGERPRINT_VERSION, fingerprint->kind);
	for (size_t i = 0; i < fingerprint->nr; i++)
		fprintf(file, "%c%s", i ? '<' : ' ', fingerprint->frames[i]);
	if (fingerprint->sender[0])
		fprintf(file, " from %s", fingerprint->sender);
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}

/* For display: without the brackets of an entry or the prefix of a task. */
static void put_name(char *buf, const char *frame)
{
	size_t length;

	if (!strncmp(frame, FINGERPRINT_TASK, strlen(FINGERPRINT_TASK)))
		frame += strlen(FINGERPRINT_TASK);
	frame += *frame == '[';
	length = strlen(frame);
	if (length && frame[length - 1] == ']')
		length--;
	snprintf(buf, FINGERPRINT_NAME_SIZE, "%.*s", (int)length, frame);
}

void fingerprint_seal(struct fingerprint *fingerprint)
{
	_cleanup_free_ char *text = fingerprint_text(fingerprint);
	char name[FINGERPRINT_NAME_SIZE] = "";

	if (!text)
		return;
	fingerprint->hash =
		(uint32_t)crc32(0, (const unsigned char *)text, (unsigned int)strlen(text));
	if (fingerprint->nr)
		put_name(name, fingerprint->frames[0]);
	snprintf(fingerprint->id, sizeof(fingerprint->id), "%s%s%s:%08" PRIx32, fingerprint->kind,
		 *name ? "/" : "", name, fingerprint->hash);
}

json_object *fingerprint_json(const struct fingerprint *fingerprint)
{
	json_object *object, *chain;

	if (!fingerprint->kind[0])
		return NULL;
	object = json_object_new_object();
	chain = json_object_new_array();
	json_add_int(object, "version", FINGERPRINT_VERSION);
	json_add_text(object, "id", fingerprint->id);
	json_add_text(object, "kind", fingerprint->kind);
	for (size_t i = 0; i < fingerprint->nr; i++)
		json_push_text(chain, fingerprint->frames[i]);
	json_add(object, "chain", chain);
	json_add_name(object, "sender", fingerprint->sender);
	return object;
}

/* A name that fingerprints could have, for a buffer of FINGERPRINT_NAME_SIZE. */
static bool read_name(json_object *value, char *buf)
{
	const char *text = json_object_get_string(value);

	if (!json_object_is_type(value, json_type_string) || !*text ||
	    strlen(text) >= FINGERPRINT_NAME_SIZE || strpbrk(text, " <>\t\r\n"))
		return false;
	return !strcmp(printable_copy(buf, FINGERPRINT_NAME_SIZE, text), text);
}

int fingerprint_from_json(struct fingerprint *fingerprint, json_object *json)
{
	const char *kind = json_text_of(json, "kind");
	json_object *chain, *sender;
	size_t nr;

	*fingerprint = (struct fingerprint){ 0 };
	if (!json_object_object_get_ex(json, "chain", &chain) ||
	    !json_object_is_type(chain, json_type_array) || !*kind ||
	    strlen(kind) >= sizeof(fingerprint->kind) || strpbrk(kind, " /:<>"))
		return -EINVAL;
	printable_copy(fingerprint->kind, sizeof(fingerprint->kind), kind);
	nr = json_object_array_length(chain);
	if (nr > FINGERPRINT_FRAMES_MAX)
		return -EINVAL;
	for (; fingerprint->nr < nr; fingerprint->nr++) {
		if (!read_name(json_object_array_get_idx(chain, fingerprint->nr),
			       fingerprint->frames[fingerprint->nr]))
			return -EINVAL;
	}
	if (json_object_object_get_ex(json, "sender", &sender) && sender &&
	    !read_name(sender, fingerprint->sender))
		return -EINVAL;
	/* The hash in the file is not trusted. */
	fingerprint_seal(fingerprint);
	return 0;
}
