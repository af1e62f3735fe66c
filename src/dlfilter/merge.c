// SPDX-License-Identifier: GPL-2.0-only
#include "merge.h"

#include <string.h>

#include "stream.h"

/* Events on each side of a cut that two slices are compared by. */
#define COMPARED 256
/* Before a cut so many must be there. */
#define COMPARED_MIN 16
/* The first ones of a decoder count what was before them too. */
#define ODD 4
/* How often it is looked whether to stop, or what else there is to do. */
#define STOP_EVENTS 65536

/* An event, and what its addresses are. */
struct seen {
	struct calls_event event;
	const struct symbol *from, *to;
};

/* The last ones. */
struct history {
	struct seen seen[COMPARED];
	size_t nr;
};

struct slice {
	struct stream_reader reader;
	uint64_t next, end;	/* ns */
	struct history history; /* before its end, and since `next` */
};

struct merge {
	struct args *args;
	struct names *names;
	struct code_cache *code;
	struct timeline *timeline;
	struct calls *calls;
	struct slice slices[2]; /* the last one, and that before it */
	struct slice *slice;
};

static const struct symbol *resolve(void *arg, const struct calls_event *event, uint64_t ip)
{
	struct merge *merge = arg;
	const struct stream_reader *reader = &merge->slice->reader;

	return ip == event->from ? reader->from : reader->to;
}

static const char *comm(void *arg, const struct calls_event *event)
{
	struct merge *merge = arg;

	(void)event;
	return merge->slice->reader.comm;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(merge->slices); i++)
		stream_close(&merge->slices[i].reader);
	calls_free(merge->calls);
	timeline_free(merge->timeline);
	code_cache_free(merge->code);
	names_free(merge->names);
	free(merge);
}

int merge_new(struct merge **ret, struct args *args)
{
	struct merge *merge = calloc(1, sizeof(*merge));
	int r;

	if (!merge)
		return -ENOMEM;
	merge->args = args;
	args->calls.resolve = resolve;
	args->calls.comm = comm;
	args->calls.arg = merge;
	r = names_new(&merge->names);
	if (!r)
		r = code_cache_new(&merge->code, merge->names);
	if (!r)
		r = timeline_new(&merge->timeline, &args->timeline, merge->names);
	if (!r)
		r = calls_new(&merge->calls, &args->calls, merge->timeline, merge->names);
	if (r)
		merge_free(merge);
	else
		*ret = merge;
	return r;
}

static void remember(struct history *history, const struct stream_reader *reader,
		     const struct calls_event *event)
{
	history->seen[history->nr++ % COMPARED] =
		(struct seen){ .event = *event, .from = reader->from, .to = reader->to };
}

static bool are_equal(const struct seen *a, const struct seen *b)
{
	const struct calls_event *x = &a->event, *y = &b->event;

	return x->time == y->time && x->cpu == y->cpu && x->pid == y->pid && x->tid == y->tid &&
	       x->flags == y->flags && x->from == y->from && x->to == y->to && x->last == y->last &&
	       x->length == y->length && x->irqs == y->irqs && x->insns == y->insns &&
	       x->cycles == y->cycles && a->from == b->from && a->to == b->to;
}

/* What both have of the time before a cut. The later one begins in it. */
static bool agree_before(const struct history *earlier, const struct history *later)
{
	size_t nr = earlier->nr < later->nr ? earlier->nr : later->nr;

	if (later->nr < COMPARED && later->nr < nr + ODD)
		nr = later->nr > ODD ? later->nr - ODD : 0;
	if (nr > COMPARED)
		nr = COMPARED;
	for (size_t i = 1; i <= nr; i++) {
		if (!are_equal(&earlier->seen[(earlier->nr - i) % COMPARED],
			       &later->seen[(later->nr - i) % COMPARED]))
			return false;
	}
	return nr >= COMPARED_MIN;
}

