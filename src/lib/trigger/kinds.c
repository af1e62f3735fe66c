// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <string.h>

#include "bpf/trigger.skel.h"

static int load_report(struct trigger *trigger, const struct trigger_config *config,
		       const struct log *log)
{
	bpf_program__set_autoload(trigger->skel->progs.report_late, true);
	return 0;
}

static const struct trigger_row rows[] = {
	[PERF_POKE_TRIGGER_IRQ] = {
		.choice = { "irq", PERF_POKE_TRIGGER_IRQ, "until the timer's interrupt runs" },
		.timers = true,
	},
	[PERF_POKE_TRIGGER_THREAD] = {
		.choice = { "thread", PERF_POKE_TRIGGER_THREAD,
			    "until the thread that the timer wakes runs" },
		.timers = true,
		.anywhere = true,
		.overruns = true,
		.load = threads_load,
	},
	[PERF_POKE_TRIGGER_USER] = {
		.choice = { "user", PERF_POKE_TRIGGER_USER,
			    "until timerlat's thread returns to user space" },
		.timers = true,
		.anywhere = true,
		.load = threads_load,
	},
	[PERF_POKE_TRIGGER_WAKEUP] = {
		.choice = { "wakeup", PERF_POKE_TRIGGER_WAKEUP,
			    "from any wakeup of a task until it runs" },
		.timers = true,
		.anywhere = true,
		.overruns = true,
		.check = wakeup_check,
		.load = wakeup_load,
	},
	[PERF_POKE_TRIGGER_REPORT] = {
		.choice = { "report", PERF_POKE_TRIGGER_REPORT,
			    "reported by a program or by report-late" },
		.load = load_report,
	},
	[PERF_POKE_TRIGGER_EVENT] = {
		.choice = { "event", PERF_POKE_TRIGGER_EVENT, "each hit of a tracepoint",
			    "tp:SYS:NAME[/FILTER/]" },
		.check = event_check,
		.load = event_load,
		.attach = event_attach,
	},
	[PERF_POKE_TRIGGER_MARKER] = {
		.choice = { "marker", PERF_POKE_TRIGGER_MARKER,
			    "a write to trace_marker, as by cyclictest -b", "TEXT" },
		.check = marker_check,
		.load = marker_load,
		.probe = { "marker",
			   "needs BPF trampolines (fentry) or kprobes (CONFIG_KPROBES); else call "
			   "perf_poke__report() or perf-poke-ctl report-late",
			   false, marker_try },
	},
	[PERF_POKE_TRIGGER_SPAN] = {
		.choice = { "span", PERF_POKE_TRIGGER_SPAN,
			    "from entry to exit: --trigger NAME with --span NAME=..." },
		.has_text = true,
		.check = span_check,
		.load = span_load,
		.attach = span_attach,
		.probe = { "span",
			   "fn needs BPF trampolines (fentry) or kprobes (CONFIG_KPROBES), uprobe "
			   "and usdt need CONFIG_UPROBE_EVENTS",
			   false, span_try },
	},
	[PERF_POKE_TRIGGER_NOISE] = {
		.choice = { "noise", PERF_POKE_TRIGGER_NOISE,
			    "noise in a sample of the osnoise tracer" },
		.check = noise_check,
		.load = noise_load,
	},
};

static_assert(ARRAY_SIZE(rows) <= TRIGGER_KINDS, "room for each kind");

const struct trigger_row *trigger_row(size_t kind)
{
	return kind < ARRAY_SIZE(rows) ? &rows[kind] : NULL;
}

const char *trigger_kind_name(unsigned int kind)
{
	return kind < ARRAY_SIZE(rows) ? rows[kind].choice.name : "?";
}

static int take(struct config *config, const struct perf_poke_trigger *trigger)
{
	const struct trigger_row *row = trigger_row(trigger->kind);
	uint64_t *threshold_ns = &config->thresholds[row ? trigger->kind : 0];

	if (!row)
		return log_error(&config->log, -EINVAL, "trigger %d: unknown", trigger->kind);
	if (*threshold_ns)
		return log_error(&config->log, -EINVAL, "trigger %s: named twice",
				 row->choice.name);
	if (trigger->text && row->overruns && strcmp(trigger->text, TRIGGER_OVERRUN))
		return log_error(&config->log, -EINVAL, "trigger %s '%s': must be overrun",
				 row->choice.name, trigger->text);
	if (trigger->text && !row->choice.argument && !row->has_text && !row->overruns)
		return log_error(&config->log, -EINVAL, "trigger %s '%s': takes no text",
				 row->choice.name, trigger->text);
	*threshold_ns = trigger->threshold_ns ? trigger->threshold_ns : config->opts.threshold_ns;
	/* At any latency. */
	if (row->choice.argument)
		*threshold_ns = 1;
	config->texts[trigger->kind] = trigger->text;
	config->has_timers |= row->timers;
	return 0;
}

int triggers_check(struct config *config)
{
	const struct perf_poke_trigger irq = { .kind = PERF_POKE_TRIGGER_IRQ };
	int err = config->opts.nr_triggers ? 0 : take(config, &irq);

	for (size_t i = 0; i < config->opts.nr_triggers && !err; i++)
		err = take(config, &config->opts.triggers[i]);
	for (int kind = TRIGGER_KINDS; kind--;) {
		if (config->thresholds[kind])
			config->opts.threshold_ns = config->thresholds[kind];
	}
	for (size_t kind = 0; kind < ARRAY_SIZE(rows) && !err; kind++)
		err = rows[kind].check ? rows[kind].check(config) : 0;
	return err;
}
