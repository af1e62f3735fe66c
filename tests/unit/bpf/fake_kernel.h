/* SPDX-License-Identifier: GPL-2.0-only */
/* The BPF program that pokes, compiled for this test, and its kernel: tasks that refuse some
 * deliveries, perf events, a clock. */
#ifndef TESTS_BPF_FAKE_KERNEL_H
#define TESTS_BPF_FAKE_KERNEL_H

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "bpf/trigger.h"
#include "delivery/delivery.h"
#include "fake_target.h"
#include "machine/base.h"
#include "trigger/trigger.h"

/* The kernel's types, as the program uses them. */
#undef sa_handler
struct sighand_struct {
	struct k_sigaction {
		struct {
			uint64_t sa_handler;
		} sa;
	} action[SIGUSR2];
};

struct task_struct {
	int pid;
	unsigned int in_execve;
	uint64_t start_boottime, self_exec_id;
	struct sighand_struct *sighand;
	struct {
		unsigned long sig[1];
	} blocked;
};

#ifndef HAVE_BPF_TASK_WORK
struct bpf_task_work {
	uint64_t opaque;
};
#endif

struct kernel_siginfo {
	int si_code;
};

struct bpf_map;

#define TARGETS 3
#define PRINTK_ID 77
#define HANDLER 0x1000
/* The CPU of the spikes. */
#define CPU 0

/* The deliveries that fail for a target, as bits of enum perf_poke_delivery: FASYNC is lost;
 * TRACEPOINT is not polled in time. */
static uint32_t refuses[TARGETS];
static unsigned int nr_signals[TARGETS], nr_printed;
static struct task_struct tasks[TARGETS], idle_task, *current;
static struct sighand_struct sighands[TARGETS];
static uint64_t now_ns;
static bool watched = true; /* that CPU is */

static struct event {
	int cpu, tid, signal;
	char filter[64];
} events[1024]; /* by their descriptors */

static void signal_task(const struct task_struct *task, int signal, int code);
static void print(const char *format, size_t size, uint32_t arg);

static void *lookup(const void *map, const void *key);

/* -- The program, and the helpers it calls. This test sets its constants. */

#define SEC(name) __attribute__((unused))
#define __uint(name, value) int(*name)[value]
#define __type(name, value) value *name
#define __noinline __attribute__((noinline))
#undef __always_inline
#define __always_inline inline
#undef __weak
#define __weak
#define __ksym
#define barrier() ((void)0)
#define bpf_map_lookup_elem(map, key) lookup(map, key)
#define bpf_get_current_pid_tgid() ((uint64_t)current->pid)
#define bpf_get_current_task_btf() current
#define bpf_ktime_get_ns() now_ns
#define bpf_get_smp_processor_id() CPU
#define cpu_is_watched(cpu) watched
#define bpf_send_signal_thread(signal) signal_task(current, signal, SI_KERNEL)
#define BPF_CORE_READ(from, field) ((from)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(from, field) ((from)->field)
#define bpf_core_field_offset(field) offsetof(struct sighand_struct, action)
#define bpf_core_field_exists(field) 1
#define bpf_core_type_size(type) sizeof(type)
#define bpf_trace_printk(format, size, arg) print(format, size, arg)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
/* Replaced by the above. */
#define CPUS_BPF_H
#define const
#include "bpf/poke.bpf.h"
#undef const
#pragma GCC diagnostic pop

static struct poke_target map[POKE_TARGETS];
static struct poke_work map_of_works[POKE_TARGETS];

static void *lookup(const void *of, const void *key)
{
	uint32_t index = *(const uint32_t *)key;

	assert_true(index < POKE_TARGETS);
	if (of == &targets)
		return &map[index];
	assert_ptr_equal(of, &works);
	return &map_of_works[index];
}

static size_t index_of(const struct task_struct *task)
{
	return task - tasks;
}

struct task_struct *bpf_task_from_pid(__s32 pid)
{
	return &tasks[pid - FIRST_PID];
}

void bpf_task_release(struct task_struct *task)
{
	assert_true(index_of(task) < TARGETS);
}

int bpf_task_work_schedule_signal(struct task_struct *task, struct bpf_task_work *work, void *of,
				  poke_callback callback)
{
	struct task_struct *interrupted = current;
	uint32_t key = index_of(task);

	assert_ptr_equal(work, &map_of_works[key].work);
	if (refuses[key] & 1U << PERF_POKE_DELIVERY_TASK_WORK)
		return -EBUSY;
	current = task;
	callback(of, &key, &map_of_works[key]);
	current = interrupted;
	return 0;
}

