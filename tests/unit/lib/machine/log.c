// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <pthread.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "messages.h"
#include "test.h"

TEST(passes_messages_on)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };

	for (int level = PERF_POKE_LOG_ERROR; level <= PERF_POKE_LOG_DEBUG; level++) {
		log_write(&log, level, "level %d of %s", level, "four");
		assert_int_equal(messages.level, level);
		assert_int_equal(messages.text[6], '0' + level);
		assert_string_equal(messages.text + 7, " of four");
	}
	assert_int_equal(messages.nr, 4);
}

TEST(trims_newlines)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };

	log_write(&log, PERF_POKE_LOG_INFO, "one\n");
	assert_string_equal(messages.text, "one");
	log_write(&log, PERF_POKE_LOG_INFO, "a\nb\n\n");
	assert_string_equal(messages.text, "a\nb");
	log_write(&log, PERF_POKE_LOG_INFO, "%s", "\n");
	assert_string_equal(messages.text, "");
	assert_int_equal(messages.nr, 3);
}

TEST(keeps_long_messages)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_write(&log, PERF_POKE_LOG_INFO, "%s", text);
	assert_int_equal(strlen(messages.text), sizeof(text) - 1);
	assert_string_equal(messages.text, text);
}

TEST(returns_the_error)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };

	assert_int_equal(log_error(&log, -ENOSPC, "full: %d", 7), -ENOSPC);
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
	assert_string_equal(messages.text, "full: 7");
}

TEST(is_silent_without_a_function)
{
	const struct log none = {};

	log_write(&none, PERF_POKE_LOG_ERROR, "nobody reads %s", "this");
	assert_int_equal(log_error(&none, -EIO, "nor this"), -EIO);
}

static unsigned int others;

static int count_others(enum libbpf_print_level level, const char *format, va_list ap)
{
	others++;
	return 0;
}

/* libbpf warns, at LIBBPF_WARN, about invalid BTF. */
static void make_libbpf_warn(void)
{
	static const char no_btf[64];

	assert_null(btf__new(no_btf, sizeof(no_btf)));
}

TEST(demotes_libbpf)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	libbpf_print_fn_t before = libbpf_set_print(count_others);

	others = 0;
	log_capture_libbpf(&log);
	make_libbpf_warn();
	log_release_libbpf(NULL);
	assert_int_equal(others, 0);
	assert_true(messages.nr > 0);
	assert_int_equal(messages.level, PERF_POKE_LOG_DEBUG);

	/* The previous print function of libbpf is restored. */
	assert_ptr_equal(libbpf_set_print(before), count_others);
}

/* A probe captures, and what it calls captures as well. */
TEST(demotes_libbpf_while_nested)
{
	struct messages messages = {}, inner = {};
	const struct log log = { messages_add, &messages }, inner_log = { messages_add, &inner };
	libbpf_print_fn_t before = libbpf_set_print(count_others);
	const struct log *none = log_capture_libbpf(&log);
	const struct log *outer = log_capture_libbpf(&inner_log);

	others = 0;
	make_libbpf_warn();
	assert_true(inner.nr > 0);
	assert_int_equal(messages.nr, 0);
	log_release_libbpf(outer);
	make_libbpf_warn();
	assert_int_equal(messages.nr, inner.nr);
	log_release_libbpf(none);
	assert_int_equal(others, 0);
	libbpf_set_print(before);
}

/* Captures between two barriers. */
struct capturer {
	struct messages messages;
	pthread_t thread;
	pthread_barrier_t captured, release;
};

static void *capture(void *arg)
{
	struct capturer *capturer = arg;
	const struct log log = { messages_add, &capturer->messages };

	log_capture_libbpf(&log);
	make_libbpf_warn();
	pthread_barrier_wait(&capturer->captured);
	pthread_barrier_wait(&capturer->release);
	make_libbpf_warn();
	log_release_libbpf(NULL);
	make_libbpf_warn();
	return NULL;
}

static void capturer_start(struct capturer *capturer)
{
	pthread_barrier_init(&capturer->captured, NULL, 2);
	pthread_barrier_init(&capturer->release, NULL, 2);
	assert_int_equal(pthread_create(&capturer->thread, NULL, capture, capturer), 0);
	pthread_barrier_wait(&capturer->captured);
}

static void capturer_end(struct capturer *capturer)
{
	pthread_barrier_wait(&capturer->release);
	pthread_join(capturer->thread, NULL);
	pthread_barrier_destroy(&capturer->captured);
	pthread_barrier_destroy(&capturer->release);
}

/* Two threads load at the same time; either may end first. */
TEST(tells_threads_apart)
{
	libbpf_print_fn_t before = libbpf_set_print(count_others);

	for (int last = 0; last < 2; last++) {
		struct capturer capturers[2] = {};

		others = 0;
		capturer_start(&capturers[0]);
		capturer_start(&capturers[1]);
		capturer_end(&capturers[!last]);
		capturer_end(&capturers[last]);
		/* Each captured two warnings, and not the third. */
		assert_true(capturers[0].messages.nr > 0);
		assert_int_equal(capturers[0].messages.nr, capturers[1].messages.nr);
		assert_int_equal(others, capturers[0].messages.nr);
		assert_ptr_equal(libbpf_set_print(count_others), count_others);
	}
	libbpf_set_print(before);
}

/* A print function that is set meanwhile stays. */
TEST(keeps_what_others_set)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	libbpf_print_fn_t before = libbpf_set_print(NULL);

	log_capture_libbpf(&log);
	libbpf_set_print(count_others);
	log_release_libbpf(NULL);
	assert_ptr_equal(libbpf_set_print(before), count_others);
}
