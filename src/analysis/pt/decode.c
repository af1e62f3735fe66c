// SPDX-License-Identifier: GPL-2.0-only
#include "pt/decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "code/code.h"
#include "pt/jobs.h"
#include "text.h"

/* The next items of a CPU. */
struct stream {
	struct chunk *chunk; /* NULL: not requested yet */
	size_t at;
	uint64_t last;	 /* time of the previous item: a lower bound of the next */
	uint32_t cycles; /* pending from the previous segment */
	bool joined, ended;
};

struct decode {
	struct decode_opts opts;
	struct perfdata_file file;
	struct sideband *sideband;
	struct trace *trace;
	struct code *code;
	struct code_view *view; /* for names */
	struct blocks_env env;
	struct jobs *jobs;
	struct stream *streams;
	size_t nr_streams;
	struct decode_stats stats;
	struct blocks_steps steps;
};

static int map_data_file(struct decode *decode, char **why)
{
	_cleanup_close_ int fd = open(decode->opts.data, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd >= 0 && !fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		int data = openat(fd, "data", O_RDONLY | O_CLOEXEC);

		close(fd);
		fd = data;
	}
	err = fd < 0 ? -errno : perfdata_map(&decode->file, fd);
	if (err)
		*why = strfmt("%s: %s", decode->opts.data, strerror(-err));
	return err;
}

static int open_traced_code(struct decode *decode, char **why)
{
	const struct code_opts opts = {
		.data = decode->opts.data,
		.buildid_dir = decode->opts.buildid_dir,
		.symfs = decode->opts.symfs,
		.symbolizer = decode->opts.symbolizer,
		.inlined = decode->opts.inlined,
		.sideband = decode->sideband,
	};
	uint64_t switch_to = 0, end;
	int err = code_new(&decode->code, &opts, why);

	if (err)
		return err;
	(void)code_kernel_symbol(decode->code, "__switch_to", &switch_to, &end);
	blocks_env_init(&decode->env, decode->sideband, switch_to);
	decode->env.runs = decode->opts.runs;
	memcpy(decode->env.marks, decode->opts.marks, sizeof(decode->env.marks));
	return code_view_new(&decode->view, decode->code);
}

static int open_item_streams(struct decode *decode)
{
	const struct jobs_opts opts = {
		.env = &decode->env,
		.trace = decode->trace,
		.code = decode->code,
		.begin = decode->opts.begin,
		.end = decode->opts.end,
		.tail = decode->opts.tail,
		.cpu = decode->opts.cpu,
		.threads = decode->opts.threads,
	};
	int err = jobs_new(&decode->jobs, &opts);

	if (err)
		return err;
	decode->streams = calloc(jobs_nr_sources(decode->jobs) + 1, sizeof(*decode->streams));
	if (!decode->streams)
		return -ENOMEM;
	decode->nr_streams = jobs_nr_sources(decode->jobs);
	for (size_t i = 0; i < decode->nr_streams; i++) {
		struct stream *stream = &decode->streams[i];

		stream->ended = !jobs_next_time(decode->jobs, i, &stream->last);
	}
	return 0;
}

bool decode_is_built(void)
{
	return true;
}

int decode_new(struct decode **ret, const struct decode_opts *opts, char **why)
{
	struct decode *decode = calloc(1, sizeof(*decode));
	int err;

	*why = NULL;
	if (!decode)
		return -ENOMEM;
	decode->opts = *opts;
	err = map_data_file(decode, why);
	err = err ?: sideband_new(&decode->sideband, &decode->file, why);
	err = err ?: trace_new(&decode->trace, &decode->file, decode->sideband, why);
	err = err ?: open_traced_code(decode, why);
	err = err ?: open_item_streams(decode);
	if (err) {
		decode_free(decode);
		return err;
	}
	*ret = decode;
	return 0;
}

void decode_free(struct decode *decode)
{
	if (!decode)
		return;
	for (size_t i = 0; i < decode->nr_streams; i++)
		free(decode->streams[i].chunk);
	free(decode->streams);
	jobs_free(decode->jobs);
	code_view_free(decode->view);
	code_free(decode->code);
	trace_free(decode->trace);
	sideband_free(decode->sideband);
	perfdata_unmap(&decode->file);
	free(decode);
}

static void note_first_error(struct decode *decode, const struct decode_item *item)
{
	struct decode_stats *stats = &decode->stats;
	char text[96];

	if (*stats->first_error)
		return;
	decode_error_text(item->error, item->from, text, sizeof(text));
	snprintf(stats->first_error, sizeof(stats->first_error), "CPU %d, offset %" PRIu64 ": %s",
		 item->cpu, item->offset, text);
}

static void count_chunk_stats(struct decode *decode, const struct stream *stream)
{
	const struct chunk *chunk = stream->chunk;
	struct decode_stats *stats = &decode->stats;

	if (chunk->first) {
		stats->segments++;
		stats->bytes += (uint64_t)(chunk->segment.end - chunk->segment.begin);
	}
	if (!chunk->last)
		return;
	for (size_t i = 0; i < BLOCKS_STEPS; i++) {
		decode->steps.nr[i] += chunk->counts.steps.nr[i];
		decode->steps.sum_ns[i] += chunk->counts.steps.sum_ns[i];
	}
	stats->errors += chunk->counts.errors;
	stats->overflows += chunk->counts.overflows;
	if (chunk->counts.errors)
		note_first_error(decode, &chunk->counts.first_error);
}

