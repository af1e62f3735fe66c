// SPDX-License-Identifier: GPL-2.0-only
#include "output/fxt.h"

#include <string.h>

#include "clock.h"

/* https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format */
#define FXT_MAGIC UINT64_C(0x0016547846040010)
/* Size limit of a record. */
#define FXT_WORDS_MAX 4095
/* String reference: the string is inline, its length is in the lower bits. */
#define FXT_INLINE 0x8000

enum fxt_record_type {
	RECORD_METADATA = 0,
	RECORD_INITIALIZATION = 1,
	RECORD_STRING = 2,
	RECORD_THREAD = 3,
	RECORD_EVENT = 4,
	RECORD_KERNEL_OBJECT = 7,
	RECORD_SCHEDULING = 8,
};

enum fxt_metadata_type {
	METADATA_PROVIDER = 1,
	METADATA_SECTION = 2,
};

enum fxt_object_type {
	OBJECT_PROCESS = 1,
	OBJECT_THREAD = 2,
};

/* Words per write: 64 KiB are cheapest on ext4; 4 or 256 KiB cost twice as much. */
#define BUFFER_WORDS 8192

enum event_type {
	EVENT_INSTANT = 0,
	EVENT_BEGIN = 2,
	EVENT_END = 3,
	EVENT_FLOW_BEGIN = 8,
	EVENT_FLOW_END = 10,
};

enum argument_type {
	ARGUMENT_U32 = 2,
	ARGUMENT_U64 = 4,
	ARGUMENT_DOUBLE = 5,
	ARGUMENT_STRING = 6,
	ARGUMENT_KOID = 8,
	ARGUMENT_BOOL = 9,
};

/* The reason for leaving a CPU is unknown; "blocked" could be wrong. */
#define STATE_SUSPENDED 2
#define SWITCH_RECORD 1
#define PROVIDER_ID 1

struct fxt {
	FILE *file;
	const struct names *names;
	uint32_t process_key;
	uint16_t *indices; /* by name; 0: not in the table */
	uint32_t nr_indices;
	uint32_t *owners; /* names by index */
	uint16_t max_strings, next_string;
	struct fxt_thread threads[FXT_THREADS_MAX + 1];
	uint8_t max_threads, next_thread;
	/* The current record. */
	uint64_t words[FXT_WORDS_MAX];
	size_t nr;
	uint16_t used[2 + 2 * FXT_ARGS_MAX]; /* string indices in it */
	size_t nr_used;
	uint64_t buffer[BUFFER_WORDS]; /* not written yet */
	size_t nr_buffered;
	int err;
};

static void fxt_free(void *writer)
{
	struct fxt *fxt = writer;

	if (!fxt)
		return;
	free(fxt->indices);
	free(fxt->owners);
	free(fxt);
}

static int fxt_new(void **ret, struct names *names, const struct fxt_timeline_opts *opts)
{
	struct fxt *fxt = calloc(1, sizeof(*fxt));

	if (!fxt)
		return -ENOMEM;
	fxt->names = names;
	fxt->process_key = opts->process_key;
	fxt->max_strings = opts->max_strings ?: FXT_STRINGS_MAX;
	fxt->max_threads = opts->max_threads ?: FXT_THREADS_MAX;
	fxt->owners = calloc(fxt->max_strings + 1u, sizeof(*fxt->owners));
	if (!fxt->owners) {
		fxt_free(fxt);
		return -ENOMEM;
	}
	*ret = fxt;
	return 0;
}

static int fxt_flush(void *writer)
{
	struct fxt *fxt = writer;
	size_t nr = fxt->nr_buffered;

	fxt->nr_buffered = 0;
	errno = 0;
	if (nr && !fxt->err &&
	    fwrite_unlocked(fxt->buffer, sizeof(*fxt->buffer), nr, fxt->file) != nr)
		fxt->err = errno ? -errno : -EIO;
	return fxt->err;
}

