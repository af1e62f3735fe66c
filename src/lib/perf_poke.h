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
 *	while (perf_poke__poll(pp, 1000) >= 0 && !captured)
 *		;
 *	perf_poke__stop(pp);
 *	perf_poke__free(pp);
 *
 * Conventions. Times are nanoseconds; points in time are CLOCK_MONOTONIC. Functions that return int
 * return a negative errno on failure. Pointers must not be NULL unless their description allows it.
 * The library never exits and never prints; its messages go to `opts.log`.
 *
 * Structs may get members at their end. Structs that callers fill begin with `sz`, their size when
 * compiled; bytes that this library does not know must be zero. Arrays that callers fill have the
 * size of a row next to them. Structs that the library fills are passed by pointer, even in arrays;
 * the larger ones begin with `sz`, which shows whether a member exists.
 *
 * Threads. Calls on one session must not overlap, except perf_poke__report(), perf_poke__poke(),
 * perf_poke__arm() and perf_poke__disarm(): any thread may call these until perf_poke__free(), even
 * while another thread is in perf_poke__poll() or perf_poke__stop(). Sessions are independent of
 * each other, even while they start and stop. Callbacks run in the thread that called the library.
 *
 * Callbacks. A callback may call, for its own session, the functions for any thread, and those that
 * read (statistics, names, captures on disk). perf_poke__start(), perf_poke__poll() and
 * perf_poke__stop() return -EBUSY there: to end a session, set a flag, and stop it after
 * perf_poke__poll() has returned. A callback must not call perf_poke__free(). perf_poke__stop()
 * still reports captures. Afterwards statistics remain, but the descriptors of perf_poke__fd() and
 * perf_poke__output() are closed, and their numbers may be reused.
 *
 * The process. Besides its own memory, threads and descriptors, a session affects:
 * - RLIMIT_NOFILE: if descriptors run out, the soft limit is raised, up to the hard limit, for good
 * - RLIMIT_MEMLOCK: raised by libbpf on kernels that charge BPF to it (before 5.11)
 * - libbpf's print function: replaced while a function of a session loads programs; messages of
 *   other threads still go to the previous function
 * - children, with the workload user: one for each CPU, without SIGCHLD, waited for by its ID, and
 *   killed when the process ends
 *
 * After fork(), the session is the parent's: in the child, perf_poke__poll() and perf_poke__stop()
 * return -ECHILD, and perf_poke__free() frees memory and gives up locks, but ends nothing, restores
 * nothing and removes nothing. perf_poke__report(), perf_poke__poke(), perf_poke__arm() and
 * perf_poke__disarm() act on the parent's session. The session's descriptors, which are
 * close-on-exec, keep its events and programs in the kernel until the child, too, ends or executes
 * a program. A session that the child makes itself is independent of the parent's.
 *
 * It does not change signal handlers, signal masks, the working directory or the environment.
 * Threads of the session inherit the signal mask of the thread that starts it.
 *
 * Latency. The latency of an expiry is the kernel's "now" of the timer interrupt (the argument of
 * timer:hrtimer_expire_entry) minus the programmed expiry, both on the timer's own clock base. The
 * kernel reads the clock once per interrupt, for all timers that expire in it. So the latency
 * includes the delay of the interrupt, but not of earlier timers in the same interrupt. timerlat
 * and cyclictest read the clock later and show a little more. A timer that fires early, within its
 * slack, has latency 0.
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

/** Sets of named values: options with an enum, and severities. */
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
	const char *help; /**< short description */
	/** for a trigger without a threshold: its argument, such as TEXT; else NULL */
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
					trigger watches timers */
	PERF_POKE_WORKLOAD_CYCLIC,   /**< a SCHED_FIFO thread per CPU that sleeps for a period at a
					time */
	PERF_POKE_WORKLOAD_NONE,     /**< only the machine's own timers */
	PERF_POKE_WORKLOAD_TIMERLAT, /**< the kernel's tracer; a running one is used unchanged */
	PERF_POKE_WORKLOAD_USER,     /**< timerlat with threads of the session in user space */
	PERF_POKE_WORKLOAD_OSNOISE,  /**< the kernel's tracer osnoise, whose threads keep the CPUs
					busy; a running one is used unchanged. AUTO chooses it for
					PERF_POKE_TRIGGER_NOISE */
};

