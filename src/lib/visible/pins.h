/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * visible/: what other processes, and rtla, see of a session. May include trigger/, options/ and
 * base/.
 *
 * A session is a folder in bpffs with what trigger_pin() pins. Its controller holds an exclusive
 * lock on the folder, which shows in any PID namespace whether the session is alive. A killed
 * session leaves only this folder.
 */
#ifndef LIB_VISIBLE_PINS_H
#define LIB_VISIBLE_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/log.h"
#include "options/config.h"
#include "trigger/trigger.h"

#define PINS_BPFFS "/sys/fs/bpf"
/* Root's; another user's ends with -UID. */
#define PINS_DIR PINS_BPFFS "/perf-poke"

/* Folder names replace dots, which bpffs reserves, by colons. to: SESSION_NAME_MAX + 1 bytes. */
void pins_folder_name(char *to, const char *name);
void pins_session_name(char *to, const char *folder);

struct pins;

/* Removes what dead sessions have left, and takes the name. -EEXIST, with a message: a living
 * session has the name. Other errors come without a message. */
int pins_open(struct pins **ret, const char *name, const struct trigger *trigger,
	      const struct log *log);
void pins_free(struct pins *pins);

/* The rest is for observers. */

/* The users whose sessions the caller may see, itself first; root sees all. Returns how many, or a
 * negative errno; the caller frees *ret. */
int pins_users(uid_t **ret);
/* The folder of all sessions of a user. -ENOENT: none; -ESTALE: the path is another user's. */
int pins_open_dir(uid_t uid);
/* The folder of a session. -ENOENT: none. */
int pins_open_session(int dirfd, const char *folder);
/* Whether the session's controller is alive. */
bool pins_is_alive(int fd);
/* Removes the folder of a session, unless the session is alive. */
int pins_remove(int dirfd, const char *folder, int fd);
/* Removes the folder of all sessions of a user, and rtla's map, if no session is left. */
void pins_leave(uid_t uid);

#endif
