// SPDX-License-Identifier: GPL-2.0-only
/* A session waits for none of its errands, whatever they wait for. */
#include "session/session_internal.h"

#include <poll.h>
#include <string.h>

#include "test.h"

/* Both ends of a pipe: an errand waits until there is something to read. */
static int gate[2];
static unsigned int nr_done;

static int wait_at_gate(struct errand *errand)
{
	char c;

	return read(gate[0], &c, 1) == 1 ? -EEXIST : -EIO;
}

static void count_done(struct errand *errand)
{
	assert_int_equal(errand->err, -EEXIST);
	nr_done++;
}

static struct errand errand_of(void)
{
	return (struct errand){ .run = wait_at_gate, .done = count_done };
}

static int setup(void **state)
{
	nr_done = 0;
	return pipe(gate);
}

static int teardown(void **state)
{
	return close(gate[0]) | close(gate[1]);
}

TEST_WITH(are_not_waited_for, setup, teardown)
{
	struct errand first = errand_of(), second = errand_of();
	struct errands errands = { .fd = -1, .done_fd = -1 };
	struct pollfd ready;

	assert_int_equal(errands_start(&errands), 0);
	ready = (struct pollfd){ .fd = errands.fd, .events = POLLIN };
	errands_add(&errands, &first);
	errands_add(&errands, &second);
	errands_handle(&errands);
	assert_int_equal(poll(&ready, 1, 0), 0);
	assert_int_equal(nr_done, 0);
	assert_int_equal(write(gate[1], "a", 1), 1);
	assert_int_equal(poll(&ready, 1, 30000), 1);
	errands_handle(&errands);
	assert_int_equal(nr_done, 1);
	assert_int_equal(write(gate[1], "b", 1), 1);
	assert_int_equal(errands_finish(&errands, -1), 0);
	assert_int_equal(nr_done, 2);
	errands_release(&errands);
}

TEST_WITH(are_given_up, setup, teardown)
{
	static struct errand errand;
	static struct outlet *left;
	struct errands errands = { .fd = -1, .done_fd = -1 };
	int interrupt[2];

	errand = errand_of();
	assert_int_equal(pipe(interrupt), 0);
	assert_int_equal(errands_start(&errands), 0);
	errands_add(&errands, &errand);
	left = errands.outlet;
	assert_int_equal(write(interrupt[1], "i", 1), 1);
	assert_true(errands_finish(&errands, interrupt[0]) < 0);
	assert_int_equal(nr_done, 0);
	/* The thread ends, and leaves what it used. */
	assert_non_null(left);
	assert_int_equal(write(gate[1], "a", 1), 1);
	usleep(10000);
	errands_release(&errands);
	close(interrupt[0]);
	close(interrupt[1]);
}

TEST_WITH(are_done_at_once_without_a_thread, setup, teardown)
{
	struct errand errand = errand_of();

	assert_int_equal(write(gate[1], "a", 1), 1);
	errands_add(NULL, &errand);
	assert_int_equal(nr_done, 1);
}
