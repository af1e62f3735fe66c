// SPDX-License-Identifier: GPL-2.0-only
#include "fingerprint.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "json_add.h"

#define TASK_PREFIX "task:"

static const char *name_of(const struct findings *findings, uint32_t name)
{
	return names_get(findings->spans->names, name);
}

static void add_frame(struct fingerprint *to, const char *name)
{
	if (to->nr < FINGERPRINT_FRAMES_MAX && *name)
		snprintf(to->frames[to->nr++], FINGERPRINT_NAME_SIZE, "%s", name);
}

static void add_task(struct fingerprint *to, const char *comm)
{
	char name[FINGERPRINT_NAME_SIZE];
	char frame[FINGERPRINT_NAME_SIZE];

	fingerprint_task(name, comm);
	snprintf(frame, sizeof(frame), TASK_PREFIX "%.*s",
		 (int)(sizeof(frame) - sizeof(TASK_PREFIX)), name);
	add_frame(to, frame);
}

/* Adds a caller of the frames so far. Returns false at the entry, which ends the chain. The culprit
 * is itself, whatever it is. */
static bool add_function(struct fingerprint *to, const char *name)
{
	char function[FINGERPRINT_NAME_SIZE], token[FINGERPRINT_NAME_SIZE];
	enum frame_role role;

	fingerprint_function(function, name);
	role = fingerprint_role(token, function);
	if (role == FRAME_FUNCTION || !to->nr)
		add_frame(to, function);
	if (role == FRAME_ENTRY)
		add_frame(to, token);
	return role != FRAME_ENTRY;
}

/* Returns false at the entry. */
static bool add_stack(struct fingerprint *to, const struct spike_stack *stack, size_t at)
{
	for (; at < stack->nr && !stack->frames[at].user; at++) {
		if (stack->frames[at].function && !add_function(to, stack->frames[at].name))
			return false;
	}
	return true;
}

/* A span and its callers. What called the outermost one before the trace began is on the stack at
 * the spike, if it has not returned. */
static void add_spans(struct fingerprint *to, const struct findings *findings,
		      const struct facts *facts, uint32_t span)
{
	const struct lane *code = &findings->spans->lanes[LANE_CODE];
	uint32_t outermost = SPAN_NONE;
	size_t at;

	for (uint32_t i = span; i != SPAN_NONE && !code->spans[i].user; i = code->spans[i].parent) {
		outermost = i;
		if (!add_function(to, name_of(findings, code->spans[i].name)))
			return;
	}
	if (outermost == SPAN_NONE)
		return;
	at = spike_stack_find(&facts->stack, name_of(findings, code->spans[outermost].name));
	if (at != STACK_NONE)
		add_stack(to, &facts->stack, at + 1);
}

/* The longest span of this name within another one. */
static uint32_t find_within(const struct lane *code, uint32_t outer, uint32_t name)
{
	uint32_t found = SPAN_NONE;
	uint64_t longest = 0;

	for (uint32_t i = outer + 1;
	     i < code->nr && code->spans[i].depth > code->spans[outer].depth; i++) {
		uint64_t time = code->spans[i].end - code->spans[i].begin;

		if (code->spans[i].name != name || (found != SPAN_NONE && time <= longest))
			continue;
		found = i;
		longest = time;
	}
	return found;
}

/* Of an interrupt, what it runs: the outermost function that took most of it and is not the
 * kernel's own way to it. Recorders know this one, and the entry. */
static void add_handler(struct fingerprint *to, const struct cause *cause,
			const struct findings *findings)
{
	const struct lane *code = &findings->spans->lanes[LANE_CODE];
	char function[FINGERPRINT_NAME_SIZE], token[FINGERPRINT_NAME_SIZE],
		entry[FINGERPRINT_NAME_SIZE];
	char handler[FINGERPRINT_NAME_SIZE] = "";
	uint32_t i = SPAN_NONE;

	fingerprint_entry(entry, name_of(findings, cause->name));
	if (cause->mostly && cause->span != SPAN_NONE)
		i = find_within(code, cause->span, cause->mostly);
	for (; i != SPAN_NONE && i != cause->span; i = code->spans[i].parent) {
		fingerprint_function(function, name_of(findings, code->spans[i].name));
		switch (fingerprint_role(token, function)) {
		case FRAME_FUNCTION:
			memcpy(handler, function, sizeof(handler));
			break;
		case FRAME_ENTRY:
			/* All softirqs begin in the same function. */
			if (cause->kind == CAUSE_SOFTIRQ && !strcmp(entry, "[softirq]"))
				memcpy(entry, token, sizeof(entry));
			break;
		case FRAME_GLUE:
			break;
		}
	}
	add_frame(to, handler);
	add_frame(to, entry);
}

