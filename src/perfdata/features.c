// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Features that describe the system. Omits unreadable ones. */
#include "internal.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "cpuinfo.h"
#include "io.h"
#include "trace_dat.h"

#define CPU0_MIDR "sys/devices/system/cpu/cpu0/regs/identification/midr_el1"

/* Returns the number of present CPUs, 0 if unknown. */
static unsigned int put_cpu_counts(struct perfdata_buf *body, int rootfd)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int present;
	char list[4096];
	char *last;

	if (online < 1 ||
	    read_text_at(rootfd, "sys/devices/system/cpu/present", list, sizeof(list)) || !*list)
		return 0;
	last = list + strlen(list);
	while (last > list && isdigit(last[-1]))
		last--;
	present = strtoul(last, NULL, 10) + 1;
	perfdata_buf_u32(body, present);
	perfdata_buf_u32(body, online);
	return present;
}

/* perf 6.1 crashes without it. */
static void put_cpu_description(struct perfdata_buf *body, int rootfd)
{
	char entry[CPUINFO_SIZE], text[256];

	if (!cpuinfo_read(rootfd, entry) && cpuinfo_describe(entry, text, sizeof(text)))
		perfdata_buf_string(body, text);
}

static void put_cpuid_text(struct perfdata_buf *body, int rootfd)
{
#ifdef __x86_64__
	unsigned int max, eax, ebx, ecx, edx, family, model;
	uint32_t vendor[4] = {};
	char text[64];

	if (!__get_cpuid(0, &max, &vendor[0], &vendor[2], &vendor[1]) ||
	    !__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		return;
	family = eax >> 8 & 0xf;
	model = eax >> 4 & 0xf;
	if (family == 0xf)
		family += eax >> 20 & 0xff;
	if (family >= 6)
		model += (eax >> 16 & 0xf) << 4;
	snprintf(text, sizeof(text), "%s,%u,%u,%u", (const char *)vendor, family, model, eax & 0xf);
	perfdata_buf_string(body, text);
#else
	/* Of arm64, as perf has it */
	char midr[32];

	if (!read_text_at(rootfd, CPU0_MIDR, midr, sizeof(midr)) && *midr)
		perfdata_buf_string(body, midr);
#endif
}

static void put_total_memory(struct perfdata_buf *body, int rootfd)
{
	char meminfo[4096];
	const char *total;

	if (read_text_at(rootfd, "proc/meminfo", meminfo, sizeof(meminfo)))
		return;
	total = strstr(meminfo, "MemTotal:");
	if (total)
		perfdata_buf_u64(body, strtoull(total + strlen("MemTotal:"), NULL, 10));
}

/* CPU_TOPOLOGY: the CPUs of each package, die and core. */

static bool read_topology(int rootfd, unsigned int cpu, const char *file, char *text, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/%s", cpu, file);
	return !read_text_at(rootfd, path, text, size) && *text;
}

/* perf uses -1 for unknown ids, such as those of offline CPUs. */
static uint32_t read_topology_id(int rootfd, unsigned int cpu, const char *file)
{
	char id[32];

	if (!read_topology(rootfd, cpu, file, id, sizeof(id)))
		return -1;
	return strtol(id, NULL, 10);
}

/* Writes each list once, at its first CPU. */
static void put_topology_lists(struct perfdata_buf *body, int rootfd, unsigned int nr_cpus,
			       const char *file)
{
	_cleanup_buf_ struct perfdata_buf lists = {};
	char list[4096];
	uint32_t nr = 0;

	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++) {
		if (!read_topology(rootfd, cpu, file, list, sizeof(list)) ||
		    strtoul(list, NULL, 10) != cpu)
			continue;
		perfdata_buf_string(&lists, list);
		nr++;
	}
	perfdata_buf_u32(body, nr);
	perfdata_buf_append(body, &lists);
}

static void put_cpu_topology(struct perfdata_buf *body, int rootfd, unsigned int nr_cpus)
{
	char list[4096];
	uint32_t package;

	if (!nr_cpus || !read_topology(rootfd, 0, "core_cpus_list", list, sizeof(list)))
		return;
	put_topology_lists(body, rootfd, nr_cpus, "package_cpus_list");
	put_topology_lists(body, rootfd, nr_cpus, "core_cpus_list");
	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++) {
		package = read_topology_id(rootfd, cpu, "physical_package_id");
		/* perf on x86 considers this malformed and ignores all later features. */
		if (package != (uint32_t)-1 && package > nr_cpus) {
			body->len = 0;
			return;
		}
		perfdata_buf_u32(body, read_topology_id(rootfd, cpu, "core_id"));
		perfdata_buf_u32(body, package);
	}
	if (!read_topology(rootfd, 0, "die_cpus_list", list, sizeof(list)))
		return;
	put_topology_lists(body, rootfd, nr_cpus, "die_cpus_list");
	for (unsigned int cpu = 0; cpu < nr_cpus; cpu++)
		perfdata_buf_u32(body, read_topology_id(rootfd, cpu, "die_id"));
}

