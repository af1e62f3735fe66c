/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The map by which rtla's BPF action finds the newest session: see bpf/rtla_action.bpf.c. */
#ifndef LIB_VISIBLE_RTLA_H
#define LIB_VISIBLE_RTLA_H

#include <stdint.h>

/* Where libbpf looks for it, in rtla. */
#define RTLA_PIN "/sys/fs/bpf/perf_poke_rtla"

/* From now on rtla's action runs that program. Returns its number, of use to rtla_withdraw(), or a
 * negative errno. */
int64_t rtla_offer(int prog_fd);

/* Not any more, unless there is a newer session. The map goes too. */
void rtla_withdraw(int64_t prog);

/* What a killed session has left: when none lives, it is nobody's. */
void rtla_sweep(void);

#endif
