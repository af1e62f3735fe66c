// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <ctype.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/filter.h>
#include <linux/netlink.h>

#include "cpulist.h"

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
