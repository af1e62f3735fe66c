// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pokes processes that wait on a perf event of their own, by the delivery `tracepoint`, until the
 * end of stdin: perf-poke-ctl does that for its own children only, whose numbers nobody can take.
 *
 * usage: poker CPU THRESHOLD_NS OUTPUT WAKE PID... ; prints a line when armed, and for each
 * capture.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perf_poke.h>

#define TARGETS_MAX 16

static void on_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	(void)ctx;
	if (level <= PERF_POKE_LOG_WARN)
		fprintf(stderr, "%s\n", msg);
}

static void on_capture(void *ctx, const struct perf_poke_capture *capture)
{
	(void)ctx;
	printf("%d\n", capture->error);
	fflush(stdout);
}

static int run(struct perf_poke *pp)
{
	struct pollfd fds[] = {
		{ .fd = perf_poke__fd(pp), .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};
	int err = 0;

	printf("armed\n");
	fflush(stdout);
	while (err >= 0 && poll(fds, 2, -1) > 0 && !fds[1].revents)
		err = perf_poke__poll(pp, 0);
	return err;
}

int main(int argc, char **argv)
{
	struct perf_poke_target targets[TARGETS_MAX] = { 0 };
	struct perf_poke_opts opts = {
		.sz = sizeof(opts),
		.max_captures = 1000000,
		.recorder = PERF_POKE_RECORDER_PERF,
		.delivery = PERF_POKE_DELIVERY_TRACEPOINT,
		.targets = targets,
		.target_sz = sizeof(*targets),
		.log = on_log,
		.on_capture = on_capture,
	};
	struct perf_poke *pp;
	int err;

	if (argc < 6 || argc > 5 + TARGETS_MAX) {
		fprintf(stderr, "usage: poker CPU THRESHOLD_NS OUTPUT WAKE PID...\n");
		return 2;
	}
	opts.cpus = argv[1];
	opts.threshold_ns = strtoull(argv[2], NULL, 10);
	opts.output = argv[3];
	opts.nr_targets = argc - 5;
	for (size_t i = 0; i < opts.nr_targets; i++) {
		targets[i].pid = atoi(argv[5 + i]);
		targets[i].any_process = true;
	}
	targets[0].wake = argv[4];
	if (perf_poke__new(&pp, &opts))
		return 1;
	err = perf_poke__start(pp);
	if (!err)
		err = run(pp);
	perf_poke__free(pp);
	if (err < 0)
		fprintf(stderr, "poker: %s\n", strerror(-err));
	return err < 0 ? 1 : 0;
}
