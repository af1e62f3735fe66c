// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>

#include "messages.h"
#include "test.h"

#define CPU "/devices/system/cpu/cpu"

static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };
/* The socket's message, its sender, and how reading ends after it. */
static struct {
	int open_errno, bind_errno, end_errno;
	const char *uevent;
	size_t len;
	uint32_t from;
} kernel;

int __wrap_socket(int domain, int type, int protocol)
{
	assert_int_equal(domain, AF_NETLINK);
	assert_int_equal(type, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_int_equal(protocol, NETLINK_KOBJECT_UEVENT);
	errno = kernel.open_errno;
	return errno ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t len)
{
	assert_true(fd >= 0);
	assert_int_equal(len, sizeof(struct sockaddr_nl));
	assert_int_equal(((const struct sockaddr_nl *)address)->nl_groups, 1);
	errno = kernel.bind_errno;
	return errno ? -1 : 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	assert_true(fd >= 0);
	assert_int_equal(level, SOL_SOCKET);
	assert_int_equal(name, SO_ATTACH_FILTER);
	return 0;
}

ssize_t __wrap_recvfrom(int fd, void *to, size_t size, int flags, struct sockaddr *from,
			socklen_t *from_len)
{
	assert_int_equal(fd, 3);
	assert_int_equal(*from_len, sizeof(struct sockaddr_nl));
	if (!kernel.len) {
		errno = kernel.end_errno;
		return -1;
	}
	assert_true(kernel.len <= size);
	memcpy(to, kernel.uevent, kernel.len);
	((struct sockaddr_nl *)from)->nl_pid = kernel.from;
	size = kernel.len;
	kernel.len = 0;
	return size;
}

static void check_event(const char *uevent, size_t len, int cpu, bool online)
{
	struct hotplug_event event = { -1, !online };

	assert_int_equal(hotplug_parse(uevent, len, &event), 1);
	assert_int_equal(event.cpu, cpu);
	assert_int_equal(event.online, online);
}

TEST(parses_cpus)
{
	const char real[] = "offline@" CPU "12\0ACTION=offline\0DEVPATH=" CPU "12\0SUBSYSTEM=cpu";

	check_event(real, sizeof(real), 12, false);
	check_event("online@" CPU "0", sizeof("online@" CPU "0"), 0, true);
	check_event("online@" CPU "8191", sizeof("online@" CPU "8191"), 8191, true);
}

TEST(takes_nothing_else)
{
	static const char *const others[] = {
		"",
		"o",
		"online@",
		"offline@",
		"online@" CPU,
		"online@" CPU "x",
		"online@" CPU "-1",
		"online@" CPU " 1",
		"online@" CPU "1x",
		"online@" CPU "1/cache",
		"online@" CPU "8192",
		"online@" CPU "99999999999999999999",
		"online@/devices/system/memory/memory1",
		"offline@/devices/system/cpu/cpufreq",
		"add@" CPU "1",
		"xonline@" CPU "1",
		"onlinex" CPU "1",
		"libudev",
	};
	struct hotplug_event event;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (hotplug_parse(others[i], strlen(others[i]) + 1, &event))
			fail_msg("'%s' was taken for a CPU", others[i]);
	}
	/* Unterminated: the number may continue. */
	assert_int_equal(hotplug_parse("online@" CPU "1", strlen("online@" CPU "1"), &event), 0);
	assert_int_equal(hotplug_parse("online@" CPU "1", 3, &event), 0);
	assert_int_equal(hotplug_parse("online@" CPU "1", 0, &event), 0);
}

TEST(reads_the_kernels_only)
{
	struct hotplug_event event = {};

	kernel.uevent = "offline@" CPU "3";
	kernel.len = sizeof("offline@" CPU "3");
	kernel.end_errno = EAGAIN;
	assert_int_equal(hotplug_read(3, &event), 1);
	assert_int_equal(event.cpu, 3);
	assert_int_equal(hotplug_read(3, &event), 0);
	kernel.len = sizeof("offline@" CPU "3");
	kernel.from = 42;
	assert_int_equal(hotplug_read(3, &event), 0);
	kernel.end_errno = ENOBUFS;
	assert_int_equal(hotplug_read(3, &event), -ENOBUFS);
}

TEST(opens_or_says_why_not)
{
	int fd = hotplug_open(&log_of_test);

	assert_true(fd >= 0);
	close(fd);
	assert_string_equal(messages.text, "");
	kernel.open_errno = EPERM;
	assert_int_equal(hotplug_open(&log_of_test), -EPERM);
	assert_int_equal(messages.level, PERF_POKE_LOG_DEBUG);
	assert_non_null(strstr(messages.text, "uevents: Operation not permitted"));
	kernel.open_errno = 0;
	kernel.bind_errno = ENOBUFS;
	assert_int_equal(hotplug_open(&log_of_test), -ENOBUFS);
	kernel.bind_errno = 0;
}
