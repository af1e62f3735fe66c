/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * trigger/: loads, arms and reads bpf/trigger.bpf.c, which watches for spikes. May include options/
 * and base/.
 */
#ifndef LIB_TRIGGER_H
#define LIB_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/marker_text.h"
#include "bpf/poke.h"
#include "bpf/trigger.h"
#include "machine/base.h"
#include "options/config.h"
#include "perf_poke.h"

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

/* Sums and percentiles of the trigger's table, for sessions and observers. */
struct stats_table {
	const volatile struct trigger_cpu *table; /* indexed by CPU */
	const int *cpus;			  /* the rows to add up */
	size_t nr;
};

/* Adds entries and exits of spans that were not measured, from all possible CPUs. */
void stats_add_unpaired(struct perf_poke_stats *stats, const volatile struct trigger_cpu *cpus,
			size_t nr);
/* Omits `missed` and the unmeasured ends of spans, which other than watched CPUs count too. */
struct perf_poke_stats stats_sum(const struct stats_table *table);
/* Latencies in one bucket. */
uint64_t stats_count(const struct stats_table *table, unsigned int bucket);
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
void stats_take(const struct stats_table *table, struct stats_snapshot *snapshot);

/* Filters of tracepoints, in the syntax of `perf record --filter`, for the programs of
 * bpf/filter.h. */
struct filter;
struct trigger;

struct filter_config {
	/* Needed until filter_open() returns: the option, for messages, such as "trigger event";
	 * SYS:NAME/FILTER/ */
	const char *what, *event;
	enum trigger_filter number;
	/* None: all. Offline ones are skipped. */
	const int *cpus;
	size_t nr_cpus;
};

/* Whether SYS:NAME[/FILTER/] has a filter: 1, 0, or -EINVAL if it is empty or has no end. */
int filter_has(const char *event);

/* Makes room for all filters, before the programs are loaded. */
void filter_load(const struct trigger *trigger);
/* Creates trigger->filters[number]. Attach the program to the tracepoint between filter_open() and
 * filter_start(). The CPUs must outlive it. Logs failures; -EINVAL: the kernel rejects the
 * filter. */
int filter_open(struct trigger *trigger, const struct filter_config *config, const struct log *log);
/* NULL is ignored. */
int filter_start(const struct filter *filter);
/* Reopens the event of a CPU that was offline: the kernel has closed it. */
int filter_cpu_online(struct filter *filter, int cpu);
/* NULL is ignored. */
void filter_free(struct filter *filter);

/* A tracepoint as a trigger: see struct trigger_row. */
struct trigger;
struct trigger_config;

/* Reduces the text to SYS:NAME. */
int event_check(struct config *config);
int event_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log);
/* -ENOENT: no such tracepoint. */
int event_attach(struct trigger *trigger, const struct trigger_config *config,
		 const struct log *log);

/* Parses spans: their entries and exits. */
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
int span_parse(struct span *span, const char *text, const struct log *log);
void span_destroy(struct span *span);

/* Functions of a program or library. */

/* The file offset of a function. `name` is a name of the symbol table, or a C++ name such as
 * ns::Class::method without arguments. Prefers the default version. -ENOENT: none; -ENOTUNIQ:
 * several; -ENOEXEC: not an ELF file. */
int elf_function_find(const char *file, const char *name, uint64_t *offset);

/* Spans as triggers: see struct trigger_row. The programs are in bpf/span.h. */
struct trigger;
struct trigger_config;

int span_check(struct config *config);
/* -ENOENT: a name in the text does not exist. */
int span_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log);
int span_attach(struct trigger *trigger, const struct trigger_config *config,
		const struct log *log);
/* Reports the kinds of entries and exits that this kernel supports. */
int span_try(struct probe_detail *detail);

/* Samples of osnoise as a trigger: see struct trigger_row. */
struct trigger;
struct trigger_config;

int noise_check(struct config *config);
int noise_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log);

/* Gets the newest noises up to a spike. False if those of this spike are missing or gone. Any
 * thread. */
bool noise_parts(const struct trigger *trigger, uint64_t sequence,
		 struct trigger_noise_parts *parts);

/* Targets: identifies a task by PID, and never signals another. */
struct target {
	int tid;   /* as the caller sees it */
	int tgid;  /* its process, as the caller sees it */
	int pidfd; /* of the process */
	char comm[16];
	struct poke_target task;
};

/* Identifies the task of an ID in our PID namespace. -ESRCH: none. */
int target_find(int pid, struct poke_target *task);

/* Finds a target. Refuses, with a message, one that is not perf or that the signal would kill:
 * -ESRCH, -EINVAL, -EPERM. */
