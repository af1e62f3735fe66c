// SPDX-License-Identifier: GPL-2.0-only
#include "args.h"

#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "units.h"
#include "window.h"

struct texts {
	const char *time; /* it may refer to the spike, which may follow */
};

static int _printf_(3, 4) explain(char **why, int r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	if (vasprintf(why, format, list) < 0) {
		*why = NULL;
		r = -ENOMEM;
	}
	va_end(list);
	return r;
}

static int parse_int(const char *value, int *number)
{
	uint64_t count;
	int r = units_parse_count(value, &count);

	if (r)
		return r;
	if (count > INT_MAX)
		return -ERANGE;
	*number = (int)count;
	return 0;
}

static int parse_axis(const char *value, struct args *args)
{
	static const char *const names[] = {
		[CALLS_TIME] = "time",
		[CALLS_CYCLES] = "cycles",
		[CALLS_INSNS] = "instructions",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]))
			continue;
		args->calls.axis = (enum calls_axis)i;
		args->timeline.counted = i != CALLS_TIME;
		return 0;
	}
	return -EINVAL;
}

static int parse_tracks(const char *value, struct args *args)
{
	args->calls.threads_only = !strcmp(value, "threads");
	return args->calls.threads_only || !strcmp(value, "all") ? 0 : -EINVAL;
}

static int parse(struct args *args, struct texts *texts, const char *name, const char *value)
{
	if (!strcmp(name, "output")) {
		args->output = args->timeline.path = value;
		return *value ? 0 : -EINVAL;
	}
	if (!strcmp(name, "events")) {
		args->events = value;
		return *value ? 0 : -EINVAL;
	}
	if (!strcmp(name, "time")) {
		texts->time = value;
		return 0;
	}
	if (!strcmp(name, "axis"))
		return parse_axis(value, args);
	if (!strcmp(name, "tracks"))
		return parse_tracks(value, args);
	if (!strcmp(name, "split"))
		return units_parse_time(value, &args->timeline.split)
			       ?: args->timeline.split ? 0
						       : -EINVAL;
	if (!strcmp(name, "spike"))
		return units_parse_count(value, &args->calls.spike);
	if (!strcmp(name, "expected"))
		return units_parse_count(value, &args->calls.expected);
	if (!strcmp(name, "spike-cpu"))
		return parse_int(value, &args->calls.spike_cpu);
	if (!strcmp(name, "cpu"))
		return parse_int(value, &args->cpu);
	if (!strcmp(name, "progress"))
		return parse_int(value, &args->progress);
	return -ENOENT;
}

static int parse_word(struct args *args, struct texts *texts, char *word, char **why)
{
	_cleanup_free_ char *name = strndup(word, strcspn(word, "="));
	int r;

	if (!name)
		return -ENOMEM;
	if (!word[strlen(name)])
		return explain(why, -EINVAL, "--dlarg '%s': NAME=VALUE is needed", word);
	r = parse(args, texts, name, word + strlen(name) + 1);
	if (r == -ENOENT)
		return explain(
			why, -EINVAL,
			"--dlarg '%s': no such name (use output, time, axis, tracks, split, spike, "
			"expected, spike-cpu, cpu or progress)",
			name);
	if (r)
		return explain(why, r, "--dlarg '%s': not such a value", word);
	return 0;
}

int args_parse(struct args *args, int argc, char **argv, char **why)
{
	struct texts texts = { 0 };
	int r = 0;

	*args = (struct args){
		.timeline.end = UINT64_MAX,
		.calls.spike_cpu = -1,
		.cpu = -1,
		.progress = -1,
	};
	for (int i = 0; i < argc && !r; i++)
		r = parse_word(args, &texts, argv[i], why);
	if (r)
		return r;
	if (args->events)
		return 0;
	if (!args->output)
		return explain(why, -EINVAL, "--dlarg output=FILE is needed");
	if (args->timeline.split && args->timeline.counted)
		return explain(why, -EINVAL, "--dlarg split: for axis=time only");
	if (args->calls.expected > args->calls.spike)
		args->calls.expected = args->calls.spike;
	if (!texts.time)
		return 0;
	r = window_parse(texts.time, args->calls.spike, &args->timeline.begin, &args->timeline.end);
	if (r == -ENOENT)
		return explain(why, -EINVAL, "--dlarg 'time=%s': needs spike=NS", texts.time);
	if (r)
		return explain(why, -EINVAL,
			       "--dlarg 'time=%s': BEGIN,END is needed, as -200us,50us from the "
			       "spike, or in seconds as 7.788,7.789",
			       texts.time);
	return 0;
}
