// SPDX-License-Identifier: GPL-2.0-only
#include "code.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define KERNEL (-1)
#define NO_PROCESS (-2)

struct map {
	int pid;
	uint64_t address, size;
	uint8_t *bytes;
};

struct code {
	FILE *file;
	char *line;
	size_t line_room;
	uint64_t next; /* when what `line` says holds; UINT64_MAX at the end */
	int pid;       /* which process runs */
	struct map *maps;
	size_t count, room;
	size_t last; /* where something was found; count, if nothing was */
};

static void fail(const char *what, const char *about)
{
	fprintf(stderr, "%s: ", what);
	perror(about);
	exit(2);
}

static void next_line(struct code *code)
{
	code->next = UINT64_MAX;
	if (getline(&code->line, &code->line_room, code->file) > 0)
		code->next = strtoull(code->line, NULL, 0);
}

static void add(struct code *code, struct map map)
{
	if (code->count == code->room) {
		code->room = code->room ? 2 * code->room : 64;
		code->maps = realloc(code->maps, code->room * sizeof(*code->maps));
		if (!code->maps)
			fail("maps", "realloc");
	}
	code->maps[code->count++] = map;
	code->last = code->count;
}

/* Private: what is poked stays here. */
static uint8_t *map_file(const char *path, uint64_t offset, uint64_t size)
{
	uint8_t *bytes = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, offset);
	if (bytes == MAP_FAILED)
		fail("code", path);
	close(fd);
	return bytes;
}

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

/* Newer ones hide older ones. */
static struct map *find(struct code *code, uint64_t address)
{
	int pid = is_kernel(address) ? KERNEL : code->pid;

	if (code->last < code->count) {
		struct map *map = &code->maps[code->last];

		if (map->pid == pid && address - map->address < map->size)
			return map;
	}
	for (size_t i = code->count; i--;) {
		struct map *map = &code->maps[i];

		if (map->pid == pid && address - map->address < map->size) {
			code->last = i;
			return map;
		}
	}
	return NULL;
}

size_t code_bytes(struct code *code, uint64_t address, uint8_t *to, size_t size)
{
	size_t got = 0;

	while (got < size) {
		const struct map *map = find(code, address + got);
		uint64_t from, part = size - got;

		if (!map)
			break;
		from = address + got - map->address;
		if (part > map->size - from)
			part = map->size - from;
		memcpy(to + got, map->bytes + from, part);
		got += part;
	}
	return got;
}

static void poke(struct code *code, uint64_t address, const char *hex)
{
	size_t size = strlen(hex) / 2;
	struct map *map = find(code, address);
	unsigned int byte;

	if (!map || address + size > map->address + map->size) {
		add(code, (struct map){ KERNEL, address, size, malloc(size) });
		map = &code->maps[code->count - 1];
		if (!map->bytes)
			fail("poke", "malloc");
	}
	for (size_t i = 0; i < size && sscanf(hex + 2 * i, "%2x", &byte) == 1; i++)
		map->bytes[address - map->address + i] = byte;
}

static void fork_maps(struct code *code, int pid, int parent)
{
	for (size_t i = 0, count = code->count; i < count; i++) {
		struct map map = code->maps[i];

		if (map.pid != parent)
			continue;
		map.pid = pid;
		add(code, map);
	}
}

/* The line up to its end; false if that is none of those that there are. */
static bool do_line(struct code *code)
{
	struct map map;
	uint64_t address, offset;
	int pid, parent, at = 0;
	char *rest = strchr(code->line, ' ');

	if (!rest)
		return false;
	rest[strcspn(rest, "\n")] = '\0';
	if (sscanf(rest, " map %d %" SCNx64 " %" SCNx64 " %" SCNx64 " %n", &map.pid, &map.address,
		   &map.size, &offset, &at) == 4 &&
	    at) {
		if (is_kernel(map.address))
			map.pid = KERNEL;
		map.bytes = map_file(rest + at, offset, map.size);
		add(code, map);
		return true;
	}
	if (sscanf(rest, " fork %d %d", &pid, &parent) == 2) {
		fork_maps(code, pid, parent);
		return true;
	}
	if (sscanf(rest, " run %d", &code->pid) == 1)
		return true;
	if (sscanf(rest, " poke %" SCNx64 " %n", &address, &at) == 1 && at) {
		poke(code, address, rest + at);
		return true;
	}
	return false;
}

void code_go_to(struct code *code, uint64_t tsc)
{
	while (code->next <= tsc) {
		if (!do_line(code)) {
			fprintf(stderr, "what is this of code: %s\n", code->line);
			exit(2);
		}
		next_line(code);
	}
}

struct code *code_read(const char *path)
{
	struct code *code = calloc(1, sizeof(*code));

	if (!code)
		fail("code", "calloc");
	code->pid = NO_PROCESS;
	code->file = fopen(path, "r");
	if (!code->file)
		fail("code", path);
	next_line(code);
	code_go_to(code, 0);
	return code;
}

/* The maps go with the program. */
void code_free(struct code *code)
{
	fclose(code->file);
	free(code->line);
	free(code->maps);
	free(code);
}
