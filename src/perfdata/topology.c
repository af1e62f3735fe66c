// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The CPU_TOPOLOGY feature: the CPUs of each package, die and core. */
#include "internal.h"

static ssize_t read_topology(int rootfd, unsigned int cpu, const char *file, char *string,
			     size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/%s", cpu, file);
	return perfdata_read_string(rootfd, path, string, size);
}

/* perf uses -1 for unknown ids, such as those of offline CPUs. */
static uint32_t read_id(int rootfd, unsigned int cpu, const char *file)
{
	char id[32];

	if (read_topology(rootfd, cpu, file, id, sizeof(id)) < 1)
		return -1;
	return strtol(id, NULL, 10);
}

/* Writes each list once, at its first CPU. */
static void put_lists(struct perfdata_buf *body, int rootfd, unsigned int nr_cpus, const char *file)
{
	_cleanup_buf_ struct perfdata_buf lists = {};
	char list[4096];
	uint32_t nr = 0;

	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++) {
		if (read_topology(rootfd, cpu, file, list, sizeof(list)) < 1 ||
		    strtoul(list, NULL, 10) != cpu)
			continue;
		perfdata_buf_string(&lists, list);
		nr++;
	}
	perfdata_buf_u32(body, nr);
	perfdata_buf_append(body, &lists);
}

void perfdata_topology(struct perfdata_buf *body, int rootfd, unsigned int nr_cpus)
{
	char list[4096];
	uint32_t package;

	if (!nr_cpus || read_topology(rootfd, 0, "core_cpus_list", list, sizeof(list)) < 1)
		return;
	put_lists(body, rootfd, nr_cpus, "package_cpus_list");
	put_lists(body, rootfd, nr_cpus, "core_cpus_list");
	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++) {
		package = read_id(rootfd, cpu, "physical_package_id");
		/* perf on x86 considers this malformed and ignores all later features. */
		if (package != (uint32_t)-1 && package > nr_cpus) {
			body->len = 0;
			return;
		}
		perfdata_buf_u32(body, read_id(rootfd, cpu, "core_id"));
		perfdata_buf_u32(body, package);
	}
	if (read_topology(rootfd, 0, "die_cpus_list", list, sizeof(list)) < 1)
		return;
	put_lists(body, rootfd, nr_cpus, "die_cpus_list");
	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++)
		perfdata_buf_u32(body, read_id(rootfd, cpu, "die_id"));
}
