// SPDX-License-Identifier: GPL-2.0-only
/* What took the watched CPUs from threads: the ledger of the trigger interruption. */
#include "session/session_internal.h"

#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "json_util.h"
#include "text.h"
#include "units.h"

/* Rows of a CPU. --json has all. */
#define ROWS_MAX 16

static void sources_add(void *ctx, const struct perf_poke_source *source)
{
	struct sources *sources = ctx;

	if (array_grow(&sources->list, sources->nr, sizeof(*source)))
		sources->failed = true;
	else
		sources->list[sources->nr++] = *source;
}

int sources_collect(struct sources *sources, const struct perf_poke *pp, bool functions)
{
	int ret = perf_poke__sources(pp, functions, sources_add, sources);

	if (ret == -ENXIO)
		return 0;
	if (ret < 0)
		return ret;
	sources->rows = calloc(sources->nr + 1, sizeof(*sources->rows));
	if (sources->failed || !sources->rows)
		return -ENOMEM;
	for (size_t i = 0; i < sources->nr; i++)
		sources->rows[i] = &sources->list[i];
	return 0;
}

static void source_print(FILE *file, const struct perf_poke_source *source)
{
	char name[96], caller[sizeof(source->sender_stack)];
	int length = snprintf(name, sizeof(name), "%s %s", source->kind, source->name);

	snprintf(caller, sizeof(caller), "%.*s", (int)strcspn(source->sender_stack, " "),
		 source->sender_stack);
	if (!strcmp(source->kind, "irq") || !strcmp(source->kind, "thread"))
		snprintf(name + length, sizeof(name) - length, ":%" PRIu64, source->number);
	fprintf(file, "%5d %-32.32s %9" PRIu64, source->cpu, CLEAN(name), source->count);
	if (source->sum_ns)
		fprintf(file, " %8s %8s", FORMAT_TIME(source->sum_ns), FORMAT_TIME(source->max_ns));
	else
		fprintf(file, " %8s %8s", "-", "-");
	if (source->sender_cpu >= 0)
		fprintf(file, "  %s %d on CPU %d%s%s", CLEAN(source->sender_comm),
			source->sender_tid, source->sender_cpu, *source->sender_stack ? ", " : "",
			CLEAN(caller));
	fputc('\n', file);
}

void sources_print(FILE *file, const struct perf_poke_source *const *rows, size_t nr)
{
	size_t of_cpu = 0, left = 0;

	if (!nr)
		return;
	fprintf(file, "\n%5s %-32s %9s %8s %8s  %s\n", "CPU", "taken by", "count", "time", "max",
		"newest sender");
	for (size_t i = 0; i < nr; i++) {
		of_cpu = i && rows[i]->cpu == rows[i - 1]->cpu ? of_cpu + 1 : 0;
		if (of_cpu < ROWS_MAX)
			source_print(file, rows[i]);
		else
			left++;
	}
	if (left)
		fprintf(file, "%5s %zu more (--json has all)\n", "", left);
}

static json_object *source_json(const struct perf_poke_source *source)
{
	json_object *object = json_object_new_object();
	json_object *sender = NULL;

	json_add_int(object, "cpu", source->cpu);
	json_add_text(object, "kind", source->kind);
	json_add_name(object, "name", source->name);
	json_add_u64(object, "number", source->number);
	json_add_u64(object, "count", source->count);
	json_add_known(object, "sum_ns", source->sum_ns, 0);
	json_add_known(object, "max_ns", source->max_ns, 0);
	json_add_u64(object, "last_ns", source->last_ns);
	if (source->sender_cpu >= 0) {
		sender = json_object_new_object();
		json_add_int(sender, "cpu", source->sender_cpu);
		json_add_int(sender, "pid", source->sender_pid);
		json_add_int(sender, "tid", source->sender_tid);
		json_add_text(sender, "comm", source->sender_comm);
		json_add_name(sender, "callback", source->sender_callback);
		json_add_name(sender, "stack", source->sender_stack);
	}
	json_add(object, "sender", sender);
	return object;
}

json_object *json_new_sources(const struct perf_poke_source *const *rows, size_t nr)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < nr; i++)
		json_object_array_add(list, source_json(rows[i]));
	return list;
}

void sources_release(struct sources *sources)
{
	free(sources->list);
	free(sources->rows);
	*sources = (struct sources){ 0 };
}
