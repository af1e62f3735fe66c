// SPDX-License-Identifier: GPL-2.0-only
/*
 * A filter of `perf script` that prints nothing: the addresses of the samples go to files cpuN, of
 * 8 bytes each, in the folder that $IPS_FOLDER names, and at the end the sum of their cycles and
 * instructions to cpuN.sums, with how many samples there were until the last one that has such.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CPUS 64

/* The beginning of what perf_dlfilter.h, which distributions do not package, calls
 * perf_dlfilter_sample */
struct sample {
	uint32_t size;
	uint16_t ins_lat, p_stage_cyc;
	uint64_t ip;
	int32_t pid, tid;
	uint64_t time, addr, id, stream_id, period, weight, transaction, insn_cnt, cyc_cnt;
	int32_t cpu;
};

struct stream {
	FILE *file;
	uint64_t samples, insns, cycles, counted_samples;
};

int start(void **data, void *ctx);
int filter_event_early(void *data, const struct sample *sample, void *ctx);
int stop(void *data, void *ctx);

static FILE *open_file(int cpu, const char *suffix)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/cpu%d%s", getenv("IPS_FOLDER"), cpu, suffix);
	return fopen(path, "w");
}

int start(void **data, void *ctx)
{
	(void)ctx;
	*data = getenv("IPS_FOLDER") ? calloc(CPUS, sizeof(struct stream)) : NULL;
	return *data ? 0 : -1;
}

int filter_event_early(void *data, const struct sample *sample, void *ctx)
{
	struct stream *stream = (struct stream *)data + sample->cpu;

	(void)ctx;
	if (sample->cpu < 0 || sample->cpu >= CPUS)
		return -1;
	if (!stream->file)
		stream->file = open_file(sample->cpu, "");
	if (!stream->file || fwrite(&sample->ip, sizeof(sample->ip), 1, stream->file) != 1)
		return -1;
	stream->samples++;
	if (sample->insn_cnt)
		stream->counted_samples = stream->samples;
	stream->insns += sample->insn_cnt;
	stream->cycles += sample->cyc_cnt;
	return 1;
}

int stop(void *data, void *ctx)
{
	struct stream *streams = data;

	(void)ctx;
	for (int cpu = 0; cpu < CPUS; cpu++) {
		FILE *sums = streams[cpu].file ? open_file(cpu, ".sums") : NULL;

		if (!sums)
			continue;
		fprintf(sums,
			"insns=%" PRIu64 "\ncycles=%" PRIu64 "\ncounted_samples=%" PRIu64 "\n",
			streams[cpu].insns, streams[cpu].cycles, streams[cpu].counted_samples);
		fclose(sums);
		fclose(streams[cpu].file);
	}
	free(streams);
	return 0;
}
