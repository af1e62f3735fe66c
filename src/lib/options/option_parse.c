// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Parses values other than numbers and words, into memory that the options own. */
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "bpf/trigger.h"
#include "clock.h"
#include "cpulist.h"
#include "options/config.h"
#include "text.h"
#include "units.h"

#define OVERRUN ",overrun"

/* Memory that the options own. */

void *opts_own_memory(struct perf_poke_opts *opts, size_t size)
{
	struct owned_opts *owned = opts->owned;

	if (array_grow(&owned->strings, owned->nr_strings, sizeof(*owned->strings)))
		return NULL;
	owned->strings[owned->nr_strings] = calloc(1, size + 1);
	return owned->strings[owned->nr_strings] ? owned->strings[owned->nr_strings++] : NULL;
}

char *opts_own_text(struct perf_poke_opts *opts, const char *text, size_t length)
{
	size_t size = strnlen(text, length);
	char *copy = opts_own_memory(opts, size);

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
	free(owned->stop_tracing);
	free(owned);
	opts->owned = NULL;
}

int option_parse_cpus(struct perf_poke_opts *opts, const char *value, char **why)
{
	int err = cpulist_is_word(value) ? 0 : option_cpus(value, why);

	if (err)
		return err;
	opts->cpus = opts_own_text(opts, value, SIZE_MAX);
	return opts->cpus ? 0 : -ENOMEM;
}

static int append_event(struct perf_poke_opts *opts, const char *name, size_t length, char **why)
{
	struct owned_opts *owned = opts->owned;
	size_t nr = owned->events ? opts->nr_events : 0;
	char *copy;

	/* Existence is checked at start. */
	if (!length)
		return say_why(why, -EINVAL,
			       "empty event name (use SYSTEM:NAME, such as sched:sched_switch, or "
			       "cpu-clock)");
	for (size_t i = 0; i < nr; i++) {
		if (!strncmp(owned->events[i].name, name, length) && !owned->events[i].name[length])
			return say_why(why, -EINVAL, "'%s' is named twice", owned->events[i].name);
	}
	copy = opts_own_text(opts, name, length);
	if (!copy || array_grow(&owned->events, nr, sizeof(*owned->events)))
		return -ENOMEM;
	owned->events[nr] = (struct perf_poke_event){ .name = copy };
	opts->events = owned->events;
	opts->nr_events = nr + 1;
	opts->event_sz = sizeof(*owned->events);
	return 0;
}

/* Length up to a comma outside slashes. */
static size_t event_name_length(const char *list)
{
	bool terms = false;
	size_t i;

	for (i = 0; list[i] && (terms || list[i] != ','); i++)
		terms ^= list[i] == '/';
	return i;
}

int option_parse_events(struct perf_poke_opts *opts, const char *value, char **why)
{
	struct owned_opts *owned = opts->owned;

	owned->last_events = owned->events ? opts->nr_events : 0;
	for (;;) {
		size_t length = event_name_length(value);
		int err = append_event(opts, value, length, why);

		if (err || !value[length])
			return err;
		value += length + 1;
	}
}

int option_parse_filter(struct perf_poke_opts *opts, const char *value, char **why)
{
	struct owned_opts *owned = opts->owned;
	const char *copy;

	if (!owned->events)
		return say_why(why, -EINVAL, "needs an event before it");
	if (owned->events[owned->last_events].filter)
		return say_why(why, -EINVAL,
			       "the event before it has a filter (join them with &&)");
	copy = opts_own_text(opts, value, strlen(value));
	for (size_t i = owned->last_events; i < opts->nr_events; i++)
		owned->events[i].filter = copy;
	return copy ? 0 : -ENOMEM;
}

static int parse_small_number(const char *value, uint64_t max, uint32_t *number, char **why)
{
	uint64_t count;

	if (units_parse_count(value, &count) || count > max)
		return say_why(why, -EINVAL, "must be a whole number, 0 to %llu",
			       (unsigned long long)max);
	*number = (uint32_t)count;
	return 0;
}

int option_parse_dma_latency(struct perf_poke_opts *opts, const char *value, char **why)
{
	opts->hold_dma_latency = true;
	return parse_small_number(value, 10000, &opts->dma_latency_us, why);
}

int option_parse_idle_state(struct perf_poke_opts *opts, const char *value, char **why)
{
	opts->limit_idle_state = true;
	return parse_small_number(value, 9, &opts->deepest_idle_state, why);
}