/** What records the trace. */
enum perf_poke_recorder {
	PERF_POKE_RECORDER_AUTO,   /**< perf if there are targets; else pt if the machine has it and
				      no other events are named; ftrace if its tracer is named;
				      else events */
	PERF_POKE_RECORDER_EVENTS, /**< tracepoints and samples in overwrite rings */
	PERF_POKE_RECORDER_PT,	   /**< Intel PT: every branch */
	PERF_POKE_RECORDER_PERF,   /**< the poked perf record of another process: see `targets` */
	PERF_POKE_RECORDER_NONE,   /**< nothing: a capture has the spike and its stack */
	PERF_POKE_RECORDER_FTRACE, /**< a tracing instance of the kernel: functions and tracepoints,
				      written as trace.dat */
};

/** An event to record: a tracepoint `sys:name`, where name may be a glob, or an event to sample,
 * such as `cpu-clock`, `cycles:pp` or `cpu/event=0x3c/freq=1000/k`. The filter, or NULL, is as in
 * `perf record --filter`; for `intel_pt//` an address filter, whose symbols are resolved at start.
 * Or a tracer of ftrace: `function_graph/TERM,.../`, `function/TERM,.../` or `nop`, where a term is
 * `functions=PATTERN` or `notrace=PATTERN`, both repeatable, or, of function_graph, `max-depth=N`.
 */
struct perf_poke_event {
	const char *name;
	const char *filter;
};

/** Kinds of latency. IRQ, THREAD and USER begin at the timer's expected expiry. */
enum perf_poke_trigger_kind {
	PERF_POKE_TRIGGER_IRQ,	  /**< until the timer's interrupt runs */
	PERF_POKE_TRIGGER_THREAD, /**< until the thread that the timer wakes runs: a thread of
				     timerlat or cyclic; with the workload none, any thread that
				     sleeps */
	PERF_POKE_TRIGGER_USER,	  /**< until timerlat's thread has returned from user space: needs
				     the workload user and Linux 6.5 */
	PERF_POKE_TRIGGER_WAKEUP, /**< from any wakeup of `task` until it runs */
	PERF_POKE_TRIGGER_REPORT, /**< reported by perf_poke__report() */
	PERF_POKE_TRIGGER_EVENT,  /**< each hit of the tracepoint `text` on a watched CPU, such as
				     "tp:oom:mark_victim" or "tp:sched:sched_switch/next_prio <
				     50/"; the latency is 0. Not for tracepoints of system calls
				     (syscalls:sys_enter_NAME) */
	PERF_POKE_TRIGGER_MARKER, /**< each write to a trace_marker of tracefs with `text` (at most
				     31 bytes) in its first 128 bytes; the latency is the last
				     number before " us" or " >", in microseconds, else 0 */
	PERF_POKE_TRIGGER_SPAN,	  /**< from an entry to an exit on a watched CPU; `text` is
				     "NAME=ENTRY..EXIT", as for --span of the command line */
	PERF_POKE_TRIGGER_NOISE,  /**< a noise of the tracer osnoise: time in which its thread did
				     not run, at least 1 us */
	/** something else has had the CPU of a thread of user space, or of `task`: an interrupt, a
	 * softirq, an NMI or another thread; see perf_poke__sources() */
	PERF_POKE_TRIGGER_INTERRUPTION,
};

/** A latency of at least this is a spike. */
struct perf_poke_trigger {
	enum perf_poke_trigger_kind kind;
	uint64_t threshold_ns; /**< 0: that of the options; unused for kinds with an argument */
	const char *text;      /**< for EVENT, MARKER and SPAN. For THREAD and WAKEUP "overrun": a
				* thread that has not run when the threshold is over is a spike
				* then, not when it runs. Otherwise NULL */
};

