// SPDX-License-Identifier: GPL-2.0-only
#include "output/output.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#include "clock.h"
#include "task.h"
#include "text.h"
#include "units.h"

#define HEADLINE_MAX 160
#define HEADLINE_MIN 40
#define PATH_MAX_LINES 24
#define ROWS_MAX 16
/* Times of Intel PT without the packets CYC and MTC */
#define COARSE_NS 1000
#define TIME "%" PRIu64 ".%09" PRIu64
#define INTERRUPTED "what the timer's interrupt hit"
#define SPLIT(ns) (ns) / NSEC_PER_SEC, (ns) % NSEC_PER_SEC

size_t account_columns(const struct account *account)
{
	size_t columns = account->columns ?: ACCOUNT_COLUMNS;

	return MAX(ACCOUNT_COLUMNS_MIN, MIN(columns, ACCOUNT_COLUMNS));
}

/* A column of names, as wide as the other columns of a table leave it. */
static int account_name_width(const struct account *account, size_t others)
{
	return (int)(account_columns(account) - others);
}

/* A name that is longer than its column has a line of its own. */
static void print_name(FILE *file, const char *name, int width, int before)
{
	fprintf(file, "%-*s", width, name);
	if (strlen(name) > (size_t)width)
		fprintf(file, "\n%*s", before + width, "");
}

void account_print_wrapped(FILE *file, const struct account *account, const char *text)
{
	size_t columns = account_columns(account), column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column && column + 1 + length > columns) {
			fputs("\n    ", file);
			column = 4;
		} else if (column) {
			fputc(' ', file);
			column++;
		}
		fprintf(file, "%.*s", (int)length, text);
		column += length;
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', file);
}

/* Length of what fits into the first line: up to the end of a part of the sentence. */
static size_t headline_length(const char *sentence)
{
	static const char *const ends[] = { "; ", ", ", " < ", " " };
	size_t length = strlen(sentence);

	for (size_t i = 0; i < ARRAY_SIZE(ends) && length > HEADLINE_MAX; i++) {
		for (size_t at = HEADLINE_MAX; at > HEADLINE_MIN; at--) {
			if (has_prefix(sentence + at, ends[i]))
				return at;
		}
	}
	return length > HEADLINE_MAX ? HEADLINE_MAX : length;
}

static void account_print_sentence(FILE *file, const struct account *account)
{
	_cleanup_free_ char *text = strdup(account->sentence);
	size_t length;
	char *rest;

	if (!text) {
		fputs("?\n", file);
		return;
	}
	length = headline_length(text_make_printable(text));
	rest = text + length;
	rest += strspn(rest, ";, ");
	text[length] = '\0';
	account_print_wrapped(file, account, text);
	if (*rest)
		account_print_wrapped(file, account, rest);
}

