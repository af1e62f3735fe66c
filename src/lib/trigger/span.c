// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "units.h"

#define OVERRUN "," TRIGGER_OVERRUN
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

static const struct span_row {
	const char *name, *usage;
	int parts;
	bool is_entry, is_exit;
	bool whole; /* without an exit: until the function returns */
	bool fields;
} rows[SPAN_KINDS] = {
	[SPAN_TP] = { "tp", "tp:SYS:NAME[/FILTER/]", 2, true, true, false, true },
	[SPAN_FN] = { "fn", "fn:FUNCTION", 1, true, true, true, false },
	[SPAN_UPROBE] = { "uprobe", "uprobe:FILE:SYMBOL[+OFFSET]", 2, true, true, true, false },
	[SPAN_URETPROBE] = { "uretprobe", "uretprobe:FILE:SYMBOL", 2, false, true, false, false },
	[SPAN_USDT] = { "usdt", "usdt:FILE:PROVIDER:NAME", 3, true, true, false, false },
};

static int refuse(const struct span *span, const struct log *log, const char *why, const char *text)
{
	return log_error(log, -EINVAL, "span %s: '%s': %s", span->name, text, why);
}

static const struct span_row *row_of(const char *text)
{
	for (size_t i = 0; i < SPAN_KINDS; i++) {
		size_t length = strlen(rows[i].name);

		if (!strncmp(text, rows[i].name, length) && text[length] == ':')
			return &rows[i];
	}
	return NULL;
}

/* Finds the two dots before EXIT: paths may contain dots too. */
static char *find_exit(char *text)
{
	char *dots = text;

	while ((dots = strstr(dots, ".."))) {
		if (row_of(dots + 2))
			return dots;
		dots++;
	}
	return NULL;
}

/* Splits NAME/FILTER/ of a tracepoint. */
static int filter_cut(struct span_point *point, const struct span *span, const struct log *log)
{
	char *name = (char *)point->parts[1], *begin = strchr(name, '/');
	int has = filter_has(name);

	if (!has)
		return 0;
	if (has < 0 || begin == name)
		return refuse(span, log,
			      "the filter must stand between two slashes "
			      "(tp:sched:sched_switch/next_prio < 50/)",
			      name);
	*begin = '\0';
	begin[strlen(begin + 1)] = '\0';
	point->filter = begin + 1;
	return 0;
}

static int point_parse(struct span_point *point, const struct span *span, char *text,
		       const struct log *log)
{
	const struct span_row *row = row_of(text);
	char *part;

	if (!row)
		return refuse(
			span, log,
			"must be tp:SYS:NAME[/FILTER/], fn:FUNCTION, uprobe:FILE:SYMBOL[+OFFSET], "
			"uretprobe:FILE:SYMBOL, or usdt:FILE:PROVIDER:NAME",
			text);
	point->kind = (enum span_kind)(row - rows);
	part = text + strlen(row->name) + 1;
	for (int i = 0; i < row->parts; i++) {
		/* The last part takes the rest, such as the colons of C++. */
		size_t length = i + 1 < row->parts ? strcspn(part, ":") : strlen(part);

		if (!length || (i + 1 < row->parts && !part[length]))
			return log_error(log, -EINVAL, "span %s: '%s': must be %s", span->name,
					 row->name, row->usage);
		point->parts[i] = part;
		part += length;
		if (*part)
			*part++ = '\0';
	}
	return point->kind == SPAN_TP ? filter_cut(point, span, log) : 0;
}

