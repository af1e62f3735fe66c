// SPDX-License-Identifier: GPL-2.0-only
#include "events/ring_events.h"

#include <linux/perf_event.h>
#include <string.h>

#include "array.h"
#include "cpulist.h"
#include "text.h"

/* Deeper calls are not in callchains. */
#define DEPTH_MAX 64
#define STACK_MAX 128
#define TYPES (1 << 16)
#define NO_RECORD UINT32_MAX

enum ring_role {
	RING_OTHER,
	RING_STACK, /* belongs to the event before */
	RING_USER_STACK,
	RING_ENTRY,
	RING_EXIT,
	RING_FUNCTION,
};

struct ring_kind {
	struct tracepoint_kind kind;
	uint64_t id;
	enum ring_role role;
	uint64_t callers; /* offset in a stack's record */
};

/* The functions that a task has entered, outermost first. */
struct ring_task {
	int32_t tid, cpu; /* the idle tasks have one for each CPU */
	uint32_t depth;
	uint64_t functions[DEPTH_MAX];
};

struct ring_events {
	struct trace_dat *dat;
	struct ring_kind *kinds;
	size_t nr_kinds;
	struct ring_kind **by_type; /* TYPES */
	struct symbols symbols;
	uint32_t *stacks; /* for each record: that of its stack, or NO_RECORD */
	struct ring_task **tasks;
	size_t nr_tasks, next;
	uint64_t chain[STACK_MAX + 1];
};

void ring_events_free(struct ring_events *ring)
{
	if (!ring)
		return;
	for (size_t i = 0; i < ring->nr_kinds; i++) {
		event_format_free(ring->kinds[i].kind.format);
		free(ring->kinds[i].kind.name);
	}
	for (size_t i = 0; i < ring->nr_tasks; i++)
		free(ring->tasks[i]);
	free(ring->tasks);
	free(ring->kinds);
	free(ring->by_type);
	free(ring->stacks);
	symbols_release(&ring->symbols);
	trace_dat_free(ring->dat);
	free(ring);
}

static enum ring_role ring_role_of(const char *name)
{
	static const struct {
		const char *name;
		enum ring_role role;
	} rows[] = {
		{ "ftrace:kernel_stack", RING_STACK },
		{ "ftrace:user_stack", RING_USER_STACK },
		{ "ftrace:funcgraph_entry", RING_ENTRY },
		{ "ftrace:funcgraph_retaddr_entry", RING_ENTRY },
		{ "ftrace:funcgraph_exit", RING_EXIT },
		{ "ftrace:function", RING_FUNCTION },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!strcmp(rows[i].name, name))
			return rows[i].role;
	}
	return RING_OTHER;
}

static int ring_add_kind(struct ring_events *ring, const struct trace_dat_format *from)
{
	const struct tracing_data data = { .long_size = (uint8_t)ring->dat->long_size };
	const struct tracing_format text = {
		.system = from->system,
		.text = { (const uint8_t *)from->text, from->size },
		.id = from->id,
	};
	struct ring_kind *to = &ring->kinds[ring->nr_kinds];
	int err;

	if (from->id >= TYPES || ring->by_type[from->id])
		return 0;
	err = event_format_new(&to->kind.format, &data, &text);
	if (err)
		return err == -EINVAL ? 0 : err;
	ring->nr_kinds++;
	to->id = from->id;
	to->kind.name = strfmt("%s:%s", text.system, event_format_name(to->kind.format));
	if (!to->kind.name)
		return -ENOMEM;
	text_make_printable(to->kind.name);
	to->role = ring_role_of(to->kind.name);
	if (to->role == RING_STACK && !event_format_offset(to->kind.format, "caller", &to->callers))
		to->role = RING_USER_STACK;
	ring->by_type[from->id] = to;
	return 0;
}

static struct perfdata_bytes ring_record_bytes(const struct ring_events *ring, size_t i)
{
	const struct trace_dat_record *record = &ring->dat->records[i];

	return (struct perfdata_bytes){ ring->dat->image + record->at, record->size };
}

/* NULL: not known. */
static const struct ring_kind *ring_record_kind(const struct ring_events *ring, size_t i)
{
	struct perfdata_bytes bytes = ring_record_bytes(ring, i);
	uint16_t type;

	if (bytes.size < sizeof(type))
		return NULL;
	/* common_type comes first. */
	memcpy(&type, bytes.data, sizeof(type));
	return ring->by_type[type];
}

