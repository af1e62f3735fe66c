// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "vdso.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void finds_an_elf_file(void **state)
{
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	struct build_id id;
	struct vdso vdso;

	(void)state;
	if (vdso_find(&vdso))
		skip();
	assert_true(vdso.size > 1000);
	assert_int_equal(write(fd, vdso.image, vdso.size), vdso.size);
	/* That is read by other means. */
	id = build_id_of_elf(fd);
	assert_memory_equal(&id, &vdso.id, sizeof(id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_an_elf_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
