// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/bundle.h"

#include <string.h>
#include <sys/utsname.h>

#include "capture/layout.h"
#include "clock.h"
#include "io.h"
#include "json_add.h"
#include "text.h"

#define CPU "sys/devices/system/cpu/"

/* What decides on latencies, and is not in the capture. */
static const struct {
	const char *object, *key, *path;
} rows[] = {
	{ "kernel", "cmdline", "proc/cmdline" },
	{ "machine", "product", "sys/class/dmi/id/product_name" },
	{ "machine", "bios", "sys/class/dmi/id/bios_version" },
	{ "cpus", "online", CPU "online" },
	{ "cpus", "isolated", CPU "isolated" },
	{ "cpus", "nohz_full", CPU "nohz_full" },
	{ "cpus", "smt", CPU "smt/control" },
	{ "tuning", "clocksource",
	  "sys/devices/system/clocksource/clocksource0/current_clocksource" },
	{ "tuning", "cpufreq_driver", CPU "cpu0/cpufreq/scaling_driver" },
	{ "tuning", "cpufreq_governor", CPU "cpu0/cpufreq/scaling_governor" },
	{ "tuning", "cpuidle_driver", CPU "cpuidle/current_driver" },
	{ "tuning", "cpuidle_governor", CPU "cpuidle/current_governor" },
	{ "tuning", "nmi_watchdog", "proc/sys/kernel/nmi_watchdog" },
	{ "tuning", "no_turbo", CPU "intel_pstate/no_turbo" },
	{ "tuning", "preempt", "sys/kernel/debug/sched/preempt" },
	{ "tuning", "sched_rt_runtime_us", "proc/sys/kernel/sched_rt_runtime_us" },
	{ "tuning", "timer_migration", "proc/sys/kernel/timer_migration" },
	{ "tuning", "workqueue_cpus", "sys/devices/virtual/workqueue/cpumask" },
};

/* The first processor of cpuinfo stands for all. */
static void add_processor(json_object *machine, int rootfd)
{
	static const struct {
		const char *key, *name;
	} fields[] = {
		{ "cpu", "model name" },    { "family", "cpu family" },	  { "model", "model" },
		{ "stepping", "stepping" }, { "microcode", "microcode" },
	};
	char text[4096], *line = text, *end;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		json_add(machine, fields[i].key, NULL);
	if (read_text_at(rootfd, "proc/cpuinfo", text, sizeof(text)))
		return;
	for (; (end = strchr(line, '\n')) && end > line; line = end + 1) {
		size_t length = strcspn(line, "\t:");
		char *value = line + strcspn(line, ":\n");

		*end = '\0';
		value += strspn(value, ": ");
		for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
			if (strlen(fields[i].name) == length &&
			    !strncmp(line, fields[i].name, length))
				json_add_text(machine, fields[i].key, value);
		}
	}
}

json_object *host_facts(int rootfd, const struct perf_poke_capture *capture)
{
	json_object *facts = json_object_new_object(), *object = NULL;
	char text[4096], now[CLOCK_UTC_SIZE];
	struct utsname names;

	uname(&names);
	clock_format_utc(now, clock_ns(CLOCK_REALTIME));
	json_add_text(facts, "wall_time", now);
	json_add_bool(facts, "of_capture",
		      capture && !strcmp(names.nodename, capture->hostname ?: "") &&
			      !strcmp(names.release, capture->kernel ?: "") &&
			      !strcmp(names.version,
				      perf_poke__capture_text(capture, "kernel.version") ?: ""));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!i || strcmp(rows[i].object, rows[i - 1].object)) {
			object = json_object_new_object();
			json_add(facts, rows[i].object, object);
		}
		if (read_text_at(rootfd, rows[i].path, text, sizeof(text)))
			*text = '\0';
		text[strcspn(text, "\n")] = '\0';
		json_add_name(object, rows[i].key, text);
	}
	object = json_object_object_get(facts, "kernel");
	json_add_text(object, "release", names.release);
	json_add_text(object, "version", names.version);
	object = json_object_object_get(facts, "machine");
	json_add_text(object, "hostname", names.nodename);
	json_add_text(object, "arch", names.machine);
	add_processor(object, rootfd);
	return facts;
}

int host_pack(struct pack *pack, const struct perf_poke_capture *capture, bool *same, char **why)
{
	const int flags = JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE;
	_cleanup_close_ int rootfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	json_object *facts = rootfd < 0 ? NULL : host_facts(rootfd, capture);
	const char *text = facts ? json_object_to_json_string_ext(facts, flags) : NULL;
	int r = -ENOMEM;

	if (text)
		r = pack_text(pack, LAYOUT_HOST, text, strlen(text), why);
	*same = json_object_get_boolean(json_object_object_get(facts, "of_capture"));
	json_object_put(facts);
	return r;
}
