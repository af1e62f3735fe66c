/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel settings that a session changes and restores. Before a change, the old value is written to
 * a file that the session keeps locked. If LOCK_EX succeeds, the session is dead, and the owner of
 * the lock restores the settings. Settings changed by others since are reported and left alone,
 * even if they have the old value. */
#ifndef LIB_WORKLOAD_JOURNAL_H
#define LIB_WORKLOAD_JOURNAL_H

#include <stdbool.h>

#include "base/log.h"

/* Like the settings, /run does not survive a reboot. */
#define JOURNAL_DIR "/run/perf-poke"

struct journal;

/* Settings are paths, absolute or relative to tracefs. The caller keeps tracefs. */
int journal_open(struct journal **ret, const char *dir, int tracefs, const struct log *log);

/* Writes `value`, spelled as the kernel shows it, to a file. Also call it if the file has this
 * value: then changes by others are reported. */
int journal_set(struct journal *journal, const char *name, const char *value);
/* Sets a word in a file of options, where NO_ before a word means off. */
int journal_option(struct journal *journal, const char *name, const char *word, bool on);
/* Makes a folder that is removed at the end. */
int journal_mkdir(struct journal *journal, const char *name);

/* Restores all settings, the last one first. Failures are left to journal_recover(). So are the
 * tracers' settings if `busy`: changing them would stop another process's tracer. NULL is
 * ignored. */
void journal_close(struct journal *journal, bool busy);

/* Restores settings of dead sessions. Returns the number of sessions, or a negative errno. */
int journal_recover(const char *dir, int tracefs, bool busy, const struct log *log);

#endif
