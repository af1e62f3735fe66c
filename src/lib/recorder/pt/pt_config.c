// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/pt/pt.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "clock.h"
#include "io.h"
#include "perfdata.h"
#include "task.h"
#include "text.h"

/* First and last bit of a term in attr.config. */
struct field {
	unsigned int first, last;
};

/* Files of caps/ are hexadecimal. A missing file means that the CPU lacks the capability. */
static uint64_t pt_read_capability(int dirfd, const char *name)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "caps/%s", name);
	return read_text_at(dirfd, path, text, sizeof(text)) ? 0 : strtoull(text, NULL, 16);
}

static int pt_read_field(int dirfd, const char *name, struct field *field)
{
	char path[300], text[64];
	int nr;

	if (name[0] == '.' ||
	    (size_t)snprintf(path, sizeof(path), "format/%s", name) >= sizeof(path) ||
	    read_text_at(dirfd, path, text, sizeof(text)))
		return -ENOENT;
	nr = sscanf(text, "config:%u-%u", &field->first, &field->last);
	if (nr < 1)
		return -ENOENT;
	if (nr == 1)
		field->last = field->first;
	return field->last < 64 && field->first <= field->last ? 0 : -ENOENT;
}

static uint64_t pt_field_max(const struct field *field)
{
	return ~0ULL >> (63 - (field->last - field->first));
}

static uint64_t pt_field_mask(int dirfd, const char *name)
{
	struct field field;

	return pt_read_field(dirfd, name, &field) ? 0 : pt_field_max(&field) << field.first;
}

/* The capability that a term needs; for terms with a choice, a mask of supported values. See Intel
 * SDM volume 3, "Intel Processor Trace", CPUID leaf 14H. */
static const struct need {
	const char *term, *cap;
	bool mask;
	bool zero; /* 0 turns it off */
} needs[] = {
	{ "cyc", "psb_cyc", false, true },
	{ "psb_period", "psb_periods", true, true },
	{ "cyc_thresh", "cycle_thresholds", true, true },
	{ "mtc", "mtc", false, true },
	{ "mtc_period", "mtc_periods", true, false },
	{ "ptw", "ptwrite", false, true },
	{ "fup_on_ptw", "ptwrite", false, true },
	{ "pwr_evt", "power_event_trace", false, true },
	{ "event", "event_trace", false, true },
	{ "notnt", "tnt_disable", false, true },
};

static int pt_check_capability(int dirfd, const char *term, uint64_t value, const struct log *log)
{
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		uint64_t have;

		if (strcmp(term, needs[i].term) || (!value && needs[i].zero))
			continue;
		have = pt_read_capability(dirfd, needs[i].cap);
		if (needs[i].mask && !(value < 64 && have >> value & 1))
			return log_error(log, -EINVAL,
					 "event term '%s=%" PRIu64
					 "': not supported by this CPU, whose mask is %#" PRIx64
					 " (" PT_PMU_DIR "/caps/%s)",
					 term, value, have, needs[i].cap);
		if (!needs[i].mask && !have)
			return log_error(log, -EINVAL,
					 "event term '%s': not supported by this CPU (" PT_PMU_DIR
					 "/caps/%s is 0)",
					 term, needs[i].cap);
	}
	return 0;
}

static int pt_config_set_term(struct pt_config *config, int dirfd, const char *name, uint64_t value,
			      const struct log *log)
{
	struct field field;
	int err;

	if (pt_read_field(dirfd, name, &field))
		return log_error(log, -EINVAL,
				 "event term '%s': unknown to the PMU (ls " PT_PMU_DIR "/format)",
				 name);
	if (value > pt_field_max(&field))
		return log_error(log, -EINVAL, "event term '%s=%" PRIu64 "': at most %" PRIu64,
				 name, value, pt_field_max(&field));
	err = pt_check_capability(dirfd, name, value, log);
	if (err)
		return err;
	config->config &= ~(pt_field_max(&field) << field.first);
	config->config |= value << field.first;
	return 0;
}

/* NAME or NAME=VALUE; 0x means hexadecimal. */
static int pt_config_parse_term(struct pt_config *config, int dirfd, char *term,
				const struct log *log)
{
	char *value = strchr(term, '='), *end = NULL;
	uint64_t number = 1;

	if (value) {
		*value++ = '\0';
		errno = 0;
		number = strtoull(value, &end, 0);
		if (end == value || *end || errno || *value == '-')
			return log_error(log, -EINVAL, "event term '%s=%s': not a number", term,
					 value);
	}
	return pt_config_set_term(config, dirfd, term, number, log);
}

