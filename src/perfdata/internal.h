/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the files of this folder share. */
#ifndef PERFDATA_INTERNAL_H
#define PERFDATA_INTERNAL_H

#include "perfdata.h"
#include "util.h"

#include <sys/types.h>

/* Bits of the feature bitmap in the header of perf.data. */
enum perfdata_feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID,
	FEATURE_HOSTNAME,
	FEATURE_OSRELEASE,
	FEATURE_VERSION,
	FEATURE_ARCH,
	FEATURE_NRCPUS,
	FEATURE_CPUDESC,
	FEATURE_CPUID,
	FEATURE_TOTAL_MEM,
	FEATURE_CMDLINE,
	FEATURE_EVENT_DESC,
	FEATURE_CPU_TOPOLOGY,
	FEATURE_PMU_MAPPINGS = 16,
	FEATURE_AUXTRACE = 18,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_CLOCKID = 23,
	FEATURE_CLOCK_DATA = 29,
	FEATURE_NR,
};

/* Bodies by bit; an empty one is not written. */
struct perfdata_features {
	struct perfdata_buf body[FEATURE_NR];
};

#define _cleanup_buf_ _cleanup_(perfdata_buf_release)

/* Values are native: perf tells the byte order from the magic. */
void perfdata_buf_add(struct perfdata_buf *buf, const void *data, size_t len);
void perfdata_buf_append(struct perfdata_buf *buf, const struct perfdata_buf *other);
void perfdata_buf_zero(struct perfdata_buf *buf, size_t len);
void perfdata_buf_u32(struct perfdata_buf *buf, uint32_t value);
void perfdata_buf_u64(struct perfdata_buf *buf, uint64_t value);

/* A string as features have it: length, bytes, padding to 64. */
void perfdata_buf_string(struct perfdata_buf *buf, const char *string);

/* Append a file, including those of /proc and tracefs that say their size is 0. */
int perfdata_buf_read_file(struct perfdata_buf *buf, int dirfd, const char *path);

/* Read the beginning of a file as a string, without its last newline. Returns its length or -errno.
 */
ssize_t perfdata_read_string(int dirfd, const char *path, char *string, size_t size);

/* Notes that an AUXTRACE record of so many bytes, less its trace, comes next. */
void perfdata_note_auxtrace(struct perfdata *pd, size_t record_size);

/* The kernel and its modules. */
void perfdata_kernel_build_ids(struct perfdata_buf *body, int rootfd);

/* Where build ids go that are of one file only; they follow those of the features. */
struct perfdata_buf *perfdata_own_build_ids(struct perfdata *pd);

void perfdata_topology(struct perfdata_buf *body, int rootfd, unsigned int nr_cpus);

#endif
