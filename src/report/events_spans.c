// SPDX-License-Identifier: GPL-2.0-only
#include "events_spans.h"

#include <inttypes.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
/* So many that have ended are kept until the window begins. */
#define KEPT_MAX 65536

struct line {
	uint64_t time;
	int tid, cpu;
	const char *event; /* with its system */
	const char *fields;
};

/* `  7166 [003] 28280.573622040: irq_vectors:local_timer_entry: vector=251`; cut in place. */
static bool parse_line(struct line *line, char *text)
{
	uint64_t seconds, ns;
	int length = 0;
	char *end;

	if (sscanf(text, " %d [%d] %" SCNu64 ".%9" SCNu64 ": %n", &line->tid, &line->cpu, &seconds,
		   &ns, &length) != 4 ||
	    !length || seconds > UINT64_MAX / NS_PER_S - 1)
		return false;
	line->time = seconds * NS_PER_S + ns;
	line->event = text + length;
	end = strstr(line->event, ": ");
	if (!end)
		return false;
	*end = '\0';
	line->fields = end + 2 + strspn(end + 2, " ");
	return true;
}

static bool ends_with(const char *s, const char *end)
{
	size_t length = strlen(s), wanted = strlen(end);

	return length >= wanted && !strcmp(s + length - wanted, end);
}

/* Drops what has ended. Open ones are chained by their parents. */
static void forget(struct lane *lane)
{
	uint32_t chain[256], nr = 0;

	for (uint32_t i = lane->open; i != SPAN_NONE && nr < ARRAY_SIZE(chain);
	     i = lane->spans[i].parent)
		chain[nr++] = i;
	for (uint32_t i = 0; i < nr; i++) {
		lane->spans[i] = lane->spans[chain[nr - 1 - i]];
		lane->spans[i].parent = i ? i - 1 : SPAN_NONE;
		lane->spans[i].depth = (uint16_t)i;
	}
	lane->nr = nr;
	lane->open = nr ? nr - 1 : SPAN_NONE;
}

static bool is_open(const struct spans *spans, const char *name)
{
	const struct lane *lane = &spans->lanes[LANE_CODE];

	for (uint32_t i = lane->open; i != SPAN_NONE; i = lane->spans[i].parent) {
		if (!strcmp(names_get(spans->names, lane->spans[i].name), name))
			return true;
	}
	return false;
}

/* What is in it ends with it: its own end was lost. */
static void end_named(struct spans *spans, uint64_t at, const char *name)
{
	struct span *span;

	if (!is_open(spans, name))
		return;
	do {
		span = spans_end(spans, LANE_CODE, at);
	} while (span && strcmp(names_get(spans->names, span->name), name));
}

static int begin_or_end(struct spans *spans, const struct line *line, enum span_kind kind,
			const char *name)
{
	if (ends_with(line->event, "_entry"))
		return spans_begin(spans, LANE_CODE, line->time, kind, name);
	end_named(spans, line->time, name);
	return 0;
}

/* The vector's name is the event's. */
static int on_vector(struct spans *spans, const struct line *line)
{
	const char *name = strchr(line->event, ':') + 1;
	const char *end = strrchr(name, '_');
	char text[64];

	if (!end || (strcmp(end, "_entry") && strcmp(end, "_exit")))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)(end - name), name);
	return begin_or_end(spans, line, SPAN_INTERRUPT, text);
}

/* Ends have no names, and are called as what began. */
static int on_irq(struct spans *spans, const struct line *line)
{
	const struct lane *lane = &spans->lanes[LANE_CODE];
	const char *name = strstr(line->fields, " name=");
	char text[64], prefix[32];
	int irq;

	if (sscanf(line->fields, "irq=%d", &irq) != 1)
		return 0;
	snprintf(prefix, sizeof(prefix), "irq %d ", irq);
	if (ends_with(line->event, "_entry")) {
		snprintf(text, sizeof(text), "%s%s", prefix, name ? name + 6 : "?");
		return spans_begin(spans, LANE_CODE, line->time, SPAN_INTERRUPT, text);
	}
	for (uint32_t i = lane->open; i != SPAN_NONE; i = lane->spans[i].parent) {
		const char *open = names_get(spans->names, lane->spans[i].name);

		if (!strncmp(open, prefix, strlen(prefix))) {
			end_named(spans, line->time, open);
			return 0;
		}
	}
	return 0;
}

static int on_softirq(struct spans *spans, const struct line *line)
{
	const char *action = strstr(line->fields, "[action=");
	char text[32];

	if (!action)
		return 0;
	action += strlen("[action=");
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(action, "]"), action);
	return begin_or_end(spans, line, SPAN_SOFTIRQ, text);
}

