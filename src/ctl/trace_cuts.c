// SPDX-License-Identifier: GPL-2.0-only
#include "trace_cuts.h"

#include <fcntl.h>
#include <string.h>

#include "pt_scan.h"
#include "read.h"

/* Records of the perf tool: struct perf_record_auxtrace_info, and where struct perf_record_auxtrace
 * has the reference, a time near its trace. */
#define INFO_TYPE 8
#define INFO_PRIV 16
#define AUXTRACE_INFO_INTEL_PT 1
#define AUXTRACE_REFERENCE 24

#define TSC_BITS 56
/* Trace from one point to the next that is looked at: each is a synchronisation point. */
#define STRIDE (4 * 1024)
/* Trace of each CPU that is decoded before a cut, so that decoders have found themselves. */
#define LEAD (8 * 1024)

struct point {
	uint64_t time;
	uint64_t bytes; /* since the one before */
};

/* As perf converts them. */
struct conversion {
	uint64_t shift, mult, zero;
	bool known;
};

struct scan {
	struct conversion conversion;
	struct point *points;
	size_t nr, room;
	uint64_t total; /* bytes of trace */
	size_t buffers;
	bool points_wanted;
};

static uint64_t read_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t to_time(const struct conversion *conversion, uint64_t tsc)
{
	uint64_t high = tsc >> conversion->shift;
	uint64_t low = tsc & ((UINT64_C(1) << conversion->shift) - 1);

	return conversion->zero + high * conversion->mult +
	       ((low * conversion->mult) >> conversion->shift);
}

/* A packet has the lower bits; the trace is not far from the other one. */
static uint64_t widen(uint64_t tsc, uint64_t near)
{
	const uint64_t turn = UINT64_C(1) << TSC_BITS;
	uint64_t whole = (near & ~(turn - 1)) | tsc;

	if (whole > near && whole - near > turn / 2 && whole >= turn)
		return whole - turn;
	if (whole < near && near - whole > turn / 2)
		return whole + turn;
	return whole;
}

static int add_point(struct scan *scan, uint64_t time, uint64_t bytes)
{
	if (scan->nr == scan->room) {
		size_t room = scan->room ? 2 * scan->room : 1024;
		struct point *grown = realloc(scan->points, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		scan->points = grown;
		scan->room = room;
	}
	scan->points[scan->nr++] = (struct point){ .time = time, .bytes = bytes };
	return 0;
}

static int scan_buffer(struct scan *scan, const uint8_t *trace, size_t size, uint64_t near)
{
	struct pt_psb psb;
	size_t last = 0;

	for (size_t at = STRIDE; pt_scan_psb(trace, size, at, &psb); at = psb.offset + STRIDE) {
		if (!psb.tsc)
			continue;
		if (add_point(scan, to_time(&scan->conversion, widen(psb.tsc, near)),
			      psb.offset - last))
			return -ENOMEM;
		last = psb.offset;
	}
	return 0;
}

static void read_info(struct scan *scan, const struct perfdata_record *record)
{
	const uint8_t *priv = record->bytes + INFO_PRIV;
	uint32_t type;

	if (record->size < INFO_PRIV + 5 * sizeof(uint64_t))
		return;
	memcpy(&type, record->bytes + INFO_TYPE, sizeof(type));
	scan->conversion = (struct conversion){
		.shift = read_u64(priv + 8),
		.mult = read_u64(priv + 16),
		.zero = read_u64(priv + 24),
	};
	scan->conversion.known = type == AUXTRACE_INFO_INTEL_PT && scan->conversion.shift < 32 &&
				 scan->conversion.mult && read_u64(priv + 32);
}

static int scan_records(struct scan *scan, const struct perfdata_file *file)
{
	struct perfdata_record record;

	for (uint64_t at = file->data.offset; perfdata_next(file, &at, &record);) {
		int r = 0;

		if (record.type == PERFDATA_RECORD_AUXTRACE_INFO)
			read_info(scan, &record);
		if (!record.trace)
			continue;
		scan->total += record.trace_size;
		scan->buffers++;
		if (scan->points_wanted && scan->conversion.known)
			r = scan_buffer(scan, record.trace, record.trace_size,
					read_u64(record.bytes + AUXTRACE_REFERENCE));
		if (r)
			return r;
	}
	return 0;
}

static int scan_file(struct scan *scan, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct perfdata_file file;
	int r = fd < 0 ? -errno : perfdata_map(&file, fd);

	if (r)
		return r == -EINVAL ? 0 : r;
	r = scan_records(scan, &file);
	perfdata_unmap(&file);
	return r;
}

int trace_size(const char *path, uint64_t *bytes)
{
	struct scan scan = { 0 };
	int r = scan_file(&scan, path);

	*bytes = scan.total;
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* The point that has so much trace before another one. */
static size_t go_back(const struct scan *scan, size_t i, uint64_t bytes)
{
	uint64_t sum = 0;

	while (i && sum < bytes)
		sum += scan->points[i--].bytes;
	return i;
}

static struct trace_slice *cut(const struct scan *scan, const uint64_t *sizes, size_t max,
			       size_t *nr)
{
	uint64_t lead = LEAD * (uint64_t)scan->buffers;
	struct trace_slice *slices = calloc(max, sizeof(*slices));
	uint64_t sum = 0, since = 0, due = sizes[0];

	if (!slices)
		return NULL;
	slices[0] = (struct trace_slice){ .end = UINT64_MAX, .to = UINT64_MAX };
	*nr = 1;
	for (size_t i = 0; i + scan->buffers < scan->nr && *nr < max; i++) {
		struct trace_slice *last = &slices[*nr - 1];
		const struct point *point = &scan->points[i];
		uint64_t from = scan->points[go_back(scan, i, lead)].time;

		sum += point->bytes;
		since += point->bytes;
		if (sum < due || since < 2 * lead || from <= last->begin || from >= point->time)
			continue;
		last->end = point->time;
		last->to = scan->points[i + scan->buffers].time;
		due += sizes[*nr];
		since = 0;
		slices[(*nr)++] = (struct trace_slice){
			.from = from,
			.begin = point->time,
			.end = UINT64_MAX,
			.to = UINT64_MAX,
		};
	}
	return slices;
}

int trace_cut(const char *path, const uint64_t *sizes, size_t max, struct trace_slice **slices,
	      size_t *nr)
{
	struct scan scan = { .points_wanted = true };
	int r = scan_file(&scan, path);

	if (!r && scan.nr)
		qsort(scan.points, scan.nr, sizeof(*scan.points), compare);
	if (!r) {
		*slices = cut(&scan, sizes, max, nr);
		r = *slices ? 0 : -ENOMEM;
	}
	free(scan.points);
	return r;
}
