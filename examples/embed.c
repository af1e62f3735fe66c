/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The library in a program of one's own: wait for one spike on a CPU, say what it was.
 *
 *	cc embed.c $(pkg-config --cflags --libs libperfpoke) -o embed && sudo ./embed 3
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <perf_poke.h>

static void on_log(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	(void)ctx;
	if (level <= PERF_POKE_LOG_WARN)
		fprintf(stderr, "%s\n", msg);
}

static void on_capture(void *ctx, const struct perf_poke_capture *capture)
{
	int *captures = ctx;

	if (capture->error)
		return;
	++*captures;
	printf("%" PRIu64 " ns late on CPU %d, in %s: %s\n", capture->spike->latency_ns,
	       capture->spike->cpu, capture->spike->comm, capture->path);
}

int main(int argc, char **argv)
{
	int captures = 0, err;
	struct perf_poke_opts opts = {
		.sz = sizeof(opts),
		.cpus = argc > 1 ? argv[1] : "0",
		.threshold_ns = 50 * 1000,
		.log = on_log,
		.on_capture = on_capture,
		.capture_ctx = &captures,
	};
	struct perf_poke *pp;

	if (perf_poke__new(&pp, &opts))
		return 1;
	err = perf_poke__start(pp);
	while (!err && !captures) {
		int ret = perf_poke__poll(pp, 1000);

		if (ret < 0)
			err = ret;
	}
	perf_poke__free(pp);
	if (err)
		fprintf(stderr, "%s\n", strerror(-err));
	return err ? 1 : 0;
}