static void fxt_begin_file(void *writer, FILE *file)
{
	struct fxt *fxt = writer;

	fxt_flush(fxt);
	fxt->file = file;
	memset(fxt->owners, 0, (fxt->max_strings + 1u) * sizeof(*fxt->owners));
	if (fxt->indices)
		memset(fxt->indices, 0, fxt->nr_indices * sizeof(*fxt->indices));
	memset(fxt->threads, 0, sizeof(fxt->threads));
	fxt->next_string = 0;
	fxt->next_thread = 0;
}

static void fxt_write_words(struct fxt *fxt, const uint64_t *words, size_t nr)
{
	if (nr > BUFFER_WORDS - fxt->nr_buffered)
		fxt_flush(fxt);
	memcpy(&fxt->buffer[fxt->nr_buffered], words, nr * sizeof(*words));
	fxt->nr_buffered += nr;
}

static void fxt_add_word(struct fxt *fxt, uint64_t word)
{
	if (fxt->nr < FXT_WORDS_MAX)
		fxt->words[fxt->nr++] = word;
	else
		fxt->err = -E2BIG;
}

static void fxt_add_bytes(struct fxt *fxt, const void *bytes, size_t length)
{
	size_t nr = (length + 7) / 8;

	if (!nr)
		return;
	if (fxt->nr + nr > FXT_WORDS_MAX) {
		fxt->err = -E2BIG;
		return;
	}
	fxt->words[fxt->nr + nr - 1] = 0;
	memcpy(&fxt->words[fxt->nr], bytes, length);
	fxt->nr += nr;
}

/* The first word of a record or argument contains its size. */
static void fxt_set_size(struct fxt *fxt, size_t begin)
{
	fxt->words[begin] |= (uint64_t)(fxt->nr - begin) << 4;
}

static void fxt_begin_record(struct fxt *fxt)
{
	fxt->nr = 0;
	fxt->nr_used = 0;
}

static void fxt_end_record(struct fxt *fxt)
{
	fxt_set_size(fxt, 0);
	fxt_write_words(fxt, fxt->words, fxt->nr);
}

static bool is_string_used(const struct fxt *fxt, uint16_t index)
{
	for (size_t i = 0; i < fxt->nr_used; i++) {
		if (fxt->used[i] == index)
			return true;
	}
	return false;
}

/* Replaces the oldest string that is not used by the same record. */
static uint16_t take_string_index(struct fxt *fxt, uint32_t name)
{
	uint16_t index;

	do {
		fxt->next_string = fxt->next_string % fxt->max_strings + 1;
		index = fxt->next_string;
	} while (is_string_used(fxt, index));
	if (fxt->owners[index])
		fxt->indices[fxt->owners[index]] = 0;
	fxt->owners[index] = name;
	fxt->indices[name] = index;
	return index;
}

static void fxt_write_string(struct fxt *fxt, uint16_t index, uint32_t name)
{
	size_t length = names_length(fxt->names, name);
	uint64_t words[1 + (NAMES_LENGTH_MAX + 7) / 8] = { 0 };
	size_t nr = 1 + (length + 7) / 8;

	words[0] =
		RECORD_STRING | (uint64_t)nr << 4 | (uint64_t)index << 16 | (uint64_t)length << 32;
	memcpy(&words[1], names_get(fxt->names, name), length);
	fxt_write_words(fxt, words, nr);
}

static bool has_string_room(struct fxt *fxt, uint32_t name)
{
	uint16_t *indices;
	uint32_t nr;

	if (name < fxt->nr_indices)
		return true;
	nr = names_count(fxt->names) + names_count(fxt->names) / 2;
	indices = realloc(fxt->indices, nr * sizeof(*indices));
	if (!indices) {
		fxt->err = -ENOMEM;
		return false;
	}
	memset(indices + fxt->nr_indices, 0, (nr - fxt->nr_indices) * sizeof(*indices));
	fxt->indices = indices;
	fxt->nr_indices = nr;
	return true;
}

/* Writes the string's record first, unless it is in the table. */
static uint64_t fxt_string_ref(struct fxt *fxt, uint32_t name)
{
	uint16_t index;

	if (!name || !has_string_room(fxt, name))
		return 0;
	index = fxt->indices[name];
	if (!index) {
		index = take_string_index(fxt, name);
		fxt_write_string(fxt, index, name);
	}
	fxt->used[fxt->nr_used++] = index;
	return index;
}