/* Any other name is a span's, which may be defined later. */
static const struct perf_poke_choice *find_trigger_kind(const char *name, size_t length)
{
	const struct perf_poke_choice *row, *span = NULL;

	for (size_t i = 0; (row = perf_poke__choice(PERF_POKE_AXIS_TRIGGER, i)); i++) {
		if (row->value == PERF_POKE_TRIGGER_SPAN)
			span = row;
		else if (strlen(row->name) == length && !strncmp(row->name, name, length))
			return row;
	}
	return span;
}

/* perf_poke__new() checks texts. */
static int parse_trigger_threshold(struct perf_poke_trigger *trigger, const char *value, char **why)
{
	if (!value || (!units_parse_time(value, &trigger->threshold_ns) && trigger->threshold_ns &&
		       trigger->threshold_ns <= NSEC_PER_HOUR))
		return 0;
	return say_why(why, -EINVAL,
		       "'%s' is not a time (use 30us, 1.5ms, 2s, at most 1h; a bare number is "
		       "microseconds)",
		       value);
}

static int append_trigger(struct perf_poke_opts *opts, const struct perf_poke_trigger *trigger)
{
	struct owned_opts *owned = opts->owned;
	size_t nr = owned->triggers ? opts->nr_triggers : 0;

	if (array_grow(&owned->triggers, nr, sizeof(*trigger)))
		return -ENOMEM;
	owned->triggers[nr] = *trigger;
	opts->triggers = owned->triggers;
	opts->nr_triggers = nr + 1;
	opts->trigger_sz = sizeof(*trigger);
	return 0;
}

static struct perf_poke_trigger *find_trigger_of_kind(const struct perf_poke_opts *opts, int kind)
{
	struct owned_opts *owned = opts->owned;

	for (size_t i = 0; owned->triggers && i < opts->nr_triggers; i++) {
		if ((int)owned->triggers[i].kind == kind)
			return &owned->triggers[i];
	}
	return NULL;
}

/* Replaces the text of the span's trigger, until then its name, by the definition. */
static void apply_span_text(const struct perf_poke_opts *opts)
{
	struct perf_poke_trigger *trigger = find_trigger_of_kind(opts, PERF_POKE_TRIGGER_SPAN);
	const struct owned_opts *owned = opts->owned;
	size_t length = strcspn(owned->span ?: "", "=");

	if (trigger && owned->span && strlen(trigger->text) == length &&
	    !strncmp(trigger->text, owned->span, length))
		trigger->text = owned->span;
}

int option_parse_span(struct perf_poke_opts *opts, const char *value, char **why)
{
	struct owned_opts *owned = opts->owned;

	if (!strchr(value, '='))
		return say_why(why, -EINVAL, "has no NAME=");
	owned->span = opts_own_text(opts, value, strlen(value));
	if (!owned->span)
		return -ENOMEM;
	apply_span_text(opts);
	return 0;
}

/* Cuts the word after the last comma, so that it is the text. Kinds with an argument have their own
 * text, spans have the word in their definition. */
static const char *split_overrun_word(struct perf_poke_opts *opts, const char *value,
				      struct perf_poke_trigger *trigger)
{
	size_t length = strcspn(value, "=,");
	const struct perf_poke_choice *row = find_trigger_kind(value, length);

	if (row->argument || row->value == PERF_POKE_TRIGGER_SPAN || !has_suffix(value, OVERRUN))
		return value;
	length = strlen(value) - strlen(OVERRUN);
	trigger->text = opts_own_text(opts, value + length + 1, strlen(OVERRUN) - 1);
	return trigger->text ? opts_own_text(opts, value, length) : NULL;
}

/* KIND, KIND=TIME, KIND=TEXT, or NAME=TIME */
int option_parse_trigger(struct perf_poke_opts *opts, const char *value, char **why)
{
	const struct perf_poke_choice *row;
	struct perf_poke_trigger trigger = {};
	const char *argument;
	size_t length;
	bool is_span;
	int err = 0;

	value = split_overrun_word(opts, value, &trigger);
	if (!value)
		return -ENOMEM;
	length = strcspn(value, "=");
	argument = value[length] ? value + length + 1 : NULL;
	row = find_trigger_kind(value, length);
	trigger.kind = (enum perf_poke_trigger_kind)row->value;
	is_span = trigger.kind == PERF_POKE_TRIGGER_SPAN;

	if (find_trigger_of_kind(opts, row->value))
		return say_why(why, -EINVAL, "'%s' is named twice", row->name);
	if (!row->argument)
		err = parse_trigger_threshold(&trigger, argument, why);
	if (!err && (is_span || (row->argument && argument))) {
		trigger.text = is_span ? opts_own_text(opts, value, length)
				       : opts_own_text(opts, argument, strlen(argument));
		err = trigger.text ? 0 : -ENOMEM;
	}
	if (!err)
		err = append_trigger(opts, &trigger);
	if (!err)
		apply_span_text(opts);
	return err;
}

