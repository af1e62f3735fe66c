/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the trigger program and user space: the spike record, the statistics of a CPU, and the
 * buckets of the latency histogram. All times are nanoseconds. */
#ifndef TRIGGER_H
#define TRIGGER_H

#include <linux/types.h>
#ifndef __bpf__
#include <assert.h>
#include <stddef.h>
#endif

/* The histogram is log-linear, in units of 2 ns: from 64 units on, each power of two has 64 buckets
 * of equal width. So a bucket is 2 ns wide below 128 ns, and at most 1/64 of its value above. The
 * last bucket takes everything from 2^30 ns (1.07 s) on. */
#define TRIGGER_UNIT_SHIFT 1
#define TRIGGER_SUB_BITS 6
#define TRIGGER_SUB_BUCKETS (1U << TRIGGER_SUB_BITS)
#define TRIGGER_TOP_BITS 30
#define TRIGGER_BUCKETS                                                                            \
	((TRIGGER_TOP_BITS - TRIGGER_UNIT_SHIFT - TRIGGER_SUB_BITS + 1) * TRIGGER_SUB_BUCKETS + 1)

#define TRIGGER_CACHE_LINE 64
#define TRIGGER_NEVER ((__u64)-1) /* as a threshold */
#define TRIGGER_MESSAGE_SIZE 32
#define TRIGGER_LABEL_SIZE 64

/* Which exit ends a span: one of the same thread or CPU, or one with an equal argument. */
enum span_by {
	SPAN_BY_THREAD,
	SPAN_BY_CPU,
	SPAN_BY_ARGUMENT,
};

/* Filters of tracepoints: see filter.h. */
enum trigger_filter {
	FILTER_EVENT,
	FILTER_SPAN_ENTRY,
	FILTER_SPAN_EXIT,
	FILTERS,
};

/* Where the argument is, and for a tracepoint, what is to be looked at first. */
struct span_argument {
	__u32 place; /* the offset of a tracepoint's field, or the number of an argument, from 0 */
	__u32 size;  /* of the field */
	__u32 noted; /* 1: a program that sees the fields notes the hits */
	__u32 filtered;
};

/* Entries and exits that are not measured as a span. */
enum span_unpaired {
	SPAN_NOT_ENTERED, /* an exit without an entry */
	SPAN_REENTERED,	  /* an entry in an open span */
	SPAN_THREAD_DIED, /* before the exit */
	SPAN_NO_ROOM,	  /* more are open than the map holds */
	SPAN_UNPAIRED,
};

/* Of a CPU. A constant of the program would be read from memory too. */
enum trigger_watched {
	TRIGGER_UNWATCHED,
	TRIGGER_WATCHED,
	TRIGGER_LINEAR, /* the first row of the linear histogram */
};

/* Written by one CPU in its timer interrupt; user space reads it through a mapping at any time. */
struct trigger_cpu {
	/* All that an ordinary expiry reads is in its first cache line. The first three are set by
	 * user space before the program is attached. */
	__u64 watched;	    /* enum trigger_watched, or a row of the linear histogram */
	__u64 function;	    /* callback of the timers to watch; 0: all */
	__u64 threshold_ns; /* raised after measuring; TRIGGER_NEVER: no spikes; 0: see spike_ns */
	__u64 count;
	__u64 sum_ns;
	__u64 min_inverse; /* ~minimum, so that zero-filled memory means "none yet" */
	__u64 max_ns;
	__u64 last_ns;
	__u64 buckets[TRIGGER_BUCKETS];
	__u64 spikes;
	__u64 unarmed;
	__u64 unpaired[SPAN_UNPAIRED]; /* of spans, also where the CPU is not watched */
	__u64 thread; /* ID of the workload's thread in the first PID namespace; 0: none yet */
};

/* The kinds of latency. The first three values are timerlat's contexts. */
enum trigger_kind {
	TRIGGER_IRQ,	/* until the timer's interrupt */
	TRIGGER_THREAD, /* until the thread that the timer wakes runs */
	TRIGGER_USER,	/* until that is back in user space */
	TRIGGER_WAKEUP, /* from a wakeup until the thread runs */
	TRIGGER_REPORT, /* whatever its reporter says */
	TRIGGER_EVENT,	/* none: a tracepoint */
	TRIGGER_MARKER, /* as a text in the trace_marker says */
	TRIGGER_SPAN,	/* from an entry to an exit */
	TRIGGER_NOISE,	/* a sample of the tracer osnoise: how long its thread did not run */
	TRIGGER_KINDS,
};

