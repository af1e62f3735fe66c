// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* The worker runs its own program: this one, in place of `perf-poke-ctl causes --json CAPTURE`. */
static __attribute__((constructor)) void act_as_causes(int argc, char **argv)
{
	if (argc < 4 || strcmp(argv[1], "causes"))
		return;
	if (!strcmp(argv[3], "known"))
		exit(0);
	fprintf(stderr, "perf-poke-ctl: '%s': no such\tfile\nmore\n", argv[3]);
	exit(1);
}

static void check(struct cause_worker *worker, const char *name, enum cause_verdict expected,
		  const char *why)
{
	_cleanup_free_ char *path = NULL, *said = NULL;
	enum cause_verdict verdict;
	json_object *cause;
	int r = -EAGAIN;

	while (r == -EAGAIN) {
		struct pollfd ready = { .fd = worker->pidfd, .events = POLLIN };

		assert_int_equal(poll(&ready, 1, 60000), 1);
		r = cause_worker_next(worker, &path, &verdict, &cause, &said);
	}
	assert_int_equal(r, 0);
	assert_string_equal(path, name);
	assert_int_equal(verdict, expected);
	assert_null(cause);
	assert_string_equal(said ?: "", why);
}

TEST(says_why_there_is_no_verdict)
{
	struct cause_worker worker = { .pidfd = -1, .output = -1, .errors = -1 };

	assert_int_equal(cause_worker_add(&worker, "broken"), 0);
	assert_int_equal(cause_worker_add(&worker, "known"), 0);
	assert_int_equal(cause_worker_add(&worker, "other"), 0);
	check(&worker, "broken", CAUSE_VERDICT_UNJUDGED, "'broken': no such file");
	check(&worker, "known", CAUSE_VERDICT_KNOWN, "");
	check(&worker, "other", CAUSE_VERDICT_UNJUDGED, "'other': no such file");
	cause_worker_release(&worker);
}
