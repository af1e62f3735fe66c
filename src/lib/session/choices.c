// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"
#include "recorder/recorder.h"
#include "session/state.h"
#include "trigger/trigger.h"
#include "workload/workload.h"

static const struct perf_poke_choice automatic = { "auto", 0, "the best that works here" };

static const struct perf_poke_choice levels[] = {
	{ "error", PERF_POKE_LOG_ERROR, "why a function failed, or a capture is lost" },
	{ "warning", PERF_POKE_LOG_WARN, "what is missing, or changed" },
	{ "info", PERF_POKE_LOG_INFO, "what the session does" },
	{ "debug", PERF_POKE_LOG_DEBUG, "for who looks for defects, libbpf's too" },
};

/* `choice` is the first member of every row. */
static const struct perf_poke_choice *row(enum perf_poke_axis axis, size_t i)
{
	switch (axis) {
	case PERF_POKE_AXIS_RECORDER:
		return (const void *)recorder_row(i);
	case PERF_POKE_AXIS_TRIGGER:
		return (const void *)trigger_row(i);
	case PERF_POKE_AXIS_WORKLOAD:
		return (const void *)workload_row(i);
	case PERF_POKE_AXIS_DELIVERY:
		return (const void *)delivery_row(i);
	case PERF_POKE_AXIS_FREEZE:
		return (const void *)recorder_freeze_row(i);
	default:
		return NULL;
	}
}

const struct perf_poke_choice *perf_poke__choice(enum perf_poke_axis axis, size_t i)
{
	if (axis == PERF_POKE_AXIS_LOG)
		return i < ARRAY_SIZE(levels) ? &levels[i] : NULL;
	if ((unsigned int)axis > PERF_POKE_AXIS_LOG)
		return NULL;
	if (axis == PERF_POKE_AXIS_TRIGGER)
		return row(axis, i);
	return i ? row(axis, i - 1) : &automatic;
}

const char *perf_poke__name(enum perf_poke_axis axis, int value)
{
	const struct perf_poke_choice *choice;

	for (size_t i = 0; (choice = perf_poke__choice(axis, i)); i++) {
		if (choice->value == value)
			return choice->name;
	}
	return NULL;
}

int choices_check(const struct config *config)
{
	const struct {
		const char *name;
		enum perf_poke_axis axis;
		int value;
	} rows[] = {
		{ "recorder", PERF_POKE_AXIS_RECORDER, config->opts.recorder },
		{ "workload", PERF_POKE_AXIS_WORKLOAD, config->opts.workload },
		{ "delivery", PERF_POKE_AXIS_DELIVERY, config->opts.delivery },
		{ "freeze", PERF_POKE_AXIS_FREEZE, config->opts.freeze },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!perf_poke__name(rows[i].axis, rows[i].value))
			return log_error(&config->log, -EINVAL, "%s %d: unknown", rows[i].name,
					 rows[i].value);
	}
	return 0;
}
