// SPDX-License-Identifier: GPL-2.0-only
#include "timeline.h"

#include <string.h>

struct slice {
	uint32_t category, name;
};

struct track {
	struct timeline *timeline;
	struct fxt_thread thread;
	uint32_t process_name, thread_name;
	struct slice *slices; /* open ones */
	size_t nr, room;
	uint64_t last;		/* position */
	bool ended;		/* a slice, there or before */
	uint64_t restart;	/* position */
	uint32_t restart_parts; /* parts there were then */
	uint32_t named_front;	/* as named, of what is in front of a part */
	uint32_t named;		/* one more than the part that has the names */
	struct track *next;
};

struct part {
	uint64_t begin, end; /* positions */
	bool ended;
	int64_t offset; /* in all that is written */
};

/* A slice, in one of the parts, that began before what is written there. */
struct late {
	uint32_t part;
	uint32_t number;
	bool ends; /* with the part */
	uint64_t begin, end;
	struct track *track;
	struct slice slice;
};

struct timeline {
	struct timeline_opts opts;
	struct names *names;
	char *path;
	FILE *body; /* where it is written to; NULL: it is left out */
	struct pieces pieces;
	struct fxt *fxt;
	struct track *tracks, **tail;
	struct part *parts;
	uint32_t nr_parts, parts_room;
	struct late *late;
	size_t nr_late, late_room;
	uint64_t last; /* position */
	uint64_t slices;
	uint32_t process_key, continued_key;
	bool open, closed;
	uint64_t open_until; /* time */
	int r;
};

void timeline_free(struct timeline *timeline)
{
	struct track *next;

	if (!timeline)
		return;
	for (struct track *track = timeline->tracks; track; track = next) {
		next = track->next;
		free(track->slices);
		free(track);
	}
	pieces_release(&timeline->pieces);
	fxt_free(timeline->fxt);
	free(timeline->parts);
	free(timeline->late);
	free(timeline->path);
	free(timeline);
}

int timeline_new(struct timeline **ret, const struct timeline_opts *opts, struct names *names)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	int r = -ENOMEM;

	if (!timeline)
		return r;
	timeline->opts = *opts;
	timeline->names = names;
	timeline->tail = &timeline->tracks;
	timeline->process_key = names_add(names, "process");
	timeline->continued_key = names_add(names, "continued");
	timeline->path = strdup(opts->path);
	if (timeline->path)
		r = fxt_new(&timeline->fxt, names, opts->max_strings, opts->max_threads);
	if (!r)
		r = pieces_init(&timeline->pieces, timeline->path);
	timeline->body = timeline->pieces.rest;
	if (r)
		timeline_free(timeline);
	else
		*ret = timeline;
	return r;
}

/* Room for one more in an array. */
static bool make_room(struct timeline *timeline, void **array, size_t nr, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 16;
	void *grown;

	if (nr < *room)
		return true;
	grown = realloc(*array, wanted * size);
	if (!grown) {
		timeline->r = -ENOMEM;
		return false;
	}
	*array = grown;
	*room = wanted;
	return true;
}

struct track *timeline_track(struct timeline *timeline, uint64_t process, uint64_t thread,
			     uint32_t process_name, uint32_t thread_name)
{
	struct track *track = calloc(1, sizeof(*track));

	if (!track) {
		timeline->r = -ENOMEM;
		return NULL;
	}
	track->timeline = timeline;
	track->thread = (struct fxt_thread){ .process = process, .thread = thread };
	track->process_name = process_name;
	track->thread_name = thread_name;
	if (timeline->nr_parts)
		track->last = timeline->parts[timeline->nr_parts - 1].begin;
	*timeline->tail = track;
	timeline->tail = &track->next;
	return track;
}

static void write_names_of(struct track *track)
{
	struct timeline *timeline = track->timeline;

	fxt_process(timeline->fxt, track->thread.process, track->process_name);
	fxt_thread(timeline->fxt, &track->thread, track->thread_name, timeline->process_key);
}

/* Before a track is first written of in a part. */
static void write_names(struct track *track)
{
	if (track->named == track->timeline->nr_parts)
		return;
	track->named = track->timeline->nr_parts;
	write_names_of(track);
}

void track_rename(struct track *track, uint32_t process_name, uint32_t thread_name)
{
	const struct timeline *timeline = track->timeline;

	if (process_name)
		track->process_name = process_name;
	track->thread_name = thread_name;
	if (timeline->open && track->named == timeline->nr_parts)
		write_names_of(track);
}

