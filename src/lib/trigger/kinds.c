// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The kinds of triggers, one row each, and how the BPF program is loaded for those that are
 * watched. */
#include "trigger/trigger_internal.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include <bpf/btf.h>

#include "bpf/trigger_bare.skel.h"
#include "bpf/trigger_impl.skel.h"
#include "bpf/trigger_mute.skel.h"
#include "bpf/trigger_old.skel.h"

/* Whether the kernel loads the program of the trigger marker. */
static int marker_try_program(struct probe_detail *detail);

static int reported_load(struct trigger *trigger, const struct trigger_config *config,
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
		.load = threads_load_programs,
	},
	[PERF_POKE_TRIGGER_USER] = {
		.choice = { "user", PERF_POKE_TRIGGER_USER,
			    "until timerlat's thread returns to user space" },
		.timers = true,
		.anywhere = true,
		.check_kernel = user_check_kernel,
		.load = threads_load_programs,
	},
	[PERF_POKE_TRIGGER_WAKEUP] = {
		.choice = { "wakeup", PERF_POKE_TRIGGER_WAKEUP,
			    "from any wakeup of a task until it runs" },
		.timers = true,
		.anywhere = true,
		.overruns = true,
		.check = wakeup_check_task,
		.load = wakeup_load_programs,
	},
	[PERF_POKE_TRIGGER_REPORT] = {
		.choice = { "report", PERF_POKE_TRIGGER_REPORT,
			    "reported by a program or by report-late" },
		.load = reported_load,
	},
	[PERF_POKE_TRIGGER_EVENT] = {
		.choice = { "event", PERF_POKE_TRIGGER_EVENT, "each hit of a tracepoint",
			    "tp:SYS:NAME[/FILTER/]" },
		.check = event_check_text,
		.check_kernel = event_check_kernel,
		.load = event_load_program,
		.attach = event_attach_program,
	},
	[PERF_POKE_TRIGGER_MARKER] = {
		.choice = { "marker", PERF_POKE_TRIGGER_MARKER,
			    "a write to trace_marker; without TEXT: of rt-tests (-b)", "TEXT" },
		.check = marker_check_text,
		.check_kernel = marker_check_kernel,
		.load = marker_load_programs,
		.probe = { "marker",
			   "needs BPF trampolines (fentry) or kprobes (CONFIG_KPROBES); else call "
			   "perf_poke__report() or perf-poke-ctl report-late",
			   false, marker_try_program },
	},
	[PERF_POKE_TRIGGER_SPAN] = {
		.choice = { "span", PERF_POKE_TRIGGER_SPAN,
			    "from entry to exit: --trigger NAME with --span NAME=..." },
		.has_text = true,
		.check = span_check_text,
		.check_kernel = span_check_kernel,
		.load = span_load_programs,
		.attach = span_attach_programs,
		.probe = { "span",
			   "fn needs BPF trampolines (fentry) or kprobes (CONFIG_KPROBES), uprobe "
			   "and usdt need CONFIG_UPROBE_EVENTS",
			   false, span_try_kinds },
	},
	[PERF_POKE_TRIGGER_NOISE] = {
		.choice = { "noise", PERF_POKE_TRIGGER_NOISE,
			    "noise in a sample of the osnoise tracer" },
		.check = noise_check_threshold,
		.check_kernel = noise_check_kernel,
		.load = noise_load_programs,
	},
	[PERF_POKE_TRIGGER_INTERRUPTION] = {
		.choice = { "interruption", PERF_POKE_TRIGGER_INTERRUPTION,
			    "something else has had the CPU of a thread" },
		.check_kernel = interruption_check_kernel,
		.load = interruption_load_programs,
		.attach = interruption_attach_programs,
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

static int config_take_trigger(struct config *config, const struct perf_poke_trigger *trigger)
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
	int err = config->opts.nr_triggers ? 0 : config_take_trigger(config, &irq);

	for (size_t i = 0; i < config->opts.nr_triggers && !err; i++)
		err = config_take_trigger(config, &config->opts.triggers[i]);
	for (int kind = TRIGGER_KINDS; kind--;) {
		if (config->thresholds[kind])
			config->opts.threshold_ns = config->thresholds[kind];
	}
	for (size_t kind = 0; kind < ARRAY_SIZE(rows) && !err; kind++)
		err = rows[kind].check ? rows[kind].check(config) : 0;
	return err;
}

int triggers_check_kernel(const struct config *config)
{
	int err = 0;

	for (size_t kind = 0; kind < ARRAY_SIZE(rows) && !err; kind++) {
		if (config->thresholds[kind] && rows[kind].check_kernel)
			err = rows[kind].check_kernel(config);
	}
	return err;
}

/* -- Loading */