/* Reads on in both from the cut. */
static int agree_after(struct stream_reader *earlier, struct stream_reader *later)
{
	struct stream_position begin = later->position;
	struct seen ours = { 0 }, theirs = { 0 };
	int r = 1;

	for (size_t i = 0; i < COMPARED; i++) {
		r = stream_read(earlier, &ours.event);
		if (r > 0)
			r = stream_read(later, &theirs.event);
		if (r <= 0)
			break;
		ours.from = earlier->from;
		ours.to = earlier->to;
		theirs.from = later->from;
		theirs.to = later->to;
		if (!are_equal(&ours, &theirs))
			return -ESTALE;
	}
	later->position = begin;
	return r < 0 ? r : 0;
}

/* To the first event at a time or after it. */
static int skip(struct stream_reader *reader, uint64_t time, struct history *history)
{
	struct calls_event event;

	for (;;) {
		struct stream_position position = reader->position;
		int r = stream_read(reader, &event);

		if (r <= 0)
			return r;
		if (event.time >= time) {
			reader->position = position;
			return 0;
		}
		remember(history, reader, &event);
	}
}

static int join(struct slice *earlier, struct slice *later)
{
	struct history *history = calloc(1, sizeof(*history));
	int r;

	if (!history)
		return -ENOMEM;
	r = skip(&later->reader, earlier->end, history);
	if (!r && !agree_before(&earlier->history, history))
		r = -ESTALE;
	free(history);
	return r ?: agree_after(&earlier->reader, &later->reader);
}

int merge_slice(struct merge *merge, const char *path, uint64_t next, uint64_t end)
{
	struct slice *earlier = merge->slice;
	struct slice *slice = &merge->slices[earlier == merge->slices];
	int r;

	slice->next = next;
	slice->end = end;
	slice->history.nr = 0;
	r = stream_open(&slice->reader, path, merge->code);
	merge->slice = slice;
	if (!r && earlier)
		r = join(earlier, slice);
	if (earlier)
		stream_close(&earlier->reader);
	return r;
}

static int go_through(struct merge *merge, int (*meanwhile)(void *arg), void *arg)
{
	struct slice *slice = merge->slice;
	const volatile sig_atomic_t *stopped = merge->args->timeline.copying.stopped;
	struct calls_event event;

	for (uint64_t i = 1;; i++) {
		struct stream_position position = slice->reader.position;
		int r = stream_read(&slice->reader, &event);

		if (r <= 0)
			return r;
		if (event.time >= slice->end) {
			slice->reader.position = position;
			return 0;
		}
		if (event.time >= slice->next)
			remember(&slice->history, &slice->reader, &event);
		calls_add(merge->calls, &event);
		if (i % STOP_EVENTS)
			continue;
		if (stopped && *stopped)
			return -EINTR;
		r = meanwhile ? meanwhile(arg) : 0;
		if (r)
			return r;
	}
}

int merge_leave_out(struct merge *merge, int (*meanwhile)(void *arg), void *arg)
{
	int r = timeline_leave_out(merge->timeline);

	if (r < 0)
		return r;
	r = go_through(merge, meanwhile, arg);
	timeline_write_rest(merge->timeline);
	return r;
}

int merge_write(struct merge *merge, FILE *file)
{
	int r = timeline_leave_out(merge->timeline);

	if (r < 0)
		return r;
	timeline_write_piece(merge->timeline, file);
	r = go_through(merge, NULL, NULL);
	return r ?: timeline_end_piece(merge->timeline);
}

int merge_put(struct merge *merge, int number, int fd)
{
	return timeline_put_piece(merge->timeline, number, fd);
}

int merge_finish(struct merge *merge, uint64_t *slices, uint64_t *gaps)
{
	uint64_t at;
	int r;

	r = calls_finish(merge->calls, &at);
	if (!r)
		r = timeline_finish(merge->timeline, at);
	*slices = timeline_slices(merge->timeline);
	*gaps = calls_gaps(merge->calls);
	return r;
}
