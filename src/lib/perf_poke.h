/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/**
 * @file
 * libperfpoke: catch the timer that fires late, and keep what the CPU did before.
 *
 * A session watches the latency of hrtimers on a set of CPUs with one BPF program. When a
 * latency reaches the threshold (a spike), the recorder is frozen, its rings are copied out (the
 * snapshot), the session is re-armed, and the snapshot is written as a folder that stock perf
 * reads (the capture).
 *
 *	struct perf_poke_opts opts = { .sz = sizeof(opts), .cpus = "3", .threshold_ns = 50000 };
 *	struct perf_poke *pp = perf_poke__new(&opts);
 *
 *	if (!pp || perf_poke__start(pp))
 *		return 1;
 *	while (perf_poke__poll(pp, 1000) >= 0 && captures < 1)
 *		;
 *	perf_poke__stop(pp);
 *	perf_poke__free(pp);
 *
 * Conventions. Times are nanoseconds; points in time are CLOCK_MONOTONIC. Functions that return
 * int return 0 or more, or a negative errno. Structs that callers fill begin with `sz`, their
 * size when compiled; bytes past what this library knows must be zero. The library never exits,
 * never prints and keeps no global state; what a person should read goes to `opts.log`.
 *
 * Threads. A session belongs to one thread at a time: calls on the same session must not
 * overlap. Different sessions are independent. Callbacks run in the thread that called the
 * library function, never in a thread of the library's own.
 *
 * What latency means. The latency of one expiry is the time the kernel took as "now" for the
 * timer interrupt (the argument of the tracepoint timer:hrtimer_expire_entry) minus the expiry
 * the timer was programmed for, both in the timer's own clock base. The kernel reads the clock
 * once per timer interrupt and uses that value for all timers that expire in it. So the latency
 * is what made the interrupt late, not what earlier timers of the same interrupt added: timerlat
 * and cyclictest read the clock themselves, later, and show a little more. A timer that fires
 * early within its slack has latency 0.
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

/** The options that have a few values. */
enum perf_poke_axis {
	PERF_POKE_AXIS_RECORDER, /**< enum perf_poke_recorder */
	PERF_POKE_AXIS_TRIGGER,	 /**< enum perf_poke_trigger_kind */
	PERF_POKE_AXIS_WORKLOAD, /**< enum perf_poke_workload */
	PERF_POKE_AXIS_DELIVERY, /**< enum perf_poke_delivery */
	PERF_POKE_AXIS_FREEZE,	 /**< enum perf_poke_freeze */
};

/** One value of such an option. Never freed; may grow at its end. */
struct perf_poke_choice {
	const char *name; /**< on the command line and in capture.json */
	int value;	  /**< of the enum */
	const char *help; /**< what it is, a phrase */
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
	PERF_POKE_WORKLOAD_AUTO,     /**< timerlat where the kernel has it, else cyclic */
	PERF_POKE_WORKLOAD_CYCLIC,   /**< a SCHED_FIFO thread of the session per CPU, sleeping for
					a period at a time */
	PERF_POKE_WORKLOAD_NONE,     /**< only timers of the machine */
	PERF_POKE_WORKLOAD_TIMERLAT, /**< the kernel's tracer; one that runs already is used as it
					is */
	PERF_POKE_WORKLOAD_USER,     /**< the same, with threads of the session in user space */
};

/** Who holds the trace. */
enum perf_poke_recorder {
	PERF_POKE_RECORDER_AUTO,   /**< perf where there are targets; else pt where the machine has
				      it and no other events are named; else events */
	PERF_POKE_RECORDER_EVENTS, /**< tracepoints in overwrite rings */
	PERF_POKE_RECORDER_PT,	   /**< Intel PT: every branch */
	PERF_POKE_RECORDER_PERF,   /**< somebody's own perf record, which is poked: see `targets` */
};

/** An event to record: `sys:name`, where name may be a glob, and NULL or a filter as in `perf
 * record --filter`: of `intel_pt//` an address filter, symbols of which are resolved at start. */
