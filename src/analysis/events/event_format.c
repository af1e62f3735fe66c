// SPDX-License-Identifier: GPL-2.0-only
#include "events/event_format.h"

#include <ctype.h>
#include <string.h>

#include <event-parse.h>

#include "text.h"

#define NUMBER_MAX 6 /* digits */
/* Maximum size of an event: offsets in it have 16 bits. */
#define RAW_MAX (1 << 16)
#define FORMAT_MAX (64 << 10)

struct event_format {
	struct tep_handle *tep; /* one per format, so that a damaged format affects no other */
	struct tep_event *event;
};

void event_format_free(struct event_format *format)
{
	if (!format)
		return;
	tep_free(format->tep);
	free(format);
}

struct text {
	const char *at, *end;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_word(struct text *text)
{
	while (text->at < text->end && is_word(*text->at))
		text->at++;
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
			skip_word(text);
			words++;
		} else if (*text->at == '[' && words) {
			text->at++;
			skip_word(text);
			if (!skip_text(text, "]"))
				return false;
		} else if (words && (*text->at == ' ' || *text->at == '*')) {
			text->at++;
		} else {
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

/* Whether the part before `print fmt:` has the kernel's layout: a name, an ID, fields. */
static bool head_is_plain(const char *bytes, size_t size)
{
	struct text text = { bytes, bytes + size };

	if (!skip_text(&text, "name: "))
		return false;
	skip_word(&text);
	if (!skip_text(&text, "\nID: ") || !skip_digits(&text) || !skip_text(&text, "\nformat:\n"))
		return false;
	while (text.at < text.end) {
		if (skip_text(&text, "\tfield:") ? !skip_field_line(&text)
						 : !skip_text(&text, "\n"))
			return false;
	}
	return true;
}

static bool field_is_possible(const struct tep_format_field *field)
{
	return field->offset >= 0 && field->size >= 0 && field->offset < RAW_MAX &&
	       field->size < RAW_MAX - field->offset;
}

static bool fields_are_possible(const struct tep_event *event)
{
	const struct tep_format_field *lists[] = { event->format.common_fields,
						   event->format.fields };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const struct tep_format_field *field = lists[i]; field; field = field->next) {
			if (!field_is_possible(field))
				return false;
		}
	}
	return tep_find_common_field((struct tep_event *)event, "common_type");
}

#define PRINT "print fmt:"

/* Size of the part before the print format; 0: none. */
static size_t find_print(const struct perfdata_bytes *text)
{
	const uint8_t *print = memmem(text->data, text->size, "\n" PRINT, strlen("\n" PRINT));

	return print && text->size <= FORMAT_MAX ? (size_t)(print - text->data) + 1 : 0;
}

/* libtraceevent trusts print formats, which nobody needs: it gets an empty one. Returns 0, -EINVAL
 * or -ENOMEM. */
static int parse(struct event_format *format, const struct tracing_data *data,
		 const struct tracing_format *text)
{
	const char *bytes = (const char *)text->text.data;
	size_t head = find_print(&text->text);
	_cleanup_free_ char *copy = NULL;
	int r;

	if (!head || !head_is_plain(bytes, head))
		return -EINVAL;
	copy = strfmt("%.*s" PRINT " \"\"\n", (int)head, bytes);
	format->tep = tep_alloc();
	if (!copy || !format->tep)
		return -ENOMEM;
	tep_set_long_size(format->tep, data->long_size);
	tep_set_page_size(format->tep, 4096);
	r = tep_parse_event(format->tep, copy, strlen(copy), text->system);
	if (r)
		return r == TEP_ERRNO__MEM_ALLOC_FAILED ? -ENOMEM : -EINVAL;
	format->event = tep_get_first_event(format->tep);
	if (!format->event || format->event->flags & TEP_EVENT_FL_FAILED || !format->event->name ||
	    format->event->id < 0 || (uint64_t)format->event->id != text->id ||
	    !fields_are_possible(format->event))
		return -EINVAL;
	return 0;
}

int event_format_new(struct event_format **ret, const struct tracing_data *data,
		     const struct tracing_format *text)
{
	struct event_format *format = calloc(1, sizeof(*format));
	int r;

	if (!format)
		return -ENOMEM;
	/* Otherwise libtraceevent prints warnings on stderr. */
	tep_set_loglevel(TEP_LOG_NONE);
	r = parse(format, data, text);
	if (r)
		event_format_free(format);
	else
		*ret = format;
	return r;
}

const char *event_format_name(const struct event_format *format)
{
	return format->event->name;
}

static bool is_inside(const struct perfdata_bytes *raw, uint64_t offset, uint64_t size)
{
	return offset <= raw->size && size <= raw->size - offset;
}

static bool read_number(const struct tep_format_field *field, const struct perfdata_bytes *raw,
			uint64_t *value)
{
	unsigned int bits = 8 * (unsigned int)field->size;

	if (field->size > 8 || (field->size & (field->size - 1)) || !field->size ||
	    !is_inside(raw, (uint64_t)field->offset, (uint64_t)field->size))
		return false;
	*value = tep_read_number(field->event->tep, raw->data + field->offset, field->size);
	if (field->flags & TEP_FIELD_IS_SIGNED && bits < 64 && *value >> (bits - 1))
		*value |= UINT64_MAX << bits;
	return true;
}

bool event_format_number(const struct event_format *format, const struct perfdata_bytes *raw,
			 const char *name, uint64_t *value)
{
	const struct tep_format_field *field = tep_find_any_field(format->event, name);

	return field && !(field->flags & TEP_FIELD_IS_ARRAY) && read_number(field, raw, value);
}

/* Finds the bytes of an array. The field of a dynamic array has offset and size. */
static bool find_array(const struct tep_format_field *field, const struct perfdata_bytes *raw,
		       uint64_t *offset, uint64_t *size)
{
	uint64_t place;

	*offset = (uint64_t)field->offset;
	*size = (uint64_t)field->size;
	if (field->flags & TEP_FIELD_IS_DYNAMIC) {
		if (field->size != 4 || !read_number(field, raw, &place))
			return false;
		if (!(field->flags & TEP_FIELD_IS_RELATIVE))
			*offset = 0;
		else
			*offset += *size;
		*offset += place & 0xffff;
		*size = place >> 16 & 0xffff;
	}
	return is_inside(raw, *offset, *size);
}

bool event_format_text(const struct event_format *format, const struct perfdata_bytes *raw,
		       const char *name, char *text, size_t size)
{
	const struct tep_format_field *field = tep_find_any_field(format->event, name);
	uint64_t offset, length;

	text[0] = '\0';
	if (!field || !(field->flags & TEP_FIELD_IS_ARRAY) ||
	    !find_array(field, raw, &offset, &length))
		return false;
	snprintf(text, size, "%.*s", (int)length, (const char *)raw->data + offset);
	return true;
}

/* Its words are of the recorded machine, whose byte order is that of this one: little-endian. */
bool event_format_cpu(const struct event_format *format, const struct perfdata_bytes *raw,
		      const char *name, int cpu, bool *is_set)
{
	const struct tep_format_field *field = tep_find_any_field(format->event, name);
	uint64_t offset, size;

	if (!field || !(field->flags & TEP_FIELD_IS_DYNAMIC) || cpu < 0 ||
	    !find_array(field, raw, &offset, &size))
		return false;
	*is_set = (uint64_t)cpu / 8 < size &&
		  raw->data[offset + (unsigned int)cpu / 8] >> cpu % 8 & 1;
	return true;
}
