/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/**
 * @file
 * libperfpoke: catch the timer that fires late, and keep what the CPU did before.
 *
 * A session watches the latency of hrtimers on a set of CPUs with one BPF program. When a latency
 * reaches the threshold (a spike), the recorder is frozen, its rings are copied (the snapshot), the
 * session is re-armed, and the snapshot is written as a folder that stock perf reads (the capture).
 *
 *	struct perf_poke_opts opts = { .sz = sizeof(opts), .cpus = "3", .threshold_ns = 50000 };
 *	struct perf_poke *pp;
 *
 *	if (perf_poke__new(&pp, &opts) || perf_poke__start(pp))
 *		return 1;
 *	while (perf_poke__poll(pp, 1000) >= 0 && captures < 1)
 *		;
 *	perf_poke__stop(pp);
 *	perf_poke__free(pp);
 *
 * Conventions. Times are nanoseconds; points in time are CLOCK_MONOTONIC. Functions that return int
 * return a negative errno on failure. Pointers cannot be NULL unless their description allows it.
 * The library never exits and never prints; messages for people go to `opts.log`.
 *
 * Structs may get members at their end. Those that callers fill begin with `sz`, their size when
 * compiled; bytes that this library does not know must be zero. Rows of arrays that callers fill
 * have their size next to the array. Structs that the library fills are passed by pointer, also in
 * arrays; the larger ones begin with `sz`, which tells whether a member is there.
 *
 * Threads. Calls on one session must not overlap, but for perf_poke__report(), perf_poke__poke(),
 * perf_poke__arm() and perf_poke__disarm(): any thread may call these at any time until
 * perf_poke__free(), also while another thread is in perf_poke__poll() or perf_poke__stop().
 * Sessions are independent of each other, also while they start and stop. Callbacks run in the
 *thread that called the library function.
 *
 * Callbacks. The functions that any thread may call, and those that read (statistics, names,
 *captures on disk), may be called in a callback of the same session. perf_poke__start(),
 *perf_poke__poll() and perf_poke__stop() return -EBUSY there: to end a session, note that, and stop
 *it when perf_poke__poll() has returned. perf_poke__free() must not be called there. In
 *perf_poke__stop() captures are still reported; statistics remain after it, perf_poke__fd() and
 *perf_poke__output() do not: their descriptors are closed, and numbers may be those of other files.
 *
 * The process. Besides its own memory, threads and descriptors a session touches: RLIMIT_NOFILE,
 *whose soft limit is raised, never above the hard one, where descriptors run out, and stays so;
 * RLIMIT_MEMLOCK, by libbpf, on kernels that charge BPF to it (before 5.11); libbpf's print
 *function, replaced while a function of a session loads programs, which calls the former one for
 *all other threads; and with the workload user one child for each CPU, which ends without SIGCHLD,
 *is waited for by its own ID, and is killed with the process. Signals, their mask, the working
 *directory and the environment are left alone. Threads of the session inherit the mask of the
 *thread that starts it.
 *
 * Latency. The latency of an expiry is the kernel's "now" of the timer interrupt (the argument of
 * timer:hrtimer_expire_entry) minus the programmed expiry, both on the timer's own clock base. The
 * kernel reads the clock once per interrupt for all timers that expire in it. So the latency shows
 * what delayed the interrupt, not what earlier timers of the same interrupt added; timerlat and
 * cyclictest read the clock later and show a little more. A timer that fires early within its slack
 * has latency 0.
 */
#ifndef PERF_POKE_H
#define PERF_POKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One armed run. Opaque. */
struct perf_poke;

/** What has values with names: the options whose values are an enum, and severities. */
enum perf_poke_axis {
	PERF_POKE_AXIS_RECORDER, /**< enum perf_poke_recorder */
	PERF_POKE_AXIS_TRIGGER,	 /**< enum perf_poke_trigger_kind */
	PERF_POKE_AXIS_WORKLOAD, /**< enum perf_poke_workload */
	PERF_POKE_AXIS_DELIVERY, /**< enum perf_poke_delivery */
	PERF_POKE_AXIS_FREEZE,	 /**< enum perf_poke_freeze */
	PERF_POKE_AXIS_LOG,	 /**< enum perf_poke_log_level; not an option */
};

/** One of these values. Static. */
struct perf_poke_choice {
	const char *name; /**< on the command line and in capture.json */
	int value;	  /**< of the enum */
	const char *help; /**< a phrase that describes it */
	/** of a trigger without a threshold: what it takes instead, such as TEXT; else NULL */
	const char *argument;
};

/** Severity of a message. */
enum perf_poke_log_level {
	PERF_POKE_LOG_ERROR,
	PERF_POKE_LOG_WARN,
	PERF_POKE_LOG_INFO,
	PERF_POKE_LOG_DEBUG,
};

/**
 * Receives one message, without a trailing newline.
 *
 * @param ctx  `log_ctx` of the options
 * @param level severity
 * @param msg  the text; valid during the call only
 */
typedef void (*perf_poke_log_fn)(void *ctx, enum perf_poke_log_level level, const char *msg);

/** What arms the timers. */
enum perf_poke_workload {
	PERF_POKE_WORKLOAD_AUTO,     /**< timerlat if the kernel has it, else cyclic; none if no
					trigger waits for timers */
	PERF_POKE_WORKLOAD_CYCLIC,   /**< a SCHED_FIFO thread per CPU that sleeps for a period at a
					time */
	PERF_POKE_WORKLOAD_NONE,     /**< only the machine's own timers */
	PERF_POKE_WORKLOAD_TIMERLAT, /**< the kernel's tracer; a running one is used unchanged */
	PERF_POKE_WORKLOAD_USER,     /**< the tracer with the session's threads in user space */
	PERF_POKE_WORKLOAD_OSNOISE,  /**< the kernel's tracer osnoise, whose threads take all of
					the CPUs; a running one is used unchanged. AUTO, if
					PERF_POKE_TRIGGER_NOISE is watched */
};

