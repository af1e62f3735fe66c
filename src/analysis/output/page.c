// SPDX-License-Identifier: GPL-2.0-only
#include "output/output.h"

#include <inttypes.h>
#include <string.h>

#include "html_files.h"
#include "json_util.h"
#include "text.h"
#include "units.h"

#define FUNCTIONS 200
#define DEPTH_SHIFT 6
#define FLAG_CUT 16
#define FLAG_USER 32

_Static_assert(SPAN_NR_KINDS <= FLAG_CUT, "kinds fit below the flags");

/* Six numbers, of which chart.js reads the digits. */
static void put_chart_span(FILE *file, const struct span *span, uint64_t before)
{
	uint32_t flags = span->kind | (span->cut ? FLAG_CUT : 0) | (span->user ? FLAG_USER : 0);

	fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " ",
		span->begin - before, span->end - span->begin, span->name,
		flags | span->depth << DEPTH_SHIFT, span->cut ? 0 : span->insns,
		span->cut ? 0 : span->cycles);
}

/* Closes the file of the data. NULL if out of memory. */
static json_object *new_chart_lane(const char *title, uint64_t spans, FILE *file, char **data)
{
	json_object *object;

	if (!file || fclose(file))
		return NULL;
	object = json_object_new_object();
	json_add_text(object, "title", title);
	json_add_u64(object, "spans", spans);
	json_add(object, "data", json_object_new_string(*data));
	return object;
}

static json_object *new_lane_of_spans(const struct spans *spans, enum lane_number number,
				      const char *title)
{
	const struct lane *lane = &spans->lanes[number];
	_cleanup_free_ char *data = NULL;
	size_t size;
	FILE *file = open_memstream(&data, &size);
	uint64_t before = spans->begin;

	for (uint32_t i = 0; i < lane->nr && file; i++) {
		struct span span = lane->spans[i];

		/* Clip spans that began before the window. */
		if (span.begin < spans->begin)
			span.begin = spans->begin;
		put_chart_span(file, &span, before);
		before = span.begin;
	}
	return new_chart_lane(title, lane->nr, file, &data);
}

/* A stack for each sample, outermost frame on top, without duration. */
static json_object *new_samples_lane(const struct spans *spans)
{
	const struct samples *samples = &spans->samples;
	_cleanup_free_ char *data = NULL;
	size_t size;
	FILE *file = open_memstream(&data, &size);
	uint64_t before = spans->begin, nr = 0;

	for (size_t i = 0; i < samples->nr && file; i++) {
		const struct sampled *sample = &samples->list[i];

		if (sample->at < spans->begin || sample->at > spans->end)
			continue;
		for (uint32_t depth = 0; depth < sample->nr; depth++, nr++) {
			const struct span span = {
				.begin = sample->at,
				.end = sample->at,
				.name = samples->frames[sample->first + sample->nr - 1 - depth],
				.kind = SPAN_FUNCTION,
				.depth = depth,
			};

			put_chart_span(file, &span, before);
			before = sample->at;
		}
	}
	return new_chart_lane("samples", nr, file, &data);
}

/* The states of the late thread. */
static json_object *new_thread_lane(const struct account *account)
{
	static const enum span_kind kinds[THREAD_STATES] = {
		[THREAD_UNKNOWN] = SPAN_LOST,
		[THREAD_RUNNING] = SPAN_THREAD,
		[THREAD_RUNNABLE] = SPAN_UNTRACED,
		[THREAD_ASLEEP] = SPAN_IDLE,
	};
	const struct spans *spans = account->spans;
	const struct thread_stays *stays = &account->thread->stays;
	_cleanup_free_ char *data = NULL;
	size_t size;
	FILE *file = open_memstream(&data, &size);
	uint64_t before = spans->begin, nr = 0;

	for (size_t i = 0; i < stays->nr && file; i++) {
		const struct thread_stay *stay = &stays->list[i];
		const struct span span = {
			.begin = stay->begin < spans->begin ? spans->begin : stay->begin,
			.end = stay->end,
			.name = names_add(spans->names, thread_state_name(stay->state)),
			.kind = (uint8_t)kinds[stay->state],
		};

		if (span.begin >= span.end)
			continue;
		put_chart_span(file, &span, before);
		before = span.begin;
		nr++;
	}
	return new_chart_lane("late thread", nr, file, &data);
}

/* What the report says of interrupts off where no functions were recorded: the time before the
 * timer's interrupt. */
