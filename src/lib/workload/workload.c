// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload/workload.h"

#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "machine/base.h"
#include "options/config.h"

#define DMA_LATENCY "/dev/cpu_dma_latency"

struct workload {
	const struct config *config;
	const struct trigger *trigger;
	int tracefs;
	int dma_latency; /* in effect while open */
	struct journal *journal;
	struct cyclic *cyclic;
	struct timerlat *timerlat;
	struct user_threads *users;
	int epoll; /* of timerlat and users; -1: unused */
};

int perf_poke__restore(perf_poke_log_fn fn, void *ctx)
{
	const struct log log = { fn, ctx };
	_cleanup_close_ int tracefs = -1;

	if (access(JOURNAL_DIR, F_OK))
		return 0;
	tracefs = tracefs_open();
	return journal_recover(JOURNAL_DIR, tracefs, timerlat_others_run(tracefs), &log);
}

void workload_choose(struct config *config)
{
	_cleanup_close_ int tracefs = tracefs_open();
	enum timerlat_state state;
	int err;

	if (!access(JOURNAL_DIR, F_OK)) {
		err = journal_recover(JOURNAL_DIR, tracefs, timerlat_others_run(tracefs),
				      &config->log);
		if (err > 0)
			log_write(&config->log, PERF_POKE_LOG_WARN,
				  "restored the kernel settings of a killed session");
		else if (err < 0)
			log_write(&config->log, PERF_POKE_LOG_WARN,
				  "cannot look in %s for settings of killed sessions: %s",
				  JOURNAL_DIR, strerror(-err));
	}
	config->workload = config->opts.workload;
	if (config->workload != PERF_POKE_WORKLOAD_AUTO)
		return;
	if (config->thresholds[PERF_POKE_TRIGGER_NOISE]) {
		config->workload = PERF_POKE_WORKLOAD_OSNOISE;
		return;
	}
	/* Workload threads would delay the watched program. */
	if (!config->has_timers) {
		config->workload = PERF_POKE_WORKLOAD_NONE;
		return;
	}
	state = tracefs < 0 ? TIMERLAT_MISSING : timerlat_state(tracefs);
	config->workload = PERF_POKE_WORKLOAD_CYCLIC;
	/* The filter would exclude timerlat's timers. */
	if (config->opts.function && strcmp(config->opts.function, "any") &&
	    strcmp(config->opts.function, TIMERLAT_FUNCTION))
		return;
	/* Without the function's address, timerlat's timers look like others. */
	if (state != TIMERLAT_MISSING && !config->opts.function && kallsyms_check() == -EPERM) {
		log_write(&config->log, PERF_POKE_LOG_INFO,
			  "the kernel hides the address of " TIMERLAT_FUNCTION
			  " (needs CAP_SYSLOG, and "
			  "kernel.kptr_restrict below 2): using the workload cyclic");
		return;
	}
	if (state == TIMERLAT_IDLE && config->opts.period_ns >= TIMERLAT_PERIOD_MIN_NS)
		config->workload = PERF_POKE_WORKLOAD_TIMERLAT;
	/* Another session's tracer would end with that session. */
	if (state == TIMERLAT_RUNS && timerlat_others_run(tracefs)) {
		if (timerlat_covers(tracefs, config->cpus, config->nr_cpus))
			config->workload = PERF_POKE_WORKLOAD_TIMERLAT;
		else
			log_write(&config->log, PERF_POKE_LOG_INFO,
				  "another timerlat runs already, but not on all of these CPUs: "
				  "using the workload cyclic");
	}
}

static int workload_hold_dma_latency(struct workload *workload)
{
	const struct config *config = workload->config;
	int32_t value = config->opts.dma_latency_us;

	if (!config->opts.hold_dma_latency)
		return 0;
	workload->dma_latency = open(DMA_LATENCY, O_WRONLY | O_CLOEXEC);
	if (workload->dma_latency >= 0 &&
	    write(workload->dma_latency, &value, sizeof(value)) == sizeof(value))
		return 0;
	return log_error(&config->log, -errno, "dma latency: cannot write to " DMA_LATENCY ": %s",
			 strerror(errno));
}

#define CPU_PATH "/sys/devices/system/cpu/cpu%d/cpuidle/"

