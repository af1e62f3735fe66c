// SPDX-License-Identifier: GPL-2.0-only
#include "cause/entry_point.h"

#include <string.h>

#include "cause/findings.h"
#include "cause/late_thread.h"
#include "kernel_function.h"
#include "task.h"
#include "text.h"

/* A thread has few that take long. */
#define ENTRIES_MAX 64
#define DEPTH_MAX 64

/* What is known of a stack from its outermost function to one that it called. */
struct walk {
	struct entry_point entry;
	bool glue; /* inside of the entry, the kernel's part of a file's operation was passed */
	bool ended;
};

/* How long each entry point took, or how many samples it has. An entry is also counted without the
 * function, and an entry of all system calls is counted beside the one that it calls. */
struct entry_time {
	struct entry_point entry;
	unsigned int rank; /* the more is known, the higher */
	uint64_t time;
};

struct entry_times {
	struct entry_time list[ENTRIES_MAX];
	size_t nr;
	uint64_t all; /* of the thread, in user space too */
	uint64_t kernel;
};

/* Entries that others follow. */
static bool is_entry_general(const char *token)
{
	static const char *const tokens[] = { "[syscall]", "[kthread]", "[softirq]", "[irq]" };

	return text_is_among(token, tokens, ARRAY_SIZE(tokens));
}

/* Entries that call a function through a pointer. */
static bool is_entry_of_pointer(const char *token)
{
	static const char *const tokens[] = { "[ioctl]", "[kthread]", "[workqueue]", "[irq_thread]",
					      "[task_work]" };

	return text_is_among(token, tokens, ARRAY_SIZE(tokens));
}

static void walk_add_entry(struct walk *walk, const char *token)
{
	if (!strcmp(walk->entry.token, token))
		return;
	walk->ended = walk->entry.token[0] && !is_entry_general(walk->entry.token);
	if (walk->ended)
		return;
	walk->glue = false;
	snprintf(walk->entry.token, sizeof(walk->entry.token), "%s", token);
}

/* Adds the next function inside. */
static void walk_add_function(struct walk *walk, const char *name)
{
	char function[FINGERPRINT_NAME_SIZE], token[FINGERPRINT_NAME_SIZE];
	enum frame_role role;

	if (*name == '[')
		return;
	fingerprint_function_name(function, name);
	role = fingerprint_frame_role(token, function);
	if (role == FRAME_ENTRY) {
		walk_add_entry(walk, token);
	} else if (role == FRAME_GLUE) {
		walk->glue = true;
	} else if (walk->entry.token[0] && (walk->glue || is_entry_of_pointer(walk->entry.token) ||
					    kernel_function_find(function, KERNEL_FAULT))) {
		memcpy(walk->entry.function, function, sizeof(function));
		walk->ended = true;
	} else if (strcmp(walk->entry.token, "[page_fault]") != 0 &&
		   !kernel_function_find(function, KERNEL_PASSES)) {
		walk->ended = true;
	}
}

static bool is_entry_same(const struct entry_point *a, const struct entry_point *b)
{
	return !strcmp(a->token, b->token) && !strcmp(a->function, b->function);
}

static void entry_times_add(struct entry_times *times, const struct entry_point *entry,
			    uint64_t time)
{
	struct entry_time *to = times->list;

	while (to < times->list + times->nr && !is_entry_same(&to->entry, entry))
		to++;
	if (to == times->list + ENTRIES_MAX)
		return;
	if (to == times->list + times->nr) {
		to->entry = *entry;
		to->rank = entry->function[0] ? 2 : !is_entry_general(entry->token);
		times->nr++;
	}
	to->time += time;
}

static const struct entry_time *entry_times_most(const struct entry_times *times)
{
	const struct entry_time *most = NULL;

	for (size_t i = 0; i < times->nr; i++) {
		const struct entry_time *row = &times->list[i];

		if (2 * row->time > times->all && (!most || row->rank > most->rank))
			most = row;
	}
	return most;
}

static void add_sampled_stack(struct entry_times *times, const struct findings *findings,
			      const struct sampled *sample)
{
	const struct samples *samples = &findings->spans->samples;
	struct walk walk = { 0 };

	for (uint32_t i = sample->nr_kernel; i-- && !walk.ended;) {
		struct walk before = walk;

		walk_add_function(&walk,
				  findings_name(findings, samples->frames[sample->first + i]));
		if (!is_entry_same(&before.entry, &walk.entry))
			entry_times_add(times, &walk.entry, 1);
	}
}

