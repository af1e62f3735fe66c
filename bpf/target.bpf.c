// SPDX-License-Identifier: GPL-2.0-only
/* Finds the task of a PID in a PID namespace, and its identity for the trigger: see struct
 * poke_target. Finds the kernel's counts of missed hits of programs: see span_missed.bpf.h. */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "trigger.h"

char LICENSE[] SEC("license") = "GPL";

/* MAX_PID_NS_LEVEL of the kernel */
#define LEVELS 32

const volatile __u32 wanted = 0;
const volatile __u32 namespace = 0;		       /* inode of the namespace */
const volatile __u32 wanted_programs[SPAN_EXITS] = {}; /* their IDs; 0: none */

__u32 tgid = 0, tid = 0, exec_id = 0;
__u64 start_ns = 0, address = 0;
__u64 misses[SPAN_EXITS] = {}; /* per-CPU addresses */

static __always_inline bool task_has_wanted_pid(struct task_struct *task)
{
	struct pid *pid = task->thread_pid;
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i <= LEVELS && i <= level; i++) {
		struct upid *number = (void *)pid + bpf_core_field_offset(pid->numbers) +
				      i * bpf_core_type_size(struct upid);

		if ((__u32)BPF_CORE_READ(number, nr) == wanted &&
		    BPF_CORE_READ(number, ns, ns.inum) == namespace)
			return true;
	}
	return false;
}

SEC("iter/task")
int target_find(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (!task || tid || !task_has_wanted_pid(task))
		return 0;
	tgid = task->tgid;
	tid = task->pid;
	start_ns = task->start_boottime;
	address = (__u64)task;
	exec_id = task->self_exec_id;
	return 0;
}

SEC("iter/bpf_prog")
int target_find_misses(struct bpf_iter__bpf_prog *ctx)
{
	struct bpf_prog *program = ctx->prog;
	__u32 id;

	if (!program || !bpf_core_field_exists(program->stats->misses))
		return 0;
	id = BPF_CORE_READ(program, aux, id);
	for (int i = 0; i < SPAN_EXITS; i++)
		if (id == wanted_programs[i])
			misses[i] = (__u64)BPF_CORE_READ(program, stats) +
				    bpf_core_field_offset(struct bpf_prog_stats, misses);
	return 0;
}
