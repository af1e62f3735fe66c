// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Tries the recorder and its freezes, and measures what a traced call costs. */
#include "recorder/ftrace/ftrace.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include <tracefs/tracefs.h>

#include "clock.h"
#include "text.h"
#include "units.h"

/* System calls of a round, and rounds, of which the shortest counts: some milliseconds. */
#define SYSCALLS 1000
#define ROUNDS 5

static int ftrace_probe_open(struct recorder **ret, enum perf_poke_freeze freeze, int cpu,
			     struct probe_detail *detail)
{
	const struct log log = probe_detail_log(detail);
	const struct perf_poke_opts opts = { .buffer_size = 1, .freeze = freeze };
	const struct recorder_config config = { .opts = &opts, .cpus = &cpu, .nr_cpus = 1 };

	return ftrace_recorder_open(ret, &config, false, &log);
}

static uint64_t time_syscalls(void)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC), took;

		for (int i = 0; i < SYSCALLS; i++)
			syscall(SYS_getppid);
		took = clock_ns(CLOCK_MONOTONIC) - start;
		least = took < least ? took : least;
	}
	return least;
}

/* Of a ring: its bytes, the events in them, and all events that were written. */
struct ring_fill {
	uint64_t bytes, kept, written;
};

static int ring_read_fill(const struct ftrace_recorder *ftrace, struct ring_fill *fill)
{
	_cleanup_free_ char *text = NULL;
	uint64_t overrun;
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%d/stats", ftrace->cpus[0].cpu);
	text = tracefs_instance_file_read(ftrace->instance, path, NULL);
	if (!text)
		return -errno;
	if (sscanf(text,
		   "entries: %" SCNu64 " overrun: %" SCNu64 " commit overrun: %*u bytes: "
		   "%" SCNu64,
		   &fill->kept, &overrun, &fill->bytes) != 3)
		return -EPROTO;
	fill->written = fill->kept + overrun;
	return fill->kept && fill->bytes ? 0 : -ENODATA;
}

/* Traces a loop of system calls on this CPU, and runs it again without. Ends the tracer. */
static int ftrace_measure_calls(struct ftrace_recorder *ftrace, struct probe_detail *detail)
{
	const unsigned int records = ftrace->tracer.kind == FTRACE_GRAPH ? 2 : 1;
	uint64_t traced_ns, plain_ns, calls, bytes, held;
	struct ring_fill fill;
	int err = ftrace_instance_write(ftrace->instance, "tracing_on", "1");

	if (err)
		return err;
	traced_ns = time_syscalls();
	err = ftrace_instance_write(ftrace->instance, "tracing_on", "0");
	if (!err)
		err = ring_read_fill(ftrace, &fill);
	if (err)
		return err;
	ftrace_instance_stop(ftrace);
	plain_ns = time_syscalls();
	calls = fill.written / records / ROUNDS;
	bytes = fill.bytes * records / fill.kept;
	if (!calls || !bytes || traced_ns <= plain_ns)
		return -ENODATA;
	held = FTRACE_BUFFER_DEFAULT / bytes;
	probe_set_detail(detail,
			 "tracer %s, freeze %s; a call takes %s and %" PRIu64 " bytes more: %s "
			 "hold %" PRIu64 " calls, %s of a loop of system calls",
			 ftrace_tracer_name(ftrace->tracer.kind), ftrace->base.freeze,
			 FORMAT_TIME((traced_ns - plain_ns) / calls), bytes,
			 FORMAT_SIZE(FTRACE_BUFFER_DEFAULT), held,
			 FORMAT_TIME(traced_ns * held / calls));
	return 0;
}

int ftrace_probe_recorder(struct probe_detail *detail)
{
	const int cpu = sched_getcpu();
	struct recorder *recorder;
	cpu_set_t before, here;
	int err = ftrace_probe_open(&recorder, PERF_POKE_FREEZE_AUTO, cpu, detail);

	if (err)
		return err;
	probe_set_detail(detail, "tracer %s, freeze %s",
			 ftrace_tracer_name(to_ftrace(recorder)->tracer.kind), recorder->freeze);
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	if (to_ftrace(recorder)->tracer.kind != FTRACE_NOP &&
	    !sched_getaffinity(0, sizeof(before), &before) &&
	    !sched_setaffinity(0, sizeof(here), &here)) {
		ftrace_measure_calls(to_ftrace(recorder), detail);
		sched_setaffinity(0, sizeof(before), &before);
	}
	ftrace_recorder_free(recorder);
	return 0;
}

static int ftrace_probe_freeze(struct probe_detail *detail, enum perf_poke_freeze freeze)
{
	struct recorder *recorder;
	int err = ftrace_probe_open(&recorder, freeze, sched_getcpu(), detail);

	if (!err)
		ftrace_recorder_free(recorder);
	return err;
}

int ftrace_probe_swap(struct probe_detail *detail)
{
	return ftrace_probe_freeze(detail, PERF_POKE_FREEZE_SWAP);
}

int ftrace_probe_traceoff(struct probe_detail *detail)
{
	return ftrace_probe_freeze(detail, PERF_POKE_FREEZE_TRACEOFF);
}