/** Who holds the trace. */
enum perf_poke_recorder {
	PERF_POKE_RECORDER_AUTO,   /**< perf if there are targets; else pt if the machine has it and
				      no other events are named; else events */
	PERF_POKE_RECORDER_EVENTS, /**< tracepoints and samples in overwrite rings */
	PERF_POKE_RECORDER_PT,	   /**< Intel PT: every branch */
	PERF_POKE_RECORDER_PERF,   /**< another process's perf record, which is poked: see
				      `targets` */
	PERF_POKE_RECORDER_NONE,   /**< nothing: a capture has the spike and its stack */
};

/** An event to record: `sys:name`, where name may be a glob, or one to sample, as `cpu-clock`,
 * `cycles:pp` and `cpu/event=0x3c/freq=1000/k`. And a filter as in `perf record --filter`, or NULL.
 * `intel_pt//` takes an address filter, whose symbols are resolved at start. */
struct perf_poke_event {
	const char *name;
	const char *filter;
};

/** Which latency is watched. IRQ, THREAD and USER begin at the timer's expected expiry. */
enum perf_poke_trigger_kind {
	PERF_POKE_TRIGGER_IRQ,	  /**< until the timer's interrupt */
	PERF_POKE_TRIGGER_THREAD, /**< until the thread runs that the timer wakes: timerlat's or the
				     cyclic workload's; with the workload none any thread that
				     sleeps */
	PERF_POKE_TRIGGER_USER,	  /**< until timerlat's thread is back from user space: needs the
				     workload user and Linux 6.5 */
	PERF_POKE_TRIGGER_WAKEUP, /**< from any wakeup of `task` until it runs */
	PERF_POKE_TRIGGER_REPORT, /**< as perf_poke__report() says */
	PERF_POKE_TRIGGER_EVENT,  /**< the tracepoint `text`, as "tp:oom:mark_victim" or
				     "tp:sched:sched_switch/next_prio < 50/", is hit on a watched
				     CPU; there is no latency, but 0. Not one of system calls
				     (syscalls:sys_enter_NAME) */
	PERF_POKE_TRIGGER_MARKER, /**< a text that has `text`, of at most 31 bytes, among its first
				     128 bytes is written to a trace_marker of tracefs; the
				     latency is the last number of the text that " us" or " >"
				     follows, in microseconds, else 0 */
	PERF_POKE_TRIGGER_SPAN,	  /**< from an entry to an exit, as `text` says: "NAME=ENTRY..EXIT",
				     as the command line's --span; the exit is on a watched CPU */
	PERF_POKE_TRIGGER_NOISE,  /**< a noise of the tracer osnoise: how long something kept its
				     thread from running, from 1 us on */
};

/** A latency of at least this is a spike. */
struct perf_poke_trigger {
	enum perf_poke_trigger_kind kind;
	uint64_t threshold_ns; /**< 0: that of the options; a kind with an argument has none */
	const char *text;      /**< what EVENT, MARKER and SPAN watch; NULL for the others */
};

/** A frame of a stack. */
struct perf_poke_frame {
	uint64_t address;
	const char *symbol; /**< kernel function; NULL: unknown, or user space */
	const char *file;   /**< the symbol's module, or the file mapped in user space; NULL: the
			       kernel proper, or unknown */
	uint64_t offset;    /**< from the symbol, or in the file */
	bool user;
	size_t build_id_size; /**< of the file; 0: none, or unknown */
	uint8_t build_id[20];
};

/** A branch, as the CPU recorded it. Never grows. */
struct perf_poke_branch {
	uint64_t from, to;
	uint64_t flags; /**< as of struct perf_branch_entry in linux/perf_event.h */
};

