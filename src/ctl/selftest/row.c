// SPDX-License-Identifier: GPL-2.0-only
#include "selftest/selftest.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "arch.h"
#include "archive/archive.h"
#include "cause/account.h"
#include "cli/cli.h"
#include "text.h"
#include "units.h"

/* Default size of an AUX sample; see perf_poke.h. */
#define SAMPLE_SIZE (UINT64_C(60) << 10)
/* Estimated size of a tracepoint record. */
#define RECORD_MAX 128
/* Tolerate one lost event in this many. */
#define LOST_MAX 20
/* Maximum of instructions after the spike if the kernel stops the trace */
#define FROZEN_MAX 50000
#define SKID_MAX_NS UINT64_C(200000000)
/* Tolerance between two clocks. */
#define CLOCK_NS 100000
/* Tolerated decoding errors: a trace that is not paused may have overflowed. */
#define ERRORS_MAX 5

static void row_set_verdict(struct row *row, enum row_check check, enum row_result result,
			    const char *format, va_list args)
{
	struct row_verdict *verdict = &row->verdicts[check];

	if (verdict->result == RESULT_WRONG)
		return;
	verdict->result = result;
	vsnprintf(verdict->why, sizeof(verdict->why), format, args);
}

void row_set_wrong(struct row *row, enum row_check check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	row_set_verdict(row, check, RESULT_WRONG, format, args);
	va_end(args);
}

static void _printf_(3, 4)
	row_set_unknown(struct row *row, enum row_check check, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	row_set_verdict(row, check, RESULT_UNKNOWN, format, args);
	va_end(args);
}

static void row_set_checked(struct row *row, enum row_check check)
{
	if (row->verdicts[check].result == RESULT_UNKNOWN && !*row->verdicts[check].why)
		row->verdicts[check].result = RESULT_OK;
}

static bool row_has_pt_trace(const struct row *row)
{
	return row->recorder == PERF_POKE_RECORDER_PT;
}

static uint64_t row_tolerated_errors(const struct row *row)
{
	return row->freeze == PERF_POKE_FREEZE_PAUSE ? 0 : ERRORS_MAX;
}

static void row_judge_culprit(struct row *row, const struct row_capture *capture)
{
	if (!capture->sentence)
		row_set_wrong(row, CHECK_CULPRIT, "report cannot read %s", capture->path);
	else if (capture->errors > row_tolerated_errors(row))
		row_set_wrong(row, CHECK_CULPRIT, "%" PRIu64 " decoding errors", capture->errors);
	else if (capture->no_times)
		row_set_unknown(row, CHECK_CULPRIT, "TSC is not perf's clock here");
	else if (!capture->named)
		row_set_wrong(row, CHECK_CULPRIT, "report says: %s", capture->sentence);
	row_set_checked(row, CHECK_CULPRIT);
}

static void row_judge_perf(struct row *row, const struct row_capture *capture)
{
	if (*capture->perf_said)
		row_set_wrong(row, CHECK_PERF, "%s", capture->perf_said);
	else if (!capture->perf_ran)
		row_set_unknown(row, CHECK_PERF,
				row->recorder == PERF_POKE_RECORDER_FTRACE
					? "perf does not read trace.dat"
					: "no perf");
	else if (capture->perf_errors > row_tolerated_errors(row))
		row_set_wrong(row, CHECK_PERF, "%" PRIu64 " decoding errors", capture->perf_errors);
	else if (!capture->perf_named)
		row_set_wrong(row, CHECK_PERF, "perf script does not show the cause");
	row_set_checked(row, CHECK_PERF);
}

/* The history fills the ring, or reaches back to the arming, except for trace before the first
 * PSB. */
