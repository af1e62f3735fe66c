// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/target.skel.h"
#include "trigger/trigger.h"

/* Reading the iterator runs the program for each task of our PID namespace. */
static int run_iterator(struct target_bpf *skel)
{
	struct bpf_link *link = bpf_program__attach_iter(skel->progs.target_find, NULL);
	_cleanup_close_ int fd = -1;
	char none[16];
	ssize_t len;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	len = fd < 0 ? -1 : read(fd, none, sizeof(none));
	bpf_link__destroy(link);
	return len < 0 ? -errno : 0;
}

int target_find(int pid, struct poke_target *task)
{
	struct target_bpf *skel;
	struct stat namespace;
	int err;

	if (stat("/proc/self/ns/pid", &namespace))
		return -errno;
	skel = target_bpf__open();
	if (!skel)
		return -errno;
	skel->rodata->wanted = pid;
	skel->rodata->namespace = namespace.st_ino;
	err = target_bpf__load(skel);
	if (!err)
		err = run_iterator(skel);
	if (!err && !skel->bss->tid)
		err = -ESRCH;
	if (!err) {
		task->tgid = skel->bss->tgid;
		task->tid = skel->bss->tid;
		task->start_ns = skel->bss->start_ns;
		task->task = skel->bss->address;
		task->exec_id = skel->bss->exec_id;
	}
	target_bpf__destroy(skel);
	return err;
}
