// SPDX-License-Identifier: GPL-2.0-only
/* A capture.json as the library reads it, for perf_poke__capture_open(). */
#include "fuzz.h"

/* What is below perf_poke__capture_open(), without a folder for each input. */
#include "capture/read.c"

/* Tables of the library, of which the rest is not needed. */
const char *perf_poke__name(enum perf_poke_axis axis, int value)
{
	static const char *const names[] = { "irq", "thread", "user", "wakeup" };

	must(axis == PERF_POKE_AXIS_TRIGGER && value >= 0);
	return (size_t)value < ARRAY_SIZE(names) ? names[value] : NULL;
}

int capture_json_policy(const char *name)
{
	return strcmp(name, "fifo") ? -1 : 1;
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

/* The objects that the strings belong to have been kept. */
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
}

int fuzz_one(const uint8_t *data, size_t size)
{
	_cleanup_(saved_freep) struct saved *saved = calloc(1, sizeof(*saved));
	_cleanup_free_ char *text = malloc(size + 1), *why = NULL;
	json_object *json = NULL;
	int r;

	must(saved && text);
	memcpy(text, data, size);
	text[size] = '\0';
	r = json_file_parse(&json, text, size, &why);
	if (!r)
		r = read_all(json, saved, &why);
	json_object_put(json);
	must(!r == !why);
	if (!r)
		check_saved(saved);
	return r;
}
