// SPDX-License-Identifier: GPL-2.0-only
/* The cost of perf_poke__report() to its caller: below the threshold, above it while the session is
 * disarmed, and when it takes the spike; the same for a session of another process; and write() to
 * trace_marker, with and without a session that looks for a text, or takes it as a spike. CPU time
 * of the thread, on one CPU: the median of the turns, and its ratio to write(). */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <perf_poke.h>

#define TURNS 41
#define CALLS 5000
#define SPIKES 40
#define EXIT_SKIP 77
#define MARKER "/sys/kernel/tracing/trace_marker"
#define TEXT "hit latency threshold (72 > 30)"
#define THRESHOLD_NS 1000000

static struct perf_poke *session;
static struct perf_poke_reporter *reporter;
static int marker, empty_fd = -1;
static uint64_t write_ns;

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct perf_poke_report late(uint64_t latency_ns)
{
	return (struct perf_poke_report){
		.sz = sizeof(struct perf_poke_report),
		.expected_ns = 1000000000,
		.actual_ns = 1000000000 + latency_ns,
		.cpu = -1,
		.label = "bench",
	};
}

static int report(uint64_t latency_ns)
{
	const struct perf_poke_report args = late(latency_ns);

	return perf_poke__report(session, &args);
}

static void report_from_outside(void)
{
	const struct perf_poke_report args = late(THRESHOLD_NS / 2);

	if (perf_poke__session_report(reporter, &args))
		exit(1);
}

static void report_above_from_outside(void)
{
	const struct perf_poke_report args = late(THRESHOLD_NS * 2);

	perf_poke__session_report(reporter, &args);
}

static void report_below(void)
{
	if (report(THRESHOLD_NS / 2))
		exit(1);
}

static void report_above(void)
{
	report(THRESHOLD_NS * 2);
}

static void mark(void)
{
	if (write(marker, TEXT, strlen(TEXT)) < 0)
		exit(1);
}

static void get_parent(void)
{
	syscall(SYS_getppid);
}

static void run_empty(void)
{
	const char context[88] = "";
	union bpf_attr attr = {
		.test.prog_fd = (uint32_t)empty_fd,
		.test.ctx_in = (uintptr_t)context,
		.test.ctx_size_in = sizeof(context),
	};

	syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr));
}

static int load_empty(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insn_cnt = 2,
		.insns = (uintptr_t)code,
		.license = (uintptr_t) "GPL",
	};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median(uint64_t *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare);
	return values[nr / 2];
}

static void measure(const char *name, void (*call)(void))
{
	uint64_t turns[TURNS];

	for (int i = 0; i < TURNS; i++) {
		uint64_t begin = cpu_ns();

		for (int j = 0; j < CALLS; j++)
			call();
		turns[i] = (cpu_ns() - begin) / CALLS;
	}
	if (!write_ns)
		write_ns = median(turns, TURNS);
	printf("%-48s %8" PRIu64 " %6.2f\n", name, median(turns, TURNS),
	       (double)median(turns, TURNS) / write_ns);
}

static uint64_t taken(enum perf_poke_trigger_kind kind)
{
	struct perf_poke_stats stats = { .sz = sizeof(stats) };

	perf_poke__stats(session, kind, -1, &stats);
	return stats.spikes - stats.unarmed;
}

static void measure_spikes(const char *name, enum perf_poke_trigger_kind kind, void (*call)(void))
{
	uint64_t spikes[SPIKES], nr;

	while ((nr = taken(kind)) < SPIKES) {
		uint64_t begin = cpu_ns();

		call();
		spikes[nr] = cpu_ns() - begin;
		perf_poke__poll(session, 100);
	}
	printf("%-48s %8" PRIu64 " %6.2f\n", name, median(spikes, SPIKES),
	       (double)median(spikes, SPIKES) / write_ns);
}

static int start(const struct perf_poke_trigger *trigger, const char *output)
{
	char cpu[16];
	const struct perf_poke_opts opts = {
		.sz = sizeof(opts),
		.cpus = cpu,
		.triggers = trigger,
		.nr_triggers = 1,
		.trigger_sz = sizeof(*trigger),
		.recorder = PERF_POKE_RECORDER_NONE,
		.workload = PERF_POKE_WORKLOAD_NONE,
		.output = output,
		.session = "bench-report",
	};

	snprintf(cpu, sizeof(cpu), "%d", sched_getcpu());
	return perf_poke__new(&session, &opts) ?: perf_poke__start(session);
}

static void measure_reports(const char *output)
{
	const struct perf_poke_trigger trigger = { PERF_POKE_TRIGGER_REPORT, THRESHOLD_NS, NULL };

	if (start(&trigger, output))
		exit(1);
	measure("perf_poke__report(), below the threshold", report_below);
	if (perf_poke__session_open(&reporter, "bench-report"))
		exit(1);
	measure("perf_poke__session_report(), below it", report_from_outside);
	measure_spikes("perf_poke__report(), a spike that is taken", PERF_POKE_TRIGGER_REPORT,
		       report_above);
	perf_poke__disarm(session);
	measure("perf_poke__report(), above it, disarmed", report_above);
	measure("perf_poke__session_report(), the same", report_above_from_outside);
	perf_poke__session_close(reporter);
	perf_poke__free(session);
}

static void measure_markers(const char *output)
{
	const struct perf_poke_trigger other = { PERF_POKE_TRIGGER_MARKER, 0, "another text" };
	const struct perf_poke_trigger same = { PERF_POKE_TRIGGER_MARKER, 0, "hit latency" };

	if (start(&other, output)) {
		printf("this kernel has no trigger marker\n");
		return;
	}
	measure("the same, a session looks for another text", mark);
	perf_poke__free(session);
	if (start(&same, output))
		exit(1);
	measure_spikes("the same, a spike that is taken", PERF_POKE_TRIGGER_MARKER, mark);
	perf_poke__disarm(session);
	measure("the same, it has the text, disarmed", mark);
	perf_poke__free(session);
}

int main(void)
{
	char output[] = "/tmp/perf-poke-bench-XXXXXX", command[64];
	cpu_set_t set;

	marker = open(MARKER, O_WRONLY | O_CLOEXEC);
	if (geteuid() || marker < 0) {
		printf("needs root, and tracefs at /sys/kernel/tracing\n");
		return EXIT_SKIP;
	}
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof(set), &set) || !mkdtemp(output))
		return 1;
	printf("%-48s %8s %6s\n", "", "ns", "ratio");
	measure("write() to trace_marker", mark);
	measure("getppid(), the least of a system call", get_parent);
	measure("bpf() of no program, the least of that call", run_empty);
	empty_fd = load_empty();
	measure("bpf() of an empty program, as large a context", run_empty);
	measure_reports(output);
	measure_markers(output);
	snprintf(command, sizeof(command), "rm -rf %s", output);
	return system(command) ? 1 : 0;
}
