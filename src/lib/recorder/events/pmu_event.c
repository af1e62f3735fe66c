// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "recorder/events/events.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "cpuinfo.h"
#include "io.h"

#define DEVICES "sys/bus/event_source/devices"
#define MAX_RATE "proc/sys/kernel/perf_event_max_sample_rate"
/* Of cycles: some 4 kHz at 3 GHz; by default 10 kHz. A frequency would bring the tick back on all
 * nohz_full CPUs of the machine while the event exists (account_freq_event(),
 * TICK_DEP_BIT_PERF_EVENTS in kernel/events/core.c). */
#define PERIOD_HARDWARE 750000
#define PERIOD_DEFAULT_EVENT 300000
/* Of clocks, in ns. Of other software events, each. */
#define PERIOD_CLOCK_NS 250000
#define PRECISE_MAX 3
#define RAW_DIGITS_MAX 16
#define MODIFIERS "ukhGHpPID"

struct parser {
	struct perf_event_attr *attr;
	int root_fd;
	const char *event; /* whole event, for messages */
	const char *pmu;   /* folder below DEVICES; NULL: a generic event */
	const struct log *log;
};

static const struct symbol {
	const char *name;
	uint32_t type;
	uint64_t config;
} symbols[] = {
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "idle-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
};

/* As in `perf list cache`: cache, operation and `-misses`. */
static const struct symbol caches[] = {
	{ "L1-dcache", 0, PERF_COUNT_HW_CACHE_L1D }, { "L1-icache", 0, PERF_COUNT_HW_CACHE_L1I },
	{ "LLC", 0, PERF_COUNT_HW_CACHE_LL },	     { "dTLB", 0, PERF_COUNT_HW_CACHE_DTLB },
	{ "iTLB", 0, PERF_COUNT_HW_CACHE_ITLB },     { "branch", 0, PERF_COUNT_HW_CACHE_BPU },
	{ "node", 0, PERF_COUNT_HW_CACHE_NODE },
};
static const char *const cache_operations[][2] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = { "-loads", "-load-misses" },
	[PERF_COUNT_HW_CACHE_OP_WRITE] = { "-stores", "-store-misses" },
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = { "-prefetches", "-prefetch-misses" },
};

static void set_event_config(struct perf_event_attr *attr, uint32_t type, uint64_t config)
{
	attr->type = type;
	attr->config = config;
}

static bool find_cache_event(struct perf_event_attr *attr, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(caches); i++) {
		size_t length = strlen(caches[i].name);

		for (size_t j = 0; j < 2 * ARRAY_SIZE(cache_operations); j++) {
			if (strncmp(name, caches[i].name, length) ||
			    strcmp(name + length, cache_operations[j / 2][j % 2]))
				continue;
			set_event_config(attr, PERF_TYPE_HW_CACHE,
					 caches[i].config | j / 2 << 8 | j % 2 << 16);
			return true;
		}
	}
	return false;
}

static bool find_raw_event(struct perf_event_attr *attr, const char *name)
{
	size_t digits = name[0] == 'r' ? strspn(name + 1, "0123456789abcdefABCDEF") : 0;

	if (!digits || digits > RAW_DIGITS_MAX || name[1 + digits])
		return false;
	set_event_config(attr, PERF_TYPE_RAW, strtoull(name + 1, NULL, 16));
	return true;
}

static bool find_generic_event(struct perf_event_attr *attr, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (strcmp(symbols[i].name, name))
			continue;
		set_event_config(attr, symbols[i].type, symbols[i].config);
		return true;
	}
	return find_cache_event(attr, name) || find_raw_event(attr, name);
}

bool pmu_event_is_name(const char *name)
{
	size_t length = strcspn(name, "/:");
	struct perf_event_attr attr;
	char symbol[64];

	if (name[length] == '/')
		return true;
	if (length >= sizeof(symbol))
		return false;
	memcpy(symbol, name, length);
	symbol[length] = '\0';
	if (!find_generic_event(&attr, symbol))
		return false;
	/* A probe's group may have any name, so `red:x` is a probe. */
	return attr.type != PERF_TYPE_RAW || !name[length] ||
	       strspn(name + length + 1, MODIFIERS) == strlen(name + length + 1);
}

