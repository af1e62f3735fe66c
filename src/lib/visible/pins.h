/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * visible/: what other sessions, and rtla, see of a session. May include trigger/, options/ and
 * base/.
 *
 * A session is a folder in bpffs with what trigger_pin() pins. Its controller holds an exclusive
 * lock on the folder. So the kernel knows whether the session is alive, in whatever pid namespace,
 * and a killed session leaves nothing but that folder.
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
/* Root's; that of another user has -UID behind it. */
#define PINS_DIR PINS_BPFFS "/perf-poke"

/* Names of folders have no dots, which bpffs reserves for itself. to: of SESSION_NAME_MAX + 1. */
void pins_folder_name(char *to, const char *name);
void pins_session_name(char *to, const char *folder);

/* A session's own. */
struct pins;

/* Removes what dead sessions have left, and takes the name. -EEXIST: a living session has it, and
 * the message says so; after another failure nothing is said and the session can do without. */
int pins_open(struct pins **ret, const char *name, const struct trigger *trigger,
	      const struct log *log);
void pins_free(struct pins *pins);

/* Others' side. Those whose sessions the caller may see, itself first: root those of all. Returns
 * how many, for the caller to free, or a negative errno. */
int pins_users(uid_t **ret);
/* The folder of all sessions of a user. -ENOENT: there is none; -ESTALE: what is there is somebody
 * else's. */
int pins_open_dir(uid_t uid);
/* The folder of a session: -ENOENT. */
int pins_open_session(int dirfd, const char *folder);
/* Whether its controller lives. */
bool pins_is_alive(int fd);
/* Removes the folder of a dead session; of a living one does nothing. */
int pins_remove(int dirfd, const char *folder, int fd);
/* Removes the folder of all sessions of a user, and what goes with it, if there is none any more.
 */
void pins_leave(uid_t uid);

#endif
