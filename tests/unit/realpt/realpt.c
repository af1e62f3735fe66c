// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "realpt.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "util.h"

static const char *root;

const struct realpt_raw realpt_raws[] = {
	{ "pt-0b3b6b249ed7.bin", 22112, 14921, 2 }, { "pt-8bcc41cd4f7a.bin", 32304, 20451, 2 },
	{ "pt-8e840b92d74c.bin", 15040, 10338, 1 }, { "pt-926b15750c97.bin", 32176, 21831, 2 },
	{ "pt-b54eaac17ca5.bin", 2848, 1433, 1 },   { "pt-c2d9c5be1804.bin", 14640, 10109, 1 },
	{ "pt-d36dda053919.bin", 2272, 1141, 1 },   { "quip-0.bin", 12240, 9980, 1 },
	{ "quip-1.bin", 137728, 95129, 9 },	    {},
};

bool realpt_find(const char *beside)
{
	root = getenv("PERF_POKE_REALPT") ?: beside;
	if (!access(root, X_OK))
		return true;
	printf("skipped: no recordings of real CPUs in %s (PERF_POKE_REALPT)\n", root);
	return false;
}

char *realpt_path(const char *folder, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s/%s", root, folder, name) < 0)
		abort();
	return path;
}

uint8_t *realpt_read(const char *folder, const char *name, size_t *len)
{
	_cleanup_free_ char *path = realpt_path(folder, name);
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	uint8_t *bytes;
	long end;

	if (!file || fseek(file, 0, SEEK_END) || (end = ftell(file)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(file);
	bytes = malloc(end + 1);
	if (!bytes || fread(bytes, 1, end, file) != (size_t)end)
		abort();
	*len = end;
	return bytes;
}
