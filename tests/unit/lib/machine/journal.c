// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "helpers.h"
#include "messages.h"

static struct messages said;
static const struct log journal_log = { messages_add, &said };
static char dir[4096];

int __real_flock(int fd, int operation);

/* Sessions that end before the lock is taken. */
static unsigned int ends;

int __wrap_flock(int fd, int operation)
{
	if (ends) {
		ends--;
		assert_int_equal(rmdir(dir), 0);
	}
	return __real_flock(fd, operation);
}

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

static struct journal *begin(void)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(journal_set_value(journal, "osnoise/cpus", "1"), 0);
	assert_int_equal(journal_set_value(journal, "period", "20"), 0);
	assert_int_equal(journal_mkdir(journal, "made"), 0);
	return journal;
}

static void assert_set(void)
{
	assert_string_equal(load_text("osnoise/cpus"), "1");
	assert_string_equal(load_text("period"), "20");
	assert_true(exists("made"));
}

static void assert_put_back(void)
{
	assert_string_equal(load_text("osnoise/cpus"), "0-3");
	assert_string_equal(load_text("period"), "1000");
	assert_false(exists("made"));
}

TEST_WITH(puts_back_at_the_end, setup, remove_folder)
{
	struct journal *journal = begin();

	assert_set();
	/* A living session's journal is left alone. */
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 0);
	assert_set();
	journal_close(journal, false);
	assert_put_back();
	assert_int_equal(said.nr, 0);
	assert_int_equal(access(dir, F_OK), -1);
}

/* A CPU that was offline comes back as after boot. */
TEST_WITH(sets_again, setup, remove_folder)
{
	struct journal *journal = begin();

	put_file(folder->fd, "period", "1000\n");
	put_file(folder->fd, "osnoise/cpus", "0-3\n");
	assert_int_equal(journal_renew(journal, "peri"), 0);
	assert_string_equal(load_text("period"), "20");
	assert_string_equal(load_text("osnoise/cpus"), "0-3\n");
	assert_int_equal(journal_renew(journal, "osnoise/"), 0);
	assert_set();
	assert_int_equal(unlinkat(folder->fd, "period", 0), 0);
	assert_int_equal(journal_renew(journal, ""), 0);
	put_file(folder->fd, "period", "20");
	journal_close(journal, false);
	assert_put_back();
	assert_int_equal(said.nr, 0);
}

static void killed(void)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		begin();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST_WITH(puts_back_of_the_killed, setup, remove_folder)
{
	killed();
	assert_set();
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_put_back();
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 0);
}

/* By a session that ended: nobody was killed. */
TEST_WITH(puts_back_what_was_left, setup, remove_folder)
{
	journal_leave(begin());
	assert_set();
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 0);
	assert_put_back();
	assert_int_equal(access(dir, F_OK), -1);
	assert_int_equal(said.nr, 0);
	journal_leave(NULL);
}

TEST_WITH(leaves_what_others_changed, setup, remove_folder)
{
	struct journal *journal = begin();

	put_file(folder->fd, "period", "77\n");
	journal_close(journal, false);
	assert_string_equal(load_text("period"), "77\n");
	assert_string_equal(load_text("osnoise/cpus"), "0-3");
	assert_int_equal(said.nr, 1);
	assert_int_equal(said.level, PERF_POKE_LOG_WARN);
	assert_string_equal(said.text, "settings that have changed meanwhile are not restored: "
				       "period is '77' (the session had set '20', before that "
				       "'1000')");
}

/* An idle state has two values: the session that changed it restores it. */
TEST_WITH(says_what_others_put_back, setup, remove_folder)
{
	struct journal *journal = begin();

	put_file(folder->fd, "osnoise/cpus", "0-3\n");
	journal_close(journal, false);
	assert_string_equal(load_text("osnoise/cpus"), "0-3\n");
	assert_string_equal(load_text("period"), "1000");
	assert_int_equal(said.nr, 1);
	assert_string_equal(said.text, "settings that have changed meanwhile are not restored: "
				       "osnoise/cpus is '0-3' (the session had set '1')");
}

/* A dead session may have been restoring its settings. */
TEST_WITH(is_silent_of_the_killed, setup, remove_folder)
{
	killed();
	put_file(folder->fd, "osnoise/cpus", "0-3\n");
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_int_equal(said.nr, 0);
	assert_string_equal(load_text("period"), "1000");
}

/* A value that was already set is not restored, but a change by others is reported. */
TEST_WITH(says_what_was_so_before, setup, remove_folder)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(journal_set_value(journal, "period", "1000"), 0);
	assert_int_equal(journal_set_option(journal, "osnoise/options", "PANIC_ON_STOP", false), 0);
	put_file(folder->fd, "period", "2000\n");
	put_file(folder->fd, "osnoise/options", "DEFAULTS PANIC_ON_STOP \n");
	journal_close(journal, false);
	assert_string_equal(load_text("period"), "2000\n");
	assert_int_equal(said.nr, 1);
	assert_non_null(strstr(said.text, "osnoise/options is 'DEFAULTS PANIC_ON_STOP ' (the "
					  "session had set 'NO_PANIC_ON_STOP'), period is '2000' "
					  "(the session had set '1000')"));
}

TEST_WITH(says_many_in_one_line, setup, remove_folder)
{
	struct journal *journal;
	char name[32];

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "osnoise/state%d", i);
		put_file(folder->fd, name, "0\n");
		assert_int_equal(journal_set_value(journal, name, "1"), 0);
		if (i)
			put_file(folder->fd, name, "0\n");
	}
	journal_close(journal, false);
	assert_string_equal(load_text("osnoise/state0"), "0");
	assert_int_equal(said.nr, 1);
	assert_null(strstr(said.text, "state4"));
	assert_non_null(
		strstr(said.text, "osnoise/state5 is '0' (the session had set '1'), and 4 more"));
}

