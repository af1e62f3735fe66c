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
struct traces {
	size_t descriptors, threads, instances;
};

static size_t count_entries(const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	size_t nr = 0;

	while (dir && readdir(dir))
		nr++;
	/* . and .. */
	return nr > 2 ? nr - 2 : 0;
}

static struct traces count_traces(void)
{
	return (struct traces){
		.descriptors = count_entries("/proc/self/fd"),
		.threads = count_entries("/proc/self/task"),
		.instances = count_entries("/sys/kernel/tracing/instances"),
	};
}

struct row_session {
	struct run *run;
	struct row *row;
	struct perf_poke *pp;
	char name[32];
	uint64_t armed_ns;
};

static void on_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	struct row_session *s = ctx;

	if (level == PERF_POKE_LOG_ERROR && !s->row->failure)
		s->row->failure = strdup(msg);
	console_log_message(s->run->con, level, msg);
}

static void on_capture(void *ctx, const struct perf_poke_capture *told)
{
	struct row_session *s = ctx;
	struct row *row = s->row;
	struct row_capture *capture = &row->captures[row->nr];
	uint64_t armed_ns = s->armed_ns;

	row->nr_taken++;
	row->nr_failed += !!told->error;
	s->armed_ns = told->spike->time_ns + told->blind_ns;
	if (told->error || row->nr == ROW_CAPTURES ||
	    !load_made(&s->run->load, told->spike->expected_ns, told->spike->time_ns))
		return;
	*capture =
		(struct row_capture){ .told = *told, .spike = *told->spike, .armed_ns = armed_ns };
	capture->path = strdup(told->path);
	capture->told.spike = &capture->spike;
	capture->told.path = capture->told.recorder = capture->spike.function_name = NULL;
	row->nr += capture->path != NULL;
}

/* Polls until the next capture. */
static int poll_spin(struct row_session *s, uint64_t end_ns)
{
	size_t taken = s->row->nr_taken;

	while (s->row->nr_taken == taken && !ending_asked && clock_ns(CLOCK_MONOTONIC) < end_ns) {
		int r = perf_poke__poll(s->pp, 10);

		if (r < 0 && r != -EINTR)
			return r;
	}
	return 0;
}

static int capture_spins(struct row_session *s)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), end_ns = now + ALL_NS;
	int r = 0;

	while (s->row->nr < ROW_CAPTURES && !r && !ending_asked && now < end_ns) {
		load_spin(&s->run->load);
		r = poll_spin(s, now + ONE_NS);
		now = clock_ns(CLOCK_MONOTONIC);
	}
	return r;
}

/* Waits for a signal for each spike, then a moment for excess signals. */
static void count_signals(struct row_session *s)
{
	uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + SIGNAL_NS;
	const struct load *load = &s->run->load;

	while (load_signals(load) + s->row->merged < s->row->nr_taken &&
	       clock_ns(CLOCK_MONOTONIC) < end_ns)
		usleep(1000);
	usleep(MORE_NS / 1000);
}

static void read_merged(void *ctx, const struct perf_poke_session *session)
{
	struct row_session *s = ctx;

	if (!strcmp(session->name, s->name))
		s->row->merged = session->merged;
}

static void look_for_name(void *ctx, const struct perf_poke_session *session)
{
	struct row_session *s = ctx;

	if (!strcmp(session->name, s->name))
		row_wrong(s->row, CHECK_CLEAN, "the session is still pinned in bpffs");
}

static void look_for_folders(struct row_session *s, size_t before)
{
	size_t after = count_entries(s->run->output);

	if (after != before + s->row->nr_taken - s->row->nr_failed)
		row_wrong(s->row, CHECK_CLEAN, "%zu files in the output folder for %zu captures",
			  after - before, s->row->nr_taken - s->row->nr_failed);
}

static void look_for_traces(struct row_session *s, const struct traces *before)
{
	struct traces now = count_traces();
	const struct {
		const char *what;
		size_t before, now;
	} rows[] = { { "descriptors", before->descriptors, now.descriptors },
		     { "threads", before->threads, now.threads },
		     { "tracefs instances", before->instances, now.instances } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].now != rows[i].before)
			row_wrong(s->row, CHECK_CLEAN, "%zu %s, %zu before the session",
				  rows[i].now, rows[i].what, rows[i].before);
	}
	if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
		row_wrong(s->row, CHECK_CLEAN, "a child process is left");
	perf_poke__sessions(look_for_name, s);
}

static void fail(struct row_session *s, const char *what, int r)
{
	if (!s->row->failure)
		s->row->failure = strfmt("%s: %s", what, strerror(-r));
}

static void run_session(struct row_session *s)
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
		.output = s->run->output,
		.targets = &target,
		.nr_targets = 1,
		.target_sz = sizeof(target),
		.session = s->name,
		.raw_rings = s->row->recorder == PERF_POKE_RECORDER_PT,
		.log = on_log,
		.log_ctx = s,
		.on_capture = on_capture,
		.capture_ctx = s,
	};
	int r;

	snprintf(cpus, sizeof(cpus), "%d", s->run->cpu);
	r = perf_poke__new(&s->pp, &opts);
	if (!r)
		r = perf_poke__start(s->pp);
	if (r) {
		fail(s, "start", r);
		return;
	}
	s->armed_ns = clock_ns(CLOCK_MONOTONIC);
	if (placement_apply(&s->run->cpu, 1))
		console_warn(s->run->con, "no real-time priority, expect a longer skid");
	r = load_busy(&s->run->load);
	if (!r)
		r = capture_spins(s);
	if (r)
		fail(s, "snapshot", r);
	/* Busy tasks would delay the end of the session. */
	load_calm(&s->run->load);
	perf_poke__sessions(read_merged, s);
	perf_poke__stop(s->pp);
	count_signals(s);
	s->row->signals = load_signals(&s->run->load);
	placement_release();
}

static void decode(struct run *run, struct row *row)
{
	for (size_t i = 0; i < row->nr && !ending_asked; i++) {
		decode_by_report(&row->captures[i], run->con);
		if (run->perf && !i && !ending_asked)
			decode_by_perf(&row->captures[i], run->perf, run->con);
	}
}

void run_row(struct run *run, struct row *row)
{
	const struct traces before = count_traces();
	size_t files = count_entries(run->output);
	struct row_session s = { .run = run, .row = row };
	int r = load_start(&run->load);

	snprintf(s.name, sizeof(s.name), "selftest-%d", getpid());
	if (r)
		fail(&s, "cannot start the load", r);
	else
		run_session(&s);
	perf_poke__free(s.pp);
	load_stop(&run->load);
	look_for_folders(&s, files);
	decode(run, row);
	look_for_traces(&s, &before);
	row_judge(row);
}
