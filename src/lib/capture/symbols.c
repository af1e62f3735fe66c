// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/symbols.h"

#include "util.h"

static bool is_known(const struct capture_symbols *symbols, struct kallsyms_place *place)
{
	for (size_t i = 0; i < ARRAY_SIZE(symbols->known); i++) {
		const struct kallsyms_place *known = &symbols->known[i];

		if (known->start && known->address == place->address) {
			*place = *known;
			return true;
		}
	}
	return false;
}

int capture_symbols_find(struct capture_symbols *symbols, struct kallsyms_place *places, size_t nr)
{
	bool all = symbols;
	int err;

	for (size_t i = 0; i < nr && all; i++)
		all = is_known(symbols, &places[i]);
	if (all)
		return 0;
	err = kallsyms_places(places, nr);
	for (size_t i = 0; symbols && i < nr; i++) {
		if (places[i].start && !is_known(symbols, &places[i]))
			symbols->known[symbols->next++ % ARRAY_SIZE(symbols->known)] = places[i];
	}
	return err;
}
