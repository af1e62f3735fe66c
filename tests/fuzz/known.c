// SPDX-License-Identifier: GPL-2.0-only
#include "causes/causes.h"

#include <string.h>

#include "fuzz.h"
#include "text.h"

/* One line, as a terminal may show it. */
static void check_why(const char *why)
{
	_cleanup_free_ char *copy = why ? strdup(why) : NULL;

	must(copy && *copy && !strcmp(text_make_printable(copy), why));
}

/* Causes that were read are written, and read again. */
static void check_again(const struct known *known)
{
	const struct causes none = { 0 };
	_cleanup_(known_causes_release) struct known again = { 0 };
	_cleanup_free_ char *why = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);

	must(file && !known_causes_write(file, known, &none) && !fclose(file));
	/* Escapes may make it larger than the input. */
	if (known_causes_parse(&again, text, size, &why)) {
		must(size > (1 << 20));
		return;
	}
	must(again.nr == known->nr && again.nr_patterns == known->nr_patterns);
	for (size_t i = 0; i < again.nr; i++)
		must(!strcmp(again.causes[i].name, known->causes[i].name));
}

int fuzz_one(const uint8_t *data, size_t size)
{
	_cleanup_(known_causes_release) struct known known = { 0 };
	_cleanup_free_ char *why = NULL;
	/* As read from a file: followed by a NUL. */
	_cleanup_free_ char *text = malloc(size + 1);
	int r;

	must(text);
	memcpy(text, data, size);
	text[size] = '\0';
	r = known_causes_parse(&known, text, size, &why);
	if (r)
		check_why(why);
	else
		check_again(&known);
	return r;
}
