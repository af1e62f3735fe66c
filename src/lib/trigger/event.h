/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A tracepoint as a trigger. */
#ifndef LIB_TRIGGER_EVENT_H
#define LIB_TRIGGER_EVENT_H

#include "base/log.h"
#include "bpf/trigger.h"

struct bpf_program;
struct bpf_link;

/* event: SYS:NAME. -ENOENT: there is none of this name. Logs why it fails. */
int event_attach(const struct bpf_program *program, struct bpf_link **link, const char *event,
		 const struct log *log);

#endif
