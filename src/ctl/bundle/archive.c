// SPDX-License-Identifier: GPL-2.0-only
#include "bundle/bundle.h"

#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "capture/captures.h"
#include "capture/layout.h"
#include "cli/cli.h"
#include "io.h"
#include "text.h"
#include "tree.h"
#include "units.h"

/* Limits the warnings about missing files: after an upgrade, all are missing. */
#define NAMED_MAX 8

struct archiving {
	struct console *con;
	const struct archiving_args *args;
	struct capture_file file;
	int dirfd; /* of the capture */
	int data;  /* its perf.data/data; -1: a poked perf has the trace */
	struct unchanged unchanged;
	struct progress progress;
	struct pack *pack;
	struct build_id *executed; /* files to include; NULL: all */
	size_t nr_executed;
	size_t nr_binaries;
	char *why;
};

int archiving_top(const char *folder, char **top)
{
	_cleanup_free_ char *path = realpath(folder, NULL);
	const char *name;

	if (!path)
		return -errno;
	name = strrchr(path, '/') + 1;
	*top = strdup(layout_is_name(name) ? name : LAYOUT_ANY_NAME);
	return *top ? 0 : -ENOMEM;
}

static bool has(const struct archiving *a, const char *name)
{
	return !faccessat(a->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* perf looks for a file by its build id, then by its kind. */
static int part_name(const struct traced_file *file, const char *part, char *name, size_t size)
{
	char hex[FILES_HEX_SIZE];

	files_hex(&file->id, hex);
	return snprintf(name, size, LAYOUT_BUILDID "/.build-id/%.2s/%s%s%s", hex, hex + 2,
			*part ? "/" : "", part);
}

static int pack_part(struct archiving *a, const struct traced_file *file, const char *part, int fd)
{
	char folder[128], name[128];
	int r;

	part_name(file, "", folder, sizeof(folder));
	part_name(file, part, name, sizeof(name));
	r = pack_folder(a->pack, folder, &a->why);
	return r ? r : pack_file(a->pack, name, fd, &a->why);
}

/* -ENOENT and -ESTALE mean that the file is missing, which is no failure. */
static int pack_traced(struct archiving *a, const struct traced_file *file)
{
	_cleanup_close_ int fd = -1, debug = -1;
	char vdso[128];
	int r;

	/* The recorder may have put the vDSO into the capture. */
	part_name(file, "vdso", vdso, sizeof(vdso));
	if (file->is_vdso && has(a, vdso))
		return 0;
	fd = traced_open(file);
	if (fd < 0)
		return fd;
	r = pack_part(a, file, file->is_vdso ? "vdso" : "elf", fd);
	debug = r ? -1 : traced_open_debug(file, fd);
	return debug < 0 ? r : pack_part(a, file, "debug", debug);
}

static bool was_executed(const struct archiving *a, const struct build_id *id)
{
	for (size_t i = 0; i < a->nr_executed; i++) {
		if (!memcmp(&a->executed[i], id, sizeof(*id)))
			return true;
	}
	return !a->executed;
}

static int pack_binaries(struct archiving *a)
{
	struct traced_file *files = NULL;
	size_t nr = 0, missing = 0;
	int r = traced_read(a->data, &files, &nr, &a->why);

	for (size_t i = 0; i < nr && !r; i++) {
		if (!was_executed(a, &files[i].id))
			continue;
		r = pack_traced(a, &files[i]);
		if (r == -ENOENT || r == -ESTALE) {
			if (missing++ < NAMED_MAX)
				console_warn(a->con, "left out %s: %s", files[i].name,
					     r == -ESTALE ? "has changed since it was traced"
							  : "not found");
			r = 0;
		} else if (!r) {
			a->nr_binaries++;
		}
	}
	if (missing > NAMED_MAX)
		console_warn(a->con, "left out %zu more traced files", missing - NAMED_MAX);
	traced_free(files, nr);
	return r;
}

static void skipped(void *ctx, const char *name)
{
	struct progress *progress = ctx;

	console_warn(progress->con, "left out %s: not part of a capture", name);
}

static int explain(struct archiving *a, int r)
{
	if (r)
		console_error(a->con, "'%s' cannot be archived: %s", a->args->capture,
			      a->why ?: reader_strerror(r));
	return r;
}

static bool has_files(int data)
{
	_cleanup_free_ char *why = NULL;
	struct traced_file *files = NULL;
	size_t nr = 0;
	int r = traced_read(data, &files, &nr, &why);

	traced_free(files, nr);
	return !r && nr;
}

/* A capture of Intel PT names all files that any task had mapped; only those in the trace matter.
 */
static int find_executed(struct archiving *a)
{
	_cleanup_free_ char *data = strfmt("%s/perf.data", a->args->capture);
	const struct decoding decoding = {
		.folder = a->args->capture,
		.data = data,
		.facts = &a->file.facts,
		.doing = "decoding",
		.cpu = -1,
		.threads = decoding_threads(),
		.end = UINT64_MAX,
	};

	if (!data)
		return explain(a, -ENOMEM);
	if (!decoding_files(a->con, &decoding, &a->executed, &a->nr_executed))
		return 0;
	console_warn(a->con, "'%s': including all mapped files, executed or not", a->args->capture);
	return 0;
}

static int pack_host(struct archiving *a)
{
	bool same;
	const struct perf_poke_capture *capture = a->file.capture;
	int r = host_pack(a->pack, capture, &same, &a->why);

	if (!r && !same)
		console_warn(a->con,
			     "'%s' was taken on %s with Linux %s; " LAYOUT_HOST
			     " and traced files are of this machine",
			     a->args->capture, capture->hostname ?: "?", capture->kernel ?: "?");
	return r;
}

static int pack_all(struct archiving *a, int fd)
{
	const struct pack_sink sink = {
		.fd = fd,
		.progress = progress_add,
		.ctx = &a->progress,
	};
	_cleanup_free_ char *top = NULL;
	/* A capture from an archive has these already, of its own machine. */
	bool opened = has(a, LAYOUT_HOST);
	int r = archiving_top(a->args->capture, &top);

	if (!r)
		r = pack_new(&a->pack, &sink, top, &a->why);
	if (!r)
		r = pack_tree(a->pack, a->dirfd, skipped, &a->why);
	if (!r && !opened)
		r = pack_host(a);
	if (!r && !opened && !a->args->no_binaries && a->data >= 0)
		r = pack_binaries(a);
	r = unchanged_end(&a->unchanged, a->con, explain(a, r));
	if (!r)
		r = explain(a, pack_finish(a->pack, &a->why));
	pack_free(a->pack);
	return r;
}

static void tell(const struct archiving *a, uint64_t size)
{
	if (a->args->quiet)
		return;
	if (a->nr_binaries)
		console_info(a->con, "%s: %s, with %zu traced files", a->args->output,
			     FORMAT_SIZE(size), a->nr_binaries);
	else
		console_info(a->con, "%s: %s", a->args->output, FORMAT_SIZE(size));
}

static int write_output(struct archiving *a)
{
	struct output_file file;
	struct stat st = { 0 };
	int r;

	if (!strcmp(a->args->output, "-"))
		return pack_all(a, STDOUT_FILENO);
	r = output_file_open(&file, a->args->output, a->args->force);
	if (!r) {
		r = pack_all(a, file.fd);
		if (r)
			goto out;
		fstat(file.fd, &st);
		r = output_file_publish(&file);
	}
	if (r)
		console_error(a->con, "--output '%s': %s", a->args->output,
			      output_file_strerror(r));
	else
		tell(a, (uint64_t)st.st_size);
out:
	output_file_close(&file);
	return r;
}

static int open_data(struct archiving *a)
{
	a->dirfd = open(a->args->capture, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a->dirfd < 0)
		return explain(a, -errno);
	if (!facts_have_trace(&a->file.facts))
		return 0;
	a->data = regular_open(a->dirfd, "perf.data/data");
	if (a->data >= 0)
		return 0;
	console_error(a->con, "'%s' is not a capture: %s/perf.data/data: %s", a->args->capture,
		      a->args->capture, regular_strerror(a->data));
	return a->data;
}

enum exit_code archiving_run(struct console *con, const struct archiving_args *args)
{
	struct archiving a = { .con = con, .args = args, .dirfd = -1, .data = -1 };
	int r;

	unchanged_begin(&a.unchanged, args->capture);
	r = capture_trace_open(con, args->capture, &a.file);
	if (!r)
		r = open_data(&a);
	if (!r && !has(&a, LAYOUT_HOST) && !args->no_binaries && facts_is_pt(&a.file.facts) &&
	    has_files(a.data))
		r = find_executed(&a);
	if (!r) {
		progress_begin(&a.progress, con, "archiving", tree_size(a.dirfd, ".").all);
		r = write_output(&a);
		progress_end(&a.progress);
	}
	free(a.executed);
	free(a.why);
	closep(&a.data);
	closep(&a.dirfd);
	capture_file_close(&a.file);
	return r ? EXIT_FAILED : EXIT_FINE;
}

static int add_file(uLong *sum, int dirfd, const char *name)
{
	_cleanup_close_ int fd = regular_open(dirfd, name);
	unsigned char buf[65536];
	ssize_t size;

	if (fd < 0)
		return fd;
	while ((size = read(fd, buf, sizeof(buf))) > 0)
		*sum = crc32(*sum, buf, (uInt)size);
	return size < 0 ? -errno : 0;
}

/* Removes all but letters that are safe in file names: captures are not trusted. */
static void make_safe(char *host)
{
	for (char *c = host; *c; c++) {
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", *c))
			*c = '_';
	}
}

int archive_name(const char *folder, char **name)
{
	_cleanup_close_ int dirfd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(capture_file_close) struct capture_file file = { 0 };
	_cleanup_free_ char *top = NULL, *why = NULL, *host = NULL;
	uLong sum = 0;
	int r = dirfd < 0 ? -errno : archiving_top(folder, &top);

	r = r ?: capture_file_open(&file, folder, &why);
	r = r ?: add_file(&sum, dirfd, CAPTURE_FILE_NAME);
	/* A capture of a poked perf has no trace. */
	if (!r && facts_have_trace(&file.facts))
		r = add_file(&sum, dirfd, "perf.data/data");
	if (r)
		return r;
	host = strfmt("%.127s", file.capture->hostname ?: "unknown");
	if (!host)
		return -ENOMEM;
	make_safe(host);
	*name = strfmt("%s-%s-%08lx.tar.zst", host, top, sum);
	return *name ? 0 : -ENOMEM;
}
