/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares what ran in the spikes of a cause and in controls, for flame.js. */
#ifndef CTL_CAUSES_CHART_H
#define CTL_CAUSES_CHART_H

#include "causes/groups.h"

/* For a group, by number. NULL: out of memory, or no controls. */
json_object *chart_of_controls(const struct causes *causes, size_t group);

/* Without controls: compares with the normal activations in the worst capture. Sets *chart to NULL
 * if there are too few. Returns 0, -ENOMEM, or -EINTR after a signal. */
int chart_of_normal(json_object **chart, const struct causes *causes, size_t group) _must_check_;

#endif
