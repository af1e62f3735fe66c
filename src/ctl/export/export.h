/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arguments of `export`.
 *
 * export/ writes a capture in another format. It may include capture/.
 */
#ifndef CTL_EXPORT_EXPORT_H
#define CTL_EXPORT_EXPORT_H

#include "capture/view.h"
#include "cli/command.h"

struct export_args {
	const char *capture;
	const char *output; /* or NULL: `html` is there */
	const char *html;
	const char *time;  /* or NULL */
	const char *symfs; /* or NULL */
	int axis;	   /* enum calls_axis */
	int tracks;
	uint64_t split_ns; /* 0: one file */
	uint64_t jobs;	   /* 0: one for each CPU */
	bool force;
	bool quiet;
};

/* A page instead. The error has been printed if it is not there. */
enum exit_code export_html(struct console *con, const struct export_args *args,
			   const struct view_capture *capture);

#endif
