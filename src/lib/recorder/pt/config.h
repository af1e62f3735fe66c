/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Parses an event such as `intel_pt/cyc,noretcomp/k` into fields of perf_event_attr, by the PMU's
 * folder in sysfs. */
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
	/* Masks of config for the decoder; 0: not in this PMU. */
	uint64_t tsc_bit, noretcomp_bit, mtc_bit, mtc_period_bits, cyc_bit;
	/* Of this CPU. */
	uint64_t max_nonturbo_ratio, tsc_ctc_n, tsc_ctc_d, cap_event_trace;
	unsigned int nr_addr_filters;
};

/* Whether the event is intel_pt or intel_pt/.../, with or without modifiers. */
bool pt_config_is_pt(const char *event);

/* dirfd: the PMU's folder. event NULL: cyc (if supported), noretcomp, kernel only. Other terms get
 * perf's defaults. -EINVAL, with a message: a term is unknown, out of range or unsupported. */
int pt_config_parse(struct pt_config *config, int dirfd, const char *event, const struct log *log);

#endif