/* As perf: the nearest set bit at or below `wanted`, else the next above. */
static unsigned int nearest_set_bit(uint64_t mask, unsigned int wanted)
{
	for (unsigned int bit = wanted + 1; bit-- > 0;) {
		if (mask >> bit & 1)
			return bit;
	}
	for (unsigned int bit = wanted; bit < 64; bit++) {
		if (mask >> bit & 1)
			return bit;
	}
	return 0;
}

/* perf's defaults. */
static int pt_config_set_defaults(struct pt_config *config, int dirfd, const struct log *log)
{
	uint64_t mtc_periods = pt_read_capability(dirfd, "mtc_periods");
	uint64_t psb_periods = pt_read_capability(dirfd, "psb_periods");
	int err = pt_config_set_term(config, dirfd, "tsc", 1, log);

	if (!err && pt_read_capability(dirfd, "mtc") && mtc_periods) {
		err = pt_config_set_term(config, dirfd, "mtc", 1, log);
		if (!err)
			err = pt_config_set_term(config, dirfd, "mtc_period",
						 nearest_set_bit(mtc_periods, 3), log);
	}
	if (!err && pt_read_capability(dirfd, "psb_cyc") && mtc_periods && psb_periods)
		err = pt_config_set_term(config, dirfd, "psb_period",
					 nearest_set_bit(psb_periods, 3), log);
	/* Old drivers lack both terms and always trace branches. */
	if (!err && pt_field_mask(dirfd, "pt") && pt_field_mask(dirfd, "branch")) {
		err = pt_config_set_term(config, dirfd, "pt", 1, log);
		if (!err)
			err = pt_config_set_term(config, dirfd, "branch", 1, log);
	}
	return err;
}

static int pt_config_parse_modifiers(struct pt_config *config, const char *modifiers,
				     const char *event, const struct log *log)
{
	if (!*modifiers)
		return 0;
	config->exclude_user = config->exclude_kernel = true;
	for (const char *c = modifiers; *c; c++) {
		if (*c == 'u')
			config->exclude_user = false;
		else if (*c == 'k')
			config->exclude_kernel = false;
		else
			return log_error(log, -EINVAL,
					 "event '%s': modifier '%c' is unknown (use u or k)", event,
					 *c);
	}
	return 0;
}

static int pt_config_read_cpu(struct pt_config *config, int dirfd)
{
	char text[64];

	if (read_text_at(dirfd, "type", text, sizeof(text)))
		return -ENOENT;
	config->type = strtoul(text, NULL, 10);
	config->tsc_bit = pt_field_mask(dirfd, "tsc");
	config->noretcomp_bit = pt_field_mask(dirfd, "noretcomp");
	config->mtc_bit = pt_field_mask(dirfd, "mtc");
	config->mtc_period_bits = pt_field_mask(dirfd, "mtc_period");
	config->cyc_bit = pt_field_mask(dirfd, "cyc");
	config->cap_event_trace = pt_read_capability(dirfd, "event_trace");
	/* Old kernels have the capability only. */
	if (!read_text_at(dirfd, "nr_addr_filters", text, sizeof(text)))
		config->nr_addr_filters = strtoul(text, NULL, 10);
	else
		config->nr_addr_filters = pt_read_capability(dirfd, "num_address_ranges");
	if (!read_text_at(dirfd, "max_nonturbo_ratio", text, sizeof(text)))
		config->max_nonturbo_ratio = strtoull(text, NULL, 10);
	if (!read_text_at(dirfd, "tsc_art_ratio", text, sizeof(text)))
		sscanf(text, "%" SCNu64 ":%" SCNu64, &config->tsc_ctc_n, &config->tsc_ctc_d);
	return 0;
}

bool pt_config_is_pt(const char *event)
{
	size_t len = strlen(PT_PMU);

	return !strncmp(event, PT_PMU, len) && (!event[len] || strchr("/:", event[len]));
}

/* Splits `intel_pt/TERMS/MODIFIERS` or `intel_pt:MODIFIERS` in place. */
static int split_pt_event(char *event, char **terms, char **modifiers)
{
	char *rest = event + strlen(PT_PMU);

	*terms = *modifiers = rest + strlen(rest);
	if (*rest == '/') {
		*terms = rest + 1;
		*modifiers = strchr(*terms, '/');
		if (!*modifiers)
			return -EINVAL;
		*(*modifiers)++ = '\0';
	} else if (*rest == ':') {
		*modifiers = rest + 1;
	}
	return 0;
}

