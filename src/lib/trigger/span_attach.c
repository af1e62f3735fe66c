// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The trigger span: attaches the programs of bpf/span.bpf.h to its entry and exit. */
#include "trigger/trigger_internal.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "text.h"

/* Open spans: threads in a system call, or requests in flight. */
#define SPANS_MAX 16384

/* Limits of argument forms and of places of a probe. */
#define USDT_SPECS 256
#define USDT_PLACES 1024

#define NO_WAY_TO_FUNCTION                                                                         \
	"the kernel can attach neither fentry nor a kprobe to it (available_filter_functions of "  \
	"tracefs has what it can)"
#define PMUS "/sys/bus/event_source/devices/"

/* The entry or the exit. */
struct span_side {
	const struct span *span;
	const struct span_point *point;
	bool is_exit;
	const struct log *log;
};

struct span_program {
	struct bpf_program *program;
	struct bpf_link **link;
};

#define SPAN_PROGRAM(skel, side, name)                                                             \
	((side)->is_exit ? (struct span_program){ (skel)->progs.span_exit_##name,                  \
						  &(skel)->links.span_exit_##name }                \
			 : (struct span_program){ (skel)->progs.span_entry_##name,                 \
						  &(skel)->links.span_entry_##name })

static int side_log_failure(const struct span_side *side, int err, const char *what,
			    const char *why)
{
	return log_error(side->log, err, "span %s: %s: %s", side->span->name, what, why);
}

/* One line of a format: "\tfield:TYPE NAME[N];\toffset:8;\tsize:4;\tsigned:0;". */
static bool read_number_field(const char *line, const char *wanted, struct span_argument *field)
{
	const char *end = strchr(line, ';'), *name;
	size_t length = strlen(wanted);

	if (strncmp(line, "\tfield:", 7) || !end)
		return false;
	name = end - length;
	if (name <= line || name[-1] != ' ' || strncmp(name, wanted, length))
		return false;
	return sscanf(end, "; offset:%u; size:%u;", &field->place, &field->size) == 2;
}

/* Finds the field in the tracepoint's format. */
static int side_find_field(const struct span_side *side, struct span_argument *field)
{
	const struct span_point *point = side->point;
	_cleanup_close_ int tracefs = tracefs_open();
	_cleanup_fclose_ FILE *file = NULL;
	char path[256], line[512];
	int fd;

	snprintf(path, sizeof(path), "events/%s/%s/format", point->parts[0], point->parts[1]);
	fd = tracefs < 0 ? tracefs : openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file)
		return side_log_failure(side, fd < 0 ? -errno : -ENOMEM, path, "cannot be read");
	while (fgets(line, sizeof(line), file)) {
		if (read_number_field(line, point->argument, field) && field->size <= sizeof(__u64))
			return 0;
	}
	return log_error(side->log, -EINVAL,
			 "span %s: by=%s: tp:%s:%s has no such field, or not one of a number (its "
			 "fields are in %s of tracefs)",
			 side->span->name, point->argument, point->parts[0], point->parts[1], path);
}

static struct span_argument *side_argument_of(struct trigger *trigger, const struct span_side *side)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;

	return (struct span_argument *)(side->is_exit ? &rodata->span_exit_argument
						      : &rodata->span_entry_argument);
}

/* A tracepoint of perf only: the kernel has one for all system calls. */
static bool point_is_system_call(const struct span_point *point)
{
	return !strcmp(point->parts[0], "syscalls");
}

static int find_tracepoint(const struct span_side *side)
{
	const struct span_point *point = side->point;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", point->parts[0], point->parts[1]);
	if (tracefs_has_event(path))
		return 0;
	return log_error(side->log, -ENOENT,
			 "span %s: the kernel has no tracepoint %s:%s (perf list shows them)",
			 side->span->name, point->parts[0], point->parts[1]);
}

static int load_tracepoint(struct trigger *trigger, const struct span_side *side)
{
	const struct span_point *point = side->point;
	struct span_argument *argument = side_argument_of(trigger, side);

	argument->filtered = point->filter != NULL;
	argument->noted = argument->filtered || point->argument || point_is_system_call(point);
	if (point->filter)
		filter_load_maps(trigger);
	/* The one that notes an entry begins the span itself, if it may. */
	bpf_program__set_autoload(SPAN_PROGRAM(trigger->skel, side, tp).program,
				  side->is_exit || !argument->noted || argument->filtered);
	bpf_program__set_autoload(SPAN_PROGRAM(trigger->skel, side, note).program, argument->noted);
	return 0;
}

/* On all CPUs, because a span may begin and end on any. */
static int attach_filter_of_side(struct trigger *trigger, const struct span_side *side)
{
	const struct span_point *point = side->point;
	char what[TRIGGER_LABEL_SIZE + sizeof("span ")];
	_cleanup_free_ char *event =
		strfmt("%s:%s/%s/", point->parts[0], point->parts[1], point->filter);
	struct filter_config filter = {
		.what = what,
		.event = event,
		.number = side->is_exit ? HIT_SPAN_EXIT : HIT_SPAN_ENTRY,
	};

	if (!event)
		return -ENOMEM;
	snprintf(what, sizeof(what), "span %s", side->span->name);
	return filter_open_events(trigger, &filter, side->log);
}

/* The programs run in this order, with the filter in between. */
static int attach_tracepoint(struct trigger *trigger, const struct span_side *side)
{
	struct span_program to = SPAN_PROGRAM(trigger->skel, side, tp);
	struct span_program note = SPAN_PROGRAM(trigger->skel, side, note);
	const char *const *parts = side->point->parts;
	const char *name = parts[1];
	char event[256];
	int err = 0;

	snprintf(event, sizeof(event), "%s:%s", parts[0], parts[1]);

	if (side_argument_of(trigger, side)->noted) {
		*note.link = hit_attach_note(note.program, event);
		if (!*note.link)
			return side_log_failure(side, -errno, parts[1], strerror(errno));
	}
	if (side->point->filter)
		err = attach_filter_of_side(trigger, side);
	if (err || !bpf_program__autoload(to.program))
		return err;
	if (point_is_system_call(side->point))
		name = strncmp(name, "sys_exit_", strlen("sys_exit_")) ? "sys_enter" : "sys_exit";
	*to.link = bpf_program__attach_raw_tracepoint(to.program, name);
	if (!*to.link)
		return side_log_failure(side, -errno, parts[1], strerror(errno));
	return filter_start_events(
		trigger->filters[side->is_exit ? HIT_SPAN_EXIT : HIT_SPAN_ENTRY]);
}

static int find_kernel_function(const struct span_side *side)
{
	const char *function = side->point->parts[0];
	uint64_t address;

	if (kallsyms_find(function, &address) == -ENOENT)
		return side_log_failure(side, -ENOENT, function,
					"the kernel has no such function (see /proc/kallsyms)");
	if (function_has_trampoline(function) || !access(PMUS "kprobe", F_OK))
		return 0;
	return side_log_failure(side, -EOPNOTSUPP, function, NO_WAY_TO_FUNCTION);
}

static int load_kernel_function(struct trigger *trigger, const struct span_side *side)
{
	const char *function = side->point->parts[0];
	struct bpf_program *program = SPAN_PROGRAM(trigger->skel, side, fn).program;

	if (function_has_trampoline(function)) {
		bpf_program__set_autoload(program, true);
		return bpf_program__set_attach_target(program, 0, function);
	}
	if (side->is_exit && side->point->argument)
		return side_log_failure(
			side, -EOPNOTSUPP, function,
			"by=ARG: there are no arguments at the return of a function "
			"without a trampoline (fexit): use by=thread");
	bpf_program__set_autoload(SPAN_PROGRAM(trigger->skel, side, probe).program, true);
	return 0;
}

static int attach_kernel_function(struct trigger *trigger, const struct span_side *side)
{
	struct span_program to = SPAN_PROGRAM(trigger->skel, side, fn);
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .retprobe = side->is_exit);

	if (bpf_program__autoload(to.program)) {
		*to.link = bpf_program__attach_trace(to.program);
	} else {
		to = SPAN_PROGRAM(trigger->skel, side, probe);
		*to.link =
			bpf_program__attach_kprobe_opts(to.program, side->point->parts[0], &opts);
	}
	return *to.link ? 0
			: side_log_failure(side, -EOPNOTSUPP, side->point->parts[0],
					   NO_WAY_TO_FUNCTION);
}

