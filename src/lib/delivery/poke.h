/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The targets of a session: signalled by the trigger at each spike, and looked after from here. */
#ifndef LIB_DELIVERY_POKE_H
#define LIB_DELIVERY_POKE_H

#include "options/config.h"

struct json_object;
struct poke;
struct trigger;
struct trigger_config;

/* Finds the targets and chooses the ways to them. */
int poke_open(struct poke **ret, const struct config *config, const struct log *log);

/* What the trigger has to know. */
void poke_configure(const struct poke *poke, struct trigger_config *config);

/* Once the trigger is there. It stays the caller's, and outlives this. */
int poke_start(struct poke *poke, struct trigger *trigger);

/* The name of the preferred way. */
const char *poke_delivery(const struct poke *poke);

/* Readable when poke_poll() has something to do. */
int poke_fd(const struct poke *poke);

/* After a spike, before the trigger is armed again: reaches those that the trigger could not; all
 * of them if it has not tried. */
void poke_settle(struct poke *poke, uint64_t sequence, bool tried);

/* What settling left for later, and targets that have ended, which is said. Returns how many have
 * not. */
size_t poke_poll(struct poke *poke);

/* Sends what is still owed, for it ends with the trigger, which is not armed any more: that of
 * targets that are stopped, and what settling left for later. Waits some milliseconds at most. NULL
 * does nothing. */
void poke_finish(struct poke *poke);

/* Adds what became of the targets at a spike. Any thread. */
void poke_describe(const struct poke *poke, uint64_t sequence, struct json_object *json);

/* Opens again what a CPU lost that was offline. */
int poke_cpu_online(struct poke *poke);

/* NULL does nothing. */
void poke_free(struct poke *poke);

#endif
