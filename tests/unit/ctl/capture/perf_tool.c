// SPDX-License-Identifier: GPL-2.0-only
#include "capture/captures.h"
#include "helpers.h"

#include <string.h>
#include <sys/stat.h>

/* With folders for fake programs. */
static int set_up(void **state)
{
	return enter_folder(state) || mkdir("bin", 0777) || mkdir("perf", 0777);
}

#define PERF "perf version 1.2.3"
#define SAYS(text) "case $1 in --version) echo '" text "'; exit;; esac; "

TEST(finds_programs)
{
	_cleanup_free_ char *path = NULL, *none = NULL, *here = NULL;

	put_script("bin/perf", "", 0755);
	put_script("bin/plain", "", 0644);
	/* Here `perf` is a folder, and `plain` is not executable. */
	setenv("PATH", "/nowhere::.:bin", 1);
	assert_int_equal(perf_tool_search("perf", &path), 0);
	assert_string_equal(path, "bin/perf");
	assert_int_equal(perf_tool_search("plain", &none), -ENOENT);
	assert_int_equal(perf_tool_search("nosuch", &none), -ENOENT);
	assert_int_equal(perf_tool_search("./nosuch", &none), -ENOENT);
	assert_int_equal(perf_tool_search("./perf", &none), -ENOENT);
	assert_null(none);
	put_script("here", "", 0755);
	assert_int_equal(perf_tool_search("here", &here), 0);
	assert_string_equal(here, "./here");
	free(here);
	here = NULL;
	setenv("PATH", "bin", 1);
	assert_int_equal(perf_tool_search("here", &none), -ENOENT);
	setenv("PATH", "bin:", 1);
	assert_int_equal(perf_tool_search("here", &here), 0);
	assert_string_equal(here, "./here");
	free(path);
	assert_int_equal(perf_tool_search("./bin/perf", &path), 0);
	assert_string_equal(path, "./bin/perf");
}

TEST(tells_the_version)
{
	_cleanup_(perf_tool_release) struct perf_tool perf;
	_cleanup_free_ char *why = NULL;

	/* Only the first line is read. */
	put_script("bin/perf", SAYS(PERF "\033") "exit 1", 0755);
	setenv("PATH", "bin:/bin", 1);
	unsetenv("PERF_POKE_PERF");
	assert_int_equal(perf_tool_find(&perf, &why), 0);
	assert_string_equal(perf.path, "bin/perf");
	assert_string_equal(perf.version, PERF " ");
	perf_tool_release(&perf);

	put_script("bin/perf", "echo " PERF "; head -c 200000 /dev/zero", 0755);
	setenv("PATH", "/bin", 1);
	setenv("PERF_POKE_PERF", "bin/perf", 1);
	assert_int_equal(perf_tool_find(&perf, &why), 0);
	assert_string_equal(perf.path, "bin/perf");
	assert_string_equal(perf.version, PERF);
	assert_null(why);
}

static void check_none(const char *path, const char *named, const char *expected)
{
	_cleanup_free_ char *why = NULL;
	struct perf_tool perf;

	setenv("PATH", path, 1);
	setenv("PERF_POKE_PERF", named, 1);
	assert_true(perf_tool_find(&perf, &why) < 0);
	assert_non_null(why);
	assert_non_null(strstr(why, expected));
	assert_null(strchr(why, '\n'));
}

TEST(says_what_to_do)
{
	check_none("/nowhere", "", "no perf in PATH: install linux-perf (Debian), ");
	check_none("", "", "no perf in PATH: install ");
	check_none("bin", "./nosuch", "PERF_POKE_PERF './nosuch': no such program");
	put_script("bin/perf", "echo " PERF "; exit 2", 0755);
	check_none("bin", "", "'bin/perf --version' fails: install ");
	put_script("bin/perf", "echo something else", 0755);
	check_none("bin", "", "'bin/perf' is not perf: it prints 'something else'");
	put_script("bin/perf", "", 0755);
	check_none("bin", "", "'bin/perf' is not perf: it prints ''");
}

TEST(tries_the_disassembler)
{
	_cleanup_(perf_tool_release) struct perf_tool perf;
	_cleanup_free_ char *why = NULL;

	setenv("PATH", "bin", 1);
	unsetenv("PERF_POKE_PERF");
	put_script("bin/perf",
		   SAYS(PERF) "test \"$*\" = 'script -i /dev/null --insn-trace=disasm' "
			      "&& exit 255; exit 129",
		   0755);
	assert_int_equal(perf_tool_find(&perf, &why), 0);
	assert_true(perf_tool_disassembles(&perf));
	put_script("bin/perf", "exit 129", 0755);
	assert_false(perf_tool_disassembles(&perf));
	put_script("bin/perf", "kill -9 $$", 0755);
	assert_false(perf_tool_disassembles(&perf));
	unlink("bin/perf");
	assert_false(perf_tool_disassembles(&perf));
}

int main(void)
{
	return run_all(set_up, leave_folder);
}
