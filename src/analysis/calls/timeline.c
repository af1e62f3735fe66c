// SPDX-License-Identifier: GPL-2.0-only
#include "calls/timeline.h"

#include "array.h"

struct slice {
	uint32_t category, name;
};

struct track {
	struct timeline *timeline;
	struct track_id id;
	void *end;	      /* from the sink; NULL: not reported */
	struct slice *slices; /* open slices */
	size_t nr, room;
	uint64_t last;	  /* position */
	bool ended;	  /* a slice has ended */
	uint64_t restart; /* position; 0: before the window */
	struct track *next;
};

struct timeline {
	struct timeline_opts opts;
	struct track *tracks, **tail;
	uint64_t begin, end; /* of the window, if it was opened and closed: positions */
	uint64_t last;	     /* position */
	uint64_t slices;
	uint32_t continued_key;
	bool opened, open, closed;
	int err;
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
	free(timeline);
}

int timeline_new(struct timeline **ret, const struct timeline_opts *opts, struct names *names)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return -ENOMEM;
	timeline->opts = *opts;
	timeline->tail = &timeline->tracks;
	timeline->continued_key = names_add(names, "continued");
	*ret = timeline;
	return 0;
}

struct track *timeline_track(struct timeline *timeline, const struct track_id *id)
{
	struct track *track = calloc(1, sizeof(*track));

	if (!track) {
		timeline->err = -ENOMEM;
		return NULL;
	}
	track->timeline = timeline;
	track->id = *id;
	track->end = timeline->opts.ops->track(timeline->opts.sink, id);
	track->last = timeline->begin;
	*timeline->tail = track;
	timeline->tail = &track->next;
	return track;
}

void track_rename(struct track *track, uint32_t process_name, uint32_t thread_name)
{
	const struct timeline_opts *opts = &track->timeline->opts;

	if (process_name)
		track->id.process_name = process_name;
	track->id.thread_name = thread_name;
	if (track->end && opts->ops->rename)
		opts->ops->rename(opts->sink, track->end, &track->id, track->timeline->open);
}

static void send_track_event(struct track *track, struct track_event *event)
{
	struct timeline *timeline = track->timeline;

	if (event->at < track->last)
		event->at = track->last;
	track->last = event->at;
	if (event->at > timeline->last)
		timeline->last = event->at;
	if (timeline->open && track->end)
		timeline->opts.ops->event(timeline->opts.sink, track->end, event);
}

static void send_slice_event(struct track *track, enum track_event_type type,
			     const struct slice *slice, uint64_t at, const struct track_arg *args,
			     size_t nr_args)
{
	struct track_event event = {
		.type = type,
		.at = at,
		.category = slice->category,
		.name = slice->name,
		.args = args,
		.nr_args = nr_args,
	};

	send_track_event(track, &event);
}

static void open_time_window(struct timeline *timeline, uint64_t at)
{
	timeline->opened = timeline->open = true;
	timeline->begin = timeline->last = at;
	for (struct track *track = timeline->tracks; track; track = track->next) {
		track->last = at;
		for (size_t i = 0; i < track->nr; i++)
			send_slice_event(track, TRACK_BEGIN, &track->slices[i], at, NULL, 0);
	}
}

/* Slices that continue after the window end here. */
static void close_time_window(struct timeline *timeline, uint64_t at)
{
	const struct track_arg goes_on = {
		.type = TRACK_ARG_BOOL,
		.key = timeline->continued_key,
		.boolean = true,
	};

	for (struct track *track = timeline->tracks; track; track = track->next) {
		for (size_t i = track->nr; i--;)
			send_slice_event(track, TRACK_END, &track->slices[i], at, &goes_on, 1);
	}
	timeline->end = at;
	timeline->open = false;
	timeline->closed = true;
}

bool timeline_has(const struct timeline *timeline, uint64_t time)
{
	return time >= timeline->opts.begin && time <= timeline->opts.end;
}

uint64_t timeline_quiet_until(const struct timeline *timeline)
{
	const struct timeline_opts *opts = &timeline->opts;

	if (timeline->closed)
		return UINT64_MAX;
	if (timeline->open)
		return opts->end;
	return opts->begin ? opts->begin - 1 : 0;
}

