// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On fake PMU folders, like those of real processors. */
#include "recorder/pt/pt.h"

#include <string.h>

#include "helpers.h"
#include "messages.h"

#define PT (1ULL << 0)
#define CYC (1ULL << 1)
#define MTC (1ULL << 9)
#define TSC (1ULL << 10)
#define NORETCOMP (1ULL << 11)
#define EVENT (1ULL << 31)
#define BRANCH (1ULL << 13)
#define MTC_PERIOD(n) ((uint64_t)(n) << 14)
#define CYC_THRESH(n) ((uint64_t)(n) << 19)
#define PSB_PERIOD(n) ((uint64_t)(n) << 24)

/* perf's choice on a Skylake. */
#define DEFAULTS 0x300e601ULL

static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };

struct sysfs_file {
	const char *path, *content;
};

/* The same on all processors. */
static const struct sysfs_file formats[] = {
	{ "type", "8\n" },
	{ "format/pt", "config:0\n" },
	{ "format/cyc", "config:1\n" },
	{ "format/pwr_evt", "config:4\n" },
	{ "format/fup_on_ptw", "config:5\n" },
	{ "format/mtc", "config:9\n" },
	{ "format/tsc", "config:10\n" },
	{ "format/noretcomp", "config:11\n" },
	{ "format/ptw", "config:12\n" },
	{ "format/branch", "config:13\n" },
	{ "format/mtc_period", "config:14-17\n" },
	{ "format/cyc_thresh", "config:19-22\n" },
	{ "format/psb_period", "config:24-27\n" },
	{ "format/event", "config:31\n" },
	{ "format/notnt", "config:55\n" },
};

static const struct sysfs_file skylake[] = {
	{ "caps/mtc", "1\n" },
	{ "caps/mtc_periods", "249\n" },
	{ "caps/psb_cyc", "1\n" },
	{ "caps/psb_periods", "3f\n" },
	{ "caps/cycle_thresholds", "1fff\n" },
	{ "caps/ptwrite", "0\n" },
	{ "caps/power_event_trace", "0\n" },
	{ "caps/event_trace", "0\n" },
	{ "caps/tnt_disable", "0\n" },
	{ "nr_addr_filters", "2\n" },
	{ "caps/num_address_ranges", "3\n" },
	{ "max_nonturbo_ratio", "34\n" },
	{ "tsc_art_ratio", "284:2\n" },
};

static const struct sysfs_file broadwell[] = {
	{ "caps/mtc", "0\n" },
	{ "caps/mtc_periods", "0\n" },
	{ "caps/psb_cyc", "0\n" },
	{ "caps/psb_periods", "0\n" },
	{ "caps/cycle_thresholds", "0\n" },
	{ "caps/num_address_ranges", "a\n" },
	{ "max_nonturbo_ratio", "28\n" },
};

static const struct sysfs_file newest[] = {
	{ "caps/ptwrite", "1\n" },
	{ "caps/power_event_trace", "1\n" },
	{ "caps/event_trace", "1\n" },
	{ "caps/tnt_disable", "1\n" },
};

static void put_files(int fd, const struct sysfs_file *files, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		put_file(fd, files[i].path, files[i].content);
}

static int make_pmu(void **state, const struct sysfs_file *files, size_t nr)
{
	if (make_folder(state))
		return -1;
	put_files(folder->fd, formats, ARRAY_SIZE(formats));
	put_files(folder->fd, files, nr);
	return 0;
}

static int make_skylake(void **state)
{
	return make_pmu(state, skylake, ARRAY_SIZE(skylake));
}

static int make_broadwell(void **state)
{
	return make_pmu(state, broadwell, ARRAY_SIZE(broadwell));
}

static int parse(const char *event, struct pt_config *config)
{
	memset(&messages, 0, sizeof(messages));
	memset(config, 0xff, sizeof(*config));
	return pt_config_parse(config, folder->fd, event, &log_of_test);
}

static struct pt_config parsed(const char *event)
{
	struct pt_config config;

	if (parse(event, &config))
		fail_msg("%s: %s", event ?: "its own", messages.text);
	assert_int_equal(messages.nr, 0);
	return config;
}

static void check_config(const char *event, uint64_t expected)
{
	struct pt_config config = parsed(event);

	if (config.config != expected)
		fail_msg("%s: %#jx, not %#jx", event ?: "its own", (uintmax_t)config.config,
			 (uintmax_t)expected);
}