struct perf_poke_event {
	const char *name;
	const char *filter;
};

/** Which latency is watched. Each begins when the timer should have expired. */
enum perf_poke_trigger_kind {
	PERF_POKE_TRIGGER_IRQ,	  /**< until the timer's interrupt */
	PERF_POKE_TRIGGER_THREAD, /**< until the thread runs that the timer wakes: timerlat's, the
				     cyclic workload's, or, with the workload none, any that sleeps
				   */
	PERF_POKE_TRIGGER_USER,	  /**< until timerlat's thread is back from user space: needs the
				     workload user, and Linux 6.5 */
	PERF_POKE_TRIGGER_WAKEUP, /**< of no timer: from any wakeup of `task` until it runs */
};

/** A latency of at least this is a spike. */
struct perf_poke_trigger {
	enum perf_poke_trigger_kind kind;
	uint64_t threshold_ns; /**< 0: that of the options */
};

/** A spike. Points in time are CLOCK_MONOTONIC. */
struct perf_poke_spike {
	uint64_t sequence;	   /**< 1 for the first spike of the session */
	uint64_t time_ns;	   /**< when the trigger saw it */
	uint64_t latency_ns;	   /**< actual_ns - expected_ns; 0 when poked */
	uint64_t expected_ns;	   /**< when the timer should have expired */
	uint64_t actual_ns;	   /**< the kernel's "now" of the timer interrupt */
	uint64_t function;	   /**< address of the timer's function */
	uint64_t timer;		   /**< address of the timer */
	const char *function_name; /**< its symbol, or NULL if unknown */
	int cpu;		   /**< where it should have run: the timer's, or the one that the
				    * task was woken on; -1 when poked */
	int pid;		   /**< process that was interrupted (as `tgid` in the kernel) */
	int tid;		   /**< thread that was interrupted */
	char comm[16];		   /**< its name */
	bool idle;		   /**< the idle task was interrupted */
	bool poked;		   /**< caused by perf_poke__poke(), not by a timer */
	bool rtla;		   /**< taken by the threshold of rtla: the latency is rtla's, times
				    * are when it told of it, the timer is not known */
	enum perf_poke_trigger_kind kind; /**< which latency it is */
	uint64_t threshold_ns;		  /**< that it reached */
	/** all latencies of the same activation of the timer, also those that came after the spike;
	 * 0: not known */
	uint64_t irq_ns, thread_ns, user_ns;
	/** with the workloads timerlat and user, and the triggers thread or user: how long what ran
	 * from the timer interrupt on, as osnoise tells it, each net of what interrupted it */
	bool has_noise;
	uint64_t noise_irq_ns, noise_softirq_ns, noise_thread_ns, noise_nmi_ns;
	int ran_cpu;	  /**< where it ran: not `cpu` if the thread was migrated; -1 when poked */
	bool ran_watched; /**< that CPU is watched: its trace is in the capture too */
};

/** One finished, or failed, capture. */
struct perf_poke_capture {
	size_t sz;	  /**< size of this struct as the library knows it */
	int error;	  /**< 0, or a negative errno: nothing was kept, `path` is NULL */
	const char *path; /**< the folder; valid during the callback only */
	struct perf_poke_spike spike;
	const char *recorder; /**< its name, for people */
	uint64_t skid_ns;     /**< from the spike to the moment the trace of its CPU stood still */
	uint64_t blind_ns;    /**< from the spike to the moment the session was armed again */
	/** from the oldest event of the spike's CPU to the spike; UINT64_MAX: not known */
	uint64_t history_ns;
	uint64_t events; /**< records in the capture */
	uint64_t lost;	 /**< events that should be in its history and are not */
	uint64_t size;	 /**< bytes of perf.data */
	/** bytes of Intel PT of the spike's CPU in the capture; 0: none */
	uint64_t trace_bytes;
	/** bytes that the CPU wrote after the spike; UINT64_MAX: unknown */
	uint64_t bytes_after_spike;
	/** false: the trace tells the time too seldom, there are at most so many. Or its ring has
	 * gone round since the spike, history_ns is 0: there were more */
	bool bytes_after_spike_exact;
};

