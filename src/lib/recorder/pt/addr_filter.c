// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/pt/addr_filter.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "base/elf_symbols.h"
#include "base/kallsyms.h"
#include "util.h"

#define ANY -1
#define GLOBAL 0 /* #g; perf takes #0 for it too */

/* A number or a symbol. */
struct place {
	char *symbol; /* NULL: a number */
	uint64_t number;
	int index; /* the n'th of that name, from 1; or ANY, GLOBAL */
};

struct filter {
	const char *text; /* as it was written */
	int len;
	const char *action; /* the kernel's word */
	bool needs_size, has_end;
	struct place begin, end; /* the end is a size if it is a number */
	char *file;		 /* NULL: the kernel's addresses */
	uint64_t address, size;
	const struct log *log;
};

static void filter_close(struct filter *filter)
{
	free(filter->begin.symbol);
	free(filter->end.symbol);
	free(filter->file);
}

_printf_(3, 4) static int fail(const struct filter *filter, int err, const char *format, ...)
{
	_cleanup_free_ char *why = NULL;
	va_list ap;
	int len;

	va_start(ap, format);
	len = vasprintf(&why, format, ap);
	va_end(ap);
	if (len < 0) {
		why = NULL;
		return -ENOMEM;
	}
	return log_error(filter->log, err, "address filter '%.*s': %s", filter->len, filter->text,
			 why);
}

static void skip(const char **at, const char *accept)
{
	*at += strspn(*at, accept);
}

static char *take_word(const char **at, const char *end)
{
	size_t len = strcspn(*at, end);
	char *word = strndup(*at, len);

	*at += len;
	return word;
}

static int parse_index(const struct filter *filter, const char **at, int *index)
{
	unsigned long number;
	char *end;

	*index = ANY;
	skip(at, " ");
	if (**at != '#')
		return 0;
	++*at;
	skip(at, " ");
	if (**at == 'g' || **at == 'G') {
		++*at;
		*index = GLOBAL;
		return 0;
	}
	errno = 0;
	number = strtoul(*at, &end, 0);
	if (!isdigit(**at) || errno || number > INT_MAX)
		return fail(filter, -EINVAL, "# needs a number, as in #1, or g for the global one");
	*at = end;
	*index = number;
	return 0;
}

static int parse_place(const struct filter *filter, const char **at, struct place *place)
{
	char *end;

	skip(at, " ");
	if (isdigit(**at)) {
		errno = 0;
		place->number = strtoull(*at, &end, 0);
		if (errno || (*end && !strchr(" ,/@", *end)))
			return fail(filter, -EINVAL, "'%.*s' is not a number",
				    (int)strcspn(*at, " ,/@"), *at);
		*at = end;
		return 0;
	}
	place->symbol = take_word(at, " ,/@#");
	if (!place->symbol)
		return -ENOMEM;
	if (!*place->symbol)
		return fail(filter, -EINVAL,
			    "a symbol or number is missing (it is filter SYMBOL [/ SIZE] [@ FILE], "
			    "see man perf-record)");
	return parse_index(filter, at, &place->index);
}

static const struct action {
	const char *name, *kernel;
	bool needs_size;
} actions[] = {
	{ "filter", "filter", true },
	{ "start", "start", false },
	{ "stop", "stop", false },
	{ "tracestop", "stop", true },
};

static int parse_action(struct filter *filter, const char **at)
{
	_cleanup_free_ char *word = take_word(at, " ,/@#");

	if (!word)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(word, actions[i].name))
			continue;
		filter->action = actions[i].kernel;
		filter->needs_size = actions[i].needs_size;
		return 0;
	}
	return fail(filter, -EINVAL,
		    "'%s' is none of filter, tracestop, start, stop (see man perf-record)", word);
}

static int parse_file(struct filter *filter, const char **at)
{
	++*at;
	skip(at, " ");
	filter->file = take_word(at, " ,");
	if (!filter->file)
		return -ENOMEM;
	return *filter->file ? 0 : fail(filter, -EINVAL, "a file name is missing behind @");
}

