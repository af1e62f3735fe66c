// SPDX-License-Identifier: GPL-2.0-only
#include "cli/perf_script.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "opened.h"

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

#define PT                                                                                         \
	"{'schema':1,'spike':{'cpu':3,'time_ns':7361536417},"                                      \
	"'recorder':{'kind':'pt','clock':"                                                         \
	"{'monotonic_ns':7366384740,'perf_ns':7380134244}}}"
#define SAMPLED(cpu, freeze)                                                                       \
	"{'schema':1,'spike':{'cpu':" cpu ",'time_ns':5},'recorder':{'kind':'pt',"                 \
	"'freeze':'" freeze "','clock':{'monotonic_ns':5,'perf_ns':7}}}"
#define EVENTS(cpu, time_ns)                                                                       \
	"{'schema':1,'spike':{'cpu':" cpu ",'time_ns':" time_ns "},"                               \
	"'recorder':{'kind':'events'}}"

/* The words, each after a blank; the caller frees them. */
static char *words(const char *text, const struct view_options *options)
{
	_cleanup_(argv_free_words) char **argv = NULL;
	_cleanup_(capture_file_close) struct capture_file file;
	char *why = NULL;

	assert_int_equal(open_text(&file, text, &why), 0);
	assert_null(why);
	assert_int_equal(
		perf_script_argv(&file.facts, options, "/bin/perf", "a dir/perf.data", &argv), 0);
	return WRITTEN(file, for (size_t i = 0; argv[i]; i++)
				     fprintf(file, "%s<%s>", i ? " " : "", argv[i]));
}

#define BEGIN "</bin/perf> <script> <-i> <a dir/perf.data> <--ns>"
#define CHECK(text, expected, ...)                                                                 \
	do {                                                                                       \
		const struct view_options options = { __VA_ARGS__ };                               \
		_cleanup_free_ char *line = words(text, &options);                                 \
                                                                                                   \
		assert_string_equal(line, BEGIN expected);                                         \
	} while (0)

#define CALLS " <--call-ret-trace> <-F> <-dso>"

/* In the clock of perf the spike is at 7361536417 - 7366384740 + 7380134244. */
TEST(shows_pt)
{
	CHECK(PT, " <-C> <3> <--time> <7.375085921,>" CALLS, 0);
	CHECK(PT, " <-C> <3> <--time> <7.370285921,>" CALLS, .window_ns = 5000000);
	CHECK(PT, " <-C> <3> <--time> <0.000000000,>" CALLS, .window_ns = 7375285922);
	CHECK(PT, " <-C> <3>" CALLS, .all = true);
	CHECK(PT, " <--time> <7.375085921,>" CALLS, .all_cpus = true);
	CHECK(PT, CALLS, .all = true, .all_cpus = true);
	CHECK(PT, " <-C> <3> <--symfs> <a root>" CALLS, .all = true, .symfs = "a root");
}

TEST(shows_instructions)
{
	CHECK(PT, " <-C> <3> <--insn-trace>", .all = true, .insns = VIEW_INSNS_RAW);
	CHECK(PT, " <-C> <3> <--insn-trace> <--xed>", .all = true, .insns = VIEW_INSNS_XED);
	CHECK(PT, " <-C> <3> <--insn-trace=disasm>", .all = true, .insns = VIEW_INSNS_DISASM);
}

#define CALL_FIELDS "-ip,-addr,-event,-period,-dso,+callindent,+flags"
#define BY_KIND(fields) " <-F> <hw:" fields "> <-F> <synth:" fields ">"

TEST(names_the_sample)
{
	CHECK(SAMPLED("2", "sample"), " <-C> <2> <--itrace=crewp>" BY_KIND(CALL_FIELDS),
	      .all = true);
	CHECK(SAMPLED("2", "sample"), " <-C> <2> <--itrace=i0nse>" BY_KIND("-event,-period,+insn"),
	      .all = true, .insns = VIEW_INSNS_RAW);
	CHECK(SAMPLED("2", "sample"),
	      " <-C> <2> <--itrace=i0nse>" BY_KIND("-event,-period,+insn") " <--xed>", .all = true,
	      .insns = VIEW_INSNS_XED);
	CHECK(SAMPLED("2", "sample"),
	      " <-C> <2> <--itrace=i0nse>" BY_KIND("-event,-period,+disasm"), .all = true,
	      .insns = VIEW_INSNS_DISASM);
	CHECK(SAMPLED("-1", "sample"), CALLS, .all = true);
	CHECK(SAMPLED("2", "pause"), " <-C> <2>" CALLS, .all = true);
}

TEST(shows_events)
{
	CHECK(EVENTS("0", "12345000000009"), " <-C> <0> <--time> <12344.990000009,12345.000000009>",
	      0);
	CHECK(EVENTS("0", "12345000000009"), " <-C> <0> <--time> <12344.000000009,12345.000000009>",
	      .window_ns = 1000000000);
	CHECK(EVENTS("0", "5000"), " <-C> <0> <--time> <0.000000000,0.000005000>", 0);
	/* A poked capture belongs to no CPU. */
	CHECK(EVENTS("-1", "5000"), " <--time> <0.000000000,0.000005000>", 0);
}

TEST(passes_the_rest_on)
{
	char *none[] = { NULL };
	char *rest[] = { "-F", "+srcline", "a b", "", NULL };

	CHECK(PT, " <-C> <3>" CALLS " <-F> <+srcline> <a b> <>", .all = true, .rest = rest);
	CHECK(EVENTS("1", "5"), " <-C> <1>", .all = true, .rest = none);
}

int main(void)
{
	return run_all(set_up, leave_folder);
}
