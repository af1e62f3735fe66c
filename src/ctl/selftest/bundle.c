// SPDX-License-Identifier: GPL-2.0-only
#include "selftest/bundle.h"

#include <string.h>

#include "bundle/host.h"
#include "capture/layout.h"
#include "cli/ending.h"
#include "cli/output_file.h"
#include "strfmt.h"

static int check_ending(void *ctx, uint64_t bytes)
{
	return ending_asked ? -EINTR : 0;
}

static int pack_capture(struct pack *pack, const char *folder, char **why)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *top = strfmt(LAYOUT_SELFTEST "/%s", strrchr(folder, '/') + 1);
	int r;

	if (fd < 0 || !top)
		return -errno;
	r = pack_begin(pack, top, why);
	return r ? r : pack_tree(pack, fd, NULL, why);
}

static int pack_all(const struct bundle *bundle, int fd, char **why)
{
	const struct pack_sink sink = { .fd = fd, .progress = check_ending };
	struct pack *pack = NULL;
	bool same;
	int r = pack_new(&pack, &sink, LAYOUT_SELFTEST, why);

	if (!r)
		r = pack_text(pack, "selftest.json", *bundle->lines, strlen(*bundle->lines), why);
	if (!r)
		r = pack_text(pack, "messages", *bundle->messages, strlen(*bundle->messages), why);
	if (!r)
		r = host_pack(pack, NULL, &same, why);
	for (size_t i = 0; i < bundle->nr && !r; i++)
		r = pack_capture(pack, bundle->captures[i], why);
	if (!r)
		r = pack_finish(pack, why);
	pack_free(pack);
	return r;
}

int bundle_write(const struct bundle *bundle, struct console *con, const char *path, bool force)
{
	_cleanup_free_ char *why = NULL;
	struct output_file file;
	int r = output_file_open(&file, path, force);

	if (!r)
		r = pack_all(bundle, file.fd, &why);
	if (!r)
		r = output_file_publish(&file);
	if (r == -EINTR)
		console_error(con, "interrupted: nothing is written");
	else if (r)
		console_error(con, "--output '%s': %s", path, why ?: output_file_strerror(r));
	output_file_close(&file);
	return r;
}
