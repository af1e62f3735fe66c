// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes timers late on demand: "CPU MICROSECONDS" written to /sys/kernel/debug/late_timer/irqs_off
 * (or preempt_off) keeps that CPU busy for so long with interrupts (or preemption) off. The write
 * returns when it is over.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#define MICROSECONDS_MAX 1000000

static struct dentry *top;

/* The names are what a capture must show: external, so that the compiler changes none of them. */
void late_timer_spin(u64 ns);
long late_timer_irqs_off(void *microseconds);
long late_timer_preempt_off(void *microseconds);

noinline void late_timer_spin(u64 ns)
{
	u64 end = ktime_get_mono_fast_ns() + ns;

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

noinline long late_timer_preempt_off(void *microseconds)
{
	preempt_disable();
	late_timer_spin((unsigned long)microseconds * 1000);
	preempt_enable();
	return 0;
}

static ssize_t write(struct file *file, const char __user *from, size_t size, loff_t *offset)
{
	long (*function)(void *) = file_inode(file)->i_private;
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
	err = work_on_cpu(cpu, function, (void *)microseconds);
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
	debugfs_create_file("irqs_off", 0200, top, late_timer_irqs_off, &fops);
	debugfs_create_file("preempt_off", 0200, top, late_timer_preempt_off, &fops);
	return 0;
}

static void __exit late_timer_exit(void)
{
	debugfs_remove_recursive(top);
}

module_init(late_timer_init);
module_exit(late_timer_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Late timers on demand");