/** A spike. Points in time are CLOCK_MONOTONIC. */
struct perf_poke_spike {
	size_t sz;		   /**< size of this struct as the library knows it */
	uint64_t sequence;	   /**< 1 for the session's first spike */
	uint64_t time_ns;	   /**< when the trigger saw it */
	uint64_t latency_ns;	   /**< actual_ns - expected_ns; 0 if poked */
	uint64_t expected_ns;	   /**< the timer's expected expiry */
	uint64_t actual_ns;	   /**< the kernel's "now" of the timer interrupt */
	uint64_t function;	   /**< address of the timer's function */
	uint64_t timer;		   /**< address of the timer */
	const char *function_name; /**< its symbol, or NULL if unknown */
	int cpu;       /**< the timer's CPU, or the one on which the task was woken; -1 if
			  poked */
	int pid;       /**< interrupted process (the kernel's tgid) */
	int tid;       /**< interrupted thread */
	char comm[16]; /**< its name */
	bool idle;     /**< the idle task was interrupted */
	bool poked;    /**< caused by perf_poke__poke() */
	bool rtla;     /**< rtla's threshold stopped it: the latency is rtla's, times are
			  those of its report, the timer is unknown */
	enum perf_poke_trigger_kind kind; /**< which latency it is */
	uint64_t threshold_ns;		  /**< the threshold that it reached */
	/** all latencies of the same activation of the timer, including later ones; 0: unknown */
	uint64_t irq_ns, thread_ns, user_ns;
	/** how long other contexts ran since the timer interrupt, as osnoise reports it, each net
	 * of what interrupted it; with the workloads timerlat and user and the triggers thread or
	 * user
	 */
	bool has_noise;
	uint64_t noise_irq_ns, noise_softirq_ns, noise_thread_ns, noise_nmi_ns;
	int ran_cpu;	  /**< where it ran: not `cpu` if the thread was migrated; -1 if poked */
	bool ran_watched; /**< ran_cpu is watched: its trace is in the capture too */
	/** what was interrupted, innermost first, those of the kernel before those of user space;
	 * the interrupt's own are left out. Valid as long as the capture. */
	const struct perf_poke_frame *const *stack;
	int stack_pid, stack_tid; /**< whose it is: the thread that was interrupted, or, where a
				   * thread was late, the one that was switched from when it ran */
	size_t nr_frames;	  /**< 0: unknown */
	/** the last branches before the spike, newest first, where the CPU records them; those of
	 * the timer's interrupt come first. As long valid as the stack. */
	const struct perf_poke_branch *branches;
	size_t nr_branches;
	/** whether interrupts were off until the timer's came: 1, or 0: it came where they were on;
	 * -1: not known */
	int irqs_off;
	int policy;	 /**< of the interrupted thread: SCHED_...; -1: unknown */
	int rt_priority; /**< as in sched_setscheduler(); 0: not real-time */
	int nice;
	char label[64]; /**< of perf_poke__report(), the marker, or the event's name; of a noise
			   its largest part, as "thread kworker/3:1:77"; "": none */
	uint64_t noise_most_ns; /**< of a noise: that part's */
	/** of a thread that was late: the stack of the thread that had the CPU when the timer's
	 * interrupt or the wakeup came, if it is another one than `stack`; as that is */
	const struct perf_poke_frame *const *holder;
	int holder_pid, holder_tid;
	size_t nr_holder_frames; /**< 0: unknown, or none */
	bool holder_interrupted; /**< taken at the timer's interrupt; otherwise where the thread was
				  * switched from */
};

/** One bucket of the latency histogram: `count` latencies of low_ns <= latency < high_ns. */
struct perf_poke_bucket {
	uint64_t low_ns;
	uint64_t high_ns; /**< UINT64_MAX in the last one */
	uint64_t count;
};

/** One finished, or failed, capture; or one on disk. */
struct perf_poke_capture {
	size_t sz; /**< size of this struct as the library knows it */
	int error; /**< 0, or a negative errno: nothing was kept, `path` is NULL */
	/** the folder; valid as long as the capture, as all pointers: during the callback, or until
	 * perf_poke__capture_close() */
	const char *path;
	const struct perf_poke_spike *spike;
	uint64_t wall_ns;     /**< when, since 1970; 0: unknown */
	const char *recorder; /**< its name */
	uint64_t skid_ns;     /**< from the spike until its CPU's trace stood still */
	uint64_t blind_ns;    /**< from the spike until the session was re-armed */
	/** from the oldest event of the spike's CPU to the spike; UINT64_MAX: unknown */
	uint64_t history_ns;
	uint64_t events; /**< records in the capture */
	uint64_t lost;	 /**< events missing from its history */
	uint64_t size;	 /**< bytes of perf.data */
	/** bytes of Intel PT of the spike's CPU in the capture; 0: none */
	uint64_t trace_bytes;
	/** bytes that the CPU wrote after the spike; UINT64_MAX: unknown */
	uint64_t bytes_after_spike;
	/** false: the trace has too few timestamps, and this is the maximum; or the ring has
	 * wrapped since the spike (history_ns is 0), and this is the minimum */
	bool bytes_after_spike_exact;
	const char *kernel;   /**< its release; NULL: unknown, or the session is this process's */
	const char *hostname; /**< the same */
	/** of a capture on disk: the latencies of the session up to the spike, on the spike's CPU,
	 * or on all for a poke; in ascending order. perf_poke__capture_number() has their
	 * percentiles, as "statistics.p99_ns". */
	const struct perf_poke_bucket *buckets;
	size_t nr_buckets; /**< 0: unknown */
	bool control;	   /**< no spike: its latency was taken at a random moment */
};

/** perf_poke__poll() and perf_poke__stop() call this for each capture. */
typedef void (*perf_poke_capture_fn)(void *ctx, const struct perf_poke_capture *capture);

/** Receives the path of a capture; valid during the call only. */
typedef void (*perf_poke_path_fn)(void *ctx, const char *path);

/** How the recorder pt freezes the trace at the spike. */
enum perf_poke_freeze {
	PERF_POKE_FREEZE_AUTO,	 /**< the first of these that works */
	PERF_POKE_FREEZE_PAUSE,	 /**< the kernel pauses the trace at the spike */
	PERF_POKE_FREEZE_SAMPLE, /**< the kernel copies its newest part at the spike */
	PERF_POKE_FREEZE_SIGNAL, /**< the session stops it once it has woken up */
};

/** How a signal gets to a target. If one way refuses at a spike, the next one that works on this
 * system follows at once; RELAY is the last. */
enum perf_poke_delivery {
	PERF_POKE_DELIVERY_AUTO,       /**< the first of TASK_WORK, FASYNC, RELAY that works */
	PERF_POKE_DELIVERY_TASK_WORK,  /**< a callback in the target's context (Linux 6.18) */
	PERF_POKE_DELIVERY_FASYNC,     /**< the target owns a perf event that overflows */
	PERF_POKE_DELIVERY_TRACEPOINT, /**< the target signals itself when it polls its events:
					  needs `wake` */
	PERF_POKE_DELIVERY_RELAY,      /**< by the thread that calls perf_poke__poll() */
};

