// SPDX-License-Identifier: GPL-2.0-only
#include "error.h"

#include <inttypes.h>
#include <stdio.h>

#include <intel-pt.h>

void decode_error_text(int error, uint64_t ip, char *text, size_t size)
{
	const char *why = pt_errstr(pt_errcode(error));

	if (pt_errcode(error) == pte_nomap)
		snprintf(text, size, "code of 0x%" PRIx64 " is not in the capture", ip);
	else if (ip)
		snprintf(text, size, "the trace does not fit the code at 0x%" PRIx64 " (%s)", ip,
			 why);
	else
		snprintf(text, size, "the trace cannot be decoded (%s)", why);
}
