// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture_internal.h"

#include <string.h>

#include "machine/base.h"
#include "task.h"
#include "trigger/trigger.h"

#define LATENCY_TRIES 20
#define LATENCY_PAUSE_US 5000

/* rtla's is unknown; kinds with a text have none. */
static uint64_t reached_ns(const struct config *config, const struct trigger_spike *seen)
{
	if (seen->by_rtla || trigger_row(seen->kind)->choice.argument)
		return 0;
	return config->thresholds[seen->kind] ?: config->opts.threshold_ns;
}

struct perf_poke_spike spike_of(const struct config *config, const struct trigger_spike *seen)
{
	bool poked = seen->what == TRIGGER_POKE;
	struct perf_poke_spike spike = {
		.sz = sizeof(spike),
		.sequence = seen->sequence,
		.time_ns = seen->time_ns,
		.latency_ns = seen->latency_ns,
		.expected_ns = seen->expected_ns,
		.actual_ns = seen->actual_ns,
		.function = seen->function,
		.timer = seen->timer,
		.cpu = poked ? -1 : (int)seen->cpu,
		.pid = seen->pid,
		.tid = seen->tid,
		.idle = !seen->tid,
		.poked = poked,
		.rtla = seen->by_rtla,
		.kind = (enum perf_poke_trigger_kind)seen->kind,
		.threshold_ns = reached_ns(config, seen),
		.irq_ns = seen->irq_ns,
		.thread_ns = seen->thread_ns,
		.user_ns = seen->user_ns,
		.ran_cpu = poked ? -1 : (int)seen->ran_cpu,
		.ran_watched = seen->ran_watched,
		.policy = -1,
		.irqs_off = -1,
		.late_pid = (int)seen->late.pid,
		.late_tid = (int)seen->late.tid,
		.late_policy = seen->late.comm[0] ? (int)seen->late.policy : -1,
		.late_priority = (int)seen->late.rt_priority,
		.late_nice = seen->late.nice,
		.overrun = seen->overrun,
	};

	memcpy(spike.comm, seen->comm, sizeof(spike.comm));
	memcpy(spike.late_comm, seen->late.comm, sizeof(spike.late_comm));
	snprintf(spike.label, sizeof(spike.label), "%.*s", TRIGGER_LABEL_SIZE - 1, seen->label);
	return spike;
}

/* The trigger has only the TID of a thread that did not run there. */
static void find_late(struct perf_poke_spike *spike)
{
	char comm[TASK_COMM_SIZE], tgid[16];
	struct scheduling scheduling;

	if (!spike->late_tid || spike->late_comm[0] || task_comm(spike->late_tid, comm))
		return;
	snprintf(spike->late_comm, sizeof(spike->late_comm), "%s", comm);
	if (!task_status(spike->late_tid, "Tgid", tgid, sizeof(tgid)))
		spike->late_pid = atoi(tgid);
	if (!scheduling_get(spike->late_tid, &scheduling)) {
		spike->late_policy = (int)scheduling.policy;
		spike->late_priority = (int)scheduling.priority;
		spike->late_nice = scheduling.nice;
	}
	if (spike->tid == spike->late_tid) {
		spike->pid = spike->late_pid;
		memcpy(spike->comm, spike->late_comm, sizeof(spike->comm));
	}
}

/* A pending timer fires right after the instruction that enables interrupts. Where the code does
 * not show it, and in the idle task, which waits with the same instruction, it is unknown. */
static int irqs_off(const struct capture_env *env, const struct perf_poke_spike *spike)
{
	bool at_spike = spike->kind == PERF_POKE_TRIGGER_IRQ;
	const struct perf_poke_frame *hit = NULL;
	uint8_t code[TRIGGER_CODE_SIZE];

	if (at_spike && spike->nr_frames && !spike->idle)
		hit = spike->stack[0];
	else if (!at_spike && spike->nr_holder_frames && spike->holder_interrupted)
		hit = spike->holder[0];
	if (!hit)
		return -1;
	if (hit->user)
		return 0;
	return trigger_code(env->trigger, hit->address, code) ? -1 : stack_held_off(code, hit);
}

