/* SPDX-License-Identifier: GPL-2.0-only */
/* Names the functions of programs and libraries in callchains of samples. */
#ifndef ANALYSIS_USER_CODE_H
#define ANALYSIS_USER_CODE_H

#include <stdbool.h>

#include "code/names.h"
#include "code/sideband.h"
#include "events/tracepoints.h"
#include "facts/samples.h"

struct code;
struct sideband;

/* Processes whose mappings are kept. */
#define USER_CODE_MAPS 64

/* The caller sets the first five, for a folder perf.data with files as in struct code_opts. */
struct user_code {
	const struct perfdata_file *file; /* must outlive this, like the next two */
	const char *data, *symfs;
	char *buildid_dir;	       /* allocated, or NULL */
	struct symbolizer *symbolizer; /* see struct code_opts */
	bool tried;		       /* opened by the first sample that needs it */
	struct sideband *sideband;
	struct code *code;
	struct user_code_maps {
		int pid;
		struct sideband_maps maps;
	} maps[USER_CODE_MAPS];
};

void user_code_release(struct user_code *user);

/* A samples_namer; the context is a struct user_code. */
uint32_t user_code_name(void *context, struct names *names, const struct tracepoint_event *event,
			uint64_t address, struct samples_file *file);

#endif
