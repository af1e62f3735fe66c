// SPDX-License-Identifier: GPL-2.0-only
#include "cause/fingerprint.h"

#include <string.h>

#include "arch.h"
#include "cause/cause.h"
#include "cause/entry_point.h"
#include "cause/late_thread.h"
#include "kernel_function.h"
#include "task.h"
#include "text.h"

static void fingerprint_set_kind(struct fingerprint *to, const char *kind)
{
	snprintf(to->kind, sizeof(to->kind), "%s", kind);
}

static void fingerprint_add_frame(struct fingerprint *to, const char *name)
{
	if (to->nr < FINGERPRINT_FRAMES_MAX && *name)
		snprintf(to->frames[to->nr++], FINGERPRINT_NAME_SIZE, "%s", name);
}

static void fingerprint_add_task(struct fingerprint *to, const char *comm)
{
	char name[FINGERPRINT_NAME_SIZE];
	char frame[FINGERPRINT_NAME_SIZE];

	fingerprint_task_name(name, comm);
	snprintf(frame, sizeof(frame), FINGERPRINT_TASK "%.*s",
		 (int)(sizeof(frame) - sizeof(FINGERPRINT_TASK)), name);
	fingerprint_add_frame(to, frame);
}

/* Adds a caller. Returns false at the entry, which ends the chain. The culprit is added whatever it
 * is, unless it just waits. A placeholder such as [not traced] is not added. */
static bool fingerprint_add_function(struct fingerprint *to, const char *name)
{
	char function[FINGERPRINT_NAME_SIZE], token[FINGERPRINT_NAME_SIZE];
	enum frame_role role;

	if (*name == '[')
		return true;
	fingerprint_function_name(function, name);
	role = fingerprint_frame_role(token, function);
	if (!to->nr && kernel_function_find(function, KERNEL_DELAYS))
		return true;
	if (role == FRAME_FUNCTION || !to->nr)
		fingerprint_add_frame(to, function);
	if (role == FRAME_ENTRY)
		fingerprint_add_frame(to, token);
	return role != FRAME_ENTRY;
}

/* Returns false at the entry. */
static bool fingerprint_add_stack(struct fingerprint *to, const struct spike_stack *stack,
				  size_t at)
{
	for (; at < stack->nr && !stack->frames[at].user; at++) {
		if (stack->frames[at].function &&
		    !fingerprint_add_function(to, stack->frames[at].name))
			return false;
	}
	return true;
}

/* Adds a span and its callers. Callers from before the trace are on the stack at the spike, unless
 * they have returned. */
static void fingerprint_add_spans(struct fingerprint *to, const struct findings *findings,
				  const struct facts *facts, uint32_t span)
{
	const struct lane *code = &findings->spans->lanes[LANE_CODE];
	uint32_t outermost = SPAN_NONE;
	size_t at;

	for (uint32_t i = span; i != SPAN_NONE && !code->spans[i].user; i = code->spans[i].parent) {
		outermost = i;
		if (!fingerprint_add_function(to, findings_name(findings, code->spans[i].name)))
			return;
	}
	if (outermost == SPAN_NONE)
		return;
	at = spike_stack_find(&facts->stack, findings_name(findings, code->spans[outermost].name));
	if (at != STACK_NONE)
		fingerprint_add_stack(to, &facts->stack, at + 1);
}

/* By which CPUs ask for function calls */
static const char *call_vector(const struct facts *facts)
{
	return arch_find(facts->arch)->call_interrupt;
}

struct handler {
	char function[FINGERPRINT_NAME_SIZE];
	char entry[FINGERPRINT_NAME_SIZE];
};

/* Takes a caller of the code that took most of the time, from the inside out. All softirqs begin in
 * the same function; the function inside tells them apart. */
