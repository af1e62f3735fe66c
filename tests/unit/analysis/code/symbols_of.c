// SPDX-License-Identifier: GPL-2.0-only
/* `kallsyms FILE` or `elf FILE`: names the addresses, or offsets, of standard input. `lines FILE`:
 * the functions and lines there, innermost first. */
#include <inttypes.h>
#include <string.h>

#include "array.h"
#include "code/symbolizer.h"

static void tell(const char *name)
{
	_cleanup_free_ char *plain = demangle(name);

	puts(plain ?: name);
}

static int tell_lines(struct symbolizer *symbolizer, uint32_t number)
{
	_cleanup_(source_places_release) struct source_places places = {};
	_cleanup_free_ uint64_t *offsets = NULL;
	uint64_t at;
	size_t nr = 0;
	int r;

	while (scanf("%" SCNx64, &at) == 1) {
		if (array_grow(&offsets, nr, sizeof(*offsets)))
			return -ENOMEM;
		offsets[nr++] = at;
	}
	r = symbolizer_find_places(symbolizer, number, offsets, nr, &places);
	for (size_t i = 0; i < places.nr; i++) {
		const struct source_place *place = &places.list[i];

		printf("%" PRIx64 " %s:%" PRIu32 " ", offsets[place->of],
		       places.text + place->source, place->line);
		tell(places.text + place->function);
	}
	return r;
}

int main(int argc, char **argv)
{
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	_cleanup_(symbols_release) struct symbols symbols = {};
	_cleanup_close_ int fd = argc < 3 ? -1 : open(argv[2], O_RDONLY);
	const struct files_places places = { .buildid_dir = getenv("PLACES"),
					     .symfs = getenv("SYMFS") };
	struct files_wanted wanted = { .name = argv[2], .id = build_id_of_elf(fd) };
	uint32_t number = 0;
	uint64_t at;
	int r = fd < 0 ? -EINVAL : symbolizer_new(&symbolizer, &places);

	if (!r && !strcmp(argv[1], "kallsyms"))
		r = symbols_of_kallsyms(&symbols, fd);
	else if (!r)
		r = symbolizer_open_file(symbolizer, &wanted, fd, &symbols, &number);
	if (!r && !strcmp(argv[1], "lines"))
		r = tell_lines(symbolizer, number);
	if (r) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-r));
		return 1;
	}
	while (scanf("%" SCNx64, &at) == 1) {
		const struct symbols_entry *entry = symbols_find(&symbols, at);

		tell(entry ? symbols_name(&symbols, entry) : "");
	}
	return 0;
}
