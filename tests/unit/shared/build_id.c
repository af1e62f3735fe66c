// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "build_id.h"
#include "test.h"

#include <string.h>
#include <sys/mman.h>

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
