/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals that terminate a command: SIGINT, SIGTERM, and SIGHUP unless ignored (nohup). */
#ifndef CTL_CLI_ENDING_H
#define CTL_CLI_ENDING_H

#include <signal.h>

void ending_set(sigset_t *set);

/* Blocks the signals permanently. Returns a non-blocking signalfd, or a negative errno. */
int ending_open(void);

/* Takes the signals that have come so far. A negative descriptor has none. */
void ending_drain(int fd);

/* Between ending_catch() and ending_release() the signals set ending_asked. It is never reset: a
 * signal may arrive between two phases of a command. */
extern volatile sig_atomic_t ending_asked;

struct ending {
	struct sigaction old[3];
};

void ending_catch(struct ending *ending);
void ending_release(const struct ending *ending);

#endif
