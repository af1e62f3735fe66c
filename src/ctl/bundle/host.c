// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/host.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "capture/layout.h"
#include "json_add.h"
#include "utf8.h"

#define SCHEMA 1
#define TEXT_MAX 4096

struct row {
	const char *key;
	const char *path;
};

static const struct row tuning[] = {
	{ "clocksource", "sys/devices/system/clocksource/clocksource0/current_clocksource" },
	{ "cpuidle_driver", "sys/devices/system/cpu/cpuidle/current_driver" },
	{ "cpuidle_governor", "sys/devices/system/cpu/cpuidle/current_governor" },
	{ "default_irq_affinity", "proc/irq/default_smp_affinity" },
	{ "nmi_watchdog", "proc/sys/kernel/nmi_watchdog" },
	{ "no_turbo", "sys/devices/system/cpu/intel_pstate/no_turbo" },
	{ "numa_balancing", "proc/sys/kernel/numa_balancing" },
	{ "preempt", "sys/kernel/debug/sched/preempt" },
	{ "realtime", "sys/kernel/realtime" },
	{ "sched_rt_period_us", "proc/sys/kernel/sched_rt_period_us" },
	{ "sched_rt_runtime_us", "proc/sys/kernel/sched_rt_runtime_us" },
	{ "timer_migration", "proc/sys/kernel/timer_migration" },
	{ "transparent_hugepage", "sys/kernel/mm/transparent_hugepage/enabled" },
	{ "watchdog_cpus", "proc/sys/kernel/watchdog_cpumask" },
	{ "workqueue_cpus", "sys/devices/virtual/workqueue/cpumask" },
};

static const struct row cpus[] = {
	{ "possible", "sys/devices/system/cpu/possible" },
	{ "online", "sys/devices/system/cpu/online" },
	{ "isolated", "sys/devices/system/cpu/isolated" },
	{ "nohz_full", "sys/devices/system/cpu/nohz_full" },
	{ "smt", "sys/devices/system/cpu/smt/control" },
};

static const struct row firmware[] = {
	{ "product", "sys/class/dmi/id/product_name" },
	{ "bios", "sys/class/dmi/id/bios_version" },
	{ "bios_date", "sys/class/dmi/id/bios_date" },
};

static const struct row frequency[] = {
	{ "driver", "scaling_driver" },		{ "governor", "scaling_governor" },
	{ "min_khz", "scaling_min_freq" },	{ "max_khz", "scaling_max_freq" },
	{ "hardware_khz", "cpuinfo_max_freq" }, { "preference", "energy_performance_preference" },
};

/* The first line of a file, without trailing blanks; NULL if unreadable. */
static json_object *read_line(int dirfd, const char *path)
{
	_cleanup_close_ int fd = openat(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char text[TEXT_MAX];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return NULL;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (n = (ssize_t)strlen(text); n && isspace((unsigned char)text[n - 1]); n--)
		text[n - 1] = '\0';
	return json_object_new_string(utf8_repair(text));
}

static void add_rows(json_object *to, int dirfd, const struct row *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		json_add(to, rows[i].key, read_line(dirfd, rows[i].path));
}

static json_object *new_rows(int dirfd, const struct row *rows, size_t nr)
{
	json_object *object = json_object_new_object();

	add_rows(object, dirfd, rows, nr);
	return object;
}

static FILE *open_file(int dirfd, const char *path)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (fd >= 0 && !file)
		close(fd);
	return file;
}

static bool has_word(char *words, const char *word)
{
	while (words) {
		if (!strcmp(strsep(&words, " "), word))
			return true;
	}
	return false;
}

