// SPDX-License-Identifier: GPL-2.0-only
#include "facts.h"

#include <stdio.h>

const char *facts_task(const struct facts *facts, char *buf, unsigned int size)
{
	if (facts->idle)
		snprintf(buf, size, "idle");
	else if (facts->tid == facts->pid)
		snprintf(buf, size, "%s/%d", facts->comm, facts->pid);
	else
		snprintf(buf, size, "%s/%d, thread %d", facts->comm, facts->pid, facts->tid);
	return buf;
}

const char *facts_late(const struct facts *facts)
{
	if (!facts->reported)
		return facts->thread ? "Thread" : "IRQ";
	return facts->label[0] ? facts->label : facts->comm;
}
