/* SPDX-License-Identifier: GPL-2.0-only */
/* Histograms as `rtla timerlat hist` prints them, so that what reads and plots those reads these.
 */
#ifndef CTL_RTLA_HIST_H
#define CTL_RTLA_HIST_H

#include "results.h"

/* Buckets of a microsecond, from 0; what is later is `over`. */
#define RTLA_HIST_ENTRIES 256

void rtla_hist_print(FILE *file, const struct results *results);

#endif