static void handler_add_caller(struct handler *handler, const char *name)
{
	char function[FINGERPRINT_NAME_SIZE], token[FINGERPRINT_NAME_SIZE];
	enum frame_role role;

	fingerprint_function_name(function, name);
	role = fingerprint_frame_role(token, function);
	/* An address differs from boot to boot. */
	if (role == FRAME_FUNCTION && *name != '[' && !has_prefix(name, "0x"))
		memcpy(handler->function, function, sizeof(function));
	if (role == FRAME_ENTRY && !strcmp(handler->entry, "[softirq]"))
		memcpy(handler->entry, token, sizeof(token));
}

/* The outermost function that took half of a span, and is not the kernel's entry path. */
static void handler_find_by_time(struct handler *handler, const struct findings *findings,
				 uint32_t span)
{
	const struct lane *code = &findings->spans->lanes[LANE_CODE];
	uint64_t half = (code->spans[span].end - code->spans[span].begin) / 2;
	uint32_t outer = span;

	for (uint32_t i = span + 1;
	     i < code->nr && code->spans[i].depth > code->spans[span].depth &&
	     !handler->function[0];
	     i++) {
		if (code->spans[i].parent != outer ||
		    code->spans[i].end - code->spans[i].begin <= half)
			continue;
		outer = i;
		handler_add_caller(handler, findings_name(findings, code->spans[i].name));
	}
}

/* For an interrupt, its handler: the outermost function that took most of the time and is not the
 * kernel's entry path. Recorders know this function and the entry. */
static void fingerprint_of_interrupt(struct fingerprint *to, const struct cause *cause,
				     const struct findings *findings, const struct facts *facts)
{
	const struct lane *code = &findings->spans->lanes[LANE_CODE];
	const char *name = findings_name(findings, cause->name);
	/* A CPU that polls while idle calls the function without an interrupt. */
	bool polled = cause->sender && !strcmp(cause->sender->function, name);
	struct handler handler = { "", "" };

	fingerprint_set_kind(to, cause_kind_name(cause->kind));
	fingerprint_entry_token(handler.entry, polled ? call_vector(facts) : name);
	for (uint32_t i = cause->mostly_span; i != SPAN_NONE && i != cause->span;
	     i = code->spans[i].parent)
		handler_add_caller(&handler, findings_name(findings, code->spans[i].name));
	if (!handler.function[0] && cause->span != SPAN_NONE)
		handler_find_by_time(&handler, findings, cause->span);
	if (polled)
		handler_add_caller(&handler, name);
	fingerprint_add_frame(to, handler.function);
	fingerprint_add_frame(to, handler.entry);
	if (cause->sender && cause->sender->nr_callers)
		fingerprint_function_name(to->sender, cause->sender->callers[0]);
}

static void fingerprint_of_irqs_off(struct fingerprint *to, const struct cause *cause,
				    const struct findings *findings, const struct facts *facts)
{
	fingerprint_set_kind(to,
			     cause->kind == CAUSE_IRQS_OFF ? "irqs-off" : "irqs-off-or-outside");
	if (cause->frame != STACK_NONE)
		fingerprint_add_stack(to, &facts->stack, cause->frame);
	else if (cause->span != SPAN_NONE)
		fingerprint_add_spans(to, findings, facts, cause->span);
	else
		fingerprint_add_function(to, findings_name(findings, cause->name));
}

/* Names of tasks end with a space and the thread id. */
static void fingerprint_add_named_task(struct fingerprint *to, const char *name)
{
	char comm[64];

	snprintf(comm, sizeof(comm), "%.*s", (int)task_name_comm_length(name, NULL), name);
	fingerprint_add_task(to, comm);
}

/* Whether others ran as soon as the kernel allowed it. A thread that went to sleep had finished its
 * work. In user space nothing keeps them from it. */
