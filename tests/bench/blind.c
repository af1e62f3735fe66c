// SPDX-License-Identifier: GPL-2.0-only
/* Blind time of the recorder events: from the freeze to when the session may be armed again, with
 * rings of 4 MiB that are full, for 1 and 64 watched CPUs. All but one of the 64 are simulated:
 * their rings belong to one CPU. Beside it, the time if all rings were frozen and copied first, and
 * the time after arming. usage: bench-blind */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "io.h"
#include "median.h"
#include "recorder/recorder.h"

#define WATCHED 0
#define OTHER 1
#define WATCHED_MAX 64
#define RING_SIZE (4UL << 20)
#define SPIKES 100
#define RECORD_MIN 48
#define EXIT_SKIP 77

static void print_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	if (level <= PERF_POKE_LOG_WARN)
		fprintf(stderr, "%s\n", msg);
}

static const struct log log = { .fn = print_log };

/* Each system call is a record in each ring of the CPU. */
static struct ring_event system_calls(void)
{
	_cleanup_close_ int tracefs = tracefs_open();
	char id[32];

	if (tracefs < 0 ||
	    read_text_at(tracefs, "events/raw_syscalls/sys_enter/id", id, sizeof(id))) {
		puts("needs root and the tracepoint raw_syscalls:sys_enter");
		exit(EXIT_SKIP);
	}
	return (struct ring_event){
		.name = "raw_syscalls:sys_enter",
		.attr = {
			.size = sizeof(struct perf_event_attr),
			.type = PERF_TYPE_TRACEPOINT,
			.config = strtoull(id, NULL, 10),
			.sample_period = 1,
			.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
				       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
			.read_format = PERF_FORMAT_ID,
			.write_backward = 1,
		},
	};
}

static void fill_rings(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		printf("needs CPU %d\n", cpu);
		exit(EXIT_SKIP);
	}
	for (size_t i = 0; i < RING_SIZE / RECORD_MIN; i++)
		syscall(SYS_getppid);
}

struct blind {
	double armed[SPIKES], rest[SPIKES]; /* us, since the freeze, since arming */
};

static int take_spike(struct rings *rings, size_t nr, bool all, double *armed, double *rest)
{
	struct ring_copy copies[WATCHED_MAX] = {};
	uint64_t frozen = clock_ns(CLOCK_MONOTONIC), resumed;
	int err = rings_pause(rings, all ? -1 : WATCHED, WATCHED);

	err = err ?: rings_copy_paused(rings, copies);
	err = err ?: rings_resume(rings);
	resumed = clock_ns(CLOCK_MONOTONIC);
	err = err ?: rings_copy_running(rings, copies);
	*rest = (clock_ns(CLOCK_MONOTONIC) - resumed) / 1e3;
	*armed = (resumed - frozen) / 1e3;
	for (size_t i = 0; i < nr; i++)
		rings_free_copy(rings, &copies[i]);
	return err;
}

static void print_blind(const char *name, size_t nr, struct blind *blind)
{
	double half = median(blind->armed, SPIKES), rest = median(blind->rest, SPIKES);

	printf("%-28s %4zu %10.0f %10.0f %10.0f\n", name, nr, half, blind->armed[SPIKES * 99 / 100],
	       rest);
}

static void measure(size_t nr)
{
	int cpus[WATCHED_MAX] = { WATCHED };
	struct ring_event event = system_calls();
	struct blind blind[2];
	struct rings *rings;
	int err;

	for (size_t i = 1; i < nr; i++)
		cpus[i] = OTHER;
	err = rings_open(&rings, &event, 1, cpus, nr, rings_pages_for_size(RING_SIZE), &log);
	if (err) {
		printf("cannot open %zu rings: %s\n", nr, strerror(-err));
		exit(EXIT_SKIP);
	}
	err = rings_reserve_copy(rings);
	fill_rings(OTHER);
	fill_rings(WATCHED);
	for (size_t i = 0; i < SPIKES && !err; i++) {
		for (int all = 0; all < 2 && !err; all++)
			err = take_spike(rings, nr, all, &blind[all].armed[i], &blind[all].rest[i]);
	}
	rings_free(rings);
	if (err) {
		printf("cannot copy the rings: %s\n", strerror(-err));
		exit(1);
	}
	print_blind("the spike's ring first", nr, &blind[0]);
	print_blind("all rings first", nr, &blind[1]);
	printf("%-28s %4s %9.2fx\n", "ratio of the medians", "",
	       blind[1].armed[SPIKES / 2] / blind[0].armed[SPIKES / 2]);
}

int main(void)
{
	printf("%-28s %4s %10s %10s %10s\n", "rings of 4 MiB, us", "CPUs", "p50", "p99",
	       "rest, p50");
	measure(1);
	measure(WATCHED_MAX);
	return 0;
}