/* Event Trace reports SMIs, for a few bytes per interrupt. */
static char *default_pt_event(int dirfd)
{
	return strfmt(PT_PMU "/%s%snoretcomp/k", pt_read_capability(dirfd, "psb_cyc") ? "cyc," : "",
		      pt_read_capability(dirfd, "event_trace") ? "event," : "");
}

int pt_config_parse(struct pt_config *config, int dirfd, const char *event, const struct log *log)
{
	_cleanup_free_ char *copy = event ? strdup(event) : default_pt_event(dirfd);
	char *terms, *modifiers, *term;
	int err;

	if (!copy)
		return -ENOMEM;
	*config = (struct pt_config){};
	if (pt_config_read_cpu(config, dirfd))
		return log_error(log, -ENOENT, "there is no PMU " PT_PMU);
	if (!pt_config_is_pt(copy) || split_pt_event(copy, &terms, &modifiers))
		return log_error(log, -EINVAL,
				 "event '%s': not of the form intel_pt/TERM,.../MODIFIERS", event);
	err = pt_config_set_defaults(config, dirfd, log);
	if (!err)
		err = pt_config_parse_modifiers(config, modifiers, event, log);
	while (!err && (term = strsep(&terms, ","))) {
		if (*term)
			err = pt_config_parse_term(config, dirfd, term, log);
	}
	return err;
}

/* Probes Intel PT features of kernel and PMU by opening events. */

static int probe_open_event(struct perf_event_attr *attr, int group_fd)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = attr->exclude_user = 1;
	fd = syscall(SYS_perf_event_open, attr, -1, sched_getcpu(), group_fd, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int probe_open_intel_pt(uint32_t aux_action)
{
	struct perf_event_attr attr = {};
	char type[32];

	if (read_text_at(AT_FDCWD, PT_PMU_DIR "/type", type, sizeof(type)))
		return -ENOENT;
	attr.type = strtoul(type, NULL, 10);
	memcpy((char *)&attr + AUX_ACTION_OFFSET, &aux_action, sizeof(aux_action));
	return probe_open_event(&attr, -1);
}

static int probe_explain_fd(struct probe_detail *detail, int fd)
{
	if (fd == -ENOENT)
		probe_set_detail(detail, "there is no PMU intel_pt");
	else if (fd == -EBUSY)
		probe_set_detail(detail, "intel_pt is in use by somebody else");
	else if (fd < 0)
		probe_set_detail(detail, "intel_pt: %s", strerror(-fd));
	return fd < 0 ? fd : 0;
}

int pt_probe_intel_pt(struct probe_detail *detail)
{
	_cleanup_close_ int fd = probe_open_intel_pt(0);
	int err = probe_explain_fd(detail, fd);

	if (err || pids_are_global())
		return err;
	probe_set_detail(detail,
			 "tasks are unknown in this PID namespace (containers: --pid host)");
	return -EPERM;
}

static int pt_probe_pause(struct probe_detail *detail)
{
	_cleanup_close_ int fd = probe_open_intel_pt(AUX_START_PAUSED);

	return probe_explain_fd(detail, fd);
}

static int pt_probe_sample(struct probe_detail *detail)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NSEC_PER_SEC,
		.sample_type = PERF_SAMPLE_AUX,
		.aux_sample_size = 4096,
	};
	_cleanup_close_ int pt = probe_open_intel_pt(0);
	_cleanup_close_ int fd = pt < 0 ? pt : probe_open_event(&attr, pt);

	return probe_explain_fd(detail, fd);
}

const struct recorder_freeze pt_freezes[PT_FREEZES] = {
	{ { "pause", PERF_POKE_FREEZE_PAUSE, "the kernel pauses it at the spike (Linux 6.13)" },
	  { "aux_pause", "needs Linux 6.13 and intel_pt; --freeze sample or signal is used instead",
	    false, pt_probe_pause } },
	{ { "sample", PERF_POKE_FREEZE_SAMPLE, "the kernel copies its newest part (Linux 5.5)" },
	  { "aux_sample", "needs Linux 5.5 and intel_pt; --freeze signal is used instead", false,
	    pt_probe_sample } },
	{ { "signal", PERF_POKE_FREEZE_SIGNAL, "perf-poke stops it after waking up" }, { NULL } },
};

const char *pt_freeze_name(enum perf_poke_freeze freeze)
{
	return freeze ? pt_freezes[freeze - PERF_POKE_FREEZE_PAUSE].choice.name : "auto";
}
