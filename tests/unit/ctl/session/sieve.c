// SPDX-License-Identifier: GPL-2.0-only
#include "session/sieve.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* The sieve runs its own program: this one, in place of `perf-poke-ctl causes --json CAPTURE`. */
static __attribute__((constructor)) void act_as_causes(int argc, char **argv)
{
	if (argc < 4 || strcmp(argv[1], "causes"))
		return;
	if (!strcmp(argv[3], "known"))
		exit(0);
	fprintf(stderr, "perf-poke-ctl: '%s': no such\tfile\nmore\n", argv[3]);
	exit(1);
}

static void check(struct sieve *sieve, const char *name, enum sieve_verdict expected,
		  const char *why)
{
	_cleanup_free_ char *path = NULL, *said = NULL;
	enum sieve_verdict verdict;
	json_object *cause;
	int r = -EAGAIN;

	while (r == -EAGAIN) {
		struct pollfd ready = { .fd = sieve->pidfd, .events = POLLIN };

		assert_int_equal(poll(&ready, 1, 60000), 1);
		r = sieve_next(sieve, &path, &verdict, &cause, &said);
	}
	assert_int_equal(r, 0);
	assert_string_equal(path, name);
	assert_int_equal(verdict, expected);
	assert_null(cause);
	assert_string_equal(said ?: "", why);
}

TEST(says_why_there_is_no_verdict)
{
	struct sieve sieve = { .pidfd = -1, .output = -1, .errors = -1 };

	assert_int_equal(sieve_add(&sieve, "broken"), 0);
	assert_int_equal(sieve_add(&sieve, "known"), 0);
	assert_int_equal(sieve_add(&sieve, "other"), 0);
	check(&sieve, "broken", SIEVE_UNJUDGED, "'broken': no such file");
	check(&sieve, "known", SIEVE_KNOWN, "");
	check(&sieve, "other", SIEVE_UNJUDGED, "'other': no such file");
	sieve_release(&sieve);
}
