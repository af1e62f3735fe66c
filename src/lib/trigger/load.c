// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/branches.h"
#include "base/kallsyms.h"
#include "base/map_memory.h"
#include "base/probe.h"
#include "base/tracefs.h"
#include "bpf/trigger_bare.skel.h"
#include "bpf/trigger_impl.skel.h"
#include "trigger/event.h"
#include "trigger/marker.h"
#include "trigger/state.h"

#define TRIGGER_BTF "/sys/kernel/btf/vmlinux"

#define MARKER_FUNCTION "tracing_mark_write"

/* Threads whose timers have expired, or that were woken, but that have not run yet. */
#define SLEEPERS_MAX 4096

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

	/* Ignores the records of rtla_kicks. */
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

/* The rows of the linear histogram: see bpf/linear.h. */
static void trigger_watch(struct trigger *trigger, const struct trigger_config *config)
{
	for (int kind = TRIGGER_IRQ; kind < TRIGGER_KINDS; kind++) {
		for (size_t i = 0; i < config->nr_cpus; i++) {
			size_t row = kind * config->nr_cpus + i;
			struct trigger_cpu *cpu = trigger_find_cpu(trigger, config->cpus[i], kind);

			if (cpu)
				cpu->watched = 1 + row;
		}
	}
}

static int trigger_map_all(struct trigger *trigger, const struct trigger_config *config)
{
	const struct trigger_bpf *skel = trigger->skel;
	const struct {
		void *at;
		size_t *size;
		const struct bpf_map *map;
	} rows[] = {
		{ &trigger->cpus, &trigger->cpus_size, skel->maps.cpus },
		{ &trigger->more, &trigger->more_size, skel->maps.cpus_more },
		{ &trigger->linear, &trigger->linear_size, skel->maps.linear },
		{ &trigger->recent, &trigger->recent_size, skel->maps.recent },
		{ &trigger->stacks, &trigger->stacks_size, skel->maps.stacks },
		{ &trigger->targets, &trigger->targets_size, skel->maps.targets },
		{ &trigger->session, &trigger->session_size, skel->maps.session },
	};
	int err = 0;

	trigger->linear_row = config->linear_entries + 1;
	for (size_t i = 0; i < ARRAY_SIZE(rows) && !err; i++)
		err = map_memory(rows[i].at, rows[i].size, rows[i].map);
	if (err)
		return err;
	trigger_watch(trigger, config);
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
				  config->poke_ways & 1U << POKE_WAY_TRACEPOINT);
}

/* rtla's programs need a tracepoint that not every kernel has, and another to hold the trace. */
static void trigger_set_rtla(struct trigger *trigger, bool rtla)
{
	const struct trigger_bpf *skel = trigger->skel;

	trigger->rtla = rtla && tracefs_has_event("osnoise/timerlat_sample") &&
			tracefs_has_event("irq_vectors/irq_work_entry");
	bpf_program__set_autoload(skel->progs.trigger_rtla, trigger->rtla);
	bpf_program__set_autoload(skel->progs.rtla_hold, trigger->rtla);
}