static void write_event(struct track *track, struct fxt_event *event)
{
	struct timeline *timeline = track->timeline;

	if (event->at < track->last)
		event->at = track->last;
	track->last = event->at;
	if (event->at > timeline->last)
		timeline->last = event->at;
	if (!timeline->open)
		return;
	write_names(track);
	event->thread = &track->thread;
	fxt_event(timeline->fxt, event);
}

static void write_slice(struct track *track, enum fxt_event_type type, const struct slice *slice,
			uint64_t at, const struct fxt_arg *args, size_t nr_args)
{
	struct fxt_event event = {
		.type = type,
		.at = at,
		.category = slice->category,
		.name = slice->name,
		.args = args,
		.nr_args = nr_args,
	};

	write_event(track, &event);
}

static uint64_t end_of_part(const struct timeline *timeline)
{
	const struct timeline_opts *opts = &timeline->opts;
	uint64_t begin = timeline->parts[timeline->nr_parts - 1].begin;

	if (opts->counted || !opts->split || opts->end - begin < opts->split)
		return opts->end;
	return begin + opts->split;
}

static void open_part(struct timeline *timeline, uint64_t at)
{
	size_t room = timeline->parts_room;
	struct part *part;

	if (!make_room(timeline, (void **)&timeline->parts, timeline->nr_parts, &room,
		       sizeof(*timeline->parts)))
		return;
	timeline->parts_room = (uint32_t)room;
	part = &timeline->parts[timeline->nr_parts++];
	*part = (struct part){ .begin = at };
	fxt_flush(timeline->fxt);
	part->offset = timeline->body ? ftell(timeline->body) : 0;
	fxt_begin(timeline->fxt, timeline->body);
	timeline->open = true;
	timeline->open_until = end_of_part(timeline);
	timeline->last = at;
	for (struct track *track = timeline->tracks; track; track = track->next) {
		track->last = at;
		for (size_t i = 0; i < track->nr; i++)
			write_slice(track, FXT_BEGIN, &track->slices[i], at, NULL, 0);
	}
}

/* Slices that go on in the next part end here too. */
static void close_part(struct timeline *timeline, uint64_t at)
{
	const struct fxt_arg goes_on = {
		.type = FXT_ARG_BOOL,
		.key = timeline->continued_key,
		.boolean = true,
	};

	for (struct track *track = timeline->tracks; track; track = track->next) {
		for (size_t i = track->nr; i--;)
			write_slice(track, FXT_END, &track->slices[i], at, &goes_on, 1);
	}
	timeline->parts[timeline->nr_parts - 1].end = at;
	timeline->parts[timeline->nr_parts - 1].ended = true;
	timeline->open = false;
}

/* Into the part that has this time. There are none of times in which nothing happens. */
static void go_on(struct timeline *timeline, uint64_t time)
{
	const struct timeline_opts *opts = &timeline->opts;
	uint64_t begin = timeline->parts[timeline->nr_parts - 1].begin;
	uint64_t end = end_of_part(timeline);

	close_part(timeline, opts->counted ? timeline->last : end);
	timeline->closed = time > opts->end;
	if (!timeline->closed)
		open_part(timeline, begin + (time - begin) / opts->split * opts->split);
}

bool timeline_advance(struct timeline *timeline, uint64_t time)
{
	const struct timeline_opts *opts = &timeline->opts;
	bool opens = false;

	/* Most are of the part that is open. */
	if (timeline->open && time <= timeline->open_until)
		return false;
	if (timeline->closed || time < opts->begin || timeline->r)
		return false;
	if (!timeline->open) {
		opens = true;
		/* Without a window it begins with the trace. */
		open_part(timeline, opts->counted ? 0 : opts->begin ?: time);
	}
	if (time > end_of_part(timeline))
		go_on(timeline, time);
	return opens;
}

bool timeline_closed(const struct timeline *timeline)
{
	return timeline->closed;
}

static bool push(struct track *track, uint32_t category, uint32_t name)
{
	if (!make_room(track->timeline, (void **)&track->slices, track->nr, &track->room,
		       sizeof(*track->slices)))
		return false;
	track->slices[track->nr++] = (struct slice){ .category = category, .name = name };
	return true;
}

void track_begin(struct track *track, uint64_t at, uint32_t category, uint32_t name)
{
	if (!push(track, category, name))
		return;
	track->timeline->slices += track->timeline->open;
	write_slice(track, FXT_BEGIN, &track->slices[track->nr - 1], at, NULL, 0);
}

