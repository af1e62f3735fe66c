// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/log.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "messages.h"

static void passes_messages_on(void **state)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };

	(void)state;
	for (int level = PERF_POKE_LOG_ERROR; level <= PERF_POKE_LOG_DEBUG; level++) {
		log_write(&log, level, "level %d of %s", level, "four");
		assert_int_equal(messages.level, level);
		assert_int_equal(messages.text[6], '0' + level);
		assert_string_equal(messages.text + 7, " of four");
	}
	assert_int_equal(messages.nr, 4);
}

static void trims_newlines(void **state)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };

	(void)state;
	log_write(&log, PERF_POKE_LOG_INFO, "one\n");
	assert_string_equal(messages.text, "one");
	log_write(&log, PERF_POKE_LOG_INFO, "a\nb\n\n");
	assert_string_equal(messages.text, "a\nb");
	log_write(&log, PERF_POKE_LOG_INFO, "%s", "\n");
	assert_string_equal(messages.text, "");
	assert_int_equal(messages.nr, 3);
}

static void keeps_long_messages(void **state)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_write(&log, PERF_POKE_LOG_INFO, "%s", text);
	assert_int_equal(strlen(messages.text), sizeof(text) - 1);
	assert_string_equal(messages.text, text);
}

static void returns_the_error(void **state)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };

	(void)state;
	assert_int_equal(log_error(&log, -ENOSPC, "full: %d", 7), -ENOSPC);
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
	assert_string_equal(messages.text, "full: 7");
}

static void is_silent_without_a_function(void **state)
{
	const struct log none = {};

	(void)state;
	log_write(&none, PERF_POKE_LOG_ERROR, "nobody reads %s", "this");
	assert_int_equal(log_error(&none, -EIO, "nor this"), -EIO);
}

static unsigned int others;

static int count_others(enum libbpf_print_level level, const char *format, va_list ap)
{
	(void)level;
	(void)format;
	(void)ap;
	others++;
	return 0;
}

/* libbpf warns, at LIBBPF_WARN, about BTF that is none. */
static void make_libbpf_warn(void)
{
	static const char no_btf[64];

	assert_null(btf__new(no_btf, sizeof(no_btf)));
}

static void demotes_libbpf(void **state)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	libbpf_print_fn_t before = libbpf_set_print(count_others);

	(void)state;
	log_capture(&log);
	make_libbpf_warn();
	log_release();
	assert_int_equal(others, 0);
	assert_true(messages.nr > 0);
	assert_int_equal(messages.level, PERF_POKE_LOG_DEBUG);

	/* And whoever had libbpf's function before has it again. */
	assert_ptr_equal(libbpf_set_print(before), count_others);
}

/* Has captured from when one barrier is passed until the next is. */
struct capturer {
	struct messages messages;
	pthread_t thread;
	pthread_barrier_t captured, release;
};

static void *capture(void *arg)
{
	struct capturer *capturer = arg;
	const struct log log = { messages_add, &capturer->messages };

	log_capture(&log);
	make_libbpf_warn();
	pthread_barrier_wait(&capturer->captured);
	pthread_barrier_wait(&capturer->release);
	make_libbpf_warn();
	log_release();
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

/* Two threads that load at the same time, whichever ends first. */
static void tells_threads_apart(void **state)
{
	libbpf_print_fn_t before = libbpf_set_print(count_others);

	(void)state;
	for (int last = 0; last < 2; last++) {
		struct capturer capturers[2] = {};

		others = 0;
		capturer_start(&capturers[0]);
		capturer_start(&capturers[1]);
		capturer_end(&capturers[!last]);
		capturer_end(&capturers[last]);
		/* Each has captured two warnings, and not the third. */
		assert_true(capturers[0].messages.nr > 0);
		assert_int_equal(capturers[0].messages.nr, capturers[1].messages.nr);
		assert_int_equal(others, capturers[0].messages.nr);
		assert_ptr_equal(libbpf_set_print(count_others), count_others);
	}
	libbpf_set_print(before);
}

/* What somebody has set while it was captured stays. */
static void keeps_what_others_set(void **state)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	libbpf_print_fn_t before = libbpf_set_print(NULL);

	(void)state;
	log_capture(&log);
	libbpf_set_print(count_others);
	log_release();
	assert_ptr_equal(libbpf_set_print(before), count_others);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_messages_on),
		cmocka_unit_test(trims_newlines),
		cmocka_unit_test(keeps_long_messages),
		cmocka_unit_test(returns_the_error),
		cmocka_unit_test(is_silent_without_a_function),
		cmocka_unit_test(demotes_libbpf),
		cmocka_unit_test(tells_threads_apart),
		cmocka_unit_test(keeps_what_others_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