static json_object *new_irqs_off_lane(const struct account *account)
{
	bool perhaps = account->cause.kind == CAUSE_IRQS_OFF_OR_OUTSIDE;
	uint64_t end = account->findings.irq_begin, time_ns = account->cause.time_ns;
	const struct spans *spans = account->spans;
	_cleanup_free_ char *data = NULL;
	struct span span = {
		.begin = end > spans->begin + time_ns ? end - time_ns : spans->begin,
		.end = end,
		.name = account->cause.name,
		.kind = SPAN_IRQS_OFF,
	};
	uint64_t nr = (perhaps || account->cause.kind == CAUSE_IRQS_OFF) && end > span.begin;
	FILE *file;
	size_t size;

	if (spans->lanes[LANE_IRQS_OFF].nr || !nr)
		return new_lane_of_spans(spans, LANE_IRQS_OFF, "interrupts off");
	file = open_memstream(&data, &size);
	if (file)
		put_chart_span(file, &span, spans->begin);
	return new_chart_lane(perhaps ? "interrupts off, perhaps" : "interrupts off", nr, file,
			      &data);
}

static int add_chart_lane(json_object *list, json_object *lane)
{
	return lane ? json_object_array_add(list, lane) : -ENOMEM;
}

/* Returns 0 or -ENOMEM. */
static int add_chart_lanes(json_object *list, const struct account *account)
{
	const struct spans *spans = account->spans;
	const struct {
		enum lane_number number;
		const char *title;
	} lanes[] = {
		{ LANE_TASKS, "tasks" },
		{ LANE_IRQS_OFF, "interrupts off" },
		{ LANE_GAPS, "the trace" },
		{ LANE_CODE, spans->has_functions ? "functions" : "interrupts" },
	};

	if (account->thread && add_chart_lane(list, new_thread_lane(account)))
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		if (add_chart_lane(list, lanes[i].number == LANE_IRQS_OFF
						 ? new_irqs_off_lane(account)
						 : new_lane_of_spans(spans, lanes[i].number,
								     lanes[i].title)))
			return -ENOMEM;
	}
	return add_chart_lane(list, new_samples_lane(spans));
}

static void add_page_fact(json_object *list, const char *name, const char *value)
{
	json_object *row = json_object_new_array();

	if (!*value)
		value = "unknown";
	json_object_array_add(row, json_object_new_string(name));
	json_object_array_add(row, json_object_new_string(CLEAN_TO(1024, value)));
	json_object_array_add(list, row);
}

/* The counts of the hardware, and who sent the blamed interrupt; nothing if there are none. */
static void add_hardware_facts(json_object *list, const struct account *account)
{
	_cleanup_free_ char *counts = NULL;
	_cleanup_free_ char *sender = NULL;
	size_t size;
	FILE *file = open_memstream(&counts, &size);

	if (file)
		hardware_put_counts(file, &account->facts.hardware, "");
	if (file && !fclose(file) && *counts)
		add_page_fact(list, "hardware", strtok(counts, "\n"));
	file = account->cause.sender ? open_memstream(&sender, &size) : NULL;
	if (file)
		sender_put_text(file, account->cause.sender);
	if (file && !fclose(file) && has_prefix(sender, ", "))
		add_page_fact(list, "sender", sender + 2);
}

static json_object *new_page_facts(const struct account *account)
{
	const struct facts *facts = &account->facts;
	json_object *list = json_object_new_array();
	char text[128];

	add_page_fact(list, "capture", account->capture);
	add_page_fact(list, "at", facts->wall_time);
	if (!facts->spike.poked) {
		snprintf(text, sizeof(text), "%s on CPU %d%s%s",
			 FORMAT_TIME(facts->spike.latency_ns), facts->spike.cpu,
			 facts->spike.threshold_ns ? ", threshold " : "",
			 facts->spike.threshold_ns ? FORMAT_TIME(facts->spike.threshold_ns) : "");
		add_page_fact(list, "latency", text);
		if (!facts_is_reported(facts))
			add_page_fact(list, "timer", facts->function);
		add_page_fact(list, facts_is_reported(facts) ? "late" : "interrupted",
			      facts_format_task(facts, text, sizeof(text)));
	}
	add_page_fact(list, "seen by",
		      facts_is_pt(facts)			? "Intel PT"
		      : account->spans->functions == RING_CALLS ? "ftrace"
		      : account->spans->has_functions ? "ftrace (functions without returns)"
						      : "events: interrupts, softirqs, timers and "
							"tasks; functions only at the spike");
	add_hardware_facts(list, account);
	if (account->fingerprint.id[0])
		add_page_fact(list, "fingerprint", account->fingerprint.id);
	snprintf(text, sizeof(text), "%" PRIu64 " events lost, %" PRIu64 " decoding errors",
		 facts->capture.lost, account->errors);
	add_page_fact(list, "missing", text);
	add_page_fact(list, "kernel", facts->release);
	add_page_fact(list, "machine", facts->hostname);
	add_page_fact(list, "processor", facts->model);
	return list;
}

