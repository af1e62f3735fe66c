// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "pins.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cmocka.h>

#define LONGEST "123456789012345678901234567890123456789012345678901234567890123"

static void knows_names(void **state)
{
	static const char *const good[] = { "a", "4711", "A.b-C_d", "...", ".a", "-", LONGEST };
	static const char *const bad[] = {
		"", ".", "..", "a/b", "/", "a b", "a:b", "a\n", "\303\244", LONGEST "4",
	};

	(void)state;
	assert_int_equal(strlen(LONGEST), PINS_NAME_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(pins_name_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(pins_name_valid(bad[i]));
}

static void folders_have_no_dots(void **state)
{
	static const char *const names[] = { "a", "a.b..c", "...", ".a", LONGEST };
	char folder[PINS_NAME_MAX + 1], name[PINS_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		pins_folder_name(folder, names[i]);
		assert_null(strchr(folder, '.'));
		pins_session_name(name, folder);
		assert_string_equal(name, names[i]);
	}
	/* Whatever others have put there. */
	pins_session_name(name, LONGEST "and more");
	assert_string_equal(name, LONGEST);
}

struct place {
	char path[32];
	int dirfd;
};

static int make_place(void **state)
{
	static struct place place;

	strcpy(place.path, "/tmp/perf-poke-pins-XXXXXX");
	if (!mkdtemp(place.path))
		return -1;
	place.dirfd = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = &place;
	return place.dirfd < 0 ? -1 : 0;
}

static int remove_place(void **state)
{
	struct place *place = *state;

	unlinkat(place->dirfd, "s", AT_REMOVEDIR);
	closep(&place->dirfd);
	return rmdir(place->path);
}

static void lock_tells_life(void **state)
{
	const struct place *place = *state;
	_cleanup_close_ int owner = -1;
	_cleanup_close_ int other = -1;
	_cleanup_close_ int third = -1;

	assert_int_equal(pins_open_session(place->dirfd, "s"), -ENOENT);
	assert_int_equal(mkdirat(place->dirfd, "s", 0700), 0);
	owner = pins_open_session(place->dirfd, "s");
	other = pins_open_session(place->dirfd, "s");
	third = pins_open_session(place->dirfd, "s");
	assert_int_equal(flock(owner, LOCK_EX), 0);
	assert_true(pins_is_alive(other));
	assert_int_equal(pins_remove(place->dirfd, "s", other), -EWOULDBLOCK);
	assert_int_equal(faccessat(place->dirfd, "s", F_OK, 0), 0);

	/* The controller is killed; somebody is looking at the same time. */
	closep(&owner);
	assert_int_equal(flock(third, LOCK_SH), 0);
	assert_false(pins_is_alive(other));
	assert_int_equal(pins_remove(place->dirfd, "s", other), -EWOULDBLOCK);
	assert_int_equal(flock(third, LOCK_UN), 0);
	assert_int_equal(pins_remove(place->dirfd, "s", other), 0);
	assert_int_equal(faccessat(place->dirfd, "s", F_OK, 0), -1);
}

static void leaves_a_successor_alone(void **state)
{
	const struct place *place = *state;
	_cleanup_close_ int old = -1;

	assert_int_equal(mkdirat(place->dirfd, "s", 0700), 0);
	old = pins_open_session(place->dirfd, "s");
	assert_int_equal(unlinkat(place->dirfd, "s", AT_REMOVEDIR), 0);
	assert_int_equal(mkdirat(place->dirfd, "s", 0700), 0);
	assert_int_equal(pins_remove(place->dirfd, "s", old), 0);
	assert_int_equal(faccessat(place->dirfd, "s", F_OK, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_names),
		cmocka_unit_test(folders_have_no_dots),
		cmocka_unit_test_setup_teardown(lock_tells_life, make_place, remove_place),
		cmocka_unit_test_setup_teardown(leaves_a_successor_alone, make_place, remove_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
