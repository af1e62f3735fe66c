/* SPDX-License-Identifier: GPL-2.0-only */
/* The trigger interruption: whatever takes a watched CPU from a thread, and for how long. Each
 * source is counted in the ledger; one that takes the CPU for the threshold is a spike. User space
 * attaches the programs, since kernels differ in their tracepoints. */
#ifndef INTERRUPTION_BPF_H
#define INTERRUPTION_BPF_H

#include "spike.bpf.h"
#include "stack.bpf.h"

#define TASK_KTHREAD 0x00200000 /* PF_KTHREAD of the kernel */
/* From the sending of an interrupt to its entry. What is older belongs to an earlier one. */
#define SENT_NS_MAX 10000000

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load, as the next two */
	__type(key, struct ledger_key);
	__type(value, struct ledger_source);
} ledger SEC(".maps");

/* By CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ledger_sender);
} ledger_senders SEC(".maps");

/* The thread that a CPU was taken from, and who has it since. */
struct interrupted {
	__u32 tid;     /* 0: the CPU was not taken from a thread */
	__u32 longest; /* the thread that had the CPU for longest since then */
	__u64 left_ns; /* when it lost the CPU */
	__u64 stay_ns; /* when the thread that has it now got it */
	__u64 longest_ns;
	__u64 nmi_ns; /* of an NMI over the threshold, which could not be taken there */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct interrupted);
} interrupted_threads SEC(".maps");

/* The thread, process or name that may not be interrupted; none: any thread. */
const volatile __u32 interrupted_pid = 0;
const volatile char interrupted_comm[16] = "";

/* The watched CPUs, for senders. */
const volatile __u32 ledger_cpus[LEDGER_CPUS_MAX] = {};
const volatile __u32 ledger_nr_cpus = 0;

/* Interrupts from other CPUs have tracepoints ipi:*, and a handler besides. */
const volatile __u8 ledger_has_ipis = 0;

/* Sources for which the ledger has no room. */
__u64 ledger_no_room = 0;

static __always_inline struct ledger_key ledger_key_here(__u32 kind, __u64 number)
{
	return (struct ledger_key){ bpf_get_smp_processor_id(), kind, number };
}

static __always_inline struct ledger_source *ledger_find(__u32 kind, __u64 number)
{
	struct ledger_key key = ledger_key_here(kind, number);
	struct ledger_source none = {};
	struct ledger_source *source = bpf_map_lookup_elem(&ledger, &key);

	if (source)
		return source;
	if (bpf_map_update_elem(&ledger, &key, &none, BPF_NOEXIST))
		__sync_fetch_and_add(&ledger_no_room, 1);
	return bpf_map_lookup_elem(&ledger, &key);
}

static __always_inline void ledger_count(struct ledger_source *source, __u64 now, __u64 ns)
{
	source->count++;
	source->last_ns = now;
	source->sum_ns += ns;
	if (ns > source->max_ns)
		source->max_ns = ns;
}

static __always_inline bool is_thread_wanted(const struct task_struct *task)
{
	if (interrupted_pid)
		return (__u32)task->pid == interrupted_pid || (__u32)task->tgid == interrupted_pid;
	for (int i = 0; i < 16 && interrupted_comm[0]; i++) {
		if (task->comm[i] != interrupted_comm[i])
			return false;
		if (!interrupted_comm[i])
			break;
	}
	/* Else threads of user space. */
	return interrupted_comm[0] || (task->pid && !(task->flags & TASK_KTHREAD));
}

/* What took the CPU, when it gave it back, and how long it had it. */
struct interruption {
	struct ledger_key key;
	__u64 end_ns, ns;
};

/* For raw_tp programs: see spike_poke_targets(). */
static __noinline int interruption_take_spike(void *ctx, struct trigger_cpu *cpu,
					      const struct interruption *by,
					      const struct task_struct *late)
{
	struct trigger_spike *s;

	s = spike_take_at(cpu, PERF_POKE_TRIGGER_INTERRUPTION, by->ns, by->end_ns, false, true);
	if (!s)
		return 0;
	s->actual_ns = by->end_ns;
	s->expected_ns = by->end_ns - by->ns;
	s->cpu = s->ran_cpu;
	s->source = by->key;
	spike_fill_task(s);
	spike_fill_late_task(s, late);
	stack_at_spike(ctx, s->sequence);
	return spike_submit(s);
}

