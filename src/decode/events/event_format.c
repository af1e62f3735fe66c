// SPDX-License-Identifier: GPL-2.0-only
#include "events/event_format.h"

#include <string.h>

#include <event-parse.h>

#include "events/format_text.h"
#include "text.h"

/* Maximum size of an event: offsets in it have 16 bits. */
#define RAW_MAX (1 << 16)
/* libtraceevent may read an event, text that begins at its last byte, and the space after a field
 * that an offset is relative to. */
#define PRINTED_MAX (3 * RAW_MAX)
#define FORMAT_MAX (64 << 10)

struct event_format {
	struct tep_handle *tep; /* one per format, so that a damaged format affects no other */
	struct tep_event *event;
	const struct tracing_data *data;
	event_resolver *resolver;
	void *context;
	bool has_strings; /* of the kernel */
};

void event_format_free(struct event_format *format)
{
	if (!format)
		return;
	tep_free(format->tep);
	free(format);
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

/* Replaces the handle on success only. Returns 0, -EINVAL or -ENOMEM. */
static int parse(struct event_format *format, const struct tracing_format *text, const char *copy)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_event *event;
	int r;

	if (!tep)
		return -ENOMEM;
	tep_set_long_size(tep, format->data->long_size);
	tep_set_page_size(tep, 4096);
	r = tep_parse_event(tep, copy, strlen(copy), text->system);
	event = tep_get_first_event(tep);
	if (r || !event || event->flags & TEP_EVENT_FL_FAILED || !event->name || event->id < 0 ||
	    (uint64_t)event->id != text->id || !fields_are_possible(event)) {
		tep_free(tep);
		return r == TEP_ERRNO__MEM_ALLOC_FAILED ? -ENOMEM : -EINVAL;
	}
	tep_free(format->tep);
	format->tep = tep;
	format->event = event;
	return 0;
}

/* Parses all but the print format, which needs the fields. */
static int parse_fields(struct event_format *format, const struct tracing_format *text, size_t head)
{
	_cleanup_free_ char *copy = NULL;

	if (!head || !format_text_head_is_plain((const char *)text->text.data, head))
		return -EINVAL;
	copy = strfmt("%.*s" PRINT " \"\"\n", (int)head, (const char *)text->text.data);
	return copy ? parse(format, text, copy) : -ENOMEM;
}

static bool has_field(const void *context, const char *name, size_t length)
{
	const struct tep_event *event = context;
	char text[64];

	return (size_t)snprintf(text, sizeof(text), "%.*s", (int)length, name) < sizeof(text) &&
	       tep_find_any_field((struct tep_event *)event, text);
}

/* Omits what cannot be parsed. */
static int parse_print(struct event_format *format, const struct tracing_format *text, size_t head)
{
	const char *bytes = (const char *)text->text.data;
	size_t print = head + strlen(PRINT);
	_cleanup_free_ char *copy = NULL;
	int r;

	if (!format_text_print_is_plain(bytes + print, text->text.size - print, has_field,
					format->event))
		return 0;
	copy = strndup(bytes, text->text.size);
	r = copy ? parse(format, text, copy) : -ENOMEM;
	return r == -EINVAL ? 0 : r;
}

