// SPDX-License-Identifier: GPL-2.0-only
/*
 * Perfetto's trace format: a message Trace of packets in the wire format of Protocol Buffers,
 * https://protobuf.dev/programming-guides/encoding. A library would need the schemas of a moving
 * project for what is a dozen messages; the writer below has three kinds of fields.
 *
 * Readers order packets by time, equal times as in the file. Strings are sent once and then
 * referred to, in a sequence of packets; each part of a file is a sequence of its own.
 */
#include "output/fxt.h"

#include <search.h>
#include <string.h>

#include "array.h"
#include "build_id.h"
#include "clock.h"
#include "output/pftrace_fields.h"

/* Tables of interned_data/interned_data.proto, whose rows are an iid and a string. */
enum { ROW_IID = 1, ROW_STRING = 2 };
enum table {
	TABLE_CATEGORIES,
	TABLE_NAMES,
	TABLE_KEYS,
	TABLE_TEXTS,
	TABLE_FUNCTIONS,
	TABLE_PATHS,
	TABLE_BUILD_IDS, /* bytes */
};
static const uint8_t table_fields[] = {
	[TABLE_CATEGORIES] = 1, [TABLE_NAMES] = 2,  [TABLE_KEYS] = 3,	    [TABLE_TEXTS] = 29,
	[TABLE_FUNCTIONS] = 5,	[TABLE_PATHS] = 17, [TABLE_BUILD_IDS] = 16,
};

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };
/* A message's size is known at its end: its varint has this many bytes, which the encoding allows.
 */
#define SIZE_BYTES 4
/* Longest packet: an event whose strings are all new. A string has less than 64 bytes around it. */
#define STRINGS_MAX (2 + 2 * FXT_ARGS_MAX)
#define PACKET_MAX (STRINGS_MAX * (NAMES_LENGTH_MAX + 64) + 128 * FXT_ARGS_MAX + 1024)

/* Of a stack: each takes less than 16 bytes. */
#define SAMPLE_FRAMES_MAX 256

/* A mapping, by its path and build ID; a frame, by its function, mapping and offset; a thread, by
 * its process and itself. */
struct row {
	uint64_t key[3], iid;
};

struct pftrace {
	FILE *file;
	const struct names *names;
	const struct facts *facts; /* NULL: times are counts */
	uint8_t *sent;		   /* by name: a bit for each table of the sequence */
	uint32_t nr_sent;
	uint32_t sequence;
	bool begun; /* a packet of the sequence is written */
	size_t nr;
	int err;
	uint64_t nr_rows;	 /* of stacks, frames and mappings: their iids */
	uint32_t paths[2];	 /* names: of user space, of the kernel */
	void *mappings, *frames; /* trees of the sequence's rows */
	void *threads;		 /* a tree of those that are named */
	uint8_t bytes[PACKET_MAX];
};

static void put_varint(struct pftrace *to, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		to->bytes[to->nr++] = (uint8_t)(value | 0x80);
	to->bytes[to->nr++] = (uint8_t)value;
}

static void put_uint(struct pftrace *to, uint32_t field, uint64_t value)
{
	put_varint(to, (uint64_t)field << 3 | WIRE_VARINT);
	put_varint(to, value);
}

/* Little endian. */
static void put_fixed64(struct pftrace *to, uint32_t field, uint64_t value)
{
	put_varint(to, (uint64_t)field << 3 | WIRE_FIXED64);
	for (int i = 0; i < 8; i++)
		to->bytes[to->nr++] = (uint8_t)(value >> 8 * i);
}

static void put_string(struct pftrace *to, uint32_t field, const char *text, size_t length)
{
	put_varint(to, (uint64_t)field << 3 | WIRE_BYTES);
	put_varint(to, length);
	memcpy(&to->bytes[to->nr], text, length);
	to->nr += length;
}

static void put_name(struct pftrace *to, uint32_t field, uint32_t name)
{
	put_string(to, field, names_get(to->names, name), names_length(to->names, name));
}