static int parse(struct filter *filter, const char **at)
{
	int err;

	/* All that follows, until it is known where this one ends. */
	filter->text = *at;
	filter->len = strlen(*at);
	err = parse_action(filter, at);
	if (!err)
		err = parse_place(filter, at, &filter->begin);
	skip(at, " ");
	if (!err && **at == '/') {
		++*at;
		filter->has_end = true;
		err = parse_place(filter, at, &filter->end);
		skip(at, " ");
	}
	if (!err && **at == '@')
		err = parse_file(filter, at);
	if (err)
		return err;
	filter->len = *at - filter->text;
	while (filter->len && filter->text[filter->len - 1] == ' ')
		filter->len--;
	return 0;
}

/* Says which there are, the first few. */
static int fail_ambiguous(const struct filter *filter, const char *name,
			  const struct symbol_range *ranges, size_t nr)
{
	char list[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < nr && i < 5; i++)
		len += snprintf(list + len, sizeof(list) - len, "%s#%zu (%#" PRIx64 ")",
				i ? ", " : "", i + 1, ranges[i].start);
	return fail(filter, -EINVAL, "%zu functions are called '%s': use %s%s behind the name", nr,
		    name, list, nr > 5 ? ", ..." : "");
}

static int choose(const struct filter *filter, const struct place *place,
		  const struct symbol_range *ranges, size_t nr, struct symbol_range *range)
{
	size_t globals = 0;

	if (place->index > 0) {
		if ((size_t)place->index > nr)
			return fail(filter, -ENOENT,
				    "there is no '%s' #%d: use a number from #1 to #%zu",
				    place->symbol, place->index, nr);
		*range = ranges[place->index - 1];
		return 0;
	}
	if (place->index == ANY) {
		*range = ranges[0];
		return nr == 1 ? 0 : fail_ambiguous(filter, place->symbol, ranges, nr);
	}
	for (size_t i = 0; i < nr; i++) {
		if (ranges[i].global && !globals++)
			*range = ranges[i];
	}
	if (!globals)
		return fail(filter, -ENOENT, "no function '%s' is global: use #1%s", place->symbol,
			    nr > 1 ? " or another number" : "");
	return globals == 1 ? 0 : fail_ambiguous(filter, place->symbol, ranges, nr);
}

static int fail_find(const struct filter *filter, const char *name, int err)
{
	if (err == -ENOMEM)
		return err;
	if (filter->file && err == -ENOEXEC)
		return fail(filter, -EINVAL, "%s is not a program or shared library (ELF)",
			    filter->file);
	if (filter->file && err == -ENOENT)
		return fail(filter, err,
			    "%s has no function '%s' in its symbol table: use an offset in the "
			    "file and a size (readelf -sW shows what there is)",
			    filter->file, name);
	if (filter->file)
		return fail(filter, err, "cannot read %s: %s", filter->file, strerror(-err));
	if (err == -ENOENT)
		return fail(filter, err,
			    "the kernel has no function '%s' (/proc/kallsyms shows them)", name);
	if (err == -EPERM)
		return fail(filter, err,
			    "the kernel hides its addresses: needs CAP_SYSLOG, and "
			    "kernel.kptr_restrict below 2");
	return fail(filter, err, "cannot read /proc/kallsyms: %s", strerror(-err));
}

static int find(const struct filter *filter, const struct place *place, struct symbol_range *range)
{
	_cleanup_free_ struct symbol_range *ranges = NULL;
	size_t nr;
	int err;

	if (filter->file)
		err = elf_symbols_ranges(filter->file, place->symbol, &ranges, &nr);
	else
		err = kallsyms_ranges(place->symbol, &ranges, &nr);
	if (err)
		return fail_find(filter, place->symbol, err);
	return choose(filter, place, ranges, nr, range);
}

/* The symbol `*`: all of the kernel, or of the file. */
static int resolve_whole(struct filter *filter)
{
	struct symbol_range range = {};
	struct stat st;
	int err;

	if (filter->has_end)
		return fail(filter, -EINVAL, "* is everything and takes no size");
	if (filter->file) {
		err = stat(filter->file, &st) ? -errno : 0;
		if (err)
			return fail(filter, err, "cannot read %s: %s", filter->file,
				    strerror(-err));
		range.size = st.st_size;
	} else {
		err = kallsyms_whole(&range);
		if (err)
			return fail_find(filter, "*", err);
	}
	filter->address = range.start;
	filter->size = range.size;
	return 0;
}

