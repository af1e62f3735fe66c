// SPDX-License-Identifier: GPL-2.0-only
#include "code/names.h"

#include <search.h>
#include <string.h>

#include "array.h"
#include "text.h"

struct name {
	uint32_t number, length;
	char text[];
};

struct names {
	struct name **entries; /* 0 is the empty string */
	uint32_t nr;
	void *tree; /* of the entries, by text */
	int r;
};

void names_free(struct names *names)
{
	if (!names)
		return;
	tdestroy(names->tree, free);
	free(names->entries);
	free(names);
}

int names_new(struct names **ret)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names_add(names, "");
	if (names->r) {
		names_free(names);
		return -ENOMEM;
	}
	*ret = names;
	return 0;
}

/* Copies valid UTF-8, truncated to the limit. */
static struct name *new_name(const char *s)
{
	size_t length = strnlen(s, NAMES_LENGTH_MAX + 1);
	struct name *name;

	if (length > NAMES_LENGTH_MAX) {
		/* Do not cut a character. */
		length = NAMES_LENGTH_MAX;
		while (length && ((unsigned char)s[length] & 0xc0) == 0x80)
			length--;
	}
	name = malloc(sizeof(*name) + length + 1);
	if (!name)
		return NULL;
	memcpy(name->text, s, length);
	name->text[length] = '\0';
	utf8_repair(name->text);
	name->length = (uint32_t)strlen(name->text);
	return name;
}

static int compare(const void *a, const void *b)
{
	const struct name *one = a, *other = b;

	return strcmp(one->text, other->text);
}

uint32_t names_add(struct names *names, const char *s)
{
	_cleanup_free_ struct name *name = new_name(s);
	struct name *const *found = NULL;

	if (name && !array_grow(&names->entries, names->nr, sizeof(*names->entries)))
		found = tsearch(name, &names->tree, compare);
	if (!found) {
		names->r = -ENOMEM;
		return 0;
	}
	if (*found != name)
		return (*found)->number;
	name->number = names->nr;
	names->entries[names->nr++] = TAKE_PTR(name);
	return names->nr - 1;
}

const char *names_get(const struct names *names, uint32_t name)
{
	return names->entries[name]->text;
}

size_t names_length(const struct names *names, uint32_t name)
{
	return names->entries[name]->length;
}

uint32_t names_count(const struct names *names)
{
	return names->nr;
}

int names_error(const struct names *names)
{
	return names->r;
}
