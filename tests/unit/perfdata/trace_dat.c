// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* trace.dat: pages of rings as the kernel has them, and a file that stock trace-cmd reads. */
#include "trace_dat.h"

#include <string.h>
#include <unistd.h>

#include "helpers.h"
#include "util.h"

#define PAGE 4096
#define PRINT_ID 5

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
static const char header_event[] = "# compressed entry header\n"
				   "\ttype_len    :    5 bits\n"
				   "\ttime_delta  :   27 bits\n"
				   "\tarray       :   32 bits\n\n"
				   "\tpadding     : type == 29\n"
				   "\ttime_extend : type == 30\n"
				   "\ttime_stamp : type == 31\n"
				   "\tdata max type_len  == 28\n";
#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
static const char print_format[] = "name: print\nID: 5\nformat:\n" COMMON
				   "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
				   "print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";
static const char wake_format[] =
	"name: wake\nID: 77\nformat:\n" COMMON "\tfield:int tid;\toffset:8;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"tid=%d\", REC->tid\n";

static void put_tracefs(void)
{
	put_file(folder->fd, "events/header_page", header_page);
	put_file(folder->fd, "events/header_event", header_event);
	put_file(folder->fd, "events/ftrace/print/format", print_format);
	put_file(folder->fd, "events/sched/wake/format", wake_format);
	put_file(folder->fd, "saved_cmdlines", "41 saved\n");
	put_file(folder->fd, "proc/kallsyms",
		 "ffffffff81000000 T late_function\nffffffff81000100 d data\n");
	put_file(folder->fd, "proc/41/task/41/comm", "other\n");
	put_file(folder->fd, "proc/42/task/43/comm", "worker\n");
}

/* Page with events `wake`: an ordinary one, one behind a long pause, one with an absolute time. */
static void make_page(uint8_t *page, uint64_t time_ns, uint64_t flags)
{
	const struct {
		uint32_t header;
		uint16_t type;
		uint8_t flags, preempt;
		int32_t pid, tid;
	} wake = { 3 | 1000 << 5, 77, 0, 0, 41, 9 };
	const uint32_t extend[] = { 30 | 7 << 5, 1 };
	const uint64_t absolute = time_ns + 5000000000ULL;
	const uint32_t stamp[] = { 31 | (uint32_t)(absolute & 0x7ffffff) << 5,
				   (uint32_t)(absolute >> 27) };
	uint8_t *at = page + TRACE_DAT_PAGE_HEADER;
	uint64_t commit;

	memset(page, 0, PAGE);
	memcpy(page, &time_ns, sizeof(time_ns));
	at = mempcpy(at, &wake, sizeof(wake));
	at = mempcpy(at, extend, sizeof(extend));
	at = mempcpy(at, &wake, sizeof(wake));
	at = mempcpy(at, stamp, sizeof(stamp));
	at = mempcpy(at, &wake, sizeof(wake));
	commit = (at - page - TRACE_DAT_PAGE_HEADER) | flags;
	memcpy(page + 8, &commit, sizeof(commit));
}

TEST(walks_pages)
{
	uint8_t pages[2 * PAGE];
	struct trace_dat_ring ring = { 1, pages, sizeof(pages) };
	struct trace_dat_facts facts;

	make_page(pages, 1000000000, 1UL << 31);
	make_page(pages + PAGE, 9000000000, 1UL << 31);
	facts = trace_dat_ring_facts(&ring);
	assert_int_equal(facts.events, 6);
	assert_int_equal(facts.first_ns, 1000001000);
	assert_int_equal(facts.last_ns, 9000000000 + 5000000000 + 1000);
	/* Those before the oldest page were overwritten, which is no loss. */
	assert_int_equal(facts.lost, 1);
	trace_dat_ring_drop_gap(&ring);
	assert_int_equal(ring.size, PAGE);
	facts = trace_dat_ring_facts(&ring);
	assert_int_equal(facts.first_ns, 9000001000);
	assert_int_equal(facts.lost, 0);
	ring.size = 2 * PAGE;
	make_page(pages, 1000000000, 0);
	/* More bytes than the page has */
	memset(pages + PAGE + 8, 0xff, 3);
	assert_int_equal(trace_dat_ring_facts(&ring).events, 3);
	ring.size = PAGE - 1;
	assert_int_equal(trace_dat_ring_facts(&ring).events, 0);
}

