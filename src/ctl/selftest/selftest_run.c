// SPDX-License-Identifier: GPL-2.0-only
#include "selftest/selftest.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/cli.h"
#include "clock.h"
#include "session/session.h"
#include "text.h"

/* Timeouts of all captures and of one: unrelated late timers may occupy the session. */
#define ALL_NS (10 * NSEC_PER_SEC)
#define ONE_NS NSEC_PER_SEC
/* Timeouts for pending and for excess signals. */
#define SIGNAL_NS (NSEC_PER_SEC / 2)
#define MORE_NS (NSEC_PER_SEC / 50)

/* Possible leftovers of a session in this process and on the machine. */
struct leftovers {
	size_t descriptors, threads, instances;
};

static size_t count_folder_entries(const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	size_t nr = 0;

	while (dir && readdir(dir))
		nr++;
	/* . and .. */
	return nr > 2 ? nr - 2 : 0;
}

static struct leftovers count_leftovers(void)
{
	return (struct leftovers){
		.descriptors = count_folder_entries("/proc/self/fd"),
		.threads = count_folder_entries("/proc/self/task"),
		.instances = count_folder_entries("/sys/kernel/tracing/instances"),
	};
}

struct row_session {
	struct selftest_run *run;
	struct row *row;
	struct perf_poke *pp;
	char name[32];
	uint64_t armed_ns;
};

static void row_log_message(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	struct row_session *s = ctx;

	if (level == PERF_POKE_LOG_ERROR && !s->row->failure)
		s->row->failure = strdup(msg);
	console_log_message(s->run->con, level, msg);
}

static void row_add_capture(void *ctx, const struct perf_poke_capture *told)
{
	struct row_session *s = ctx;
	struct row *row = s->row;
	struct row_capture *capture = &row->captures[row->nr];
	uint64_t armed_ns = s->armed_ns;

	row->nr_taken++;
	row->nr_failed += !!told->error;
	s->armed_ns = told->spike->time_ns + told->blind_ns;
	if (told->error || row->nr == ROW_CAPTURES ||
	    !load_delayed_timer(&s->run->load, told->spike->expected_ns, told->spike->time_ns))
		return;
	*capture =
		(struct row_capture){ .told = *told, .spike = *told->spike, .armed_ns = armed_ns };
	capture->path = strdup(told->path);
	capture->told.spike = &capture->spike;
	capture->told.path = capture->told.recorder = capture->spike.function_name = NULL;
	row->nr += capture->path != NULL;
}

static int row_capture_delays(struct row_session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), end_ns = now + ALL_NS;
	int err = 0;

	while (s->row->nr < ROW_CAPTURES && err >= 0 && !signals_asked_end && now < end_ns) {
		uint64_t one_end_ns = now + ONE_NS;
		size_t taken = s->row->nr_taken;

		load_delay_timers(&s->run->load);
		/* Until the next capture. */
		while (s->row->nr_taken == taken && err >= 0 && !signals_asked_end &&
		       clock_ns(CLOCK_MONOTONIC) < one_end_ns) {
			err = perf_poke__poll(s->pp, 10);
			if (err == -EINTR)
				err = 0;
		}
		now = clock_ns(CLOCK_MONOTONIC);
	}
	return err < 0 ? err : 0;
}

/* Waits for a signal for each spike, then a moment for excess signals. */
static void row_await_signals(struct row_session *s)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + SIGNAL_NS;
	const struct load *load = &s->run->load;

	while (load_count_signals(load) + s->row->merged < s->row->nr_taken &&
	       clock_ns(CLOCK_MONOTONIC) < end_ns)
		usleep(1000);
	usleep(MORE_NS / 1000);
}

static void row_read_merged(void *ctx, const struct perf_poke_session *session)
{
	struct row_session *s = ctx;

	if (!strcmp(session->name, s->name))
		s->row->merged = session->merged;
}

static void row_check_pins(void *ctx, const struct perf_poke_session *session)
{
	struct row_session *s = ctx;

	if (!strcmp(session->name, s->name))
		row_set_wrong(s->row, CHECK_CLEAN, "the session is still pinned in bpffs");
}

