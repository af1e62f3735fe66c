// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "clock.h"
#include "cpulist.h"

#define NAME_TRIES 1000
/* A thread that the kernel has not run for so long waits for a file system, which may never answer.
 * A slow one answers now and then. */
#define PATIENCE_NS (30 * NSEC_PER_SEC)
#define SILENT_NS (2 * NSEC_PER_SEC)
#define LOOK_MS 200
/* How long a capture waits for the late thread, and how often it is looked for meanwhile. */
#define LATENCY_WAIT_NS (100 * NSEC_PER_MSEC)
#define LATENCY_PAUSE_NS (5 * NSEC_PER_MSEC)

/* Its folder in the work folder until it is complete. */
static void capture_partial_name(const struct capture *capture, char name[32])
{
	snprintf(name, 32, "%" PRIu64, capture->still_ns);
}

void capture_begin(const struct capture_env *env, struct capture *capture, bool renews)
{
	const int work = env->output->work;
	_cleanup_close_ int fd = -1;
	char partial[32];
	struct stat st;
	int err = renews ? output_renew(env->output, &capture->note) : 0;

	capture->error = err < 0 ? err : 0;
	if (err < 0)
		return;
	capture_partial_name(capture, partial);
	if (mkdirat(work, partial, 0700)) {
		capture->error = -errno;
		return;
	}
	fd = openat(work, partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = fd < 0 || fstat(fd, &st) ? -errno : 0;
	if (!err) {
		capture->dev = st.st_dev;
		capture->ino = st.st_ino;
		spike_complete(env, capture);
		err = recorder_write(env->recorder, capture->snapshot, fd, &capture->spike,
				     &capture->facts);
	}
	if (err)
		tree_remove(work, partial);
	capture->error = err;
	capture->complete_by_ns = clock_ns(CLOCK_MONOTONIC) + LATENCY_WAIT_NS;
}

/* Renames the complete capture, unless the name is taken. Names sort by time and state the spike:
 * 20261121-093015.042-cpu3-83us */
static int capture_publish(const struct capture_env *env, const char *partial,
			   struct capture *capture)
{
	const struct perf_poke_spike *spike = &capture->spike;
	const char *kind = spike->kind ? trigger_kind_name(spike->kind) : "";
	uint64_t wall_ns = clock_wall_ns(spike->time_ns);
	time_t seconds = wall_ns / NSEC_PER_SEC;
	const struct output *output = env->output;
	char wanted[80], name[96];
	struct tm tm;
	size_t len;

	localtime_r(&seconds, &tm);
	len = strftime(wanted, sizeof(wanted), "%Y%m%d-%H%M%S", &tm);
	len += snprintf(wanted + len, sizeof(wanted) - len, ".%03u",
			(unsigned int)(wall_ns % NSEC_PER_SEC / 1000000));
	if (spike->poked)
		snprintf(wanted + len, sizeof(wanted) - len, "-poke");
	else
		snprintf(wanted + len, sizeof(wanted) - len, "-cpu%d-%s%s%" PRIu64 "us", spike->cpu,
			 kind, *kind ? "-" : "", spike->latency_ns / 1000);
	for (int i = 1; i <= NAME_TRIES; i++) {
		if (i == 1)
			snprintf(name, sizeof(name), "%s", wanted);
		else
			snprintf(name, sizeof(name), "%s-%d", wanted, i);
		/* rename() replaces an empty folder only. Not every file system has
		 * RENAME_NOREPLACE. */
		if (!renameat(output->work, partial, output->fd, name))
			return asprintf(&capture->path, "%s/%s", output->path, name) < 0 ? -ENOMEM
											 : 0;
		if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
			return -errno;
	}
	return -EEXIST;
}

bool capture_finish(const struct capture_env *env, struct capture *capture)
{
	const int work = env->output->work;
	_cleanup_close_ int fd = -1;
	char partial[32];
	int err = capture->error;

	if (!err && !spike_complete(env, capture) &&
	    clock_ns(CLOCK_MONOTONIC) < capture->complete_by_ns)
		return false;
	capture_partial_name(capture, partial);
	if (!err) {
		fd = openat(work, partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		err = fd < 0 ? -errno : capture_json_write(env, capture, fd);
		if (fd >= 0)
			capture->size = tree_size(fd, ".");
		if (!err && env->output->owner)
			err = tree_set_owner(work, partial, env->output->owner);
		/* A machine that panics after a spike has its capture. */
		if (!err)
			err = tree_sync(work, partial);
		if (!err)
			err = capture_publish(env, partial, capture);
		if (!err)
			fsync(env->output->fd);
		if (err)
			tree_remove(work, partial);
	}
	capture->error = err;
	recorder_snapshot_free(env->recorder, capture->snapshot);
	capture->snapshot = NULL;
	return true;
}

void capture_free(const struct capture_env *env, struct capture *capture)
{
	if (!capture)
		return;
	recorder_snapshot_free(env->recorder, capture->snapshot);
	free(capture->path);
	free(capture->note);
	capture_stack_free(capture->stack.frames, capture->stack.nr);
	capture_stack_free(capture->holder.frames, capture->holder.nr);
	json_object_put(capture->user);
	free(capture);
}

struct queue {
	struct capture *first;
	struct capture **last;
};

struct writer {
	const struct capture_env *env;
	pthread_t thread;
	bool running;  /* thread must be joined */
	int fd, ended; /* ended: readable once the thread ends */
	/* The thread's time when last looked at, when it rose, and whether that was long ago. */
	uint64_t ran_ns, seen_ns;
	bool waits;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t wake;
	bool finish;
	struct queue todo, begun, done;
	struct removal *removals, *removed;
};

static void capture_queue_add(struct queue *queue, struct capture *capture)
{
	capture->next = NULL;
	if (queue->first)
		*queue->last = capture;
	else
		queue->first = capture;
	queue->last = &capture->next;
}

static struct capture *capture_queue_pop(struct queue *queue)
{
	struct capture *capture = queue->first;

	if (capture)
		queue->first = capture->next;
	return capture;
}

static struct removal *removal_pop(struct removal **removals)
{
	struct removal *removal = *removals;

	if (removal)
		*removals = removal->next;
	return removal;
}

static void removal_push(struct removal **removals, struct removal *removal)
{
	removal->next = *removals;
	*removals = removal;
}

void removal_free(struct removal *removal)
{
	if (removal)
		free(removal->kept.name);
	free(removal);
}

/* The thread, which alone uses the output folder from here on. What is removed goes from its name
 * at once, and from the disk when there is nothing to write. While a capture waits for its late
 * thread, the next one is begun.
 *
 * It has to look for the latency, since no event says that it is there: the program that measures
 * it runs at the switch to the late thread. A wakeup from there would be one more interrupt on the
 * watched CPU, at the very time that a further spike would be blamed on. */
static void *writer_thread_run(void *arg)
{
	struct writer *writer = arg;
	struct capture *capture;
	struct removal *removal;
	bool is_first, finished, has_moved = false;
	struct timespec until;
	uint64_t again_ns;

	pthread_setname_np(pthread_self(), "pp-writer");
	affinity_leave(writer->env->config->cpus, writer->env->config->nr_cpus);
	pthread_mutex_lock(&writer->lock);
	for (;;) {
		removal = removal_pop(&writer->removals);
		if (removal) {
			pthread_mutex_unlock(&writer->lock);
			removal->error = removal_begin(writer->env->output, &removal->kept);
			pthread_mutex_lock(&writer->lock);
			has_moved |= !removal->error;
			removal_push(&writer->removed, removal);
			eventfd_write(writer->fd, 1);
			continue;
		}
		capture = capture_queue_pop(&writer->todo);
		if (capture) {
			is_first = !writer->begun.first;
			pthread_mutex_unlock(&writer->lock);
			capture_begin(writer->env, capture, is_first);
			pthread_mutex_lock(&writer->lock);
			capture_queue_add(&writer->begun, capture);
		}
		capture = writer->begun.first;
		if (capture) {
			pthread_mutex_unlock(&writer->lock);
			finished = capture_finish(writer->env, capture);
			pthread_mutex_lock(&writer->lock);
			if (finished) {
				capture_queue_add(&writer->done, capture_queue_pop(&writer->begun));
				eventfd_write(writer->fd, 1);
			} else if (!writer->todo.first) {
				again_ns = clock_ns(CLOCK_MONOTONIC) + LATENCY_PAUSE_NS;
				until.tv_sec = (time_t)(again_ns / NSEC_PER_SEC);
				until.tv_nsec = (long)(again_ns % NSEC_PER_SEC);
				pthread_cond_timedwait(&writer->wake, &writer->lock, &until);
			}
		} else if (has_moved) {
			has_moved = false;
			pthread_mutex_unlock(&writer->lock);
			removals_finish(writer->env->output);
			pthread_mutex_lock(&writer->lock);
		} else if (writer->finish) {
			break;
		} else {
			pthread_cond_wait(&writer->wake, &writer->lock);
		}
	}
	pthread_mutex_unlock(&writer->lock);
	output_close(writer->env->output);
	eventfd_write(writer->ended, 1);
	return NULL;
}

int writer_start(struct writer **ret, const struct capture_env *env)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct sched_param param = {};
	pthread_mutexattr_t lock;
	pthread_attr_t thread;
	pthread_condattr_t wake;
	sigset_t all, saved;
	int err;

	if (!writer)
		return -ENOMEM;
	writer->env = env;
	/* The thread may wait for a CPU that tasks of others keep busy: while it has the lock, it
	 * runs with the priority of who wants it. */
	pthread_mutexattr_init(&lock);
	pthread_mutexattr_setprotocol(&lock, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&writer->lock, &lock);
	pthread_mutexattr_destroy(&lock);
	pthread_condattr_init(&wake);
	pthread_condattr_setclock(&wake, CLOCK_MONOTONIC);
	pthread_cond_init(&writer->wake, &wake);
	pthread_condattr_destroy(&wake);
	/* The thread must not inherit a real-time priority. Signals are left to the caller. */
	pthread_attr_init(&thread);
	pthread_attr_setinheritsched(&thread, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&thread, SCHED_OTHER);
	pthread_attr_setschedparam(&thread, &param);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	writer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	writer->ended = eventfd(0, EFD_CLOEXEC);
	err = writer->fd < 0 || writer->ended < 0
		      ? errno
		      : pthread_create(&writer->thread, &thread, writer_thread_run, writer);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&thread);
	writer->running = !err;
	if (err) {
		writer_free(writer);
		return -err;
	}
	*ret = writer;
	return 0;
}

