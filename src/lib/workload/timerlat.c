// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "workload/workload.h"

#include <inttypes.h>
#include <string.h>
#include <sys/inotify.h>

#include <tracefs/tracefs.h>

#include "cpulist.h"
#include "io.h"

#define INSTANCE "perf-poke"
#define OPTION "OSNOISE_WORKLOAD"
/* Buffer for the tracer's own records, which nobody reads. */
#define BUFFER_KIB 64

enum watched { WATCHED_CPUS, WATCHED_PERIOD, WATCHED_OPTIONS, WATCHED_TRACER, NR_WATCHED };

/* The two tracers exclude each other. */
struct tracer {
	const char *name;
	/* Settings that others may change while the tracer runs; NULL: `tracer_file`. */
	const char *watched[NR_WATCHED];
};

static const struct tracer timerlat_tracer = {
	"timerlat",
	{ "osnoise/cpus", "osnoise/timerlat_period_us", "osnoise/options", NULL },
};
static const struct tracer osnoise_tracer = {
	"osnoise",
	{ "osnoise/cpus", "tracing_thresh", "osnoise/options", NULL },
};

struct timerlat {
	const struct tracer *tracer;
	int tracefs;
	char dir[64]; /* path of tracefs for libtracefs */
	struct journal *journal;
	struct tracefs_instance *instance; /* NULL: uses another process's tracer */
	char tracer_file[256];
	const struct config *config;
	int inotify;
	int watches[NR_WATCHED];
	char *values[NR_WATCHED]; /* last known */
};

/* The running tracer of an instance; TIMERLAT_TAKEN: the other tracer. folder: relative to tracefs,
 * empty or with a trailing slash. */
static enum timerlat_state tracer_state_of_instance(const struct tracer *wanted, int tracefs,
						    const char *folder)
{
	char file[512], tracer[64], on[16];

	snprintf(file, sizeof(file), "%scurrent_tracer", folder);
	if (read_text_at(tracefs, file, tracer, sizeof(tracer)))
		return TIMERLAT_IDLE;
	snprintf(file, sizeof(file), "%stracing_on", folder);
	if (read_text_at(tracefs, file, on, sizeof(on)) || strcmp(on, "1"))
		return TIMERLAT_IDLE;
	if (!strcmp(tracer, wanted->name))
		return TIMERLAT_RUNS;
	return strcmp(tracer, timerlat_tracer.name) && strcmp(tracer, osnoise_tracer.name)
		       ? TIMERLAT_IDLE
		       : TIMERLAT_TAKEN;
}

/* The running tracer of any instance but `skip`. Stores the instance in folder (300 bytes). */
static enum timerlat_state tracer_find_running(const struct tracer *wanted, int tracefs,
					       const char *skip, char *folder)
{
	_cleanup_closedir_ DIR *dir = NULL;
	enum timerlat_state state;
	struct dirent *entry;

	folder[0] = '\0';
	state = tracer_state_of_instance(wanted, tracefs, folder);
	if (state != TIMERLAT_IDLE || opendir_at(&dir, tracefs, "instances"))
		return state;
	while (state == TIMERLAT_IDLE && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, skip))
			continue;
		snprintf(folder, 300, "instances/%s/", entry->d_name);
		state = tracer_state_of_instance(wanted, tracefs, folder);
	}
	return state;
}

static bool tracer_is_available(const struct tracer *tracer, int tracefs)
{
	char tracers[1024];

	return !read_text_at(tracefs, "available_tracers", tracers, sizeof(tracers)) &&
	       strstr(tracers, tracer->name);
}

static const struct tracer *tracer_of_workload(const struct config *config)
{
	return config->workload == PERF_POKE_WORKLOAD_OSNOISE ? &osnoise_tracer : &timerlat_tracer;
}

int tracer_check_kernel(const struct config *config)
{
	_cleanup_close_ int tracefs = config_is_tracer(config) ? tracefs_open() : -1;
	const struct tracer *tracer = tracer_of_workload(config);

	if (tracefs < 0 || tracer_is_available(tracer, tracefs))
		return 0;
	return log_error(&config->log, -EOPNOTSUPP,
			 tracer == &osnoise_tracer
				 ? "workload osnoise: the kernel is built without "
				   "CONFIG_OSNOISE_TRACER: use one with it, such as Debian's -rt"
				 : "workload timerlat: the kernel is built without "
				   "CONFIG_TIMERLAT_TRACER: use --workload cyclic");
}

