// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "clock.h"
#include "helpers.h"

/* Answers like perf, with a NUL at the end; words in $FAKE change its behaviour. */
static const char fake_perf[] =
	"#!/usr/bin/env python3\n"
	"import os, signal, sys, time\n"
	"fake = os.environ['FAKE']\n"
	"stdin = os.path.realpath('/proc/self/fd/0')\n"
	"args = sys.argv[1:]\n"
	"pokes = 0\n"
	"def poked(*_):\n"
	"    global pokes\n"
	"    pokes += 1\n"
	"signal.signal(signal.SIGUSR2, poked)\n"
	"if 'dies' in fake: sys.exit(3)\n"
	"if 'deaf' in fake: signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
	"status = open('/proc/self/status').read().splitlines()\n"
	"mask = next(line.split()[1] for line in status if line.startswith('SigBlk'))\n"
	"pipe = next(line.split()[1] for line in status if line.startswith('SigIgn'))\n"
	"control, ack = map(int, args[args.index('--control') + 1][3:].split(','))\n"
	"def pipe_of(fd): return os.readlink('/proc/self/fd/%d' % fd)\n"
	"def is_held(fd): return sum(pipe_of(fd) == name for name in names) == 2\n"
	"with open('log', 'w') as log:\n"
	"    names = []\n"
	"    for fd in sorted(map(int, os.listdir('/proc/self/fd'))):\n"
	"        try: name = os.readlink('/proc/self/fd/%d' % fd)\n"
	"        except OSError: continue\n"
	"        names.append(name)\n"
	"        if fd > 2 and name not in (pipe_of(control), pipe_of(ack), "
	"pipe_of(log.fileno())):\n"
	"            print('leaked', fd, name, file=log)\n"
	"    print('held', is_held(control), is_held(ack), file=log)\n"
	"    print('policy', os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, "
	"file=log)\n"
	"    print('cpus', *sorted(os.sched_getaffinity(0)), file=log)\n"
	"    print('blocked', int(mask, 16), 'pipe', int(pipe, 16) >> 12 & 1, file=log)\n"
	"    print('group', os.getpgid(0) == os.getpid(), 'stdin', stdin, file=log)\n"
	"    print('streams', os.readlink('/proc/self/fd/1') == os.readlink('/proc/self/fd/2'), "
	"file=log)\n"
	"words = b''\n"
	"while 'mute' not in fake:\n"
	"    byte = os.read(control, 1)\n"
	"    if not byte: break\n"
	"    words += byte\n"
	"    if byte == b'\\n' and 'silent' not in fake: os.write(ack, b'ack\\n\\0')\n"
	"    if words == b'enable\\n' and 'early' in fake: sys.exit(int(fake[-1]))\n"
	"    if words.endswith(b'stop\\n') and 'deaf' not in fake and 'slow' not in fake: break\n"
	"while 'mute' in fake: time.sleep(1)\n"
	"print('words', words, 'pokes', pokes, file=open('log', 'a'))\n"
	"sys.exit(5 if 'fails' in fake else 0)\n";

struct fixture {
	struct child_process child;
	struct child_process_config config;
	struct console con;
	char *err;
	size_t size;
};

static int set_up(void **state)
{
	if (enter_folder(state))
		return -1;
	put_file(folder->fd, "perf", fake_perf);
	signal(SIGPIPE, SIG_IGN);
	return fchmodat(folder->fd, "perf", 0755, 0);
}

static char *words[] = { (char[]){ "./perf" }, (char[]){ "record" }, (char[]){ "-S" }, NULL };

static void configure(struct fixture *f, char **command, const char *fake)
{
	_cleanup_free_ char *why = NULL;

	*f = (struct fixture){ .config = child_process_defaults };
	f->con.out = f->con.err = open_memstream(&f->err, &f->size);
	assert_non_null(f->con.err);
	assert_int_equal(perf_record_read(&f->config.record, command, true, &why), 0);
	setenv("FAKE", fake, 1);
	unlink("log");
	f->config.ready_ns = 60 * NSEC_PER_SEC;
	f->config.term_ns = NSEC_PER_SEC / 5;
}

