/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that ask a command to end: SIGINT, SIGTERM, and SIGHUP unless it is ignored, as by nohup.
 */
#ifndef CTL_CLI_ENDING_H
#define CTL_CLI_ENDING_H

#include <signal.h>

void ending_set(sigset_t *set);

/* Blocks them, for good: they come by the descriptor that is returned, which does not block. Or a
 * negative errno. */
int ending_open(void);

/* Between ending_catch() and ending_release() they only set ending_asked, which stays set: nothing
 * resets it, for a signal may come just before another part of a command begins. */
extern volatile sig_atomic_t ending_asked;

struct ending {
	struct sigaction old[3];
};

void ending_catch(struct ending *ending);
void ending_release(const struct ending *ending);

#endif
