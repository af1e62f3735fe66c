// SPDX-License-Identifier: GPL-2.0-only
#include "facts/work_senders.h"

#include <linux/perf_event.h>
#include <string.h>

#include "kernel_function.h"
#include "perfdata_read.h"
#include "text.h"

static void sender_put_callers(struct sender *sender, struct tracepoints *tracepoints,
			       const struct perfdata_bytes *chain)
{
	uint64_t at = 0, address;

	while (sender->nr_callers < SENDER_CALLERS_MAX && tracepoints_frame(chain, &at, &address)) {
		const char *name = tracepoints_function(tracepoints, address);

		if (!name || (!sender->nr_callers && kernel_function_find(name, KERNEL_SENDS)))
			continue;
		text_copy_printable(sender->callers[sender->nr_callers++],
				    sizeof(sender->callers[0]), name);
	}
}

static void senders_put_task(struct senders *senders, int tid, const char *comm)
{
	for (size_t i = 0; i < SENDERS_MAX && i < senders->nr; i++) {
		struct sender *sender = &senders->rows[i];

		if (sender->perf_tid == tid)
			text_copy_printable(sender->task, sizeof(sender->task), comm);
	}
}

/* The last name of a task counts. */
void senders_add_names(struct senders *senders, const struct tracepoints *tracepoints)
{
	const struct perfdata_file *file = tracepoints_file(tracepoints);
	struct comm_record {
		uint8_t header[8];
		int32_t pid, tid;
		char comm[16];
	} comm;
	struct perfdata_record record;
	uint64_t at = file->data.offset;
	const char *known;
	int tid;

	for (size_t i = 0; tracepoints_task(tracepoints, i, &tid, &known); i++)
		senders_put_task(senders, tid, known);
	while (perfdata_next(file, &at, &record)) {
		if (record.type != PERF_RECORD_COMM ||
		    record.size < sizeof(comm) - sizeof(comm.comm))
			continue;
		comm = (struct comm_record){};
		memcpy(&comm, record.bytes,
		       record.size < sizeof(comm) ? record.size : sizeof(comm));
		comm.comm[sizeof(comm.comm) - 1] = '\0';
		if (comm.tid > 0)
			senders_put_task(senders, comm.tid, comm.comm);
	}
}

/* Whether the event targets this CPU, and how. The kernel's filter lets pass what targets any of
 * the watched CPUs. */
static bool event_targets_cpu(const struct tracepoint_event *event, int cpu, enum sender_kind *kind)
{
	static const struct {
		const char *name;
		enum sender_kind kind;
	} rows[] = {
		{ "ipi:ipi_send_cpu", SENDER_OF_INTERRUPT },
		{ "ipi:ipi_send_cpumask", SENDER_OF_INTERRUPT },
		{ "csd:csd_queue_cpu", SENDER_OF_CALL },
		{ "workqueue:workqueue_queue_work", SENDER_OF_WORK },
	};
	uint64_t to, callback;
	bool is_set = false;
	size_t i = 0;

	while (i < ARRAY_SIZE(rows) && strcmp(event->kind->name, rows[i].name))
		i++;
	if (i == ARRAY_SIZE(rows))
		return false;
	*kind = rows[i].kind;
	/* For calls these have a callback, and so have those to this CPU itself. */
	if (*kind == SENDER_OF_INTERRUPT && tracepoint_number(event, "callback", &callback))
		*kind = !callback	    ? SENDER_OF_RESCHEDULE
			: event->cpu == cpu ? SENDER_OF_IRQ_WORK
					    : SENDER_OF_CALL;
	return tracepoint_number(event, "cpu", &to)
		       ? (int)to == cpu
		       : tracepoint_cpu(event, "cpumask", cpu, &is_set) && is_set;
}

void senders_add_event(struct senders *senders, struct tracepoints *tracepoints,
		       const struct tracepoint_event *event, int cpu)
{
	const char *function = NULL;
	enum sender_kind kind;
	struct sender *sender;
	uint64_t address;

	if (!event_targets_cpu(event, cpu, &kind))
		return;
	sender = &senders->rows[senders->nr++ % SENDERS_MAX];
	*sender = (struct sender){
		.time = event->time,
		.cpu = event->cpu,
		.pid = event->pid,
		.tid = event->tid,
		.perf_tid = event->perf_tid,
		.kind = kind,
	};
	if (tracepoint_number(event, "func", &address) ||
	    tracepoint_number(event, "function", &address))
		function = tracepoints_function(tracepoints, address);
	text_copy_printable(sender->function, sizeof(sender->function), function ?: "");
	sender_put_callers(sender, tracepoints, &event->callchain);
}

bool sender_kind_of_interrupt(const char *function, enum sender_kind *kind)
{
	const struct kernel_function *row = kernel_function_find(
		kernel_function_after(function, KERNEL_BEFORE_VECTOR) ?: function, KERNEL_FROM_CPU);

	if (!row)
		return false;
	*kind = has_prefix(row->token, "call_function") ? SENDER_OF_CALL
		: !strcmp(row->token, "irq_work")	? SENDER_OF_IRQ_WORK
							: SENDER_OF_RESCHEDULE;
	return true;
}

static bool sender_fits_want(const struct sender *sender, const struct senders_want *want)
{
	if (want->function)
		return !strcmp(sender->function, want->function);
	return !sender->function[0] &&
	       (sender->kind == want->kind || sender->kind == SENDER_OF_INTERRUPT);
}

static bool is_same_sender(const struct sender *a, const struct sender *b)
{
	return a->cpu == b->cpu && a->tid == b->tid && !strcmp(a->callers[0], b->callers[0]);
}

const struct sender *senders_find(const struct senders *senders, const struct senders_want *want)
{
	const struct sender *found = NULL;

	for (size_t i = 0; i < SENDERS_MAX && i < senders->nr; i++) {
		const struct sender *sender = &senders->rows[i];

		if (sender->time <= want->at && sender_fits_want(sender, want) &&
		    (!found || sender->time > found->time))
			found = sender;
	}
	/* What it asked for may have begun somewhat later. */
	for (size_t i = 0; i < SENDERS_MAX && i < senders->nr; i++) {
		const struct sender *sender = &senders->rows[i];

		if (sender->time <= want->at || sender->time - want->at > want->step_ns ||
		    !sender_fits_want(sender, want))
			continue;
		if (found && !is_same_sender(found, sender))
			return NULL;
		found = sender;
	}
	return found;
}

void sender_put_text(FILE *file, const struct sender *sender)
{
	fprintf(file, ", %s by CPU %d, ", sender->kind == SENDER_OF_WORK ? "queued" : "sent",
		sender->cpu);
	if (sender->tid > 0)
		fprintf(file, "task %d %s", sender->tid, sender->task[0] ? sender->task : "?");
	else
		fputs("idle", file);
	for (unsigned int i = 0; i < sender->nr_callers; i++)
		fprintf(file, "%s%s()", i ? " < " : ", from ", sender->callers[i]);
}
