/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * trigger/: loads, arms and reads bpf/trigger.bpf.c, which watches for spikes. May include options/
 * and machine/. This header is for the other folders; trigger_internal.h is for this one.
 */
#ifndef LIB_TRIGGER_H
#define LIB_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/trigger.h"
#include "machine/base.h"
#include "options/config.h"
#include "perf_poke.h"

struct trigger;
struct trigger_config;

/* -- The kinds of triggers */

/* What is not over at the threshold is a spike then. Spans have it at the end of their text. */
#define TRIGGER_OVERRUN "overrun"

/* The kinds of triggers, one row each. */
struct trigger_row {
	struct perf_poke_choice choice; /* first: see session/choices.c */
	bool timers;			/* watches late timers: needs a workload that arms some */
	bool has_text;			/* in addition to the threshold */
	bool overruns;			/* the text may be TRIGGER_OVERRUN */
	bool anywhere;			/* also takes spikes on CPUs that are not watched */
	/* Checks the options of the kind, even if it is not watched. Logs. NULL, like the next
	 * three: nothing to do. */
	int (*check)(struct config *config);
	/* Whether the kernel has what the kind needs, at the start of a session that watches it,
	 * before anything is opened. Logs. */
	int (*check_kernel)(const struct config *config);
	/* Before loading: selects the programs of the kind ("?" in bpf/), and sets their constants
	 * and the sizes of their maps. Logs. */
	int (*load)(struct trigger *trigger, const struct trigger_config *config,
		    const struct log *log);
	/* Attaches programs that their section name does not attach. Logs. */
	int (*attach)(struct trigger *trigger, const struct trigger_config *config,
		      const struct log *log);
	struct probe probe;
};

/* By enum perf_poke_trigger_kind; NULL past the end. */
const struct trigger_row *trigger_row(size_t kind);
const char *trigger_kind_name(unsigned int kind);

/* Sets thresholds and texts from config->triggers. Logs failures. */
int triggers_check(struct config *config);
int triggers_check_kernel(const struct config *config);

/* -- Loading, in kinds.c */

/* Called by PERF_POKE_DELIVERY_TASK_WORK; some kernels append "_impl". */
#define TRIGGER_TASK_WORK "bpf_task_work_schedule_signal"

/* Names of pins, see trigger_pin(). */
#define TRIGGER_PIN_SESSION "session"
#define TRIGGER_PIN_CPUS "cpus"
#define TRIGGER_PIN_CPUS_MORE "cpus_more"
#define TRIGGER_PIN_ARMING "arming"
#define TRIGGER_PIN_TARGETS "targets"
#define TRIGGER_PIN_POKE "poke"
#define TRIGGER_PIN_STOP "stop"
#define TRIGGER_PIN_REPORT "report" /* only if reports are watched */
#define TRIGGER_PIN_LEDGER "ledger" /* only if interruptions are watched */

/* What the triggers thread, user and wakeup watch. */
struct trigger_threads {
	uint64_t timerlat_irq, hrtimer_wakeup; /* addresses; 0: none */
	bool samples;			       /* timerlat reports its samples */
	bool noise;			       /* osnoise reports the noise */
	bool claimed;			       /* only those that called trigger_claim_timers() */
	uint32_t wakeup_pid;
	char wakeup_comm[16];
};

struct trigger_config {
	const int *cpus;
	size_t nr_cpus;
	uint64_t thresholds_ns[TRIGGER_KINDS]; /* by enum perf_poke_trigger_kind; 0: not watched */
	const char *texts[TRIGGER_KINDS];      /* for kinds with a text */
	uint64_t function;		       /* address; 0 for any */
	struct trigger_threads threads;
	/* Messages that pause and resume a trace, shorter than TRIGGER_MESSAGE_SIZE; NULL or "":
	 * none. */
	const char *pause_message, *resume_message;
	/* Targets to poke, and bits of enum perf_poke_delivery; 0: no targets. */
	const struct poke_target *targets;
	size_t nr_targets;
	uint32_t poke_ways;
	const char *poke_message; /* like the other messages */
	bool stacks;		  /* take the stacks at a spike */
	bool load_only;		  /* attach nothing, which would patch the kernel's code */
	bool rtla;		  /* take rtla's spikes, if the kernel reports them */
};

/* Whether the kernel has BTF, which the program needs to load; logs an error if not. */
bool trigger_has_btf(const struct log *log);

/* Loads and attaches. Counting begins; the trigger is not armed. */
int trigger_open(struct trigger **ret, const struct trigger_config *config, const struct log *log);

/* Tests trigger_open(): 0 or a negative errno. The first message is the detail. */
int trigger_try_config(const struct trigger_config *config, struct probe_detail *detail);