static bool was_preempted(const struct spike_stack *stack)
{
	size_t end = spike_stack_switched(stack);

	for (size_t i = 0; i < end && i < stack->nr; i++) {
		if (!strcmp(stack->frames[i].name, "schedule"))
			return false;
	}
	/* The last switch of a thread that ends is no preemption either. */
	return end == stack->nr ||
	       (!stack->frames[end].user && strcmp(stack->frames[end].name, "do_task_dead") != 0);
}

/* The timer's interrupt hits the culprit, or a function that it calls. If the thread was switched
 * out within the culprit later, the frames that both stacks have tell it; else the function of a
 * work item does, if it is known. STACK_NONE: the thread went on to something else. */
static size_t find_culprit_frame(const struct spike_stack *stack, const struct cause *cause,
				 const struct findings *findings, const struct facts *facts)
{
	size_t hit = spike_stack_switched(stack), common = STACK_NONE, work = STACK_NONE;
	char function[FINGERPRINT_NAME_SIZE], token[FINGERPRINT_NAME_SIZE];

	if (cause->mostly && !findings->spans->has_functions) {
		work = spike_stack_find(stack, findings_name(findings, cause->mostly));
		if (work == STACK_NONE)
			return STACK_NONE;
	}
	if (stack == &facts->holder && facts->stack.tid == stack->tid)
		common = spike_stack_common(stack, &facts->stack);
	if (common != STACK_NONE && common >= hit) {
		fingerprint_function_name(function, stack->frames[common].name);
		if (fingerprint_frame_role(token, function) == FRAME_FUNCTION)
			return common;
	}
	/* What work_on_cpu() calls */
	if (work != STACK_NONE && work > hit &&
	    !strcmp(stack->frames[work].name, "work_for_cpu_fn"))
		work--;
	if (work != STACK_NONE)
		return work;
	return cause_went_on(cause, findings, facts) ? STACK_NONE : hit;
}

/* A limit on CPU time kept the thread from running, whoever ran instead. */
static bool fingerprint_of_throttled(struct fingerprint *to, const struct late_thread *thread)
{
	if (!thread || thread->part != PART_RUNNABLE)
		return false;
	if (thread->why == RUNNABLE_QUOTA)
		fingerprint_add_frame(to, "[cgroup_quota]");
	else if (thread->why == RUNNABLE_RT_THROTTLING || thread->why == RUNNABLE_FAIR_SERVER)
		fingerprint_add_frame(to, "[real_time]");
	if (to->nr)
		fingerprint_set_kind(to, "throttled");
	return to->nr;
}

/* What the late thread itself did for that long: where it came into the kernel, not the function
 * that took most of the time, which recorders and kernels see otherwise. */
static void fingerprint_of_own_code(struct fingerprint *to, const struct findings *findings,
				    const struct facts *facts)
{
	struct entry_point entry = { "", "" };
	enum entry_share share = entry_point_find(&entry, findings, facts);

	fingerprint_set_kind(to, "thread");
	fingerprint_add_frame(to, share == ENTRY_MIXED ? "[mixed]" : entry.function);
	fingerprint_add_frame(to, entry.token);
	fingerprint_add_task(to, findings_name(findings, facts->thread->name));
}

static bool is_own_code(const struct cause *cause, const struct facts *facts)
{
	return facts->thread && facts->thread->part == PART_RUNNING &&
	       (cause->kind == CAUSE_THREAD || cause->kind == CAUSE_EXCEPTION ||
		cause->kind == CAUSE_IRQS_OFF);
}

/* The function of the kernel that a clear majority of the samples share, and its callers. */
static void fingerprint_add_sampled(struct fingerprint *to, const struct findings *findings)
{
	const struct samples_mostly *mostly = &findings->sampled;

	if (!mostly->kernel)
		return;
	if (!fingerprint_add_function(to, findings_name(findings, mostly->function)))
		return;
	for (size_t i = 0; i < mostly->nr_kernel; i++) {
		if (!fingerprint_add_function(to, findings_name(findings, mostly->callers[i])))
			return;
	}
}

