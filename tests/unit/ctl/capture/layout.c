// SPDX-License-Identifier: GPL-2.0-only
#include "capture/layout.h"

#include "test.h"

TEST(knows_names_of_captures)
{
	static const char *const names[] = {
		"capture",
		"20261121-093015.042-poke",
		"20261121-093015.042-cpu3-83us",
		"20261121-093015.042-cpu3-83us-2",
		"20261121-093015.042-cpu8191-marker-0us",
		"20261121-093015.042-cpu3-newer-83us",
		"20261121-093015.042-cpu0-wakeup-12345us-1000",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(layout_is_name(names[i]));
}

TEST(refuses_other_names)
{
	static const char *const names[] = {
		"",
		"captures",
		"20261121-093015.042-cpu3",
		"20261121-093015.042-cpu3-Marker-83us",
		"20261121-093015.042-cpu3-x2-83us",
		"20261121-093015.042-cpu3-marker--83us",
		"20261121-093015.042-cpu3-83us/",
		"x20261121-093015.042-cpu3-83us",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(layout_is_name(names[i]));
}