static void row_judge_history(struct row *row, const struct row_capture *capture)
{
	const struct perf_poke_capture *told = &capture->told;
	bool sampled = row->freeze == PERF_POKE_FREEZE_SAMPLE;
	uint64_t ring = sampled && row->buffer_size > SAMPLE_SIZE ? SAMPLE_SIZE : row->buffer_size;
	/* Of the ring, in the capture; 0: unknown. */
	uint64_t bytes = row_has_pt_trace(row) ? told->trace_bytes : told->events * RECORD_MAX;
	uint64_t armed_ns = told->spike->time_ns - capture->armed_ns;
	/* Decoding starts at a PSB: of a sample, 16 KiB (perf's psb_period) may go before it. */
	bool full = bytes >= ring / 3 * 2;

	if (!row_has_pt_trace(row) && told->lost > told->events / LOST_MAX)
		row_set_wrong(row, CHECK_HISTORY, "%" PRIu64 " events are lost", told->lost);
	else if (!bytes)
		row_set_wrong(row, CHECK_HISTORY, "nothing in a ring of %s can be decoded",
			      FORMAT_SIZE(ring));
	else if (told->history_ns == UINT64_MAX && !full)
		row_set_unknown(row, CHECK_HISTORY, "the trace has no times");
	else if (told->history_ns < told->spike->latency_ns)
		row_set_wrong(row, CHECK_HISTORY, "only %s for a latency of %s",
			      FORMAT_TIME(told->history_ns), FORMAT_TIME(told->spike->latency_ns));
	else if (!full && told->history_ns < armed_ns / 2)
		row_set_wrong(row, CHECK_HISTORY, "%s, %s of a ring of %s, armed for %s",
			      FORMAT_TIME(told->history_ns), FORMAT_SIZE(bytes), FORMAT_SIZE(ring),
			      FORMAT_TIME(armed_ns));
	row_set_checked(row, CHECK_HISTORY);
}

/* The spike is at the end of its latency: the trace must cover most of that. */
static void row_judge_end(struct row *row, const struct row_capture *capture)
{
	const struct perf_poke_capture *told = &capture->told;
	uint64_t spike_ns = told->spike->time_ns;

	if (!capture->last_ns)
		row_set_unknown(row, CHECK_END, "the trace has no times");
	else if (capture->last_ns + told->spike->latency_ns / 4 < spike_ns)
		row_set_wrong(row, CHECK_END, "the trace ends %s before the spike",
			      FORMAT_TIME(spike_ns - capture->last_ns));
	else if (capture->last_ns > spike_ns + told->skid_ns + CLOCK_NS)
		row_set_wrong(row, CHECK_END, "the trace ends %s after the spike with a skid of %s",
			      FORMAT_TIME(capture->last_ns - spike_ns), FORMAT_TIME(told->skid_ns));
	row_set_checked(row, CHECK_END);
}

static void row_judge_skid(struct row *row, const struct row_capture *capture)
{
	const struct perf_poke_capture *told = &capture->told;
	bool frozen =
		row->freeze == PERF_POKE_FREEZE_PAUSE || row->freeze == PERF_POKE_FREEZE_SAMPLE;

	if (!told->skid_ns || told->skid_ns > SKID_MAX_NS)
		row_set_wrong(row, CHECK_SKID, "the trace stopped %s after the spike",
			      FORMAT_TIME(told->skid_ns));
	else if (row_has_pt_trace(row) && capture->after_insns == UINT64_MAX)
		row_set_unknown(row, CHECK_SKID, "the trace has no times");
	else if (row_has_pt_trace(row) && frozen && capture->after_insns > FROZEN_MAX)
		row_set_wrong(row, CHECK_SKID, "%" PRIu64 " instructions after the spike",
			      capture->after_insns);
	row_set_checked(row, CHECK_SKID);
}

