// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "stream.h"
#include "stream_format.h"

int stream_open(struct stream_reader *reader, const char *path, struct code_cache *code)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	*reader = (struct stream_reader){ .code = code, .position.cpu = -1 };
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!st.st_size)
		return -EBADMSG;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	reader->begin = reader->position.at = bytes;
	reader->end = reader->begin + st.st_size;
	/* Nothing else ends with that. */
	return reader->end[-1] == STREAM_END ? 0 : -EBADMSG;
}

void stream_close(struct stream_reader *reader)
{
	if (reader->begin)
		munmap((void *)reader->begin, (size_t)(reader->end - reader->begin));
	free(reader->places);
	free(reader->symbols);
	*reader = (struct stream_reader){ 0 };
}

static uint8_t get_byte(struct stream_reader *reader)
{
	return reader->position.at < reader->end ? *reader->position.at++ : 0;
}

static uint64_t get_long(struct stream_reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = get_byte(reader);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* Most are one byte. */
static inline uint64_t get(struct stream_reader *reader)
{
	if (reader->position.at < reader->end && *reader->position.at < 0x80)
		return *reader->position.at++;
	return get_long(reader);
}

static int64_t get_signed(struct stream_reader *reader)
{
	uint64_t value = get(reader);

	return (int64_t)(value >> 1 ^ -(value & 1));
}

static const char *get_text(struct stream_reader *reader)
{
	uint64_t length = get(reader);
	const char *text = (const char *)reader->position.at;

	if (length >= (uint64_t)(reader->end - reader->position.at) || text[length])
		return NULL;
	reader->position.at += length + 1;
	return text;
}

static int make_room(void **array, uint32_t nr, uint32_t *room, size_t size)
{
	uint32_t wanted = *room ? 2 * *room : 1024;
	void *grown;

	if (nr < *room)
		return 0;
	grown = realloc(*array, wanted * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = wanted;
	return 0;
}

static int read_symbol(struct stream_reader *reader)
{
	const char *name = get_text(reader);
	uint64_t start = get(reader), end = get(reader);
	bool kernel = get_byte(reader);
	uint32_t number = reader->position.nr_symbols++;

	if (!name)
		return -EBADMSG;
	if (make_room((void **)&reader->symbols, number, &reader->symbols_room,
		      sizeof(const struct symbol *)))
		return -ENOMEM;
	reader->symbols[number] = code_symbol(reader->code, name, start, end, kernel);
	return reader->symbols[number] ? 0 : -ENOMEM;
}

static int read_place(struct stream_reader *reader)
{
	uint32_t number = reader->position.nr_places++;
	uint64_t ip = get(reader), symbol = get(reader);
	uint8_t length = get_byte(reader);
	uint8_t irqs = get_byte(reader);

	if (symbol > reader->position.nr_symbols || irqs > IRQ_RESTORED)
		return -EBADMSG;
	if (make_room((void **)&reader->places, number, &reader->places_room,
		      sizeof(*reader->places)))
		return -ENOMEM;
	reader->places[number] = (struct stream_place){
		.ip = ip,
		.symbol = symbol ? reader->symbols[symbol - 1] : NULL,
		.length = length,
		.irqs = (enum irq_change)irqs,
	};
	return 0;
}

static int read_task(struct stream_reader *reader)
{
	reader->position.cpu = (int)get(reader);
	reader->position.pid = (int)get_signed(reader);
	reader->position.tid = (int)get(reader);
	if (!get_byte(reader))
		return 0;
	reader->comm = get_text(reader);
	return reader->comm ? 0 : -EBADMSG;
}

static const struct stream_place *get_place(struct stream_reader *reader, uint32_t number)
{
	static const struct stream_place none;

	return number && number <= reader->position.nr_places ? &reader->places[number - 1] : &none;
}

static int read_insns(struct stream_reader *reader, uint8_t tag, struct calls_event *event)
{
	struct stream_position *position = &reader->position;
	const struct stream_place *from;
	uint64_t last;

	from = get_place(reader, tag & STREAM_GOES_ON ? position->last_to : (uint32_t)get(reader));
	last = get(reader);
	event->flags = CALLS_INSN;
	event->from = from->ip;
	event->last = last ? from->ip + last : 0;
	event->length = from->length;
	event->irqs = last ? IRQ_SAME : from->irqs;
	event->insns = get(reader);
	event->cycles = get(reader);
	reader->from = from->symbol;
	reader->to = NULL;
	return last < CALLS_STRAIGHT_MAX ? 1 : -EBADMSG;
}

static int read_branch(struct stream_reader *reader, uint8_t tag, struct calls_event *event)
{
	struct stream_position *position = &reader->position;
	const struct stream_place *from = get_place(reader, (uint32_t)get(reader));
	const struct stream_place *to =
		get_place(reader, position->last_to = (uint32_t)get(reader));

	event->flags = (uint32_t)get(reader);
	event->from = from->ip;
	event->to = to->ip;
	if (from->ip && !(event->flags & CALLS_ASYNC)) {
		event->length = from->length;
		event->irqs = from->irqs;
	}
	if (tag & STREAM_COUNTS) {
		event->insns = get(reader);
		event->cycles = get(reader);
	}
	reader->from = from->symbol;
	reader->to = to->symbol;
	return event->flags & CALLS_INSN ? -EBADMSG : 1;
}

static int read_event(struct stream_reader *reader, uint8_t tag, struct calls_event *event)
{
	struct stream_position *position = &reader->position;

	reader->comm = NULL;
	if (tag & STREAM_TIME)
		position->time += (uint64_t)get_signed(reader);
	if (tag & STREAM_TASK && read_task(reader))
		return -EBADMSG;
	*event = (struct calls_event){
		.time = position->time,
		.cpu = position->cpu,
		.pid = position->pid,
		.tid = position->tid,
	};
	if (event->cpu < 0)
		return -EBADMSG;
	if ((tag & STREAM_KIND) == STREAM_INSNS)
		return read_insns(reader, tag, event);
	return read_branch(reader, tag, event);
}

static int read_one(struct stream_reader *reader, uint8_t tag, struct calls_event *event)
{
	switch (tag & STREAM_KIND) {
	case STREAM_SYMBOL:
		return read_symbol(reader);
	case STREAM_PLACE:
		return read_place(reader);
	case STREAM_INSNS:
	case STREAM_BRANCH:
		return read_event(reader, tag, event);
	default:
		return -EBADMSG;
	}
}

int stream_read(struct stream_reader *reader, struct calls_event *event)
{
	for (;;) {
		uint8_t tag = get_byte(reader);
		int r;

		if (tag == STREAM_END)
			return reader->position.at == reader->end ? 0 : -EBADMSG;
		r = read_one(reader, tag, event);
		/* The end is yet to come: what had it for a part of its own was cut off there. */
		if (reader->position.at == reader->end)
			return -EBADMSG;
		if (r)
			return r;
	}
}
