/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the trigger program and user space: the spike record, the statistics of a CPU, the
 * buckets of the latency histogram, and the targets. All times are nanoseconds. */
#ifndef TRIGGER_H
#define TRIGGER_H

#include <linux/types.h>

#include "perf_poke.h"
#ifndef __bpf__
#include <assert.h>
#endif

/* The histogram is log-linear, in units of 2 ns: from 64 units on, each power of two has 64 buckets
 * of equal width. So a bucket is 2 ns wide below 128 ns, and at most 1/64 of its value above. The
 * last bucket begins at 2^30 ns (1.07 s). */
#define TRIGGER_UNIT_SHIFT 1
#define TRIGGER_SUB_BITS 6
#define TRIGGER_SUB_BUCKETS (1U << TRIGGER_SUB_BITS)
#define TRIGGER_TOP_BITS 30
#define TRIGGER_BUCKETS                                                                            \
	((TRIGGER_TOP_BITS - TRIGGER_UNIT_SHIFT - TRIGGER_SUB_BITS + 1) * TRIGGER_SUB_BUCKETS + 1)

#define TRIGGER_CACHE_LINE 64
#define TRIGGER_NEVER ((__u64)-1) /* a threshold that is never reached */
#define TRIGGER_MESSAGE_SIZE 32
#define TRIGGER_LABEL_SIZE 64

/* Programs at the exit of a span, at most: see span_missed.bpf.h. */
#define SPAN_EXITS 2

/* The exit that ends a span: of the same thread, of the same CPU, or with an equal argument. */
enum span_by {
	SPAN_BY_THREAD,
	SPAN_BY_CPU,
	SPAN_BY_ARGUMENT,
};

/* Kinds that may overrun: see spike.bpf.h. */
#define OVERRUN_TABLES 3

/* Tracepoints whose hits may be noted and filtered: see hit_notes.bpf.h. */
enum trigger_hit {
	HIT_EVENT,
	HIT_SPAN_ENTRY,
	HIT_SPAN_EXIT,
	HITS,
};

/* Where the argument is, and for tracepoints, which program reads it. */
struct span_argument {
	__u32 place; /* offset of a tracepoint's field, or index of an argument */
	__u32 size;  /* of the field */
	__u32 noted; /* 1: read by a program that sees the fields and notes the hits */
	__u32 filtered;
};

/* Entries and exits without a measured span. */
enum span_unpaired {
	SPAN_NOT_ENTERED, /* an exit without an entry */
	SPAN_REENTERED,	  /* an entry in an open span */
	SPAN_THREAD_DIED, /* before the exit */
	SPAN_NO_ROOM,	  /* too many open spans for the map */
	SPAN_UNPAIRED,
};

/* Whether a CPU is watched. Not a program constant, which would be read from memory too. */
enum trigger_watched {
	TRIGGER_UNWATCHED,
	TRIGGER_WATCHED,
};

/* Written by one CPU in its timer interrupt; user space may read its mapping at any time. */
struct trigger_cpu {
	/* An ordinary expiry reads only the first cache line. User space sets the first three
	 * members before it attaches the program. */
	__u64 watched;	    /* enum trigger_watched */
	__u64 function;	    /* callback of the timers to watch; 0: all */
	__u64 threshold_ns; /* TRIGGER_NEVER: no spikes */
	__u64 count;
	__u64 sum_ns;
	__u64 min_inverse; /* ~minimum, so that zero-filled memory means "none yet" */
	__u64 max_ns;
	__u64 last_ns;
	__u64 buckets[TRIGGER_BUCKETS];
	__u64 spikes;
	__u64 unarmed;
	__u64 unpaired[SPAN_UNPAIRED]; /* of spans, even if the CPU is not watched */
	__u64 thread; /* TID of the workload's thread in the first PID namespace; 0: none yet */
};

/* Room for the values of enum perf_poke_trigger_kind, whose first three are timerlat's contexts. */
#define TRIGGER_KINDS 16

/* Times of what ran since timerlat's timer interrupt. */
struct trigger_noise {
	__u64 irq_ns, softirq_ns, thread_ns, nmi_ns;
	__u64 open; /* 1: the thread runs, but osnoise has not yet reported the thread that it
		       replaced */
};

/* Latencies of a spike's activation; 0: unknown. */
struct trigger_latencies {
	__u64 sequence; /* of the spike */
	__u64 timer, expected_ns;
	__u64 irq_ns, thread_ns, user_ns;
	struct trigger_noise noise; /* up to the last of these latencies */
};

/* Exceeds the number of spikes whose captures may be unwritten; a power of two. */
#define TRIGGER_RECENT 4

