// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_facts.h"

#include <string.h>

#include "printable.h"

static void put_texts(struct facts *facts, const struct capture_file *file)
{
	const char *function = file->function[0] ? file->function : file->function_address;

	printable_copy(facts->comm, sizeof(facts->comm), file->comm);
	printable_copy(facts->label, sizeof(facts->label), file->label);
	printable_copy(facts->function, sizeof(facts->function), function);
	printable_copy(facts->wall_time, sizeof(facts->wall_time), file->wall_time);
	printable_copy(facts->release, sizeof(facts->release), file->release);
	printable_copy(facts->hostname, sizeof(facts->hostname), file->hostname);
	printable_copy(facts->model, sizeof(facts->model), file->model);
}

/* The file is untrusted; reports rely on expected <= actual <= time. */
static int put_times(struct facts *facts, const struct capture_file *file)
{
	uint64_t actual = file->actual_ns, expected = file->expected_ns;
	uint64_t latency = file->view.latency_ns;

	if (!actual || actual > file->time_ns)
		actual = file->time_ns;
	if (!expected || expected > actual)
		expected = actual - (latency < actual ? latency : 0);
	facts->latency_ns = actual - expected;
	facts->irq_ns = file->irq_ns < facts->latency_ns ? file->irq_ns : facts->latency_ns;
	facts->to_clock_ns = file->view.spike_ns - file->time_ns;
	facts->expected_ns = expected + facts->to_clock_ns;
	facts->actual_ns = actual + facts->to_clock_ns;
	facts->time_ns = file->view.spike_ns;
	return facts->expected_ns <= facts->actual_ns && facts->actual_ns <= facts->time_ns
		       ? 0
		       : -EINVAL;
}

/* Not what the trigger itself saw of a timer or of a wakeup. */
static bool is_reported(const char *trigger)
{
	static const char *const seen[] = { "", "irq", "thread", "user", "wakeup" };

	for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
		if (!strcmp(trigger, seen[i]))
			return false;
	}
	return true;
}

int capture_facts(struct facts *facts, const struct capture_file *file)
{
	*facts = (struct facts){
		.pt = file->view.kind == VIEW_PT,
		.none = file->view.kind == VIEW_NONE,
		.perf = file->view.kind == VIEW_PERF,
		.no_times = file->view.no_times,
		.ends_at_spike = file->view.ends_at_spike,
		.poked = file->poked,
		.idle = file->idle,
		.thread = file->trigger[0] && strcmp(file->trigger, "irq"),
		.reported = is_reported(file->trigger),
		.noise = !strcmp(file->trigger, "noise"),
		.noise_most_ns = file->noise_most_ns,
		.cpu = file->view.cpu,
		.threshold_ns = file->threshold_ns,
		.history_ns = file->view.history_ns,
		.skid_ns = file->skid_ns,
		.events = file->events,
		.lost = file->lost,
		.pid = file->pid,
		.tid = file->tid,
		.stack = file->stack,
		.holder = file->holder,
		.hardware = file->hardware,
	};
	put_texts(facts, file);
	return put_times(facts, file);
}
