// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/pt/pt.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "machine/base.h"
#include "util.h"

#define ANY -1
#define GLOBAL 0 /* #g; perf accepts #0 too */
#define USAGE "filter SYMBOL [/ SIZE] (see man perf-record)"

/* An address or a symbol. */
struct place {
	char *symbol; /* NULL: a number */
	uint64_t number;
	int index; /* the n-th of that name, from 1; or ANY, GLOBAL */
};

/* of pt_event_addr_filters_validate() in the kernel */
#define NO_TRIGGERS                                                                                \
	"Intel PT has neither start nor stop at an address: use filter or tracestop with a range"

struct filter {
	const char *text; /* as the user wrote it */
	int len;
	const char *action; /* the kernel's word */
	bool has_end, needs_end;
	struct place begin, end; /* a number as end is a size */
	uint64_t address, size;
	const struct log *log;
};

static void filter_close(struct filter *filter)
{
	free(filter->begin.symbol);
	free(filter->end.symbol);
}

_printf_(3, 4) static int filter_log_error(const struct filter *filter, int err, const char *format,
					   ...)
{
	char why[1024];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	return log_error(filter->log, err, "address filter '%.*s': %s", filter->len, filter->text,
			 why);
}

static void skip_characters(const char **at, const char *accept)
{
	*at += strspn(*at, accept);
}

static char *take_filter_word(const char **at, const char *end)
{
	size_t len = strcspn(*at, end);
	char *word = strndup(*at, len);

	*at += len;
	return word;
}

static int filter_parse_place(const struct filter *filter, const char **at, struct place *place)
{
	unsigned long number;
	char *end;

	skip_characters(at, " ");
	errno = 0;
	if (isdigit(**at)) {
		place->number = strtoull(*at, &end, 0);
		if (errno || (*end && !strchr(" ,/@", *end)))
			return filter_log_error(filter, -EINVAL, "'%.*s' is not a number",
						(int)strcspn(*at, " ,/@"), *at);
		*at = end;
		return 0;
	}
	place->symbol = take_filter_word(at, " ,/@#");
	if (!place->symbol)
		return -ENOMEM;
	if (!*place->symbol)
		return filter_log_error(filter, -EINVAL,
					"a symbol or address is missing: use " USAGE);
	place->index = ANY;
	skip_characters(at, " ");
	if (**at != '#')
		return 0;
	++*at;
	skip_characters(at, " ");
	if (**at == 'g' || **at == 'G') {
		++*at;
		place->index = GLOBAL;
		return 0;
	}
	errno = 0;
	number = strtoul(*at, &end, 0);
	if (!isdigit(**at) || errno || number > INT_MAX)
		return filter_log_error(
			filter, -EINVAL,
			"# must be followed by a number, as in #1, or by g (the global one)");
	*at = end;
	place->index = number;
	return 0;
}

static int filter_parse_text(struct filter *filter, const char **at)
{
	_cleanup_free_ char *word = NULL;
	int err;

	/* All of the rest, until the end of this filter is known. */
	filter->text = *at;
	filter->len = strlen(*at);
	word = take_filter_word(at, " ,/@#");
	if (!word)
		return -ENOMEM;
	if (!strcmp(word, "start"))
		return filter_log_error(filter, -EINVAL, NO_TRIGGERS);
	if (strcmp(word, "filter") && strcmp(word, "tracestop") && strcmp(word, "stop"))
		return filter_log_error(
			filter, -EINVAL,
			"'%s' is none of filter, tracestop, stop (see man perf-record)", word);
	/* The kernel calls perf's tracestop a stop with a range. */
	filter->action = *word == 'f' ? "filter" : "stop";
	filter->needs_end = !strcmp(word, "stop");
	err = filter_parse_place(filter, at, &filter->begin);
	skip_characters(at, " ");
	if (!err && **at == '/') {
		++*at;
		filter->has_end = true;
		err = filter_parse_place(filter, at, &filter->end);
		skip_characters(at, " ");
	}
	if (err)
		return err;
	if (**at == '@')
		return filter_log_error(
			filter, -EINVAL,
			"@: the kernel filters by a FILE for events of one task only, and "
			"these are events of CPUs: use kernel symbols");
	if (filter->needs_end && !filter->has_end)
		return filter_log_error(filter, -EINVAL, NO_TRIGGERS);
	filter->len = *at - filter->text;
	while (filter->len && filter->text[filter->len - 1] == ' ')
		filter->len--;
	return 0;
}

/* Lists the first few. */
static int filter_log_ambiguous(const struct filter *filter, const char *name,
				const struct symbol_range *ranges, size_t nr)
{
	char list[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < nr && i < 5; i++)
		len += snprintf(list + len, sizeof(list) - len, "%s#%zu (%#" PRIx64 ")",
				i ? ", " : "", i + 1, ranges[i].start);
	return filter_log_error(filter, -EINVAL, "%zu functions are named '%s': append one of %s%s",
				nr, name, list, nr > 5 ? ", ..." : "");
}

