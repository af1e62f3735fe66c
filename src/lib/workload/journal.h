/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel settings that a session changes and restores. The old value is written to a file before
 * the change; the session holds a lock on that file. If LOCK_EX succeeds, the session is dead, and
 * whoever holds the lock restores its settings. A setting that somebody else has changed since is
 * reported and left alone, even if it has the old value. */
#ifndef LIB_WORKLOAD_JOURNAL_H
#define LIB_WORKLOAD_JOURNAL_H

#include <stdbool.h>

#include "base/log.h"

/* Like the settings, /run does not survive a reboot. */
#define JOURNAL_DIR "/run/perf-poke"

struct journal;

/* Settings are named by paths, relative to tracefs or absolute. tracefs stays the caller's. */
int journal_open(struct journal **ret, const char *dir, int tracefs, const struct log *log);

/* Sets a file to `value`, spelled as the kernel shows it. Also if it has this value already:
 * others' changes are reported then too. */
int journal_set(struct journal *journal, const char *name, const char *value);
/* Sets one word in a file that lists options; NO_ before a word means that it is off. */
int journal_option(struct journal *journal, const char *name, const char *word, bool on);
/* Makes a folder that is removed at the end. */
int journal_mkdir(struct journal *journal, const char *name);

/* Restores all settings, the last one first. What cannot be restored is left to journal_recover(),
 * and so are the tracers' settings if `busy`: changing them would stop another's tracer. NULL is
 * ignored. */
void journal_close(struct journal *journal, bool busy);

/* Restores the settings of dead sessions. Returns how many sessions are done, or a negative errno.
 */
int journal_recover(const char *dir, int tracefs, bool busy, const struct log *log);

#endif
