// SPDX-License-Identifier: GPL-2.0-only
#include "fxt_read.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "fxt_format.h"

#define NS_PER_S UINT64_C(1000000000)
#define STRINGS 32768
#define THREADS 256
#define LENGTH_MAX 32000
/* Strings that are not in the table, of one record. */
#define SCRATCH_SIZE (FXT_WORDS_MAX * 8 + 2 * (2 + 2 * FXT_READ_ARGS_MAX))

struct thread {
	uint64_t process, thread;
	bool known;
};

struct reader {
	FILE *file;
	const struct fxt_read_ops *ops;
	void *arg;
	char **why;
	uint64_t offset; /* of the record */
	uint64_t words[FXT_WORDS_MAX];
	size_t nr, at;
	bool has_provider;
	uint32_t provider;
	uint64_t ticks_per_s;
	char *strings[STRINGS];
	struct thread threads[THREADS];
	struct fxt_read_arg args[FXT_READ_ARGS_MAX];
	char scratch[SCRATCH_SIZE];
	size_t scratched;
};

static uint64_t bits(uint64_t word, int first, int last)
{
	return word >> first & ((UINT64_C(2) << (last - first)) - 1);
}

static int _printf_(2, 3) bad(struct reader *reader, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	if (!text || asprintf(reader->why, "at byte %" PRIu64 ": %s", reader->offset, text) < 0) {
		*reader->why = NULL;
		return -ENOMEM;
	}
	return -EBADMSG;
}

static int next_word(struct reader *reader, uint64_t *word)
{
	*word = 0;
	if (reader->at == reader->nr)
		return bad(reader, "a record is too short for what is in it");
	*word = reader->words[reader->at++];
	return 0;
}

/* Text that is in the record itself: with a NUL, in the scratch. */
static int next_text(struct reader *reader, size_t length, const char **text)
{
	size_t nr = (length + 7) / 8;
	char *copy = reader->scratch + reader->scratched;
	const char *from = (const char *)&reader->words[reader->at];

	if (length > LENGTH_MAX || nr > reader->nr - reader->at)
		return bad(reader, "a string does not fit its record");
	if (memchr(from, '\0', length))
		return bad(reader, "a string has a NUL in it");
	for (size_t i = length; i < nr * 8; i++) {
		if (from[i])
			return bad(reader, "a string is not padded with zeros");
	}
	memcpy(copy, from, length);
	copy[length] = '\0';
	reader->scratched += length + 1;
	reader->at += nr;
	*text = copy;
	return 0;
}

static int string_of(struct reader *reader, uint64_t ref, const char **text)
{
	if (ref & FXT_INLINE)
		return next_text(reader, ref & (FXT_INLINE - 1), text);
	*text = ref ? reader->strings[ref] : "";
	return *text ? 0 : bad(reader, "string %" PRIu64 " is not in the table", ref);
}

static int thread_of(struct reader *reader, uint64_t ref, uint64_t *process, uint64_t *thread)
{
	int r;

	if (!ref) {
		r = next_word(reader, process);
		return r ?: next_word(reader, thread);
	}
	if (!reader->threads[ref].known)
		return bad(reader, "thread %" PRIu64 " is not in the table", ref);
	*process = reader->threads[ref].process;
	*thread = reader->threads[ref].thread;
	return 0;
}

static void forget_tables(struct reader *reader)
{
	for (size_t i = 0; i < STRINGS; i++) {
		free(reader->strings[i]);
		reader->strings[i] = NULL;
	}
	memset(reader->threads, 0, sizeof(reader->threads));
}

static int read_metadata(struct reader *reader, uint64_t header)
{
	const char *name;

	switch (bits(header, 16, 19)) {
	case METADATA_PROVIDER: /* its tables are new */
		if (bits(header, 60, 63))
			return bad(reader, "reserved bits are set");
		forget_tables(reader);
		reader->has_provider = true;
		reader->provider = (uint32_t)bits(header, 20, 51);
		return next_text(reader, bits(header, 52, 59), &name);
	case METADATA_SECTION:
		if (bits(header, 52, 63))
			return bad(reader, "reserved bits are set");
		if (!reader->has_provider || bits(header, 20, 51) != reader->provider)
			return bad(reader, "a section of another provider");
		return 0;
	default:
		return bad(reader, "metadata of type %" PRIu64, bits(header, 16, 19));
	}
}

