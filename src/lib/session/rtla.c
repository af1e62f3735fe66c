// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "session/pins.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "util.h"

static const uint32_t map_slot = 0;

/* Matches the map in bpf/rtla_action.bpf.c. */
static int rtla_create_map(void)
{
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "perf_poke_rtla",
						sizeof(uint32_t), sizeof(uint32_t), 1, NULL);
	int err;

	if (fd < 0)
		return fd;
	err = bpf_obj_pin(fd, RTLA_PIN);
	return err ? err : TAKE_FD(fd);
}

int64_t rtla_offer_program(int prog_fd)
{
	_cleanup_close_ int fd = -1;
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	int err;

	if (prog_fd < 0)
		return prog_fd;
	err = bpf_obj_get_info_by_fd(prog_fd, &info, &size);
	if (err)
		return err;
	fd = bpf_obj_get(RTLA_PIN);
	if (fd == -ENOENT)
		fd = rtla_create_map();
	/* rtla created it at the same time. */
	if (fd == -EEXIST)
		fd = bpf_obj_get(RTLA_PIN);
	if (fd < 0)
		return fd;
	err = bpf_map_update_elem(fd, &map_slot, &prog_fd, BPF_ANY);
	return err ? err : (int64_t)info.id;
}

void rtla_withdraw_program(int64_t prog)
{
	_cleanup_close_ int fd = prog < 0 ? -1 : bpf_obj_get(RTLA_PIN);
	uint32_t now;

	if (fd < 0 || bpf_map_lookup_elem(fd, &map_slot, &now) || now != prog)
		return;
	bpf_map_delete_elem(fd, &map_slot);
	unlink(RTLA_PIN);
}

void rtla_remove_map(void)
{
	unlink(RTLA_PIN);
}
