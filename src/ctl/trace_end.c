// SPDX-License-Identifier: GPL-2.0-only
#include "trace_end.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pt_packet.h"
#include "pt_scan.h"
#include "read.h"
#include "regular.h"

/* At least; perf decodes it within a second or two. */
#define KEPT (128 * 1024)
/* In struct perf_record_auxtrace. */
#define AUXTRACE_BYTES 8
#define AUXTRACE_CPU 40
/* In struct perf_file_header, both of the perf tool. */
#define HEADER_DATA_SIZE 48
#define HEADER_FEATURES 72
/* The file offsets of all AUXTRACE records, which perf finds without it. */
#define FEATURE_AUXTRACE 18

/* What can be decoded begins at a synchronisation point. */
static size_t find_begin(const uint8_t *trace, size_t size)
{
	struct pt_psb psb = { 0 };
	size_t begin = 0;

	for (size_t at = 0; pt_scan_psb(trace, size, at, &psb) && size - psb.offset >= KEPT;
	     at = psb.offset + PT_PSB_LEN)
		begin = psb.offset;
	return begin;
}

static void copy_trace(FILE *to, const struct perfdata_record *record)
{
	static const uint8_t zeros[8];
	size_t begin = find_begin(record->trace, record->trace_size);
	uint64_t size = record->trace_size - begin;
	uint64_t padding = -size % sizeof(zeros);
	uint64_t padded = size + padding;

	fwrite(record->bytes, AUXTRACE_BYTES, 1, to);
	fwrite(&padded, sizeof(padded), 1, to);
	fwrite(record->bytes + AUXTRACE_BYTES + sizeof(padded),
	       record->size - AUXTRACE_BYTES - sizeof(padded), 1, to);
	fwrite(record->trace + begin, 1, size, to);
	fwrite(zeros, 1, padding, to);
}

static void copy_records(FILE *to, const struct perfdata_file *file, int32_t cpu)
{
	struct perfdata_record record;
	int32_t of;

	for (uint64_t at = file->data.offset; perfdata_next(file, &at, &record);) {
		if (!record.trace) {
			fwrite(record.bytes, record.size, 1, to);
			continue;
		}
		memcpy(&of, record.bytes + AUXTRACE_CPU, sizeof(of));
		if (cpu < 0)
			cpu = of;
		if (of == cpu)
			copy_trace(to, &record);
	}
}

/* Returns where the table ends in `file`. */
static uint64_t copy_feature_table(FILE *to, const struct perfdata_file *file)
{
	uint64_t end = file->data.offset + file->data.size;
	struct perfdata_section section;

	for (unsigned int i = 0; i < 64 * ARRAY_SIZE(file->features); i++) {
		if (perfdata_feature(file, i, &section))
			continue;
		end += sizeof(section);
		if (i != FEATURE_AUXTRACE)
			fwrite(&section, sizeof(section), 1, to);
	}
	return end;
}

/* What is neither header, record nor table stays at its offset: there is a hole before it. */
static void copy_file(FILE *to, const struct perfdata_file *file, int cpu)
{
	uint64_t features = file->features[0] & ~(UINT64_C(1) << FEATURE_AUXTRACE);
	uint64_t size, rest;

	fwrite(file->bytes, 1, file->data.offset, to);
	copy_records(to, file, cpu);
	size = (uint64_t)ftello(to) - file->data.offset;
	rest = copy_feature_table(to, file);
	fseeko(to, (off_t)rest, SEEK_SET);
	fwrite(file->bytes + rest, 1, file->size - rest, to);
	fseeko(to, HEADER_DATA_SIZE, SEEK_SET);
	fwrite(&size, sizeof(size), 1, to);
	fseeko(to, HEADER_FEATURES, SEEK_SET);
	fwrite(&features, sizeof(features), 1, to);
}

static int write_data(const struct perfdata_file *file, int cpu, int to_dir)
{
	int fd = openat(to_dir, "data", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	bool failed;

	if (!to) {
		closep(&fd);
		return -errno;
	}
	copy_file(to, file, cpu);
	failed = ferror(to);
	if (fclose(to))
		return -errno;
	return failed ? -EIO : 0;
}

static int copy_data(int from_dir, int cpu, int to_dir)
{
	_cleanup_close_ int from = regular_open(from_dir, "data");
	struct perfdata_file file;
	int r = from < 0 ? from : perfdata_map(&file, from);

	if (r)
		return r;
	r = file.whole <= file.size ? write_data(&file, cpu, to_dir) : -EINVAL;
	perfdata_unmap(&file);
	return r;
}

/* Perf takes the folder of the kernel's code from beside the data. */
static int link_code(const char *data, int to_dir)
{
	_cleanup_free_ char *real = realpath(data, NULL);
	_cleanup_free_ char *code = NULL;

	if (!real)
		return -errno;
	if (asprintf(&code, "%s/kcore_dir", real) < 0) {
		code = NULL;
		return -ENOMEM;
	}
	return symlinkat(code, to_dir, "kcore_dir") ? -errno : 0;
}

int trace_end_copy(const char *data, int cpu, const char *folder)
{
	_cleanup_close_ int from = open(data, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int to = -1;
	int r;

	if (from < 0 || mkdir(folder, 0700))
		return -errno;
	to = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (to < 0)
		return -errno;
	r = copy_data(from, cpu, to);
	return r ? r : link_code(data, to);
}