/** Called by perf_poke__poll() and perf_poke__stop() for each capture. */
typedef void (*perf_poke_capture_fn)(void *ctx, const struct perf_poke_capture *capture);

/** Called in the same way, with the path that it had, for each capture that was reported before and
 * does not stay, for keep_worst or max_disk. */
typedef void (*perf_poke_removed_fn)(void *ctx, const char *path);

/** How the recorder pt holds the trace at the spike. */
enum perf_poke_freeze {
	PERF_POKE_FREEZE_AUTO,	 /**< the first of these that works here */
	PERF_POKE_FREEZE_PAUSE,	 /**< the kernel pauses the trace at the spike */
	PERF_POKE_FREEZE_SAMPLE, /**< the kernel copies the newest part of it at the spike */
	PERF_POKE_FREEZE_SIGNAL, /**< the session stops it when it has woken up */
};

/** The way that a signal takes to a target. If one refuses at a spike, the next that works on this
 * system follows at once; the last is RELAY. */
enum perf_poke_delivery {
	PERF_POKE_DELIVERY_AUTO,       /**< the first of these that works here */
	PERF_POKE_DELIVERY_TASK_WORK,  /**< a callback in the target's context (Linux 6.18) */
	PERF_POKE_DELIVERY_FASYNC,     /**< the target owns a perf event that overflows */
	PERF_POKE_DELIVERY_TRACEPOINT, /**< the target signals itself when it polls its events:
					  needs `wake` */
	PERF_POKE_DELIVERY_DIRECT, /**< from the interrupted task, never from idle (Linux 6.13) */
	PERF_POKE_DELIVERY_RELAY,  /**< by the thread that calls perf_poke__poll() */
};

/** A thread that each spike signals. It is dropped with a warning once it has ended, called
 * execve(), or no longer catches the signal. */
struct perf_poke_target {
	/** process or thread, as the caller sees it (in its pid namespace) */
	int pid;
	/** 0: SIGUSR2 */
	int signal;
	/** it need not look like perf */
	bool any_process;
	/** it waits on a perf event bpf_trace:bpf_trace_printk with the filter
	 * `bpf_string ~ "WAKE*"`, this being WAKE (at most 23 bytes); NULL: it does not. Only one
	 * target can. */
	const char *wake;
};

/**
 * The options of a session. Zero or NULL selects the default, except for `sz` and `cpus`. Strings
 * and arrays are copied by perf_poke__new().
 */