static const struct perf_poke_frame *const *name_stack(const struct capture_env *env,
						       struct capture_stack *to,
						       const struct trigger_stack *stack)
{
	to->frames = stack_name(stack, env->symbols, &to->nr);
	for (size_t i = 0; i < to->nr; i++)
		to->rows[i] = &to->frames[i];
	return to->rows;
}

/* If the timer's interrupt hit the kernel, stores its frames, and the user frames of the system
 * call from the whole stack. If it hit user space, stores that frame. False: it is not known, or
 * the whole stack has it. */
static bool name_interrupted(const struct capture_env *env, struct capture_stack *to,
			     const struct trigger_holder *holder)
{
	struct trigger_stack stack = holder->stack;

	if (!stack.kernel_size)
		stack.user_size = stack.build_ids_size = 0;
	stack.kernel_size = holder->interrupted_size;
	memcpy(stack.kernel, holder->interrupted, sizeof(stack.kernel));
	name_stack(env, to, &stack);
	if (to->nr && !to->frames[0].user)
		return true;
	stack_free(to->frames, to->nr);
	*to = (struct capture_stack){};
	if (!holder->user_address || holder->at_interrupt)
		return false;
	to->rows[0] = to->frames = stack_name_user(holder->user_address, holder->pid);
	to->nr = to->frames != NULL;
	return to->nr;
}

/* For a late thread: the task that had the CPU before. */
static void take_holder(const struct capture_env *env, struct capture *capture,
			const struct trigger_stacks *stacks)
{
	const struct trigger_stack *stack = &stacks->holder.stack;
	struct perf_poke_spike *spike = &capture->spike;

	if (!stacks->holder.since_ns)
		return;
	spike->holder_interrupted = name_interrupted(env, &capture->holder, &stacks->holder);
	/* Otherwise it was switched out once, at the spike. */
	if (!spike->holder_interrupted && stack->kernel_size > 0 &&
	    (stacks->holder.at_interrupt || stack->tid != stacks->spike.tid)) {
		name_stack(env, &capture->holder, stack);
		spike->holder_interrupted = stacks->holder.at_interrupt;
	}
	spike->holder = capture->holder.rows;
	spike->nr_holder_frames = capture->holder.nr;
	spike->holder_pid = (int)(stacks->holder.pid ?: stack->pid);
	spike->holder_tid = (int)(stacks->holder.tid ?: stack->tid);
}

void spike_take_stacks(const struct capture_env *env, struct capture *capture)
{
	_cleanup_free_ struct trigger_stacks *stacks = malloc(sizeof(*stacks));
	struct perf_poke_spike *spike = &capture->spike;

	find_late(spike);
	if (!stacks || !env->trigger || spike->poked ||
	    !trigger_stacks(env->trigger, spike->sequence, stacks))
		return;
	spike->stack_pid = (int)stacks->spike.pid;
	spike->stack_tid = (int)stacks->spike.tid;
	spike->policy = (int)stacks->spike.policy;
	spike->rt_priority = (int)stacks->spike.rt_priority;
	spike->nice = stacks->spike.nice;
	spike->stack = name_stack(env, &capture->stack, &stacks->spike);
	spike->nr_frames = capture->stack.nr;
	take_holder(env, capture, stacks);
	spike->irqs_off = irqs_off(env, spike);
	if (spike->kind == PERF_POKE_TRIGGER_IRQ)
		hardware_narrow(&capture->hardware, stacks->steal_ns);
}

/* An unknown function does not fail the capture. */
static void name_function(const struct capture_env *env, struct capture *capture)
{
	struct kallsyms_place place = { .address = capture->spike.function };

	if (!place.address || capture_symbols_find(env->symbols, &place, 1) ||
	    place.start != place.address)
		return;
	snprintf(capture->function_name, sizeof(capture->function_name), "%s", place.name);
	capture->spike.function_name = capture->function_name;
}

