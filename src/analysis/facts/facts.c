// SPDX-License-Identifier: GPL-2.0-only
#include "facts/facts.h"

#include "task.h"
#include "units.h"

const char *facts_task(const struct facts *facts, char *buf, unsigned int size)
{
	return task_format(buf, size, facts->spike.idle, facts->spike.comm, facts->spike.pid,
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

const char *facts_late(const struct facts *facts)
{
	if (!facts_is_reported(facts))
		return facts_is_thread(facts) ? "Thread" : "IRQ";
	if (facts->spike.label[0])
		return facts->spike.label;
	/* Another task may have run on the CPU that the report is for. */
	return facts->spike.late_comm[0] ? facts->spike.late_comm : "report";
}

static void put_noise(FILE *file, const struct facts *facts)
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

void facts_put_late(FILE *file, const struct facts *facts)
{
	if (facts->spike.kind == PERF_POKE_TRIGGER_NOISE)
		put_noise(file, facts);
	else
		fprintf(file, facts_is_reported(facts) ? "%s %s late: " : "%s latency %s: ",
			facts_late(facts), FORMAT_TIME(facts->spike.latency_ns));
}
