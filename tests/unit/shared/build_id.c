// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "build_id.h"
#include "test.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

TEST(finds_an_elf_file)
{
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	struct build_id id;
	struct vdso vdso;

	if (vdso_find_own(&vdso))
		skip();
	assert_true(vdso.size > 1000);
	assert_int_equal(write(fd, vdso.image, vdso.size), vdso.size);
	/* That is read by other means. */
	id = build_id_of_elf(fd);
	assert_memory_equal(&id, &vdso.id, sizeof(id));
}

#define CLAIMED (8 << 20)

/* A file of some kilobytes: headers for millions of sections and segments, in a hole. */
TEST(does_not_believe_what_a_file_claims)
{
	_cleanup_close_ int fd = memfd_create("claims", MFD_CLOEXEC);
	const Elf64_Shdr first = { .sh_size = CLAIMED, .sh_info = CLAIMED };
	Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = PN_XNUM,
		.e_phoff = 4096,
		.e_shentsize = sizeof(first),
		.e_shoff = sizeof(header),
	};
	struct rusage before, after;

	assert_int_equal(ftruncate(fd, 4096 + CLAIMED * sizeof(first)), 0);
	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &first, sizeof(first), sizeof(header)), sizeof(first));
	getrusage(RUSAGE_SELF, &before);
	assert_int_equal(build_id_of_elf(fd).size, 0);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10);
}