struct perf_poke_opts {
	/** sizeof(struct perf_poke_opts) */
	size_t sz;
	/** CPUs to watch, a list as `2,4-7`; required */
	const char *cpus;
	/** a latency of at least this is a spike; default 30 us */
	uint64_t threshold_ns;
	/** only timers that run this: a kernel symbol, an 0xADDRESS, or "any"; default: any, with
	 * the workloads timerlat and user timerlat_irq */
	const char *function;
	enum perf_poke_workload workload;
	/** of the workload; default 1 ms; timerlat's is at least 100 us, in whole microseconds */
	uint64_t period_ns;
	/** SCHED_FIFO priority of the workload's threads, 1 to 99; default 95 */
	int priority;
	enum perf_poke_recorder recorder;
	/** what is recorded: tracepoints, or one intel_pt/TERMS/MODIFIERS; NULL for the recorder's
	 * choice */
	const struct perf_poke_event *events;
	size_t nr_events;
	/** bytes of ring per CPU, rounded up to a power of two pages; default 4 MiB (events), 16
	 * MiB (pt) */
	uint64_t buffer_size;
	/** disarm after this many complete captures; default: no limit */
	uint64_t max_captures;
	/** folder for captures; default "perf-poke.data"; made when missing, again too if it is
	 * moved or removed meanwhile, with a message. All in it is for its owner alone */
	const char *output;
	/** command line to note in captures, `argc` strings; may be NULL */
	const char *const *argv;
	size_t argc;
	perf_poke_log_fn log;
	void *log_ctx;
	perf_poke_capture_fn on_capture;
	void *capture_ctx;
	/** of the recorder pt, as what follows */
	enum perf_poke_freeze freeze;
	/** a capture holds the traces of all watched CPUs, not only that of the spike's */
	bool freeze_all;
	/** no record of context switches: all of a trace is of one task */
	bool no_switch_events;
	/** bytes of trace that FREEZE_SAMPLE copies; default, and most: 60 KiB */
	uint64_t sample_size;
	/** write only so many of the newest bytes of trace; default: all */
	uint64_t history_size;
	/** threads that each spike signals, at most 16, with any recorder */
	const struct perf_poke_target *targets;
	size_t nr_targets;
	enum perf_poke_delivery delivery;
	/** perf_poke__poll() says -ESRCH when the last target has ended, or was dropped */
	bool exit_with_target;
	/** the name under which others see the session, as perf_poke__sessions() does: at most 63
	 * of A-Za-z0-9._- ; default: they do not. Where the kernel or its rights do not allow it a
	 * warning says so, and they do not */
	const char *session;
	/** scheduler of the workload's threads instead of `priority`: f:PRIORITY (SCHED_FIFO),
	 * r:PRIORITY (SCHED_RR), o:NICE (SCHED_OTHER), d:RUNTIME:PERIOD (SCHED_DEADLINE). The
	 * workload cyclic has f only */
	const char *scheduler;
	/** cgroup of the threads of timerlat and user, a folder of /sys/fs/cgroup; "." is that of
	 * the session */
	const char *cgroup;
	/** hold /dev/cpu_dma_latency at dma_latency_us while the session runs */
	bool hold_dma_latency;
	uint32_t dma_latency_us;
	/** let the watched CPUs use no idle state above deepest_idle_state while it runs */
	bool limit_idle_state;
	uint32_t deepest_idle_state;
	/** what is watched, each kind once; default: PERF_POKE_TRIGGER_IRQ */
	const struct perf_poke_trigger *triggers;
	size_t nr_triggers;
	/** whose wakeups PERF_POKE_TRIGGER_WAKEUP watches: the id of a process or thread, or a
	 * name */
	const char *task;
	/** of the complete captures, keep so many of each kind, those of the largest latencies, and
	 * remove the others as better ones come; default: all */
	uint64_t keep_worst;
	/** and, of all kinds, what so many bytes hold, with what captures share (the kernel's
	 * symbols) counted once; default: no limit */
	uint64_t max_disk;
	/** after a spike, ignore others for this long */
	uint64_t cooldown_ns;
	/** measure for `warmup_ns` (default 10 s) without taking spikes; then the threshold of each
	 * trigger is the latency that this many percent did not exceed, as 99.99, where that is
	 * more than the threshold of the options; 0: not */
	double adaptive_percent;
	uint64_t warmup_ns;
	/** count latencies in so many buckets of equal width too, of each CPU and kind: see
	 * perf_poke__kind_linear_histogram(). Default 0: do not. All together have 1 GiB */
	uint64_t histogram_entries;
	/** width of those; default 1 us */
	uint64_t histogram_width_ns;
	/** with capture_ctx too */
	perf_poke_removed_fn on_removed;
	/** the user id of somebody who is trusted as root is: the folder for captures, and those
	 * above it, may be theirs. Default: they must be root's or the caller's, and writable by no
	 * others unless they have the sticky bit */
	uint64_t output_owner;
	/** of the recorder pt: a capture also has each ring as it was, `ring.cpuN`, the oldest byte
	 * first, with what is left out of its perf.data: for whoever doubts that */
	bool raw_rings;
};

/** Latencies seen on one CPU, or on all. */
struct perf_poke_stats {
	size_t sz;	 /**< sizeof(struct perf_poke_stats), set by the caller */
	uint64_t count;	 /**< expiries watched */
	uint64_t min_ns; /**< 0 when count is 0 */
	uint64_t max_ns;
	uint64_t sum_ns;
	uint64_t spikes;  /**< expiries at or over the threshold */
	uint64_t unarmed; /**< spikes while the session was not armed: counted, not captured */
	uint64_t missed;  /**< expiries the trigger could not see (BPF recursion); the same number
			     for every CPU */
	uint64_t last_ns; /**< the newest; of all CPUs together the largest of those */
};

