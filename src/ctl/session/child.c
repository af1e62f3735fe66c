// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "clock.h"
#include "cpulist.h"
#include "task.h"
#include "units.h"

/* Polling interval. */
#define LOOK_NS (NSEC_PER_SEC / 100)
/* More than the resolution of the times in perf's file names. */
#define FILE_NAME_NS (NSEC_PER_SEC / 50)
/* A message says what takes longer than this. */
#define SILENT_NS (2 * NSEC_PER_SEC)

const struct child_process_config child_process_defaults = {
	.signal = SIGUSR2,
	.ready_ns = 10 * NSEC_PER_SEC,
	/* perf reads all of its data again for the build ids: a gigabyte takes a while. */
	.end_ns = 300 * NSEC_PER_SEC,
	.term_ns = 10 * NSEC_PER_SEC,
};

const struct child_process child_process_none = {
	.pidfd = -1, .control = -1, .ack = -1, .gate = -1
};

/* Moves a descriptor above the standard streams, which the child replaces. */
static int lift_descriptor(int *fd)
{
	int high;

	if (*fd > STDERR_FILENO)
		return 0;
	high = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (high < 0)
		return -errno;
	close(*fd);
	*fd = high;
	return 0;
}

static int make_lifted_pair(bool is_pipe, int *reader, int *writer)
{
	int fds[2], err;

	if (is_pipe ? pipe2(fds, O_CLOEXEC)
		    : socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	*reader = fds[0];
	*writer = fds[1];
	err = lift_descriptor(reader);
	return err ? err : lift_descriptor(writer);
}

/* Restores default signal handling; the signals of ending.h are blocked here. */
static void restore_child_signals(int poked_with)
{
	sigset_t set;

	signal(SIGPIPE, SIG_DFL);
	/* Shells start background jobs with SIGINT ignored, but the child must end on it. */
	signal(SIGINT, SIG_DFL);
	/* The child is in a background process group and must be able to write to the terminal. */
	signal(SIGTTOU, SIG_IGN);
	signals_fill_set(&set);
	sigaddset(&set, poked_with);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Standard output is for our results: the child's goes to standard error. As a background process,
 * it cannot read the terminal. */
static void place_child_streams(void)
{
	int null;

	dup2(STDERR_FILENO, STDOUT_FILENO);
	if (fcntl(STDIN_FILENO, F_GETFD) >= 0 && !isatty(STDIN_FILENO))
		return;
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0 && null != STDIN_FILENO)
		dup2(null, STDIN_FILENO);
	else if (null == STDIN_FILENO)
		fcntl(null, F_SETFD, 0);
}

/* Runs in the child until execvp(). Does not return. */
static void child_process_exec(const struct child_process *child, int gate, int control, int ack,
			       pid_t parent)
{
	const int pipes[] = { control, ack, child->control, child->ack };
	int err = 0;
	char go;

	/* perf terminates in order on SIGTERM. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	/* Ctrl-C goes to the session only, which stops the child after the last poke. */
	setpgid(0, 0);
	affinity_leave(child->config->watched, child->config->nr_watched);
	restore_child_signals(child->config->signal);
	close(child->gate);
	if (read(gate, &go, 1) != 1)
		_exit(EXIT_FAILURE);
	place_child_streams();
	/*
	 * If we are killed, perf should see nothing but the SIGTERM of PR_SET_PDEATHSIG: a hangup
	 * of --control makes it drop its data, and answering nobody kills it by SIGPIPE. So it
	 * inherits both ends of each pipe. The kernel does not send that SIGTERM to a program with
	 * file capabilities unless root runs it; without root, the hangup is needed to end perf.
	 */
	for (size_t i = 0; control >= 0 && i < (geteuid() ? 2 : ARRAY_SIZE(pipes)); i++)
		fcntl(pipes[i], F_SETFD, 0);
	execvp(child->argv[0], child->argv);
	err = errno;
	if (write(gate, &err, sizeof(err)) < 0)
		_exit(EXIT_FAILURE);
	_exit(127);
}

int child_process_prepare(struct child_process *child, const struct child_process_config *config,
			  struct console *con)
{
	_cleanup_close_ int control = -1, ack = -1, gate = -1;
	const struct sched_param param = { .sched_priority = config->priority };
	const struct perf_record *record = &config->record;
	pid_t parent = getpid();
	int err;

	*child = child_process_none;
	child->config = config;
	child->con = con;
	err = make_lifted_pair(false, &child->gate, &gate);
	if (!err && record->at)
		err = make_lifted_pair(true, &control, &child->control);
	if (!err && record->at)
		err = make_lifted_pair(true, &child->ack, &ack);
	if (!err)
		err = perf_record_argv(record, control, ack, config->wake, &child->argv);
	if (!err) {
		child->pid = fork();
		err = child->pid < 0 ? -errno : 0;
	}
	if (!err && !child->pid)
		child_process_exec(child, gate, control, ack, parent);
	if (!err) {
		/* The child is not reaped yet, so its PID cannot have been reused. */
		child->pidfd = pidfd_open_process(child->pid);
		if (child->pidfd < 0) {
			err = child->pidfd;
			/* Closing the gate makes the child exit. */
			closep(&child->gate);
			pid_wait_for_exit(child->pid, NULL);
		}
	}
	if (err) {
		console_error(con, "%s: %s", record->words[0], strerror(-err));
		child_process_release(child);
		return err;
	}
	/* Inherited by its threads and by the workload of perf record. */
	if (param.sched_priority && sched_setscheduler(child->pid, SCHED_FIFO, &param))
		console_warn(con, "no real-time priority for %s: %s", child->argv[0],
			     strerror(errno));
	return 0;
}

/* Waits until `fd` is readable (returns 0), `interrupt` is readable (-EINTR), the child has exited
 * (-ESRCH) or the time has come (-ETIMEDOUT). Descriptors may be -1. */
static int child_await_event(const struct child_process *child, int fd, int interrupt,
			     uint64_t until_ns)
{
	struct pollfd fds[] = {
		{ .fd = child->pidfd, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
		{ .fd = interrupt, .events = POLLIN },
	};

	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		uint64_t left = until_ns > now ? until_ns - now : 0;
		const struct timespec timeout = {
			.tv_sec = (time_t)(left / NSEC_PER_SEC),
			.tv_nsec = (long)(left % NSEC_PER_SEC),
		};
		int err =
			ppoll(fds, ARRAY_SIZE(fds), until_ns == UINT64_MAX ? NULL : &timeout, NULL);

		if (err < 0 && errno != EINTR)
			return -errno;
		if (!err)
			return -ETIMEDOUT;
		if (err > 0 && fds[2].revents)
			return -EINTR;
		if (err > 0 && fds[1].revents)
			return 0;
		if (err > 0 && fds[0].revents)
			return -ESRCH;
	}
}

/* perf sends a NUL after "ack\n". */
static int child_await_ack(struct child_process *child, int interrupt, uint64_t until_ns)
{
	const char wanted[] = "ack\n";
	size_t have = 0;

	while (wanted[have]) {
		int err = child_await_event(child, child->ack, interrupt, until_ns);
		char c;

		if (err)
			return err;
		/* perf closed the pipe: wait for its exit. */
		if (read(child->ack, &c, 1) != 1)
			return child_await_event(child, -1, interrupt, until_ns);
		if (c == wanted[have])
			have++;
		else if (c)
			have = c == wanted[0];
	}
	return 0;
}

static int child_send_command(const struct child_process *child, const char *word)
{
	ssize_t written;

	if (child->control < 0)
		return -ENOTCONN;
	written = write(child->control, word, strlen(word));
	return written < 0 ? -errno : 0;
}

/* Waits until a handler is installed; without one, the signal would kill the child. */
static int child_await_handler(struct child_process *child, int interrupt, uint64_t until_ns)
{
	const uint64_t bit = UINT64_C(1) << (child->config->signal - 1);
	char mask[32];

	while (task_read_status(child->pid, "SigCgt", mask, sizeof(mask)) ||
	       !(strtoull(mask, NULL, 16) & bit)) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);
		int err;

		if (now >= until_ns)
			return -ETIMEDOUT;
		err = child_await_event(child, -1, interrupt, now + LOOK_NS);
		if (err != -ETIMEDOUT)
			return err;
	}
	return 0;
}

