// SPDX-License-Identifier: GPL-2.0-only
#include "cause/findings.h"

#include "array.h"
#include "cause/late_thread.h"
#include "kernel_function.h"

#define WINDOW_NS UINT64_C(200000)
/* Slices of zero length may lie between a function and its interrupts-off span. */
#define LOOK_BACK 64

uint64_t findings_window(const struct facts *facts)
{
	uint64_t late_ns = facts->spike.time_ns - facts->spike.expected_ns;
	uint64_t window_ns = late_ns + late_ns / 4;

	return window_ns > WINDOW_NS ? window_ns : WINDOW_NS;
}

void findings_release(struct findings *findings)
{
	free(findings->budget);
	free(findings->irqs_off);
	free(findings->functions);
	*findings = (struct findings){ 0 };
}

/* The span of this name that is open at that time, or that ended just before with length zero;
 * otherwise the innermost open one. */
static uint32_t find_named_span(const struct lane *code, uint64_t at, uint32_t name)
{
	uint32_t i = lane_innermost_at(code, at);
	size_t low = ARRAY_COUNT_BEFORE(code->nr, k, code->spans[k].begin <= at);

	for (uint32_t outer = i; outer != SPAN_NONE; outer = code->spans[outer].parent) {
		if (code->spans[outer].name == name)
			return outer;
	}
	for (size_t back = 0; back < LOOK_BACK && back < low; back++) {
		const struct span *span = &code->spans[low - 1 - back];

		if (span->name == name && span->end >= at)
			return (uint32_t)(low - 1 - back);
	}
	return i;
}

uint32_t findings_irqs_off_by(const struct spans *spans, const struct span *off)
{
	const struct lane *code = &spans->lanes[LANE_CODE];
	uint32_t i = find_named_span(code, off->begin, off->name);

	while (i != SPAN_NONE && code->spans[i].parent != SPAN_NONE &&
	       kernel_function_find(names_get(spans->names, code->spans[i].name), KERNEL_IRQS_OFF))
		i = code->spans[i].parent;
	return i;
}

/* Rows indexed by kind and name. */
struct table {
	struct usage *rows;
	size_t nr;
	uint32_t *index; /* [kind][name], row + 1; 0: none */
	uint32_t nr_names;
};

static int usage_table_new(struct table *table, const struct spans *spans)
{
	*table = (struct table){ .nr_names = names_count(spans->names) };
	table->index = calloc((size_t)table->nr_names * SPAN_NR_KINDS, sizeof(*table->index));
	table->rows = malloc(sizeof(*table->rows));
	return table->index && table->rows ? 0 : -ENOMEM;
}

static void usage_table_release(struct table *table)
{
	free(table->index);
	free(table->rows);
}

static struct usage *usage_table_row(struct table *table, enum span_kind kind, uint32_t name)
{
	uint32_t *index = &table->index[(size_t)kind * table->nr_names + name];
	struct usage *rows;

	if (*index)
		return &table->rows[*index - 1];
	rows = reallocarray(table->rows, table->nr + 1, sizeof(*rows));
	if (!rows)
		return NULL;
	table->rows = rows;
	rows[table->nr] = (struct usage){ .kind = kind, .name = name };
	*index = (uint32_t)++table->nr;
	return &rows[*index - 1];
}

static int compare_usage(const void *a, const void *b)
{
	const struct usage *x = a, *y = b;

	return array_compare(y->time_ns, x->time_ns) ?: array_compare(x->name, y->name);
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return array_compare(y->self_ns, x->self_ns)
		       ?: array_compare(y->total_ns, x->total_ns)
		       ?: array_compare(x->name, y->name);
}

static void usage_table_finish(struct table *table, struct usage **rows, size_t *nr)
{
	qsort(table->rows, table->nr, sizeof(*table->rows), compare_usage);
	*rows = TAKE_PTR(table->rows);
	*nr = table->nr;
}

/* Walks through the innermost spans in order of time. */
struct cursor {
	const struct lane *lane;
	uint32_t next;	  /* first span that has not begun */
	uint32_t current; /* innermost, or SPAN_NONE */
};

static void lane_cursor_move(struct cursor *cursor, uint64_t at)
{
	const struct lane *lane = cursor->lane;

	while (cursor->next < lane->nr && lane->spans[cursor->next].begin <= at)
		cursor->current = cursor->next++;
	while (cursor->current != SPAN_NONE && lane->spans[cursor->current].end <= at)
		cursor->current = lane->spans[cursor->current].parent;
}