static void add_sender(struct fingerprint *to, const struct sender *sender)
{
	if (sender && sender->nr_callers)
		fingerprint_function(to->sender, sender->callers[0]);
}

static void set_kind(struct fingerprint *to, const char *kind)
{
	snprintf(to->kind, sizeof(to->kind), "%s", kind);
}

static void make_irqs_off(struct fingerprint *to, const struct cause *cause,
			  const struct findings *findings, const struct facts *facts)
{
	set_kind(to, "irqs-off");
	if (cause->frame != STACK_NONE)
		add_stack(to, &facts->stack, cause->frame);
	else if (cause->span != SPAN_NONE)
		add_spans(to, findings, facts, cause->span);
	else
		add_function(to, name_of(findings, cause->name));
}

/* Names of tasks have the thread id after a blank. */
static void add_named_task(struct fingerprint *to, const char *name)
{
	const char *tid = strrchr(name, ' ');
	char comm[64];

	snprintf(comm, sizeof(comm), "%.*s", tid ? (int)(tid - name) : (int)strlen(name), name);
	add_task(to, comm);
}

/* Whether others ran as soon as the kernel let them. A thread that went to sleep does so after what
 * it did. */
static bool was_preempted(const struct spike_stack *stack)
{
	size_t end = spike_stack_switched(stack);

	for (size_t i = 0; i < end && i < stack->nr; i++) {
		if (!strcmp(stack->frames[i].name, "schedule"))
			return false;
	}
	return true;
}

/* A thread in the kernel is its functions; in user space, where recorders see different depths, it
 * is its name. */
static void make_thread(struct fingerprint *to, const struct cause *cause,
			const struct findings *findings, const struct facts *facts)
{
	const struct spike_stack *stack = &facts->stack;

	set_kind(to, "thread");
	if (was_preempted(stack) && cause_switched(cause, findings, facts))
		add_stack(to, stack, spike_stack_switched(stack));
	else if (cause->mostly_span != SPAN_NONE)
		add_spans(to, findings, facts, cause->mostly_span);
	if (!to->nr)
		add_named_task(to, name_of(findings, cause->name));
}

/* Nothing that the CPU executed delayed the interrupt. */
static void make_outside(struct fingerprint *to, const struct facts *facts)
{
	set_kind(to, "outside");
	add_frame(to, hardware_blamed(&facts->hardware, facts->latency_ns));
}

/* Without a trace, or if it does not reach back. */
static void make_none(struct fingerprint *to, const struct cause *cause, const struct facts *facts)
{
	size_t culprit = facts->thread ? STACK_NONE : spike_stack_culprit(&facts->stack);

	if (!facts_have_trace(facts) && culprit != STACK_NONE) {
		set_kind(to, "irqs-off");
		add_stack(to, &facts->stack, culprit);
	} else if (!facts->thread &&
		   (cause->name ||
		    (!facts_have_trace(facts) && spike_stack_open(&facts->stack) != STACK_NONE))) {
		make_outside(to, facts);
	} else {
		set_kind(to, "unknown");
	}
}

static void make_idle(struct fingerprint *to, const struct findings *findings,
		      const struct facts *facts)
{
	char state[FINGERPRINT_NAME_SIZE];

	set_kind(to, "idle");
	fingerprint_function(state, hardware_state_left(&facts->hardware, &findings->spans->power));
	add_frame(to, state);
}

static void make_named(struct fingerprint *to, const struct cause *cause,
		       const struct findings *findings)
{
	char name[FINGERPRINT_NAME_SIZE];

	set_kind(to, cause_kind_name(cause->kind));
	/* Placeholders such as [not traced] tell no more than the kind. */
	if (name_of(findings, cause->name)[0] == '[')
		return;
	fingerprint_function(name, name_of(findings, cause->name));
	add_frame(to, name);
}

static void make_reported(struct fingerprint *to, const struct facts *facts)
{
	char name[FINGERPRINT_NAME_SIZE];

	set_kind(to, "reported");
	fingerprint_task(name, facts->label[0] ? facts->label : facts->comm);
	add_frame(to, name);
}

