// SPDX-License-Identifier: GPL-2.0-only
#include "facts/senders.h"

#include <linux/perf_event.h>
#include <string.h>

#include "kernel_function.h"
#include "read.h"
#include "text.h"

static void put_callers(struct sender *sender, struct tracepoints *tracepoints,
			const struct perfdata_bytes *chain)
{
	uint64_t at = 0, address;

	while (sender->nr_callers < SENDER_CALLERS_MAX && tracepoints_frame(chain, &at, &address)) {
		const char *name = tracepoints_function(tracepoints, address);

		if (!name || (!sender->nr_callers && kernel_function_find(name, KERNEL_SENDS)))
			continue;
		printable_copy(sender->callers[sender->nr_callers++], sizeof(sender->callers[0]),
			       name);
	}
}

static void put_task(struct senders *senders, int tid, const char *comm)
{
	for (size_t i = 0; i < SENDERS_MAX && i < senders->nr; i++) {
		struct sender *sender = &senders->rows[i];

		if (sender->tid == tid)
			printable_copy(sender->task, sizeof(sender->task), comm);
	}
}

/* The last name of a task counts. */
void senders_name(struct senders *senders, const struct perfdata_file *file)
{
	struct comm_record {
		uint8_t header[8];
		int32_t pid, tid;
		char comm[16];
	} comm;
	struct perfdata_record record;
	uint64_t at = file->data.offset;

	while (perfdata_next(file, &at, &record)) {
		if (record.type != PERF_RECORD_COMM ||
		    record.size < sizeof(comm) - sizeof(comm.comm))
			continue;
		comm = (struct comm_record){};
		memcpy(&comm, record.bytes,
		       record.size < sizeof(comm) ? record.size : sizeof(comm));
		comm.comm[sizeof(comm.comm) - 1] = '\0';
		put_task(senders, comm.tid, comm.comm);
	}
}

static bool is_in_mask(const struct tracepoint_event *event)
{
	/* The kernel's filter leaves only masks that contain a watched CPU. */
	return !strcmp(event->kind->name, "ipi:ipi_send_cpumask");
}

/* Whether the event targets this CPU. */
static bool is_sent(const struct tracepoint_event *event, int cpu)
{
	static const char *const names[] = {
		"ipi:ipi_send_cpu",
		"csd:csd_queue_cpu",
		"workqueue:workqueue_queue_work",
	};
	uint64_t to;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(event->kind->name, names[i]))
			return tracepoint_number(event, "cpu", &to) && (int)to == cpu;
	}
	return is_in_mask(event);
}

void senders_take(struct senders *senders, struct tracepoints *tracepoints,
		  const struct tracepoint_event *event, int cpu)
{
	const char *function = NULL;
	struct sender *sender;
	uint64_t address;

	if (!is_sent(event, cpu))
		return;
	sender = &senders->rows[senders->nr++ % SENDERS_MAX];
	*sender = (struct sender){
		.time = event->time,
		.cpu = event->cpu,
		.pid = event->pid,
		.tid = event->tid,
		.queued = !strncmp(event->kind->name, "workqueue:", 10),
	};
	if (tracepoint_number(event, "func", &address) ||
	    tracepoint_number(event, "function", &address))
		function = tracepoints_function(tracepoints, address);
	printable_copy(sender->function, sizeof(sender->function), function ?: "");
	put_callers(sender, tracepoints, &event->callchain);
}

const struct sender *senders_find(const struct senders *senders, uint64_t at, const char *function)
{
	const struct sender *found = NULL;

	for (size_t i = 0; i < SENDERS_MAX && i < senders->nr; i++) {
		const struct sender *sender = &senders->rows[i];

		if (sender->time > at || strcmp(sender->function, function ?: ""))
			continue;
		if (!found || sender->time > found->time)
			found = sender;
	}
	return found;
}

void sender_put(FILE *file, const struct sender *sender)
{
	fprintf(file, ", %s by CPU %d, ", sender->queued ? "queued" : "sent", sender->cpu);
	if (sender->tid > 0)
		fprintf(file, "task %d %s", sender->tid, sender->task[0] ? sender->task : "?");
	else
		fputs("idle", file);
	for (unsigned int i = 0; i < sender->nr_callers; i++)
		fprintf(file, "%s%s()", i ? " < " : ", from ", sender->callers[i]);
}