int target_open(struct target *target, const struct perf_poke_target *wanted,
		const struct log *log);

/* Sends the signal. Call trigger_look() right before. -ESRCH: the target has ended.
 */
int target_signal(const struct target *target);

void target_close(struct target *target);

/* Text in trace_marker as a trigger: see struct trigger_row. */
struct trigger;
struct trigger_config;

int marker_check(struct config *config);
int marker_load(struct trigger *trigger, const struct trigger_config *config,
		const struct log *log);
/* Whether the kernel loads the program. */
int marker_try(struct probe_detail *detail);

/* Builds the search tables of the program. word: 1 to MARKER_WORD_MAX bytes. The tables are zeroed,
 * with MARKER_CHARACTERS entries, and as many for each of MARKER_STATES: see marker_step(). */
void marker_make(__u8 *classes, __u8 *next, const char *word);

/* Counts a reported latency like the program, but without a system call. */
struct trigger_cpu;
struct trigger_bpf__data_arming;

/* Memory that the programs share with this process: of PERF_POKE_TRIGGER_REPORT. */
struct trigger_counters {
	struct trigger_cpu *rows; /* by CPU */
	size_t nr_rows;
	const struct trigger_bpf__data_arming *arming;
};

/* Any thread; async-signal-safe. Returns 0 if counted, 1 if it may be a spike, which only the
 * program can take, or -ENXIO if the CPU is not watched. */
int trigger_count(const struct trigger_counters *counters, int cpu, uint64_t latency_ns);

struct perf_poke_stats;
struct trigger;

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

/* What the triggers thread, user and wakeup watch. */
struct trigger_threads {
	uint64_t timerlat_irq, hrtimer_wakeup; /* addresses; 0: none */
	bool samples;			       /* timerlat reports its samples */
	bool noise;			       /* osnoise reports the noise */
	bool claimed;			       /* only those that called trigger_claim() */
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
	bool rtla;		  /* take rtla's spikes, if the kernel reports them */
};

/* Whether the kernel has BTF, which the program needs to load; logs an error if not. */
bool trigger_has_btf(const struct log *log);

/* Loads and attaches. Counting begins; the trigger is not armed. */
int trigger_open(struct trigger **ret, const struct trigger_config *config, const struct log *log);

/* Tests trigger_open(): 0 or a negative errno. The first message is the detail. */
int trigger_try_config(const struct trigger_config *config, struct probe_detail *detail);

/* Tests whether the kernel loads the program with this way to poke: 0 or a negative errno. */
int trigger_try(enum perf_poke_delivery way);

/* Readable when there may be a spike. */
int trigger_fd(const struct trigger *trigger);

void trigger_arm(struct trigger *trigger);
/* Latencies below the floor, or before that time, are counted but not taken. */
void trigger_set_floor(struct trigger *trigger, enum perf_poke_trigger_kind kind,
		       uint64_t floor_ns);
void trigger_set_quiet(struct trigger *trigger, uint64_t until_ns);
/* Disarms. Returns the sequence of a spike that the caller takes; 0: not armed. */
uint64_t trigger_take(struct trigger *trigger);
/* Returns 1 with a spike or poke, or 0. */
int trigger_read(struct trigger *trigger, struct trigger_spike *spike);
/* Whether a stop request has been read. */
bool trigger_stop_asked(const struct trigger *trigger);

/* Marks the timers of the calling thread, on its CPU, as the workload's. */
int trigger_claim(const struct trigger *trigger);

/* The program for rtla's action, owned by the trigger. -ENOENT: not requested or not supported. */
int trigger_rtla_fd(const struct trigger *trigger);

/* The program and the memory that receive reports, owned by the trigger. */
struct reporter trigger_reporter(const struct trigger *trigger);

/* No spike is taken while this is set. Any thread. */
void trigger_set_disarmed(struct trigger *trigger, bool disarmed);

/* Creates a record like that of a spike. -EBUSY: not armed. Any thread. */
int trigger_poke(const struct trigger *trigger);

/* The part of the session that others see. */
struct trigger_session *trigger_session(const struct trigger *trigger);
/* Pins maps and programs in a folder of bpffs. */
int trigger_pin(const struct trigger *trigger, const char *folder);

/* Resumes the trace of a CPU that the trigger paused. */
int trigger_resume(const struct trigger *trigger, int cpu);

/* The kernel drops perf events on idle CPUs: leaves those spikes to another way. */
void trigger_set_drops_idle(struct trigger *trigger);

/* Checks the targets again, right before a signal: sets `gone` in those that must not be signalled
 * any more. */
int trigger_look(const struct trigger *trigger);

