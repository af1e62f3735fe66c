// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <string.h>

#include "stream.h"
#include "stream_format.h"

#define BUFFER (64 * 1024)
/* More than all of an event, but names. */
#define EVENT_MAX 512

struct stream_writer {
	int fd;
	struct names *names;
	uint8_t *buffer;
	size_t nr;
	uint64_t time;
	int cpu, pid, tid;
	uint32_t last_to;
	uint32_t nr_places, nr_symbols;
	uint32_t *symbols; /* numbers that they have here, by their own */
	uint32_t symbols_room;
	int *tids; /* by CPU, one more than what runs there */
	int nr_cpus;
	int r;
};

void stream_writer_free(struct stream_writer *writer)
{
	if (!writer)
		return;
	if (writer->fd >= 0)
		close(writer->fd);
	free(writer->buffer);
	free(writer->symbols);
	free(writer->tids);
	free(writer);
}

int stream_writer_new(struct stream_writer **ret, const char *path, struct names *names)
{
	struct stream_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	writer->names = names;
	writer->cpu = -1;
	writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (writer->fd < 0) {
		free(writer);
		return -errno;
	}
	writer->buffer = malloc(BUFFER);
	if (!writer->buffer) {
		stream_writer_free(writer);
		return -ENOMEM;
	}
	*ret = writer;
	return 0;
}

static void flush(struct stream_writer *writer)
{
	size_t done = 0;

	while (done < writer->nr && !writer->r) {
		ssize_t nr = write(writer->fd, writer->buffer + done, writer->nr - done);

		if (nr >= 0)
			done += (size_t)nr;
		else if (errno != EINTR)
			writer->r = -errno;
	}
	writer->nr = 0;
}

static void make_room(struct stream_writer *writer, size_t size)
{
	if (writer->nr + size > BUFFER)
		flush(writer);
}

static void put_byte(struct stream_writer *writer, uint8_t byte)
{
	writer->buffer[writer->nr++] = byte;
}

static void put(struct stream_writer *writer, uint64_t value)
{
	while (value >= 0x80) {
		put_byte(writer, (uint8_t)(value | 0x80));
		value >>= 7;
	}
	put_byte(writer, (uint8_t)value);
}

static void put_signed(struct stream_writer *writer, int64_t value)
{
	put(writer, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* With its NUL. */
static void put_text(struct stream_writer *writer, const char *text)
{
	size_t length = strnlen(text, NAMES_LENGTH_MAX);

	make_room(writer, length + EVENT_MAX);
	put(writer, length);
	memcpy(writer->buffer + writer->nr, text, length);
	writer->nr += length;
	put_byte(writer, 0);
}

static uint32_t symbol_number(struct stream_writer *writer, const struct symbol *symbol)
{
	uint32_t *grown;
	uint32_t room;

	if (!symbol)
		return 0;
	if (symbol->number >= writer->symbols_room) {
		room = 2 * symbol->number + 1024;
		grown = realloc(writer->symbols, room * sizeof(*grown));
		if (!grown) {
			writer->r = -ENOMEM;
			return 0;
		}
		memset(grown + writer->symbols_room, 0,
		       (room - writer->symbols_room) * sizeof(*grown));
		writer->symbols = grown;
		writer->symbols_room = room;
	}
	if (writer->symbols[symbol->number])
		return writer->symbols[symbol->number];
	writer->symbols[symbol->number] = ++writer->nr_symbols;
	make_room(writer, EVENT_MAX);
	put_byte(writer, STREAM_SYMBOL);
	put_text(writer, names_get(writer->names, symbol->name));
	put(writer, symbol->start);
	put(writer, symbol->end);
	put_byte(writer, symbol->kernel);
	return writer->nr_symbols;
}

uint32_t stream_place(struct stream_writer *writer, struct code *code)
{
	uint32_t symbol;

	/* Anew once the instruction itself is known. */
	if (code->place && (!code->has_insn || code->place_has_insn))
		return code->place;
	symbol = symbol_number(writer, code->symbol);
	make_room(writer, EVENT_MAX);
	put_byte(writer, STREAM_PLACE);
	put(writer, code->ip);
	put(writer, symbol);
	put_byte(writer, code->has_insn ? code->length : 0);
	put_byte(writer, code->has_insn ? (uint8_t)code->irqs : IRQ_SAME);
	code->place = ++writer->nr_places;
	code->place_has_insn = code->has_insn;
	return code->place;
}

/* Whether another task runs there than at the last event of the CPU. */
static bool is_other(struct stream_writer *writer, int cpu, int tid)
{
	if (cpu >= writer->nr_cpus) {
		int nr = cpu + 64;
		int *grown = realloc(writer->tids, (size_t)nr * sizeof(*grown));

		if (!grown) {
			writer->r = -ENOMEM;
			return false;
		}
		memset(grown + writer->nr_cpus, 0, (size_t)(nr - writer->nr_cpus) * sizeof(*grown));
		writer->tids = grown;
		writer->nr_cpus = nr;
	}
	if (writer->tids[cpu] == tid + 1)
		return false;
	writer->tids[cpu] = tid + 1;
	return true;
}

static void put_task(struct stream_writer *writer, const struct calls_event *event,
		     const char *comm)
{
	put(writer, (uint64_t)event->cpu);
	put_signed(writer, event->pid);
	put(writer, (uint64_t)event->tid);
	put_byte(writer, !!comm);
	if (comm)
		put_text(writer, comm);
	writer->cpu = event->cpu;
	writer->pid = event->pid;
	writer->tid = event->tid;
}

void stream_write(struct stream_writer *writer, const struct calls_event *event, uint32_t from,
		  uint32_t to, const char *(*comm)(void *arg, const struct calls_event *event),
		  void *arg)
{
	bool insn = event->flags & CALLS_INSN, other = false;
	uint8_t tag = insn ? STREAM_INSNS : STREAM_BRANCH;

	if (event->time != writer->time)
		tag |= STREAM_TIME;
	if (event->cpu != writer->cpu || event->pid != writer->pid || event->tid != writer->tid) {
		tag |= STREAM_TASK;
		other = is_other(writer, event->cpu, event->tid);
	}
	if (calls_may_rename(event)) {
		tag |= STREAM_TASK;
		other = true;
	}
	if (insn && from == writer->last_to)
		tag |= STREAM_GOES_ON;
	if (!insn && (event->insns || event->cycles))
		tag |= STREAM_COUNTS;
	make_room(writer, EVENT_MAX);
	put_byte(writer, tag);
	if (tag & STREAM_TIME)
		put_signed(writer, (int64_t)(event->time - writer->time));
	writer->time = event->time;
	if (tag & STREAM_TASK)
		put_task(writer, event, other ? comm(arg, event) : NULL);
	if (!(tag & STREAM_GOES_ON))
		put(writer, from);
	if (insn) {
		put(writer, event->last ? event->last - event->from : 0);
	} else {
		put(writer, to);
		put(writer, event->flags);
		writer->last_to = to;
	}
	if (insn || tag & STREAM_COUNTS) {
		put(writer, event->insns);
		put(writer, event->cycles);
	}
}

int stream_writer_finish(struct stream_writer *writer)
{
	make_room(writer, 1);
	put_byte(writer, STREAM_END);
	flush(writer);
	return writer->r;
}
