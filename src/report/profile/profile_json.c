// SPDX-License-Identifier: GPL-2.0-only
#include "json_add.h"
#include "json_file.h"
#include "profile/profile.h"

/* Limit of a window: a sum over all nodes of many captures fits in 64 bits. */
#define NS_MAX (UINT64_C(1) << 48)

/* Columns save space in thousands of captures. */
static void add_column(json_object *object, const char *key, json_object **column)
{
	*column = json_object_new_array();
	json_add(object, key, *column);
}

static void add_rows(json_object *object, const char *key, const char *key_ns,
		     const struct profile_rows *rows)
{
	json_object *names, *ns;

	add_column(object, key, &names);
	add_column(object, key_ns, &ns);
	for (size_t i = 0; i < rows->nr; i++) {
		json_push_text(names, rows->rows[i].name);
		json_push_u64(ns, rows->rows[i].ns);
	}
}

json_object *profile_json(const struct profile *profile)
{
	json_object *object = json_object_new_object(), *names, *callers, *self_ns;

	json_add_int(object, "version", PROFILE_VERSION);
	json_add_u64(object, "window_ns", profile->window_ns);
	add_column(object, "names", &names);
	add_column(object, "callers", &callers);
	add_column(object, "self_ns", &self_ns);
	for (uint32_t i = 1; i < profile->nr_nodes; i++) {
		json_push_text(names, profile->nodes[i].name);
		json_push_u64(callers, profile->nodes[i].parent);
		json_push_u64(self_ns, profile->nodes[i].self_ns);
	}
	add_rows(object, "senders", "senders_ns", &profile->senders);
	add_rows(object, "tasks", "tasks_ns", &profile->tasks);
	return object;
}

static json_object *read_column(json_object *json, const char *key, size_t *nr)
{
	json_object *list;

	*nr = 0;
	if (!json_object_object_get_ex(json, key, &list) ||
	    !json_object_is_type(list, json_type_array))
		return NULL;
	*nr = json_object_array_length(list);
	return list;
}

static bool read_ns(json_object *list, size_t i, uint64_t max, uint64_t *ns)
{
	return json_number(json_object_array_get_idx(list, i), ns) && *ns <= max;
}

static int read_nodes(struct profile *profile, json_object *json)
{
	size_t nr = 0, nr_callers = 0, nr_ns = 0;
	json_object *names = read_column(json, "names", &nr);
	json_object *callers = read_column(json, "callers", &nr_callers);
	json_object *self_ns = read_column(json, "self_ns", &nr_ns);

	if (!names || !callers || !self_ns || nr != nr_callers || nr != nr_ns ||
	    nr >= PROFILE_NODES_MAX)
		return -EINVAL;
	profile->nodes = calloc(nr + 1, sizeof(*profile->nodes));
	if (!profile->nodes)
		return -ENOMEM;
	profile->nr_nodes = 1;
	for (size_t i = 0; i < nr; i++) {
		struct profile_node *node = &profile->nodes[profile->nr_nodes];
		uint64_t caller;

		if (!fingerprint_read_name(json_object_array_get_idx(names, i), node->name) ||
		    !read_ns(self_ns, i, profile->window_ns, &node->self_ns) ||
		    !read_ns(callers, i, profile->nr_nodes - 1, &caller))
			return -EINVAL;
		node->parent = (uint32_t)caller;
		profile->nr_nodes++;
	}
	return 0;
}

static int read_rows(struct profile_rows *rows, json_object *json, const char *key,
		     const char *key_ns, uint64_t max)
{
	size_t nr = 0, nr_ns = 0;
	json_object *names = read_column(json, key, &nr), *ns = read_column(json, key_ns, &nr_ns);

	if (!names || !ns || nr != nr_ns || nr > PROFILE_ROWS_MAX)
		return -EINVAL;
	rows->rows = calloc(nr + 1, sizeof(*rows->rows));
	if (!rows->rows)
		return -ENOMEM;
	for (; rows->nr < nr; rows->nr++) {
		struct profile_row *row = &rows->rows[rows->nr];

		if (!fingerprint_read_name(json_object_array_get_idx(names, rows->nr), row->name) ||
		    !read_ns(ns, rows->nr, max, &row->ns))
			return -EINVAL;
	}
	return 0;
}

static int read_all(struct profile *profile, json_object *json)
{
	int r = read_nodes(profile, json);

	if (!r)
		r = read_rows(&profile->senders, json, "senders", "senders_ns", profile->window_ns);
	if (!r)
		r = read_rows(&profile->tasks, json, "tasks", "tasks_ns", profile->window_ns);
	return r;
}

int profile_from_json(struct profile *profile, json_object *json)
{
	json_object *version = json_find_typed(json, "version", json_type_int);
	int r;

	*profile = (struct profile){ 0 };
	if (!version || json_object_get_int64(version) != PROFILE_VERSION)
		return -ENOENT;
	if (!json_number(json_find(json, "window_ns"), &profile->window_ns) ||
	    profile->window_ns > NS_MAX)
		return -EINVAL;
	r = read_all(profile, json);
	if (r)
		profile_release(profile);
	return r;
}
