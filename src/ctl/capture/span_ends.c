// SPDX-License-Identifier: GPL-2.0-only
#include "capture/span_ends.h"

#include <string.h>

#include "printable.h"

#define PATH_SIZE 64

static const char *text_of(const struct capture_file *file, const char *which, const char *member)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "trigger.ends.%s.%s", which, member);
	return capture_file_text(file, path);
}

static void read_end(struct end *end, const struct capture_file *file, const char *which)
{
	char member[32];

	for (size_t i = 0; i < END_FUNCTIONS; i++) {
		char *to = end->functions[end->nr];

		snprintf(member, sizeof(member), "functions.%zu", i);
		printable_copy(to, sizeof(end->functions[0]), text_of(file, which, member));
		end->nr += *to != '\0';
	}
	printable_copy(end->event, sizeof(end->event), text_of(file, which, "event"));
	end->at_return = !strcmp(text_of(file, which, "at"), "return");
}

void span_ends_read(struct ends *ends, const struct capture_file *file)
{
	*ends = (struct ends){};
	read_end(&ends->entry, file, "entry");
	read_end(&ends->exit, file, "exit");
	ends->by_thread = !strcmp(capture_file_text(file, "trigger.ends.by"), "thread");
}
