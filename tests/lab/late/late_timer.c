// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes timers late on demand: "CPU MICROSECONDS" written to /sys/kernel/debug/late_timer/irqs_off
 * (or preempt_off) keeps that CPU busy for so long with interrupts (or preemption) off. With
 * softirqs, tasklets do that; with syscall, the writer itself, that has to be on that CPU, with
 * preemption off; with call, a function call that the writer's CPU sends; with hrtimer, the
 * function of another timer. The write returns when it is over; `until_ns` is when it was, on
 * CLOCK_MONOTONIC. A read of `mark` is answered with that clock, and late_timer_mark() in a trace
 * tells when it was read. "CPU MICROSECONDS" written to `keys` makes that CPU run over branches of
 * a static key for so long, while the writer switches the key all the time; `switches` is how
 * often.
 */
#include <linux/bottom_half.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#define MICROSECONDS_MAX 1000000
/* All of them run in one pass: after each pass a thread that waits has its turn. */
#define TASKLETS 8
#define EXPIRY_NS 20000
#define BETWEEN_CLOCKS 100
#define BETWEEN_PAUSES 10
/* A jump of two bytes does not reach over as many. */
#define FAR_BYTES "128"
#ifdef CONFIG_X86
#define JUMP "jmp"
#else
#define JUMP "b"
#endif

static struct dentry *top;
static struct tasklet_struct tasklets[TASKLETS];
static DEFINE_MUTEX(tasklets_lock);
static u64 tasklet_ns;
static struct hrtimer hrtimer;
static DEFINE_MUTEX(hrtimer_lock);
static u64 hrtimer_ns;
static u64 until_ns;
static DEFINE_STATIC_KEY_FALSE(key);
static u64 switches;

/* The names are what a capture must show: external, so that the compiler changes none of them. */
void late_timer_spin(u64 ns);
long late_timer_irqs_off(void *microseconds);
void late_timer_preempt_off(struct work_struct *work);
long late_timer_softirqs(void *microseconds);
void late_timer_tasklet(struct tasklet_struct *tasklet);
long late_timer_syscall(void *microseconds);
long late_timer_call(unsigned int cpu, void *microseconds);
void late_timer_called(void *microseconds);
long late_timer_hrtimer(void *microseconds);
enum hrtimer_restart late_timer_expired(struct hrtimer *timer);
u64 late_timer_mark(void);
unsigned int late_timer_near(void);
unsigned int late_timer_far(void);

noinline void late_timer_spin(u64 ns)
{
	u64 end = ktime_get_mono_fast_ns() + ns;

	WRITE_ONCE(until_ns, end);
	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
}

noinline long late_timer_irqs_off(void *microseconds)
{
	unsigned long flags;

	local_irq_save(flags);
	late_timer_spin((unsigned long)microseconds * 1000);
	local_irq_restore(flags);
	return 0;
}

struct job {
	struct work_struct work;
	unsigned long microseconds;
	bool done;
};

/* A work item itself, as drivers have them. */
noinline void late_timer_preempt_off(struct work_struct *work)
{
	preempt_disable();
	late_timer_spin(container_of(work, struct job, work)->microseconds * 1000);
	preempt_enable();
}

/* Mostly by itself, so that the time is this function's and not the clock's. */
static __always_inline void be_busy(u64 ns)
{
	u64 end = ktime_get_mono_fast_ns() + ns;

	WRITE_ONCE(until_ns, end);
	while (ktime_get_mono_fast_ns() < end)
		for (int i = 0; i < BETWEEN_CLOCKS; i++)
			barrier();
}

noinline void late_timer_tasklet(struct tasklet_struct *tasklet)
{
	be_busy(tasklet_ns);
}

noinline long late_timer_softirqs(void *microseconds)
{
	mutex_lock(&tasklets_lock);
	tasklet_ns = (unsigned long)microseconds * 1000 / TASKLETS;
	local_bh_disable();
	for (int i = 0; i < TASKLETS; i++)
		tasklet_schedule(&tasklets[i]);
	local_bh_enable();
	for (int i = 0; i < TASKLETS; i++)
		tasklet_kill(&tasklets[i]);
	mutex_unlock(&tasklets_lock);
	return 0;
}

noinline long late_timer_syscall(void *microseconds)
{
	preempt_disable();
	be_busy((unsigned long)microseconds * 1000);
	preempt_enable();
	return 0;
}

noinline void late_timer_called(void *microseconds)
{
	late_timer_spin((unsigned long)microseconds * 1000);
	/* Else this is a jump, and what spins is what was called. */
	barrier();
}

noinline long late_timer_call(unsigned int cpu, void *microseconds)
{
	return smp_call_function_single(cpu, late_timer_called, microseconds, 1);
}

noinline enum hrtimer_restart late_timer_expired(struct hrtimer *timer)
{
	late_timer_spin(hrtimer_ns);
	barrier();
	return HRTIMER_NORESTART;
}

noinline long late_timer_hrtimer(void *microseconds)
{
	mutex_lock(&hrtimer_lock);
	hrtimer_ns = (unsigned long)microseconds * 1000;
	hrtimer_start(&hrtimer, EXPIRY_NS, HRTIMER_MODE_REL_PINNED_HARD);
	while (hrtimer_active(&hrtimer))
		usleep_range(100, 200);
	mutex_unlock(&hrtimer_lock);
	return 0;
}