/* The newest spikes taken, by sequence. */
struct trigger_recent {
	__u64 newest;
	struct trigger_latencies spikes[TRIGGER_RECENT];
};

/* The kernel's default limit (kernel.perf_event_max_stack), interrupts included. */
#define TRIGGER_KERNEL_FRAMES 127
#define TRIGGER_USER_FRAMES 63
#define TRIGGER_BUILD_ID_SIZE 20
#define TRIGGER_NICE_0 120 /* static_prio of the kernel */

/* Maximum length of an instruction and of the previous one. */
#define TRIGGER_CODE_SIZE 16 /* ARCH_CODE_SIZE */

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
	struct trigger_build_id build_ids[TRIGGER_USER_FRAMES]; /* parallel to `user` */
};

/* The task that had the CPU when a late thread should have run. */
struct trigger_holder {
	__u64 since_ns; /* when it was seen to have the CPU; 0: not yet */
	__u64 until_ns; /* when it gave up the CPU; 0: not yet */
	/* Size of the kernel stack at the timer's interrupt; 0: none */
	__s32 interrupted_size;
	__u32 pid, tid;	    /* 0: idle, or not known */
	__u32 at_interrupt; /* 1: `stack` is from the interrupt too; 0: from where it gave up the
			       CPU */
	/* Of the task at the timer's interrupt, which hit it there unless it hit the kernel; 0: not
	 * known */
	__u64 user_address;
	__u64 interrupted[TRIGGER_KERNEL_FRAMES];
	struct trigger_stack stack; /* kernel_size 0: none */
};

/* What user space had when the task entered the kernel: its registers, in the struct that tracers
 * are given (struct pt_regs of x86-64, struct user_pt_regs of arm64, which is the larger one), and
 * the top of the stack, by which code without frame pointers is unwound. */
#define TRIGGER_USER_REGISTERS 34
#define TRIGGER_USER_MEMORY 8192

struct trigger_user {
	__u64 size; /* of `memory`, from the stack pointer on; 0: nothing was taken */
	__u64 registers[TRIGGER_USER_REGISTERS];
	__u8 memory[TRIGGER_USER_MEMORY];
};

struct trigger_stacks {
	__u64 sequence; /* of the spike; 0: none, or being written */
	struct trigger_stack spike;
	struct trigger_holder holder;
	/* Steal time of the CPU at the scheduler's last update before the spike; all bits set:
	 * unknown. */
	__u64 steal_ns;
	/* SMIs of the CPU that took the spike, since the counter was opened; a negative errno:
	 * unknown. */
	__s64 smis;
	__u64 took_ns;		  /* to take the stack of the spike; 0: it was taken before */
	struct trigger_user user; /* of `spike` */
};

/* What kept osnoise's thread from running. */
enum trigger_noise_class {
	TRIGGER_NOISE_IRQ,
	TRIGGER_NOISE_SOFTIRQ,
	TRIGGER_NOISE_THREAD,
	TRIGGER_NOISE_NMI,
	TRIGGER_NOISE_CLASSES,
};

struct trigger_noise_part {
	__u64 start, ns; /* on osnoise's clock; without what interrupted it */
	__u32 class;	 /* enum trigger_noise_class */
	__s32 number;	 /* of the interrupt or softirq; or the TID */
	char name[16];	 /* of the interrupt's action or of the thread */
};

/* Before the largest noises end, many small ones may end. */
#define TRIGGER_NOISE_PARTS 64

/* The newest noises, of any age, up to a spike. */
struct trigger_noise_parts {
	__u64 sequence; /* of the spike; 0: none, or being written */
	__u64 start;	/* of its sample */
	struct trigger_noise_part parts[TRIGGER_NOISE_PARTS];
};

/* -- The ledger of the trigger interruption: what took a CPU from a thread */

enum ledger_kind {
	LEDGER_VECTOR,	/* number: of x86's vector; elsewhere the address of the reason */
	LEDGER_IRQ,	/* of the interrupt, as in /proc/interrupts */
	LEDGER_SOFTIRQ, /* of the softirq */
	LEDGER_NMI,	/* 0 */
	LEDGER_FAULT,	/* 0 */
	LEDGER_THREAD,	/* TID */
	LEDGER_HRTIMER, /* address of the function, as the next two */
	LEDGER_TIMER,
	LEDGER_WORK,
	LEDGER_TICK, /* bits of what needs the tick */
	LEDGER_KINDS,
};

struct ledger_key {
	__u32 cpu;
	__u32 kind; /* enum ledger_kind */
	__u64 number;
};

