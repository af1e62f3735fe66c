// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* How a capture appears: complete under its name, or not at all. */
#include "capture.h"

#include <fcntl.h>
#include <regex.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "fake_recorder.h"
#include "helpers.h"
#include "messages.h"

static struct config config;
static struct capture_env env;

static const struct log silent;

static int make_output(void **state)
{
	static char output[4096];
	static int cpus[] = { 3 };
	struct folder *folder;

	if (make_folder(state))
		return -1;
	folder = *state;
	snprintf(output, sizeof(output), "%s/captures", folder->path);
	fake_reset();
	config = (struct config){ .cpus = cpus, .nr_cpus = 1, .output = output };
	env = (struct capture_env){ &config, &fake.recorder,
				    capture_output_open(output, &(bool){ false }, &silent) };
	return env.output_fd >= 0 ? 0 : -1;
}

static int remove_output(void **state)
{
	closep(&env.output_fd);
	return remove_folder(state);
}

static bool exists(const char *path)
{
	return !faccessat(env.output_fd, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static void check_name(const struct capture *capture, const char *pattern)
{
	size_t len = strlen(config.output);
	regex_t regex;

	assert_int_equal(capture->error, 0);
	assert_non_null(capture->path);
	assert_memory_equal(capture->path, config.output, len);
	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&regex, capture->path + len, 0, NULL, 0))
		fail_msg("'%s' is not named as %s", capture->path + len, pattern);
	regfree(&regex);
}

static void check_content(const struct capture *capture, const char *number)
{
	_cleanup_close_ int fd = open(capture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct bytes data;

	assert_true(fd >= 0);
	assert_int_equal(faccessat(fd, "capture.json", R_OK, 0), 0);
	data = load_file(fd, "perf.data/data");
	assert_int_equal(data.len, strlen(number));
	assert_memory_equal(data.at, number, data.len);
	free((void *)data.at);
}

static void appears_under_its_name(void **state)
{
	struct capture *capture = fake_capture(17);

	(void)state;
	capture_write(&env, capture);
	check_name(capture, "^/[0-9]{8}-[0-9]{6}\\.[0-9]{3}-cpu3-83us$");
	check_content(capture, "17");
	assert_int_equal(fake_entries(&env), 1);
	assert_int_equal(fake.spike_cpu, 3);
	assert_int_equal(capture->facts.events, 1234);
	assert_int_equal(capture->facts.lost, 5);
	assert_int_equal(capture->facts.size, 6789);
	assert_null(capture->snapshot);
	assert_int_equal(fake.freed, 1);
	capture_free(&env, capture);
	assert_int_equal(fake.freed, 1);
	capture_free(&env, NULL);
}

static void a_poke_has_no_cpu(void **state)
{
	struct capture *capture = fake_capture(1);

	(void)state;
	capture->spike.poked = true;
	capture->spike.cpu = -1;
	capture->spike.latency_ns = 0;
	capture_write(&env, capture);
	check_name(capture, "^/[0-9]{8}-[0-9]{6}\\.[0-9]{3}-poke$");
	assert_int_equal(fake.spike_cpu, -1);
	capture_free(&env, capture);
}

/* The wall time in the name is that of the spike, not of the writing. */
static void is_named_after_the_spike(void **state)
{
	struct capture *capture = fake_capture(1);
	time_t before = time(NULL) - 3600;
	char minute[32], next[32], pattern[128];
	struct tm tm;
	time_t later = before + 60;

	(void)state;
	capture->spike.time_ns -= 3600 * NSEC_PER_SEC;
	strftime(minute, sizeof(minute), "%Y%m%d-%H%M", localtime_r(&before, &tm));
	strftime(next, sizeof(next), "%Y%m%d-%H%M", localtime_r(&later, &tm));
	snprintf(pattern, sizeof(pattern), "^/(%s|%s)", minute, next);
	capture_write(&env, capture);
	check_name(capture, pattern);
	capture_free(&env, capture);
}

/* In the middle of a millisecond of the time of day, so that names made from it are equal. */
static uint64_t same_time_ns(void)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t wall_ns = clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - now_ns);

	return now_ns - wall_ns % 1000000 - 500000;
}

