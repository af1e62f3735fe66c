// SPDX-License-Identifier: GPL-2.0-only
#include "capture/perf_data.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "cli/options.h"
#include "read.h"
#include "regular.h"

int perf_data_check(const char *path, char **why)
{
	_cleanup_close_ int fd = regular_open(AT_FDCWD, path);
	struct perfdata_file file;
	int r = fd < 0 ? fd : perfdata_map(&file, fd);

	if (fd == -EINVAL)
		return options_explain(why, fd, "%s is not a regular file", path);
	if (r == -EINVAL)
		return options_explain(why, r, "%s is not a perf.data file", path);
	if (r)
		return options_explain(why, r, "cannot read %s: %s", path, strerror(-r));
	if (file.size < file.whole)
		r = options_explain(why, -EINVAL,
				    "%s is truncated: it has %" PRIu64 " bytes, not %" PRIu64, path,
				    file.size, file.whole);
	perfdata_unmap(&file);
	return r;
}