/* Something that took the CPU from a thread is over. */
static __always_inline void interruption_judge(void *ctx, const struct interruption *by,
					       const struct task_struct *late)
{
	struct trigger_cpu *cpu = cpu_stats_of_kind(by->key.cpu, PERF_POKE_TRIGGER_INTERRUPTION);

	if (!cpu || !is_thread_wanted(late))
		return;
	if (by->ns < cpu->threshold_ns)
		cpu_stats_count(cpu, by->ns);
	else
		interruption_take_spike(ctx, cpu, by, late);
}

static __always_inline bool is_cpu_counted(void)
{
	return cpu_is_watched(bpf_get_smp_processor_id());
}

/* -- What begins and ends. None begins again before it ends on the same CPU. */

static __always_inline struct ledger_source *source_begin(__u32 kind, __u64 number)
{
	struct ledger_source *source = is_cpu_counted() ? ledger_find(kind, number) : NULL;

	if (source)
		source->began_ns = bpf_ktime_get_ns();
	return source;
}

/* Returns how long it took; 0: its beginning was not seen. */
static __always_inline __u64 source_end(__u32 kind, __u64 number, __u64 now)
{
	struct ledger_source *source = is_cpu_counted() ? ledger_find(kind, number) : NULL;
	__u64 ns;

	if (!source || !source->began_ns)
		return 0;
	ns = latency_between(now, source->began_ns);
	source->began_ns = 0;
	ledger_count(source, now, ns);
	return ns;
}

static __always_inline int source_end_judge(void *ctx, __u32 kind, __u64 number)
{
	struct interruption by = { ledger_key_here(kind, number), bpf_ktime_get_ns(), 0 };

	by.ns = source_end(kind, number, by.end_ns);
	if (by.ns)
		interruption_judge(ctx, &by, (void *)bpf_get_current_task_btf());
	return 0;
}

/* The newest interrupt that was sent is this one only if it is of the same kind. */
static __always_inline bool is_sent(__u32 vector, const struct ledger_sender *sender)
{
	return sender->callback ? vector == LEDGER_CALL || vector == LEDGER_CALL_SINGLE
				: vector == LEDGER_RESCHEDULE;
}

static __always_inline void source_note_sender(struct ledger_source *source, __u32 vector)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ledger_sender *sender = bpf_map_lookup_elem(&ledger_senders, &cpu);

	if (!source || !sender || !sender->time_ns || !is_sent(vector, sender) ||
	    latency_between(source->began_ns, sender->time_ns) > SENT_NS_MAX)
		return;
	source->sender = *sender;
	sender->time_ns = 0;
}

/* An interrupt vector of x86. */
SEC("?raw_tp")
int interruption_vector_entry(__u64 *ctx)
{
	source_note_sender(source_begin(LEDGER_VECTOR, (__u32)ctx[0]), (__u32)ctx[0]);
	return 0;
}

static __always_inline int vector_end_judge(void *ctx, __u64 vector)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct interrupted *thread = bpf_map_lookup_elem(&interrupted_threads, &cpu);
	struct interruption by = { ledger_key_here(LEDGER_NMI, 0), bpf_ktime_get_ns(), 0 };

	source_end_judge(ctx, LEDGER_VECTOR, vector);
	if (!thread || !thread->nmi_ns)
		return 0;
	by.ns = thread->nmi_ns;
	thread->nmi_ns = 0;
	interruption_judge(ctx, &by, (void *)bpf_get_current_task_btf());
	return 0;
}

SEC("?raw_tp")
int interruption_vector_exit(__u64 *ctx)
{
	return vector_end_judge(ctx, (__u32)ctx[0]);
}

