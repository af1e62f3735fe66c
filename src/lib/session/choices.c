// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The rows of all tables, as callers see them. */
#include "delivery/delivery.h"
#include "options/config.h"
#include "recorder/recorder.h"
#include "workload/workload.h"

static const struct perf_poke_choice automatic = { "auto", 0, "what suits this machine" };

static const struct perf_poke_choice *recorder_choice(size_t i)
{
	const struct recorder_ops *row = recorder_row(i);

	return row ? &row->choice : NULL;
}

static const struct perf_poke_choice *delivery_choice(size_t i)
{
	const struct delivery *row = delivery_row(i);

	return row ? &row->choice : NULL;
}

/* i counts from the row behind `automatic`. */
static const struct perf_poke_choice *choice(enum perf_poke_axis axis, size_t i)
{
	switch (axis) {
	case PERF_POKE_AXIS_RECORDER:
		return recorder_choice(i);
	case PERF_POKE_AXIS_WORKLOAD:
		return workload_choice(i);
	case PERF_POKE_AXIS_DELIVERY:
		return delivery_choice(i);
	case PERF_POKE_AXIS_FREEZE:
		return i < ARRAY_SIZE(recorder_freezes) ? &recorder_freezes[i] : NULL;
	default:
		return NULL;
	}
}

const struct perf_poke_choice *perf_poke__choice(enum perf_poke_axis axis, size_t i)
{
	if (axis == PERF_POKE_AXIS_TRIGGER)
		return i < ARRAY_SIZE(config_triggers) ? &config_triggers[i] : NULL;
	if ((unsigned int)axis > PERF_POKE_AXIS_FREEZE)
		return NULL;
	return i ? choice(axis, i - 1) : &automatic;
}