static char *list_trigger_kinds(void)
{
	const struct perf_poke_choice *row;
	char *names = NULL;

	for (size_t i = 0; (row = perf_poke__choice(PERF_POKE_AXIS_TRIGGER, i)); i++) {
		if (row->value != PERF_POKE_TRIGGER_SPAN)
			text_list_append(&names, row->name);
	}
	return names;
}

int options_check_span(const struct perf_poke_opts *opts, const struct log *log)
{
	bool may_own = opts->sz >= offsetof(struct perf_poke_opts, owned) + sizeof(opts->owned);
	const struct owned_opts *owned = may_own ? opts->owned : NULL;
	const struct perf_poke_trigger *trigger =
		owned ? find_trigger_of_kind(opts, PERF_POKE_TRIGGER_SPAN) : NULL;
	_cleanup_free_ char *kinds = list_trigger_kinds();

	if (trigger && !strchr(trigger->text, '='))
		return log_error(log, -EINVAL,
				 "trigger '%s': not a trigger (use %s; as irq, irq=30us, "
				 "event=tp:SYS:NAME or marker=TEXT; or the NAME of a span)",
				 trigger->text, kinds);
	if (owned && owned->span && !trigger)
		return log_error(log, -EINVAL, "span '%s': needs the trigger %.*s=TIME",
				 owned->span, (int)strcspn(owned->span, "="), owned->span);
	return 0;
}

int option_parse_target(struct perf_poke_opts *opts, const char *value, char **why)
{
	struct owned_opts *owned = opts->owned;
	size_t nr = owned->targets ? opts->nr_targets : 0;
	uint64_t pid;

	if (units_parse_count(value, &pid) || !pid || pid > INT_MAX)
		return say_why(why, -EINVAL, "not a process or thread id");
	if (nr == POKE_TARGETS)
		return say_why(why, -EINVAL, "more than %d targets", POKE_TARGETS);
	for (size_t i = 0; i < nr; i++) {
		if (owned->targets[i].pid == (int)pid)
			return say_why(why, -EINVAL, "given twice");
	}
	if (array_grow(&owned->targets, nr, sizeof(*owned->targets)))
		return -ENOMEM;
	owned->targets[nr] = (struct perf_poke_target){ .pid = (int)pid };
	opts->targets = owned->targets;
	opts->nr_targets = nr + 1;
	opts->target_sz = sizeof(*owned->targets);
	return 0;
}

int option_parse_stop_tracing(struct perf_poke_opts *opts, const char *value, char **why)
{
	struct owned_opts *owned = opts->owned;
	size_t nr = owned->stop_tracing ? opts->nr_stop_tracing : 0;
	char *copy;

	for (size_t i = 0; i < nr; i++) {
		if (!strcmp(owned->stop_tracing[i], value))
			return say_why(why, -EINVAL, "given twice");
	}
	copy = opts_own_text(opts, value, strlen(value));
	if (!copy || array_grow(&owned->stop_tracing, nr, sizeof(copy)))
		return -ENOMEM;
	owned->stop_tracing[nr] = copy;
	opts->stop_tracing = owned->stop_tracing;
	opts->nr_stop_tracing = nr + 1;
	return 0;
}

static int find_signal_number(const char *name)
{
	uint64_t number;

	if (!units_parse_count(name, &number))
		return number && number <= (uint64_t)SIGRTMAX ? (int)number : 0;
	if (!strncasecmp(name, "SIG", 3))
		name += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *known = sigabbrev_np(i);

		if (known && !strcasecmp(known, name))
			return i;
	}
	return 0;
}

int option_parse_signal(struct perf_poke_opts *opts, const char *value, char **why)
{
	opts->signal = find_signal_number(value);
	return opts->signal ? 0 : say_why(why, -EINVAL, "not a signal (use SIGUSR2, USR2 or 12)");
}
