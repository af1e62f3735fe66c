/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads capture.json, which may be of a stranger: what it says is checked, and bounded.
 *
 * capture/ finds captures, and reads and decodes what is in them. It may include cli/, src/report
 * and what that includes.
 */
#ifndef CTL_CAPTURE_CAPTURE_FILE_H
#define CTL_CAPTURE_CAPTURE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/view.h"
#include "statistics.h"
#include "util.h"

#define CAPTURE_FILE_NAME "capture.json"
#define CAPTURE_FILE_MAX_SIZE (1 << 20)

/* What perf is told of it must be there. The rest may be missing: numbers are 0 then, texts empty.
 * Texts that are too long are cut. */
struct capture_file {
	struct view_capture view;
	uint64_t sequence;
	uint64_t time_ns, expected_ns, actual_ns;
	uint64_t threshold_ns, skid_ns;
	uint64_t events, lost;
	uint64_t wall_ns; /* since 1970 */
	bool poked;
	bool idle;
	int pid, tid;
	char comm[64];
	char function[128];
	char function_address[32];
	char trigger[16];
	char wall_time[40]; /* as it is written */
	char release[128];  /* of the kernel */
	char version[128];
	char hostname[128];
	char model[128]; /* of the processor */
};

/* Returns 0, -ENOMEM, or -EINVAL with *why, for the caller to free, saying what is wrong. */
int capture_file_parse(struct capture_file *file, const char *text, size_t size,
		       char **why) _must_check_;

/* Of a capture's folder. Returns as above, or another negative errno if it cannot be read; -ENOENT
 * if it is not there. */
int capture_file_read(struct capture_file *file, int dirfd, char **why) _must_check_;

/* Its statistics, which captures of earlier versions have not. Return as above. */
int capture_file_parse_statistics(struct statistics *statistics, const char *text, size_t size,
				  char **why) _must_check_;
int capture_file_read_statistics(struct statistics *statistics, int dirfd, char **why) _must_check_;

#endif