/* Elsewhere a reason takes the place of the vector: a string of the kernel's. */
SEC("?raw_tp")
int interruption_ipi_entry(__u64 *ctx)
{
	struct ledger_source *source = source_begin(LEDGER_VECTOR, ctx[0]);

	if (source && !source->name[0])
		bpf_probe_read_kernel_str(source->name, sizeof(source->name), (void *)ctx[0]);
	/* `Function call interrupts` */
	source_note_sender(source,
			   source && source->name[0] == 'F' ? LEDGER_CALL : LEDGER_RESCHEDULE);
	return 0;
}

SEC("?raw_tp")
int interruption_ipi_exit(__u64 *ctx)
{
	return vector_end_judge(ctx, ctx[0]);
}

/* The handler of a device's interrupt; elsewhere also those of timers and of other CPUs. */
SEC("?raw_tp")
int interruption_irq_entry(__u64 *ctx)
{
	const struct irqaction *action = (void *)ctx[1];
	struct ledger_source *source;
	char name[16] = "";

	if (ledger_has_ipis) {
		bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(action, name));
		/* interruption_ipi_entry() counts it. */
		if (name[0] == 'I' && name[1] == 'P' && name[2] == 'I' && !name[3])
			return 0;
	}
	source = source_begin(LEDGER_IRQ, (__u32)ctx[0]);
	if (source && !source->name[0])
		bpf_probe_read_kernel_str(source->name, sizeof(source->name),
					  BPF_CORE_READ(action, name));
	return 0;
}

SEC("?raw_tp")
int interruption_irq_exit(__u64 *ctx)
{
	return source_end_judge(ctx, LEDGER_IRQ, (__u32)ctx[0]);
}

SEC("?raw_tp")
int interruption_softirq_entry(__u64 *ctx)
{
	source_begin(LEDGER_SOFTIRQ, (__u32)ctx[0]);
	return 0;
}

SEC("?raw_tp")
int interruption_softirq_exit(__u64 *ctx)
{
	return source_end_judge(ctx, LEDGER_SOFTIRQ, (__u32)ctx[0]);
}

/* Without a duration: within another source, or the kernel does not report the end. */
static __always_inline struct ledger_source *source_hit(__u32 kind, __u64 number)
{
	struct ledger_source *source = is_cpu_counted() ? ledger_find(kind, number) : NULL;

	if (source)
		ledger_count(source, bpf_ktime_get_ns(), 0);
	return source;
}

/* What the timer's interrupt, softirqs and kernel threads run. */
SEC("?raw_tp")
int interruption_hrtimer(__u64 *ctx)
{
	source_hit(LEDGER_HRTIMER, (__u64)BPF_CORE_READ((struct hrtimer *)ctx[0], function));
	return 0;
}

SEC("?raw_tp")
int interruption_timer(__u64 *ctx)
{
	source_hit(LEDGER_TIMER, (__u64)BPF_CORE_READ((struct timer_list *)ctx[0], function));
	return 0;
}

SEC("?raw_tp")
int interruption_work(__u64 *ctx)
{
	source_hit(LEDGER_WORK, (__u64)BPF_CORE_READ((struct work_struct *)ctx[0], func));
	return 0;
}

/* x86 reports where a page fault begins. */
SEC("?raw_tp")
int interruption_fault(__u64 *ctx)
{
	source_hit(LEDGER_FAULT, 0);
	return 0;
}

/* The tick was to be stopped, and something needs it. */
SEC("?raw_tp")
int interruption_tick(__u64 *ctx)
{
	if (!(__u32)ctx[0])
		source_hit(LEDGER_TICK, (__u32)ctx[1]);
	return 0;
}

/* No trace can be frozen in an NMI: the next interrupt takes the spike. */
SEC("?raw_tp")
int interruption_nmi(__u64 *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct interrupted *thread = bpf_map_lookup_elem(&interrupted_threads, &cpu);
	struct ledger_source *source = is_cpu_counted() ? ledger_find(LEDGER_NMI, 0) : NULL;
	struct trigger_cpu *counts = cpu_stats_of_kind(cpu, PERF_POKE_TRIGGER_INTERRUPTION);

	if (!source || !thread || !counts)
		return 0;
	ledger_count(source, bpf_ktime_get_ns(), ctx[1]);
	if (ctx[1] >= counts->threshold_ns && ctx[1] > thread->nmi_ns)
		thread->nmi_ns = ctx[1];
	return 0;
}

