// SPDX-License-Identifier: GPL-2.0-only
#include "output/fxt.h"

#include <fcntl.h>
#include <string.h>
#include <zlib.h>

#include "array.h"
#include "io.h"
#include "text.h"

#define CHUNK 65536
/* Level 1 is hardly slower than no compression, at a tenth of the size. */
#define GZIP_MODE "wb1"

struct fxt_track {
	struct fxt_thread thread;
	uint32_t process_name, thread_name;
	bool named, named_in_front, has_interrupts;
	struct fxt_track *next;
};

struct late {
	struct track_late late;
	struct fxt_track *track;
};

struct fxt_timeline {
	struct fxt_timeline_opts opts;
	struct names *names;
	FILE *body;
	struct gzFile_s *gzip; /* NULL: not compressed */
	const struct trace_format *format;
	void *writer;
	struct fxt_track *tracks;
	struct late *late;
	size_t nr_late;
	uint32_t source_key;
	uint64_t first, last; /* times of events */
	int err;
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
	if (sink->format)
		sink->format->free(sink->writer);
	if (sink->gzip)
		gzclose(sink->gzip);
	free(sink->late);
	free(sink);
}

const struct trace_format *trace_format_of(const char *path)
{
	static const struct {
		const char *suffix;
		const struct trace_format *format;
	} formats[] = {
		{ ".pftrace", &pftrace_format },
		{ ".fxt", &fxt_format },
	};
	size_t length = strlen(path) - (has_suffix(path, ".gz") ? strlen(".gz") : 0);

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		size_t size = strlen(formats[i].suffix);

		if (length > size && !strncmp(path + length - size, formats[i].suffix, size))
			return formats[i].format;
	}
	return NULL;
}

static int open_body_file(struct fxt_timeline *sink)
{
	_cleanup_close_ int fd = fcntl(sink->opts.body, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	sink->body = fdopen(fd, "w+");
	if (!sink->body)
		return -errno;
	TAKE_FD(fd);
	return 0;
}

int fxt_timeline_new(struct fxt_timeline **ret, const struct fxt_timeline_opts *opts,
		     struct names *names)
{
	struct fxt_timeline *sink = calloc(1, sizeof(*sink));
	int err;

	if (!sink)
		return -ENOMEM;
	sink->opts = *opts;
	sink->names = names;
	sink->first = UINT64_MAX;
	sink->opts.process_key = names_add(names, "process");
	sink->source_key = names_add(names, "source");
	sink->format = trace_format_of(opts->path);
	err = sink->format ? sink->format->new (&sink->writer, names, &sink->opts) : -EINVAL;
	if (!err)
		err = open_body_file(sink);
	if (err) {
		fxt_timeline_free(sink);
		return err;
	}
	sink->format->begin_file(sink->writer, sink->body);
	*ret = sink;
	return 0;
}

static void *fxt_timeline_track(void *arg, const struct track_id *id)
{
	struct fxt_timeline *sink = arg;
	struct fxt_track *track = calloc(1, sizeof(*track));

	if (!track) {
		sink->err = -ENOMEM;
		return NULL;
	}
	track->thread = (struct fxt_thread){
		.process = id->process,
		.thread = id->thread,
		.cpu = id->cpu,
	};
	track->process_name = id->process_name;
	track->thread_name = id->thread_name;
	track->has_interrupts = id->kind == TRACK_INTERRUPTS;
	track->next = sink->tracks;
	sink->tracks = track;
	return track;
}

static void write_track_names(struct fxt_timeline *sink, const struct fxt_track *track)
{
	sink->format->write_names(sink->writer, &track->thread, track->process_name,
				  track->thread_name);
}

/* Names must precede the first event of a track. */
static void need_track_names(struct fxt_timeline *sink, struct fxt_track *track)
{
	if (!track->named)
		write_track_names(sink, track);
	track->named = true;
}

/* The last name in a file applies. */
static void fxt_timeline_rename(void *arg, void *end, const struct track_id *id, bool open)
{
	struct fxt_timeline *sink = arg;
	struct fxt_track *track = end;

	track->process_name = id->process_name;
	track->thread_name = id->thread_name;
	if (open && track->named)
		write_track_names(sink, track);
}

/* A slice begins with the line of its function. */
static void write_slice_event(struct fxt_timeline *sink, struct fxt_track *track,
			      struct track_event event)
{
	const struct track_arg source = {
		.type = TRACK_ARG_TEXT,
		.key = sink->source_key,
		.text = event.type == TRACK_BEGIN ? names_source(sink->names, event.name) : 0,
	};

	if (source.text) {
		event.args = &source;
		event.nr_args = 1;
	}
	sink->format->write_event(sink->writer, &track->thread, &event);
}

static void fxt_timeline_event(void *arg, void *end, const struct track_event *event)
{
	struct fxt_timeline *sink = arg;
	struct fxt_track *track = end;

	if (sink->err)
		return;
	need_track_names(sink, track);
	write_slice_event(sink, track, *event);
	sink->first = event->at < sink->first ? event->at : sink->first;
	sink->last = event->at > sink->last ? event->at : sink->last;
	if (track->has_interrupts && event->type == TRACK_BEGIN && sink->opts.listener.interrupt)
		sink->opts.listener.interrupt(sink->opts.listener.ctx, track->thread.cpu, event->at,
					      event->name);
}

static void fxt_timeline_late(void *arg, void *end, const struct track_late *late)
{
	struct fxt_timeline *sink = arg;

	if (array_grow(&sink->late, sink->nr_late, sizeof(*sink->late))) {
		sink->err = -ENOMEM;
		return;
	}
	sink->late[sink->nr_late++] = (struct late){ *late, end };
}

static void fxt_timeline_switch(void *arg, uint64_t at, int cpu, void *from, void *to)
{
	struct fxt_timeline *sink = arg;
	struct fxt_track *before = from, *after = to;

	if (sink->err || !sink->format->write_switch)
		return;
	need_track_names(sink, before);
	need_track_names(sink, after);
	sink->format->write_switch(sink->writer, at, (uint16_t)cpu, before->thread.thread,
				   after->thread.thread);
}

void fxt_timeline_find_range(const struct fxt_timeline *sink, uint64_t *first, uint64_t *last)
{
	*first = sink->first;
	*last = sink->last;
}

bool fxt_timeline_has_samples(const struct fxt_timeline *sink)
{
	return sink->format->write_sample;
}

void fxt_timeline_add_sample(struct fxt_timeline *sink, const struct fxt_sample *sample)
{
	if (!sink->err)
		sink->format->write_sample(sink->writer, sample);
}

static void write_late_event(struct fxt_timeline *sink, const struct late *late, bool is_begin)
{
	const struct track_event event = {
		.type = is_begin ? TRACK_BEGIN : TRACK_END,
		.at = is_begin ? late->late.begin : late->late.end,
		.category = late->late.category,
		.name = late->late.name,
	};

	write_slice_event(sink, late->track, event);
}

static int write_output_bytes(struct fxt_timeline *sink, const void *bytes, size_t size)
{
	if (!sink->gzip)
		return write_all(sink->opts.fd, bytes, size);
	errno = 0;
	if (size && gzwrite(sink->gzip, bytes, (unsigned int)size) != (int)size)
		return errno ? -errno : -EIO;
	return 0;
}

/* Writes the front or the end of the file, each with its own tables. Outermost slices, which were
 * found last, come first. */
static int write_front_or_end(struct fxt_timeline *sink, bool in_front)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int err;

	if (!file)
		return -ENOMEM;
	sink->format->begin_file(sink->writer, file);
	if (in_front)
		sink->format->write_header(sink->writer, sink->opts.facts);
	for (size_t i = sink->nr_late; in_front && i--;) {
		struct fxt_track *track = sink->late[i].track;

		if (!track->named_in_front)
			write_track_names(sink, track);
		track->named_in_front = true;
		write_late_event(sink, &sink->late[i], true);
	}
	for (size_t i = 0; !in_front && i < sink->nr_late; i++) {
		if (sink->late[i].late.ends)
			write_late_event(sink, &sink->late[i], false);
	}
	err = sink->format->flush(sink->writer);
	if (fclose(file))
		err = -ENOMEM;
	return err ?: write_output_bytes(sink, text, size);
}

