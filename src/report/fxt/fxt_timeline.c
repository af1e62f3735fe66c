// SPDX-License-Identifier: GPL-2.0-only
#include "fxt/fxt_timeline.h"

#include <string.h>

#include "array.h"
#include "fxt/fxt.h"
#include "fxt/fxt_file.h"

struct fxt_track {
	struct fxt_thread thread;
	uint32_t process_name, thread_name;
	uint32_t named;	      /* last part with its names, plus one */
	uint32_t named_front; /* the same for the front of a part */
	struct fxt_track *next;
};

struct late {
	struct track_late late;
	struct fxt_track *track;
	size_t number;
};

struct fxt_timeline {
	struct fxt_timeline_opts opts;
	struct names *names;
	char *path;
	FILE *body;
	int64_t *offsets; /* of the parts in the body */
	uint32_t nr_parts;
	struct fxt *fxt;
	struct fxt_track *tracks;
	struct late *late;
	size_t nr_late;
	uint32_t process_key;
	int r;
};

void fxt_timeline_free(struct fxt_timeline *sink)
{
	struct fxt_track *next;

	if (!sink)
		return;
	for (struct fxt_track *track = sink->tracks; track; track = next) {
		next = track->next;
		free(track);
	}
	if (sink->body)
		fclose(sink->body);
	fxt_free(sink->fxt);
	free(sink->offsets);
	free(sink->late);
	free(sink->path);
	free(sink);
}

int fxt_timeline_new(struct fxt_timeline **ret, const struct fxt_timeline_opts *opts,
		     struct names *names)
{
	struct fxt_timeline *sink = calloc(1, sizeof(*sink));
	int r = -ENOMEM;

	if (!sink)
		return r;
	sink->opts = *opts;
	sink->names = names;
	sink->process_key = names_add(names, "process");
	sink->path = strdup(opts->path);
	if (sink->path)
		r = fxt_new(&sink->fxt, names, opts->max_strings, opts->max_threads);
	if (!r)
		r = fxt_file_scratch(opts->path, &sink->body);
	if (r)
		fxt_timeline_free(sink);
	else
		*ret = sink;
	return r;
}

static void *add_track(void *arg, const struct track_id *id)
{
	struct fxt_timeline *sink = arg;
	struct fxt_track *track = calloc(1, sizeof(*track));

	if (!track) {
		sink->r = -ENOMEM;
		return NULL;
	}
	track->thread = (struct fxt_thread){ .process = id->process, .thread = id->thread };
	track->process_name = id->process_name;
	track->thread_name = id->thread_name;
	track->next = sink->tracks;
	sink->tracks = track;
	return track;
}

static void write_names(struct fxt_timeline *sink, const struct fxt_track *track)
{
	fxt_process(sink->fxt, track->thread.process, track->process_name);
	fxt_thread(sink->fxt, &track->thread, track->thread_name, sink->process_key);
}

/* Names must precede the first event of a track in a part. */
static void need_names(struct fxt_timeline *sink, struct fxt_track *track)
{
	if (track->named == sink->nr_parts)
		return;
	track->named = sink->nr_parts;
	write_names(sink, track);
}

/* The last name in a file applies. */
static void rename_track(void *arg, void *end, const struct track_id *id, bool open)
{
	struct fxt_timeline *sink = arg;
	struct fxt_track *track = end;

	track->process_name = id->process_name;
	track->thread_name = id->thread_name;
	if (open && track->named == sink->nr_parts)
		write_names(sink, track);
}

static void begin_part(void *arg, uint32_t number, uint64_t at)
{
	struct fxt_timeline *sink = arg;
	int64_t *grown = reallocarray(sink->offsets, number + 1, sizeof(*grown));

	if (!grown) {
		sink->r = -ENOMEM;
		return;
	}
	fxt_flush(sink->fxt);
	sink->offsets = grown;
	sink->offsets[number] = ftell(sink->body);
	sink->nr_parts = number + 1;
	fxt_begin(sink->fxt, sink->body);
}

static void write_event(void *arg, void *end, const struct track_event *event)
{
	struct fxt_timeline *sink = arg;
	struct fxt_track *track = end;

	if (sink->r)
		return;
	need_names(sink, track);
	fxt_event(sink->fxt, &track->thread, event);
}

static void add_late(void *arg, void *end, const struct track_late *late)
{
	struct fxt_timeline *sink = arg;

	if (array_grow(&sink->late, sink->nr_late, sizeof(*sink->late))) {
		sink->r = -ENOMEM;
		return;
	}
	sink->late[sink->nr_late] = (struct late){ *late, end, sink->nr_late };
	sink->nr_late++;
}