/* Times of what ran since timerlat's timer interrupt. */
struct trigger_noise {
	__u64 irq_ns, softirq_ns, thread_ns, nmi_ns;
	__u64 open; /* 1: the thread runs, but osnoise has not yet reported what it replaced */
};

/* The latencies of the activation of a spike; 0: unknown. */
struct trigger_latencies {
	__u64 sequence; /* of the spike */
	__u64 timer, expected_ns;
	__u64 irq_ns, thread_ns, user_ns;
	struct trigger_noise noise; /* up to the last of these */
};

/* More than the spikes whose captures can be unwritten; a power of two. */
#define TRIGGER_RECENT 4

/* The newest spikes that were taken, indexed by sequence. */
struct trigger_recent {
	__u64 newest;
	struct trigger_latencies spikes[TRIGGER_RECENT];
};

/* The kernel's default limit (kernel.perf_event_max_stack), interrupts included. */
#define TRIGGER_KERNEL_FRAMES 127
#define TRIGGER_USER_FRAMES 63
#define TRIGGER_BUILD_ID_SIZE 20
#define TRIGGER_NICE_0 120 /* static_prio of the kernel */

/* The maximum length of an instruction and the one before it. */
#define TRIGGER_CODE_SIZE 16

/* The kernel's struct bpf_stack_build_id. */
struct trigger_build_id {
	__s32 status; /* BPF_STACK_BUILD_ID_... */
	__u8 build_id[TRIGGER_BUILD_ID_SIZE];
	__u64 offset; /* offset in the file, or the address */
};

/* The stack of a task, innermost frame first. Sizes are in bytes, or a negative errno. */
struct trigger_stack {
	__s32 kernel_size, user_size, build_ids_size;
	__u32 pid, tid;
	__u32 policy, rt_priority; /* policy of sched_setscheduler() */
	__s32 nice;
	char comm[16];
	__u64 kernel[TRIGGER_KERNEL_FRAMES];
	__u64 user[TRIGGER_USER_FRAMES];
	struct trigger_build_id build_ids[TRIGGER_USER_FRAMES]; /* of `user` */
};

/* As the kernel fills it in: struct perf_branch_entry. */
struct trigger_branch {
	__u64 from, to, flags;
};

/* The most that hardware of today has. */
#define TRIGGER_BRANCHES 32

/* Newest first. The size is in bytes, or a negative errno. */
struct trigger_branches {
	__s64 size;
	struct trigger_branch entries[TRIGGER_BRANCHES];
};

/* The task that had the CPU when a late thread was to run. */
struct trigger_holder {
	__u64 since_ns; /* it was seen to have the CPU; 0: none yet */
	__u64 until_ns; /* it gave up the CPU; 0: not yet */
	/* Of the kernel where the timer's interrupt came; bytes, 0: none */
	__s32 interrupted_size;
	__u32 pid, tid;	    /* 0: idle, or not known */
	__u32 at_interrupt; /* 1: the stack is of that moment too; 0: where it gave up the CPU */
	__u64 interrupted[TRIGGER_KERNEL_FRAMES];
	struct trigger_stack stack; /* kernel_size 0: none */
};

struct trigger_stacks {
	__u64 sequence; /* of the spike; 0: none, or being written */
	struct trigger_stack spike;
	struct trigger_holder holder;
	struct trigger_branches branches; /* before the spike */
	/* Steal time of the CPU, up to the scheduler's last look before the spike; all bits set:
	 * unknown. */
	__u64 steal_ns;
};

/* Who keeps osnoise's thread from running. */
enum trigger_noise_class {
	TRIGGER_NOISE_IRQ,
	TRIGGER_NOISE_SOFTIRQ,
	TRIGGER_NOISE_THREAD,
	TRIGGER_NOISE_NMI,
	TRIGGER_NOISE_CLASSES,
};

struct trigger_noise_part {
	__u64 start, ns; /* the clock of osnoise; net of what interrupted it */
	__u32 class;	 /* enum trigger_noise_class */
	__s32 number;	 /* of the interrupt or softirq, or the thread ID */
	char name[16];	 /* of the interrupt's action, or the thread */
};

/* Before its largest parts end, many small ones may have ended. */
#define TRIGGER_NOISE_PARTS 64

/* The newest parts, of any age, up to a spike. */
struct trigger_noise_parts {
	__u64 sequence; /* of the spike; 0: none, or being written */
	__u64 start;	/* of its sample */
	struct trigger_noise_part parts[TRIGGER_NOISE_PARTS];
};

/* The kinds of ring buffer records. */
enum trigger_what {
	TRIGGER_SPIKE, /* a spike while the session was armed */
	TRIGGER_POKE,  /* a request for a capture without a spike */
	TRIGGER_STOP,  /* a request to end the session; no other member is set */
};

