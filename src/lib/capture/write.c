// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/capture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/spike.h"
#include "clock.h"
#include "trigger/trigger.h"

#define NAME_TRIES 1000

/* Sorts by time and states the spike: 20261121-093015.042-cpu3-83us */
static void capture_name(const struct capture *capture, char *name, size_t size)
{
	const struct perf_poke_spike *spike = &capture->spike;
	const char *kind = spike->kind ? trigger_kind_name(spike->kind) : "";
	uint64_t wall_ns = clock_wall_ns(spike->time_ns);
	time_t seconds = wall_ns / NSEC_PER_SEC;
	struct tm tm;
	size_t len;

	localtime_r(&seconds, &tm);
	len = strftime(name, size, "%Y%m%d-%H%M%S", &tm);
	len += snprintf(name + len, size - len, ".%03u",
			(unsigned int)(wall_ns % NSEC_PER_SEC / 1000000));
	if (spike->poked)
		snprintf(name + len, size - len, "-poke");
	else
		snprintf(name + len, size - len, "-cpu%d-%s%s%" PRIu64 "us", spike->cpu, kind,
			 *kind ? "-" : "", spike->latency_ns / 1000);
}

/* Renames the complete capture, unless the name is taken. */
static int capture_publish(const struct capture_env *env, const char *partial,
			   struct capture *capture)
{
	const struct output *output = env->output;
	char wanted[80], name[96];

	capture_name(capture, wanted, sizeof(wanted));
	for (int i = 1; i <= NAME_TRIES; i++) {
		if (i == 1)
			snprintf(name, sizeof(name), "%s", wanted);
		else
			snprintf(name, sizeof(name), "%s-%d", wanted, i);
		/* rename() replaces an empty folder only. Not every file system has
		 * RENAME_NOREPLACE. */
		if (!renameat(output->work, partial, output->fd, name))
			return asprintf(&capture->path, "%s/%s", output->path, name) < 0 ? -ENOMEM
											 : 0;
		if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
			return -errno;
	}
	return -EEXIST;
}

static int capture_fill(const struct capture_env *env, int dirfd, struct capture *capture)
{
	struct perf_poke_spike *spike = &capture->spike;
	int err;

	/* While the task still exists. */
	spike_take_stacks(env, capture);
	err = recorder_write(env->recorder, capture->snapshot, dirfd, spike, &capture->facts);
	if (err)
		return err;
	spike_complete(env, capture);
	err = capture_json_write(env, capture, dirfd);
	capture->size = tree_size(dirfd, ".");
	return err;
}

static int capture_identify(struct capture *capture, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	capture->dev = st.st_dev;
	capture->ino = st.st_ino;
	return 0;
}

static int capture_try(const struct capture_env *env, struct capture *capture)
{
	_cleanup_close_ int fd = -1;
	char partial[32];
	int err;

	err = output_renew(env->output, &capture->note);
	if (err < 0)
		return err;
	snprintf(partial, sizeof(partial), "%" PRIu64, capture->still_ns);
	if (mkdirat(env->output->work, partial, 0700))
		return -errno;
	fd = openat(env->output->work, partial, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	err = fd < 0 ? -errno : capture_identify(capture, fd);
	if (!err)
		err = capture_fill(env, fd, capture);
	if (!err)
		err = capture_publish(env, partial, capture);
	if (err)
		tree_remove(env->output->work, partial);
	return err;
}

void capture_write(const struct capture_env *env, struct capture *capture)
{
	capture->error = capture_try(env, capture);
	recorder_snapshot_free(env->recorder, capture->snapshot);
	capture->snapshot = NULL;
}