int writer_fd(const struct writer *writer)
{
	return writer->fd;
}

void writer_add_capture(struct writer *writer, struct capture *capture)
{
	pthread_mutex_lock(&writer->lock);
	capture_queue_add(&writer->todo, capture);
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
}

void writer_add_removal(struct writer *writer, struct removal *removal)
{
	pthread_mutex_lock(&writer->lock);
	removal_push(&writer->removals, removal);
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
}

struct capture *writer_take_finished(struct writer *writer)
{
	struct capture *capture;
	eventfd_t one;

	pthread_mutex_lock(&writer->lock);
	capture = capture_queue_pop(&writer->done);
	if (capture)
		eventfd_read(writer->fd, &one);
	pthread_mutex_unlock(&writer->lock);
	return capture;
}

struct removal *writer_take_removed(struct writer *writer)
{
	struct removal *removal;
	eventfd_t one;

	pthread_mutex_lock(&writer->lock);
	removal = removal_pop(&writer->removed);
	if (removal)
		eventfd_read(writer->fd, &one);
	pthread_mutex_unlock(&writer->lock);
	return removal;
}

static bool writer_is_stuck(struct writer *writer)
{
	const struct config *config = writer->env->config;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), ran_ns;
	clockid_t clock;

	if (pthread_getcpuclockid(writer->thread, &clock))
		return false;
	ran_ns = clock_ns(clock);
	if (ran_ns != writer->ran_ns || !writer->seen_ns) {
		writer->ran_ns = ran_ns;
		writer->seen_ns = now_ns;
	}
	if (now_ns - writer->seen_ns >= SILENT_NS && !writer->waits) {
		writer->waits = true;
		log_write(&config->log, PERF_POKE_LOG_INFO,
			  "output '%s': waiting for its file system", config->opts.output);
	}
	return now_ns - writer->seen_ns >= PATIENCE_NS;
}

int writer_wait(struct writer *writer)
{
	struct pollfd ready = { .fd = writer->fd, .events = POLLIN };

	if (poll(&ready, 1, LOOK_MS) > 0)
		return 0;
	return writer_is_stuck(writer) ? -ETIMEDOUT : 0;
}

int writer_finish(struct writer *writer)
{
	struct pollfd ended = { .fd = writer->ended, .events = POLLIN };

	if (!writer->running)
		return 0;
	pthread_mutex_lock(&writer->lock);
	writer->finish = true;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	while (poll(&ended, 1, LOOK_MS) <= 0) {
		if (writer_is_stuck(writer))
			return -ETIMEDOUT;
	}
	pthread_join(writer->thread, NULL);
	writer->running = false;
	return 0;
}

void writer_free(struct writer *writer)
{
	struct capture *capture;
	struct removal *removal;

	if (!writer || writer_finish(writer))
		return;
	while ((capture = capture_queue_pop(&writer->done)))
		capture_free(writer->env, capture);
	while ((removal = removal_pop(&writer->removed)))
		removal_free(removal);
	closep(&writer->fd);
	closep(&writer->ended);
	pthread_cond_destroy(&writer->wake);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}
