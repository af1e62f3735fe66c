// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "strfmt.h"

#include <stdarg.h>

char *strfmt(const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}
