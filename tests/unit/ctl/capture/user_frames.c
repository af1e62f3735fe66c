// SPDX-License-Identifier: GPL-2.0-only
/* Frames of this test's own program. */
#include "capture/captures.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>

#include "test.h"

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
	static struct facts facts;
	struct spike_frame *named = facts.stack.frames;

	behind_call.offset += 2;
	other.build_id[0] ^= 1;
	no_id.build_id_size = 0;
	no_file = behind_call;
	no_file.file = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		put_frame(&facts.stack, "as it was");
	user_frames_name(&facts, &spike, &places);
	assert_string_equal(named[0].name, "as it was");
	assert_string_equal(named[1].name, "acme_loop");
	assert_string_equal(named[1].module, "test-ctl-capture-user_frames");
	/* The call before it is another function's last instruction. */
	assert_string_not_equal(named[2].name, "acme_loop");
	assert_string_equal(named[3].name, "as it was");
	assert_string_equal(named[4].name, "acme_loop");
	assert_string_equal(named[5].name, "as it was");
	/* Found by its build ID, of which the first digits are shown. */
	assert_string_equal(named[6].name, "acme_loop");
	assert_int_equal(strlen(named[6].module), strlen("build ID ") + 12);
}
