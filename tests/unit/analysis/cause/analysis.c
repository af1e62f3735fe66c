// SPDX-License-Identifier: GPL-2.0-only
#include "cause/analysis.h"

#include <inttypes.h>

#include "analysis/timeline.h"
#include "test.h"

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
