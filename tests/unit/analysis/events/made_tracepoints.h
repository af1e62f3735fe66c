/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of tracepoints with Linux's formats. */
#ifndef TESTS_DECODE_MADE_TRACEPOINTS_H
#define TESTS_DECODE_MADE_TRACEPOINTS_H

#include <linux/perf_event.h>

#include "events/tracepoints.h"
#include "perfdata/helpers.h"

#define MADE_FIELD(text, offset, size, is_signed)                                                  \
	"\tfield:" text ";\toffset:" #offset ";\tsize:" #size ";\tsigned:" #is_signed ";\n"
/* For events whose own fields begin at 8. */
#define MADE_FORMAT(name, id, fields, print)                                                       \
	"name: " name "\nID: " #id "\nformat:\n" MADE_FIELD("unsigned short common_type", 0, 2, 0) \
		MADE_FIELD("unsigned char common_flags", 2, 1, 0)                                  \
			MADE_FIELD("unsigned char common_preempt_count", 3, 1, 0)                  \
				MADE_FIELD("int common_pid", 4, 4, 1) "\n" fields                  \
								      "\nprint fmt: " print "\n"

struct made_format {
	const char *name, *text; /* as `sched:sched_switch` */
	uint64_t id;
};

struct made_sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved, raw_size;
	struct {
		uint16_t type;
		uint8_t flags, count;
		int32_t pid;
		uint8_t fields[60];
	} raw;
} __attribute__((packed));

/* On CPU 0. */
struct made_sample made_sample(uint16_t id, uint64_t time, uint32_t tid, const void *fields,
			       size_t size);

/* PERF_RECORD_COMM, as long as the samples beside it. */
struct made_sample made_comm(uint32_t tid, const char *comm);
/* With the sample id of an event. */
struct made_sample made_comm_at(uint64_t time, uint64_t id, uint32_t tid, const char *comm);

/* PERF_RECORD_LOST: behind the event with which the kernel has written it, as in rings that are
 * written backward. */
struct made_sample made_lost(uint64_t time, uint64_t id, uint32_t cpu, uint64_t lost);

/* Writes a folder perf.data. */
void made_tracepoints(const struct folder *folder, const struct made_format *formats,
		      size_t nr_formats, const struct made_sample *samples, size_t nr);

/* The same, opened without a window. The caller frees it. */
struct tracepoints *made_tracepoints_open(const struct folder *folder,
					  const struct made_format *formats, size_t nr_formats,
					  const struct made_sample *samples, size_t nr,
					  const char *kallsyms);

#endif