/** A thread that each spike signals. It is dropped with a warning once it has ended, called
 * execve(), or no longer catches the signal. */
struct perf_poke_target {
	/** process or thread, in the caller's PID namespace */
	int pid;
	/** 0: SIGUSR2 */
	int signal;
	/** accept a process that does not look like perf */
	bool any_process;
	/** WAKE (at most 23 bytes): the target waits on an event bpf_trace:bpf_trace_printk with
	 * the filter `bpf_string ~ "WAKE*"`. NULL: it does not. At most one target has it. */
	const char *wake;
};

/**
 * The options of a session. Zero or NULL selects the default, except for `sz` and `cpus`.
 * perf_poke__new() copies strings and arrays.
 */
struct perf_poke_opts {
	/** sizeof(struct perf_poke_opts) */
	size_t sz;
	/** receives messages; NULL: see perf_poke__last_error() */
	perf_poke_log_fn log;
	void *log_ctx;
	perf_poke_capture_fn on_capture;
	/** called as on_capture for each reported capture that keep_worst or max_disk removes */
	perf_poke_path_fn on_removed;
	void *capture_ctx; /**< of both */
	/** of perf_poke__opts_set(); NULL at first */
	void *owned;
	/** CPUs to watch, as `2,4-7`; required */
	const char *cpus;
	/** a latency of at least this is a spike; default 30 us */
	uint64_t threshold_ns;
	/** only timers that run this function: a kernel symbol, an 0xADDRESS, or "any"; default:
	 * timerlat_irq with the workloads timerlat and user, else any */
	const char *function;
	enum perf_poke_workload workload;
	/** of the workload; default 1 ms; timerlat: at least 100 us, in whole microseconds */
	uint64_t period_ns;
	/** SCHED_FIFO priority of the workload's threads, 1 to 99; default 95 */
	int priority;
	enum perf_poke_recorder recorder;
	/** events to record: tracepoints and events to sample, or one intel_pt/TERMS/MODIFIERS;
	 * default, also of the kind that is not named: the recorder's */
	const struct perf_poke_event *events;
	size_t nr_events;
	/** sizeof(struct perf_poke_event), if there are any; the next likewise */
	size_t event_sz, trigger_sz, target_sz;
	/** bytes of ring per CPU, rounded up to a power of two of pages; default 4 MiB (events), 16
	 * MiB (pt) */
	uint64_t buffer_size;
	/** disarm after this many complete captures; default: no limit */
	uint64_t max_captures;
	/** folder for captures; default "perf-poke.data". Created if missing, and again, with a
	 * message, if it is moved or removed. Only its owner has access */
	const char *output;
	/** command line to note in captures, `argc` strings; may be NULL */
	const char *const *argv;
	size_t argc;
	/** this and the next four: recorder pt only */
	enum perf_poke_freeze freeze;
	/** capture the traces of all watched CPUs, not only of the spike's CPU */
	bool freeze_all;
	/** do not record context switches */
	bool no_switch_events;
	/** bytes of trace that FREEZE_SAMPLE copies; default and maximum: 60 KiB */
	uint64_t sample_size;
	/** write at most so many of the newest bytes of trace; default: all */
	uint64_t history_size;
	/** threads that each spike signals, at most 16, with any recorder */
	const struct perf_poke_target *targets;
	size_t nr_targets;
	enum perf_poke_delivery delivery;
	/** perf_poke__poll() returns -ESRCH when the last target has ended or was dropped */
	bool exit_with_target;
	/** name for perf_poke__sessions(): at most 63 of A-Za-z0-9._- ; default: none, the session
	 * is not listed. If it cannot be listed, a warning says why */
	const char *session;
	/** scheduler of the workload's threads instead of `priority`: f:PRIORITY (SCHED_FIFO),
	 * r:PRIORITY (SCHED_RR), o:NICE (SCHED_OTHER), d:RUNTIME:PERIOD (SCHED_DEADLINE). The
	 * workload cyclic takes f only */
	const char *scheduler;
	/** cgroup for the threads of timerlat and user, a folder of /sys/fs/cgroup; ".": the
	 * session's own */
	const char *cgroup;
	/** hold /dev/cpu_dma_latency at dma_latency_us while the session runs */
	bool hold_dma_latency;
	uint32_t dma_latency_us;
	/** disable idle states above deepest_idle_state on watched CPUs while the session runs */
	bool limit_idle_state;
	uint32_t deepest_idle_state;
	/** what is watched, each kind at most once; default: PERF_POKE_TRIGGER_IRQ */
	const struct perf_poke_trigger *triggers;
	size_t nr_triggers;
	/** whose wakeups PERF_POKE_TRIGGER_WAKEUP watches: a process ID, thread ID or name */
	const char *task;
	/** keep so many complete captures of each kind, those of the largest latencies; default:
	 * all
	 */
	uint64_t keep_worst;
	/** keep at most so many bytes of captures; data that captures share (the kernel's symbols)
	 * counts once; default: no limit */
	uint64_t max_disk;
	/** ignore spikes for this long after one */
	uint64_t cooldown_ns;
	/** measure for `warmup_ns` (default 10 s) without taking spikes; then the threshold of each
	 * trigger is this percentile (as 99.99), if it exceeds the threshold of the options; 0: off
	 */
	double adaptive_percent;
	uint64_t warmup_ns;
	/** number of equally wide buckets, per CPU and kind, for perf_poke__linear_histogram(); all
	 * together have at most 1 GiB; default: none */
	uint64_t histogram_entries;
	/** their width; default 1 us */
	uint64_t histogram_width_ns;
	/** user ID that is trusted like root: may own the folder for captures and those above it.
	 * Default: they must be root's or the caller's. Others may not write to them unless they
	 * have the sticky bit */
	uint64_t output_owner;
	/** recorder pt: also write each ring unchanged to `ring.cpuN`, oldest byte first, including
	 * what perf.data leaves out */
	bool raw_rings;
	/** recorder events: record callchains of tracepoints too */
	bool call_graph;
	/** recorder events: do not sample cycles at 10 kHz, the default if the PMU interrupts by
	 * NMI and `events` names nothing to sample */
	bool no_samples;
	/** also take so many controls: captures of latencies below the threshold, to compare spikes
	 * with. There is one random moment in each interval, and the next latency of a random CPU
	 * and kind is taken; of sessions that watch EVENT or MARKER alone, that of a timer's
	 * interrupt. A spike that comes first makes it another moment. Controls do not count as
	 * captures for max_captures, keep_worst and max_disk; once max_captures is reached, only
	 * controls are taken. Not with targets. Default: none */
	uint64_t controls;
	/** default 10 s */
	uint64_t control_interval_ns;
};

