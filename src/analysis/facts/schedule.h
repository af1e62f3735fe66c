/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler did: switches on the recorded CPUs, and wakeups of their threads by any CPU.
 * From these events, each stay of a thread in a state. */
#ifndef ANALYSIS_SCHEDULE_H
#define ANALYSIS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/names.h"
#include "events/tracepoints.h"

#define SCHEDULE_NONE SIZE_MAX
/* Kernel priorities: below this real-time, from it on fair. */
#define PRIO_FAIR 100
/* Of a stack, innermost first. */
#define SCHEDULE_FRAMES_MAX 64

enum schedule_kind {
	SCHEDULE_SWITCH,  /* from `tid` to `other` */
	SCHEDULE_WAKING,  /* of `tid` by `other`, which runs the code of the wakeup */
	SCHEDULE_WAKEUP,  /* of `tid`, on any CPU: it is in a run queue now */
	SCHEDULE_MIGRATE, /* of `tid` to `to_cpu` */
	SCHEDULE_SEEN,	  /* another event shows that `tid` runs: its switch was lost */
	SCHEDULE_ARM,	  /* `tid` arms a timer, for `expires` or somewhat later */
};

struct schedule_event {
	uint64_t time;
	enum schedule_kind kind;
	int cpu; /* where it happened */
	int tid, other;
	int prio, other_prio; /* the kernel's: below 0 deadline, below 100 real-time */
	int to_cpu;
	uint32_t name, other_name; /* comm; 0: unknown */
	uint32_t sleep_state;	   /* of a switch: prev_state; 0: `tid` still wants to run */
	/* The stack of the task that ran: of a switch, of `tid`; of a wakeup, of `other`. */
	size_t frames;
	uint32_t nr_frames;
	int pid; /* of that task */
	uint64_t expires, function;
	uint64_t call_argument, call_ip; /* of that task, as in struct tracepoint_event */
};

struct schedule {
	struct schedule_event *events; /* in order of time */
	size_t nr;
	uint64_t *frames;
	size_t nr_frames;
	/* CPUs whose switches are recorded. */
	struct schedule_cpu {
		int cpu;
		bool switches;
		uint64_t since;	  /* time of the first event */
		int current;	  /* the thread that ran at the last event; -1: unknown */
		int previous;	  /* the one before the last switch; -1: unknown */
		uint64_t resumed; /* since when there is no gap before that event */
	} * cpus;
	size_t nr_cpus;
	/* When events of a CPU were lost, in order of begin. */
	struct schedule_gap {
		uint64_t begin, end;
		int cpu;
		bool wakeups; /* by that CPU, of all threads; else its switches */
	} * gaps;
	size_t nr_gaps;
	/* Names of other threads, such as wakers on CPUs that are not watched. */
	struct schedule_comm {
		int tid;
		uint32_t name;
		uint64_t time; /* 0: since before the recording */
	} * comms;
	size_t nr_comms;
};

/* Before the events: where some are missing. Returns 0 or -ENOMEM. */
int schedule_add_gaps(struct schedule *schedule,
		      const struct tracepoints *tracepoints) _must_check_;

/* Adds an event of any CPU; ignores others than those above. Returns 0 or -ENOMEM. */
int schedule_add_event(struct schedule *schedule, struct names *names,
		       const struct tracepoint_event *event) _must_check_;
void schedule_release(struct schedule *schedule);

/* Adds the names of threads. Returns 0, -EINVAL or -ENOMEM. */
int schedule_add_comms(struct schedule *schedule, struct names *names,
		       const struct tracepoints *tracepoints) _must_check_;

/* Since when switches of the CPU are recorded without a gap, up to that time; UINT64_MAX: they are
 * not at that time. */
uint64_t schedule_switches_since(const struct schedule *schedule, int cpu, uint64_t at);

/* Whether switches of the CPU are recorded at that time. */
bool schedule_has_switches(const struct schedule *schedule, int cpu, uint64_t at);

/* Whether switches of the CPU are missing in that time. */
bool schedule_has_gap(const struct schedule *schedule, int cpu, uint64_t begin, uint64_t end);

/* Name of a thread at a time; 0: unknown. */
uint32_t schedule_thread_name(const struct schedule *schedule, int tid, uint64_t at);

enum thread_state {
	THREAD_UNKNOWN, /* on a CPU that is not recorded, before the recording, or in a gap */
	THREAD_RUNNING,
	THREAD_RUNNABLE, /* waits for a CPU */
	THREAD_ASLEEP,
	THREAD_STATES,
};

struct thread_stay {
	uint64_t begin, end;
	enum thread_state state;
	int cpu;	/* where it runs, or whose run queue it is in; -1: unknown */
	size_t gave_up; /* switch by which it gave up the CPU, or SCHEDULE_NONE */
	size_t woken;	/* asleep: event that ended it; runnable: that began it; or NONE */
	bool unsure;	/* how it ended was lost, so it may have ended earlier */
	bool lost;	/* unknown, because events are missing */
};

struct thread_stays {
	struct thread_stay *list; /* without gaps, from begin to end */
	size_t nr;
	uint64_t sums[THREAD_STATES];
	uint64_t lost_ns; /* of what is unknown, because events are missing */
	int prio;	  /* its last one; INT_MIN: unknown */
};

/* What the trigger knows of a thread. */
struct thread_known {
	bool waits;   /* from the beginning, for the CPU */
	bool runs_on; /* at the end */
	int cpu;      /* where */
	bool quota;   /* it may wait beside an idle CPU: its cgroup has a CPU quota */
};

/* Finds the stays of a thread. Returns 0 or -ENOMEM. */
int schedule_follow_thread(const struct schedule *schedule, int tid, uint64_t begin, uint64_t end,
			   const struct thread_known *known,
			   struct thread_stays *stays) _must_check_;
static inline void thread_stays_release(struct thread_stays *stays)
{
	free(stays->list);
}

/* A task that ran on a CPU, and how long. */
struct schedule_share {
	int tid;       /* 0: idle */
	uint32_t name; /* 0: unknown */
	int prio;      /* INT_MIN: unknown */
	uint64_t time_ns;
	size_t gave_up; /* its last switch, or SCHEDULE_NONE */
};

struct schedule_shares {
	struct schedule_share *list; /* longest first, after schedule_shares_sort() */
	size_t nr;
};

/* Adds what ran on a CPU in an interval. Returns 0 or -ENOMEM. */
int schedule_share_add(const struct schedule *schedule, int cpu, uint64_t begin, uint64_t end,
		       struct schedule_shares *shares) _must_check_;
void schedule_shares_sort(struct schedule_shares *shares);
static inline void schedule_shares_release(struct schedule_shares *shares)
{
	free(shares->list);
}

#endif