static void add_samples(struct entry_times *times, const struct findings *findings,
			const struct facts *facts)
{
	const struct samples *samples = &findings->spans->samples;
	const struct samples_want want = findings_late_samples(findings, facts);
	uint64_t since;

	for (size_t i = 0; i < samples->nr; i++) {
		if (!samples_are_wanted_at(&want, samples->list[i].at, &since))
			continue;
		add_sampled_stack(times, findings, &samples->list[i]);
		times->all++;
		times->kernel += samples->list[i].nr_kernel > 0;
	}
}

/* The callers of a function that the trace begins in, from the stack at the spike. */
static void walk_add_callers(struct walk *walk, const struct spike_stack *stack, const char *name)
{
	size_t at = spike_stack_find(stack, name), end = at;

	if (at == STACK_NONE)
		return;
	while (end < stack->nr && !stack->frames[end].user)
		end++;
	while (end-- > at + 1 && !walk->ended)
		walk_add_function(walk, stack->frames[end].name);
}

/* What the spans tell, in their order. */
struct span_walk {
	const struct findings *findings;
	const struct facts *facts;
	struct walk walks[DEPTH_MAX + 1]; /* [depth + 1]: of the last span of this depth */
	uint64_t begin, time;		  /* of the outermost span */
	bool known;			  /* its entry */
	/* Of those before it without an entry: the trace did not see how the kernel was entered,
	 * and the thread lost the CPU in them. So it continues here. */
	uint64_t before;
	struct entry_times *times;
};

static uint64_t late_time(const struct findings *findings, const struct span *span)
{
	return span_time_within(span, findings->late_begin, findings->late_end);
}

static bool is_of_late_thread(const struct span_walk *to, const struct span *span)
{
	const struct lane *tasks = &to->findings->spans->lanes[LANE_TASKS];
	uint32_t i = lane_innermost_at(tasks, span->begin + (span->end - span->begin) / 2);
	int tid;

	if (i == SPAN_NONE)
		return false;
	task_name_comm_length(findings_name(to->findings, tasks->spans[i].name), &tid);
	return tid == to->facts->thread->tid;
}

static void span_walk_begin(struct span_walk *to, const struct span *span)
{
	to->before = to->known ? 0 : to->before + to->time;
	to->begin = span->begin;
	to->time = late_time(to->findings, span);
	to->known = false;
	to->times->kernel += to->time;
}

static void span_walk_add(struct span_walk *to, const struct span *span)
{
	const struct walk *before = &to->walks[span->depth];
	struct walk *walk = &to->walks[span->depth + 1];
	const char *name = findings_name(to->findings, span->name);

	*walk = *before;
	if (!span->depth && (span->kind == SPAN_INTERRUPT || span->kind == SPAN_NMI ||
			     span->kind == SPAN_SOFTIRQ || !is_of_late_thread(to, span)))
		walk->ended = true;
	if (walk->ended || span->user)
		return;
	if (!span->depth) {
		span_walk_begin(to, span);
		walk_add_callers(walk, &to->facts->stack, name);
	}
	if (!walk->ended)
		walk_add_function(walk, name);
	if (is_entry_same(&before->entry, &walk->entry))
		return;
	to->known = true;
	entry_times_add(to->times, &walk->entry,
			late_time(to->findings, span) +
				(span->begin == to->begin ? to->before : 0));
}

static void add_spans(struct entry_times *times, const struct findings *findings,
		      const struct facts *facts)
{
	const struct lane *code = findings_code(findings);
	struct span_walk walk = {
		.findings = findings, .facts = facts, .known = true, .times = times
	};

	for (uint32_t i = 0; i < code->nr; i++) {
		const struct span *span = &code->spans[i];

		if (span->depth < DEPTH_MAX && span->end > findings->late_begin &&
		    span->begin < findings->late_end)
			span_walk_add(&walk, span);
	}
}

/* In the part of the latency that is recorded. */
static uint64_t running_time(const struct thread_stays *stays, const struct findings *findings)
{
	uint64_t time = 0;

	for (size_t i = 0; i < stays->nr; i++) {
		const struct span stay = { .begin = stays->list[i].begin,
					   .end = stays->list[i].end };

		if (stays->list[i].state == THREAD_RUNNING)
			time += late_time(findings, &stay);
	}
	return time;
}

enum entry_share entry_point_find(struct entry_point *entry, const struct findings *findings,
				  const struct facts *facts)
{
	struct entry_times times = { 0 };
	const struct entry_time *most;

	if (findings->spans->has_functions) {
		times.all = running_time(&facts->thread->stays, findings);
		add_spans(&times, findings, facts);
	} else if (!findings->sampled.few) {
		add_samples(&times, findings, facts);
	}
	most = entry_times_most(&times);
	if (most) {
		*entry = most->entry;
		return ENTRY_MOST;
	}
	return 3 * times.kernel > times.all ? ENTRY_MIXED : ENTRY_NONE;
}
