// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cpulist.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>

#define CPULIST_FOLDER "/sys/devices/system/cpu/"

/* Advances *s past the number. Numbers over the limit become CPULIST_MAX_CPUS. */
static int parse_cpu_number(const char **s, int *cpu)
{
	int value = 0;

	if (**s < '0' || **s > '9')
		return -EINVAL;
	for (; **s >= '0' && **s <= '9'; (*s)++) {
		value = value * 10 + (**s - '0');
		if (value > CPULIST_MAX_CPUS)
			value = CPULIST_MAX_CPUS;
	}
	*cpu = value;
	return 0;
}

/* -EINVAL takes precedence over -ERANGE. */
static int mark_listed_cpus(const char *s, bool set[static CPULIST_MAX_CPUS + 1])
{
	for (;; s++) {
		int first, last, err;

		err = parse_cpu_number(&s, &first);
		if (err)
			return err;
		last = first;
		if (*s == '-') {
			s++;
			err = parse_cpu_number(&s, &last);
			if (err)
				return err;
		}
		if (last < first || (*s && *s != ','))
			return -EINVAL;
		memset(&set[first], true, last - first + 1);
		if (!*s)
			return set[CPULIST_MAX_CPUS] ? -ERANGE : 0;
	}
}

int cpulist_parse(const char *s, int **cpus, size_t *nr)
{
	bool set[CPULIST_MAX_CPUS + 1] = { false };
	size_t count = 0, at = 0;
	int *array;
	int err;

	err = mark_listed_cpus(s, set);
	if (err)
		return err;
	for (int cpu = 0; cpu < CPULIST_MAX_CPUS; cpu++)
		count += set[cpu];
	array = malloc(count * sizeof(*array));
	if (!array)
		return -ENOMEM;
	for (int cpu = 0; cpu < CPULIST_MAX_CPUS; cpu++) {
		if (set[cpu])
			array[at++] = cpu;
	}
	*cpus = array;
	*nr = count;
	return 0;
}

int cpulist_read(const char *path, int **cpus, size_t *nr)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	if (!file)
		return -errno;
	errno = 0;
	if (getline(&line, &size, file) < 0)
		return errno ? -errno : -EINVAL;
	line[strcspn(line, "\n")] = '\0';
	if (!*line) {
		*cpus = NULL;
		*nr = 0;
		return 0;
	}
	return cpulist_parse(line, cpus, nr);
}

bool cpulist_is_word(const char *s)
{
	return !strcmp(s, "all") || !strcmp(s, "isolated");
}

static bool cpulist_contains(const int *cpus, size_t nr, int cpu)
{
	for (size_t i = 0; i < nr; i++) {
		if (cpus[i] == cpu)
			return true;
	}
	return false;
}

int cpulist_parse_words(const char *s, int **cpus, size_t *nr)
{
	_cleanup_free_ int *online = NULL, *isolated = NULL, *tickless = NULL;
	size_t nr_online, nr_isolated = 0, nr_tickless = 0, kept = 0;
	int err;

	if (!cpulist_is_word(s))
		return cpulist_parse(s, cpus, nr);
	err = cpulist_read(CPULIST_FOLDER "online", &online, &nr_online);
	if (err)
		return err;
	if (!strcmp(s, "isolated")) {
		/* Kernels without nohz_full have no such file, or "(null)" in it. */
		if (cpulist_read(CPULIST_FOLDER "isolated", &isolated, &nr_isolated))
			nr_isolated = 0;
		if (cpulist_read(CPULIST_FOLDER "nohz_full", &tickless, &nr_tickless))
			nr_tickless = 0;
		for (size_t i = 0; i < nr_online; i++) {
			if (cpulist_contains(isolated, nr_isolated, online[i]) ||
			    cpulist_contains(tickless, nr_tickless, online[i]))
				online[kept++] = online[i];
		}
		nr_online = kept;
	}
	*cpus = TAKE_PTR(online);
	*nr = nr_online;
	return 0;
}

int cpulist_format(const int *cpus, size_t nr, char **list)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return -ENOMEM;
	for (size_t i = 0, last; i < nr; i = last + 1) {
		const char *comma = i ? "," : "";

		for (last = i; last + 1 < nr && cpus[last + 1] == cpus[last] + 1; last++)
			;
		if (last == i)
			fprintf(file, "%s%d", comma, cpus[i]);
		else
			fprintf(file, "%s%d-%d", comma, cpus[i], cpus[last]);
	}
	if (fclose(file))
		return -ENOMEM;
	*list = TAKE_PTR(text);
	return 0;
}

int cpulist_missing(const int *cpus, size_t nr, const int *in, size_t nr_in)
{
	size_t at = 0;

	for (size_t i = 0; i < nr; i++) {
		while (at < nr_in && in[at] < cpus[i])
			at++;
		if (at == nr_in || in[at] != cpus[i])
			return cpus[i];
	}
	return -1;
}

static void cpu_set_freep(cpu_set_t **set)
{
	CPU_FREE(*set);
}

void affinity_leave(const int *cpus, size_t nr)
{
	const size_t size = CPU_ALLOC_SIZE(CPULIST_MAX_CPUS);
	_cleanup_(cpu_set_freep) cpu_set_t *set = CPU_ALLOC(CPULIST_MAX_CPUS);

	if (!set || sched_getaffinity(0, size, set))
		return;
	for (size_t i = 0; i < nr; i++)
		CPU_CLR_S(cpus[i], size, set);
	if (CPU_COUNT_S(size, set))
		sched_setaffinity(0, size, set);
}

int affinity_set(const int *cpus, size_t nr)
{
	const size_t size = CPU_ALLOC_SIZE(CPULIST_MAX_CPUS);
	_cleanup_(cpu_set_freep) cpu_set_t *set = CPU_ALLOC(CPULIST_MAX_CPUS);

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < nr; i++)
		CPU_SET_S(cpus[i], size, set);
	return sched_setaffinity(0, size, set) ? -errno : 0;
}
