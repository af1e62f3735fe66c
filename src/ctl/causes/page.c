// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "causes/chart.h"
#include "causes/print.h"
#include "causes_files.h"
#include "html/page.h"
#include "json_add.h"
#include "json_file.h"

/* Each decodes a capture. */
#define NORMAL_CHARTS_MAX 16

struct page_arg {
	const struct causes *causes;
	const struct known_judge *judge;
};

/* [milliseconds since 1970, latency in ns, CPU, host, path] each */
static json_object *new_points(const struct causes *causes, const struct group *group)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < group->count; i++) {
		const struct sighting *sighting = &causes->sightings[group->sightings[i]];
		json_object *row = json_object_new_array();

		json_push_u64(row, sighting->wall_ns / 1000000);
		json_push_u64(row, sighting->latency_ns);
		json_object_array_add(row, json_object_new_int(sighting->cpu));
		json_object_array_add(row, json_text(sighting->host));
		json_object_array_add(row, json_text(sighting->path));
		json_object_array_add(list, row);
	}
	return list;
}

/* Compares with controls; without any, with normal activations. */
static int add_charts(json_object *object, const struct causes *causes, size_t number)
{
	json_object *normal = NULL;
	int r = 0;

	if (!causes->profiles.nr_controls && number < NORMAL_CHARTS_MAX)
		r = chart_of_normal(&normal, causes, number);
	json_add(object, "flame", chart_of_controls(causes, number));
	json_add(object, "normal", normal);
	return r;
}

static int put_causes(FILE *file, const struct page_arg *arg)
{
	_cleanup_json_ json_object *list = json_object_new_array();
	int r = 0;

	for (size_t i = 0; i < arg->causes->nr_groups && !r; i++) {
		const struct group *group = &arg->causes->groups[i];
		json_object *object = causes_group_json(arg->causes, group, arg->judge);

		json_add(object, "points", new_points(arg->causes, group));
		r = add_charts(object, arg->causes, i);
		json_object_array_add(list, object);
	}
	return r ?: page_put_json(file, TAKE_PTR(list));
}

static int put_part(FILE *file, const char *name, const void *arg)
{
	if (!strncmp(name, "@CAUSES@", 8))
		return put_causes(file, arg);
	fputs(!strncmp(name, "@FLAME@", 7) ? causes_flame : causes_script, file);
	return 0;
}

int causes_page(FILE *file, const struct causes *causes, const struct known_judge *judge)
{
	return page_write(file, causes_html, put_part, &(struct page_arg){ causes, judge });
}