static int side_check_file(const struct span_side *side)
{
	const char *file = side->point->parts[0];

	if (access(PMUS "uprobe", F_OK))
		return side_log_failure(side, -EOPNOTSUPP, file,
					"the kernel is built without CONFIG_UPROBE_EVENTS, which "
					"uprobe and usdt need: use tp, or --trigger report");
	if (strchr(file, '/') && access(file, R_OK))
		return side_log_failure(side, -errno, file, strerror(errno));
	return 0;
}

/* Splits SYMBOL+OFFSET; 0xOFFSET alone is an offset. */
static int symbol_cut_offset(char *symbol, uint64_t *offset)
{
	char *plus = strrchr(symbol, '+');
	char *number = *symbol >= '0' && *symbol <= '9' ? symbol : plus ? plus + 1 : "";
	char *end;

	*offset = 0;
	/* A C++ operator may end with a plus. */
	if (*number < '0' || *number > '9')
		return 0;
	*offset = strtoull(number, &end, 0);
	if (*end)
		return -EINVAL;
	*(number == symbol ? symbol : plus) = '\0';
	return 0;
}

static int side_log_symbol(const struct span_side *side, int err)
{
	return log_error(side->log, err,
			 "span %s: %s: cannot attach to '%s': %s (nm -C, or nm -CD, shows the "
			 "functions that a file has)",
			 side->span->name, side->point->parts[0], side->point->parts[1],
			 err == -ENOENT	    ? "the file has no such function"
			 : err == -ENOTUNIQ ? "several functions have this name; write one as nm "
					      "without -C does"
			 : err == -EINVAL   ? "must be SYMBOL, SYMBOL+OFFSET or 0xOFFSET"
					    : strerror(-err));
}

