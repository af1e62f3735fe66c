// SPDX-License-Identifier: GPL-2.0-only
#include "bundle.h"

#include <string.h>

#include "ending.h"
#include "host.h"
#include "output_file.h"
#include "pack.h"

static int check_ending(void *ctx, uint64_t bytes)
{
	(void)ctx;
	(void)bytes;
	return ending_asked ? -EINTR : 0;
}

static int pack_host(struct pack *pack, char **why)
{
	_cleanup_close_ int rootfd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	json_object *facts = rootfd < 0 ? NULL : host_facts(rootfd, NULL);
	const char *text =
		facts ? json_object_to_json_string_ext(facts, JSON_C_TO_STRING_PRETTY) : NULL;
	int r = text ? pack_text(pack, "host.json", text, strlen(text), why) : -ENOMEM;

	json_object_put(facts);
	return r;
}

static int pack_capture(struct pack *pack, const char *folder, char **why)
{
	_cleanup_close_ int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *top = NULL;
	int r;

	if (fd < 0)
		return -errno;
	if (asprintf(&top, BUNDLE_TOP "/%s", strrchr(folder, '/') + 1) < 0) {
		top = NULL;
		return -ENOMEM;
	}
	r = pack_begin(pack, top, why);
	return r ? r : pack_tree(pack, fd, NULL, why);
}

static int pack_all(const struct bundle *bundle, int fd, char **why)
{
	const struct pack_sink sink = { .fd = fd, .progress = check_ending };
	struct pack *pack = NULL;
	int r = pack_new(&pack, &sink, BUNDLE_TOP, why);

	if (!r)
		r = pack_text(pack, "selftest.json", *bundle->lines, strlen(*bundle->lines), why);
	if (!r)
		r = pack_text(pack, "messages", *bundle->messages, strlen(*bundle->messages), why);
	if (!r)
		r = pack_host(pack, why);
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
	if (r)
		console_error(con, "--output '%s': %s", path, why ?: output_file_strerror(r));
	output_file_close(&file);
	return r;
}
