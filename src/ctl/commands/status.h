/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CTL_COMMANDS_STATUS_H
#define CTL_COMMANDS_STATUS_H

#include <perf_poke.h>
#include <stdio.h>

/* Prints a session as text. */
void status_print(FILE *file, const struct perf_poke_session *session);

#endif
