// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* CPUs that come and go, the scheduling of threads, and TSC. */
#include "machine/base.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/netlink.h>

#include "cpulist.h"
#include "units.h"
#include "util.h"

/* The kernel's multicast group; udev uses another. */
#define KERNEL_GROUP 1
/* Exceeds the longest uevent: 2048 bytes and a path. */
#define UEVENT_MAX 8192
#define OFFLINE "offline@"
#define ONLINE "online@"
#define CPU_PATH "/devices/system/cpu/cpu"

/* Drops uevents that do not begin with "offl" or "onli", so that they do not wake the session. */
static int hotplug_filter(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6f66666c, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6f6e6c69, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

int hotplug_open(const struct log *log)
{
	const struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
					NETLINK_KOBJECT_UEVENT);
	int err = fd < 0 ? -errno : hotplug_filter(fd);

	if (!err && bind(fd, (const struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	if (!err)
		return TAKE_FD(fd);
	log_write(log, PERF_POKE_LOG_DEBUG,
		  "cannot receive uevents: %s: CPU hotplug is not handled", strerror(-err));
	return err;
}

int hotplug_parse(const char *uevent, size_t len, struct hotplug_event *event)
{
	static const char *const begins[] = { OFFLINE CPU_PATH, ONLINE CPU_PATH };

	/* `ACTION@PATH`, then strings that are ignored. */
	if (!memchr(uevent, '\0', len))
		return 0;
	for (size_t online = 0; online < ARRAY_SIZE(begins); online++) {
		const char *number = uevent + strlen(begins[online]);
		char *end;
		long cpu;

		if (strncmp(uevent, begins[online], strlen(begins[online])) ||
		    !isdigit((unsigned char)*number))
			continue;
		cpu = strtol(number, &end, 10);
		if (*end || cpu >= CPULIST_MAX_CPUS)
			return 0;
		*event = (struct hotplug_event){ cpu, online };
		return 1;
	}
	return 0;
}

int hotplug_read(int fd, struct hotplug_event *event)
{
	char uevent[UEVENT_MAX];

	for (;;) {
		struct sockaddr_nl from = {};
		socklen_t from_len = sizeof(from);
		ssize_t len = recvfrom(fd, uevent, sizeof(uevent), 0, (struct sockaddr *)&from,
				       &from_len);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return errno == EAGAIN ? 0 : -errno;
		/* Port 0 is the kernel: processes with CAP_NET_ADMIN can send here too. */
		if (!from.nl_pid && hotplug_parse(uevent, len, event))
			return 1;
	}
}

/* glibc 2.41 is the first with wrappers of these system calls. */
int scheduling_set(int tid, const struct scheduling *attr)
{
	return syscall(SYS_sched_setattr, tid, attr, 0) ? -errno : 0;
}

int scheduling_get(int tid, struct scheduling *attr)
{
	return syscall(SYS_sched_getattr, tid, attr, sizeof(*attr), 0) ? -errno : 0;
}

static int parse_bounded_number(const char *text, long min, long max, long *value)
{
	char *end;

	errno = 0;
	*value = strtol(text, &end, 10);
	return end == text || *end || errno || *value < min || *value > max ? -EINVAL : 0;
}

static int parse_deadline_params(const char *text, struct scheduling *attr)
{
	const char *colon = strchr(text, ':');
	_cleanup_free_ char *runtime = colon ? strndup(text, colon - text) : NULL;
	uint64_t runtime_ns, period_ns;

	if (!colon)
		return -EINVAL;
	if (!runtime)
		return -ENOMEM;
	if (units_parse_time(runtime, &runtime_ns) || units_parse_time(colon + 1, &period_ns))
		return -EINVAL;
	/* The kernel's minimum. */
	if (runtime_ns < 1024 || runtime_ns > period_ns)
		return -EINVAL;
	attr->policy = SCHED_DEADLINE;
	attr->runtime = runtime_ns;
	attr->deadline = attr->period = period_ns;
	return 0;
}

int scheduling_parse(const char *text, struct scheduling *attr)
{
	long value;

	*attr = (struct scheduling){ .size = sizeof(*attr) };
	if (!text[0] || text[1] != ':')
		return -EINVAL;
	switch (text[0]) {
	case 'f':
	case 'r':
		if (parse_bounded_number(text + 2, 1, 99, &value))
			return -EINVAL;
		attr->policy = text[0] == 'f' ? SCHED_FIFO : SCHED_RR;
		attr->priority = value;
		return 0;
	case 'o':
		if (parse_bounded_number(text + 2, -20, 19, &value))
			return -EINVAL;
		attr->policy = SCHED_OTHER;
		attr->nice = value;
		return 0;
	case 'd':
		return parse_deadline_params(text + 2, attr);
	default:
		return -EINVAL;
	}
}

const char *scheduling_advice(const struct scheduling *attr, int err)
{
	/* SCHED_DEADLINE needs an affinity to all CPUs of the root domain. */
	if (attr->policy == SCHED_DEADLINE && err == -EPERM)
		return " (SCHED_DEADLINE needs a cpuset partition of that CPU alone)";
	return "";
}

void scheduling_format(const struct scheduling *attr, char *text, size_t size)
{
	if (attr->policy == SCHED_DEADLINE)
		snprintf(text, size, "d:%" PRIu64 "ns:%" PRIu64 "ns", (uint64_t)attr->runtime,
			 (uint64_t)attr->period);
	else if (attr->policy == SCHED_OTHER)
		snprintf(text, size, "o:%d", attr->nice);
	else
		snprintf(text, size, "%c:%u", attr->policy == SCHED_FIFO ? 'f' : 'r',
			 attr->priority);
}

/* The page belongs to a disabled event, so reading it disturbs no watched CPU. */
int tsc_clock_open(struct tsc_clock *clock)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	_cleanup_close_ int fd =
		syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	void *page;

	if (fd < 0)
		return -errno;
	page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	clock->fd = TAKE_FD(fd);
	clock->page = page;
	return 0;
}

void tsc_clock_read(const struct tsc_clock *clock, struct perf_event_mmap_page *page)
{
	/* Makes the kernel update the page. */
	ioctl(clock->fd, PERF_EVENT_IOC_RESET, 0);
	*page = *clock->page;
}

void tsc_clock_close(struct tsc_clock *clock)
{
	if (!clock->page)
		return;
	munmap((void *)clock->page, sysconf(_SC_PAGESIZE));
	close(clock->fd);
	*clock = (struct tsc_clock){};
}
