// SPDX-License-Identifier: GPL-2.0-only
#include "symbols/demangle.h"

#ifdef HAVE_LIBIBERTY
#include <libiberty/demangle.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBIBERTY
char *demangle(const char *name)
{
	size_t length = strcspn(name, "@");
	char *mangled, *plain, *text = NULL;

	/* libiberty would also accept old compilers' names, which may be C. */
	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
		return NULL;
	mangled = strndup(name, length);
	plain = mangled ? cplus_demangle(mangled, DMGL_NO_OPTS) : NULL;
	if (plain && asprintf(&text, "%s%s", plain, name + length) < 0)
		text = NULL;
	free(plain);
	free(mangled);
	return text;
}
#else
char *demangle(const char *name)
{
	return NULL;
}
#endif
