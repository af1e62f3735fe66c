// SPDX-License-Identifier: GPL-2.0-only
/*
 * A thread that writes, for a session that must not wait.
 *
 * Whoever reads a pipe, a terminal or a journal may stop reading, and a file system may hang. The
 * session goes on: what is not written yet waits here, up to a limit, and what does not fit is
 * counted. At the end the thread may be given up.
 */
#include "cli/cli.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

/* What there is to write takes much less, if anybody reads it. */
#define HURRY_MS 200

struct outlet {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct outlet_job *first, **last;
	size_t size, max_size; /* of what waits */
	size_t dropped;
	bool finish;
	int done; /* readable once the thread ends */
	void (*say_dropped)(void *ctx, size_t nr);
	void *ctx;
};

static void outlet_free_job(struct outlet_job *job)
{
	free(job->text);
	argv_free_words(&job->fields);
	free(job);
}

/* NULL: nothing is left to do. */
static struct outlet_job *outlet_next_job(struct outlet *outlet)
{
	struct outlet_job *job;

	while (!outlet->first && !outlet->finish)
		pthread_cond_wait(&outlet->wake, &outlet->lock);
	job = outlet->first;
	if (!job)
		return NULL;
	outlet->first = job->next;
	if (!outlet->first)
		outlet->last = &outlet->first;
	outlet->size -= job->size;
	return job;
}

static void *outlet_write_jobs(void *arg)
{
	struct outlet *outlet = arg;
	struct outlet_job *job;

	pthread_setname_np(pthread_self(), "pp-outlet");
	pthread_mutex_lock(&outlet->lock);
	while ((job = outlet_next_job(outlet))) {
		size_t dropped = outlet->first ? 0 : outlet->dropped;

		outlet->dropped -= dropped;
		pthread_mutex_unlock(&outlet->lock);
		job->write(job);
		outlet_free_job(job);
		if (dropped && outlet->say_dropped)
			outlet->say_dropped(outlet->ctx, dropped);
		pthread_mutex_lock(&outlet->lock);
	}
	pthread_mutex_unlock(&outlet->lock);
	eventfd_write(outlet->done, 1);
	return NULL;
}

static void outlet_free(struct outlet *outlet)
{
	closep(&outlet->done);
	pthread_cond_destroy(&outlet->wake);
	pthread_mutex_destroy(&outlet->lock);
	free(outlet);
}

int outlet_new(struct outlet **ret, size_t max_size, void (*say_dropped)(void *ctx, size_t nr),
	       void *ctx)
{
	struct outlet *outlet = calloc(1, sizeof(*outlet));
	pthread_mutexattr_t attr;
	sigset_t all, saved;
	int err;

	if (!outlet)
		return -ENOMEM;
	outlet->max_size = max_size;
	outlet->say_dropped = say_dropped;
	outlet->ctx = ctx;
	outlet->last = &outlet->first;
	/* The session has a real-time priority, the thread has none. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&outlet->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_cond_init(&outlet->wake, NULL);
	outlet->done = eventfd(0, EFD_CLOEXEC);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = outlet->done < 0 ? -errno
			       : -pthread_create(&outlet->thread, NULL, outlet_write_jobs, outlet);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	if (err)
		outlet_free(outlet);
	else
		*ret = outlet;
	return err;
}

bool outlet_add_job(struct outlet *outlet, const struct outlet_job *job)
{
	struct outlet_job *copy = malloc(sizeof(*copy));
	bool added = false;

	if (copy) {
		*copy = *job;
		copy->next = NULL;
		copy->size = sizeof(*copy) + (job->text ? strlen(job->text) : 0);
	}
	pthread_mutex_lock(&outlet->lock);
	if (copy && outlet->size + copy->size <= outlet->max_size) {
		outlet->size += copy->size;
		*outlet->last = copy;
		outlet->last = &copy->next;
		pthread_cond_signal(&outlet->wake);
		added = true;
	} else {
		outlet->dropped++;
	}
	pthread_mutex_unlock(&outlet->lock);
	if (copy && !added)
		outlet_free_job(copy);
	return added;
}

bool outlet_is_idle(struct outlet *outlet)
{
	bool idle;

	pthread_mutex_lock(&outlet->lock);
	idle = !outlet->first;
	pthread_mutex_unlock(&outlet->lock);
	return idle;
}

int outlet_finish(struct outlet *outlet, int interrupt, int timeout_ms)
{
	struct pollfd fds[] = {
		{ .fd = outlet->done, .events = POLLIN },
		{ .fd = interrupt, .events = POLLIN },
	};
	int err;

	pthread_mutex_lock(&outlet->lock);
	outlet->finish = true;
	pthread_cond_signal(&outlet->wake);
	pthread_mutex_unlock(&outlet->lock);
	do
		err = poll(fds, ARRAY_SIZE(fds), timeout_ms);
	while (err < 0 && errno == EINTR);
	/* It may be about to end. */
	if (err > 0 && !fds[0].revents)
		poll(fds, 1, HURRY_MS);
	if (!fds[0].revents) {
		pthread_detach(outlet->thread);
		return err ? -EINTR : -ETIMEDOUT;
	}
	pthread_join(outlet->thread, NULL);
	outlet_free(outlet);
	return 0;
}