/* The targets; NULL: none. Live memory, like the next. */
volatile struct poke_target *trigger_targets(const struct trigger *trigger);

/* The row of a CPU and a kind; NULL: not counted. Live memory: each field may change at any time.
 */
struct trigger_cpu *trigger_find_cpu(const struct trigger *trigger, int cpu,
				     enum perf_poke_trigger_kind kind);
/* For spans. */
void trigger_add_unpaired(const struct trigger *trigger, struct perf_poke_stats *stats);
/* The latencies of the spike's activation so far. False if those of this spike are gone. Any
 * thread. */
bool trigger_latencies(const struct trigger *trigger, int cpu, uint64_t sequence,
		       struct trigger_latencies *latencies);
/* The stacks at a spike. False if those of this spike are missing or gone. Any thread. */
bool trigger_stacks(const struct trigger *trigger, uint64_t sequence,
		    struct trigger_stacks *stacks);
/* Reads kernel code before an address. One thread at a time. */
int trigger_code(const struct trigger *trigger, uint64_t address, uint8_t code[TRIGGER_CODE_SIZE]);
/* A CPU that was offline is back. */
int trigger_cpu_online(struct trigger *trigger, int cpu);
/* Whether trigger_latencies() includes noise. */
bool trigger_has_noise(const struct trigger *trigger);
/* Expiries, on all CPUs, that the program missed because it was already running there. */
uint64_t trigger_missed(const struct trigger *trigger);

/* Detaches the program; statistics stay. */
void trigger_detach(struct trigger *trigger);
void trigger_free(struct trigger *trigger);

/* The triggers thread, user and wakeup: see struct trigger_row. */

/* Determines which threads to watch, and how. The workload must be chosen. Logs what is missing:
 * -EOPNOTSUPP, -EINVAL, -ESRCH. */
int threads_configure(const struct config *config, struct trigger_threads *threads);

int threads_load(struct trigger *trigger, const struct trigger_config *config,
		 const struct log *log);
int wakeup_check(struct config *config);
int wakeup_load(struct trigger *trigger, const struct trigger_config *config,
		const struct log *log);

/* Reports latencies to the trigger's program. */

/* A session of this or of another process. */
struct reporter {
	int prog_fd; /* negative: it does not watch PERF_POKE_TRIGGER_REPORT */
	struct trigger_counters counters;
};

/* Async-signal-safe. A latency of which no capture is taken is counted without a system call,
 * faster than a write to trace_marker. Returns 1 if it took a spike, 0 if not, or a negative errno
 * as perf_poke__report(). */
int report_count(const struct reporter *reporter, const struct perf_poke_report *report);

/* Internals of the trigger: created by load.c, used by trigger.c. */

struct trigger_bpf;
struct trigger {
	struct trigger_bpf *skel;
	struct bpf_program *hrtimer; /* the attached one of these */
	struct ring_buffer *ring;
	struct trigger_cpu *cpus;      /* mapping of the map `cpus`, indexed by CPU */
	struct trigger_cpu *more;      /* of cpus_more */
	struct trigger_recent *recent; /* indexed by CPU */
	struct trigger_stacks *stacks; /* by sequence */
	int nr_possible;
	struct filter *filters[FILTERS];	 /* NULL: none */
	struct trigger_noise_parts *noise_parts; /* by sequence */
	bool noise;
	bool rtla;		     /* the programs are loaded */
	struct poke_target *targets; /* mapping of the map `targets` */
	size_t cpus_size, more_size, recent_size, stacks_size, targets_size, session_size,
		noise_parts_size;
	struct trigger_session *session; /* mapping of the map `session` */
	uint64_t missed;		 /* final value, once detached */
	struct trigger_spike spike;	 /* at most one each time it is armed */
	bool have_spike;
	bool stop_asked;
};

/* Runs a program on this CPU. Returns its result, or a negative errno. */
int trigger_run(const struct bpf_program *prog);

/* What is not over at the threshold is a spike then. Spans have it at the end of their text. */
#define TRIGGER_OVERRUN "overrun"

/* The kinds of triggers, one row each. */
struct trigger_row {
	struct perf_poke_choice choice; /* first: see session/choices.c */
	bool timers;			/* watches late timers: needs a workload that arms some */
	bool has_text;			/* in addition to the threshold */
	bool overruns;			/* the text may be TRIGGER_OVERRUN */
	bool anywhere;			/* also takes spikes on CPUs that are not watched */
	/* Checks the options of the kind, even if it is not watched. Logs. NULL, like the next two:
	 * nothing to do. */
	int (*check)(struct config *config);
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
/* Restores thresholds that an earlier run has adapted. */

#endif