static void add_late(struct track *track, uint32_t number, const struct slice *slice)
{
	struct timeline *timeline = track->timeline;
	const struct part *part = &timeline->parts[number];
	struct late late = {
		.part = number,
		.number = (uint32_t)timeline->nr_late,
		.ends = part->ended,
		.begin = part->begin,
		.end = part->end,
		.track = track,
		.slice = *slice,
	};

	if (!make_room(timeline, (void **)&timeline->late, timeline->nr_late, &timeline->late_room,
		       sizeof(*timeline->late)))
		return;
	if (number + 1 == track->restart_parts && track->restart > late.begin)
		late.begin = track->restart;
	if (late.end < late.begin)
		late.end = late.begin;
	timeline->late[timeline->nr_late++] = late;
}

void track_begin_late(struct track *track, uint32_t category, uint32_t name)
{
	struct timeline *timeline = track->timeline;
	uint32_t first = track->restart_parts ? track->restart_parts - 1 : 0;

	if (!push(track, category, name) || !timeline->nr_parts)
		return;
	timeline->slices++;
	/* In all parts that there are since: also after the window. */
	for (uint32_t i = first; i < timeline->nr_parts; i++)
		add_late(track, i, &track->slices[track->nr - 1]);
}

void track_end(struct track *track, uint64_t at, const struct fxt_arg *args, size_t nr_args)
{
	if (!track->nr)
		return;
	track->nr--;
	track->ended = true;
	write_slice(track, FXT_END, &track->slices[track->nr], at, args, nr_args);
}

void track_instant(struct track *track, uint64_t at, uint32_t category, uint32_t name,
		   const struct fxt_arg *args, size_t nr_args)
{
	write_slice(track, FXT_INSTANT, &(struct slice){ .category = category, .name = name }, at,
		    args, nr_args);
}

void track_flow(struct track *track, uint64_t at, enum fxt_event_type type, uint32_t category,
		uint32_t name, uint64_t flow)
{
	struct fxt_event event = {
		.type = type,
		.at = at,
		.category = category,
		.name = name,
		.flow = flow,
	};

	write_event(track, &event);
}

void track_restart(struct track *track, uint64_t at)
{
	if (at < track->last + track->ended)
		at = track->last + track->ended;
	track->last = at;
	track->restart = at;
	track->restart_parts = track->timeline->nr_parts;
}

size_t track_depth(const struct track *track)
{
	return track->nr;
}

void timeline_switch(struct timeline *timeline, uint64_t at, int cpu, struct track *from,
		     struct track *to)
{
	if (!timeline->open)
		return;
	write_names(from);
	write_names(to);
	fxt_switch(timeline->fxt, at, (uint16_t)cpu, from->thread.thread, to->thread.thread);
}

uint64_t timeline_slices(const struct timeline *timeline)
{
	return timeline->slices;
}

/* By part, the outermost slices first: they were found last. */
static int compare_late(const void *a, const void *b)
{
	const struct late *x = a, *y = b;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	return x->number > y->number ? -1 : 1;
}

static void write_late(struct timeline *timeline, const struct late *late, bool is_begin)
{
	struct fxt_event event = {
		.type = is_begin ? FXT_BEGIN : FXT_END,
		.at = is_begin ? late->begin : late->end,
		.thread = &late->track->thread,
		.category = late->slice.category,
		.name = late->slice.name,
	};

	fxt_event(timeline->fxt, &event);
}

static void write_front_names(struct track *track, uint32_t part)
{
	if (track->named_front == part + 1)
		return;
	track->named_front = part + 1;
	write_names_of(track);
}

int timeline_leave_out(struct timeline *timeline)
{
	timeline->body = NULL;
	fxt_continue(timeline->fxt, NULL);
	return pieces_begin(&timeline->pieces, timeline->nr_parts);
}

bool timeline_is_left_out(const struct timeline *timeline)
{
	return !timeline->body;
}

void timeline_write_piece(struct timeline *timeline, FILE *file)
{
	timeline->body = file;
	fxt_continue(timeline->fxt, file);
}

int timeline_end_piece(struct timeline *timeline)
{
	const struct pieces *pieces = &timeline->pieces;
	int r = timeline->r ?: fxt_flush(timeline->fxt) ?: names_error(timeline->names);

	for (uint32_t i = pieces->pieces[pieces->nr - 1].first_part; i < timeline->nr_parts; i++) {
		int64_t offset = timeline->parts[i].offset;

		if (!r && fwrite(&offset, sizeof(offset), 1, timeline->body) != 1)
			r = -errno;
	}
	if (fflush(timeline->body))
		r = r ?: -errno;
	return r;
}

