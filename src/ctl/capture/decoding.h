/* SPDX-License-Identifier: GPL-2.0-only */
/* Decodes a capture's Intel PT into a timeline. */
#ifndef CTL_CAPTURE_DECODING_H
#define CTL_CAPTURE_DECODING_H

#include "build_id.h"
#include "calls.h"
#include "capture/view.h"
#include "cli/console.h"
#include "decode.h"

/* Of a trace without times the end is decoded: what takes a moment. */
#define DECODING_TAIL (128 * 1024)

#define DECODING_SYMFS_HELP "look for files that were traced under this folder"

struct decoding {
	const char *folder; /* of the capture */
	const char *data;   /* its perf.data */
	const char *symfs;  /* as of struct decode_opts */
	const struct view_capture *capture;
	const char *doing; /* shown on a terminal, if it takes a while */
	int cpu;	   /* negative: all */
	uint64_t tail;	   /* as of struct decode_opts */
	unsigned int threads;
	enum calls_axis axis;
	bool threads_only;
	uint64_t begin, end; /* the window; 0 and UINT64_MAX for all */
	uint64_t split;	     /* as of struct timeline_opts */
};

struct decoding_result {
	uint64_t slices, gaps;
	struct decode_stats stats;
};

/* As many as there are CPUs for this process. */
unsigned int decoding_threads(void);

/* Ended by signals, once ending_catch() has been called. Returns 0, or a negative errno: of what
 * the sink returned, nothing has been printed, nor of -EINTR; of the rest, *said is true. */
int decoding_run(struct console *con, const struct decoding *decoding,
		 const struct timeline_ops *ops, void *sink, struct names *names,
		 struct decoding_result *result, bool *said) _must_check_;

/* Build ids of the files of user space that code was executed of, for the caller to free. Returns
 * as above. */
int decoding_files(struct console *con, const struct decoding *decoding, struct build_id **ids,
		   size_t *nr, bool *said) _must_check_;

#endif
