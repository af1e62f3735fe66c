// SPDX-License-Identifier: GPL-2.0-only
/* Events as perf hands them to the filter: a byte that chooses the arguments, and a file of
 * stream.h. */
#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "fuzz.h"
#include "fxt_format.h"
#include "merge.h"
#include "stream.h"
#include "tree.h"

/* What is open is written anew for each switch and each part: more would only take longer. */
#define MAX_SIZE 16384

enum choice {
	CHOOSE_AXIS = 3, /* 3: time */
	CHOOSE_THREADS = 4,
	CHOOSE_SPLIT = 8,
	CHOOSE_WINDOW = 16,
	CHOOSE_SPIKE = 32,
	CHOOSE_GZIP = 64,
	CHOOSE_TABLES = 128, /* small ones */
};

/* What was there of a record file so far. */
struct seen {
	bool strings[FXT_STRINGS_MAX + 1], threads[FXT_THREADS_MAX + 1];
	uint64_t begins, ends;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static const struct symbol *resolve(void *arg, const struct calls_event *event, uint64_t ip)
{
	const struct stream_reader *reader = arg;

	return ip == event->from ? reader->from : reader->to;
}

static const char *comm(void *arg, const struct calls_event *event)
{
	const struct stream_reader *reader = arg;

	(void)event;
	return reader->comm;
}

static void choose(struct args *args, uint8_t choice, const char *path)
{
	*args = (struct args){
		.timeline = { .path = path, .end = UINT64_MAX },
		.calls = { .axis = (choice & CHOOSE_AXIS) % 3, .spike_cpu = -1 },
	};
	args->timeline.counted = args->calls.axis != CALLS_TIME;
	args->calls.threads_only = choice & CHOOSE_THREADS;
	if (choice & CHOOSE_SPLIT && !args->timeline.counted)
		args->timeline.split = 700;
	if (choice & CHOOSE_WINDOW) {
		args->timeline.begin = 1010;
		args->timeline.end = 9000;
	}
	if (choice & CHOOSE_SPIKE) {
		args->calls.expected = 1020;
		args->calls.spike = 1040;
	}
	if (choice & CHOOSE_TABLES) {
		args->timeline.max_strings = 12;
		args->timeline.max_threads = 2;
	}
}

static void check_event(struct seen *seen, const uint64_t *words)
{
	uint64_t type = *words >> 16 & 0xf, thread = *words >> 24 & 0xff;

	must(thread && seen->threads[thread]);
	must(seen->strings[*words >> 32 & 0xffff] && seen->strings[*words >> 48]);
	seen->begins += type == FXT_BEGIN;
	seen->ends += type == FXT_END;
	must(seen->ends <= seen->begins);
}

static void check_record(struct seen *seen, const uint64_t *words)
{
	uint64_t index = *words >> 16;

	switch (*words & 0xf) {
	case RECORD_STRING:
		index &= 0xffff;
		must(index && index <= FXT_STRINGS_MAX);
		seen->strings[index] = true;
		break;
	case RECORD_THREAD:
		index &= 0xff;
		must(index);
		seen->threads[index] = true;
		break;
	case RECORD_EVENT:
		check_event(seen, words);
		break;
	}
}

/* Whole records that refer to what was before them; slices that begin and end. */
static void check_file(const char *path)
{
	uint64_t words[FXT_WORDS_MAX + 1];
	struct seen seen = { .strings = { true } };
	gzFile file = gzopen(path, "rb");
	int nr;

	must(file && gzread(file, words, 8) == 8 && *words == FXT_MAGIC);
	while ((nr = gzread(file, words, 8))) {
		int size = (int)(*words >> 4 & 0xfff) * 8;

		must(nr == 8 && size &&
		     gzread(file, words + 1, (unsigned int)size - 8) == size - 8);
		check_record(&seen, words);
	}
	must(seen.begins == seen.ends);
	gzclose(file);
}

/* There are files if it went well, and only then. */
static void check_folder(const char *path, bool well)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct dirent *entry;
	size_t nr = 0;

	must(!!dir);
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *name = NULL;

		if (entry->d_name[0] == '.')
			continue;
		must(asprintf(&name, "%s/%s", path, entry->d_name) > 0);
		check_file(name);
		nr++;
	}
	must(well == !!nr);
}

/* The first and the last time that events have; the other way round: there are none. */
struct span {
	uint64_t begin, end;
};

static int add_events(struct calls *calls, struct stream_reader *reader, struct span *span)
{
	struct calls_event event;
	int r;

	while ((r = stream_read(reader, &event)) > 0) {
		span->begin = event.time < span->begin ? event.time : span->begin;
		span->end = event.time > span->end ? event.time : span->end;
		calls_add(calls, &event);
	}
	must(!r || r == -EBADMSG);
	return r;
}

/* All of it, as one perf would have it. */
static int run(struct args *args, const char *events, struct span *span)
{
	struct stream_reader reader;
	struct timeline *timeline;
	struct code_cache *code;
	struct names *names;
	struct calls *calls;
	uint64_t at;
	int r;

	args->calls.resolve = resolve;
	args->calls.comm = comm;
	args->calls.arg = &reader;
	must(!names_new(&names));
	must(!code_cache_new(&code, names));
	must(!timeline_new(&timeline, &args->timeline, names));
	must(!calls_new(&calls, &args->calls, timeline, names));
	r = stream_open(&reader, events, code);
	if (!r)
		r = add_events(calls, &reader, span);
	if (!r)
		must(!calls_finish(calls, &at) && !timeline_finish(timeline, at));
	stream_close(&reader);
	calls_free(calls);
	timeline_free(timeline);
	code_cache_free(code);
	names_free(names);
	return r;
}

/* As two slices, which say the same. */
static void run_slices(struct args *args, const char *events, const struct span *span)
{
	uint64_t cut = span->begin + (span->end - span->begin) / 2;
	struct merge *merge;
	int r;

	must(!merge_new(&merge, args));
	must(!merge_slice(merge, events, 0, cut) && !merge_leave_out(merge, NULL, NULL));
	r = merge_slice(merge, events, UINT64_MAX, UINT64_MAX);
	/* There may be too little of it. */
	must(!r || r == -ESTALE);
	if (!r)
		must(!merge_leave_out(merge, NULL, NULL));
	merge_free(merge);
}

static int run_in(char *folder, uint8_t choice, const char *events)
{
	_cleanup_free_ char *path = NULL;
	struct span span = { .begin = UINT64_MAX };
	struct args args;
	int r;

	must(!!mkdtemp(folder));
	must(asprintf(&path, "%s/out.fxt%s", folder, choice & CHOOSE_GZIP ? ".gz" : "") > 0);
	choose(&args, choice, path);
	r = run(&args, events, &span);
	check_folder(folder, !r);
	if (!r && span.begin <= span.end)
		run_slices(&args, events, &span);
	must(!tree_remove(AT_FDCWD, folder));
	return r;
}

int fuzz_one(const uint8_t *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("events", MFD_CLOEXEC);
	char folder[] = "/tmp/perf-poke-fuzz-XXXXXX";
	char events[32];

	if (!size || size > MAX_SIZE)
		return -EINVAL;
	must(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)size - 1);
	snprintf(events, sizeof(events), "/proc/self/fd/%d", fd);
	return run_in(folder, data[0], events);
}