/* Segments are decoded independently. If a segment continues the previous one, drops the begin of
 * the trace, and replaces estimated times by those of the previous one. */
static void join_chunk_to_stream(struct stream *stream)
{
	struct chunk *chunk = stream->chunk;

	stream->at = chunk->first && stream->joined && chunk->segment.joined && chunk->nr &&
		     chunk->items[0].kind == DECODE_BEGIN;
	for (size_t i = 0; i < chunk->nr && chunk->items[i].time < stream->last; i++)
		chunk->items[i].time = stream->last;
	for (size_t i = 0; i < chunk->nr && stream->cycles; i++) {
		if (!chunk->items[i].cycles)
			continue;
		item_add_cycles(&chunk->items[i], stream->cycles);
		stream->cycles = 0;
	}
	if (!chunk->last)
		return;
	stream->joined = chunk->counts.joined;
	stream->cycles = chunk->counts.cycles;
}

static bool stream_is_loaded(const struct stream *stream)
{
	return stream->chunk && stream->at < stream->chunk->nr;
}

/* Waits until the stream has an item or ends. */
static int load_next_chunk(struct decode *decode, size_t i)
{
	struct stream *stream = &decode->streams[i];

	while (!stream_is_loaded(stream)) {
		int err;

		if (stream->chunk)
			jobs_return_chunk(decode->jobs, stream->chunk);
		stream->chunk = NULL;
		err = jobs_take_chunk(decode->jobs, i, &stream->chunk);
		if (err)
			return err;
		stream->ended = !stream->chunk;
		if (stream->ended)
			return 0;
		count_chunk_stats(decode, stream);
		join_chunk_to_stream(stream);
	}
	return 0;
}

static uint64_t next_item_time(const struct stream *stream)
{
	return stream_is_loaded(stream) ? stream->chunk->items[stream->at].time : stream->last;
}

/* The stream with the earliest next item, and the time until which it stays the earliest. Among
 * equals, the first stream. SIZE_MAX: none. */
static size_t first_stream(const struct decode *decode, uint64_t *until)
{
	size_t first = SIZE_MAX;
	uint64_t time = UINT64_MAX;

	*until = UINT64_MAX;
	for (size_t i = 0; i < decode->nr_streams; i++) {
		uint64_t here = next_item_time(&decode->streams[i]);

		if (decode->streams[i].ended)
			continue;
		if (first == SIZE_MAX || here < time) {
			/* At equal times, earlier streams win, later ones do not. */
			*until = first == SIZE_MAX ? UINT64_MAX : time - 1;
			first = i;
			time = here;
		} else if (here < *until) {
			*until = here;
		}
	}
	return first;
}

int decode_next(struct decode *decode, const struct decode_item **items, size_t *nr)
{
	struct stream *stream;
	uint64_t until;

	*nr = 0;
	for (;;) {
		size_t first = first_stream(decode, &until);
		int err;

		if (decode->opts.stop && *decode->opts.stop)
			return -ECANCELED;
		if (first == SIZE_MAX)
			return 0;
		stream = &decode->streams[first];
		if (decode->opts.end && next_item_time(stream) > decode->opts.end)
			return 0;
		if (stream_is_loaded(stream))
			break;
		err = load_next_chunk(decode, first);
		if (err)
			return err;
	}
	if (decode->opts.end && decode->opts.end < until)
		until = decode->opts.end;
	*items = &stream->chunk->items[stream->at];
	*nr = ARRAY_COUNT_BEFORE(stream->chunk->nr - stream->at, i, (*items)[i].time <= until);
	stream->at += *nr;
	stream->last = (*items)[*nr - 1].time;
	return 0;
}

const char *decode_thread_name(struct decode *decode, int tid, uint64_t time)
{
	return sideband_comm(decode->sideband, tid, time);
}

const struct symbol *decode_symbol(struct decode *decode, const struct decode_item *item,
				   uint64_t ip)
{
	return code_view_symbol(decode->view, item->pid, item->time, ip);
}

int decode_code_files(struct decode *decode, struct code_file **files, size_t *nr)
{
	return code_files(decode->code, files, nr);
}

static void count_lost_records(const struct decode *decode, struct decode_stats *stats)
{
	const struct decode_opts *opts = &decode->opts;
	size_t nr;
	const struct sideband_lost *lost = sideband_lost(decode->sideband, &nr);

	for (size_t i = 0; i < nr; i++) {
		if (lost[i].time < opts->begin || (opts->end && lost[i].time > opts->end) ||
		    (opts->cpu >= 0 && lost[i].cpu >= 0 && lost[i].cpu != opts->cpu))
			continue;
		stats->lost_records += lost[i].records;
		stats->truncated += !lost[i].records;
	}
}

/* The median, of equal ones of a bucket their mean. */
static uint64_t median_time_step(const struct blocks_steps *steps)
{
	uint64_t all = 0, nr = 0;

	for (size_t i = 0; i < BLOCKS_STEPS; i++)
		all += steps->nr[i];
	for (size_t i = 0; i < BLOCKS_STEPS; i++) {
		nr += steps->nr[i];
		if (nr && 2 * nr >= all)
			return steps->sum_ns[i] / steps->nr[i];
	}
	return 0;
}

void decode_stats(const struct decode *decode, struct decode_stats *stats)
{
	*stats = decode->stats;
	stats->step_ns = median_time_step(&decode->steps);
	count_lost_records(decode, stats);
}
