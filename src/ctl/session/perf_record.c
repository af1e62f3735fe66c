// SPDX-License-Identifier: GPL-2.0-only
#include "session/perf_record.h"

#include <string.h>
#include <sys/random.h>

#include "cli/cli.h"
#include "clock.h"

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

static int take(struct perf_record *record, struct found *found, const char *name,
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
		return options_explain(
			why, -EINVAL,
			"perf record: --delay '%s': must be milliseconds, at most an "
			"hour",
			value);
	record->delay_ns = delay_ms > 0 ? (uint64_t)delay_ms * NSEC_PER_MSEC : 0;
	return 0;
}

/* Reads --option[=VALUE], whose name may be abbreviated. Returns the number of words, or a negative
 * errno. */
static int take_long(struct perf_record *record, struct found *found, char *const *words,
		     char **why)
{
	const char *name = words[0] + 2;
	size_t length = strcspn(name, "=");
	const char *value = name[length] ? name + length + 1 : NULL;
	int r;

	/* First, because --switch-output is also a prefix of --switch-output-event. */
	for (size_t i = 0; i < ARRAY_SIZE(with_own_value); i++) {
		if (length > 1 && !strncmp(with_own_value[i], name, length)) {
			r = take(record, found, with_own_value[i], value, why);
			return r ? r : 1;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(with_value); i++) {
		bool separate = !value;

		if (strncmp(with_value[i].name, name, length))
			continue;
		if (separate && !words[1])
			return 1;
		r = take(record, found, with_value[i].name, separate ? words[1] : value, why);
		return r ? r : 1 + separate;
	}
	return 1;
}

/* Reads joined short options, such as -agC41. Returns as take_long(). */
static int take_short(struct perf_record *record, struct found *found, char *const *words,
		      char **why)
{
	for (const char *letter = words[0] + 1; *letter; letter++) {
		if (*letter == 'S')
			found->keeps = true;
		/* Their optional value is the rest of the word. */
		if (strchr("SIz", *letter))
			return 1;
		for (size_t i = 0; i < ARRAY_SIZE(with_value); i++) {
			bool separate = !letter[1];
			int r;

			if (with_value[i].short_name != *letter)
				continue;
			if (separate && !words[1])
				return 1;
			r = take(record, found, with_value[i].name,
				 separate ? words[1] : letter + 1, why);
			return r ? r : 1 + separate;
		}
	}
	return 1;
}

static int take_options(struct perf_record *record, struct found *found, char **why)
{
	char *const *words = record->words + record->at + 1;

	/* The first word that is not an option starts the workload. */
	while (*words && (*words)[0] == '-' && (*words)[1] && strcmp(*words, "--")) {
		int nr = (*words)[1] == '-' ? take_long(record, found, words, why)
					    : take_short(record, found, words, why);

		if (nr < 0)
			return nr;
		words += nr;
	}
	return 0;
}

/* Index of `record` in `perf [OPTIONS] record ...`; 0: another command. */
static size_t find_record(char *const *words)
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
	int r;

	*record = (struct perf_record){ .words = words, .output = "perf.data" };
	if (!words[0])
		return options_explain(why, -EINVAL, "--: a command is missing");
	record->at = find_record(words);
	if (!record->at && any) {
		record->output = NULL;
		return 0;
	}
	if (!record->at)
		return options_explain(why, -EINVAL,
				       "-- '%s': not a perf record (use -- perf record ..., or "
				       "--any-process)",
				       words[0]);
	r = take_options(record, &found, why);
	if (r)
		return r;
	if (found.control)
		return options_explain(why, -EINVAL,
				       "perf record: --control is reserved for perf-poke");
	if (!strcmp(record->output, "-"))
		return options_explain(why, -EINVAL,
				       "perf record: --output '-': standard output is used by "
				       "perf-poke (use a file)");
	if (!found.keeps)
		return options_explain(why, -EINVAL,
				       "perf record: ignores pokes without -S (with Intel PT) or "
				       "--switch-output=signal --overwrite");
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

/* Goes before the user's options, because the last one wins. A filter must follow its event. */
static void add_control(struct words *words, const struct perf_record *record, int control, int ack,
			const char *wake)
{
	words_add(words, "--control");
	words_add(words, "fd:%d,%d", control, ack);
	if (!record->delay)
		words_add(words, "--delay=-1");
	/* Without --output, perf writes to standard output if that is a pipe. */
	if (!record->has_output)
		words_add(words, "--output=%s", record->output);
	if (!wake)
		return;
	words_add(words, "-e");
	words_add(words, "bpf_trace:bpf_trace_printk");
	words_add(words, "--filter");
	words_add(words, "bpf_string ~ \"%s*\"", wake);
	/* Wake up at the first sample, not when the ring is half full. */
	words_add(words, "--no-buffering");
}

int perf_record_argv(const struct perf_record *record, int control, int ack, const char *wake,
		     char ***argv)
{
	struct words words = { 0 };

	for (size_t i = 0; record->words[i]; i++) {
		words_add(&words, "%s", record->words[i]);
		if (record->at && i == record->at)
			add_control(&words, record, control, ack, wake);
	}
	return words_take(&words, argv);
}

const char *perf_record_first(const struct perf_record *record)
{
	return !record->delay || !strcmp(record->delay, "-1") ? "enable\n" : "ping\n";
}
