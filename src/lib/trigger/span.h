/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Parses spans: their entries and exits. */
#ifndef LIB_TRIGGER_SPAN_H
#define LIB_TRIGGER_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "bpf/trigger.h"

#define SPAN_PARTS 3

/* Kinds of entries and exits. */
enum span_kind {
	SPAN_TP,
	SPAN_FN,
	SPAN_UPROBE,
	SPAN_URETPROBE,
	SPAN_USDT,
	SPAN_KINDS,
};

struct span_point {
	enum span_kind kind;
	const char *parts[SPAN_PARTS]; /* between the colons, as in tp:SYS:NAME */
	const char *filter;	       /* of a tracepoint; NULL: none */
	const char *argument;	       /* of `by` */
};

struct span {
	char *name, *text; /* that the points refer to */
	struct span_point entry, exit;
	enum span_by by;
	bool whole;   /* from call to return of one function */
	bool overrun; /* takes the spike at the threshold, before the exit */
};

/* Parses NAME=ENTRY..EXIT[,by=thread|cpu|ARG][,overrun] or NAME=FUNCTION[,...]. Logs failures:
 * -EINVAL. */
int span_parse(struct span *span, const char *text, const struct log *log);
void span_destroy(struct span *span);

#endif