void timeline_write_rest(struct timeline *timeline)
{
	pieces_end(&timeline->pieces, timeline->nr_parts);
	timeline_write_piece(timeline, timeline->pieces.rest);
}

int timeline_put_piece(struct timeline *timeline, int number, int fd)
{
	return pieces_put(&timeline->pieces, number, fd);
}

/* Where parts are in all, of where they are in the piece that they begin in. */
static int find_parts(struct timeline *timeline)
{
	const struct pieces *pieces = &timeline->pieces;
	_cleanup_free_ int64_t *offsets = calloc(timeline->nr_parts, sizeof(*offsets));
	uint32_t nr = 0;

	if (!offsets)
		return -ENOMEM;
	for (size_t i = 0; i < pieces->nr; i++) {
		int r = pieces_offsets(pieces, i, offsets + nr);

		if (r)
			return r;
		nr += pieces->pieces[i].nr_parts;
	}
	for (uint32_t i = 0; i < timeline->nr_parts; i++)
		timeline->parts[i].offset =
			i < nr ? offsets[i] : timeline->parts[i].offset + pieces_size(pieces);
	return 0;
}

/* What comes before and after the body of a part, each with tables of its own. */
static int write_ends(struct timeline *timeline, const struct late *late, size_t nr,
		      struct fxt_file *out, bool in_front)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int r;

	if (!file)
		return -ENOMEM;
	fxt_begin(timeline->fxt, file);
	if (in_front)
		fxt_header(timeline->fxt, "perf-poke");
	for (size_t i = 0; in_front && i < nr; i++) {
		write_front_names(late[i].track, late[i].part);
		write_late(timeline, &late[i], true);
	}
	for (size_t i = nr; !in_front && i--;) {
		if (late[i].ends)
			write_late(timeline, &late[i], false);
	}
	r = fxt_flush(timeline->fxt);
	if (fclose(file))
		r = -ENOMEM;
	return r ?: fxt_file_write(out, text, size);
}

static int write_part(struct timeline *timeline, uint32_t number, const struct late *late,
		      size_t nr_late, struct fxt_file *out)
{
	int64_t end = pieces_size(&timeline->pieces) + ftell(timeline->pieces.rest);
	int r;

	if (number + 1 < timeline->nr_parts)
		end = timeline->parts[number + 1].offset;
	r = fxt_file_open(out, timeline->path, timeline->opts.split ? (int)number : -1);
	if (!r)
		r = write_ends(timeline, late, nr_late, out, true);
	if (!r)
		r = pieces_copy(&timeline->pieces, out, timeline->parts[number].offset, end,
				&timeline->opts.copying);
	if (!r)
		r = write_ends(timeline, late, nr_late, out, false);
	return r ?: fxt_file_close(out);
}

static int write_parts(struct timeline *timeline)
{
	struct fxt_file *files;
	size_t late = 0;
	int r = find_parts(timeline);

	if (r)
		return r;
	files = calloc(timeline->nr_parts, sizeof(*files));
	if (!files)
		return -ENOMEM;
	if (timeline->nr_late)
		qsort(timeline->late, timeline->nr_late, sizeof(*timeline->late), compare_late);
	for (uint32_t i = 0; i < timeline->nr_parts && !r; i++) {
		size_t first = late;

		while (late < timeline->nr_late && timeline->late[late].part == i)
			late++;
		r = write_part(timeline, i, late > first ? &timeline->late[first] : NULL,
			       late - first, &files[i]);
	}
	for (uint32_t i = 0; i < timeline->nr_parts && !r; i++)
		r = fxt_file_publish(&files[i]);
	for (uint32_t i = 0; i < timeline->nr_parts; i++)
		fxt_file_release(&files[i]);
	free(files);
	return r;
}

int timeline_finish(struct timeline *timeline, uint64_t at)
{
	/* An empty window, or no trace: still a file. */
	if (!timeline->nr_parts && !timeline->r)
		open_part(timeline, timeline->opts.counted ? 0 : timeline->opts.begin);
	for (struct track *track = timeline->tracks; track && timeline->open; track = track->next) {
		while (track->nr)
			track_end(track, at, NULL, 0);
	}
	timeline->open = false;
	if (!timeline->r)
		timeline->r = fxt_flush(timeline->fxt) ?: names_error(timeline->names);
	if (!timeline->r && fflush(timeline->pieces.rest))
		timeline->r = -errno;
	return timeline->r ?: write_parts(timeline);
}
