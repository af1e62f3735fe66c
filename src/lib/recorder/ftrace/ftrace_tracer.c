// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/ftrace/ftrace.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"
#include "units.h"

static const char *const names[] = {
	[FTRACE_ANY_TRACER] = "auto",
	[FTRACE_GRAPH] = "function_graph",
	[FTRACE_FUNCTION] = "function",
	[FTRACE_NOP] = "nop",
};

#define MAX_DEPTH_MAX 1000

static enum ftrace_tracer_kind tracer_find_kind(const char *event)
{
	const size_t length = strcspn(event, "/");

	for (size_t i = FTRACE_GRAPH; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == length && !strncmp(names[i], event, length))
			return (enum ftrace_tracer_kind)i;
	}
	return FTRACE_ANY_TRACER;
}

bool ftrace_tracer_is_name(const char *event)
{
	return tracer_find_kind(event) != FTRACE_ANY_TRACER;
}

const char *ftrace_tracer_name(enum ftrace_tracer_kind kind)
{
	return names[kind];
}

/* A term that is given again adds a pattern. */
static int tracer_add_pattern(char **patterns, const char *pattern)
{
	char *joined = *patterns ? strfmt("%s %s", *patterns, pattern) : strdup(pattern);

	if (!joined)
		return -ENOMEM;
	free(*patterns);
	*patterns = joined;
	return 0;
}

static int tracer_parse_term(struct ftrace_tracer *tracer, const char *term)
{
	const char *value = strchr(term, '=');

	value = value ? value + 1 : "";
	if (!*value)
		return -EINVAL;
	if (has_prefix(term, "functions="))
		return tracer_add_pattern(&tracer->functions, value);
	if (has_prefix(term, "notrace="))
		return tracer_add_pattern(&tracer->notrace, value);
	if (!has_prefix(term, "max-depth=") || tracer->kind != FTRACE_GRAPH ||
	    units_parse_count(value, &tracer->max_depth) || !tracer->max_depth ||
	    tracer->max_depth > MAX_DEPTH_MAX)
		return -EINVAL;
	return 0;
}

int ftrace_tracer_parse(struct ftrace_tracer *tracer, const char *event, const struct log *log)
{
	_cleanup_free_ char *copy = strdup(event);
	char *terms = copy ? strchr(copy, '/') : NULL, *term;
	size_t length;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	tracer->kind = tracer_find_kind(event);
	if (!terms)
		return 0;
	length = strlen(++terms);
	if (!length || terms[length - 1] != '/' || tracer->kind == FTRACE_NOP)
		err = -EINVAL;
	else
		terms[length - 1] = '\0';
	while (!err && (term = strsep(&terms, ",")))
		err = *term ? tracer_parse_term(tracer, term) : 0;
	return err == -EINVAL
		       ? log_error(log, err,
				   "event '%s': the terms are functions=PATTERN, notrace=PATTERN, "
				   "and of function_graph max-depth=N, as in "
				   "function_graph/max-depth=3,notrace=rcu_*/",
				   event)
		       : err;
}

void ftrace_tracer_release(struct ftrace_tracer *tracer)
{
	free(TAKE_PTR(tracer->functions));
	free(TAKE_PTR(tracer->notrace));
}

static int tracer_set_patterns(struct ftrace_recorder *ftrace, const char *term, const char *file,
			       const char *patterns, const struct log *log)
{
	int err = patterns ? ftrace_instance_write(ftrace->instance, file, patterns) : 0;

	return err ? log_error(log, err,
			       "event %s/%s=.../: the kernel can trace no function '%s' (see "
			       "available_filter_functions): %s",
			       names[ftrace->tracer.kind], term, patterns, strerror(-err))
		   : 0;
}

/* The filters come before the tracer, so that it never traces more. */
int ftrace_tracer_start(struct ftrace_recorder *ftrace, const struct log *log)
{
	struct ftrace_tracer *tracer = &ftrace->tracer;
	enum ftrace_tracer_kind wanted = tracer->kind;
	char depth[32];
	int err = tracer_set_patterns(ftrace, "functions", "set_ftrace_filter", tracer->functions,
				      log);

	if (!err)
		err = tracer_set_patterns(ftrace, "notrace", "set_ftrace_notrace", tracer->notrace,
					  log);
	if (err)
		return err;
	if (tracer->max_depth) {
		/* A setting of the whole kernel. */
		snprintf(depth, sizeof(depth), "%" PRIu64, tracer->max_depth);
		err = journal_set_value(ftrace->journal, "max_graph_depth", depth);
		if (err)
			return log_error(log, err, "event %s/max-depth=%s/: %s", names[wanted],
					 depth, tracefs_strerror(err));
	}
	err = -EINVAL;
	for (size_t i = FTRACE_GRAPH; i < ARRAY_SIZE(names) && err; i++) {
		if (wanted && wanted != (enum ftrace_tracer_kind)i)
			continue;
		tracer->kind = (enum ftrace_tracer_kind)i;
		err = ftrace_instance_write(ftrace->instance, "current_tracer", names[i]);
	}
	return err ? log_error(log, err,
			       "event '%s': the kernel refuses this tracer in a tracing instance: "
			       "%s%s",
			       names[wanted], strerror(-err),
			       wanted == FTRACE_GRAPH ? " (Linux 6.11 has it): use function, or "
							"name none"
						      : ": name none")
		   : 0;
}