static void row_judge_rearmed(struct row *row)
{
	const struct row_capture *first = &row->captures[0], *second = &row->captures[1];

	if (row->nr < ROW_CAPTURES)
		row_set_wrong(row, CHECK_REARMED,
			      "no second capture of a delayed timer; %s of others",
			      FORMAT_COUNT(row->nr_taken - row->nr, "capture", "captures"));
	else if (second->told.spike->sequence <= first->told.spike->sequence)
		row_set_wrong(row, CHECK_REARMED, "spike %" PRIu64 " came after spike %" PRIu64,
			      second->told.spike->sequence, first->told.spike->sequence);
	else if (second->first_ns && second->first_ns < first->told.spike->time_ns)
		row_set_wrong(row, CHECK_REARMED, "the second trace begins before the first spike");
	row_set_checked(row, CHECK_REARMED);
}

static void row_judge_signal(struct row *row)
{
	if (row->signals + row->merged != row->nr_taken)
		row_set_wrong(row, CHECK_SIGNAL, "%s for %s",
			      FORMAT_COUNT(row->signals, "signal", "signals"),
			      FORMAT_COUNT(row->nr_taken - row->merged, "spike", "spikes"));
	row_set_checked(row, CHECK_SIGNAL);
}

void row_judge_checks(struct row *row)
{
	row_set_checked(row, CHECK_CLEAN);
	if (row->failure)
		row_set_wrong(row, CHECK_CAPTURED, "%s", row->failure);
	else if (row->nr_failed)
		row_set_wrong(row, CHECK_CAPTURED, "%s failed",
			      FORMAT_COUNT(row->nr_failed, "capture", "captures"));
	else if (!row->nr)
		row_set_wrong(row, CHECK_CAPTURED, "no capture of a delayed timer; %s of others",
			      FORMAT_COUNT(row->nr_taken, "capture", "captures"));
	row_set_checked(row, CHECK_CAPTURED);
	if (!row->nr)
		return;
	for (size_t i = 0; i < row->nr; i++) {
		row_judge_culprit(row, &row->captures[i]);
		row_judge_history(row, &row->captures[i]);
		row_judge_end(row, &row->captures[i]);
		row_judge_skid(row, &row->captures[i]);
	}
	row_judge_perf(row, &row->captures[0]);
	row_judge_rearmed(row);
	row_judge_signal(row);
}

bool row_passed_checks(const struct row *row)
{
	for (size_t i = 0; i < CHECK_NR; i++) {
		if (row->verdicts[i].result == RESULT_WRONG)
			return false;
	}
	return true;
}

void row_release_all(struct row *row)
{
	for (size_t i = 0; i < row->nr; i++) {
		free(row->captures[i].path);
		free(row->captures[i].sentence);
	}
	free(row->failure);
	*row = (struct row){ 0 };
}

/* Decode the skid and this much more after the spike. */
#define AFTER_NS 1000000

/* The times of the first and the last known activity. */
static void row_capture_find_times(struct row_capture *capture, const struct account *account)
{
	const struct spans *spans = account->spans;
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < LANE_NR; i++) {
		for (uint32_t j = 0; j < spans->lanes[i].nr; j++) {
			const struct span *span = &spans->lanes[i].spans[j];

			if (span->begin < first)
				first = span->begin;
			if (span->begin > last)
				last = span->begin;
			if (!span->cut && span->end > last)
				last = span->end;
		}
	}
	if (!last || account->facts.no_times)
		return;
	capture->first_ns = first - account->facts.to_clock_ns;
	capture->last_ns = last - account->facts.to_clock_ns;
}

void decode_by_report(struct row_capture *capture, struct console *con)
{
	_cleanup_(account_release) struct account account = { 0 };
	const struct account_want want = { .after_ns = capture->told.skid_ns + AFTER_NS };
	_cleanup_free_ char *why = NULL;
	struct analysis_hooks hooks;

	capture->after_insns = UINT64_MAX;
	reader_hooks(con, &hooks);
	if (account_load(&account, &hooks, capture->path, &want, &why)) {
		console_error(con, "%s", why ?: strerror(ENOMEM));
		return;
	}
	capture->sentence = strdup(account.sentence);
	capture->errors = account.errors;
	capture->no_times = account.facts.no_times;
	if (facts_is_pt(&account.facts) && !capture->no_times)
		capture->after_insns = account.after_insns;
	/* The kernel also calls what another CPU asked for without an interrupt, as its migration
	 * thread does. */
	capture->named = strstr(account.sentence, LOAD_FUNCTION) ||
			 (!facts_is_pt(&account.facts) &&
			  (strstr(account.sentence, arch_here()->call_interrupt) ||
			   strstr(account.sentence, LOAD_CALL)));
	row_capture_find_times(capture, &account);
}