/* Returns what stock trace-cmd prints, errors included; NULL: it is not installed. */
static char *read_by_trace_cmd(const char *command, const char *file)
{
	static char text[1 << 16];
	char line[4200];
	size_t length;
	FILE *out;

	if (system("command -v trace-cmd >/dev/null"))
		return NULL;
	snprintf(line, sizeof(line), "trace-cmd %s %s/%s 2>&1", command, folder->path, file);
	out = popen(line, "r");
	length = fread(text, 1, sizeof(text) - 1, out);
	text[length] = '\0';
	assert_int_equal(pclose(out), 0);
	return text;
}

/* Since trace-cmd 3.2 the latency field, as `d..1.`, stands between the CPU and the time. */
static const char *find_event(const char *text, const char *thread_and_cpu, const char *event)
{
	const char *line = text, *end, *found;

	while ((line = strstr(line, thread_and_cpu))) {
		end = strchrnul(line, '\n');
		found = strstr(line, event);
		if (found && found < end)
			return found;
		line = end;
	}
	return NULL;
}

/* libtracecmd reads the clock from behind the rings' places, whatever is there. */
static void check_clock_of_file(const char *file, int nr_cpus)
{
	_cleanup_close_ int fd = openat(folder->fd, file, O_RDONLY | O_CLOEXEC);
	static char text[1 << 16];
	ssize_t length = read(fd, text, sizeof(text));
	const char *places = memmem(text, length, "flyrecord", sizeof("flyrecord"));
	const char *clock = places + sizeof("flyrecord") + 2 * sizeof(uint64_t) * nr_cpus;
	uint64_t size;

	assert_non_null(places);
	memcpy(&size, clock, sizeof(size));
	assert_int_equal(size, sizeof("[mono]"));
	assert_string_equal(clock + sizeof(size), "[mono]");
}

TEST_IN_FOLDER(is_read_by_trace_cmd)
{
	const char *const events[] = { "sched:wake", "sched:wake" };
	uint8_t pages[2 * PAGE], others[PAGE];
	struct trace_dat_ring rings[] = { { 3, others, PAGE }, { 1, pages, 2 * PAGE } };
	struct perfdata_buf formats = {}, functions = {}, names = {};
	struct trace_dat dat = {
		.formats = &formats,
		.names = &names,
		.clock = "[mono]",
		.version = "1",
		.rings = rings,
		.nr_rings = 2,
		.nr_cpus = 4,
	};
	const char *text;
	uint64_t size;

	put_tracefs();
	make_page(pages, 1000000000, 0);
	make_page(others, 2000000000, 0);
	trace_dat_make_marker(pages + PAGE, PRINT_ID, 7000000000, "the spike\n");
	assert_int_equal(trace_dat_put_formats(&formats, "6", folder->fd, events, 2, true), 0);
	assert_int_equal(trace_dat_put_functions(&functions, folder->fd), 0);
	assert_int_equal(trace_dat_put_names(&names, folder->fd, &functions, folder->fd), 0);
	assert_int_equal(trace_dat_write(folder->fd, "trace.dat", &dat, &size), 0);
	assert_int_equal(stat_of("trace.dat").st_size, size);
	assert_int_equal(trace_dat_write(folder->fd, "trace.dat", &dat, &size), -EEXIST);

	check_clock_of_file("trace.dat", dat.nr_cpus);
	text = read_by_trace_cmd("report", "trace.dat");
	if (text) {
		assert_non_null(strstr(text, "cpus=4\n"));
		/* The saved name counts, and whoever has none is looked for. */
		assert_non_null(find_event(text, "saved-41    [001]", "1.000001: wake:"));
		assert_non_null(find_event(text, "saved-41    [003]", "2.000001: wake:"));
		assert_non_null(strstr(text, "tid=9"));
		assert_non_null(find_event(text, "[001]", "7.000000: print:"));
		assert_non_null(strstr(text, "the spike"));
		assert_null(strstr(text, "warning"));
	}
	text = read_by_trace_cmd("dump --all -i", "trace.dat");
	if (text) {
		assert_non_null(strstr(text, "late_function"));
		assert_null(strstr(text, "81000100"));
		assert_non_null(strstr(text, "43 worker"));
		assert_null(strstr(text, "41 other"));
	}
	perfdata_buf_release(&formats);
	perfdata_buf_release(&functions);
	perfdata_buf_release(&names);
}

TEST_IN_FOLDER(refuses_names)
{
	const char *const bad[] = { "sched:../wake" }, *const missing[] = { "sched:sleep" };
	struct perfdata_buf formats = {};

	put_tracefs();
	assert_int_equal(trace_dat_put_formats(&formats, "6", folder->fd, bad, 1, true), -EINVAL);
	assert_int_equal(trace_dat_put_formats(&formats, "6", folder->fd, missing, 1, true),
			 -ENOENT);
	perfdata_buf_release(&formats);
}
