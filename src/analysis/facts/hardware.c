// SPDX-License-Identifier: GPL-2.0-only
#include "facts/hardware.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "json_add.h"
#include "units.h"

static bool is_counted(uint64_t count)
{
	return count && count != UINT64_MAX;
}

static const struct idle_state *state_left(const struct hardware_facts *facts,
					   const struct power *power)
{
	return power->left && power->state < facts->nr_states ? &facts->states[power->state] : NULL;
}

/* At least half of the latency, as for other causes. */
static bool explains(uint64_t time_ns, uint64_t latency_ns)
{
	return is_counted(time_ns) && time_ns >= (latency_ns + 1) / 2;
}

const char *hardware_state_left(const struct hardware_facts *facts, const struct power *power)
{
	const struct idle_state *state = state_left(facts, power);

	return state ? state->name : "";
}

/* Steal time is only known since the session was armed. */
static bool steal_is_wide(const struct hardware_facts *facts, uint64_t latency_ns)
{
	return facts->late_steal_ns == UINT64_MAX && explains(facts->steal_ns, latency_ns);
}

void hardware_put(FILE *file, const struct hardware_facts *facts, const struct power *power,
		  uint64_t expected_ns, uint64_t latency_ns)
{
	const struct idle_state *state = state_left(facts, power);
	uint64_t begin = power->entered > expected_ns ? power->entered : expected_ns;

	if (state && power->left > begin && explains(power->left - begin, latency_ns))
		fprintf(file, "; the CPU left %s after %s of that (exit latency %s)", state->name,
			FORMAT_TIME(power->left - begin), FORMAT_TIME(state->exit_ns));
	if (!facts->since_ns)
		return;
	if (explains(facts->late_steal_ns, latency_ns))
		fprintf(file, "; up to %s of that is steal time",
			FORMAT_TIME(facts->late_steal_ns < latency_ns ? facts->late_steal_ns
								      : latency_ns));
	else if (steal_is_wide(facts, latency_ns))
		fprintf(file, "; %s of steal time in the %s", FORMAT_TIME(facts->steal_ns),
			FORMAT_TIME(facts->since_ns));
	if (is_counted(facts->smis))
		fprintf(file, "; %" PRIu64 " SMI%s in the %s", facts->smis,
			facts->smis == 1 ? "" : "s", FORMAT_TIME(facts->since_ns));
	if (is_counted(facts->throttles))
		fprintf(file, "; throttled for heat %" PRIu64 " time%s in the %s", facts->throttles,
			facts->throttles == 1 ? "" : "s", FORMAT_TIME(facts->since_ns));
	if (steal_is_wide(facts, latency_ns) || is_counted(facts->smis) ||
	    is_counted(facts->throttles))
		fputs(" since the session was armed", file);
}

void hardware_put_steal(FILE *file, uint64_t steal_ns, uint64_t latency_ns)
{
	fprintf(file, "the hypervisor ran something else for %s of that (steal)",
		FORMAT_TIME(steal_ns < latency_ns ? steal_ns : latency_ns));
}

const char *hardware_blamed(const struct hardware_facts *facts, uint64_t latency_ns)
{
	if (!facts->since_ns)
		return "";
	if (explains(facts->late_steal_ns, latency_ns))
		return "steal";
	return is_counted(facts->smis) ? "smi" : "";
}

void hardware_put_counts(FILE *file, const struct hardware_facts *facts, const char *before)
{
	const struct {
		const char *name;
		uint64_t count;
	} rows[] = {
		{ "SMIs", facts->smis },
		{ "NMIs", facts->nmis },
		{ "times throttled for heat", facts->throttles },
	};

	if (!facts->since_ns)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].count == UINT64_MAX)
			continue;
		fprintf(file, "%s%" PRIu64 " %s", before, rows[i].count, rows[i].name);
		before = ", ";
	}
	if (facts->steal_ns != UINT64_MAX)
		fprintf(file, "%ssteal %s", before, FORMAT_TIME(facts->steal_ns));
	else if (strcmp(before, ", "))
		return;
	fprintf(file, " in the %s before\n", FORMAT_TIME(facts->since_ns));
}

json_object *hardware_facts_json(const struct hardware_facts *facts, const struct power *power)
{
	const struct idle_state *state = state_left(facts, power);
	json_object *object = json_object_new_object();

	json_add_known(object, "since_ns", facts->since_ns, 0);
	json_add_known(object, "smis", facts->smis, UINT64_MAX);
	json_add_known(object, "steal_ns", facts->steal_ns, UINT64_MAX);
	json_add_known(object, "late_steal_ns", facts->late_steal_ns, UINT64_MAX);
	json_add_known(object, "nmis", facts->nmis, UINT64_MAX);
	json_add_known(object, "throttles", facts->throttles, UINT64_MAX);
	json_add_name(object, "idle_state", state ? state->name : NULL);
	json_add_known(object, "exit_latency_ns", state ? state->exit_ns : 0, 0);
	json_add_known(object, "idle_left_ns", power->left, 0);
	json_add_known(object, "frequency_khz", power->frequency_khz, 0);
	return object;
}
