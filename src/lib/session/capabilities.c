// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Capabilities of this system, and the choices of each axis. Each capability is probed, because
 * versions say little: distributions backport features; virtual machines, lockdown and missing
 * privileges disable them. */
#include <string.h>

#include "arch.h"
#include "delivery/delivery.h"
#include "machine/base.h"
#include "recorder/recorder.h"
#include "session/session.h"
#include "trigger/trigger.h"
#include "workload/workload.h"

#define CORESIGHT "/sys/bus/event_source/devices/cs_etm"

static int probe_kernel_btf(struct probe_detail *detail)
{
	const struct log log = probe_detail_log(detail);

	return trigger_has_btf(&log) ? 0 : -EOPNOTSUPP;
}

static int probe_privileges(struct probe_detail *detail)
{
	char names[128];

	if (caps_missing(false, names, sizeof(names)))
		probe_set_detail(detail, "missing: %s", names);
	else if (caps_locked_down())
		probe_set_detail(detail, "the kernel is locked down (lockdown=confidentiality)");
	else
		return 0;
	return -EPERM;
}

static int probe_trigger_load(struct probe_detail *detail)
{
	return trigger_try_config(&(struct trigger_config){ 0 }, detail);
}

static int probe_tracefs_access(struct probe_detail *detail)
{
	_cleanup_close_ int fd = tracefs_open();

	if (fd < 0)
		probe_set_detail(detail, "%s", tracefs_strerror(fd));
	return fd < 0 ? fd : 0;
}

static int probe_kallsyms_access(struct probe_detail *detail)
{
	uint64_t address;
	int err = kallsyms_find("hrtimer_interrupt", &address);

	if (err)
		probe_set_detail(detail, "%s", kallsyms_strerror(err));
	return err;
}

static int probe_tsc_clock(struct probe_detail *detail)
{
	struct perf_event_mmap_page page;
	struct tsc_clock clock;
	int err = tsc_clock_open(&clock);

	if (err)
		return err;
	tsc_clock_read(&clock, &page);
	tsc_clock_close(&clock);
	if (tsc_is_perf_clock(&page))
		return 0;
	probe_set_detail(detail, "the kernel does not use TSC as perf's clock");
	return -EOPNOTSUPP;
}

static int probe_perf_in_path(struct probe_detail *detail)
{
	const char *path = getenv("PATH");
	_cleanup_free_ char *copy = strdup(path ? path : "/usr/bin:/bin");
	char *save = NULL, file[512];

	for (char *dir = copy ? strtok_r(copy, ":", &save) : NULL; dir;
	     dir = strtok_r(NULL, ":", &save)) {
		snprintf(file, sizeof(file), "%s/perf", dir);
		if (access(file, X_OK))
			continue;
		probe_set_detail(detail, "%.255s", file);
		return 0;
	}
	probe_set_detail(detail, "there is no perf in PATH");
	return -ENOENT;
}

static int probe_coresight(struct probe_detail *detail)
{
	probe_set_detail(detail, access(CORESIGHT, F_OK) ? "there is no PMU cs_etm"
							 : "the PMU cs_etm is here, but perf-poke "
							   "does not support it yet");
	return -EOPNOTSUPP;
}

static const struct probe coresight_probe = { "cs_etm", "use the recorder events or ftrace", false,
					      probe_coresight,
					      "record every branch with CoreSight" };

static const struct probe general_probes[] = {
	{ "privileges", "run as root, or grant CAP_BPF and CAP_PERFMON", true, probe_privileges,
	  "load BPF programs and open events of all tasks" },
	{ "btf", "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (distributions' are)", true,
	  probe_kernel_btf, "find the fields of the running kernel's timers" },
	{ "trigger",
	  "needs CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and the JIT; lockdown=confidentiality "
	  "forbids it",
	  true, probe_trigger_load,
	  "measure timer latency in the kernel (BPF on hrtimer_expire_entry)" },
	{ "tracefs", "needs CONFIG_FTRACE; mount -t tracefs tracefs /sys/kernel/tracing", true,
	  probe_tracefs_access, "formats of the tracepoints" },
	{ "symbols", "grant CAP_SYSLOG and set sysctl kernel.kptr_restrict=0 or 1", false,
	  probe_kallsyms_access, "filter timers by function, name functions in captures" },
	{ "tsc",
	  "captures have the order of execution, but report has no times; boot without "
	  "tsc=unstable, or see in dmesg why TSC was marked unstable",
	  false, probe_tsc_clock, "times in captures of Intel PT" },
	{ "perf",
	  "install linux-perf (Debian), linux-tools-generic (Ubuntu) or perf (Fedora, RHEL)", false,
	  probe_perf_in_path, "read captures (perf script, perf report)" },
};

struct check {
	perf_poke_check_fn fn;
	void *ctx;
	bool is_blind; /* without the privileges of a session */
	int ret;
};