static void row_check_folders(struct row_session *s, size_t before)
{
	size_t after = count_folder_entries(s->run->output);

	if (after != before + s->row->nr_taken - s->row->nr_failed)
		row_set_wrong(s->row, CHECK_CLEAN,
			      "%zu files in the output folder for %zu captures", after - before,
			      s->row->nr_taken - s->row->nr_failed);
}

static void row_check_leftovers(struct row_session *s, const struct leftovers *before)
{
	struct leftovers now = count_leftovers();
	const struct {
		const char *what;
		size_t before, now;
	} rows[] = { { "descriptors", before->descriptors, now.descriptors },
		     { "threads", before->threads, now.threads },
		     { "tracefs instances", before->instances, now.instances } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* An instance of a killed session goes with this one. */
		if (rows[i].now > rows[i].before)
			row_set_wrong(s->row, CHECK_CLEAN, "%zu %s, %zu before the session",
				      rows[i].now, rows[i].what, rows[i].before);
	}
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		row_set_wrong(s->row, CHECK_CLEAN, "a child process is left");
	perf_poke__sessions(row_check_pins, s);
}

static void row_set_failure(struct row_session *s, const char *what, int err)
{
	if (!s->row->failure)
		s->row->failure = strfmt("%s: %s", what, strerror(-err));
}

static void row_run_session(struct row_session *s)
{
	const struct perf_poke_target target = {
		.pid = s->run->load.pids[0],
		.any_process = true,
		.wake = s->row->delivery == PERF_POKE_DELIVERY_TRACEPOINT ? LOAD_WAKE : NULL,
	};
	char cpus[16];
	const struct perf_poke_opts opts = {
		.sz = sizeof(opts),
		.cpus = cpus,
		.threshold_ns = s->run->threshold_ns,
		.workload = PERF_POKE_WORKLOAD_CYCLIC,
		.recorder = s->row->recorder,
		.freeze = s->row->freeze,
		.delivery = s->row->delivery,
		.buffer_size = s->row->buffer_size,
		.max_captures = UINT64_MAX,
		.output = s->run->output,
		.targets = &target,
		.nr_targets = 1,
		.target_sz = sizeof(target),
		.session = s->name,
		.raw_rings = s->row->recorder == PERF_POKE_RECORDER_PT,
		.log = row_log_message,
		.log_ctx = s,
		.on_capture = row_add_capture,
		.capture_ctx = s,
	};
	int err;

	snprintf(cpus, sizeof(cpus), "%d", s->run->cpu);
	err = perf_poke__new(&s->pp, &opts);
	if (!err)
		err = perf_poke__start(s->pp);
	if (err) {
		row_set_failure(s, "start", err);
		return;
	}
	s->armed_ns = clock_ns(CLOCK_MONOTONIC);
	if (placement_apply(&s->run->cpu, 1))
		console_warn(s->run->con, "no real-time priority, expect a longer skid");
	err = load_make_cpu_busy(&s->run->load);
	if (!err)
		err = row_capture_delays(s);
	if (err)
		row_set_failure(s, "snapshot", err);
	/* Busy tasks would delay the end of the session. */
	load_end_busy_tasks(&s->run->load);
	perf_poke__sessions(row_read_merged, s);
	perf_poke__stop(s->pp);
	row_await_signals(s);
	s->row->signals = load_count_signals(&s->run->load);
	placement_release();
}

void selftest_run_row(struct selftest_run *run, struct row *row)
{
	const struct leftovers before = count_leftovers();
	size_t files = count_folder_entries(run->output);
	struct row_session s = { .run = run, .row = row };
	int err = load_start_processes(&run->load);

	snprintf(s.name, sizeof(s.name), "selftest-%d", getpid());
	if (err)
		row_set_failure(&s, "cannot start the load", err);
	else
		row_run_session(&s);
	perf_poke__free(s.pp);
	load_end_processes(&run->load);
	row_check_folders(&s, files);
	for (size_t i = 0; i < row->nr && !signals_asked_end; i++) {
		decode_by_report(&row->captures[i], run->con);
		if (run->perf && !i && !signals_asked_end &&
		    row->recorder != PERF_POKE_RECORDER_FTRACE)
			decode_by_perf(&row->captures[i], run->perf, run->con);
	}
	row_check_leftovers(&s, &before);
}
