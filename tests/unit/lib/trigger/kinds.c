// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include "messages.h"
#include "test.h"

static int check(struct config *config, const struct perf_poke_trigger *triggers, size_t nr,
		 struct messages *messages)
{
	config->opts.triggers = (struct perf_poke_trigger *)triggers;
	config->opts.nr_triggers = nr;
	config->opts.threshold_ns = 30000;
	config->log = (struct log){ messages_add, messages };
	return triggers_check(config);
}

#define ACCEPTS(config, ...)                                                                       \
	do {                                                                                       \
		const struct perf_poke_trigger _triggers[] = { __VA_ARGS__ };                      \
		struct messages _messages = {};                                                    \
                                                                                                   \
		assert_int_equal(check(config, _triggers, ARRAY_SIZE(_triggers), &_messages), 0);  \
		assert_int_equal(_messages.nr, 0);                                                 \
	} while (0)

#define REFUSES(message, wanted_task, ...)                                                         \
	do {                                                                                       \
		const struct perf_poke_trigger _triggers[] = { __VA_ARGS__ };                      \
		struct config _config = { .opts.task = wanted_task };                              \
		struct messages _messages = {};                                                    \
                                                                                                   \
		assert_int_equal(check(&_config, _triggers, ARRAY_SIZE(_triggers), &_messages),    \
				 -EINVAL);                                                         \
		assert_string_equal(_messages.text, message);                                      \
		assert_int_equal(_messages.nr, 1);                                                 \
	} while (0)

#define IRQ PERF_POKE_TRIGGER_IRQ
#define WAKEUP PERF_POKE_TRIGGER_WAKEUP
#define EVENT PERF_POKE_TRIGGER_EVENT
#define MARKER PERF_POKE_TRIGGER_MARKER

TEST(rows_are_the_enums)
{
	size_t nr;

	for (nr = 0; trigger_row(nr); nr++) {
		assert_int_equal(trigger_row(nr)->choice.value, nr);
		assert_string_equal(trigger_kind_name(nr), trigger_row(nr)->choice.name);
	}
	assert_string_equal(trigger_kind_name(nr), "?");
	assert_string_equal(trigger_kind_name(PERF_POKE_TRIGGER_MARKER), "marker");
}

TEST(watches_irq_by_default)
{
	struct config config = {};
	struct messages messages = {};

	assert_int_equal(check(&config, NULL, 0, &messages), 0);
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_IRQ], 30000);
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_THREAD], 0);
	assert_true(config.has_timers);
}

TEST(takes_thresholds)
{
	struct config config = {}, one = {}, wakeup = { .opts.task = "me" };

	ACCEPTS(&config, { PERF_POKE_TRIGGER_THREAD, 60000 }, { IRQ });
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_IRQ], 30000);
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_THREAD], 60000);
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_USER], 0);
	assert_int_equal(config.opts.threshold_ns, 30000);
	ACCEPTS(&one, { PERF_POKE_TRIGGER_THREAD, 60000 });
	assert_int_equal(one.thresholds[PERF_POKE_TRIGGER_IRQ], 0);
	assert_int_equal(one.opts.threshold_ns, 60000);
	ACCEPTS(&wakeup, { WAKEUP, 5 });
	assert_int_equal(wakeup.thresholds[PERF_POKE_TRIGGER_WAKEUP], 5);
	assert_true(wakeup.has_timers);
}

TEST(takes_texts)
{
	struct config config = {}, rt_tests = {};

	ACCEPTS(&rt_tests, { MARKER });
	assert_string_equal(rt_tests.texts[PERF_POKE_TRIGGER_MARKER], " threshold (");
	ACCEPTS(&config, { MARKER, 0, "hit" }, { EVENT, 9, "tp:a:b" });
	assert_string_equal(config.texts[PERF_POKE_TRIGGER_MARKER], "hit");
	assert_string_equal(config.texts[PERF_POKE_TRIGGER_EVENT], "a:b");
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_MARKER], 1);
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_EVENT], 1);
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_IRQ], 0);
	assert_null(config.texts[PERF_POKE_TRIGGER_IRQ]);
	assert_false(config.has_timers);
}

/* Of a thread that has not run. */
TEST(takes_overrun)
{
	struct config config = { .opts.task = "me" };

	ACCEPTS(&config, { WAKEUP, 5, "overrun" }, { PERF_POKE_TRIGGER_THREAD, 0, "overrun" });
	assert_string_equal(config.texts[WAKEUP], "overrun");
	assert_int_equal(config.thresholds[WAKEUP], 5);
	assert_int_equal(config.thresholds[PERF_POKE_TRIGGER_THREAD], 30000);
	REFUSES("trigger wakeup 'over': must be overrun", "me", { WAKEUP, 5, "over" });
	REFUSES("trigger irq 'overrun': takes no text", NULL, { IRQ, 0, "overrun" });
}

TEST(refuses)
{
	static const char *const bad_events[] = { NULL,	      "",	  "tp:",      "tp:a",
						  "tp:a:",    "tp::b",	  "sys:a",    "fn:a:b",
						  "tp:a:b:c", "tp:a:/x/", "tp:a/b:c/" };
	static const char *const bad_filters[] = { "tp:a:b/", "tp:a:b//", "tp:a:b/x",
						   "tp:a:b/x/y" };
	char message[160];
	static const char marker[] =
		"trigger marker: needs a text to look for, of at most 31 bytes (marker=TEXT)";

	REFUSES(marker, NULL, { MARKER, 0, "" });
	REFUSES(marker, NULL, { MARKER, 0, "01234567890123456789012345678901" });
	for (size_t i = 0; i < ARRAY_SIZE(bad_events); i++)
		REFUSES("trigger event: needs a tracepoint (event=tp:SYS:NAME, such as "
			"event=tp:oom:mark_victim)",
			NULL, { EVENT, 0, bad_events[i] });
	for (size_t i = 0; i < ARRAY_SIZE(bad_filters); i++) {
		snprintf(message, sizeof(message),
			 "trigger event: %s: the filter must stand between two slashes "
			 "(event='tp:sched:sched_switch/next_prio < 50/')",
			 bad_filters[i]);
		REFUSES(message, NULL, { EVENT, 0, bad_filters[i] });
	}
	REFUSES("trigger irq 'x': takes no text", NULL, { IRQ, 0, "x" });
	REFUSES("trigger irq: named twice", NULL, { IRQ, 1 }, { IRQ, 2 });
	REFUSES("trigger 99: unknown", NULL, { 99 });
	REFUSES("trigger -1: unknown", NULL, { -1 });
	REFUSES("trigger wakeup: needs --task TASK", NULL, { WAKEUP, 5 });
	REFUSES("--task 'me': needs --trigger wakeup or interruption", "me", { IRQ });
}
