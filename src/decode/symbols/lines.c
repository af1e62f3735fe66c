// SPDX-License-Identifier: GPL-2.0-only
#include "symbols/lines.h"

static struct line_page **find(const struct lines *lines, uint32_t thread, uint64_t number)
{
	uint64_t slot = (number ^ (uint64_t)thread << 40) * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	for (;; slot++) {
		struct line_page **page = &lines->slots[slot & (lines->room - 1)];

		if (!*page || ((*page)->number == number && (*page)->thread == thread))
			return page;
	}
}

static int grow(struct lines *lines)
{
	struct lines grown = { .room = lines->room ? 2 * lines->room : 1024, .nr = lines->nr };

	grown.slots = calloc(grown.room, sizeof(struct line_page *));
	if (!grown.slots)
		return -ENOMEM;
	for (uint64_t i = 0; i < lines->room; i++) {
		struct line_page *page = lines->slots[i];

		if (page)
			*find(&grown, page->thread, page->number) = page;
	}
	free(lines->slots);
	*lines = grown;
	return 0;
}

struct line_page *lines_find(struct lines *lines, uint32_t thread, uint64_t number)
{
	struct line_page **page;

	if (2 * lines->nr >= lines->room && grow(lines))
		return NULL;
	page = find(lines, thread, number);
	if (*page)
		return *page;
	*page = calloc(1, sizeof(**page));
	if (!*page)
		return NULL;
	(*page)->number = number;
	(*page)->thread = thread;
	lines->nr++;
	return *page;
}

void lines_release(struct lines *lines)
{
	for (uint64_t i = 0; i < lines->room; i++)
		free(lines->slots[i]);
	free(lines->slots);
	*lines = (struct lines){ 0 };
}
