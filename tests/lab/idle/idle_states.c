// SPDX-License-Identifier: GPL-2.0-only
/*
 * Idle states, which a machine of QEMU has not. In all of them the CPU halts, and none is deep.
 * With the parameter exit_us the last one is: the CPU leaves it that late after the interrupt has
 * come.
 */
#ifdef CONFIG_X86
#include <asm/apic.h>
#else
#include <asm/barrier.h>
#include <asm/sysreg.h>
#endif
#include <linux/cpuidle.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/module.h>

#ifdef CONFIG_X86
static void idle_halt(void)
{
	raw_safe_halt();
	raw_local_irq_disable();
}
#else
static void idle_halt(void)
{
	dsb(sy);
	wfi();
}
#endif

static int idle_enter(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	idle_halt();
	return index;
}

static unsigned int exit_us;
module_param(exit_us, uint, 0600);
MODULE_PARM_DESC(exit_us, "how late the last state is left, microseconds; 0: it halts");

#ifdef CONFIG_X86
#define IRR_REGISTERS 8

static u32 pending(unsigned int i)
{
	u32 low, high;

	rdmsr(MSR_IA32_APICBASE, low, high);
	if (!(low & X2APIC_ENABLE))
		return readl((void __iomem *)(APIC_BASE + APIC_IRR + 0x10 * i));
	rdmsr(APIC_BASE_MSR + (APIC_IRR >> 4) + i, low, high);
	return low;
}

/* Whether interrupts wait for this CPU to turn them on */
static bool is_interrupted(void)
{
	for (unsigned int i = 0; i < IRR_REGISTERS; i++) {
		if (pending(i))
			return true;
	}
	return false;
}
#else
static bool is_interrupted(void)
{
	return read_sysreg(isr_el1) != 0;
}
#endif

/* As MWAIT that masked interrupts end: they are handled when the CPU has come out of the state. */
static int deep_enter(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	unsigned int late_us = READ_ONCE(exit_us);

	if (!late_us)
		return idle_enter(device, driver, index);
	while (!is_interrupted() && !need_resched())
		cpu_relax();
	mdelay(late_us / 1000);
	udelay(late_us % 1000);
	return index;
}

#define STATE(number, how)                                                                         \
	{                                                                                          \
		.name = "LAB" #number, .desc = "halt " #number, .exit_latency = 10 * (number),     \
		.target_residency = 20 * (number), .enter = how                                    \
	}

static struct cpuidle_driver idle_driver = {
	.name = "lab_idle",
	.owner = THIS_MODULE,
	.states = { STATE(0, idle_enter), STATE(1, idle_enter), STATE(2, idle_enter),
		    STATE(3, deep_enter) },
	.state_count = 4,
};

static int __init idle_init(void)
{
	if (exit_us)
		idle_driver.states[3].exit_latency = exit_us;
	return cpuidle_register(&idle_driver, NULL);
}

static void __exit idle_exit(void)
{
	cpuidle_unregister(&idle_driver);
}

module_init(idle_init);
module_exit(idle_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Idle states to choose from");
