// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/event.h"

#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/tracefs.h"
#include "trigger/state.h"
#include "trigger/trigger.h"

int event_check(struct config *config)
{
	const char *text = config->texts[TRIGGER_EVENT];
	const char *colon = text && !strncmp(text, "tp:", 3) ? strchr(text + 3, ':') : NULL;

	if (!config->thresholds[TRIGGER_EVENT])
		return 0;
	if (!colon || colon == text + 3 || !colon[1] || strchr(text, '/') ||
	    strchr(colon + 1, ':') || strlen(text + 3) >= TRIGGER_LABEL_SIZE)
		return log_error(&config->log, -EINVAL,
				 "trigger event: needs a tracepoint (event=tp:SYS:NAME, such as "
				 "event=tp:oom:mark_victim)");
	config->texts[TRIGGER_EVENT] = text + 3;
	return 0;
}

int event_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;

	(void)log;
	bpf_program__set_autoload(trigger->skel->progs.event_seen, true);
	snprintf((char *)rodata->event_name, sizeof(rodata->event_name), "%s",
		 config->texts[TRIGGER_EVENT]);
	return 0;
}

int event_attach(struct trigger *trigger, const struct trigger_config *config,
		 const struct log *log)
{
	const char *event = config->texts[TRIGGER_EVENT], *name = strchr(event, ':') + 1;
	struct trigger_bpf *skel = trigger->skel;
	char path[2 * TRIGGER_LABEL_SIZE];

	snprintf(path, sizeof(path), "%.*s/%s", (int)(name - event - 1), event, name);
	if (!tracefs_has_event(path))
		return log_error(
			log, -ENOENT,
			"trigger event: the kernel has no tracepoint %s (perf list shows them)",
			event);
	skel->links.event_seen = bpf_program__attach_raw_tracepoint(skel->progs.event_seen, name);
	if (skel->links.event_seen)
		return 0;
	return log_error(log, -errno,
			 "trigger event: %s: BPF programs cannot be attached to it: %s", event,
			 strerror(errno));
}
