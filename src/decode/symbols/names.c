// SPDX-License-Identifier: GPL-2.0-only
#include "symbols/names.h"

#include <string.h>

#include "utf8.h"

struct entry {
	char *text;
	uint32_t length;
	uint32_t hash;
};

struct names {
	struct entry *entries; /* 0 is the empty string */
	uint32_t nr, room;
	uint32_t *slots; /* numbers by hash; 0: free */
	uint32_t mask;
	int r;
};

static uint32_t hash_text(const char *s)
{
	uint32_t hash = 2166136261u;

	while (*s)
		hash = (hash ^ (unsigned char)*s++) * 16777619u;
	return hash;
}

static void place(struct names *names, uint32_t name)
{
	uint32_t slot = names->entries[name].hash & names->mask;

	while (names->slots[slot])
		slot = (slot + 1) & names->mask;
	names->slots[slot] = name;
}

static int grow(struct names *names)
{
	uint32_t room = names->room ? 2 * names->room : 256;
	struct entry *entries = realloc(names->entries, room * sizeof(*entries));
	uint32_t *slots;

	if (!entries)
		return -ENOMEM;
	names->entries = entries;
	slots = calloc(2 * (size_t)room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(names->slots);
	names->slots = slots;
	names->mask = 2 * room - 1;
	names->room = room;
	for (uint32_t i = 1; i < names->nr; i++)
		place(names, i);
	return 0;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	for (uint32_t i = 1; i < names->nr; i++)
		free(names->entries[i].text);
	free(names->entries);
	free(names->slots);
	free(names);
}

int names_new(struct names **ret)
{
	struct names *names = calloc(1, sizeof(*names));
	int r = names ? grow(names) : -ENOMEM;

	if (r) {
		names_free(names);
		return r;
	}
	names->entries[0] = (struct entry){ .text = "" };
	names->nr = 1;
	*ret = names;
	return 0;
}

/* Copies as UTF-8, truncated to the limit. */
static char *tidy(const char *s)
{
	size_t length = strnlen(s, NAMES_LENGTH_MAX + 1);
	char *text;

	if (length > NAMES_LENGTH_MAX) {
		/* Does not cut a character. */
		length = NAMES_LENGTH_MAX;
		while (length && ((unsigned char)s[length] & 0xc0) == 0x80)
			length--;
	}
	text = strndup(s, length);
	if (text)
		utf8_repair(text);
	return text;
}

static uint32_t find(const struct names *names, const char *s, uint32_t hash)
{
	uint32_t slot = hash & names->mask;
	uint32_t name;

	while ((name = names->slots[slot])) {
		if (names->entries[name].hash == hash && !strcmp(names->entries[name].text, s))
			return name;
		slot = (slot + 1) & names->mask;
	}
	return 0;
}

uint32_t names_add(struct names *names, const char *s)
{
	_cleanup_free_ char *text = tidy(s);
	uint32_t hash, name;

	if (!text) {
		names->r = -ENOMEM;
		return 0;
	}
	if (!*text)
		return 0;
	hash = hash_text(text);
	name = find(names, text, hash);
	if (name)
		return name;
	if (names->nr == names->room && grow(names)) {
		names->r = -ENOMEM;
		return 0;
	}
	name = names->nr++;
	names->entries[name].length = (uint32_t)strlen(text);
	names->entries[name].text = TAKE_PTR(text);
	names->entries[name].hash = hash;
	place(names, name);
	return name;
}

const char *names_get(const struct names *names, uint32_t name)
{
	return names->entries[name].text;
}

size_t names_length(const struct names *names, uint32_t name)
{
	return names->entries[name].length;
}

uint32_t names_count(const struct names *names)
{
	return names->nr;
}

int names_error(const struct names *names)
{
	return names->r;
}
