// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The sequence of a session, from start to stop, and at a spike. */
#include "session/state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "io.h"
#include "machine/base.h"
#include "options/config.h"
#include "options/table.h"
#include "task.h"
#include "trigger/trigger.h"

/* Snapshots in memory: one being written, one waiting. */
#define PENDING_MAX 2

/* Checks the options, first those that depend on nothing else. */
static int session_configure(struct perf_poke *pp, const struct perf_poke_opts *opts)
{
	int err = config_init(&pp->config, opts);

	if (err)
		return err;
	err = option_check_span(opts, &pp->config.log) ?: choices_check(&pp->config);
	if (!err)
		err = triggers_check(&pp->config);
	if (!err)
		err = workload_check(&pp->config);
	if (!err)
		err = recorder_choose(&pp->recorder_ops, pp->config.opts.recorder,
				      &pp->config.recording, &pp->config.log);
	if (err)
		config_destroy(&pp->config);
	return err;
}

int perf_poke__new(struct perf_poke **pp, const struct perf_poke_opts *opts)
{
	_cleanup_free_ struct perf_poke *made = calloc(1, sizeof(*made));
	int err;

	log_enter();
	if (!made)
		return log_leave(-ENOMEM);
	made->epoll_fd = made->hotplug_fd = -1;
	made->output.fd = made->output.work = -1;
	err = opts ? session_configure(made, opts) : -EINVAL;
	if (!err)
		*pp = TAKE_PTR(made);
	return log_leave(err);
}

static int session_privileges(const struct config *config)
{
	bool realtime = config->opts.workload != PERF_POKE_WORKLOAD_NONE;
	char names[128];
	int err;

	err = caps_missing(realtime, names, sizeof(names));
	if (err == -EPERM)
		return log_error(&config->log, err, "not allowed: needs root, or %s", names);
	if (!err && caps_locked_down())
		return log_error(&config->log, -EPERM,
				 "not allowed: the kernel is locked down (lockdown=confidentiality "
				 "keeps BPF from reading kernel memory; integrity does not)");
	return err;
}

static int session_open_trigger(struct perf_poke *pp, uint64_t function)
{
	struct trigger_config trigger = {
		.cpus = pp->config.cpus,
		.nr_cpus = pp->config.nr_cpus,
		.function = function,
		.pause_message = pp->recorder->pause_message,
		.resume_message = pp->recorder->resume_message,
		.stacks = true,
		.rtla = pp->config.opts.session,
	};

	int err = threads_configure(&pp->config, &trigger.threads);

	if (err)
		return err;
	memcpy(trigger.thresholds_ns, pp->config.thresholds, sizeof(trigger.thresholds_ns));
	memcpy(trigger.texts, pp->config.texts, sizeof(trigger.texts));
	if (pp->poke)
		poke_configure(pp->poke, &trigger);
	return trigger_open(&pp->trigger, &trigger, &pp->config.log);
}

