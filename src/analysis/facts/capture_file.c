// SPDX-License-Identifier: GPL-2.0-only
#include "facts/captures.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "arch.h"
#include "text.h"

#define COPY(to, text) text_copy_printable(to, sizeof(to), text)

uint64_t capture_file_number(const struct capture_file *file, const char *path, uint64_t unknown)
{
	perf_poke__capture_number(file->capture, path, &unknown);
	return unknown;
}

const char *capture_file_text(const struct capture_file *file, const char *path)
{
	return perf_poke__capture_text(file->capture, path) ?: "";
}

static void set_capture_texts(struct facts *facts, const struct capture_file *file)
{
	const struct perf_poke_capture *capture = file->capture;
	const struct perf_poke_spike *spike = capture->spike;

	text_make_printable(facts->spike.comm);
	text_make_printable(facts->spike.label);
	COPY(facts->trigger, capture_file_text(file, "spike.trigger"));
	COPY(facts->function,
	     spike->function_name ?: capture_file_text(file, "spike.function_address"));
	COPY(facts->wall_time, capture_file_text(file, "spike.wall_time"));
	COPY(facts->release, capture->kernel ?: "");
	COPY(facts->hostname, capture->hostname ?: "");
	COPY(facts->model, capture_file_text(file, "machine.cpu"));
	COPY(facts->arch, capture_file_text(file, "machine.arch"));
}

/* As `libc.so.6+0x1234`, where a symbol is not known. */
static void name_unknown_place(struct spike_frame *to, const struct perf_poke_frame *frame)
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

void spike_stack_set(struct spike_stack *stack, const struct perf_poke_frame *const *frames,
		     size_t nr)
{
	stack->nr = 0;
	for (; stack->nr < nr && stack->nr < STACK_FRAMES_MAX; stack->nr++) {
		const struct perf_poke_frame *frame = frames[stack->nr];
		struct spike_frame *to = &stack->frames[stack->nr];

		to->user = frame->user;
		to->function = !frame->user && frame->symbol;
		if (to->function) {
			COPY(to->name, frame->symbol);
			COPY(to->module, frame->file ?: "");
		} else if (frame->symbol) {
			/* Compiled by the process itself. */
			text_copy_printable(to->name, sizeof(to->name), frame->symbol);
			COPY(to->module, "JIT");
		} else {
			name_unknown_place(to, frame);
		}
	}
}

static void set_spike_stacks(struct facts *facts, const struct perf_poke_spike *spike)
{
	spike_stack_set(&facts->stack, spike->stack, spike->nr_frames);
	facts->stack.tid = spike->stack_tid;
	*(facts_is_thread(facts) ? &facts->holder.irqs : &facts->stack.irqs) =
		spike->irqs_off < 0 ? IRQS_NOT_KNOWN
		: spike->irqs_off   ? IRQS_WERE_OFF
				    : IRQS_WERE_ON;
	spike_stack_set(&facts->holder, spike->holder, spike->nr_holder_frames);
	facts->holder.tid = spike->holder_tid;
	facts->holder.interrupted = spike->holder_interrupted;
}

static void set_idle_states(struct hardware_facts *hardware, const struct capture_file *file)
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

static void set_hardware_facts(struct hardware_facts *hardware, const struct capture_file *file)
{
	hardware->since_ns = capture_file_number(file, "hardware.since_ns", 0);
	hardware->smis = capture_file_number(file, "hardware.smis", UINT64_MAX);
	hardware->steal_ns = capture_file_number(file, "hardware.steal_ns", UINT64_MAX);
	hardware->late_steal_ns = capture_file_number(file, "hardware.late_steal_ns", UINT64_MAX);
	hardware->nmis = capture_file_number(file, "hardware.nmis", UINT64_MAX);
	hardware->throttles = capture_file_number(file, "hardware.throttles", UINT64_MAX);
	hardware->hypervisor = capture_file_number(file, "machine.hypervisor", UINT64_MAX);
	hardware->local_irqs_first =
		arch_find(capture_file_text(file, "machine.arch"))->local_irqs_first;
	set_idle_states(hardware, file);
}

static void set_scheduling_facts(struct scheduling_facts *to, const struct capture_file *file)
{
	to->rt_period_us = capture_file_number(file, "scheduling.rt_period_us", 0);
	to->rt_runtime_us =
		(int64_t)capture_file_number(file, "scheduling.rt_runtime_us", UINT64_MAX);
	to->fair_server = (int)capture_file_number(file, "scheduling.fair_server", UINT64_MAX);
	COPY(to->cgroup, capture_file_text(file, "scheduling.cgroup"));
	to->quota_us = capture_file_number(file, "scheduling.quota_us", 0);
	to->quota_period_us = capture_file_number(file, "scheduling.quota_period_us", 0);
	to->nr_throttled = capture_file_number(file, "scheduling.nr_throttled", 0);
	to->throttled_us = capture_file_number(file, "scheduling.throttled_us", 0);
}

/* Events use the clock of the spike, Intel PT uses perf's: recorder.clock relates the two. */
static int set_trace_clock(struct facts *facts, const struct capture_file *file, char **why)
{
	uint64_t monotonic_ns, perf_ns;

	if (!facts_is_pt(facts))
		return 0;
	if (perf_poke__capture_number(file->capture, "recorder.clock.monotonic_ns", &monotonic_ns))
		return say_why(
			why, -EINVAL,
			"recorder.clock.monotonic_ns is missing or not a non-negative integer");
	/* Unknown if TSC was not perf's clock; earlier versions wrote 0. */
	perf_ns = capture_file_number(file, "recorder.clock.perf_ns", 0);
	facts->no_times = !perf_ns;
	if (facts->no_times)
		return 0;
	if (file->capture->spike->time_ns + perf_ns < monotonic_ns)
		return say_why(why, -EINVAL,
			       "recorder.clock: the spike is before the clock's start");
	facts->to_clock_ns = perf_ns - monotonic_ns;
	return 0;
}