/** An option of a session that has a name: those of `perf-poke-ctl start` that are of its session.
 * Static. */
struct perf_poke_option {
	const char *name;    /**< as "threshold" */
	char letter;	     /**< short name on a command line; 0: none */
	const char *metavar; /**< what its value is called; NULL: it takes none */
	const char *help;    /**< may have several lines */
	int axis;	     /**< enum perf_poke_axis that has its values; -1: none */
	bool required;
	bool repeatable; /**< each value adds to those before; else it replaces them */
};

/** Latencies seen on one CPU, or on all. */
struct perf_poke_stats {
	size_t sz;	 /**< sizeof(struct perf_poke_stats), set by the caller */
	uint64_t count;	 /**< expiries watched */
	uint64_t min_ns; /**< 0 if count is 0 */
	uint64_t max_ns;
	uint64_t sum_ns;
	uint64_t spikes;  /**< expiries at or over the threshold */
	uint64_t unarmed; /**< spikes while the session was not armed: counted, not captured */
	uint64_t missed;  /**< expiries that the trigger could not see (BPF recursion) on any CPU;
			     of PERF_POKE_TRIGGER_IRQ, else 0 */
	uint64_t last_ns; /**< the newest; of several CPUs the largest of those */
	/** of PERF_POKE_TRIGGER_SPAN, what is not measured, on any CPU: exits without an entry */
	uint64_t not_entered;
	uint64_t reentered;   /**< entries in an open span */
	uint64_t thread_died; /**< spans whose thread ended before their exit */
	uint64_t no_room;     /**< entries while more spans were open than are remembered */
};

/** One row of perf_poke__check(). Strings are valid during the callback only. */
struct perf_poke_capability {
	size_t sz;	     /**< size of this struct as the library knows it */
	const char *name;    /**< one word, stable */
	const char *purpose; /**< what it is for */
	const char *detail;  /**< what was found, or why it is missing; never NULL */
	const char *remedy;  /**< what to do without it, or what is used instead; never NULL */
	bool have;
	bool required; /**< a session cannot start without it */
};

/** Called once for each capability. */
typedef void (*perf_poke_check_fn)(void *ctx, const struct perf_poke_capability *capability);

/**
 * The options that perf_poke__opts_set() knows, in the order for --help.
 *
 * @param i  from 0 on
 *
 * Returns: the option; NULL past the last one.
 * Since: 0.1
 */
const struct perf_poke_option *perf_poke__option(size_t i);

/**
 * Set an option by its name, as the command line does. `sz` must be set, and what is not set, zero.
 * A binding that does not know all members provides 4096 zero bytes, and says so in `sz`.
 *
 * @param opts  options, for perf_poke__opts_release(); arrays of the caller are replaced
 * @param name  as "threshold"
 * @param value  as "30us"; copied. NULL: the option takes none; it also takes "yes" and "no"
 *
 * Returns: 0, or with perf_poke__last_error(), which does not repeat name and value
 * - -ENOENT: there is no such option
 * - -EINVAL: the value is malformed or out of range; or opts->sz is too small
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__opts_set(struct perf_poke_opts *opts, const char *name, const char *value);

/**
 * Free what perf_poke__opts_set() has allocated. Options that it has set are no longer valid; but
 * perf_poke__new() has copied them.
 *
 * @param opts  options
 * Since: 0.1
 */
void perf_poke__opts_release(struct perf_poke_opts *opts);

/**
 * Create a session: check and copy its options. Opens nothing.
 *
 * @param pp  set to the session, for perf_poke__free(); unchanged on failure
 * @param opts  options
 *
 * Returns: 0 or (a message names the option and the reason)
 * - -EINVAL: an option is malformed or out of range
 * - -ENXIO: a CPU does not exist or is offline
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__new(struct perf_poke **pp, const struct perf_poke_opts *opts);

/**
 * Why the last perf_poke__opts_set(), perf_poke__new(), perf_poke__start(), perf_poke__poll() or
 * perf_poke__capture_open() of this thread failed: the message of level PERF_POKE_LOG_ERROR, or
 * else the name of the errno.
 *
 * Returns: a string valid until the next call of one of these in this thread; "" if it did not
 * fail.
 * Since: 0.1
 */
const char *perf_poke__last_error(void);

/**
 * What the session uses for an option, also where the options said AUTO.
 *
 * @param pp  session
 * @param axis  RECORDER, WORKLOAD or DELIVERY
 *
 * Returns: the name of the choice, static, as "events"; "none" for the delivery of a session
 * without targets; NULL for other axes.
 * Since: 0.1
 */
