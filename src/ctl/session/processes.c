// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <dirent.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "array.h"
#include "cpulist.h"
#include "task.h"
#include "text.h"

/* Above normal tasks, below threaded interrupts (50) and the user's real-time tasks. */
#define PRIORITY 10

int placement_apply(const int *watched, size_t nr)
{
	const struct sched_param param = { .sched_priority = PRIORITY };

	affinity_leave(watched, nr);
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param))
		return -errno;
	return 0;
}

void placement_release(void)
{
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
}

/* Whether it is a perf event of a tracepoint: of others the kernel refuses this request. */
static bool is_tracepoint_event(int fd)
{
	struct perf_event_query_bpf query = { .ids_len = 0 };
	char path[32], target[32];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	return !strcmp(target, "anon_inode:[perf_event]") &&
	       !ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, &query);
}

/* In ascending order, as /proc lists them. */
static int find_tracepoint_events(int **fds, size_t *nr)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	int err;

	*nr = 0;
	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd <= STDERR_FILENO || !is_tracepoint_event(fd))
			continue;
		err = array_grow(fds, *nr, sizeof(**fds));
		if (err)
			return err;
		(*fds)[(*nr)++] = fd;
	}
	return 0;
}

/* In a child, which may outlive this process. */
static int become_closer(void)
{
	prctl(PR_SET_NAME, "perf-poke-close");
	setsid();
	return chdir("/");
}

/* Other threads may hold any lock as this process is forked, so this makes system calls only. */
static _Noreturn void hold_until_closed(int pipe_fd, const int *fds, size_t nr)
{
	int next = STDIN_FILENO + 1;
	char c;

	if (become_closer() || dup2(pipe_fd, STDIN_FILENO) < 0)
		_exit(0);
	for (size_t i = 0; i < nr; next = fds[i++] + 1) {
		if (fds[i] > next)
			close_range(next, fds[i] - 1, 0);
	}
	close_range(next, ~0U, 0);
	while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* Returns once the child has closed everything else: the kernel removes no tracing instance of
 * which it has a file open. */
int tracepoints_hand_over(void)
{
	_cleanup_free_ int *fds = NULL;
	int pipe_fds[2], closed_fds[2];
	size_t nr = 0;
	pid_t pid;
	char c;
	int err = find_tracepoint_events(&fds, &nr);

	if (err || !nr)
		return err ?: -ENOENT;
	if (pipe2(pipe_fds, O_CLOEXEC))
		return -errno;
	if (pipe2(closed_fds, O_CLOEXEC)) {
		err = -errno;
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		return err;
	}
	pid = fork();
	if (!pid)
		hold_until_closed(pipe_fds[0], fds, nr);
	err = pid < 0 ? -errno : pipe_fds[1];
	close(pipe_fds[0]);
	close(closed_fds[1]);
	while (read(closed_fds[0], &c, 1) < 0 && errno == EINTR)
		;
	close(closed_fds[0]);
	if (pid < 0)
		close(pipe_fds[1]);
	return err;
}

/* The child's end of the pipe follows the standard streams. */
#define CALLER_FD 3

/* Opens missing standard streams, so that later descriptors are above them. */
static int fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < CALLER_FD);
	return fd < 0 || close(fd) ? -errno : 0;
}

/* If it cannot be left to a child, it takes its time. */
void tracing_remove_later(void)
{
	pid_t pid = fork();

	if (pid > 0)
		return;
	if (!pid) {
		close_range(STDIN_FILENO, ~0U, 0);
		if (become_closer() || fill_standard_streams())
			_exit(0);
	}
	perf_poke__restore(NULL, NULL);
	if (!pid)
		_exit(0);
}

static enum exit_code wait_child_ended(pid_t pid, struct console *con)
{
	int status;
	int err = pid_wait_for_exit(pid, &status);

