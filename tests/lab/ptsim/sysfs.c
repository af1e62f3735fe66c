// SPDX-License-Identifier: GPL-2.0-only
#include "compat.h"
#include "ptsim.h"

#include <asm/tsc.h>
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/string.h>

#define FORMAT(name, bits) PMU_FORMAT_ATTR(name, "config:" bits)

FORMAT(pt, "0");
FORMAT(cyc, "1");
FORMAT(pwr_evt, "4");
FORMAT(fup_on_ptw, "5");
FORMAT(mtc, "9");
FORMAT(tsc, "10");
FORMAT(noretcomp, "11");
FORMAT(ptw, "12");
FORMAT(branch, "13");
FORMAT(mtc_period, "14-17");
FORMAT(cyc_thresh, "19-22");
FORMAT(psb_period, "24-27");
FORMAT(event, "31");
FORMAT(notnt, "55");

#define BIT_PT BIT_ULL(0)
#define BIT_CYC BIT_ULL(1)
#define BIT_MTC BIT_ULL(9)
#define BIT_TSC BIT_ULL(10)
#define BIT_NORETCOMP BIT_ULL(11)
#define BIT_BRANCH BIT_ULL(13)
#define BIT_EVENT BIT_ULL(31)
#define BITS_MTC_PERIOD GENMASK_ULL(17, 14)
#define BITS_CYC_THRESH GENMASK_ULL(22, 19)
#define BITS_PSB_PERIOD GENMASK_ULL(27, 24)

static struct attribute *format_attrs[] = {
	&format_attr_pt.attr,	      &format_attr_cyc.attr,	    &format_attr_pwr_evt.attr,
	&format_attr_fup_on_ptw.attr, &format_attr_mtc.attr,	    &format_attr_tsc.attr,
	&format_attr_noretcomp.attr,  &format_attr_ptw.attr,	    &format_attr_branch.attr,
	&format_attr_mtc_period.attr, &format_attr_cyc_thresh.attr, &format_attr_psb_period.attr,
	&format_attr_event.attr,      &format_attr_notnt.attr,	    NULL,
};

static const struct attribute_group format_group = { .name = "format", .attrs = format_attrs };

static ssize_t cap_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%lx\n",
			  (unsigned long)container_of(attr, struct dev_ext_attribute, attr)->var);
}

#define MTC_PERIODS 0x249
#define CYCLE_THRESHOLDS 0x3fff
#define PSB_PERIODS 0x3f

#define CAP(cap, value)                                                                            \
	static struct dev_ext_attribute cap_##cap = { .attr = __ATTR(cap, 0444, cap_show, NULL),   \
						      .var = (void *)(value) }

/* A Skylake's */
CAP(max_subleaf, 1);
CAP(cr3_filtering, 1);
CAP(psb_cyc, 1);
CAP(ip_filtering, 1);
CAP(mtc, 1);
CAP(ptwrite, 0);
CAP(power_event_trace, 0);
CAP(event_trace, 0);
CAP(tnt_disable, 0);
CAP(topa_output, 1);
CAP(topa_multiple_entries, 1);
CAP(single_range_output, 1);
CAP(output_subsys, 0);
CAP(payloads_lip, 0);
CAP(num_address_ranges, PTSIM_ADDRESS_RANGES);
CAP(mtc_periods, MTC_PERIODS);
CAP(cycle_thresholds, CYCLE_THRESHOLDS);
CAP(psb_periods, PSB_PERIODS);

static struct attribute *cap_attrs[] = {
	&cap_max_subleaf.attr.attr,
	&cap_cr3_filtering.attr.attr,
	&cap_psb_cyc.attr.attr,
	&cap_ip_filtering.attr.attr,
	&cap_mtc.attr.attr,
	&cap_ptwrite.attr.attr,
	&cap_power_event_trace.attr.attr,
	&cap_event_trace.attr.attr,
	&cap_tnt_disable.attr.attr,
	&cap_topa_output.attr.attr,
	&cap_topa_multiple_entries.attr.attr,
	&cap_single_range_output.attr.attr,
	&cap_output_subsys.attr.attr,
	&cap_payloads_lip.attr.attr,
	&cap_num_address_ranges.attr.attr,
	&cap_mtc_periods.attr.attr,
	&cap_cycle_thresholds.attr.attr,
	&cap_psb_periods.attr.attr,
	NULL,
};