/* Lets the child call execvp(). Returns its error. */
static int child_open_gate(struct child_process *child)
{
	_cleanup_close_ int gate = TAKE_FD(child->gate);
	ssize_t size;
	int err;

	if (write(gate, "", 1) != 1)
		return -errno;
	do
		size = read(gate, &err, sizeof(err));
	while (size < 0 && errno == EINTR);
	return size == sizeof(err) ? -err : 0;
}

/* Such as "exit status 3" or "signal 9 (Killed)". */
static const char *format_child_status(char *buf, size_t size, int status)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(buf, size, "exit status %d", WEXITSTATUS(status));
	return buf;
}
#define FORMAT_CHILD_STATUS(status) format_child_status((char[64]){ 0 }, 64, status)

static void child_reap_status(struct child_process *child, int options)
{
	if (!child->ended)
		child->ended = pidfd_wait_for_exit(child->pidfd, &child->status, options) > 0;
}

static int report_not_ready(struct child_process *child, int err)
{
	const char *name = child->argv[0];

	switch (err) {
	case -EINTR:
		return err;
	case -ESRCH:
		child_reap_status(child, 0);
		console_error(child->con, "%s exited before it was ready: %s%s", name,
			      FORMAT_CHILD_STATUS(child->status),
			      child->control < 0 ? "" : " (see its message above)");
		return err;
	case -ETIMEDOUT:
		console_error(
			child->con, "%s: %s within %s", name,
			child->control < 0 ? "installed no handler of the signal"
					   : "did not answer on --control",
			FORMAT_TIME(child->config->ready_ns + child->config->record.delay_ns));
		return err;
	default:
		console_error(child->con, "%s: %s", name, strerror(-err));
		return err;
	}
}

