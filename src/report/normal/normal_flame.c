// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "json_add.h"
#include "normal/normal.h"
#include "printable.h"

/* In the form that flame.js reads. */
static json_object *new_node(const struct normal *normal, uint32_t node)
{
	const struct normal_row *row = &normal->nodes[node];
	_cleanup_free_ char *name = strdup(account_name(normal->account, row->name));
	const uint64_t numbers[] = { row->total_ns,	  row->self.here_ns, row->median_total_ns,
				     row->self.median_ns, row->self.p99_ns,  row->seen };
	json_object *list = json_object_new_array();

	json_push_u64(list, normal->paths.nodes[node].parent);
	json_object_array_add(list, json_object_new_string(name ? printable(name) : ""));
	json_object_array_add(list, json_text(span_kind_name((enum span_kind)row->kind)));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		json_push_u64(list, numbers[i]);
	return list;
}

json_object *normal_flame(const struct normal *normal)
{
	_cleanup_free_ char *sentence = normal_sentence(normal);
	json_object *object = normal_json(normal, 0), *list;

	json_add_text(object, "sentence", sentence ? printable(sentence) : "");
	if (!normal_is_enough(normal))
		return object;
	list = json_object_new_array();
	for (uint32_t node = 0; node < normal->paths.nr_nodes; node++)
		json_object_array_add(list, new_node(normal, node));
	json_add(object, "nodes", list);
	return object;
}
