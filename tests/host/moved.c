// SPDX-License-Identifier: GPL-2.0-only
/* A thread is preempted, moved to another CPU where it runs, and moved back: `request` takes as
 * much CPU time each time.
 * usage: moved CPU OTHER_CPU TIMES */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MSEC 1000000
#define REQUEST_MS 45 /* of CPU time: moved.py has it, too */

static atomic_int begun;
static pid_t requester;
static int cpu, other_cpu;

void request(void);

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000 * MSEC + (uint64_t)time.tv_nsec;
}

static void run_for(clockid_t clock, uint64_t time_ns)
{
	uint64_t end = clock_ns(clock) + time_ns;

	while (clock_ns(clock) < end)
		;
}

static void pin(pid_t tid, int to)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(to, &cpus);
	if (sched_setaffinity(tid, sizeof(cpus), &cpus))
		perror("sched_setaffinity");
}

static void become_real_time(int priority, int on)
{
	const struct sched_param param = { .sched_priority = priority };

	pin(0, on);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		perror("sched_setscheduler");
}

static void wait_for_request(int *seen)
{
	while (begun == *seen)
		usleep(500);
	*seen = begun;
}

/* Runs instead of the requester, and goes on when that is on the other CPU. */
static void *rival(void *arg)
{
	int seen = 0;

	become_real_time(50, cpu);
	for (;;) {
		wait_for_request(&seen);
		usleep(3000);
		run_for(CLOCK_MONOTONIC, 60 * MSEC);
	}
	return arg;
}

static void *mover(void *arg)
{
	int seen = 0;

	become_real_time(60, other_cpu);
	for (;;) {
		wait_for_request(&seen);
		usleep(10000);
		pin(requester, other_cpu);
		usleep(35000);
		pin(requester, cpu);
	}
	return arg;
}

__attribute__((noinline)) void request(void)
{
	run_for(CLOCK_THREAD_CPUTIME_ID, REQUEST_MS * MSEC);
	__asm__ volatile("" : : : "memory");
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 4)
		return 2;
	cpu = atoi(argv[1]);
	other_cpu = atoi(argv[2]);
	requester = (pid_t)syscall(SYS_gettid);
	if (pthread_create(&thread, NULL, rival, NULL) ||
	    pthread_create(&thread, NULL, mover, NULL))
		return 1;
	for (int i = atoi(argv[3]); i > 0; i--) {
		pin(0, cpu);
		usleep(300000);
		begun++;
		request();
	}
	return 0;
}
