// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"

#include <bpf/btf.h>

const struct delivery *const deliveries[] = {
	&delivery_task_work, &delivery_fasync, &delivery_tracepoint,
	&delivery_direct,    &delivery_relay,  NULL,
};

const struct delivery *delivery_of(enum poke_way way)
{
	for (size_t i = 0; deliveries[i]; i++) {
		if (deliveries[i]->way == way)
			return deliveries[i];
	}
	return NULL;
}

bool delivery_has_kfunc(const char *name)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool found = btf && btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return found;
}
