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
	return program->gate < 0 || write(program->gate, "", 1) == 1 ? 0 : -errno;
}

int program_start_error(struct program *program)
{
	struct pollfd ready = { .fd = program->gate, .events = POLLIN };
	int err;

	if (program->gate >= 0 && poll(&ready, 1, 0) > 0) {
		if (read(program->gate, &err, sizeof(err)) == sizeof(err))
			program->start_error = -err;
		closep(&program->gate);
	}
	return program->start_error;
}

bool program_has_ended(struct program *program)
{
	if (program->pidfd >= 0 && !program->ended)
		program->ended = pidfd_wait_for_exit(program->pidfd, &program->status, WNOHANG) > 0;
	return program->ended;
}

/* What does not even end by SIGKILL waits for a file system: the next signal gives it up. */
int program_finish(struct program *program, int signals, bool interrupted)
{
	struct pollfd fds[] = {
		{ .fd = program->pidfd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	int next = SIGTERM;

	if (program->pidfd < 0)
		return 0;
	while (!program_has_ended(program)) {
		if (interrupted && !next)
			return 128 + SIGKILL;
		if (interrupted) {
			pidfd_signal(program->pidfd, next);
			next = next == SIGTERM ? SIGKILL : 0;
		}
		interrupted = poll(fds, ARRAY_SIZE(fds), -1) > 0 && fds[1].revents;
		if (interrupted)
			signals_drain_fd(signals);
	}
	return WIFSIGNALED(program->status) ? 128 + WTERMSIG(program->status)
					    : WEXITSTATUS(program->status);
}

void program_release(struct program *program)
{
	if (program->pidfd >= 0 && !program->ended)
		spawn_kill_process(program->pidfd);
	closep(&program->gate);
	closep(&program->pidfd);
}