const char *perf_poke__chosen(const struct perf_poke *pp, enum perf_poke_axis axis);

/**
 * The name under which perf_poke__sessions() lists the session.
 *
 * @param pp  session
 *
 * Returns: a string owned by the session, valid until perf_poke__stop(); NULL: it is not listed.
 * Since: 0.1
 */
const char *perf_poke__session(const struct perf_poke *pp);

/**
 * The folder for captures, for openat(): the folder that was checked at start, even if its path now
 * leads elsewhere.
 *
 * @param pp  session
 *
 * Returns: a descriptor owned by the session, valid until perf_poke__stop(), or
 * - -ENOTCONN: not started
 * Since: 0.1
 */
int perf_poke__output(const struct perf_poke *pp);

/**
 * Load the trigger, open the recorder, start the workload, arm. On failure everything is undone,
 * and the session may be started again.
 *
 * @param pp  session
 *
 * Returns: 0 or
 * - -EPERM: a capability or kernel setting forbids it (the message names it)
 * - -ENOENT: no such event or symbol
 * - -EINVAL: the kernel rejects a filter; a CPU is outside the cpuset
 * - -EOPNOTSUPP: the kernel has no BTF
 * - -EBUSY: already started, or called in a callback
 * - -EEXIST: a session of this name is alive
 * - -EACCES, -EROFS, -ENOSPC, -ENOTDIR: `output` cannot be written
 * - -ENOMEM, -EMFILE
 * Since: 0.1
 */
int perf_poke__start(struct perf_poke *pp);

/**
 * The descriptor to wait on: readable while perf_poke__poll() has work to do.
 *
 * @param pp  session
 *
 * Returns: a descriptor owned by the session, valid from start to stop, or
 * - -ENOTCONN: not started
 * Since: 0.1
 */
int perf_poke__fd(const struct perf_poke *pp);

/**
 * Wait for spikes and finished captures, and handle them: freeze, copy, re-arm, report. This thread
 * copies the rings: give it a real-time priority for a short skid.
 *
 * @param pp  session
 * @param timeout_ms  longest wait; 0: does not wait, -1: no limit
 *
 * Returns: the number of captures reported, complete or failed; 0 at timeout; or
 * - -EINTR: a signal came
 * - -ENOTCONN: not started
 * - -EBUSY: called in a callback
 * - -EIO, -ENOMEM: a snapshot failed (with a message, without a callback); the session is re-armed
 * - -ECANCELED: somebody called perf_poke__session_stop(): call perf_poke__stop()
 * - -ESRCH: the last target has ended or was dropped (exit_with_target)
 * Since: 0.1
 */
int perf_poke__poll(struct perf_poke *pp, int timeout_ms);

/**
 * Take a capture now, as if a spike had occurred. A later perf_poke__poll() reports it.
 *
 * @param pp  session
 *
 * Any thread. Not refused by perf_poke__disarm().
 *
 * Returns: 0 or
 * - -ENOTCONN: not started
 * - -EBUSY: not armed: another capture is being taken, or max_captures is reached
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__poke(struct perf_poke *pp);

/** What a program has found late. Times are CLOCK_MONOTONIC. */
struct perf_poke_report {
	size_t sz;	      /**< sizeof(struct perf_poke_report) */
	uint64_t expected_ns; /**< when it should have happened, or begun */
	uint64_t actual_ns;   /**< when it happened, or ended; 0: now */
	int tid; /**< the thread that was late, as the session's process sees it; 0: the
		    caller */
	int cpu; /**< where; -1: where the caller runs */
	/** what it is, for the capture; NULL: nothing. 63 bytes of it are kept. Labels share the
	 * threshold and the histogram of PERF_POKE_TRIGGER_REPORT, so there is no limit to their
	 * number */
	const char *label;
};

/**
 * Report a latency, actual_ns - expected_ns. It counts as one of PERF_POKE_TRIGGER_REPORT, which
 * must be among `triggers`. If it reaches the threshold while the session is armed, the trace of
 * that CPU is frozen when the function returns, and a later perf_poke__poll() reports the capture.
 *
 * Any thread, at any time; async-signal-safe, and leaves errno alone. It takes no lock and
 * allocates no memory of the process. What cannot be captured, because it is below the threshold or
 * the session is not armed, is counted without a system call. Else it makes one, bpf(), which waits
 * for nothing, unless memory is short: the kernel allocates 88 bytes for its copy of the report.
 * For another CPU than its own it interrupts that CPU, and waits for it. bpf() requires CAP_BPF
 * before Linux 6.5, unless kernel.unprivileged_bpf_disabled is 0.
 *
 * @param pp  session
 * @param report  what was late
 *
 * Returns: 1 if it is a spike, and captured; 0 if it is counted only; or
 * - -ENOTCONN: not started
 * - -ENXIO: the CPU is not watched, or offline; or PERF_POKE_TRIGGER_REPORT is not watched
 * - -EINVAL: a field is out of range, or expected_ns is 0
 * - -EPERM: a capability is missing
 * Since: 0.1
 */
int perf_poke__report(struct perf_poke *pp, const struct perf_poke_report *report);

/**
 * Take no spikes until perf_poke__arm(); they are counted as `unarmed`. Before perf_poke__start():
 * the session starts like that. Any thread.
 *
 * @param pp  session
 * Since: 0.1
 */
void perf_poke__disarm(struct perf_poke *pp);

/**
 * Take spikes again. Any thread.
 *
 * @param pp  session
 * Since: 0.1
 */
void perf_poke__arm(struct perf_poke *pp);

