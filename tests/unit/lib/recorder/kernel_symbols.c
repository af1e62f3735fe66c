// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The kernel's symbols in captures: each session has one copy. */
#include "recorder/recorder.h"

#include <linux/perf_event.h>
#include <sys/stat.h>

#include "capture/capture.h"
#include "helpers.h"
#include "io.h"

static char path[4096];
static int root;

static int setup(void **state)
{
	struct folder *folder;

	if (make_folder(state))
		return -1;
	folder = *state;
	snprintf(path, sizeof(path), "%s/captures", folder->path);
	put_file(folder->fd, "proc/kallsyms", "ffffffff81000000 T _text\n");
	put_file(folder->fd, "proc/modules", "");
	root = folder->fd;
	return 0;
}

static ino_t write_one(struct kernel_symbols *symbols, int dirfd, const char *name)
{
	const struct perfdata_event event = { .name = "dummy:u" };
	struct perfdata *pd;
	struct stat st;

	assert_int_equal(perfdata_create(&pd, dirfd, name, &event, 1), 0);
	assert_int_equal(kernel_symbols_write(symbols, pd, root), 0);
	assert_int_equal(fstatat(perfdata_dirfd(pd), "kcore_dir/kallsyms", &st, 0), 0);
	assert_int_equal(st.st_size, 25);
	perfdata_free(pd);
	return st.st_ino;
}

static void begin(struct output *output, struct kernel_symbols *symbols)
{
	assert_int_equal(output_open(output, path, 0, &(struct log){ 0 }), 0);
	kernel_symbols_init(symbols, output->work);
}

TEST_WITH(are_copied_once, setup, remove_folder)
{
	struct kernel_symbols symbols;
	struct output output;
	ino_t first;

	begin(&output, &symbols);
	first = write_one(&symbols, output.fd, "one");
	/* The capture may be removed. */
	assert_int_equal(tree_remove(output.fd, "one"), 0);
	assert_int_equal(write_one(&symbols, output.fd, "two"), first);
	kernel_symbols_close(&symbols);
	output_close(&output);
}

/* The end of a session removes its own copy. */
TEST_WITH(two_sessions_do_not_share, setup, remove_folder)
{
	struct kernel_symbols one, other;
	struct output outputs[2];
	ino_t first;

	begin(&outputs[0], &one);
	begin(&outputs[1], &other);
	assert_int_equal(kernel_symbols_prepare(&one, root), 0);
	assert_int_equal(kernel_symbols_prepare(&other, root), 0);
	first = write_one(&one, outputs[0].fd, "one");
	kernel_symbols_close(&other);
	output_close(&outputs[1]);
	assert_int_equal(write_one(&one, outputs[0].fd, "two"), first);
	kernel_symbols_close(&one);
	output_close(&outputs[0]);
}

/* The folder was removed meanwhile. */
TEST_WITH(are_copied_again, setup, remove_folder)
{
	struct kernel_symbols symbols;
	struct output output;
	_cleanup_free_ char *note = NULL;

	begin(&output, &symbols);
	assert_int_equal(kernel_symbols_prepare(&symbols, root), 0);
	write_one(&symbols, output.fd, "one");
	assert_int_equal(tree_remove(AT_FDCWD, path), 0);
	assert_int_equal(output_renew(&output, &note), 1);
	write_one(&symbols, output.fd, "two");
	assert_int_equal(faccessat(output.work, "kernel/kcore_dir/kallsyms", F_OK, 0), 0);
	kernel_symbols_close(&symbols);
	output_close(&output);
}
