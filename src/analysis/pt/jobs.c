// SPDX-License-Identifier: GPL-2.0-only
#include "pt/jobs.h"

#include <pthread.h>

#include "code/code.h"

/* Limits of waiting chunks: of the next segment, and of others. */
#define HEAD_CHUNKS 2
#define AHEAD_CHUNKS 96

/* Segments, usually of 16 KiB, that are decoded before a window, to know the stack at its begin
 * from earlier calls. */
#define LEAD_SEGMENTS 4

/* One segment. */
struct job {
	struct job *next;
	struct blocks *blocks;
	struct trace_segment segment;
	struct chunk *first, **end;
	size_t nr; /* chunks */
	bool started, busy, done;
};

struct source {
	const struct trace_queue *queue;
	struct job *jobs, **end;
	struct trace_segment segment, behind; /* next segment and the one after it, if any */
	bool has_segment, has_behind;
};

struct worker {
	struct jobs *jobs;
	struct code_view *view;
	pthread_t thread;
	bool runs;
};

struct jobs {
	struct jobs_opts opts;
	struct source *sources;
	size_t nr;
	struct worker *workers; /* without threads: one for the caller */
	size_t nr_workers;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct chunk *spare;
	size_t ahead; /* waiting chunks, except those of next segments */
	bool quit;
	int err;
};

static void free_chunk_list(struct chunk *chunk)
{
	while (chunk) {
		struct chunk *next = chunk->next;

		free(chunk);
		chunk = next;
	}
}

static void free_segment_job(struct job *job)
{
	free_chunk_list(job->first);
	blocks_free(job->blocks);
	free(job);
}

/* Call with the lock held. */
static struct chunk *take_spare_chunk(struct jobs *jobs)
{
	struct chunk *chunk = jobs->spare;

	if (!chunk)
		return malloc(sizeof(*chunk));
	jobs->spare = chunk->next;
	return chunk;
}

static void find_segment_behind(struct source *source, uint64_t end)
{
	source->behind = source->segment;
	source->has_behind =
		source->has_segment && trace_next_segment(source->queue, &source->behind);
	if (end && source->has_segment && source->segment.time > end)
		source->has_segment = source->has_behind = false;
}

/* Appends a job for the source's next segment. */
static int append_segment_job(struct jobs *jobs, struct source *source)
{
	struct job *job = calloc(1, sizeof(*job));
	int err;

	if (!job)
		return -ENOMEM;
	job->end = &job->first;
	job->segment = source->segment;
	err = blocks_new(&job->blocks, jobs->opts.env, source->queue, &source->segment,
			 source->has_behind ? &source->behind : NULL);
	if (err) {
		free(job);
		return err;
	}
	*source->end = job;
	source->end = &job->next;
	source->has_segment = source->has_behind;
	source->segment = source->behind;
	find_segment_behind(source, jobs->opts.end);
	return 0;
}

static void append_job_chunk(struct jobs *jobs, struct source *source, struct job *job,
			     struct chunk *chunk)
{
	*job->end = chunk;
	job->end = &chunk->next;
	job->nr++;
	job->done = chunk->last;
	if (source->jobs != job)
		jobs->ahead++;
}

/* A job of the source that can continue, or NULL. */
static struct job *find_ready_job(const struct jobs *jobs, const struct source *source)
{
	bool more = jobs->ahead < AHEAD_CHUNKS * jobs->nr_workers;

	for (struct job *job = source->jobs; job; job = job->next) {
		if (!job->busy && !job->done &&
		    (more || (job == source->jobs && job->nr < HEAD_CHUNKS)))
			return job;
	}
	return NULL;
}

/* The most urgent job: next segments first, the earliest one first. */
static struct job *choose_urgent_job(struct jobs *jobs, struct source **ret)
{
	struct source *start = NULL;
	struct job *best = NULL;