static void trigger_set_threads(struct trigger *trigger, const struct trigger_threads *threads)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const struct trigger_bpf *skel = trigger->skel;
	bool thread = threads->threshold_ns[TRIGGER_THREAD];
	bool user = threads->threshold_ns[TRIGGER_USER];
	bool wakeup = threads->threshold_ns[TRIGGER_WAKEUP];
	bool report = threads->threshold_ns[TRIGGER_REPORT];
	int nr = trigger->nr_possible;

	rodata->nr_cpus = nr;
	rodata->thread_threshold_ns = threads->threshold_ns[TRIGGER_THREAD];
	rodata->user_threshold_ns = threads->threshold_ns[TRIGGER_USER];
	rodata->wakeup_threshold_ns = threads->threshold_ns[TRIGGER_WAKEUP];
	rodata->report_threshold_ns = threads->threshold_ns[TRIGGER_REPORT];
	rodata->has_samples = threads->samples;
	rodata->timerlat_irq = threads->timerlat_irq;
	rodata->hrtimer_wakeup = threads->hrtimer_wakeup;
	rodata->thread_claimed = threads->claimed;
	rodata->wakeup_pid = threads->wakeup_pid;
	snprintf((char *)rodata->wakeup_comm, sizeof(rodata->wakeup_comm), "%s",
		 threads->wakeup_comm);
	bpf_map__set_max_entries(skel->maps.recent, nr);
	if (thread || user || wakeup || report || threads->threshold_ns[TRIGGER_MARKER] ||
	    threads->threshold_ns[TRIGGER_EVENT])
		bpf_map__set_max_entries(skel->maps.cpus_more, (TRIGGER_KINDS - 1) * nr);
	if (thread || user)
		bpf_map__set_max_entries(skel->maps.activations, nr + SLEEPERS_MAX);
	if (wakeup)
		bpf_map__set_max_entries(skel->maps.wakeups, SLEEPERS_MAX);
	rodata->has_noise = trigger->noise = threads->noise;
	if (threads->noise)
		bpf_map__set_max_entries(skel->maps.noises, nr);
	bpf_program__set_autoload(skel->progs.trigger_hrtimer, !thread && !user);
	bpf_program__set_autoload(skel->progs.trigger_hrtimer_threads, thread || user);
	bpf_program__set_autoload(skel->progs.noise_irq_ns, threads->noise);
	bpf_program__set_autoload(skel->progs.noise_softirq_ns, threads->noise);
	bpf_program__set_autoload(skel->progs.noise_thread_ns, threads->noise);
	bpf_program__set_autoload(skel->progs.noise_nmi_ns, threads->noise);
	if (threads->samples && thread)
		bpf_map__set_max_entries(skel->maps.blockers, nr);
	bpf_program__set_autoload(skel->progs.latency_blocker, threads->samples && thread);
	bpf_program__set_autoload(skel->progs.latency_sample, threads->samples && (thread || user));
	bpf_program__set_autoload(skel->progs.latency_switch,
				  ((thread || user) && !threads->samples) || wakeup);
	bpf_program__set_autoload(skel->progs.latency_return, user && !threads->samples);
	bpf_program__set_autoload(skel->progs.latency_wakeup, wakeup);
	bpf_program__set_autoload(skel->progs.report_late, report);
}

/* Loading a program that calls bpf_trace_printk() enables a tracefs event, so that all such
 * messages go to the trace buffer. Our perf events do not need that.
 */
static int trigger_load_quietly(struct trigger *trigger)
{
	const char *event = "events/bpf_trace/bpf_trace_printk/enable";
	_cleanup_close_ int tracefs = tracefs_open();
	_cleanup_close_ int fd = tracefs < 0 ? -1 : openat(tracefs, event, O_RDWR | O_CLOEXEC);
	char enabled = '1';
	int err;

	if (fd >= 0 && pread(fd, &enabled, 1, 0) != 1)
		enabled = '1';
	err = trigger_bpf__load(trigger->skel);
	if (enabled == '0' && pwrite(fd, "0", 1, 0) != 1 && !err)
		err = -errno;
	return err;
}

/* All are compiled from one source and differ only in the kernel functions that they call. */
static struct trigger_bpf *trigger_skeleton(const struct trigger_config *config)
{
	const uint64_t *thresholds = config->threads.threshold_ns;
	/* With a BTF path libbpf does not search the BTF of modules for missing types (not every
	 * kernel has timerlat's), which needs CAP_SYS_ADMIN. It reads the file twice then. */
	LIBBPF_OPTS(bpf_object_open_opts, opts,
		    .btf_custom_path = thresholds[TRIGGER_THREAD] || thresholds[TRIGGER_USER]
					       ? TRIGGER_BTF
					       : NULL);

	static_assert(sizeof(struct trigger_bpf) == sizeof(struct trigger_impl_bpf) &&
			      sizeof(struct trigger_bpf) == sizeof(struct trigger_bare_bpf),
		      "one may be taken for the other");

