// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "json_util.h"
#include "text.h"
#include "util.h"

#define DEBUG_SCHED "sys/kernel/debug/sched"
#define UNLIMITED (-1)

/* The nearest cgroup with a CPU quota. */
struct cpu_quota {
	const char *cgroup; /* below the hierarchy's root; NULL: none */
	int64_t quota_us, period_us;
	uint64_t nr_throttled, throttled_us; /* since the cgroup exists */
};

static FILE *proc_file_open(int root_fd, const char *path)
{
	int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, "r");
}

static bool comma_list_has(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (;; list++) {
		if (!strncmp(list, word, length) && strchr(", \n", list[length]))
			return true;
		list = strchr(list, ',');
		if (!list)
			return false;
	}
}

/* The thread's cgroup in the hierarchy of the controller cpu: that of version 1 if it has it. */
static char *cgroup_of_thread(int root_fd, int tid, bool *is_v2)
{
	_cleanup_free_ char *path = strfmt("proc/%d/cgroup", tid), *line = NULL;
	_cleanup_fclose_ FILE *file = path ? proc_file_open(root_fd, path) : NULL;
	_cleanup_free_ char *found = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *controllers = strchr(line, ':');
		char *cgroup = controllers ? strchr(controllers + 1, ':') : NULL;
		bool v2 = has_prefix(line, "0::");

		if (!cgroup)
			continue;
		*cgroup++ = '\0';
		cgroup[strcspn(cgroup, "\n")] = '\0';
		if (!v2 && !comma_list_has(controllers + 1, "cpu"))
			continue;
		if (!found || !v2) {
			free(found);
			found = strdup(cgroup);
			*is_v2 = v2;
		}
	}
	return TAKE_PTR(found);
}

/* Where the hierarchy is mounted, without the first slash. Mounts of a part of it are ignored. */
static char *hierarchy_mount(int root_fd, bool is_v2)
{
	_cleanup_fclose_ FILE *file = proc_file_open(root_fd, "proc/self/mountinfo");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		_cleanup_free_ char *root = NULL, *mount = NULL, *type = NULL, *options = NULL;
		const char *end = strstr(line, " - ");

		if (!end || sscanf(line, "%*s %*s %*s %ms %ms", &root, &mount) != 2 ||
		    sscanf(end, " - %ms %*s %ms", &type, &options) != 2 || strcmp(root, "/"))
			continue;
		if (is_v2 ? !strcmp(type, "cgroup2")
			  : !strcmp(type, "cgroup") && comma_list_has(options, "cpu"))
			return strdup(mount + 1);
	}
	return NULL;
}

static int cgroup_read_file(int root_fd, const char *dir, const char *name, char *text, size_t size)
{
	_cleanup_free_ char *path = strfmt("%s/%s", dir, name);

	return path ? read_text_at(root_fd, path, text, size) : -ENOMEM;
}

/* Its quota, and how often that took the CPU from it. False: it has no quota. */
static bool cgroup_read_quota(int root_fd, const char *dir, bool is_v2, struct cpu_quota *quota)
{
	const char *name = is_v2 ? "throttled_usec " : "throttled_time ";
	char text[1024], period[32], *rest = text, *line;

	if (is_v2) {
		if (cgroup_read_file(root_fd, dir, "cpu.max", text, sizeof(text)) ||
		    sscanf(text, "%" SCNd64 " %" SCNd64, &quota->quota_us, &quota->period_us) != 2)
			return false;
	} else {
		if (cgroup_read_file(root_fd, dir, "cpu.cfs_quota_us", text, sizeof(text)) ||
		    cgroup_read_file(root_fd, dir, "cpu.cfs_period_us", period, sizeof(period)))
			return false;
		quota->quota_us = strtoll(text, NULL, 10);
		quota->period_us = strtoll(period, NULL, 10);
		if (quota->quota_us == UNLIMITED)
			return false;
	}
	quota->nr_throttled = quota->throttled_us = UINT64_MAX;
	if (cgroup_read_file(root_fd, dir, "cpu.stat", text, sizeof(text)))
		return true;
	while ((line = strsep(&rest, "\n"))) {
		if (has_prefix(line, "nr_throttled "))
			quota->nr_throttled = strtoull(strchr(line, ' '), NULL, 10);
		else if (has_prefix(line, name))
			quota->throttled_us =
				strtoull(strchr(line, ' '), NULL, 10) / (is_v2 ? 1 : 1000);
	}
	return true;
}

/* null: unknown */
static void json_add_proc_number(struct json_object *json, const char *key, int root_fd,
				 const char *path)
{
	char text[32];

	json_add(json, key,
		 read_text_at(root_fd, path, text, sizeof(text))
			 ? NULL
			 : json_object_new_int64(strtoll(text, NULL, 10)));
}

struct json_object *scheduling_json(int root_fd, int tid)
{
	bool is_v2 = false, known, debugfs = !faccessat(root_fd, DEBUG_SCHED, F_OK, 0);
	_cleanup_free_ char *cgroup = tid ? cgroup_of_thread(root_fd, tid, &is_v2) : NULL;
	_cleanup_free_ char *mount = cgroup ? hierarchy_mount(root_fd, is_v2) : NULL;
	struct json_object *json = json_object_new_object();
	struct cpu_quota quota = {};
	char *slash;

	/* From the thread's cgroup up to the root, which has no quota. */
	while (mount && (slash = strrchr(cgroup, '/')) && slash[1]) {
		_cleanup_free_ char *dir = strfmt("%s%s", mount, cgroup);

		if (dir && cgroup_read_quota(root_fd, dir, is_v2, &quota)) {
			quota.cgroup = cgroup;
			break;
		}
		slash[slash == cgroup] = '\0';
	}
	known = quota.cgroup;
	json_add_proc_number(json, "rt_runtime_us", root_fd, "proc/sys/kernel/sched_rt_runtime_us");
	json_add_proc_number(json, "rt_period_us", root_fd, "proc/sys/kernel/sched_rt_period_us");
	/* Without debugfs it is not known. */
	json_add(json, "fair_server",
		 debugfs ? json_object_new_boolean(
				   !faccessat(root_fd, DEBUG_SCHED "/fair_server", F_OK, 0))
			 : NULL);
	json_add_text(json, "cgroup", quota.cgroup);
	json_add(json, "quota_us", known ? json_object_new_int64(quota.quota_us) : NULL);
	json_add(json, "quota_period_us", known ? json_object_new_int64(quota.period_us) : NULL);
	json_add_known(json, "nr_throttled", known ? quota.nr_throttled : UINT64_MAX, UINT64_MAX);
	json_add_known(json, "throttled_us", known ? quota.throttled_us : UINT64_MAX, UINT64_MAX);
	return json;
}
