// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger.h"

#include <string.h>

#include <bpf/libbpf.h>

#include "bpf/trigger.skel.h"
#include "machine/base.h"

#define MARKER_FUNCTION "tracing_mark_write"

static void make_classes(__u8 *classes)
{
	for (int digit = '0'; digit <= '9'; digit++)
		classes[digit] = MARKER_DIGIT;
	classes['.'] = MARKER_DOT;
	classes[' '] = MARKER_SPACE;
	classes['u'] = classes['>'] = MARKER_UNIT;
}

/* After a mismatch the search continues as if it had begun at the second character, in the state
 * `again`, whose row is complete by then. */
void marker_make(__u8 *classes, __u8 *next, const char *word)
{
	size_t length = strlen(word);
	unsigned int again = 0;

	make_classes(classes);
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

int marker_check(struct config *config)
{
	const char *text = config->texts[PERF_POKE_TRIGGER_MARKER];

	if (!config->thresholds[PERF_POKE_TRIGGER_MARKER] ||
	    (text && *text && strlen(text) <= MARKER_WORD_MAX))
		return 0;
	return log_error(&config->log, -EINVAL,
			 "trigger marker: needs a text to look for, of at most %d bytes "
			 "(marker=TEXT)",
			 MARKER_WORD_MAX);
}

int marker_load(struct trigger *trigger, const struct trigger_config *config, const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const struct trigger_bpf *skel = trigger->skel;
	const char *text = config->texts[PERF_POKE_TRIGGER_MARKER];
	uint64_t address;
	int err = kallsyms_find(MARKER_FUNCTION, &address);

	if (err)
		return log_error(log, -EOPNOTSUPP,
				 "trigger marker: function " MARKER_FUNCTION ": %s",
				 kallsyms_strerror(err));
	bpf_program__set_autoload(function_has_trampoline("vfs_write")
					  ? skel->progs.marker_write
					  : skel->progs.marker_write_probe,
				  true);
	rodata->marker_function = address;
	rodata->marker_length = strlen(text);
	marker_make((__u8 *)rodata->marker_classes, (__u8 *)rodata->marker_next, text);
	return 0;
}

int marker_try(struct probe_detail *detail)
{
	const struct trigger_config config = {
		.thresholds_ns[PERF_POKE_TRIGGER_MARKER] = 1,
		.texts[PERF_POKE_TRIGGER_MARKER] = "x",
	};

	return trigger_try_config(&config, detail);
}
