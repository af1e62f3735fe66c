/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The targets of a session. The trigger signals them at each spike; the controller sends what the
 * trigger could not. */
#ifndef LIB_DELIVERY_POKE_H
#define LIB_DELIVERY_POKE_H

#include "options/config.h"

struct json_object;
struct poke;
struct trigger;
struct trigger_config;

/* Finds the targets and chooses the ways. */
int poke_open(struct poke **ret, const struct config *config, const struct log *log);

/* Fills in the targets and the ways. */
void poke_configure(const struct poke *poke, struct trigger_config *config);

/* The trigger must outlive this. */
int poke_start(struct poke *poke, struct trigger *trigger);

/* The name of the preferred way. */
const char *poke_delivery(const struct poke *poke);

/* Readable when poke_poll() has something to do. */
int poke_fd(const struct poke *poke);

/* Call after a spike, before the trigger is re-armed: signals the targets that the trigger could
 * not; all of them if it has not `tried`. */
void poke_settle(struct poke *poke, uint64_t sequence, bool tried);

/* Finishes what poke_settle() left for later, and drops targets that have ended. Returns how many
 * are left. */
size_t poke_poll(struct poke *poke);

/* Sends all signals that are still owed, before the trigger, already disarmed, is closed. Waits
 * some milliseconds at most. NULL is ignored. */
void poke_finish(struct poke *poke);

/* Adds the result for each target at a spike. Any thread. */
void poke_describe(const struct poke *poke, uint64_t sequence, struct json_object *json);

/* Reopens what the ways lost with a CPU that was offline. */
int poke_cpu_online(struct poke *poke);

/* NULL is ignored. */
void poke_free(struct poke *poke);

#endif