	if (!(config->poke_ways & (1U << POKE_WAY_DIRECT | 1U << POKE_WAY_TASK_WORK)))
		return (struct trigger_bpf *)trigger_bare_bpf__open_opts(&opts);
	if (config->poke_ways & 1U << POKE_WAY_TASK_WORK && !kfunc_exists(TRIGGER_TASK_WORK))
		return (struct trigger_bpf *)trigger_impl_bpf__open_opts(&opts);
	return trigger_bpf__open_opts(&opts);
}

static int trigger_set_marker(struct trigger *trigger, const char *marker, const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	uint64_t address;
	int err;

	bpf_program__set_autoload(trigger->skel->progs.marker_write, marker);
	if (!marker)
		return 0;
	err = kallsyms_find(MARKER_FUNCTION, &address);
	if (err)
		return log_error(log, -EOPNOTSUPP,
				 "trigger marker: function " MARKER_FUNCTION ": %s",
				 kallsyms_strerror(err));
	rodata->marker_function = address;
	rodata->marker_length = strlen(marker);
	marker_make((__u8 *)rodata->marker_classes, (__u8 *)rodata->marker_next, marker);
	return 0;
}

static void trigger_set_event(struct trigger *trigger, const char *event)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;

	bpf_program__set_autoload(trigger->skel->progs.event_seen, event);
	snprintf((char *)rodata->event_name, sizeof(rodata->event_name), "%s", event ? event : "");
}

