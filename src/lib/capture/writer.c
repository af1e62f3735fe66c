// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/writer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include "cpulist.h"

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