/* FIELD or argN, for both; or ENTRY's:EXIT's. */
static int by_parse(struct span *span, char *by, const struct log *log)
{
	struct span_point *points[] = { &span->entry, &span->exit };
	char *colon;

	if (!by || !strcmp(by, "thread"))
		return 0;
	span->by = !strcmp(by, "cpu") ? SPAN_BY_CPU : SPAN_BY_ARGUMENT;
	if (span->by == SPAN_BY_CPU)
		return 0;
	colon = strchr(by, ':');
	if (colon)
		*colon = '\0';
	span->entry.argument = by;
	span->exit.argument = colon ? colon + 1 : by;
	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		const char *name = points[i]->argument;
		bool number =
			!strncmp(name, "arg", 3) && name[3] >= '1' && name[3] <= '5' && !name[4];

		if (points[i]->kind == SPAN_URETPROBE)
			return refuse(span, log,
				      "a return has no arguments: use by=thread, or another EXIT",
				      name);
		if (!*name || number == rows[points[i]->kind].fields)
			return refuse(span, log,
				      "by must be thread, cpu, the field of a tracepoint, or arg1 "
				      "to arg5 of a function or usdt (as by=FIELD, or by=dev:arg1 "
				      "where ENTRY's differs from EXIT's)",
				      name);
	}
	return 0;
}

/* Whether entry and exit name the same function. */
static bool is_one_function(const struct span_point *entry, const struct span_point *exit)
{
	if (entry->kind == SPAN_FN && exit->kind == SPAN_FN)
		return !strcmp(entry->parts[0], exit->parts[0]);
	return entry->kind == SPAN_UPROBE && exit->kind == SPAN_URETPROBE &&
	       !strcmp(entry->parts[0], exit->parts[0]) && !strcmp(entry->parts[1], exit->parts[1]);
}

static int points_parse(struct span *span, char *text, const struct log *log)
{
	char *exit = find_exit(text);
	int err;

	if (exit) {
		*exit = '\0';
		exit += 2;
	}
	err = point_parse(&span->entry, span, text, log);
	if (err)
		return err;
	span->whole = !exit && rows[span->entry.kind].whole;
	if (span->whole) {
		span->exit = span->entry;
		if (span->entry.kind == SPAN_UPROBE)
			span->exit.kind = SPAN_URETPROBE;
		return 0;
	}
	if (!exit)
		return refuse(span, log, "has no EXIT (ENTRY..EXIT)", rows[span->entry.kind].name);
	if (!rows[span->entry.kind].is_entry)
		return refuse(span, log, "can only be an EXIT (ENTRY..EXIT)",
			      rows[span->entry.kind].name);
	err = point_parse(&span->exit, span, exit, log);
	if (!err)
		span->whole = is_one_function(&span->entry, &span->exit);
	return err;
}

/* Cuts the options after the points. C++ symbols may contain commas. */
static char *cut_by(char *text)
{
	char *by = NULL;

	for (char *at = text; (at = strstr(at, ",by=")); at++)
		by = at;
	if (!by)
		return NULL;
	*by = '\0';
	return by + strlen(",by=");
}

static bool cut_overrun(char *text)
{
	size_t length = strlen(text), last = strlen(OVERRUN);

	if (length < last || strcmp(text + length - last, OVERRUN))
		return false;
	text[length - last] = '\0';
	return true;
}

int span_parse(struct span *span, const char *text, const struct log *log)
{
	const char *equal = text ? strchr(text, '=') : NULL;
	size_t length = equal ? (size_t)(equal - text) : 0;
	char *by;
	int err;

	*span = (struct span){};
	if (!length || length >= TRIGGER_LABEL_SIZE || strspn(text, NAME_CHARACTERS) != length)
		return log_error(log, -EINVAL,
				 "span '%s': must be NAME=ENTRY..EXIT, with a NAME of at most %d "
				 "letters, digits, - . or _",
				 text ? text : "", TRIGGER_LABEL_SIZE - 1);
	span->name = strndup(text, length);
	span->text = strdup(equal + 1);
	if (!span->name || !span->text) {
		span_destroy(span);
		return -ENOMEM;
	}
	span->overrun = cut_overrun(span->text);
	by = cut_by(span->text);
	err = points_parse(span, span->text, log) ?: by_parse(span, by, log);
	if (err)
		span_destroy(span);
	return err;
}

void span_destroy(struct span *span)
{
	free(span->name);
	free(span->text);
	*span = (struct span){};
}
