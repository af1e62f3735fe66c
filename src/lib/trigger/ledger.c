// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The trigger interruption, and its ledger of what took a CPU from a thread. */
#include "trigger/ledger.h"

#include <inttypes.h>
#include <string.h>

#include <bpf/bpf.h>

#include "arch.h"
#include "kernel_function.h"
#include "trigger/trigger_internal.h"
#include "util.h"

/* Preallocated, some 200 bytes each. Threads come and go. */
#define SOURCES_MAX 4096

/* Interrupt vectors of x86: arch/x86/include/asm/irq_vectors.h. Left out are those that only report
 * errors. */
static const struct {
	uint8_t number;
	const char *name, *entry, *exit;
} vectors[] = {
#define VECTOR(number, name)                                                                       \
	{                                                                                          \
		number, #name, #name "_entry", #name "_exit"                                       \
	}
	VECTOR(0xec, local_timer),	    VECTOR(0xf6, irq_work),
	VECTOR(0xf7, x86_platform_ipi),	    VECTOR(0xfa, thermal_apic),
	VECTOR(0xfb, call_function_single), VECTOR(0xfc, call_function),
	VECTOR(0xfd, reschedule),
#undef VECTOR
};

static const char *const softirqs[] = { "hi",	    "timer",   "net_tx", "net_rx",  "block",
					"irq_poll", "tasklet", "sched",	 "hrtimer", "rcu" };

/* Bits of what needs the tick: enum tick_dep_bits of include/linux/tick.h. */
static const char *const tick_needs[] = { "posix_timer",    "perf_events", "sched",
					  "clock_unstable", "rcu",	   "rcu_exp" };

static const char *const kinds[LEDGER_KINDS] = {
	[LEDGER_VECTOR] = "vector",   [LEDGER_IRQ] = "irq",	[LEDGER_SOFTIRQ] = "softirq",
	[LEDGER_NMI] = "nmi",	      [LEDGER_FAULT] = "fault", [LEDGER_THREAD] = "thread",
	[LEDGER_HRTIMER] = "hrtimer", [LEDGER_TIMER] = "timer", [LEDGER_WORK] = "work",
	[LEDGER_TICK] = "tick",
};

/* -- Loading */

int interruption_check_kernel(const struct config *config)
{
	if (tracefs_has_event("irq/softirq_entry") &&
	    tracefs_has_event(arch_here()->has_ipi_events ? "ipi/ipi_entry"
							  : "irq_vectors/local_timer_entry"))
		return 0;
	return log_error(&config->log, -EOPNOTSUPP,
			 "trigger interruption: the kernel has neither tracepoints irq_vectors:* "
			 "nor ipi:ipi_entry: it needs x86 or arm64");
}

int interruption_load_programs(struct trigger *trigger, const struct trigger_config *config,
			       const struct log *log)
{
	struct trigger_bpf__rodata *rodata = trigger->skel->rodata;
	const struct trigger_bpf *skel = trigger->skel;
	struct bpf_program *const programs[] = {
		skel->progs.interruption_vector_entry,	skel->progs.interruption_vector_exit,
		skel->progs.interruption_irq_entry,	skel->progs.interruption_irq_exit,
		skel->progs.interruption_softirq_entry, skel->progs.interruption_softirq_exit,
		skel->progs.interruption_hrtimer,	skel->progs.interruption_timer,
		skel->progs.interruption_work,		skel->progs.interruption_fault,
		skel->progs.interruption_tick,		skel->progs.interruption_nmi,
		skel->progs.interruption_switch,	skel->progs.interruption_send,
		skel->progs.interruption_send_mask,	skel->progs.interruption_ipi_entry,
		skel->progs.interruption_ipi_exit,
	};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		bpf_program__set_autoload(programs[i], true);
	rodata->ledger_has_ipis = arch_here()->has_ipi_events;
	rodata->interrupted_pid = config->threads.wakeup_pid;
	snprintf((char *)rodata->interrupted_comm, sizeof(rodata->interrupted_comm), "%s",
		 config->threads.wakeup_comm);
	for (size_t i = 0; i < config->nr_cpus && i < LEDGER_CPUS_MAX; i++)
		rodata->ledger_cpus[rodata->ledger_nr_cpus++] = config->cpus[i];
	bpf_map__set_max_entries(skel->maps.ledger, SOURCES_MAX);
	bpf_map__set_max_entries(skel->maps.ledger_senders, trigger->nr_possible);
	bpf_map__set_max_entries(skel->maps.interrupted_threads, trigger->nr_possible);
	return 0;
}

