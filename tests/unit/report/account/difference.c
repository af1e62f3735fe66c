// SPDX-License-Identifier: GPL-2.0-only
#include "account/difference.h"

#include "report/timeline.h"
#include "test.h"

static const char *name_of(const struct account *account, uint32_t span)
{
	if (span == SPAN_NONE)
		return "-";
	return names_get(account->spans->names, account->spans->lanes[LANE_CODE].spans[span].name);
}

static void print_where_paths_part(FILE *file)
{
	_cleanup_(account_release) struct account here, there;
	_cleanup_(difference_release) struct difference difference;
	const struct parting *parting = &difference.parting;

	assert_int_equal(TIMELINE(&here, true, TASK(0, "t 1"), CALL(0, "x"), CALL(0, "main"),
				  CALL(20000, "only"), RETURN(20001), CALL(30000, "a"),
				  CALL(31000, "b"), RETURN(32000), CALL(33000, "c"), RETURN(34000),
				  RETURN(35000), CALL(36000, "flush"), RETURN(196000)),
			 0);
	/* Another task, with other numbers for names, and a deeper stack. */
	assert_int_equal(TIMELINE(&there, true, TASK(0, "other 2"), CALL(0, "x"), CALL(0, "main"),
				  CALL(130000, "a"), CALL(131000, "b"), RETURN(132000),
				  CALL(133000, "c"), RETURN(134000), RETURN(135000),
				  CALL(136000, "quick"), RETURN(137000)),
			 0);
	assert_int_equal(account_finish(&here), 0);
	assert_int_equal(account_finish(&there), 0);
	assert_int_equal(difference_make(&difference, &here, &there), 0);
	assert_int_equal(parting->same, 3);
	assert_string_equal(name_of(&here, parting->here), "a");
	assert_string_equal(name_of(&there, parting->there), "a");
	assert_string_equal(name_of(&here, parting->then_here), "flush");
	assert_string_equal(name_of(&there, parting->then_there), "quick");
	assert_string_equal(difference.longer[0].name, "flush");
	assert_int_equal(difference.longer[0].here_ns, 160000);
	assert_int_equal(difference.longer[0].there_ns, 0);
	assert_string_equal(difference.longer[1].name, "main");
	assert_true(difference.longer[1].here_ns < difference.longer[1].there_ns);
	difference_print(file, &difference, &here, &there, 2);
}

GOLDEN(PART(print_where_paths_part))

TEST(knows_the_same)
{
	_cleanup_(account_release) struct account here, there;
	_cleanup_(difference_release) struct difference difference;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(TIMELINE(i ? &there : &here, false, TASK(0, "t 1"),
					  ENTER(50000, SPAN_INTERRUPT, "irq"), RETURN(60000)),
				 0);
		assert_int_equal(account_finish(i ? &there : &here), 0);
	}
	assert_int_equal(difference_make(&difference, &here, &there), 0);
	assert_int_equal(difference.parting.same, 1);
	assert_int_equal(difference.parting.then_here, SPAN_NONE);
	assert_int_equal(difference.nr_longer, 0);
}

TEST(knows_nothing_in_common)
{
	_cleanup_(account_release) struct account here, there;
	_cleanup_(difference_release) struct difference difference;

	assert_int_equal(TIMELINE(&here, true, TASK(0, "t 1"), CALL(50000, "a")), 0);
	assert_int_equal(TIMELINE(&there, true, TASK(0, "t 1"), CALL(50000, "b")), 0);
	assert_int_equal(account_finish(&here), 0);
	assert_int_equal(account_finish(&there), 0);
	assert_int_equal(difference_make(&difference, &here, &there), 0);
	assert_int_equal(difference.parting.same, 0);
	assert_int_equal(difference.nr_longer, 2);
}
