/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads capture.json. The file is untrusted: values are checked and bounded.
 *
 * capture/ finds, reads and decodes captures. It may include cli/ and src/report.
 */
#ifndef CTL_CAPTURE_CAPTURE_FILE_H
#define CTL_CAPTURE_CAPTURE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "account/statistics.h"
#include "capture/view.h"
#include "facts/hardware.h"
#include "facts/spike_stack.h"
#include "json_file.h"
#include "util.h"

#define CAPTURE_FILE_NAME "capture.json"
#define CAPTURE_FILE_MAX_SIZE JSON_FILE_MAX_SIZE

/* The view is required. Other members may be missing: numbers are 0 then, strings empty. Long
 * strings are truncated. */
struct capture_file {
	struct view_capture view;
	uint64_t sequence;
	uint64_t time_ns, expected_ns, actual_ns;
	uint64_t irq_ns;	/* latency of the timer's interrupt */
	uint64_t noise_most_ns; /* of a noise: its largest part, which is the label */
	uint64_t threshold_ns, skid_ns;
	uint64_t events, lost;
	uint64_t wall_ns; /* since 1970 */
	bool poked;
	bool idle;
	int pid, tid;
	char comm[64];
	char function[128];
	char function_address[32];
	char timer_address[32];
	char workload[16];
	uint64_t period_ns; /* of the workload */
	char trigger[16];
	char label[64];
	char wall_time[40]; /* verbatim */
	char release[128];  /* of the kernel */
	char version[128];
	char hostname[128];
	char model[128]; /* of the processor */
	struct spike_stack stack, holder;
	struct hardware_facts hardware;
};

/* text[size] is NUL. All return 0, -ENOMEM, -EINVAL with *why (allocated), or the errno of reading
 * the file in the capture's folder dirfd. */
int capture_file_parse(struct capture_file *file, const char *text, size_t size,
		       char **why) _must_check_;
int capture_file_read(struct capture_file *file, int dirfd, char **why) _must_check_;

/* The statistics, which captures of earlier versions lack. */
int capture_file_parse_statistics(struct statistics *statistics, const char *text, size_t size,
				  char **why) _must_check_;
int capture_file_read_statistics(struct statistics *statistics, int dirfd, char **why) _must_check_;

#endif
