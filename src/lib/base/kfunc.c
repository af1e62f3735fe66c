// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/kfunc.h"

#include <stddef.h>

#include <bpf/btf.h>

bool kfunc_exists(const char *name)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool found = btf && btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return found;
}
