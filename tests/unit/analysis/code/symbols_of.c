// SPDX-License-Identifier: GPL-2.0-only
/* `kallsyms FILE` or `elf FILE`: names the addresses, or offsets, of standard input. */
#include <inttypes.h>
#include <string.h>

#include "code/files.h"
#include "code/symbols.h"

static int read_symbols(char **argv, struct symbols *symbols)
{
	_cleanup_close_ int fd = open(argv[2], O_RDONLY), debug = -1;
	struct files_wanted wanted = { .name = argv[2], .id = build_id_of_elf(fd) };

	if (!strcmp(argv[1], "kallsyms"))
		return symbols_of_kallsyms(symbols, fd);
	debug = files_open_debug(&(struct files_places){}, &wanted, fd);
	return symbols_of_elf(symbols, fd, debug);
}

static void tell(const char *name)
{
	_cleanup_free_ char *plain = demangle(name);

	puts(plain ?: name);
}

int main(int argc, char **argv)
{
	struct symbols symbols = {};
	uint64_t at;
	int r = argc < 3 ? -EINVAL : read_symbols(argv, &symbols);

	if (r) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-r));
		return 1;
	}
	while (scanf("%" SCNx64, &at) == 1) {
		const struct symbols_entry *entry = symbols_find(&symbols, at);

		tell(entry ? symbols_name(&symbols, entry) : "");
	}
	symbols_release(&symbols);
	return 0;
}