static int trigger_attach(struct trigger *trigger, const char *event, const struct log *log)
{
	struct trigger_bpf *skel = trigger->skel;
	const struct {
		const struct bpf_program *program;
		struct bpf_link **link;
		const char *to;
	} attach[] = {
		{ skel->progs.poke_pending, &skel->links.poke_pending, "signal_generate" },
		{ skel->progs.poke_pass, &skel->links.poke_pass, "perf_poll" },
		{ skel->progs.noise_irq_ns, &skel->links.noise_irq_ns, "irq_noise" },
		{ skel->progs.noise_softirq_ns, &skel->links.noise_softirq_ns, "softirq_noise" },
		{ skel->progs.noise_thread_ns, &skel->links.noise_thread_ns, "thread_noise" },
		{ skel->progs.noise_nmi_ns, &skel->links.noise_nmi_ns, "nmi_noise" },
		{ skel->progs.latency_sample, &skel->links.latency_sample, "timerlat_sample" },
		{ skel->progs.latency_switch, &skel->links.latency_switch, "sched_switch" },
		{ skel->progs.latency_blocker, &skel->links.latency_blocker, "sched_switch" },
		{ skel->progs.latency_wakeup, &skel->links.latency_wakeup, "sched_wakeup" },
		{ skel->progs.latency_return, &skel->links.latency_return, "hrtimer_start" },
		{ skel->progs.rtla_hold, &skel->links.rtla_hold, "irq_work_entry" },
		{ skel->progs.marker_write, &skel->links.marker_write, "vfs_write" },
		{ skel->progs.trigger_hrtimer, &skel->links.trigger_hrtimer,
		  "hrtimer_expire_entry" },
		{ skel->progs.trigger_hrtimer_threads, &skel->links.trigger_hrtimer_threads,
		  "hrtimer_expire_entry" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(attach); i++) {
		if (!bpf_program__autoload(attach[i].program))
			continue;
		*attach[i].link = bpf_program__attach(attach[i].program);
		if (!*attach[i].link)
			return log_error(log, -errno, "cannot attach to %s: %s", attach[i].to,
					 strerror(errno));
	}
	return event ? event_attach(skel->progs.event_seen, &skel->links.event_seen, event, log)
		     : 0;
}

/* Of no CPU, as to try it, there are always events. */
static int trigger_set_branches(struct trigger *trigger, const struct trigger_config *config)
{
	size_t nr = config->branches ? config->nr_cpus : 0;
	bool take;

	trigger->branch_fds = calloc(nr + 1, sizeof(*trigger->branch_fds));
	if (!trigger->branch_fds)
		return -ENOMEM;
	take = config->branches && !branches_open(trigger->branch_fds, config->cpus, nr);
	trigger->nr_branch_fds = take ? nr : 0;
	trigger->skel->rodata->has_branches = take;
	if (take)
		bpf_map__set_max_entries(trigger->skel->maps.branches, trigger->nr_possible);
	bpf_program__set_autoload(trigger->skel->progs.branches_try, take);
	return 0;
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
	trigger->skel->rodata->threshold_ns = config->threshold_ns;
	trigger->skel->rodata->function = config->function;
	bpf_map__set_max_entries(trigger->skel->maps.cpus, possible);
	trigger->nr_possible = possible;
	if (config->linear_entries) {
		trigger->skel->rodata->linear_entries = config->linear_entries;
		trigger->skel->rodata->linear_width_ns = config->linear_width_ns;
		bpf_map__set_max_entries(trigger->skel->maps.linear,
					 TRIGGER_KINDS * config->nr_cpus *
						 (config->linear_entries + 1));
	}
	trigger->skel->rodata->has_stacks = config->stacks;
	if (config->stacks)
		bpf_map__set_max_entries(trigger->skel->maps.stacks, TRIGGER_RECENT);
	trigger_set_threads(trigger, &config->threads);
	trigger_set_messages(trigger, config);
	trigger_set_pokes(trigger, config);
	trigger_set_rtla(trigger, config->rtla);
	trigger_set_event(trigger, config->event);
	err = trigger_set_marker(trigger, config->marker, log);
	if (err)
		return err;
	err = trigger_set_branches(trigger, config);
	if (!err)
		err = trigger_load_quietly(trigger);
	if (err)
		return log_error(log, err, "the kernel rejects the trigger program%s: %s",
				 config->marker ? ", with one on the function vfs_write (fentry)"
						: "",
				 strerror(-err));
	err = trigger_map_all(trigger, config);
	if (err)
		return log_error(log, err, "cannot map the trigger's statistics: %s",
				 strerror(-err));
	trigger->session->size = sizeof(*trigger->session);
	/* Notes the controller. */
	err = trigger_run(trigger->skel->progs.trigger_self);
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
	return trigger_attach(trigger, config->event, log);
}

int trigger_try(enum poke_way way)
{
	const struct trigger_config config = {
		.threshold_ns = UINT64_MAX,
		.poke_ways = 1U << way,
	};
	struct trigger *trigger;
	int err = trigger_open(&trigger, &config, &(struct log){});

	if (!err)
		trigger_free(trigger);
	return err;
}

/* Loads the program even without events: so it is known that the kernel takes it. */
int trigger_try_branches(struct probe_detail *detail)
{
	const struct trigger_config config = { .threshold_ns = UINT64_MAX, .branches = true };
	const struct log log = probe_log(detail);
	const int cpu = sched_getcpu();
	struct trigger *trigger;
	int fd, opened, size, err = trigger_open(&trigger, &config, &log);

	if (err)
		return err;
	opened = branches_open(&fd, &cpu, 1);
	size = trigger_run(trigger->skel->progs.branches_try);
	if (!opened)
		branches_close(&fd, 1);
	trigger_free(trigger);
	if (opened) {
		probe_say(detail, "%s",
			  opened == -ENOENT || opened == -EOPNOTSUPP
				  ? "the CPU records none, or a hypervisor hides them"
				  : strerror(-opened));
		return opened;
	}
	if (size <= 0) {
		probe_say(detail, "the kernel gives programs none: %s", strerror(-size));
		return size ?: -ENODATA;
	}
	probe_say(detail, "the last %zu, of which the newest are of the timer's interrupt itself",
		  size / sizeof(struct trigger_branch));
	return 0;
}

int trigger_open(struct trigger **ret, const struct trigger_config *config, const struct log *log)
{
	struct trigger *trigger = calloc(1, sizeof(*trigger));
	int err;

	if (!trigger)
		return -ENOMEM;
	log_capture(log);
	err = trigger_load(trigger, config, log);
	log_release();
	if (err) {
		trigger_free(trigger);
		return err;
	}
	*ret = trigger;
	return 0;
}
