// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "helpers.h"
#include "io.h"
#include "output_file.h"
#include "task.h"
#include "text.h"

TEST(catches_all_but_an_ignored_hangup)
{
	struct signals_old ending;

	signal(SIGHUP, SIG_IGN);
	signals_catch_ending(&ending);
	raise(SIGHUP);
	assert_false(signals_asked_end);
	raise(SIGTERM);
	assert_true(signals_asked_end);
	signals_restore_old(&ending);
	assert_ptr_equal(signal(SIGTERM, SIG_DFL), SIG_DFL);
	assert_ptr_equal(signal(SIGHUP, SIG_DFL), SIG_IGN);
}

#define OWN_CODE 7

static char *out_path;

/* A command that gets a signal after `publishes`. It ends by itself, or is kept from it by who does
 * not read its messages. Returns its exit code. */
static int run_command(bool publishes, bool ends)
{
	struct output_file file;
	int status;
	pid_t pid = fork();

	if (pid) {
		assert_int_equal(pid_wait_for_exit(pid, &status), 0);
		assert_true(WIFEXITED(status));
		return WEXITSTATUS(status);
	}
	if (signals_end_process(": nothing is written") ||
	    output_file_open(&file, out_path, false) || write_all(file.fd, "all", 3) ||
	    (publishes && output_file_publish(&file)))
		_exit(EXIT_USAGE);
	kill(getpid(), SIGTERM);
	usleep(20000);
	signals_hold_if_ended();
	output_file_close(&file);
	while (!ends)
		pause();
	_exit(OWN_CODE);
}

/* A complete file is no failure. */
TEST_IN_FOLDER(end_by_what_is_published)
{
	out_path = strfmt("%s/out", folder->path);
	assert_int_equal(run_command(false, false), EXIT_FAILED);
	assert_false(exists("out"));
	assert_int_equal(run_command(true, true), OWN_CODE);
	assert_int_equal(stat_of("out").st_size, 3);
	assert_int_equal(unlinkat(folder->fd, "out", 0), 0);
	assert_int_equal(run_command(true, false), EXIT_FINE);
	assert_int_equal(stat_of("out").st_size, 3);
	assert_int_equal(unlinkat(folder->fd, "out", 0), 0);
	/* No hidden folder is left. */
	assert_int_equal(rmdir(folder->path), 0);
	assert_int_equal(mkdir(folder->path, 0700), 0);
	free(out_path);
}
