// SPDX-License-Identifier: GPL-2.0-only
#include "symbols/symbol.h"

#include <string.h>

#include "symbols/names.h"

#define COLD ".cold"

/* Cold parts of a function have symbols such as function.cold. */
void code_number_names(struct symbol *symbol, struct names *names)
{
	const char *cold = strstr(symbol->text, COLD);
	_cleanup_free_ char *base = NULL;

	symbol->name = symbol->base = names_add(names, symbol->text);
	if (!cold || cold == symbol->text)
		return;
	base = strndup(symbol->text, (size_t)(cold - symbol->text));
	if (base)
		symbol->base = names_add(names, base);
}