/* A late thread may not have run before now. */
static void take_latencies(const struct capture_env *env, struct perf_poke_spike *spike)
{
	bool wants_thread = env->config->thresholds[PERF_POKE_TRIGGER_THREAD];
	bool wants_user = env->config->thresholds[PERF_POKE_TRIGGER_USER];
	struct trigger_latencies seen;

	if (!wants_thread && !wants_user)
		return;
	for (int i = 0; i < LATENCY_TRIES; i++) {
		if (i)
			usleep(LATENCY_PAUSE_US);
		if (!trigger_latencies(env->trigger, spike->cpu, spike->sequence, &seen))
			return;
		spike->thread_ns = seen.thread_ns;
		spike->user_ns = seen.user_ns;
		spike->has_noise = trigger_has_noise(env->trigger);
		spike->noise_irq_ns = seen.noise.irq_ns;
		spike->noise_softirq_ns = seen.noise.softirq_ns;
		spike->noise_thread_ns = seen.noise.thread_ns;
		spike->noise_nmi_ns = seen.noise.nmi_ns;
		if (seen.user_ns || (seen.thread_ns && !wants_user))
			return;
	}
}

static const char *softirq_name(int number)
{
	static const char *const names[] = { "HI",	 "TIMER",   "NET_TX", "NET_RX",	 "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

	return (size_t)number < ARRAY_SIZE(names) ? names[number] : "?";
}

/* As rtla's auto-analysis: name and number. */
static void name_part(char *label, size_t size, const struct trigger_noise_part *part)
{
	int length = (int)sizeof(part->name) - 1;

	switch (part->class) {
	case TRIGGER_NOISE_IRQ:
		snprintf(label, size, "irq %.*s:%d", length, part->name, part->number);
		break;
	case TRIGGER_NOISE_SOFTIRQ:
		snprintf(label, size, "softirq %s:%d", softirq_name(part->number), part->number);
		break;
	case TRIGGER_NOISE_THREAD:
		snprintf(label, size, "thread %.*s:%d", length, part->name, part->number);
		break;
	default:
		snprintf(label, size, "nmi");
	}
}

void spike_explain_noise(struct perf_poke_spike *spike, const struct trigger_noise_parts *parts)
{
	const struct trigger_noise_part *most = NULL;
	uint64_t sums[TRIGGER_NOISE_CLASSES] = {};

	for (size_t i = 0; i < ARRAY_SIZE(parts->parts); i++) {
		const struct trigger_noise_part *part = &parts->parts[i];

		/* Of an older sample, or unused. */
		if (part->start < parts->start || part->class >= TRIGGER_NOISE_CLASSES)
			continue;
		sums[part->class] += part->ns;
		if (!most || part->ns > most->ns)
			most = part;
	}
	spike->has_noise = true;
	spike->noise_irq_ns = sums[TRIGGER_NOISE_IRQ];
	spike->noise_softirq_ns = sums[TRIGGER_NOISE_SOFTIRQ];
	spike->noise_thread_ns = sums[TRIGGER_NOISE_THREAD];
	spike->noise_nmi_ns = sums[TRIGGER_NOISE_NMI];
	spike->noise_most_ns = most ? most->ns : 0;
	/* Like osnoise, blame the hardware for unexplained noise. */
	snprintf(spike->label, sizeof(spike->label), "hardware");
	if (most)
		name_part(spike->label, sizeof(spike->label), most);
}

void spike_complete(const struct capture_env *env, struct capture *capture)
{
	struct perf_poke_spike *spike = &capture->spike;
	struct trigger_noise_parts parts;

	name_function(env, capture);
	if (!env->trigger || spike->poked)
		return;
	take_latencies(env, spike);
	if (spike->kind == PERF_POKE_TRIGGER_NOISE &&
	    noise_parts(env->trigger, spike->sequence, &parts))
		spike_explain_noise(spike, &parts);
}