#define TRIGGER_BTF "/sys/kernel/btf/vmlinux"

bool trigger_has_btf(const struct log *log)
{
	if (!access(TRIGGER_BTF, R_OK))
		return true;
	log_write(log, PERF_POKE_LOG_ERROR,
		  "the kernel has no BTF (" TRIGGER_BTF "): it must be built with "
		  "CONFIG_DEBUG_INFO_BTF");
	return false;
}

static int trigger_on_record(void *ctx, void *data, size_t size)
{
	const struct trigger_spike *record = data;
	struct trigger *trigger = ctx;

	/* Skips the records of rtla_kicks. */
	if (size < sizeof(*record))
		return 0;
	if (record->what == TRIGGER_STOP) {
		trigger->stop_asked = true;
		return 0;
	}
	trigger->spike = *record;
	trigger->have_spike = true;
	return 0;
}

static int trigger_map_all(struct trigger *trigger, const struct trigger_config *config)
{
	const struct trigger_bpf *skel = trigger->skel;
	const struct {
		void *at;
		size_t *size;
		const struct bpf_map *map;
	} maps[] = {
		{ &trigger->cpus, &trigger->cpus_size, skel->maps.cpus },
		{ &trigger->more, &trigger->more_size, skel->maps.cpus_more },
		{ &trigger->recent, &trigger->recent_size, skel->maps.recent },
		{ &trigger->stacks, &trigger->stacks_size, skel->maps.stacks },
		{ &trigger->targets, &trigger->targets_size, skel->maps.targets },
		{ &trigger->noise_parts, &trigger->noise_parts_size, skel->maps.noise_parts },
		{ &trigger->session, &trigger->session_size, skel->maps.session },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(maps) && !err; i++)
		err = bpf_map_memory(maps[i].at, maps[i].size, maps[i].map);
	if (err)
		return err;
	for (int kind = PERF_POKE_TRIGGER_IRQ; kind < TRIGGER_KINDS; kind++) {
		uint64_t threshold_ns = config->thresholds_ns[kind];
		struct trigger_cpu *cpu;

		if (!threshold_ns)
			threshold_ns = TRIGGER_NEVER;
		else if (trigger_row(kind)->choice.argument)
			threshold_ns = 0;
		/* A thread may be late on a CPU that is not watched. */
		for (int i = 0; i < trigger->nr_possible; i++) {
			cpu = trigger_find_cpu(trigger, i, kind);
			if (cpu)
				cpu->threshold_ns = threshold_ns;
		}
		for (size_t i = 0; i < config->nr_cpus; i++) {
			cpu = trigger_find_cpu(trigger, config->cpus[i], kind);
			if (!cpu)
				continue;
			cpu->watched = TRIGGER_WATCHED;
			cpu->function = kind == PERF_POKE_TRIGGER_IRQ ? config->function : 0;
		}
	}
	for (size_t i = 0; i < config->nr_targets; i++)
		trigger->targets[i] = config->targets[i];
	return 0;
}

static void trigger_set_messages(struct trigger *trigger, const struct trigger_config *config)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const char *resume = config->resume_message ? config->resume_message : "";

	snprintf((char *)rodata->pause_message, sizeof(rodata->pause_message), "%s",
		 config->pause_message ? config->pause_message : "");
	snprintf((char *)rodata->resume_message, sizeof(rodata->resume_message), "%s", resume);
	bpf_program__set_autoload(trigger->skel->progs.trigger_resume, *resume);
}

static void trigger_set_pokes(struct trigger *trigger, const struct trigger_config *config)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;

	rodata->poke_ways = config->poke_ways;
	snprintf((char *)rodata->poke_message, sizeof(rodata->poke_message), "%s",
		 config->poke_message ? config->poke_message : "");
	bpf_program__set_autoload(trigger->skel->progs.poke_pending, config->poke_ways);
	bpf_program__set_autoload(trigger->skel->progs.poke_look_all, config->poke_ways);
	bpf_program__set_autoload(trigger->skel->progs.poke_pass,
				  config->poke_ways & 1U << PERF_POKE_DELIVERY_TRACEPOINT);
}

/* rtla's programs need a tracepoint that not every kernel has, and another one to delay rtla's stop
 * of the trace. */
static void trigger_set_rtla(struct trigger *trigger, bool rtla)
{
	const struct trigger_bpf *skel = trigger->skel;

	trigger->rtla = rtla && tracefs_has_event("osnoise/timerlat_sample") &&
			tracefs_has_event("irq_vectors/irq_work_entry");
	bpf_program__set_autoload(skel->progs.trigger_rtla, trigger->rtla);
	bpf_program__set_autoattach(skel->progs.trigger_rtla, false);
	bpf_program__set_autoload(skel->progs.rtla_hold, trigger->rtla);
}

