/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/**
 * @file
 * Reads an untrusted perf.data: all offsets, sizes and counts are checked.
 *
 *	perfdata_map(&file, fd);
 *	for (uint64_t at = file.data.offset; perfdata_next(&file, &at, &record);)
 *		...
 *	perfdata_unmap(&file);
 *
 * Its events, samples and sample ids:
 *
 *	perfdata_events_read(&events, &file);
 *	while (perfdata_next(&file, &at, &record))
 *		if (perfdata_sample(&events, &record, &sample))
 *			...
 *	perfdata_events_release(&events);
 *
 * The file is mapped and must not be truncated meanwhile. Files of the other byte order are
 * refused. Data is not aligned: copy before use.
 */
#ifndef PERFDATA_PERFDATA_READ_H
#define PERFDATA_PERFDATA_READ_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERFDATA_MAGIC UINT64_C(0x32454c4946524550) /* "PERFILE2" */

struct perfdata_section {
	uint64_t offset, size;
};

/** Bytes of a file, not aligned. */
struct perfdata_bytes {
	const uint8_t *data;
	uint64_t size;
};

/* Remaining bytes. Reading past the end returns none, or zeros, and sets `short_of`. */
struct perfdata_cursor {
	const uint8_t *at;
	uint64_t left;
	bool short_of;
};

/** A file, mapped. All zero is none. */
struct perfdata_file {
	const uint8_t *bytes;
	uint64_t size;
	uint64_t whole;	    /**< size according to the header; larger than `size` if truncated */
	uint64_t attr_size; /**< of an entry of `attrs` */
	struct perfdata_section attrs, data; /**< from the header; may be beyond the end */
	uint64_t features[4];
};

/** One record of the data section. */
struct perfdata_record {
	uint32_t type;
	uint16_t misc;
	uint16_t size;	      /**< including the header of 8 bytes */
	const uint8_t *bytes; /**< header first */
	const uint8_t *trace; /**< the trace after a PERF_RECORD_AUXTRACE; else NULL */
	uint64_t trace_size;
};

/* Record types of the perf tool: enum perf_user_event_type of tools/lib/perf. */
#define PERFDATA_RECORD_HEADER_ATTR 64
#define PERFDATA_RECORD_TRACING_DATA 66
#define PERFDATA_RECORD_HEADER_BUILD_ID 67
#define PERFDATA_RECORD_FINISHED_ROUND 68
#define PERFDATA_RECORD_ID_INDEX 69
#define PERFDATA_RECORD_AUXTRACE_INFO 70
#define PERFDATA_RECORD_AUXTRACE 71
#define PERFDATA_RECORD_TIME_CONV 79
#define PERFDATA_RECORD_COMPRESSED 81
#define PERFDATA_RECORD_COMPRESSED2 83

/** Bits of `features`: HEADER_... of the perf tool's header.h. */
enum perfdata_feature {
	PERFDATA_FEATURE_TRACING_DATA = 1,
	PERFDATA_FEATURE_BUILD_ID,
	PERFDATA_FEATURE_HOSTNAME,
	PERFDATA_FEATURE_OSRELEASE,
	PERFDATA_FEATURE_VERSION,
	PERFDATA_FEATURE_ARCH,
	PERFDATA_FEATURE_NRCPUS,
	PERFDATA_FEATURE_CPUDESC,
	PERFDATA_FEATURE_CPUID,
	PERFDATA_FEATURE_TOTAL_MEM,
	PERFDATA_FEATURE_CMDLINE,
	PERFDATA_FEATURE_EVENT_DESC,
	PERFDATA_FEATURE_CPU_TOPOLOGY,
	PERFDATA_FEATURE_PMU_MAPPINGS = 16,
	PERFDATA_FEATURE_AUXTRACE = 18,
	PERFDATA_FEATURE_SAMPLE_TIME = 21,
	PERFDATA_FEATURE_CLOCKID = 23,
	PERFDATA_FEATURE_DIR_FORMAT,
	PERFDATA_FEATURE_CLOCK_DATA = 29,
	PERFDATA_FEATURE_NR,
};

/** Maps a file, whose descriptor may be closed afterwards, and reads its header. Returns 0,
 * -EINVAL: not a regular file or not a perf.data, or the error of fstat() or mmap(). */
int perfdata_map(struct perfdata_file *file, int fd);

struct perfdata_bytes perfdata_take(struct perfdata_cursor *cursor, uint64_t size);
uint32_t perfdata_take_u32(struct perfdata_cursor *cursor);
uint64_t perfdata_take_u64(struct perfdata_cursor *cursor);

/** Unmaps. All zero is allowed. */
void perfdata_unmap(struct perfdata_file *file);

/** Returns 0 with the feature's section, inside the file, -ENOENT: no such feature, -EINVAL: beyond
 * the end. */
int perfdata_feature(const struct perfdata_file *file, unsigned int feature,
		     struct perfdata_section *section);

/** Reads the record at *at and advances *at. False: end of data, or malformed. */
bool perfdata_next(const struct perfdata_file *file, uint64_t *at, struct perfdata_record *record);

/** A file, or another part of an address space, that a process or the kernel has mapped. */
struct perfdata_mapping {
	int32_t pid;
	uint64_t start, end, offset;
	uint64_t inode; /**< 0: unknown, or there is a build ID instead */
	const char *name;
	struct perfdata_bytes build_id; /**< of at most 20 bytes; 0: unknown */
	bool is_data;			/**< contains no code */
};

/** Reads PERF_RECORD_MMAP and MMAP2, of which there are as many bytes as the header says. False:
 * another type, or its name does not end within it. */
bool perfdata_mapping(const uint8_t *record, struct perfdata_mapping *mapping);

/** An entry of the feature BUILD_ID. */
struct perfdata_identified {
	const char *name;
	struct perfdata_bytes build_id; /**< the same */
};

/** Reads one, of which there are as many bytes as the header says. False: its name does not end
 * within it. */
bool perfdata_identified(const uint8_t *record, struct perfdata_identified *file);

/** One kind of event of a file that is read. */
struct perfdata_kind {
	struct perf_event_attr attr; /**< missing members are zero */
	char *name;		     /**< from EVENT_DESC, or NULL */
};

/** All kinds of events. All zero is empty. */
struct perfdata_events {
	struct perfdata_kind *kinds;
	size_t nr;
	struct perfdata_event_id *ids; /**< sorted */
	size_t nr_ids;
};

/** A sample, or the fields of a sample id. */
struct perfdata_sample {
	const struct perfdata_kind *kind;
	uint64_t has; /**< PERF_SAMPLE_... bits of the fields present; others are 0 or -1 */
	uint64_t ip, time, address, id, stream_id, period;
	int32_t pid, tid, cpu;
	struct perfdata_bytes callchain; /**< 8-byte addresses and PERF_CONTEXT_... marks */
	struct perfdata_bytes raw, aux;
	struct perfdata_bytes user_regs; /**< of a 64-bit task, by the bits of sample_regs_user */
};

/** Reads the kinds of events. Returns 0, -EINVAL: malformed or truncated, or -ENOMEM. */
int perfdata_events_read(struct perfdata_events *events, const struct perfdata_file *file);

/** Frees. All zero is allowed. */
void perfdata_events_release(struct perfdata_events *events);

/** Parses a PERF_RECORD_SAMPLE, or the sample id of another kernel record. False: no sample id,
 * unknown event, or malformed. */
bool perfdata_sample(const struct perfdata_events *events, const struct perfdata_record *record,
		     struct perfdata_sample *sample);

#endif