/* `message`: the beginning of the message, with %s for the event. */
static void check_error(const char *event, int error, const char *message)
{
	_cleanup_free_ char *expected = NULL;
	struct pt_config config;

	if (parse(event, &config) != error)
		fail_msg("%s: not refused", event ?: "its own");
	assert_true(asprintf(&expected, message, event) > 0);
	assert_memory_equal(messages.text, expected, strlen(expected));
	assert_int_equal(messages.nr, 1);
	assert_int_equal(messages.level, PERF_POKE_LOG_ERROR);
}

#define UNKNOWN "unknown to the PMU (ls " PT_PMU_DIR "/format)"
#define NO "not supported by this CPU (" PT_PMU_DIR "/caps/"
#define NOT_OF "not supported by this CPU, whose mask is "

static void check_unknown(const char *term, const char *name)
{
	_cleanup_free_ char *event = NULL, *message = NULL;

	assert_true(asprintf(&event, "intel_pt/%s/", term) > 0);
	assert_true(asprintf(&message, "event term '%s': " UNKNOWN, name) > 0);
	check_error(event, -EINVAL, message);
}

/* The event has other terms before the one that is refused. */
static void refuses_term(const char *before, const char *term, const char *why)
{
	_cleanup_free_ char *event = NULL, *message = NULL;

	assert_true(asprintf(&event, "intel_pt/%s%s/", before, term) > 0);
	assert_true(asprintf(&message, "event term '%s': %s", term, why) > 0);
	check_error(event, -EINVAL, message);
}

TEST_WITH(takes_perf_defaults, make_skylake, remove_folder)
{
	check_config("intel_pt//", DEFAULTS);
	check_config("intel_pt", DEFAULTS);
	check_config("intel_pt//k", DEFAULTS);
	check_config("intel_pt:u", DEFAULTS);
	check_config("intel_pt/,/", DEFAULTS);
	check_config("intel_pt/cyc,noretcomp/k", 0x300ee03);
}

TEST_WITH(has_an_event_of_its_own, make_skylake, remove_folder)
{
	struct pt_config config = parsed(NULL);

	assert_int_equal(config.config, 0x300ee03);
	assert_true(config.exclude_user);
	assert_false(config.exclude_kernel);
}

TEST_WITH(knows_this_cpu, make_skylake, remove_folder)
{
	struct pt_config config = parsed(NULL);

	assert_int_equal(config.type, 8);
	assert_int_equal(config.tsc_bit, TSC);
	assert_int_equal(config.noretcomp_bit, NORETCOMP);
	assert_int_equal(config.mtc_bit, MTC);
	assert_int_equal(config.mtc_period_bits, MTC_PERIOD(15));
	assert_int_equal(config.cyc_bit, CYC);
	assert_int_equal(config.max_nonturbo_ratio, 34);
	assert_int_equal(config.nr_addr_filters, 2);
	assert_int_equal(config.tsc_ctc_n, 284);
	assert_int_equal(config.tsc_ctc_d, 2);
	assert_int_equal(config.cap_event_trace, 0);
	put_files(folder->fd, newest, ARRAY_SIZE(newest));
	assert_int_equal(parsed(NULL).cap_event_trace, 1);
	/* Only in the recorder's own event. */
	check_config("intel_pt//", DEFAULTS);
	check_config(NULL, DEFAULTS | CYC | NORETCOMP | EVENT);
}

/* No CYC and no MTC packets, neither with intel_pt// nor in the recorder's own event. */
TEST_WITH(leaves_out_what_an_old_cpu_has_not, make_broadwell, remove_folder)
{
	struct pt_config config = parsed(NULL);

	assert_int_equal(config.config, PT | TSC | BRANCH | NORETCOMP);
	assert_true(config.exclude_user);
	assert_false(config.exclude_kernel);
	assert_int_equal(config.max_nonturbo_ratio, 28);
	/* Older drivers have only this file. */
	assert_int_equal(config.nr_addr_filters, 10);
	assert_int_equal(config.tsc_ctc_n, 0);
	assert_int_equal(config.tsc_ctc_d, 0);
	check_config("intel_pt//", PT | TSC | BRANCH);
	refuses_term("", "cyc", "not supported by this CPU (" PT_PMU_DIR "/caps/psb_cyc is 0)");
	refuses_term("", "mtc", "not supported by this CPU (" PT_PMU_DIR "/caps/mtc is 0)");
	refuses_term("", "psb_period=3", "not supported by this CPU, whose mask is 0 (" PT_PMU_DIR);
}

/* Their drivers always trace branches. */
TEST_WITH(leaves_out_pt_and_branch_of_old_drivers, make_broadwell, remove_folder)
{
	assert_int_equal(unlinkat(folder->fd, "format/branch", 0), 0);
	check_config("intel_pt//", TSC);
	put_file(folder->fd, "format/branch", "config:13\n");
	assert_int_equal(unlinkat(folder->fd, "format/pt", 0), 0);
	check_config("intel_pt//", TSC);
	assert_int_equal(unlinkat(folder->fd, "format/branch", 0), 0);
	check_config(NULL, TSC | NORETCOMP);
	refuses_term("", "branch", UNKNOWN);
}