	if (err) {
		console_error(con, "--detach: cannot wait for the session: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (WIFEXITED(status))
		return (enum exit_code)WEXITSTATUS(status);
	console_error(con, "--detach: the session was killed by signal %d before it was armed",
		      WTERMSIG(status));
	return EXIT_FAILED;
}

static enum exit_code wait_child_armed(pid_t pid, int pipe_fd, struct console *con)
{
	ssize_t n;
	char c;

	do
		n = read(pipe_fd, &c, 1);
	while (n < 0 && errno == EINTR);
	return n == 1 ? EXIT_FINE : wait_child_ended(pid, con);
}

static int become_detached(struct detach *detach, int pipe_fd)
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

static int detach_print_error(struct console *con, int err)
{
	console_error(con, "--detach: %s", strerror(-err));
	return err;
}

int detach_fork_child(struct detach *detach, struct console *con, enum exit_code *code)
{
	_cleanup_close_ int receive = -1;
	_cleanup_close_ int send = -1;
	int ends[2];
	pid_t pid;
	int err;

	err = fill_standard_streams();
	if (err || pipe2(ends, O_CLOEXEC))
		return detach_print_error(con, err ?: -errno);
	receive = ends[0];
	send = ends[1];
	fflush(con->out);
	fflush(con->err);
	pid = fork();
	if (pid < 0)
		return detach_print_error(con, -errno);
	if (pid) {
		closep(&send);
		*code = wait_child_armed(pid, receive, con);
		return 1;
	}
	err = become_detached(detach, send);
	/* become_detached() closed or moved them. */
	receive = send = -1;
	return err ? detach_print_error(con, err) : 0;
}

static int open_log_among_captures(struct detach *detach, const struct perf_poke_opts *opts,
				   int output_fd, char **where, char **why)
{
	const char *name;
	int err;

	*where = strfmt("%s/%s.log", opts->output ?: "perf-poke.data", opts->session);
	if (!*where)
		return -ENOMEM;
	name = strrchr(*where, '/') + 1;
	err = logger_open_at(&detach->log, output_fd, name);
	return err ? say_why(why, err, "--detach: cannot append to the log '%s': %s", *where,
			     strerror(-err))
		   : 0;
}

static int close_standard_streams(struct console *con)
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

int detach_release_caller(struct detach *detach, struct console *con,
			  const struct perf_poke_opts *opts, int output_fd)
{
	_cleanup_free_ char *where = NULL;
	_cleanup_free_ char *why = NULL;
	int err;

	/* The journal, or a file among the captures if there is none. */
	if (!detach->where && !systemd_has_journal()) {
		err = open_log_among_captures(detach, opts, output_fd, &where, &why);
	} else {
		where = strdup(detach->where ?: "journal");
		err = where ? 0 : -ENOMEM;
		if (!err && !detach->log.kind)
			err = logger_open_path(&detach->log, where, &why);
	}
	if (err) {
		console_error(con, "%s", why ?: strerror(-err));
		return err;
	}
	if (con->json)
		json_print_line(con, json_detached_line(opts->session, getpid(), where));
	console_info(con,
		     "session %s, pid %d, log %s; see it with perf-poke-ctl status %s, end it "
		     "with perf-poke-ctl stop %s",
		     opts->session, getpid(), where, opts->session, opts->session);
	if (console_is_deaf(con))
		return -EPIPE;
	err = close_standard_streams(con);
	if (err)
		return detach_print_error(con, err);
	con->log = detach->log;
	con->detached = true;
	if (write(detach->caller, "", 1) != 1) {
		err = -errno;
		console_error(con, "--detach: the command exited before the session was armed");
		return err;
	}
	closep(&detach->caller);
	return 0;
}

#define KILL_MS 1000

static int spawn_set_attributes(posix_spawnattr_t *attr)
{
	static const int signals[] = { SIGHUP, SIGPIPE };
	sigset_t none, defaults;
	int err = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP |
							 POSIX_SPAWN_SETSIGDEF);

	sigemptyset(&none);
	sigemptyset(&defaults);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&defaults, signals[i]);
	err = err ?: posix_spawnattr_setsigmask(attr, &none);
	err = err ?: posix_spawnattr_setsigdefault(attr, &defaults);
	return err ?: posix_spawnattr_setpgroup(attr, 0);
}

static int spawn_set_stream(posix_spawn_file_actions_t *actions, int fd, int stream)
{
	return fd < 0 ? posix_spawn_file_actions_addopen(actions, stream, "/dev/null", O_RDWR, 0)
		      : posix_spawn_file_actions_adddup2(actions, fd, stream);
}

int spawn_process_group(const char *path, char *const argv[], char *const environment[], int in,
			int out, int err, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r) {
		posix_spawn_file_actions_destroy(&actions);
		return -r;
	}
	r = spawn_set_stream(&actions, in, STDIN_FILENO);
	r = r ?: spawn_set_stream(&actions, out, STDOUT_FILENO);
	r = r ?: spawn_set_stream(&actions, err, STDERR_FILENO);
	r = r ?: spawn_set_attributes(&attr);
	r = r ?: posix_spawn(pid, path, &actions, &attr, argv, environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

void spawn_kill_process(int pidfd)
{
	struct pollfd ended = { .fd = pidfd, .events = POLLIN };
	int status;

	pidfd_signal(pidfd, SIGKILL);
	while (poll(&ended, 1, KILL_MS) < 0 && errno == EINTR)
		;
	pidfd_wait_for_exit(pidfd, &status, WNOHANG);
}
