// SPDX-License-Identifier: GPL-2.0-only
/* A program whose requests are late for a known reason. request() of the thread `request` on CPU is
 * what a span measures. The thread `partner` on OTHER holds, sends or computes what it waits for,
 * for MS milliseconds. usage: late_request MODE CPU OTHER MS EVERY_MS [FOLDER] */
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "late_request.h"

#define FILE_SIZE (64UL << 20)
#define DIRTY_SIZE_MAX (1UL << 30)
#define KERNEL_SIZE (512UL << 20)
#define PIPE_SIZE 65536

void request(void);

static const struct mode *mode;
static int cpu;
static long every_us, work_rounds;
int partner_cpu;
long late_us;
static const char *folder = "/tmp";
static atomic_int turn;
atomic_int held;
static pthread_t requester;

static int pair[2], waiter = -1, file = -1;
static void *memory;
static size_t dirty_size;
static char buffer[PIPE_SIZE];

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

__attribute__((noinline)) void compute(long us)
{
	long until = now_us() + us;

	while (now_us() < until)
		;
	__asm__ volatile("" : : : "memory");
}

void pin(int number)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(number, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %d", number);
}

void check(long result, const char *what)
{
	if (result < 0)
		err(1, "%s", what);
}

/* -- Files that are waited for --------------------------------------------------------------------
 */

static void prepare_pipe(void)
{
	check(pipe(pair), "pipe");
}

static void prepare_full_pipe(void)
{
	prepare_pipe();
	check(fcntl(pair[1], F_SETPIPE_SZ, PIPE_SIZE), "F_SETPIPE_SZ");
	check(write(pair[1], buffer, PIPE_SIZE), "write");
}

static void prepare_socket(void)
{
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
}

static void prepare_tcp(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(name);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	check(listener, "socket");
	check(bind(listener, (struct sockaddr *)&name, length), "bind");
	check(listen(listener, 1), "listen");
	check(getsockname(listener, (struct sockaddr *)&name, &length), "getsockname");
	pair[1] = socket(AF_INET, SOCK_STREAM, 0);
	check(connect(pair[1], (struct sockaddr *)&name, length), "connect");
	check(pair[0] = accept(listener, NULL, NULL), "accept");
}

static void pair_end(void)
{
	check(write(pair[1], "x", 1), "write");
}

static void pair_request(void)
{
	char byte;

	check(read(pair[0], &byte, 1), "read");
}

static void full_pipe_end(void)
{
	check(read(pair[0], buffer, PIPE_SIZE), "read");
}

static void full_pipe_request(void)
{
	check(write(pair[1], buffer, PIPE_SIZE), "write");
}

static void prepare_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	check(pair[0] = pair[1] = eventfd(0, 0), "eventfd");
	check(waiter = epoll_create1(0), "epoll_create1");
	check(epoll_ctl(waiter, EPOLL_CTL_ADD, pair[0], &event), "epoll_ctl");
}

static void eventfd_end(void)
{
	uint64_t one = 1;

	check(write(pair[1], &one, sizeof(one)), "write");
}

static void eventfd_clear(void)
{
	uint64_t count;

	check(read(pair[0], &count, sizeof(count)), "read");
}

static void epoll_request(void)
{
	struct epoll_event event;

	check(epoll_wait(waiter, &event, 1, -1), "epoll_wait");
}

static void poll_request(void)
{
	struct pollfd fd = { .fd = pair[0], .events = POLLIN };

	check(poll(&fd, 1, -1), "poll");
}

static void poll_timeout_request(void)
{
	poll(NULL, 0, (int)(late_us / 1000));
}

static void sleep_request(void)
{
	usleep((useconds_t)late_us);
}

static void prepare_timerfd(void)
{
	check(file = timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
}

static void timerfd_request(void)
{
	struct itimerspec time = { .it_value = { late_us / 1000000, late_us % 1000000 * 1000 } };
	uint64_t count;

	check(timerfd_settime(file, 0, &time, NULL), "timerfd_settime");
	check(read(file, &count, sizeof(count)), "read");
}

static void open_file(int flags)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/late_request-%d", folder, getpid());
	check(file = open(path, O_RDWR | O_CREAT, 0600), "open");
	memory = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	for (size_t at = 0; at < FILE_SIZE; at += 4096)
		memcpy((char *)memory + at, &at, sizeof(at));
	check(pwrite(file, memory, FILE_SIZE, 0), "pwrite");
	fsync(file);
	if (flags) {
		close(file);
		check(file = open(path, O_RDWR | flags, 0600), "open");
	}
	unlink(path);
}

/* So much that a disk of gigabytes a second is late with it too. */
static void fsync_dirty(void)
{
	for (size_t at = 0; at < dirty_size; at += FILE_SIZE)
		check(pwrite(file, memory, FILE_SIZE, (off_t)at), "pwrite");
}

