// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "array.h"
#include "clock.h"
#include "cpulist.h"
#include "text.h"

/* The options of perf record (6.1 to 7.3) whose value may be the next word. All others have no
 * value, or have it in the same word. */
static const struct {
	const char *name;
	char short_name;
} with_value[] = {
	{ "control", 0 },
	{ "delay", 'D' },
	{ "output", 'o' },
	{ "event", 'e' },
	{ "filter", 0 },
	{ "pid", 'p' },
	{ "tid", 't' },
	{ "realtime", 'r' },
	{ "cpu", 'C' },
	{ "count", 'c' },
	{ "freq", 'F' },
	{ "mmap-pages", 'm' },
	{ "mmap-flush", 0 },
	{ "call-graph", 0 },
	{ "cgroup", 'G' },
	{ "uid", 'u' },
	{ "branch-filter", 'j' },
	{ "clockid", 'k' },
	{ "vmlinux", 0 },
	{ "proc-map-timeout", 0 },
	{ "switch-output-event", 0 },
	{ "switch-max-files", 0 },
	{ "affinity", 0 },
	{ "max-size", 0 },
	{ "pfm-events", 0 },
	{ "synth", 0 },
	{ "num-thread-synthesize", 0 },
	{ "setup-filter", 0 },
	{ "off-cpu-thresh", 0 },
	{ "clang-path", 0 },
	{ "clang-opt", 0 },
};

/* Options whose value, if any, is in the same word, and those that abbreviate one above. */
static const char *const with_own_value[] = { "snapshot", "switch-output", "off-cpu" };

struct found {
	bool control;
	bool keeps; /* the trace of a poke */
};

static int perf_record_set_option(struct perf_record *record, struct found *found, const char *name,
				  const char *value, char **why)
{
	char *end;
	long delay_ms;

	if (!strcmp(name, "control"))
		found->control = true;
	found->keeps |= !strcmp(name, "snapshot") || !strcmp(name, "switch-output-event") ||
			(!strcmp(name, "switch-output") && (!value || !strcmp(value, "signal")));
	record->has_event |= !strcmp(name, "event");
	if (!strcmp(name, "output")) {
		record->output = value;
		record->has_output = true;
	}
	if (strcmp(name, "delay"))
		return 0;
	record->delay = value;
	delay_ms = strtol(value, &end, 10);
	if (end == value || delay_ms > 3600000)
		return say_why(why, -EINVAL,
			       "perf record: --delay '%s': must be milliseconds, at most an "
			       "hour",
			       value);
	record->delay_ns = delay_ms > 0 ? (uint64_t)delay_ms * NSEC_PER_MSEC : 0;
	return 0;
}

/* Reads --option[=VALUE], whose name may be abbreviated. Returns the number of words, or a negative
 * errno. */