int event_format_new(struct event_format **ret, const struct tracing_data *data,
		     const struct tracing_format *text)
{
	struct event_format *format = calloc(1, sizeof(*format));
	size_t head = find_print(&text->text);
	int r;

	if (!format)
		return -ENOMEM;
	format->data = data;
	/* Otherwise libtraceevent prints warnings on stderr. */
	tep_set_loglevel(TEP_LOG_NONE);
	r = parse_fields(format, text, head);
	if (!r)
		r = parse_print(format, text, head);
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

static char *resolve(void *context, unsigned long long *address, char **module)
{
	const struct event_format *format = context;
	uint64_t start = *address;
	const char *name = format->resolver(format->context, start, &start);

	*address = start;
	return (char *)name;
}

int event_format_resolve(struct event_format *format, event_resolver *resolver, void *context)
{
	format->resolver = resolver;
	format->context = context;
	return tep_set_function_resolver(format->tep, resolve, format) ? -ENOMEM : 0;
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

static bool has_all_fields(const struct tep_event *event, const struct perfdata_bytes *raw)
{
	const struct tep_format_field *lists[] = { event->format.common_fields,
						   event->format.fields };
	uint64_t offset, size;

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (const struct tep_format_field *field = lists[i]; field; field = field->next) {
			if (!is_inside(raw, (uint64_t)field->offset, (uint64_t)field->size) ||
			    (field->flags & TEP_FIELD_IS_DYNAMIC &&
			     !find_array(field, raw, &offset, &size)))
				return false;
		}
	}
	return true;
}

/* Such as `0xffffffff8281972f : "rcu_preempt"`. */
static void add_string(struct tep_handle *tep, const char *line)
{
	char *end;
	uint64_t address = strtoull(line, &end, 16);

	/* libtraceevent reads the last three characters even if there are fewer. */
	if (end != line && !strncmp(end, " : \"", 4) && strlen(end + 4) > 3)
		tep_register_print_string(tep, end + 3, address);
}

static int give_strings(struct event_format *format)
{
	_cleanup_free_ char *copy = NULL;
	char *rest, *line;

	if (format->has_strings || !format->data->strings.size)
		return 0;
	copy = strndup((const char *)format->data->strings.data, format->data->strings.size);
	if (!copy)
		return -ENOMEM;
	for (rest = copy; (line = strsep(&rest, "\n"));)
		add_string(format->tep, line);
	format->has_strings = true;
	return 0;
}

static int copy_raw(struct event_printer *printer, const struct perfdata_bytes *raw)
{
	if (!printer->bytes)
		printer->bytes = calloc(1, PRINTED_MAX);
	if (!printer->bytes)
		return -ENOMEM;
	if (raw->size)
		memcpy(printer->bytes, raw->data, raw->size);
	if (printer->used > raw->size)
		memset(printer->bytes + raw->size, 0, printer->used - raw->size);
	printer->used = raw->size;
	return 0;
}

static void print_to(struct event_format *format, struct event_printer *printer,
		     struct trace_seq *text)
{
	const struct tep_event *event = format->event;
	struct tep_record record = { .data = printer->bytes, .size = (int)printer->used };

	/* Events `bprint` contain their format. */
	if (event->print_fmt.format && *event->print_fmt.format &&
	    !(event->flags & TEP_EVENT_FL_ISBPRINT))
		tep_print_event(format->tep, text, &record, "%s", TEP_PRINT_INFO);
	else
		tep_print_fields(text, record.data, record.size, format->event);
}

static int print_seq(struct event_format *format, struct event_printer *printer)
{
	struct trace_seq text;
	int r = 0;

	trace_seq_init(&text);
	print_to(format, printer, &text);
	trace_seq_terminate(&text);
	if (text.state == TRACE_SEQ__GOOD)
		printer->text = strdup(text.buffer + (text.buffer[0] == ' '));
	if (!printer->text)
		r = -ENOMEM;
	else
		printable(printer->text);
	trace_seq_destroy(&text);
	return r;
}

int event_format_print(struct event_format *format, const struct perfdata_bytes *raw,
		       struct event_printer *printer)
{
	uint64_t type;
	int r = raw->size < RAW_MAX ? copy_raw(printer, raw) : -EINVAL;

	if (!r)
		r = give_strings(format);
	if (r)
		return r;
	free(printer->text);
	printer->text = NULL;
	if (has_all_fields(format->event, raw) &&
	    event_format_number(format, raw, "common_type", &type) &&
	    type == (uint64_t)format->event->id)
		return print_seq(format, printer);
	printer->text = strdup("[damaged]");
	return printer->text ? 0 : -ENOMEM;
}

void event_printer_release(struct event_printer *printer)
{
	free(printer->bytes);
	free(printer->text);
	*printer = (struct event_printer){};
}