static void begin(struct fixture *f, char **command, const char *fake)
{
	configure(f, command, fake);
	assert_int_equal(child_process_prepare(&f->child, &f->config, &f->con), 0);
}

static void end(struct fixture *f)
{
	child_process_release(&f->child);
	fclose(f->con.err);
	free(f->err);
}

static const char *said(struct fixture *f)
{
	fflush(f->con.err);
	return f->err;
}

TEST(lives)
{
	struct fixture f;
	const char *log;
	sigset_t set;

	SKIP_IN_USER_MODE("its own descriptors are inherited");
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	begin(&f, words, "");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	/* It waits for child_process_start(). */
	assert_int_equal(access("log", F_OK), -1);
	assert_int_equal(child_process_start(&f.child, -1), 0);
	assert_false(child_process_has_ended(&f.child));
	kill(f.child.pid, SIGUSR2);
	assert_int_equal(child_process_stop(&f.child, -1), 0);
	assert_string_equal(said(&f), "");
	log = load_text("log");
	assert_null(strstr(log, "leaked"));
	/* As root it holds both ends of the pipes: see child.c. */
	if (geteuid())
		assert_non_null(strstr(log, "held False False\n"));
	else
		assert_non_null(strstr(log, "held True True\n"));
	assert_non_null(strstr(log, "policy 0 0\n"));
	assert_non_null(strstr(log, "\nblocked 0 "));
	assert_non_null(strstr(log, "\ngroup True "));
	assert_non_null(strstr(log, "\nstreams True\n"));
	assert_non_null(strstr(log, "\nwords b'enable\\nping\\nping\\nstop\\n' pokes 1\n"));
	end(&f);
}

TEST(has_standard_input_if_we_have_none)
{
	struct fixture f;
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	close(STDIN_FILENO);
	begin(&f, words, "");
	assert_int_equal(child_process_start(&f.child, -1), 0);
	assert_int_equal(child_process_stop(&f.child, -1), 0);
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	close(input);
	assert_non_null(strstr(load_text("log"), " stdin /dev/null\n"));
	end(&f);
}

TEST(says_why_it_cannot_be_prepared)
{
	struct rlimit limit, none;
	struct fixture f;

	configure(&f, words, "");
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(child_process_prepare(&f.child, &f.config, &f.con), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_string_equal(said(&f), "perf-poke-ctl: ./perf: Too many open files\n");
	end(&f);
}

TEST(places)
{
	struct fixture f;
	const char *log;
	int watched = -1, others = 0, policy;
	cpu_set_t set;
	char line[32];

	sched_getaffinity(0, sizeof(set), &set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set)) {
			others += watched >= 0;
			watched = cpu;
		}
	}
	configure(&f, words, "");
	f.config.priority = 3;
	f.config.watched = &watched;
	f.config.nr_watched = 1;
	assert_int_equal(child_process_prepare(&f.child, &f.config, &f.con), 0);
	policy = sched_getscheduler(f.child.pid);
	assert_int_equal(child_process_start(&f.child, -1), 0);
	assert_int_equal(child_process_stop(&f.child, -1), 0);
	log = load_text("log");
	if (policy == SCHED_FIFO)
		assert_non_null(strstr(log, "policy 1 3\n"));
	else
		assert_non_null(strstr(said(&f), "no real-time priority for ./perf"));
	snprintf(line, sizeof(line), " %d\nblocked", watched);
	if (others)
		assert_null(strstr(log, line));
	end(&f);
}

/* It has a tenth of a second to answer. */
static void cannot_start(char **command, const char *fake, int error, const char *message)
{
	struct fixture f;

	begin(&f, command, fake);
	f.config.ready_ns = NSEC_PER_SEC / 10;
	assert_int_equal(child_process_start(&f.child, -1), error);
	assert_memory_equal(said(&f), "perf-poke-ctl: ", 15);
	assert_string_equal(said(&f) + 15, message);
	end(&f);
}

