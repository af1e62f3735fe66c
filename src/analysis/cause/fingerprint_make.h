/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes a fingerprint from the findings of a report. */
#ifndef REPORT_FINGERPRINT_MAKE_H
#define REPORT_FINGERPRINT_MAKE_H

#include "cause/cause.h"
#include "cause/fingerprint.h"

void fingerprint_make(struct fingerprint *fingerprint, const struct cause *cause,
		      const struct findings *findings, const struct facts *facts);

#endif
