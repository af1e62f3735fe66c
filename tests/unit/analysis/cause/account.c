// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <string.h>

#include "analysis/timeline.h"
#include "output/output.h"
#include "test.h"

/* ---- A trace without times: positions are counts of instructions. -------------------------------
 */

/* 201000 instructions, of which only the last 20000 count. */
static int make(struct account *account, bool ends_at_spike)
{
	int r = TIMELINE(account, true, CALL(0, "early"), RETURN(180000), CALL(180000, "outer"),
			 CALL(182000, "leaf"), RETURN(183000), CALL(199000, "leaf"), RETURN(200000),
			 CALL(200500, "middle"), CALL(201000, "stop"));

	account->facts.no_times = true;
	account->facts.ends_at_spike = ends_at_spike;
	return r ?: account_finish(account);
}

static void print_end(FILE *file)
{
	_cleanup_(account_release) struct account account;

	assert_int_equal(make(&account, true), 0);
	account_print(file, &account, 2);
}

static void print_path(FILE *file, const struct account *account)
{
	json_object *object = account_json(account, 1);

	account_print(file, account, 1);
	fprintf(file, "%s\n", json_object_to_json_string(json_object_object_get(object, "path")));
	json_object_put(object);
}

/* The outermost function of the trace has not returned: the stack at the spike tells who called it,
 * unless it is another one. */
static void print_path_with_stack(FILE *file)
{
	static const struct spike_frame frames[] = {
		{ .name = "middle", .function = true },
		{ .name = "outer", .function = true },
		{ .name = "do_syscall_64", .function = true },
		{ .name = "libc.so.6+0x1234", .user = true },
	};
	_cleanup_(account_release) struct account account;

	assert_int_equal(make(&account, true), 0);
	account.facts.stack.nr = ARRAY_SIZE(frames);
	memcpy(account.facts.stack.frames, frames, sizeof(frames));
	print_path(file, &account);
	strcpy(account.facts.stack.frames[1].name, "other");
	print_path(file, &account);
}

/* A late thread has two stacks. */
static void print_who_had_the_cpu(FILE *file)
{
	for (int interrupted = 0; interrupted < 2; interrupted++) {
		_cleanup_(account_release) struct account account;
		struct spike_stack *holder = &account.facts.holder;

		assert_int_equal(make(&account, true), 0);
		account.facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
		account.facts.recorder = PERF_POKE_RECORDER_NONE;
		holder->nr = 1;
		holder->interrupted = interrupted;
		holder->frames[0] = (struct spike_frame){ .name = "acme_hold", .function = true };
		account_print(file, &account, 1);
	}
}

static void print_long_path(FILE *file)
{
	_cleanup_(account_release) struct account account;
	struct step steps[31] = { TASK(0, "stress 7") };

	for (size_t i = 1; i < ARRAY_SIZE(steps); i++)
		steps[i] = CALL(i, "f");
	assert_int_equal(timeline_make(&account, steps, ARRAY_SIZE(steps), true), 0);
	assert_int_equal(account_finish(&account), 0);
	account_print(file, &account, 1);
}

static void print_what_the_cause_executed(FILE *file)
{
	_cleanup_(account_release) struct account account;
	struct span *spans;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7"), CALL(0, "foo"),
				  CALL(110000, "acme_flush"), OFF(110000, "acme_flush"), ON(190000),
				  RETURN(190000)),
			 0);
	spans = account.spans->lanes[LANE_CODE].spans;
	spans[1].insns = 1000;
	spans[1].cycles = 800;
	assert_int_equal(account_finish(&account), 0);
	account_print(file, &account, 1);
}

