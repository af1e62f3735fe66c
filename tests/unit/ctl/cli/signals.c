// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "test.h"

TEST(catches_all_but_an_ignored_hangup)
{
	struct signals_old ending;

	signal(SIGHUP, SIG_IGN);
	signals_catch_ending(&ending);
	raise(SIGHUP);
	assert_false(signals_asked_end);
	raise(SIGTERM);
	assert_true(signals_asked_end);
	signals_restore_old(&ending);
	assert_ptr_equal(signal(SIGTERM, SIG_DFL), SIG_DFL);
	assert_ptr_equal(signal(SIGHUP, SIG_DFL), SIG_IGN);
}
