// SPDX-License-Identifier: GPL-2.0-only
/* What a snapshot costs besides the PMU, for rings of some sizes: to copy the ring out, while the
 * trace stands still, and to write the copy as a perf.data, which happens later. Beside each the
 * plain way: one memcpy, and write() of the same bytes in pieces of a megabyte as dd does. The ring
 * is shared memory of this process with noise in it: no Intel PT takes part. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perfdata.h"

#define MIB (1024ULL * 1024)
#define ROUNDS 5
#define BLOCK MIB

struct figures {
	double copy_s, memcpy_s, touched_s; /* touched: to memory that is there already */
	double capture_s, capture_disk_s;   /* disk: until fdatasync() has returned */
	double dd_s, dd_disk_s;
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void keep_least(double *least, double seconds)
{
	if (*least == 0 || seconds < *least)
		*least = seconds;
}

static uint8_t *make_ring(size_t size)
{
	uint64_t state = 88172645463325252ULL, *words;
	void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED)
		return NULL;
	words = ring;
	for (size_t i = 0; i < size / sizeof(*words); i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		words[i] = state;
	}
	return ring;
}

/* As the recorder does it: fresh memory, oldest byte first. */
static uint8_t *copy_out(const uint8_t *ring, size_t size, size_t head)
{
	uint8_t *copy = malloc(size);

	if (!copy)
		return NULL;
	memcpy(copy, ring + head, size - head);
	memcpy(copy + size - head, ring, head);
	return copy;
}

static int time_copies(const uint8_t *ring, size_t size, struct figures *figures)
{
	double begin = now_s();
	uint8_t *copy = malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, ring, size);
	keep_least(&figures->memcpy_s, now_s() - begin);
	begin = now_s();
	memcpy(copy, ring, size);
	/* So that no copy may be left out. */
	__asm__ volatile("" ::"r"(copy) : "memory");
	keep_least(&figures->touched_s, now_s() - begin);
	free(copy);
	return 0;
}

static int write_capture(int dirfd, const uint8_t *copy, size_t size, struct figures *figures)
{
	const struct perfdata_event event = {
		.attr = { .size = sizeof(event.attr),
			  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME },
		.name = "intel_pt//",
		.ids = (uint64_t[]){ 1 },
		.nr_ids = 1,
	};
	const struct perfdata_auxtrace trace = { .reference = 1, .parts = { { copy, size } } };
	double begin = now_s();
	struct perfdata *pd = NULL;
	int fd, err = perfdata_create(&pd, dirfd, "perf.data", &event, 1);

	if (!err)
		err = perfdata_write_auxtrace(pd, &trace);
	if (!err)
		err = perfdata_finish(pd, NULL, 0, 0);
	keep_least(&figures->capture_s, now_s() - begin);
	fd = openat(dirfd, "perf.data/data", O_RDONLY | O_CLOEXEC);
	if (!err && (fd < 0 || fdatasync(fd)))
		err = -errno;
	keep_least(&figures->capture_disk_s, now_s() - begin);
	if (fd >= 0)
		close(fd);
	perfdata_free(pd);
	unlinkat(dirfd, "perf.data/data", 0);
	unlinkat(dirfd, "perf.data", AT_REMOVEDIR);
	return err;
}

static int write_plainly(int dirfd, const uint8_t *copy, size_t size, struct figures *figures)
{
	double begin = now_s();
	int fd = openat(dirfd, "plain", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : 0;

	for (size_t at = 0; at < size && !err;) {
		size_t piece = size - at < BLOCK ? size - at : BLOCK;
		ssize_t written = write(fd, copy + at, piece);

		if (written < 0)
			err = -errno;
		else
			at += written;
	}
	keep_least(&figures->dd_s, now_s() - begin);
	if (!err && fdatasync(fd))
		err = -errno;
	keep_least(&figures->dd_disk_s, now_s() - begin);
	if (fd >= 0)
		close(fd);
	unlinkat(dirfd, "plain", 0);
	return err;
}

/* The plain ways come after what they are compared with, and before it the next time. */
static int round_of(int dirfd, const uint8_t *ring, size_t size, struct figures *figures)
{
	double begin = now_s();
	uint8_t *copy = copy_out(ring, size, size / 3);
	int err = copy ? 0 : -ENOMEM;

	keep_least(&figures->copy_s, now_s() - begin);
	if (!err)
		err = write_capture(dirfd, copy, size, figures);
	if (!err)
		err = write_plainly(dirfd, copy, size, figures);
	free(copy);
	return err ? err : time_copies(ring, size, figures);
}

static void print_row(const struct figures *f, size_t size)
{
	double mib = (double)size / MIB;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("%5.0fM %9.0f %9.0f %5.2f %9.0f %9.0f %9.0f %5.2f %9.0f %9.0f %5.2f %7.2f %8ld\n",
	       mib, mib / f->copy_s, mib / f->memcpy_s, f->memcpy_s / f->copy_s, mib / f->touched_s,
	       mib / f->capture_s, mib / f->dd_s, f->dd_s / f->capture_s, mib / f->capture_disk_s,
	       mib / f->dd_disk_s, f->dd_disk_s / f->capture_disk_s, f->copy_s * 1e3,
	       usage.ru_maxrss / 1024);
}

static int measure(int dirfd, size_t size)
{
	uint8_t *ring = make_ring(size);
	struct figures figures = {};
	int err = ring ? 0 : -ENOMEM;

	for (int round = 0; round < ROUNDS && !err; round++)
		err = round_of(dirfd, ring, size, &figures);
	if (err) {
		fprintf(stderr, "%llu MiB: %s\n", size / MIB, strerror(-err));
		return 1;
	}
	print_row(&figures, size);
	return 0;
}

/* Room for the ring, its copy and what is not yet on the disk; and on the disk for one file. */
static const char *no_room(int dirfd, size_t size)
{
	uint64_t free_memory = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	struct statvfs fs;

	if (free_memory < 3 * size)
		return "memory";
	if (fstatvfs(dirfd, &fs) || fs.f_bavail * fs.f_frsize < 2 * size)
		return "disk space";
	return NULL;
}

/* In a process of its own, whose most resident memory is that of this size. */
static int measure_alone(int dirfd, size_t size)
{
	const char *missing = no_room(dirfd, size);
	int status;
	pid_t pid;

	if (missing) {
		printf("%5lluM left out: too little %s\n", size / MIB, missing);
		return 0;
	}
	fflush(stdout);
	pid = fork();
	if (!pid)
		exit(measure(dirfd, size));
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(void)
{
	static const size_t sizes[] = { 16 * MIB, 256 * MIB, 1024 * MIB };
	const char *tmp = getenv("TMPDIR");
	char path[4096];
	int dirfd, failed = 0;

	snprintf(path, sizeof(path), "%s/snapshot-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(path)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	printf("memory of this process as the ring: no Intel PT here. MiB/s, best of %d; ratios "
	       "to the plain way (aim: 0.80)\n"
	       "  ring  copy-out    memcpy ratio  mem.warm   capture     write ratio "
	       "+disk:cap    +write ratio copy ms RSS MiB\n",
	       ROUNDS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !failed; i++)
		failed = dirfd < 0 || measure_alone(dirfd, sizes[i]);
	close(dirfd);
	rmdir(path);
	return failed;
}
