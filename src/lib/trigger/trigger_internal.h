/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the files of trigger/ share: a loaded trigger, and what the rows of kinds.c point to. */
#ifndef LIB_TRIGGER_INTERNAL_H
#define LIB_TRIGGER_INTERNAL_H

#include "trigger/trigger.h"

#include <bpf/libbpf.h>

#include "bpf/marker_text.h"
#include "bpf/trigger.skel.h"

/* Programs of the trigger interruption that are attached. */
#define LEDGER_LINKS 34

/* Created by kinds.c, used by trigger.c. */
struct trigger {
	struct trigger_bpf *skel;
	struct bpf_program *hrtimer; /* the attached one of these */
	struct ring_buffer *ring;
	struct trigger_cpu *cpus;      /* mapping of the map `cpus`, indexed by CPU */
	struct trigger_cpu *more;      /* of cpus_more */
	struct trigger_recent *recent; /* indexed by CPU */
	struct trigger_stacks *stacks; /* by sequence */
	int nr_possible;
	struct filter *filters[HITS];		 /* NULL: none */
	struct trigger_noise_parts *noise_parts; /* by sequence */
	bool noise;
	bool rtla;		     /* the programs are loaded */
	struct poke_target *targets; /* mapping of the map `targets` */
	size_t cpus_size, more_size, recent_size, stacks_size, targets_size, session_size,
		noise_parts_size;
	struct trigger_session *session; /* mapping of the map `session` */
	uint64_t missed;		 /* final value, once detached */
	struct trigger_spike spike;	 /* at most one each time it is armed */
	bool have_spike;
	bool stop_asked;
	struct bpf_link *ledger_links[LEDGER_LINKS];
	size_t nr_ledger_links;
	struct perf_poke_source *sources; /* final values, once detached */
	size_t nr_sources;
};

/* Runs a program on this CPU. Returns its result, or a negative errno. */
int trigger_run_program(const struct bpf_program *prog);

/* Finds the kernel's counts of hits that SPAN_EXITS programs missed: per-CPU addresses. NULL: no
 * program, 0. */
int trigger_find_misses(const struct bpf_program *const *programs, __u64 *addresses);

/* -- Functions of rows of kinds.c: see struct trigger_row */

int threads_load_programs(struct trigger *trigger, const struct trigger_config *config,
			  const struct log *log);
int user_check_kernel(const struct config *config);
int wakeup_check_task(struct config *config);
int wakeup_load_programs(struct trigger *trigger, const struct trigger_config *config,
			 const struct log *log);

/* Reduces the text to SYS:NAME. */
int event_check_text(struct config *config);
/* -ENOENT: no such tracepoint. */
int event_check_kernel(const struct config *config);
int event_load_program(struct trigger *trigger, const struct trigger_config *config,
		       const struct log *log);
int event_attach_program(struct trigger *trigger, const struct trigger_config *config,
			 const struct log *log);

int interruption_check_kernel(const struct config *config);
int interruption_load_programs(struct trigger *trigger, const struct trigger_config *config,
			       const struct log *log);
int interruption_attach_programs(struct trigger *trigger, const struct trigger_config *config,
				 const struct log *log);
void interruption_detach(struct trigger *trigger);

int marker_check_text(struct config *config);
int marker_check_kernel(const struct config *config);
int marker_load_programs(struct trigger *trigger, const struct trigger_config *config,
			 const struct log *log);

/* Builds the search tables of the program. word: 1 to MARKER_WORD_MAX bytes. The tables are zeroed,
 * with MARKER_CHARACTERS entries, and as many for each of MARKER_STATES: see marker_scan_step(). */
void marker_make_tables(__u8 *classes, __u8 *next, const char *word);

int span_check_text(struct config *config);
/* -ENOENT: a name in the text does not exist. */
int span_check_kernel(const struct config *config);
int span_load_programs(struct trigger *trigger, const struct trigger_config *config,
		       const struct log *log);
int span_attach_programs(struct trigger *trigger, const struct trigger_config *config,
			 const struct log *log);
/* Reports the kinds of entries and exits that this kernel supports. */
int span_try_kinds(struct probe_detail *detail);

int noise_check_threshold(struct config *config);
int noise_check_kernel(const struct config *config);
int noise_load_programs(struct trigger *trigger, const struct trigger_config *config,
			const struct log *log);

/* -- Hits of a tracepoint that are noted: see hit_notes.bpf.h */

/* Attaches a tracepoint program to SYS:NAME, on all CPUs. As bpf_program__attach_tracepoint(),
 * which needs a mounted tracefs. NULL: errno. */
struct bpf_link *hit_attach_note(const struct bpf_program *program, const char *event);

/* -- Filters of tracepoints, in the syntax of `perf record --filter` */

struct filter;

struct filter_config {
	/* Needed until filter_open_events() returns: the option, for messages, such as "trigger
	 * event"; SYS:NAME/FILTER/ */
	const char *what, *event;
	enum trigger_hit number;
	/* None: all. Offline ones are skipped. */
	const int *cpus;
	size_t nr_cpus;
};

/* Whether SYS:NAME[/FILTER/] has a filter: 1, 0, or -EINVAL if it is empty or has no end. */
int event_has_filter(const char *event);

/* Makes room for all filters, before the programs are loaded. */
void filter_load_maps(const struct trigger *trigger);
/* Creates trigger->filters[number]. Attach the program to the tracepoint between
 * filter_open_events() and filter_start_events(). The CPUs must outlive it. Logs failures; -EINVAL:
 * the kernel rejects the filter. */
int filter_open_events(struct trigger *trigger, const struct filter_config *config,
		       const struct log *log);
/* NULL is ignored. */
int filter_start_events(const struct filter *filter);
/* Reopens the event of a CPU that was offline: the kernel has closed it. */
int filter_cpu_online(struct filter *filter, int cpu);
/* NULL is ignored. */
void filter_free(struct filter *filter);

/* -- Functions of a program or library */

/* The file offset of a function. `name` is a name of the symbol table, or a C++ name such as
 * ns::Class::method without arguments. Prefers the default version. -ENOENT: none; -ENOTUNIQ:
 * several; -ENOEXEC: not an ELF file. */
int elf_function_find(const char *file, const char *name, uint64_t *offset);

#endif
