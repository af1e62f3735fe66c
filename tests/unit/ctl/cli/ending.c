// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "test.h"

TEST(catches_all_but_an_ignored_hangup)
{
	struct ending ending;

	signal(SIGHUP, SIG_IGN);
	ending_catch(&ending);
	raise(SIGHUP);
	assert_false(ending_asked);
	raise(SIGTERM);
	assert_true(ending_asked);
	ending_release(&ending);
	assert_ptr_equal(signal(SIGTERM, SIG_DFL), SIG_DFL);
	assert_ptr_equal(signal(SIGHUP, SIG_DFL), SIG_IGN);
}