/* Hexadecimal text as bytes. */
static void put_hex(struct pftrace *to, uint32_t field, const char *text)
{
	uint8_t bytes[sizeof(((struct build_id *)0)->bytes)];
	unsigned int byte;
	size_t nr = 0;

	for (; nr < sizeof(bytes) && sscanf(text, "%2x", &byte) == 1; text += 2)
		bytes[nr++] = (uint8_t)byte;
	put_string(to, field, (const char *)bytes, nr);
}

/* Returns where it begins, for message_end(). */
static size_t message_begin(struct pftrace *to, uint32_t field)
{
	put_varint(to, (uint64_t)field << 3 | WIRE_BYTES);
	to->nr += SIZE_BYTES;
	return to->nr;
}

static void message_end(struct pftrace *to, size_t begin)
{
	size_t size = to->nr - begin;

	for (size_t i = 0; i < SIZE_BYTES; i++)
		to->bytes[begin - SIZE_BYTES + i] =
			(uint8_t)((size >> 7 * i & 0x7f) | (i + 1 < SIZE_BYTES ? 0x80 : 0));
}

static size_t packet_begin(struct pftrace *to)
{
	size_t begin;

	to->nr = 0;
	begin = message_begin(to, TRACE_PACKET);
	put_uint(to, PACKET_SEQUENCE_ID, to->sequence);
	put_uint(to, PACKET_SEQUENCE_FLAGS,
		 to->begun ? SEQ_NEEDS_INCREMENTAL_STATE : SEQ_INCREMENTAL_STATE_CLEARED);
	to->begun = true;
	return begin;
}

static void packet_end(struct pftrace *to, size_t begin)
{
	message_end(to, begin);
	errno = 0;
	if (!to->err && fwrite_unlocked(to->bytes, 1, to->nr, to->file) != to->nr)
		to->err = errno ? -errno : -EIO;
}

static void packet_set_time(struct pftrace *to, uint64_t at)
{
	put_uint(to, PACKET_TIMESTAMP, at);
	if (to->facts)
		put_uint(to, PACKET_TIMESTAMP_CLOCK_ID, BUILTIN_CLOCK_MONOTONIC);
}

static bool has_sent_room(struct pftrace *to, uint32_t name)
{
	uint32_t nr = names_count(to->names) + names_count(to->names) / 2;
	uint8_t *grown;

	if (name < to->nr_sent)
		return true;
	grown = realloc(to->sent, nr);
	if (!grown) {
		to->err = -ENOMEM;
		return false;
	}
	memset(grown + to->nr_sent, 0, nr - to->nr_sent);
	to->sent = grown;
	to->nr_sent = nr;
	return true;
}

/* Begins the packet's interned data with the first string that is new to a table. */
static void intern(struct pftrace *to, size_t *data, enum table table, uint32_t name)
{
	size_t row;

	if (!name || !has_sent_room(to, name) || to->sent[name] & 1 << table)
		return;
	to->sent[name] |= (uint8_t)(1 << table);
	if (!*data)
		*data = message_begin(to, PACKET_INTERNED_DATA);
	row = message_begin(to, table_fields[table]);
	put_uint(to, ROW_IID, name);
	if (table == TABLE_BUILD_IDS)
		put_hex(to, ROW_STRING, names_get(to->names, name));
	else
		put_name(to, ROW_STRING, name);
	message_end(to, row);
}

static void intern_event(struct pftrace *to, const struct track_event *event)
{
	size_t data = 0;

	intern(to, &data, TABLE_CATEGORIES, event->category);
	intern(to, &data, TABLE_NAMES, event->name);
	for (size_t i = 0; i < event->nr_args; i++) {
		intern(to, &data, TABLE_KEYS, event->args[i].key);
		if (event->args[i].type == TRACK_ARG_TEXT)
			intern(to, &data, TABLE_TEXTS, event->args[i].text);
	}
	if (data)
		message_end(to, data);
}