/**
 * Latencies so far; also after perf_poke__stop().
 *
 * @param pp  session
 * @param kind  which latency
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param stats  filled in; the caller sets `stats->sz`
 *
 * Returns: 0 or
 * - -ENOTCONN: never started
 * - -ENXIO: the CPU or the kind is not watched; PERF_POKE_TRIGGER_IRQ always is
 * - -EINVAL: stats is NULL or its sz is too small
 * Since: 0.1
 */
int perf_poke__stats(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
		     struct perf_poke_stats *stats);

/**
 * The latency that a share of the expiries did not exceed, accurate to the width of a bucket
 * (1.6 %).
 *
 * @param pp  session
 * @param kind  which latency
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param percent  0 to 100, for instance 99.9
 * @param latency_ns  filled in; 0 if there were no expiries
 *
 * Returns: 0, or -ENOTCONN, -ENXIO as perf_poke__stats(), or -EINVAL: percent is out of range.
 * Since: 0.1
 */
int perf_poke__percentile(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			  double percent, uint64_t *latency_ns);

/**
 * The non-empty buckets of the histogram, in rising order.
 *
 * @param pp  session
 * @param kind  which latency
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param fn  called for each
 * @param ctx  passed to fn
 *
 * Returns: the number of buckets, or -ENOTCONN, -ENXIO as perf_poke__stats().
 * Since: 0.1
 */
int perf_poke__histogram(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			 void (*fn)(void *ctx, const struct perf_poke_bucket *bucket), void *ctx);

/**
 * The histogram with buckets of equal width, `histogram_width_ns`, from 0 on.
 *
 * @param pp  session
 * @param kind  which latency
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param counts  filled in: `histogram_entries` buckets, then one for larger latencies
 * @param nr  room in counts; further buckets are left out
 *
 * Returns: the number of buckets, histogram_entries + 1, or
 * - -ENOTCONN, -ENXIO as perf_poke__stats()
 * - -ENODATA: histogram_entries is 0
 * - -EINVAL: counts is NULL
 * Since: 0.1
 */
int perf_poke__linear_histogram(const struct perf_poke *pp, enum perf_poke_trigger_kind kind,
				int cpu, uint64_t *counts, size_t nr);

/**
 * The watched CPUs, in rising order.
 *
 * @param pp  session
 * @param nr  set to their number
 *
 * Returns: an array owned by the session, valid until perf_poke__free().
 * Since: 0.1
 */
const int *perf_poke__cpus(const struct perf_poke *pp, size_t *nr);

/**
 * Disarm, finish the captures at hand (their callbacks run), close recorder, workload and trigger.
 * Statistics stay readable.
 *
 * @param pp  session; NULL is ignored
 *
 * Returns: 0, also if it was not started, or
 * - -EBUSY: called in a callback, nothing is done
 * - -ESTALE: the folder for captures was moved or removed, so captures are not at their reported
 *   paths; everything else is done
 * Since: 0.1
 */
int perf_poke__stop(struct perf_poke *pp);

/**
 * Stop, and free.
 *
 * @param pp  session; NULL is ignored
 * Since: 0.1
 */
void perf_poke__free(struct perf_poke *pp);

/**
 * Probe the capabilities of this system by trying each.
 *
 * @param fn  called for each capability, always in the same order
 * @param ctx  passed to fn
 *
 * Returns: 0 if a session can start, or -EOPNOTSUPP: a required capability is missing.
 * Since: 0.1
 */
int perf_poke__check(perf_poke_check_fn fn, void *ctx);

/** One kind of latency of a session. */
struct perf_poke_session_kind {
	enum perf_poke_trigger_kind kind;
	uint64_t threshold_ns; /**< 0: counted only, no trigger */
	/** of all CPUs together; `missed` is 0: unknown */
	const struct perf_poke_stats *stats;
	uint64_t p50_ns, p99_ns, p999_ns;
	/** one for each of the session's cpus, as the next */
	const struct perf_poke_stats *const *cpu_stats;
	const uint64_t *cpu_p99_ns;
};

/** A session that has a name, read from what it has pinned; the session itself need not respond.
 * Strings and arrays are valid during the callback only. */
struct perf_poke_session {
	size_t sz; /**< size of this struct as the library knows it */
	const char *name;
	bool alive;	       /**< its controller is */
	int pid;	       /**< of the controller, in the initial PID namespace */
	uint64_t armed_for_ns; /**< since it was armed; 0: not yet */
	const int *cpus;
	size_t nr_cpus;
	uint64_t threshold_ns; /**< current: adaptive_percent and keep_worst raise it; 0: still
				  warming up */
	const char *function;  /**< "any" */
	const char *recorder, *freeze, *delivery, *workload, *output; /**< "": none */
	uint64_t captures, failed;
	uint64_t last_sequence;	  /**< of the last of these; 0: none yet */
	uint64_t pending;	  /**< captures that are being written */
	uint64_t max_captures;	  /**< UINT64_MAX: no limit */
	const char *last_capture; /**< folder; "": none yet */
	/** thread IDs of its targets, in the initial PID namespace */
	const int *targets;
	size_t nr_targets;
	uint64_t pokes;	 /**< signals that became pending at targets */
	uint64_t merged; /**< signals that coincided with another one */
	/** latencies that it counts; PERF_POKE_TRIGGER_IRQ is the first */
	const struct perf_poke_session_kind *const *kinds;
	size_t nr_kinds;
};

/** Called once for each session. */
typedef void (*perf_poke_session_fn)(void *ctx, const struct perf_poke_session *session);

