/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Pins in bpffs: what other processes, and rtla, see of a session. */
#ifndef LIB_SESSION_PINS_H
#define LIB_SESSION_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "machine/base.h"
#include "options/config.h"
#include "trigger/trigger.h"

/*
 * A session is a folder in bpffs with the pins of trigger_pin(). Its controller holds an exclusive
 * lock on the folder, which shows in any PID namespace that the session is alive. A killed session
 * leaves only this folder.
 */
#define PINS_BPFFS "/sys/fs/bpf"
/* Root's folder; other users' end with -UID. */
#define PINS_DIR PINS_BPFFS "/perf-poke"

/* Replaces dots, which bpffs reserves, by colons. to: SESSION_NAME_MAX + 1 bytes. */
void pins_folder_name(char *to, const char *name);
void pins_session_name(char *to, const char *folder);

struct pins;

/* Removes leftovers of dead sessions and takes the name. -EEXIST, with a message: a living session
 * has it. Other errors come without a message. */
int session_pins_open(struct pins **ret, const char *name, const struct trigger *trigger,
		      const struct log *log);
void session_pins_free(struct pins *pins);

/* In a child of fork(): frees, and leaves the pins and their lock to the parent. NULL is ignored.
 */
void session_pins_abandon(struct pins *pins);

/* For observers: */

/* Users whose sessions the caller may see, itself first; root sees all. Returns their number or a
 * negative errno. The caller frees *ret. */
int pins_list_users(uid_t **ret);
/* Opens a user's folder of sessions. -ENOENT: none; -ESTALE: it belongs to another user. */
int pins_open_dir(uid_t uid);
/* -ENOENT: no such session. */
int pins_open_session(int dirfd, const char *folder);
/* Whether the session's controller is alive. */
bool pins_is_alive(int fd);
/* Removes the folder of a session, unless the session is alive. */
int pins_remove_dead(int dirfd, const char *folder, int fd);
/* If no session is left, removes the user's folder of sessions, and rtla's map. */
void pins_remove_user_dir(uid_t uid);

/* The map through which rtla's BPF action finds the newest session: see bpf/rtla_action.bpf.c. */

/* libbpf's default path for pinned maps, which rtla uses. */
#define RTLA_PIN "/sys/fs/bpf/perf_poke_rtla"

/* Makes rtla's action run this program. Returns the program's id for rtla_withdraw_program(), or a
 * negative errno. */
int64_t rtla_offer_program(int prog_fd);

/* Undoes rtla_offer_program(), unless a newer session has made an offer, and removes the map. */
void rtla_withdraw_program(int64_t prog);

/* Removes a map left by killed sessions. Call when no session is alive. */
void rtla_remove_map(void);

#endif
