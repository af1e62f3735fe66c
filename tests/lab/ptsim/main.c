// SPDX-License-Identifier: GPL-2.0-only
/* A PMU that perf takes for Intel PT, and that traces programs of its own, or what QEMU's plugin
 * sees. See ptsim.h for the parts. */
#include "program.h"
#include "psb.h"
#include "ptsim.h"

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

unsigned long ptsim_bytes_per_sec = 1000000;
module_param_named(bytes_per_sec, ptsim_bytes_per_sec, ulong, 0644);
MODULE_PARM_DESC(bytes_per_sec, "How much trace a CPU makes");

unsigned int ptsim_period_us = 1000;
module_param_named(period_us, ptsim_period_us, uint, 0644);
MODULE_PARM_DESC(period_us,
		 "How often what is due is written; starts, stops, pauses and snapshots do it too");

unsigned int ptsim_max_burst = 128 << 10;
module_param_named(max_burst, ptsim_max_burst, uint, 0644);
MODULE_PARM_DESC(max_burst,
		 "Bytes written at a time; when more is due, the older iterations are left out");

unsigned int ptsim_inject_overflow;
module_param_named(inject_overflow, ptsim_inject_overflow, uint, 0644);
MODULE_PARM_DESC(inject_overflow,
		 "Lose an iteration at each of the next n times that packets are written");

bool ptsim_long_tnt;
module_param_named(long_tnt, ptsim_long_tnt, bool, 0644);
MODULE_PARM_DESC(long_tnt, "Write TNT packets of up to 47 branches instead of 6");

bool ptsim_pip_packets = true;
module_param_named(pip, ptsim_pip_packets, bool, 0644);
MODULE_PARM_DESC(pip, "Write PIP packets (CR3)");

bool ptsim_event_trace;
module_param_named(event_trace, ptsim_event_trace, bool, 0444);
MODULE_PARM_DESC(event_trace, "Have Event Trace, which Skylakes have not");

unsigned int ptsim_logging;
module_param_named(logging, ptsim_logging, uint, 0644);
MODULE_PARM_DESC(logging,
		 "Of the emulated source: 1: log what is executed, 2: from an empty log on");

static char *source = "";
module_param(source, charp, 0444);
MODULE_PARM_DESC(source, "synthetic or emulated; default: emulated where QEMU has the plugin");

const struct ptsim_source *ptsim_source = &ptsim_synthetic;

static int choose_source(void)
{
	bool present = ptsim_emulated_present();

	if (!strcmp(source, "synthetic"))
		return 0;
	if (*source && strcmp(source, "emulated"))
		return -EINVAL;
	if (present)
		ptsim_source = &ptsim_emulated;
	return present || !*source ? 0 : -ENODEV;
}

unsigned int ptsim_program_index;

static int program_set(const char *value, const struct kernel_param *kp)
{
	for (unsigned int i = 0; i < ptsim_program_count; i++) {
		if (sysfs_streq(value, ptsim_programs[i].name)) {
			ptsim_program_index = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int program_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", ptsim_programs[ptsim_program_index].name);
}

static const struct kernel_param_ops program_ops = { .set = program_set, .get = program_get };
module_param_cb(program, &program_ops, NULL, 0644);
MODULE_PARM_DESC(program, "mixed, loop or deep; from the next start of an event on");

static int __init ptsim_init(void)
{
	int err = choose_source();

	if (!err)
		err = ptsim_programs_init();
	if (err)
		return err;
	ptsim_clock_init();
	err = ptsim_pmu_init();
	if (err)
		goto programs;
	err = ptsim_report_init();
	if (err)
		goto pmu;
	return 0;
pmu:
	ptsim_pmu_exit();
programs:
	ptsim_programs_exit();
	return err;
}

static void __exit ptsim_exit(void)
{
	ptsim_report_exit();
	ptsim_pmu_exit();
	ptsim_programs_exit();
}

module_init(ptsim_init);
module_exit(ptsim_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Simulated Intel PT");
