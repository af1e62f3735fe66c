/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Kernel settings that a session changes and restores. The old value is written to a file before
 * the change; the session holds a lock on that file. If LOCK_EX succeeds, the session is dead, and
 * whoever holds the lock restores its settings. A setting that somebody else has changed since is
 * reported and left alone, even if it has the old value. */
#ifndef LIB_WORKLOAD_JOURNAL_H
#define LIB_WORKLOAD_JOURNAL_H

#include <stdbool.h>

#include "base/log.h"

/* Survives processes, not the settings: it goes when the machine is restarted, as they do. */
#define JOURNAL_DIR "/run/perf-poke"

struct journal;

/* Names of settings are files of tracefs, relative to it, or absolute. tracefs stays the caller's.
 */
int journal_open(struct journal **ret, const char *dir, int tracefs, const struct log *log);

/* Sets what is a whole file, spelled as the kernel spells it. If it is that already, only whether
 * it stays so is seen to. */
int journal_set(struct journal *journal, const char *name, const char *value);
/* Sets one word of a file that lists words, each with NO_ before it when it is off. */
int journal_option(struct journal *journal, const char *name, const char *word, bool on);
/* Makes a folder, which is removed later, with what the kernel keeps in it. */
int journal_mkdir(struct journal *journal, const char *name);

/* Puts all back, the last first. What cannot be put back stays noted for journal_recover(). Others'
 * tracers would be stopped by changes of the tracers' settings: with `busy` those are kept as they
 * are, and noted for journal_recover(). NULL does nothing. */
void journal_close(struct journal *journal, bool busy);

/* Puts back what dead sessions have left. Returns of how many all is put back, or a negative errno.
 */
int journal_recover(const char *dir, int tracefs, bool busy, const struct log *log);

#endif
