// SPDX-License-Identifier: GPL-2.0-only
#include "code/symbolizer.h"
#include "facts/captures.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

#include "helpers.h"
#include "text.h"

static void put(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), FOLDER_DEFAULT "/%s/capture.json", name);
	put_file(folder->fd, path, text);
}

static void put_capture(const char *name, int second, int sequence, const char *poked)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"schema\":1,\"spike\":{\"sequence\":%d,\"cpu\":1,\"time_ns\":5,\"poked\":%s,"
		 "\"wall_time\":\"2026-11-21T07:01:%02d.000000Z\"},"
		 "\"recorder\":{\"kind\":\"events\"}}",
		 sequence, poked, second);
	put(name, text);
}

/* Checks the chosen capture, or the message. */
static void check(const char *word, const char *path, const char *said)
{
	_cleanup_free_ char *chosen = NULL;
	_cleanup_free_ char *why = NULL;
	int r = capture_folder_choose(word, &chosen, &why);

	assert_string_equal(why ?: "", said);
	assert_int_equal(r, path ? 0 : strstr(said, "required") ? -ENOENT : -ENOTDIR);
	if (path)
		assert_string_equal(chosen, path);
}

TEST(chooses)
{
	const char *none = "CAPTURE is required: no capture in " FOLDER_DEFAULT
			   " (perf-poke-ctl start takes one)";
	_cleanup_free_ char *path = NULL;

	check(NULL, NULL, none);
	put_file(folder->fd, FOLDER_DEFAULT, "");
	check(NULL, NULL,
	      "'" FOLDER_DEFAULT "' is not a capture: cannot read " FOLDER_DEFAULT
	      "/capture.json: Not a directory");
	assert_int_equal(unlink(FOLDER_DEFAULT), 0);
	assert_int_equal(mkdir(FOLDER_DEFAULT, 0700), 0);
	put("broken", "{");
	check(NULL, NULL, none);

	/* Names would sort otherwise; hidden captures are incomplete. */
	put_capture("a", 3, 7, "true");
	put_capture("b", 1, 8, "false");
	put_capture("c", 2, 7, "true");
	put_capture(".partial", 4, 9, "true");
	check(NULL, FOLDER_DEFAULT "/a", "");
	check(FOLDER_DEFAULT, FOLDER_DEFAULT "/a", "");
	check(FOLDER_DEFAULT "/b", FOLDER_DEFAULT "/b", "");
	check("/nowhere", "/nowhere", "");

	assert_int_equal(capture_folder_of_poke(FOLDER_DEFAULT, 7, &path), 0);
	assert_string_equal(path, FOLDER_DEFAULT "/a");
	assert_int_equal(capture_folder_of_poke(FOLDER_DEFAULT, 8, &path), -ENOENT);
	assert_int_equal(capture_folder_of_poke("/nowhere", 7, &path), -ENOENT);
}

/* Frames of this test's own program. */
static const struct files_places places;

__attribute__((noinline)) void acme_loop(void)
{
	__asm__ volatile("nop; nop; nop");
}

/* The program is the first one. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *frame)
{
	uint64_t at = (uint64_t)(uintptr_t)acme_loop - info->dlpi_addr;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && at >= segment->p_vaddr &&
		    at - segment->p_vaddr < segment->p_memsz)
			((struct perf_poke_frame *)frame)->offset =
				at - segment->p_vaddr + segment->p_offset;
	}
	return 1;
}

/* At the first byte of acme_loop(). */
static struct perf_poke_frame frame_of_loop(char path[PATH_MAX])
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct build_id id = build_id_of_elf(fd);
	struct perf_poke_frame frame = { .user = true, .file = path, .build_id_size = id.size };
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

	assert_true(length > 0);
	path[length] = '\0';
	assert_true(id.size);
	memcpy(frame.build_id, id.bytes, id.size);
	assert_int_equal(dl_iterate_phdr(find_offset, &frame), 1);
	return frame;
}

static void put_frame(struct spike_stack *stack, const char *name)
{
	struct spike_frame *to = &stack->frames[stack->nr++];

	snprintf(to->name, sizeof(to->name), "%s", name);
}

TEST(names_functions)
{
	char path[PATH_MAX];
	const struct perf_poke_frame in_loop = frame_of_loop(path), kernel = { 0 };
	struct perf_poke_frame behind_call = in_loop, first_byte = in_loop, other = in_loop,
			       no_id = in_loop, no_file;
	const struct perf_poke_frame *frames[] = { &kernel,	 &in_loop, &first_byte, &other,
						   &behind_call, &no_id,   &no_file };
	const struct perf_poke_spike spike = { .stack = frames, .nr_frames = ARRAY_SIZE(frames) };
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	static struct facts facts;
	struct spike_frame *named = facts.stack.frames;

	behind_call.offset += 2;
	other.build_id[0] ^= 1;
	no_id.build_id_size = 0;
	no_file = behind_call;
	no_file.file = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		put_frame(&facts.stack, "as it was");
	assert_int_equal(symbolizer_new(&symbolizer, &places), 0);
	capture_name_frames(&facts, &spike, &(struct unwound_stack){}, &places, symbolizer, true);
	assert_string_equal(named[0].name, "as it was");
	assert_string_equal(named[1].name, "acme_loop");
	assert_string_equal(named[1].module, "test-analysis-capture_trace");
	/* The call before it is another function's last instruction. */
	assert_string_not_equal(named[2].name, "acme_loop");
	/* If it was compiled with -g. */
	assert_true(!*named[1].source || has_prefix(named[1].source, "capture_trace.c:"));
	assert_string_equal(named[3].name, "as it was");
	assert_string_equal(named[3].source, "");
	assert_string_equal(named[4].name, "acme_loop");
	assert_string_equal(named[5].name, "as it was");
	/* Found by its build ID, of which the first digits are shown. */
	assert_string_equal(named[6].name, "acme_loop");
	assert_int_equal(strlen(named[6].module), strlen("build ID ") + 12);
}

static void keep_progress(void *ctx, const char *text)
{
	snprintf(ctx, 80, "%s", text);
}

/* Only of what takes longer than a second, and not for each capture. */
TEST(counts_captures)
{
	char shown[80] = "";
	const struct analysis_hooks hooks = { .ctx = shown, .progress = keep_progress };
	const struct analysis_hooks unseen = { 0 };
	struct hooks_count count = { 0 };

	hooks_count_capture(&hooks, &count, 3);
	assert_string_equal(shown, "");
	count.next_ns = 1;
	hooks_count_capture(&unseen, &count, 3);
	assert_string_equal(shown, "");
	hooks_count_capture(&hooks, &count, 4);
	assert_string_equal(shown, "finding causes: 3 of 4 captures");
	hooks_count_capture(&hooks, &count, 4);
	assert_string_equal(shown, "finding causes: 3 of 4 captures");
	count.next_ns = 1;
	hooks_count_capture(&hooks, &count, 0);
	assert_string_equal(shown, "finding causes: 5 captures");
}

int main(void)
{
	return run_all(enter_folder, leave_folder);
}