/** One bucket of the latency histogram: `count` latencies of low_ns <= latency < high_ns. */
struct perf_poke_bucket {
	uint64_t low_ns;
	uint64_t high_ns; /**< UINT64_MAX in the last one */
	uint64_t count;
};

/** Whether the running system has a capability. */
enum perf_poke_have {
	PERF_POKE_HAVE_NO,
	PERF_POKE_HAVE_YES,
};

/** One row of perf_poke__check(). Strings are valid during the callback only. */
struct perf_poke_capability {
	size_t sz;	     /**< size of this struct as the library knows it */
	const char *name;    /**< one word, stable */
	const char *purpose; /**< what it is for */
	const char *detail;  /**< what was found, or why not; never NULL */
	const char
		*remedy; /**< what to do where it is missing, or what is used instead; never NULL */
	enum perf_poke_have have;
	bool required; /**< a session cannot start without it */
};

/** Called once for each capability. */
typedef void (*perf_poke_check_fn)(void *ctx, const struct perf_poke_capability *capability);

/**
 * Create a session: check and copy its options. Opens nothing.
 *
 * @param opts  options; cannot be NULL
 *
 * Returns: the session, for perf_poke__free(), or NULL with errno set (a message says which option
 * and why):
 * - EINVAL: an option is malformed or out of range
 * - ENXIO: a CPU does not exist or is offline
 * - ENOMEM
 *
 * Since: 0.1
 */
struct perf_poke *perf_poke__new(const struct perf_poke_opts *opts);

/**
 * What the session uses where the options left the choice: the names as on the command line.
 *
 * @param pp  session; cannot be NULL
 *
 * Returns: a static string, as "events".
 *
 * Since: 0.1
 */
const char *perf_poke__recorder(const struct perf_poke *pp);

/**
 * As perf_poke__recorder(), for the workload.
 *
 * @param pp  session; cannot be NULL
 *
 * Returns: a static string, as "cyclic".
 *
 * Since: 0.1
 */
const char *perf_poke__workload(const struct perf_poke *pp);

/**
 * The name under which others see the session, as perf_poke__sessions() does.
 *
 * @param pp  session; cannot be NULL
 *
 * Returns: a string owned by the session, valid until perf_poke__stop(); NULL: they do not see it.
 *
 * Since: 0.1
 */
const char *perf_poke__session(const struct perf_poke *pp);

/**
 * The folder for captures, open, for openat() and the like: what is put beside captures in this
 * way is in the folder that was checked at start, not in what its path leads to by now.
 *
 * @param pp  session; cannot be NULL
 *
 * Returns: a descriptor of the session's, valid until perf_poke__stop(), or
 * - -ENOTCONN: not started
 *
 * Since: 0.1
 */
int perf_poke__output(const struct perf_poke *pp);

/**
 * Load the trigger, open the recorder, start the workload, arm.
 *
 * On failure everything is undone, and the session may be started again.
 *
 * @param pp  session; cannot be NULL
 *
 * Returns: 0 or
 * - -EPERM: a capability or kernel setting forbids it (the message names it)
 * - -ENOENT: no such event or symbol
 * - -EINVAL: a filter the kernel does not take; a CPU outside the cpuset
 * - -EOPNOTSUPP: the kernel has no BTF
 * - -EBUSY: already started
 * - -EEXIST: a session of this name is alive
 * - -EACCES, -EROFS, -ENOSPC, -ENOTDIR: `output` cannot be written
 * - -ENOMEM, -EMFILE
 *
 * Since: 0.1
 */
int perf_poke__start(struct perf_poke *pp);

