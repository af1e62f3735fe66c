// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload/workload.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "clock.h"
#include "cpulist.h"
#include "trigger/trigger.h"

/* Periods for which a thread tries to return to its CPU: up to Linux 6.8 cpusets learn late that
 * the CPU is back online. */
#define RETURN_TRIES 1000

struct cyclic_thread {
	pthread_t thread;
	int cpu;
	unsigned int tries; /* left, to return to its CPU */
	void *stack;
	size_t stack_size;
	struct cyclic *cyclic;
};

struct cyclic {
	uint64_t period_ns;
	const struct trigger *trigger;
	int stop;
	size_t nr; /* running threads */
	struct cyclic_thread threads[];
};

static void *cyclic_run_thread(void *arg)
{
	struct cyclic_thread *thread = arg;
	uint64_t period_ns = thread->cyclic->period_ns;
	uint64_t next_ns = clock_ns(CLOCK_MONOTONIC);
	struct timespec timeout;
	unsigned int tries;
	char name[16];
	sigset_t none;

	sigemptyset(&none);

	snprintf(name, sizeof(name), "pp-cyclic/%d", thread->cpu);
	pthread_setname_np(pthread_self(), name);
	/* Not every kernel ignores the slack of real-time threads. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (thread->cyclic->trigger)
		trigger_claim_timers(thread->cyclic->trigger);
	while (!__atomic_load_n(&thread->cyclic->stop, __ATOMIC_RELAXED)) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		/* Skip missed periods. */
		next_ns += period_ns;
		if (next_ns <= now)
			next_ns += ((now - next_ns) / period_ns + 1) * period_ns;
		timeout.tv_sec = (next_ns - now) / NSEC_PER_SEC;
		timeout.tv_nsec = (next_ns - now) % NSEC_PER_SEC;
		/* Waits for a signal that never comes. When a stopped process continues, the kernel
		 * restarts nanosleep() with an expiry in the past, which would count as latency; it
		 * does not restart sigtimedwait(). */
		sigtimedwait(&none, NULL, &timeout);
		tries = __atomic_load_n(&thread->tries, __ATOMIC_ACQUIRE);
		if (tries)
			__atomic_store_n(&thread->tries,
					 affinity_set(&thread->cpu, 1) ? tries - 1 : 0,
					 __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Prevents page faults: the thread touches only its stack. Locking the whole process is up to the
 * caller. */
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

static int cyclic_create_thread(struct cyclic_thread *thread, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	size_t set_size = CPU_ALLOC_SIZE(thread->cpu + 1);
	_cleanup_free_ cpu_set_t *set = CPU_ALLOC(thread->cpu + 1);
	sigset_t all, saved;
	pthread_attr_t attr;
	int err;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(set_size, set);
	CPU_SET_S(thread->cpu, set_size, set);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, thread->stack, thread->stack_size);
	pthread_attr_setaffinity_np(&attr, set_size, set);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	/* Signals are for the caller's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	err = pthread_create(&thread->thread, &attr, cyclic_run_thread, thread);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static void cyclic_explain_failure(const struct cyclic_thread *thread, int err, int priority,
				   const struct log *log)
{
	if (err == -EPERM)
		log_error(
			log, err,
			"workload cyclic: SCHED_FIFO priority %d refused: needs CAP_SYS_NICE or a "
			"larger ulimit -r",
			priority);
	else if (err == -EINVAL)
		log_error(log, err,
			  "cpu %d: outside the cpuset of this process: the workload cyclic "
			  "cannot run there (use the workload none)",
			  thread->cpu);
	else if (thread->stack)
		log_error(log, err, "workload cyclic: cannot start on CPU %d: %s", thread->cpu,
			  strerror(-err));
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
		struct cyclic_thread *thread = &cyclic->threads[i];

		thread->cpu = cpus[i];
		thread->cyclic = cyclic;
		err = cyclic_lock_stack(thread);
		if (err)
			log_error(
				log, err,
				"workload cyclic: cannot lock memory: %s (needs CAP_IPC_LOCK or a "
				"larger ulimit -l)",
				strerror(-err));
		else
			err = cyclic_create_thread(thread, priority);
		if (err) {
			if (thread->stack)
				munmap(thread->stack, thread->stack_size);
			cyclic_explain_failure(thread, err, priority, log);
			cyclic_stop(cyclic);
			return err;
		}
		cyclic->nr++;
	}
	*ret = cyclic;
	return 0;
}

void cyclic_cpu_online(struct cyclic *cyclic, int cpu)
{
	for (size_t i = 0; i < cyclic->nr; i++) {
		if (cyclic->threads[i].cpu == cpu)
			__atomic_store_n(&cyclic->threads[i].tries, RETURN_TRIES, __ATOMIC_RELEASE);
	}
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