static int workload_limit_idle_states(struct workload *workload)
{
	const struct config *config = workload->config;

	if (!config->opts.limit_idle_state)
		return 0;
	for (size_t i = 0; i < config->nr_cpus; i++) {
		int cpu = config->cpus[i], state = 0, err = 0;
		char name[128];

		snprintf(name, sizeof(name), CPU_PATH "state0", cpu);
		if (access(name, F_OK))
			return log_error(&config->log, -EOPNOTSUPP,
					 "deepest idle state: CPU %d has no idle states (%s)", cpu,
					 name);
		for (state = config->opts.deepest_idle_state + 1; !err; state++) {
			snprintf(name, sizeof(name), CPU_PATH "state%d/disable", cpu, state);
			err = journal_set_value(workload->journal, name, "1");
		}
		if (err != -ENOENT)
			return log_error(&config->log, err, "deepest idle state: cannot set %s: %s",
					 name, strerror(-err));
	}
	return 0;
}

static int workload_watch(struct workload *workload, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (workload->epoll < 0)
		workload->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (workload->epoll < 0 || epoll_ctl(workload->epoll, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	return 0;
}

static int workload_start_tracer(struct workload *workload)
{
	const struct config *config = workload->config;
	int err;

	if (workload->tracefs < 0)
		return log_error(
			&config->log, workload->tracefs, "workload %s: no access to tracefs: %s",
			workload_name(config->workload), tracefs_strerror(workload->tracefs));
	err = timerlat_start(&workload->timerlat, workload->tracefs, workload->journal, config);
	if (!err)
		err = workload_watch(workload, timerlat_fd(workload->timerlat));
	/* Another process's tracer has its own threads. */
	if (err || config->workload != PERF_POKE_WORKLOAD_USER ||
	    !timerlat_is_ours(workload->timerlat))
		return err;
	err = user_threads_start(&workload->users, workload->tracefs, config);
	return err ? err : workload_watch(workload, user_threads_fd(workload->users));
}

static int workload_check_cyclic(const struct config *config)
{
	if (config->sched.size && config->sched.policy != SCHED_FIFO)
		return log_error(&config->log, -EINVAL,
				 "scheduler: the workload cyclic takes f:PRIORITY only");
	return 0;
}

/* The options have not been checked for AUTO. */
static int workload_start_cyclic(struct workload *workload)
{
	const struct config *config = workload->config;
	int err = workload_check_cyclic(config);

	if (err)
		return err;
	return cyclic_start(&workload->cyclic, config->cpus, config->nr_cpus,
			    config->opts.period_ns, config->opts.priority, workload->trigger,
			    &config->log);
}

static int workload_check_timerlat(const struct config *config)
{
	if (config->opts.period_ns < TIMERLAT_PERIOD_MIN_NS)
		return log_error(&config->log, -EINVAL,
				 "period %" PRIu64 " ns: must be 100us to 1s with the workload "
				 "timerlat",
				 config->opts.period_ns);
	return 0;
}

static int workload_try_cyclic(struct probe_detail *detail)
{
	const struct log log = probe_detail_log(detail);
	const int cpu = sched_getcpu();
	struct cyclic *cyclic;
	/* Priority 1 needs the same privileges as higher ones and disturbs nobody. */
	int err = cyclic_start(&cyclic, &cpu, 1, NSEC_PER_SEC / 1000, 1, NULL, &log);

	if (!err)
		cyclic_stop(cyclic);
	return err;
}

static int workload_try_osnoise(struct probe_detail *detail)
{
	_cleanup_close_ int tracefs = tracefs_open();

	if (tracefs < 0) {
		probe_set_detail(detail, "%s", tracefs_strerror(tracefs));
		return tracefs;
	}
	if (osnoise_available(tracefs))
		return 0;
	probe_set_detail(detail, "the kernel is built without CONFIG_OSNOISE_TRACER");
	return -EOPNOTSUPP;
}

static int workload_try_timerlat(struct probe_detail *detail)
{
	_cleanup_close_ int tracefs = tracefs_open();

	if (tracefs < 0) {
		probe_set_detail(detail, "%s", tracefs_strerror(tracefs));
		return tracefs;
	}
	if (timerlat_state(tracefs) != TIMERLAT_MISSING) {
		probe_set_detail(detail, "its thread runs on each watched CPU at FIFO 95 every 1ms "
					 "(--workload none: none)");
		return 0;
	}
	probe_set_detail(detail, "the kernel is built without CONFIG_TIMERLAT_TRACER");
	return -EOPNOTSUPP;
}

static const struct workload_row rows[] = {
	{ { "timerlat", PERF_POKE_WORKLOAD_TIMERLAT,
	    "timerlat tracer; joins one that already runs" },
	  { "timerlat", "--workload cyclic is used instead", false, workload_try_timerlat },
	  workload_check_timerlat,
	  workload_start_tracer },
	{ { "user", PERF_POKE_WORKLOAD_USER, "timerlat tracer with threads in user space" },
	  { NULL },
	  workload_check_timerlat,
	  workload_start_tracer },
	{ { "cyclic", PERF_POKE_WORKLOAD_CYCLIC, "a SCHED_FIFO thread on each CPU" },
	  { "cyclic",
	    "grant CAP_SYS_NICE and CAP_IPC_LOCK; or bring your own timers and use --workload none",
	    false, workload_try_cyclic },
	  workload_check_cyclic,
	  workload_start_cyclic },
	{ { "osnoise", PERF_POKE_WORKLOAD_OSNOISE, "osnoise tracer, for --trigger noise" },
	  { "osnoise", "use a kernel with CONFIG_OSNOISE_TRACER, such as Debian's -rt", false,
	    workload_try_osnoise },
	  NULL,
	  workload_start_tracer },
	{ .choice = { "none", PERF_POKE_WORKLOAD_NONE, "the machine's own timers" } },
};

static const struct workload_row *workload_find_row(enum perf_poke_workload kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].choice.value == (int)kind)
			return &rows[i];
	}
	return NULL;
}