static int read_pmu_file(const struct parser *parser, const char *folder, const char *name,
			 char *text, size_t size)
{
	char path[300];

	if (name[0] == '.' || strchr(name, '/') ||
	    (size_t)snprintf(path, sizeof(path), DEVICES "/%s/%s%s", parser->pmu, folder, name) >=
		    sizeof(path))
		return -ENOENT;
	return read_text_at(parser->root_fd, path, text, size);
}

static uint64_t *find_config_word(struct perf_event_attr *attr, const char *name, size_t length)
{
	static const char *const names[] = { "config", "config1", "config2" };
	uint64_t *words[] = { (uint64_t *)&attr->config, (uint64_t *)&attr->config1,
			      (uint64_t *)&attr->config2 };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(names[i]) == length && !strncmp(names[i], name, length))
			return words[i];
	}
	return NULL;
}

/* A file of format/ has, for example, `config:0-7,32-35`, lowest bits of the value first. -ERANGE:
 * the value has more bits. */
static int set_format_bits(struct perf_event_attr *attr, const char *format, uint64_t value)
{
	size_t length = strcspn(format, ":");
	uint64_t *word = find_config_word(attr, format, length);
	const char *at = format + length;

	if (!word || !*at)
		return -EINVAL;
	while (*at) {
		unsigned int first, last;
		uint64_t mask;
		int nr = sscanf(++at, "%u-%u", &first, &last);

		if (nr == 1)
			last = first;
		if (nr < 1 || last > 63 || first > last)
			return -EINVAL;
		mask = ~0ULL >> (63 - (last - first));
		*word = (*word & ~(mask << first)) | (value & mask) << first;
		value = last - first == 63 ? 0 : value >> (last - first + 1);
		at += strcspn(at, ",");
	}
	return value ? -ERANGE : 0;
}

static int set_event_term(const struct parser *parser, const char *term, uint64_t value)
{
	uint64_t *word = parser->pmu ? find_config_word(parser->attr, term, strlen(term)) : NULL;
	bool freq = !strcmp(term, "freq");
	uint64_t max = INT64_MAX;
	char text[128];
	int err;

	if (freq && read_text_at(parser->root_fd, MAX_RATE, text, sizeof(text)))
		max = UINT64_MAX;
	else if (freq)
		max = strtoull(text, NULL, 10);
	if (freq || !strcmp(term, "period")) {
		if (!value || value > max)
			return log_error(parser->log, -EINVAL,
					 "event '%s': term '%s=%" PRIu64 "': must be 1 to %" PRIu64
					 "%s",
					 parser->event, term, value, max,
					 freq ? " (kernel.perf_event_max_sample_rate)" : "");
		parser->attr->freq = freq;
		parser->attr->sample_period = value;
		return 0;
	}
	if (word) {
		*word = value;
		return 0;
	}
	if (!parser->pmu)
		return log_error(parser->log, -EINVAL,
				 "event '%s': term '%s' is unknown (period or freq)", parser->event,
				 term);
	if (read_pmu_file(parser, "format/", term, text, sizeof(text)))
		return log_error(parser->log, -EINVAL,
				 "event '%s': term '%s' is unknown (period, freq, or see ls "
				 "/" DEVICES "/%s/{format,events})",
				 parser->event, term, parser->pmu);
	err = set_format_bits(parser->attr, text, value);
	if (err)
		return log_error(parser->log, -EINVAL,
				 "event '%s': term '%s=%#" PRIx64 "': does not fit (%s)",
				 parser->event, term, value, text);
	return 0;
}

/* Separated by commas. `aliases`: a term may be a named event of the PMU. */
static int parse_event_terms(const struct parser *parser, char *terms, bool aliases)
{
	char *term, *end, known[256];
	int err = 0;

	while (!err && (term = strsep(&terms, ","))) {
		char *text = strchr(term, '=');
		uint64_t value = 1;

		if (!*term)
			continue;
		if (text) {
			*text++ = '\0';
			errno = 0;
			value = strtoull(text, &end, 0);
			if (!isdigit(*text) || *end || errno)
				return log_error(parser->log, -EINVAL,
						 "event '%s': term '%s=%s': not a number",
						 parser->event, term, text);
		}
		if (aliases && !text && parser->pmu &&
		    !read_pmu_file(parser, "events/", term, known, sizeof(known)))
			err = parse_event_terms(parser, known, false);
		else
			err = set_event_term(parser, term, value);
	}
	return err;
}

