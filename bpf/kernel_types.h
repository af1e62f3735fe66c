/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel types that the programs read, reduced to the members they read. CO-RE finds these
 * members by the BTF of the running kernel, so the kernel of the build machine does not matter. */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __s64 ktime_t;

struct hrtimer;

/* The second argument is `ktime_t *now`, and `ktime_t now` in later kernels. */
typedef void (*btf_trace_hrtimer_expire_entry)(void *data, struct hrtimer *timer, ktime_t *now);
#define NOW_IS_POINTER bpf_core_type_exists(btf_trace_hrtimer_expire_entry)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* bpf_rdonly_cast() needs a structure; this one begins with 64 bits. */
struct timespec64 {
	__s64 tv_sec;
};

struct timerqueue_node {
	ktime_t expires;
};

struct hrtimer_clock_base {
	ktime_t offset; /* to CLOCK_MONOTONIC */
};

struct hrtimer {
	struct timerqueue_node node;
	void *function;
	struct hrtimer_clock_base *base;
	bool is_soft; /* expires in a softirq */
	bool is_lazy; /* since Linux 7.1, the scheduler's hrtick */
};

struct hrtimer_sleeper {
	struct hrtimer timer;
	struct task_struct *task;
};

struct timerlat_variables {
	struct task_struct *kthread;
	struct hrtimer timer;
};

struct timerlat_sample {
	__u64 timer_latency;
	int context;
};

/* The context of a tracepoint program. */
struct trace_event_raw_timerlat_sample {
	__u64 timer_latency;
	int context;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct sigaction {
	void *sa_handler;
};

struct k_sigaction {
	struct sigaction sa;
};

struct sighand_struct {
	struct k_sigaction action[1];
};

struct thread_info {
	__u32 cpu;
};

/* Of 64-bit machines. */
struct signal_set {
	unsigned long sig[1];
};

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	void *mm;
	unsigned int __state, flags;
	unsigned int in_execve : 1;
	__s32 pid, tgid;
	char comm[16];
	unsigned int policy, rt_priority;
	int static_prio;
	__u64 start_boottime, self_exec_id;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct sighand_struct *sighand;
	struct signal_set blocked;
};

struct irqaction {
	const char *name;
};

struct timer_list {
	void *function;
};

struct work_struct {
	void *func;
};

struct file_operations {
	void *write;
};

struct file {
	const struct file_operations *f_op;
};

struct kernel_siginfo {
	int si_code;
};

struct bpf_iter__task {
	void *meta;
	struct task_struct *task;
};

typedef struct {
	__u64 v;
} u64_stats_t;

struct bpf_prog_stats {
	u64_stats_t misses;
};

struct bpf_prog_aux {
	__u32 id;
};

struct bpf_prog {
	struct bpf_prog_stats *stats; /* per CPU */
	struct bpf_prog_aux *aux;
};

struct bpf_iter__bpf_prog {
	void *meta;
	struct bpf_prog *prog;
};

enum pid_type {
	PIDTYPE_PID,
};

/* Defined, because libbpf compares the argument types of kernel functions. */
struct bpf_map {
	__u32 id;
};

#pragma clang attribute pop

#ifndef HAVE_BPF_TASK_WORK
struct bpf_task_work {
	__u64 opaque;
} __attribute__((aligned(8)));
#endif

#endif
