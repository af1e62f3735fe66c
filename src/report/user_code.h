/* SPDX-License-Identifier: GPL-2.0-only */
/* Names the functions of programs and libraries in callchains of samples. */
#ifndef REPORT_USER_CODE_H
#define REPORT_USER_CODE_H

#include "names.h"
#include "tracepoints.h"

struct user_code;

/* Of a folder perf.data, where files are as for struct code_opts. Returns 0, or a negative errno:
 * what was mapped is unknown. */
int user_code_new(struct user_code **ret, const struct perfdata_file *file, const char *data,
		  const char *buildid_dir, const char *symfs) _must_check_;
void user_code_free(struct user_code *user);
static inline void user_code_freep(struct user_code **user)
{
	user_code_free(*user);
}

/* A samples_namer; the context is a struct user_code. */
uint32_t user_code_name(void *context, struct names *names, const struct tracepoint_event *event,
			uint64_t address);

#endif