/* The time of the next change. */
static uint64_t lane_cursor_until(const struct cursor *cursor)
{
	const struct lane *lane = cursor->lane;
	uint64_t at = UINT64_MAX;

	if (cursor->next < lane->nr)
		at = lane->spans[cursor->next].begin;
	if (cursor->current != SPAN_NONE && lane->spans[cursor->current].end < at)
		at = lane->spans[cursor->current].end;
	return at;
}

static const struct span *lane_cursor_span(const struct cursor *cursor)
{
	return cursor->current == SPAN_NONE ? NULL : &cursor->lane->spans[cursor->current];
}

/* For each span of code, the innermost interrupt or the like around it, or itself if it is one: its
 * time counts for that, not for the task. When an interrupt has ended but for the way back, on
 * which the kernel handles signals and schedules, the time is the task's. NULL if out of memory. */
static uint32_t *find_span_owners(const struct spans *spans)
{
	const struct lane *code = &spans->lanes[LANE_CODE];
	_cleanup_free_ bool *leaves = calloc(names_count(spans->names), sizeof(*leaves));
	uint32_t *owners = leaves ? malloc((code->nr + 1) * sizeof(*owners)) : NULL;

	for (uint32_t i = 0; owners && i < names_count(spans->names); i++)
		leaves[i] = kernel_function_find(names_get(spans->names, i), KERNEL_LEAVES);
	for (uint32_t i = 0; owners && i < code->nr; i++) {
		const struct span *span = &code->spans[i];

		if (span->kind != SPAN_FUNCTION && span->kind != SPAN_SYSCALL)
			owners[i] = i;
		else
			owners[i] = span->parent == SPAN_NONE ? SPAN_NONE : owners[span->parent];
		if (owners[i] != SPAN_NONE && leaves[span->name] &&
		    code->spans[owners[i]].kind == SPAN_INTERRUPT)
			owners[i] = SPAN_NONE;
	}
	return owners;
}

struct sums {
	struct findings *findings;
	struct table budget;
	struct function *functions; /* by name */
	uint32_t *owners;
};

static int add_piece_of_time(struct sums *sums, const struct cursor cursors[LANE_NR], uint64_t from,
			     uint64_t to)
{
	const struct span *code = lane_cursor_span(&cursors[LANE_CODE]);
	const struct span *owner = lane_cursor_span(&cursors[LANE_GAPS]);
	uint32_t current = cursors[LANE_CODE].current;
	const struct findings *findings = sums->findings;
	const struct span piece = { .begin = from, .end = to };
	uint64_t late_ns = span_time_within(&piece, findings->late_begin, findings->late_end);
	struct usage *row;

	if (!owner && current != SPAN_NONE && sums->owners[current] != SPAN_NONE)
		owner = &cursors[LANE_CODE].lane->spans[sums->owners[current]];
	if (!owner)
		owner = lane_cursor_span(&cursors[LANE_TASKS]);
	/* Without a known task, the time counts as lost. */
	row = owner ? usage_table_row(&sums->budget, (enum span_kind)owner->kind, owner->name)
		    : usage_table_row(&sums->budget, SPAN_LOST, 0);
	if (!row)
		return -ENOMEM;
	row->time_ns += to - from;
	row->late_ns += late_ns;
	row->before_irq_ns += span_time_within(&piece, findings->late_begin, findings->irq_begin);
	row->in_irq_ns += span_time_within(&piece, findings->irq_begin, findings->irq_end);
	if (code && code->kind != SPAN_UNTRACED) {
		sums->functions[code->name].self_ns += to - from;
		sums->functions[code->name].late_ns += late_ns;
	}
	return 0;
}

static int sum_times_in_window(struct sums *sums, const struct spans *spans)
{
	const struct findings *findings = sums->findings;
	struct cursor cursors[LANE_NR];
	uint64_t at = findings->begin;
	int err = 0;

	for (size_t i = 0; i < LANE_NR; i++) {
		cursors[i] = (struct cursor){ .lane = &spans->lanes[i], .current = SPAN_NONE };
		lane_cursor_move(&cursors[i], at);
	}
	while (at < findings->end && !err) {
		uint64_t until = findings->end;

		for (size_t i = 0; i < LANE_NR; i++) {
			uint64_t next = lane_cursor_until(&cursors[i]);

			until = next < until ? next : until;
		}
		err = add_piece_of_time(sums, cursors, at, until);
		for (size_t i = 0; i < LANE_NR; i++)
			lane_cursor_move(&cursors[i], until);
		at = until;
	}
	return err;
}

static bool is_span_in_window(const struct findings *findings, const struct span *span)
{
	return span->begin < findings->end && span->end > findings->begin;
}

