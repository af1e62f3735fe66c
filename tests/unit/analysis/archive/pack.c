// SPDX-License-Identifier: GPL-2.0-only
#include "archive/archive.h"
#include "code/symbolizer.h"

#include <malloc.h>
#include <string.h>
#include <sys/stat.h>

#include "helpers.h"

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
		assert_true(layout_is_capture_name(names[i]));
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
		assert_false(layout_is_capture_name(names[i]));
}

static void on_skipped(void *ctx, const char *name)
{
	assert_non_null(strstr(" link .git notes ", name));
	++*(int *)ctx;
}

static int on_progress(void *ctx, uint64_t bytes)
{
	++*(int *)ctx;
	return 0;
}

#define TOP "20261121-093015.042-cpu3-83us"
#define TRACED "buildid/.build-id/0a"

/* Packs `from` into the file, and unpacks that into `to`. */
static void round_trip(int *told)
{
	const struct unpack_limits limits = { .max_size = UINT64_C(4) << 30, .max_entries = 100 };
	_cleanup_close_ int from = openat(folder->fd, "from", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = openat(folder->fd, "to", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int fd = openat(folder->fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	_cleanup_free_ char *top = NULL;
	struct unpack_source source = { .fd = fd };
	const struct pack_sink sink = { .fd = fd, .progress = on_progress, .ctx = told };
	struct pack *pack = NULL;
	char *why = NULL;

	assert_int_equal(pack_new_archive(&pack, &sink, TOP, &why), 0);
	assert_int_equal(pack_add_capture(pack, from, on_skipped, told, &why), 0);
	assert_int_equal(pack_add_text(pack, "host.json", "abc", 3, &why), 0);
	assert_int_equal(pack_add_folder(pack, TRACED "/01", &why), 0);
	assert_int_equal(pack_add_folder(pack, TRACED "/02", &why), 0);
	assert_int_equal(pack_add_folder(pack, TRACED "/01", &why), 0);
	assert_int_equal(pack_finish_archive(pack, &why), 0);
	pack_free_archive(pack);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(unpack_archive(&source, to, &limits, &top, &why), 0);
	assert_null(why);
	assert_string_equal(top, TOP);
}

TEST_IN_FOLDER(packs_and_unpacks)
{
	_cleanup_close_ int kcore = -1;
	struct stat st;
	int told = 0;

	assert_int_equal(mkdirat(folder->fd, "to", 0700), 0);
	put_file(folder->fd, "from/perf.data/data", "first");
	put_file(folder->fd, "from/.git/config", "x");
	put_file(folder->fd, "from/notes", "x");
	assert_int_equal(
		linkat(folder->fd, "from/perf.data/data", folder->fd, "from/capture.json", 0), 0);
	put_file(folder->fd, "from/perf.data/kcore_dir/kcore", "");
	kcore = openat(folder->fd, "from/perf.data/kcore_dir/kcore", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(kcore, "last", 4, INT64_C(3) << 30), 4);
	assert_int_equal(symlinkat("perf.data/data", folder->fd, "from/link"), 0);
	assert_int_equal(fchmodat(folder->fd, "from/perf.data/data", 0755, 0), 0);
	assert_int_equal(fchmodat(folder->fd, "from/perf.data", 0755, 0), 0);
	round_trip(&told);
	/* Three were skipped. */
	assert_true(told > 3 + 2);

	assert_string_equal(load_text("to/perf.data/data"), "first");
	assert_string_equal(load_text("to/host.json"), "abc");
	/* Holes and hard links are preserved, and only the owner has access. */
	st = stat_of("to/perf.data/kcore_dir/kcore");
	assert_int_equal(st.st_size, (INT64_C(3) << 30) + 4);
	assert_true(st.st_blocks < 1000);
	assert_true(stat_of("file").st_size < 100000);
	st = stat_of("to/perf.data/data");
	assert_int_equal(st.st_ino, stat_of("to/capture.json").st_ino);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat_of("to/perf.data").st_mode & 0777, 0700);
	assert_true(exists("to/" TRACED "/02"));
	assert_false(exists("to/link"));
	assert_false(exists("to/.git"));
	assert_false(exists("to/notes"));
}

static int stops(void *ctx, uint64_t bytes)
{
	return -EINTR;
}

static void interrupt_pack(int fd)
{
	const struct pack_sink sink = { .fd = fd, .progress = stops };
	struct pack *pack = NULL;
	char *why = NULL;

	assert_int_equal(pack_new_archive(&pack, &sink, TOP, &why), 0);
	assert_int_equal(pack_add_capture(pack, folder->fd, NULL, NULL, &why), -EINTR);
	assert_null(why);
	pack_free_archive(pack);
}

/* What is freed stays in lists of the C library; libarchive's buffers would take 10 KB each time.
 */
TEST_IN_FOLDER(is_interrupted)
{
	_cleanup_close_ int fd = openat(folder->fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	size_t used;

	put_file(folder->fd, "capture.json", "some");
	interrupt_pack(fd);
	used = mallinfo2().uordblks;
	for (int i = 0; i < 20; i++)
		interrupt_pack(fd);
	assert_true(mallinfo2().uordblks < used + 20 * 5000);
}

static void check_top(const char *name, const char *expected)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_free_ char *top = NULL;

	assert_int_equal(mkdirat(folder->fd, name, 0700), 0);
	assert_true(asprintf(&path, "%s/%s/../%s/.", folder->path, name, name) > 0);
	assert_int_equal(archive_top_folder(path, &top), 0);
	assert_string_equal(top, expected);
}

TEST_IN_FOLDER(names_the_top)
{
	char *none = NULL;

	check_top(TOP, TOP);
	check_top("20261121-093015.042-poke-12", "20261121-093015.042-poke-12");
	check_top(".git", "capture");
	check_top("a capture", "capture");
	check_top(TOP "\n", "capture");
	check_top("n\xc3\xa4me", "capture");
	assert_int_equal(archive_top_folder("/nowhere", &none), -ENOENT);
}

/* This program, by its own build id. */
TEST(finds_what_was_traced)
{
	char self[64] = "/proc/self/exe";
	_cleanup_close_ int fd = open(self, O_RDONLY | O_CLOEXEC);
	struct traced_file file = { .id = build_id_of_elf(fd), .name = self };
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	char hex[BUILD_ID_HEX_SIZE];
	int found;

	if (!file.id.size)
		skip();
	found = traced_file_open(&file);
	assert_true(found >= 0);
	closep(&found);
	/* Its symbols are in the file itself. */
	assert_int_equal(symbolizer_new(&symbolizer, &(struct files_places){}), 0);
	assert_int_equal(traced_file_open_debug(&file, symbolizer, fd), -ENOENT);
	build_id_format(&file.id, hex);
	assert_int_equal(strlen(hex), 2 * file.id.size);
	file.id.bytes[0] ^= 1;
	assert_int_equal(traced_file_open(&file), -ESTALE);
	file.name = "/dev/null";
	assert_int_equal(traced_file_open(&file), -ENOENT);
}

TEST_IN_FOLDER(tells_of_the_host)
{
	static const char *const wanted[] = {
		"\"of_capture\":false",	  "\"cmdline\":\"isolcpus=2 quiet\"",
		"\"microcode\":\"0x2b\"", "\"model\":\"143\"",
		"\"stepping\":null",	  "\"isolated\":\"2\"",
		"\"nohz_full\":null",	  "\"cpufreq_governor\":\"performance\"",
	};
	const struct perf_poke_capture capture = { .hostname = "elsewhere" };
	json_object *facts;
	const char *text;

	put_file(folder->fd, "proc/cmdline", "isolcpus=2 quiet\nmore");
	put_file(folder->fd, "proc/cpuinfo",
		 "processor\t: 0\nmodel\t\t: 143\nmodel name\t: X\nmicrocode\t: 0x2b\n"
		 "flags\t\t: fpu hypervisors\n\nprocessor\t: 1\nmicrocode\t: 0x1\n");
	put_file(folder->fd, "sys/devices/system/cpu/isolated", "2\n");
	put_file(folder->fd, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
		 "performance\n");
	facts = host_facts_json(folder->fd, &capture);
	text = json_object_to_json_string_ext(facts, JSON_C_TO_STRING_PLAIN);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!strstr(text, wanted[i]))
			print_error("%s\nis not in\n%s\n", wanted[i], text);
		assert_non_null(strstr(text, wanted[i]));
	}
	json_object_put(facts);
}