/* Tests whether the kernel loads the program with this way to poke: 0 or a negative errno. */
int trigger_try_delivery(enum perf_poke_delivery way);

/* Determines which threads to watch, and how. The workload must be chosen. Logs what is missing:
 * -EOPNOTSUPP, -EINVAL, -ESRCH. */
int threads_configure(const struct config *config, struct trigger_threads *threads);

/* Identifies the task of an ID in our PID namespace. -ESRCH: none. */
int trigger_find_task(int pid, struct poke_target *task);

/* -- A loaded trigger */

/* Readable when there may be a spike. */
int trigger_ring_fd(const struct trigger *trigger);

void trigger_arm(struct trigger *trigger);
/* While held, spikes are taken but do not print the message that pauses the trace. */
void trigger_hold_pause(struct trigger *trigger, bool held);
/* Latencies below the floor, or before that time, are counted but not taken. */
void trigger_set_floor(struct trigger *trigger, enum perf_poke_trigger_kind kind,
		       uint64_t floor_ns);
void trigger_set_quiet(struct trigger *trigger, uint64_t until_ns);
/* Disarms. Returns the sequence of a spike that the caller takes; 0: not armed. */
uint64_t trigger_take_spike(struct trigger *trigger);
/* Returns 1 with a spike or poke, or 0. */
int trigger_read_spike(struct trigger *trigger, struct trigger_spike *spike);
/* Whether a stop request has been read. */
bool trigger_stop_asked(const struct trigger *trigger);

/* Marks the timers of the calling thread, on its CPU, as the workload's. */
int trigger_claim_timers(const struct trigger *trigger);

/* The program for rtla's action, owned by the trigger. -ENOENT: not requested or not supported. */
int trigger_rtla_fd(const struct trigger *trigger);

/* The program and the memory that receive reports, owned by the trigger. */
struct reporter trigger_reporter(const struct trigger *trigger);

/* No spike is taken while this is set. Any thread. */
void trigger_set_disarmed(struct trigger *trigger, bool disarmed);

/* Creates a record like that of a spike. -EBUSY: not armed. Any thread. */
int trigger_poke_now(const struct trigger *trigger);

/* The part of the session that others see. */
struct trigger_session *trigger_session(const struct trigger *trigger);
/* Pins maps and programs in a folder of bpffs. */
int trigger_pin(const struct trigger *trigger, const char *folder);

/* Resumes the trace of a CPU that the trigger paused. */
int trigger_resume_trace(const struct trigger *trigger, int cpu);

/* The kernel drops perf events on idle CPUs: leaves those spikes to another way. */
void trigger_set_drops_idle(struct trigger *trigger);

/* Checks the targets again, right before a signal: sets `lost` in those that must not be signalled
 * any more. */
int trigger_check_targets(const struct trigger *trigger);

/* The targets; NULL: none. Live memory, like the next. */
volatile struct poke_target *trigger_targets(const struct trigger *trigger);

/* The row of a CPU and a kind; NULL: not counted. Live memory: each field may change at any time.
 */
struct trigger_cpu *trigger_find_cpu(const struct trigger *trigger, int cpu,
				     enum perf_poke_trigger_kind kind);
/* What took CPUs from threads: see ledger_read(). Final values once detached. */
int trigger_read_sources(const struct trigger *trigger, bool functions,
			 struct perf_poke_source **sources, size_t *nr);
/* What an interruption was: `softirq net_rx`, or `thread kworker/3:1:77`. */
void trigger_name_source(const struct trigger *trigger, const struct trigger_spike *spike,
			 char *label, size_t size);
/* For spans. */
void trigger_add_unpaired(const struct trigger *trigger, struct perf_poke_stats *stats);
/* The latencies of the spike's activation so far. False if those of this spike are gone. Any
 * thread. */
bool trigger_read_latencies(const struct trigger *trigger, int cpu, uint64_t sequence,
			    struct trigger_latencies *latencies);
/* The stacks at a spike. False if those of this spike are missing or gone. Any thread. */
bool trigger_read_stacks(const struct trigger *trigger, uint64_t sequence,
			 struct trigger_stacks *stacks);
/* Gets the newest noises up to a spike. False if those of this spike are missing or gone. Any
 * thread. */
bool trigger_read_noise(const struct trigger *trigger, uint64_t sequence,
			struct trigger_noise_parts *parts);
/* Reads kernel code before an address. One thread at a time. */
int trigger_read_code(const struct trigger *trigger, uint64_t address,
		      uint8_t code[TRIGGER_CODE_SIZE]);
/* A CPU that was offline is back. */
int trigger_cpu_online(struct trigger *trigger, int cpu);
/* Whether trigger_read_latencies() includes noise. */
bool trigger_has_noise(const struct trigger *trigger);
/* Expiries, on all CPUs, that the program missed because it was already running there. */
uint64_t trigger_missed(const struct trigger *trigger);

