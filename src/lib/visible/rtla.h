/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The map through which rtla's BPF action finds the newest session: see bpf/rtla_action.bpf.c. */
#ifndef LIB_VISIBLE_RTLA_H
#define LIB_VISIBLE_RTLA_H

#include <stdint.h>

/* libbpf's default path for pinned maps, which rtla uses. */
#define RTLA_PIN "/sys/fs/bpf/perf_poke_rtla"

/* Makes rtla's action run this program. Returns the program's id for rtla_withdraw(), or a negative
 * errno. */
int64_t rtla_offer(int prog_fd);

/* Undoes rtla_offer(), unless a newer session has made an offer, and removes the map. */
void rtla_withdraw(int64_t prog);

/* Removes a map left by killed sessions. Call when no session is alive. */
void rtla_sweep(void);

#endif