static void signal_task(const struct task_struct *task, int signal, int code)
{
	struct kernel_siginfo info = { code };
	__u64 ctx[] = { signal, (uintptr_t)&info, (uintptr_t)task, 0, SIGNAL_DELIVERED };

	assert_int_equal(signal, SIGUSR2);
	nr_signals[index_of(task)]++;
	now_ns++;
	poke_pending(ctx);
}

static void poll_events(size_t i)
{
	/* Without it the program is not attached. */
	if (!POKE_HAS(PERF_POKE_DELIVERY_TRACEPOINT))
		return;
	current = &tasks[i];
	poke_pass(NULL);
}

static void print(const char *format, size_t size, uint32_t arg)
{
	char text[64];

	assert_true(strlen(format) < size);
	snprintf(text, sizeof(text), format, arg);
	nr_printed++;
	for (size_t fd = 0; fd < ARRAY_SIZE(events); fd++) {
		const struct event *event = &events[fd];
		size_t i = event->tid - FIRST_PID;

		if (event->cpu == CPU && !fnmatch(event->filter, text, 0) &&
		    !(refuses[i] & 1U << PERF_POKE_DELIVERY_FASYNC))
			signal_task(&tasks[i], event->signal, POLL_IN);
	}
}

/* -- The system calls of perf events */

int __real_close(int fd);

long __wrap_syscall(long number, ...)
{
	const struct perf_event_attr *attr;
	va_list ap;
	int cpu, fd;

	assert_int_equal(number, SYS_perf_event_open);
	va_start(ap, number);
	attr = va_arg(ap, const struct perf_event_attr *);
	assert_int_equal(va_arg(ap, int), -1);
	cpu = va_arg(ap, int);
	va_end(ap);
	assert_int_equal(attr->config, PRINTK_ID);
	fd = eventfd(0, EFD_CLOEXEC);
	assert_true(fd >= 0 && fd < (int)ARRAY_SIZE(events));
	events[fd] = (struct event){ .cpu = cpu };
	return fd;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	assert_int_equal(request, PERF_EVENT_IOC_SET_FILTER);
	va_start(ap, request);
	assert_int_equal(
		sscanf(va_arg(ap, const char *), "bpf_string ~ \"%63[^\"]\"", events[fd].filter),
		1);
	va_end(ap);
	return 0;
}

int __wrap_fcntl64(int fd, int command, ...)
{
	va_list ap;

	va_start(ap, command);
	if (command == F_SETOWN_EX)
		events[fd].tid = va_arg(ap, const struct f_owner_ex *)->pid;
	else if (command == F_SETSIG)
		events[fd].signal = va_arg(ap, int);
	va_end(ap);
	return 0;
}

int __wrap_close(int fd)
{
	if (fd >= 0 && fd < (int)ARRAY_SIZE(events))
		events[fd] = (struct event){};
	return __real_close(fd);
}

/* -- The system as the controller sees it */

int __real_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old);

int __wrap_target_signal(const struct target *target)
{
	signal_task(&tasks[target->tid - FIRST_PID], target->task.signal, SI_USER);
	return 0;
}

volatile struct poke_target *__wrap_trigger_targets(const struct trigger *trigger)
{
	return map;
}

void __wrap_trigger_set_drops_idle(struct trigger *trigger)
{
	drops_idle = 1;
}

int __wrap_trigger_check_targets(const struct trigger *trigger)
{
	return poke_look_all(NULL);
}

int __wrap_trigger_try_delivery(enum perf_poke_delivery way)
{
	return 0;
}

bool __wrap_kfunc_exists(const char *name)
{
	return true;
}

uint64_t __wrap_tracefs_printk_id(void)
{
	return PRINTK_ID;
}

/* The timer expires at once. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	const struct itimerspec now = { .it_value.tv_nsec = 1 };

	now_ns += new->it_value.tv_nsec;
	return __real_timerfd_settime(fd, flags, &now, old);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	assert_int_equal(clock, CLOCK_MONOTONIC);
	*ts = (struct timespec){ now_ns / 1000000000, now_ns % 1000000000 };
	return 0;
}

#endif
