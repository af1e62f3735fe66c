/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Private to src/perfdata. */
#ifndef PERFDATA_INTERNAL_H
#define PERFDATA_INTERNAL_H

#include "perfdata.h"
#include "perfdata_read.h"
#include "util.h"

/* Indexed by bit; empty bodies are not written. */
struct perfdata_features {
	struct perfdata_buf body[PERFDATA_FEATURE_NR];
};

#define ALIGN8(size) (((size) + 7) & ~(size_t)7)

#define _cleanup_buf_ _cleanup_(perfdata_buf_release)

/* Values have native byte order, which perf infers from the magic. */
void perfdata_buf_add(struct perfdata_buf *buf, const void *data, size_t len);
void perfdata_buf_append(struct perfdata_buf *buf, const struct perfdata_buf *other);
void perfdata_buf_zero(struct perfdata_buf *buf, size_t len);
void perfdata_buf_u32(struct perfdata_buf *buf, uint32_t value);
void perfdata_buf_u64(struct perfdata_buf *buf, uint64_t value);

/* Appends a feature string: length, bytes, padding to 64. */
void perfdata_buf_string(struct perfdata_buf *buf, const char *string);

/* Appends a file, even of procfs or tracefs, where sizes are 0. */
int perfdata_buf_read_file(struct perfdata_buf *buf, int dirfd, const char *path);

/* The same, with a NUL at the end. */
int perfdata_buf_read_text(struct perfdata_buf *buf, int dirfd, const char *path);

/* Appends the header of a record of this size. */
void perfdata_buf_header(struct perfdata_buf *buf, uint32_t type, uint16_t misc, size_t size);

/* Appends the build ids of the kernel and its modules. */
void perfdata_kernel_build_ids(struct perfdata_buf *body, int rootfd);

/* The build ids of this file only, written after those of the features. */
struct perfdata_buf *perfdata_own_build_ids(struct perfdata *pd);

#endif