enum timerlat_state timerlat_state(int tracefs)
{
	char folder[300];

	return tracer_is_available(&timerlat_tracer, tracefs)
		       ? tracer_find_running(&timerlat_tracer, tracefs, "", folder)
		       : TIMERLAT_MISSING;
}

bool osnoise_available(int tracefs)
{
	return tracer_is_available(&osnoise_tracer, tracefs);
}

bool timerlat_others_run(int tracefs)
{
	char folder[300];

	return tracefs >= 0 &&
	       tracer_find_running(&timerlat_tracer, tracefs, INSTANCE, folder) != TIMERLAT_IDLE;
}

bool timerlat_covers(int tracefs, const int *cpus, size_t nr)
{
	_cleanup_free_ int *has = NULL;
	size_t nr_has = 0;
	char list[4096];

	return !read_text_at(tracefs, "osnoise/cpus", list, sizeof(list)) &&
	       !cpulist_parse(list, &has, &nr_has) && cpulist_missing(cpus, nr, has, nr_has) < 0;
}

static bool timerlat_has_kernel_threads(int tracefs)
{
	char options[512];

	return read_text_at(tracefs, "osnoise/options", options, sizeof(options)) ||
	       !strstr(options, "NO_" OPTION);
}

static const char *timerlat_watched_name(const struct timerlat *timerlat, size_t i)
{
	return timerlat->tracer->watched[i] ? timerlat->tracer->watched[i] : timerlat->tracer_file;
}

static bool timerlat_is_in_user_space(const struct config *config)
{
	return config->workload == PERF_POKE_WORKLOAD_USER;
}

static int timerlat_watch_settings(struct timerlat *timerlat)
{
	char path[400], value[4096];

	timerlat->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (timerlat->inotify < 0)
		return -errno;
	for (size_t i = 0; i < NR_WATCHED; i++) {
		const char *name = timerlat_watched_name(timerlat, i);

		snprintf(path, sizeof(path), "%s/%s", timerlat->dir, name);
		timerlat->watches[i] =
			inotify_add_watch(timerlat->inotify, path, IN_MODIFY | IN_DELETE_SELF);
		if (!read_text_at(timerlat->tracefs, name, value, sizeof(value)))
			timerlat->values[i] = strdup(value);
	}
	return 0;
}

static const char *tracer_alternative(const struct tracer *tracer)
{
	return tracer == &timerlat_tracer ? ", or use --workload cyclic" : "";
}

/* Uses another process's tracer unchanged. */
static int timerlat_join_running(struct timerlat *timerlat, const char *folder)
{
	const struct config *config = timerlat->config;
	const struct log *log = &timerlat->config->log;
	const char *name = timerlat->tracer->name;
	char cpus[1024] = "?", period[32] = "?";
	int tracefs = timerlat->tracefs;

	read_text_at(tracefs, "osnoise/cpus", cpus, sizeof(cpus));
	read_text_at(tracefs, timerlat->tracer->watched[WATCHED_PERIOD], period, sizeof(period));
	if (!timerlat_covers(tracefs, config->cpus, config->nr_cpus))
		return log_error(log, -EBUSY,
				 "workload %s: another %s runs already, on CPUs %.200s only: stop "
				 "it%s",
				 name, name, cpus, tracer_alternative(timerlat->tracer));
	if (timerlat_is_in_user_space(config) && timerlat_has_kernel_threads(tracefs))
		return log_error(
			log, -EBUSY,
			"workload user: another timerlat runs already, with kernel threads: stop "
			"it, or use --workload timerlat");
	snprintf(timerlat->tracer_file, sizeof(timerlat->tracer_file), "%.240scurrent_tracer",
		 folder);
	log_write(log, PERF_POKE_LOG_INFO,
		  "%s runs already (%stracing%s%s): using it unchanged, with %s %sus", name,
		  *folder ? "" : "/sys/kernel/", *folder ? "/" : "", folder,
		  timerlat->tracer == &osnoise_tracer ? "noise from" : "a period of", period);
	return 0;
}

