// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may take long, for a session that must not wait: a file system may hang, and a new process
 * has no real-time priority until it runs its program. A thread does it, and tells by a pipe what
 * is done.
 */
#include "session/session_internal.h"

#include <fcntl.h>
#include <poll.h>

/* How long the end of a session waits for each of the rest. */
#define END_MS 30000

static void errand_run_job(struct outlet_job *job)
{
	struct errand *errand = job->ctx;

	errand->err = errand->run(errand);
	/* Fails only if the session no longer reads. */
	(void)!write(errand->done_fd, &errand, sizeof(errand));
}

int errands_start(struct errands *errands)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	errands->fd = ends[0];
	errands->done_fd = ends[1];
	err = fcntl(errands->fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
	return err ?: outlet_new(&errands->outlet, SIZE_MAX, NULL, NULL);
}

void errands_add(struct errands *errands, struct errand *errand)
{
	const struct outlet_job job = { .write = errand_run_job, .ctx = errand };

	if (errands && errands->outlet) {
		errand->done_fd = errands->done_fd;
		if (outlet_add_job(errands->outlet, &job)) {
			errands->nr++;
			return;
		}
	}
	errand->err = errand->run(errand);
	errand->done(errand);
}

void errands_handle(struct errands *errands)
{
	struct errand *errand;

	while (errands->nr && read(errands->fd, &errand, sizeof(errand)) == sizeof(errand)) {
		errands->nr--;
		errand->done(errand);
	}
}

int errands_finish(struct errands *errands, int interrupt)
{
	int err;

	if (!errands->outlet)
		return 0;
	while (errands->nr) {
		struct pollfd fds[] = {
			{ .fd = errands->fd, .events = POLLIN },
			{ .fd = interrupt, .events = POLLIN },
		};

		if (poll(fds, ARRAY_SIZE(fds), END_MS) >= 0 && !fds[0].revents)
			break;
		errands_handle(errands);
	}
	err = outlet_finish(TAKE_PTR(errands->outlet), interrupt, errands->nr ? 0 : -1);
	errands_handle(errands);
	return err;
}

void errands_release(struct errands *errands)
{
	closep(&errands->fd);
	closep(&errands->done_fd);
}