static void put_annotation(struct pftrace *to, const struct track_arg *arg)
{
	size_t begin = message_begin(to, EVENT_DEBUG_ANNOTATIONS);
	char text[64];
	uint64_t bits;

	put_uint(to, ANNOTATION_NAME_IID, arg->key);
	switch (arg->type) {
	case TRACK_ARG_U64:
		put_uint(to, ANNOTATION_UINT, arg->u64);
		break;
	case TRACK_ARG_DOUBLE:
		memcpy(&bits, &arg->number, sizeof(bits));
		put_fixed64(to, ANNOTATION_DOUBLE, bits);
		break;
	case TRACK_ARG_SPAN:
		put_string(to, ANNOTATION_STRING, text,
			   fxt_format_span(text, arg->span.begin, arg->span.end));
		break;
	case TRACK_ARG_TEXT:
		put_uint(to, ANNOTATION_STRING_IID, arg->text);
		break;
	case TRACK_ARG_BOOL:
		put_uint(to, ANNOTATION_BOOL, arg->boolean);
		break;
	}
	message_end(to, begin);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	return memcmp(one->key, other->key, sizeof(one->key));
}

/* Returns the iid of a row, which is made if there is none. 0: no memory. */
static uint64_t find_row(struct pftrace *to, void **tree, const uint64_t key[3], bool *is_new)
{
	struct row wanted = { .key = { key[0], key[1], key[2] } }, *made;
	struct row *const *found = tfind(&wanted, tree, compare_rows);

	*is_new = false;
	if (found)
		return (*found)->iid;
	wanted.iid = ++to->nr_rows;
	made = malloc(sizeof(*made));
	if (made)
		*made = wanted;
	*is_new = made && tsearch(made, tree, compare_rows);
	if (*is_new)
		return made->iid;
	free(made);
	to->err = -ENOMEM;
	return 0;
}

/* Returns its iid. What is not known of user space is of a mapping, too. */
static uint64_t write_mapping(struct pftrace *to, const struct samples_file *file, bool kernel)
{
	uint32_t path = file->path && !kernel ? file->path : to->paths[kernel];
	bool is_new;
	uint64_t iid = find_row(to, &to->mappings, (uint64_t[3]){ path, file->build_id }, &is_new);
	size_t packet, row, data = 0;

	if (!is_new)
		return iid;
	packet = packet_begin(to);
	intern(to, &data, TABLE_BUILD_IDS, file->build_id);
	intern(to, &data, TABLE_PATHS, path);
	if (!data)
		data = message_begin(to, PACKET_INTERNED_DATA);
	row = message_begin(to, INTERNED_MAPPINGS);
	put_uint(to, ROW_IID, iid);
	if (file->build_id)
		put_uint(to, MAPPING_BUILD_ID, file->build_id);
	put_uint(to, MAPPING_PATH_IDS, path);
	message_end(to, row);
	message_end(to, data);
	packet_end(to, packet);
	return iid;
}

/* In a packet of its own: a stack has more names than a packet may have. Returns its iid. */
static uint64_t write_frame(struct pftrace *to, uint32_t name, const struct samples_file *file,
			    bool kernel)
{
	uint64_t mapping = write_mapping(to, file, kernel);
	bool is_new;
	uint64_t iid =
		find_row(to, &to->frames, (uint64_t[3]){ name, mapping, file->offset }, &is_new);
	size_t packet, row, data = 0;

	if (!is_new)
		return iid;
	packet = packet_begin(to);
	intern(to, &data, TABLE_FUNCTIONS, name);
	if (!data)
		data = message_begin(to, PACKET_INTERNED_DATA);
	row = message_begin(to, INTERNED_FRAMES);
	put_uint(to, ROW_IID, iid);
	put_uint(to, FRAME_FUNCTION_IID, name);
	put_uint(to, FRAME_MAPPING_IID, mapping);
	put_uint(to, FRAME_REL_PC, file->offset);
	message_end(to, row);
	message_end(to, data);
	packet_end(to, packet);
	return iid;
}

/* Outermost function first. */
static void put_callstack(struct pftrace *to, const uint64_t *frames, uint32_t nr)
{
	size_t data = message_begin(to, PACKET_INTERNED_DATA);
	size_t row = message_begin(to, INTERNED_CALLSTACKS);

	put_uint(to, ROW_IID, ++to->nr_rows);
	while (nr--)
		put_uint(to, CALLSTACK_FRAME_IDS, frames[nr]);
	message_end(to, row);
	message_end(to, data);
}

/* Koids of processes and threads may be equal. */
static uint64_t process_uuid(uint64_t process)
{
	return process << 1 | 1;
}

static uint64_t thread_uuid(uint64_t thread)
{
	return (thread + 1) << 1;
}