/* The perf event that counts the SMIs of a CPU is read at each spike, by the CPU itself. Returns 0
 * or a negative errno. */
int trigger_count_smis(struct trigger *trigger, int cpu, int fd);
/* What it has counted at the spike; UINT64_MAX: unknown, as if another CPU took the spike. */
uint64_t trigger_read_smis(const struct trigger *trigger, const struct perf_poke_spike *spike);

/* Detaches the program; statistics stay. */
void trigger_detach(struct trigger *trigger);
void trigger_free(struct trigger *trigger);

/* -- Latencies that programs report */

/* Memory that the programs share with this process: of PERF_POKE_TRIGGER_REPORT. */
struct trigger_counters {
	struct trigger_cpu *rows; /* by CPU */
	size_t nr_rows;
	const struct trigger_bpf__data_arming *arming;
};

/* Any thread; async-signal-safe. Returns 0 if counted, 1 if it may be a spike, which only the
 * program can take, or -ENXIO if the CPU is not watched. */
int reported_count_latency(const struct trigger_counters *counters, int cpu, uint64_t latency_ns);

/* A session of this or of another process. */
struct reporter {
	int prog_fd; /* negative: it does not watch PERF_POKE_TRIGGER_REPORT */
	struct trigger_counters counters;
};

/* Async-signal-safe. A latency of which no capture is taken is counted without a system call,
 * faster than a write to trace_marker. Returns 1 if it took a spike, 0 if not, or a negative errno
 * as perf_poke__report(). */
int reported_take_latency(const struct reporter *reporter, const struct perf_poke_report *report);

/* -- Statistics: sums and percentiles, for sessions and observers */

/* The smallest latency in a bucket: the inverse of trigger_bucket(). */
static inline uint64_t bucket_low_ns(unsigned int bucket)
{
	unsigned int octave;

	if (bucket < TRIGGER_SUB_BUCKETS)
		return (uint64_t)bucket << TRIGGER_UNIT_SHIFT;
	octave = bucket / TRIGGER_SUB_BUCKETS - 1;
	return (uint64_t)(bucket % TRIGGER_SUB_BUCKETS + TRIGGER_SUB_BUCKETS)
	       << (octave + TRIGGER_UNIT_SHIFT);
}

/* Rows of the trigger's table. */
struct stats_table {
	const volatile struct trigger_cpu *table; /* indexed by CPU */
	const int *cpus;			  /* the rows to add up */
	size_t nr;
};

/* Adds entries and exits of spans that were not measured, from all possible CPUs. */
void stats_add_unpaired(struct perf_poke_stats *stats, const volatile struct trigger_cpu *cpus,
			size_t nr);
/* Omits `missed` and the unmeasured ends of spans, which other than watched CPUs count too. */
struct perf_poke_stats stats_sum_rows(const struct stats_table *table);
/* Latencies in one bucket. */
uint64_t stats_count_bucket(const struct stats_table *table, unsigned int bucket);
/* percent: 0 to 100 */
uint64_t stats_percentile(const struct stats_table *table, double percent);

/* Eight per octave, as in the histogram of a capture. */
#define STATS_STEP 8 /* buckets of the trigger */
#define STATS_BUCKETS (TRIGGER_BUCKETS / STATS_STEP + 1)

/* The trigger's counters at a moment. */
struct stats_snapshot {
	struct perf_poke_stats sum;
	uint64_t p50_ns, p99_ns, p99_9_ns;
	uint64_t buckets[STATS_BUCKETS];
};

/* Fills in a zeroed snapshot. */
void stats_take_snapshot(const struct stats_table *table, struct stats_snapshot *snapshot);

/* -- Spans: from an entry to an exit */

#define SPAN_PARTS 3

/* Kinds of entries and exits. */
enum span_kind {
	SPAN_TP,
	SPAN_FN,
	SPAN_UPROBE,
	SPAN_URETPROBE,
	SPAN_USDT,
	SPAN_KINDS,
};

struct span_point {
	enum span_kind kind;
	const char *parts[SPAN_PARTS]; /* between the colons, as in tp:SYS:NAME */
	const char *filter;	       /* of a tracepoint; NULL: none */
	const char *argument;	       /* of `by` */
};

struct span {
	char *name, *text; /* that the points refer to */
	struct span_point entry, exit;
	enum span_by by;
	bool whole;   /* from call to return of one function */
	bool overrun; /* takes the spike at the threshold, before the exit */
};

/* Parses NAME=ENTRY..EXIT[,by=thread|cpu|ARG][,overrun] or NAME=FUNCTION[,...]. Logs failures:
 * -EINVAL. */
int span_parse_text(struct span *span, const char *text, const struct log *log);
void span_destroy(struct span *span);

#endif