struct reading {
	struct row_capture *capture;
	const char *name; /* to look for */
};

static void perf_script_read_line(void *ctx, char *line)
{
	const struct reading *reading = ctx;
	struct row_capture *capture = reading->capture;

	if (strstr(line, reading->name))
		capture->perf_named = true;
	if (strstr(line, "instruction trace error"))
		capture->perf_errors++;
	else if (!strncmp(line, "Error", 5) || strstr(line, "failed to"))
		text_copy_printable(capture->perf_said, sizeof(capture->perf_said), line);
}

/* Shows the time during which the timer was late. */
void decode_by_perf(struct row_capture *capture, const struct perf_tool *perf, struct console *con)
{
	_cleanup_(argv_free_words) char **argv = NULL;
	_cleanup_free_ char *data = NULL, *why = NULL;
	struct analysis_hooks hooks;
	struct view_options options = { .window_ns = capture->told.spike->latency_ns };
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	struct reading reading = { .capture = capture };
	int err;

	reader_hooks(con, &hooks);
	err = capture_trace_need(&hooks, capture->path, &file, &data, &why);
	if (err) {
		console_error(con, "%s", why ?: strerror(ENOMEM));
		return;
	}
	err = perf_script_argv(&file.facts, &options, perf->path, data, &argv);
	reading.name = facts_is_pt(&file.facts) ? LOAD_FUNCTION : arch_here()->call_in_perf;
	if (!err) {
		err = perf_tool_lines(argv, true, perf_script_read_line, &reading);
		capture->perf_ran = err >= 0;
	}
	if (err > 0 && !*capture->perf_said)
		snprintf(capture->perf_said, sizeof(capture->perf_said),
			 "perf script fails with status %d", err);
	else if (err < 0)
		snprintf(capture->perf_said, sizeof(capture->perf_said), "%s", strerror(-err));
}

static const char *const check_names[] = {
	[CHECK_CAPTURED] = "captured", [CHECK_CULPRIT] = "culprit", [CHECK_PERF] = "perf",
	[CHECK_HISTORY] = "history",   [CHECK_END] = "end",	    [CHECK_SKID] = "skid",
	[CHECK_REARMED] = "re-armed",  [CHECK_SIGNAL] = "signal",   [CHECK_CLEAN] = "clean",
};
_Static_assert(ARRAY_SIZE(check_names) == CHECK_NR, "each has a name");

static const char *const what_names[] = { "recorder", "freeze", "delivery" };

static void row_print_names(FILE *file, const char *const names[3])
{
	fprintf(file, "%-9s %-7s %-10s", names[0], names[1], names[2]);
}

void row_print_header(FILE *file)
{
	row_print_names(file, what_names);
	for (size_t i = 0; i < CHECK_NR; i++)
		fprintf(file, " %-8s", check_names[i]);
	fputc('\n', file);
}

/* The reasons follow in lines of their own. */
void row_print_result(FILE *file, const struct row *row)
{
	static const char *const cells[] = { "-", "ok", "WRONG" };

	row_print_names(file, row->names);
	for (size_t i = 0; i < CHECK_NR; i++)
		fprintf(file, " %-8s", cells[row->verdicts[i].result]);
	fputc('\n', file);
	for (size_t i = 0; i < CHECK_NR; i++) {
		if (*row->verdicts[i].why)
			fprintf(file, "    %s: %s\n", check_names[i],
				CLEAN_TO(sizeof(row->verdicts[i].why), row->verdicts[i].why));
	}
}