/* A stack is the next record of the CPU. */
static int ring_find_stacks(struct ring_events *ring)
{
	size_t nr = ring->dat->nr_records;
	_cleanup_free_ uint32_t *before = malloc(CPULIST_MAX_CPUS * sizeof(*before));

	ring->stacks = malloc((nr + 1) * sizeof(*ring->stacks));
	if (!before || !ring->stacks || nr >= NO_RECORD)
		return -ENOMEM;
	memset(before, 0xff, CPULIST_MAX_CPUS * sizeof(*before));
	for (size_t i = 0; i < nr; i++) {
		const struct ring_kind *kind = ring_record_kind(ring, i);
		int32_t cpu = ring->dat->records[i].cpu;

		ring->stacks[i] = NO_RECORD;
		if (cpu >= CPULIST_MAX_CPUS || !kind)
			continue;
		if (kind->role != RING_STACK && kind->role != RING_USER_STACK)
			before[cpu] = (uint32_t)i;
		else if (kind->role == RING_STACK && before[cpu] != NO_RECORD)
			ring->stacks[before[cpu]] = (uint32_t)i;
	}
	return 0;
}

static int ring_add_symbols(struct ring_events *ring)
{
	for (size_t i = 0; i < ring->dat->nr_symbols; i++) {
		const struct trace_dat_symbol *symbol = &ring->dat->symbols[i];
		const struct symbols_entry entry = { .start = symbol->start, .end = symbol->end };
		int err = symbols_add(&ring->symbols, &entry, symbol->name, strlen(symbol->name));

		if (err)
			return err;
	}
	symbols_finish(&ring->symbols);
	return 0;
}

int ring_events_new(struct ring_events **ret, struct trace_dat *dat)
{
	struct ring_events *ring = calloc(1, sizeof(*ring));
	int err = 0;

	if (!ring) {
		trace_dat_free(dat);
		return -ENOMEM;
	}
	ring->dat = dat;
	ring->kinds = calloc(dat->nr_formats + 1, sizeof(*ring->kinds));
	ring->by_type = calloc(TYPES, sizeof(struct ring_kind *));
	if (!ring->kinds || !ring->by_type)
		err = -ENOMEM;
	for (size_t i = 0; i < dat->nr_formats && !err; i++)
		err = ring_add_kind(ring, &dat->formats[i]);
	err = err ?: ring_find_stacks(ring) ?: ring_add_symbols(ring);
	if (err)
		ring_events_free(ring);
	else
		*ret = ring;
	return err;
}

enum ring_functions ring_events_functions(const struct ring_events *ring)
{
	enum ring_functions found = RING_NO_FUNCTIONS;

	for (size_t i = 0; i < ring->nr_kinds; i++) {
		if (ring->kinds[i].role == RING_ENTRY || ring->kinds[i].role == RING_EXIT)
			return RING_CALLS;
		if (ring->kinds[i].role == RING_FUNCTION)
			found = RING_ENTRIES;
	}
	return found;
}

/* NULL if out of memory: then callchains are missing. */
static struct ring_task *ring_find_task(struct ring_events *ring, int32_t tid, int32_t cpu)
{
	struct ring_task *task;

	cpu = tid > 0 ? -1 : cpu;
	for (size_t i = 0; i < ring->nr_tasks; i++) {
		if (ring->tasks[i]->tid == tid && ring->tasks[i]->cpu == cpu)
			return ring->tasks[i];
	}
	if (array_grow(&ring->tasks, ring->nr_tasks, sizeof(*ring->tasks)))
		return NULL;
	task = calloc(1, sizeof(*task));
	if (!task)
		return NULL;
	task->tid = tid;
	task->cpu = cpu;
	ring->tasks[ring->nr_tasks++] = task;
	return task;
}

/* The depth in an entry tells of lost exits; outermost functions may be missing. */
static void ring_follow_call(struct ring_events *ring, enum ring_role role,
			     const struct tracepoint_event *event)
{
	struct ring_task *task = ring_find_task(ring, event->tid, event->cpu);
	uint64_t function;
	uint32_t depth;

	if (!task || !tracepoint_number(event, "func", &function))
		return;
	depth = task->depth;
	if (role == RING_ENTRY) {
		if (depth < DEPTH_MAX)
			task->functions[depth] = function;
		task->depth += depth < UINT32_MAX;
		return;
	}
	if (depth > DEPTH_MAX) {
		task->depth--;
		return;
	}
	while (depth && task->functions[depth - 1] != function)
		depth--;
	if (depth)
		task->depth = depth - 1;
}