/* The first line has at most 160 characters, and ends with a part of the sentence. */
static void print_long_sentences(FILE *file)
{
	static const char *const parts[] = {
		"req 8ms late: waited 7.9ms on a futex",
		"in pthread_mutex_lock() < request_with_a_long_name() < main()",
		"woken by holder 9 on CPU 0",
		"which waited for a disk itself, and so did everybody else on that CPU",
		"and so on",
	};

	for (int i = 0; i < 3; i++) {
		static const char *const separators[] = { ", ", "; ", " " };
		_cleanup_(account_release) struct account account;
		_cleanup_free_ char *text = NULL;

		assert_int_equal(make(&account, true), 0);
		free(account.sentence);
		account.sentence =
			WRITTEN(sentence, for (size_t j = 0; j < 5; j++) fprintf(
						  sentence, "%s%s", parts[j], separators[i]));
		text = WRITTEN(out, account_print(out, &account, 1));
		*strstr(text, "\n\n") = '\0';
		fprintf(file, "%s\n\n", text);
	}
}

static void print_when_it_ended(FILE *file)
{
	for (int poked = 0; poked < 2; poked++) {
		_cleanup_(account_release) struct account account;

		assert_int_equal(make(&account, false), 0);
		account.facts.spike.poked = poked;
		account_print(file, &account, 1);
	}
}

