// SPDX-License-Identifier: GPL-2.0-only
#include "session/detach.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "session/json.h"
#include "task.h"
#include "text.h"

/* The child's end of the pipe follows the standard streams. */
#define CALLER_FD 3

/* Opens missing standard streams, so that later descriptors are above them. */
static int fill_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < CALLER_FD);
	return fd < 0 || close(fd) ? -errno : 0;
}

static enum exit_code wait_ended(pid_t pid, struct console *con)
{
	int status;
	int r = pid_wait(pid, &status);

	if (r) {
		console_error(con, "--detach: cannot wait for the session: %s", strerror(-r));
		return EXIT_FAILED;
	}
	if (WIFEXITED(status))
		return (enum exit_code)WEXITSTATUS(status);
	console_error(con, "--detach: the session was killed by signal %d before it was armed",
		      WTERMSIG(status));
	return EXIT_FAILED;
}

static enum exit_code wait_armed(pid_t pid, int pipe_fd, struct console *con)
{
	ssize_t n;
	char c;

	do
		n = read(pipe_fd, &c, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? EXIT_FINE : wait_ended(pid, con);
}

static int become_child(struct detach *detach, int pipe_fd)
{
	int null = open("/dev/null", O_RDONLY);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return -errno;
	if (pipe_fd != CALLER_FD && dup2(pipe_fd, CALLER_FD) < 0)
		return -errno;
	if (close_range(CALLER_FD + 1, ~0U, 0) || fcntl(CALLER_FD, F_SETFD, FD_CLOEXEC))
		return -errno;
	detach->caller = CALLER_FD;
	/* Some shells send SIGHUP to all of their processes at exit. */
	signal(SIGHUP, SIG_IGN);
	return setsid() < 0 ? -errno : 0;
}

static int fail(struct console *con, int r)
{
	console_error(con, "--detach: %s", strerror(-r));
	return r;
}

int detach_fork(struct detach *detach, struct console *con, enum exit_code *code)
{
	_cleanup_close_ int receive = -1;
	_cleanup_close_ int send = -1;
	int ends[2];
	pid_t pid;
	int r;

	r = fill_streams();
	if (r || pipe2(ends, O_CLOEXEC))
		return fail(con, r ?: -errno);
	receive = ends[0];
	send = ends[1];
	fflush(con->out);
	fflush(con->err);
	pid = fork();
	if (pid < 0)
		return fail(con, -errno);
	if (pid) {
		closep(&send);
		*code = wait_armed(pid, receive, con);
		return 1;
	}
	r = become_child(detach, send);
	/* become_child() closed or moved them. */
	receive = send = -1;
	return r ? fail(con, r) : 0;
}

static int log_among_captures(struct detach *detach, const struct perf_poke_opts *opts,
			      int output_fd, char **where, char **why)
{
	const char *name;
	int r;

	*where = strfmt("%s/%s.log", opts->output ?: "perf-poke.data", opts->session);
	if (!*where)
		return -ENOMEM;
	name = strrchr(*where, '/') + 1;
	r = logger_open_at(&detach->log, output_fd, name);
	return r ? options_explain(why, r, "--detach: cannot append to the log '%s': %s", *where,
				   strerror(-r))
		 : 0;
}

/* Chooses the journal, or a file among the captures if there is none. */
static int choose_log(struct detach *detach, const struct perf_poke_opts *opts, int output_fd,
		      char **where, char **why)
{
	const char *chosen = detach->where ?: "journal";

	if (!detach->where && !systemd_has_journal())
		return log_among_captures(detach, opts, output_fd, where, why);
	*where = strdup(chosen);
	if (!*where)
		return -ENOMEM;
	return detach->log.kind ? 0 : logger_open(&detach->log, chosen, why);
}

static int close_streams(struct console *con)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int err = 0;

	fflush(con->out);
	fflush(con->err);
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
		err = -errno;
	closep(&null);
	return err;
}

int detach_release(struct detach *detach, struct console *con, const struct perf_poke_opts *opts,
		   int output_fd)
{
	_cleanup_free_ char *where = NULL;
	_cleanup_free_ char *why = NULL;
	int r = choose_log(detach, opts, output_fd, &where, &why);

	if (r) {
		console_error(con, "%s", why ?: strerror(-r));
		return r;
	}
	if (con->json)
		json_print(con, json_detached(opts->session, getpid(), where));
	console_info(con,
		     "session %s, pid %d, log %s; see it with perf-poke-ctl status %s, end it "
		     "with perf-poke-ctl stop %s",
		     opts->session, getpid(), where, opts->session, opts->session);
	if (console_is_deaf(con))
		return -EPIPE;
	r = close_streams(con);
	if (r)
		return fail(con, r);
	con->log = detach->log;
	con->detached = true;
	if (write(detach->caller, "", 1) != 1) {
		r = -errno;
		console_error(con, "--detach: the command exited before the session was armed");
		return r;
	}
	closep(&detach->caller);
	return 0;
}
