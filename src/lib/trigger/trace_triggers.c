// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The triggers event, marker and noise, which watch what tracing reports: hits of a tracepoint,
 * texts in trace_marker, and samples of osnoise. Also the filters of tracepoints. */
#include "trigger/trigger_internal.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>

#include "util.h"

/* -- Filters of tracepoints */

#define FORMAT_MAX 4096

struct filter {
	struct filter_config config;
	int events_fd; /* of filter_events */
	int nr_possible;
	char *event, *text;
	uint64_t id; /* id of the tracepoint */
	int *fds;    /* by possible CPU; -1: none */
};

int event_has_filter(const char *event)
{
	const char *begin = strchr(event, '/'), *end = strrchr(event, '/');

	return !begin ? 0 : end < begin + 2 || end[1] ? -EINVAL : 1;
}

/* Splits SYS:NAME/FILTER/. */
static int filter_parse(struct filter *filter, const char *event)
{
	const char *begin = event + strcspn(event, "/") + 1;

	filter->event = strndup(event, begin - event - 1);
	filter->text = strndup(begin, strlen(begin) - 1);
	return filter->event && filter->text ? 0 : -ENOMEM;
}

/* Turns "\tfield:TYPE NAME[N];\t..." lines into "NAME, NAME". */
static void filter_list_fields(char *format)
{
	char *to = format, *save = NULL;

	for (char *line = strtok_r(format, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *end = strchr(line, ';'), *name;

		if (strncmp(line, "\tfield:", 7) || !end)
			continue;
		*end = '\0';
		name = strrchr(line, ' ');
		if (!name || !strncmp(++name, "common_", 7))
			continue;
		name[strcspn(name, "[")] = '\0';
		to += sprintf(to, "%s%s", to == format ? "" : ", ", name);
	}
	*to = '\0';
}

static int filter_explain(const struct filter *filter, const struct log *log)
{
	_cleanup_free_ char *fields = calloc(1, FORMAT_MAX);
	int err =
		fields ? tracefs_read_event(filter->event, "format", fields, FORMAT_MAX) : -ENOMEM;

	if (!err)
		filter_list_fields(fields);
	return log_error(log, -EINVAL,
			 "%s: %s: the kernel rejects the filter '%s' (fields: %s; CPU, COMM; as in "
			 "perf record --filter)",
			 filter->config.what, filter->event, filter->text, err ? "?" : fields);
}

static int filter_open_on(struct filter *filter, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = filter->id,
		.disabled = 1,
	};
	__u32 key = (__u32)filter->config.number * filter->nr_possible + cpu;
	int *fd = &filter->fds[cpu];

	*fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (*fd < 0)
		return -errno;
	if (ioctl(*fd, PERF_EVENT_IOC_SET_FILTER, filter->text))
		return -errno;
	return bpf_map_update_elem(filter->events_fd, &key, fd, BPF_ANY) ? -errno : 0;
}

static bool filter_counts(const struct filter *filter, int cpu)
{
	for (size_t i = 0; i < filter->config.nr_cpus; i++) {
		if (filter->config.cpus[i] == cpu)
			return true;
	}
	return !filter->config.nr_cpus;
}

static int filter_open_all(struct filter *filter, const struct log *log)
{
	const struct filter_config *config = &filter->config;
	int err = tracefs_event_id(filter->event, &filter->id);

	for (int cpu = 0; cpu < filter->nr_possible && !err; cpu++) {
		err = filter_counts(filter, cpu) ? filter_open_on(filter, cpu) : 0;
		if (err == -ENODEV)
			err = 0;
	}
	if (err == -EINVAL)
		return filter_explain(filter, log);
	if (err)
		log_error(log, err, "%s: %s: cannot count what passes a filter: %s", config->what,
			  filter->event, tracefs_strerror(err));
	return err;
}

void filter_load_maps(const struct trigger *trigger)
{
	bpf_map__set_max_entries(trigger->skel->maps.filter_events,
				 HITS * (__u32)trigger->nr_possible);
}

int filter_open_events(struct trigger *trigger, const struct filter_config *config,
		       const struct log *log)
{
	struct filter *filter = calloc(1, sizeof(*filter));
	int err;

	if (!filter)
		return -ENOMEM;
	filter->config = *config;
	filter->events_fd = bpf_map__fd(trigger->skel->maps.filter_events);
	filter->nr_possible = trigger->nr_possible;
	filter->fds = malloc(filter->nr_possible * sizeof(*filter->fds));
	for (int cpu = 0; filter->fds && cpu < filter->nr_possible; cpu++)
		filter->fds[cpu] = -1;
	err = filter->fds ? filter_parse(filter, config->event) : -ENOMEM;
	if (!err)
		err = filter_open_all(filter, log);
	if (err) {
		filter_free(filter);
		return err;
	}
	trigger->filters[config->number] = filter;
	return 0;
}

