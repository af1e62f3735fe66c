// SPDX-License-Identifier: GPL-2.0-only
/* For perf script --dlfilter: the build ids of the files of user space that a trace has code of. */
#include <inttypes.h>
#include <perf/perf_dlfilter.h>
#include <stdbool.h>
#include <string.h>

#include "build_id.h"
#include "units.h"
#include "util.h"

#define PROGRESS_EVENTS 65536
#define KERNEL_BIT (UINT64_C(1) << 63)
#define PAGE_SHIFT 12
#define PAGES 1024 /* a power of two */
/* What was at an address may be another file later. */
#define FORGET_EVENTS 4096
#define VISIBLE __attribute__((visibility("default")))

struct page {
	uint64_t number;
	int pid;
	bool used;
};

struct touched {
	const char *output;
	int progress; /* a descriptor, or -1 */
	struct page pages[PAGES];
	struct build_id *ids;
	size_t nr;
	uint64_t events;
	int r; /* what failed */
};

/* Perf fills it in. */
VISIBLE struct perf_dlfilter_fns perf_dlfilter_fns;

static int complain(const char *what, int r)
{
	fprintf(stderr, "perf-poke-touched: %s: %s\n", what, strerror(-r));
	return -1;
}

static int take_args(struct touched *touched, int argc, char **argv)
{
	touched->progress = -1;
	for (int i = 0; i < argc; i++) {
		uint64_t fd;

		if (!strncmp(argv[i], "output=", 7))
			touched->output = argv[i] + 7;
		else if (!strncmp(argv[i], "progress=", 9) &&
			 !units_parse_count(argv[i] + 9, &fd) && fd < 1024)
			touched->progress = (int)fd;
		else
			return complain(argv[i], -EINVAL);
	}
	return touched->output ? 0 : complain("output=FILE", -EINVAL);
}

VISIBLE int start(void **data, void *ctx)
{
	struct touched *touched = calloc(1, sizeof(*touched));
	int argc = 0;
	char **argv = perf_dlfilter_fns.args(ctx, &argc);

	if (!touched)
		return complain("start", -ENOMEM);
	if (take_args(touched, argc, argv)) {
		free(touched);
		return -1;
	}
	*data = touched;
	return 0;
}

static int add(struct touched *touched, const struct build_id *id)
{
	struct build_id *grown;

	for (size_t i = 0; i < touched->nr; i++) {
		if (!memcmp(&touched->ids[i], id, sizeof(*id)))
			return 0;
	}
	grown = reallocarray(touched->ids, touched->nr + 1, sizeof(*id));
	if (!grown)
		return -ENOMEM;
	touched->ids = grown;
	grown[touched->nr++] = *id;
	return 0;
}

static bool was_seen(struct touched *touched, int pid, uint64_t ip)
{
	uint64_t number = ip >> PAGE_SHIFT;
	struct page *page = &touched->pages[(number ^ (unsigned int)pid) & (PAGES - 1)];
	bool seen = page->used && page->number == number && page->pid == pid;

	*page = (struct page){ number, pid, true };
	return seen;
}

static void look_at(struct touched *touched, void *ctx, int pid, uint64_t ip)
{
	struct perf_dlfilter_al al = { .size = sizeof(al) };
	struct build_id id = { 0 };
	int r;

	if (!ip || ip & KERNEL_BIT || was_seen(touched, pid, ip))
		return;
	if (perf_dlfilter_fns.resolve_address(ctx, ip, &al) || !al.buildid_size ||
	    al.buildid_size > sizeof(id.bytes))
		return;
	id.size = (uint8_t)al.buildid_size;
	memcpy(id.bytes, al.buildid, id.size);
	r = add(touched, &id);
	if (r)
		touched->r = r;
}

VISIBLE int filter_event_early(void *data, const struct perf_dlfilter_sample *sample, void *ctx)
{
	struct touched *touched = data;

	if (!(touched->events % FORGET_EVENTS))
		memset(touched->pages, 0, sizeof(touched->pages));
	if (touched->progress >= 0 && !(touched->events % PROGRESS_EVENTS))
		dprintf(touched->progress, "at %" PRIu64 "\n", (uint64_t)sample->time);
	touched->events++;
	if (sample->event && !strncmp(sample->event, "branches", 8)) {
		look_at(touched, ctx, sample->pid, sample->ip);
		look_at(touched, ctx, sample->pid, sample->addr);
	}
	return 1;
}

static int write_ids(const struct touched *touched)
{
	FILE *file = fopen(touched->output, "we");

	if (!file)
		return -errno;
	for (size_t i = 0; i < touched->nr; i++) {
		for (size_t k = 0; k < touched->ids[i].size; k++)
			fprintf(file, "%02x", touched->ids[i].bytes[k]);
		fputc('\n', file);
	}
	return fclose(file) ? -errno : 0;
}

VISIBLE int stop(void *data, void *ctx)
{
	struct touched *touched = data;
	int r;

	(void)ctx;
	if (!touched)
		return 0;
	r = touched->r ?: write_ids(touched);
	if (!r && touched->progress >= 0)
		dprintf(touched->progress, "done %zu 0\n", touched->nr);
	if (r)
		r = complain(touched->output, r);
	free(touched->ids);
	free(touched);
	return r;
}

VISIBLE const char *filter_description(const char **long_description)
{
	*long_description =
		"Writes a line for each file of user space that a trace of Intel PT has\n"
		"code of, its build id: perf script --itrace=b --dlfilter\n"
		"perf-poke-touched.so --dlarg output=FILE";
	return "List the files that Intel PT has code of";
}