static void account_print_source(FILE *file, const struct account *account)
{
	const struct facts *facts = &account->facts;

	if (facts->recorder == PERF_POKE_RECORDER_PERF)
		fprintf(file, "  %-12s perf, which was poked: the trace is in its perf.data\n",
			"seen by");
	else if (facts->recorder == PERF_POKE_RECORDER_NONE)
		fprintf(file, "  %-12s the trigger alone: nothing was recorded\n", "seen by");
	else if (facts->unread)
		fprintf(file,
			"  %-12s the trigger alone: this build has no libipt, which decodes the "
			"trace\n",
			"seen by");
	else if (facts->no_times)
		fprintf(file,
			"  %-12s Intel PT without times: what was executed, in order; script and "
			"export\n  %-12s --axis instructions show all of it\n",
			"seen by", "");
	else if (facts_is_pt(facts))
		fprintf(file, "  %-12s Intel PT: every function that was executed%s%s%s\n",
			"seen by", account->spans->step_ns ? ", with times every " : "",
			account->spans->step_ns ? FORMAT_TIME(account->spans->step_ns) : "",
			account->spans->step_ns < COARSE_NS ? "" : ": shorter ones are chance");
	else if (account->spans->functions == RING_CALLS)
		fprintf(file,
			"  %-12s ftrace: every call of the functions that it traces, and events\n",
			"seen by");
	else if (account->spans->functions == RING_ENTRIES)
		fprintf(file,
			"  %-12s ftrace without returns: a function goes on until a call shows "
			"that\n"
			"  %-12s it has returned, at most that long\n",
			"seen by", "");
	else
		fprintf(file, "  %-12s events: interrupts, softirqs, timers and tasks; %s\n",
			"seen by",
			account->spans->samples.nr ? "samples of functions"
						   : "functions only at the spike");
	if (!facts_is_pt(facts) && facts->capture.lost)
		fprintf(file, "  %-12s %" PRIu64 " events were lost\n", "", facts->capture.lost);
	if (facts_is_pt(facts) && !facts->no_times && account->after_insns)
		fprintf(file, "  %-12s %" PRIu64 " instructions in %s were executed after the %s\n",
			"", account->after_insns, FORMAT_TIME(account->after_ns),
			facts->spike.poked ? "request" : "spike");
	if (account->errors)
		fprintf(file,
			"  %-12s %" PRIu64 " decoding error%s in the window, the first:\n"
			"  %-12s %s\n  %-12s %s\n",
			"", account->errors, account->errors == 1 ? "" : "s", "",
			CLEAN_TO(85, account->first_error), "", account->error_help);
}

static void account_print_latency(FILE *file, const struct facts *facts)
{
	const struct perf_poke_spike *spike = &facts->spike;
	uint64_t expired =
		facts_is_thread(facts) ? spike->expected_ns + spike->irq_ns : spike->actual_ns;
	char task[96];

	if (facts->trigger[0])
		fprintf(file, "  %-12s %s%s%s\n", "trigger", facts->trigger,
			spike->label[0] ? ", " : "", CLEAN_TO(70, spike->label));
	fprintf(file, "  %-12s %s on CPU %d%s%s\n", "latency", FORMAT_TIME(spike->latency_ns),
		spike->cpu, spike->threshold_ns ? ", threshold " : "",
		spike->threshold_ns ? FORMAT_TIME(spike->threshold_ns) : "");
	fprintf(file, "  %-12s " TIME " (when %s)\n", "expected", SPLIT(spike->expected_ns),
		facts_is_reported(facts) ? "it should have been" : "the timer was due");
	/* Of a late thread, its timer's interrupt may be known, too. */
	if (!facts_is_thread(facts) || spike->irq_ns)
		fprintf(file, "  %-12s " TIME " (clock of the timer's interrupt)\n", "expired",
			SPLIT(expired));
	if (facts_is_reported(facts))
		fprintf(file, "  %-12s " TIME " (when it was)\n", "actual",
			SPLIT(spike->actual_ns));
	else if (facts_is_thread(facts))
		fprintf(file, "  %-12s " TIME " (when the thread %s)\n", "actual",
			SPLIT(spike->actual_ns),
			spike->kind == PERF_POKE_TRIGGER_USER ? "was in user space" : "ran");
	fprintf(file, "  %-12s " TIME "\n", "detected", SPLIT(spike->time_ns));
	if (!facts_is_reported(facts) && facts->function[0])
		fprintf(file, "  %-12s %s\n", "timer", CLEAN_TO(80, facts->function));
	if (facts->spike.late_tid)
		fprintf(file, "  %-12s %s\n", "late",
			CLEAN(task_format_name(task, sizeof(task), false, facts->spike.late_comm,
					       facts->spike.late_pid, facts->spike.late_tid)));
	/* Of a report for another CPU, the task that ran there; of the thread itself, the same. */
	if ((facts->spike.idle || facts->spike.tid || facts->spike.comm[0]) &&
	    !(facts_is_reported(facts) && facts->spike.late_tid))
		fprintf(file, "  %-12s %s\n", facts_is_reported(facts) ? "running" : "interrupted",
			CLEAN(facts_format_task(facts, task, sizeof(task))));
}