/**
 * The descriptor to wait on: readable while perf_poke__poll() has work to do. Valid from start to
 * free; owned by the session.
 *
 * @param pp  session; cannot be NULL
 *
 * Returns: a file descriptor, or -ENOTCONN before perf_poke__start().
 *
 * Since: 0.1
 */
int perf_poke__fd(const struct perf_poke *pp);

/**
 * Wait for spikes and finished captures, and handle them: freeze, copy, re-arm, report.
 *
 * The thread that calls this is the one that copies rings: give it a real-time priority for a short
 * skid.
 *
 * @param pp  session; cannot be NULL
 * @param timeout_ms  longest wait; 0 does not wait, -1 waits for ever
 *
 * Returns: the number of captures reported by this call, complete or failed; 0 at timeout; or
 * - -EINTR: a signal came
 * - -ENOTCONN: not started
 * - -EIO, -ENOMEM: a snapshot could not be taken (there is a message, and no callback); the session
 * is armed again
 * - -ECANCELED: somebody called perf_poke__session_stop(): the caller should call perf_poke__stop()
 * - -ESRCH: the last target has ended, or was dropped (exit_with_target)
 *
 * Since: 0.1
 */
int perf_poke__poll(struct perf_poke *pp, int timeout_ms);

/**
 * Take a capture now, as if a spike had happened.
 *
 * @param pp  session; cannot be NULL
 *
 * Returns: 0, and the capture is taken and reported by a later perf_poke__poll(); or
 * - -ENOTCONN: not started
 * - -EBUSY: not armed: another capture is being taken, or max_captures is reached
 * - -ENOMEM
 *
 * Since: 0.1
 */
int perf_poke__poke(struct perf_poke *pp);

/**
 * Latencies so far; also after perf_poke__stop().
 *
 * @param pp  session; cannot be NULL
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param stats  filled in; `stats->sz` set by the caller
 *
 * Returns: 0 or
 * - -ENOTCONN: never started
 * - -ENXIO: the CPU is not watched
 * - -EINVAL: stats is NULL or its sz makes no sense
 *
 * Since: 0.1
 */
int perf_poke__stats(const struct perf_poke *pp, int cpu, struct perf_poke_stats *stats);

/**
 * The same of one kind of latency, perf_poke__stats() being of PERF_POKE_TRIGGER_IRQ; `missed` is
 * not told by kind: 0.
 *
 * @param pp  session; cannot be NULL
 * @param kind  which latency
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param stats  filled in; `stats->sz` set by the caller
 *
 * Returns: as perf_poke__stats(); -ENXIO also where the session does not watch that kind.
 *
 * Since: 0.1
 */
int perf_poke__kind_stats(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			  struct perf_poke_stats *stats);

/**
 * As perf_poke__percentile(), of one kind of latency.
 *
 * @param pp  session; cannot be NULL
 * @param kind  which latency
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param percent  0 to 100
 * @param latency_ns  filled in; cannot be NULL
 *
 * Returns: as perf_poke__percentile(); -ENXIO as perf_poke__kind_stats().
 *
 * Since: 0.1
 */
int perf_poke__kind_percentile(const struct perf_poke *pp, enum perf_poke_trigger_kind kind,
			       int cpu, double percent, uint64_t *latency_ns);

/**
 * As perf_poke__histogram(), of one kind of latency.
 *
 * @param pp  session; cannot be NULL
 * @param kind  which latency
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param fn  called for each bucket that is not empty; cannot be NULL
 * @param ctx  passed to fn
 *
 * Returns: as perf_poke__histogram(); -ENXIO as perf_poke__kind_stats().
 *
 * Since: 0.1
 */
int perf_poke__kind_histogram(const struct perf_poke *pp, enum perf_poke_trigger_kind kind, int cpu,
			      void (*fn)(void *ctx, const struct perf_poke_bucket *bucket),
			      void *ctx);