/* Vectors of x86 that other CPUs send: arch/x86/include/asm/irq_vectors.h. */
#define LEDGER_CALL_SINGLE 0xfb
#define LEDGER_CALL 0xfc
#define LEDGER_RESCHEDULE 0xfd
#define LEDGER_FRAMES 16
#define LEDGER_CPUS_MAX 64 /* whose senders are looked for */

/* Who sent an interrupt to another CPU. */
struct ledger_sender {
	__u64 time_ns;	/* 0: unknown */
	__u64 callback; /* what the other CPU was to run; 0: unknown */
	__u32 cpu, pid, tid;
	__s32 size; /* of `frames` in bytes, or a negative errno */
	char comm[16];
	__u64 frames[LEDGER_FRAMES];
};

/* Only its CPU writes it. */
struct ledger_source {
	__u64 count, sum_ns, max_ns;
	__u64 last_ns;		     /* when the newest one ended */
	__u64 began_ns;		     /* when the one that is not over began; 0: none */
	char name[16];		     /* of an interrupt's handler, or of a thread */
	struct ledger_sender sender; /* of the newest one */
};

/* Kinds of records. */
enum trigger_what {
	TRIGGER_SPIKE, /* a spike while the session was armed */
	TRIGGER_POKE,  /* a request for a capture without a spike */
	TRIGGER_STOP,  /* a request to end the session; no other member is set */
};

/* A thread; tid 0: none. Of one that was only named, user space finds the rest. */
struct trigger_task {
	__u32 pid, tid;
	__u32 policy, rt_priority; /* policy of sched_setscheduler() */
	__s32 nice;
	char comm[16];
};

struct trigger_spike {
	__u64 sequence;
	__u64 time_ns;	 /* CLOCK_MONOTONIC when the program ran */
	__u64 frozen_ns; /* when the program froze the trace; 0: it did not */
	__u64 latency_ns;
	__u64 expected_ns; /* both CLOCK_MONOTONIC, on any clock of the timer */
	__u64 actual_ns;
	__u64 function;
	__u64 timer;
	__u32 cpu; /* CPU where it should have run */
	__u32 pid;
	__u32 tid;
	__u32 what; /* enum trigger_what */
	char comm[16];
	__u64 irq_ns, thread_ns, user_ns; /* of the activation so far; 0: unknown */
	__u32 kind;			  /* enum perf_poke_trigger_kind */
	__u32 by_rtla;			  /* 1: taken by rtla's threshold */
	__u32 ran_cpu;			  /* CPU where the interrupt or the thread ran */
	__u32 ran_watched;		  /* 1: that CPU is watched */
	__u32 unpoked;			  /* 1: left to the controller to poke the targets */
	struct trigger_task late;	  /* the thread that was late */
	__u32 overrun;			  /* 1: not over yet: see spike.bpf.h */
	__u32 uncertain;		  /* 1: may be shorter: see span_missed.bpf.h */
	struct ledger_key source;	  /* of PERF_POKE_TRIGGER_INTERRUPTION */
	char label[TRIGGER_LABEL_SIZE];	  /* of the reporter, the marker or the event */
};

/* The context of the program report_late. */
struct trigger_report {
	__u64 expected_ns, actual_ns; /* CLOCK_MONOTONIC; actual_ns 0: now */
	__u64 tid;		      /* 0: the current thread; all bits set: unknown */
	char label[TRIGGER_LABEL_SIZE];
};

/* Changes with the members of what is pinned: struct trigger_session, trigger_cpu, poke_target, and
 * the section .data.arming. */
#define TRIGGER_LAYOUT 3

/* The session as others see it, in a pinned map with one entry. Only the controller writes it.
 * Strings are NUL-terminated. */