static void account_print_spike(FILE *file, const struct account *account)
{
	const struct facts *facts = &account->facts;

	if (!facts->spike.poked)
		account_print_latency(file, facts);
	account_print_source(file, account);
	if (facts->model[0] || facts->release[0])
		fprintf(file, "  %-12s %s%s%s\n", "machine", CLEAN_TO(40, facts->model),
			facts->model[0] && facts->release[0] ? ", Linux "
			: facts->release[0]		     ? "Linux "
							     : "",
			CLEAN_TO(40, facts->release));
	hardware_put_counts(file, &facts->hardware, "  hardware     ");
	if (facts->wall_time[0])
		fprintf(file, "  %-12s %s\n", "at", CLEAN(facts->wall_time));
	if (account->fingerprint.id[0])
		fprintf(file, "  %-12s %s\n", "fingerprint",
			CLEAN_TO(FINGERPRINT_ID_SIZE, account->fingerprint.id));
}

static double percent_of_whole(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_usage_row(FILE *file, const struct account *account, const struct usage *usage)
{
	const struct findings *findings = &account->findings;
	const char *name = usage->name ? account_name(account, usage->name) : "[not known]";
	/* Interrupts during a task's turns are not counted for the task. */
	bool is_task = usage->kind == SPAN_THREAD || usage->kind == SPAN_IDLE;

	fprintf(file, "  %-11s ", usage->kind == SPAN_IRQS_OFF ? "" : span_kind_name(usage->kind));
	print_name(file, CLEAN_TO(37, name), account_name_width(account, 63), 14);
	fprintf(file, " %8s %5.1f%% %8s %5.1f%% %7" PRIu64 " %8s\n", FORMAT_TIME(usage->time_ns),
		percent_of_whole(usage->time_ns, findings->end - findings->begin),
		FORMAT_TIME(usage->late_ns),
		percent_of_whole(usage->late_ns, findings->late_end - findings->late_begin),
		usage->count, is_task ? "-" : FORMAT_TIME(usage->longest_ns));
}

static void print_rows_left(FILE *file, size_t nr, size_t shown)
{
	if (nr > shown)
		fprintf(file, "  and %zu more\n", nr - shown);
}

static void print_usage_table(FILE *file, const struct account *account, const char *title,
			      const struct usage *usages, size_t nr)
{
	fprintf(file, "\n%-*s %8s %6s %8s %6s %7s %8s\n", account_name_width(account, 49), title,
		"time", "share", "late", "share", "times", "longest");
	for (size_t i = 0; i < nr && i < ROWS_MAX; i++)
		print_usage_row(file, account, &usages[i]);
	print_rows_left(file, nr, ROWS_MAX);
	if (!nr)
		fprintf(file, "  none\n");
}

static void account_print_window(FILE *file, const struct account *account)
{
	const struct findings *findings = &account->findings;
	uint64_t known_ns = findings->end - findings->begin;

	fprintf(file, "  %-12s " TIME "," TIME " is %s to the spike\n", "window",
		SPLIT(findings->begin), SPLIT(findings->end), FORMAT_TIME(known_ns));
	if (account->window_ns - known_ns > account->window_ns / 100)
		fprintf(file, "  %-12s nothing is recorded of the rest of %s\n", "",
			FORMAT_TIME(account->window_ns));
}

static void account_print_analysis(FILE *file, const struct account *account)
{
	const struct analysis *analysis = &account->analysis;

	if (!analysis->nr)
		return;
	fputc('\n', file);
	print_name(file, "the latency, in the terms of rtla's auto-analysis",
		   account_name_width(account, 33), 0);
	fprintf(file, " %8s %6s\n", "time", "share");
	for (size_t i = 0; i < analysis->nr; i++) {
		const struct analysis_row *row = &analysis->rows[i];

		fprintf(file, "  %-26s ", analysis_term(row->kind));
		print_name(file,
			   row->name ? CLEAN_TO(38, account_name(account, row->name)) : row->note,
			   account_name_width(account, 62), 29);
		fprintf(file, " %8s %5.1f%%\n", FORMAT_TIME(row->time_ns),
			percent_of_whole(row->time_ns, account->facts.spike.latency_ns));
	}
}

static void print_part_of_whole(FILE *file, uint64_t part, uint64_t whole, bool times)
{
	if (times)
		fprintf(file, "%8s", FORMAT_TIME(part));
	else
		fprintf(file, "%8" PRIu64, part);
	fprintf(file, " %5.1f%% ", percent_of_whole(part, whole));
}

/* By time, or, without times, by instructions. */
static void print_function_table(FILE *file, const struct account *account, size_t top)
{
	const struct findings *findings = &account->findings;
	uint64_t whole = findings->end - findings->begin;
	bool times = !account->facts.no_times;
	char title[64] = "functions";

	if (!times)
		snprintf(title, sizeof(title), "functions, by the last %" PRIu64 " instructions",
			 whole);
	fputc('\n', file);
	print_name(file, title, account_name_width(account, 49), 0);
	fprintf(file, " %8s %6s %8s %6s%s %7s\n", "self", "share", "total", "share",
		times ? "     late" : "", "calls");
	for (size_t i = 0; i < findings->nr_functions && i < top; i++) {
		const struct function *function = &findings->functions[i];
		const char *source;

		fputs("  ", file);
		print_name(file, CLEAN_TO(49, account_name(account, function->name)),
			   account_name_width(account, 51), 2);
		fputc(' ', file);
		print_part_of_whole(file, function->self_ns, whole, times);
		print_part_of_whole(file, function->total_ns, whole, times);
		if (times)
			fprintf(file, "%8s ", FORMAT_TIME(function->late_ns));
		source = account_source(account, function->name);
		fprintf(file, "%7" PRIu64 "%s%s\n", function->count, *source ? "  " : "",
			CLEAN_TO(47, source));
	}
	print_rows_left(file, findings->nr_functions, top);
}

static void account_print_path(FILE *file, const struct account *account, uint32_t task)
{
	const struct lane *code = &account->spans->lanes[LANE_CODE];
	const struct spike_stack *stack = &account->facts.stack;
	const struct span *span = NULL;
	size_t nr = 0;

	for (uint32_t i = account->findings.path; i != SPAN_NONE && nr < PATH_MAX_LINES;
	     i = code->spans[i].parent, nr++) {
		const char *source;
		bool plain;

		span = &code->spans[i];
		plain = span->kind == SPAN_FUNCTION;
		source = account_source(account, span->name);
		fprintf(file, "  %s%s%s%s%s%s\n", nr ? "< " : "",
			CLEAN_TO(80, account_name(account, span->name)), plain ? "" : ", ",
			plain ? "" : span_kind_name((enum span_kind)span->kind),
			*source ? ", " : "", CLEAN_TO(47, source));
	}
	for (size_t i = span ? account_callers_before(account, span) : stack->nr;
	     i < stack->nr && nr < PATH_MAX_LINES; i++, nr++)
		fprintf(file, "  < %s%s, called before the trace began\n",
			CLEAN_TO(80, stack->frames[i].name), stack->frames[i].user ? ", user" : "");
	if (task != SPAN_NONE)
		fprintf(file, "  %sin %s\n", nr == PATH_MAX_LINES ? "... " : "",
			CLEAN_TO(80,
				 account_name(account,
					      account->spans->lanes[LANE_TASKS].spans[task].name)));
	else if (!nr)
		fprintf(file, "  not known\n");
}

static void print_stack_line(FILE *file, const char *before, const char *name,
			     const struct spike_frame *frame, const char *more, const char *source)
{
	fprintf(file, "  %s%s", before, name);
	if (frame->module[0])
		fprintf(file, " [%s]", frame->module);
	fprintf(file, "%s%s%s%s\n", frame->user ? ", user" : "", more, source[0] ? ", " : "",
		source);
}

static void print_spike_stack(FILE *file, const char *title, const struct spike_stack *stack)
{
	const char *before = "";
	size_t next = 0;

	if (!stack->nr)
		return;
	fprintf(file, "\n%s\n", title);
	for (size_t i = 0; i < stack->nr && i < PATH_MAX_LINES; i++) {
		const struct spike_frame *frame = &stack->frames[i];

		for (; next < stack->nr_inlined && stack->inlined[next].frame == i; next++) {
			print_stack_line(file, before, stack->inlined[next].name, frame,
					 ", inlined", stack->inlined[next].source);
			before = "< ";
		}
		print_stack_line(file, before, frame->name, frame, "", frame->source);
		before = "< ";
	}
	if (stack->nr > PATH_MAX_LINES)
		fprintf(file, "  and %zu more\n", stack->nr - PATH_MAX_LINES);
}

const char *account_holder_title(const struct facts *facts)
{
	return facts->holder.interrupted
		       ? INTERRUPTED
		       : "the task that delayed the thread, where it gave up the CPU";
}

const char *account_stack_title(const struct facts *facts)
{
	return facts_is_reported(facts) ? "where it was reported"
	       : facts_is_thread(facts) ? "what was switched out when the thread ran"
					: INTERRUPTED;
}

static void account_print_stacks(FILE *file, const struct account *account)
{
	const struct facts *facts = &account->facts;

	print_spike_stack(file, account_holder_title(facts), &facts->holder);
	print_spike_stack(file, account_stack_title(facts), &facts->stack);
}

static void print_cause_counts(FILE *file, const struct account *account)
{
	const struct cause *cause = &account->cause;

	if (!cause->insns)
		return;
	fprintf(file, "  %-12s %s executed %" PRIu64 " instructions", "cause",
		CLEAN_TO(40, account_name(account, cause->name)), cause->insns);
	if (cause->cycles)
		fprintf(file, ", %.2f a cycle", (double)cause->insns / (double)cause->cycles);
	fputc('\n', file);
}

void account_print(FILE *file, const struct account *account, size_t top)
{
	const struct lane *tasks = &account->spans->lanes[LANE_TASKS];
	const struct findings *findings = &account->findings;
	const struct facts *facts = &account->facts;

	account_print_sentence(file, account);
	fputc('\n', file);
	account_print_spike(file, account);
	if (!facts_have_trace(facts)) {
		account_print_stacks(file, account);
		return;
	}
	if (facts->no_times) {
		fprintf(file, "\nwhere the trace ended, which is %s\n",
			facts->spike.poked     ? "some time after the request"
			: facts->ends_at_spike ? "at the spike"
					       : "some time after the spike");
		/* Only times show which task it was. */
		account_print_path(file, account, SPAN_NONE);
		print_function_table(file, account, top);
		return;
	}
	print_cause_counts(file, account);
	account_print_window(file, account);
	if (account->thread)
		late_thread_print(file, account->thread, account->spans->names,
				  account_columns(account));
	account_print_analysis(file, account);
	print_usage_table(file, account, "what the CPU did", findings->budget, findings->nr_budget);
	if (account->spans->has_functions)
		print_usage_table(file, account, "interrupts off, by", findings->irqs_off,
				  findings->nr_irqs_off);
	if (account->spans->has_functions)
		print_function_table(file, account, top);
	if (!facts->spike.poked) {
		fprintf(file, "\nwhen %s\n",
			facts_is_reported(facts) ? "it should have been"
						 : "the timer was to expire");
		account_print_path(file, account,
				   lane_innermost_at(tasks, facts->spike.expected_ns));
	}
	account_print_stacks(file, account);
}
