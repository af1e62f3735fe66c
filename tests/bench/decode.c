// SPDX-License-Identifier: GPL-2.0-only
/* How long it takes to decode a trace: with libipt alone ("bare"), and with decode_next().
 *
 * usage: bench-decode bare|stream|runs PERF.DATA SYMFS THREADS [BEGIN END]
 * Prints seconds, seconds of CPU, instructions, blocks or items, bytes of the trace, KiB at most.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "code/code.h"
#include "pt/blocks.h"
#include "pt/decode.h"

static uint64_t insns, blocks, last;

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Segment by segment, as the program does, without its other work. */
static void walk(const struct blocks_env *env, const struct trace_segment *segment,
		 struct pt_image *image)
{
	struct pt_config config = env->config;
	struct pt_block_decoder *decoder;
	int status;

	memset(&config.flags, 0, sizeof(config.flags));
	config.begin = (uint8_t *)segment->begin;
	config.end = (uint8_t *)segment->end;
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, image);
	for (status = pt_blk_sync_set(decoder, 0); status >= 0;) {
		struct pt_event event;
		struct pt_block block;

		if (status & pts_event_pending) {
			status = pt_blk_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_blk_next(decoder, &block, sizeof(block));
		insns += block.ninsn;
		blocks++;
	}
	pt_blk_free_decoder(decoder);
}

static int task_at(const struct sideband *sideband, int cpu, uint64_t time)
{
	const struct sideband_task *tasks;
	size_t nr;
	int pid = -1;

	tasks = sideband_tasks(sideband, cpu, &nr);
	for (size_t i = 0; i < nr && tasks[i].time <= time; i++)
		pid = tasks[i].pid;
	return pid;
}

static int bare(const struct decode_opts *opts)
{
	struct code_opts code_opts = { .data = opts->data, .symfs = opts->symfs };
	_cleanup_free_ char *folder = NULL;
	struct perfdata_file file;
	struct sideband *sideband;
	struct trace *trace;
	struct code *code;
	struct code_view *view;
	struct blocks_env env;
	char *why;
	int fd;

	if (asprintf(&folder, "%s/data", opts->data) < 0)
		return -ENOMEM;
	fd = open(access(folder, R_OK) ? opts->data : folder, O_RDONLY | O_CLOEXEC);
	if (perfdata_map(&file, fd) || sideband_new(&sideband, &file, &why) ||
	    trace_new(&trace, &file, sideband, &why))
		return -EINVAL;
	code_opts.sideband = sideband;
	if (code_new(&code, &code_opts, &why) || code_view_new(&view, code))
		return -EINVAL;
	blocks_env_init(&env, sideband, 0);
	for (size_t i = 0; i < trace_nr_queues(trace); i++) {
		const struct trace_queue *queue = trace_queue(trace, i);
		struct trace_segment segment;
		bool more = trace_seek_segment(queue, 0, &segment);

		for (; more; more = trace_next_segment(queue, &segment)) {
			int pid = task_at(sideband, trace_queue_cpu(queue), segment.time);
			uint64_t until;

			walk(&env, &segment, code_view_image(view, pid, segment.time, &until));
		}
	}
	return 0;
}

static int stream(const struct decode_opts *opts)
{
	const struct decode_item *items;
	struct decode *decode;
	char *why;
	size_t nr;
	int r = decode_new(&decode, opts, &why);

	while (!r && !(r = decode_next(decode, &items, &nr)) && nr) {
		blocks += nr;
		last = items[nr - 1].time;
		for (size_t i = 0; i < nr; i++)
			insns += items[i].insns;
	}
	if (r)
		return r;
	decode_free(decode);
	return 0;
}

int main(int argc, char **argv)
{
	struct decode_opts opts = { .cpu = -1 };
	struct rusage usage;
	double begin, used;
	int r;

	if (argc != 5 && argc != 7)
		return 2;
	opts.runs = !strcmp(argv[1], "runs");
	opts.data = argv[2];
	opts.symfs = *argv[3] ? argv[3] : NULL;
	opts.threads = (unsigned int)strtoul(argv[4], NULL, 10);
	opts.begin = argc == 7 ? strtoull(argv[5], NULL, 10) : 0;
	opts.end = argc == 7 ? strtoull(argv[6], NULL, 10) : 0;
	begin = seconds(CLOCK_MONOTONIC);
	used = seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (!strcmp(argv[1], "last"))
		opts.begin = UINT64_MAX;
	r = strcmp(argv[1], "bare") ? stream(&opts) : bare(&opts);
	if (r) {
		fprintf(stderr, "%s: %s\n", opts.data, strerror(-r));
		return 1;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("%.4f %.4f %" PRIu64 " %" PRIu64 " %" PRIu64 " %ld\n",
	       seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_PROCESS_CPUTIME_ID) - used, insns,
	       blocks, last, usage.ru_maxrss);
	return 0;
}
