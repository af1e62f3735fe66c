// SPDX-License-Identifier: GPL-2.0-only
#include "blocks.h"

#include <string.h>

void blocks_env_init(struct blocks_env *env, const struct sideband *sideband, uint64_t switch_to)
{
	const struct sideband_pt *pt = sideband_pt(sideband);
	struct pt_config *config = &env->config;

	*env = (struct blocks_env){ .sideband = sideband };
	pt_config_init(config);
	if (!strcmp(pt->vendor, "GenuineIntel"))
		config->cpu = (struct pt_cpu){ .vendor = pcv_intel,
					       .family = (uint16_t)pt->family,
					       .model = (uint8_t)pt->model,
					       .stepping = (uint8_t)pt->stepping };
	/* An unknown CPU has no known errata. */
	(void)pt_cpu_errata(&config->errata, &config->cpu);
	config->mtc_freq = (uint8_t)pt->mtc_period;
	config->nom_freq = (uint8_t)pt->max_nonturbo_ratio;
	config->cpuid_0x15_eax = pt->tsc_ctc_d;
	config->cpuid_0x15_ebx = pt->tsc_ctc_n;
	config->flags.variant.block.end_on_call = 1;
	config->flags.variant.block.end_on_jump = 1;
	env->switch_to = pt->kernel ? switch_to : 0;
}