/**
 * The histogram of one kind of latency with buckets of equal width, `histogram_width_ns`, the first
 * from 0 on.
 *
 * @param pp  session; cannot be NULL
 * @param kind  which latency
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param counts  filled in: `histogram_entries` of them, and one more for what is over those;
 * cannot be NULL
 * @param nr  how many have room; others are left out
 *
 * Returns: the number of buckets, histogram_entries + 1, or
 * - -ENOTCONN, -ENXIO as perf_poke__kind_stats()
 * - -ENODATA: histogram_entries is 0
 * - -EINVAL: counts is NULL
 *
 * Since: 0.1
 */
int perf_poke__kind_linear_histogram(const struct perf_poke *pp, enum perf_poke_trigger_kind kind,
				     int cpu, uint64_t *counts, size_t nr);

/**
 * The latency that a share of the expiries did not exceed, to within the width of a bucket (1.6 %).
 *
 * @param pp  session; cannot be NULL
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param percent  0 to 100, for instance 99.9
 * @param latency_ns  filled in; 0 when there were no expiries; cannot be NULL
 *
 * Returns: 0, or -ENOTCONN, -ENXIO as perf_poke__stats(), or -EINVAL: percent is out of range.
 *
 * Since: 0.1
 */
int perf_poke__percentile(const struct perf_poke *pp, int cpu, double percent,
			  uint64_t *latency_ns);

/**
 * The histogram's buckets that are not empty, in rising order.
 *
 * @param pp  session; cannot be NULL
 * @param cpu  a watched CPU, or -1 for all of them together
 * @param fn  called for each; cannot be NULL
 * @param ctx  passed to fn
 *
 * Returns: the number of buckets, or -ENOTCONN, -ENXIO as perf_poke__stats().
 *
 * Since: 0.1
 */
int perf_poke__histogram(const struct perf_poke *pp, int cpu,
			 void (*fn)(void *ctx, const struct perf_poke_bucket *bucket), void *ctx);

/**
 * The CPUs that are watched, in rising order.
 *
 * @param pp  session; cannot be NULL
 * @param nr  set to their number; cannot be NULL
 *
 * Returns: an array owned by the session, valid until perf_poke__free().
 *
 * Since: 0.1
 */
const int *perf_poke__cpus(const struct perf_poke *pp, size_t *nr);

/**
 * Disarm, finish writing the captures at hand (their callbacks run), close recorder, workload and
 * trigger. Statistics stay readable.
 *
 * @param pp  session; NULL does nothing
 *
 * Returns: 0, also when it was not started, or
 * - -ESTALE: the folder for captures was moved or removed, so captures are not where they were
 *   reported; all else is done as usual
 *
 * Since: 0.1
 */
int perf_poke__stop(struct perf_poke *pp);

/**
 * Stop, and free.
 *
 * @param pp  session; NULL does nothing
 *
 * Since: 0.1
 */
void perf_poke__free(struct perf_poke *pp);

/**
 * Probe the capabilities of this system by trying each.
 *
 * @param fn  called once for each capability, always in the same order; cannot be NULL
 * @param ctx  passed to fn
 *
 * Returns: 0 if a session can start, or -EOPNOTSUPP if a required capability is missing.
 *
 * Since: 0.1
 */
int perf_poke__check(perf_poke_check_fn fn, void *ctx);

/** One kind of latency as a session has seen it. */
struct perf_poke_session_kind {
	enum perf_poke_trigger_kind kind;
	uint64_t threshold_ns;	      /**< 0: it is counted, and no trigger */
	struct perf_poke_stats stats; /**< of all CPUs together; `missed` is not known here: 0 */
	uint64_t p50_ns, p99_ns, p999_ns;
	/** one for each of the session's cpus, as the next */
	const struct perf_poke_stats *cpu_stats;
	const uint64_t *cpu_p99_ns;
};

/** A session of this machine that has a name, from what it has pinned: it need not answer. Strings
 * and arrays are valid during the callback only. */
