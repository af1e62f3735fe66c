/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Spans: what begins and ends them, as text. */
#ifndef LIB_TRIGGER_SPAN_H
#define LIB_TRIGGER_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "bpf/trigger.h"

#define SPAN_PARTS 3

/* The ways to attach to an entry or exit. */
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
	const char *parts[SPAN_PARTS]; /* what is between the colons, as tp:SYS:NAME */
	const char *filter;	       /* of a tracepoint; NULL: none */
	const char *argument;	       /* of `by` */
};

struct span {
	char *name, *text; /* the points refer to these */
	struct span_point entry, exit;
	enum span_by by;
	bool whole;   /* both of one function */
	bool overrun; /* a spike before its exit */
};

/* NAME=ENTRY..EXIT[,by=thread|cpu|ARG][,overrun] or NAME=FUNCTION[,...]. Logs why it fails:
 * -EINVAL. */
int span_parse(struct span *span, const char *text, const struct log *log);
void span_destroy(struct span *span);

#endif
