// SPDX-License-Identifier: GPL-2.0-only

#include "account/difference.h"
#include "json_add.h"
#include "printable.h"
#include "units.h"

static const struct span *span_of(const struct account *account, uint32_t span)
{
	return &account->spans->lanes[LANE_CODE].spans[span];
}

static const char *name_of(const struct account *account, uint32_t span)
{
	return names_get(account->spans->names, span_of(account, span)->name);
}

/* As time before the spike. */
static uint64_t before_ns(const struct account *account, uint32_t span)
{
	uint64_t begin = span_of(account, span)->begin;

	return begin < account->facts.time_ns ? account->facts.time_ns - begin : 0;
}

static void print_then(FILE *file, const char *where, const struct account *account, uint32_t span)
{
	if (span == SPAN_NONE) {
		fprintf(file, "  %-12s then nothing more\n", where);
		return;
	}
	fprintf(file, "  %-12s then %s, %s before the spike", where,
		CLEAN_TO(40, name_of(account, span)), FORMAT_TIME(before_ns(account, span)));
	if (span_of(account, span)->parent != SPAN_NONE)
		fprintf(file, ", in %s",
			CLEAN_TO(20, name_of(account, span_of(account, span)->parent)));
	fputc('\n', file);
}

static void print_parting(FILE *file, const struct parting *parting, const struct account *here,
			  const struct account *there)
{
	fputs("\nwhere the paths diverge\n", file);
	if (!parting->same) {
		fputs("  they have nothing in common\n", file);
		return;
	}
	fprintf(file, "  %-12s %u calls, from %s, %s here and %s there before the spike\n", "same",
		parting->same, CLEAN_TO(40, name_of(here, parting->here)),
		FORMAT_TIME(before_ns(here, parting->here)),
		FORMAT_TIME(before_ns(there, parting->there)));
	print_then(file, "here", here, parting->then_here);
	print_then(file, "there", there, parting->then_there);
}

static void format_change(char *buf, size_t size, const struct longer *longer)
{
	bool more = longer->here_ns >= longer->there_ns;
	uint64_t change_ns =
		more ? longer->here_ns - longer->there_ns : longer->there_ns - longer->here_ns;

	snprintf(buf, size, "%c%s", more ? '+' : '-', FORMAT_TIME(change_ns));
}

void difference_print(FILE *file, const struct difference *difference, const struct account *here,
		      const struct account *there, size_t top)
{
	bool functions = here->spans->has_functions;

	fprintf(file, "\nagainst %s\n  %s\n", CLEAN(there->capture), CLEAN(there->sentence));
	print_parting(file, &difference->parting, here, there);
	fprintf(file, "\n%-51s %10s %10s %11s\n",
		functions ? "what took longer, by itself" : "what took longer", "here", "there",
		"difference");
	for (size_t i = 0; i < difference->nr_longer && i < top; i++) {
		const struct longer *longer = &difference->longer[i];
		char size[UNITS_MAX + 1];

		format_change(size, sizeof(size), longer);
		fprintf(file, "  %-11s %-37s %10s %10s %11s\n",
			functions ? "" : span_kind_name(longer->kind), CLEAN_TO(37, longer->name),
			FORMAT_TIME(longer->here_ns), FORMAT_TIME(longer->there_ns), size);
	}
}

static json_object *new_then(const struct account *account, uint32_t span)
{
	json_object *object;

	if (span == SPAN_NONE)
		return NULL;
	object = json_object_new_object();
	json_add_text(object, "name", name_of(account, span));
	json_add_u64(object, "begin_ns", span_of(account, span)->begin);
	json_add_u64(object, "before_ns", before_ns(account, span));
	return object;
}

static json_object *new_parting(const struct parting *parting, const struct account *here,
				const struct account *there)
{
	json_object *object;

	if (!parting->same)
		return NULL;
	object = json_object_new_object();
	json_add_u64(object, "same", parting->same);
	json_add(object, "from_here", new_then(here, parting->here));
	json_add(object, "from_there", new_then(there, parting->there));
	json_add(object, "here", new_then(here, parting->then_here));
	json_add(object, "there", new_then(there, parting->then_there));
	return object;
}

json_object *difference_json(const struct difference *difference, const struct account *here,
			     const struct account *there, size_t top)
{
	json_object *object = json_object_new_object();
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < difference->nr_longer && i < top; i++) {
		const struct longer *longer = &difference->longer[i];
		json_object *row = json_object_new_object();

		json_add_text(row, "kind", span_kind_name(longer->kind));
		json_add_text(row, "name", longer->name);
		json_add_u64(row, "here_ns", longer->here_ns);
		json_add_u64(row, "there_ns", longer->there_ns);
		json_object_array_add(list, row);
	}
	json_add(object, "report", account_json(there, top));
	json_add(object, "parting", new_parting(&difference->parting, here, there));
	json_add(object, "longer", list);
	return object;
}
