// SPDX-License-Identifier: GPL-2.0-only
#include "facts/captures.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "code/code.h"

unsigned int decoding_threads(void)
{
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	return (unsigned int)CPU_COUNT(&cpus);
}

/* Progress for the hooks. */
struct showing {
	const struct analysis_hooks *hooks;
	const char *doing;
	uint64_t begin, end; /* in the time of the trace */
	uint64_t next;	     /* update; UINT64_MAX: never */
};

static void begin_showing_progress(struct showing *showing, const struct decoding *decoding)
{
	const struct facts *facts = decoding->facts;
	uint64_t history = facts->spike.time_ns - facts->capture.history_ns;

	*showing = (struct showing){
		.hooks = decoding->hooks,
		.doing = decoding->doing,
		.begin = decoding->begin > history ? decoding->begin : history,
		.end = decoding->end < facts->spike.time_ns ? decoding->end : facts->spike.time_ns,
		.next = clock_ns(CLOCK_MONOTONIC) + SHOW_AFTER_NS,
	};
	if (!decoding->hooks->progress || showing->end <= showing->begin ||
	    !facts->capture.history_ns)
		showing->next = UINT64_MAX;
}

static void show_decoded_part(struct showing *showing, uint64_t time)
{
	uint64_t whole = showing->end - showing->begin, done;
	char text[64];

	if (showing->next == UINT64_MAX || clock_ns(CLOCK_MONOTONIC) < showing->next)
		return;
	showing->next = clock_ns(CLOCK_MONOTONIC) + SHOW_EVERY_NS;
	done = time < showing->begin ? 0 : time - showing->begin;
	if (done > whole)
		done = whole;
	snprintf(text, sizeof(text), "%s: %.0f%%", showing->doing,
		 100.0 * (double)done / (double)whole);
	showing->hooks->progress(showing->hooks->ctx, text);
}

static void count_after_spike(const struct facts *facts, const struct decode_item *items, size_t nr,
			      struct decoding_result *result)
{
	uint64_t spike = facts->spike.time_ns;

	for (size_t i = nr; i-- && items[i].time > spike;) {
		if (items[i].kind != DECODE_BLOCK || items[i].cpu != facts->spike.cpu)
			continue;
		result->after_insns += items[i].insns;
		if (items[i].time - spike > result->after_ns)
			result->after_ns = items[i].time - spike;
	}
}

/* calls and result may be NULL. */
static int decode_to_end(struct decode *decode, const struct facts *facts, struct calls *calls,
			 struct showing *showing, struct decoding_result *result)
{
	const struct decode_item *items;
	size_t nr;
	int err;

	while (!(err = decode_next(decode, &items, &nr)) && nr) {
		if (calls)
			calls_add(calls, items, nr);
		if (result)
			count_after_spike(facts, items, nr, result);
		show_decoded_part(showing, items[nr - 1].time);
	}
	if (showing->hooks->progress)
		showing->hooks->progress(showing->hooks->ctx, NULL);
	return err == -ECANCELED ? -EINTR : err;
}

static void set_decoding_errors(struct decoding_result *result, const struct calls *calls)
{
	const struct decode_item *first;
	char text[96];

	result->errors = calls_errors(calls, &first);
	result->error_help = "";
	if (!result->errors)
		return;
	decode_error_text(first->error, first->from, text, sizeof(text));
	snprintf(result->first_error, sizeof(result->first_error), "CPU %d, offset %" PRIu64 ": %s",
		 first->cpu, first->offset, text);
	if (first->end != DECODE_NO_CODE)
		result->error_help = "files here may be others than the traced ones: --symfs names "
				     "a folder of those";
	else if (first->from >> 63)
		result->error_help = "the kernel has loaded it since the session began, such as a "
				     "module or a BPF program";
	else
		result->error_help = "its file was not found, or it has none: --symfs names a "
				     "folder that has it";
}

static int decode_calls(const struct decoding *decoding, struct decode *decode,
			struct timeline *timeline, struct names *names,
			struct decoding_result *result)
{
	const struct facts *facts = decoding->facts;
	const struct calls_opts opts = {
		.axis = decoding->axis,
		.spike = facts->spike.time_ns,
		.expected = facts->spike.expected_ns,
		.latency_ns = facts->spike.latency_ns,
		.spike_cpu = facts->spike.cpu,
		.decode = decode,
	};
	struct showing showing;
	struct calls *calls;
	int err = calls_new(&calls, &opts, timeline, names);