/**
 * The sessions of this machine that have names, sorted by name, including dead ones, whose
 * controllers were killed.
 *
 * @param fn  called for each
 * @param ctx  passed to fn
 *
 * Returns: their number, or
 * - -EPERM, -EACCES: needs root
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__sessions(perf_poke_session_fn fn, void *ctx);

/**
 * Ask a session to end: its perf_poke__poll() returns -ECANCELED. Does not wait. Removes what a
 * dead session has pinned.
 *
 * @param name  of the session
 *
 * Returns: 1 if it was alive and has been asked, 0 if it was dead and is removed, or
 * - -ENOENT: no session has this name
 * - -EPERM, -EACCES: needs root
 * Since: 0.1
 */
int perf_poke__session_stop(const char *name);

/**
 * Take a capture now in a session, as perf_poke__poke() does.
 *
 * @param name  of the session
 *
 * Returns: the sequence number of the capture's spike (its lower 31 bits), or
 * - -ENOENT: no living session has this name
 * - -EBUSY: not armed: another capture is being taken, or the last was
 * - -EPERM, -EACCES: needs root
 * Since: 0.1
 */
int perf_poke__session_poke(const char *name);

/**
 * Open a session of another process, to report to it.
 *
 * @param name  of the session
 *
 * Returns: a descriptor for perf_poke__session_report(), which the caller closes, or
 * - -ENOENT: no living session has this name
 * - -ENXIO: it does not watch PERF_POKE_TRIGGER_REPORT
 * - -EPERM, -EACCES: needs root
 * Since: 0.1
 */
int perf_poke__session_open(const char *name);

/**
 * Report a latency to a session, as perf_poke__report() does: any thread, async-signal-safe; always
 * with the system call. After the session has ended nothing is captured.
 *
 * @param fd  from perf_poke__session_open()
 * @param report  what was late; its `tid` is one of the session's PID namespace
 *
 * Returns: as perf_poke__report(), but for -ENOTCONN; -EBADF: fd is not open
 * Since: 0.1
 */
int perf_poke__session_report(int fd, const struct perf_poke_report *report);

/**
 * Find captures on disk.
 *
 * @param folder  of captures, as `output` of a session; or a capture itself
 * @param fn  called with the path of each, in the order of their names, which begin with the time
 * @param ctx  passed to fn
 *
 * Returns: their number, or
 * - -ENOENT, -ENOTDIR, -EACCES: of the folder
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__captures(const char *folder, perf_poke_path_fn fn, void *ctx);

/**
 * Read what a capture tells of itself. It may be a stranger's: everything is checked.
 *
 * @param capture  set to it, for perf_poke__capture_close(); unchanged on failure
 * @param path  its folder
 *
 * Returns: 0, or with perf_poke__last_error()
 * - -EINVAL: its capture.json is not one
 * - -ENOTSUP: a later version has written it
 * - -ENOENT, -EACCES, -EIO, -ENOMEM
 * Since: 0.1
 */
int perf_poke__capture_open(const struct perf_poke_capture **capture, const char *path);

/**
 * Free what perf_poke__capture_open() has returned. Not for captures of callbacks.
 *
 * @param capture  capture; NULL is ignored
 * Since: 0.1
 */
void perf_poke__capture_close(const struct perf_poke_capture *capture);

/**
 * A number that a capture has beside the members of its struct, by its place in capture.json, which
 * perf-poke-capture(5) describes. Any thread, until perf_poke__capture_close().
 *
 * @param capture  from perf_poke__capture_open()
 * @param path  names with dots between them, as "hardware.smis"; a number is a row of a list, from
 *	0 on, as in "hardware.idle_states.0.exit_latency_ns". All but the rows of the histogram,
 *	which are `buckets`
 * @param value  set to it, in nanoseconds if the name ends in _ns; false is 0, true is 1. Unchanged
 *	on failure
 *
 * Returns: 0 or
 * - -ENOENT: it is missing, or null, which means unknown
 * - -EINVAL: it is not a number from 0 on
 * Since: 0.1
 */
int perf_poke__capture_number(const struct perf_poke_capture *capture, const char *path,
			      uint64_t *value);

/**
 * A text that a capture has, as perf_poke__capture_number(). It is UTF-8, but a stranger's: it may
 * have any length and control characters.
 *
 * @param capture  from perf_poke__capture_open()
 * @param path  as "kernel.version"
 *
 * Returns: the text, valid until perf_poke__capture_close(); NULL if missing or not a text.
 * Since: 0.1
 */
const char *perf_poke__capture_text(const struct perf_poke_capture *capture, const char *path);

/**
 * Restore kernel settings that killed sessions changed (timerlat, idle states). Every session does
 * so at start.
 *
 * @param log  receives messages; may be NULL
 * @param log_ctx  passed to log
 *
 * Returns: how many such sessions there were, or
 * - -EPERM, -EACCES: needs root
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__restore(perf_poke_log_fn log, void *log_ctx);

/**
 * The values of an option, in the order for --help.
 *
 * @param axis  the option
 * @param i  from 0 on
 *
 * Returns: the value; NULL past the last one, or if there is no such axis.
 * Since: 0.1
 */
const struct perf_poke_choice *perf_poke__choice(enum perf_poke_axis axis, size_t i);

/**
 * The name of a value.
 *
 * @param axis  the option
 * @param value  of its enum
 *
 * Returns: a static string, as "irq"; NULL if there is no such value.
 * Since: 0.1
 */
const char *perf_poke__name(enum perf_poke_axis axis, int value);

/**
 * The library's version.
 *
 * Returns: a static string, as "0.1.0".
 * Since: 0.1
 */
const char *perf_poke__version(void);

#ifdef __cplusplus
}
#endif

#endif