struct perf_poke_session {
	size_t sz; /**< size of this struct as the library knows it */
	const char *name;
	bool alive;	       /**< its controller is */
	int pid;	       /**< of the controller; in the first pid namespace */
	uint64_t armed_for_ns; /**< since it was armed; 0: not yet */
	const int *cpus;
	size_t nr_cpus;
	uint64_t threshold_ns; /**< now: adaptive_percent and keep_worst raise it; 0: the former
				* measures still */
	const char *function;  /**< "any" */
	const char *recorder, *freeze, *delivery, *workload, *output; /**< "" for none */
	uint64_t captures, failed;
	uint64_t last_sequence;	      /**< of the last of these; 0: none yet */
	uint64_t pending;	      /**< captures that are being written */
	uint64_t max_captures;	      /**< UINT64_MAX: no limit */
	const char *last_capture;     /**< folder; "" for none yet */
	struct perf_poke_stats stats; /**< of all CPUs together; `missed` is not known here: 0 */
	uint64_t p50_ns, p99_ns, p999_ns;
	/** one for each of cpus */
	const struct perf_poke_stats *cpu_stats;
	/** targets that it pokes: their ids in the first pid namespace */
	const int *targets;
	size_t nr_targets;
	uint64_t pokes;	 /**< signals that became pending at targets */
	uint64_t merged; /**< those that were one with another, which was pending or to be sent */
	/** those that it counts; the first is that of the interrupt, which stats, the percentiles
	 * and cpu_stats are of as well */
	const struct perf_poke_session_kind *kinds;
	size_t nr_kinds;
};

/** Called once for each session. */
typedef void (*perf_poke_session_fn)(void *ctx, const struct perf_poke_session *session);

/**
 * The sessions of this machine that have names, in the order of their names, alive or dead (whose
 * controllers were killed).
 *
 * @param fn  called for each; cannot be NULL
 * @param ctx  passed to fn
 *
 * Returns: their number, or
 * - -EPERM, -EACCES: needs root
 * - -ENOMEM
 *
 * Since: 0.1
 */
int perf_poke__sessions(perf_poke_session_fn fn, void *ctx);

/**
 * Ask a session to end: its perf_poke__poll() returns -ECANCELED. Does not wait. Of a dead session,
 * removes what it has pinned.
 *
 * @param name  of the session; cannot be NULL
 *
 * Returns: 1 if it was alive and has been asked, 0 if it was dead and is removed, or
 * - -ENOENT: there is no such session
 * - -EPERM, -EACCES: needs root
 *
 * Since: 0.1
 */
int perf_poke__session_stop(const char *name);

/**
 * Take a capture now in a session, as perf_poke__poke() does.
 *
 * @param name  of the session; cannot be NULL
 *
 * Returns: the sequence number that the capture's spike will have (its lower 31 bits), or
 * - -ENOENT: there is no such session, or it is dead
 * - -EBUSY: not armed: another capture is being taken, or the last was
 * - -EPERM, -EACCES: needs root
 *
 * Since: 0.1
 */
int perf_poke__session_poke(const char *name);

/**
 * As perf_poke__recorder(), for the preferred way of delivery; "none" without targets.
 *
 * @param pp  session; cannot be NULL
 *
 * Returns: a static string, as "task-work".
 *
 * Since: 0.1
 */
const char *perf_poke__delivery(const struct perf_poke *pp);

/**
 * Restore kernel settings that killed sessions changed (timerlat, idle states). Sessions do so when
 * they start.
 *
 * @param log  receives messages; may be NULL
 * @param log_ctx  passed to log
 *
 * Returns: how many such sessions there were, or
 * - -EPERM, -EACCES: needs root
 * - -ENOMEM
 *
 * Since: 0.1
 */
int perf_poke__restore(perf_poke_log_fn log, void *log_ctx);

/**
 * The values of an option, in the order in which help should list them.
 *
 * @param axis  the option
 * @param i  from 0 on
 *
 * Returns: the value, or NULL if there are no more, or no such axis.
 *
 * Since: 0.1
 */
const struct perf_poke_choice *perf_poke__choice(enum perf_poke_axis axis, size_t i);

/**
 * The library's version, as "0.1.0". Static.
 *
 * Returns: the string; never NULL.
 *
 * Since: 0.1
 */
const char *perf_poke__version(void);

#ifdef __cplusplus
}
#endif

#endif