	for (size_t i = 0; i < jobs->nr; i++) {
		struct source *source = &jobs->sources[i];
		struct job *job = find_ready_job(jobs, source);

		if (job && (!best || job->segment.time < best->segment.time)) {
			best = job;
			*ret = source;
		}
		if (source->has_segment && (!start || source->segment.time < start->segment.time))
			start = source;
	}
	if (best || !start || jobs->ahead >= AHEAD_CHUNKS * jobs->nr_workers)
		return best;
	jobs->err = append_segment_job(jobs, start);
	*ret = start;
	return jobs->err ? NULL : find_ready_job(jobs, start);
}

/* Call with the lock held; it is released while decoding. */
static void decode_job_chunk(struct jobs *jobs, struct source *source, struct job *job,
			     struct code_view *view)
{
	struct chunk *chunk = take_spare_chunk(jobs);
	int err;

	if (!chunk) {
		jobs->err = -ENOMEM;
		return;
	}
	job->busy = true;
	pthread_mutex_unlock(&jobs->lock);
	/* Nobody else has the job meanwhile. */
	err = blocks_read(job->blocks, view, chunk->items, CHUNK_ITEMS, &chunk->nr);
	chunk->next = NULL;
	chunk->segment = job->segment;
	chunk->first = !job->started;
	job->started = true;
	chunk->last = !err && blocks_done(job->blocks);
	if (chunk->last)
		chunk->counts = *blocks_counts(job->blocks);
	pthread_mutex_lock(&jobs->lock);
	job->busy = false;
	if (err) {
		jobs->err = err;
		free(chunk);
	} else {
		append_job_chunk(jobs, source, job, chunk);
	}
	pthread_cond_broadcast(&jobs->changed);
}

static void *decode_in_thread(void *arg)
{
	struct worker *worker = arg;
	struct jobs *jobs = worker->jobs;
	struct source *source = NULL;
	struct job *job;

	pthread_mutex_lock(&jobs->lock);
	while (!jobs->quit && !jobs->err) {
		job = choose_urgent_job(jobs, &source);
		if (job)
			decode_job_chunk(jobs, source, job, worker->view);
		else if (!jobs->err)
			pthread_cond_wait(&jobs->changed, &jobs->lock);
	}
	pthread_cond_broadcast(&jobs->changed);
	pthread_mutex_unlock(&jobs->lock);
	return NULL;
}

static int add_trace_sources(struct jobs *jobs)
{
	const struct trace *trace = jobs->opts.trace;
	uint64_t begin = jobs->opts.begin, tail = jobs->opts.tail;

	jobs->sources = calloc(trace_nr_queues(trace) + 1, sizeof(*jobs->sources));
	if (!jobs->sources)
		return -ENOMEM;
	for (size_t i = 0; i < trace_nr_queues(trace); i++) {
		struct source *source = &jobs->sources[jobs->nr];

		if (jobs->opts.cpu >= 0 && trace_queue_cpu(trace_queue(trace, i)) != jobs->opts.cpu)
			continue;
		source->queue = trace_queue(trace, i);
		source->end = &source->jobs;
		source->has_segment = trace_seek_segment(source->queue, tail ? UINT64_MAX : begin,
							 &source->segment);
		for (size_t j = 0; source->has_segment; j++) {
			uint64_t rest = trace_size(source->queue) - source->segment.offset;

			if (tail ? rest >= tail : !begin || j == LEAD_SEGMENTS)
				break;
			if (!trace_previous_segment(source->queue, &source->segment))
				break;
		}
		find_segment_behind(source, tail ? 0 : jobs->opts.end);
		jobs->nr++;
	}
	return 0;
}

int jobs_new(struct jobs **ret, const struct jobs_opts *opts)
{
	size_t nr = opts->threads ? opts->threads : 1;
	struct jobs *jobs = calloc(1, sizeof(*jobs));
	int err;

	if (!jobs)
		return -ENOMEM;
	jobs->opts = *opts;
	pthread_mutex_init(&jobs->lock, NULL);
	pthread_cond_init(&jobs->changed, NULL);
	err = add_trace_sources(jobs);
	jobs->workers = calloc(nr, sizeof(*jobs->workers));
	if (!jobs->workers)
		err = -ENOMEM;
	while (!err && jobs->nr_workers < nr) {
		struct worker *worker = &jobs->workers[jobs->nr_workers];

		err = code_view_new(&worker->view, opts->code);
		worker->jobs = jobs;
		jobs->nr_workers += !err;
	}
	for (size_t i = 0; !err && nr > 1 && i < nr; i++) {
		err = -pthread_create(&jobs->workers[i].thread, NULL, decode_in_thread,
				      &jobs->workers[i]);
		jobs->workers[i].runs = !err;
	}
	if (err) {
		jobs_free(jobs);
		return err;
	}
	*ret = jobs;
	return 0;
}