static uint64_t fxt_thread_ref(struct fxt *fxt, struct fxt_thread *thread)
{
	const struct fxt_thread *known = &fxt->threads[thread->index];
	uint64_t words[3];

	if (thread->index && known->process == thread->process && known->thread == thread->thread)
		return thread->index;
	fxt->next_thread = fxt->next_thread % fxt->max_threads + 1;
	thread->index = fxt->next_thread;
	fxt->threads[thread->index] = *thread;
	words[0] = RECORD_THREAD | 3 << 4 | (uint64_t)thread->index << 16;
	words[1] = thread->process;
	words[2] = thread->thread;
	fxt_write_words(fxt, words, 3);
	return thread->index;
}

static void fxt_write_header(void *writer, const struct facts *facts)
{
	static const char provider[] = "perf-poke";
	const size_t length = sizeof(provider) - 1;
	struct fxt *fxt = writer;

	fxt_write_words(fxt, &(uint64_t){ FXT_MAGIC }, 1);
	fxt_begin_record(fxt);
	fxt_add_word(fxt, RECORD_METADATA | METADATA_PROVIDER << 16 | PROVIDER_ID << 20 |
				  (uint64_t)length << 52);
	fxt_add_bytes(fxt, provider, length);
	fxt_end_record(fxt);
	fxt_begin_record(fxt);
	fxt_add_word(fxt, RECORD_METADATA | METADATA_SECTION << 16 | PROVIDER_ID << 20);
	fxt_end_record(fxt);
	fxt_begin_record(fxt);
	fxt_add_word(fxt, RECORD_INITIALIZATION);
	fxt_add_word(fxt, NSEC_PER_SEC);
	fxt_end_record(fxt);
}

static void fxt_add_number(struct fxt *fxt, uint64_t header, uint64_t value)
{
	if (value <= UINT32_MAX) {
		fxt_add_word(fxt, header | ARGUMENT_U32 | value << 32);
	} else {
		fxt_add_word(fxt, header | ARGUMENT_U64);
		fxt_add_word(fxt, value);
	}
}

/* Writes at least `min` digits. Returns their end. */
static char *put_decimal_digits(char *to, uint64_t number, size_t min)
{
	char digits[20];
	size_t nr = 0;

	for (; number || nr < min; number /= 10)
		digits[nr++] = (char)('0' + number % 10);
	while (nr)
		*to++ = digits[--nr];
	return to;
}

/* Avoids printf(), which would dominate the run time. Inline text, because each is unique. */
size_t fxt_format_span(char text[SPAN_TEXT_MAX], uint64_t begin, uint64_t end)
{
	const uint64_t times[] = { begin, end };
	char *to = text;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		if (i)
			*to++ = ',';
		to = put_decimal_digits(to, times[i] / NSEC_PER_SEC, 1);
		*to++ = '.';
		to = put_decimal_digits(to, times[i] % NSEC_PER_SEC, 9);
	}
	return (size_t)(to - text);
}

static void fxt_add_time_span(struct fxt *fxt, uint64_t header, uint64_t begin, uint64_t end)
{
	char text[SPAN_TEXT_MAX];
	size_t length = fxt_format_span(text, begin, end);

	fxt_add_word(fxt, header | ARGUMENT_STRING | (FXT_INLINE | (uint64_t)length) << 32);
	fxt_add_bytes(fxt, text, length);
}