static int perf_record_read_long(struct perf_record *record, struct found *found,
				 char *const *words, char **why)
{
	const char *name = words[0] + 2;
	size_t length = strcspn(name, "=");
	const char *value = name[length] ? name + length + 1 : NULL;
	int err;

	/* First, because --switch-output is also a prefix of --switch-output-event. */
	for (size_t i = 0; i < ARRAY_SIZE(with_own_value); i++) {
		if (length > 1 && !strncmp(with_own_value[i], name, length)) {
			err = perf_record_set_option(record, found, with_own_value[i], value, why);
			return err ? err : 1;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(with_value); i++) {
		bool separate = !value;

		if (strncmp(with_value[i].name, name, length))
			continue;
		if (separate && !words[1])
			return 1;
		err = perf_record_set_option(record, found, with_value[i].name,
					     separate ? words[1] : value, why);
		return err ? err : 1 + separate;
	}
	return 1;
}

/* Reads joined short options, such as -agC41. Returns as perf_record_read_long(). */
static int perf_record_read_short(struct perf_record *record, struct found *found,
				  char *const *words, char **why)
{
	for (const char *letter = words[0] + 1; *letter; letter++) {
		if (*letter == 'S')
			found->keeps = true;
		/* Their optional value is the rest of the word. */
		if (strchr("SIz", *letter))
			return 1;
		for (size_t i = 0; i < ARRAY_SIZE(with_value); i++) {
			bool separate = !letter[1];
			int err;

			if (with_value[i].short_name != *letter)
				continue;
			if (separate && !words[1])
				return 1;
			err = perf_record_set_option(record, found, with_value[i].name,
						     separate ? words[1] : letter + 1, why);
			return err ? err : 1 + separate;
		}
	}
	return 1;
}

/* Index of `record` in `perf [OPTIONS] record ...`; 0: another command. */
static size_t find_record_word(char *const *words)
{
	static const char *const options[] = { "--debug", "--buildid-dir", "--debugfs-dir" };
	const char *slash = strrchr(words[0], '/');

	/* Distributions use names such as perf_6.1. */
	if (strncmp(slash ? slash + 1 : words[0], "perf", 4))
		return 0;
	for (size_t i = 1; words[i]; i++) {
		if (!strcmp(words[i], "record"))
			return i;
		if (words[i][0] != '-')
			return 0;
		for (size_t j = 0; j < ARRAY_SIZE(options) && words[i + 1]; j++) {
			if (!strcmp(words[i], options[j])) {
				i++;
				break;
			}
		}
	}
	return 0;
}

int perf_record_read(struct perf_record *record, char **words, bool any, char **why)
{
	struct found found = { 0 };
	char *const *options;

	*record = (struct perf_record){ .words = words, .output = "perf.data" };
	if (!words[0])
		return say_why(why, -EINVAL, "--: a command is missing");
	record->at = find_record_word(words);
	if (!record->at && any) {
		record->output = NULL;
		return 0;
	}
	if (!record->at)
		return say_why(why, -EINVAL,
			       "-- '%s': not a perf record (use -- perf record ..., or "
			       "--any-process)",
			       words[0]);
	options = words + record->at + 1;
	/* The first word that is not an option starts the workload. */
	while (*options && (*options)[0] == '-' && (*options)[1] && strcmp(*options, "--")) {
		int nr = (*options)[1] == '-'
				 ? perf_record_read_long(record, &found, options, why)
				 : perf_record_read_short(record, &found, options, why);

		if (nr < 0)
			return nr;
		options += nr;
	}
	if (found.control)
		return say_why(why, -EINVAL, "perf record: --control is reserved for perf-poke");
	if (!strcmp(record->output, "-"))
		return say_why(why, -EINVAL,
			       "perf record: --output '-': standard output is used by "
			       "perf-poke (use a file)");
	if (!found.keeps)
		return say_why(why, -EINVAL,
			       "perf record: ignores pokes without -S (with Intel PT) or "
			       "--switch-output=signal");
	return 0;
}

int perf_record_make_wake(char wake[PERF_RECORD_WAKE])
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	snprintf(wake, PERF_RECORD_WAKE, "pp%016llx", (unsigned long long)number);
	return 0;
}

int perf_record_argv(const struct perf_record *record, int control, int ack, const char *wake,
		     char ***argv)
{
	struct argv_builder words = { 0 };

	for (size_t i = 0; record->words[i]; i++) {
		argv_builder_add(&words, "%s", record->words[i]);
		if (!record->at || i != record->at)
			continue;
		/* Before the user's options, because the last one wins. */
		argv_builder_add(&words, "--control");
		argv_builder_add(&words, "fd:%d,%d", control, ack);
		if (!record->delay)
			argv_builder_add(&words, "--delay=-1");
		/* Without --output, perf writes to standard output if that is a pipe. */
		if (!record->has_output)
			argv_builder_add(&words, "--output=%s", record->output);
		if (!wake)
			continue;
		/* A filter must follow its event. */
		argv_builder_add(&words, "-e");
		argv_builder_add(&words, "bpf_trace:bpf_trace_printk");
		argv_builder_add(&words, "--filter");
		argv_builder_add(&words, "bpf_string ~ \"%s*\"", wake);
		/* Wake up at the first sample, not when the ring is half full. */
		argv_builder_add(&words, "--no-buffering");
	}
	return argv_builder_finish(&words, argv);
}

const char *perf_record_first(const struct perf_record *record)
{
	return !record->delay || !strcmp(record->delay, "-1") ? "enable\n" : "ping\n";
}

/* In perf's file names: 2026112101332074. */
#define TIMESTAMP_DIGITS 16