struct trigger_session {
	__u32 layout;	/* TRIGGER_LAYOUT */
	__u32 pid;	/* PID of the controller in the first PID namespace */
	__u64 start_ns; /* start time of the controller, CLOCK_BOOTTIME */
	__u64 armed_ns; /* CLOCK_BOOTTIME; 0: not yet */
	__u64 threshold_ns;
	__u64 thresholds_ns[TRIGGER_KINDS]; /* 0: takes no spikes */
	__u64 period_ns;
	__u64 captures, failed; /* complete, and lost */
	__u64 last_sequence;	/* spike of the last capture, complete or lost; 0: none yet */
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
static_assert(sizeof(struct trigger_spike) == 200 + TRIGGER_LABEL_SIZE, "no hidden padding");
static_assert(sizeof(struct trigger_latencies) == 88, "no hidden padding");
static_assert(sizeof(struct trigger_build_id) == 32, "as the kernel's");
static_assert(sizeof(struct trigger_stack) ==
		      48 + 8 * TRIGGER_KERNEL_FRAMES + 40 * TRIGGER_USER_FRAMES,
	      "no hidden padding");
static_assert(sizeof(struct trigger_session) == 720 + 8 * TRIGGER_KINDS, "no hidden padding");
#endif

/* For 1 to 2^32 - 1, without branches, which would be mispredicted. The sign of `limit - v` tells
 * whether v is larger. */
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

/* The bucket of a latency. */
static inline __u32 trigger_bucket(__u64 latency_ns)
{
	__u64 units = latency_ns >> TRIGGER_UNIT_SHIFT;
	__u32 octave;

	if (latency_ns >> TRIGGER_TOP_BITS)
		return TRIGGER_BUCKETS - 1;
	octave = trigger_log2(units | TRIGGER_SUB_BUCKETS) - TRIGGER_SUB_BITS;
	return octave * TRIGGER_SUB_BUCKETS + (units >> octave);
}

/* -- The targets of a spike's signals, and the results */

#define POKE_TARGETS 16
/* Appended to the message for FASYNC: hexadecimal digits with a bit for each target that it is
 * for. */
#define POKE_CALLED_FORMAT "%04x"
#define POKE_CALLED_DIGITS 4

/* A way is a value of enum perf_poke_delivery: there is room for these. */
#define POKE_WAYS 8
#define POKE_WAY_NONE PERF_POKE_DELIVERY_AUTO /* no way has taken the signal */
#define POKE_OUTSTANDING(way) (1U << (way))

/* Why a target is not signalled any more. */
enum poke_lost {
	POKE_NOT_LOST,
	POKE_LOST_ENDED,
	POKE_LOST_EXEC,	   /* it runs another program, which may not catch the signal */
	POKE_LOST_HANDLER, /* the signal would kill it or be lost */
};

/* A thread to signal. TIDs are reused, so the start time is part of the identity. exec changes
 * neither, but it changes exec_id. Targets are the first entries of their map; one without a tid
 * ends them. */
struct poke_target {
	__u32 tgid, tid; /* in the first pid namespace */
	__u64 start_ns;	 /* CLOCK_BOOTTIME */
	__u64 task;	 /* address of its task_struct; may be reused after its end */
	__u32 exec_id;	 /* the low half of self_exec_id */
	__u32 lost;	 /* enum poke_lost; set once, by the first to notice */
	__s32 signal;
	__u32 blocked; /* 1: it blocked the signal when this was last looked at */
	/* Of the newest spike: */
	__u32 idle; /* 1: the CPU was idle */
	__u32 unused;
	__u64 sequence;
	__u64 poked_ns;	  /* when it was poked; both CLOCK_MONOTONIC */
	__u64 pending_ns; /* when the signal became pending; 0: not yet */
	__u32 way;	  /* or POKE_WAY_NONE: all ways refused */
	/* POKE_OUTSTANDING of the ways with an outstanding signal, of any spike;
	 * POKE_OUTSTANDING(NONE): the controller must send it. Clearing a bit takes ownership of
	 * that signal: its owner sends it, has seen it arrive, or has sent a later one. */
	__u32 outstanding;
	/* Since the session began: */
	__u64 pending; /* signals that became pending, from any sender */
	__u64 merged;  /* signals merged with a pending or outstanding one */
	__u64 sent[POKE_WAYS];
	__u64 refused[POKE_WAYS];
};

/* Takes ownership. Returns whether the signal was outstanding. */
static inline __attribute__((always_inline)) __u32
poke_take_outstanding(volatile struct poke_target *target, __u32 way)
{
	return __sync_fetch_and_and(&target->outstanding, ~POKE_OUTSTANDING(way)) &
	       POKE_OUTSTANDING(way);
}

/* At a spike: earlier outstanding signals, except a queued callback, merge with the new one. */
static inline __attribute__((always_inline)) void
poke_merge_outstanding(volatile struct poke_target *target)
{
	const __u32 queued = POKE_OUTSTANDING(PERF_POKE_DELIVERY_TASK_WORK);

	if (__sync_fetch_and_and(&target->outstanding, queued) & ~queued)
		__sync_fetch_and_add(&target->merged, 1);
}

#ifndef __bpf__
static_assert(POKE_TARGETS == 4 * POKE_CALLED_DIGITS, "a bit for each");
static_assert(sizeof(struct poke_target) == 96 + 16 * POKE_WAYS, "no hidden padding");
#endif

#endif
