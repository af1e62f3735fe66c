// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <errno.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "bpf/trigger.skel.h"
#include "machine/base.h"

/* tp:SYS:NAME[/FILTER/] */
static bool event_is_tracepoint(const char *text)
{
	size_t system, name = 0;

	if (!text || strncmp(text, "tp:", 3))
		return false;
	text += 3;
	system = strcspn(text, ":/");
	if (text[system] == ':')
		name = strcspn(text + system + 1, ":/");
	return system && name && text[system + 1 + name] != ':' &&
	       system + 1 + name < TRIGGER_LABEL_SIZE;
}

int event_check(struct config *config)
{
	const char *text = config->texts[PERF_POKE_TRIGGER_EVENT];

	if (!config->thresholds[PERF_POKE_TRIGGER_EVENT])
		return 0;
	if (!event_is_tracepoint(text))
		return log_error(&config->log, -EINVAL,
				 "trigger event: needs a tracepoint (event=tp:SYS:NAME, such as "
				 "event=tp:oom:mark_victim)");
	config->texts[PERF_POKE_TRIGGER_EVENT] = text + 3;
	if (filter_has(text + 3) >= 0)
		return 0;
	return log_error(&config->log, -EINVAL,
			 "trigger event: %s: the filter must stand between two slashes "
			 "(event='tp:sched:sched_switch/next_prio < 50/')",
			 text);
}

int event_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const char *event = config->texts[PERF_POKE_TRIGGER_EVENT];

	bpf_program__set_autoload(trigger->skel->progs.event_seen, true);
	snprintf((char *)rodata->event_name, sizeof(rodata->event_name), "%.*s",
		 (int)strcspn(event, "/"), event);
	rodata->event_filtered = filter_has(event) > 0;
	if (rodata->event_filtered)
		filter_load(trigger);
	return 0;
}

static int event_open_filter(struct trigger *trigger, const struct trigger_config *config,
			     const struct log *log)
{
	const struct filter_config filter = {
		.what = "trigger event",
		.event = config->texts[PERF_POKE_TRIGGER_EVENT],
		.number = FILTER_EVENT,
		.cpus = config->cpus,
		.nr_cpus = config->nr_cpus,
	};

	return trigger->skel->rodata->event_filtered ? filter_open(trigger, &filter, log) : 0;
}

int event_attach(struct trigger *trigger, const struct trigger_config *config,
		 const struct log *log)
{
	struct trigger_bpf *skel = trigger->skel;
	const char *event = (const char *)skel->rodata->event_name;
	const char *name = strchr(event, ':') + 1;
	char path[2 * TRIGGER_LABEL_SIZE];
	int err;

	snprintf(path, sizeof(path), "%.*s/%s", (int)(name - event - 1), event, name);
	if (!tracefs_has_event(path))
		return log_error(
			log, -ENOENT,
			"trigger event: the kernel has no tracepoint %s (perf list shows them)",
			event);
	err = event_open_filter(trigger, config, log);
	if (err)
		return err;
	skel->links.event_seen = bpf_program__attach_raw_tracepoint(skel->progs.event_seen, name);
	if (!skel->links.event_seen)
		return log_error(log, -errno,
				 "trigger event: %s: BPF programs cannot be attached to it: %s",
				 event, strerror(errno));
	return filter_start(trigger->filters[FILTER_EVENT]);
}
