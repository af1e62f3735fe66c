/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* perf_event_attr.aux_action, since Linux 6.13. Reserved in older headers. */
#ifndef SHARED_AUX_ACTION_H
#define SHARED_AUX_ACTION_H

#define AUX_ACTION_OFFSET 116
#define AUX_START_PAUSED 1U
#define AUX_PAUSE 2U
#define AUX_RESUME 4U

#endif
