// SPDX-License-Identifier: GPL-2.0-only
#include "facts/facts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "json_util.h"
#include "task.h"
#include "units.h"

const char *facts_format_task(const struct facts *facts, char *buf, unsigned int size)
{
	return task_format_name(buf, size, facts->spike.idle, facts->spike.comm, facts->spike.pid,
				facts->spike.tid);
}

void facts_end_mark(struct facts *facts, uint64_t due_ns)
{
	struct perf_poke_spike *spike = &facts->spike;

	/* If it wrote much later, it measured something else. */
	if (spike->kind != PERF_POKE_TRIGGER_MARKER || due_ns > spike->expected_ns ||
	    spike->expected_ns - due_ns > spike->latency_ns / 4)
		return;
	spike->expected_ns = due_ns;
	spike->actual_ns = due_ns + spike->latency_ns;
}

const char *facts_late_label(const struct facts *facts)
{
	if (!facts_is_reported(facts))
		return facts_is_thread(facts) ? "Thread" : "IRQ";
	if (facts->spike.label[0])
		return facts->spike.label;
	/* Another task may have run on the CPU that the report is for. */
	return facts->spike.late_comm[0] ? facts->spike.late_comm : "report";
}

static void facts_put_noise(FILE *file, const struct facts *facts)
{
	fprintf(file, "noise of %s: ", FORMAT_TIME(facts->spike.latency_ns));
	if (facts->spike.noise_most_ns)
		fprintf(file, "%s caused %s of it", facts->spike.label,
			FORMAT_TIME(facts->spike.noise_most_ns));
	else
		fputs("no interrupt and no thread ran: hardware or a hypervisor caused it", file);
	if (facts_is_pt(facts))
		fputs("; ", file);
}

/* Such as `poller 123 lost its CPU for 83us: softirq net_rx`. */
static void facts_put_interruption(FILE *file, const struct facts *facts)
{
	const struct perf_poke_spike *spike = &facts->spike;

	fprintf(file, "%s %d lost CPU %d for %s: %s", spike->late_comm, spike->late_tid, spike->cpu,
		FORMAT_TIME(spike->latency_ns), spike->label);
}

void facts_put_late(FILE *file, const struct facts *facts)
{
	if (facts->spike.kind == PERF_POKE_TRIGGER_NOISE)
		facts_put_noise(file, facts);
	else if (facts->spike.kind == PERF_POKE_TRIGGER_INTERRUPTION)
		facts_put_interruption(file, facts);
	else
		fprintf(file, facts_is_reported(facts) ? "%s %s late: " : "%s latency %s: ",
			facts_late_label(facts), FORMAT_TIME(facts->spike.latency_ns));
}

static bool hardware_is_counted(uint64_t count)
{
	return count && count != UINT64_MAX;
}

static const struct idle_state *idle_state_left(const struct hardware_facts *facts,
						const struct power *power)
{
	return power->left && power->state < facts->nr_states ? &facts->states[power->state] : NULL;
}

/* At least half of the latency, as for other causes. */
static bool explains_latency(uint64_t time_ns, uint64_t latency_ns)
{
	return hardware_is_counted(time_ns) && time_ns >= (latency_ns + 1) / 2;
}

const char *hardware_state_left(const struct hardware_facts *facts, const struct power *power)
{
	const struct idle_state *state = idle_state_left(facts, power);

	return state ? state->name : "";
}

/* Steal time is only known since the session was armed. */
static bool steal_is_wide(const struct hardware_facts *facts, uint64_t latency_ns)
{
	return facts->late_steal_ns == UINT64_MAX && explains_latency(facts->steal_ns, latency_ns);
}

bool hardware_may_have_stolen(const struct hardware_facts *facts, uint64_t latency_ns)
{
	return facts->since_ns && steal_is_wide(facts, latency_ns) &&
	       facts->steal_ns >= facts->since_ns / 10;
}

void hardware_put_causes(FILE *file, const struct hardware_facts *facts, const struct power *power,
			 uint64_t expected_ns, uint64_t latency_ns)
{
	const struct idle_state *state = idle_state_left(facts, power);
	uint64_t begin = power->entered > expected_ns ? power->entered : expected_ns;

	if (state && power->left > begin && explains_latency(power->left - begin, latency_ns))
		fprintf(file, "; the CPU left %s after %s of that (exit latency %s)", state->name,
			FORMAT_TIME(power->left - begin), FORMAT_TIME(state->exit_ns));
	if (!facts->since_ns)
		return;
	if (explains_latency(facts->late_steal_ns, latency_ns))
		fprintf(file, "; up to %s of that is steal time",
			FORMAT_TIME(facts->late_steal_ns < latency_ns ? facts->late_steal_ns
								      : latency_ns));
	else if (steal_is_wide(facts, latency_ns))
		fprintf(file, "; %s of steal time in the %s", FORMAT_TIME(facts->steal_ns),
			FORMAT_TIME(facts->since_ns));
	if (hardware_is_counted(facts->smis))
		fprintf(file, "; %" PRIu64 " SMI%s in the %s", facts->smis,
			facts->smis == 1 ? "" : "s", FORMAT_TIME(facts->since_ns));
	if (hardware_is_counted(facts->throttles))
		fprintf(file, "; throttled for heat %" PRIu64 " time%s in the %s", facts->throttles,
			facts->throttles == 1 ? "" : "s", FORMAT_TIME(facts->since_ns));
	if (steal_is_wide(facts, latency_ns) || hardware_is_counted(facts->smis) ||
	    hardware_is_counted(facts->throttles))
		fputs(" before", file);
}

void hardware_put_steal(FILE *file, uint64_t steal_ns, uint64_t latency_ns)
{
	fprintf(file, "the hypervisor ran something else for %s of that (steal)",
		FORMAT_TIME(steal_ns < latency_ns ? steal_ns : latency_ns));
}

const char *hardware_blamed_name(const struct hardware_facts *facts, uint64_t latency_ns)
{
	if (!facts->since_ns)
		return "";
	if (explains_latency(facts->late_steal_ns, latency_ns))
		return "steal";
	return hardware_is_counted(facts->smis) ? "smi" : "";
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
	const struct idle_state *state = idle_state_left(facts, power);
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
