// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/noise.h"

#include "util.h"

static const char *softirq_name(int number)
{
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

	return (size_t)number < ARRAY_SIZE(names) ? names[number] : "?";
}

/* As rtla's auto-analysis: name and number. */
static void name_part(char *label, size_t size, const struct trigger_noise_part *part)
{
	int length = (int)sizeof(part->name) - 1;

	switch (part->class) {
	case TRIGGER_NOISE_IRQ:
		snprintf(label, size, "irq %.*s:%d", length, part->name, part->number);
		break;
	case TRIGGER_NOISE_SOFTIRQ:
		snprintf(label, size, "softirq %s:%d", softirq_name(part->number), part->number);
		break;
	case TRIGGER_NOISE_THREAD:
		snprintf(label, size, "thread %.*s:%d", length, part->name, part->number);
		break;
	default:
		snprintf(label, size, "nmi");
	}
}

void noise_explain(struct perf_poke_spike *spike, const struct trigger_noise_parts *parts)
{
	const struct trigger_noise_part *most = NULL;
	uint64_t sums[TRIGGER_NOISE_CLASSES] = {};

	for (size_t i = 0; i < ARRAY_SIZE(parts->parts); i++) {
		const struct trigger_noise_part *part = &parts->parts[i];

		/* Of an older sample, or unused. */
		if (part->start < parts->start || part->class >= TRIGGER_NOISE_CLASSES)
			continue;
		sums[part->class] += part->ns;
		if (!most || part->ns > most->ns)
			most = part;
	}
	spike->has_noise = true;
	spike->noise_irq_ns = sums[TRIGGER_NOISE_IRQ];
	spike->noise_softirq_ns = sums[TRIGGER_NOISE_SOFTIRQ];
	spike->noise_thread_ns = sums[TRIGGER_NOISE_THREAD];
	spike->noise_nmi_ns = sums[TRIGGER_NOISE_NMI];
	spike->noise_most_ns = most ? most->ns : 0;
	/* Like osnoise, blame the hardware for unexplained noise. */
	snprintf(spike->label, sizeof(spike->label), "hardware");
	if (most)
		name_part(spike->label, sizeof(spike->label), most);
}