/* The first processor of cpuinfo stands for all. */
static void add_processor(json_object *to, int rootfd)
{
	static const struct row keys[] = {
		{ "cpu", "model name" }, { "vendor", "vendor_id" },  { "family", "cpu family" },
		{ "model", "model" },	 { "stepping", "stepping" }, { "microcode", "microcode" },
	};
	_cleanup_fclose_ FILE *file = open_file(rootfd, "proc/cpuinfo");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		json_add(to, keys[i].key, NULL);
	json_add(to, "hypervisor", NULL);
	while (file && getline(&line, &size, file) > 1) {
		char *value = strchr(line, ':');
		size_t length = strcspn(line, "\t:");

		if (!value)
			continue;
		value += 1 + strspn(value + 1, " ");
		value[strcspn(value, "\n")] = '\0';
		utf8_repair(value);
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			if (strlen(keys[i].path) == length && !strncmp(line, keys[i].path, length))
				json_add_text(to, keys[i].key, value);
		}
		if (length == 5 && !strncmp(line, "flags", 5))
			json_add_bool(to, "hypervisor", has_word(value, "hypervisor"));
	}
}

static json_object *new_machine(int rootfd, const struct utsname *names)
{
	json_object *machine = json_object_new_object();

	json_add_text(machine, "hostname", names->nodename);
	json_add_text(machine, "arch", names->machine);
	add_processor(machine, rootfd);
	add_rows(machine, rootfd, firmware, ARRAY_SIZE(firmware));
	return machine;
}

/* Some kernels with PREEMPT_RT lack /sys/kernel/realtime. */
static json_object *new_tuning(int rootfd)
{
	json_object *object = new_rows(rootfd, tuning, ARRAY_SIZE(tuning));
	json_object *version = read_line(rootfd, "proc/sys/kernel/version");

	if (!json_object_object_get(object, "realtime") && version &&
	    strstr(json_object_get_string(version), "PREEMPT_RT"))
		json_add_text(object, "realtime", "1");
	json_object_put(version);
	return object;
}

static json_object *new_kernel(int rootfd, const struct utsname *names)
{
	json_object *kernel = json_object_new_object();

	json_add_text(kernel, "release", names->release);
	json_add_text(kernel, "version", names->version);
	json_add(kernel, "cmdline", read_line(rootfd, "proc/cmdline"));
	json_add(kernel, "tainted", read_line(rootfd, "proc/sys/kernel/tainted"));
	return kernel;
}

/* PRETTY_NAME="Debian GNU/Linux 12 (bookworm)" */
static json_object *new_system(int rootfd)
{
	_cleanup_fclose_ FILE *file = open_file(rootfd, "etc/os-release");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *value = line + strlen("PRETTY_NAME=");

		if (strncmp(line, "PRETTY_NAME=", strlen("PRETTY_NAME=")))
			continue;
		value += *value == '"';
		value[strcspn(value, "\"\n")] = '\0';
		return json_object_new_string(utf8_repair(value));
	}
	return NULL;
}

static int is_number(const struct dirent *entry)
{
	return entry->d_name[strspn(entry->d_name, "0123456789")] == '\0';
}

static int is_cpu(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "cpu", 3) && isdigit((unsigned char)entry->d_name[3]);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Makes an object for each entry of a folder, in numerical order. */
static json_object *new_list(int rootfd, const char *path, int (*filter)(const struct dirent *),
			     json_object *(*make)(int dirfd, const char *name))
{
	_cleanup_close_ int fd = openat(rootfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_object *list = json_object_new_array();
	struct dirent **entries = NULL;
	int nr = fd < 0 ? 0 : scandirat(fd, ".", &entries, filter, versionsort);

	for (int i = 0; i < nr; i++) {
		json_object *object = make(fd, entries[i]->d_name);

		if (object)
			json_object_array_add(list, object);
		free(entries[i]);
	}
	free(entries);
	return list;
}

/* NULL without frequency scaling. */
static json_object *new_frequency(int dirfd, const char *name)
{
	char path[NAME_MAX + sizeof("/cpufreq")];
	_cleanup_close_ int fd = -1;
	json_object *object;

	snprintf(path, sizeof(path), "%s/cpufreq", name);
	fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	object = json_object_new_object();
	json_add_int(object, "cpu", atoi(name + 3));
	add_rows(object, fd, frequency, ARRAY_SIZE(frequency));
	return object;
}

/* The subfolders are the handlers of the interrupt. */
static json_object *new_irq(int dirfd, const char *name)
{
	static const struct row rows[] = { { "affinity", "smp_affinity_list" },
					   { "effective", "effective_affinity_list" } };
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_object *object, *handlers;
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;

	if (fd < 0 || opendir_at(&dir, fd, "."))
		return NULL;
	object = json_object_new_object();
	handlers = json_object_new_array();
	json_add_int(object, "irq", atoi(name));
	add_rows(object, fd, rows, ARRAY_SIZE(rows));
	while ((entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && is_visible(entry))
			json_object_array_add(handlers,
					      json_object_new_string(utf8_repair(entry->d_name)));
	}
	json_add(object, "handlers", handlers);
	return object;
}

static json_object *new_mitigation(int dirfd, const char *name)
{
	json_object *object = json_object_new_object();

	json_add_text(object, "name", name);
	json_add(object, "state", read_line(dirfd, name));
	return object;
}

static void add_files(json_object *to, int fd, const char *path)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;

	if (opendir_at(&dir, fd, path))
		return;
	while ((entry = readdir(dir))) {
		if (entry->d_type == DT_REG)
			json_add(to, entry->d_name, read_line(dirfd(dir), entry->d_name));
	}
}

