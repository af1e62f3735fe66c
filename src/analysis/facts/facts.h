/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The facts about a spike, from capture.json: what the trigger saw, the stack that the timer's
 * interrupt hit, and activity of the hardware and the hypervisor.
 *
 * This folder makes facts and spans of a capture: what each CPU did (spans.h), when threads ran and
 * why not (schedule.h), samples (samples.h), and who sent interrupts and work (work_senders.h).
 */
#ifndef ANALYSIS_FACTS_H
#define ANALYSIS_FACTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "facts/work_senders.h"
#include "perf_poke.h"

#define IDLE_STATES_MAX 16

/* From capture.json: counts of the spike's CPU since the session was last armed. */
struct hardware_facts {
	uint64_t since_ns;			  /* 0: not counted */
	uint64_t smis, steal_ns, nmis, throttles; /* UINT64_MAX: unknown */
	/* Part of steal_ns since the scheduler's last update before the spike: at a wakeup, a
	 * switch or a tick. */
	uint64_t late_steal_ns;
	uint64_t hypervisor;   /* 1: a virtual machine; 0: none; UINT64_MAX: unknown */
	bool local_irqs_first; /* see arch.h */
	struct idle_state {
		char name[24];
		uint64_t exit_ns; /* its maximum exit latency */
	} states[IDLE_STATES_MAX];
	size_t nr_states;
};

/* From tracepoints of the CPU. Zero-initialised means none. */
struct power {
	uint64_t state;	  /* last idle state entered */
	uint64_t entered; /* when */
	uint64_t left;	  /* time of leaving it; 0: not left yet */
	uint64_t frequency_khz;
};

/* Writes possible hardware causes of the latency, each after a `; `. */
void hardware_put_causes(FILE *file, const struct hardware_facts *facts, const struct power *power,
			 uint64_t expected_ns, uint64_t latency_ns);

/* Whether steal time explains the latency as well as what the kernel ran: half of it at least, in a
 * time of which a tenth was stolen. */
bool hardware_may_have_stolen(const struct hardware_facts *facts, uint64_t latency_ns);

/* If it is certain that steal time explains the latency: how much. */
void hardware_put_steal(FILE *file, uint64_t steal_ns, uint64_t latency_ns);

/* The idle state that the CPU left last, or "". */
const char *hardware_state_left(const struct hardware_facts *facts, const struct power *power);

/* For a latency that no code of this machine explains: `steal`, `smi`, or "" if unknown. */
const char *hardware_blamed_name(const struct hardware_facts *facts, uint64_t latency_ns);

/* Writes all counts, such as `3 NMIs, steal 190us in the 2s before`; nothing if all are zero. */
void hardware_put_counts(FILE *file, const struct hardware_facts *facts, const char *before);

/* NULL if out of memory. */
json_object *hardware_facts_json(const struct hardware_facts *facts, const struct power *power);

#define STACK_FRAMES_MAX 64

struct spike_frame {
	/* A function; if unknown, for user space a file and an offset, or an address. */
	char name[96];
	char module[48]; /* of the function: empty: vmlinux; for user space its file */
	bool user;
	bool function;	 /* of the kernel */
	char source[48]; /* the line, such as `request.c:42`; empty: unknown */
};

#define STACK_INLINED_MAX 32

/* A function that is inlined in a frame. Only shown: a compiler's choice is no part of a cause. */
struct inlined_frame {
	char name[96], source[48];
	size_t frame; /* its index */
};

/* Interrupts before the one that took the stack, as the code there shows it. */
enum irqs_before {
	IRQS_NOT_KNOWN,
	IRQS_WERE_ON,
	IRQS_WERE_OFF, /* the interrupt came as soon as they were enabled */
};

/* Innermost first. */
struct spike_stack {
	struct spike_frame frames[STACK_FRAMES_MAX];
	size_t nr;
	struct inlined_frame inlined[STACK_INLINED_MAX]; /* innermost first */
	size_t nr_inlined;
	int tid; /* owner of the stack */
	enum irqs_before irqs;
	bool interrupted; /* for a late thread: interrupted by the timer; otherwise switched out
			     there */
};

#define STACK_NONE SIZE_MAX

/* The frame that kept interrupts off and delayed the timer, if they were off: the one that enabled
 * them again, without helpers. STACK_NONE: they were on, as in user space. */
size_t spike_stack_culprit(const struct spike_stack *stack);

/* The frame in which the task was switched out, outside the scheduler. STACK_NONE: unknown. */
size_t spike_stack_switched(const struct spike_stack *stack);

/* The interrupted frame, if interrupts were on there, or off only briefly: no kernel code delayed
 * the interrupt. Otherwise STACK_NONE. */
size_t spike_stack_open(const struct spike_stack *stack);

/* The outermost frame of a function. STACK_NONE: none. */
size_t spike_stack_find(const struct spike_stack *stack, const char *function);

/* Of two stacks of one thread, the innermost frame of `stack` that was there all the time, judging
 * by its callers. STACK_NONE: there is none. */
size_t spike_stack_common(const struct spike_stack *stack, const struct spike_stack *other);

/* Of two stacks of one thread, whether it was switched out in a function that it called after
 * `before`. */
bool spike_stack_went_on(const struct spike_stack *stack, const struct spike_stack *before);

/* Such as `acme_flush() [acme]`. */
void spike_stack_put_frame(FILE *file, const struct spike_frame *frame);

/* Writes `before` and a few callers of a frame, innermost first, all from the same side (kernel or
 * user). */
void spike_stack_put_callers(FILE *file, const struct spike_stack *stack, size_t frame,
			     const char *before);

/* Whether the task was switched out as soon as the kernel enabled preemption. */
bool spike_stack_preempted(const struct spike_stack *stack);

