// SPDX-License-Identifier: GPL-2.0-only
/* What reports and spans cost the measured thread, beside a write() to trace_marker, with which a
 * program could report the same itself. CPU time on one CPU: the median of the turns. A span is
 * measured below its threshold; its cost is half of what an entry and an exit add. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <perf_poke.h>

#include "median.h"

#define TURNS 41
#define CALLS 2000
#define EXIT_SKIP 77
#define THRESHOLD_NS 1000000
#define NEVER_NS 3600000000000
#define SELF "/proc/self/exe"
#define SESSION "bench-cost"

/* Like <sys/sdt.h>, which some systems lack: a no-op, and a note that names it. */
#define PROBE(name)                                                                                \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"                            \
			 ".balign 4\n"                                                             \
			 ".4byte 8, 994f - 993f, 3\n"                                              \
			 ".asciz \"stapsdt\"\n"                                                    \
			 "993: .8byte 990b, 0, 0\n"                                                \
			 ".asciz \"bench\", \"" name "\", \"\"\n"                                  \
			 "994: .balign 4\n"                                                        \
			 ".popsection\n")

static struct perf_poke *session;
static struct perf_poke_reporter *reporter;
static int marker;

void probed(void);

__attribute__((noinline)) void probed(void)
{
	__asm__ volatile("" : : : "memory");
}

static void call_kernel(void)
{
	syscall(SYS_getppid);
}

static void hit_probes(void)
{
	PROBE("begin");
	PROBE("end");
}

static void mark(void)
{
	static const char text[] = "end of 1";

	if (write(marker, text, sizeof(text)) < 0)
		exit(1);
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

static void report_below(void)
{
	const struct perf_poke_report args = late(THRESHOLD_NS / 2);

	if (perf_poke__report(session, &args))
		exit(1);
}

static void report_above(void)
{
	const struct perf_poke_report args = late(THRESHOLD_NS * 2);

	perf_poke__report(session, &args);
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

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double measure(void (*call)(void))
{
	double turns[TURNS];

	for (int i = 0; i < TURNS; i++) {
		double begin = cpu_ns();

		for (int j = 0; j < CALLS; j++)
			call();
		turns[i] = (cpu_ns() - begin) / CALLS;
	}
	return median(turns, TURNS);
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
		.max_captures = UINT64_MAX,
		.output = output,
		.session = SESSION,
	};

	snprintf(cpu, sizeof(cpu), "%d", sched_getcpu());
	return perf_poke__new(&session, &opts) ?: perf_poke__start(session);
}

static int measure_reports(const char *output)
{
	const struct perf_poke_trigger trigger = { PERF_POKE_TRIGGER_REPORT, THRESHOLD_NS, NULL };

	if (start(&trigger, output) || perf_poke__session_open(&reporter, SESSION))
		return 1;
	printf("%-48s %8.0f\n", "perf_poke__report(), below the threshold", measure(report_below));
	printf("%-48s %8.0f\n", "perf_poke__session_report(), below it",
	       measure(report_from_outside));
	perf_poke__disarm(session);
	printf("%-48s %8.0f\n", "perf_poke__report(), above it, disarmed", measure(report_above));
	printf("%-48s %8.0f\n", "perf_poke__session_report(), the same",
	       measure(report_above_from_outside));
	perf_poke__session_close(reporter);
	perf_poke__free(session);
	return 0;
}

static void measure_span(const char *span, void (*call)(void), const char *output)
{
	const struct perf_poke_trigger trigger = { PERF_POKE_TRIGGER_SPAN, NEVER_NS, span };
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	double plain = measure(call), ns = 0;

	if (!start(&trigger, output)) {
		ns = measure(call);
		perf_poke__stats(session, PERF_POKE_TRIGGER_SPAN, -1, &stats);
	}
	perf_poke__free(session);
	if (stats.count < TURNS * CALLS)
		printf("%-48.48s this kernel cannot\n", span);
	else
		printf("%-48.48s %8.0f\n", span, (ns - plain) / 2);
}

int main(void)
{
	static const struct {
		const char *span;
		void (*call)(void);
	} rows[] = {
		{ "it=tp:raw_syscalls:sys_enter..tp:raw_syscalls:sys_exit", call_kernel },
		{ "it=tp:syscalls:sys_enter_getppid..tp:syscalls:sys_exit_getppid", call_kernel },
		{ "it=fn:__x64_sys_getppid", call_kernel },
		{ "it=uprobe:" SELF ":probed", probed },
		{ "it=usdt:" SELF ":bench:begin..usdt:" SELF ":bench:end", hit_probes },
	};
	char output[] = "/tmp/perf-poke-bench-XXXXXX";
	cpu_set_t set;
	int failed;

	marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY | O_CLOEXEC);
	if (geteuid() || marker < 0) {
		printf("needs root, and tracefs at /sys/kernel/tracing\n");
		return EXIT_SKIP;
	}
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof(set), &set) || !mkdtemp(output))
		return 1;
	printf("%-48s %8s\n", "", "ns");
	printf("%-48s %8.0f\n", "write() to trace_marker", measure(mark));
	failed = measure_reports(output);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		measure_span(rows[i].span, rows[i].call, output);
	rmdir(output);
	return failed;
}
