/* SPDX-License-Identifier: GPL-2.0-only */
/* Histograms as `rtla timerlat hist` prints them, so that what reads and plots those reads these.
 */
#ifndef CTL_SESSION_RTLA_HIST_H
#define CTL_SESSION_RTLA_HIST_H

#include "session/results.h"

/* What rtla has if nothing is said: so many buckets of so many microseconds. */
#define RTLA_HIST_ENTRIES 256
#define RTLA_HIST_BUCKET_US 1

/* Only of results with a linear histogram. */
void rtla_hist_print(FILE *file, const struct results *results);

#endif
