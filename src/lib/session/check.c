// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What this system can do. Each capability is tried, because versions say little: distributions
 * carry features back, and virtual machines, lockdown and privileges take them away. */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include <linux/perf_event.h>

#include "aux_action.h"
#include "base/caps.h"
#include "base/kallsyms.h"
#include "base/log.h"
#include "base/tracefs.h"
#include "base/tsc.h"
#include "clock.h"
#include "delivery/delivery.h"
#include "recorder/recorder.h"
#include "trigger/trigger.h"
#include "workload/cyclic.h"

#define PMU "/sys/bus/event_source/devices/intel_pt"

struct detail {
	char text[256];
};

static void detail_set(struct detail *detail, const char *format, ...) _printf_(2, 3);

static void detail_set(struct detail *detail, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail->text, sizeof(detail->text), format, ap);
	va_end(ap);
}

/* Keeps the first error message of what is tried. */
static void detail_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	struct detail *detail = ctx;

	if (level == PERF_POKE_LOG_ERROR && !detail->text[0])
		detail_set(detail, "%s", msg);
}

static bool try_btf(struct detail *detail)
{
	const struct log log = { detail_log, detail };

	return trigger_has_btf(&log);
}

static bool try_privileges(struct detail *detail)
{
	char names[128];

	if (caps_missing(false, names, sizeof(names)))
		detail_set(detail, "missing: %s", names);
	else if (caps_locked_down())
		detail_set(detail, "the kernel is locked down (lockdown=confidentiality)");
	else
		return true;
	return false;
}

static bool try_trigger(struct detail *detail)
{
	const struct log log = { detail_log, detail };
	const struct trigger_config config = { .threshold_ns = UINT64_MAX };
	struct trigger *trigger;
	int err;

	err = trigger_open(&trigger, &config, &log);
	if (err)
		return false;
	trigger_free(trigger);
	return true;
}

static bool try_tracefs(struct detail *detail)
{
	_cleanup_close_ int fd = tracefs_open();

	if (fd >= 0)
		return true;
	detail_set(detail, "%s", tracefs_strerror(fd));
	return false;
}

static bool try_events(struct detail *detail)
{
	const struct log log = { detail_log, detail };
	const int cpu = sched_getcpu();
	const struct recorder_config config = {
		.cpus = &cpu,
		.nr_cpus = 1,
		.buffer_size = 1,
	};
	struct recorder *recorder;

	if (events_recorder.open(&recorder, &config, &log))
		return false;
	recorder->ops->free(recorder);
	return true;
}

static bool try_cyclic(struct detail *detail)
{
	const struct log log = { detail_log, detail };
	const int cpu = sched_getcpu();
	struct cyclic *cyclic;

	/* The lowest priority shows as much as the highest, and disturbs nobody. */
	if (cyclic_start(&cyclic, &cpu, 1, NSEC_PER_SEC / 1000, 1, NULL, &log))
		return false;
	cyclic_stop(cyclic);
	return true;
}

static bool try_symbols(struct detail *detail)
{
	uint64_t address;
	int err = kallsyms_find("hrtimer_interrupt", &address);

	if (!err)
		return true;
	detail_set(detail, "%s",
		   err == -EPERM ? "the kernel hides its addresses" : "no kernel symbols");
	return false;
}

static int pt_open(uint32_t aux_action, int group_fd, bool sample)
{
	_cleanup_fclose_ FILE *file = fopen(PMU "/type", "re");
	struct perf_event_attr attr = { .size = sizeof(attr), .disabled = 1, .exclude_user = 1 };

	if (!file)
		return -ENOENT;
	if (sample) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_CPU_CLOCK;
		attr.sample_period = NSEC_PER_SEC;
		attr.sample_type = PERF_SAMPLE_AUX;
		attr.aux_sample_size = 4096;
	} else if (fscanf(file, "%" SCNu32, &attr.type) != 1) {
		return -EINVAL;
	}
	memcpy((char *)&attr + AUX_ACTION_OFFSET, &aux_action, sizeof(aux_action));
	group_fd = syscall(SYS_perf_event_open, &attr, -1, sched_getcpu(), group_fd,
			   PERF_FLAG_FD_CLOEXEC);
	return group_fd < 0 ? -errno : group_fd;
}