/* A symbol for the end is within the range, as perf has it. */
static int resolve_end(struct filter *filter)
{
	struct symbol_range range;
	int err;

	if (!filter->end.symbol) {
		filter->size = filter->end.number;
		return 0;
	}
	err = find(filter, &filter->end, &range);
	if (err)
		return err;
	if (range.start < filter->address && range.start + range.size <= filter->address)
		return fail(filter, -EINVAL,
			    "'%s' (%#" PRIx64 ") comes before the beginning (%#" PRIx64
			    "): change their order",
			    filter->end.symbol, range.start, filter->address);
	filter->size = range.size ? range.start + range.size - filter->address : 0;
	return 0;
}

static int resolve(struct filter *filter)
{
	struct symbol_range range = {};
	int err;

	if (filter->begin.symbol && !strcmp(filter->begin.symbol, "*"))
		return resolve_whole(filter);
	range.start = filter->begin.number;
	if (filter->begin.symbol) {
		err = find(filter, &filter->begin, &range);
		if (err)
			return err;
	}
	filter->address = range.start;
	if (filter->needs_size)
		filter->size = range.size;
	if (filter->has_end) {
		err = resolve_end(filter);
		if (err)
			return err;
	}
	if (!filter->size && (filter->needs_size || filter->has_end))
		return fail(filter, -EINVAL,
			    "how large the range is does not follow: add / SIZE, not 0");
	return 0;
}

static int append(const struct filter *filter, char **resolved)
{
	_cleanup_free_ char *before = TAKE_PTR(*resolved), *file = NULL;
	char size[32] = "";
	int len;

	if (filter->file) {
		file = realpath(filter->file, NULL);
		if (!file)
			return fail(filter, -errno, "cannot read %s: %s", filter->file,
				    strerror(errno));
		/* The kernel has no way to quote them. */
		if (strpbrk(file, " ,\n"))
			return fail(filter, -EINVAL,
				    "the kernel takes no spaces or commas in a file name: %s",
				    file);
	}
	if (filter->size)
		snprintf(size, sizeof(size), "/%#" PRIx64, filter->size);
	len = asprintf(resolved, "%s%s%s 0x%" PRIx64 "%s%s%s", before ?: "", before ? "," : "",
		       filter->action, filter->address, size, file ? "@" : "", file ?: "");
	if (len >= 0)
		return 0;
	*resolved = NULL;
	return -ENOMEM;
}

static int resolve_one(const char **at, unsigned int nr, unsigned int max, char **resolved,
		       const struct log *log)
{
	_cleanup_(filter_close) struct filter filter = { .log = log };
	int err = parse(&filter, at);

	if (!err && nr > max)
		err = fail(&filter, -EINVAL,
			   max ? "the PMU has %u address ranges: leave out this one and those "
				 "behind it"
			       : "the PMU has %u address ranges: this CPU cannot filter, record "
				 "without",
			   max);
	if (!err)
		err = resolve(&filter);
	return err ?: append(&filter, resolved);
}

int addr_filter_resolve(char **ret, const char *text, unsigned int max, const struct log *log)
{
	_cleanup_free_ char *resolved = NULL;
	const char *at = text;
	int err;

	skip(&at, " ,");
	if (!*at)
		return log_error(log, -EINVAL,
				 "address filter '%s': empty (it is filter SYMBOL [/ SIZE] "
				 "[@ FILE], see man perf-record)",
				 text);
	for (unsigned int nr = 1; *at; nr++) {
		err = resolve_one(&at, nr, max, &resolved, log);
		if (err)
			return err;
		skip(&at, " ,");
	}
	*ret = TAKE_PTR(resolved);
	return 0;
}

const char *addr_filter_unsupported(const char *resolved)
{
	const char *stop = strstr(resolved, "stop ");

	if (strchr(resolved, '@'))
		return "the kernel filters by a FILE for events of one task only, and these are of "
		       "CPUs: use kernel symbols";
	if (strstr(resolved, "start ") || (stop && stop[strcspn(stop, "/,")] != '/'))
		return "Intel PT has neither start nor stop at an address: use filter, or "
		       "tracestop, with a range";
	if (stop)
		return "tracestop is not supported here: use filter";
	return "not supported here: use filter with ranges of the kernel";
}
