// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The sequence of a session, from start to stop, and at a spike. */
#include "session/session.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "io.h"
#include "machine/base.h"
#include "options/config.h"
#include "task.h"
#include "trigger/trigger.h"

/* Snapshots in memory: one being written, one waiting. */
#define PENDING_MAX 2

int perf_poke__new(struct perf_poke **pp, const struct perf_poke_opts *opts)
{
	_cleanup_free_ struct perf_poke *made = calloc(1, sizeof(*made));
	int err;

	last_error_clear();
	if (!made)
		return last_error_return(-ENOMEM);
	made->epoll_fd = made->hotplug_fd = -1;
	made->output.fd = made->output.work = -1;
	/* First what depends on nothing else. */
	err = opts ? config_init(&made->config, opts) : -EINVAL;
	if (err)
		return last_error_return(err);
	err = options_check_span(opts, &made->config.log) ?: choices_check(&made->config);
	if (!err)
		err = triggers_check(&made->config);
	if (!err)
		err = workload_check(&made->config);
	if (!err)
		err = recorder_choose(&made->recorder_ops, made->config.opts.recorder,
				      &made->config.recording, &made->config.log);
	if (err)
		config_destroy(&made->config);
	else
		*pp = TAKE_PTR(made);
	return last_error_return(err);
}