/* Whether it ran because it may, not because the kernel did not let the late thread preempt it. Of
 * a worker only the function of its work tells what it is. */
static bool is_rival_entitled(const struct cause *cause, const struct findings *findings,
			      const struct facts *facts)
{
	return cause->rival &&
	       (facts->thread->why == RUNNABLE_PRIORITY ||
		facts->thread->why == RUNNABLE_COMPETITION) &&
	       !has_prefix(findings_name(findings, cause->name), "kworker/");
}

static void fingerprint_add_thread_code(struct fingerprint *to, const struct cause *cause,
					const struct findings *findings, const struct facts *facts)
{
	const struct spike_stack *stack = cause_switched_stack(cause, findings, facts);
	char token[FINGERPRINT_NAME_SIZE];
	size_t culprit = STACK_NONE;

	if (stack && was_preempted(stack))
		culprit = find_culprit_frame(stack, cause, findings, facts);
	if (culprit != STACK_NONE)
		fingerprint_add_stack(to, stack, culprit);
	else if (cause->mostly_span != SPAN_NONE)
		fingerprint_add_spans(to, findings, facts, cause->mostly_span);
	else
		fingerprint_add_sampled(to, findings);
	/* Between two pieces of work: either may have taken long. */
	if (to->nr && fingerprint_frame_role(token, to->frames[0]) == FRAME_ENTRY)
		to->nr = 0;
}

/* Whether samples show its work, of which no function has a clear majority but, at most, the
 * kernel's entry. */
static bool is_work_mixed(const struct samples_mostly *mostly)
{
	return mostly->all && !mostly->few && (!mostly->function || mostly->kernel);
}

/* A thread in the kernel is identified by its functions. In user space, where recorders see
 * different depths, by its name. */
static void fingerprint_of_thread(struct fingerprint *to, const struct cause *cause,
				  const struct findings *findings, const struct facts *facts)
{
	bool entitled = is_rival_entitled(cause, findings, facts);

	/* It need not be its fault that an interrupt was late. */
	fingerprint_set_kind(to, facts_is_thread(facts) ? "thread" : "unknown");
	if (!facts_is_thread(facts))
		return;
	if (!entitled)
		fingerprint_add_thread_code(to, cause, findings, facts);
	if (to->nr)
		return;
	fingerprint_add_named_task(to, findings_name(findings, cause->name));
	if (!entitled && is_work_mixed(&findings->sampled))
		fingerprint_add_frame(to, "[mixed]");
}

/* Nothing that the CPU executed delayed the interrupt. */
static void fingerprint_of_outside(struct fingerprint *to, const struct cause *cause,
				   const struct findings *findings, const struct facts *facts)
{
	const char *blamed = hardware_blamed_name(&facts->hardware, facts->spike.latency_ns);

	fingerprint_set_kind(to, "outside");
	if (cause->steal_ns)
		blamed = "steal";
	else if (!strcmp(blamed, "steal"))
		blamed = "";
	fingerprint_add_frame(to, blamed);
}

/* Without a trace, or with one that is too short. */
static void fingerprint_of_none(struct fingerprint *to, const struct cause *cause,
				const struct findings *findings, const struct facts *facts)
{
	size_t culprit = facts_is_thread(facts) || facts->spike.idle
				 ? STACK_NONE
				 : spike_stack_culprit(&facts->stack);

	if (!facts_have_trace(facts) && culprit != STACK_NONE) {
		fingerprint_set_kind(to, irq_latency_is_certain(facts) ? "irqs-off"
								       : "irqs-off-or-outside");
		fingerprint_add_stack(to, &facts->stack, culprit);
	} else if (!facts_is_thread(facts) &&
		   !cause_explains(findings, findings->irqs_perhaps_off_ns) &&
		   (cause->name ||
		    (!facts_have_trace(facts) && spike_stack_open(&facts->stack) != STACK_NONE))) {
		fingerprint_of_outside(to, cause, findings, facts);
	} else {
		fingerprint_set_kind(to, "unknown");
	}
}

