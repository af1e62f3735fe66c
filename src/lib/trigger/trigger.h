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

#include "base/base.h"
#include "bpf/poke.h"
#include "bpf/trigger.h"
#include "trigger/report.h"

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

#endif