static int trigger_set_kinds(struct trigger *trigger, const struct trigger_config *config,
			     const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	size_t last = 0;
	int err = 0;

	rodata->nr_cpus = trigger->nr_possible;
	for (size_t kind = 0; kind < TRIGGER_KINDS && !err; kind++) {
		const struct trigger_row *row = trigger_row(kind);

		rodata->thresholds_ns[kind] = config->thresholds_ns[kind];
		if (!config->thresholds_ns[kind])
			continue;
		last = kind;
		err = row->load ? row->load(trigger, config, log) : 0;
	}
	if (last)
		bpf_map__set_max_entries(trigger->skel->maps.cpus_more,
					 last * trigger->nr_possible);
	bpf_map__set_max_entries(trigger->skel->maps.recent, trigger->nr_possible);
	if (rodata->overruns)
		bpf_map__set_max_entries(trigger->skel->maps.overrun_newest,
					 OVERRUN_TABLES * trigger->nr_possible);
	return err;
}

static bool trigger_has_messages(const struct trigger_config *config)
{
	const char *const messages[] = { config->pause_message, config->resume_message,
					 config->poke_message };

	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		if (messages[i] && messages[i][0])
			return true;
	}
	return false;
}

/* Loading a program that calls bpf_trace_printk() enables a tracefs event, which writes all such
 * messages to the trace buffer. Our perf events do not need it. */
static int trigger_load_programs(struct trigger *trigger, const struct trigger_config *config,
				 const struct log *log)
{
	const char *event = "events/bpf_trace/bpf_trace_printk/enable";
	_cleanup_close_ int tracefs = trigger_has_messages(config) ? tracefs_open() : -1;
	_cleanup_close_ int fd = tracefs < 0 ? -1 : openat(tracefs, event, O_RDWR | O_CLOEXEC);
	char enabled = '1';
	struct btf *btf;
	int err, why;

	if (fd >= 0 && pread(fd, &enabled, 1, 0) != 1)
		enabled = '1';
	err = trigger_bpf__load(trigger->skel);
	if (enabled == '0' && pwrite(fd, "0", 1, 0) != 1 && !err)
		err = -errno;
	if (!err)
		return 0;
	/* libbpf says -ESRCH, whatever the reason, if it has not read the kernel's types. */
	btf = err == -ESRCH ? btf__parse(TRIGGER_BTF, NULL) : NULL;
	why = err == -ESRCH && !btf ? -errno : err;
	btf__free(btf);
	if (why != err)
		return log_error(log, why,
				 "cannot read the kernel's types (" TRIGGER_BTF
				 "): %s (they take some 16 MiB of memory: see RLIMIT_DATA, "
				 "RLIMIT_AS)",
				 strerror(-why));
	return log_error(log, err, "the kernel rejects the trigger program: %s", strerror(-err));
}

/* All skeletons have one source and differ only in the kernel functions that they call. */
static struct trigger_bpf *trigger_skeleton(const struct trigger_config *config)
{
	const uint64_t *thresholds = config->thresholds_ns;
	/* With a BTF path libbpf does not search modules for missing types, which needs
	 * CAP_SYS_ADMIN; some kernels lack timerlat's. It then reads the file twice. */
	LIBBPF_OPTS(bpf_object_open_opts, opts,
		    .btf_custom_path = thresholds[PERF_POKE_TRIGGER_THREAD] ||
						       thresholds[PERF_POKE_TRIGGER_USER]
					       ? TRIGGER_BTF
					       : NULL);

	static_assert(sizeof(struct trigger_bpf) == sizeof(struct trigger_impl_bpf) &&
			      sizeof(struct trigger_bpf) == sizeof(struct trigger_bare_bpf) &&
			      sizeof(struct trigger_bpf) == sizeof(struct trigger_mute_bpf) &&
			      sizeof(struct trigger_bpf) == sizeof(struct trigger_old_bpf),
		      "one may be taken for the other");
	static_assert(offsetof(struct trigger_bpf__data_arming, disarmed) == 12 + 8 * TRIGGER_KINDS,
		      "see TRIGGER_LAYOUT");

	if (!kfunc_exists("bpf_local_irq_save"))
		return (struct trigger_bpf *)trigger_old_bpf__open_opts(&opts);
	if (!(config->poke_ways & 1U << PERF_POKE_DELIVERY_TASK_WORK))
		return trigger_has_messages(config)
			       ? (struct trigger_bpf *)trigger_bare_bpf__open_opts(&opts)
			       : (struct trigger_bpf *)trigger_mute_bpf__open_opts(&opts);
	if (!kfunc_exists(TRIGGER_TASK_WORK))
		return (struct trigger_bpf *)trigger_impl_bpf__open_opts(&opts);
	return trigger_bpf__open_opts(&opts);
}

