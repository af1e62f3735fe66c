// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_facts.h"

#include <string.h>

#include "fuzz.h"
#include "printable.h"

/* One line, as a terminal may show it. */
static bool is_plain(const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	return copy && *text && !strcmp(printable(copy), text);
}

/* The invariants that reports rely on. */
static void check_facts(const struct capture_file *file)
{
	struct facts facts;

	if (capture_facts(&facts, file))
		return;
	if (facts.expected_ns > facts.actual_ns || facts.actual_ns > facts.time_ns ||
	    (*facts.comm && !is_plain(facts.comm)) ||
	    (*facts.function && !is_plain(facts.function)))
		abort();
}

/* What is drawn. */
static void check_statistics(const char *text, size_t size)
{
	_cleanup_free_ char *why = NULL;
	struct statistics statistics;
	int r = capture_file_parse_statistics(&statistics, text, size, &why);

	if (r ? !why || !is_plain(why) : why || statistics.nr > STATISTICS_ROWS_MAX)
		abort();
	for (size_t i = 0; i < statistics.nr; i++) {
		if (statistics.rows[i].high_ns <= statistics.rows[i].low_ns ||
		    (i && statistics.rows[i].low_ns < statistics.rows[i - 1].high_ns))
			abort();
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	/* As read from a file: followed by a NUL. */
	_cleanup_free_ char *text = malloc(size + 1);
	_cleanup_free_ char *why = NULL;
	struct capture_file file;
	int r;

	if (!text)
		return -ENOMEM;
	memcpy(text, data, size);
	text[size] = '\0';
	r = capture_file_parse(&file, text, size, &why);
	if (r ? !why || !is_plain(why) : why || file.view.cpu < -1)
		abort();
	if (!r)
		check_facts(&file);
	check_statistics(text, size);
	return r;
}