/** A frame of a stack. */
struct perf_poke_frame {
	uint64_t address;
	const char *symbol; /**< kernel function, or code that a process compiled itself, from
			       its /tmp/perf-PID.map; NULL: unknown, or of a file */
	const char *file;   /**< the symbol's module, or the file mapped in user space; NULL: the
			       kernel proper, or unknown */
	uint64_t offset;    /**< from the symbol, or in the file */
	bool user;
	size_t build_id_size; /**< of the file; 0: none, or unknown */
	uint8_t build_id[20];
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
	bool rtla;     /**< taken by rtla's threshold: latency and times are rtla's, the
			  timer is unknown */
	enum perf_poke_trigger_kind kind; /**< which latency it is */
	uint64_t threshold_ns;		  /**< the threshold that it reached */
	/** all latencies of the same activation of the timer, including later ones; 0: unknown */
	uint64_t irq_ns, thread_ns, user_ns;
	/** times of other contexts since the timer interrupt, from osnoise, each without what
	 * interrupted it; for the workloads timerlat and user and the triggers thread and user */
	bool has_noise;
	uint64_t noise_irq_ns, noise_softirq_ns, noise_thread_ns, noise_nmi_ns;
	int ran_cpu;	  /**< where it ran: not `cpu` if the thread was migrated; -1 if poked */
	bool ran_watched; /**< ran_cpu is watched: its trace is in the capture too */
	/** interrupted frames, innermost first: kernel, then user space, without those of the
	 * interrupt. Valid as long as the capture. */
	const struct perf_poke_frame *const *stack;
	int stack_pid, stack_tid; /**< its owner: the interrupted thread; for a late thread, the one
				   * that was switched out when it ran */
	size_t nr_frames;	  /**< 0: unknown */
	/** whether interrupts were off right before the timer's interrupt: 1, 0, or -1: unknown */
	int irqs_off;
	int policy;	 /**< of the interrupted thread: SCHED_...; -1: unknown */
	int rt_priority; /**< as in sched_setscheduler(); 0: not real-time */
	int nice;
	char label[64]; /**< label of perf_poke__report(), the marker, or the name of the event; for
			   a noise its largest part, and for an interruption its source, such as
			   "thread kworker/3:1:77"; "": none */
	uint64_t noise_most_ns; /**< for a noise: time of its largest part */
	/** for a late thread: the stack of the thread that had the CPU at the timer's interrupt or
	 * at the wakeup, unless it is `stack`; see there. If the interrupt hit user space in time,
	 * only that frame. */
	const struct perf_poke_frame *const *holder;
	int holder_pid, holder_tid;
	size_t nr_holder_frames; /**< 0: unknown, or none */
	bool holder_interrupted; /**< taken at the timer's interrupt; otherwise where the thread was
				  * switched out */
	/** the thread whose latency it is; 0: of no thread in particular, as an interrupt's, or
	 * unknown */
	int late_pid, late_tid;
	char late_comm[16];	      /**< its name; "": unknown */
	int late_policy;	      /**< SCHED_...; -1: unknown */
	int late_priority, late_nice; /**< real-time priority and nice value */
	bool overrun;	   /**< not over yet: the thread had not run, or the span had not ended */
	uint64_t stack_ns; /**< for which `ran_cpu` took the stacks; 0: unknown */
	/** for a span: it may have been shorter, because at an exit the kernel skipped the program,
	 * in which another thread was preempted */
	bool uncertain;
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
	uint64_t skid_ns;     /**< from the spike until its CPU's trace was stopped */
	uint64_t blind_ns;    /**< from the spike until the session was re-armed */
	/** from the oldest event of the spike's CPU to the spike; UINT64_MAX: unknown */
	uint64_t history_ns;
	uint64_t events; /**< records in the capture */
	uint64_t lost;	 /**< events missing from its history */
	uint64_t size;	 /**< bytes of perf.data */
	/** bytes of Intel PT of the spike's CPU in the capture; 0: none */
	uint64_t trace_bytes;
	const char *kernel;   /**< its release; NULL: unknown, or of this process's session */
	const char *hostname; /**< likewise */
	/** for a capture on disk: latencies of the session up to the spike, on the spike's CPU, or
	 * on all CPUs for a poke, ascending. For percentiles see perf_poke__capture_number(), such
	 * as "statistics.p99_ns". */
	const struct perf_poke_bucket *buckets;
	size_t nr_buckets; /**< 0: unknown */
	uint64_t floor_ns; /**< with keep_worst, minimum latency of a capture at that time; 0: the
			    * threshold */
};

/** perf_poke__poll() and perf_poke__stop() call this for each capture. */
typedef void (*perf_poke_capture_fn)(void *ctx, const struct perf_poke_capture *capture);

/** Receives the path of a capture; valid during the call only. */
typedef void (*perf_poke_path_fn)(void *ctx, const char *path);

