// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On a file of this test's own, by replacing fopen() at link time, and on the running kernel's. */
#include "machine/base.h"

#include <stdbool.h>
#include <string.h>

#include "test.h"
#include "util.h"

static const char *fixture; /* NULL: the kernel's own file */
static const char *modules = "";
static char long_name[600];

FILE *__real_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!strcmp(path, "/proc/modules"))
		return *modules ? fmemopen((char *)modules, strlen(modules), "r") : NULL;
	assert_string_equal(path, "/proc/kallsyms");
	return fixture ? fmemopen((char *)fixture, strlen(fixture), "r") : __real_fopen(path, mode);
}

/* Its name with 64-bit file offsets. */
FILE *__wrap_fopen64(const char *path, const char *mode) __attribute__((alias("__wrap_fopen")));

TEST(finds_functions)
{
	uint64_t address = 0;

	fixture = "ffffffff81000000 T _text\n"
		  "ffffffff81000000 t startup\n"
		  "ffffffff81000040 t hrtimer_wakeup\n"
		  "ffffffff81000080 t twice\n"
		  "ffffffff81000100 W weak\n"
		  "ffffffff81000200 t twice\n"
		  "ffffffff82000000 D jiffies\n"
		  "garbage\n"
		  "ffffffffc0000010 t in_module\t[snd]\n"
		  "ffffffffc0000020 t unterminated";
	assert_int_equal(kallsyms_find("hrtimer_wakeup", &address), 0);
	assert_int_equal(address, 0xffffffff81000040);
	assert_int_equal(kallsyms_find("weak", &address), 0);
	assert_int_equal(address, 0xffffffff81000100);
	assert_int_equal(kallsyms_find("in_module", &address), 0);
	assert_int_equal(address, 0xffffffffc0000010);
	assert_int_equal(kallsyms_find("unterminated", &address), 0);
	assert_int_equal(address, 0xffffffffc0000020);
	assert_int_equal(kallsyms_find("twice", &address), -ENOTUNIQ);
	assert_int_equal(address, 0xffffffff81000080);
	/* Data, a prefix of a name, an unknown name. */
	assert_int_equal(kallsyms_find("jiffies", &address), -ENOENT);
	assert_int_equal(kallsyms_find("hrtimer_wake", &address), -ENOENT);
	assert_int_equal(kallsyms_find("", &address), -ENOENT);
	assert_int_equal(address, 0xffffffff81000080);
}

static struct kallsyms_place place_of(uint64_t address)
{
	struct kallsyms_place place = { .address = address };

	assert_int_equal(kallsyms_places(&place, 1), 0);
	return place;
}

TEST(finds_places)
{
	struct kallsyms_place places[] = {
		{ .address = 0xffffffff81000050 },
		{ .address = 0xffffffffc0000010 },
		{ .address = 0xffffffff81000000 },
	};

	/* Modules are unsorted. */
	fixture = "ffffffffc0000040 t later\t[snd]\n"
		  "ffffffffc0000010 t $x\t[snd]\n"
		  "ffffffffc0000010 t in_module\t[snd]\n"
		  "ffffffff81000000 D data\n"
		  "ffffffff81000000 t startup\n"
		  "ffffffff81000000 t alias\n"
		  "ffffffff81000040 T whole\n"
		  "ffffffff81000048 d not_code\n";
	assert_int_equal(kallsyms_places(places, ARRAY_SIZE(places)), 0);
	assert_string_equal(places[0].name, "whole");
	assert_int_equal(places[0].start, 0xffffffff81000040);
	assert_string_equal(places[0].module, "");
	assert_string_equal(places[1].name, "in_module");
	assert_string_equal(places[1].module, "snd");
	assert_string_equal(places[2].name, "startup");
	/* Before all symbols, and in user space. */
	assert_int_equal(place_of(0xffffffff80ffffff).start, 0);
	assert_int_equal(place_of(0x400000).start, 0);
	assert_int_equal(place_of(0).start, 0);
}

/* Symbols have no end; an address far after the last one belongs to a removed module. */
TEST(leaves_what_is_gone)
{
	fixture = "ffffffff81000000 t early\n"
		  "ffffffff81000040 t startup\n"
		  "ffffffff81000100 T _etext\n"
		  "ffffffff81002000 t in_init\n"
		  "ffffffffc0000010 t in_module\t[snd]\n"
		  "ffffffffc0a00000 t bpf_prog_1\t[bpf]\n";
	modules = "snd 4096 0 - Live 0xffffffffc0000000\n";
	assert_string_equal(place_of(0xffffffff810000ff).name, "startup");
	assert_int_equal(place_of(0xffffffff810000ff).end, 0xffffffff81000100);
	assert_int_equal(place_of(0xffffffff81000001).end, 0xffffffff81000040);
	assert_int_equal(place_of(0xffffffff81002001).end, 0);
	assert_int_equal(place_of(0xffffffffc0000011).end, 0);
	assert_int_equal(place_of(0xffffffff81000101).start, 0);
	assert_string_equal(place_of(0xffffffff81002001).name, "in_init");
	assert_string_equal(place_of(0xffffffffc0000fff).module, "snd");
	assert_int_equal(place_of(0xffffffffc0001000).start, 0);
	assert_string_equal(place_of(0xffffffffc0a00fff).name, "bpf_prog_1");
	assert_int_equal(place_of(0xffffffffc1a00000).start, 0);
	modules = "";
}

TEST(tells_of_hidden_addresses)
{
	uint64_t address = 7;

	fixture = "0000000000000000 T hrtimer_wakeup\n"
		  "0000000000000000 t other\n";
	assert_int_equal(kallsyms_find("hrtimer_wakeup", &address), -EPERM);
	assert_int_equal(address, 7);
	assert_int_equal(kallsyms_find("unknown", &address), -ENOENT);
	assert_int_equal(place_of(0).start, 0);
	assert_int_equal(place_of(0xffffffff81000000).start, 0);
}

TEST(finds_long_names)
{
	_cleanup_free_ char *text = NULL;
	uint64_t address;

	memset(long_name, 'n', sizeof(long_name) - 1);
	assert_true(asprintf(&text, "ffffffff81000000 T %s\nffffffff81000100 T next\n", long_name) >
		    0);
	fixture = text;
	assert_int_equal(kallsyms_find(long_name, &address), 0);
	assert_int_equal(address, 0xffffffff81000000);
	assert_int_equal(kallsyms_find("next", &address), 0);
	assert_int_equal(address, 0xffffffff81000100);
	fixture = NULL;
}

/* The timer function on every supported kernel. Its address is found, or the library says that
 * addresses are hidden. */
TEST(agrees_with_the_kernel)
{
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t address = 0, listed;
	char line[1024], type, name[512];
	bool seen = false;
	int found;

	fixture = NULL;
	file = __real_fopen("/proc/kallsyms", "re");
	if (!file) {
		print_message("no /proc/kallsyms: not compared with it\n");
		skip();
	}
	while (!seen && fgets(line, sizeof(line), file))
		seen = sscanf(line, "%lx %c %511s", &listed, &type, name) == 3 &&
		       !strcmp(name, "hrtimer_wakeup");
	assert_true(seen);
	found = kallsyms_find("hrtimer_wakeup", &address);
	assert_int_equal(found, listed ? 0 : -EPERM);
	assert_int_equal(address, listed);
	assert_string_equal(place_of(address).name, listed ? "hrtimer_wakeup" : "");
	assert_int_equal(kallsyms_find("no such function", &address), -ENOENT);
}