/* Whether the timer's interrupt hit the scheduler just before the task ran: the stack does not show
 * what the task executed. */
bool spike_stack_switched_in(const struct spike_stack *stack);

/* For a frame of a late thread, found by spike_stack_switched(). */
void spike_stack_put_switched(FILE *file, const struct spike_stack *stack);

/* From capture.json: what limits the time that threads get. */
struct scheduling_facts {
	int64_t rt_runtime_us; /* kernel.sched_rt_runtime_us; -1: no limit */
	uint64_t rt_period_us; /* 0: unknown */
	int fair_server;       /* 1: it is there; 0: not; -1: unknown */
	/* The late thread's nearest cgroup with a CPU quota; quota_us 0: none */
	char cgroup[128];
	uint64_t quota_us, quota_period_us, nr_throttled, throttled_us;
};

#define STATISTICS_ROWS_MAX 512

/* From capture.json: latencies of the session up to the spike. */
struct statistics {
	int cpu;	/* negative: all watched CPUs */
	uint64_t count; /* 0: no latencies */
	uint64_t min_ns, avg_ns, p50_ns, p99_ns, p99_9_ns, max_ns;
	uint64_t spikes, unarmed;
	/* Histogram buckets in ascending order, without overlap. */
	struct {
		uint64_t low_ns, high_ns; /* high_ns: UINT64_MAX if unbounded */
		uint64_t count;
	} rows[STATISTICS_ROWS_MAX];
	size_t nr;
};

struct late_thread;

struct facts {
	/* Without pointers. Texts are printable. Times are those of the trace, where
	 * expected_ns <= actual_ns <= time_ns; latency_ns and irq_ns fit in. */
	struct perf_poke_spike spike;
	struct perf_poke_capture capture; /* without pointers; history_ns is 0 if unknown */
	enum perf_poke_recorder recorder;
	bool sampled;	      /* Intel PT in an AUX sample, not in a ring */
	bool unread;	      /* Intel PT, which this build does not decode */
	bool no_times;	      /* Intel PT whose TSC was not perf's clock */
	bool ends_at_spike;   /* Intel PT that the kernel stopped at the spike */
	bool by_cpu;	      /* a span of a CPU, such as a softirq */
	bool by_argument;     /* a span of neither thread nor CPU, such as a request to a disk */
	uint64_t to_clock_ns; /* from the clock of capture.json to that of the trace */
	char trigger[16];     /* its name; empty: none fired */
	char function[128];   /* callback of the timer, or its address */
	char wall_time[40];
	char release[80], hostname[80], model[80];
	char arch[16]; /* as of uname -m */
	struct hardware_facts hardware;
	struct scheduling_facts scheduling;
	const struct senders *senders;	  /* NULL: not recorded */
	const struct late_thread *thread; /* NULL: no thread was late, or it is not recorded */
	struct spike_stack
		stack; /* of the interrupted task, or of the one before the late thread */
	struct spike_stack
		holder; /* of the task that had the CPU when a late thread should have run */
};

static inline bool facts_is_pt(const struct facts *facts)
{
	return facts->recorder == PERF_POKE_RECORDER_PT;
}

static inline bool facts_is_ftrace(const struct facts *facts)
{
	return facts->recorder == PERF_POKE_RECORDER_FTRACE;
}

/* Whether a thread was late, not the interrupt. */
static inline bool facts_is_thread(const struct facts *facts)
{
	return facts->spike.kind != PERF_POKE_TRIGGER_IRQ;
}

/* Whether what was late is neither a timer nor a wakeup: the stack is the reporter's. */
static inline bool facts_is_reported(const struct facts *facts)
{
	return facts_is_thread(facts) && facts->spike.kind != PERF_POKE_TRIGGER_THREAD &&
	       facts->spike.kind != PERF_POKE_TRIGGER_USER &&
	       facts->spike.kind != PERF_POKE_TRIGGER_WAKEUP;
}

/* The trigger itself tells what took the CPU: of a noise its largest part, or the source of an
 * interruption. */
static inline bool facts_are_of_noise(const struct facts *facts)
{
	return facts->spike.kind == PERF_POKE_TRIGGER_NOISE ||
	       facts->spike.kind == PERF_POKE_TRIGGER_INTERRUPTION;
}

/* The poked perf has its own trace. */
static inline bool recorder_has_trace(enum perf_poke_recorder recorder)
{
	return recorder != PERF_POKE_RECORDER_PERF && recorder != PERF_POKE_RECORDER_NONE;
}

static inline bool facts_have_trace(const struct facts *facts)
{
	return recorder_has_trace(facts->recorder) && !facts->unread;
}

/* The file in a capture that has the trace. */
static inline const char *facts_trace_file(const struct facts *facts)
{
	return facts_is_ftrace(facts) ? "trace.dat" : "perf.data/data";
}

/* Whether there is a trace that shows times. */
static inline bool facts_have_times(const struct facts *facts)
{
	return facts_have_trace(facts) && !facts->no_times;
}

/* A program writes its mark after it measured the latency of a timer that was due then: the latency
 * ended when it measured. due_ns: of the last timer that its thread armed; 0: none. */
void facts_end_mark(struct facts *facts, uint64_t due_ns);

/* Prefix of the latency: `IRQ`, `Thread`, or the reporter's label. */
const char *facts_late_label(const struct facts *facts);

/* Begins the sentence: what was late, or what made a noise, of which Intel PT tells more. */
void facts_put_late(FILE *file, const struct facts *facts);

/* Such as `stress/812` or `idle`. Returns buf. */
const char *facts_format_task(const struct facts *facts, char *buf, unsigned int size);

#endif
