// SPDX-License-Identifier: GPL-2.0-only
/* Idle states, which a machine of QEMU has not: in all of them the CPU halts, and none is deep. */
#include <linux/cpuidle.h>
#include <linux/irqflags.h>
#include <linux/module.h>

static int idle_enter(struct cpuidle_device *device, struct cpuidle_driver *driver, int index)
{
	raw_safe_halt();
	raw_local_irq_disable();
	return index;
}

#define STATE(number)                                                                              \
	{                                                                                          \
		.name = "LAB" #number, .desc = "halt " #number, .exit_latency = 10 * (number),     \
		.target_residency = 20 * (number), .enter = idle_enter                             \
	}

static struct cpuidle_driver idle_driver = {
	.name = "lab_idle",
	.owner = THIS_MODULE,
	.states = { STATE(0), STATE(1), STATE(2), STATE(3) },
	.state_count = 4,
};

static int __init idle_init(void)
{
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
