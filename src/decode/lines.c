// SPDX-License-Identifier: GPL-2.0-only
#include "lines.h"

static struct line *find(const struct lines *lines, uint32_t thread, uint64_t number)
{
	uint64_t slot = (number ^ (uint64_t)thread << 40) * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	for (;; slot++) {
		struct line *line = &lines->slots[slot & (lines->room - 1)];

		if (!line->thread || (line->number == number && line->thread == thread))
			return line;
	}
}

static int grow(struct lines *lines)
{
	struct lines grown = { .room = lines->room ? 2 * lines->room : 1024, .nr = lines->nr };

	grown.slots = calloc(grown.room, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (uint64_t i = 0; i < lines->room; i++) {
		const struct line *line = &lines->slots[i];

		if (line->thread)
			*find(&grown, line->thread, line->number) = *line;
	}
	free(lines->slots);
	*lines = grown;
	return 0;
}

struct line *lines_find(struct lines *lines, uint32_t thread, uint64_t number)
{
	struct line *line;

	if (2 * lines->nr >= lines->room && grow(lines))
		return NULL;
	line = find(lines, thread, number);
	if (!line->thread) {
		*line = (struct line){ .number = number, .thread = thread };
		lines->nr++;
	}
	return line;
}

void lines_release(struct lines *lines)
{
	free(lines->slots);
	*lines = (struct lines){ 0 };
}
