// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Memory that the options own. */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "options/table.h"

void *owned_memory(struct perf_poke_opts *opts, size_t size)
{
	struct owned_opts *owned = opts->owned;

	if (array_grow(&owned->strings, owned->nr_strings, sizeof(*owned->strings)))
		return NULL;
	owned->strings[owned->nr_strings] = calloc(1, size + 1);
	return owned->strings[owned->nr_strings] ? owned->strings[owned->nr_strings++] : NULL;
}

char *owned_copy(struct perf_poke_opts *opts, const char *text, size_t length)
{
	size_t size = strnlen(text, length);
	char *copy = owned_memory(opts, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

void perf_poke__opts_release(struct perf_poke_opts *opts)
{
	struct owned_opts *owned = opts->owned;

	if (!owned)
		return;
	for (size_t i = 0; i < owned->nr_strings; i++)
		free(owned->strings[i]);
	free(owned->strings);
	free(owned->events);
	free(owned->triggers);
	free(owned->targets);
	free(owned);
	opts->owned = NULL;
}