/* All tracers share these settings. Thresholds that stop a tracer may be left over from another
 * one. */
static int timerlat_set_shared_settings(struct timerlat *timerlat)
{
	const struct config *config = timerlat->config;
	struct journal *journal = timerlat->journal;
	_cleanup_free_ char *cpus = NULL;
	char period[32];
	int err;

	err = cpulist_format(config->cpus, config->nr_cpus, &cpus);
	if (err)
		return err;
	snprintf(period, sizeof(period), "%" PRIu64,
		 (timerlat->tracer == &osnoise_tracer ? NOISE_MIN_NS : config->opts.period_ns) /
			 1000);
	err = journal_set_value(journal, "osnoise/stop_tracing_us", "0");
	if (!err)
		err = journal_set_value(journal, "osnoise/stop_tracing_total_us", "0");
	if (!err)
		err = journal_set_value(journal, timerlat->tracer->watched[WATCHED_PERIOD], period);
	if (!err)
		err = journal_set_value(journal, "osnoise/cpus", cpus);
	if (err)
		return log_error(&timerlat->config->log, err,
				 "workload %s: cannot set up the tracer: %s",
				 timerlat->tracer->name, strerror(-err));
	err = journal_set_option(journal, "osnoise/options", OPTION,
				 !timerlat_is_in_user_space(config));
	if (err == -ENOENT && !timerlat_is_in_user_space(config))
		return 0;
	if (err)
		return log_error(
			&timerlat->config->log, err,
			"workload user: needs Linux 6.5 for timerlat's threads in user space "
			"(%s)",
			strerror(-err));
	return 0;
}

/* Up to Linux 5.16 only the main instance supports the tracer. */
static int timerlat_begin_in_main_instance(struct timerlat *timerlat)
{
	char tracer[64];
	int err = read_text_at(timerlat->tracefs, "current_tracer", tracer, sizeof(tracer));

	tracefs_instance_free(TAKE_PTR(timerlat->instance));
	if (err || strcmp(tracer, "nop"))
		return log_error(&timerlat->config->log, -EBUSY,
				 "workload %s: this kernel runs the tracer in the main instance "
				 "only, which is used by '%s'",
				 timerlat->tracer->name, err ? "?" : tracer);
	timerlat->instance = tracefs_instance_alloc(timerlat->dir, NULL);
	if (!timerlat->instance)
		return -errno;
	snprintf(timerlat->tracer_file, sizeof(timerlat->tracer_file), "current_tracer");
	return journal_set_value(timerlat->journal, "current_tracer", timerlat->tracer->name);
}

static int timerlat_begin_own(struct timerlat *timerlat)
{
	const struct log *log = &timerlat->config->log;
	int err;

	err = timerlat_set_shared_settings(timerlat);
	if (err)
		return err;
	err = journal_mkdir(timerlat->journal, "instances/" INSTANCE);
	if (err == -EEXIST)
		return log_error(log, -EBUSY,
				 "workload %s: the tracefs instance " INSTANCE
				 " exists but belongs to no session: remove it (rmdir "
				 "/sys/kernel/tracing/instances/" INSTANCE ")",
				 timerlat->tracer->name);
	if (!err) {
		timerlat->instance = tracefs_instance_alloc(timerlat->dir, INSTANCE);
		err = timerlat->instance ? 0 : -errno;
	}
	if (!err) {
		snprintf(timerlat->tracer_file, sizeof(timerlat->tracer_file),
			 "instances/" INSTANCE "/current_tracer");
		tracefs_instance_set_buffer_size(timerlat->instance, BUFFER_KIB, -1);
		if (tracefs_tracer_set(timerlat->instance, TRACEFS_TRACER_CUSTOM,
				       timerlat->tracer->name))
			err = -errno;
		if (err == -EINVAL || err == -ENODEV)
			err = timerlat_begin_in_main_instance(timerlat);
	}
	if (err)
		return log_error(log, err, "workload %s: cannot start the tracer: %s",
				 timerlat->tracer->name, strerror(-err));
	if (timerlat_is_in_user_space(timerlat->config))
		return 0;
	return timerlat_threads_set(timerlat->config->cpus, timerlat->config->nr_cpus,
				    timerlat->config);
}

