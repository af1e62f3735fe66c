// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/event.h"

#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/tracefs.h"

static int event_check(const char *event, const char *name, const struct log *log)
{
	char path[2 * TRIGGER_LABEL_SIZE];

	snprintf(path, sizeof(path), "%.*s/%s", (int)(name - event - 1), event, name);
	if (tracefs_has_event(path))
		return 0;
	return log_error(log, -ENOENT,
			 "trigger event: the kernel has no tracepoint %s (perf list shows them)",
			 event);
}

int event_attach(const struct bpf_program *program, struct bpf_link **link, const char *event,
		 const struct log *log)
{
	const char *name = strchr(event, ':') + 1;
	int err = event_check(event, name, log);

	if (err)
		return err;
	*link = bpf_program__attach_raw_tracepoint(program, name);
	if (*link)
		return 0;
	return log_error(log, -errno,
			 "trigger event: %s: BPF programs cannot be attached to it: %s", event,
			 strerror(errno));
}
