// SPDX-License-Identifier: GPL-2.0-only
#include "cli/temporary.h"

#include <string.h>

#include "tree.h"

static int make(const char *where, char **folder, const char *name, char **file)
{
	_cleanup_free_ char *made = NULL;
	_cleanup_free_ char *within = NULL;

	if (asprintf(&made, "%s/perf-poke.XXXXXX", where) < 0) {
		made = NULL;
		return -ENOMEM;
	}
	if (!mkdtemp(made))
		return -errno;
	if (asprintf(&within, "%s/%s", made, name) < 0) {
		within = NULL;
		rmdir(made);
		return -ENOMEM;
	}
	*folder = TAKE_PTR(made);
	*file = TAKE_PTR(within);
	return 0;
}

int temporary_make(struct temporary *temporary, struct console *con, const char *name)
{
	const char *where = getenv("TMPDIR") ?: "/tmp";
	int r;

	ending_catch(&temporary->ending);
	r = make(where, &temporary->folder, name, &temporary->file);
	if (!r)
		return 0;
	ending_release(&temporary->ending);
	console_error(con, "'%s': no temporary folder can be made there: %s (set TMPDIR)", where,
		      strerror(-r));
	return -EIO;
}

int temporary_remove(struct temporary *temporary)
{
	tree_remove(AT_FDCWD, temporary->folder);
	ending_release(&temporary->ending);
	free(temporary->folder);
	free(temporary->file);
	return ending_asked ? -EINTR : 0;
}
