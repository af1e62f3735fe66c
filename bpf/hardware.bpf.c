// SPDX-License-Identifier: GPL-2.0-only
/* Reads a CPU's counters from kernel memory on another CPU, without disturbing the first. */
#include "steal.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define CPUS_MAX 8192

/* Addresses by CPU; 0: unknown. */
__u64 rqs[CPUS_MAX] = {};
/* The request and the answers; all bits set: unknown. */
__u32 cpu = 0;
__u64 steal_ns = 0;
__u64 nmis = 0;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	unsigned int __nmi_count;
} irq_cpustat_t;

/* Later kernels, as 7.3 */
typedef struct {
	unsigned int counts[1];
} irq_cpustat_t___array;

#pragma clang attribute pop

enum irq_stat_counts {
	IRQ_COUNT_NMI,
};

extern const irq_cpustat_t irq_stat __ksym __weak;

/* Not all kernels export the symbol of the run queues, but each task points to its last one. */
SEC("iter/task")
int hardware_find(struct bpf_iter__task *ctx)
{
	const struct task_struct *task = ctx->task;
	struct rq *rq;
	__u32 of;

	if (!task)
		return 0;
	/* Use the register that was checked. */
	barrier_var(task);
	rq = steal_run_queue_of(task);
	if (!rq)
		return 0;
	of = BPF_CORE_READ(rq, cpu);
	if (of < CPUS_MAX)
		rqs[of] = (__u64)rq;
	return 0;
}

SEC("syscall")
int hardware_read(void *ctx)
{
	steal_ns = steal_ns_of_run_queue(cpu < CPUS_MAX ? (void *)rqs[cpu] : NULL);
	return 0;
}

/* As in /proc/interrupts. A program of its own, since not every kernel knows where the variable is.
 */
SEC("?syscall")
int hardware_read_nmis(void *ctx)
{
	const irq_cpustat_t *stat = &irq_stat ? bpf_per_cpu_ptr(&irq_stat, cpu) : NULL;
	const irq_cpustat_t___array *array = (const void *)stat;
	__u32 count, at;

	nmis = (__u64)-1;
	if (!stat)
		return 0;
	if (bpf_core_field_exists(stat->__nmi_count))
		at = bpf_core_field_offset(stat->__nmi_count);
	else if (bpf_core_field_exists(array->counts))
		at = bpf_core_field_offset(array->counts) +
		     sizeof(count) * bpf_core_enum_value(enum irq_stat_counts, IRQ_COUNT_NMI);
	else
		return 0;
	if (!bpf_probe_read_kernel(&count, sizeof(count), (const void *)stat + at))
		nmis = count;
	return 0;
}