int child_process_start(struct child_process *child, int interrupt)
{
	const struct perf_record *record = &child->config->record;
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + child->config->ready_ns + record->delay_ns;
	int err;

	if (record->delay)
		console_info(child->con, "keeping --delay %s of perf record: %s", record->delay,
			     record->delay_ns ? "spikes during the delay are not traced"
					      : "its events are enabled when the session is armed");
	err = child_open_gate(child);
	if (err) {
		child_reap_status(child, 0);
		console_error(child->con, "'%s': %s", child->argv[0], strerror(-err));
		return err;
	}
	if (child->control < 0) {
		err = child_await_handler(child, interrupt, until_ns);
	} else {
		err = child_send_command(child, perf_record_first(record));
		/* perf may have exited: child_await_ack() detects that. */
		if (!err || err == -EPIPE)
			err = child_await_ack(child, interrupt, until_ns);
	}
	return err ? report_not_ready(child, err) : 0;
}

bool child_process_has_ended(struct child_process *child)
{
	if (child->pidfd < 0 || child->ended)
		return child->ended;
	child_reap_status(child, WNOHANG);
	if (!child->ended)
		return false;
	if (!child->stopped_by && child->status)
		console_error(child->con, "%s (%d) exited: %s", child->argv[0], child->pid,
			      FORMAT_CHILD_STATUS(child->status));
	else if (!child->stopped_by)
		console_info(child->con, "%s (%d) exited", child->argv[0], child->pid);
	return true;
}

/* Returns whether the child has exited. */
static bool child_await_exit(struct child_process *child, int signals, uint64_t wait_ns)
{
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t until_ns = start_ns + wait_ns;
	int err = -ETIMEDOUT;

	if (wait_ns > SILENT_NS) {
		err = child_await_event(child, -1, signals, start_ns + SILENT_NS);
		if (err == -ETIMEDOUT)
			console_info(child->con,
				     "waiting for %s (%d) to write its data; Ctrl-C to hurry",
				     child->argv[0], child->pid);
	}
	if (err == -ETIMEDOUT)
		err = child_await_event(child, -1, signals, until_ns);
	if (err == -ESRCH) {
		child_reap_status(child, 0);
		return true;
	}
	if (err == -EINTR)
		signals_drain_fd(signals);
	return false;
}

static void child_send_signal(struct child_process *child, int number)
{
	child->stopped_by = number;
	pidfd_signal(child->pidfd, number);
}

/* perf names the files of --switch-output by time with a resolution of 10 ms: the file of its exit
 * would replace that of a poke right before. perf checks for pokes before it reads a control
 * command, so its second answer comes after the file of the last poke. */
static void child_await_files(struct child_process *child, int signals)
{
	const struct timespec pause = { .tv_nsec = FILE_NAME_NS };

	for (int i = 0; i < 2; i++) {
		uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + child->config->ready_ns;

		if (child_send_command(child, "ping\n") ||
		    child_await_ack(child, signals, until_ns))
			return;
	}
	nanosleep(&pause, NULL);
}

