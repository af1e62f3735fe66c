// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "helpers.h"
#include "perfdata.h"
#include "util.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define KALLSYMS "ffffffff81000000 T _text\n"

int __real_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);

static int link_error; /* error of hard links, or 0 */

int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	if (!link_error)
		return __real_linkat(from_fd, from, to_fd, to, flags);
	if (faccessat(from_fd, from, F_OK, 0) == 0)
		errno = link_error;
	return -1;
}

static struct stat check_file(int dirfd, const char *path, const char *expected)
{
	struct bytes content = load_file(dirfd, path);
	struct stat st;

	assert_int_equal(content.len, strlen(expected));
	assert_memory_equal(content.at, expected, content.len);
	assert_int_equal(fstatat(dirfd, path, &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0400);
	return st;
}

TEST_IN_FOLDER(test_copy)
{
	put_file(folder->fd, "proc/kallsyms", KALLSYMS);
	put_file(folder->fd, "proc/modules", "mod 16384 0 - Live 0xffffffffc0001000\n");
	assert_int_equal(perfdata_kcore_dir(folder->fd, folder->fd), 0);
	check_file(folder->fd, "kcore_dir/kallsyms", KALLSYMS);
	check_file(folder->fd, "kcore_dir/modules", "mod 16384 0 - Live 0xffffffffc0001000\n");
	assert_int_equal(perfdata_kcore_dir(folder->fd, folder->fd), -EEXIST);
}

TEST_IN_FOLDER(test_link)
{
	_cleanup_close_ int from = new_folder(folder->fd, "from");
	_cleanup_close_ int to = new_folder(folder->fd, "to");
	struct stat st;

	assert_int_equal(perfdata_kcore_dir_link(from, to), -ENOENT);
	put_file(folder->fd, "proc/kallsyms", KALLSYMS);
	assert_int_equal(perfdata_kcore_dir(from, folder->fd), 0);
	put_file(from, "kcore_dir/kcore", "code");
	assert_int_equal(fchmodat(from, "kcore_dir/kcore", 0400, 0), 0);
	assert_int_equal(perfdata_kcore_dir_link(from, to), 0);
	st = check_file(to, "kcore_dir/kcore", "code");
	assert_int_equal(st.st_ino, check_file(from, "kcore_dir/kcore", "code").st_ino);
	st = check_file(to, "kcore_dir/kallsyms", KALLSYMS);
	assert_int_equal(st.st_ino, check_file(from, "kcore_dir/kallsyms", KALLSYMS).st_ino);
	check_file(to, "kcore_dir/modules", "");
	assert_int_equal(perfdata_kcore_dir_link(from, to), -EEXIST);
}

/* Other filesystems, filesystems without hard links, too many of them; last, without code. */
TEST_IN_FOLDER(test_link_by_copying)
{
	static const int errors[] = { EXDEV, EPERM, EMLINK, EXDEV };
	_cleanup_close_ int from = new_folder(folder->fd, "from");
	struct stat st;

	put_file(folder->fd, "proc/kallsyms", KALLSYMS);
	assert_int_equal(perfdata_kcore_dir(from, folder->fd), 0);
	put_file(from, "kcore_dir/kcore", "code");
	assert_int_equal(fchmodat(from, "kcore_dir/kcore", 0400, 0), 0);
	st = check_file(from, "kcore_dir/kcore", "code");
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		_cleanup_close_ int to = new_folder(folder->fd, (char[]){ 'a' + i, '\0' });
		bool has_code = i + 1 < ARRAY_SIZE(errors);
		int r;

		if (!has_code)
			assert_int_equal(unlinkat(from, "kcore_dir/kcore", 0), 0);
		link_error = errors[i];
		r = perfdata_kcore_dir_link(from, to);
		link_error = 0;
		assert_int_equal(r, 0);
		check_file(to, "kcore_dir/kallsyms", KALLSYMS);
		check_file(to, "kcore_dir/modules", "");
		assert_int_equal(faccessat(to, "kcore_dir/kcore", F_OK, 0), has_code ? 0 : -1);
		if (has_code)
			assert_int_not_equal(check_file(to, "kcore_dir/kcore", "code").st_ino,
					     st.st_ino);
	}
}

/* A piece of memory and its place in the file. */
struct piece {
	uint64_t start, len, offset;
};

#define KERNEL 0xffffffff81000000
#define MODULES 0xffffffffc0000000

/* As /proc/kcore has them, a note first; not sorted. */
static const struct piece memory[] = {
	{ 0xffffc90000000000, 0x4000, 0x1000 },
	{ KERNEL, 0x300000, 0x100000 },
	{ MODULES, 0x8000, 0x5000 },
	{ 0xffff888000001000, 0x2000, 0x10000 },
};