/* Counts spans and finds the longest. */
static void count_usage_spans(struct table *table, const struct findings *findings,
			      const struct lane *lane)
{
	for (uint32_t i = 0; i < lane->nr; i++) {
		const struct span *span = &lane->spans[i];
		uint64_t time_ns = span_time_within(span, findings->begin, findings->end);
		uint32_t row = table->index[(size_t)span->kind * table->nr_names + span->name];

		if (!row || !is_span_in_window(findings, span))
			continue;
		table->rows[row - 1].count++;
		if (time_ns >= table->rows[row - 1].longest_ns) {
			table->rows[row - 1].longest_ns = time_ns;
			table->rows[row - 1].longest = i;
		}
	}
}

/* The time of a recursive function counts once. */
static int count_functions(struct sums *sums, const struct spans *spans)
{
	const struct findings *findings = sums->findings;
	const struct lane *code = &spans->lanes[LANE_CODE];
	_cleanup_free_ uint32_t *open = calloc(names_count(spans->names), sizeof(*open));
	uint32_t current = SPAN_NONE;

	if (!open)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->nr; i++) {
		const struct span *span = &code->spans[i];
		struct function *function = &sums->functions[span->name];

		for (; current != span->parent; current = code->spans[current].parent)
			open[code->spans[current].name]--;
		current = i;
		if (open[span->name]++ == 0)
			function->total_ns +=
				span_time_within(span, findings->begin, findings->end);
		if (span->begin <= findings->end && span->end >= findings->begin &&
		    span->kind != SPAN_UNTRACED)
			function->count++;
		function->user |= span->user;
	}
	return 0;
}

static void keep_used_functions(struct findings *findings, struct sums *sums, uint32_t nr_names)
{
	size_t nr = 0;

	for (uint32_t i = 0; i < nr_names; i++) {
		struct function function = sums->functions[i];

		if (!function.count)
			continue;
		function.name = i;
		sums->functions[nr++] = function;
	}
	qsort(sums->functions, nr, sizeof(*sums->functions), compare_functions);
	findings->functions = TAKE_PTR(sums->functions);
	findings->nr_functions = nr;
}

static int find_cpu_usages(struct findings *findings, const struct spans *spans)
{
	struct sums sums = { .findings = findings };
	int err = usage_table_new(&sums.budget, spans);

	sums.functions = calloc(names_count(spans->names), sizeof(*sums.functions));
	sums.owners = find_span_owners(spans);
	if (!sums.functions || !sums.owners)
		err = -ENOMEM;
	if (!err)
		err = sum_times_in_window(&sums, spans);
	if (!err) {
		count_usage_spans(&sums.budget, findings, &spans->lanes[LANE_CODE]);
		count_usage_spans(&sums.budget, findings, &spans->lanes[LANE_TASKS]);
		count_usage_spans(&sums.budget, findings, &spans->lanes[LANE_GAPS]);
		usage_table_finish(&sums.budget, &findings->budget, &findings->nr_budget);
		err = count_functions(&sums, spans);
	}
	if (!err)
		keep_used_functions(findings, &sums, names_count(spans->names));
	usage_table_release(&sums.budget);
	free(sums.functions);
	free(sums.owners);
	return err;
}

static int usage_add_irqs_off(struct findings *findings, struct table *table, uint32_t number)
{
	const struct spans *spans = findings->spans;
	const struct span *off = &spans->lanes[LANE_IRQS_OFF].spans[number];
	uint64_t time_ns = span_time_within(off, findings->begin, findings->end);
	uint32_t by = findings_irqs_off_by(spans, off);
	struct usage *row;

	if (!is_span_in_window(findings, off))
		return 0;
	row = usage_table_row(table, SPAN_IRQS_OFF,
			      by == SPAN_NONE ? off->name : spans->lanes[LANE_CODE].spans[by].name);
	if (!row)
		return -ENOMEM;
	row->count++;
	row->time_ns += time_ns;
	row->late_ns += span_time_within(off, findings->late_begin, findings->late_end);
	if (time_ns >= row->longest_ns) {
		row->longest_ns = time_ns;
		row->longest = number;
	}
	return 0;
}

static int find_irqs_off_usages(struct findings *findings, const struct spans *spans)
{
	struct table table;
	int err = usage_table_new(&table, spans);

	for (uint32_t i = 0; i < spans->lanes[LANE_IRQS_OFF].nr && !err; i++)
		err = usage_add_irqs_off(findings, &table, i);
	if (!err)
		usage_table_finish(&table, &findings->irqs_off, &findings->nr_irqs_off);
	usage_table_release(&table);
	return err;
}

