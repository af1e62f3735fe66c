// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "clock.h"
#include "cpulist.h"

#define NAME_TRIES 1000

/* Sorts by time and states the spike: 20261121-093015.042-cpu3-83us */
static void capture_name(const struct capture *capture, char *name, size_t size)
{
	const struct perf_poke_spike *spike = &capture->spike;
	const char *kind = spike->kind ? trigger_kind_name(spike->kind) : "";
	uint64_t wall_ns = clock_wall_ns(spike->time_ns);
	time_t seconds = wall_ns / NSEC_PER_SEC;
	struct tm tm;
	size_t len;

	localtime_r(&seconds, &tm);
	len = strftime(name, size, "%Y%m%d-%H%M%S", &tm);
	len += snprintf(name + len, size - len, ".%03u",
			(unsigned int)(wall_ns % NSEC_PER_SEC / 1000000));
	if (spike->poked)
		snprintf(name + len, size - len, "-poke");
	else
		snprintf(name + len, size - len, "-cpu%d-%s%s%" PRIu64 "us", spike->cpu, kind,
			 *kind ? "-" : "", spike->latency_ns / 1000);
}

/* Renames the complete capture, unless the name is taken. */
static int capture_publish(const struct capture_env *env, const char *partial,
			   struct capture *capture)
{
	const struct output *output = env->output;
	char wanted[80], name[96];

	capture_name(capture, wanted, sizeof(wanted));
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

static int capture_fill(const struct capture_env *env, int dirfd, struct capture *capture)
{
	struct perf_poke_spike *spike = &capture->spike;
	int err;

	/* While the task still exists. */
	spike_take_stacks(env, capture);
	err = recorder_write(env->recorder, capture->snapshot, dirfd, spike, &capture->facts);
	if (err)
		return err;
	spike_complete(env, capture);
	err = capture_json_write(env, capture, dirfd);
	capture->size = tree_size(dirfd, ".");
	return err;
}

static int capture_identify(struct capture *capture, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	capture->dev = st.st_dev;
	capture->ino = st.st_ino;
	return 0;
}

static int capture_try(const struct capture_env *env, struct capture *capture)
{
	_cleanup_close_ int fd = -1;
	char partial[32];
	int err;

	err = output_renew(env->output, &capture->note);
	if (err < 0)
		return err;
	snprintf(partial, sizeof(partial), "%" PRIu64, capture->still_ns);
	if (mkdirat(env->output->work, partial, 0700))
		return -errno;
	fd = openat(env->output->work, partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = fd < 0 ? -errno : capture_identify(capture, fd);
	if (!err)
		err = capture_fill(env, fd, capture);
	if (!err)
		err = capture_publish(env, partial, capture);
	if (err)
		tree_remove(env->output->work, partial);
	return err;
}

void capture_write(const struct capture_env *env, struct capture *capture)
{
	capture->error = capture_try(env, capture);
	recorder_snapshot_free(env->recorder, capture->snapshot);
	capture->snapshot = NULL;
}

void capture_free(const struct capture_env *env, struct capture *capture)
{
	if (!capture)
		return;
	recorder_snapshot_free(env->recorder, capture->snapshot);
	free(capture->path);
	free(capture->note);
	stack_free(capture->stack.frames, capture->stack.nr);
	stack_free(capture->holder.frames, capture->holder.nr);
	free(capture);
}

struct queue {
	struct capture *first;
	struct capture **last;
};

struct writer {
	const struct capture_env *env;
	pthread_t thread;
	bool running; /* thread must be joined */
	int fd;
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t wake;
	bool finish;
	struct queue todo, done;
	struct removal *removals;
};

static void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static void queue_add(struct queue *queue, struct capture *capture)
{
	capture->next = NULL;
	*queue->last = capture;
	queue->last = &capture->next;
}

static struct capture *queue_pop(struct queue *queue)
{
	struct capture *capture = queue->first;

	if (!capture)
		return NULL;
	queue->first = capture->next;
	if (!queue->first)
		queue->last = &queue->first;
	return capture;
}

static struct removal *removal_pop(struct writer *writer)
{
	struct removal *removal = writer->removals;

	if (removal)
		writer->removals = removal->next;
	return removal;
}

static void *writer_run(void *arg)
{
	struct writer *writer = arg;
	struct removal *removal;
	struct capture *capture;

	pthread_setname_np(pthread_self(), "pp-writer");
	affinity_leave(writer->env->config->cpus, writer->env->config->nr_cpus);
	pthread_mutex_lock(&writer->lock);
	for (;;) {
		capture = queue_pop(&writer->todo);
		removal = capture ? NULL : removal_pop(writer);
		if (removal) {
			pthread_mutex_unlock(&writer->lock);
			removal_end(removal);
			pthread_mutex_lock(&writer->lock);
			continue;
		}
		if (!capture && writer->finish)
			break;
		if (!capture) {
			pthread_cond_wait(&writer->wake, &writer->lock);
			continue;
		}
		pthread_mutex_unlock(&writer->lock);
		capture_write(writer->env, capture);
		pthread_mutex_lock(&writer->lock);
		queue_add(&writer->done, capture);
		eventfd_write(writer->fd, 1);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

/* The thread must not inherit a real-time priority. Signals are left to the caller. */
static int writer_create_thread(struct writer *writer)
{
	struct sched_param param = {};
	sigset_t all, saved;
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &param);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = pthread_create(&writer->thread, &attr, writer_run, writer);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&attr);
	writer->running = !err;
	return -err;
}

/* The thread may wait for a CPU that tasks of others keep busy: while it has the lock, it runs with
 * the priority of who wants it. */
static void writer_init_lock(struct writer *writer)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&writer->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int writer_start(struct writer **ret, const struct capture_env *env)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	int err;

	if (!writer)
		return -ENOMEM;
	writer->env = env;
	queue_init(&writer->todo);
	queue_init(&writer->done);
	writer_init_lock(writer);
	pthread_cond_init(&writer->wake, NULL);
	writer->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	err = writer->fd < 0 ? -errno : writer_create_thread(writer);
	if (err) {
		writer_free(writer);
		return err;
	}
	*ret = writer;
	return 0;
}

int writer_fd(const struct writer *writer)
{
	return writer->fd;
}

void writer_give(struct writer *writer, struct capture *capture)
{
	pthread_mutex_lock(&writer->lock);
	queue_add(&writer->todo, capture);
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
}

void writer_remove(struct writer *writer, struct removal *removal)
{
	if (!writer->running) {
		removal_end(removal);
		return;
	}
	pthread_mutex_lock(&writer->lock);
	removal->next = writer->removals;
	writer->removals = removal;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
}

struct capture *writer_take(struct writer *writer)
{
	struct capture *capture;
	eventfd_t one;

	pthread_mutex_lock(&writer->lock);
	capture = queue_pop(&writer->done);
	if (capture)
		eventfd_read(writer->fd, &one);
	pthread_mutex_unlock(&writer->lock);
	return capture;
}

void writer_finish(struct writer *writer)
{
	if (!writer->running)
		return;
	pthread_mutex_lock(&writer->lock);
	writer->finish = true;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->thread, NULL);
	writer->running = false;
}

void writer_free(struct writer *writer)
{
	struct capture *capture;

	if (!writer)
		return;
	writer_finish(writer);
	while ((capture = queue_pop(&writer->done)))
		capture_free(writer->env, capture);
	closep(&writer->fd);
	pthread_cond_destroy(&writer->wake);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}