static int filter_choose_range(const struct filter *filter, const struct place *place,
			       const struct symbol_range *ranges, size_t nr,
			       struct symbol_range *range)
{
	size_t globals = 0;

	if (place->index > 0) {
		if ((size_t)place->index > nr)
			return filter_log_error(
				filter, -ENOENT,
				"there is no '%s' #%d: use a number from #1 to #%zu", place->symbol,
				place->index, nr);
		*range = ranges[place->index - 1];
		return 0;
	}
	if (place->index == ANY) {
		*range = ranges[0];
		return nr == 1 ? 0 : filter_log_ambiguous(filter, place->symbol, ranges, nr);
	}
	for (size_t i = 0; i < nr; i++) {
		if (ranges[i].global && !globals++)
			*range = ranges[i];
	}
	if (!globals)
		return filter_log_error(filter, -ENOENT, "no function '%s' is global: use #1%s",
					place->symbol, nr > 1 ? " or another number" : "");
	return globals == 1 ? 0 : filter_log_ambiguous(filter, place->symbol, ranges, nr);
}

static int filter_log_not_found(const struct filter *filter, const char *name, int err)
{
	if (err == -ENOMEM)
		return err;
	if (err == -ENOENT)
		return filter_log_error(
			filter, err, "the kernel has no function '%s' (see /proc/kallsyms)", name);
	return filter_log_error(filter, err, "%s", kallsyms_strerror(err));
}

static int filter_find_range(const struct filter *filter, const struct place *place,
			     struct symbol_range *range)
{
	_cleanup_free_ struct symbol_range *ranges = NULL;
	size_t nr;
	int err;

	err = kallsyms_ranges(place->symbol, &ranges, &nr);
	if (err)
		return filter_log_not_found(filter, place->symbol, err);
	return filter_choose_range(filter, place, ranges, nr, range);
}

/* As in perf, a function as the end is part of the range. */
static int filter_resolve_end(struct filter *filter)
{
	struct symbol_range range;
	int err;

	if (!filter->end.symbol) {
		filter->size = filter->end.number;
		return 0;
	}
	err = filter_find_range(filter, &filter->end, &range);
	if (err)
		return err;
	if (range.start < filter->address && range.start + range.size <= filter->address)
		return filter_log_error(filter, -EINVAL,
					"the end '%s' (%#" PRIx64
					") is before the beginning (%#" PRIx64 "): swap them",
					filter->end.symbol, range.start, filter->address);
	filter->size = range.size ? range.start + range.size - filter->address : 0;
	return 0;
}

static int filter_resolve_range(struct filter *filter)
{
	struct symbol_range range = {};
	int err;

	range.start = filter->begin.number;
	if (filter->begin.symbol && !strcmp(filter->begin.symbol, "*")) {
		/* The whole kernel. */
		if (filter->has_end)
			return filter_log_error(filter, -EINVAL,
						"* is the whole kernel and takes no size");
		err = kallsyms_whole(&range);
		if (err)
			return filter_log_not_found(filter, "*", err);
	} else if (filter->begin.symbol) {
		err = filter_find_range(filter, &filter->begin, &range);
		if (err)
			return err;
	}
	filter->address = range.start;
	filter->size = range.size;
	if (filter->has_end) {
		err = filter_resolve_end(filter);
		if (err)
			return err;
	}
	if (!filter->size)
		return filter_log_error(filter, -EINVAL,
					"the range has no size: append / SIZE, not 0");
	return 0;
}

static int filter_append_text(const struct filter *filter, char **resolved)
{
	_cleanup_free_ char *before = TAKE_PTR(*resolved);
	int len = asprintf(resolved, "%s%s%s 0x%" PRIx64 "/%#" PRIx64, before ?: "",
			   before ? "," : "", filter->action, filter->address, filter->size);

	if (len >= 0)
		return 0;
	*resolved = NULL;
	return -ENOMEM;
}

int addr_filter_resolve(char **ret, const char *text, unsigned int max, const struct log *log)
{
	_cleanup_free_ char *resolved = NULL;
	const char *at = text;
	int err;

	skip_characters(&at, " ,");
	if (!*at)
		return log_error(log, -EINVAL, "address filter '%s': empty: use " USAGE, text);
	for (unsigned int nr = 1; *at; nr++) {
		_cleanup_(filter_close) struct filter filter = { .log = log };

		err = filter_parse_text(&filter, &at);
		if (!err && nr > max)
			err = filter_log_error(
				&filter, -EINVAL,
				max ? "the PMU has %u address ranges: remove this filter and "
				      "those after it"
				    : "the PMU has %u address ranges: this CPU cannot filter",
				max);
		if (!err)
			err = filter_resolve_range(&filter);
		if (!err)
			err = filter_append_text(&filter, &resolved);
		if (err)
			return err;
		skip_characters(&at, " ,");
	}
	*ret = TAKE_PTR(resolved);
	return 0;
}

const char *addr_filter_unsupported(const char *resolved)
{
	if (strstr(resolved, "stop "))
		return "tracestop is not supported here: use filter";
	return "not supported here: use filter with ranges of the kernel";
}
