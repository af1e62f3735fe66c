/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events for struct calls in a file, from a perf that decodes one slice of a trace to the process
 * that puts the slices together. Of the same program, so it has no version.
 */
#ifndef DLFILTER_STREAM_H
#define DLFILTER_STREAM_H

#include "code.h"

struct stream_writer;

/* Returns 0 or a negative errno. */
int stream_writer_new(struct stream_writer **ret, const char *path,
		      struct names *names) _must_check_;
void stream_writer_free(struct stream_writer *writer);

/* The number of an address, for stream_write(): what is known of it is written first. */
uint32_t stream_place(struct stream_writer *writer, struct code *code);

/* `comm` is asked for as struct calls does. */
void stream_write(struct stream_writer *writer, const struct calls_event *event, uint32_t from,
		  uint32_t to, const char *(*comm)(void *arg, const struct calls_event *event),
		  void *arg);

/* The file is complete. Returns 0 or a negative errno: also of what was written before. */
int stream_writer_finish(struct stream_writer *writer) _must_check_;

/* What an address was when it was written. */
struct stream_place {
	uint64_t ip;
	const struct symbol *symbol; /* NULL: not known */
	enum irq_change irqs;
	uint8_t length;
};

/* Where a reader is: a copy reads on from there again, as long as the reader lives. */
struct stream_position {
	const uint8_t *at;
	uint64_t time;
	int cpu, pid, tid;
	uint32_t last_to;
	uint32_t nr_places, nr_symbols;
};

struct stream_reader {
	struct stream_position position;
	/* Of the event that was read last. */
	const struct symbol *from, *to;
	const char *comm; /* where struct calls may ask for it; or NULL */
	const uint8_t *begin, *end;
	struct code_cache *code;
	struct stream_place *places;
	const struct symbol **symbols;
	uint32_t places_room, symbols_room;
};

/* Symbols are put into the cache. Returns 0 or a negative errno: -EBADMSG if it is not complete. */
int stream_open(struct stream_reader *reader, const char *path,
		struct code_cache *code) _must_check_;
void stream_close(struct stream_reader *reader);

/* Returns 1 and the event, 0 at the end, or a negative errno. */
int stream_read(struct stream_reader *reader, struct calls_event *event) _must_check_;

#endif