static void end_job_workers(struct jobs *jobs)
{
	pthread_mutex_lock(&jobs->lock);
	jobs->quit = true;
	pthread_cond_broadcast(&jobs->changed);
	pthread_mutex_unlock(&jobs->lock);
	for (size_t i = 0; i < jobs->nr_workers; i++) {
		if (jobs->workers[i].runs)
			pthread_join(jobs->workers[i].thread, NULL);
	}
}

void jobs_free(struct jobs *jobs)
{
	if (!jobs)
		return;
	end_job_workers(jobs);
	for (size_t i = 0; i < jobs->nr; i++) {
		while (jobs->sources[i].jobs) {
			struct job *job = jobs->sources[i].jobs;

			jobs->sources[i].jobs = job->next;
			free_segment_job(job);
		}
	}
	for (size_t i = 0; i < jobs->nr_workers; i++)
		code_view_free(jobs->workers[i].view);
	free_chunk_list(jobs->spare);
	free(jobs->sources);
	free(jobs->workers);
	pthread_cond_destroy(&jobs->changed);
	pthread_mutex_destroy(&jobs->lock);
	free(jobs);
}

size_t jobs_nr_sources(const struct jobs *jobs)
{
	return jobs->nr;
}

bool jobs_next_time(struct jobs *jobs, size_t i, uint64_t *time)
{
	struct source *source = &jobs->sources[i];
	bool found = true;

	pthread_mutex_lock(&jobs->lock);
	if (source->jobs)
		*time = source->jobs->segment.time;
	else if (source->has_segment)
		*time = source->segment.time;
	else
		found = false;
	pthread_mutex_unlock(&jobs->lock);
	return found;
}

static struct chunk *take_first_chunk(struct jobs *jobs, struct source *source)
{
	struct job *job = source->jobs;
	struct chunk *chunk = job->first;

	job->first = chunk->next;
	if (!job->first)
		job->end = &job->first;
	job->nr--;
	if (!chunk->last)
		return chunk;
	/* The job ends. The waiting chunks of the following job become those of the next segment.
	 */
	source->jobs = job->next;
	if (source->jobs)
		jobs->ahead -= source->jobs->nr;
	else
		source->end = &source->jobs;
	free_segment_job(job);
	return chunk;
}

/* Waits until there is a chunk, or until none will follow. */
static void wait_for_chunk(struct jobs *jobs, struct source *source)
{
	while (!jobs->err && !(source->jobs && source->jobs->first)) {
		if (!source->jobs && !source->has_segment)
			return;
		if (!source->jobs)
			jobs->err = append_segment_job(jobs, source);
		else if (!jobs->workers[0].runs)
			decode_job_chunk(jobs, source, source->jobs, jobs->workers[0].view);
		else
			pthread_cond_wait(&jobs->changed, &jobs->lock);
	}
}

int jobs_take_chunk(struct jobs *jobs, size_t i, struct chunk **ret)
{
	struct source *source = &jobs->sources[i];
	int err;

	pthread_mutex_lock(&jobs->lock);
	wait_for_chunk(jobs, source);
	err = jobs->err;
	*ret = !err && source->jobs ? take_first_chunk(jobs, source) : NULL;
	pthread_cond_broadcast(&jobs->changed);
	pthread_mutex_unlock(&jobs->lock);
	return err;
}

void jobs_return_chunk(struct jobs *jobs, struct chunk *chunk)
{
	pthread_mutex_lock(&jobs->lock);
	chunk->next = jobs->spare;
	jobs->spare = chunk;
	pthread_mutex_unlock(&jobs->lock);
}
