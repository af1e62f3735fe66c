// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Probes Intel PT features of kernel and PMU by opening events. */
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/perf_event.h>

#include "clock.h"
#include "io.h"
#include "perfdata.h"
#include "recorder/pt/pt.h"
#include "recorder/recorder.h"

/* PROC_PID_INIT_INO of the kernel, never another's */
#define FIRST_NAMESPACE 0xeffffffcu

bool pt_sees_tasks(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_NAMESPACE;
}

static int open_event(struct perf_event_attr *attr, int group_fd)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->disabled = attr->exclude_user = 1;
	fd = syscall(SYS_perf_event_open, attr, -1, sched_getcpu(), group_fd, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_pt(uint32_t aux_action)
{
	struct perf_event_attr attr = {};
	char type[32];

	if (read_text_at(AT_FDCWD, PT_PMU_DIR "/type", type, sizeof(type)))
		return -ENOENT;
	attr.type = strtoul(type, NULL, 10);
	memcpy((char *)&attr + AUX_ACTION_OFFSET, &aux_action, sizeof(aux_action));
	return open_event(&attr, -1);
}

static int found(struct probe_detail *detail, int fd)
{
	if (fd == -ENOENT)
		probe_say(detail, "there is no PMU intel_pt");
	else if (fd == -EBUSY)
		probe_say(detail, "intel_pt is in use by somebody else");
	else if (fd < 0)
		probe_say(detail, "intel_pt: %s", strerror(-fd));
	return fd < 0 ? fd : 0;
}

int pt_probe(struct probe_detail *detail)
{
	_cleanup_close_ int fd = open_pt(0);
	int err = found(detail, fd);

	if (err || pt_sees_tasks())
		return err;
	probe_say(detail, "tasks are unknown in this PID namespace (containers: --pid host)");
	return -EPERM;
}

int pt_probe_pause(struct probe_detail *detail)
{
	_cleanup_close_ int fd = open_pt(AUX_START_PAUSED);

	return found(detail, fd);
}

int pt_probe_sample(struct probe_detail *detail)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = NSEC_PER_SEC,
		.sample_type = PERF_SAMPLE_AUX,
		.aux_sample_size = 4096,
	};
	_cleanup_close_ int pt = open_pt(0);
	_cleanup_close_ int fd = pt < 0 ? pt : open_event(&attr, pt);

	return found(detail, fd);
}