/* A flow belongs to an event: those that only begin or end one are instants. */
static void pftrace_write_event(void *writer, struct fxt_thread *thread,
				const struct track_event *event)
{
	static const uint8_t types[] = {
		[TRACK_INSTANT] = TYPE_INSTANT,	 [TRACK_BEGIN] = TYPE_SLICE_BEGIN,
		[TRACK_END] = TYPE_SLICE_END,	 [TRACK_FLOW_BEGIN] = TYPE_INSTANT,
		[TRACK_FLOW_END] = TYPE_INSTANT,
	};
	struct pftrace *to = writer;
	size_t packet = packet_begin(to), begin;

	packet_set_time(to, event->at);
	intern_event(to, event);
	begin = message_begin(to, PACKET_TRACK_EVENT);
	put_uint(to, EVENT_TYPE, types[event->type]);
	put_uint(to, EVENT_TRACK_UUID, thread_uuid(thread->thread));
	put_uint(to, EVENT_CATEGORY_IIDS, event->category);
	put_uint(to, EVENT_NAME_IID, event->name);
	for (size_t i = 0; i < event->nr_args; i++)
		put_annotation(to, &event->args[i]);
	if (event->type == TRACK_FLOW_BEGIN)
		put_fixed64(to, EVENT_FLOW_IDS, event->flow);
	if (event->type == TRACK_FLOW_END)
		put_fixed64(to, EVENT_TERMINATING_FLOW_IDS, event->flow);
	message_end(to, begin);
	packet_end(to, packet);
}

static void write_process(struct pftrace *to, const struct fxt_thread *thread, uint32_t name)
{
	size_t packet = packet_begin(to), begin = message_begin(to, PACKET_TRACK_DESCRIPTOR), of;

	put_uint(to, TRACK_UUID, process_uuid(thread->process));
	if (thread->cpu < 0) {
		of = message_begin(to, TRACK_PROCESS);
		put_uint(to, PROCESS_PID, thread->process);
		put_name(to, PROCESS_NAME, name);
		message_end(to, of);
	} else {
		put_name(to, TRACK_NAME, name);
	}
	message_end(to, begin);
	packet_end(to, packet);
}

/* Tracks of CPUs are of no thread. */
static void pftrace_write_names(void *writer, const struct fxt_thread *thread,
				uint32_t process_name, uint32_t thread_name)
{
	struct pftrace *to = writer;
	size_t packet, begin, of;

	write_process(to, thread, process_name);
	packet = packet_begin(to);
	begin = message_begin(to, PACKET_TRACK_DESCRIPTOR);
	put_uint(to, TRACK_UUID, thread_uuid(thread->thread));
	put_uint(to, TRACK_PARENT_UUID, process_uuid(thread->process));
	if (thread->cpu < 0) {
		of = message_begin(to, TRACK_THREAD_OF);
		put_uint(to, THREAD_PID, thread->process);
		put_uint(to, THREAD_TID, thread->thread);
		put_name(to, THREAD_NAME, thread_name);
		message_end(to, of);
	} else {
		put_name(to, TRACK_NAME, thread_name);
	}
	message_end(to, begin);
	packet_end(to, packet);
}

/* The thread has no track. */
static void write_sampled_thread(struct pftrace *to, const struct fxt_sample *sample)
{
	const struct fxt_thread thread = { .process = (uint64_t)sample->pid,
					   .thread = (uint64_t)sample->tid,
					   .cpu = -1 };
	bool is_new;

	if (sample->pid <= 0 || sample->tid <= 0 || !sample->thread_name)
		return;
	find_row(to, &to->threads, (uint64_t[3]){ thread.process, thread.thread }, &is_new);
	if (is_new)
		pftrace_write_names(to, &thread, sample->process_name, sample->thread_name);
}

