/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes the spans of a CPU, made from events, as tracks of a timeline. */
#ifndef REPORT_SPANS_TRACKS_H
#define REPORT_SPANS_TRACKS_H

#include "calls/cpu.h"
#include "facts/spans.h"

/* Spans that continue after the known window stay open. Returns 0 or -ENOMEM. */
int spans_to_tracks(const struct spans *spans, const struct cpu *cpu,
		    const struct cpu_names *cpu_names, struct names *names) _must_check_;

#endif