static int copy_body_file(struct fxt_timeline *sink)
{
	const volatile sig_atomic_t *stop = sink->opts.stop;
	char bytes[CHUNK];
	int64_t at = 0;

	for (;;) {
		ssize_t nr = pread(fileno(sink->body), bytes, sizeof(bytes), at);
		int err;

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr <= 0)
			return nr ? -errno : 0;
		err = write_output_bytes(sink, bytes, (size_t)nr);
		if (err || (stop && *stop))
			return err ?: -EINTR;
		at += nr;
	}
}

static int open_gzip_output(struct fxt_timeline *sink)
{
	int fd = fcntl(sink->opts.fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	sink->gzip = gzdopen(fd, GZIP_MODE);
	if (!sink->gzip) {
		close(fd);
		return -ENOMEM;
	}
	return gzbuffer(sink->gzip, CHUNK) ? -ENOMEM : 0;
}

static int fxt_timeline_finish(void *arg)
{
	struct fxt_timeline *sink = arg;
	int err = sink->err;

	if (!err && sink->opts.listener.end)
		err = sink->opts.listener.end(sink->opts.listener.ctx, sink);
	err = err ?: sink->format->flush(sink->writer) ?: names_error(sink->names);
	if (!err && fflush(sink->body))
		err = -errno;
	if (!err && has_suffix(sink->opts.path, ".gz"))
		err = open_gzip_output(sink);
	if (!err)
		err = write_front_or_end(sink, true);
	if (!err)
		err = copy_body_file(sink);
	if (!err)
		err = write_front_or_end(sink, false);
	errno = 0;
	if (!err && sink->gzip && gzclose(TAKE_PTR(sink->gzip)) != Z_OK)
		err = errno ? -errno : -EIO;
	return err;
}

const struct timeline_ops fxt_timeline_ops = {
	.track = fxt_timeline_track,
	.rename = fxt_timeline_rename,
	.event = fxt_timeline_event,
	.late = fxt_timeline_late,
	.change = fxt_timeline_switch,
	.finish = fxt_timeline_finish,
};