/* A file name without a path is left to libbpf, function included: only then *symbol, which the
 * caller frees, is not empty. */
static int side_find_symbol(const struct span_side *side, char **symbol, uint64_t *offset)
{
	const char *file = side->point->parts[0];
	uint64_t function = 0;
	int err;

	*symbol = strdup(side->point->parts[1]);
	err = *symbol ? symbol_cut_offset(*symbol, offset) : -ENOMEM;
	if (!err && **symbol && strchr(file, '/')) {
		err = elf_function_find(file, *symbol, &function);
		**symbol = '\0';
		*offset += function;
	}
	return err ? side_log_symbol(side, err) : 0;
}

static int find_user_probe(const struct span_side *side)
{
	_cleanup_free_ char *symbol = NULL;
	uint64_t offset;

	return side_check_file(side) ?: side_find_symbol(side, &symbol, &offset);
}

static int load_user_probe(struct trigger *trigger, const struct span_side *side)
{
	bpf_program__set_autoload(SPAN_PROGRAM(trigger->skel, side, probe).program, true);
	return 0;
}

static int attach_user_probe(struct trigger *trigger, const struct span_side *side)
{
	struct span_program to = SPAN_PROGRAM(trigger->skel, side, probe);
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = side->point->kind == SPAN_URETPROBE);
	_cleanup_free_ char *symbol = NULL;
	uint64_t offset;
	int err = side_find_symbol(side, &symbol, &offset);

	if (err)
		return err;
	opts.func_name = *symbol ? symbol : NULL;
	*to.link = bpf_program__attach_uprobe_opts(to.program, -1, side->point->parts[0], offset,
						   &opts);
	return *to.link ? 0 : side_log_symbol(side, -errno);
}

static int load_usdt_probe(struct trigger *trigger, const struct span_side *side)
{
	bpf_map__set_max_entries(trigger->skel->maps.__bpf_usdt_specs, USDT_SPECS);
	bpf_map__set_max_entries(trigger->skel->maps.__bpf_usdt_ip_to_spec_id, USDT_PLACES);
	bpf_program__set_autoload(SPAN_PROGRAM(trigger->skel, side, usdt).program, true);
	return 0;
}

static int attach_usdt_probe(struct trigger *trigger, const struct span_side *side)
{
	struct span_program to = SPAN_PROGRAM(trigger->skel, side, usdt);
	const char *const *parts = side->point->parts;

	*to.link = bpf_program__attach_usdt(to.program, -1, parts[0], parts[1], parts[2], NULL);
	if (*to.link)
		return 0;
	return log_error(side->log, -errno,
			 "span %s: %s: cannot attach to '%s:%s': %s (readelf -n shows the probes "
			 "that a file has)",
			 side->span->name, parts[0], parts[1], parts[2],
			 errno == ENOENT ? "the file has no such probe" : strerror(errno));
}

static const struct {
	/* Whether it is there. Logs. */
	int (*find)(const struct span_side *side);
	int (*load)(struct trigger *trigger, const struct span_side *side);
	int (*attach)(struct trigger *trigger, const struct span_side *side);
} ways[SPAN_KINDS] = {
	[SPAN_TP] = { find_tracepoint, load_tracepoint, attach_tracepoint },
	[SPAN_FN] = { find_kernel_function, load_kernel_function, attach_kernel_function },
	[SPAN_UPROBE] = { find_user_probe, load_user_probe, attach_user_probe },
	[SPAN_URETPROBE] = { find_user_probe, load_user_probe, attach_user_probe },
	[SPAN_USDT] = { side_check_file, load_usdt_probe, attach_usdt_probe },
};

static int span_load_side(struct trigger *trigger, const struct span_side *side)
{
	struct span_argument *argument = side_argument_of(trigger, side);
	const char *name = side->point->argument;
	int err = ways[side->point->kind].load(trigger, side);

	if (err || !name)
		return err;
	if (side->point->kind == SPAN_TP)
		return side_find_field(side, argument);
	argument->place = (__u32)(name[3] - '1');
	return 0;
}

