/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * trigger/: what is watched. May include options/ and base/.
 *
 * The controller's side of bpf/trigger.bpf.c: load, arm, read.
 */
#ifndef LIB_TRIGGER_H
#define LIB_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "bpf/poke.h"
#include "bpf/trigger.h"

struct trigger;

/* The function that POKE_WAY_TASK_WORK calls; some kernels append "_impl". */
#define TRIGGER_TASK_WORK "bpf_task_work_schedule_signal"

/* Names in that folder. */
#define TRIGGER_PIN_SESSION "session"
#define TRIGGER_PIN_CPUS "cpus"
#define TRIGGER_PIN_CPUS_MORE "cpus_more"
#define TRIGGER_PIN_TARGETS "targets"
#define TRIGGER_PIN_POKE "poke"
#define TRIGGER_PIN_STOP "stop"

/* What is watched besides the timers themselves. */
struct trigger_threads {
	/* By enum trigger_kind, that of TRIGGER_IRQ aside; 0: not watched. */
	uint64_t threshold_ns[TRIGGER_KINDS];
	uint64_t timerlat_irq, hrtimer_wakeup; /* addresses; 0: there is none */
	bool samples;			       /* the tracer timerlat tells of each */
	bool noise;			       /* and osnoise of what ran instead */
	bool claimed;			       /* only threads that trigger_claim() has noted */
	uint32_t wakeup_pid;
	char wakeup_comm[16];
};

struct trigger_config {
	const int *cpus;
	size_t nr_cpus;
	uint64_t threshold_ns;
	uint64_t function; /* address; 0 for any */
	uint64_t linear_width_ns;
	uint64_t linear_entries; /* 0: no linear histogram */
	struct trigger_threads threads;
	/* What stops and starts a trace from within the kernel, less than TRIGGER_MESSAGE_SIZE
	 * bytes; NULL or empty for not. */
	const char *pause_message, *resume_message;
	/* Whom to poke, and how: bits of enum poke_way; 0: nobody. */
	const struct poke_target *targets;
	size_t nr_targets;
	uint32_t poke_ways;
	const char *poke_message; /* as the others */
	bool stacks;		  /* takes those of a spike */
	bool rtla;		  /* takes what rtla sees, where the kernel tells it */
};

/* Whether the kernel tells of its types, which the program is fitted to; else the message says so.
 */
bool trigger_has_btf(const struct log *log);

/* Loads and attaches, not armed: statistics begin. */
int trigger_open(struct trigger **ret, const struct trigger_config *config, const struct log *log);

/* Whether the kernel takes the program with this way to poke. Returns 0 or a negative errno. */
int trigger_try(enum poke_way way);

/* Readable when there may be a spike. */
int trigger_fd(const struct trigger *trigger);

void trigger_arm(struct trigger *trigger);
/* Above that of the configuration. */
void trigger_set_threshold(struct trigger *trigger, enum trigger_kind kind, uint64_t threshold_ns);
/* Less than this is counted, not taken; neither is anything before that time. */
void trigger_set_floor(struct trigger *trigger, enum trigger_kind kind, uint64_t floor_ns);
void trigger_set_quiet(struct trigger *trigger, uint64_t until_ns);
/* The sequence number of the spike that the caller takes by this; 0 if it was not armed. */
uint64_t trigger_take(struct trigger *trigger);
/* 1 and the spike, or who pokes; or 0. */
int trigger_read(struct trigger *trigger, struct trigger_spike *spike);
/* Whether somebody wants the session to end, as far as has been read. */
bool trigger_stop_asked(const struct trigger *trigger);

/* Called by the thread of the workload on its CPU: its timers are the workload's. */
int trigger_claim(const struct trigger *trigger);

/* The program that rtla's action is to run; -ENOENT: not asked for, or not on this kernel. The
 * trigger's. */
int trigger_rtla_fd(const struct trigger *trigger);

/* A record of a spike that was none; -EBUSY: not armed. */
int trigger_poke(const struct trigger *trigger);

/* What others see of the session, with who the controller is. */
struct trigger_session *trigger_session(const struct trigger *trigger);
/* Gives maps and programs names in a folder of bpffs. */
int trigger_pin(const struct trigger *trigger, const char *folder);

/* Starts the trace of a CPU again that the trigger has stopped. */
int trigger_resume(const struct trigger *trigger, int cpu);

/* Perf events do not reach targets where the CPU is idle: leave those spikes to another way. */
void trigger_set_drops_idle(struct trigger *trigger);

/* Looks at the targets again, which the caller does right before it signals one: those that must
 * not be signalled any more are `gone` then. */
int trigger_look(const struct trigger *trigger);

/* The targets as they are now; NULL when there are none. Live memory, as the next. */
volatile struct poke_target *trigger_targets(const struct trigger *trigger);

/* Live memory: each field may change between two looks. */
const volatile struct trigger_cpu *trigger_cpu(const struct trigger *trigger, int cpu);
/* The same of another kind of latency. */
const volatile struct trigger_cpu *trigger_cpu_kind(const struct trigger *trigger, int cpu,
						    enum trigger_kind kind);
/* Live memory too: linear_entries buckets of equal width, and one for what is over them. */
const volatile uint64_t *trigger_linear(const struct trigger *trigger, uint64_t watched);
/* The latencies of the activation that the spike was in, as far as they are known by now. Any
 * thread. Returns whether they are still those of this spike. */
bool trigger_latencies(const struct trigger *trigger, int cpu, uint64_t sequence,
		       struct trigger_latencies *latencies);
/* The stacks at a spike. Any thread. Returns whether there are any, still those of this spike. */
bool trigger_stacks(const struct trigger *trigger, uint64_t sequence,
		    struct trigger_stacks *stacks);
/* Reads the kernel's code before an address. One thread at a time. */
int trigger_code(const struct trigger *trigger, uint64_t address, uint8_t code[TRIGGER_CODE_SIZE]);
/* Whether those latencies come with noise. */
bool trigger_has_noise(const struct trigger *trigger);
/* Expiries on any CPU that the program did not see because it was running already on that CPU. */
uint64_t trigger_missed(const struct trigger *trigger);

/* Takes the program out of the kernel; statistics stay. */
void trigger_detach(struct trigger *trigger);
void trigger_free(struct trigger *trigger);

#endif
