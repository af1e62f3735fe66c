/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* TSC, the clock of Intel PT, and its conversion to perf's clock. */
#ifndef LIB_BASE_TSC_H
#define LIB_BASE_TSC_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/perf_event.h>

/* 1 on architectures without TSC, which have no Intel PT either. */
static inline uint64_t tsc_read(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return 1;
#endif
}

/* The kernel's conversion of TSC to perf's clock. It changes a second after boot, when the kernel
 * has refined the calibration of TSC, and after a suspend. */
struct tsc_clock {
	int fd;
	const struct perf_event_mmap_page *page; /* NULL: closed */
};

int tsc_clock_open(struct tsc_clock *clock);
/* Reads the current conversion. */
void tsc_clock_read(const struct tsc_clock *clock, struct perf_event_mmap_page *page);
void tsc_clock_close(struct tsc_clock *clock);

/* False if the kernel does not use TSC as its clock; the page is stale then. */
static inline bool tsc_is_perf_clock(const struct perf_event_mmap_page *page)
{
	return page->cap_user_time_zero && page->time_mult;
}

/* See cap_user_time_zero in linux/perf_event.h. */
static inline uint64_t tsc_to_perf_ns(const struct perf_event_mmap_page *page, uint64_t tsc)
{
	uint64_t quotient = tsc >> page->time_shift;
	uint64_t remainder = tsc & ((1ULL << page->time_shift) - 1);

	return page->time_zero + quotient * page->time_mult +
	       ((remainder * page->time_mult) >> page->time_shift);
}

/* The inverse, from the same place; 0 if TSC is not perf's clock. */
static inline uint64_t perf_ns_to_tsc(const struct perf_event_mmap_page *page, uint64_t perf_ns)
{
	uint64_t time = perf_ns - page->time_zero;

	if (!tsc_is_perf_clock(page))
		return 0;
	return ((time / page->time_mult) << page->time_shift) +
	       ((time % page->time_mult) << page->time_shift) / page->time_mult;
}

/* Extends the 56 bits that Intel PT records. `later` is a TSC within a few years of it. */
static inline uint64_t tsc_extend(uint64_t tsc56, uint64_t later)
{
	const uint64_t mask = (1ULL << 56) - 1;
	uint64_t tsc = (later & ~mask) | tsc56;

	return tsc > later ? tsc - mask - 1 : tsc;
}

#endif