static int on_timer(struct spans *spans, const struct line *line)
{
	const struct lane *lane = &spans->lanes[LANE_CODE];
	const char *function = strstr(line->fields, "function=");
	char text[128];

	if (ends_with(line->event, "_entry")) {
		function = function ? function + strlen("function=") : "?";
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(function, " \n"), function);
		return spans_begin(spans, LANE_CODE, line->time, SPAN_FUNCTION, text);
	}
	if (lane->open != SPAN_NONE && lane->spans[lane->open].kind == SPAN_FUNCTION)
		spans_end(spans, LANE_CODE, line->time);
	return 0;
}

/* The last of what looks like the field: names of tasks are any text. */
static const char *find_last(const char *text, const char *field)
{
	const char *found = NULL;

	while ((text = strstr(text, field))) {
		text += strlen(field);
		found = text;
	}
	return found;
}

static int length_before(const char *text, const char *end)
{
	const char *found = strstr(text, end);

	return (int)(found ? found - text : (ptrdiff_t)strlen(text));
}

/* A switch was lost if another task is there: when it came is known, its name is not. */
static int follow_task(struct spans *spans, const struct line *line)
{
	struct lane *tasks = &spans->lanes[LANE_TASKS];
	uint64_t at = tasks->nr ? line->time : spans->begin;
	char name[64];

	if (tasks->nr && line->tid == spans->tid)
		return 0;
	spans->tid = line->tid;
	spans_end(spans, LANE_TASKS, at);
	snprintf(name, sizeof(name), line->tid > 0 ? "tid %d" : "swapper/%d",
		 line->tid > 0 ? line->tid : line->cpu);
	return spans_begin(spans, LANE_TASKS, at, line->tid > 0 ? SPAN_THREAD : SPAN_IDLE, name);
}

/* What runs is told by its name. */
static void name_task(struct spans *spans, int tid, const char *comm, int length)
{
	struct lane *tasks = &spans->lanes[LANE_TASKS];
	char text[64];

	if (tid <= 0 || tasks->open == SPAN_NONE)
		return;
	snprintf(text, sizeof(text), "%.*s %d", length, comm, tid);
	tasks->spans[tasks->open].name = names_add(spans->names, text);
}

static int on_switch(struct spans *spans, const struct line *line)
{
	const char *previous = strstr(line->fields, "prev_comm=");
	const char *next = find_last(line->fields, "==> next_comm=");
	const char *pid = next ? find_last(next, " next_pid=") : NULL;
	struct line after = *line;
	int r;

	if (!previous || !pid)
		return 0;
	previous += strlen("prev_comm=");
	name_task(spans, line->tid, previous, length_before(previous, " prev_pid="));
	/* Nothing of an interrupt goes on in another task. */
	while (spans_end(spans, LANE_CODE, line->time))
		;
	after.tid = atoi(pid);
	r = follow_task(spans, &after);
	if (!r)
		name_task(spans, after.tid, next,
			  (int)(pid - next - (ptrdiff_t)strlen(" next_pid=")));
	return r ?: names_error(spans->names);
}

static int take_line(struct spans *spans, const struct line *line)
{
	static const struct {
		const char *prefix;
		int (*take)(struct spans *spans, const struct line *line);
	} table[] = {
		{ "irq_vectors:", on_vector },	     { "irq:irq_handler_", on_irq },
		{ "irq:softirq_e", on_softirq },     { "timer:hrtimer_expire_", on_timer },
		{ "sched:sched_switch", on_switch },
	};

	int r = follow_task(spans, line);

	for (size_t i = 0; i < ARRAY_SIZE(table) && !r; i++) {
		if (!strncmp(line->event, table[i].prefix, strlen(table[i].prefix)))
			return table[i].take(spans, line);
	}
	return r;
}

static void forget_before(struct spans *spans, uint64_t kept_max)
{
	for (size_t i = 0; i < LANE_NR; i++) {
		if (spans->lanes[i].nr > kept_max)
			forget(&spans->lanes[i]);
	}
}

/* The window begins: only what is open is of it. */
static void begin_window(struct spans *spans, uint64_t begin)
{
	forget_before(spans, 0);
	if (spans->begin < begin)
		spans->begin = begin;
}

int events_spans_read(FILE *file, uint64_t begin, uint64_t end, struct spans *spans)
{
	_cleanup_free_ char *text = NULL;
	struct line line = { 0 };
	uint64_t last = 0;
	bool any = false;
	size_t size = 0;
	int r = 0;

	while (!r && getline(&text, &size, file) > 0) {
		text[strcspn(text, "\n")] = '\0';
		if (!parse_line(&line, text))
			continue;
		if (!any)
			spans->begin = line.time;
		if (last < begin && line.time >= begin)
			begin_window(spans, begin);
		any = true;
		last = line.time;
		r = take_line(spans, &line);
		if (line.time < begin)
			forget_before(spans, KEPT_MAX);
	}
	if (last < begin)
		begin_window(spans, begin);
	if (!r && ferror(file))
		r = -EIO;
	spans_finish(spans, line.time < end ? end : line.time);
	return r ?: any ? 0 : -ENODATA;
}