/* Those of which not every kernel has the tracepoint. */
static int ledger_attach(struct trigger *trigger, const struct bpf_program *program,
			 const char *system, const char *name)
{
	char path[64];
	struct bpf_link *link;

	snprintf(path, sizeof(path), "%s/%s", system, name);
	if (!tracefs_has_event(path))
		return 0;
	link = bpf_program__attach_raw_tracepoint(program, name);
	if (!link)
		return -errno;
	trigger->ledger_links[trigger->nr_ledger_links++] = link;
	return 0;
}

int interruption_attach_programs(struct trigger *trigger, const struct trigger_config *config,
				 const struct log *log)
{
	const struct trigger_bpf *skel = trigger->skel;
	const struct {
		const struct bpf_program *program;
		const char *system, *name;
	} rows[] = {
		{ skel->progs.interruption_irq_exit, "irq", "irq_handler_exit" },
		{ skel->progs.interruption_irq_entry, "irq", "irq_handler_entry" },
		{ skel->progs.interruption_softirq_exit, "irq", "softirq_exit" },
		{ skel->progs.interruption_softirq_entry, "irq", "softirq_entry" },
		{ skel->progs.interruption_hrtimer, "timer", "hrtimer_expire_entry" },
		{ skel->progs.interruption_timer, "timer", "timer_expire_entry" },
		{ skel->progs.interruption_work, "workqueue", "workqueue_execute_start" },
		{ skel->progs.interruption_fault, "exceptions", "page_fault_user" },
		{ skel->progs.interruption_tick, "timer", "tick_stop" },
		{ skel->progs.interruption_nmi, "nmi", "nmi_handler" },
		{ skel->progs.interruption_send, "ipi", "ipi_send_cpu" },
		{ skel->progs.interruption_send_mask, "ipi", "ipi_send_cpumask" },
		/* The last two: see arch.h. */
		{ skel->progs.interruption_ipi_exit, "ipi", "ipi_exit" },
		{ skel->progs.interruption_ipi_entry, "ipi", "ipi_entry" },
	};
	size_t nr = ARRAY_SIZE(rows) - (arch_here()->has_ipi_events ? 0 : 2);
	int err = 0;

	static_assert(ARRAY_SIZE(rows) + 2 * ARRAY_SIZE(vectors) <= LEDGER_LINKS, "room for all");
	for (size_t i = 0; i < nr && !err; i++)
		err = ledger_attach(trigger, rows[i].program, rows[i].system, rows[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(vectors) && !err; i++) {
		err = ledger_attach(trigger, skel->progs.interruption_vector_exit, "irq_vectors",
				    vectors[i].exit);
		if (!err)
			err = ledger_attach(trigger, skel->progs.interruption_vector_entry,
					    "irq_vectors", vectors[i].entry);
	}
	return err ? log_error(log, err, "trigger interruption: cannot attach to a tracepoint: %s",
			       strerror(-err))
		   : 0;
}

void interruption_detach(struct trigger *trigger)
{
	if (trigger->nr_ledger_links)
		trigger_read_sources(trigger, true, &trigger->sources, &trigger->nr_sources);
	while (trigger->nr_ledger_links)
		bpf_link__destroy(trigger->ledger_links[--trigger->nr_ledger_links]);
}

/* -- Reading */

static const char *name_of_number(const struct ledger_key *key)
{
	for (size_t i = 0; key->kind == LEDGER_VECTOR && i < ARRAY_SIZE(vectors); i++) {
		if (vectors[i].number == key->number)
			return vectors[i].name;
	}
	if (key->kind == LEDGER_SOFTIRQ && key->number < ARRAY_SIZE(softirqs))
		return softirqs[key->number];
	/* A mask; the kernel looks for these bits in this order, and stops at the first. */
	for (size_t i = 0; key->kind == LEDGER_TICK && i < ARRAY_SIZE(tick_needs); i++) {
		if (key->number & 1U << i)
			return tick_needs[i];
	}
	return NULL;
}

static bool is_function(const struct ledger_key *key)
{
	return key->kind == LEDGER_HRTIMER || key->kind == LEDGER_TIMER || key->kind == LEDGER_WORK;
}

static void ledger_name(char *to, size_t size, const struct ledger_key *key,
			const struct ledger_source *source)
{
	const char *name = name_of_number(key);

	/* The first letters of a reason: see kernel_function.c. */
	if (!name && source && key->kind == LEDGER_VECTOR) {
		const struct kernel_function *row =
			kernel_function_find(source->name, KERNEL_FROM_CPU);

		name = row ? row->token : NULL;
	}
	if (name)
		snprintf(to, size, "%s", name);
	else if (source && source->name[0])
		snprintf(to, size, "%.15s", source->name);
	else if (key->kind == LEDGER_VECTOR || key->kind == LEDGER_IRQ ||
		 key->kind == LEDGER_SOFTIRQ || key->kind == LEDGER_TICK)
		snprintf(to, size, "%" PRIu64, (uint64_t)key->number);
	else
		to[0] = '\0';
}

void trigger_name_source(const struct trigger *trigger, const struct trigger_spike *spike,
			 char *label, size_t size)
{
	const struct ledger_key *key = &spike->source;
	struct ledger_source source = {};
	char name[64];
	int err = bpf_map_lookup_elem(bpf_map__fd(trigger->skel->maps.ledger), key, &source);

	ledger_name(name, sizeof(name), key, err ? NULL : &source);
	if (key->kind >= LEDGER_KINDS)
		label[0] = '\0';
	else if (key->kind == LEDGER_IRQ || key->kind == LEDGER_THREAD)
		snprintf(label, size, "%s %s:%" PRIu64, kinds[key->kind], name,
			 (uint64_t)key->number);
	else
		snprintf(label, size, "%s%s%s", kinds[key->kind], *name ? " " : "", name);
}

/* What is read of a ledger, before functions are named. */
struct ledger_row {
	struct ledger_key key;
	struct ledger_source source;
};

static int ledger_read_rows(int map_fd, bool functions, struct ledger_row **ret, size_t *nr)
{
	struct ledger_row *rows = calloc(SOURCES_MAX, sizeof(*rows));
	struct ledger_key key, *before = NULL;

	*nr = 0;
	*ret = rows;
	if (!rows)
		return -ENOMEM;
	/* Sources that come meanwhile may be missing. None is removed. */
	while (*nr < SOURCES_MAX && !bpf_map_get_next_key(map_fd, before, &key)) {
		rows[*nr].key = key;
		if (key.kind < LEDGER_KINDS && (functions || !is_function(&key)) &&
		    !bpf_map_lookup_elem(map_fd, &key, &rows[*nr].source) && rows[*nr].source.count)
			++*nr;
		before = &key;
	}
	return 0;
}

/* Of a row: the function itself, what its sender wanted, and the sender's stack. */
#define PLACES_OF_ROW (2 + LEDGER_FRAMES)

static void ledger_want_places(struct kallsyms_place *places, const struct ledger_row *row)
{
	const struct ledger_sender *sender = &row->source.sender;
	size_t nr = sender->size > 0 ? sender->size / sizeof(*sender->frames) : 0;

	places[0].address = is_function(&row->key) ? row->key.number : 0;
	places[1].address = sender->callback;
	for (size_t i = 0; i < nr && i < LEDGER_FRAMES; i++)
		places[2 + i].address = sender->frames[i];
}

/* Our own program, and what implements the sending: the first caller of these says why. */
static size_t ledger_first_caller(const struct kallsyms_place *places)
{
	size_t first = 2;

	while (first < PLACES_OF_ROW &&
	       kernel_function_find(places[first].name, KERNEL_TRIGGER | KERNEL_SENDS))
		first++;
	return first < PLACES_OF_ROW && places[first].name[0] ? first : 2;
}

static void source_put_sender(struct perf_poke_source *to, const struct ledger_sender *sender,
			      const struct kallsyms_place *places)
{
	size_t length = 0;

	to->sender_cpu = sender->tid || sender->time_ns ? (int)sender->cpu : -1;
	to->sender_pid = (int)sender->pid;
	to->sender_tid = (int)sender->tid;
	memcpy(to->sender_comm, sender->comm, sizeof(to->sender_comm));
	if (!places)
		return;
	snprintf(to->sender_callback, sizeof(to->sender_callback), "%.63s", places[1].name);
	for (size_t i = ledger_first_caller(places);
	     i < PLACES_OF_ROW && length < sizeof(to->sender_stack); i++) {
		if (!places[i].name[0])
			continue;
		length += snprintf(to->sender_stack + length, sizeof(to->sender_stack) - length,
				   "%s%s", length ? " < " : "", places[i].name);
	}
}

static void source_fill(struct perf_poke_source *to, const struct ledger_row *row,
			const struct kallsyms_place *places)
{
	const struct ledger_source *source = &row->source;

	*to = (struct perf_poke_source){
		.sz = sizeof(*to),
		.cpu = (int)row->key.cpu,
		.kind = kinds[row->key.kind],
		.number = row->key.number,
		.count = source->count,
		.sum_ns = source->sum_ns,
		.max_ns = source->max_ns,
		.last_ns = source->last_ns,
	};
	if (!is_function(&row->key))
		ledger_name(to->name, sizeof(to->name), &row->key, source);
	else if (places)
		snprintf(to->name, sizeof(to->name), "%.63s", places[0].name);
	source_put_sender(to, &source->sender, places);
}

/* By CPU; what took most time first. */
static int source_compare(const void *a, const void *b)
{
	const struct perf_poke_source *one = a, *other = b;

	if (one->cpu != other->cpu)
		return one->cpu < other->cpu ? -1 : 1;
	if (one->sum_ns != other->sum_ns)
		return one->sum_ns > other->sum_ns ? -1 : 1;
	return one->count > other->count ? -1 : one->count < other->count;
}

int ledger_read(int map_fd, bool functions, struct perf_poke_source **sources, size_t *nr)
{
	_cleanup_free_ struct kallsyms_place *places = NULL;
	_cleanup_free_ struct ledger_row *rows = NULL;
	int err = ledger_read_rows(map_fd, functions, &rows, nr);

	*sources = calloc(*nr + 1, sizeof(**sources));
	if (functions)
		places = calloc(*nr * PLACES_OF_ROW + 1, sizeof(*places));
	if (err || !*sources || (functions && !places))
		return -ENOMEM;
	for (size_t i = 0; i < *nr && functions; i++)
		ledger_want_places(&places[i * PLACES_OF_ROW], &rows[i]);
	/* Without symbols, functions have no names. */
	if (functions)
		kallsyms_places(places, *nr * PLACES_OF_ROW);
	for (size_t i = 0; i < *nr; i++)
		source_fill(&(*sources)[i], &rows[i], places ? &places[i * PLACES_OF_ROW] : NULL);
	qsort(*sources, *nr, sizeof(**sources), source_compare);
	return 0;
}

int trigger_read_sources(const struct trigger *trigger, bool functions,
			 struct perf_poke_source **sources, size_t *nr)
{
	if (trigger->skel)
		return ledger_read(bpf_map__fd(trigger->skel->maps.ledger), functions, sources, nr);
	*nr = trigger->nr_sources;
	*sources = calloc(*nr + 1, sizeof(**sources));
	if (!*sources)
		return -ENOMEM;
	for (size_t i = 0; i < *nr; i++)
		(*sources)[i] = trigger->sources[i];
	return 0;
}