/* 3, else the next below, else the next above. */
TEST_WITH(picks_periods_as_perf_does, make_skylake, remove_folder)
{
	static const struct {
		const char *mask;
		unsigned int picked;
	} cases[] = {
		{ "8\n", 3 },  { "249\n", 3 }, { "7\n", 2 },  { "f7\n", 2 },	{ "1\n", 0 },
		{ "11\n", 0 }, { "f0\n", 4 },  { "c0\n", 6 }, { "8000\n", 15 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint64_t others = DEFAULTS & ~(MTC_PERIOD(15) | PSB_PERIOD(15));

		put_file(folder->fd, "caps/mtc_periods", cases[i].mask);
		put_file(folder->fd, "caps/psb_periods", "3f\n");
		check_config("intel_pt//", others | MTC_PERIOD(cases[i].picked) | PSB_PERIOD(3));
		put_file(folder->fd, "caps/mtc_periods", "249\n");
		put_file(folder->fd, "caps/psb_periods", cases[i].mask);
		check_config("intel_pt//", others | MTC_PERIOD(3) | PSB_PERIOD(cases[i].picked));
	}
}

TEST_WITH(needs_all_capabilities_for_a_period, make_skylake, remove_folder)
{
	put_file(folder->fd, "caps/mtc", "0\n");
	check_config("intel_pt//", DEFAULTS & ~(MTC | MTC_PERIOD(15)));
	put_file(folder->fd, "caps/mtc", "1\n");
	put_file(folder->fd, "caps/psb_cyc", "0\n");
	check_config("intel_pt//", DEFAULTS & ~PSB_PERIOD(15));
	put_file(folder->fd, "caps/psb_cyc", "1\n");
	assert_int_equal(unlinkat(folder->fd, "caps/psb_periods", 0), 0);
	check_config("intel_pt//", DEFAULTS & ~PSB_PERIOD(15));
}

TEST_WITH(takes_terms, make_skylake, remove_folder)
{
	check_config("intel_pt/cyc/", DEFAULTS | CYC);
	check_config("intel_pt/cyc=1/", DEFAULTS | CYC);
	check_config("intel_pt/cyc=0x1/", DEFAULTS | CYC);
	check_config("intel_pt/cyc,cyc=0/", DEFAULTS);
	check_config("intel_pt/noretcomp,,cyc,/", DEFAULTS | CYC | NORETCOMP);
	check_config("intel_pt/cyc,cyc_thresh=12/", DEFAULTS | CYC | CYC_THRESH(12));
	check_config("intel_pt/mtc_period=9/", (DEFAULTS | MTC_PERIOD(9)) & ~MTC_PERIOD(6));
	check_config("intel_pt/psb_period=0/", DEFAULTS & ~PSB_PERIOD(15));
	check_config("intel_pt/psb_period=5/", (DEFAULTS | PSB_PERIOD(5)) & ~PSB_PERIOD(2));
	check_config("intel_pt/tsc=0,mtc=0,branch=0,pt=0/", DEFAULTS & ~(TSC | MTC | BRANCH | PT));
	/* A term that is off needs no capability. */
	check_config("intel_pt/ptw=0,event=0,notnt=0/", DEFAULTS);
	put_files(folder->fd, newest, ARRAY_SIZE(newest));
	check_config("intel_pt/ptw,fup_on_ptw,pwr_evt,event,notnt/",
		     DEFAULTS | 1ULL << 12 | 1ULL << 5 | 1ULL << 4 | 1ULL << 31 | 1ULL << 55);
}

TEST_WITH(takes_whole_fields, make_skylake, remove_folder)
{
	put_file(folder->fd, "format/all", "config:0-63\n");
	put_file(folder->fd, "format/last", "config:63\n");
	check_config("intel_pt/all=0xfedcba9876543210/", 0xfedcba9876543210);
	check_config("intel_pt/last/", DEFAULTS | 1ULL << 63);
}

TEST_WITH(takes_modifiers, make_skylake, remove_folder)
{
	static const struct {
		const char *event;
		bool exclude_user, exclude_kernel;
	} cases[] = {
		{ "intel_pt//", false, false },	  { "intel_pt", false, false },
		{ "intel_pt:", false, false },	  { "intel_pt//k", true, false },
		{ "intel_pt//u", false, true },	  { "intel_pt//uk", false, false },
		{ "intel_pt//ku", false, false }, { "intel_pt:k", true, false },
		{ "intel_pt:u", false, true },	  { "intel_pt/cyc/kk", true, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pt_config config = parsed(cases[i].event);

		if (config.exclude_user != cases[i].exclude_user ||
		    config.exclude_kernel != cases[i].exclude_kernel)
			fail_msg("%s", cases[i].event);
	}
}

TEST_WITH(refuses_terms, make_skylake, remove_folder)
{
	static const char *const unknown[] = { "cy=1", "cycle=1", "CYC", " cyc", ".", "..", "=1" };
	static const char *const numbers[] = { "cyc=",	  "cyc=x",
					       "cyc=1x",  "cyc=1 ",
					       "cyc=0x",  "cyc=-1",
					       "cyc=1=1", "cyc=18446744073709551616" };
	static const struct {
		const char *before, *term, *why;
	} rows[] = {
		{ "", "cyc=2", "at most 1" },
		{ "", "psb_period=16", "at most 15" },
		{ "", "cyc=18446744073709551615", "at most 1" },
		{ "", "ptw", NO "ptwrite is 0)" },
		{ "", "fup_on_ptw", NO "ptwrite is 0)" },
		{ "", "pwr_evt", NO "power_event_trace is 0)" },
		{ "", "event", NO "event_trace is 0)" },
		{ "", "notnt", NO "tnt_disable is 0)" },
		{ "", "mtc_period=4", NOT_OF "0x249 (" PT_PMU_DIR "/caps/mtc_periods)" },
		{ "", "psb_period=6", NOT_OF "0x3f (" PT_PMU_DIR "/caps/psb_periods)" },
		{ "cyc,", "cyc_thresh=13", NOT_OF "0x1fff (" PT_PMU_DIR "/caps/cycle_thresholds)" },
	};
	char name[350];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		refuses_term(rows[i].before, rows[i].term, rows[i].why);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		refuses_term("", numbers[i], "not a number");
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(unknown[i], "="), unknown[i]);
		check_unknown(unknown[i], name);
	}
	memset(name, 'c', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check_unknown(name, name);
	/* A file that exists, but elsewhere or unreadable. */
	put_file(folder->fd, "format/.hidden", "config:2\n");
	check_unknown(".hidden", ".hidden");
	put_file(folder->fd, "other", "config:2\n");
	check_error("intel_pt/../other/", -EINVAL, "event '%s': modifier 'o' is unknown");
}

TEST_WITH(refuses_formats_it_does_not_know, make_skylake, remove_folder)
{
	static const char *const contents[] = { "",
						"config1:2\n",
						"config2:0-3\n",
						"config:\n",
						"config:5-3\n",
						"config:64\n",
						"config:60-70\n",
						"event,umask\n" };

	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		put_file(folder->fd, "format/odd", contents[i]);
		refuses_term("", "odd", UNKNOWN);
	}
}

