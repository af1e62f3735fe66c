// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Features that describe the system. Omits unreadable ones. */
#include "internal.h"

#include <ctype.h>
#include <string.h>
#include <sys/utsname.h>

#ifdef __x86_64__
#include <cpuid.h>
#endif

static void put_uname(struct perfdata_features *features)
{
	struct utsname uts;

	if (uname(&uts) < 0)
		return;
	perfdata_buf_string(&features->body[PERFDATA_FEATURE_HOSTNAME], uts.nodename);
	perfdata_buf_string(&features->body[PERFDATA_FEATURE_OSRELEASE], uts.release);
	perfdata_buf_string(&features->body[PERFDATA_FEATURE_ARCH], uts.machine);
}

/* Returns the number of present CPUs, 0 if unknown. */
static unsigned int put_nr_cpus(struct perfdata_buf *body, int rootfd)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int present;
	char list[4096];
	char *last;

	if (online < 1 ||
	    perfdata_read_string(rootfd, "sys/devices/system/cpu/present", list, sizeof(list)) < 1)
		return 0;
	last = list + strlen(list);
	while (last > list && isdigit(last[-1]))
		last--;
	present = strtoul(last, NULL, 10) + 1;
	perfdata_buf_u32(body, present);
	perfdata_buf_u32(body, online);
	return present;
}

static void squeeze_spaces(char *string)
{
	char *to = string;

	for (const char *from = string; *from; from++)
		if (*from != ' ' || from[1] != ' ')
			*to++ = *from;
	*to = '\0';
}

static void put_cpu_desc(struct perfdata_buf *body, int rootfd)
{
	/* First CPU only: the whole file is slow on large machines. */
	char cpuinfo[4096];
	char *desc;

	if (perfdata_read_string(rootfd, "proc/cpuinfo", cpuinfo, sizeof(cpuinfo)) < 0)
		return;
	desc = strstr(cpuinfo, "model name");
	if (!desc)
		return;
	desc[strcspn(desc, "\n")] = '\0';
	desc = strchr(desc, ':');
	if (!desc)
		return;
	desc += 1 + strspn(desc + 1, " ");
	squeeze_spaces(desc);
	perfdata_buf_string(body, desc);
}

static void put_cpuid(struct perfdata_buf *body)
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
#endif
}

static void put_total_mem(struct perfdata_buf *body, int rootfd)
{
	char meminfo[4096];
	const char *total;

	if (perfdata_read_string(rootfd, "proc/meminfo", meminfo, sizeof(meminfo)) < 0)
		return;
	total = strstr(meminfo, "MemTotal:");
	if (total)
		perfdata_buf_u64(body, strtoull(total + strlen("MemTotal:"), NULL, 10));
}

static void put_cmdline(struct perfdata_buf *body, const char *const *argv, size_t argc)
{
	if (!argc)
		return;
	perfdata_buf_u32(body, argc);
	for (size_t i = 0; i < argc; i++)
		perfdata_buf_string(body, argv[i]);
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
		if (perfdata_read_string(dirfd(dir), path, type, sizeof(type)) < 1)
			continue;
		perfdata_buf_u32(&pmus, strtoul(type, NULL, 10));
		perfdata_buf_string(&pmus, entry->d_name);
		nr++;
	}
	perfdata_buf_u32(body, nr);
	perfdata_buf_append(body, &pmus);
}

static int features_error(const struct perfdata_features *features)
{
	for (int i = 0; i < PERFDATA_FEATURE_NR; i++)
		if (features->body[i].error)
			return features->body[i].error;
	return 0;
}

static void freep_features(struct perfdata_features **features)
{
	perfdata_features_free(*features);
}

int perfdata_features_new(struct perfdata_features **ret, int rootfd, const char *version,
			  const char *const *argv, size_t argc)
{
	_cleanup_(freep_features) struct perfdata_features *features = calloc(1, sizeof(*features));
	unsigned int nr_cpus;
	int r;

	if (!features)
		return -ENOMEM;
	put_uname(features);
	perfdata_kernel_build_ids(&features->body[PERFDATA_FEATURE_BUILD_ID], rootfd);
	perfdata_buf_string(&features->body[PERFDATA_FEATURE_VERSION], version);
	nr_cpus = put_nr_cpus(&features->body[PERFDATA_FEATURE_NRCPUS], rootfd);
	put_cpu_desc(&features->body[PERFDATA_FEATURE_CPUDESC], rootfd);
	put_cpuid(&features->body[PERFDATA_FEATURE_CPUID]);
	put_total_mem(&features->body[PERFDATA_FEATURE_TOTAL_MEM], rootfd);
	put_cmdline(&features->body[PERFDATA_FEATURE_CMDLINE], argv, argc);
	perfdata_topology(&features->body[PERFDATA_FEATURE_CPU_TOPOLOGY], rootfd, nr_cpus);
	put_pmu_mappings(&features->body[PERFDATA_FEATURE_PMU_MAPPINGS], rootfd);

	r = features_error(features);
	if (r < 0)
		return r;
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