static void prepare_fsync(void)
{
	open_file(0);
	for (dirty_size = FILE_SIZE; dirty_size < DIRTY_SIZE_MAX; dirty_size *= 2) {
		long begin;

		fsync_dirty();
		begin = now_us();
		fsync(file);
		if (now_us() - begin > 2 * late_us)
			break;
	}
	fsync_dirty();
}

static void prepare_direct(void)
{
	open_file(O_DIRECT);
}

static void fsync_request(void)
{
	check(fsync(file), "fsync");
}

static void direct_request(void)
{
	long until = now_us() + late_us;

	do
		check(pread(file, memory, FILE_SIZE, 0), "pread");
	while (now_us() < until);
}

static void prepare_fault(void)
{
	open_file(0);
	munmap(memory, FILE_SIZE);
	memory = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, file, 0);
}

static void fault_drop(void)
{
	madvise(memory, FILE_SIZE, MADV_DONTNEED);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

static void fault_request(void)
{
	long until = now_us() + late_us;
	unsigned int page = 12345;

	while (now_us() < until) {
		page = page * 1103515245 + 12345;
		(void)*((volatile char *)memory + (size_t)(page % (FILE_SIZE / 4096)) * 4096);
	}
}

static void prepare_flock(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/late_request-%d", folder, getpid());
	check(pair[0] = open(path, O_RDWR | O_CREAT, 0600), "open");
	check(pair[1] = open(path, O_RDWR, 0600), "open");
	unlink(path);
}

static void flock_hold(void)
{
	flock(pair[1], LOCK_EX);
}

static void flock_end(void)
{
	flock(pair[1], LOCK_UN);
}

static void flock_request(void)
{
	flock(pair[0], LOCK_EX);
	flock(pair[0], LOCK_UN);
}

/* -- Children, signals ----------------------------------------------------------------------------
 */

static void child_request(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "child");
		pin(partner_cpu);
		compute(late_us);
		_exit(0);
	}
	check(waitpid(pid, NULL, 0), "waitpid");
}

static void vfork_request(void)
{
	pid_t pid = vfork();

	if (!pid) {
		prctl(PR_SET_NAME, "child");
		pin(partner_cpu);
		compute(late_us);
		_exit(0);
	}
	check(waitpid(pid, NULL, 0), "waitpid");
}

static void *joined_thread(void *arg)
{
	prctl(PR_SET_NAME, "joined");
	pin(partner_cpu);
	compute(late_us);
	return arg;
}

static void join_request(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, joined_thread, NULL);
	pthread_join(thread, NULL);
}

static void prepare_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void signal_end(void)
{
	pthread_kill(requester, SIGUSR1);
}

static void signal_request(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &number);
}

/* -- Code of its own ------------------------------------------------------------------------------
 */

__attribute__((noinline)) void compute_work(long rounds);
__attribute__((noinline)) void compute_work(long rounds)
{
	for (volatile long i = 0; i < rounds; i++)
		;
}

/* Work, not time: it takes longer while others have the CPU. */
static void prepare_work(void)
{
	const long rounds = 10 * 1000 * 1000;
	struct timespec begin, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	compute_work(rounds);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	work_rounds =
		rounds /
		((end.tv_sec - begin.tv_sec) * 1000000L + (end.tv_nsec - begin.tv_nsec) / 1000) *
		late_us;
}

static void compute_request(void)
{
	compute_work(work_rounds);
}

static void random_request(void)
{
	long until = now_us() + late_us;

	/* Parts, because the kernel looks for signals only between pages. */
	while (now_us() < until)
		check(getrandom(memory, KERNEL_SIZE / 128, 0), "getrandom");
}