TEST_WITH(refuses_malformed_events, make_skylake, remove_folder)
{
	static const char *const events[] = {
		"",	     "intel_pt/",    "intel_pt/cyc", "intel_pt2//",
		"intel_p//", "intel_ptcyc/", " intel_pt//k", "sched:sched_switch"
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		check_error(events[i], -EINVAL, "event '%s': not of the form");
	check_error("intel_pt//x", -EINVAL, "event '%s': modifier 'x' is unknown");
	check_error("intel_pt/cyc/uH", -EINVAL, "event '%s': modifier 'H' is unknown");
	check_error("intel_pt:k:", -EINVAL, "event '%s': modifier ':' is unknown");
	check_error("intel_pt//k/", -EINVAL, "event '%s': modifier '/' is unknown");
}

TEST_WITH(refuses_a_machine_without, make_skylake, remove_folder)
{
	assert_int_equal(unlinkat(folder->fd, "type", 0), 0);
	check_error(NULL, -ENOENT, "there is no PMU intel_pt");
	check_error("intel_pt/cyc/", -ENOENT, "there is no PMU intel_pt");
}

TEST_WITH(refuses_a_pmu_without_time, make_skylake, remove_folder)
{
	assert_int_equal(unlinkat(folder->fd, "format/tsc", 0), 0);
	check_error(NULL, -EINVAL, "event term 'tsc': " UNKNOWN);
}

TEST(tells_its_events)
{
	static const char *const its[] = { "intel_pt", "intel_pt/", "intel_pt//", "intel_pt/cyc/k",
					   "intel_pt:k" };
	static const char *const others[] = {
		"", "intel", "intel_pt2//", "intel_pt_cyc", "Intel_pt//", "sched:intel_pt"
	};

	for (size_t i = 0; i < ARRAY_SIZE(its); i++)
		assert_true(pt_config_is_pt(its[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(pt_config_is_pt(others[i]));
}