static const char symbols[] = "0000000000000000 A fixed_percpu_data\n"
			      "ffffffff81000000 T _text\n"
			      "ffffffff81000080 T _stext\n"
			      "ffffffff81280123 T _etext\n"
			      "ffffffff81290000 D _edata\n"
			      "0000000000000000 t hidden\t[mod]\n"
			      "ffffffffc0002010 t mod_late\t[mod]\n"
			      "ffffffffc0007000 d mod_data\t[mod]\n"
			      "ffffffffc0004abc t bpf_prog_0123456789abcdef_trigger\t[bpf]\n"
			      "ffffffffc0003000 T _etext\t[mod]\n";
static const char modules[] = "hidden 4096 0 - Live 0x0000000000000000\n"
			      "mod 4096 0 - Live 0xffffffffc0001000 (OE)\n";

/* Memory in which each word is its own address. */
static void put_kcore(int dirfd, const struct piece *pieces, size_t nr, unsigned char class)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', class, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = nr + 1,
		.e_shoff = 12,
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	/* A note whose range would contain the kernel. */
	Elf64_Phdr segment = { .p_type = PT_NOTE, .p_vaddr = KERNEL, .p_memsz = 0x400000 };
	_cleanup_close_ int fd = -1;

	put_file(dirfd, "proc/kcore", "");
	fd = openat(dirfd, "proc/kcore", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &segment, sizeof(segment), sizeof(header)), sizeof(segment));
	for (size_t i = 0; i < nr; i++) {
		_cleanup_free_ uint64_t *words = malloc(pieces[i].len);

		for (size_t w = 0; w < pieces[i].len / 8; w++)
			words[w] = pieces[i].start + w * 8;
		segment = (Elf64_Phdr){ .p_type = PT_LOAD,
					.p_offset = pieces[i].offset,
					.p_vaddr = pieces[i].start,
					.p_filesz = pieces[i].len,
					.p_memsz = pieces[i].len };
		assert_int_equal(pwrite(fd, &segment, sizeof(segment),
					sizeof(header) + (i + 1) * sizeof(segment)),
				 sizeof(segment));
		assert_int_equal(pwrite(fd, words, pieces[i].len, pieces[i].offset), pieces[i].len);
	}
}

static void put_system(int dirfd, const struct piece *pieces, size_t nr, const char *kallsyms,
		       const char *module_list)
{
	put_file(dirfd, "proc/kallsyms", kallsyms);
	put_file(dirfd, "proc/modules", module_list);
	put_kcore(dirfd, pieces, nr, ELFCLASS64);
	assert_int_equal(perfdata_kcore_dir(dirfd, dirfd), 0);
}

static void check_elf_header(struct bytes *file, unsigned int segments)
{
	assert_memory_equal(take(file, 7).at, "\177ELF\2\1\1", 7);
	take(file, 9);
	EXPECT(file, U16(ET_CORE), U16(EM_X86_64), U32(EV_CURRENT), U64(0),
	       U64(64) /* program headers follow */, U64(0), U32(0), U16(64), U16(56),
	       U16(segments));
	take(file, 2);
	EXPECT(file, U16(0), U16(0));
}

static void check_segment(struct bytes file, struct bytes *headers, const struct piece *piece)
{
	struct bytes words = slice(file, piece->offset, piece->len);

	EXPECT(headers, U32(PT_LOAD), U32(PF_R | PF_W | PF_X), U64(piece->offset),
	       U64(piece->start), U64(0), U64(piece->len), U64(piece->len), U64(4096));
	for (uint64_t at = 0; at < piece->len; at += 8)
		assert_int_equal(take_u64(&words), piece->start + at);
}