static void prepare_memory(void)
{
	memory = mmap(NULL, KERNEL_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap");
}

static void prepare_pages(void)
{
	memory =
		mmap(NULL, KERNEL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		err(1, "mmap");
	madvise(memory, KERNEL_SIZE, MADV_NOHUGEPAGE);
}

static void prepare_huge_pages(void)
{
	prepare_pages();
	madvise(memory, KERNEL_SIZE, MADV_HUGEPAGE);
}

static void pages_request(void)
{
	for (size_t at = 0; at < KERNEL_SIZE / 8; at += 4096)
		((volatile char *)memory)[at] = 1;
}

static void pages_drop(void)
{
	madvise(memory, KERNEL_SIZE, MADV_DONTNEED);
}

static void all_pages(void)
{
	for (size_t at = 0; at < KERNEL_SIZE; at += 4096)
		((volatile char *)memory)[at] = 1;
}

static void prepare_unmap(void)
{
	prepare_pages();
	all_pages();
}

/* Waiting for the child is none of the request. */
static void fork_request(void)
{
	if (!fork())
		_exit(0);
}

static void fork_wait(void)
{
	waitpid(-1, NULL, 0);
}

static void prepare_kmsg(void)
{
	check(file = open("/dev/kmsg", O_WRONLY), "/dev/kmsg");
}

static void kmsg_request(void)
{
	static const char text[] = "<1>late_request writes to the console, as a driver does that "
				   "has much to say ------------------------------\n";
	long until = now_us() + late_us;

	while (now_us() < until)
		check(write(file, text, sizeof(text) - 1), "write");
}

static void prepare_compact(void)
{
	check(file = open("/proc/sys/vm/compact_memory", O_WRONLY), "compact_memory");
}

static void compact_request(void)
{
	check(pwrite(file, "1", 1, 0), "compact_memory");
}

/* -- The main loop --------------------------------------------------------------------------------
 */

static const struct mode modes[] = {
	{ "pipe", prepare_pipe, NULL, pair_end, pair_request, NULL },
	{ "full-pipe", prepare_full_pipe, NULL, full_pipe_end, full_pipe_request, NULL },
	{ "socket", prepare_socket, NULL, pair_end, pair_request, NULL },
	{ "tcp", prepare_tcp, NULL, pair_end, pair_request, NULL },
	{ "epoll", prepare_epoll, NULL, eventfd_end, epoll_request, eventfd_clear },
	{ "poll", prepare_epoll, NULL, eventfd_end, poll_request, eventfd_clear },
	{ "eventfd", prepare_epoll, NULL, eventfd_end, eventfd_clear, NULL },
	{ "poll-timeout", NULL, NULL, NULL, poll_timeout_request, NULL },
	{ "sleep", NULL, NULL, NULL, sleep_request, NULL },
	{ "timerfd", prepare_timerfd, NULL, NULL, timerfd_request, NULL },
	{ "fsync", prepare_fsync, NULL, NULL, fsync_request, fsync_dirty },
	{ "direct", prepare_direct, NULL, NULL, direct_request, NULL },
	{ "fault", prepare_fault, NULL, NULL, fault_request, fault_drop },
	{ "flock", prepare_flock, flock_hold, flock_end, flock_request, NULL },
	{ "child", NULL, NULL, NULL, child_request, NULL },
	{ "vfork", NULL, NULL, NULL, vfork_request, NULL },
	{ "join", NULL, NULL, NULL, join_request, NULL },
	{ "signal", prepare_signal, NULL, signal_end, signal_request, NULL },
	{ "compute", prepare_work, NULL, NULL, compute_request, NULL },
	{ "random", prepare_memory, NULL, NULL, random_request, NULL },
	{ "pages", prepare_pages, NULL, NULL, pages_request, pages_drop },
	{ "huge-pages", prepare_huge_pages, NULL, NULL, all_pages, pages_drop },
	{ "unmap", prepare_unmap, NULL, NULL, pages_drop, all_pages },
	{ "fork", prepare_unmap, NULL, NULL, fork_request, fork_wait },
	{ "kmsg", prepare_kmsg, NULL, NULL, kmsg_request, NULL },
	{ "compact", prepare_compact, NULL, NULL, compact_request, NULL },
	{ .name = NULL },
};

static const struct mode *find_mode(const struct mode *row, const char *name)
{
	while (row->name && strcmp(row->name, name))
		row++;
	return row->name ? row : NULL;
}

static void *partner_thread(void *arg)
{
	prctl(PR_SET_NAME, "partner");
	pin(partner_cpu);
	for (;;) {
		while (!atomic_exchange(&turn, 0))
			usleep(200);
		if (mode->hold)
			mode->hold();
		atomic_store(&held, 1);
		compute(late_us);
		mode->end();
	}
	return arg;
}

__attribute__((noinline)) void request(void)
{
	mode->request();
	__asm__ volatile("" : : : "memory");
}

static void serve(void)
{
	pthread_t thread;

	if (mode->end && pthread_create(&thread, NULL, partner_thread, NULL))
		errx(1, "pthread_create");
	for (;;) {
		usleep((useconds_t)every_us);
		if (mode->end) {
			atomic_store(&held, 0);
			atomic_store(&turn, 1);
			while (!atomic_load(&held))
				usleep(100);
		}
		request();
		if (mode->restore)
			mode->restore();
	}
}

int main(int argc, char **argv)
{
	if (argc < 6)
		errx(1, "usage: late_request MODE CPU OTHER MS EVERY_MS [FOLDER]");
	mode = find_mode(modes, argv[1]);
	if (!mode)
		mode = find_mode(lock_modes, argv[1]);
	if (!mode)
		errx(1, "no mode '%s'", argv[1]);
	cpu = atoi(argv[2]);
	partner_cpu = atoi(argv[3]);
	late_us = atol(argv[4]) * 1000;
	every_us = atol(argv[5]) * 1000;
	if (argc > 6)
		folder = argv[6];
	requester = pthread_self();
	prctl(PR_SET_NAME, "request");
	pin(cpu);
	if (mode->prepare)
		mode->prepare();
	serve();
	return 0;
}