static int perf_files_add_path(struct perf_files *found, const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return 0;
	if (array_grow(&found->files, found->nr, sizeof(*found->files)))
		return -ENOMEM;
	found->files[found->nr] = (struct perf_file){
		.path = strdup(path),
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	return found->files[found->nr++].path ? 0 : -ENOMEM;
}

static bool is_perf_dump_name(const char *name, const char *base)
{
	size_t length = strlen(base);

	return !strncmp(name, base, length) && name[length] == '.' &&
	       strspn(name + length + 1, "0123456789") == TIMESTAMP_DIGITS &&
	       !name[length + 1 + TIMESTAMP_DIGITS];
}

static int compare_perf_files(const void *a, const void *b)
{
	return strcmp(((const struct perf_file *)a)->path, ((const struct perf_file *)b)->path);
}

/* Sorted by time. */
static int perf_files_find_dumps(struct perf_files *found, const char *output)
{
	const char *slash = strrchr(output, '/');
	const char *base = slash ? slash + 1 : output;
	int length = (int)(base - output);
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_free_ char *folder = NULL;
	struct dirent *entry;

	folder = strfmt("%.*s.", length, output);
	if (!folder)
		return -ENOMEM;
	if (opendir_at(&dir, AT_FDCWD, folder))
		return 0;
	while ((entry = readdir(dir))) {
		_cleanup_free_ char *path = NULL;

		if (!is_perf_dump_name(entry->d_name, base))
			continue;
		path = strfmt("%.*s%s", length, output, entry->d_name);
		if (!path || perf_files_add_path(found, path))
			return -ENOMEM;
	}
	if (found->nr)
		qsort(found->files, found->nr, sizeof(*found->files), compare_perf_files);
	return 0;
}

int perf_files_find(struct perf_files *found, const char *output)
{
	int err = perf_files_add_path(found, output);

	return err ? err : perf_files_find_dumps(found, output);
}

void perf_files_subtract(struct perf_files *found, const struct perf_files *before)
{
	size_t left = 0;

	for (size_t i = 0; i < found->nr; i++) {
		struct perf_file *file = &found->files[i];
		bool old = false;

		for (size_t j = 0; j < before->nr; j++)
			old |= before->files[j].dev == file->dev &&
			       before->files[j].ino == file->ino;
		if (old)
			free(file->path);
		else
			found->files[left++] = *file;
	}
	found->nr = left;
}

void perf_files_release(struct perf_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		free(files->files[i].path);
	free(files->files);
	*files = (struct perf_files){ 0 };
}

static int check_housekeeping(const char *housekeeping, const char *watched, char **why)
{
	_cleanup_free_ int *cpus = NULL;
	_cleanup_free_ int *others = NULL;
	size_t nr, nr_others;
	int err;

	if (!housekeeping)
		return 0;
	err = cpulist_parse(housekeeping, &cpus, &nr);
	if (!err)
		err = cpulist_parse_words(watched, &others, &nr_others);
	if (err)
		return err;
	for (size_t i = 0, j = 0; i < nr && j < nr_others; cpus[i] < others[j] ? i++ : j++) {
		if (cpus[i] == others[j])
			return say_why(why, -EINVAL, "--housekeeping '%s': CPU %d is watched",
				       housekeeping, cpus[i]);
	}
	return 0;
}

int target_args_check(struct target_args *targets, const struct perf_poke_opts *opts, char **why)
{
	/* An option that requires a target; NULL: none given. */
	const char *option = opts->recorder == PERF_POKE_RECORDER_PERF ? "--recorder perf"
			     : opts->any_process		       ? "--any-process"
			     : opts->signal			       ? "--signal"
			     : opts->delivery			       ? "--delivery"
								       : NULL;
	struct perf_record *record = &targets->record;
	int err;

	if (option && !targets->command && !opts->nr_targets)
		return say_why(why, -EINVAL,
			       "%s needs a target (use --perf-pid PID or -- perf record "
			       "...)",
			       option);
	if (opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT && !targets->command)
		return say_why(why, -EINVAL, "--delivery tracepoint needs -- perf record ...");
	if (targets->command && opts->nr_targets == TARGETS_MAX)
		return say_why(why, -EINVAL, "--perf-pid: more than %d targets", TARGETS_MAX);
	if (opts->signal && opts->signal != SIGUSR2 && !opts->any_process)
		return say_why(why, -EINVAL,
			       "--signal: perf handles SIGUSR2 only (--any-process for "
			       "other programs)");
	err = check_housekeeping(targets->housekeeping, opts->cpus, why);
	if (err || !targets->command)
		return err;
	err = perf_record_read(record, targets->command, opts->any_process, why);
	if (err)
		return err;
	if (!record->at && opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT)
		return say_why(why, -EINVAL,
			       "--delivery tracepoint: the command is not perf record");
	/* The event that we add would replace perf's default event. */
	if (opts->delivery == PERF_POKE_DELIVERY_TRACEPOINT && !record->has_event)
		return say_why(why, -EINVAL,
			       "--delivery tracepoint: perf record needs an event, such as "
			       "-e intel_pt//k");
	return 0;
}
