// SPDX-License-Identifier: GPL-2.0-only
/* The cost of a snapshot besides the PMU, for several ring sizes: to copy the ring while the trace
 * is stopped, and to write the copy as a perf.data later. The references are one memcpy(), and
 * write() of the same bytes in pieces of a megabyte, as dd does. The plain write() is measured
 * twice: the ratio of these two rows shows the noise. The ring is shared memory with random bytes,
 * not Intel PT's. */
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

#include "median.h"
#include "perfdata.h"
#include "recorder/pt/pt.h"

#define MIB (1024ULL * 1024)
#define ROUNDS 9
#define BLOCK MIB

enum what {
	COPY,	/* as the recorder does, to memory it keeps */
	FRESH,	/* the same to new memory, as when the kept memory is in use */
	MEMCPY, /* to memory that is already mapped */
	CAPTURE,
	WRITE,
	CONTROL, /* WRITE again */
	NR_TIMED,
};

struct figures {
	double s[NR_TIMED][ROUNDS];
	double disk_s[NR_TIMED][ROUNDS]; /* until fdatasync() has returned */
};

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
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

/* As the recorder does it: oldest byte first. */
static void copy_out(const uint8_t *ring, size_t size, uint8_t *copy)
{
	size_t head = size / 3;

	memcpy(copy, ring + head, size - head);
	memcpy(copy + size - head, ring, head);
	/* Prevents the compiler from leaving out a copy. */
	__asm__ volatile("" ::"r"(copy) : "memory");
}

/* The pool gives the kept memory first. */
static int time_copies(struct pt_pool *pool, const uint8_t *ring, size_t size,
		       struct figures *figures, int round)
{
	double begin = now_s();
	uint8_t *kept = pt_pool_take(pool), *fresh;

	copy_out(ring, size, kept);
	figures->s[COPY][round] = now_s() - begin;
	begin = now_s();
	fresh = pt_pool_take(pool);
	if (fresh)
		copy_out(ring, size, fresh);
	figures->s[FRESH][round] = now_s() - begin;
	pt_pool_give(pool, fresh);
	begin = now_s();
	memcpy(kept, ring, size);
	__asm__ volatile("" ::"r"(kept) : "memory");
	figures->s[MEMCPY][round] = now_s() - begin;
	pt_pool_give(pool, kept);
	return fresh ? 0 : -ENOMEM;
}

static int write_capture(int dirfd, const uint8_t *copy, size_t size, double *s, double *disk_s)
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
	*s = now_s() - begin;
	fd = openat(dirfd, "perf.data/data", O_RDONLY | O_CLOEXEC);
	if (!err && (fd < 0 || fdatasync(fd)))
		err = -errno;
	*disk_s = now_s() - begin;
	if (fd >= 0)
		close(fd);
	perfdata_free(pd);
	unlinkat(dirfd, "perf.data/data", 0);
	unlinkat(dirfd, "perf.data", AT_REMOVEDIR);
	return err;
}

static int write_plainly(int dirfd, const uint8_t *copy, size_t size, double *s, double *disk_s)
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
	*s = now_s() - begin;
	if (!err && fdatasync(fd))
		err = -errno;
	*disk_s = now_s() - begin;
	if (fd >= 0)
		close(fd);
	unlinkat(dirfd, "plain", 0);
	return err;
}

/* Each variant comes first, second and last equally often. Pending work of the file system, such as
 * discarding blocks of the previous file, is completed before the clock starts. */
static int time_writes(int dirfd, const uint8_t *copy, size_t size, struct figures *figures,
		       int round)
{
	int err = 0;

	for (int i = 0; i < 3 && !err; i++) {
		int what = CAPTURE + (round + i) % 3;
		double *s = &figures->s[what][round], *disk_s = &figures->disk_s[what][round];

		syncfs(dirfd);
		err = what == CAPTURE ? write_capture(dirfd, copy, size, s, disk_s)
				      : write_plainly(dirfd, copy, size, s, disk_s);
	}
	return err;
}

static int round_of(int dirfd, struct pt_pool *pool, const uint8_t *ring, size_t size,
		    struct figures *figures, int round)
{
	int err = time_copies(pool, ring, size, figures, round);
	uint8_t *copy = pt_pool_take(pool);

	copy_out(ring, size, copy);
	if (!err)
		err = time_writes(dirfd, copy, size, figures, round);
	pt_pool_give(pool, copy);
	return err;
}

static void print_row(struct figures *figures, size_t size)
{
	double mib = (double)size / MIB, s[NR_TIMED], disk_s[NR_TIMED];
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	for (int i = 0; i < NR_TIMED; i++) {
		s[i] = median(figures->s[i], ROUNDS);
		disk_s[i] = median(figures->disk_s[i], ROUNDS);
	}
	printf("%5.0fM %8.0f %8.0f %5.2f %8.0f %8.0f %8.0f %5.2f %7.2f %8.0f %8.0f %5.2f %7.2f "
	       "%7.2f %8ld\n",
	       mib, mib / s[COPY], mib / s[MEMCPY], s[MEMCPY] / s[COPY], mib / s[FRESH],
	       mib / s[CAPTURE], mib / s[WRITE], s[WRITE] / s[CAPTURE], s[WRITE] / s[CONTROL],
	       mib / disk_s[CAPTURE], mib / disk_s[WRITE], disk_s[WRITE] / disk_s[CAPTURE],
	       disk_s[WRITE] / disk_s[CONTROL], s[COPY] * 1e3, usage.ru_maxrss / 1024);
}

static int measure(int dirfd, size_t size)
{
	uint8_t *ring = make_ring(size);
	struct pt_pool *pool = NULL;
	struct figures figures = {};
	int err = ring ? pt_pool_new(&pool, 1, size) : -ENOMEM;

	for (int round = 0; round < ROUNDS && !err; round++)
		err = round_of(dirfd, pool, ring, size, &figures, round);
	pt_pool_free(pool);
	if (err) {
		fprintf(stderr, "%llu MiB: %s\n", size / MIB, strerror(-err));
		return 1;
	}
	print_row(&figures, size);
	return 0;
}

/* Memory for the ring, its copies and dirty pages; and disk space for one file. */
static const char *no_room(int dirfd, size_t size)
{
	uint64_t free_memory = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	struct statvfs fs;

	if (free_memory < 4 * size)
		return "memory";
	if (fstatvfs(dirfd, &fs) || fs.f_bavail * fs.f_frsize < 2 * size)
		return "disk space";
	return NULL;
}

/* In a child, so that its peak memory is that of this size. */
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
	printf("memory of this process as the ring: no Intel PT here. MiB/s, medians of %d; ratios "
	       "to the plain way (aim: 0.80); control: of the plain way to itself\n"
	       "  ring copy-out   memcpy ratio    fresh  capture    write ratio control "
	       "+disk:cap   +write ratio control copy ms RSS MiB\n",
	       ROUNDS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !failed; i++)
		failed = dirfd < 0 || measure_alone(dirfd, sizes[i]);
	close(dirfd);
	rmdir(path);
	return failed;
}
