/* SPDX-License-Identifier: GPL-2.0-only */
/* The service manager and the journal, in a build with libsystemd; without it they are never there.
 */
#ifndef CTL_CLI_SYSTEMD_H
#define CTL_CLI_SYSTEMD_H

#include <stdbool.h>

#include "util.h"

/* Whether this build has libsystemd. */
bool systemd_is_built(void);

/* Whether a service manager wants to be told. */
bool systemd_wants_notify(void);

/* Lines of NAME=VALUE as sd_notify(3) has them. Does nothing when nobody wants to be told. */
void systemd_notify(const char *format, ...) _printf_(1, 2);

/* Whether a journal takes entries. */
bool systemd_has_journal(void);

/* One entry, whatever its length; priorities are those of syslog(3). Returns 0 or a negative errno.
 */
int systemd_journal(int priority, const char *text);

#endif