int span_check_text(struct config *config)
{
	_cleanup_(span_destroy) struct span span = {};

	if (!config->thresholds[PERF_POKE_TRIGGER_SPAN])
		return 0;
	return span_parse_text(&span, config->texts[PERF_POKE_TRIGGER_SPAN], &config->log);
}

int span_check_kernel(const struct config *config)
{
	_cleanup_(span_destroy) struct span span = {};
	const struct log *log = &config->log;
	int err = span_parse_text(&span, config->texts[PERF_POKE_TRIGGER_SPAN], log);
	const struct span_side entry = { &span, &span.entry, false, log };
	const struct span_side exit = { &span, &span.exit, true, log };

	if (err)
		return err;
	return ways[span.entry.kind].find(&entry) ?: ways[span.exit.kind].find(&exit);
}

int span_load_programs(struct trigger *trigger, const struct trigger_config *config,
		       const struct log *log)
{
	_cleanup_(span_destroy) struct span span = {};
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const struct trigger_bpf *skel = trigger->skel;
	int err = span_parse_text(&span, config->texts[PERF_POKE_TRIGGER_SPAN], log);
	const struct span_side entry = { &span, &span.entry, false, log };
	const struct span_side exit = { &span, &span.exit, true, log };

	if (err)
		return err;
	bpf_map__set_max_entries(skel->maps.spans, SPANS_MAX);
	snprintf((char *)rodata->span_name, sizeof(rodata->span_name), "%s", span.name);
	rodata->span_by = span.by;
	rodata->span_nests = span.whole;
	bpf_program__set_autoload(skel->progs.span_thread_exit, span.by == SPAN_BY_THREAD);
	bpf_program__set_autoattach(skel->progs.span_thread_exit, false);
	if (span.overrun)
		rodata->overruns |= 1U << PERF_POKE_TRIGGER_SPAN;
	bpf_program__set_autoload(skel->progs.span_expiry, span.overrun);
	return span_load_side(trigger, &entry) ?: span_load_side(trigger, &exit);
}

/* Lets the programs see the hits that they miss: see span_missed.bpf.h. */
static void span_find_misses(const struct trigger_bpf *skel, const struct log *log)
{
	const struct bpf_program *const exits[] = {
		skel->progs.span_exit_tp,    skel->progs.span_exit_note, skel->progs.span_exit_fn,
		skel->progs.span_exit_probe, skel->progs.span_exit_usdt,
	};
	const struct bpf_program *counted[SPAN_EXITS] = {};
	size_t nr = 0;
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(exits) && nr < SPAN_EXITS; i++) {
		if (bpf_program__autoload(exits[i]))
			counted[nr++] = exits[i];
	}
	err = trigger_find_misses(counted, skel->bss->span_misses);
	if (err)
		log_write(log, PERF_POKE_LOG_DEBUG,
			  "span: whether the kernel misses hits is not known: %s", strerror(-err));
}

/* Exit first, so that no span that begins is left open. */
int span_attach_programs(struct trigger *trigger, const struct trigger_config *config,
			 const struct log *log)
{
	_cleanup_(span_destroy) struct span span = {};
	struct trigger_bpf *skel = trigger->skel;
	int err = span_parse_text(&span, config->texts[PERF_POKE_TRIGGER_SPAN], log);
	const struct span_side entry = { &span, &span.entry, false, log };
	const struct span_side exit = { &span, &span.exit, true, log };

	if (!err) {
		span_find_misses(skel, log);
		err = ways[exit.point->kind].attach(trigger, &exit);
	}
	/* After the exit, which may be the end of a thread itself. */
	if (!err && span.by == SPAN_BY_THREAD) {
		skel->links.span_thread_exit = bpf_program__attach(skel->progs.span_thread_exit);
		if (!skel->links.span_thread_exit)
			err = log_error(log, -errno, "cannot attach to sched_process_exit: %s",
					strerror(errno));
	}
	if (!err)
		err = ways[entry.point->kind].attach(trigger, &entry);
	skel->bss->span_counting = !err;
	return err;
}

int span_try_kinds(struct probe_detail *detail)
{
	bool uprobe = !access(PMUS "uprobe", F_OK);
	const char *fn = function_has_trampoline("vfs_read") ? "by fentry"
			 : !access(PMUS "kprobe", F_OK)	     ? "by kprobe"
							     : "no";
	char names[128];

	if (caps_missing(false, names, sizeof(names)))
		return -EPERM;
	probe_set_detail(detail, "tp: yes; fn: %s; uprobe, usdt: %s", fn, uprobe ? "yes" : "no");
	return 0;
}