/* -1 is ignored. */
static int session_watch(struct perf_poke *pp, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return fd >= 0 && epoll_ctl(pp->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int session_start_writer(struct perf_poke *pp)
{
	int err;

	pp->env.config = &pp->config;
	pp->env.output = &pp->output;
	pp->env.recorder = pp->recorder;
	pp->env.workload = workload_name(pp->config.opts.workload);
	pp->env.poke = pp->poke;
	pp->symbols = (struct capture_symbols){ 0 };
	pp->env.symbols = &pp->symbols;
	pp->env.trigger = pp->trigger;
	err = writer_start(&pp->writer, &pp->env);
	if (err)
		return log_error(&pp->config.log, err,
				 "cannot start the thread that writes captures: %s (see "
				 "RLIMIT_NPROC, RLIMIT_DATA)",
				 strerror(-err));
	pp->rules.config = &pp->config;
	pp->rules.trigger = pp->trigger;
	pp->rules.writer = pp->writer;
	pp->rules.output = &pp->output;
	pp->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (pp->epoll_fd < 0)
		return -errno;
	err = rules_start(&pp->rules);
	if (!err)
		err = session_watch(pp, trigger_fd(pp->trigger));
	if (!err)
		err = session_watch(pp, writer_fd(pp->writer));
	if (!err)
		err = session_watch(pp, pp->poke ? poke_fd(pp->poke) : -1);
	return err ? err : session_watch(pp, pp->hotplug_fd);
}

#define PUT(field, text) snprintf(field, sizeof(field), "%s", text)

/* Stores the constant part of what others see of the session. */
static int session_describe(struct perf_poke *pp)
{
	struct trigger_session *seen = trigger_session(pp->trigger);
	const struct config *config = &pp->config;
	_cleanup_free_ char *output = realpath(config->opts.output, NULL);

	if (!output)
		return -errno;
	seen->threshold_ns = config->opts.threshold_ns;
	memcpy(seen->thresholds_ns, config->thresholds, sizeof(seen->thresholds_ns));
	seen->period_ns =
		config->opts.workload == PERF_POKE_WORKLOAD_NONE ? 0 : config->opts.period_ns;
	seen->max_captures = config->opts.max_captures;
	PUT(seen->function, function_name(config) ? function_name(config) : "any");
	PUT(seen->recorder, pp->recorder_ops->choice.name);
	PUT(seen->freeze, pp->recorder->freeze ? pp->recorder->freeze : "");
	PUT(seen->delivery, pp->poke ? poke_delivery(pp->poke) : "");
	PUT(seen->workload, workload_name(config->opts.workload));
	PUT(seen->output, output);
	return 0;
}

/* Only a taken name is an error: unlisted sessions work. */
static int session_open_pins(struct perf_poke *pp)
{
	const struct config *config = &pp->config;
	int err = session_describe(pp);

	if (err || !config->opts.session)
		return err;
	err = pins_open(&pp->pins, config->opts.session, pp->trigger, &config->log);
	if (err && err != -EEXIST) {
		log_write(&config->log, PERF_POKE_LOG_WARN,
			  "session '%s': cannot pin below " PINS_BPFFS
			  ": %s: status, stop and poke will not find it",
			  config->opts.session, strerror(-err));
		err = 0;
	}
	return err;
}

/* Rings, files, settings, pins and threads are those of the process that started the session. */
static bool session_is_forked(const struct perf_poke *pp)
{
	return pp->started && pp->pid != getpid();
}

/* First what fails cheaply, last what others notice. */
static int session_start(struct perf_poke *pp)
{
	uint64_t function;
	int err;

	err = session_privileges(&pp->config);
	if (err)
		return err;
	workload_choose(&pp->config);
	err = function_find(&pp->config, &function);
	if (err)
		return err;
	err = output_open(&pp->output, pp->config.opts.output, pp->config.opts.output_owner,
			  &pp->config.log);
	if (err)
		return err;
	/* Before the recorder, so that no CPU goes offline unnoticed. */
	pp->hotplug_fd = hotplug_open(&pp->config.log);
	pp->config.recording.work_fd = pp->output.work;
	pp->config.recording.osnoise = pp->config.opts.workload == PERF_POKE_WORKLOAD_OSNOISE;
	err = recorder_open(&pp->recorder, pp->recorder_ops, &pp->config.recording,
			    &pp->config.log);
	if (!err)
		err = hardware_open(&pp->hardware, pp->config.cpus, pp->config.nr_cpus);
	if (!err && pp->config.opts.nr_targets)
		err = poke_open(&pp->poke, &pp->config, &pp->config.log);
	if (!err)
		err = session_open_trigger(pp, function);
	if (!err && pp->poke)
		err = poke_start(pp->poke, pp->trigger);
	if (!err)
		err = recorder_start(pp->recorder, &pp->config.log);
	if (!err)
		err = session_start_writer(pp);
	if (!err)
		err = session_open_pins(pp);
	if (!err)
		err = workload_start(&pp->workload, &pp->config, pp->trigger);
	return err ? err : session_watch(pp, workload_fd(pp->workload));
}

static void session_stop(struct perf_poke *pp);

static int session_arm(struct perf_poke *pp)
{
	int err;

	trigger_free(TAKE_PTR(pp->trigger));
	pp->complete = pp->failed = pp->pending = 0;
	pp->losses = (struct losses){ 0 };
	pp->moved = false;
	pp->held = false;
	pp->started = true;
	pp->pid = getpid();
	err = session_start(pp);
	if (err) {
		session_stop(pp);
		trigger_free(TAKE_PTR(pp->trigger));
		return err;
	}
	trigger_session(pp->trigger)->armed_ns = clock_ns(CLOCK_BOOTTIME);
	hardware_arm(pp->hardware, -1);
	pp->reporter = trigger_reporter(pp->trigger);
	any_thread_admit(&pp->gate);
	trigger_set_disarmed(pp->trigger, pp->disarmed);
	trigger_arm(pp->trigger);
	return 0;
}

int perf_poke__start(struct perf_poke *pp)
{
	int err = -EBUSY;

	log_enter();
	if (!pp->started && !pp->busy) {
		pp->busy = true;
		err = session_arm(pp);
		pp->busy = false;
	}
	return log_leave(err);
}

int perf_poke__fd(const struct perf_poke *pp)
{
	return pp->started ? pp->epoll_fd : -ENOTCONN;
}

/* cpu: whose counters rose while it was not armed; negative: all. */
static void session_rearm(struct perf_poke *pp, int cpu)
{
	pp->held = pp->pending >= PENDING_MAX ||
		   pp->complete + pp->pending >= pp->config.opts.max_captures;
	if (pp->held)
		return;
	hardware_arm(pp->hardware, cpu);
	trigger_arm(pp->trigger);
}

/* frozen_cpu: the CPU whose trace the trigger paused, or -1. */
static int session_resume(struct perf_poke *pp, int frozen_cpu)
{
	int err = recorder_resume(pp->recorder);

	if (frozen_cpu < 0 || err || !pp->recorder->resume_message[0])
		return err;
	err = trigger_resume(pp->trigger, frozen_cpu);
	/* The CPU went offline: tracing starts again when it is back. */
	return err == -ENXIO ? 0 : err;
}

static int session_lose(struct perf_poke *pp, struct capture *capture, int err)
{
	pp->failed++;
	reports_count(pp);
	capture_free(&pp->env, capture);
	return log_error(&pp->config.log, err == -ENOMEM ? err : -EIO,
			 "cannot take the snapshot: %s", strerror(-err));
}

/* The order minimizes blind time: freeze, copy, resume, re-arm, then the rest. Pokes precede the
 * re-arm, because no spike may come in between. */
static int session_capture(struct perf_poke *pp, const struct perf_poke_spike *spike,
			   const struct trigger_spike *seen)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	uint64_t frozen_ns = seen->frozen_ns;
	int err, resumed;

	err = recorder_freeze(pp->recorder, spike);
	if (capture) {
		capture->spike = *spike;
		capture->floor_ns = spike->poked ? 0 : pp->rules.floors_ns[spike->kind];
		capture->still_ns = clock_ns(CLOCK_MONOTONIC);
		/* The trigger froze the CPU that it ran on. */
		if (frozen_ns && spike->cpu == spike->ran_cpu)
			capture->still_ns = frozen_ns;
		capture->hardware = hardware_take(pp->hardware, spike->cpu);
	}
	if (pp->poke)
		poke_settle(pp->poke, spike->sequence, !spike->poked && !seen->unpoked);
	if (!err)
		err = capture ? recorder_copy(pp->recorder, &capture->snapshot) : -ENOMEM;
	resumed = session_resume(pp, frozen_ns ? spike->ran_cpu : -1);
	if (err || resumed) {
		session_rearm(pp, spike->cpu);
		return session_lose(pp, capture, err ? err : resumed);
	}
	pp->pending++;
	reports_count(pp);
	rules_cool(&pp->rules, spike->time_ns);
	session_rearm(pp, spike->cpu);
	capture->armed_ns = clock_ns(CLOCK_MONOTONIC);
	statistics_take(pp, spike, &capture->stats);
	err = recorder_copy_rest(pp->recorder, capture->snapshot);
	if (err) {
		pp->pending--;
		if (pp->held)
			session_rearm(pp, spike->cpu);
		return session_lose(pp, capture, err);
	}
	writer_give(pp->writer, capture);
	return 0;
}

static int session_take_spikes(struct perf_poke *pp)
{
	struct perf_poke_spike spike;
	struct trigger_spike seen;
	int ret = trigger_read(pp->trigger, &seen);

	if (ret <= 0)
		return ret;
	spike = spike_of(&pp->config, &seen);
	return session_capture(pp, &spike, &seen);
}

static bool session_watches_cpu(const struct perf_poke *pp, int cpu)
{
	for (size_t i = 0; i < pp->config.nr_cpus; i++) {
		if (pp->config.cpus[i] == cpu)
			return true;
	}
	return false;
}

/* The recorder may also have events on other than watched CPUs. */
static void session_cpu_online(struct perf_poke *pp, int cpu)
{
	const struct log *log = &pp->config.log;
	int err = recorder_cpu_online(pp->recorder, cpu);
	bool watched = session_watches_cpu(pp, cpu);

	if (!err)
		err = trigger_cpu_online(pp->trigger, cpu);
	if (!err && watched)
		err = workload_cpu_online(pp->workload, cpu);
	if (!err && pp->poke)
		err = poke_cpu_online(pp->poke);
	if (err)
		log_write(log, watched ? PERF_POKE_LOG_WARN : PERF_POKE_LOG_DEBUG,
			  "CPU %d is back, but cannot be watched again: %s", cpu, strerror(-err));
	else if (watched)
		log_write(log, PERF_POKE_LOG_INFO, "CPU %d is back: watched again", cpu);
}

static void session_take_hotplug(struct perf_poke *pp)
{
	struct hotplug_event event;
	int ret;

	while ((ret = hotplug_read(pp->hotplug_fd, &event)) > 0) {
		if (event.online)
			session_cpu_online(pp, event.cpu);
		else if (session_watches_cpu(pp, event.cpu))
			log_write(&pp->config.log, PERF_POKE_LOG_WARN,
				  "CPU %d went offline: it is not watched until it is back",
				  event.cpu);
	}
	if (ret < 0)
		log_write(&pp->config.log, PERF_POKE_LOG_WARN,
			  "cannot read uevents: %s: a CPU that went offline may not be watched",
			  strerror(-ret));
}

static int session_poll(struct perf_poke *pp, int timeout_ms)
{
	struct epoll_event events[7];
	int err, nr, ready;

	if (!pp->started)
		return -ENOTCONN;
	if (session_is_forked(pp))
		return log_error(&pp->config.log, -ECHILD,
				 "the session is that of process %d, which has forked this one",
				 pp->pid);
	if (trigger_stop_asked(pp->trigger))
		timeout_ms = 0;
	ready = epoll_wait(pp->epoll_fd, events, ARRAY_SIZE(events), timeout_ms);
	if (ready < 0)
		return -errno;
	err = session_take_spikes(pp);
	/* Spikes first: reopening a CPU's ring discards its contents. */
	for (int i = 0; i < ready; i++) {
		if (events[i].data.fd == pp->hotplug_fd)
			session_take_hotplug(pp);
		else if (events[i].data.fd == workload_fd(pp->workload))
			workload_poll(pp->workload);
	}
	nr = reports_take(pp);
	if (trigger_stop_asked(pp->trigger))
		return -ECANCELED;
	if (nr && pp->held)
		session_rearm(pp, -1);
	if (!err && pp->poke && !poke_poll(pp->poke))
		err = -ESRCH;
	return err ? err : nr;
}

int perf_poke__poll(struct perf_poke *pp, int timeout_ms)
{
	int ret = -EBUSY;

	log_enter();
	if (!pp->busy) {
		pp->busy = true;
		ret = session_poll(pp, timeout_ms);
		pp->busy = false;
	}
	return log_leave(ret);
}

const char *perf_poke__session(const struct perf_poke *pp)
{
	return pp->pins ? pp->config.opts.session : NULL;
}

int perf_poke__output(const struct perf_poke *pp)
{
	return pp->started ? pp->output.fd : -ENOTCONN;
}

const char *perf_poke__chosen(const struct perf_poke *pp, enum perf_poke_axis axis)
{
	switch (axis) {
	case PERF_POKE_AXIS_RECORDER:
		return pp->recorder_ops->choice.name;
	case PERF_POKE_AXIS_WORKLOAD:
		return workload_name(pp->config.opts.workload);
	case PERF_POKE_AXIS_DELIVERY:
		return pp->poke ? poke_delivery(pp->poke) : "none";
	default:
		return NULL;
	}
}

const int *perf_poke__cpus(const struct perf_poke *pp, size_t *nr)
{
	*nr = pp->config.nr_cpus;
	return pp->config.cpus;
}

static void session_stop(struct perf_poke *pp)
{
	any_thread_close(&pp->gate);
	/* Capture a spike from before the end, unless the limit is reached. */
	if (pp->trigger && pp->writer && !trigger_take(pp->trigger) && !pp->held)
		session_take_spikes(pp);
	if (pp->trigger)
		trigger_take(pp->trigger);
	workload_stop(TAKE_PTR(pp->workload));
	if (pp->writer) {
		writer_finish(pp->writer);
		reports_take(pp);
		writer_free(TAKE_PTR(pp->writer));
	}
	reports_finish(pp);
	rules_stop(&pp->rules);
	poke_finish(pp->poke);
	if (pp->trigger)
		trigger_detach(pp->trigger);
	poke_free(TAKE_PTR(pp->poke));
	recorder_free(TAKE_PTR(pp->recorder));
	hardware_free(TAKE_PTR(pp->hardware));
	closep(&pp->hotplug_fd);
	output_close(&pp->output);
	/* To observers this is the end of the session. */
	pins_free(TAKE_PTR(pp->pins));
	closep(&pp->epoll_fd);
	pp->started = false;
}

int perf_poke__stop(struct perf_poke *pp)
{
	if (!pp || !pp->started)
		return 0;
	if (session_is_forked(pp))
		return -ECHILD;
	if (pp->busy)
		return -EBUSY;
	pp->busy = true;
	session_stop(pp);
	pp->busy = false;
	return pp->moved ? -ESTALE : 0;
}

/* Takes no lock and waits for nothing: another thread may have been anywhere when this process was
 * forked. Closes what would keep the session alive in the eyes of others; the kernel closes the
 * rest when the process ends or executes a program. */
static void session_abandon(struct perf_poke *pp)
{
	pins_abandon(pp->pins);
	workload_abandon(pp->workload);
	closep(&pp->output.work);
	closep(&pp->output.fd);
}

void perf_poke__free(struct perf_poke *pp)
{
	if (!pp)
		return;
	if (session_is_forked(pp)) {
		session_abandon(pp);
	} else {
		perf_poke__stop(pp);
		trigger_free(pp->trigger);
	}
	config_destroy(&pp->config);
	free(pp);
}
