// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "fake_recorder.h"

#include <fcntl.h>
#include <string.h>

#include <json-c/json.h>

#include "clock.h"
#include "helpers.h"
#include "io.h"

struct fake_recorder fake;

static int fake_write(struct recorder *recorder, struct snapshot *snapshot, int dirfd,
		      const struct perf_poke_spike *spike, struct snapshot_facts *facts)
{
	char text[32];

	assert_ptr_equal(recorder, &fake.recorder);
	snprintf(text, sizeof(text), "%u", snapshot->number);
	put_file(dirfd, "perf.data/data", text);
	put_file(dirfd, "perf.data/kcore_dir/kallsyms", "");
	if (fake.also)
		put_file(dirfd, fake.also, "");
	if (fake.on_write)
		fake.on_write(snapshot->number);
	facts->events = 1234;
	facts->lost = 5;
	facts->size = 6789;
	fake.spike_cpu = spike->cpu;
	fake.written++;
	return fake.error;
}

static void fake_describe(const struct recorder *recorder, struct json_object *json)
{
	assert_ptr_equal(recorder, &fake.recorder);
	json_object_object_add(json, "buffer_size", json_object_new_int(4096));
}

static void fake_snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	fake.freed++;
	free(snapshot);
}

static const struct recorder_ops fake_recorder_ops = {
	.choice = { "fake", 0, "" },
	.write = fake_write,
	.describe = fake_describe,
	.snapshot_free = fake_snapshot_free,
};

void fake_reset(void)
{
	fake = (struct fake_recorder){ .recorder.ops = &fake_recorder_ops };
}

struct config config;
struct capture_env env;
struct output captures;

int make_output(void **state)
{
	static char output[4096];
	static int cpus[] = { 3 };

	if (make_folder(state))
		return -1;
	snprintf(output, sizeof(output), "%s/captures", folder->path);
	fake_reset();
	config = (struct config){ .cpus = cpus, .nr_cpus = 1, .opts.output = output };
	env = (struct capture_env){ &config, &fake.recorder, &captures };
	return output_open(&captures, output, 0, &(struct log){});
}

int remove_output(void **state)
{
	output_close(&captures);
	free(TAKE_PTR(captures.moved));
	return remove_folder(state);
}

struct capture *fake_capture(unsigned int number)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	assert_non_null(capture);
	assert_non_null(snapshot);
	snapshot->number = number;
	capture->snapshot = snapshot;
	capture->spike = (struct perf_poke_spike){
		.sequence = number,
		.time_ns = now_ns,
		.latency_ns = 83500,
		.cpu = 3,
	};
	capture->still_ns = now_ns + 1000 + number;
	capture->armed_ns = now_ns + 5000;
	return capture;
}

void write_capture(struct capture *capture)
{
	capture_begin(&env, capture, true);
	while (!capture_finish(&env, capture))
		continue;
}

static unsigned int count_entries(int dirfd)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	unsigned int nr = 0;

	assert_int_equal(opendir_at(&dir, dirfd, "."), 0);
	while ((entry = readdir(dir)))
		nr += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	return nr;
}

unsigned int fake_entries(const struct capture_env *env)
{
	const int work = env->output->work;
	_cleanup_close_ int fd = open(config.opts.output, O_PATH | O_DIRECTORY | O_CLOEXEC);
	unsigned int nr;

	/* A writer that has ended has closed and removed it, if it is empty. */
	if (fd < 0)
		return 0;
	nr = count_entries(fd) - !faccessat(fd, env->output->work_name, F_OK, 0);
	return work < 0 ? nr : nr + count_entries(work) - tree_is_marked(work);
}
