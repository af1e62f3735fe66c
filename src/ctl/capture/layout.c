// SPDX-License-Identifier: GPL-2.0-only
#include "capture/layout.h"

#include <limits.h>
#include <regex.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "util.h"

#define D "[0123456789]"
#define LETTER "[abcdefghijklmnopqrstuvwxyz]"
#define X "[0123456789abcdef]"
/* perf's path of a file by its build id. */
#define TRACED "buildid/\\.build-id/" X "{2}/" X "{2,38}"

static bool matches(const char *text, const char *pattern)
{
	regex_t regex;
	bool found;

	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	found = !regexec(&regex, text, 0, NULL, 0);
	regfree(&regex);
	return found;
}

/* Of any kind of latency: newer versions have more. */
bool layout_is_name(const char *name)
{
	return matches(name, "^(" LAYOUT_ANY_NAME "|" D "{8}-" D "{6}\\." D "{3}-"
			     "(poke|cpu" D "{1,5}-(" LETTER "{1,20}-)?" D "{1,20}us)"
			     "(-" D "{1,4})?)$");
}

bool layout_has(const char *path, mode_t mode)
{
	if (S_ISDIR(mode))
		return matches(path, "^(perf\\.data(/kcore_dir)?|buildid(/\\.build-id(/" X
				     "{2})?)?|" TRACED ")$");
	return S_ISREG(mode) &&
	       matches(path, "^((capture|host)\\.json|ring\\.cpu" D "{1,5}|"
			     "perf\\.data/(data|kcore_dir/(kallsyms|modules|kcore))|" TRACED
			     "/(elf|debug|vdso))$");
}

bool layout_selftest_has(const char *path, mode_t mode)
{
	size_t length = strcspn(path, "/");
	char name[NAME_MAX + 1];

	if (S_ISREG(mode) && matches(path, "^(selftest\\.json|messages|host\\.json)$"))
		return true;
	if (length > NAME_MAX)
		return false;
	*(char *)mempcpy(name, path, length) = '\0';
	return layout_is_name(name) &&
	       (path[length] ? layout_has(path + length + 1, mode) : S_ISDIR(mode));
}
