// SPDX-License-Identifier: GPL-2.0-only
#include "code/symbolizer.h"

#include <signal.h>
#include <string.h>

#include "build_id.h"
#include "io.h"
#include "perfdata/helpers.h"

static const struct files_places here;

/* The child that serves this process. */
static pid_t child(void)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	assert_int_equal(read_text_at(AT_FDCWD, path, text, sizeof(text)), 0);
	return atoi(text);
}

static int open_self(struct symbolizer *symbolizer, struct symbols *symbols, uint32_t *number)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct files_wanted wanted = { "/proc/self/exe", build_id_of_elf(fd) };

	return symbolizer_open_file(symbolizer, &wanted, fd, symbols, number);
}

TEST(knows_this_program)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	_cleanup_(symbols_release) struct symbols symbols = {};
	const struct symbols_entry *entry;
	uint32_t number;

	assert_int_equal(symbolizer_new(&symbolizer, &here), 0);
	assert_int_equal(open_self(symbolizer, &symbols, &number), 0);
	entry = symbols_by_name(&symbols, "main");
	assert_non_null(entry);
	assert_ptr_equal(symbols_find(&symbols, entry->start), entry);
	assert_int_not_equal(number, SYMBOLIZER_NO_FILE);
}

/* As when libdw crashed: what it knew is gone, nothing else. */
TEST(outlives_its_process)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	struct symbols symbols = {};
	struct source_places places;
	uint32_t number, next;

	assert_int_equal(symbolizer_new(&symbolizer, &here), 0);
	assert_int_equal(open_self(symbolizer, &symbols, &number), 0);
	symbols_release(&symbols);
	for (int i = 0; i < 12; i++) {
		if (child())
			kill(child(), SIGKILL);
		assert_int_equal(open_self(symbolizer, &symbols, &next), 0);
		assert_int_equal(symbols.nr, 0);
		assert_int_equal(next, SYMBOLIZER_NO_FILE);
		assert_int_equal(
			symbolizer_find_places(symbolizer, number, &(uint64_t){ 0 }, 1, &places),
			0);
		assert_int_equal(places.nr, 0);
		assert_int_equal(open_self(symbolizer, &symbols, &next), 0);
		/* Of one that ends again and again, no other is started. */
		assert_int_equal(!symbols.nr, i >= 7);
		symbols_release(&symbols);
	}
}

TEST_IN_FOLDER(refuses_what_is_no_elf)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	const struct files_wanted wanted = { "script" };
	_cleanup_close_ int fd = -1;
	struct symbols symbols;
	uint32_t number;

	put_file(folder->fd, "script", "#!/bin/sh\n");
	fd = openat(folder->fd, "script", O_RDONLY | O_CLOEXEC);
	assert_int_equal(symbolizer_new(&symbolizer, &here), 0);
	assert_int_equal(symbolizer_open_file(symbolizer, &wanted, fd, &symbols, &number),
			 -ENOEXEC);
	assert_int_equal(number, SYMBOLIZER_NO_FILE);
}
