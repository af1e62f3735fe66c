// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "explain.h"

#include <stdarg.h>
#include <stdio.h>

#include "printable.h"
#include "strfmt.h"

int say_why(char **why, int r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(why, format, args) < 0) {
		*why = NULL;
		r = -ENOMEM;
	} else {
		printable(*why);
	}
	va_end(args);
	return r;
}

void explain_list(char **list, const char *item)
{
	char *longer = strfmt("%s%s%s", *list ?: "", *list ? ", " : "", item);

	free(*list);
	*list = longer;
}