/* -- Other threads */

/* The stay of a thread that had the CPU of another one ends. */
static __always_inline void stay_end(struct interrupted *thread, const struct task_struct *prev,
				     __u64 now)
{
	__u64 ns = latency_between(now, thread->stay_ns);
	struct ledger_source *source = ledger_find(LEDGER_THREAD, prev->pid);

	if (source) {
		bpf_probe_read_kernel_str(source->name, sizeof(source->name), prev->comm);
		ledger_count(source, now, ns);
	}
	if (ns <= thread->longest_ns)
		return;
	thread->longest = prev->pid;
	thread->longest_ns = ns;
}

/* Whether the thread is switched out against its will. */
static __always_inline bool is_preempted(bool preempt, const struct task_struct *prev)
{
	return preempt || !prev->__state;
}

SEC("?tp_btf/sched_switch")
int interruption_switch(__u64 *ctx)
{
	const struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	__u32 cpu = bpf_get_smp_processor_id();
	struct interrupted *thread = bpf_map_lookup_elem(&interrupted_threads, &cpu);
	struct interruption by = { .end_ns = bpf_ktime_get_ns() };

	if (!thread || !cpu_is_watched(cpu))
		return 0;
	if (thread->tid && prev->pid && (__u32)prev->pid != thread->tid)
		stay_end(thread, prev, by.end_ns);
	thread->stay_ns = by.end_ns;
	if (thread->tid && (__u32)next->pid == thread->tid) {
		thread->tid = 0;
		by.key = ledger_key_here(LEDGER_THREAD, thread->longest);
		by.ns = latency_between(by.end_ns, thread->left_ns);
		if (thread->longest)
			interruption_judge(ctx, &by, next);
	} else if (!next->pid) {
		/* The thread is ready elsewhere, or no longer. */
		thread->tid = 0;
	} else if (!thread->tid && is_thread_wanted(prev) && is_preempted(ctx[0], prev)) {
		thread->tid = prev->pid;
		thread->left_ns = by.end_ns;
		thread->longest = 0;
		thread->longest_ns = 0;
	}
	return 0;
}

/* -- Who sends interrupts between CPUs. Runs on the CPU of the sender. */

static __always_inline void sender_note(void *ctx, __u32 cpu, __u64 callback)
{
	struct ledger_sender *sender = bpf_map_lookup_elem(&ledger_senders, &cpu);
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (!sender || !cpu_is_watched(cpu))
		return;
	sender->time_ns = bpf_ktime_get_ns();
	sender->callback = callback;
	sender->cpu = bpf_get_smp_processor_id();
	sender->pid = pid_tgid >> 32;
	sender->tid = pid_tgid;
	bpf_get_current_comm(sender->comm, sizeof(sender->comm));
	sender->size = bpf_get_stack(ctx, sender->frames, sizeof(sender->frames), 0);
}

SEC("?raw_tp")
int interruption_send(__u64 *ctx)
{
	sender_note(ctx, (__u32)ctx[0], ctx[2]);
	return 0;
}

/* To several CPUs: of a mask, the words that hold watched CPUs. */
SEC("?raw_tp")
int interruption_send_mask(__u64 *ctx)
{
	__u64 word = 0;

	for (__u32 i = 0; i < LEDGER_CPUS_MAX && i < ledger_nr_cpus; i++) {
		__u32 cpu = ledger_cpus[i];

		if (bpf_probe_read_kernel(&word, sizeof(word), (__u64 *)ctx[0] + cpu / 64))
			continue;
		if (word >> cpu % 64 & 1)
			sender_note(ctx, cpu, ctx[2]);
	}
	return 0;
}

#endif
