// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "journal.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "helpers.h"
#include "messages.h"

static struct messages said;
static const struct log journal_log = { messages_add, &said };
static char dir[4096];

static int setup(void **state)
{
	struct folder *folder;
	int r = make_folder(state);

	if (r)
		return r;
	folder = *state;
	snprintf(dir, sizeof(dir), "%s/run", folder->path);
	put_file(folder->fd, "osnoise/cpus", "0-3\n");
	put_file(folder->fd, "osnoise/options", "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP \n");
	put_file(folder->fd, "period", "1000\n");
	said = (struct messages){ 0 };
	return 0;
}

static const char *content(int dirfd, const char *name)
{
	static char text[256];
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	assert_true(len >= 0);
	text[len < 0 ? 0 : len] = '\0';
	return text;
}

static struct journal *begin(const struct folder *folder)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(journal_set(journal, "osnoise/cpus", "1"), 0);
	assert_int_equal(journal_set(journal, "period", "20"), 0);
	assert_int_equal(journal_mkdir(journal, "made"), 0);
	return journal;
}

static void assert_set(const struct folder *folder)
{
	assert_string_equal(content(folder->fd, "osnoise/cpus"), "1");
	assert_string_equal(content(folder->fd, "period"), "20");
	assert_int_equal(faccessat(folder->fd, "made", F_OK, 0), 0);
}

static void assert_put_back(const struct folder *folder)
{
	assert_string_equal(content(folder->fd, "osnoise/cpus"), "0-3");
	assert_string_equal(content(folder->fd, "period"), "1000");
	assert_int_equal(faccessat(folder->fd, "made", F_OK, 0), -1);
}

static void puts_back_at_the_end(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = begin(folder);

	assert_set(folder);
	/* A living session's is left alone. */
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 0);
	assert_set(folder);
	journal_close(journal, false);
	assert_put_back(folder);
	assert_int_equal(said.nr, 0);
	assert_int_equal(rmdir(dir), 0);
}

static void killed(const struct folder *folder)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		begin(folder);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void puts_back_of_the_killed(void **state)
{
	const struct folder *folder = *state;

	killed(folder);
	assert_set(folder);
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_put_back(folder);
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 0);
}

static void leaves_what_others_changed(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = begin(folder);

	put_file(folder->fd, "period", "77\n");
	journal_close(journal, false);
	assert_string_equal(content(folder->fd, "period"), "77\n");
	assert_string_equal(content(folder->fd, "osnoise/cpus"), "0-3");
	assert_non_null(strstr(said.text, "period: somebody else has changed it meanwhile"));
}

static void waits_for_others_tracers(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = begin(folder);

	journal_close(journal, true);
	assert_string_equal(content(folder->fd, "period"), "1000");
	assert_string_equal(content(folder->fd, "osnoise/cpus"), "1");
	assert_non_null(strstr(said.text, "its settings are left alone"));
	assert_int_equal(journal_recover(dir, folder->fd, true, &journal_log), 0);
	assert_string_equal(content(folder->fd, "osnoise/cpus"), "1");
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_put_back(folder);
	assert_int_equal(access(dir, F_OK), -1);
}

static void sets_words(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal;

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(journal_option(journal, "osnoise/options", "OSNOISE_WORKLOAD", true), 0);
	assert_non_null(strstr(content(folder->fd, "osnoise/options"), "DEFAULTS"));
	/* The kernel makes of it the whole list again; here it is just what was written. */
	assert_int_equal(journal_option(journal, "osnoise/options", "OSNOISE_WORKLOAD", false), 0);
	assert_string_equal(content(folder->fd, "osnoise/options"), "NO_OSNOISE_WORKLOAD");
	journal_close(journal, false);
	assert_string_equal(content(folder->fd, "osnoise/options"), "OSNOISE_WORKLOAD");
}

/* Nothing is written where nothing changes, and nothing of half a note is acted on. */
static void is_careful(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal;

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(journal_set(journal, "period", "1000"), 0);
	assert_string_equal(content(folder->fd, "period"), "1000\n");
	assert_int_equal(journal_set(journal, "missing", "1"), -ENOENT);
	assert_int_equal(journal_mkdir(journal, "osnoise"), -EEXIST);
	journal_close(journal, false);
	assert_int_equal(faccessat(folder->fd, "osnoise", F_OK, 0), 0);
	put_file(folder->fd, "run/settings-5", "speriod\t1\t1000\nsosnoise/cpus\t7\t0-");
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_string_equal(content(folder->fd, "period"), "1");
	assert_string_equal(content(folder->fd, "osnoise/cpus"), "0-3\n");
}

static void refuses_others_folders(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal;

	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), -EPERM);
	assert_non_null(strstr(said.text, "so nothing is set"));
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), -EPERM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(puts_back_at_the_end),
		TEST(puts_back_of_the_killed),
		TEST(leaves_what_others_changed),
		TEST(waits_for_others_tracers),
		TEST(sets_words),
		TEST(is_careful),
		TEST(refuses_others_folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
