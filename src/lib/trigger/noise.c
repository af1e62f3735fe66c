// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <inttypes.h>

#include "bpf/trigger.skel.h"
#include "machine/base.h"

int noise_check(struct config *config)
{
	uint64_t threshold_ns = config->thresholds[PERF_POKE_TRIGGER_NOISE];

	if (!threshold_ns)
		return 0;
	if (config->opts.workload && config->opts.workload != PERF_POKE_WORKLOAD_OSNOISE)
		return log_error(&config->log, -EINVAL,
				 "trigger noise: needs --workload osnoise, or auto");
	if (threshold_ns < NOISE_MIN_NS)
		return log_error(&config->log, -EINVAL,
				 "trigger noise: %" PRIu64 " ns: the tracer osnoise counts from "
				 "1us on",
				 threshold_ns);
	return 0;
}

int noise_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log)
{
	const struct trigger_bpf *skel = trigger->skel;

	if (!tracefs_has_event("osnoise/sample_threshold"))
		return log_error(log, -EOPNOTSUPP,
				 "trigger noise: the kernel is built without "
				 "CONFIG_OSNOISE_TRACER");
	bpf_program__set_autoload(skel->progs.noise_part_irq, true);
	bpf_program__set_autoload(skel->progs.noise_part_softirq, true);
	bpf_program__set_autoload(skel->progs.noise_part_thread, true);
	bpf_program__set_autoload(skel->progs.noise_part_nmi, true);
	bpf_program__set_autoload(skel->progs.noise_sample, true);
	bpf_map__set_max_entries(skel->maps.noise_rings, trigger->nr_possible);
	bpf_map__set_max_entries(skel->maps.noise_parts, TRIGGER_RECENT);
	return 0;
}

bool noise_parts(const struct trigger *trigger, uint64_t sequence,
		 struct trigger_noise_parts *parts)
{
	const volatile struct trigger_noise_parts *seen = trigger->noise_parts;

	if (!trigger->skel || !bpf_program__autoload(trigger->skel->progs.noise_sample))
		return false;
	seen += sequence % TRIGGER_RECENT;
	*parts = *seen;
	return parts->sequence == sequence && seen->sequence == sequence;
}