noinline u64 late_timer_mark(void)
{
	u64 now = ktime_get_ns();

	/* Else this is a jump into the clock, and nothing is seen to return. */
	barrier();
	return now;
}

static int read_mark(void *data, u64 *value)
{
	*value = late_timer_mark();
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(mark_fops, read_mark, NULL, "%llu\n");

noinline unsigned int late_timer_near(void)
{
	unsigned int found = 0;

	if (static_branch_unlikely(&key))
		found += 1;
	barrier();
	if (static_branch_likely(&key))
		found += 2;
	return found;
}

noinline unsigned int late_timer_far(void)
{
	if (!static_branch_likely(&key))
		return 0;
	asm volatile(JUMP " 1f\n\t.skip " FAR_BYTES ", 0xcc\n1:");
	return 1;
}

static void walk_keys(struct work_struct *work)
{
	struct job *job = container_of(work, struct job, work);
	u64 end = ktime_get_mono_fast_ns() + job->microseconds * 1000;

	while (ktime_get_mono_fast_ns() < end) {
		for (int i = 0; i < BETWEEN_PAUSES; i++) {
			late_timer_near();
			late_timer_far();
		}
		/* An emulator with one thread for all CPUs goes on with the next then. */
		cpu_relax();
		cond_resched();
	}
	WRITE_ONCE(job->done, true);
}

/* Not one of those that run() starts: two CPUs have something to do. */
static long late_timer_keys(unsigned int cpu, unsigned long microseconds)
{
	struct job job = { .microseconds = microseconds };

	INIT_WORK_ONSTACK(&job.work, walk_keys);
	schedule_work_on(cpu, &job.work);
	while (!READ_ONCE(job.done)) {
		static_branch_enable(&key);
		static_branch_disable(&key);
		WRITE_ONCE(switches, switches + 2);
	}
	flush_work(&job.work);
	destroy_work_on_stack(&job.work);
	return 0;
}

static noinline long late_timer_work(unsigned int cpu, unsigned long microseconds)
{
	struct job job = { .microseconds = microseconds };

	INIT_WORK_ONSTACK(&job.work, late_timer_preempt_off);
	schedule_work_on(cpu, &job.work);
	flush_work(&job.work);
	destroy_work_on_stack(&job.work);
	return 0;
}

static long run(void *function, unsigned int cpu, void *microseconds)
{
	if (function == late_timer_call)
		return late_timer_call(cpu, microseconds);
	if (function == late_timer_preempt_off)
		return late_timer_work(cpu, (unsigned long)microseconds);
	if (function != late_timer_syscall)
		return work_on_cpu(cpu, function, microseconds);
	/* A writer that may run elsewhere too is not moved. */
	if (!cpumask_equal(current->cpus_ptr, cpumask_of(cpu)))
		return -EINVAL;
	return late_timer_syscall(microseconds);
}

static ssize_t write(struct file *file, const char __user *from, size_t size, loff_t *offset)
{
	void *function = file_inode(file)->i_private;
	unsigned int cpu;
	unsigned long microseconds;
	char line[64] = "", rest;
	long err;

	if (size >= sizeof(line) || copy_from_user(line, from, size))
		return -EINVAL;
	if (sscanf(line, "%u %lu %c", &cpu, &microseconds, &rest) != 2 ||
	    microseconds > MICROSECONDS_MAX)
		return -EINVAL;
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -ENXIO;
	err = function ? run(function, cpu, (void *)microseconds)
		       : late_timer_keys(cpu, microseconds);
	return err ? err : size;
}

static const struct file_operations fops = { .owner = THIS_MODULE,
					     .open = simple_open,
					     .write = write };

static int __init late_timer_init(void)
{
	top = debugfs_create_dir("late_timer", NULL);
	if (IS_ERR(top))
		return PTR_ERR(top);
	for (int i = 0; i < TASKLETS; i++)
		tasklet_setup(&tasklets[i], late_timer_tasklet);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&hrtimer, late_timer_expired, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(&hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer.function = late_timer_expired;
#endif
	debugfs_create_file("irqs_off", 0200, top, late_timer_irqs_off, &fops);
	debugfs_create_file("preempt_off", 0200, top, late_timer_preempt_off, &fops);
	debugfs_create_file("softirqs", 0200, top, late_timer_softirqs, &fops);
	debugfs_create_file("syscall", 0200, top, late_timer_syscall, &fops);
	debugfs_create_file("call", 0200, top, late_timer_call, &fops);
	debugfs_create_file("hrtimer", 0200, top, late_timer_hrtimer, &fops);
	debugfs_create_file("keys", 0200, top, NULL, &fops);
	debugfs_create_u64("switches", 0400, top, &switches);
	debugfs_create_file_unsafe("mark", 0400, top, NULL, &mark_fops);
	debugfs_create_u64("until_ns", 0400, top, &until_ns);
	return 0;
}

static void __exit late_timer_exit(void)
{
	debugfs_remove_recursive(top);
	for (int i = 0; i < TASKLETS; i++)
		tasklet_kill(&tasklets[i]);
}

module_init(late_timer_init);
module_exit(late_timer_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Late timers on demand");
