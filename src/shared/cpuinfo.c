// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cpuinfo.h"

#include <stdio.h>
#include <string.h>

#include "io.h"
#include "text.h"

int cpuinfo_read(int rootfd, char entry[CPUINFO_SIZE])
{
	int err = read_text_at(rootfd, "proc/cpuinfo", entry, CPUINFO_SIZE);
	char *end = err ? entry : strstr(entry, "\n\n");

	if (end)
		*end = '\0';
	return err;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

/* The value of a line such as "cpu family\t: 6". */
static void line_copy_value(const char *line, char *value, size_t size)
{
	const char *from = line + strcspn(line, ":\n");

	from += strspn(from, ": \t");
	snprintf(value, size, "%.*s", (int)strcspn(from, "\n"), from);
}

bool cpuinfo_find(const char *entry, const char *key, char *value, size_t size)
{
	for (const char *line = entry; *line; line = next_line(line)) {
		if (strcspn(line, "\t:\n") == strlen(key) && has_prefix(line, key)) {
			line_copy_value(line, value, size);
			return true;
		}
	}
	return false;
}

static void squeeze_spaces(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++)
		if (*from != ' ' || from[1] != ' ')
			*to++ = *from;
	*to = '\0';
}

bool cpuinfo_describe(const char *entry, char *text, size_t size)
{
	size_t length = 0;
	char value[64];

	if (cpuinfo_find(entry, "model name", text, size)) {
		squeeze_spaces(text);
		return true;
	}
	*text = '\0';
	for (const char *line = entry; *line && length < size; line = next_line(line)) {
		int end = (int)strcspn(line, "\t:\n");

		/* CPU implementer, CPU part ... */
		if (!has_prefix(line, "CPU "))
			continue;
		line_copy_value(line, value, sizeof(value));
		length += snprintf(text + length, size - length, "%s%.*s %s", length ? ", " : "",
				   end - 4, line + 4, value);
	}
	return *text;
}
