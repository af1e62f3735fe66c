// SPDX-License-Identifier: GPL-2.0-only
/* The program of the command `run`. It is created before the session changes its affinity, waits
 * until the session is armed, and shares its terminal, so that Ctrl-C goes to both. */
#include "session/session_internal.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "task.h"

/* Does not return. */
static void program_exec(char **argv, int gate)
{
	sigset_t none;
	char go;
	int err;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(gate, &go, 1) != 1)
		_exit(EXIT_FAILURE);
	execvp(argv[0], argv);
	err = errno;
	if (write(gate, &err, sizeof(err)) < 0)
		_exit(EXIT_FAILURE);
	_exit(127);
}

int program_create(struct program *program, char **argv)
{
	int gates[2];

	*program = (struct program){ .argv = argv, .pidfd = -1, .gate = -1 };
	if (!argv)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gates))
		return -errno;
	program->pid = fork();
	if (!program->pid) {
		close(gates[0]);
		program_exec(argv, gates[1]);
	}
	close(gates[1]);
	program->gate = gates[0];
	if (program->pid < 0)
		return -errno;
	program->pidfd = pidfd_open_process(program->pid);
	return program->pidfd < 0 ? program->pidfd : 0;
}

int program_start(struct program *program)
{
	_cleanup_close_ int gate = TAKE_FD(program->gate);
	ssize_t size;
	int err;

	if (gate < 0)
		return 0;
	if (write(gate, "", 1) != 1)
		return -errno;
	do
		size = read(gate, &err, sizeof(err));
	while (size < 0 && errno == EINTR);
	return size == sizeof(err) ? -err : 0;
}

bool program_has_ended(struct program *program)
{
	if (program->pidfd >= 0 && !program->ended)
		program->ended = pidfd_wait_for_exit(program->pidfd, &program->status, WNOHANG) > 0;
	return program->ended;
}

int program_finish(struct program *program, int signals, bool interrupted)
{
	struct pollfd fds[] = {
		{ .fd = program->pidfd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	if (program->pidfd < 0)
		return 0;
	if (interrupted && !program_has_ended(program))
		pidfd_signal(program->pidfd, SIGTERM);
	while (!program_has_ended(program)) {
		if (poll(fds, ARRAY_SIZE(fds), -1) > 0 && fds[1].revents) {
			signals_drain_fd(signals);
			pidfd_signal(program->pidfd, interrupted ? SIGKILL : SIGTERM);
			interrupted = true;
		}
	}
	return WIFSIGNALED(program->status) ? 128 + WTERMSIG(program->status)
					    : WEXITSTATUS(program->status);
}

void program_release(struct program *program)
{
	/* One that has not started exits. */
	closep(&program->gate);
	if (program->pid > 0 && !program->ended)
		pid_wait_for_exit(program->pid, NULL);
	closep(&program->pidfd);
}