static int session_check_privileges(const struct config *config)
{
	bool realtime = config->workload != PERF_POKE_WORKLOAD_NONE;
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
		.pause_message = pp->message,
		.resume_message = pp->recorder->resume_message,
		.stacks = !pp->config.opts.no_stack,
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

static int session_count_smis(struct perf_poke *pp)
{
	int err = 0;

	for (size_t i = 0; i < pp->config.nr_cpus && !err; i++) {
		int fd = hardware_smi_fd(pp->hardware, i);

		if (fd >= 0)
			err = trigger_count_smis(pp->trigger, pp->config.cpus[i], fd);
	}
	return err;
}

/* -1 is ignored. */
static int session_watch(struct perf_poke *pp, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return fd >= 0 && epoll_ctl(pp->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int session_watch_all(struct perf_poke *pp)
{
	const int fds[] = { trigger_ring_fd(pp->trigger), writer_fd(pp->writer),
			    pp->poke ? poke_fd(pp->poke) : -1, pp->hotplug_fd };
	int err = 0;

	pp->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (pp->epoll_fd < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(fds) && !err; i++)
		err = session_watch(pp, fds[i]);
	return err;
}

#define PUT(field, text) snprintf(field, sizeof(field), "%s", text)

/* Stores the constant part of what others see of the session, and pins it. Only a taken name is an
 * error: unlisted sessions work. */
static int session_open_pins(struct perf_poke *pp)
{
	struct trigger_session *seen = trigger_session(pp->trigger);
	const struct config *config = &pp->config;
	_cleanup_free_ char *output = realpath(config->opts.output, NULL);
	int err;

	if (!output)
		return -errno;
	seen->threshold_ns = config->opts.threshold_ns;
	memcpy(seen->thresholds_ns, config->thresholds, sizeof(seen->thresholds_ns));
	seen->period_ns = config->workload == PERF_POKE_WORKLOAD_NONE ? 0 : config->opts.period_ns;
	seen->max_captures = config->opts.max_captures;
	PUT(seen->function, function_name(config) ? function_name(config) : "any");
	PUT(seen->recorder, pp->recorder_ops->choice.name);
	PUT(seen->freeze, pp->recorder->freeze ? pp->recorder->freeze : "");
	PUT(seen->delivery, pp->poke ? poke_delivery(pp->poke) : "");
	PUT(seen->workload, workload_name(config->workload));
	PUT(seen->output, output);
	if (!config->opts.session)
		return 0;
	err = session_pins_open(&pp->pins, config->opts.session, pp->trigger, &config->log);
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

/* One message stops the recorder's trace and those of others. */
static int session_stop_tracing(struct perf_poke *pp)
{
	int err = 0;

	strcpy(pp->message, pp->recorder->pause_message);
	if (pp->config.opts.nr_stop_tracing && !pp->message[0])
		err = pause_message_make(pp->message, NULL, sizeof(pp->message));
	return err ? err : stop_tracing_open(&pp->stop, &pp->config, pp->message);
}

static void session_describe_captures(struct perf_poke *pp)
{
	pp->symbols = (struct capture_symbols){ 0 };
	pp->env.config = &pp->config;
	pp->env.output = &pp->output;
	pp->env.recorder = pp->recorder;
	pp->env.workload = workload_name(pp->config.workload);
	pp->env.poke = pp->poke;
	pp->env.symbols = &pp->symbols;
	pp->env.trigger = pp->trigger;
}

static int session_stop(struct perf_poke *pp);

int perf_poke__start(struct perf_poke *pp)
{
	const struct log *log = &pp->config.log;
	uint64_t function;
	int err;

	last_error_clear();
	if (pp->started || pp->busy || pp->stuck)
		return last_error_return(-EBUSY);
	pp->busy = true;
	trigger_free(TAKE_PTR(pp->trigger));
	pp->complete = pp->failed = pp->pending = pp->poked = 0;
	pp->losses = (struct losses){ 0 };
	memset(pp->floors_ns, 0, sizeof(pp->floors_ns));
	pp->moved = pp->paused = false;
	pp->started = true;
	pp->pid = getpid();

	/* First what fails cheaply, last what others notice. */
	err = session_check_privileges(&pp->config);
	if (!err) {
		workload_choose(&pp->config);
		err = triggers_check_kernel(&pp->config) ?: tracer_check_kernel(&pp->config);
	}
	if (!err) {
		err = config_find_function(&pp->config, &function);
	}
	if (!err)
		err = output_open(&pp->output, pp->config.opts.output, pp->config.opts.output_owner,
				  log);
	if (!err) {
		/* Before the recorder, so that no CPU goes offline unnoticed. */
		pp->hotplug_fd = hotplug_open(log);
		pp->config.recording.work_fd = pp->output.work;
		pp->config.recording.osnoise = pp->config.workload == PERF_POKE_WORKLOAD_OSNOISE;
		err = recorder_open(&pp->recorder, pp->recorder_ops, &pp->config.recording, log);
	}
	if (!err)
		err = session_stop_tracing(pp);
	if (!err)
		err = hardware_open(&pp->hardware, pp->config.cpus, pp->config.nr_cpus);
	if (!err && pp->config.opts.nr_targets)
		err = poke_open(&pp->poke, &pp->config, log);
	if (!err)
		err = session_open_trigger(pp, function);
	if (!err)
		err = session_count_smis(pp);
	if (!err && pp->poke)
		err = poke_start(pp->poke, pp->trigger);
	if (!err)
		err = recorder_start(pp->recorder, log);
	if (!err) {
		session_describe_captures(pp);
		err = writer_start(&pp->writer, &pp->env);
		if (err)
			log_error(log, err,
				  "cannot start the thread that writes captures: %s (see "
				  "RLIMIT_NPROC, RLIMIT_DATA)",
				  strerror(-err));
	}
	if (!err)
		err = keep_worst_new(&pp->keep, pp->config.opts.keep_worst,
				     pp->config.opts.max_disk);
	if (!err)
		err = session_watch_all(pp);
	if (!err)
		err = session_open_pins(pp);
	if (!err)
		err = workload_start(&pp->workload, &pp->config, pp->trigger);
	if (!err)
		err = session_watch(pp, workload_fd(pp->workload));
	if (err) {
		session_stop(pp);
		trigger_free(TAKE_PTR(pp->trigger));
	} else {
		trigger_session(pp->trigger)->armed_ns = clock_ns(CLOCK_BOOTTIME);
		hardware_restart_counts(pp->hardware);
		pp->reporter = trigger_reporter(pp->trigger);
		any_thread_admit(&pp->gate);
		session_apply_disarmed(pp);
		trigger_arm(pp->trigger);
	}
	pp->busy = false;
	return last_error_return(err);
}

int perf_poke__fd(const struct perf_poke *pp)
{
	return pp->started ? pp->epoll_fd : -ENOTCONN;
}

static void session_rearm(struct perf_poke *pp)
{
	pp->paused = pp->pending >= PENDING_MAX ||
		     pp->complete + pp->pending - pp->poked >= pp->config.opts.max_captures;
	if (pp->paused)
		return;
	trigger_arm(pp->trigger);
}

/* frozen_cpu: the CPU whose trace the trigger paused, or -1. */
static int session_resume(struct perf_poke *pp, int frozen_cpu)
{
	int err = recorder_resume(pp->recorder);

	if (frozen_cpu < 0 || err || !pp->recorder->resume_message[0])
		return err;
	err = trigger_resume_trace(pp->trigger, frozen_cpu);
	/* The CPU went offline: tracing starts again when it is back. */
	return err == -ENXIO ? 0 : err;
}

static int session_lose_capture(struct perf_poke *pp, struct capture *capture, int err)
{
	pp->failed++;
	session_publish_counts(pp);
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
	uint64_t cooldown_ns = pp->config.opts.cooldown_ns, cooldown_end_ns;
	uint64_t frozen_ns = pp->recorder->pause_message[0] ? seen->frozen_ns : 0;
	int err, resumed;

	pp->recorder->paused = frozen_ns;
	err = recorder_freeze(pp->recorder, spike);
	if (capture) {
		capture->spike = *spike;
		capture->floor_ns = spike->poked ? 0 : pp->floors_ns[spike->kind];
		capture->still_ns = clock_ns(CLOCK_MONOTONIC);
		/* The trigger froze the CPU that it ran on. */
		if (frozen_ns && spike->cpu == spike->ran_cpu)
			capture->still_ns = frozen_ns;
		capture->hardware = hardware_take_rise(pp->hardware, spike->cpu,
						       trigger_read_smis(pp->trigger, spike));
	}
	if (pp->poke)
		poke_settle(pp->poke, spike->sequence, !spike->poked && !seen->unpoked);
	if (!err)
		err = capture ? recorder_copy(pp->recorder, &capture->snapshot) : -ENOMEM;
	resumed = session_resume(pp, frozen_ns ? spike->ran_cpu : -1);
	if (err || resumed) {
		session_rearm(pp);
		return session_lose_capture(pp, capture, err ? err : resumed);
	}
	pp->pending++;
	pp->poked += spike->poked;
	session_publish_counts(pp);
	if (cooldown_ns) {
		if (__builtin_add_overflow(spike->time_ns, cooldown_ns, &cooldown_end_ns))
			cooldown_end_ns = UINT64_MAX;
		trigger_set_quiet(pp->trigger, cooldown_end_ns);
	}
	trigger_hold_pause(pp->trigger, pp->recorder->reads_late);
	session_rearm(pp);
	capture->armed_ns = clock_ns(CLOCK_MONOTONIC);
	statistics_snapshot(pp, spike, &capture->stats);
	err = recorder_copy_rest(pp->recorder, capture->snapshot);
	trigger_hold_pause(pp->trigger, false);
	if (err) {
		pp->pending--;
		pp->poked -= spike->poked;
		if (pp->paused)
			session_rearm(pp);
		return session_lose_capture(pp, capture, err);
	}
	writer_add_capture(pp->writer, capture);
	return 0;
}

static int session_capture_spike(struct perf_poke *pp)
{
	struct perf_poke_spike spike;
	struct trigger_spike seen;
	int ret = trigger_read_spike(pp->trigger, &seen);

	if (ret <= 0)
		return ret;
	spike = spike_from_record(&pp->config, &seen);
	if (spike.kind == PERF_POKE_TRIGGER_INTERRUPTION)
		trigger_name_source(pp->trigger, &seen, spike.label, sizeof(spike.label));
	return session_capture(pp, &spike, &seen);
}

/* The recorder may also have events on other than watched CPUs. */
static void session_read_hotplug(struct perf_poke *pp)
{
	const struct log *log = &pp->config.log;
	struct hotplug_event event;
	int ret;

	while ((ret = hotplug_read(pp->hotplug_fd, &event)) > 0) {
		bool watched = false;
		int err;

		for (size_t i = 0; i < pp->config.nr_cpus; i++)
			watched |= pp->config.cpus[i] == event.cpu;
		if (!event.online) {
			if (watched)
				log_write(log, PERF_POKE_LOG_WARN,
					  "CPU %d went offline: it is not watched until it is back",
					  event.cpu);
			continue;
		}
		err = recorder_cpu_online(pp->recorder, event.cpu);
		if (!err)
			err = trigger_cpu_online(pp->trigger, event.cpu);
		if (!err && watched)
			err = workload_cpu_online(pp->workload, event.cpu);
		if (!err && pp->poke)
			err = poke_cpu_online(pp->poke);
		if (err)
			log_write(log, watched ? PERF_POKE_LOG_WARN : PERF_POKE_LOG_DEBUG,
				  "CPU %d is back, but cannot be watched again: %s", event.cpu,
				  strerror(-err));
		else if (watched)
			log_write(log, PERF_POKE_LOG_INFO, "CPU %d is back: watched again",
				  event.cpu);
	}
	if (ret < 0)
		log_write(log, PERF_POKE_LOG_WARN,
			  "cannot read uevents: %s: a CPU that went offline may not be watched",
			  strerror(-ret));
}

int perf_poke__poll(struct perf_poke *pp, int timeout_ms)
{
	struct epoll_event events[7];
	int ret = -ENOTCONN, nr, ready;

	last_error_clear();
	if (pp->busy)
		return last_error_return(-EBUSY);
	pp->busy = true;
	if (!pp->started)
		goto out;
	if (session_is_forked(pp)) {
		ret = log_error(&pp->config.log, -ECHILD,
				"the session is that of process %d, which has forked this one",
				pp->pid);
		goto out;
	}
	if (trigger_stop_asked(pp->trigger))
		timeout_ms = 0;
	ready = epoll_wait(pp->epoll_fd, events, ARRAY_SIZE(events), timeout_ms);
	if (ready < 0) {
		ret = -errno;
		goto out;
	}
	ret = session_capture_spike(pp);
	/* Spikes first: reopening a CPU's ring discards its contents. */
	for (int i = 0; i < ready; i++) {
		if (events[i].data.fd == pp->hotplug_fd)
			session_read_hotplug(pp);
		else if (events[i].data.fd == workload_fd(pp->workload))
			workload_poll(pp->workload);
	}
	nr = session_report_finished(pp);
	if (trigger_stop_asked(pp->trigger)) {
		ret = -ECANCELED;
		goto out;
	}
	if (nr && pp->paused)
		session_rearm(pp);
	if (!ret && pp->poke && !poke_poll(pp->poke))
		ret = -ESRCH;
	if (!ret)
		ret = nr;
out:
	pp->busy = false;
	return last_error_return(ret);
}

/* -ETIMEDOUT, which is logged: the writer's thread waits for a file system that does not answer. */
static int session_finish_writer(struct perf_poke *pp)
{
	int err = 0;

	while (!err && pp->pending) {
		err = writer_wait(pp->writer);
		session_report_finished(pp);
	}
	err = err ?: writer_finish(pp->writer);
	session_report_finished(pp);
	if (err)
		return log_error(&pp->config.log, err,
				 "output '%s': given up: its file system does not answer%s",
				 pp->config.opts.output, pp->pending ? "; captures are lost" : "");
	writer_free(TAKE_PTR(pp->writer));
	return 0;
}

static int session_stop(struct perf_poke *pp)
{
	any_thread_close(&pp->gate);
	/* Capture a spike from before the end, unless the limit is reached. */
	if (pp->trigger && pp->writer && !trigger_take_spike(pp->trigger) && !pp->paused)
		session_capture_spike(pp);
	if (pp->trigger)
		trigger_take_spike(pp->trigger);
	if (pp->recorder && pp->recorder->ops->stop)
		pp->recorder->ops->stop(pp->recorder);
	workload_stop(TAKE_PTR(pp->workload));
	if (pp->writer)
		pp->stuck = session_finish_writer(pp);
	else
		output_close(&pp->output);
	session_report_end(pp);
	keep_free(TAKE_PTR(pp->keep));
	poke_finish(pp->poke);
	if (pp->trigger)
		trigger_detach(pp->trigger);
	stop_tracing_close(TAKE_PTR(pp->stop));
	/* Else the thread may yet use them. */
	if (!pp->stuck) {
		poke_free(TAKE_PTR(pp->poke));
		recorder_free(TAKE_PTR(pp->recorder));
	}
	hardware_free(TAKE_PTR(pp->hardware));
	closep(&pp->hotplug_fd);
	/* To observers this is the end of the session. */
	session_pins_free(TAKE_PTR(pp->pins));
	closep(&pp->epoll_fd);
	pp->started = false;
	return pp->stuck;
}

int perf_poke__leave_tracing(struct perf_poke *pp)
{
	if (!pp->started)
		return -ENOTCONN;
	if (session_is_forked(pp))
		return -ECHILD;
	if (!pp->recorder || !pp->recorder->ops->can_leave)
		return 0;
	pp->recorder->leaves = true;
	return 1;
}

int perf_poke__stop(struct perf_poke *pp)
{
	int err;

	if (!pp || !pp->started)
		return 0;
	if (session_is_forked(pp))
		return -ECHILD;
	if (pp->busy)
		return -EBUSY;
	pp->busy = true;
	err = session_stop(pp);
	pp->busy = false;
	return err ?: pp->moved ? -ESTALE : 0;
}

/* Takes no lock and waits for nothing: another thread may have been anywhere when this process was
 * forked. Closes what would keep the session alive in the eyes of others; the kernel closes the
 * rest when the process ends or executes a program. */
static void session_abandon(struct perf_poke *pp)
{
	session_pins_abandon(pp->pins);
	workload_abandon(pp->workload);
	stop_tracing_abandon(pp->stop);
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
		/* All of it is left to the thread that waits. */
		if (pp->stuck)
			return;
		trigger_free(pp->trigger);
	}
	config_destroy(&pp->config);
	free(pp);
}
