// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "cpuinfo.h"

#include <errno.h>

#include "helpers.h"

TEST_IN_FOLDER(finds_what_the_first_processor_has)
{
	char entry[CPUINFO_SIZE], value[64];

	assert_int_equal(cpuinfo_read(folder->fd, entry), -ENOENT);
	assert_string_equal(entry, "");
	put_file(folder->fd, "proc/cpuinfo",
		 "processor\t: 0\nmodel\t\t: 143\nmodel name\t: A  B\nflags\t\t: fpu "
		 "lahf\nbugs\t\t:\n"
		 "\nprocessor\t: 1\nmicrocode\t: 0x1\n");
	assert_int_equal(cpuinfo_read(folder->fd, entry), 0);
	assert_true(cpuinfo_find(entry, "model", value, sizeof(value)));
	assert_string_equal(value, "143");
	assert_true(cpuinfo_find(entry, "flags", value, sizeof(value)));
	assert_string_equal(value, "fpu lahf");
	assert_true(cpuinfo_find(entry, "bugs", value, sizeof(value)));
	assert_string_equal(value, "");
	assert_false(cpuinfo_find(entry, "mode", value, sizeof(value)));
	assert_false(cpuinfo_find(entry, "microcode", value, sizeof(value)));
}

TEST(describes_by_name_or_numbers)
{
	char text[40];

	assert_true(cpuinfo_describe("processor\t: 0\nmodel name\t: Some  CPU   @ 3 GHz", text,
				     sizeof(text)));
	assert_string_equal(text, "Some CPU @ 3 GHz");
	assert_true(cpuinfo_describe("Features\t: fp\nCPU implementer\t: 0x41\nCPU architecture: 8",
				     text, sizeof(text)));
	assert_string_equal(text, "implementer 0x41, architecture 8");
	/* Cut where the text ends. */
	assert_true(
		cpuinfo_describe("CPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd08",
				 text, sizeof(text)));
	assert_string_equal(text, "implementer 0x41, architecture 8, part ");
	assert_false(cpuinfo_describe("processor\t: 0\nhart\t: 0", text, sizeof(text)));
	assert_string_equal(text, "");
}
