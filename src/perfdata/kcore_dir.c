// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* kcore_dir: the kernel's symbols and code, for reading a capture elsewhere or later. */
#include "internal.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "io.h"

/* Large and optional. */
#define KCORE "kcore"

static const char *const copied_files[] = { "kallsyms", "modules" };

static int make_kcore_dir(int *ret, int dirfd)
{
	int fd;

	if (mkdirat(dirfd, "kcore_dir", 0700) < 0)
		return -errno;
	fd = openat(dirfd, "kcore_dir", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

/* A missing file becomes empty: perf needs `modules` even if the kernel has none. */
static int copy_proc_file(int from_fd, int to_fd, const char *name)
{
	_cleanup_buf_ struct perfdata_buf content = {};
	_cleanup_close_ int fd = -1;
	int err;

	err = perfdata_buf_read_file(&content, from_fd, name);
	if (err < 0 && err != -ENOENT)
		return err;
	fd = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return -errno;
	err = write_all(fd, content.data, content.len);
	if (err < 0)
		return err;
	if (close(TAKE_FD(fd)) < 0)
		return -errno;
	return 0;
}

int perfdata_kcore_dir(int dirfd, int rootfd)
{
	_cleanup_close_ int from_fd = openat(rootfd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int to_fd = -1;
	int err;

	if (from_fd < 0)
		return -errno;
	err = make_kcore_dir(&to_fd, dirfd);
	if (err < 0)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(copied_files); i++) {
		err = copy_proc_file(from_fd, to_fd, copied_files[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

/* By a hard link, or else a copy. It may be missing. */
static int link_kcore(int from_dirfd, int to_dirfd)
{
	_cleanup_close_ int from = -1, to = -1;
	ssize_t n;

	if (!linkat(from_dirfd, KCORE, to_dirfd, KCORE, 0) || errno == ENOENT)
		return 0;
	from = openat(from_dirfd, KCORE, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return errno == ENOENT ? 0 : -errno;
	to = openat(to_dirfd, KCORE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (to < 0)
		return errno == ENOENT ? 0 : -errno;
	do
		n = sendfile(to, from, NULL, 1 << 30);
	while (n > 0);
	if (n < 0)
		return -errno;
	return close(TAKE_FD(to)) ? -errno : 0;
}

int perfdata_kcore_dir_link(int from_dirfd, int to_dirfd)
{
	_cleanup_close_ int from_fd =
		openat(from_dirfd, "kcore_dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int to_fd = -1;
	int err;

	if (from_fd < 0)
		return -errno;
	err = make_kcore_dir(&to_fd, to_dirfd);
	if (err < 0)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(copied_files); i++) {
		if (linkat(from_fd, copied_files[i], to_fd, copied_files[i], 0) == 0)
			continue;
		err = copy_proc_file(from_fd, to_fd, copied_files[i]);
		if (err < 0)
			return err;
	}
	return link_kcore(from_fd, to_fd);
}

/* Copies the parts of /proc/kcore, an ELF view of all memory, that contain kernel code. */

#define PAGE 4096ULL
#define BLOCK (1024 * 1024)
/* Limit of a plausible range. */
#define MODULES_MAX (1ULL << 30)

struct range {
	uint64_t start, end; /* empty: end is not more than start */
};

struct code {
	struct range kernel;
	struct range modules; /* including BPF programs and trampolines */
};

static void code_range_extend(struct range *range, uint64_t start, uint64_t end)
{
	if (!range->end || start < range->start)
		range->start = start;
	if (end > range->end)
		range->end = end;
}

/* In kallsyms, the module name or [bpf] follows symbols outside the kernel proper. */
static void code_add_symbol(struct code *code, const char *line)
{
	uint64_t address;
	char type, name[512], module[128];
	int nr;

	nr = sscanf(line, "%" SCNx64 " %c %511s %127s", &address, &type, name, module);
	if (nr < 3 || !address)
		return;
	if (nr == 4 && module[0] == '[') {
		if (strchr("tTwW", type))
			code_range_extend(&code->modules, address, address + 1);
	} else if (!strcmp(name, "_stext")) {
		code->kernel.start = address & ~(PAGE - 1);
	} else if (!strcmp(name, "_etext")) {
		code->kernel.end = (address + PAGE - 1) & ~(PAGE - 1);
	}
}

/* A module's text starts at the address in /proc/modules, possibly before its first symbol. */
static void code_add_module(struct code *code, const char *line)
{
	uint64_t size, start;

	if (sscanf(line, "%*s %" SCNu64 " %*s %*s %*s %" SCNx64, &size, &start) == 2 && start)
		code_range_extend(&code->modules, start, start + size);
}

static int each_proc_line(int dirfd, const char *path, void (*add)(struct code *, const char *),
			  struct code *code)
{
	_cleanup_buf_ struct perfdata_buf text = {};
	char *rest, *line;
	int err;

	err = perfdata_buf_read_text(&text, dirfd, path);
	if (err < 0)
		return err;
	for (rest = (char *)text.data; (line = strsep(&rest, "\n"));)
		add(code, line);
	return 0;
}

static int find_kernel_code(struct code *code, int dirfd)
{
	int err;

	err = each_proc_line(dirfd, "kcore_dir/kallsyms", code_add_symbol, code);
	if (!err)
		err = each_proc_line(dirfd, "kcore_dir/modules", code_add_module, code);
	if (err)
		return err;
	if (code->kernel.end <= code->kernel.start)
		return -EPERM;
	if (code->modules.end) {
		code->modules.start &= ~(PAGE - 1);
		/* The last symbol has no end. */
		code->modules.end = (code->modules.end + 2 * PAGE - 1) & ~(PAGE - 1);
		if (code->modules.end - code->modules.start > MODULES_MAX)
			code->modules = (struct range){};
	}
	return 0;
}

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	uint64_t sources[2]; /* offsets in /proc/kcore */
	size_t nr;
};

/* Truncates the range to the kcore segment that contains its start. */
static int image_add_segment(struct image *image, int kcore_fd, struct range range)
{
	uint64_t offset = PAGE;
	Elf64_Phdr segment;

	if (range.end <= range.start)
		return 0;
	if (image->nr)
		offset = image->segments[image->nr - 1].p_offset +
			 image->segments[image->nr - 1].p_filesz;
	for (unsigned int i = 0; i < image->header.e_phnum; i++) {
		uint64_t end, at = image->header.e_phoff + i * sizeof(segment);

		if (pread(kcore_fd, &segment, sizeof(segment), at) != sizeof(segment))
			return -EIO;
		end = segment.p_vaddr + segment.p_memsz;
		if (segment.p_type != PT_LOAD || range.start < segment.p_vaddr ||
		    range.start >= end)
			continue;
		if (range.end < end)
			end = range.end;
		image->sources[image->nr] = segment.p_offset + range.start - segment.p_vaddr;
		image->segments[image->nr++] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W | PF_X,
			.p_offset = offset,
			.p_vaddr = range.start,
			.p_filesz = end - range.start,
			.p_memsz = end - range.start,
			.p_align = PAGE,
		};
		return 0;
	}
	return 0;
}

static int copy_kcore_bytes(int to_fd, uint64_t to, int from_fd, uint64_t from, uint64_t len)
{
	_cleanup_free_ char *block = malloc(BLOCK);

	if (!block)
		return -ENOMEM;
	while (len) {
		ssize_t n = pread(from_fd, block, len < BLOCK ? len : BLOCK, from);

		if (n <= 0)
			return n ? -errno : -EIO;
		for (ssize_t done = 0, w; done < n; done += w) {
			w = pwrite(to_fd, block + done, n - done, to + done);
			if (w < 0)
				return -errno;
		}
		to += n;
		from += n;
		len -= n;
	}
	return 0;
}

static int write_kcore_image(const struct image *image, int fd, int kcore_fd)
{
	Elf64_Ehdr header = image->header;
	size_t size = image->nr * sizeof(image->segments[0]);
	int err = 0;

	header.e_phoff = sizeof(header);
	header.e_phnum = image->nr;
	header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
	if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    pwrite(fd, image->segments, size, sizeof(header)) != (ssize_t)size)
		return errno ? -errno : -ENOSPC;
	for (size_t i = 0; i < image->nr && !err; i++)
		err = copy_kcore_bytes(fd, image->segments[i].p_offset, kcore_fd, image->sources[i],
				       image->segments[i].p_filesz);
	return err;
}

int perfdata_kcore(int dirfd, int rootfd)
{
	_cleanup_close_ int kcore_fd = openat(rootfd, "proc/kcore", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int fd = -1;
	struct image image = {};
	struct code code = {};
	int err;

	if (kcore_fd < 0)
		return -errno;
	err = find_kernel_code(&code, dirfd);
	if (err)
		return err;
	if (pread(kcore_fd, &image.header, sizeof(image.header), 0) != sizeof(image.header))
		return -EPERM; /* empty under lockdown */
	if (image.header.e_ident[EI_CLASS] != ELFCLASS64)
		return -EOPNOTSUPP;
	err = image_add_segment(&image, kcore_fd, code.kernel);
	if (!err && !image.nr)
		err = -ENODATA;
	if (!err)
		err = image_add_segment(&image, kcore_fd, code.modules);
	if (err)
		return err;
	fd = openat(dirfd, "kcore_dir/kcore", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return -errno;
	err = write_kcore_image(&image, fd, kcore_fd);
	if (!err && close(TAKE_FD(fd)))
		err = -errno;
	if (err)
		unlinkat(dirfd, "kcore_dir/kcore", 0);
	return err;
}