static void child_terminate(struct child_process *child, int signals)
{
	const struct child_process_config *config = child->config;

	signals_drain_fd(signals);
	child_await_files(child, signals);
	child->stopped_by = SIGINT;
	if (child_send_command(child, "stop\n"))
		child_send_signal(child, SIGINT);
	if (child_await_exit(child, signals, config->end_ns))
		return;
	console_warn(child->con, "%s (%d) does not exit: sending SIGTERM", child->argv[0],
		     child->pid);
	child_send_signal(child, SIGTERM);
	if (child_await_exit(child, signals, config->term_ns))
		return;
	console_warn(child->con, "%s (%d) does not exit: sending SIGKILL; unwritten data is lost",
		     child->argv[0], child->pid);
	child_send_signal(child, SIGKILL);
	if (child_await_exit(child, -1, config->term_ns))
		return;
	console_warn(child->con, "%s (%d) does not die: it is left", child->argv[0], child->pid);
	child->status = SIGKILL;
}

int child_process_stop(struct child_process *child, int signals)
{
	if (!child_process_has_ended(child)) {
		child_terminate(child, signals);
		if (child->status &&
		    !(WIFSIGNALED(child->status) && WTERMSIG(child->status) == child->stopped_by))
			console_error(child->con, "%s (%d): %s", child->argv[0], child->pid,
				      FORMAT_CHILD_STATUS(child->status));
	}
	if (!WIFSIGNALED(child->status))
		return WEXITSTATUS(child->status);
	return child->stopped_by == SIGINT && WTERMSIG(child->status) == SIGINT
		       ? 0
		       : 128 + WTERMSIG(child->status);
}

void child_process_release(struct child_process *child)
{
	if (child->pidfd >= 0 && !child->ended) {
		spawn_kill_process(child->pidfd);
	}
	closep(&child->gate);
	closep(&child->control);
	closep(&child->ack);
	closep(&child->pidfd);
	argv_free_words(&child->argv);
	child->pid = 0;
}

/* Above normal tasks, as in processes.c. perf copies gigabytes at this priority and must not delay
 * threaded interrupts (50). perf record --realtime sets another. */
#define PRIORITY 10

const struct session_targets session_targets_none = {
	.child = { .pidfd = -1, .control = -1, .ack = -1, .gate = -1 },
};

int session_targets_prepare(struct session_targets *targets, const struct target_args *args,
			    struct console *con, struct perf_poke_opts *opts)
{
	struct child_process_config *config = &targets->config;
	size_t nr = opts->nr_targets;
	int err;

	*targets = session_targets_none;
	targets->args = args;
	targets->con = con;
	for (size_t i = 0; i < nr; i++)
		targets->array[i] = opts->targets[i];
	if (args->command) {
		*config = child_process_defaults;
		config->record = args->record;
		config->signal = opts->signal ?: SIGUSR2;
		config->priority = PRIORITY;
		err = cpulist_parse_words(opts->cpus, &targets->watched, &config->nr_watched);
		config->watched = targets->watched;
		if (!err && opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT) {
			config->wake = targets->wake;
			err = perf_record_make_wake(targets->wake);
		}
		if (!err && args->record.output)
			err = perf_files_find(&targets->before, args->record.output);
		if (err) {
			console_error(con, "%s: %s", args->command[0], strerror(-err));
			return err;
		}
		err = child_process_prepare(&targets->child, config, con);
		if (err)
			return err;
		targets->array[nr++] = (struct perf_poke_target){
			.pid = targets->child.pid,
			.wake = config->wake,
		};
	}
	opts->targets = nr ? targets->array : NULL;
	opts->nr_targets = nr;
	opts->target_sz = sizeof(*targets->array);
	return 0;
}

int session_targets_finish(struct session_targets *targets, int signals, struct result_perf *result)
{
	const char *output = targets->args->record.output;
	int err;

	if (targets->child.pidfd < 0)
		return 0;
	result->status = child_process_stop(&targets->child, signals);
	result->pid = targets->child.pid;
	result->command = targets->child.argv;
	err = output ? perf_files_find(&result->data, output) : 0;
	if (err)
		console_error(targets->con, "'%s': %s", output, strerror(-err));
	perf_files_subtract(&result->data, &targets->before);
	return err ? err : result->status ? -ECHILD : 0;
}

void session_targets_release(struct session_targets *targets)
{
	/* If the session failed, let perf write what it has recorded. */
	if (targets->started && !targets->child.ended)
		child_process_stop(&targets->child, -1);
	child_process_release(&targets->child);
	perf_files_release(&targets->before);
	free(targets->watched);
}
