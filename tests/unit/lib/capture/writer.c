// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/writer.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "fake_recorder.h"
#include "helpers.h"

#define MANY 200

static struct writer *writer;

/* Set by the writer's thread; read after it has ended. */
static unsigned int order[MANY], nr_order;
static pthread_t thread;
static int policy;
static bool signals_blocked;

/* The thread waits here while the test holds it. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void note_write(unsigned int number)
{
	sigset_t blocked;

	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	if (nr_order < MANY)
		order[nr_order++] = number;
	thread = pthread_self();
	policy = sched_getscheduler(0);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	signals_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM) &&
			  sigismember(&blocked, SIGUSR1);
}

static int start(void **state)
{
	if (make_output(state))
		return -1;
	fake.on_write = note_write;
	nr_order = 0;
	writer = NULL;
	return writer_start(&writer, &env);
}

static int stop(void **state)
{
	writer_free(writer);
	return remove_output(state);
}

static bool readable(int timeout_ms)
{
	struct pollfd fd = { .fd = writer_fd(writer), .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

static void check_taken(unsigned int number, int error)
{
	struct capture *capture = writer_take(writer);

	assert_non_null(capture);
	assert_int_equal(capture->spike.sequence, number);
	assert_int_equal(capture->error, error);
	capture_free(&env, capture);
}

/* The descriptor is readable exactly while there are results. */
TEST_WITH(tells_when_it_is_done, start, stop)
{
	assert_false(readable(0));
	assert_null(writer_take(writer));
	pthread_mutex_lock(&gate);
	writer_give(writer, fake_capture(1));
	assert_false(readable(20));
	assert_null(writer_take(writer));
	pthread_mutex_unlock(&gate);
	assert_true(readable(30000));
	check_taken(1, 0);
	assert_false(readable(0));
	assert_null(writer_take(writer));
}

TEST_WITH(keeps_the_order, start, stop)
{
	for (unsigned int i = 0; i < MANY; i++) {
		writer_give(writer, fake_capture(i));
		/* In a hurry and at leisure. */
		if (i % 16 == 15)
			usleep(2000);
	}
	for (unsigned int i = 0; i < MANY; i++) {
		assert_true(readable(30000));
		check_taken(i, 0);
	}
	assert_false(readable(0));
	writer_finish(writer);
	assert_int_equal(nr_order, MANY);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(order[i], i);
	assert_int_equal(fake_entries(&env), MANY);
	assert_int_equal(fake.freed, MANY);
}

TEST_WITH(finish_waits, start, stop)
{
	for (unsigned int i = 0; i < 50; i++)
		writer_give(writer, fake_capture(i));
	writer_finish(writer);
	assert_int_equal(nr_order, 50);
	assert_int_equal(fake_entries(&env), 50);
	for (unsigned int i = 0; i < 50; i++) {
		assert_true(readable(0));
		check_taken(i, 0);
	}
	assert_false(readable(0));
	assert_null(writer_take(writer));
	writer_finish(writer);
}

TEST_WITH(free_drops, start, stop)
{
	for (unsigned int i = 0; i < 20; i++)
		writer_give(writer, fake_capture(i));
	writer_free(writer);
	writer = NULL;
	assert_int_equal(nr_order, 20);
	assert_int_equal(fake.freed, 20);
	/* Complete captures stay. */
	assert_int_equal(fake_entries(&env), 20);
	writer_free(NULL);
}

TEST_WITH(failures_come_through, start, stop)
{
	fake.error = -ENOSPC;
	writer_give(writer, fake_capture(1));
	writer_give(writer, fake_capture(2));
	writer_finish(writer);
	check_taken(1, -ENOSPC);
	check_taken(2, -ENOSPC);
	assert_int_equal(fake_entries(&env), 0);
	assert_int_equal(fake.freed, 2);
}

/* A separate thread, never real-time, that takes no signals from the caller. */
TEST_WITH(stays_out_of_the_way, start, stop)
{
	struct sched_param param = { .sched_priority = 1 }, normal = {};
	bool realtime;

	writer_free(writer);
	writer = NULL;
	realtime = !sched_setscheduler(0, SCHED_FIFO, &param);
	assert_int_equal(writer_start(&writer, &env), 0);
	if (realtime)
		assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &normal), 0);
	writer_give(writer, fake_capture(1));
	writer_finish(writer);
	assert_int_equal(nr_order, 1);
	assert_false(pthread_equal(thread, pthread_self()));
	assert_int_equal(policy, SCHED_OTHER);
	assert_true(signals_blocked);
}