static bool pt_failed(struct detail *detail, int err)
{
	if (err == -ENOENT)
		detail_set(detail, "there is no PMU intel_pt");
	else if (err == -EBUSY)
		detail_set(detail, "intel_pt is in use by somebody else");
	else
		detail_set(detail, "intel_pt: %s", strerror(-err));
	return false;
}

static bool try_intel_pt(struct detail *detail)
{
	_cleanup_close_ int fd = pt_open(0, -1, false);

	return fd >= 0 ? true : pt_failed(detail, fd);
}

static bool try_tsc(struct detail *detail)
{
	struct perf_event_mmap_page page;
	struct tsc_clock clock;
	int err = tsc_clock_open(&clock);

	if (err) {
		detail_set(detail, "%s", strerror(-err));
		return false;
	}
	tsc_clock_read(&clock, &page);
	tsc_clock_close(&clock);
	if (tsc_is_perf_clock(&page))
		return true;
	detail_set(detail, "the kernel does not use TSC as perf's clock");
	return false;
}

static bool try_aux_pause(struct detail *detail)
{
	_cleanup_close_ int fd = pt_open(AUX_START_PAUSED, -1, false);

	return fd >= 0 ? true : pt_failed(detail, fd);
}

static bool try_aux_sample(struct detail *detail)
{
	_cleanup_close_ int pt = pt_open(0, -1, false);
	_cleanup_close_ int fd = pt < 0 ? pt : pt_open(0, pt, true);

	return fd >= 0 ? true : pt_failed(detail, fd);
}

static bool try_delivery(struct detail *detail, const struct delivery *delivery)
{
	int err = delivery->try();

	if (err)
		detail_set(detail, "%s",
			   err == -EOPNOTSUPP ? "the kernel has not what it takes"
					      : strerror(-err));
	return !err;
}

static bool try_task_work(struct detail *detail)
{
	return try_delivery(detail, &delivery_task_work);
}

static bool try_fasync(struct detail *detail)
{
	return try_delivery(detail, &delivery_fasync);
}

static bool try_tracepoint(struct detail *detail)
{
	return try_delivery(detail, &delivery_tracepoint);
}

static bool try_direct(struct detail *detail)
{
	return try_delivery(detail, &delivery_direct);
}

static bool try_timerlat(struct detail *detail)
{
	_cleanup_close_ int tracefs = tracefs_open();
	_cleanup_close_ int fd = -1;
	char tracers[512];
	ssize_t len;

	fd = tracefs < 0 ? -1 : openat(tracefs, "available_tracers", O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, tracers, sizeof(tracers) - 1);
	if (len > 0) {
		tracers[len] = '\0';
		if (strstr(tracers, "timerlat"))
			return true;
	}
	detail_set(detail, "the kernel is built without CONFIG_TIMERLAT_TRACER");
	return false;
}

static bool try_perf(struct detail *detail)
{
	const char *path = getenv("PATH");
	_cleanup_free_ char *copy = strdup(path ? path : "/usr/bin:/bin");
	char *save = NULL, file[512];

	for (char *dir = copy ? strtok_r(copy, ":", &save) : NULL; dir;
	     dir = strtok_r(NULL, ":", &save)) {
		snprintf(file, sizeof(file), "%s/perf", dir);
		if (access(file, X_OK))
			continue;
		detail_set(detail, "%.255s", file);
		return true;
	}
	detail_set(detail, "there is no perf in PATH");
	return false;
}

struct probe {
	const char *name;
	const char *purpose;
	const char *remedy;
	bool required;
	bool (*try)(struct detail *detail);
};

