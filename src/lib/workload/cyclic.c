// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload/cyclic.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "clock.h"
#include "trigger/trigger.h"

/* How many periods a thread tries to go back to its CPU after that was offline. */
#define RETURN_TRIES 1000

struct cyclic_thread {
	pthread_t thread;
	int cpu;
	unsigned int tries; /* left to go back to its CPU */
	void *stack;
	size_t stack_size;
	struct cyclic *cyclic;
};

struct cyclic {
	uint64_t period_ns;
	const struct trigger *trigger;
	int stop;
	size_t nr; /* threads that run */
	struct cyclic_thread threads[];
};

static int cyclic_cpu_set(int cpu, cpu_set_t **ret, size_t *size)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);

	if (!set)
		return -ENOMEM;
	*size = CPU_ALLOC_SIZE(cpu + 1);
	CPU_ZERO_S(*size, set);
	CPU_SET_S(cpu, *size, set);
	*ret = set;
	return 0;
}

static int cyclic_place(struct cyclic_thread *thread)
{
	_cleanup_free_ cpu_set_t *set = NULL;
	size_t size;
	int err = cyclic_cpu_set(thread->cpu, &set, &size);

	return err ? err : -pthread_setaffinity_np(thread->thread, size, set);
}

static void cyclic_return(struct cyclic_thread *thread)
{
	unsigned int tries = __atomic_load_n(&thread->tries, __ATOMIC_ACQUIRE);

	if (tries)
		__atomic_store_n(&thread->tries, cyclic_place(thread) ? tries - 1 : 0,
				 __ATOMIC_RELAXED);
}

/* Waits for a signal, of which there is none. The kernel resumes an interrupted nanosleep() when a
 * stopped process continues: it arms the timer again, for a time that has passed, and the stop
 * would be counted as the timer's latency. This call it does not resume. */
static void cyclic_sleep(uint64_t ns)
{
	const struct timespec timeout = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };
	sigset_t none;

	sigemptyset(&none);
	sigtimedwait(&none, NULL, &timeout);
}

static void cyclic_prepare(const struct cyclic_thread *thread)
{
	const struct trigger *trigger = thread->cyclic->trigger;
	char name[16];

	snprintf(name, sizeof(name), "pp-cyclic/%d", thread->cpu);
	pthread_setname_np(pthread_self(), name);
	/* Not every kernel leaves it out for real-time threads. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (trigger)
		trigger_claim(trigger);
}

static void *cyclic_run(void *arg)
{
	struct cyclic_thread *thread = arg;
	uint64_t period_ns = thread->cyclic->period_ns;
	uint64_t next_ns = clock_ns(CLOCK_MONOTONIC);

	cyclic_prepare(thread);
	while (!__atomic_load_n(&thread->cyclic->stop, __ATOMIC_RELAXED)) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		/* A period that was slept through is not made up for. */
		next_ns += period_ns;
		if (next_ns <= now)
			next_ns += ((now - next_ns) / period_ns + 1) * period_ns;
		cyclic_sleep(next_ns - now);
		cyclic_return(thread);
	}
	return NULL;
}

/* The stack is the only memory that the thread touches: with it locked, the thread never faults.
 * Locking all of the process would be for the caller to decide. */
static int cyclic_lock_stack(struct cyclic_thread *thread)
{
	void *stack;

	thread->stack_size = PTHREAD_STACK_MIN + (16 << 10);
	stack = mmap(NULL, thread->stack_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_POPULATE, -1, 0);
	if (stack == MAP_FAILED)
		return -errno;
	thread->stack = stack;
	return mlock(stack, thread->stack_size) ? -errno : 0;
}

static int cyclic_create(struct cyclic_thread *thread, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	_cleanup_free_ cpu_set_t *set = NULL;
	sigset_t all, saved;
	pthread_attr_t attr;
	size_t set_size;
	int err = cyclic_cpu_set(thread->cpu, &set, &set_size);

	if (err)
		return err;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, thread->stack, thread->stack_size);
	pthread_attr_setaffinity_np(&attr, set_size, set);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	/* Signals are for the caller's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = pthread_create(&thread->thread, &attr, cyclic_run, thread);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static int cyclic_start_thread(struct cyclic *cyclic, int cpu, int priority, const struct log *log)
{
	struct cyclic_thread *thread = &cyclic->threads[cyclic->nr];
	int err;

	thread->cpu = cpu;
	thread->cyclic = cyclic;
	err = cyclic_lock_stack(thread);
	if (err)
		log_error(log, err,
			  "cannot lock the memory of the cyclic workload: %s (needs CAP_IPC_LOCK "
			  "or a larger ulimit -l)",
			  strerror(-err));
	else
		err = cyclic_create(thread, priority);
	if (!err) {
		cyclic->nr++;
		return 0;
	}
	if (thread->stack)
		munmap(thread->stack, thread->stack_size);
	if (err == -EPERM)
		log_error(log, err,
			  "SCHED_FIFO priority %d refused for the cyclic workload: needs "
			  "CAP_SYS_NICE or a larger ulimit -r",
			  priority);
	else if (err == -EINVAL)
		log_error(log, err,
			  "cpu %d: outside the cpuset of this process, so the cyclic workload "
			  "cannot run there (workload none can)",
			  cpu);
	else if (thread->stack)
		log_error(log, err, "cannot start the cyclic workload on CPU %d: %s", cpu,
			  strerror(-err));
	return err;
}

int cyclic_start(struct cyclic **ret, const int *cpus, size_t nr_cpus, uint64_t period_ns,
		 int priority, const struct trigger *trigger, const struct log *log)
{
	struct cyclic *cyclic = calloc(1, sizeof(*cyclic) + nr_cpus * sizeof(cyclic->threads[0]));
	int err;

	if (!cyclic)
		return -ENOMEM;
	cyclic->period_ns = period_ns;
	cyclic->trigger = trigger;
	for (size_t i = 0; i < nr_cpus; i++) {
		err = cyclic_start_thread(cyclic, cpus[i], priority, log);
		if (err) {
			cyclic_stop(cyclic);
			return err;
		}
	}
	*ret = cyclic;
	return 0;
}

int cyclic_cpu_online(struct cyclic *cyclic, int cpu)
{
	int err = 0;

	for (size_t i = 0; i < cyclic->nr && !err; i++) {
		struct cyclic_thread *thread = &cyclic->threads[i];

		if (thread->cpu != cpu)
			continue;
		err = cyclic_place(thread);
		/* Up to Linux 6.8 the cpusets hear of the CPU only some time after it is back. */
		if (err == -EINVAL) {
			__atomic_store_n(&thread->tries, RETURN_TRIES, __ATOMIC_RELEASE);
			err = 0;
		}
	}
	return err;
}

void cyclic_stop(struct cyclic *cyclic)
{
	if (!cyclic)
		return;
	__atomic_store_n(&cyclic->stop, 1, __ATOMIC_RELAXED);
	for (size_t i = 0; i < cyclic->nr; i++) {
		pthread_join(cyclic->threads[i].thread, NULL);
		munmap(cyclic->threads[i].stack, cyclic->threads[i].stack_size);
	}
	free(cyclic);
}
