// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "options/session_name.h"

#include <string.h>

bool session_name_valid(const char *name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789._-";
	size_t len = strlen(name);

	return len && len <= SESSION_NAME_MAX && strspn(name, allowed) == len &&
	       strcmp(name, ".") && strcmp(name, "..");
}
