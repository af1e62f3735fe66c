// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "delivery/delivery.h"

static const struct delivery *const rows[] = {
	&delivery_task_work, &delivery_fasync, &delivery_tracepoint,
	&delivery_direct,    &delivery_relay,
};

const struct delivery *delivery_row(size_t i)
{
	return i < ARRAY_SIZE(rows) ? rows[i] : NULL;
}

const struct delivery *delivery_of(enum poke_way way)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i]->way == way)
			return rows[i];
	}
	return NULL;
}