/* The copy has exactly these pieces. */
static void check_kcore(int dirfd, const struct piece *pieces, size_t nr)
{
	struct bytes file = load_file(dirfd, "kcore_dir/kcore"), headers = file;
	struct stat st;

	check_elf_header(&headers, nr);
	for (size_t i = 0; i < nr; i++)
		check_segment(file, &headers, &pieces[i]);
	assert_int_equal(file.len, pieces[nr - 1].offset + pieces[nr - 1].len);
	assert_int_equal(fstatat(dirfd, "kcore_dir/kcore", &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0400);
}

static void check_no_kcore(int dirfd, int error)
{
	assert_int_equal(perfdata_kcore(dirfd, dirfd), error);
	assert_int_equal(faccessat(dirfd, "kcore_dir/kcore", F_OK, 0), -1);
}

static const struct {
	struct piece pieces[4]; /* none: memory[] */
	size_t nr;
	const char *kallsyms, *modules;
	struct piece expected[2];
	size_t nr_expected;
} codes[] = {
	/* From the page of _stext to that of _etext; from the module's begin to a page after that
	 * of the last symbol. */
	{ .kallsyms = symbols,
	  .modules = modules,
	  .expected = { { KERNEL, 0x281000, 0x1000 }, { MODULES + 0x1000, 0x5000, 0x282000 } },
	  .nr_expected = 2 },
	{ .kallsyms = "ffffffff81001000 T _stext\nffffffff81003000 T _etext\n",
	  .modules = "",
	  .expected = { { KERNEL + 0x1000, 0x2000, 0x1000 } },
	  .nr_expected = 1 },
	/* BPF programs and trampolines, without modules. */
	{ .kallsyms = "ffffffff81000000 T _stext\nffffffff81000001 T _etext\n"
		      "ffffffffc0003fff t bpf_trampoline_1\t[bpf]\n"
		      "ffffffffc0002004 t bpf_prog_1\t[bpf]\n",
	  .modules = "",
	  .expected = { { KERNEL, 0x1000, 0x1000 }, { MODULES + 0x2000, 0x3000, 0x2000 } },
	  .nr_expected = 2 },
	/* Each ends where its piece of memory does. */
	{ .pieces = { { MODULES, 0x5000, 0x1000 },
		      { KERNEL, 0x200000, 0x10000 },
		      { KERNEL + 0x200000, 0x100000, 0x300000 } },
	  .nr = 3,
	  .kallsyms = symbols,
	  .modules = modules,
	  .expected = { { KERNEL, 0x200000, 0x1000 }, { MODULES + 0x1000, 0x4000, 0x201000 } },
	  .nr_expected = 2 },
	/* Modules in memory missing from kcore, or in impossible memory. */
	{ .kallsyms = "ffffffff81000000 T _stext\nffffffff81000100 T _etext\n",
	  .modules = "mod 4096 0 - Live 0xffffffffd0000000\n",
	  .expected = { { KERNEL, 0x1000, 0x1000 } },
	  .nr_expected = 1 },
	{ .kallsyms = "ffffffff81000000 T _stext\nffffffff81000100 T _etext\n",
	  .modules = "mod 4096 0 - Live 0xffffffffc0001000\n"
		     "far 4096 0 - Live 0xffff888000001000\n",
	  .expected = { { KERNEL, 0x1000, 0x1000 } },
	  .nr_expected = 1 },
};

TEST_IN_FOLDER(test_code)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		_cleanup_close_ int fd = new_folder(folder->fd, (char[]){ 'a' + i, '\0' });

		put_system(fd, codes[i].nr ? codes[i].pieces : memory,
			   codes[i].nr ?: ARRAY_SIZE(memory), codes[i].kallsyms, codes[i].modules);
		assert_int_equal(perfdata_kcore(fd, fd), 0);
		check_kcore(fd, codes[i].expected, codes[i].nr_expected);
		assert_int_equal(perfdata_kcore(fd, fd), -EEXIST);
		check_kcore(fd, codes[i].expected, codes[i].nr_expected);
	}
}

TEST_IN_FOLDER(test_no_code)
{
	static const struct piece only_modules[] = { { MODULES, 0x8000, 0x1000 } };
	/* Ends within the program headers, and within the code. */
	static const off_t sizes[] = { sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), 0x200000 };

	put_system(folder->fd, memory, ARRAY_SIZE(memory), symbols, modules);
	/* Lockdown. */
	put_file(folder->fd, "proc/kcore", "");
	check_no_kcore(folder->fd, -EPERM);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_close_ int fd = -1;

		put_kcore(folder->fd, memory, ARRAY_SIZE(memory), ELFCLASS64);
		fd = openat(folder->fd, "proc/kcore", O_WRONLY | O_CLOEXEC);
		assert_int_equal(ftruncate(fd, sizes[i]), 0);
		check_no_kcore(folder->fd, -EIO);
	}
	put_kcore(folder->fd, memory, ARRAY_SIZE(memory), ELFCLASS32);
	check_no_kcore(folder->fd, -EOPNOTSUPP);
	/* Without the kernel's text the rest is useless. */
	put_kcore(folder->fd, only_modules, ARRAY_SIZE(only_modules), ELFCLASS64);
	check_no_kcore(folder->fd, -ENODATA);
	assert_int_equal(unlinkat(folder->fd, "proc/kcore", 0), 0);
	check_no_kcore(folder->fd, -ENOENT);
}

TEST_IN_FOLDER(test_hidden_code)
{
	put_system(folder->fd, memory, ARRAY_SIZE(memory),
		   "0000000000000000 T _stext\n0000000000000000 T _etext\n"
		   "0000000000000000 t mod_late\t[mod]\n",
		   "mod 4096 0 - Live 0x0000000000000000\n");
	check_no_kcore(folder->fd, -EPERM);
}
