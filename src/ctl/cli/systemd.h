/* SPDX-License-Identifier: GPL-2.0-only */
/* Service manager and journal. Without libsystemd both are reported as absent. */
#ifndef CTL_CLI_SYSTEMD_H
#define CTL_CLI_SYSTEMD_H

#include <stdbool.h>

#include "util.h"

bool systemd_is_built(void);

/* Whether NOTIFY_SOCKET is set. */
bool systemd_wants_notify(void);

/* sd_notify(3), if NOTIFY_SOCKET is set. */
void systemd_notify(const char *format, ...) _printf_(1, 2);

/* Whether journald is running. */
bool systemd_has_journal(void);

/* Writes one entry of any length with a priority of syslog(3). Returns 0 or a negative errno. */
int systemd_journal(int priority, const char *text);

/* Writes the entry of a capture, with these NAME=VALUE. Returns 0 or a negative errno. */
int systemd_journal_entry(const char *message, char *const *fields);

#endif
