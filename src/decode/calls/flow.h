/* SPDX-License-Identifier: GPL-2.0-only */
/* Converts decoded items to events for struct calls. */
#ifndef DECODE_FLOW_H
#define DECODE_FLOW_H

#include "blocks/decode.h"
#include "calls/calls.h"

struct flow;

/* Sets resolve, comm and arg in the options of calls. */
int flow_new(struct flow **ret, struct decode *decode, const struct calls_opts *opts,
	     struct timeline *timeline, struct names *names) _must_check_;
void flow_free(struct flow *flow);

void flow_add(struct flow *flow, const struct decode_item *items, size_t nr);

/* As calls_finish(); also returns calls_gaps(). */
int flow_finish(struct flow *flow, uint64_t *at, uint64_t *gaps) _must_check_;

#endif
