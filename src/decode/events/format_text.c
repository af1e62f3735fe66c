// SPDX-License-Identifier: GPL-2.0-only
#include "events/format_text.h"

#include <ctype.h>
#include <string.h>

#include "util.h"

/* The longest format of Linux 6.18 has about 6 KiB. For any accepted text of 16 KiB libtraceevent
 * needs less than 2 MiB of stack. */
#define SIZE_MAX_PLAIN (16 << 10)
#define DEPTH_MAX 64
#define UNARY_MAX 2
#define CONVERSION_MAX 10
#define DIGITS_MAX 4
#define NUMBER_MAX 6

struct text {
	const char *at, *end;
};

struct fields {
	format_text_field *has;
	const void *context;
};

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static void skip_spaces(struct text *text)
{
	while (text->at < text->end && isspace((unsigned char)*text->at))
		text->at++;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_called(const struct text *word, const char *name)
{
	size_t length = (size_t)(word->end - word->at);

	return strlen(name) == length && !memcmp(word->at, name, length);
}

static bool is_one_of_names(const struct text *word, const char *const *names, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (is_called(word, names[i]))
			return true;
	}
	return false;
}

static struct text take_word(struct text *text)
{
	struct text word = { text->at, text->at };

	while (text->at < text->end && is_word(*text->at))
		text->at++;
	word.end = text->at;
	return word;
}

static bool skip_text(struct text *text, const char *expected)
{
	size_t length = strlen(expected);

	if ((size_t)(text->end - text->at) < length || memcmp(text->at, expected, length))
		return false;
	text->at += length;
	return true;
}

static bool skip_digits(struct text *text)
{
	const char *begin = text->at;

	while (text->at < text->end && isdigit((unsigned char)*text->at))
		text->at++;
	return text->at > begin && text->at - begin <= NUMBER_MAX;
}

/* Such as `unsigned int vec`, `char comm[16]`, `__data_loc char[] name`: a type and a name. */
static bool skip_declaration(struct text *text)
{
	unsigned int words = 0;

	while (text->at < text->end && *text->at != ';') {
		if (is_word(*text->at)) {
			take_word(text);
			words++;
		} else if (*text->at == '[' && words) {
			text->at++;
			take_word(text);
			if (!skip_text(text, "]"))
				return false;
		} else if (!is_one_of(*text->at++, " *") || !words) {
			return false;
		}
	}
	return words >= 2;
}

static bool skip_field_line(struct text *text)
{
	return skip_declaration(text) && skip_text(text, ";\toffset:") && skip_digits(text) &&
	       skip_text(text, ";\tsize:") && skip_digits(text) && skip_text(text, ";") &&
	       (!skip_text(text, "\tsigned:") || (skip_digits(text) && skip_text(text, ";"))) &&
	       skip_text(text, "\n");
}

bool format_text_head_is_plain(const char *bytes, size_t size)
{
	struct text text = { bytes, bytes + size };

	if (!skip_text(&text, "name: "))
		return false;
	take_word(&text);
	if (!skip_text(&text, "\nID: ") || !skip_digits(&text) || !skip_text(&text, "\nformat:\n"))
		return false;
	while (text.at < text.end) {
		if (skip_text(&text, "\tfield:") ? !skip_field_line(&text)
						 : !skip_text(&text, "\n"))
			return false;
	}
	return true;
}

/* After the `%`: numbers, strings, pointers, function names; no width from a field. */
static bool skip_conversion(struct text *text)
{
	const char *begin = text->at;
	int digits = 0;

	while (text->at < text->end && is_one_of(*text->at, "0123456789.-+#hlLzZ"))
		digits += !!isdigit((unsigned char)*text->at++);
	if (text->at == text->end || text->at - begin > CONVERSION_MAX || digits > DIGITS_MAX)
		return false;
	if (*text->at == '%')
		return text->at++ == begin;
	if (*text->at != 'p')
		return is_one_of(*text->at++, "cdiouxXs");
	text->at++;
	if (text->at < text->end && isalnum((unsigned char)*text->at))
		return is_one_of(*text->at++, "sSfFiIMmU");
	return true;
}

/* Includes the quotes. */
static bool skip_string(struct text *text, bool is_format)
{
	if (text->at == text->end || *text->at != '"')
		return false;
	text->at++;
	while (text->at < text->end && *text->at != '"') {
		char c = *text->at++;

		if (!c || (c == '\\' && text->at++ == text->end))
			return false;
		if (c == '%' && is_format && !skip_conversion(text))
			return false;
	}
	if (text->at >= text->end)
		return false;
	text->at++;
	return true;
}

/* REC and __get_str are followed by a field, which must exist. */
static bool skip_field(struct text *text, const char *before, const struct fields *fields)
{
	struct text word;

	for (; *before; before++) {
		skip_spaces(text);
		if (text->at == text->end || *text->at++ != *before)
			return false;
	}
	skip_spaces(text);
	word = take_word(text);
	return fields->has(fields->context, word.at, (size_t)(word.end - word.at));
}

/* Accepts only harmless functions and names with two leading underscores. libtraceevent joins words
 * such as `unsigned long`, so `long REC` is no field. */
static bool skip_word(struct text *text, const struct fields *fields, unsigned int *depth,
		      bool after_word)
{
	static const char *const functions[] = { "__print_flags", "__print_symbolic" };
	static const char *const types[] = { "__u8", "__u16", "__u32", "__u64",
					     "__s8", "__s16", "__s32", "__s64" };
	struct text word = take_word(text);
	bool is_macro = word.end - word.at > 1 && !memcmp(word.at, "__", 2);

	skip_spaces(text);
	if (is_called(&word, "REC"))
		return !after_word && skip_field(text, "->", fields);
	if (is_called(&word, "__get_str")) {
		++*depth;
		return !after_word && skip_field(text, "(", fields);
	}
	if (text->at < text->end && *text->at == '(')
		return !after_word && is_one_of_names(&word, functions, ARRAY_SIZE(functions));
	return !is_macro || is_one_of_names(&word, types, ARRAY_SIZE(types));
}

static bool skip_operator(struct text *text, unsigned int *depth)
{
	char c = *text->at++;

	if ((c == ')' && !*depth) || (c == '-' && text->at < text->end && *text->at == '>'))
		return false;
	*depth = *depth + (c == '(') - (c == ')');
	return is_one_of(c, "()+-*|&^<>=?:,{}!~") && *depth <= DEPTH_MAX;
}

static bool skip_arguments(struct text *text, const struct fields *fields)
{
	unsigned int depth = 0, unary = 0;
	bool after_word = false;

	for (skip_spaces(text); text->at < text->end; skip_spaces(text)) {
		char c = *text->at;
		bool is_plain = c == '"'     ? skip_string(text, false)
				: is_word(c) ? skip_word(text, fields, &depth, after_word)
					     : skip_operator(text, &depth);

		after_word = is_word(c);
		unary = is_one_of(c, "!~") ? unary + 1 : 0;
		if (!is_plain || unary > UNARY_MAX)
			return false;
	}
	return !depth;
}

bool format_text_print_is_plain(const char *bytes, size_t size, format_text_field *has_field,
				const void *context)
{
	struct fields fields = { has_field, context };
	struct text text = { bytes, bytes + size };

	if (size > SIZE_MAX_PLAIN)
		return false;
	for (skip_spaces(&text); text.at < text.end && *text.at == '"'; skip_spaces(&text)) {
		if (!skip_string(&text, true))
			return false;
	}
	if (text.at < text.end && *text.at != ',')
		return false;
	return skip_arguments(&text, &fields);
}
