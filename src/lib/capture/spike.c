// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture_internal.h"

#include <string.h>

#include "arch.h"
#include "machine/base.h"
#include "task.h"
#include "trigger/trigger.h"

struct perf_poke_spike spike_from_record(const struct config *config,
					 const struct trigger_spike *seen)
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
		.uncertain = seen->uncertain,
	};

	/* rtla's is unknown; kinds with a text have none. */
	if (!seen->by_rtla && !trigger_row(seen->kind)->choice.argument)
		spike.threshold_ns = config->thresholds[seen->kind] ?: config->opts.threshold_ns;
	memcpy(spike.comm, seen->comm, sizeof(spike.comm));
	memcpy(spike.late_comm, seen->late.comm, sizeof(spike.late_comm));
	snprintf(spike.label, sizeof(spike.label), "%.*s", TRIGGER_LABEL_SIZE - 1, seen->label);
	return spike;
}

/* The trigger has only the TID of a thread that did not run there. */
static void spike_find_late_thread(struct perf_poke_spike *spike)
{
	char comm[TASK_COMM_SIZE], tgid[16];
	struct scheduling scheduling;

	if (!spike->late_tid || spike->late_comm[0] || !pids_are_global() ||
	    task_read_comm(spike->late_tid, comm))
		return;
	snprintf(spike->late_comm, sizeof(spike->late_comm), "%s", comm);
	if (!task_read_status(spike->late_tid, "Tgid", tgid, sizeof(tgid)))
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

_Static_assert(ARCH_CODE_SIZE == TRIGGER_CODE_SIZE, "what the trigger reads is what is judged");

/* A pending timer fires right after the instruction that enables interrupts. Where the code does
 * not show it, and in the idle task, which waits with the same instruction, it is unknown. */
static int spike_find_irqs_off(const struct capture_env *env, const struct perf_poke_spike *spike)
{
	bool at_spike = spike->kind == PERF_POKE_TRIGGER_IRQ;
	const struct perf_poke_frame *hit = NULL;
	uint8_t code[ARCH_CODE_SIZE];

	if (at_spike && spike->nr_frames && !spike->idle)
		hit = spike->stack[0];
	else if (!at_spike && spike->nr_holder_frames && spike->holder_interrupted)
		hit = spike->holder[0];
	if (!hit)
		return -1;
	if (hit->user)
		return 0;
	if (trigger_read_code(env->trigger, hit->address, code))
		return -1;
	return arch_here()->held_interrupts_off(
		&(struct arch_hit){ code, hit->symbol, hit->offset });
}

static const struct perf_poke_frame *const *spike_name_stack(const struct capture_env *env,
							     struct capture_stack *to,
							     const struct trigger_stack *stack)
{
	to->frames = capture_stack_new(stack, env->symbols, &to->nr);
	for (size_t i = 0; i < to->nr; i++)
		to->rows[i] = &to->frames[i];
	return to->rows;
}

/* For a late thread: the task that had the CPU before. If the timer's interrupt hit the kernel, its
 * frames, and the user frames of the system call from the whole stack; if it hit user space, that
 * frame. Otherwise, or if that is not known, the whole stack: of the interrupt, or of the time when
 * the task gave up the CPU. */
static void spike_take_holder(const struct capture_env *env, struct capture *capture,
			      const struct trigger_stacks *stacks)
{
	const struct trigger_holder *holder = &stacks->holder;
	struct capture_stack *to = &capture->holder;
	struct trigger_stack hit = holder->stack;
	struct perf_poke_spike *spike = &capture->spike;

	if (!holder->since_ns)
		return;
	if (!hit.kernel_size)
		hit.user_size = hit.build_ids_size = 0;
	hit.kernel_size = holder->interrupted_size;
	memcpy(hit.kernel, holder->interrupted, sizeof(hit.kernel));
	spike_name_stack(env, to, &hit);
	if (!to->nr || to->frames[0].user) {
		capture_stack_free(to->frames, to->nr);
		*to = (struct capture_stack){};
		if (holder->user_address && !holder->at_interrupt)
			to->frames = capture_stack_user_frame(holder->user_address, holder->pid);
		to->rows[0] = to->frames;
		to->nr = to->frames != NULL;
	}
	spike->holder_interrupted = to->nr;
	/* Otherwise it was switched out once, at the spike. */
	if (!to->nr && holder->stack.kernel_size > 0 &&
	    (holder->at_interrupt || holder->stack.tid != stacks->spike.tid)) {
		spike_name_stack(env, to, &holder->stack);
		spike->holder_interrupted = holder->at_interrupt;
	}
	spike->holder = to->rows;
	spike->nr_holder_frames = to->nr;
	spike->holder_pid = (int)(holder->pid ?: holder->stack.pid);
	spike->holder_tid = (int)(holder->tid ?: holder->stack.tid);
}

/* As rtla's auto-analysis: name and number. */
static void noise_part_label(char *label, size_t size, const struct trigger_noise_part *part)
{
	static const char *const softirqs[] = { "HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
						"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU" };
	int length = (int)sizeof(part->name) - 1;

	switch (part->class) {
	case TRIGGER_NOISE_IRQ:
		snprintf(label, size, "irq %.*s:%d", length, part->name, part->number);
		break;
	case TRIGGER_NOISE_SOFTIRQ:
		snprintf(label, size, "softirq %s:%d",
			 (size_t)part->number < ARRAY_SIZE(softirqs) ? softirqs[part->number] : "?",
			 part->number);
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
		noise_part_label(spike->label, sizeof(spike->label), most);
}

/* The thread's latency, that of its return to user space, and what ran before, as far as they are
 * known. False: the thread has not run yet. */
static bool spike_take_latencies(const struct capture_env *env, struct perf_poke_spike *spike)
{
	bool wants_thread = env->config->thresholds[PERF_POKE_TRIGGER_THREAD];
	bool wants_user = env->config->thresholds[PERF_POKE_TRIGGER_USER];
	struct trigger_latencies seen;

	if ((!wants_thread && !wants_user) ||
	    !trigger_read_latencies(env->trigger, spike->cpu, spike->sequence, &seen))
		return true;
	spike->thread_ns = seen.thread_ns;
	spike->user_ns = seen.user_ns;
	spike->has_noise = trigger_has_noise(env->trigger);
	spike->noise_irq_ns = seen.noise.irq_ns;
	spike->noise_softirq_ns = seen.noise.softirq_ns;
	spike->noise_thread_ns = seen.noise.thread_ns;
	spike->noise_nmi_ns = seen.noise.nmi_ns;
	return seen.user_ns || (seen.thread_ns && !wants_user);
}

bool spike_complete(const struct capture_env *env, struct capture *capture)
{
	_cleanup_free_ struct trigger_stacks *stacks = NULL;
	struct perf_poke_spike *spike = &capture->spike;
	struct kallsyms_place place = { .address = spike->function };
	struct trigger_noise_parts parts;
	bool has_more = env->trigger && !spike->poked;

	if (capture->named)
		return !has_more || spike_take_latencies(env, spike);
	capture->named = true;
	spike_find_late_thread(spike);
	/* The stacks first: their tasks may end at any time. */
	stacks = has_more ? malloc(sizeof(*stacks)) : NULL;
	if (stacks && trigger_read_stacks(env->trigger, spike->sequence, stacks)) {
		spike->stack_ns = stacks->took_ns;
		spike->stack_pid = (int)stacks->spike.pid;
		spike->stack_tid = (int)stacks->spike.tid;
		spike->policy = (int)stacks->spike.policy;
		spike->rt_priority = (int)stacks->spike.rt_priority;
		spike->nice = stacks->spike.nice;
		spike->stack = spike_name_stack(env, &capture->stack, &stacks->spike);
		spike->nr_frames = capture->stack.nr;
		if (spike->nr_frames && capture->stack.frames[capture->stack.nr - 1].user)
			capture->user = capture_user_json(&stacks->user, stacks->spike.pid);
		spike_take_holder(env, capture, stacks);
		spike->irqs_off = spike_find_irqs_off(env, spike);
		if (spike->kind == PERF_POKE_TRIGGER_IRQ)
			hardware_set_late_steal(&capture->hardware, stacks->steal_ns);
	}
	/* An unknown function does not fail the capture. */
	if (place.address && !capture_symbols_find(env->symbols, &place, 1) &&
	    place.start == place.address) {
		snprintf(capture->function_name, sizeof(capture->function_name), "%s", place.name);
		spike->function_name = capture->function_name;
	}
	if (has_more && spike->kind == PERF_POKE_TRIGGER_NOISE &&
	    trigger_read_noise(env->trigger, spike->sequence, &parts))
		spike_explain_noise(spike, &parts);
	return !has_more;
}
