/* SPDX-License-Identifier: GPL-2.0-only */
/* The spans of a CPU, as events tell them, on its tracks in a timeline. */
#ifndef REPORT_SPANS_TRACKS_H
#define REPORT_SPANS_TRACKS_H

#include "cpu.h"
#include "spans.h"

/* What goes on after all that is known stays open. Returns 0 or -ENOMEM. */
int spans_to_tracks(const struct spans *spans, const struct cpu *cpu,
		    const struct cpu_names *cpu_names, struct names *names) _must_check_;

#endif
