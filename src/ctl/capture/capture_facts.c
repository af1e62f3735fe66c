// SPDX-License-Identifier: GPL-2.0-only
#include "capture/capture_facts.h"

#include <inttypes.h>
#include <string.h>

#include "text.h"

#define COPY(to, text) printable_copy(to, sizeof(to), text)

static void put_texts(struct facts *facts, const struct capture_file *file)
{
	const struct perf_poke_capture *capture = file->capture;
	const struct perf_poke_spike *spike = capture->spike;

	COPY(facts->comm, spike->comm);
	COPY(facts->label, spike->label);
	COPY(facts->function,
	     spike->function_name ?: capture_file_text(file, "spike.function_address"));
	COPY(facts->wall_time, capture_file_text(file, "spike.wall_time"));
	COPY(facts->release, capture->kernel ?: "");
	COPY(facts->hostname, capture->hostname ?: "");
	COPY(facts->model, capture_file_text(file, "machine.cpu"));
}

/* As `libc.so.6+0x1234`, where a symbol is not known. */
static void name_place(struct spike_frame *to, const struct perf_poke_frame *frame)
{
	const char *file = frame->user ? frame->file : NULL,
		   *slash = file ? strrchr(file, '/') : NULL;
	char name[64];

	if (file && frame->offset) {
		COPY(name, slash ? slash + 1 : file);
		snprintf(to->name, sizeof(to->name), "%s+0x%" PRIx64, name, frame->offset);
	} else {
		snprintf(to->name, sizeof(to->name), "[0x%" PRIx64 "]", frame->address);
	}
}

static void put_stack(struct spike_stack *stack, const struct perf_poke_frame *const *frames,
		      size_t nr)
{
	for (; stack->nr < nr && stack->nr < STACK_FRAMES_MAX; stack->nr++) {
		const struct perf_poke_frame *frame = frames[stack->nr];
		struct spike_frame *to = &stack->frames[stack->nr];

		to->user = frame->user;
		to->function = !frame->user && frame->symbol;
		if (to->function) {
			COPY(to->name, frame->symbol);
			COPY(to->module, frame->file ?: "");
		} else {
			name_place(to, frame);
		}
	}
}

static void put_stacks(struct facts *facts, const struct perf_poke_spike *spike)
{
	put_stack(&facts->stack, spike->stack, spike->nr_frames);
	facts->stack.tid = spike->stack_tid;
	facts->stack.irqs_on = !spike->irqs_off;
	put_stack(&facts->holder, spike->holder, spike->nr_holder_frames);
	facts->holder.tid = spike->holder_tid;
	facts->holder.interrupted = spike->holder_interrupted;
}

static void put_idle_states(struct hardware_facts *hardware, const struct capture_file *file)
{
	static const char list[] = "hardware.idle_states";

	for (size_t i = 0; i < IDLE_STATES_MAX; i++) {
		struct idle_state *state = &hardware->states[i];
		const char *name;
		char path[64];

		snprintf(path, sizeof(path), "%s.%zu.name", list, i);
		name = perf_poke__capture_text(file->capture, path);
		snprintf(path, sizeof(path), "%s.%zu.exit_latency_ns", list, i);
		if (!name || perf_poke__capture_number(file->capture, path, &state->exit_ns))
			return;
		COPY(state->name, name);
		hardware->nr_states++;
	}
}

static void put_hardware(struct hardware_facts *hardware, const struct capture_file *file)
{
	hardware->since_ns = capture_file_number(file, "hardware.since_ns", 0);
	hardware->smis = capture_file_number(file, "hardware.smis", UINT64_MAX);
	hardware->steal_ns = capture_file_number(file, "hardware.steal_ns", UINT64_MAX);
	hardware->late_steal_ns = capture_file_number(file, "hardware.late_steal_ns", UINT64_MAX);
	hardware->nmis = capture_file_number(file, "hardware.nmis", UINT64_MAX);
	hardware->throttles = capture_file_number(file, "hardware.throttles", UINT64_MAX);
	put_idle_states(hardware, file);
}

