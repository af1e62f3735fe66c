// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf_poke__opts_set(): sets an option by name. */
#include <string.h>

#include "array.h"
#include "machine/base.h"
#include "options/table.h"

#define SIZE_MIN (offsetof(struct perf_poke_opts, owned) + sizeof(void *))

static int set_flag(bool *flag, const char *value, char **why)
{
	*flag = !value || !strcmp(value, "yes");
	return *flag || !strcmp(value, "no") ? 0
					     : say_why(why, -EINVAL, "takes yes, no, or no value");
}

static int set_choice(const struct option_row *row, const char *value, int *to, char **why)
{
	enum perf_poke_axis axis = (enum perf_poke_axis)row->option.axis;
	_cleanup_free_ char *names = NULL;
	const struct perf_poke_choice *choice;

	for (size_t i = 0; (choice = perf_poke__choice(axis, i)); i++) {
		explain_list(&names, choice->name);
		if (strcmp(value, choice->name))
			continue;
		*to = choice->value;
		return 0;
	}
	return say_why(why, -EINVAL, "not a %s (use %s)", row->option.name, names);
}

static int set_string(struct perf_poke_opts *opts, const char **to, const char *value)
{
	char *copy = owned_copy(opts, value, strlen(value));

	if (copy)
		*to = copy;
	return copy ? 0 : -ENOMEM;
}

static int set(struct perf_poke_opts *opts, const struct option_row *row, const char *value,
	       char **why)
{
	void *to = (char *)opts + row->offset;
	int r;

	if (row->kind == OPTION_FLAG)
		return set_flag(to, value, why);
	if (!value || !*value)
		return say_why(why, -EINVAL, "empty; a value is needed");
	switch (row->kind) {
	case OPTION_ENUM:
		return set_choice(row, value, to, why);
	case OPTION_PARSED:
		return row->parse(opts, value, why);
	case OPTION_CPUS:
		r = option_cpus(value, why);
		return r ? r : set_string(opts, to, value);
	case OPTION_STRING:
		return set_string(opts, to, value);
	default:
		return option_number(row->kind, value, row->min, row->max, to, why);
	}
}

static const struct option_row *find(const char *name)
{
	const struct option_row *row;

	for (size_t i = 0; (row = option_row(i)); i++) {
		if (!strcmp(row->option.name, name))
			return row;
	}
	return NULL;
}

int perf_poke__opts_set(struct perf_poke_opts *opts, const char *name, const char *value)
{
	const struct option_row *row = find(name);
	_cleanup_free_ char *why = NULL;
	const struct log log = {};
	int r;

	log_enter();
	if (!row)
		return log_leave(log_error(&log, -ENOENT, "no such option"));
	if (opts->sz < SIZE_MIN || opts->sz < row->offset + row->size)
		return log_leave(
			log_error(&log, -EINVAL, "sz %zu of the options is too small", opts->sz));
	if (!opts->owned)
		opts->owned = calloc(1, sizeof(struct owned_opts));
	r = opts->owned ? set(opts, row, value, &why) : -ENOMEM;
	if (r && why)
		log_error(&log, r, "%s", why);
	return log_leave(r);
}
