// SPDX-License-Identifier: GPL-2.0-only
#include "session/session_internal.h"

#include <signal.h>
#include <string.h>

#include "test.h"

static time_t ahead_s;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int r = __real_clock_gettime(clock, now);

	now->tv_sec += ahead_s;
	return r;
}

/* With what it has started. */
static void run_for_a_minute(struct console *con)
{
	struct hook_job job = {
		.environment = calloc(1, sizeof(char *)),
		.input = strdup("{}\n"),
		.capture = strdup("a"),
	};
	struct hook_commands o;

	hook_commands_init(&o, "sleep 300 & sleep 301; true");
	assert_int_equal(hook_commands_add(&o, con, &job), 0);
	/* In QEMU's user mode, a parent does not wait for vfork()'s child to have its group. */
	for (int i = 0; i < 1000 && kill(-o.runs[0].pid, 0); i++)
		usleep(10000);
	ahead_s = 58;
	hook_commands_handle(&o, con);
	assert_true(hook_commands_are_busy(&o));
	ahead_s = 61;
	/* It is not waited for. */
	for (int i = 0; i < 1000 && hook_commands_are_busy(&o); i++) {
		hook_commands_handle(&o, con);
		usleep(10000);
	}
	assert_false(hook_commands_are_busy(&o));
	assert_int_equal(o.failed, 1);
	assert_int_equal(hook_commands_release(&o), 0);
}

TEST(kills_after_a_minute)
{
	struct console con = { 0 };
	_cleanup_free_ char *text = WRITTEN(file, con.out = con.err = file; run_for_a_minute(&con));

	assert_non_null(strstr(text, "--on-capture: killed after 60 s for 'a'"));
}

#define TIME_NS 7881842767

static const char capture_json[] =
	"{\"schema\":1,\"version\":\"0.1.0\",\"spike\":{\"sequence\":1,\"cpu\":1,"
	"\"latency_ns\":29841094,\"time_ns\":7881842767,\"expected_ns\":7851933892,"
	"\"actual_ns\":7881774986,\"wall_time\":\"2026-11-21T07:01:43.881833Z\","
	"\"function\":\"hrtimer_wakeup\",\"pid\":24,\"tid\":24,\"comm\":\"kworker/1:0\","
	"\"idle\":false,\"poked\":false},\"history_ns\":90562087,\"recorder\":{\"kind\":\"none\"},"
	"\"statistics\":{},\"kernel\":{},\"machine\":{}}";

/* The folder's owner has renamed another one to its name. */
TEST(removes_only_the_capture_itself)
{
	char folder[] = "/tmp/perf-poke-test-XXXXXX", file[64], link[64];
	FILE *json;

	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/capture.json", folder);
	snprintf(link, sizeof(link), "%s-link", folder);
	assert_int_equal(capture_folder_remove(folder, TIME_NS), -ENOENT);
	json = fopen(file, "w");
	assert_non_null(json);
	assert_true(fputs(capture_json, json) >= 0 && !fclose(json));
	assert_int_equal(capture_folder_remove(folder, TIME_NS - 1), -ESTALE);
	assert_int_equal(symlink(folder, link), 0);
	assert_int_equal(capture_folder_remove(link, TIME_NS), -ENOTDIR);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(access(file, F_OK), 0);
	assert_int_equal(capture_folder_remove(folder, TIME_NS), 0);
	assert_int_equal(access(folder, F_OK), -1);
}