static int read_initialization(struct reader *reader, uint64_t header)
{
	int r = next_word(reader, &reader->ticks_per_s);

	if (r)
		return r;
	if (bits(header, 16, 63))
		return bad(reader, "reserved bits are set");
	return reader->ticks_per_s == NS_PER_S ? 0 : bad(reader, "a tick is not a nanosecond");
}

static int read_string(struct reader *reader, uint64_t header)
{
	uint64_t index = bits(header, 16, 30);
	const char *text = "";
	int r = next_text(reader, bits(header, 32, 46), &text);

	if (r)
		return r;
	if (!index || bits(header, 31, 31) || bits(header, 47, 63))
		return bad(reader, "a string without an index, or reserved bits are set");
	free(reader->strings[index]);
	reader->strings[index] = strdup(text);
	return reader->strings[index] ? 0 : -ENOMEM;
}

static int read_thread(struct reader *reader, uint64_t header)
{
	uint64_t index = bits(header, 16, 23);
	struct thread *thread = &reader->threads[index];
	int r = next_word(reader, &thread->process) ?: next_word(reader, &thread->thread);

	if (r)
		return r;
	thread->known = true;
	return index && !bits(header, 24, 63)
		       ? 0
		       : bad(reader, "a thread without an index, or reserved bits are set");
}

static int read_value(struct reader *reader, uint64_t header, struct fxt_read_arg *arg)
{
	uint64_t high = bits(header, 32, 63);

	switch (arg->type) {
	case FXT_READ_I32:
		arg->value = (uint64_t)(int64_t)(int32_t)high;
		return 0;
	case FXT_READ_U32:
		arg->value = high;
		return 0;
	case FXT_READ_BOOL:
		arg->value = high;
		return high <= 1 ? 0 : bad(reader, "argument '%s' is no boolean", arg->key);
	case FXT_READ_STRING:
		if (high >> 16)
			return bad(reader, "reserved bits are set");
		return string_of(reader, high, &arg->text);
	case FXT_READ_NOTHING:
	case FXT_READ_I64:
	case FXT_READ_U64:
	case FXT_READ_DOUBLE:
	case FXT_READ_POINTER:
	case FXT_READ_KOID:
		if (high)
			return bad(reader, "reserved bits are set");
		return arg->type == FXT_READ_NOTHING ? 0 : next_word(reader, &arg->value);
	}
	return bad(reader, "an argument of type %d", (int)arg->type);
}

static int read_arg(struct reader *reader, struct fxt_read_arg *arg)
{
	size_t begin = reader->at;
	uint64_t header;
	int r = next_word(reader, &header);

	if (r)
		return r;
	*arg = (struct fxt_read_arg){ .type = (enum fxt_read_arg_type)bits(header, 0, 3) };
	r = string_of(reader, bits(header, 16, 31), &arg->key);
	if (!r)
		r = read_value(reader, header, arg);
	if (r)
		return r;
	return reader->at - begin == bits(header, 4, 15)
		       ? 0
		       : bad(reader, "the size of argument '%s' is wrong", arg->key);
}

static int read_args(struct reader *reader, size_t nr)
{
	int r = 0;

	for (size_t i = 0; i < nr && !r; i++)
		r = read_arg(reader, &reader->args[i]);
	return r;
}

static int check_end(struct reader *reader)
{
	return reader->at == reader->nr ? 0 : bad(reader, "a record is longer than what is in it");
}

static bool is_known(uint64_t type)
{
	return type == FXT_READ_INSTANT || type == FXT_READ_BEGIN || type == FXT_READ_END ||
	       (type >= FXT_READ_FLOW_BEGIN && type <= FXT_READ_FLOW_END);
}

static int read_event(struct reader *reader, uint64_t header)
{
	struct fxt_read_event event = {
		.type = (enum fxt_read_type)bits(header, 16, 19),
		.args = reader->args,
		.nr_args = bits(header, 20, 23),
	};
	int r;

	if (!is_known(bits(header, 16, 19)))
		return bad(reader, "an event of type %" PRIu64, bits(header, 16, 19));
	r = next_word(reader, &event.at);
	if (!r)
		r = thread_of(reader, bits(header, 24, 31), &event.process, &event.thread);
	if (!r)
		r = string_of(reader, bits(header, 32, 47), &event.category);
	if (!r)
		r = string_of(reader, bits(header, 48, 63), &event.name);
	if (!r)
		r = read_args(reader, event.nr_args);
	if (!r && event.type >= FXT_READ_FLOW_BEGIN)
		r = next_word(reader, &event.flow);
	if (!r)
		r = check_end(reader);
	if (r || !reader->ops->event)
		return r;
	return reader->ops->event(reader->arg, &event);
}