const struct workload_row *workload_row(size_t i)
{
	return i < ARRAY_SIZE(rows) ? &rows[i] : NULL;
}

const char *workload_name(enum perf_poke_workload kind)
{
	const struct workload_row *row = workload_find_row(kind);

	return row ? row->choice.name : "auto";
}

int workload_check(const struct config *config)
{
	const struct workload_row *row = workload_find_row(config->workload);

	return row && row->check ? row->check(config) : 0;
}

int workload_start(struct workload **ret, const struct config *config,
		   const struct trigger *trigger)
{
	const struct workload_row *row = workload_find_row(config->workload);
	struct workload *workload = calloc(1, sizeof(*workload));
	int err = 0;

	if (!workload)
		return -ENOMEM;
	workload->config = config;
	workload->trigger = trigger;
	workload->tracefs = workload->dma_latency = workload->epoll = -1;
	if (config_is_tracer(config) || config->opts.limit_idle_state) {
		workload->tracefs = tracefs_open();
		err = journal_open(&workload->journal, JOURNAL_DIR, workload->tracefs,
				   &config->log);
	}
	if (!err)
		err = workload_hold_dma_latency(workload);
	if (!err)
		err = workload_limit_idle_states(workload);
	if (!err && row->start)
		err = row->start(workload);
	if (err) {
		workload_stop(workload);
		return err;
	}
	*ret = workload;
	return 0;
}

int workload_cpu_online(struct workload *workload, int cpu)
{
	char prefix[64];
	int err = 0;

	if (workload->config->opts.limit_idle_state) {
		snprintf(prefix, sizeof(prefix), CPU_PATH, cpu);
		err = journal_renew(workload->journal, prefix);
	}
	if (err) {
		log_write(&workload->config->log, PERF_POKE_LOG_WARN,
			  "deepest idle state: CPU %d is back, but cannot be limited again: %s",
			  cpu, strerror(-err));
		return err;
	}
	if (workload->users)
		return user_threads_cpu_online(workload->users, cpu);
	if (workload->timerlat)
		return timerlat_cpu_online(workload->timerlat, cpu);
	if (workload->cyclic)
		cyclic_cpu_online(workload->cyclic, cpu);
	return 0;
}

int workload_fd(const struct workload *workload)
{
	return workload->epoll;
}

void workload_poll(struct workload *workload)
{
	if (workload->timerlat)
		timerlat_poll(workload->timerlat);
	if (workload->users)
		user_threads_poll(workload->users);
}

void workload_stop(struct workload *workload)
{
	if (!workload)
		return;
	cyclic_stop(workload->cyclic);
	user_threads_stop(workload->users);
	timerlat_free(workload->timerlat);
	if (workload->journal)
		journal_close(workload->journal, timerlat_others_run(workload->tracefs));
	closep(&workload->dma_latency);
	closep(&workload->epoll);
	closep(&workload->tracefs);
	free(workload);
}

void workload_abandon(struct workload *workload)
{
	if (!workload)
		return;
	journal_abandon(workload->journal);
	closep(&workload->dma_latency);
	closep(&workload->epoll);
	closep(&workload->tracefs);
	free(workload);
}