static json_object *json_new_number(uint64_t value)
{
	return value == UINT64_MAX ? NULL : json_object_new_uint64(value);
}

static json_object *row_json_capture(const struct row_capture *capture)
{
	const struct perf_poke_capture *told = &capture->told;
	json_object *object = json_object_new_object();

	json_add(object, "latency_ns", json_new_number(told->spike->latency_ns));
	json_add(object, "history_ns", json_new_number(told->history_ns));
	json_add(object, "skid_ns", json_new_number(told->skid_ns));
	json_add(object, "blind_ns", json_new_number(told->blind_ns));
	json_add(object, "events", json_new_number(told->events));
	json_add(object, "trace_bytes", json_new_number(told->trace_bytes));
	json_add(object, "instructions_after_spike", json_new_number(capture->after_insns));
	json_add(object, "errors", json_new_number(capture->errors));
	json_add_text(object, "sentence", capture->sentence);
	return object;
}

static json_object *row_json_verdict(const struct row_verdict *verdict)
{
	json_object *object = json_object_new_object();

	if (verdict->result == RESULT_UNKNOWN)
		json_add(object, "ok", NULL);
	else
		json_add_bool(object, "ok", verdict->result == RESULT_OK);
	json_add_name(object, "why", verdict->why);
	return object;
}

json_object *row_json_object(const struct row *row)
{
	json_object *object = json_typed_object("row");
	json_object *checks = json_object_new_object();
	json_object *captures = json_object_new_array();

	for (size_t i = 0; i < ARRAY_SIZE(what_names); i++)
		json_add_text(object, what_names[i],
			      strcmp(row->names[i], "-") ? row->names[i] : NULL);
	json_add_bool(object, "ok", row_passed_checks(row));
	for (size_t i = 0; i < CHECK_NR; i++)
		json_add(checks, check_names[i], row_json_verdict(&row->verdicts[i]));
	json_add(object, "checks", checks);
	for (size_t i = 0; i < row->nr; i++)
		json_object_array_add(captures, row_json_capture(&row->captures[i]));
	json_add(object, "captures", captures);
	return object;
}

static int bundle_check_ending(void *ctx, uint64_t bytes)
{
	return signals_asked_end ? -EINTR : 0;
}

static int bundle_pack_capture(struct pack *pack, const char *folder, char **why)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *top = strfmt(LAYOUT_SELFTEST "/%s", strrchr(folder, '/') + 1);
	int err;

	if (fd < 0 || !top)
		return -errno;
	err = pack_begin_folder(pack, top, why);
	return err ? err : pack_add_capture(pack, fd, NULL, NULL, why);
}

int bundle_write_archive(const struct bundle *bundle, struct console *con, const char *path,
			 bool force)
{
	struct pack_sink sink = { .progress = bundle_check_ending };
	_cleanup_free_ char *why = NULL;
	struct output_file file;
	struct pack *pack = NULL;
	bool same;
	int err = output_file_open(&file, path, force);

	sink.fd = file.fd;
	if (!err)
		err = pack_new_archive(&pack, &sink, LAYOUT_SELFTEST, &why);
	if (!err)
		err = pack_add_text(pack, "selftest.json", *bundle->lines, strlen(*bundle->lines),
				    &why);
	if (!err)
		err = pack_add_text(pack, "messages", *bundle->messages, strlen(*bundle->messages),
				    &why);
	if (!err)
		err = pack_host_facts(pack, NULL, &same, &why);
	for (size_t i = 0; i < bundle->nr && !err; i++)
		err = bundle_pack_capture(pack, bundle->captures[i], &why);
	if (!err)
		err = pack_finish_archive(pack, &why);
	pack_free_archive(pack);
	if (!err)
		err = output_file_publish(&file);
	if (err == -EINTR)
		console_error(con, "interrupted: nothing is written");
	else if (err)
		console_error(con, "--output '%s': %s", path, why ?: output_file_strerror(err));
	output_file_close(&file);
	return err;
}
