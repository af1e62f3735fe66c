/* SPDX-License-Identifier: GPL-2.0-only */
/* What ran in the spikes of a cause, beside what ran in controls, as flame.js shows it. */
#ifndef CTL_CAUSES_CHART_H
#define CTL_CAUSES_CHART_H

#include "causes/groups.h"

/* Of a group, by number. NULL: out of memory, or there are no controls. */
json_object *chart_of_controls(const struct causes *causes, size_t group);

/* Without controls, beside the normal activations in its worst capture. Sets *chart to NULL if
 * there are too few. Returns 0, -ENOMEM, or -EINTR after a signal. */
int chart_of_normal(json_object **chart, const struct causes *causes, size_t group) _must_check_;

#endif