static void pftrace_write_sample(void *writer, const struct fxt_sample *sample)
{
	struct pftrace *to = writer;
	uint32_t nr = sample->nr < SAMPLE_FRAMES_MAX ? sample->nr : SAMPLE_FRAMES_MAX;
	uint64_t frames[SAMPLE_FRAMES_MAX];
	size_t packet, begin;

	write_sampled_thread(to, sample);
	for (uint32_t i = 0; i < nr; i++)
		frames[i] = write_frame(to, sample->frames[i], &sample->files[i],
					i < sample->nr_kernel);
	packet = packet_begin(to);
	packet_set_time(to, sample->at);
	put_callstack(to, frames, nr);
	begin = message_begin(to, PACKET_PERF_SAMPLE);
	put_uint(to, SAMPLE_CPU, (uint32_t)sample->cpu);
	if (sample->pid >= 0)
		put_uint(to, SAMPLE_PID, (uint32_t)sample->pid);
	if (sample->tid >= 0)
		put_uint(to, SAMPLE_TID, (uint32_t)sample->tid);
	put_uint(to, SAMPLE_CALLSTACK_IID, to->nr_rows);
	put_uint(to, SAMPLE_CPU_MODE, sample->nr_kernel ? MODE_KERNEL : MODE_USER);
	message_end(to, begin);
	packet_end(to, packet);
}

static void write_clock(struct pftrace *to)
{
	size_t packet = packet_begin(to), begin = message_begin(to, PACKET_CLOCK_SNAPSHOT);
	size_t clock = message_begin(to, CLOCKS);

	put_uint(to, CLOCK_ID, BUILTIN_CLOCK_MONOTONIC);
	put_uint(to, CLOCK_TIMESTAMP, to->facts->spike.time_ns);
	message_end(to, clock);
	put_uint(to, CLOCK_PRIMARY, BUILTIN_CLOCK_MONOTONIC);
	message_end(to, begin);
	packet_end(to, packet);
}

/* The clock, the machine's name as that of the session, and its kernel. */
static void pftrace_write_header(void *writer, const struct facts *facts)
{
	struct pftrace *to = writer;
	size_t packet, begin, of;

	if (to->facts)
		write_clock(to);
	if (!facts)
		return;
	packet = packet_begin(to);
	begin = message_begin(to, PACKET_TRACE_CONFIG);
	put_string(to, CONFIG_UNIQUE_SESSION_NAME, facts->hostname, strlen(facts->hostname));
	message_end(to, begin);
	packet_end(to, packet);
	packet = packet_begin(to);
	begin = message_begin(to, PACKET_SYSTEM_INFO);
	of = message_begin(to, SYSTEM_INFO_UTSNAME);
	put_string(to, UTSNAME_SYSNAME, "Linux", strlen("Linux"));
	put_string(to, UTSNAME_RELEASE, facts->release, strlen(facts->release));
	put_string(to, UTSNAME_MACHINE, facts->arch, strlen(facts->arch));
	message_end(to, of);
	message_end(to, begin);
	packet_end(to, packet);
}

static int pftrace_new(void **ret, struct names *names, const struct fxt_timeline_opts *opts)
{
	struct pftrace *to = calloc(1, sizeof(*to));

	if (!to)
		return -ENOMEM;
	to->names = names;
	to->paths[false] = names_add(names, "[user space]");
	to->paths[true] = names_add(names, "kernel"); /* Perfetto's name of it */
	to->facts = opts->is_monotonic ? opts->facts : NULL;
	*ret = to;
	return 0;
}

static void pftrace_free(void *writer)
{
	struct pftrace *to = writer;

	if (!to)
		return;
	tdestroy(to->mappings, free);
	tdestroy(to->frames, free);
	tdestroy(to->threads, free);
	free(to->sent);
	free(to);
}

static void pftrace_begin_file(void *writer, FILE *file)
{
	struct pftrace *to = writer;

	to->file = file;
	to->sequence++;
	to->begun = false;
	tdestroy(to->mappings, free);
	tdestroy(to->frames, free);
	to->mappings = to->frames = NULL;
	if (to->sent)
		memset(to->sent, 0, to->nr_sent);
}

static int pftrace_flush(void *writer)
{
	const struct pftrace *to = writer;

	return to->err;
}

const struct trace_format pftrace_format = {
	.in_any_order = true,
	.new = pftrace_new,
	.free = pftrace_free,
	.begin_file = pftrace_begin_file,
	.write_header = pftrace_write_header,
	.write_names = pftrace_write_names,
	.write_event = pftrace_write_event,
	.write_sample = pftrace_write_sample,
	.flush = pftrace_flush,
};