static void a_taken_name_is_left_alone(void **state)
{
	struct capture *captures[3];
	uint64_t time_ns = same_time_ns();

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		captures[i] = fake_capture(i);
		captures[i]->spike.time_ns = time_ns;
		capture_write(&env, captures[i]);
	}
	check_name(captures[0], "-cpu3-83us$");
	check_name(captures[1], "-cpu3-83us-2$");
	check_name(captures[2], "-cpu3-83us-3$");
	check_content(captures[0], "0");
	check_content(captures[1], "1");
	check_content(captures[2], "2");
	assert_int_equal(fake_entries(&env), 3);
	for (unsigned int i = 0; i < 3; i++)
		capture_free(&env, captures[i]);
}

/* Whatever has the name: a file, too. After a thousand of them it is enough. */
static void names_run_out(void **state)
{
	struct capture *first = fake_capture(1), *last = fake_capture(2);
	char name[128];

	(void)state;
	first->spike.time_ns = last->spike.time_ns = same_time_ns();
	capture_write(&env, first);
	for (int i = 2; i <= 1000; i++) {
		snprintf(name, sizeof(name), "%s-%d", strrchr(first->path, '/') + 1, i);
		put_file(env.output_fd, name, "mine");
	}
	capture_write(&env, last);
	assert_int_equal(last->error, -EEXIST);
	assert_null(last->path);
	assert_int_equal(fake_entries(&env), 1000);
	check_content(first, "1");
	capture_free(&env, first);
	capture_free(&env, last);
}

static void a_failure_leaves_nothing(void **state)
{
	struct capture *capture = fake_capture(1), *next = fake_capture(2);

	(void)state;
	fake.error = -ENOSPC;
	capture_write(&env, capture);
	assert_int_equal(capture->error, -ENOSPC);
	assert_null(capture->path);
	assert_null(capture->snapshot);
	assert_int_equal(fake.freed, 1);
	assert_int_equal(fake_entries(&env), 0);
	capture_free(&env, capture);

	fake.error = 0;
	capture_write(&env, next);
	check_content(next, "2");
	assert_int_equal(fake_entries(&env), 1);
	capture_free(&env, next);
}

/* The file that the library makes last cannot be made: all before it goes, too. */
static void a_late_failure_leaves_nothing(void **state)
{
	struct capture *capture = fake_capture(1);

	(void)state;
	fake.also = "capture.json";
	capture_write(&env, capture);
	assert_int_equal(capture->error, -EEXIST);
	assert_null(capture->path);
	assert_int_equal(fake.written, 1);
	assert_int_equal(fake_entries(&env), 0);
	capture_free(&env, capture);
}

static void the_folder_is_gone(void **state)
{
	struct capture *capture = fake_capture(1);

	(void)state;
	assert_int_equal(rmdir(config.output), 0);
	capture_write(&env, capture);
	assert_int_equal(capture->error, -ENOENT);
	assert_int_equal(fake.written, 0);
	assert_int_equal(fake.freed, 1);
	capture_free(&env, capture);
}

static void put_half_written(const struct folder *folder)
{
	put_file(folder->fd, "precious/file", "mine");
	put_file(env.output_fd, ".partial-12-34/perf.data/kcore_dir/kallsyms", "x");
	put_file(env.output_fd, ".partial-12-35", "a file");
	put_file(env.output_fd, ".hidden/file", "mine");
	put_file(env.output_fd, "20260101-000000.000-cpu1-50us/capture.json", "{}");
	assert_int_equal(symlinkat(folder->path, env.output_fd, ".partial-12-34/link"), 0);
	assert_int_equal(symlinkat(folder->path, env.output_fd, ".partial-12-36"), 0);
}