struct trigger_spike {
	__u64 sequence;
	__u64 time_ns;	 /* CLOCK_MONOTONIC when the program ran */
	__u64 frozen_ns; /* when the trace was frozen; 0: not by this program */
	__u64 latency_ns;
	__u64 expected_ns; /* both CLOCK_MONOTONIC, whatever the timer's clock is */
	__u64 actual_ns;
	__u64 function;
	__u64 timer;
	__u32 cpu; /* the CPU where it should have run */
	__u32 pid;
	__u32 tid;
	__u32 what; /* enum trigger_what */
	char comm[16];
	__u64 irq_ns, thread_ns, user_ns; /* of the same activation so far; 0: unknown */
	__u32 kind;			  /* enum trigger_kind */
	__u32 by_rtla;			  /* 1: taken by rtla's threshold, not by one of ours */
	__u32 ran_cpu;			  /* the CPU where the interrupt or the thread ran */
	__u32 ran_watched;		  /* 1: that CPU is watched */
	__u32 unpoked;			  /* 1: the controller pokes the targets */
	__u32 control;			  /* 1: no spike, see spike_ns */
	char label[TRIGGER_LABEL_SIZE];	  /* its reporter's, the marker, the event's name */
};

/* The context of the program report_late. */
struct trigger_report {
	__u64 expected_ns, actual_ns; /* CLOCK_MONOTONIC; actual_ns 0: now */
	__u64 tid;		      /* 0: the current thread */
	char label[TRIGGER_LABEL_SIZE];
};

/* The session as shown to others, in a pinned map with one entry. Only the controller writes it;
 * strings are NUL-terminated. */
struct trigger_session {
	__u32 size;	/* of this struct */
	__u32 pid;	/* of the controller, in the first PID namespace */
	__u64 start_ns; /* of the controller: CLOCK_BOOTTIME */
	__u64 armed_ns; /* CLOCK_BOOTTIME; 0: not yet */
	__u64 threshold_ns;
	__u64 thresholds_ns[TRIGGER_KINDS]; /* 0: no trigger */
	__u64 period_ns;
	__u64 captures, failed; /* captures complete, and lost */
	__u64 last_sequence;	/* spike of the last one, complete or lost; 0: none yet */
	__u64 pending;		/* being written */
	__u64 max_captures;	/* UINT64_MAX: no limit */
	char function[64];
	char recorder[16];
	char freeze[16];
	char delivery[16];
	char workload[16];
	char output[256];
	char last_capture[256];
};

#ifndef __bpf__
static_assert(offsetof(struct trigger_cpu, buckets) == TRIGGER_CACHE_LINE, "one line");
static_assert(sizeof(struct trigger_cpu) % TRIGGER_CACHE_LINE == 0, "CPUs share no line");
static_assert(sizeof(struct trigger_spike) == 144 + TRIGGER_LABEL_SIZE, "no hidden padding");
static_assert(sizeof(struct trigger_latencies) == 88, "no hidden padding");
static_assert(sizeof(struct trigger_build_id) == 32, "as the kernel's");
static_assert(sizeof(struct trigger_stack) ==
		      48 + 8 * TRIGGER_KERNEL_FRAMES + 40 * TRIGGER_USER_FRAMES,
	      "no hidden padding");
static_assert(sizeof(struct trigger_session) == 720 + 8 * TRIGGER_KINDS, "no hidden padding");
#endif

/* Of a number from 1 to 2^32 - 1, without branches: they would be mispredicted. The sign of
 * `limit - v` says whether v is larger. */
static inline __u32 trigger_log2(__u64 v)
{
	__u64 log = (0xffff - v) >> 59 & 16, step;

	v >>= log;
	step = (0xff - v) >> 60 & 8;
	v >>= step;
	log |= step;
	step = (0xf - v) >> 61 & 4;
	v >>= step;
	log |= step;
	step = (0x3 - v) >> 62 & 2;
	v >>= step;
	return log | step | v >> 1;
}

/* The bucket that a latency falls into. */
static inline __u32 trigger_bucket(__u64 latency_ns)
{
	__u64 units = latency_ns >> TRIGGER_UNIT_SHIFT;
	__u32 octave;

	if (latency_ns >> TRIGGER_TOP_BITS)
		return TRIGGER_BUCKETS - 1;
	octave = trigger_log2(units | TRIGGER_SUB_BUCKETS) - TRIGGER_SUB_BITS;
	return octave * TRIGGER_SUB_BUCKETS + (units >> octave);
}

#endif
