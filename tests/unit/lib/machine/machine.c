// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>

#include "messages.h"
#include "test.h"
#include "util.h"

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

TEST(reads)
{
	struct scheduling s;

	assert_int_equal(scheduling_parse("f:95", &s), 0);
	assert_int_equal(s.size, 48);
	assert_int_equal(s.policy, SCHED_FIFO);
	assert_int_equal(s.priority, 95);
	assert_int_equal(scheduling_parse("r:1", &s), 0);
	assert_int_equal(s.policy, SCHED_RR);
	assert_int_equal(s.priority, 1);
	assert_int_equal(scheduling_parse("o:-20", &s), 0);
	assert_int_equal(s.policy, SCHED_OTHER);
	assert_int_equal(s.priority, 0);
	assert_int_equal(s.nice, -20);
	assert_int_equal(scheduling_parse("d:500:1ms", &s), 0);
	assert_int_equal(s.policy, 6);
	assert_int_equal(s.runtime, 500000);
	assert_int_equal(s.deadline, 1000000);
	assert_int_equal(s.period, 1000000);
}

TEST(refuses)
{
	static const char *const bad[] = { "",		"f",	  "f:",	   "f:0",   "f:100",
					   "f:1x",	"r:0",	  "r:100", "o:20",  "o:-21",
					   "x:1",	"95",	  "d:",	   "d:1ms", "d:2ms:1ms",
					   "d:1ns:1ms", "d:x:1ms" };
	struct scheduling s;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(scheduling_parse(bad[i], &s), -EINVAL);
}

TEST(writes_as_it_reads)
{
	static const char *const all[] = { "f:95", "r:3", "o:-5", "d:500000ns:1000000ns" };
	struct scheduling s;
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		assert_int_equal(scheduling_parse(all[i], &s), 0);
		scheduling_format(&s, text, sizeof(text));
		assert_string_equal(text, all[i]);
	}
}

TEST(gets_our_own)
{
	struct scheduling s;

	assert_int_equal(scheduling_get(0, &s), 0);
	assert_int_equal(s.policy, sched_getscheduler(0));
}

static const struct perf_event_mmap_page two_ghz = {
	.time_zero = 123456789012,
	.time_mult = 1 << 30,
	.time_shift = 31,
	.cap_user_time_zero = 1,
};

TEST(converts)
{
	assert_int_equal(tsc_to_perf_ns(&two_ghz, 0), two_ghz.time_zero);
	assert_int_equal(tsc_to_perf_ns(&two_ghz, 2000000000000),
			 1000000000000 + two_ghz.time_zero);
	/* Months of uptime: the product exceeds 64 bits */
	assert_int_equal(tsc_to_perf_ns(&two_ghz, 1ULL << 54), (1ULL << 53) + two_ghz.time_zero);
}

/* The kernel keeps the factors when it no longer trusts TSC. */
TEST(knows_when_tsc_is_no_clock)
{
	struct perf_event_mmap_page page = two_ghz;

	assert_true(tsc_is_perf_clock(&page));
	page.cap_user_time_zero = 0;
	assert_false(tsc_is_perf_clock(&page));
	assert_false(tsc_is_perf_clock(&(struct perf_event_mmap_page){}));
}

TEST(extends)
{
	assert_int_equal(tsc_extend_56_bits(5, 7), 5);
	assert_int_equal(tsc_extend_56_bits(5, (3ULL << 56) + 7), (3ULL << 56) + 5);
	assert_int_equal(tsc_extend_56_bits(9, (3ULL << 56) + 7), (2ULL << 56) + 9);
}

/* The values at the opening of the event may be stale. */
TEST(reads_anew)
{
	struct perf_event_mmap_page first, second;
	struct tsc_clock clock = {};
	int err = tsc_clock_open(&clock);

	if (err == -EACCES || err == -EPERM || err == -ENOSYS) {
		printf("skipped: no perf events for who has no rights here\n");
		skip();
	}
	assert_int_equal(err, 0);
	tsc_clock_read(&clock, &first);
	tsc_clock_read(&clock, &second);
	/* The kernel counts its updates. */
	assert_true(second.lock > first.lock);
	assert_int_equal(second.cap_user_time_zero, first.cap_user_time_zero);
	tsc_clock_close(&clock);
	tsc_clock_close(&clock);
}