/* Spans of the two lanes do not overlap: they are states of the CPU. */
static void sum_irqs_on_time(struct findings *findings, const struct spans *spans)
{
	const struct lane *off = &spans->lanes[LANE_IRQS_OFF],
			  *unknown = &spans->lanes[LANE_IRQS_UNKNOWN];
	uint64_t end = 0, stretch = 0;

	findings->irqs_on_ns = findings->late_end - findings->late_begin;
	for (uint32_t i = 0, k = 0; i < off->nr || k < unknown->nr;) {
		bool is_off = k == unknown->nr ||
			      (i < off->nr && off->spans[i].begin <= unknown->spans[k].begin);
		const struct span *span = is_off ? &off->spans[i++] : &unknown->spans[k++];
		uint64_t time_ns = span_time_within(span, findings->late_begin, findings->late_end);

		stretch = span->begin <= end ? stretch + time_ns : time_ns;
		end = span->end;
		findings->irqs_on_ns -=
			time_ns < findings->irqs_on_ns ? time_ns : findings->irqs_on_ns;
		if (stretch > findings->irqs_perhaps_off_ns)
			findings->irqs_perhaps_off_ns = stretch;
	}
}

static uint64_t clamp_to_interval(uint64_t at, uint64_t begin, uint64_t end)
{
	return at < begin ? begin : at > end ? end : at;
}

/* A wakeup without a timer has no IRQ: all of its latency comes afterwards. */
static void find_timer_interrupt(struct findings *findings, const struct facts *facts)
{
	const struct lane *code = &findings->spans->lanes[LANE_CODE];
	uint64_t at = facts_is_thread(facts) ? facts->spike.expected_ns + facts->spike.irq_ns
					     : facts->spike.actual_ns;
	uint32_t i = lane_innermost_at(code, at);

	findings->irq_begin = clamp_to_interval(at, findings->late_begin, findings->late_end);
	findings->irq_end = findings->irq_begin;
	while (i != SPAN_NONE && code->spans[i].kind != SPAN_INTERRUPT)
		i = code->spans[i].parent;
	/* An interrupt that began earlier first did something else. */
	if (i == SPAN_NONE || code->spans[i].begin < findings->late_begin)
		return;
	findings->irq_begin = code->spans[i].begin;
	findings->irq_end =
		clamp_to_interval(code->spans[i].end, findings->irq_begin, findings->late_end);
}

struct samples_want findings_late_samples(const struct findings *findings,
					  const struct facts *facts)
{
	const struct late_thread *thread = facts->thread;
	struct samples_want want = { .begin = findings->late_begin, .end = findings->end };

	if (thread && (thread->part == PART_RUNNING || thread->part == PART_RUNNABLE)) {
		want.stays = &thread->stays;
		want.state = thread->part == PART_RUNNING ? THREAD_RUNNING : THREAD_RUNNABLE;
	}
	return want;
}

static int find_late_samples(struct findings *findings, const struct facts *facts)
{
	struct samples_want want = findings_late_samples(findings, facts);
	int err;

	err = samples_find_mostly(&findings->samples, &findings->spans->samples,
				  findings->spans->names, &want);
	want.clear = true;
	return err
		       ?: samples_find_mostly(&findings->sampled, &findings->spans->samples,
					      findings->spans->names, &want);
}

int findings_make(struct findings *findings, const struct spans *spans, const struct facts *facts,
		  uint64_t window_ns)
{
	uint64_t end = clamp_to_interval(facts->spike.time_ns, spans->begin, spans->end);
	uint64_t begin = facts->spike.time_ns > window_ns ? facts->spike.time_ns - window_ns : 0;
	int err;

	*findings = (struct findings){
		.spans = spans,
		.begin = clamp_to_interval(begin, spans->begin, end),
		.end = end,
		.latency_ns = facts->spike.actual_ns - facts->spike.expected_ns,
	};
	if (begin > facts->spike.expected_ns)
		findings->left_out_ns = begin - facts->spike.expected_ns;
	findings->late_begin = clamp_to_interval(facts->spike.expected_ns, findings->begin, end);
	findings->late_end = clamp_to_interval(facts->spike.actual_ns, findings->begin, end);
	find_timer_interrupt(findings, facts);
	findings->path = lane_innermost_at(&spans->lanes[LANE_CODE], facts->spike.expected_ns);
	err = find_cpu_usages(findings, spans);
	if (!err)
		err = find_irqs_off_usages(findings, spans);
	sum_irqs_on_time(findings, spans);
	if (!err)
		err = find_late_samples(findings, facts);
	if (err)
		findings_release(findings);
	return err;
}
