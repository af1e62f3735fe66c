// SPDX-License-Identifier: GPL-2.0-only
#include "causes/ranking.h"
#include "json_add.h"
#include "printable.h"
#include "units.h"

#define JSON_ROWS_MAX 20

static const struct {
	const char *name, *names;
} kinds[] = {
	[FEATURE_FUNCTION] = { "function", "functions" },
	[FEATURE_INTERRUPT] = { "interrupt", "interrupts" },
	[FEATURE_SENDER] = { "sender", "senders" },
	[FEATURE_TASK] = { "task", "tasks" },
};
_Static_assert(ARRAY_SIZE(kinds) == FEATURE_NR, "each has its words");

static void print_counts(FILE *file, const struct ranking *ranking, size_t spikes, size_t controls)
{
	fprintf(file, "in %zu of %s, %zu of %s", spikes,
		FORMAT_COUNT(ranking->spikes, "spike", "spikes"), controls,
		FORMAT_COUNT(ranking->controls, "control", "controls"));
}

static void print_row(FILE *file, const struct causes *causes, const struct ranking *ranking,
		      const struct ranked *row)
{
	enum feature_kind kind = profiles_kind(&causes->profiles, row->feature);

	fprintf(file, "            %-9s  %s: ", kinds[kind].name,
		CLEAN_TO(60, profiles_name(&causes->profiles, row->feature)));
	if (row->at_least_ns) {
		fprintf(file, "at least %s ", FORMAT_TIME(row->at_least_ns));
		print_counts(file, ranking, row->long_spikes, row->long_controls);
	} else {
		print_counts(file, ranking, row->spikes, row->controls);
	}
	if (row->spike_ns || row->control_ns) {
		fprintf(file, "; mean %s", FORMAT_TIME(row->spike_ns));
		if (row->controls)
			fprintf(file, ", in controls %s", FORMAT_TIME(row->control_ns));
	}
	fprintf(file, " (F1 %.2f)\n", row->f1);
}

void ranking_print(FILE *file, const struct causes *causes, const struct ranking *ranking,
		   size_t max)
{
	for (size_t kind = 0; kind < FEATURE_NR; kind++) {
		size_t nr = 0;

		for (size_t i = 0; i < ranking->nr && nr < max; i++) {
			const struct ranked *row = &ranking->rows[i];

			if (profiles_kind(&causes->profiles, row->feature) != kind)
				continue;
			print_row(file, causes, ranking, row);
			nr++;
		}
	}
}

static json_object *new_row(const struct causes *causes, const struct ranked *row)
{
	json_object *object = json_object_new_object(), *limit = NULL;

	json_add_text(object, "name", profiles_name(&causes->profiles, row->feature));
	json_add(object, "f1", json_object_new_double(row->f1));
	json_add_u64(object, "spikes", row->spikes);
	json_add_u64(object, "controls", row->controls);
	json_add_u64(object, "spike_ns", row->spike_ns);
	json_add_u64(object, "control_ns", row->control_ns);
	if (row->at_least_ns) {
		limit = json_object_new_object();
		json_add_u64(limit, "ns", row->at_least_ns);
		json_add_u64(limit, "spikes", row->long_spikes);
		json_add_u64(limit, "controls", row->long_controls);
	}
	json_add(object, "at_least", limit);
	return object;
}

json_object *ranking_json(const struct causes *causes, const struct ranking *ranking)
{
	json_object *object, *lists[FEATURE_NR];

	if (!ranking->controls)
		return NULL;
	object = json_object_new_object();
	json_add_u64(object, "spikes", ranking->spikes);
	json_add_u64(object, "controls", ranking->controls);
	for (size_t i = 0; i < FEATURE_NR; i++) {
		lists[i] = json_object_new_array();
		json_add(object, kinds[i].names, lists[i]);
	}
	for (size_t i = 0; i < ranking->nr; i++) {
		const struct ranked *row = &ranking->rows[i];
		json_object *list = lists[profiles_kind(&causes->profiles, row->feature)];

		if (json_object_array_length(list) < JSON_ROWS_MAX)
			json_object_array_add(list, new_row(causes, row));
	}
	return object;
}