static void fingerprint_of_idle(struct fingerprint *to, const struct cause *cause,
				const struct findings *findings, const struct facts *facts)
{
	char state[FINGERPRINT_NAME_SIZE];

	fingerprint_set_kind(to, "idle");
	fingerprint_function_name(state,
				  hardware_state_left(&facts->hardware, &findings->spans->power));
	fingerprint_add_frame(to, state);
}

static void fingerprint_of_untraced(struct fingerprint *to, const struct cause *cause,
				    const struct findings *findings, const struct facts *facts)
{
	char name[FINGERPRINT_NAME_SIZE];

	fingerprint_set_kind(to, cause_kind_name(cause->kind));
	/* Placeholders such as [not traced] add nothing to the kind. */
	if (findings_name(findings, cause->name)[0] == '[')
		return;
	fingerprint_function_name(name, findings_name(findings, cause->name));
	fingerprint_add_frame(to, name);
}

static void fingerprint_of_reported(struct fingerprint *to, const struct facts *facts)
{
	char name[FINGERPRINT_NAME_SIZE];

	fingerprint_set_kind(to, facts->spike.kind == PERF_POKE_TRIGGER_NOISE ? "noise"
				 : facts_are_of_noise(facts)		      ? "interruption"
									      : "reported");
	fingerprint_task_name(name, facts->spike.label[0] ? facts->spike.label : facts->spike.comm);
	fingerprint_add_frame(to, name);
}

/* Whether a thread may be what was waited for. A disk, say, is the same whoever ran when it was
 * done. */
static bool may_wait_for_thread(const char *token)
{
	static const char *const others[] = { "aio",	    "disk",	 "io_uring", "memory",
					      "page_fault", "rcu",	 "sleep",    "timerfd",
					      "tty",	    "work",	 "poll",     "writeback",
					      "socket",	    "tcp_socket" };

	return !token || !text_is_among(token, others, ARRAY_SIZE(others));
}

/* Whether it is chance where the thread was. */
static bool is_stopped_anywhere(const char *token)
{
	return token &&
	       (!strcmp(token, "stop") || !strcmp(token, "tracer") || !strcmp(token, "freezer"));
}

/* Whether what was waited for did not happen in time. */
static bool is_wait_timed_out(const struct thread_wait *wait, const struct names *names)
{
	static const char *const tokens[] = { "poll", "signal", "socket", "tcp_socket",
					      "unix_socket" };

	return wait->place.token && text_is_among(wait->place.token, tokens, ARRAY_SIZE(tokens)) &&
	       thread_waker_is_timeout(&wait->waker, names);
}

/* Where the thread slept, and for whom. */
static void fingerprint_of_asleep(struct fingerprint *to, const struct cause *cause,
				  const struct findings *findings, const struct facts *facts)
{
	const struct thread_wait *wait = &facts->thread->waits[0];
	const struct thread_waker *waker = &wait->waker;
	char name[FINGERPRINT_NAME_SIZE];

	fingerprint_set_kind(to, "asleep");
	if (wait->place.token) {
		snprintf(name, sizeof(name), "[%s]", wait->place.token);
		fingerprint_add_frame(to, name);
	}
	if (wait->place.object) {
		snprintf(name, sizeof(name), "[%s]", wait->place.object);
		fingerprint_add_frame(to, name);
	}
	/* A lock in the kernel is told apart by who takes it. */
	if (!wait->place.token || !strcmp(wait->place.token, "lock") ||
	    !strcmp(wait->place.token, "completion")) {
		for (size_t i = 0; i < wait->place.nr_kernel; i++) {
			const char *function = findings_name(findings, wait->place.kernel[i]);

			if (kernel_function_find(function, KERNEL_WAITS | KERNEL_SCHEDULER))
				continue;
			fingerprint_function_name(name, function);
			fingerprint_add_frame(to, name);
		}
	}
	if (wait->place.entry && !is_stopped_anywhere(wait->place.token))
		fingerprint_add_frame(to, findings_name(findings, wait->place.entry));
	if (waker->context == WAKE_TASK && waker->name && may_wait_for_thread(wait->place.token))
		fingerprint_add_task(to, findings_name(findings, waker->name));
	else if ((waker->context == WAKE_TIMER && may_wait_for_thread(wait->place.token)) ||
		 is_wait_timed_out(wait, findings->spans->names))
		fingerprint_add_frame(to, "[timer]");
	else if (waker->context != WAKE_UNKNOWN && waker->function && !wait->place.token)
		fingerprint_add_function(to, findings_name(findings, waker->function));
	/* Without the place, who woke it is not enough. */
	if (!to->nr || (!wait->place.token && !wait->place.nr_kernel)) {
		to->nr = 0;
		fingerprint_set_kind(to, "unknown");
	}
}

