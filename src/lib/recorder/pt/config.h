/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What Intel PT is to record: from `intel_pt/cyc,noretcomp/k` to the fields of perf_event_attr, by
 * what the PMU's sysfs folder says of this CPU. */
#ifndef LIB_RECORDER_PT_CONFIG_H
#define LIB_RECORDER_PT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

#define PT_PMU "intel_pt"
#define PT_PMU_DIR "/sys/bus/event_source/devices/" PT_PMU

struct pt_config {
	uint32_t type;
	uint64_t config;
	bool exclude_user, exclude_kernel;
	/* Masks of config, 0 where the PMU has no such term; for the decoder. */
	uint64_t tsc_bit, noretcomp_bit, mtc_bit, mtc_period_bits, cyc_bit;
	/* Of this CPU. */
	uint64_t max_nonturbo_ratio, tsc_ctc_n, tsc_ctc_d, cap_event_trace;
	unsigned int nr_addr_filters;
};

/* Whether an event is for this recorder: intel_pt, intel_pt/.../ and the same with modifiers. */
bool pt_config_is_pt(const char *event);

/* dirfd: the PMU's folder. event: NULL for cyc (where the CPU has it), noretcomp and kernel only.
 * What the event does not name is as perf chooses it. -EINVAL, with a message that names the term:
 * unknown, out of range, or not of this CPU. */
int pt_config_parse(struct pt_config *config, int dirfd, const char *event, const struct log *log);

#endif