static void check_capability(struct check *check, const struct probe *probe, const char *purpose)
{
	const struct log none = { 0 };
	struct probe_detail detail = {};
	struct perf_poke_capability capability = {
		.sz = sizeof(capability),
		.name = probe->name,
		.purpose = purpose,
		.detail = detail.text,
		.remedy = probe->remedy,
		.required = probe->required,
	};
	const struct log *outer = log_capture_libbpf(&none);
	int err = probe->try(&detail);

	log_release_libbpf(outer);
	if (err && !detail.text[0])
		probe_set_detail(&detail, "%s",
				 err == -EOPNOTSUPP ? "not supported by this kernel"
						    : strerror(-err));
	if (err && probe->required)
		check->ret = -EOPNOTSUPP;
	capability.have = !err;
	capability.unknown = check->is_blind && (err == -EPERM || err == -EACCES) &&
			     probe->try != probe_privileges;
	check->fn(check->ctx, &capability);
}

static void check_choice_row(struct check *check, const char *axis,
			     const struct perf_poke_choice *choice, const struct probe *probe)
{
	char purpose[160];

	snprintf(purpose, sizeof(purpose), "%s %s: %s", axis, choice->name, choice->help);
	if (probe->name)
		check_capability(check, probe, purpose);
}

int perf_poke__check(perf_poke_check_fn fn, void *ctx)
{
	struct probe_detail ignored = {};
	struct check check = { fn, ctx, geteuid() || probe_privileges(&ignored), 0 };
	const struct recorder_freeze *freeze;
	const struct recorder_ops *recorder;
	const struct workload_row *workload;
	const struct trigger_row *trigger;
	const struct delivery *delivery;

	for (size_t i = 0; i < ARRAY_SIZE(general_probes); i++) {
		if (general_probes[i].try != probe_tsc_clock || arch_here()->has_tsc)
			check_capability(&check, &general_probes[i], general_probes[i].purpose);
	}
	check_capability(&check, &hardware_probe, hardware_probe.purpose);
	for (size_t i = 0; (trigger = trigger_row(i)); i++)
		check_choice_row(&check, "trigger", &trigger->choice, &trigger->probe);
	for (size_t i = 0; (recorder = recorder_ops_row(i)); i++)
		check_choice_row(&check, "recorder", &recorder->choice, &recorder->probe);
	if (arch_here()->has_coresight)
		check_capability(&check, &coresight_probe, coresight_probe.purpose);
	for (size_t i = 0; (freeze = recorder_freeze_row(i)); i++)
		check_choice_row(&check, "freeze", &freeze->choice, &freeze->probe);
	for (size_t i = 0; (workload = workload_row(i)); i++)
		check_choice_row(&check, "workload", &workload->choice, &workload->probe);
	for (size_t i = 0; (delivery = delivery_row(i)); i++)
		check_choice_row(&check, "delivery", &delivery->choice, &delivery->probe);
	return check.ret;
}

static const struct perf_poke_choice automatic_choice = { "auto", 0, "the best that works here" };

static const struct perf_poke_choice log_levels[] = {
	{ "error", PERF_POKE_LOG_ERROR, "why a function failed, or a capture is lost" },
	{ "warning", PERF_POKE_LOG_WARN, "what is missing, or changed" },
	{ "info", PERF_POKE_LOG_INFO, "what the session does" },
	{ "debug", PERF_POKE_LOG_DEBUG, "for debugging, with messages of libbpf" },
};

/* `choice` is the first member of every row. */
static const struct perf_poke_choice *axis_row(enum perf_poke_axis axis, size_t i)
{
	switch (axis) {
	case PERF_POKE_AXIS_RECORDER:
		return (const void *)recorder_ops_row(i);
	case PERF_POKE_AXIS_TRIGGER:
		return (const void *)trigger_row(i);
	case PERF_POKE_AXIS_WORKLOAD:
		return (const void *)workload_row(i);
	case PERF_POKE_AXIS_DELIVERY:
		return (const void *)delivery_row(i);
	case PERF_POKE_AXIS_FREEZE:
		return (const void *)recorder_freeze_row(i);
	default:
		return NULL;
	}
}

const struct perf_poke_choice *perf_poke__choice(enum perf_poke_axis axis, size_t i)
{
	if (axis == PERF_POKE_AXIS_LOG)
		return i < ARRAY_SIZE(log_levels) ? &log_levels[i] : NULL;
	if ((unsigned int)axis > PERF_POKE_AXIS_LOG)
		return NULL;
	if (axis == PERF_POKE_AXIS_TRIGGER)
		return axis_row(axis, i);
	return i ? axis_row(axis, i - 1) : &automatic_choice;
}

const char *perf_poke__name(enum perf_poke_axis axis, int value)
{
	const struct perf_poke_choice *choice;

	for (size_t i = 0; (choice = perf_poke__choice(axis, i)); i++) {
		if (choice->value == value)
			return choice->name;
	}
	return NULL;
}

int choices_check(const struct config *config)
{
	const struct {
		const char *name;
		enum perf_poke_axis axis;
		int value;
	} rows[] = {
		{ "recorder", PERF_POKE_AXIS_RECORDER, config->opts.recorder },
		{ "workload", PERF_POKE_AXIS_WORKLOAD, config->opts.workload },
		{ "delivery", PERF_POKE_AXIS_DELIVERY, config->opts.delivery },
		{ "freeze", PERF_POKE_AXIS_FREEZE, config->opts.freeze },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!perf_poke__name(rows[i].axis, rows[i].value))
			return log_error(&config->log, -EINVAL, "%s %d: unknown", rows[i].name,
					 rows[i].value);
	}
	return 0;
}