static const struct probe probes[] = {
	{ "privileges", "load BPF programs and open events of all tasks",
	  "run as root, or grant CAP_BPF and CAP_PERFMON", true, try_privileges },
	{ "btf", "find the fields of the running kernel's timers",
	  "use a kernel built with CONFIG_DEBUG_INFO_BTF=y (distributions' are)", true, try_btf },
	{ "trigger", "measure timer latency in the kernel (BPF on hrtimer_expire_entry)",
	  "needs CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and the JIT; lockdown=confidentiality "
	  "forbids it",
	  true, try_trigger },
	{ "tracefs", "formats of the tracepoints",
	  "needs CONFIG_FTRACE; mount -t tracefs tracefs /sys/kernel/tracing", true, try_tracefs },
	{ "events", "recorder events: tracepoints in overwrite rings",
	  "needs CONFIG_PERF_EVENTS; sysctl kernel.perf_event_paranoid=-1 or CAP_PERFMON", true,
	  try_events },
	{ "cyclic", "workload cyclic: a real-time thread per CPU",
	  "grant CAP_SYS_NICE and CAP_IPC_LOCK; or bring your own timers and use --workload none",
	  false, try_cyclic },
	{ "symbols", "filter timers by function, name functions in captures",
	  "grant CAP_SYSLOG and set sysctl kernel.kptr_restrict=0 or 1", false, try_symbols },
	{ "timerlat", "the kernel's own latency tracer as workload",
	  "the cyclic workload is used instead", false, try_timerlat },
	{ "intel_pt", "record every branch before the spike",
	  "the events recorder is used instead; Intel PT needs a Core or Xeon of 2015 or later, "
	  "and no "
	  "virtual machine that hides it",
	  false, try_intel_pt },
	{ "tsc", "times in captures of Intel PT",
	  "they have the order of what was executed, but report has no times; boot without "
	  "tsc=unstable, or see in dmesg why TSC was marked unstable",
	  false, try_tsc },
	{ "aux_pause", "freeze Intel PT at the spike, in the kernel",
	  "needs Linux 6.13 and intel_pt; AUX samples or a signal are used instead", false,
	  try_aux_pause },
	{ "aux_sample", "copy Intel PT data at the spike, in the kernel",
	  "needs Linux 5.5 and intel_pt; a signal and an ioctl are used instead", false,
	  try_aux_sample },
	{ "task_work", "delivery task-work: perf signals itself, whatever was interrupted",
	  "needs Linux 6.18; another way of delivery is used instead", false, try_task_work },
	{ "fasync", "delivery fasync: perf is signalled by an event that it owns",
	  "needs tracefs and CONFIG_BPF_EVENTS; the controller signals instead", false,
	  try_fasync },
	{ "tracepoint", "delivery tracepoint: perf signals itself when it polls its events",
	  "needs function trampolines (CONFIG_DYNAMIC_FTRACE); another way of delivery is used "
	  "instead",
	  false, try_tracepoint },
	{ "direct", "delivery direct: the interrupted task signals perf",
	  "needs Linux 6.13; another way of delivery is used instead", false, try_direct },
	{ "perf", "read captures (perf script, perf report)",
	  "install linux-perf (Debian), linux-tools-generic (Ubuntu) or perf (Fedora, RHEL)", false,
	  try_perf },
};

int perf_poke__check(perf_poke_check_fn fn, void *ctx)
{
	const struct log none = { 0 };
	int ret = 0;

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		const struct probe *probe = &probes[i];
		struct detail detail = {};
		struct perf_poke_capability capability = {
			.sz = sizeof(capability),
			.name = probe->name,
			.purpose = probe->purpose,
			.detail = detail.text,
			.remedy = probe->remedy,
			.required = probe->required,
		};

		log_capture(&none);
		if (probe->try(&detail))
			capability.have = PERF_POKE_HAVE_YES;
		else if (probe->required)
			ret = -EOPNOTSUPP;
		log_release();
		fn(ctx, &capability);
	}
	return ret;
}