/* A line a member: json-c's pretty form differs between versions. */
static void print_json(FILE *file)
{
	_cleanup_(account_release) struct account account;
	json_object *object;

	assert_int_equal(make(&account, true), 0);
	object = account_json(&account, 1);
	json_object_object_foreach (object, key, value)
		fprintf(file, "%s: %s\n", key,
			json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
	json_object_put(object);
}

GOLDEN(PART(print_end), PART(print_long_sentences), PART(print_path_with_stack),
       PART(print_who_had_the_cpu), PART(print_long_path), PART(print_what_the_cause_executed),
       PART(print_when_it_ended), PART(print_json))

/* ---- The parts of the latency, in the terms of rtla --------------------------------------------
 */

/* The rows as text, one a line. */
static char *rows_of(struct account *account, uint64_t irq_ns)
{
	const struct analysis *analysis = &account->analysis;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (irq_ns && !account->facts.spike.kind)
		account->facts.spike.kind = PERF_POKE_TRIGGER_THREAD;
	account->facts.spike.irq_ns = irq_ns;
	assert_int_equal(account_finish(account), 0);
	for (size_t i = 0; i < analysis->nr; i++) {
		const struct analysis_row *row = &analysis->rows[i];

		fprintf(file, "%s|%s%s|%" PRIu64 "\n", analysis_term(row->kind),
			row->name ? names_get(account->spans->names, row->name) : "", row->note,
			row->time_ns / 1000);
	}
	fclose(file);
	return text;
}

#define ROWS(irq_ns, expected, ...)                                                                \
	do {                                                                                       \
		_cleanup_(account_release) struct account account;                                 \
		_cleanup_free_ char *text = NULL;                                                  \
                                                                                                   \
		assert_int_equal(TIMELINE(&account, false, __VA_ARGS__), 0);                       \
		text = rows_of(&account, irq_ns);                                                  \
		assert_string_equal(text, expected);                                               \
	} while (0)

TEST(an_interrupt_waits_for_its_handler)
{
	ROWS(0,
	     "Previous IRQ interference|ipi|20\n"
	     "IRQ handler delay||95\n"
	     "Timer IRQ duration|local_timer|5\n"
	     "Blocking thread|stress 7|50\n"
	     "NMI interference|nmi|10\n"
	     "Softirq interference|TASKLET|10\n"
	     "Thread interference|other 8|5\n"
	     "IRQ latency||100\n",
	     TASK(0, "other 8"), { LANE_TASKS, 105000, SPAN_THREAD, NULL },
	     TASK(105000, "stress 7"), ENTER(110000, SPAN_INTERRUPT, "ipi"),
	     ENTER(115000, SPAN_NMI, "nmi"), RETURN(125000), RETURN(140000),
	     ENTER(150000, SPAN_SOFTIRQ, "TASKLET"), RETURN(160000),
	     ENTER(195000, SPAN_INTERRUPT, "local_timer"));
	/* The same vector twice: once before the timer's interrupt. */
	ROWS(0,
	     "Previous IRQ interference|local_timer|60\n"
	     "IRQ handler delay||90\n"
	     "Timer IRQ duration|local_timer|10\n"
	     "Blocking thread|stress 7|30\n"
	     "IRQ latency||100\n",
	     TASK(0, "stress 7"), ENTER(90000, SPAN_INTERRUPT, "local_timer"), RETURN(160000),
	     ENTER(190000, SPAN_INTERRUPT, "local_timer"));
	/* An interrupt from before the expected expiry is not the late timer's. */
	ROWS(0,
	     "Previous IRQ interference|local_timer|100\n"
	     "IRQ handler delay||100\n"
	     "IRQ latency||100\n",
	     TASK(0, "stress 7"), ENTER(90000, SPAN_INTERRUPT, "local_timer"));
}

TEST(idle_is_left)
{
	ROWS(0,
	     "IRQ handler delay|(exit from idle)|98\n"
	     "Timer IRQ duration|local_timer|2\n"
	     "Blocking thread|swapper/1|98\n"
	     "IRQ latency||100\n",
	     IDLE(0, "swapper/1"), ENTER(198000, SPAN_INTERRUPT, "local_timer"));
}

TEST(a_thread_waits_for_the_cpu)
{
	ROWS(10000,
	     "IRQ handler delay||5\n"
	     "Timer IRQ duration|local_timer|15\n"
	     "Blocking thread|stress 7|35\n"
	     "IRQ interference|ipi|20\n"
	     "Softirq interference|NET_RX|5\n"
	     "Thread interference|other 8|20\n"
	     "IRQ latency||10\n"
	     "Thread latency||100\n",
	     TASK(0, "stress 7"), ENTER(105000, SPAN_INTERRUPT, "local_timer"), RETURN(120000),
	     ENTER(130000, SPAN_INTERRUPT, "ipi"), RETURN(150000),
	     ENTER(150000, SPAN_SOFTIRQ, "NET_RX"), RETURN(155000),
	     { LANE_TASKS, 180000, SPAN_THREAD, NULL }, TASK(180000, "other 8"));
}

TEST(tells_what_is_not_recorded)
{
	ROWS(0,
	     "IRQ handler delay||100\n"
	     "Blocking thread|stress 7|30\n"
	     "not recorded||60\n"
	     "not recorded|[lost]|10\n"
	     "IRQ latency||100\n",
	     TASK(160000, "stress 7"), GAP(170000, SPAN_LOST, "[lost]"), END_GAP(180000));
}

/* The timer's interrupt is not in a trace of user space. */
TEST(hits_the_last_task_of_a_trace_that_ends_before)
{
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7")), 0);
	account.facts.spike.actual_ns = 202000;
	account.facts.spike.time_ns = 203000;
	text = rows_of(&account, 0);
	assert_string_equal(text, "IRQ handler delay||101\n"
				  "Blocking thread|stress 7|101\n"
				  "not recorded||1\n"
				  "IRQ latency||102\n");
}

/* Nor was it asked for what is before the window. */
TEST(tells_what_the_window_leaves_out)
{
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(TIMELINE(&account, true, TASK(0, "stress 7")), 0);
	account.window_ns = 51000;
	text = rows_of(&account, 0);
	assert_string_equal(text, "IRQ handler delay||100\n"
				  "Blocking thread|stress 7|50\n"
				  "not recorded|(before the window)|50\n"
				  "IRQ latency||100\n");
}

TEST(what_is_reported_late_may_have_run)
{
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
	account.facts.spike.kind = PERF_POKE_TRIGGER_REPORT;
	text = rows_of(&account, 10000);
	assert_string_equal(text, "");
}

TEST(a_poke_has_no_latency)
{
	_cleanup_(account_release) struct account account;
	_cleanup_free_ char *text = NULL;

	assert_int_equal(TIMELINE(&account, false, TASK(0, "stress 7")), 0);
	account.facts.spike.poked = true;
	text = rows_of(&account, 0);
	assert_string_equal(text, "");
}
