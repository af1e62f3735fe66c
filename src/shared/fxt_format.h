/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Constants of the Fuchsia trace format, for writer and readers:
 * https://fuchsia.dev/fuchsia-src/reference/tracing/trace-format */
#ifndef SHARED_FXT_FORMAT_H
#define SHARED_FXT_FORMAT_H

#include <stdint.h>

#define FXT_MAGIC UINT64_C(0x0016547846040010)
/* Size limit of a record. */
#define FXT_WORDS_MAX 4095
/* String reference: the string is inline, its length is in the lower bits. */
#define FXT_INLINE 0x8000

enum fxt_record_type {
	RECORD_METADATA = 0,
	RECORD_INITIALIZATION = 1,
	RECORD_STRING = 2,
	RECORD_THREAD = 3,
	RECORD_EVENT = 4,
	RECORD_KERNEL_OBJECT = 7,
	RECORD_SCHEDULING = 8,
};

enum fxt_metadata_type {
	METADATA_PROVIDER = 1,
	METADATA_SECTION = 2,
};

enum fxt_object_type {
	OBJECT_PROCESS = 1,
	OBJECT_THREAD = 2,
};

#endif