static const struct attribute_group caps_group = { .name = "caps", .attrs = cap_attrs };

struct ptsim_clock ptsim_clock;

static ssize_t max_nonturbo_ratio_show(struct device *dev, struct device_attribute *attr,
				       char *page)
{
	return sysfs_emit(page, "%u\n", ptsim_clock.max_nonturbo_ratio);
}

static ssize_t tsc_art_ratio_show(struct device *dev, struct device_attribute *attr, char *page)
{
	return sysfs_emit(page, "%u:%u\n", ptsim_clock.n, ptsim_clock.d);
}

static DEVICE_ATTR_RO(max_nonturbo_ratio);
static DEVICE_ATTR_RO(tsc_art_ratio);

static struct attribute *timing_attrs[] = { &dev_attr_max_nonturbo_ratio.attr,
					    &dev_attr_tsc_art_ratio.attr, NULL };
static const struct attribute_group timing_group = { .attrs = timing_attrs };

const struct attribute_group *ptsim_attr_groups[] = { &caps_group, &format_group, &timing_group,
						      NULL };

/*
 * perf reads the ratio with CPUID, so it is what CPUID gives: in QEMU, whose CPU has no such leaf,
 * the numbers of its last leaf, as Intel documents for leaves that are not there. They do as well
 * as any.
 */
void ptsim_clock_init(void)
{
	u32 eax, ebx, ecx, edx;

	cap_event_trace.var = (void *)(unsigned long)ptsim_event_trace;
	cpuid_count(0x15, 0, &eax, &ebx, &ecx, &edx);
	ptsim_clock.n = ebx;
	ptsim_clock.d = eax;
	ptsim_clock.max_nonturbo_ratio = DIV_ROUND_CLOSEST(tsc_khz, 100000);
}

static unsigned int field(u64 bits, u64 mask)
{
	return (bits & mask) >> __ffs64(mask);
}

/* The rules of hardware: what the capabilities above allow. */
bool ptsim_config_valid(u64 bits)
{
	unsigned int value;

	if (bits & BIT_EVENT && !cap_event_trace.var)
		return false;
	if (bits & ~(BIT_PT | BIT_EVENT | BIT_CYC | BIT_MTC | BIT_TSC | BIT_NORETCOMP | BIT_BRANCH |
		     BITS_MTC_PERIOD | BITS_CYC_THRESH | BITS_PSB_PERIOD))
		return false;
	value = field(bits, BITS_PSB_PERIOD);
	if (value && !(PSB_PERIODS >> value & 1))
		return false;
	value = field(bits, BITS_CYC_THRESH);
	if (value && !(CYCLE_THRESHOLDS >> value & 1))
		return false;
	if (bits & (BIT_MTC | BITS_MTC_PERIOD) &&
	    !(MTC_PERIODS >> field(bits, BITS_MTC_PERIOD) & 1))
		return false;
	/* Without `pt` branches are traced, and cannot be asked for: the ABI before there was a
	 * choice. */
	return bits & BIT_PT || !(bits & BIT_BRANCH);
}

void ptsim_config_read(struct ptsim_config *config, const struct perf_event_attr *attr)
{
	u64 bits = attr->config;
	unsigned int thresh = field(bits, BITS_CYC_THRESH);

	/* All of it: configurations are compared as bytes. */
	memset(config, 0, sizeof(*config));
	config->bits = bits;
	config->tsc = bits & BIT_TSC;
	config->mtc = bits & BIT_MTC && ptsim_clock.n && ptsim_clock.d;
	config->cyc = bits & BIT_CYC;
	config->event = bits & BIT_EVENT;
	config->noretcomp = bits & BIT_NORETCOMP;
	config->packets = !attr->exclude_kernel && (!(bits & BIT_PT) || bits & BIT_BRANCH);
	config->user_packets = !attr->exclude_user && (!(bits & BIT_PT) || bits & BIT_BRANCH);
	config->mtc_period = field(bits, BITS_MTC_PERIOD);
	config->cyc_min = thresh ? 1 << (thresh - 1) : 1;
	config->psb_bytes = 2048 << field(bits, BITS_PSB_PERIOD);
}
