/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints histograms in the format of `rtla timerlat hist`, for tools that parse it. */
#ifndef CTL_SESSION_RTLA_HIST_H
#define CTL_SESSION_RTLA_HIST_H

#include "session/results.h"

/* rtla's defaults. */
#define RTLA_HIST_ENTRIES 256
#define RTLA_HIST_BUCKET_US 1

/* The results must have linear histograms. */
void rtla_hist_print(FILE *file, const struct results *results);

#endif