/* For these, all that is known is the kind. */
static void fingerprint_of_kind(struct fingerprint *to, const struct cause *cause,
				const struct findings *findings, const struct facts *facts)
{
	fingerprint_set_kind(to, cause->kind == CAUSE_REARMED_LATE ? "rearmed-late"
								   : cause_kind_name(cause->kind));
}

static void fingerprint_of_armed_past(struct fingerprint *to, const struct cause *cause,
				      const struct findings *findings, const struct facts *facts)
{
	fingerprint_set_kind(to, "armed-past");
	fingerprint_add_function(to, facts->function);
}

static void (*const make_causes[])(struct fingerprint *to, const struct cause *cause,
				   const struct findings *findings, const struct facts *facts) = {
	[CAUSE_NONE] = fingerprint_of_none,
	[CAUSE_POKED] = fingerprint_of_none,
	[CAUSE_IRQS_OFF] = fingerprint_of_irqs_off,
	[CAUSE_INTERRUPT] = fingerprint_of_interrupt,
	[CAUSE_SOFTIRQ] = fingerprint_of_interrupt,
	[CAUSE_NMI] = fingerprint_of_interrupt,
	[CAUSE_EXCEPTION] = fingerprint_of_interrupt,
	[CAUSE_IDLE] = fingerprint_of_idle,
	[CAUSE_THREAD] = fingerprint_of_thread,
	[CAUSE_UNTRACED] = fingerprint_of_untraced,
	[CAUSE_LOST] = fingerprint_of_kind,
	[CAUSE_MIXED] = fingerprint_of_kind,
	[CAUSE_ASLEEP] = fingerprint_of_asleep,
	[CAUSE_THROTTLED] = fingerprint_of_none, /* see fingerprint_of_throttled() */
	[CAUSE_OUTSIDE] = fingerprint_of_outside,
	[CAUSE_IRQS_OFF_OR_OUTSIDE] = fingerprint_of_irqs_off,
	[CAUSE_ARMED_PAST] = fingerprint_of_armed_past,
	[CAUSE_REARMED_LATE] = fingerprint_of_kind,
};
_Static_assert(ARRAY_SIZE(make_causes) == CAUSE_NR, "each has a row");

void fingerprint_make(struct fingerprint *fingerprint, const struct cause *cause,
		      const struct findings *findings, const struct facts *facts)
{
	*fingerprint = (struct fingerprint){ 0 };
	if (cause->kind == CAUSE_POKED)
		return;
	if (facts_are_of_noise(facts) || (facts_is_reported(facts) && !facts->spike.latency_ns))
		fingerprint_of_reported(fingerprint, facts);
	else if (is_own_code(cause, facts))
		fingerprint_of_own_code(fingerprint, findings, facts);
	else if (!fingerprint_of_throttled(fingerprint, facts->thread))
		make_causes[cause->kind](fingerprint, cause, findings, facts);
	fingerprint_seal(fingerprint);
}