static void fxt_add_argument(struct fxt *fxt, const struct track_arg *arg)
{
	uint64_t header = fxt_string_ref(fxt, arg->key) << 16;
	size_t begin = fxt->nr;
	uint64_t bits;

	switch (arg->type) {
	case TRACK_ARG_U64:
		fxt_add_number(fxt, header, arg->u64);
		break;
	case TRACK_ARG_DOUBLE:
		memcpy(&bits, &arg->number, sizeof(bits));
		fxt_add_word(fxt, header | ARGUMENT_DOUBLE);
		fxt_add_word(fxt, bits);
		break;
	case TRACK_ARG_SPAN:
		fxt_add_time_span(fxt, header, arg->span.begin, arg->span.end);
		break;
	case TRACK_ARG_TEXT:
		fxt_add_word(fxt, header | ARGUMENT_STRING | fxt_string_ref(fxt, arg->text) << 32);
		break;
	case TRACK_ARG_BOOL:
		fxt_add_word(fxt, header | ARGUMENT_BOOL | (uint64_t)arg->boolean << 32);
		break;
	}
	fxt_set_size(fxt, begin);
}

static void fxt_write_event(void *writer, struct fxt_thread *thread,
			    const struct track_event *event)
{
	static const uint8_t types[] = {
		[TRACK_INSTANT] = EVENT_INSTANT,   [TRACK_BEGIN] = EVENT_BEGIN,
		[TRACK_END] = EVENT_END,	   [TRACK_FLOW_BEGIN] = EVENT_FLOW_BEGIN,
		[TRACK_FLOW_END] = EVENT_FLOW_END,
	};
	struct fxt *fxt = writer;
	uint64_t header = RECORD_EVENT | types[event->type] << 16 | event->nr_args << 20;

	fxt_begin_record(fxt);
	header |= fxt_thread_ref(fxt, thread) << 24;
	header |= fxt_string_ref(fxt, event->category) << 32;
	header |= fxt_string_ref(fxt, event->name) << 48;
	fxt_add_word(fxt, header);
	fxt_add_word(fxt, event->at);
	for (size_t i = 0; i < event->nr_args; i++)
		fxt_add_argument(fxt, &event->args[i]);
	if (event->type == TRACK_FLOW_BEGIN || event->type == TRACK_FLOW_END)
		fxt_add_word(fxt, event->flow);
	fxt_end_record(fxt);
}

static void fxt_write_process(struct fxt *fxt, uint64_t process, uint32_t name)
{
	fxt_begin_record(fxt);
	fxt_add_word(fxt,
		     RECORD_KERNEL_OBJECT | OBJECT_PROCESS << 16 | fxt_string_ref(fxt, name) << 24);
	fxt_add_word(fxt, process);
	fxt_end_record(fxt);
}

static void fxt_write_thread(struct fxt *fxt, const struct fxt_thread *thread, uint32_t name)
{
	fxt_begin_record(fxt);
	fxt_add_word(fxt, RECORD_KERNEL_OBJECT | OBJECT_THREAD << 16 |
				  fxt_string_ref(fxt, name) << 24 | UINT64_C(1) << 40);
	fxt_add_word(fxt, thread->thread);
	fxt_add_word(fxt, ARGUMENT_KOID | 2 << 4 | fxt_string_ref(fxt, fxt->process_key) << 16);
	fxt_add_word(fxt, thread->process);
	fxt_end_record(fxt);
}

static void fxt_write_names(void *writer, const struct fxt_thread *thread, uint32_t process_name,
			    uint32_t thread_name)
{
	fxt_write_process(writer, thread->process, process_name);
	fxt_write_thread(writer, thread, thread_name);
}

static void fxt_write_switch(void *writer, uint64_t at, uint16_t cpu, uint64_t from, uint64_t to)
{
	struct fxt *fxt = writer;

	fxt_begin_record(fxt);
	fxt_add_word(fxt, RECORD_SCHEDULING | (uint64_t)cpu << 20 |
				  (uint64_t)STATE_SUSPENDED << 36 | (uint64_t)SWITCH_RECORD << 60);
	fxt_add_word(fxt, at);
	fxt_add_word(fxt, from);
	fxt_add_word(fxt, to);
	fxt_end_record(fxt);
}

const struct trace_format fxt_format = {
	.new = fxt_new,
	.free = fxt_free,
	.begin_file = fxt_begin_file,
	.write_header = fxt_write_header,
	.write_names = fxt_write_names,
	.write_event = fxt_write_event,
	.write_switch = fxt_write_switch,
	.flush = fxt_flush,
};