/** How the recorders pt and ftrace freeze the trace at the spike. */
enum perf_poke_freeze {
	PERF_POKE_FREEZE_AUTO,	   /**< the first of the recorder's that works */
	PERF_POKE_FREEZE_PAUSE,	   /**< pt: the kernel pauses the trace at the spike */
	PERF_POKE_FREEZE_SAMPLE,   /**< pt: the kernel copies its newest 60 KiB at the spike */
	PERF_POKE_FREEZE_SIGNAL,   /**< pt: the session stops it after waking up */
	PERF_POKE_FREEZE_SWAP,	   /**< ftrace: the kernel swaps the rings at the spike; the trace
				      goes on */
	PERF_POKE_FREEZE_TRACEOFF, /**< ftrace: the kernel stops the trace at the spike */
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

/** A thread that is signalled at each spike. If it ends, calls execve(), or stops catching the
 * signal, it is dropped with a warning. */
struct perf_poke_target {
	/** process or thread, in the caller's PID namespace */
	int pid;
	/** 0: that of the options */
	int signal;
	/** accept a process that does not look like perf */
	bool any_process;
	/** WAKE, at most 23 bytes: the target waits on an event bpf_trace:bpf_trace_printk with the
	 * filter `bpf_string ~ "WAKE*"`. NULL: it does not. For one target at most. */
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
	/** CPUs to watch, as `2,4-7`, or `all`, or `isolated`; required */
	const char *cpus;
	/** a latency of at least this is a spike; default 30 us */
	uint64_t threshold_ns;
	/** watch only timers with this callback: a kernel symbol, 0xADDRESS, or "any"; default:
	 * timerlat_irq with the workloads timerlat and user, else any */
	const char *function;
	enum perf_poke_workload workload;
	/** of the workload; default 1 ms; timerlat: at least 100 us, in whole microseconds */
	uint64_t period_ns;
	/** SCHED_FIFO priority of the workload's threads, 1 to 99; default 95 */
	int priority;
	enum perf_poke_recorder recorder;
	/** events to record: tracepoints and events to sample, or one intel_pt/TERMS/MODIFIERS; for
	 * the recorder ftrace tracepoints and a tracer, by default the first of function_graph,
	 * function and nop that the kernel accepts. The recorder has defaults for each kind that is
	 * not named */
	const struct perf_poke_event *events;
	size_t nr_events;
	/** sizeof() a row of `events`, `triggers` and `targets`, for those that are set */
	size_t event_sz, trigger_sz, target_sz;
	/** bytes of ring per CPU, rounded up to a power of two of pages; default 4 MiB (events,
	 * ftrace), 16 MiB (pt) */
	uint64_t buffer_size;
	/** disarm after this many complete captures, other than by pokes; UINT64_MAX: no limit.
	 * Default: 1, with keep_worst no limit */
	uint64_t max_captures;
	/** folder for captures; default "perf-poke.data". Created if missing, and again, with a
	 * message, if it is moved or removed. Only its owner has access */
	const char *output;
	/** command line to note in captures, `argc` strings; may be NULL */
	const char *const *argv;
	size_t argc;
	/** recorders pt and ftrace */
	enum perf_poke_freeze freeze;
	/** recorder pt only, like the next: capture the traces of all watched CPUs, not only of the
	 * spike's CPU */
	bool freeze_all;
	/** do not record context switches */
	bool no_switch_events;
	/** threads that each spike signals, at most 16, with any recorder. perf_poke__poll()
	 * returns -ESRCH when the last of them has ended or was dropped */
	const struct perf_poke_target *targets;
	size_t nr_targets;
	enum perf_poke_delivery delivery;
	/** name for perf_poke__sessions(): at most 63 of A-Za-z0-9._- ; default: none, the session
	 * is not listed. If it cannot be listed, a warning gives the reason */
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
	/** latencies to watch, each kind at most once; default: PERF_POKE_TRIGGER_IRQ */
	const struct perf_poke_trigger *triggers;
	size_t nr_triggers;
	/** of PERF_POKE_TRIGGER_WAKEUP, INTERRUPTION: a process ID, thread ID or name */
	const char *task;
	/** keep this many complete captures of each kind, with the largest latencies; default: all
	 */
	uint64_t keep_worst;
	/** keep at most this many bytes of captures; shared data (the kernel's symbols) counts
	 * once; default: no limit */
	uint64_t max_disk;
	/** ignore spikes for this long after one */
	uint64_t cooldown_ns;
	/** user ID trusted like root and the caller: may own the folder for captures and its parent
	 * folders, and becomes the owner of captures and of the folder if it is created. Other
	 * users must not be able to write to them, unless they have the sticky bit. Default: none
	 */
	uint64_t output_owner;
	/** recorder pt: also write each whole ring to `ring.cpuN`, oldest byte first */
	bool raw_rings;
	/** recorder events: also record callchains of tracepoints; ftrace: of switches and wakeups
	 */
	bool call_graph;
	/** recorder events: do not sample cycles, each 300,000th, the default if the PMU interrupts
	 * by NMI, no watched CPU is isolated or nohz_full, and `events` names nothing to sample */
	bool no_samples;
	/** do not take the stacks of kernel and user at a spike, nor of the task that had the CPU
	 */
	bool no_stack;
	/** of the targets whose own is 0; default: SIGUSR2 */
	int signal;
	/** accept targets that do not look like perf */
	bool any_process;
	/** tracing instances of others, by name, whose trace the kernel stops at each spike, with
	 * any recorder; "top": the main one. The trigger that does it is removed at the end */
	const char *const *stop_tracing;
	size_t nr_stop_tracing;
};

/** An option of a session by name, as of `perf-poke-ctl start`. Static. */
struct perf_poke_option {
	const char *name;    /**< such as "threshold" */
	char letter;	     /**< short name on a command line; 0: none */
	const char *metavar; /**< name of its value in help; NULL: takes no value */
	const char *help;    /**< may have several lines */
	int axis;	     /**< enum perf_poke_axis of its values; -1: none */
	bool required;
	bool repeatable; /**< values add up; otherwise the last one counts */
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
	uint64_t last_ns; /**< the newest; for several CPUs the largest of these */
	/** for PERF_POKE_TRIGGER_SPAN, not measured, on any CPU: exits without an entry */
	uint64_t not_entered;
	uint64_t reentered;   /**< entries in an open span */
	uint64_t thread_died; /**< spans whose thread ended before their exit */
	uint64_t no_room;     /**< entries with too many spans open */
};

/** One row of perf_poke__check(). Strings are valid during the callback only. */
struct perf_poke_capability {
	size_t sz;	     /**< size of this struct as the library knows it */
	const char *name;    /**< one word, stable */
	const char *purpose; /**< what it is for */
	const char *detail;  /**< what was found, or why it is missing; never NULL */
	const char *remedy;  /**< how to get it, or what is used instead; never NULL */
	bool have;
	bool required; /**< a session cannot start without it */
	bool unknown;  /**< this process lacks the privileges to see whether it is had */
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
 * Set an option by name, as on the command line. Set `sz` before; other members must be zero or
 * valid. A binding that does not know all members passes 4096 zero bytes with `sz` set to 4096.
 *
 * @param opts  options, for perf_poke__opts_release(); arrays of the caller are replaced
 * @param name  such as "threshold"
 * @param value  such as "30us"; copied. NULL for options without a value, which also take "yes" and
 *	"no"
 *
 * Returns: 0, or with perf_poke__last_error(), which does not repeat name and value
 * - -ENOENT: there is no such option
 * - -EINVAL: the value is malformed or out of range; or opts->sz is too small
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__opts_set(struct perf_poke_opts *opts, const char *name, const char *value);

/**
 * Free memory allocated by perf_poke__opts_set(), whose options become invalid. A session has
 * copies of them.
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
 * The reason why the last perf_poke__opts_set(), perf_poke__new(), perf_poke__start(),
 * perf_poke__poll() or perf_poke__capture_open() of this thread failed: the message of level
 * PERF_POKE_LOG_ERROR, or else the name of the errno.
 *
 * Returns: a string valid until the next call of one of these in this thread; "" if it did not
 * fail.
 * Since: 0.1
 */
const char *perf_poke__last_error(void);

/**
 * The value that the session uses for an option, even if the option is AUTO.
 *
 * @param pp  session
 * @param axis  RECORDER, WORKLOAD or DELIVERY
 *
 * Returns: a static name, such as "events"; "none" for the delivery of a session without targets;
 * NULL for other axes.
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
 * The folder for captures that was checked at start, for openat(), even if its path now leads
 * elsewhere.
 *
 * @param pp  session
 *
 * Returns: a descriptor owned by the session, valid until perf_poke__stop(), or
 * - -ENOTCONN: not started
 * Since: 0.1
 */
int perf_poke__output(const struct perf_poke *pp);

/**
 * Load the trigger, open the recorder, start the workload, arm. A failure undoes everything; the
 * session may be started again.
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
 * - -EINTR: interrupted by a signal
 * - -ENOTCONN: not started
 * - -EBUSY: called in a callback
 * - -ECHILD: this process was forked by the one that started the session
 * - -EIO, -ENOMEM: a snapshot failed (with a message, without a callback); the session is re-armed
 * - -ECANCELED: perf_poke__session_stop() was called: call perf_poke__stop()
 * - -ESRCH: the last target has ended or was dropped
 * Since: 0.1
 */
int perf_poke__poll(struct perf_poke *pp, int timeout_ms);

/**
 * Take a capture now, as if a spike had occurred. A later perf_poke__poll() reports it.
 *
 * @param pp  session
 *
 * Any thread. Works even after perf_poke__disarm().
 *
 * Returns: 0 or
 * - -ENOTCONN: not started
 * - -EBUSY: not armed: another capture is being taken, or max_captures is reached
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__poke(struct perf_poke *pp);

/** A latency that a program has measured. Times are CLOCK_MONOTONIC. */
struct perf_poke_report {
	size_t sz;	      /**< sizeof(struct perf_poke_report) */
	uint64_t expected_ns; /**< begin: when it should have happened */
	uint64_t actual_ns;   /**< end: when it happened; 0: now */
	int tid; /**< the late thread, in the PID namespace of the session's process; 0:
		    the caller if it runs on that CPU; -1: none, or unknown */
	int cpu; /**< the late CPU; -1: that of the caller */
	/** text for the capture, truncated to 63 bytes; NULL: none. All labels share the threshold
	 * and the histogram of PERF_POKE_TRIGGER_REPORT, so their number is not limited */
	const char *label;
};

/**
 * Report a latency, actual_ns - expected_ns. It counts for PERF_POKE_TRIGGER_REPORT, which must be
 * among `triggers`. If it reaches the threshold while the session is armed, the trace of that CPU
 * is frozen when the function returns, and a later perf_poke__poll() reports the capture.
 *
 * Any thread, at any time; async-signal-safe; preserves errno. Takes no lock and allocates no
 * memory of the process. A latency that cannot be captured, because it is below the threshold, the
 * session is not armed, or `cooldown_ns` is not over, is counted without a system call. This is
 * decided as the function begins: if another thread arms the session during the call, the latency
 * may still be only counted. Otherwise it calls bpf(), which blocks only if memory is short: the
 * kernel allocates 88 bytes for its copy of the report. For a CPU other than the caller's, it
 * interrupts that CPU and waits for it. Before Linux 6.5, bpf() requires CAP_BPF, unless
 * kernel.unprivileged_bpf_disabled is 0.
 *
 * @param pp  session
 * @param report  what was late
 *
 * Returns: 1 if it is captured as a spike; 0 if it is only counted; or
 * - -ENOTCONN: not started
 * - -ENXIO: the CPU is not watched, or offline; or PERF_POKE_TRIGGER_REPORT is not watched
 * - -EINVAL: a field is out of range, or expected_ns is 0
 * - -EPERM: a capability is missing
 * Since: 0.1
 */
int perf_poke__report(struct perf_poke *pp, const struct perf_poke_report *report);

/**
 * Take no spikes until perf_poke__arm(); they are counted as `unarmed`. Called before
 * perf_poke__start(), the session starts disarmed. Any thread.
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
 * Latencies so far, even after perf_poke__stop().
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
 * A percentile of the latencies, accurate to the width of a bucket (1.6 %).
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

/** What took a watched CPU from a thread, or what did so inside of an interrupt, a softirq or a
 * kernel thread. */
struct perf_poke_source {
	size_t sz; /**< size of this struct as the library knows it */
	int cpu;
	/** "vector", "irq", "softirq", "nmi", "fault", "thread"; of these: "hrtimer", "timer" and
	 * "work", with the name of a function; "tick": what kept the tick from being stopped */
	const char *kind;
	char name[64];	 /**< such as "local_timer", or the handler of an irq; "": unknown */
	uint64_t number; /**< of a vector, irq or softirq; a TID; else 0 or an address */
	uint64_t count;
	/** from entry to exit, with what interrupted it; of a thread, its stays on the CPU; 0: not
	 * measured */
	uint64_t sum_ns, max_ns;
	uint64_t last_ns; /**< when the newest one ended */
	/** who sent the newest one, for a vector: -1 unknown */
	int sender_cpu;
	int sender_pid, sender_tid;
	char sender_comm[16];
	char sender_callback[64]; /**< what it wanted to be run there; "": unknown */
	char sender_stack[256];	  /**< its functions, innermost first: "a < b < c" */
};

/** Receives one source; valid during the call only. */
typedef void (*perf_poke_source_fn)(void *ctx, const struct perf_poke_source *source);

/**
 * What took the watched CPUs from threads since the session began, even after perf_poke__stop():
 * with PERF_POKE_TRIGGER_INTERRUPTION. By CPU; what took most time comes first.
 *
 * @param pp  session
 * @param functions  also hrtimer, timer, work and the senders' stacks. Their names are read from
 *   the kernel's symbols, which takes some 50 ms
 * @param fn  called for each
 * @param ctx  passed to fn
 *
 * Returns: the number of sources, or
 * - -ENOTCONN: never started
 * - -ENXIO: the trigger is not watched
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__sources(const struct perf_poke *pp, bool functions, perf_poke_source_fn fn,
		       void *ctx);

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
 * Disarm, finish pending captures (their callbacks run), close recorder, workload and trigger.
 * Statistics stay readable.
 *
 * @param pp  session; NULL is ignored
 *
 * Returns: 0, also if it was not started, or
 * - -EBUSY: called in a callback; nothing is done
 * - -ECHILD: this process was forked by the one that started the session; nothing is done
 * - -ESTALE: the folder for captures was moved or removed, so captures are not at their reported
 *   paths; everything else is done
 * - -ETIMEDOUT: the file system of the folder for captures has not answered for 30 s. What was not
 *   written yet is lost; everything else is done. A thread still waits for the file system, so the
 *   session cannot be started again, and perf_poke__free() keeps what that thread may use
 * Since: 0.1
 */
int perf_poke__stop(struct perf_poke *pp);

/**
 * Have perf_poke__stop() leave the tracing instance of the recorder ftrace behind, stopped. The
 * kernel takes up to seconds to remove one that traced functions. perf_poke__restore() does that,
 * in any process, once the session has stopped; so does the start of the next session.
 *
 * @param pp  session
 *
 * Returns: 1; 0: nothing will be left, as with other recorders; or
 * - -ENOTCONN: not started
 * - -ECHILD: this process was forked by the one that started the session
 * Since: 0.1
 */
int perf_poke__leave_tracing(struct perf_poke *pp);

/**
 * Stop, and free. In a child of fork(), free only: see "The process".
 *
 * @param pp  session; NULL is ignored
 * Since: 0.1
 */
void perf_poke__free(struct perf_poke *pp);

/**
 * Probe the capabilities of this system.
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
	/** one for each of the session's CPUs, like the next */
	const struct perf_poke_stats *const *cpu_stats;
	const uint64_t *cpu_p99_ns;
};

/** A session with a name, read from its pinned maps, even if its process does not respond. Strings
 * and arrays are valid during the callback only. */
struct perf_poke_session {
	size_t sz; /**< size of this struct as the library knows it */
	const char *name;
	bool alive;	       /**< its process is alive */
	int pid;	       /**< of the controller, in the initial PID namespace */
	uint64_t armed_for_ns; /**< since it was armed; 0: not yet */
	const int *cpus;
	size_t nr_cpus;
	uint64_t threshold_ns; /**< current: keep_worst raises it */
	const char *function;  /**< "any" */
	const char *recorder, *freeze, *delivery, *workload, *output; /**< "": none */
	uint64_t captures, failed;
	uint64_t last_sequence;	  /**< of the last capture; 0: none yet */
	uint64_t pending;	  /**< captures being written */
	uint64_t max_captures;	  /**< UINT64_MAX: no limit */
	const char *last_capture; /**< folder; "": none yet */
	/** thread IDs of its targets, in the initial PID namespace */
	const int *targets;
	size_t nr_targets;
	uint64_t pokes;	 /**< signals that became pending at targets */
	uint64_t merged; /**< signals merged with a pending one */
	/** its latencies; PERF_POKE_TRIGGER_IRQ is the first */
	const struct perf_poke_session_kind *const *kinds;
	size_t nr_kinds;
	/** of PERF_POKE_TRIGGER_INTERRUPTION: see perf_poke__sources() */
	const struct perf_poke_source *const *sources;
	size_t nr_sources;
};

/** Called once for each session. */
typedef void (*perf_poke_session_fn)(void *ctx, const struct perf_poke_session *session);

/**
 * The sessions of this machine with a name, sorted, including those whose process was killed.
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
 * Ask a session to end: its perf_poke__poll() returns -ECANCELED. Does not wait. Removes the
 * leftovers of a dead session.
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
 * - -EBUSY: not armed: another capture is being taken, or max_captures is reached
 * - -EPERM, -EACCES: needs root
 * Since: 0.1
 */
int perf_poke__session_poke(const char *name);

/** An open session of another process. Opaque. */
struct perf_poke_reporter;

/**
 * Open a session of another process, to report to it.
 *
 * @param reporter  on success, what the caller passes to perf_poke__session_close()
 * @param name  of the session
 *
 * Returns: 0, or
 * - -ENOENT: no living session has this name
 * - -ENXIO: it does not watch PERF_POKE_TRIGGER_REPORT
 * - -EINVAL: from another version of perf-poke
 * - -EPERM, -EACCES: needs root
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__session_open(struct perf_poke_reporter **reporter, const char *name);

/**
 * Report a latency to a session of another process, as perf_poke__report(): any thread,
 * async-signal-safe, and without a system call unless it can be captured. Captures nothing after
 * the session has ended.
 *
 * @param reporter  from perf_poke__session_open()
 * @param report  what was late; `tid` is in the session's PID namespace
 *
 * Returns: as perf_poke__report(), without -ENOTCONN
 * Since: 0.1
 */
int perf_poke__session_report(struct perf_poke_reporter *reporter,
			      const struct perf_poke_report *report);

/**
 * Close what perf_poke__session_open() opened. No thread may be in perf_poke__session_report().
 *
 * @param reporter  or NULL
 *
 * Since: 0.1
 */
void perf_poke__session_close(struct perf_poke_reporter *reporter);

/**
 * Find captures on disk.
 *
 * @param folder  folder of captures, such as `output` of a session; or a capture
 * @param fn  called with each path, in the order of the names, which begin with the time
 * @param ctx  passed to fn
 *
 * Returns: their number, or
 * - -ENOENT, -ENOTDIR, -EACCES: of the folder
 * - -ENOMEM
 * Since: 0.1
 */
int perf_poke__captures(const char *folder, perf_poke_path_fn fn, void *ctx);

/**
 * Read the facts of a capture. It is not trusted: everything is checked.
 *
 * @param capture  set to the capture, for perf_poke__capture_close(); unchanged on failure
 * @param path  its folder
 *
 * Returns: 0, or with perf_poke__last_error()
 * - -EINVAL: capture.json is malformed
 * - -ENOTSUP: written by a later version
 * - -ENOENT, -EACCES, -EIO, -ENOMEM
 * Since: 0.1
 */
int perf_poke__capture_open(const struct perf_poke_capture **capture, const char *path);

/**
 * Free a capture of perf_poke__capture_open(). Not for captures passed to callbacks.
 *
 * @param capture  capture; NULL is ignored
 * Since: 0.1
 */
void perf_poke__capture_close(const struct perf_poke_capture *capture);

/**
 * A number of a capture, by its path in capture.json, see perf-poke-capture(5). Any thread, until
 * perf_poke__capture_close().
 *
 * @param capture  from perf_poke__capture_open()
 * @param path  names joined by dots, such as "hardware.smis"; a number is an index into a list, as
 *	in "hardware.idle_states.0.exit_latency_ns". Not for rows of the histogram: see `buckets`
 * @param value  set to the number; false is 0, true is 1. Nanoseconds if the name ends in _ns.
 *	Unchanged on failure
 *
 * Returns: 0 or
 * - -ENOENT: missing, or null (unknown)
 * - -EINVAL: not a non-negative integer
 * Since: 0.1
 */
int perf_poke__capture_number(const struct perf_poke_capture *capture, const char *path,
			      uint64_t *value);

/**
 * A text of a capture, as perf_poke__capture_number(). It is UTF-8, but not trusted: it may have
 * any length, and control characters.
 *
 * @param capture  from perf_poke__capture_open()
 * @param path  such as "kernel.version"
 *
 * Returns: the text, valid until perf_poke__capture_close(); NULL if missing or not a text.
 * Since: 0.1
 */
const char *perf_poke__capture_text(const struct perf_poke_capture *capture, const char *path);

/**
 * The fields of a capture as a JSON object, in which `spike` is an object too. Their names are
 * those of struct perf_poke_capture and struct perf_poke_spike, except `trigger` (the kind's name),
 * `size_bytes`, `wall_time_ns` and `priority`; addresses are texts, frames are as in
 * perf-poke-capture(5), buckets [low_ns, high_ns, count]. Unknown values are null or missing. Any
 * thread.
 *
 * @param capture  of a callback, or from perf_poke__capture_open()
 *
 * Returns: a string for free(); NULL: no memory
 * Since: 0.1
 */
char *perf_poke__capture_json(const struct perf_poke_capture *capture);

/**
 * Restore kernel settings that killed sessions changed (timerlat, idle states), and remove tracing
 * instances that sessions left (perf_poke__leave_tracing()). Each session does this at start.
 *
 * @param log  receives messages; may be NULL
 * @param log_ctx  passed to log
 *
 * Returns: the number of killed sessions, or
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
 * Returns: a static string, such as "irq"; NULL if there is no such value.
 * Since: 0.1
 */
const char *perf_poke__name(enum perf_poke_axis axis, int value);

/**
 * The library's version.
 *
 * Returns: a static string, such as "0.1.0".
 * Since: 0.1
 */
const char *perf_poke__version(void);

#ifdef __cplusplus
}
#endif

#endif
