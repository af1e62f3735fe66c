// SPDX-License-Identifier: GPL-2.0-only
/* Runs a target on the files of a folder: those named good-* must be accepted, bad-* refused. */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "util.h"

#define MAX_SIZE (8 << 20)

static int run_file(int dirfd, const char *name)
{
	_cleanup_close_ int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC);
	bool good = !strncmp(name, "good-", strlen("good-"));
	_cleanup_free_ uint8_t *data = malloc(MAX_SIZE);
	ssize_t size = fd < 0 || !data ? -1 : read(fd, data, MAX_SIZE);
	int r;

	if (size < 0 || size == MAX_SIZE) {
		printf("%s: cannot be read\n", name);
		return 1;
	}
	r = fuzz_one(data, (size_t)size);
	if (good == !r)
		return 0;
	printf("%s: %s (%d)\n", name, r ? "refused" : "accepted", r);
	return 1;
}

int main(int argc, char **argv)
{
	_cleanup_closedir_ DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *entry;
	int nr = 0, failed = 0;

	if (!dir) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		nr++;
		failed += run_file(dirfd(dir), entry->d_name);
	}
	printf("%d files, %d of them wrong\n", nr, failed);
	return failed || !nr;
}