static void write_switch(void *arg, uint64_t at, int cpu, void *from, void *to)
{
	struct fxt_timeline *sink = arg;
	struct fxt_track *before = from, *after = to;

	if (sink->r)
		return;
	need_names(sink, before);
	need_names(sink, after);
	fxt_switch(sink->fxt, at, (uint16_t)cpu, before->thread.thread, after->thread.thread);
}

/* By part. Outermost slices, which were found last, come first. */
static int compare_late(const void *a, const void *b)
{
	const struct late *x = a, *y = b;

	return array_compare(x->late.part, y->late.part) ?: array_compare(y->number, x->number);
}

static void write_late(struct fxt_timeline *sink, const struct late *late, bool is_begin)
{
	const struct track_event event = {
		.type = is_begin ? TRACK_BEGIN : TRACK_END,
		.at = is_begin ? late->late.begin : late->late.end,
		.category = late->late.category,
		.name = late->late.name,
	};

	fxt_event(sink->fxt, &late->track->thread, &event);
}

static void write_front_names(struct fxt_timeline *sink, struct fxt_track *track, uint32_t part)
{
	if (track->named_front == part + 1)
		return;
	track->named_front = part + 1;
	write_names(sink, track);
}

/* Writes the front or the end of a part, each with its own tables. */
static int write_ends(struct fxt_timeline *sink, const struct late *late, size_t nr,
		      struct fxt_file *out, bool in_front)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int r;

	if (!file)
		return -ENOMEM;
	fxt_begin(sink->fxt, file);
	if (in_front)
		fxt_header(sink->fxt, "perf-poke");
	for (size_t i = 0; in_front && i < nr; i++) {
		write_front_names(sink, late[i].track, late[i].late.part);
		write_late(sink, &late[i], true);
	}
	for (size_t i = nr; !in_front && i--;) {
		if (late[i].late.ends)
			write_late(sink, &late[i], false);
	}
	r = fxt_flush(sink->fxt);
	if (fclose(file))
		r = -ENOMEM;
	return r ?: fxt_file_write(out, text, size);
}

static int write_part(struct fxt_timeline *sink, uint32_t number, const struct late *late,
		      size_t nr_late, struct fxt_file *out)
{
	bool last = number + 1 == sink->nr_parts;
	int64_t end = last ? ftell(sink->body) : sink->offsets[number + 1];
	int r = fxt_file_open(out, sink->path, sink->opts.split ? (int)number : -1);

	if (!r)
		r = write_ends(sink, late, nr_late, out, true);
	if (!r)
		r = fxt_file_copy(out, fileno(sink->body), sink->offsets[number], end,
				  sink->opts.stop);
	if (!r)
		r = write_ends(sink, late, nr_late, out, false);
	return r ?: fxt_file_close(out);
}

static int write_parts(struct fxt_timeline *sink, struct fxt_file *files)
{
	size_t late = 0;
	int r = 0;

	if (sink->nr_late)
		qsort(sink->late, sink->nr_late, sizeof(*sink->late), compare_late);
	for (uint32_t i = 0; i < sink->nr_parts && !r; i++) {
		size_t first = late;

		while (late < sink->nr_late && sink->late[late].late.part == i)
			late++;
		r = write_part(sink, i, late > first ? &sink->late[first] : NULL, late - first,
			       &files[i]);
	}
	for (uint32_t i = 0; i < sink->nr_parts && !r; i++)
		r = fxt_file_publish(&files[i]);
	return r;
}

static int finish(void *arg)
{
	struct fxt_timeline *sink = arg;
	struct fxt_file *files;
	int r = sink->r ?: fxt_flush(sink->fxt) ?: names_error(sink->names);

	if (!r && fflush(sink->body))
		r = -errno;
	if (r)
		return r;
	files = calloc(sink->nr_parts, sizeof(*files));
	if (!files)
		return -ENOMEM;
	r = write_parts(sink, files);
	for (uint32_t i = 0; i < sink->nr_parts; i++)
		fxt_file_release(&files[i]);
	free(files);
	return r;
}

const struct timeline_ops fxt_timeline_ops = {
	.track = add_track,
	.rename = rename_track,
	.part = begin_part,
	.event = write_event,
	.late = add_late,
	.change = write_switch,
	.finish = finish,
};
