// SPDX-License-Identifier: GPL-2.0-only
/* The trigger: measures the latency of each hrtimer that expires on a watched CPU, and keeps
 * statistics. After arming, the first latency at or over the threshold freezes the trace, pokes the
 * targets, and notifies the controller. */
#include "interruption.bpf.h"
#include "latency.bpf.h"
#include "reported.bpf.h"
#include "span.bpf.h"
#include "spike.bpf.h"
#include "stack.bpf.h"
#include "trace_triggers.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trigger_session);
} session SEC(".maps");

static __always_inline __u64 timer_clock_offset(struct hrtimer *timer)
{
	return bpf_core_field_exists(timer->base->offset) ? BPF_CORE_READ(timer, base, offset) : 0;
}

/* Compiled to a load, much cheaper than the helper; since Linux 6.2. */
extern void *bpf_rdonly_cast(const void *pointer, __u32 type) __weak __ksym;

static __always_inline int read_kernel_number(__u64 *number, const void *pointer)
{
	const struct timespec64 *as_struct;

	if (!bpf_rdonly_cast)
		return bpf_probe_read_kernel(number, sizeof(*number), pointer);
	as_struct = bpf_rdonly_cast(pointer, bpf_core_type_id_kernel(struct timespec64));
	*number = as_struct->tv_sec;
	return 0;
}

static __noinline int expiry_take_spike(void *ctx, struct trigger_cpu *cpu, struct hrtimer *timer,
					__u64 now, __u64 latency_ns)
{
	struct trigger_spike *s = spike_take(cpu, PERF_POKE_TRIGGER_IRQ, latency_ns);

	if (!s)
		return 0;
	s->irq_ns = latency_ns;
	s->actual_ns = now - timer_clock_offset(timer);
	s->expected_ns = s->actual_ns - latency_ns;
	s->function = (__u64)BPF_CORE_READ(timer, function);
	s->timer = (__u64)timer;
	s->cpu = s->ran_cpu;
	spike_fill_task(s);
	stack_at_spike(ctx, s->sequence);
	return spike_submit(s);
}

/* hrtick ends time slices: only if asked for. Its neighbour in memory is in the same line. */
static __always_inline bool timer_is_hrtick(const struct trigger_cpu *cpu,
					    const struct hrtimer *timer)
{
	return bpf_core_field_exists(timer->is_lazy) && !cpu->function && timer->is_lazy;
}

/* A timer that expires in a softirq waits for other softirqs and, with PREEMPT_RT, for a thread:
 * only its thread has a latency. */
static __always_inline int expiry_measure(__u64 *ctx, bool has_threads, bool has_registers)
{
	struct hrtimer *timer = (struct hrtimer *)ctx[0];
	__u32 key = bpf_get_smp_processor_id();
	struct trigger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);
	__u64 now, expires, latency_ns;
	bool waits = false, soft;

	if (!cpu || !cpu->watched)
		return 0;
	if (cpu->function && (__u64)timer->function != cpu->function)
		return 0;
	soft = timer->is_soft;
	if ((soft && !has_threads) || timer_is_hrtick(cpu, timer))
		return 0;

	now = ctx[1];
	if (NOW_IS_POINTER && read_kernel_number(&now, (void *)now))
		return 0;
	expires = timer->node.expires;
	latency_ns = latency_between(now, expires);

	if (has_threads) {
		expires -= timer_clock_offset(timer);
		waits = activation_begin(cpu, timer, expires, latency_ns, soft);
	}
	if (soft)
		return 0;
	if (latency_ns < cpu->threshold_ns)
		cpu_stats_count(cpu, latency_ns);
	else
		expiry_take_spike(ctx, cpu, timer, now, latency_ns);
	if (waits)
		holder_interrupted(ctx, expires + latency_ns, latency_ns,
				   has_registers ? interrupted_user_address() : 0);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int trigger_hrtimer(__u64 *ctx)
{
	return expiry_measure(ctx, false, false);
}

/* The same if threads woken by timers are watched too. A separate program, because libbpf needs
 * types for it that some kernels lack. */
SEC("?tp_btf/hrtimer_expire_entry")
int trigger_hrtimer_threads(__u64 *ctx)
{
	return expiry_measure(ctx, true, false);
}

/* The same where programs can see the interrupted code. */
SEC("?tp_btf/hrtimer_expire_entry")
int trigger_hrtimer_registers(__u64 *ctx)
{
	return expiry_measure(ctx, true, true);
}

/* The programs below are run by user space with BPF_PROG_TEST_RUN. */

/* Resumes the trace of this CPU. */
SEC("raw_tp")
int trigger_resume(void *ctx)
{
	print_message(resume_message);
	return 0;
}

/* The threads of the workload cyclic run it, each on its CPU: registers the thread. */
SEC("raw_tp")
int trigger_claim(void *ctx)
{
	__u32 key = bpf_get_smp_processor_id();
	struct trigger_cpu *cpu = bpf_map_lookup_elem(&cpus, &key);

	if (cpu)
		cpu->thread = (__u32)bpf_get_current_pid_tgid();
	return 0;
}

/* The controller runs it: records its identity in the first PID namespace. */
SEC("raw_tp")
int trigger_self(void *ctx)
{
	const struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u32 key = 0;
	struct trigger_session *self = bpf_map_lookup_elem(&session, &key);

	if (!self)
		return 0;
	self->pid = task->tgid;
	self->start_ns = task->group_leader->start_boottime;
	return 0;
}

/* Creates a record like that of a spike, but the controller pokes the targets. Returns the lower 31
 * bits of the sequence, or 0 if the session is not armed or the ring is full. */
SEC("raw_tp")
int trigger_poke(void *ctx)
{
	struct trigger_spike s = { .what = TRIGGER_POKE };

	if (__sync_val_compare_and_swap(&armed, 1, 0) != 1)
		return 0;
	s.time_ns = bpf_ktime_get_ns();
	s.sequence = __sync_fetch_and_add(&sequence, 1) + 1;
	spike_fill_task(&s);
	if (!bpf_ringbuf_output(&spikes, &s, sizeof(s), BPF_RB_FORCE_WAKEUP))
		return s.sequence & 0x7fffffff;
	__sync_lock_test_and_set(&armed, 1);
	return 0;
}

/* Asks the controller to end the session. Returns 0 or 2. */
SEC("raw_tp")
int trigger_stop(void *ctx)
{
	struct trigger_spike s = { .what = TRIGGER_STOP };

	spike_fill_task(&s);
	return bpf_ringbuf_output(&spikes, &s, sizeof(s), BPF_RB_FORCE_WAKEUP) ? 2 : 0;
}
