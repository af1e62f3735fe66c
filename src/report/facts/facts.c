// SPDX-License-Identifier: GPL-2.0-only
#include "facts/facts.h"

#include "task.h"
#include "units.h"

const char *facts_task(const struct facts *facts, char *buf, unsigned int size)
{
	return task_format(buf, size, facts->idle, facts->comm, facts->pid, facts->tid);
}

const char *facts_late(const struct facts *facts)
{
	if (!facts->reported)
		return facts->thread ? "Thread" : "IRQ";
	return facts->label[0] ? facts->label : facts->comm;
}

static void put_noise(FILE *file, const struct facts *facts)
{
	fprintf(file, "noise of %s: ", FORMAT_TIME(facts->latency_ns));
	if (facts->noise_most_ns)
		fprintf(file, "%s caused %s of it", facts->label,
			FORMAT_TIME(facts->noise_most_ns));
	else
		fputs("no interrupt and no thread ran: hardware or a hypervisor caused it", file);
	if (facts->pt)
		fputs("; ", file);
}

void facts_put_late(FILE *file, const struct facts *facts)
{
	if (facts->noise)
		put_noise(file, facts);
	else
		fprintf(file,
			facts->reported ? "%s %s late: " : "%s latency %s: ", facts_late(facts),
			FORMAT_TIME(facts->latency_ns));
}