/* Capabilities and format of the Intel PT PMU; NULL if there is none. */
static json_object *new_intel_pt(int rootfd)
{
	static const char *const folders[] = { "caps", "format" };
	_cleanup_close_ int fd = openat(rootfd, "sys/bus/event_source/devices/intel_pt",
					O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	json_object *pmu;

	if (fd < 0)
		return NULL;
	pmu = json_object_new_object();
	add_files(pmu, fd, ".");
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		json_object *object = json_object_new_object();

		add_files(object, fd, folders[i]);
		json_add(pmu, folders[i], object);
	}
	return pmu;
}

static json_object *new_time(void)
{
	time_t now = time(NULL);
	char text[64];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_object_new_string(text);
}

json_object *host_facts(int rootfd, const struct perf_poke_capture *capture)
{
	json_object *facts = json_object_new_object();
	struct utsname names;
	bool same;

	uname(&names);
	same = capture && !strcmp(names.nodename, capture->hostname ?: "") &&
	       !strcmp(names.release, capture->kernel ?: "") &&
	       !strcmp(names.version, perf_poke__capture_text(capture, "kernel.version") ?: "");
	json_add_int(facts, "schema", SCHEMA);
	json_add(facts, "wall_time", new_time());
	json_add_bool(facts, "of_capture", same);
	json_add(facts, "system", new_system(rootfd));
	json_add(facts, "kernel", new_kernel(rootfd, &names));
	json_add(facts, "machine", new_machine(rootfd, &names));
	json_add(facts, "intel_pt", new_intel_pt(rootfd));
	json_add(facts, "cpus", new_rows(rootfd, cpus, ARRAY_SIZE(cpus)));
	json_add(facts, "tuning", new_tuning(rootfd));
	json_add(facts, "cpufreq",
		 new_list(rootfd, "sys/devices/system/cpu", is_cpu, new_frequency));
	json_add(facts, "irqs", new_list(rootfd, "proc/irq", is_number, new_irq));
	json_add(facts, "mitigations",
		 new_list(rootfd, "sys/devices/system/cpu/vulnerabilities", is_visible,
			  new_mitigation));
	return facts;
}

int host_pack(struct pack *pack, const struct perf_poke_capture *capture, bool *same, char **why)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE;
	_cleanup_close_ int rootfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	json_object *facts = rootfd < 0 ? NULL : host_facts(rootfd, capture);
	const char *text = facts ? json_object_to_json_string_ext(facts, flags) : NULL;
	json_object *of_capture = NULL;
	int r = -ENOMEM;

	if (text)
		r = pack_text(pack, LAYOUT_HOST, text, strlen(text), why);
	*same = json_object_object_get_ex(facts, "of_capture", &of_capture) &&
		json_object_get_boolean(of_capture);
	json_object_put(facts);
	return r;
}
