// SPDX-License-Identifier: GPL-2.0-only
/* Keeps a CPU from all threads of less priority, in user space: `user_loop CPU`. For each line of
 * input, which is a number of microseconds, it does so, and prints when it was over, on
 * CLOCK_MONOTONIC. */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PRIORITY 98
#define BETWEEN_CLOCKS 10000
#define PAUSE_NS 50000000

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* External, so that the compiler leaves it a function. Mostly by itself, not in the clock. */
uint64_t user_loop_spin(uint64_t ns);

__attribute__((noinline)) uint64_t user_loop_spin(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		for (int i = 0; i < BETWEEN_CLOCKS; i++)
			__asm__ volatile("");
	/* Where it gives up the CPU: a slow guest does not switch for a sleep of a moment. */
	nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	return end;
}

int main(int argc, char **argv)
{
	struct sched_param param = { .sched_priority = PRIORITY };
	unsigned long microseconds;
	cpu_set_t set;

	if (argc != 2)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_FIFO, &param)) {
		perror("user_loop");
		return 1;
	}
	while (scanf("%lu", &microseconds) == 1) {
		printf("%llu\n", (unsigned long long)user_loop_spin(microseconds * 1000));
		fflush(stdout);
	}
	return 0;
}
