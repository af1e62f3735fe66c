/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between kernels. By feature; by version only where nothing else tells. */
#ifndef PTSIM_COMPAT_H
#define PTSIM_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/version.h>

#if __has_include(<asm/cpuid/api.h>)
#include <asm/cpuid/api.h>
#else
#include <asm/processor.h>
#endif

/* Linux 6.13, and carried back to some 6.12: events that pause and resume an AUX area event. */
#ifdef PERF_PMU_CAP_AUX_PAUSE
#define PTSIM_CAP_AUX_PAUSE PERF_PMU_CAP_AUX_PAUSE
#define ptsim_is_paused(event) READ_ONCE((event)->hw.aux_paused)
#else
#define PTSIM_CAP_AUX_PAUSE 0
#define PERF_EF_PAUSE 0
#define PERF_EF_RESUME 0
#define ptsim_is_paused(event) false
#endif

/* Linux 6.15: large pages for AUX areas became a matter of asking. */
#ifdef PERF_PMU_CAP_AUX_PREFER_LARGE
#define PTSIM_CAP_PREFER_LARGE PERF_PMU_CAP_AUX_PREFER_LARGE
#else
#define PTSIM_CAP_PREFER_LARGE 0
#endif

static inline void ptsim_timer_setup(struct hrtimer *timer,
				     enum hrtimer_restart (*function)(struct hrtimer *),
				     enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = function;
#endif
}

#endif