/* The functions of a tracepoint itself, which are innermost. */
static bool ring_is_of_tracepoint(const struct ring_events *ring, uint64_t address)
{
	const char *name = ring_events_function(ring, address);

	return name && (has_prefix(name, "__traceiter_") || has_prefix(name, "trace_event_"));
}

/* All are return addresses. */
static size_t ring_put_stack(struct ring_events *ring, size_t record)
{
	const struct ring_kind *kind = ring_record_kind(ring, record);
	struct perfdata_bytes bytes = ring_record_bytes(ring, record);
	uint32_t size = ring->dat->long_size;
	size_t nr = 0;

	for (uint64_t at = kind->callers; nr < STACK_MAX && at + size <= bytes.size; at += size) {
		uint64_t address = 0;

		memcpy(&address, bytes.data + at, size);
		if (!address || address >= PERF_CONTEXT_MAX)
			break;
		if (!nr && ring_is_of_tracepoint(ring, address - 1))
			continue;
		ring->chain[1 + nr++] = address;
	}
	/* Readers of callchains take the first address as it is. */
	if (nr)
		ring->chain[1]--;
	return nr;
}

static size_t ring_put_calls(struct ring_events *ring, const struct tracepoint_event *event)
{
	const struct ring_task *task = ring_find_task(ring, event->tid, event->cpu);
	uint32_t depth = task && task->depth < DEPTH_MAX ? task->depth : 0;

	for (uint32_t i = 0; i < depth; i++)
		ring->chain[1 + i] = task->functions[depth - 1 - i] + (i ? 1 : 0);
	return depth;
}

static void ring_make_callchain(struct ring_events *ring, struct tracepoint_event *event, size_t i)
{
	size_t nr = ring->stacks[i] != NO_RECORD ? ring_put_stack(ring, ring->stacks[i])
						 : ring_put_calls(ring, event);

	if (!nr)
		return;
	ring->chain[0] = PERF_CONTEXT_KERNEL;
	event->callchain = (struct perfdata_bytes){ (const uint8_t *)ring->chain,
						    (nr + 1) * sizeof(*ring->chain) };
}

bool ring_events_next(struct ring_events *ring, struct tracepoint_event *event)
{
	while (ring->next < ring->dat->nr_records) {
		size_t i = ring->next++;
		const struct trace_dat_record *record = &ring->dat->records[i];
		const struct ring_kind *kind = ring_record_kind(ring, i);
		uint64_t tid;

		if (!kind || kind->role == RING_STACK || kind->role == RING_USER_STACK ||
		    record->cpu >= CPULIST_MAX_CPUS)
			continue;
		*event = (struct tracepoint_event){
			.kind = &kind->kind,
			.time = record->time,
			.cpu = record->cpu,
			.pid = -1,
			.missed = record->missed,
			.raw = ring_record_bytes(ring, i),
		};
		event->tid = tracepoint_number(event, "common_pid", &tid) ? (int32_t)tid : -1;
		event->perf_tid = event->tid;
		if (kind->role == RING_ENTRY || kind->role == RING_EXIT)
			ring_follow_call(ring, kind->role, event);
		else if (kind->role == RING_OTHER)
			ring_make_callchain(ring, event, i);
		return true;
	}
	return false;
}

const char *ring_events_function(const struct ring_events *ring, uint64_t address)
{
	const struct symbols_entry *entry = symbols_find(&ring->symbols, address);

	return entry ? symbols_name(&ring->symbols, entry) : NULL;
}

const char *ring_events_string(const struct ring_events *ring, uint64_t address)
{
	for (size_t i = 0; i < ring->dat->nr_strings; i++) {
		if (ring->dat->strings[i].address == address)
			return ring->dat->strings[i].text;
	}
	return NULL;
}

bool ring_events_task(const struct ring_events *ring, size_t n, int *tid, const char **comm)
{
	if (n >= ring->dat->nr_tasks)
		return false;
	*tid = ring->dat->tasks[n].tid;
	*comm = ring->dat->tasks[n].comm;
	return true;
}
