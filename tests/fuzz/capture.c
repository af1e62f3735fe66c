// SPDX-License-Identifier: GPL-2.0-only
/* A capture.json as the library reads it, for perf_poke__capture_open(), and what a report takes.
 */
#include "facts/captures.h"
#include "fuzz.h"

/* What is below perf_poke__capture_open(), without a folder for each input. */
#include "capture/capture_fields.c"
#include "capture/capture_read.c"

#include "facts/capture_file.c"
#include "text.h"

/* Tables of the library, of which the rest is not needed. */
const struct trigger_row *trigger_row(size_t kind)
{
	static const struct trigger_row rows[] = {
		{ .choice.name = "irq" },
		{ .choice.name = "thread" },
		{ .choice.name = "user" },
		{ .choice.name = "wakeup" },
	};

	return kind < ARRAY_SIZE(rows) ? &rows[kind] : NULL;
}

/* Reads all of the text, and it has some. */
static void check_text(const char *text)
{
	must(!text || strlen(text) > 0);
}

static void check_stack(const struct perf_poke_frame *const *stack, size_t nr)
{
	must(nr <= FRAMES_MAX && !stack == !nr);
	for (size_t i = 0; i < nr; i++) {
		must(stack[i]->build_id_size <= sizeof(stack[i]->build_id));
		check_text(stack[i]->symbol);
		check_text(stack[i]->file);
	}
}

static void check_buckets(const struct perf_poke_capture *told)
{
	must(!told->buckets == !told->nr_buckets);
	for (size_t i = 0; i < told->nr_buckets; i++)
		must(told->buckets[i].low_ns < told->buckets[i].high_ns &&
		     (!i || told->buckets[i - 1].high_ns <= told->buckets[i].low_ns));
}

/* What programs ask for. */
static void check_paths(const struct perf_poke_capture *told)
{
	static const char *const paths[] = { "",
					     ".",
					     "hardware.smis",
					     "hardware.idle_states.0.name",
					     "statistics.cpu",
					     "spike.stack.1.user",
					     "machine.cpu" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		const char *text = perf_poke__capture_text(told, paths[i]);
		uint64_t value = 7;
		int r = perf_poke__capture_number(told, paths[i], &value);

		must(r == -ENOENT || r == -EINVAL ? value == 7 : !r && value < INT64_MAX);
		must(!text || (r == -EINVAL && strlen(text) < 1 << 20));
	}
}

static void check_json(const struct perf_poke_capture *told)
{
	_cleanup_free_ char *text = perf_poke__capture_json(told), *why = NULL;
	_cleanup_json_ json_object *json = NULL;

	must(text && !json_file_parse(&json, text, strlen(text), &why));
}

static void check_saved(const struct saved *saved)
{
	const struct perf_poke_spike *spike = &saved->spike;

	must(spike->cpu >= -1 && spike->cpu < CPULIST_MAX_CPUS);
	must(spike->ran_cpu >= -1 && spike->ran_cpu < CPULIST_MAX_CPUS);
	must(spike->kind <= PERF_POKE_TRIGGER_WAKEUP && spike->pid >= 0 && spike->tid >= 0);
	must(memchr(spike->comm, '\0', sizeof(spike->comm)));
	must(memchr(spike->label, '\0', sizeof(spike->label)));
	check_text(spike->function_name);
	check_text(saved->told.recorder);
	check_text(saved->told.kernel);
	check_text(saved->told.hostname);
	check_stack(spike->stack, spike->nr_frames);
	check_stack(spike->holder, spike->nr_holder_frames);
	check_buckets(&saved->told);
	check_json(&saved->told);
	check_paths(&saved->told);
}

/* One line, as a terminal may show it. */
static bool is_plain(const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	return copy && !strcmp(text_make_printable(copy), text);
}

/* The invariants that reports rely on. */
static void check_file(const struct saved *saved)
{
	struct capture_file file = { .capture = &saved->told };
	const struct perf_poke_spike *spike = &file.facts.spike;
	_cleanup_free_ char *why = NULL;
	struct statistics statistics;

	if (set_capture_facts(&file, &why)) {
		must(why && *why && is_plain(why));
		return;
	}
	capture_statistics(&statistics, &file);
	must(spike->expected_ns <= spike->actual_ns && spike->actual_ns <= spike->time_ns);
	must(is_plain(spike->comm) && is_plain(file.facts.function) &&
	     is_plain(file.facts.hostname));
}

int fuzz_one(const uint8_t *data, size_t size)
{
	_cleanup_(saved_freep) struct saved *saved = calloc(1, sizeof(*saved));
	_cleanup_free_ char *text = malloc(size + 1), *why = NULL;
	int r;

	must(saved && text);
	memcpy(text, data, size);
	text[size] = '\0';
	saved->told.sz = sizeof(saved->told);
	saved->spike.sz = sizeof(saved->spike);
	saved->told.spike = &saved->spike;
	r = json_file_parse(&saved->json, text, size, &why);
	if (!r)
		r = capture_fields_read(saved->json, &saved->told, &saved->spike, &why);
	if (!r)
		r = saved_read_buckets(saved, &why);
	must(r ? why && *why && is_plain(why) : !why);
	if (!r) {
		check_saved(saved);
		check_file(saved);
	}
	return r;
}