/* NULL if the capture has none. */
static json_object *new_page_histogram(const struct account *account)
{
	const struct statistics *statistics = &account->statistics;
	json_object *object, *rows;

	if (!statistics->count || !statistics->nr)
		return NULL;
	object = json_object_new_object();
	rows = json_object_new_array();
	for (size_t i = 0; i < statistics->nr; i++)
		json_object_array_add(rows, json_bucket_row(statistics->rows[i].low_ns,
							    statistics->rows[i].high_ns,
							    statistics->rows[i].count));
	json_add(object, "rows", rows);
	json_add(object, "cpu", statistics->cpu < 0 ? NULL : json_object_new_int(statistics->cpu));
	json_add_u64(object, "count", statistics->count);
	json_add_u64(object, "min", statistics->min_ns);
	json_add_u64(object, "avg", statistics->avg_ns);
	json_add_u64(object, "p50", statistics->p50_ns);
	json_add_u64(object, "p99", statistics->p99_ns);
	json_add_u64(object, "p99.9", statistics->p99_9_ns);
	json_add_u64(object, "max", statistics->max_ns);
	json_add_u64(object, "spikes", statistics->spikes);
	/* A poke has no latency. */
	json_add(object, "latency",
		 account->facts.spike.poked
			 ? NULL
			 : json_object_new_uint64(account->facts.spike.latency_ns));
	json_add_u64(object, "threshold", account->facts.spike.threshold_ns);
	return object;
}

static uint64_t time_in_window(const struct spans *spans, uint64_t at)
{
	return at < spans->begin ? 0 : (at > spans->end ? spans->end : at) - spans->begin;
}

/* Escapes '<', so that JSON cannot end its script element. */
static void put_escaped_json(FILE *file, json_object *object)
{
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);

	while (*text) {
		size_t length = strcspn(text, "<");

		fwrite(text, 1, length, file);
		text += length;
		if (*text) {
			fputs("\\u003c", file);
			text++;
		}
	}
}

int html_page_write(FILE *file, const char *page, json_object *const *data)
{
	const char *mark;

	for (; (mark = strstr(page, "@JSON@")); page = mark + strlen("@JSON@")) {
		fwrite(page, 1, (size_t)(mark - page), file);
		put_escaped_json(file, *data++);
	}
	fputs(page, file);
	return !ferror(file) ? 0 : errno ? -errno : -EIO;
}

int html_report_write(FILE *file, const struct account *account,
		      const struct comparison *comparison)
{
	const struct spans *spans = account->spans;
	json_object *chart = json_object_new_object(), *lanes = json_object_new_array();
	json_object *kinds = json_object_new_array(), *names = json_object_new_array();
	json_object *sources = json_object_new_object();
	json_object *const data[] = {
		account_json(account, FUNCTIONS),
		chart,
		comparison ? comparison_json(comparison, 0, true) : NULL,
	};
	/* The lanes add names. */
	int err = add_chart_lanes(lanes, account);

	json_add(chart, "lanes", lanes);
	for (size_t i = 0; i < SPAN_NR_KINDS; i++)
		json_object_array_add(kinds,
				      json_object_new_string(span_kind_name((enum span_kind)i)));
	/* These are names, too. */
	for (uint32_t i = 0, nr = names_count(spans->names); i < nr; i++) {
		const char *source = account_source(account, i);
		char number[16];

		snprintf(number, sizeof(number), "%" PRIu32, i);
		if (*source)
			json_add_text(sources, number, CLEAN(source));
	}
	for (uint32_t i = 0; i < names_count(spans->names); i++) {
		_cleanup_free_ char *name = strdup(names_get(spans->names, i));

		json_object_array_add(
			names, json_object_new_string(name ? text_make_printable(name) : ""));
	}
	json_add(chart, "kinds", kinds);
	json_add(chart, "names", names);
	json_add(chart, "sources", sources);
	json_add(chart, "facts", new_page_facts(account));
	json_add_text(chart, "holder_title", account_holder_title(&account->facts));
	json_add_text(chart, "stack_title", account_stack_title(&account->facts));
	json_add_u64(chart, "end", spans->end - spans->begin);
	json_add_u64(chart, "spike", time_in_window(spans, account->facts.spike.time_ns));
	json_add_u64(chart, "expected", time_in_window(spans, account->facts.spike.expected_ns));
	json_add_text(chart, "late",
		      facts_is_reported(&account->facts) ? "late"
		      : facts_is_thread(&account->facts) ? "thread is late"
							 : "timer is late");
	json_add(chart, "histogram", new_page_histogram(account));
	if (!err)
		err = html_page_write(file, html_page, data);
	for (size_t i = 0; i < ARRAY_SIZE(data); i++)
		json_object_put(data[i]);
	return err;
}