bool timeline_advance(struct timeline *timeline, uint64_t time)
{
	const struct timeline_opts *opts = &timeline->opts;
	bool opens = false;

	if (timeline->closed || time < opts->begin || timeline->err ||
	    (timeline->open && time <= opts->end))
		return false;
	if (!timeline->open) {
		opens = true;
		/* Without a window, it begins with the trace. */
		open_time_window(timeline, opts->counted ? 0 : opts->begin ?: time);
	}
	if (time > opts->end)
		close_time_window(timeline, opts->counted ? timeline->last : opts->end);
	return opens;
}

static bool push_open_slice(struct track *track, uint32_t category, uint32_t name)
{
	/* Never shrinks: slices come and go. */
	if (track->nr == track->room) {
		if (array_grow(&track->slices, track->room, sizeof(*track->slices))) {
			track->timeline->err = -ENOMEM;
			return false;
		}
		track->room = track->room ? 2 * track->room : 1;
	}
	track->slices[track->nr++] = (struct slice){ .category = category, .name = name };
	return true;
}

void track_begin(struct track *track, uint64_t at, uint32_t category, uint32_t name)
{
	if (!push_open_slice(track, category, name))
		return;
	track->timeline->slices += track->timeline->open && track->end;
	send_slice_event(track, TRACK_BEGIN, &track->slices[track->nr - 1], at, NULL, 0);
}

void track_begin_late(struct track *track, uint32_t category, uint32_t name)
{
	struct timeline *timeline = track->timeline;
	struct track_late late = {
		.ends = timeline->closed,
		.begin = track->restart > timeline->begin ? track->restart : timeline->begin,
		.end = timeline->end,
		.category = category,
		.name = name,
	};

	if (!push_open_slice(track, category, name) || !timeline->opened || !track->end)
		return;
	/* Even after the window, unless the track was restarted there. */
	if (late.ends && late.begin > late.end)
		return;
	timeline->opts.ops->late(timeline->opts.sink, track->end, &late);
	timeline->slices++;
}

void track_end(struct track *track, uint64_t at, const struct track_arg *args, size_t nr_args)
{
	if (!track->nr)
		return;
	track->nr--;
	track->ended = true;
	send_slice_event(track, TRACK_END, &track->slices[track->nr], at, args, nr_args);
}

void track_instant(struct track *track, uint64_t at, uint32_t category, uint32_t name,
		   const struct track_arg *args, size_t nr_args)
{
	send_slice_event(track, TRACK_INSTANT,
			 &(struct slice){ .category = category, .name = name }, at, args, nr_args);
}

void track_flow(struct track *track, uint64_t at, enum track_event_type type, uint32_t category,
		uint32_t name, uint64_t flow)
{
	struct track_event event = {
		.type = type,
		.at = at,
		.category = category,
		.name = name,
		.flow = flow,
	};

	send_track_event(track, &event);
}

void track_restart(struct track *track, uint64_t at)
{
	const struct timeline_opts *opts = &track->timeline->opts;
	uint64_t first = track->last + (track->ended && track->last < UINT64_MAX);

	if (at < first)
		at = first;
	track->last = at;
	track->restart = track->timeline->opened ? at : 0;
	if (track->end && opts->ops->restart)
		opts->ops->restart(opts->sink, track->end);
}

size_t track_depth(const struct track *track)
{
	return track->nr;
}

void timeline_switch(struct timeline *timeline, uint64_t at, int cpu, struct track *from,
		     struct track *to)
{
	const struct timeline_opts *opts = &timeline->opts;

	if (timeline->open && opts->ops->change && from->end && to->end)
		opts->ops->change(opts->sink, at, cpu, from->end, to->end);
}

uint64_t timeline_slices(const struct timeline *timeline)
{
	return timeline->slices;
}

int timeline_finish(struct timeline *timeline, uint64_t at)
{
	const struct timeline_opts *opts = &timeline->opts;

	if (!timeline->opened)
		open_time_window(timeline, opts->counted ? 0 : opts->begin);
	for (struct track *track = timeline->tracks; track && timeline->open; track = track->next) {
		while (track->nr)
			track_end(track, at, NULL, 0);
	}
	timeline->open = false;
	return timeline->err ?: opts->ops->finish(opts->sink);
}
