/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes the Intel PT of a capture into a timeline. */
#ifndef CTL_CAPTURE_DECODING_H
#define CTL_CAPTURE_DECODING_H

#include "blocks/decode.h"
#include "build_id.h"
#include "calls/calls.h"
#include "capture/view.h"
#include "cli/cli.h"

/* Of a trace without times, only the last bytes are decoded. */
#define DECODING_TAIL (128 * 1024)

#define DECODING_SYMFS_HELP "look for traced files under this folder"

struct decoding {
	const char *folder; /* of the capture */
	const char *data;   /* its perf.data */
	const char *symfs;  /* see struct decode_opts */
	const struct facts *facts;
	const char *doing; /* for the status line */
	int cpu;	   /* negative: all */
	uint64_t tail;	   /* see struct decode_opts */
	unsigned int threads;
	enum calls_axis axis;
	uint64_t begin, end; /* the window; 0 and UINT64_MAX for all */
};

struct decoding_result {
	uint64_t slices, gaps;
	uint64_t end; /* position on the axis */
	struct decode_stats stats;
};

/* One for each CPU that this process may use. */
unsigned int decoding_threads(void);

/* Between ending_catch() and ending_release(), signals cancel it. Returns 0, or a negative errno
 * after printing the error. */
int decoding_run(struct console *con, const struct decoding *decoding,
		 const struct timeline_ops *ops, void *sink, struct names *names,
		 struct decoding_result *result) _must_check_;

/* Allocates the build ids of the user-space files that were executed. Returns as above. */
int decoding_files(struct console *con, const struct decoding *decoding, struct build_id **ids,
		   size_t *nr) _must_check_;

#endif