static void sweeps_only_when_alone(void **state)
{
	const struct folder *folder = *state;
	_cleanup_close_ int second = -1, third = -1;

	put_half_written(folder);
	/* The session that `env` stands for lives: its partial folders may be in the making. */
	second = capture_output_open(config.output, &(bool){ false }, &silent);
	assert_true(second >= 0);
	assert_int_equal(fake_entries(&env), 5);
	closep(&env.output_fd);
	third = capture_output_open(config.output, &(bool){ false }, &silent);
	assert_true(third >= 0);
	env.output_fd = TAKE_FD(third);
	assert_int_equal(fake_entries(&env), 5);

	closep(&env.output_fd);
	closep(&second);
	env.output_fd = capture_output_open(config.output, &(bool){ false }, &silent);
	assert_true(env.output_fd >= 0);
	assert_int_equal(fake_entries(&env), 2);
	assert_true(exists(".hidden/file"));
	assert_true(exists("20260101-000000.000-cpu1-50us/capture.json"));
	/* What links in it point to stays. */
	assert_int_equal(faccessat(folder->fd, "precious/file", F_OK, 0), 0);
}

static void check_output(const char *output, int error, const char *problem, int reason)
{
	struct messages messages = {};
	const struct log log = { messages_add, &messages };
	char message[5000];

	assert_int_equal(capture_output_open(output, &(bool){ false }, &log), error);
	snprintf(message, sizeof(message), "output '%s': %s: %s", output, problem,
		 strerror(reason));
	assert_string_equal(messages.text, message);
	assert_int_equal(messages.nr, 1);
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
}

static void refuses_outputs(void **state)
{
	const struct folder *folder = *state;
	char path[4200];

	put_file(folder->fd, "file", "");
	snprintf(path, sizeof(path), "%s/file", folder->path);
	check_output(path, -ENOTDIR, "cannot open this folder", ENOTDIR);
	snprintf(path, sizeof(path), "%s/file/below", folder->path);
	check_output(path, -ENOTDIR, "cannot make this folder", ENOTDIR);
	snprintf(path, sizeof(path), "%s/no/such/folder", folder->path);
	check_output(path, -ENOTDIR, "cannot make this folder", ENOENT);
}

/* Root may write anywhere: it becomes nobody for this. */
static void refuses_a_read_only_output(void **state)
{
	const struct folder *folder = *state;
	uid_t uid = geteuid();

	assert_int_equal(chmod(folder->path, 0755), 0);
	assert_int_equal(chmod(config.output, 0555), 0);
	if (!uid)
		assert_int_equal(seteuid(65534), 0);
	check_output(config.output, -EACCES, "cannot write to this folder", EACCES);
	assert_int_equal(seteuid(uid), 0);
	assert_int_equal(chmod(config.output, 0755), 0);
}

static void history_is_never_negative(void **state)
{
	struct capture capture = { .spike.time_ns = 5000 };

	(void)state;
	assert_int_equal(capture_history_ns(&capture), 0);
	capture.facts.oldest_ns = 1000;
	assert_int_equal(capture_history_ns(&capture), 4000);
	capture.facts.oldest_ns = 5000;
	assert_int_equal(capture_history_ns(&capture), 0);
	capture.facts.oldest_ns = 6000;
	assert_int_equal(capture_history_ns(&capture), 0);
}

#define OUTPUT_TEST(fn) cmocka_unit_test_setup_teardown(fn, make_output, remove_output)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_TEST(appears_under_its_name),
		OUTPUT_TEST(a_poke_has_no_cpu),
		OUTPUT_TEST(is_named_after_the_spike),
		OUTPUT_TEST(a_taken_name_is_left_alone),
		OUTPUT_TEST(names_run_out),
		OUTPUT_TEST(a_failure_leaves_nothing),
		OUTPUT_TEST(a_late_failure_leaves_nothing),
		OUTPUT_TEST(the_folder_is_gone),
		OUTPUT_TEST(sweeps_only_when_alone),
		OUTPUT_TEST(refuses_outputs),
		OUTPUT_TEST(refuses_a_read_only_output),
		cmocka_unit_test(history_is_never_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