static int parse_event_modifiers(const struct parser *parser, const char *modifiers)
{
	struct perf_event_attr *attr = parser->attr;
	struct parser cpu = *parser;
	unsigned int precise = 0;
	char text[16];

	if (modifiers[strcspn(modifiers, "ukh")])
		attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
	/* Guests only if asked for: their PMU may belong to them. */
	attr->exclude_guest = !strchr(modifiers, 'G');
	attr->exclude_host = strchr(modifiers, 'G') && !strchr(modifiers, 'H');
	for (const char *c = modifiers; *c; c++) {
		attr->exclude_user &= *c != 'u';
		attr->exclude_kernel &= *c != 'k';
		attr->exclude_hv &= *c != 'h';
		attr->exclude_idle |= *c == 'I';
		attr->pinned |= *c == 'D';
		precise += *c == 'p';
		if (!strchr(MODIFIERS, *c) || precise > PRECISE_MAX)
			return log_error(parser->log, -EINVAL,
					 "event '%s': modifiers '%s': not of " MODIFIERS
					 ", p at most three times",
					 parser->event, modifiers);
	}
	attr->precise_ip = precise;
	if (!cpu.pmu)
		cpu.pmu = "cpu";
	/* As precise as the PMU can be. */
	if (strchr(modifiers, 'P'))
		attr->precise_ip = read_pmu_file(&cpu, "caps/", "max_precise", text, sizeof(text))
					   ? 0
					   : strtoul(text, NULL, 10) & PRECISE_MAX;
	return 0;
}

/* NAME[/TERM,.../][:MODIFIERS]; NAME is a generic event or a PMU. */
int pmu_event_parse(struct perf_event_attr *attr, int root_fd, const char *name,
		    const struct log *log)
{
	struct parser parser = { attr, root_fd, name, NULL, log };
	_cleanup_free_ char *copy = strdup(name);
	char *terms = NULL, *rest = copy, type[16];
	bool has_terms;
	int err;

	if (!copy)
		return -ENOMEM;
	rest += strcspn(rest, "/:");
	has_terms = *rest == '/';
	if (*rest)
		*rest++ = '\0';
	if (has_terms) {
		terms = rest;
		rest += strcspn(rest, "/");
		if (!*rest)
			return log_error(log, -EINVAL, "event '%s': the second / is missing", name);
		*rest++ = '\0';
		rest += *rest == ':';
	}
	if (!find_generic_event(attr, copy)) {
		parser.pmu = copy;
		if (!*copy || *copy == '.' ||
		    read_pmu_file(&parser, "", "type", type, sizeof(type)))
			return log_error(log, -ENOENT,
					 "event '%s': there is no PMU '%s' (ls /" DEVICES ")", name,
					 copy);
		attr->type = strtoul(type, NULL, 10);
	}
	attr->sample_period = 1;
	if (attr->type != PERF_TYPE_SOFTWARE)
		attr->sample_period = PERIOD_HARDWARE;
	else if (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		 attr->config == PERF_COUNT_SW_TASK_CLOCK)
		attr->sample_period = PERIOD_CLOCK_NS;
	err = parse_event_terms(&parser, terms, true);
	return err ? err : parse_event_modifiers(&parser, rest);
}

bool pmu_event_default(struct perf_event_attr *attr, int root_fd)
{
	char entry[CPUINFO_SIZE], flags[CPUINFO_SIZE];

	if (faccessat(root_fd, DEVICES "/cpu", F_OK, 0) &&
	    faccessat(root_fd, DEVICES "/cpu_core", F_OK, 0))
		return false;
	if (cpuinfo_read(root_fd, entry) || !cpuinfo_find(entry, "flags", flags, sizeof(flags)) ||
	    strstr(flags, " hypervisor"))
		return false;
	set_event_config(attr, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	attr->sample_period = PERIOD_DEFAULT_EVENT;
	attr->exclude_guest = 1;
	/* --call-graph asks for it. */
	attr->exclude_callchain_user = 1;
	return true;
}
