// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/base.h"
#include "util.h"

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