static void make_kind(struct fingerprint *to, const struct cause *cause,
		      const struct findings *findings, const struct facts *facts)
{
	switch (cause->kind) {
	case CAUSE_IRQS_OFF:
		make_irqs_off(to, cause, findings, facts);
		break;
	case CAUSE_INTERRUPT:
	case CAUSE_SOFTIRQ:
	case CAUSE_NMI:
	case CAUSE_EXCEPTION:
		set_kind(to, cause_kind_name(cause->kind));
		add_handler(to, cause, findings);
		add_sender(to, cause->sender);
		break;
	case CAUSE_IDLE:
		make_idle(to, findings, facts);
		break;
	case CAUSE_THREAD:
		if (!facts->thread && spike_stack_open(&facts->stack) != STACK_NONE)
			make_outside(to, facts);
		else
			make_thread(to, cause, findings, facts);
		break;
	case CAUSE_UNTRACED:
		make_named(to, cause, findings);
		break;
	case CAUSE_LOST:
	case CAUSE_MIXED:
		set_kind(to, cause_kind_name(cause->kind));
		break;
	case CAUSE_NONE:
	case CAUSE_POKED:
	case CAUSE_NR:
		make_none(to, cause, facts);
		break;
	}
}

void fingerprint_make(struct fingerprint *fingerprint, const struct cause *cause,
		      const struct findings *findings, const struct facts *facts)
{
	*fingerprint = (struct fingerprint){ 0 };
	if (cause->kind == CAUSE_POKED)
		return;
	if (facts->reported && !facts->latency_ns)
		make_reported(fingerprint, facts);
	else
		make_kind(fingerprint, cause, findings, facts);
	fingerprint_seal(fingerprint);
}

char *fingerprint_text(const struct fingerprint *fingerprint)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return NULL;
	fprintf(file, "v%d %s", FINGERPRINT_VERSION, fingerprint->kind);
	for (size_t i = 0; i < fingerprint->nr; i++)
		fprintf(file, "%c%s", i ? '<' : ' ', fingerprint->frames[i]);
	if (fingerprint->sender[0])
		fprintf(file, " from %s", fingerprint->sender);
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}

/* For people: without the brackets of an entry and the prefix of a task. */
static void put_name(char *buf, const char *frame)
{
	size_t length;

	if (!strncmp(frame, TASK_PREFIX, strlen(TASK_PREFIX)))
		frame += strlen(TASK_PREFIX);
	frame += *frame == '[';
	length = strlen(frame);
	if (length && frame[length - 1] == ']')
		length--;
	snprintf(buf, FINGERPRINT_NAME_SIZE, "%.*s", (int)length, frame);
}

void fingerprint_seal(struct fingerprint *fingerprint)
{
	_cleanup_free_ char *text = fingerprint_text(fingerprint);
	char name[FINGERPRINT_NAME_SIZE] = "";

	if (!text)
		return;
	fingerprint->hash =
		(uint32_t)crc32(0, (const unsigned char *)text, (unsigned int)strlen(text));
	if (fingerprint->nr)
		put_name(name, fingerprint->frames[0]);
	snprintf(fingerprint->id, sizeof(fingerprint->id), "%s%s%s:%08" PRIx32, fingerprint->kind,
		 *name ? "/" : "", name, fingerprint->hash);
}

static double weight(size_t i)
{
	return 1.0 / (double)(i + 1);
}

static double total(const struct fingerprint *fingerprint)
{
	double sum = 0;

	for (size_t i = 0; i < fingerprint->nr; i++)
		sum += weight(i);
	return sum;
}

/* The heaviest common subsequence of the two chains. */
static double common(const struct fingerprint *a, const struct fingerprint *b)
{
	double best[FINGERPRINT_FRAMES_MAX + 1][FINGERPRINT_FRAMES_MAX + 1] = { 0 };

	for (size_t i = a->nr; i--;) {
		for (size_t k = b->nr; k--;) {
			double skip =
				best[i + 1][k] > best[i][k + 1] ? best[i + 1][k] : best[i][k + 1];
			double take = best[i + 1][k + 1] + weight(i) + weight(k);

			best[i][k] = skip;
			if (!strcmp(a->frames[i], b->frames[k]) && take > skip)
				best[i][k] = take;
		}
	}
	return best[0][0];
}

double fingerprint_similarity(const struct fingerprint *a, const struct fingerprint *b)
{
	if (a->hash == b->hash)
		return 1;
	if (strcmp(a->kind, b->kind) || !a->nr || !b->nr ||
	    (a->sender[0] && b->sender[0] && strcmp(a->sender, b->sender)))
		return 0;
	return common(a, b) / (total(a) + total(b));
}

json_object *fingerprint_json(const struct fingerprint *fingerprint)
{
	json_object *object, *chain;

	if (!fingerprint->kind[0])
		return NULL;
	object = json_object_new_object();
	chain = json_object_new_array();
	json_add_int(object, "version", FINGERPRINT_VERSION);
	json_add_text(object, "id", fingerprint->id);
	json_add_text(object, "kind", fingerprint->kind);
	for (size_t i = 0; i < fingerprint->nr; i++)
		json_object_array_add(chain, json_text(fingerprint->frames[i]));
	json_add(object, "chain", chain);
	json_add_name(object, "sender", fingerprint->sender);
	return object;
}
