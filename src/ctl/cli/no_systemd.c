// SPDX-License-Identifier: GPL-2.0-only
/* Stubs for a build without libsystemd. */
#include "cli/cli.h"

bool systemd_is_built(void)
{
	return false;
}

bool systemd_wants_notify(void)
{
	return false;
}

void systemd_notify(const char *state)
{
}

bool systemd_has_journal(void)
{
	return false;
}

int systemd_journal(int priority, const char *text)
{
	return -EOPNOTSUPP;
}

int systemd_journal_entry(const char *message, char *const *fields)
{
	return -EOPNOTSUPP;
}