int filter_start_events(const struct filter *filter)
{
	if (!filter)
		return 0;
	for (int cpu = 0; cpu < filter->nr_possible; cpu++) {
		if (filter->fds[cpu] >= 0 && ioctl(filter->fds[cpu], PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	}
	return 0;
}

int filter_cpu_online(struct filter *filter, int cpu)
{
	int err;

	if (!filter_counts(filter, cpu))
		return 0;
	closep(&filter->fds[cpu]);
	err = filter_open_on(filter, cpu);
	return err ? err : ioctl(filter->fds[cpu], PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	for (int cpu = 0; filter->fds && cpu < filter->nr_possible; cpu++)
		closep(&filter->fds[cpu]);
	free(filter->fds);
	free(filter->event);
	free(filter->text);
	free(filter);
}

struct bpf_link *hit_attach_note(const struct bpf_program *program, const char *event)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr) };
	struct bpf_link *link;
	uint64_t id;
	int fd;

	errno = -tracefs_event_id(event, &id);
	if (errno)
		return NULL;
	attr.config = id;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return NULL;
	link = bpf_program__attach_perf_event(program, fd);
	if (!link)
		close(fd);
	return link;
}

/* -- The trigger event: a tracepoint */

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

int event_check_text(struct config *config)
{
	const char *text = config->texts[PERF_POKE_TRIGGER_EVENT];

	if (!config->thresholds[PERF_POKE_TRIGGER_EVENT])
		return 0;
	if (!event_is_tracepoint(text))
		return log_error(&config->log, -EINVAL,
				 "trigger event: needs a tracepoint (event=tp:SYS:NAME, such as "
				 "event=tp:oom:mark_victim)");
	config->texts[PERF_POKE_TRIGGER_EVENT] = text + 3;
	if (event_has_filter(text + 3) >= 0)
		return 0;
	return log_error(&config->log, -EINVAL,
			 "trigger event: %s: the filter must stand between two slashes "
			 "(event='tp:sched:sched_switch/next_prio < 50/')",
			 text);
}

int event_check_kernel(const struct config *config)
{
	const char *event = config->texts[PERF_POKE_TRIGGER_EVENT];
	int length = (int)strcspn(event, "/");
	char path[2 * TRIGGER_LABEL_SIZE];

	snprintf(path, sizeof(path), "%.*s", length, event);
	*strchr(path, ':') = '/';
	if (tracefs_has_event(path))
		return 0;
	return log_error(&config->log, -ENOENT,
			 "trigger event: the kernel has no tracepoint %.*s (perf list shows them)",
			 length, event);
}

int event_load_program(struct trigger *trigger, const struct trigger_config *config,
		       const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const char *event = config->texts[PERF_POKE_TRIGGER_EVENT];

	bpf_program__set_autoload(trigger->skel->progs.event_seen, true);
	snprintf((char *)rodata->event_name, sizeof(rodata->event_name), "%.*s",
		 (int)strcspn(event, "/"), event);
	rodata->event_filtered = event_has_filter(event) > 0;
	bpf_program__set_autoload(trigger->skel->progs.event_note, rodata->event_filtered);
	if (rodata->event_filtered)
		filter_load_maps(trigger);
	return 0;
}

int event_attach_program(struct trigger *trigger, const struct trigger_config *config,
			 const struct log *log)
{
	struct trigger_bpf *skel = trigger->skel;
	const char *event = (const char *)skel->rodata->event_name;
	const char *name = strchr(event, ':') + 1;
	const struct filter_config filter = {
		.what = "trigger event",
		.event = config->texts[PERF_POKE_TRIGGER_EVENT],
		.number = HIT_EVENT,
		.cpus = config->cpus,
		.nr_cpus = config->nr_cpus,
	};
	const bool filtered = skel->rodata->event_filtered;
	int err = filtered ? filter_open_events(trigger, &filter, log) : 0;

	if (err)
		return err;
	if (filtered)
		skel->links.event_note = hit_attach_note(skel->progs.event_note, event);
	if (!filtered || skel->links.event_note)
		skel->links.event_seen =
			bpf_program__attach_raw_tracepoint(skel->progs.event_seen, name);
	if (!skel->links.event_seen)
		return log_error(log, -errno,
				 "trigger event: %s: BPF programs cannot be attached to it: %s",
				 event, strerror(errno));
	return filter_start_events(trigger->filters[HIT_EVENT]);
}

/* -- The trigger marker: text in trace_marker */

#define MARKER_FUNCTION "tracing_mark_write"

/* After a mismatch the search continues as if it had begun at the second character, in the state
 * `again`, whose row is complete by then. */