TEST(tells_who_cannot_start)
{
	static char none[] = "./nosuch", shell[] = "sh", c[] = "-c", sleeps[] = "exec sleep 1000";

	cannot_start((char *[]){ none, NULL }, "", -ENOENT,
		     "'./nosuch': No such file or directory\n");
	cannot_start(words, "silent", -ETIMEDOUT,
		     "./perf: did not answer on --control within 100ms\n");
	SKIP_IN_USER_MODE("/proc tells its handlers, not the program's");
	cannot_start((char *[]){ shell, c, sleeps, NULL }, "", -ETIMEDOUT,
		     "sh: installed no handler of the signal within 100ms\n");
}

TEST(tells_who_dies_at_once)
{
	struct fixture f;

	begin(&f, words, "dies");
	assert_int_equal(child_process_start(&f.child, -1), -ESRCH);
	assert_string_equal(said(&f), "perf-poke-ctl: ./perf exited before it was ready: exit "
				      "status 3 (see its message above)\n");
	end(&f);
}

TEST(is_interrupted)
{
	struct fixture f;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], "", 1), 1);
	begin(&f, words, "silent");
	assert_int_equal(child_process_start(&f.child, fds[0]), -EINTR);
	assert_string_equal(said(&f), "");
	end(&f);
	close(fds[0]);
	close(fds[1]);
}

/* Waits until the child's end has been handled. */
static void await_end(struct child_process *child)
{
	while (!child_process_has_ended(child))
		usleep(1000);
}

TEST(tells_who_ends_early)
{
	static const char *const rows[][2] = { { "early 4", ") exited: exit status 4\n" },
					       { "early 0", ") exited\n" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f;

		begin(&f, words, rows[i][0]);
		assert_int_equal(child_process_start(&f.child, -1), 0);
		await_end(&f.child);
		assert_non_null(strstr(said(&f), rows[i][1]));
		assert_int_equal(child_process_stop(&f.child, -1), i ? 0 : 4);
		end(&f);
	}
}

TEST(tells_who_fails_at_the_end)
{
	struct fixture f;

	begin(&f, words, "fails");
	assert_int_equal(child_process_start(&f.child, -1), 0);
	assert_int_equal(child_process_stop(&f.child, -1), 5);
	assert_non_null(strstr(said(&f), "): exit status 5\n"));
	end(&f);
}

TEST(insists)
{
	static const struct {
		const char *fake;
		int signal;
	} rows[] = { { "slow", SIGTERM }, { "deaf", SIGKILL } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f;

		begin(&f, words, rows[i].fake);
		f.config.end_ns = NSEC_PER_SEC / 10;
		f.config.term_ns = i ? NSEC_PER_SEC / 5 : 60 * NSEC_PER_SEC;
		assert_int_equal(child_process_start(&f.child, -1), 0);
		assert_int_equal(child_process_stop(&f.child, -1), 128 + rows[i].signal);
		assert_non_null(strstr(said(&f), ") does not exit: sending SIGTERM\n"));
		assert_int_equal(!!strstr(said(&f), ") does not exit: sending SIGKILL"), i);
		end(&f);
	}
}

/* The first of two signals ended the session; the second one hurries. */
TEST(is_hurried)
{
	struct fixture f;
	sigset_t set;
	int signals;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	begin(&f, words, "deaf");
	assert_int_equal(child_process_start(&f.child, -1), 0);
	kill(getpid(), SIGHUP);
	if (!fork()) {
		usleep(300000);
		kill(getppid(), SIGHUP);
		_exit(0);
	}
	assert_int_equal(child_process_stop(&f.child, signals), 128 + SIGKILL);
	end(&f);
	close(signals);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Another program than perf: ready once it catches the signal, ended by SIGINT. */
TEST(runs_others)
{
	static char shell[] = "sh", c[] = "-c";
	static char script[] = "sleep 0.2; trap 'echo poked > log' USR2; trap - INT; "
			       "while :; do sleep 0.05; done";
	struct fixture f;

	SKIP_IN_USER_MODE("/proc tells its handlers, not the program's");
	begin(&f, (char *[]){ shell, c, script, NULL }, "");
	assert_int_equal(child_process_start(&f.child, -1), 0);
	kill(f.child.pid, SIGUSR2);
	while (access("log", F_OK))
		usleep(1000);
	assert_int_equal(child_process_stop(&f.child, -1), 0);
	assert_string_equal(said(&f), "");
	end(&f);
}

int main(void)
{
	return run_all(set_up, leave_folder);
}
