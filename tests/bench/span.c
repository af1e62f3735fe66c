// SPDX-License-Identifier: GPL-2.0-only
/* The cost of a span below the threshold to the measured thread, against empty programs of the same
 * types in the same places, against none, and against a write() to trace_marker, with which a
 * program could report the same itself. CPU time of an entry and an exit together, the median of
 * the turns; and half of what they add. */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include <perf_poke.h>

#include "median.h"
#include "span_empty.skel.h"

#define TURNS 41
#define CALLS 2000
#define EXIT_SKIP 77
#define NEVER_NS 3600000000000
#define FUNCTION "__x64_sys_getppid"
#define SELF "/proc/self/exe"

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

static int marker;

static void mark(void)
{
	static const char text[] = "end of 1";

	if (write(marker, text, sizeof(text)) < 0)
		exit(1);
}

static bool attach_syscall(struct span_empty_bpf *skel)
{
	const struct bpf_program *program = skel->progs.empty_tp;

	return bpf_program__attach_tracepoint(program, "syscalls", "sys_enter_getppid") &&
	       bpf_program__attach_tracepoint(program, "syscalls", "sys_exit_getppid");
}

static bool attach_tp(struct span_empty_bpf *skel)
{
	return bpf_program__attach_raw_tracepoint(skel->progs.empty_raw, "sys_enter") &&
	       bpf_program__attach_raw_tracepoint(skel->progs.empty_raw, "sys_exit");
}

static bool attach_fn(struct span_empty_bpf *skel)
{
	return bpf_program__attach_trace(skel->progs.empty_fentry) &&
	       bpf_program__attach_trace(skel->progs.empty_fexit);
}

static bool attach_uprobe(struct span_empty_bpf *skel)
{
	LIBBPF_OPTS(bpf_uprobe_opts, entry, .func_name = "probed");
	LIBBPF_OPTS(bpf_uprobe_opts, exit, .func_name = "probed", .retprobe = true);
	const struct bpf_program *program = skel->progs.empty_probe;

	return bpf_program__attach_uprobe_opts(program, -1, SELF, 0, &entry) &&
	       bpf_program__attach_uprobe_opts(program, -1, SELF, 0, &exit);
}

static bool attach_usdt(struct span_empty_bpf *skel)
{
	const struct bpf_program *program = skel->progs.empty_usdt;

	return bpf_program__attach_usdt(program, -1, SELF, "bench", "begin", NULL) &&
	       bpf_program__attach_usdt(program, -1, SELF, "bench", "end", NULL);
}

static const struct row {
	const char *name, *span;
	void (*call)(void);
	bool (*attach)(struct span_empty_bpf *skel);
} rows[] = {
	{ "tp", "it=tp:raw_syscalls:sys_enter..tp:raw_syscalls:sys_exit", call_kernel, attach_tp },
	{ "syscall", "it=tp:syscalls:sys_enter_getppid..tp:syscalls:sys_exit_getppid", call_kernel,
	  attach_syscall },
	{ "fn", "it=fn:" FUNCTION, call_kernel, attach_fn },
	{ "uprobe", "it=uprobe:" SELF ":probed", probed, attach_uprobe },
	{ "usdt", "it=usdt:" SELF ":bench:begin..usdt:" SELF ":bench:end", hit_probes,
	  attach_usdt },
};

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double measure(void (*call)(void))
{
	double turns[TURNS];

	for (int i = 0; i < TURNS; i++) {
		uint64_t begin = cpu_ns();

		for (int j = 0; j < CALLS; j++)
			call();
		turns[i] = (double)(cpu_ns() - begin) / CALLS;
	}
	return median(turns, TURNS);
}

/* These links are not in the skeleton: they last until the process exits. */
static double measure_empty(const struct row *row)
{
	struct span_empty_bpf *skel = span_empty_bpf__open();
	struct bpf_program *all[] = { skel->progs.empty_tp,	skel->progs.empty_probe,
				      skel->progs.empty_usdt,	skel->progs.empty_raw,
				      skel->progs.empty_fentry, skel->progs.empty_fexit };
	bool fn = row->attach == attach_fn;

	for (size_t i = 0; i < 6; i++)
		bpf_program__set_autoload(all[i], (i >= 4) == fn);
	if (fn) {
		bpf_program__set_attach_target(all[4], 0, FUNCTION);
		bpf_program__set_attach_target(all[5], 0, FUNCTION);
	}
	if (span_empty_bpf__load(skel) || !row->attach(skel))
		return 0;
	return measure(row->call);
}

static double measure_span(const struct row *row, const char *output)
{
	const struct perf_poke_trigger trigger = { PERF_POKE_TRIGGER_SPAN, NEVER_NS, row->span };
	struct perf_poke_stats stats = { .sz = sizeof(stats) };
	char cpu[16];
	const struct perf_poke_opts opts = {
		.sz = sizeof(opts),
		.cpus = cpu,
		.triggers = &trigger,
		.nr_triggers = 1,
		.trigger_sz = sizeof(trigger),
		.recorder = PERF_POKE_RECORDER_NONE,
		.workload = PERF_POKE_WORKLOAD_NONE,
		.output = output,
	};
	struct perf_poke *session;
	double ns = 0;

	snprintf(cpu, sizeof(cpu), "%d", sched_getcpu());
	if (perf_poke__new(&session, &opts))
		return 0;
	if (!perf_poke__start(session))
		ns = measure(row->call);
	perf_poke__stats(session, PERF_POKE_TRIGGER_SPAN, -1, &stats);
	perf_poke__free(session);
	return stats.count >= TURNS * CALLS ? ns : 0;
}

/* The empty programs are attached in a child and go with it. */
static int measure_row(const struct row *row, const char *output)
{
	double plain = measure(row->call), span = measure_span(row, output), empty = 0;
	FILE *file = tmpfile();
	int status = 1;

	if (!file)
		return 1;
	fflush(stdout);
	if (!fork()) {
		fprintf(file, "%g", measure_empty(row));
		exit(0);
	}
	wait(&status);
	rewind(file);
	if (fscanf(file, "%lf", &empty) != 1)
		empty = 0;
	fclose(file);
	if (span == 0 || empty == 0)
		printf("%-8s this kernel cannot\n", row->name);
	else
		printf("%-8s %8.0f %8.0f %8.0f %8.0f %8.0f\n", row->name, plain, empty, span,
		       (empty - plain) / 2, (span - plain) / 2);
	return 0;
}

int main(void)
{
	char output[] = "/tmp/perf-poke-bench-XXXXXX";
	cpu_set_t set;
	int failed = 0;

	marker = open("/sys/kernel/tracing/trace_marker", O_WRONLY | O_CLOEXEC);
	if (geteuid() || marker < 0) {
		printf("needs root, and tracefs at /sys/kernel/tracing\n");
		return EXIT_SKIP;
	}
	if (!mkdtemp(output))
		return 1;
	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
	libbpf_set_print(NULL);
	printf("ns, of which the last two are of one event\n");
	printf("%-8s %8s %8s %8s %8s %8s\n", "", "alone", "empty", "span", "empty", "span");
	printf("%-8s %8.0f\n", "write()", measure(mark));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		failed |= measure_row(&rows[i], output);
	rmdir(output);
	return failed;
}
