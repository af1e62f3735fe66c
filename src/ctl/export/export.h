/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command `export`.
 *
 * export/ writes a capture in another format. It may include capture/.
 */
#ifndef CTL_EXPORT_EXPORT_H
#define CTL_EXPORT_EXPORT_H

#include "capture/captures.h"
#include "cli/cli.h"
#include "output/fxt.h"

struct export_args {
	const char *capture;
	const char *output; /* NULL: `html` is set */
	const char *html;
	const char *time;  /* or NULL */
	const char *symfs; /* or NULL */
	int axis;	   /* enum calls_axis */
	uint64_t jobs;	   /* 0: one for each CPU */
	uint64_t max_size; /* 0: default */
	bool normal;	   /* with `html` */
	bool force;
	bool quiet;
};

/* Returns as command_options(). Strings are not copied. */
int export_parse(struct export_args *args, struct console *con, int argc, char **argv) _must_check_;

/* All of these print their errors. */
enum exit_code export_fxt(struct console *con, const struct export_args *args,
			  const struct facts *facts, const char *data);
enum exit_code export_html(struct console *con, const struct export_args *args,
			   const struct facts *facts);

/* Writes interrupts and tasks of each CPU to a file. Prints errors. Returns 0 or a negative errno.
 */
int export_events(struct console *con, const struct export_args *args, const struct facts *facts,
		  const char *data, const struct fxt_timeline_opts *file,
		  uint64_t *slices) _must_check_;

/* Parses the window of --time.
 * `-200us,50us` is relative to the spike; `7.788,7.789` are seconds of the trace's clock, as in
 * perf. An empty side becomes 0 or UINT64_MAX. The result is ns of the trace's clock. Returns 0,
 * -EINVAL if malformed, -ERANGE if empty, or -ENOENT if relative without a spike (0).
 */
int window_parse(const char *s, uint64_t spike, uint64_t *begin, uint64_t *end) _must_check_;

#endif
