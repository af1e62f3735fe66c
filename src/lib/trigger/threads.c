// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The triggers thread, user and wakeup, which watch when threads run. */
#include "trigger/trigger_internal.h"

#include <glob.h>
#include <limits.h>
#include <string.h>

#include "task.h"
#include "units.h"

/* Woken threads, or threads with an expired timer, that have not run yet. */
#define SLEEPERS_MAX 4096

/* A name may be of a task that starts later, or misspelt. */
static void warn_unknown_name(const struct config *config)
{
	glob_t found = {};
	char comm[TASK_COMM_SIZE];
	bool exists = false;
	int tid;

	if (glob("/proc/[0-9]*/task/[0-9]*", GLOB_NOSORT, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && !exists; i++)
		exists = sscanf(found.gl_pathv[i], "/proc/%*d/task/%d", &tid) == 1 &&
			 !task_read_comm(tid, comm) && !strcmp(comm, config->opts.task);
	globfree(&found);
	if (!exists)
		log_write(&config->log, PERF_POKE_LOG_WARN, "task '%s': no task has this name yet",
			  config->opts.task);
}

/* An all-digit string is a thread ID. */
static int threads_find_task(const struct config *config, struct trigger_threads *threads)
{
	struct poke_target task;
	uint64_t tid;
	int err;

	if (!config->opts.task)
		return 0;
	if (config->opts.task[strspn(config->opts.task, "0123456789")]) {
		if (strlen(config->opts.task) >= sizeof(threads->wakeup_comm))
			return log_error(&config->log, -EINVAL,
					 "task '%s': task names have at most 15 characters",
					 config->opts.task);
		strcpy(threads->wakeup_comm, config->opts.task);
		warn_unknown_name(config);
		return 0;
	}
	if (units_parse_count(config->opts.task, &tid) || tid > INT_MAX)
		return log_error(&config->log, -EINVAL, "task %s: thread IDs go up to %d",
				 config->opts.task, INT_MAX);
	err = trigger_find_task(tid, &task);
	if (err)
		return log_error(&config->log, err, "task %s: cannot be found: %s",
				 config->opts.task, strerror(-err));
	threads->wakeup_pid = task.tid;
	return 0;
}

int user_check_kernel(const struct config *config)
{
	if (config_is_timerlat(config))
		return 0;
	return log_error(&config->log, -EINVAL,
			 "trigger user: needs --workload user, or a tracer timerlat that runs "
			 "already, with threads in user space");
}

static int threads_check_user(const struct config *config, const struct trigger_threads *threads)
{
	_cleanup_close_ int tracefs = tracefs_open();

	if (tracefs < 0 || faccessat(tracefs, "osnoise/per_cpu", F_OK, 0))
		return log_error(&config->log, -EOPNOTSUPP,
				 "trigger user: the tracer timerlat has no threads in user space "
				 "here (timerlat_fd: needs Linux 6.5)");
	if (!threads->samples && !threads->timerlat_irq)
		return log_error(
			&config->log, -EOPNOTSUPP,
			"trigger user: the kernel hides the address of " TIMERLAT_FUNCTION
			", which identifies its timers: needs CAP_SYSLOG, and kernel.kptr_restrict "
			"below 2");
	return 0;
}

int threads_configure(const struct config *config, struct trigger_threads *threads)
{
	bool thread = config->thresholds[PERF_POKE_TRIGGER_THREAD],
	     user = config->thresholds[PERF_POKE_TRIGGER_USER];
	int err;

	err = threads_find_task(config, threads);
	if (err || (!thread && !user))
		return err;
	/* The timer callbacks that the kernel shows. */
	if (kallsyms_find("timerlat_irq", &threads->timerlat_irq))
		threads->timerlat_irq = 0;
	if (kallsyms_find("hrtimer_wakeup", &threads->hrtimer_wakeup))
		threads->hrtimer_wakeup = 0;
	threads->noise = config_is_timerlat(config) && tracefs_has_event("osnoise/irq_noise");
	threads->samples =
		config_is_timerlat(config) && tracefs_has_event("osnoise/timerlat_sample");
	if (user)
		return threads_check_user(config, threads);
	if (!config_is_timerlat(config) && !threads->hrtimer_wakeup)
		return log_error(&config->log, -EOPNOTSUPP,
				 "trigger thread: the kernel hides the address of hrtimer_wakeup, "
				 "which identifies sleeping threads: needs CAP_SYSLOG, and "
				 "kernel.kptr_restrict below 2");
	threads->claimed = config->workload == PERF_POKE_WORKLOAD_CYCLIC;
	return 0;
}

/* With the text, a thread that still waits is a spike too. */
static void threads_load_overrun(struct trigger *trigger, const struct trigger_config *config,
				 enum perf_poke_trigger_kind kind)
{
	if (!config->texts[kind])
		return;
	trigger->skel->rodata->overruns |= 1U << kind;
	bpf_program__set_autoload(trigger->skel->progs.latency_expiry, true);
}

/* Loads both triggers at once. */
int threads_load_programs(struct trigger *trigger, const struct trigger_config *config,
			  const struct log *log)
{
	const struct trigger_threads *threads = &config->threads;
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const struct trigger_bpf *skel = trigger->skel;
	bool thread = config->thresholds_ns[PERF_POKE_TRIGGER_THREAD];
	bool user = config->thresholds_ns[PERF_POKE_TRIGGER_USER];

	rodata->has_samples = threads->samples;
	rodata->has_noise = trigger->noise = threads->noise;
	rodata->timerlat_irq = threads->timerlat_irq;
	rodata->hrtimer_wakeup = threads->hrtimer_wakeup;
	rodata->thread_claimed = threads->claimed;
	bpf_map__set_max_entries(skel->maps.activations, trigger->nr_possible + SLEEPERS_MAX);
	bpf_map__set_max_entries(skel->maps.holders, trigger->nr_possible);
	bpf_program__set_autoload(trigger->hrtimer, false);
	trigger->hrtimer = kallsyms_has("__irq_regs") ? skel->progs.trigger_hrtimer_registers
						      : skel->progs.trigger_hrtimer_threads;
	bpf_program__set_autoload(trigger->hrtimer, true);
	if (threads->noise) {
		bpf_map__set_max_entries(skel->maps.noises, trigger->nr_possible);
		bpf_program__set_autoload(skel->progs.noise_irq_ns, true);
		bpf_program__set_autoload(skel->progs.noise_softirq_ns, true);
		bpf_program__set_autoload(skel->progs.noise_thread_ns, true);
		bpf_program__set_autoload(skel->progs.noise_nmi_ns, true);
	}
	bpf_program__set_autoload(
		threads->samples ? skel->progs.latency_sample : skel->progs.latency_switch, true);
	if (threads->samples && thread) {
		bpf_map__set_max_entries(skel->maps.blockers, trigger->nr_possible);
		bpf_program__set_autoload(skel->progs.latency_blocker, true);
	}
	if (!threads->samples && user)
		bpf_program__set_autoload(skel->progs.latency_return, true);
	threads_load_overrun(trigger, config, PERF_POKE_TRIGGER_THREAD);
	return 0;
}

int wakeup_check_task(struct config *config)
{
	if (!config->thresholds[PERF_POKE_TRIGGER_WAKEUP] == !config->opts.task ||
	    config->thresholds[PERF_POKE_TRIGGER_INTERRUPTION])
		return 0;
	return log_error(&config->log, -EINVAL,
			 config->opts.task ? "--task '%s': needs --trigger wakeup or interruption"
					   : "trigger wakeup: needs --task TASK%s",
			 config->opts.task ? config->opts.task : "");
}

int wakeup_load_programs(struct trigger *trigger, const struct trigger_config *config,
			 const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const struct trigger_bpf *skel = trigger->skel;

	rodata->wakeup_pid = config->threads.wakeup_pid;
	snprintf((char *)rodata->wakeup_comm, sizeof(rodata->wakeup_comm), "%s",
		 config->threads.wakeup_comm);
	bpf_map__set_max_entries(skel->maps.wakeups, SLEEPERS_MAX);
	bpf_map__set_max_entries(skel->maps.holders, trigger->nr_possible);
	bpf_program__set_autoload(skel->progs.latency_switch, true);
	bpf_program__set_autoload(skel->progs.latency_wakeup, true);
	threads_load_overrun(trigger, config, PERF_POKE_TRIGGER_WAKEUP);
	return 0;
}