/* The file is untrusted; reports rely on expected <= actual <= time. */
static int put_times(struct facts *facts, const struct capture_file *file)
{
	const struct perf_poke_spike *spike = file->capture->spike;
	uint64_t actual = spike->actual_ns, expected = spike->expected_ns;
	uint64_t latency = spike->latency_ns;

	if (!actual || actual > spike->time_ns)
		actual = spike->time_ns;
	if (!expected || expected > actual)
		expected = actual - (latency < actual ? latency : 0);
	facts->latency_ns = actual - expected;
	facts->irq_ns = spike->irq_ns < facts->latency_ns ? spike->irq_ns : facts->latency_ns;
	facts->to_clock_ns = file->view.spike_ns - spike->time_ns;
	facts->expected_ns = expected + facts->to_clock_ns;
	facts->actual_ns = actual + facts->to_clock_ns;
	facts->time_ns = file->view.spike_ns;
	return facts->expected_ns <= facts->actual_ns && facts->actual_ns <= facts->time_ns
		       ? 0
		       : -EINVAL;
}

/* Whether it is the latency of neither a timer nor a wakeup. */
static bool is_reported(enum perf_poke_trigger_kind kind)
{
	return kind != PERF_POKE_TRIGGER_IRQ && kind != PERF_POKE_TRIGGER_THREAD &&
	       kind != PERF_POKE_TRIGGER_USER && kind != PERF_POKE_TRIGGER_WAKEUP;
}

int capture_facts(struct facts *facts, const struct capture_file *file)
{
	const struct perf_poke_capture *capture = file->capture;
	const struct perf_poke_spike *spike = capture->spike;
	bool perf = file->view.recorder == PERF_POKE_RECORDER_PERF;

	*facts = (struct facts){
		.pt = file->view.recorder == PERF_POKE_RECORDER_PT,
		.none = !view_has_trace(file->view.recorder) && !perf,
		.perf = perf,
		.no_times = file->view.no_times,
		.ends_at_spike = file->view.ends_at_spike,
		.poked = spike->poked,
		.idle = spike->idle,
		.thread = spike->kind != PERF_POKE_TRIGGER_IRQ,
		.reported = is_reported(spike->kind),
		.noise = spike->kind == PERF_POKE_TRIGGER_NOISE,
		.noise_most_ns = spike->noise_most_ns,
		.cpu = spike->cpu,
		.threshold_ns = spike->threshold_ns,
		.history_ns = file->view.history_ns,
		.skid_ns = capture->skid_ns,
		.events = capture->events,
		.lost = capture->lost,
		.pid = spike->pid,
		.tid = spike->tid,
	};
	put_texts(facts, file);
	put_stacks(facts, spike);
	put_hardware(&facts->hardware, file);
	return put_times(facts, file);
}

void capture_statistics(struct statistics *statistics, const struct capture_file *file)
{
	const struct perf_poke_capture *capture = file->capture;

	*statistics = (struct statistics){
		.cpu = (int)capture_file_number(file, "statistics.cpu", UINT64_MAX),
		.count = capture_file_number(file, "statistics.count", 0),
		.min_ns = capture_file_number(file, "statistics.min_ns", 0),
		.avg_ns = capture_file_number(file, "statistics.avg_ns", 0),
		.p50_ns = capture_file_number(file, "statistics.p50_ns", 0),
		.p99_ns = capture_file_number(file, "statistics.p99_ns", 0),
		.p99_9_ns = capture_file_number(file, "statistics.p99_9_ns", 0),
		.max_ns = capture_file_number(file, "statistics.max_ns", 0),
		.spikes = capture_file_number(file, "statistics.spikes", 0),
		.unarmed = capture_file_number(file, "statistics.unarmed", 0),
	};
	for (; statistics->nr < capture->nr_buckets && statistics->nr < STATISTICS_ROWS_MAX;
	     statistics->nr++) {
		const struct perf_poke_bucket *bucket = &capture->buckets[statistics->nr];

		statistics->rows[statistics->nr].low_ns = bucket->low_ns;
		statistics->rows[statistics->nr].high_ns = bucket->high_ns;
		statistics->rows[statistics->nr].count = bucket->count;
	}
}