/* The file is untrusted; reports rely on expected <= actual <= time. */
static int set_spike_times(struct facts *facts, char **why)
{
	struct perf_poke_spike *spike = &facts->spike;
	uint64_t actual = spike->actual_ns, expected = spike->expected_ns;

	if (!actual || actual > spike->time_ns)
		actual = spike->time_ns;
	if (!expected || expected > actual)
		expected = actual - (spike->latency_ns < actual ? spike->latency_ns : 0);
	spike->latency_ns = actual - expected;
	if (spike->irq_ns > spike->latency_ns)
		spike->irq_ns = spike->latency_ns;
	spike->expected_ns = expected + facts->to_clock_ns;
	spike->actual_ns = actual + facts->to_clock_ns;
	spike->time_ns += facts->to_clock_ns;
	return spike->expected_ns <= spike->actual_ns && spike->actual_ns <= spike->time_ns
		       ? 0
		       : say_why(why, -EINVAL, "inconsistent times");
}

enum perf_poke_recorder capture_recorder_kind(const char *name)
{
	static const char *const names[] = {
		[PERF_POKE_RECORDER_EVENTS] = "events", [PERF_POKE_RECORDER_PT] = "pt",
		[PERF_POKE_RECORDER_PERF] = "perf",	[PERF_POKE_RECORDER_NONE] = "none",
		[PERF_POKE_RECORDER_FTRACE] = "ftrace",
	};

	for (size_t i = 1; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], name))
			return (enum perf_poke_recorder)i;
	}
	return PERF_POKE_RECORDER_AUTO;
}

/* Records of perf and ftrace are in the byte order, and of the word size, of the machine that took
 * them. Earlier versions, which wrote neither, had these alone. */
static int check_machine(const struct capture_file *file, char **why)
{
	const char *here = BYTE_ORDER == LITTLE_ENDIAN ? "little" : "big";
	uint64_t bits = capture_file_number(file, "machine.word_bits", 64);
	const char *order = capture_file_text(file, "machine.byte_order");

	if (!strcmp(*order ? order : "little", here) && bits == 8 * sizeof(long))
		return 0;
	return say_why(why, -EINVAL,
		       "machine: taken on one of %" PRIu64 " bits, %.16s-endian: only captures of "
		       "%zu bits, %s-endian, are read here",
		       bits, *order ? order : "little", 8 * sizeof(long), here);
}

static int set_capture_facts(struct capture_file *file, char **why)
{
	const struct perf_poke_capture *capture = file->capture;
	const char *freeze = capture_file_text(file, "recorder.freeze");
	struct facts *facts = &file->facts;
	int err = check_machine(file, why);

	if (err)
		return err;
	facts->recorder = capture_recorder_kind(capture->recorder);
	if (!facts->recorder)
		return say_why(why, -EINVAL, "recorder.kind '%.32s' is unknown to this version",
			       capture->recorder);
	facts->spike = *capture->spike;
	facts->spike.function_name = NULL;
	facts->spike.stack = facts->spike.holder = NULL;
	facts->capture = (struct perf_poke_capture){
		.history_ns = capture->history_ns == UINT64_MAX ? 0 : capture->history_ns,
		.skid_ns = capture->skid_ns,
		.events = capture->events,
		.lost = capture->lost,
	};
	err = set_trace_clock(facts, file, why);
	if (!err)
		err = set_spike_times(facts, why);
	if (err)
		return err;
	/* Neither for pokes nor for spikes that involve two CPUs. */
	if (facts_is_pt(facts) && facts->spike.cpu >= 0 &&
	    facts->spike.ran_cpu == facts->spike.cpu) {
		facts->sampled = !strcmp(freeze, "sample");
		facts->ends_at_spike = facts->sampled || !strcmp(freeze, "pause");
	}
	if (facts->spike.kind == PERF_POKE_TRIGGER_SPAN) {
		const char *by = capture_file_text(file, "trigger.ends.by");

		facts->by_cpu = !strcmp(by, "cpu");
		facts->by_argument = !strcmp(by, "argument");
	}
	set_capture_texts(facts, file);
	set_spike_stacks(facts, capture->spike);
	set_hardware_facts(&facts->hardware, file);
	set_scheduling_facts(&facts->scheduling, file);
	return 0;
}

/* The library's message, which begins with the file name. */
static int explain_open_error(const char *folder, int err, char **why)
{
	const char *said = perf_poke__last_error();
	size_t name = strlen(folder) + strlen("/" CAPTURE_FILE_NAME ": ");

	return err == -EINVAL || err == -ENOTSUP
		       ? say_why(why, err, "%s", name < strlen(said) ? said + name : said)
		       : err;
}

int capture_file_open(struct capture_file *file, const char *folder, char **why)
{
	int err;

	*file = (struct capture_file){ 0 };
	err = perf_poke__capture_open(&file->capture, folder);
	return err ? explain_open_error(folder, err, why) : set_capture_facts(file, why);
}

void capture_file_close(struct capture_file *file)
{
	perf_poke__capture_close(file->capture);
	file->capture = NULL;
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
