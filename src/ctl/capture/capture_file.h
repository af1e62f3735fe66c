/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A capture that the library has read, and the facts about its spike.
 *
 * capture/ finds, reads and decodes captures. It may include cli/ and src/report.
 */
#ifndef CTL_CAPTURE_CAPTURE_FILE_H
#define CTL_CAPTURE_CAPTURE_FILE_H

#include <perf_poke.h>
#include <stdint.h>

#include "facts/facts.h"
#include "util.h"

#define CAPTURE_FILE_NAME "capture.json"

struct capture_file {
	const struct perf_poke_capture *capture;
	struct facts facts;
};

/* Call capture_file_close() even on failure. Returns 0, -ENOMEM, -EINVAL or -ENOTSUP with *why
 * (allocated), or the errno of reading the file. */
int capture_file_open(struct capture_file *file, const char *folder, char **why) _must_check_;
void capture_file_close(struct capture_file *file);

/* A number, or `unknown` if missing; a text, or "". */
uint64_t capture_file_number(const struct capture_file *file, const char *path, uint64_t unknown);
const char *capture_file_text(const struct capture_file *file, const char *path);

/* By its name in capture.json. AUTO: unknown. */
enum perf_poke_recorder view_recorder(const char *name);

void capture_statistics(struct statistics *statistics, const struct capture_file *file);

#endif
