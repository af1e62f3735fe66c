/* SPDX-License-Identifier: GPL-2.0-only */
/**
 * @file
 * The account of a late thread: its latency divided into running, runnable and asleep, as `perf
 * sched timehist` divides it, and why. Of a sleep it has the place, the waker, and in turn what the
 * waker did meanwhile; of a wait for the CPU, who ran instead.
 *
 * It needs sched_switch of the CPUs where the thread ran, and sched_waking of all CPUs.
 */
#ifndef ANALYSIS_LATE_THREAD_H
#define ANALYSIS_LATE_THREAD_H

#include <json-c/json.h>
#include <stdio.h>

#include "facts/facts.h"
#include "facts/samples.h"
#include "facts/schedule.h"

#define THREAD_FRAMES_MAX 8
#define THREAD_LINKS_MAX 4

/* Where a thread gave up the CPU. Names are innermost first, without the scheduler's functions. */
struct thread_place {
	const char *token; /* what it waited for, such as `futex`; NULL: unknown */
	uint32_t kernel[THREAD_FRAMES_MAX], user[THREAD_FRAMES_MAX];
	size_t nr_kernel, nr_user;
	uint32_t entry; /* of the kernel, such as `[fsync]`; 0: unknown */
	/* Of a futex: its address, 0: unknown; and what is built on it, such as `semaphore`. */
	uint64_t address;
	const char *object; /* NULL: unknown, such as a mutex */
};

enum wake_context { WAKE_UNKNOWN, WAKE_TASK, WAKE_TIMER, WAKE_INTERRUPT, WAKE_SOFTIRQ };

struct thread_waker {
	enum wake_context context;
	int tid, cpu;
	uint32_t name;	   /* comm of the current task; 0: unknown */
	uint32_t function; /* handler of the timer or interrupt; 0: unknown */
	uint32_t user;	   /* a task's function that made the system call; 0: unknown */
	uint32_t kernel[THREAD_FRAMES_MAX];
	size_t nr_kernel;
};

/* All sleeps at one place; the waker is that of the longest. */
struct thread_wait {
	struct thread_place place;
	struct thread_waker waker;
	char state; /* as of ps: S, D, T, t, I */
	uint64_t time_ns, longest_ns, count;
	uint64_t begin, end; /* of the longest */
	bool unsure;	     /* it may have ended earlier: what woke it was lost */
};

/* What a thread did while the one before waited for it. */
struct thread_link {
	int tid;
	uint32_t name;
	uint64_t begin, end;
	uint64_t sums[THREAD_STATES];
	enum thread_state state;     /* which it was in for most of the time */
	struct thread_wait wait;     /* asleep: its longest sleep */
	struct schedule_share rival; /* runnable: who ran instead */
};

enum runnable_why {
	RUNNABLE_UNKNOWN,
	RUNNABLE_PRIORITY,    /* who ran has the higher priority */
	RUNNABLE_COMPETITION, /* both are of the fair class, or of equal priority */
	RUNNABLE_RT_THROTTLING,
	RUNNABLE_FAIR_SERVER,
	RUNNABLE_QUOTA,
	RUNNABLE_MAYBE_QUOTA,	/* the quota, or who ran instead */
	RUNNABLE_NOT_PREEMPTED, /* who ran has the lower priority */
	RUNNABLE_NR,
};

/* Which part of the latency is most of it. */
enum thread_part {
	PART_MIXED,
	PART_INTERRUPT, /* the timer's interrupt was late */
	PART_UNKNOWN,
	PART_RUNNING,
	PART_RUNNABLE,
	PART_ASLEEP,
};

struct late_thread {
	int tid, pid;
	uint32_t name;
	struct thread_stays stays;
	struct schedule_shares rivals; /* who ran while it was runnable */
	enum runnable_why why;
	enum thread_part part;
	uint64_t part_ns;
	struct thread_stay longest; /* of the part */
	struct spike_stack rival;   /* of the main rival, where it gave up the CPU */
	struct thread_wait *waits;  /* longest first */
	size_t nr_waits;
	struct thread_link links[THREAD_LINKS_MAX];
	size_t nr_links;
};

/* What names addresses: functions of the kernel, and of programs. */
struct thread_namer {
	struct names *names;
	struct tracepoints *tracepoints;
	samples_namer *user;
	void *context;
};

/* A function of a program, by the mappings of the task of the event; 0: unknown. */
uint32_t thread_user_function(const struct thread_namer *namer, const struct schedule_event *event,
			      uint64_t address);

/* Sums the sleeps of a thread by place, longest first. Returns 0 or -ENOMEM. */
int thread_waits_find(struct thread_wait **waits, size_t *nr, const struct thread_stays *stays,
		      const struct schedule *schedule,
		      const struct thread_namer *namer) _must_check_;

/* ID of the late thread; 0: no thread was late, or it is unknown. */
static inline int late_thread_tid(const struct facts *facts)
{
	return facts->spike.poked ? 0 : facts->spike.late_tid;
}

/* Returns 0, or -ENOMEM. *ret stays NULL if no thread was late, or no switches are recorded. */
int late_thread_new(struct late_thread **ret, const struct schedule *schedule,
		    const struct facts *facts, const struct thread_namer *namer) _must_check_;
void late_thread_free(struct late_thread *thread);

/* Whether it is a timer of the thread itself, as set by schedule_timeout() and the like. */
bool thread_waker_is_timeout(const struct thread_waker *waker, const struct names *names);

/* Such as `asleep`. */
const char *thread_state_name(enum thread_state state);

/* Such as `nice 5` or `real-time 80`; "" if unknown. Returns buf. */
const char *thread_priority(int prio, char *buf, size_t size);

/* For the sentence: `waited 7.9ms for a futex in ..., woken by ...`. */
void late_thread_put_asleep(FILE *file, const struct late_thread *thread,
			    const struct names *names);

/* For the sentence: which limit on CPU time kept it from running. */
void late_thread_put_throttled(FILE *file, const struct late_thread *thread,
			       const struct names *names, const struct facts *facts);

/* Why it did not run, after the reason that the CPU shows: `; ...`, or nothing. rival: the thread
 * that was that reason; NULL: none was. */
void late_thread_put_why(FILE *file, const struct late_thread *thread, const struct names *names,
			 const struct facts *facts, const struct schedule_share *rival);

/* A table, at most 100 columns wide. */
void late_thread_print(FILE *file, const struct late_thread *thread, const struct names *names,
		       size_t columns);

/* NULL if out of memory. */
json_object *late_thread_json(const struct late_thread *thread, const struct names *names);

#endif