	if (err)
		return err;
	begin_showing_progress(&showing, decoding);
	err = decode_to_end(decode, facts, calls, &showing, result);
	if (!err)
		err = calls_finish(calls, &result->end, &result->gaps);
	set_decoding_errors(result, calls);
	calls_free(calls);
	return err ?: timeline_finish(timeline, result->end);
}

/* A function around the window is known only from its return after the window. What was executed
 * after the spike ends with the skid. */
static uint64_t decoding_end_time(const struct decoding *decoding)
{
	uint64_t span = decoding->end - decoding->begin;
	uint64_t skid = decoding->facts->capture.skid_ns;

	if (decoding->end >= decoding->facts->spike.time_ns && span < skid)
		span = skid;
	if (decoding->end == UINT64_MAX || UINT64_MAX - decoding->end < span)
		return 0;
	return decoding->end + span;
}

static bool is_decoding_stopped(const struct decoding *decoding)
{
	return decoding->hooks->stop && *decoding->hooks->stop;
}

static int open_decoder(const struct decoding *decoding, struct decode **decode, char **why)
{
	_cleanup_free_ char *buildid_dir = NULL;
	struct decode_opts opts = {
		.data = decoding->data,
		.symfs = decoding->symfs,
		.symbolizer = decoding->symbolizer,
		.inlined = decoding->inlined,
		.cpu = decoding->cpu,
		.begin = decoding->begin,
		.end = decoding_end_time(decoding),
		.tail = decoding->tail,
		.threads = decoding->threads,
		.runs = decoding->axis == CALLS_TIME,
		.marks = { decoding->begin, decoding->end + 1, decoding->facts->spike.expected_ns,
			   decoding->facts->spike.time_ns },
		.stop = decoding->hooks->stop,
	};
	int err = capture_trace_buildid_dir(decoding->folder, &buildid_dir);

	opts.buildid_dir = buildid_dir;
	if (!err)
		err = decode_new(decode, &opts, why);
	if (err && is_decoding_stopped(decoding))
		return capture_failure(decoding->hooks, decoding->folder, -EINTR, why);
	return err ? failure_explain(why, err, "'%s' cannot be decoded: %s", decoding->folder,
				     *why ?: hooks_error_text(decoding->hooks, err))
		   : 0;
}

static int close_decoder(const struct decoding *decoding, struct decode *decode, int err,
			 char **why)
{
	decode_free(decode);
	if (is_decoding_stopped(decoding))
		err = -EINTR;
	return err ? capture_failure(decoding->hooks, decoding->folder, err, why) : 0;
}

int decoding_run_calls(const struct decoding *decoding, const struct timeline_ops *ops, void *sink,
		       struct names *names, struct decoding_result *result, char **why)
{
	const struct timeline_opts opts = {
		.begin = decoding->begin,
		.end = decoding->end,
		.counted = decoding->axis != CALLS_TIME,
		.ops = ops,
		.sink = sink,
	};
	struct timeline *timeline;
	struct decode *decode;
	int err;

	*result = (struct decoding_result){ 0 };
	err = open_decoder(decoding, &decode, why);
	if (err)
		return err;
	err = timeline_new(&timeline, &opts, names);
	if (!err) {
		err = decode_calls(decoding, decode, timeline, names, result);
		result->slices = timeline_slices(timeline);
		decode_stats(decode, &result->stats);
		timeline_free(timeline);
	}
	return close_decoder(decoding, decode, err, why);
}

int decoding_find_executed(const struct decoding *decoding, struct build_id **ids, size_t *nr,
			   char **why)
{
	_cleanup_free_ struct code_file *files = NULL;
	struct showing showing;
	struct decode *decode;
	size_t nr_files = 0;
	int err = open_decoder(decoding, &decode, why);

	if (err)
		return err;
	begin_showing_progress(&showing, decoding);
	err = decode_to_end(decode, decoding->facts, NULL, &showing, NULL);
	if (!err)
		err = decode_code_files(decode, &files, &nr_files);
	if (!err) {
		*ids = calloc(nr_files + 1, sizeof(**ids));
		err = *ids ? 0 : -ENOMEM;
	}
	for (*nr = 0; !err && *nr < nr_files; (*nr)++)
		(*ids)[*nr] = files[*nr].id;
	return close_decoder(decoding, decode, err, why);
}