static void put_pmu_mappings(struct perfdata_buf *body, int rootfd)
{
	_cleanup_buf_ struct perfdata_buf pmus = {};
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	uint32_t nr = 0;

	if (opendir_at(&dir, rootfd, "sys/bus/event_source/devices") < 0)
		return;
	while ((entry = readdir(dir))) {
		char path[sizeof(entry->d_name) + sizeof("/type")], type[16];

		snprintf(path, sizeof(path), "%s/type", entry->d_name);
		if (read_text_at(dirfd(dir), path, type, sizeof(type)) || !*type)
			continue;
		perfdata_buf_u32(&pmus, strtoul(type, NULL, 10));
		perfdata_buf_string(&pmus, entry->d_name);
		nr++;
	}
	perfdata_buf_u32(body, nr);
	perfdata_buf_append(body, &pmus);
}

static void perfdata_features_freep(struct perfdata_features **features)
{
	perfdata_features_free(*features);
}

int perfdata_features_new(struct perfdata_features **ret, int rootfd, const char *version,
			  const char *const *argv, size_t argc)
{
	_cleanup_(perfdata_features_freep) struct perfdata_features *features =
		calloc(1, sizeof(*features));
	struct perfdata_buf *cmdline;
	unsigned int nr_cpus;
	struct utsname uts;

	if (!features)
		return -ENOMEM;
	if (!uname(&uts)) {
		perfdata_buf_string(&features->body[PERFDATA_FEATURE_HOSTNAME], uts.nodename);
		perfdata_buf_string(&features->body[PERFDATA_FEATURE_OSRELEASE], uts.release);
		perfdata_buf_string(&features->body[PERFDATA_FEATURE_ARCH], uts.machine);
	}
	perfdata_kernel_build_ids(&features->body[PERFDATA_FEATURE_BUILD_ID], rootfd);
	perfdata_buf_string(&features->body[PERFDATA_FEATURE_VERSION], version);
	nr_cpus = put_cpu_counts(&features->body[PERFDATA_FEATURE_NRCPUS], rootfd);
	put_cpu_description(&features->body[PERFDATA_FEATURE_CPUDESC], rootfd);
	put_cpuid_text(&features->body[PERFDATA_FEATURE_CPUID], rootfd);
	put_total_memory(&features->body[PERFDATA_FEATURE_TOTAL_MEM], rootfd);
	cmdline = &features->body[PERFDATA_FEATURE_CMDLINE];
	if (argc)
		perfdata_buf_u32(cmdline, argc);
	for (size_t i = 0; i < argc; i++)
		perfdata_buf_string(cmdline, argv[i]);
	put_cpu_topology(&features->body[PERFDATA_FEATURE_CPU_TOPOLOGY], rootfd, nr_cpus);
	put_pmu_mappings(&features->body[PERFDATA_FEATURE_PMU_MAPPINGS], rootfd);
	for (int i = 0; i < PERFDATA_FEATURE_NR; i++) {
		if (features->body[i].error)
			return features->body[i].error;
	}
	*ret = TAKE_PTR(features);
	return 0;
}

void perfdata_features_free(struct perfdata_features *features)
{
	if (!features)
		return;
	for (int i = 0; i < PERFDATA_FEATURE_NR; i++)
		perfdata_buf_release(&features->body[i]);
	free(features);
}

/* The TRACING_DATA feature: the head of a trace.dat file, without symbols: perf skips them. */

int perfdata_features_add_tracing(struct perfdata_features *features, int tracefs_fd,
				  const char *const *names, size_t nr)
{
	_cleanup_buf_ struct perfdata_buf body = {};
	int err = trace_dat_put_formats(&body, "0.6", tracefs_fd, names, nr, false);

	if (!err)
		err = trace_dat_put_names(&body, tracefs_fd, NULL, -1);
	if (err < 0)
		return err;
	features->body[PERFDATA_FEATURE_TRACING_DATA] = body;
	body = (struct perfdata_buf){};
	return 0;
}