void marker_make_tables(__u8 *classes, __u8 *next, const char *word)
{
	size_t length = strlen(word);
	unsigned int again = 0;

	for (int digit = '0'; digit <= '9'; digit++)
		classes[digit] = MARKER_DIGIT;
	classes['.'] = MARKER_DOT;
	classes[' '] = MARKER_SPACE;
	classes['u'] = classes['>'] = MARKER_UNIT;
	for (size_t state = 0; state < length; state++) {
		__u8 *row = &next[state * MARKER_CHARACTERS];
		__u8 character = (__u8)word[state];

		if (state) {
			memcpy(row, &next[again * MARKER_CHARACTERS], MARKER_CHARACTERS);
			again = row[character];
		}
		row[character] = (__u8)(state + 1);
	}
	memset(&next[length * MARKER_CHARACTERS], (int)length, MARKER_CHARACTERS);
}

/* In the marks of cyclictest -b and cyclicdeadline -b, "hit latency threshold (123 > 100)", and of
 * oslat -T, "Trace threshold (100 us) triggered". */
#define MARKER_RT_TESTS " threshold ("

int marker_check_text(struct config *config)
{
	const char **text = &config->texts[PERF_POKE_TRIGGER_MARKER];

	if (!config->thresholds[PERF_POKE_TRIGGER_MARKER])
		return 0;
	if (!*text)
		*text = MARKER_RT_TESTS;
	if (**text && strlen(*text) <= MARKER_WORD_MAX)
		return 0;
	return log_error(&config->log, -EINVAL,
			 "trigger marker: needs a text to look for, of at most %d bytes "
			 "(marker=TEXT)",
			 MARKER_WORD_MAX);
}

int marker_check_kernel(const struct config *config)
{
	if (function_has_trampoline("vfs_write") ||
	    !access("/sys/bus/event_source/devices/kprobe", F_OK))
		return 0;
	return log_error(&config->log, -EOPNOTSUPP,
			 "trigger marker: the kernel has neither BPF trampolines (fentry) nor "
			 "kprobes (CONFIG_KPROBES): use --trigger report and report-late");
}

int marker_load_programs(struct trigger *trigger, const struct trigger_config *config,
			 const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const struct trigger_bpf *skel = trigger->skel;
	const char *text = config->texts[PERF_POKE_TRIGGER_MARKER];
	uint64_t address;
	int err = kallsyms_find(MARKER_FUNCTION, &address);

	if (err)
		return log_error(log, err == -ENOENT ? -EOPNOTSUPP : err,
				 "trigger marker: function " MARKER_FUNCTION ": %s",
				 kallsyms_strerror(err));
	bpf_program__set_autoload(function_has_trampoline("vfs_write")
					  ? skel->progs.marker_write
					  : skel->progs.marker_write_probe,
				  true);
	rodata->marker_function = address;
	rodata->marker_length = strlen(text);
	marker_make_tables((__u8 *)rodata->marker_classes, (__u8 *)rodata->marker_next, text);
	return 0;
}

/* -- The trigger noise: samples of osnoise */

int noise_check_threshold(struct config *config)
{
	uint64_t threshold_ns = config->thresholds[PERF_POKE_TRIGGER_NOISE];

	if (!threshold_ns)
		return 0;
	if (config->workload && config->workload != PERF_POKE_WORKLOAD_OSNOISE)
		return log_error(&config->log, -EINVAL,
				 "trigger noise: needs --workload osnoise, or auto");
	if (threshold_ns < NOISE_MIN_NS)
		return log_error(&config->log, -EINVAL,
				 "trigger noise: %" PRIu64 " ns: the tracer osnoise counts from "
				 "1us on",
				 threshold_ns);
	return 0;
}

int noise_check_kernel(const struct config *config)
{
	if (tracefs_has_event("osnoise/sample_threshold"))
		return 0;
	return log_error(&config->log, -EOPNOTSUPP,
			 "trigger noise: the kernel is built without CONFIG_OSNOISE_TRACER: use "
			 "one with it, such as Debian's -rt");
}

int noise_load_programs(struct trigger *trigger, const struct trigger_config *config,
			const struct log *log)
{
	const struct trigger_bpf *skel = trigger->skel;

	bpf_program__set_autoload(skel->progs.noise_part_irq, true);
	bpf_program__set_autoload(skel->progs.noise_part_softirq, true);
	bpf_program__set_autoload(skel->progs.noise_part_thread, true);
	bpf_program__set_autoload(skel->progs.noise_part_nmi, true);
	bpf_program__set_autoload(skel->progs.noise_sample, true);
	bpf_map__set_max_entries(skel->maps.noise_rings, trigger->nr_possible);
	bpf_map__set_max_entries(skel->maps.noise_parts, TRIGGER_RECENT);
	return 0;
}
