// SPDX-License-Identifier: GPL-2.0-only
#include "capture_facts.h"

#include <string.h>

#include "fuzz.h"

/* What a report builds on. */
static void check_facts(const struct capture_file *file)
{
	struct facts facts;

	if (capture_facts(&facts, file))
		return;
	if (facts.expected_ns > facts.actual_ns || facts.actual_ns > facts.time_ns ||
	    strpbrk(facts.comm, "\n\x1b") || strpbrk(facts.function, "\n\x1b"))
		abort();
}

/* What is drawn. */
static void check_statistics(const char *text, size_t size)
{
	_cleanup_free_ char *why = NULL;
	struct statistics statistics;
	int r = capture_file_parse_statistics(&statistics, text, size, &why);

	if (r ? !why || strchr(why, '\n') : why || statistics.nr > STATISTICS_ROWS_MAX)
		abort();
	for (size_t i = 0; i < statistics.nr; i++) {
		if (statistics.rows[i].high_ns <= statistics.rows[i].low_ns ||
		    (i && statistics.rows[i].low_ns < statistics.rows[i - 1].high_ns))
			abort();
	}
}

int fuzz_one(const uint8_t *data, size_t size)
{
	/* As it is read from a file: with a NUL behind it. */
	_cleanup_free_ char *text = malloc(size + 1);
	_cleanup_free_ char *why = NULL;
	struct capture_file file;
	int r;

	if (!text)
		return -ENOMEM;
	memcpy(text, data, size);
	text[size] = '\0';
	r = capture_file_parse(&file, text, size, &why);
	/* One clear line. */
	if (r ? !why || !*why || strchr(why, '\n') : why || file.view.cpu < -1)
		abort();
	if (!r)
		check_facts(&file);
	check_statistics(text, size);
	return r;
}