/* A setting that could not be made is not restored. */
TEST_WITH(is_not_set, setup, remove_folder)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(symlinkat("/proc/version", folder->fd, "fixed"), 0);
	assert_true(journal_set_value(journal, "fixed", "1") < 0);
	journal_close(journal, false);
	assert_int_equal(said.nr, 0);
}

TEST_WITH(waits_for_others_tracers, setup, remove_folder)
{
	struct journal *journal = begin();

	journal_close(journal, true);
	assert_string_equal(load_text("period"), "1000");
	assert_string_equal(load_text("osnoise/cpus"), "1");
	assert_non_null(strstr(said.text, "are not restored while another tracer runs"));
	assert_int_equal(journal_recover(dir, folder->fd, true, &journal_log), 0);
	assert_string_equal(load_text("osnoise/cpus"), "1");
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_put_back();
	assert_int_equal(access(dir, F_OK), -1);
}

TEST_WITH(sets_words, setup, remove_folder)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(journal_set_option(journal, "osnoise/options", "OSNOISE_WORKLOAD", true),
			 0);
	assert_non_null(strstr(load_text("osnoise/options"), "DEFAULTS"));
	/* The kernel would show the whole list; here it is just what was written. */
	assert_int_equal(journal_set_option(journal, "osnoise/options", "OSNOISE_WORKLOAD", false),
			 0);
	assert_string_equal(load_text("osnoise/options"), "NO_OSNOISE_WORKLOAD");
	journal_close(journal, false);
	assert_string_equal(load_text("osnoise/options"), "OSNOISE_WORKLOAD");
}

/* Unchanged values are not written, and an incomplete note is ignored. */
TEST_WITH(is_careful, setup, remove_folder)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(journal_set_value(journal, "period", "1000"), 0);
	assert_string_equal(load_text("period"), "1000\n");
	assert_int_equal(journal_set_value(journal, "missing", "1"), -ENOENT);
	assert_int_equal(journal_mkdir(journal, "osnoise"), -EEXIST);
	journal_close(journal, false);
	assert_true(exists("osnoise"));
	put_file(folder->fd, "run/settings-5", "speriod\t1\t1000\nsosnoise/cpus\t7\t0-");
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_string_equal(load_text("period"), "1");
	assert_string_equal(load_text("osnoise/cpus"), "0-3\n");
}

/* Of the same name, and not of this session. */
TEST_WITH(leaves_folders_of_others, setup, remove_folder)
{
	for (int killed = 0; killed < 2; killed++) {
		struct journal *journal = begin();

		assert_int_equal(mkdirat(folder->fd, "theirs", 0700), 0);
		assert_int_equal(unlinkat(folder->fd, "made", AT_REMOVEDIR), 0);
		assert_int_equal(renameat(folder->fd, "theirs", folder->fd, "made"), 0);
		if (killed) {
			journal_abandon(journal);
			assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
		} else {
			journal_close(journal, false);
		}
		assert_true(exists("made"));
		assert_int_equal(unlinkat(folder->fd, "made", AT_REMOVEDIR), 0);
	}
	/* One that could not be made. */
	put_file(folder->fd, "run/settings-5", "mtheirs\t\t\nmtheirs\t0\t\n");
	assert_int_equal(fchmodat(folder->fd, "run", 0700, 0), 0);
	assert_int_equal(mkdirat(folder->fd, "theirs", 0700), 0);
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_true(exists("theirs"));
}

/* The kernel would fail with EBUSY; here the file is /dev/full. */
TEST_WITH(keeps_what_cannot_be_put_back, setup, remove_folder)
{
	put_file(folder->fd, "run/settings-5", "sbroken\tx\t\nmmade\t\t\n");
	assert_int_equal(fchmodat(folder->fd, "run", 0700, 0), 0);
	assert_int_equal(symlinkat("/dev/full", folder->fd, "broken"), 0);
	put_file(folder->fd, "made/busy", "");
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 0);
	assert_int_equal(said.nr, 3);
	assert_non_null(strstr(said.text, "stop --all"));
	assert_true(exists("run/settings-5"));

	assert_int_equal(unlinkat(folder->fd, "broken", 0), 0);
	put_file(folder->fd, "broken", "");
	assert_int_equal(unlinkat(folder->fd, "made/busy", 0), 0);
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), 1);
	assert_string_equal(load_text("broken"), "x");
	assert_false(exists("made"));
	assert_int_equal(access(dir, F_OK), -1);
}

/* Another session's end removes the folder between any two steps. */
TEST_WITH(opens_while_others_end, setup, remove_folder)
{
	struct journal *journal;

	ends = 3;
	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), 0);
	assert_int_equal(ends, 0);
	assert_int_equal(journal_set_value(journal, "period", "20"), 0);
	journal_close(journal, false);
	assert_int_equal(said.nr, 0);
	assert_int_equal(access(dir, F_OK), -1);
}

TEST_WITH(refuses_others_folders, setup, remove_folder)
{
	struct journal *journal;

	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(journal_open(&journal, dir, folder->fd, &journal_log), -EPERM);
	assert_non_null(strstr(said.text, "so none is changed"));
	assert_int_equal(journal_recover(dir, folder->fd, false, &journal_log), -EPERM);
}