/* Programs run by user space have sections that name no attach point. */
static int trigger_attach(struct trigger *trigger, const struct trigger_config *config,
			  const struct log *log)
{
	const struct bpf_object_skeleton *all = trigger->skel->skeleton;
	int err = 0;

	for (int i = 0; i < all->prog_cnt; i++) {
		const struct bpf_program *program = *all->progs[i].prog;
		const char *to = strchr(bpf_program__section_name(program), '/');

		if (!to || !bpf_program__autoload(program) || !bpf_program__autoattach(program))
			continue;
		*all->progs[i].link = bpf_program__attach(program);
		if (!*all->progs[i].link)
			return log_error(log, -errno, "cannot attach to %s: %s", to + 1,
					 strerror(errno));
	}
	for (size_t kind = 0; kind < TRIGGER_KINDS && !err; kind++) {
		const struct trigger_row *row = trigger_row(kind);

		if (config->thresholds_ns[kind] && row->attach)
			err = row->attach(trigger, config, log);
	}
	return err;
}

static int trigger_load(struct trigger *trigger, const struct trigger_config *config,
			const struct log *log)
{
	int possible, err;

	if (!trigger_has_btf(log))
		return -EOPNOTSUPP;
	possible = libbpf_num_possible_cpus();
	if (possible < 0)
		return possible;
	trigger->skel = trigger_skeleton(config);
	if (!trigger->skel)
		return log_error(log, -errno, "cannot open the trigger program: %s",
				 strerror(errno));
	trigger->hrtimer = trigger->skel->progs.trigger_hrtimer;
	bpf_map__set_max_entries(trigger->skel->maps.cpus, possible);
	trigger->nr_possible = possible;
	bpf_map__set_max_entries(trigger->skel->maps.smi_events, possible);
	trigger->skel->rodata->has_stacks = config->stacks;
	trigger_set_messages(trigger, config);
	trigger_set_pokes(trigger, config);
	trigger_set_rtla(trigger, config->rtla);
	err = trigger_set_kinds(trigger, config, log);
	if (err)
		return err;
	err = trigger_load_programs(trigger, config, log);
	if (err)
		return err;
	err = trigger_map_all(trigger, config);
	if (err)
		return log_error(log, err, "cannot map the trigger's statistics: %s",
				 strerror(-err));
	trigger->session->layout = TRIGGER_LAYOUT;
	/* Tells the program the controller's task. */
	err = trigger_run_program(trigger->skel->progs.trigger_self);
	if (err)
		return log_error(log, err, "cannot map the session's description: %s",
				 strerror(-err));
	trigger->ring = ring_buffer__new(bpf_map__fd(trigger->skel->maps.spikes), trigger_on_record,
					 trigger, NULL);
	if (!trigger->ring)
		return log_error(log, -errno, "cannot map the trigger's ring: %s", strerror(errno));
	err = ring_buffer__add(trigger->ring, bpf_map__fd(trigger->skel->maps.rtla_kicks),
			       trigger_on_record, trigger);
	if (err)
		return log_error(log, err, "cannot map the trigger's ring: %s", strerror(-err));
	return config->load_only ? 0 : trigger_attach(trigger, config, log);
}

int trigger_try_delivery(enum perf_poke_delivery way)
{
	const struct trigger_config config = { .poke_ways = 1U << way, .load_only = true };
	struct trigger *trigger;
	int err = trigger_open(&trigger, &config, &(struct log){});

	if (!err)
		trigger_free(trigger);
	return err;
}

int trigger_try_config(const struct trigger_config *config, struct probe_detail *detail)
{
	const struct log log = probe_detail_log(detail);
	struct trigger *trigger;
	int err = trigger_open(&trigger, config, &log);

	if (!err)
		trigger_free(trigger);
	return err;
}

static int marker_try_program(struct probe_detail *detail)
{
	const struct trigger_config config = {
		.thresholds_ns[PERF_POKE_TRIGGER_MARKER] = 1,
		.texts[PERF_POKE_TRIGGER_MARKER] = "x",
	};

	return trigger_try_config(&config, detail);
}

int trigger_open(struct trigger **ret, const struct trigger_config *config, const struct log *log)
{
	struct trigger *trigger = calloc(1, sizeof(*trigger));
	const struct log *outer;
	int err;

	if (!trigger)
		return -ENOMEM;
	outer = log_capture_libbpf(log);
	err = trigger_load(trigger, config, log);
	log_release_libbpf(outer);
	if (err) {
		trigger_free(trigger);
		return err;
	}
	*ret = trigger;
	return 0;
}