static int tell_thread(struct reader *reader, uint64_t koid, const char *name, size_t nr_args)
{
	for (size_t i = 0; i < nr_args; i++) {
		const struct fxt_read_arg *arg = &reader->args[i];

		if (strcmp(arg->key, "process") || arg->type != FXT_READ_KOID)
			continue;
		return reader->ops->thread
			       ? reader->ops->thread(reader->arg, arg->value, koid, name)
			       : 0;
	}
	return bad(reader, "a thread of no process");
}

static int read_kernel_object(struct reader *reader, uint64_t header)
{
	uint64_t type = bits(header, 16, 23), koid;
	size_t nr_args = bits(header, 40, 43);
	const char *name;
	int r;

	if (bits(header, 44, 63))
		return bad(reader, "reserved bits are set");
	r = next_word(reader, &koid);
	if (!r)
		r = string_of(reader, bits(header, 24, 39), &name);
	if (!r)
		r = read_args(reader, nr_args);
	if (!r)
		r = check_end(reader);
	if (r)
		return r;
	if (type == OBJECT_THREAD)
		return tell_thread(reader, koid, name, nr_args);
	if (type != OBJECT_PROCESS)
		return bad(reader, "an object of type %" PRIu64, type);
	return reader->ops->process ? reader->ops->process(reader->arg, koid, name) : 0;
}

static int read_scheduling(struct reader *reader, uint64_t header)
{
	uint64_t at = 0, from = 0, to = 0;
	int r = next_word(reader, &at) ?: next_word(reader, &from) ?: next_word(reader, &to);

	if (!r)
		r = check_end(reader);
	if (r)
		return r;
	if (bits(header, 60, 63) != 1 || bits(header, 16, 19) || bits(header, 40, 59))
		return bad(reader, "scheduling that is no context switch");
	if (!reader->ops->context_switch)
		return 0;
	return reader->ops->context_switch(reader->arg, at, (int)bits(header, 20, 35), from, to);
}

static int read_record(struct reader *reader)
{
	static int (*const readers[16])(struct reader *, uint64_t) = {
		[RECORD_METADATA] = read_metadata,
		[RECORD_INITIALIZATION] = read_initialization,
		[RECORD_STRING] = read_string,
		[RECORD_THREAD] = read_thread,
		[RECORD_EVENT] = read_event,
		[RECORD_KERNEL_OBJECT] = read_kernel_object,
		[RECORD_SCHEDULING] = read_scheduling,
	};
	uint64_t header = reader->words[0];
	uint64_t type = bits(header, 0, 3);
	int r;

	if (!readers[type])
		return bad(reader, "a record of type %" PRIu64, type);
	if (type && !reader->has_provider)
		return bad(reader, "a record of no provider");
	reader->at = 1;
	reader->scratched = 0;
	r = readers[type](reader, header);
	return r ?: check_end(reader);
}

static int read_words(struct reader *reader, size_t first, size_t nr)
{
	if (fread(reader->words + first, sizeof(*reader->words), nr, reader->file) == nr)
		return 0;
	if (ferror(reader->file))
		return -EIO;
	return bad(reader, "the file ends in a record");
}

/* Returns 1 at the end. */
static int read_next(struct reader *reader)
{
	int c = getc(reader->file);
	int r;

	if (c == EOF)
		return ferror(reader->file) ? -EIO : 1;
	ungetc(c, reader->file);
	r = read_words(reader, 0, 1);
	if (r)
		return r;
	reader->nr = bits(reader->words[0], 4, 15);
	if (!reader->nr)
		return bad(reader, "a record of no size");
	r = read_words(reader, 1, reader->nr - 1);
	if (!r)
		r = read_record(reader);
	reader->offset += reader->nr * 8;
	return r;
}

static int read_all(struct reader *reader)
{
	int r = read_words(reader, 0, 1);

	if (r)
		return r;
	if (reader->words[0] != FXT_MAGIC)
		return bad(reader, "it does not begin as a trace");
	reader->offset = 8;
	while (!r)
		r = read_next(reader);
	return r == 1 ? 0 : r;
}

int fxt_read(FILE *file, const struct fxt_read_ops *ops, void *arg, char **why)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return -ENOMEM;
	reader->file = file;
	reader->ops = ops;
	reader->arg = arg;
	reader->why = why;
	r = read_all(reader);
	forget_tables(reader);
	free(reader);
	return r;
}