int timerlat_start(struct timerlat **ret, int tracefs, struct journal *journal,
		   const struct config *config)
{
	const struct log *log = &config->log;
	struct timerlat *timerlat = calloc(1, sizeof(*timerlat));
	const struct tracer *other;
	enum timerlat_state state;
	char folder[300];
	int err;

	if (!timerlat)
		return -ENOMEM;
	timerlat->tracefs = tracefs;
	timerlat->journal = journal;
	timerlat->config = config;
	timerlat->inotify = -1;
	/* tracefs may not be mounted: see tracefs_open(). */
	snprintf(timerlat->dir, sizeof(timerlat->dir), "/proc/self/fd/%d", tracefs);
	timerlat->tracer = tracer_of_workload(config);
	state = tracer_find_running(timerlat->tracer, tracefs, "", folder);
	other = timerlat->tracer == &osnoise_tracer ? &timerlat_tracer : &osnoise_tracer;
	if (state == TIMERLAT_TAKEN)
		err = log_error(log, -EBUSY,
				"workload %s: the tracer %s runs (%scurrent_tracer) and excludes "
				"it: stop %s%s",
				timerlat->tracer->name, other->name, folder, other->name,
				tracer_alternative(timerlat->tracer));
	else if (state == TIMERLAT_RUNS)
		err = timerlat_join_running(timerlat, folder);
	else
		err = timerlat_begin_own(timerlat);
	if (!err)
		err = timerlat_watch_settings(timerlat);
	if (err) {
		timerlat_free(timerlat);
		return err;
	}
	*ret = timerlat;
	return 0;
}

bool timerlat_is_ours(const struct timerlat *timerlat)
{
	return timerlat->instance;
}

int timerlat_cpu_online(struct timerlat *timerlat, int cpu)
{
	if (!timerlat->instance || timerlat_is_in_user_space(timerlat->config))
		return 0;
	return timerlat_threads_set(&cpu, 1, timerlat->config);
}

int timerlat_fd(const struct timerlat *timerlat)
{
	return timerlat->inotify;
}

void timerlat_poll(struct timerlat *timerlat)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed[NR_WATCHED] = {};
	char now[4096];
	ssize_t len;

	while ((len = read(timerlat->inotify, buf, sizeof(buf))) > 0) {
		for (char *p = buf; p < buf + len;) {
			const struct inotify_event *event = (void *)p;

			for (size_t i = 0; i < NR_WATCHED; i++)
				changed[i] |= event->wd == timerlat->watches[i];
			p += sizeof(*event) + event->len;
		}
	}
	for (size_t i = 0; i < NR_WATCHED; i++) {
		const char *name = timerlat_watched_name(timerlat, i);

		now[0] = '\0';
		if (changed[i])
			read_text_at(timerlat->tracefs, name, now, sizeof(now));
		if (!changed[i] || (timerlat->values[i] && !strcmp(timerlat->values[i], now)))
			continue;
		free(timerlat->values[i]);
		timerlat->values[i] = strdup(now);
		if (timerlat->tracer->watched[i])
			log_write(&timerlat->config->log, PERF_POKE_LOG_WARN,
				  "%s: another process set it to '%s'; not changed back", name,
				  now);
		else
			log_write(&timerlat->config->log, PERF_POKE_LOG_WARN,
				  "another process stopped the tracer %s: %s",
				  timerlat->tracer->name,
				  timerlat->tracer == &osnoise_tracer
					  ? "noise is no longer measured"
					  : "its timers are no longer armed");
	}
}

void timerlat_free(struct timerlat *timerlat)
{
	if (!timerlat)
		return;
	closep(&timerlat->inotify);
	for (size_t i = 0; i < NR_WATCHED; i++)
		free(timerlat->values[i]);
	if (timerlat->instance)
		tracefs_instance_free(timerlat->instance);
	free(timerlat);
}
