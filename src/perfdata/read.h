/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/**
 * @file
 * Reads perf.data, which may be a stranger's: no offset, size or count is trusted.
 *
 *	perfdata_map(&file, fd);
 *	for (uint64_t at = file.data.offset; perfdata_next(&file, &at, &record);)
 *		...
 *	perfdata_unmap(&file);
 *
 * The file is mapped: it must not be truncated meanwhile. Values are native; the magic of a file of
 * the other byte order is refused. Nothing here is aligned: copy before use.
 */
#ifndef PERFDATA_READ_H
#define PERFDATA_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfdata_section {
	uint64_t offset, size;
};

/** A file, mapped. All zero is none. */
struct perfdata_file {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t whole; /**< the size that its header claims; more than `size`: it is truncated */
	uint64_t attr_size;		     /**< of an entry of `attrs` */
	struct perfdata_section attrs, data; /**< as the header has them, maybe beyond the end */
	uint64_t features[4];
	bool piped; /**< written to a pipe: attrs and features are records */
};

/** One record of the data section. */
struct perfdata_record {
	uint32_t type;
	uint16_t misc;
	uint16_t size;	      /**< with the header of 8 bytes */
	const uint8_t *bytes; /**< `size` of them, the header first */
	const uint8_t *trace; /**< what follows a PERF_RECORD_AUXTRACE; else NULL */
	uint64_t trace_size;
};

/* Types of the perf tool's own records: enum perf_user_event_type of tools/lib/perf. */
#define PERFDATA_RECORD_HEADER_ATTR 64
#define PERFDATA_RECORD_TRACING_DATA 66
#define PERFDATA_RECORD_HEADER_BUILD_ID 67
#define PERFDATA_RECORD_ID_INDEX 69
#define PERFDATA_RECORD_AUXTRACE_INFO 70
#define PERFDATA_RECORD_AUXTRACE 71
#define PERFDATA_RECORD_FEATURE 80
#define PERFDATA_RECORD_COMPRESSED 81
#define PERFDATA_RECORD_COMPRESSED2 83

/* Bits of `features`: HEADER_... of the perf tool's header.h. */
#define PERFDATA_FEATURE_TRACING_DATA 1
#define PERFDATA_FEATURE_BUILD_ID 2
#define PERFDATA_FEATURE_CPUID 9
#define PERFDATA_FEATURE_EVENT_DESC 12
#define PERFDATA_FEATURE_DIR_FORMAT 24

/**
 * Map a file and read its header.
 *
 * @param file  set on success, for perfdata_unmap()
 * @param fd  the file; may be closed afterwards
 *
 * Returns: 0, -EINVAL: not a regular file, or not a perf.data with a header, or what fstat() or
 * mmap() gave.
 */
int perfdata_map(struct perfdata_file *file, int fd);

/** Unmap; what is all zero is left alone. */
void perfdata_unmap(struct perfdata_file *file);

/**
 * Find a feature.
 *
 * Returns: 0 with *section inside of the file, -ENOENT: the file has none, -EINVAL: it is beyond
 * the end.
 */
int perfdata_feature(const struct perfdata_file *file, unsigned int feature,
		     struct perfdata_section *section);

/** The record at *at, which moves behind it. False: the end, or bytes that are no record. */
bool perfdata_next(const struct perfdata_file *file, uint64_t *at, struct perfdata_record *record);

#endif
