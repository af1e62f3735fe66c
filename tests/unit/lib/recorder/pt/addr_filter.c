// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* On a /proc/kallsyms and a program of this test's own. */
#include "recorder/pt/addr_filter.h"

#include <elf.h>
#include <string.h>

#include "helpers.h"
#include "messages.h"
#include "util.h"

#define LOADED_AT 0x400000
#define FILE_PART 0x1000

static struct messages messages;
static const struct log log_of_test = { messages_add, &messages };
static const char *symbols;

static const char kernel[] = "0000000000004000 A fixed_percpu_data\n"
			     "ffffffff81000000 T startup\n"
			     "ffffffff81000040 t one\n"
			     "ffffffff81000040 t one_alias\n"
			     "ffffffff81000080 t twice\n"
			     "ffffffff81000100 T global\n"
			     "ffffffff81000180 t global\n"
			     "ffffffff81000200 t twice\n"
			     "ffffffff81000300 T _etext\n"
			     "ffffffff82000000 D data\n"
			     "ffffffffc0000210 t last\t[snd]\n"
			     "ffffffffc0000200 t of_module\t[snd]\n"
			     "ffffffffc0000100 t unsorted\t[snd]\n";

FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	assert_string_equal(path, "/proc/kallsyms");
	assert_string_equal(mode, "re");
	return fmemopen((char *)symbols, strlen(symbols), "r");
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	return __wrap_fopen(path, mode);
}

struct program {
	Elf64_Ehdr header;
	Elf64_Phdr load;
	Elf64_Shdr sections[3];
	Elf64_Sym symbols[8];
	char names[64];
};

static void add_symbol(struct program *program, size_t i, size_t name, int bind, int type,
		       uint64_t at, uint64_t size)
{
	program->symbols[i] = (Elf64_Sym){
		.st_name = name,
		.st_info = ELF64_ST_INFO(bind, type),
		.st_shndx = 1,
		.st_value = LOADED_AT + at,
		.st_size = size,
	};
}

/* Its code is at FILE_PART in the file, and at LOADED_AT once it runs. */
static void fill_program(struct program *program)
{
	*program = (struct program){
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(struct program, load),
			.e_shoff = offsetof(struct program, sections),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
		},
		.load = { .p_type = PT_LOAD, .p_offset = FILE_PART, .p_vaddr = LOADED_AT,
			  .p_filesz = 0x500, .p_memsz = 0x500 },
		.names = "\0main\0twice\0var\0unsized",
	};
	program->sections[1] = (Elf64_Shdr){
		.sh_type = SHT_SYMTAB,
		.sh_offset = offsetof(struct program, symbols),
		.sh_size = sizeof(program->symbols),
		.sh_link = 2,
		.sh_info = 1,
		.sh_entsize = sizeof(Elf64_Sym),
	};
	program->sections[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct program, names),
		.sh_size = sizeof(program->names),
	};
	add_symbol(program, 1, 1, STB_GLOBAL, STT_FUNC, 0x100, 0x20);
	add_symbol(program, 2, 6, STB_LOCAL, STT_FUNC, 0x300, 0x30);
	add_symbol(program, 3, 6, STB_GLOBAL, STT_FUNC, 0x200, 0x40);
	add_symbol(program, 4, 6, STB_WEAK, STT_FUNC, 0x200, 0x40);
	add_symbol(program, 5, 12, STB_GLOBAL, STT_OBJECT, 0x400, 8);
	add_symbol(program, 6, 16, STB_GLOBAL, STT_FUNC, 0x180, 0);
	/* Not in the file: of what is zero at the beginning. */
	add_symbol(program, 7, 12, STB_GLOBAL, STT_FUNC, 0x600, 8);
}

static int setup(void **state)
{
	_cleanup_close_ int fd = -1;
	struct program program;
	const struct folder *folder;

	symbols = kernel;
	if (make_folder(state))
		return -1;
	folder = *state;
	fill_program(&program);
	fd = openat(folder->fd, "program", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	put_file(folder->fd, "text", "no program\n");
	put_file(folder->fd, "a b", "");
	return write(fd, &program, sizeof(program)) == sizeof(program) ? 0 : -1;
}

static int resolve(const char *text, char **resolved)
{
	memset(&messages, 0, sizeof(messages));
	*resolved = NULL;
	return addr_filter_resolve(resolved, text, 4, &log_of_test);
}

static void check_resolved(const char *text, const char *expected)
{
	_cleanup_free_ char *resolved = NULL;

	if (resolve(text, &resolved))
		fail_msg("'%s': %s", text, messages.text);
	assert_string_equal(resolved, expected);
	assert_int_equal(messages.nr, 0);
}

static void check_error(const char *text, int err, const char *message)
{
	char *resolved;

	assert_int_equal(resolve(text, &resolved), err);
	assert_null(resolved);
	assert_int_equal(messages.nr, 1);
	assert_string_equal(messages.text, message);
}

TEST_WITH(takes_numbers, setup, remove_folder)
{
	check_resolved("filter 0xffffffff81000000/0x10", "filter 0xffffffff81000000/0x10");
	check_resolved("filter 4096 / 16", "filter 0x1000/0x10");
	check_resolved("start 010", "start 0x8");
	check_resolved("stop 0x10", "stop 0x10");
	check_resolved("tracestop 0x10/1", "stop 0x10/0x1");
}

TEST_WITH(takes_kernel_symbols, setup, remove_folder)
{
	check_resolved("filter one", "filter 0xffffffff81000040/0x40");
	check_resolved("  filter   one  ", "filter 0xffffffff81000040/0x40");
	check_resolved("filter one_alias", "filter 0xffffffff81000040/0x40");
	check_resolved("filter one/0x4", "filter 0xffffffff81000040/0x4");
	check_resolved("filter startup / one", "filter 0xffffffff81000000/0x80");
	check_resolved("filter 0xffffffff81000010/one", "filter 0xffffffff81000010/0x70");
	check_resolved("filter startup / 0x8", "filter 0xffffffff81000000/0x8");
	check_resolved("start one", "start 0xffffffff81000040");
	check_resolved("stop one", "stop 0xffffffff81000040");
	check_resolved("tracestop one", "stop 0xffffffff81000040/0x40");
	check_resolved("filter unsorted", "filter 0xffffffffc0000100/0x100");
	check_resolved("filter of_module", "filter 0xffffffffc0000200/0x10");
	/* A page behind the last function. */
	check_resolved("filter *", "filter 0xffffffff81000000/0x3f002000");
}

TEST_WITH(takes_the_nth, setup, remove_folder)
{
	check_resolved("filter twice #1", "filter 0xffffffff81000080/0x80");
	check_resolved("filter twice#2", "filter 0xffffffff81000200/0x100");
	check_resolved("filter twice # 2", "filter 0xffffffff81000200/0x100");
	check_resolved("filter twice #1 / twice #2", "filter 0xffffffff81000080/0x280");
	check_resolved("filter global #g", "filter 0xffffffff81000100/0x80");
	check_resolved("filter global #G", "filter 0xffffffff81000100/0x80");
	check_resolved("filter global #0", "filter 0xffffffff81000100/0x80");
	check_resolved("filter global #2", "filter 0xffffffff81000180/0x80");
}

TEST_WITH(takes_several, setup, remove_folder)
{
	const char *both = "filter 0xffffffff81000040/0x40,stop 0xffffffff81000000/0x40";

	check_resolved("filter one, tracestop startup", both);
	check_resolved("filter one,tracestop startup", both);
	check_resolved("filter one tracestop startup", both);
	check_resolved("filter one/0x40,tracestop startup / 64 ,", both);
}

TEST_WITH(takes_files, setup, remove_folder)
{
	static const char *const cases[][2] = {
		{ "main", "0x1100/0x20" },	{ "twice #1", "0x1200/0x40" },
		{ "twice #2", "0x1300/0x30" },	{ "twice #g", "0x1200/0x40" },
		{ "unsized", "0x1180/0x80" },	{ "main / twice #2", "0x1100/0x230" },
		{ "0x10 / 0x20", "0x10/0x20" },
	};
	char text[5000], expected[5000];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "filter %s @ %s/program", cases[i][0], folder->path);
		snprintf(expected, sizeof(expected), "filter %s@%s/program", cases[i][1],
			 folder->path);
		check_resolved(text, expected);
	}
	snprintf(text, sizeof(text), "filter *@%s/./program,filter one", folder->path);
	snprintf(expected, sizeof(expected),
		 "filter 0x0/%#zx@%s/program,filter 0xffffffff81000040/0x40",
		 sizeof(struct program), folder->path);
	check_resolved(text, expected);
}

TEST_WITH(refuses_symbols, setup, remove_folder)
{
	check_error("filter two", -ENOENT,
		    "address filter 'filter two': the kernel has no function 'two' "
		    "(/proc/kallsyms shows them)");
	check_error("filter data", -ENOENT,
		    "address filter 'filter data': the kernel has no function 'data' "
		    "(/proc/kallsyms shows them)");
	check_error("filter one, filter startup / twice , filter one", -EINVAL,
		    "address filter 'filter startup / twice': 2 functions are called 'twice': use "
		    "#1 (0xffffffff81000080), #2 (0xffffffff81000200) behind the name");
	check_error("filter twice #3", -ENOENT,
		    "address filter 'filter twice #3': there is no 'twice' #3: use a number from "
		    "#1 to #2");
	check_error("filter twice #g", -ENOENT,
		    "address filter 'filter twice #g': no function 'twice' is global: use #1 or "
		    "another number");
	check_error("filter one / startup", -EINVAL,
		    "address filter 'filter one / startup': 'startup' (0xffffffff81000000) comes "
		    "before the beginning (0xffffffff81000040): change their order");
	check_error("filter last", -EINVAL,
		    "address filter 'filter last': how large the range is does not follow: add / "
		    "SIZE, not 0");
	symbols = "0000000000000000 T one\n";
	check_error("filter one", -EPERM,
		    "address filter 'filter one': the kernel hides its addresses: needs "
		    "CAP_SYSLOG, and kernel.kptr_restrict below 2");
	check_error("filter *", -EPERM,
		    "address filter 'filter *': the kernel hides its addresses: needs CAP_SYSLOG, "
		    "and kernel.kptr_restrict below 2");
}

static void check_file_error(const struct folder *folder, const char *place, const char *name,
			     int err, const char *why)
{
	char text[5000], message[6000];

	snprintf(text, sizeof(text), "filter %s@%s/%s", place, folder->path, name);
	snprintf(message, sizeof(message), "address filter '%s': ", text);
	assert_int_equal(addr_filter_resolve(&(char *){ NULL }, text, 4, &log_of_test), err);
	if (strncmp(messages.text, message, strlen(message)) || !strstr(messages.text, why))
		fail_msg("%s", messages.text);
}

TEST_WITH(refuses_files, setup, remove_folder)
{
	check_file_error(folder, "main", "none", -ENOENT, "has no function 'main'");
	check_file_error(folder, "0/1", "none", -ENOENT, "cannot read ");
	check_file_error(folder, "*", "none", -ENOENT, "cannot read ");
	check_file_error(folder, "main", "text", -EINVAL, "is not a program or shared library");
	check_file_error(folder, "one", "program", -ENOENT, "has no function 'one'");
	check_file_error(folder, "var", "program", -ENOENT, "has no function 'var'");
	check_file_error(folder, "twice", "program", -EINVAL,
			 "use #1 (0x1200), #2 (0x1300) behind the name");
}

TEST_WITH(refuses_bad_syntax, setup, remove_folder)
{
	static const char *const cases[][3] = {
		{ "fliter one", "fliter one",
		  "'fliter' is none of filter, tracestop, start, stop (see man perf-record)" },
		{ "filter one,two", "two",
		  "'two' is none of filter, tracestop, start, stop (see man perf-record)" },
		{ "filter", "filter",
		  "a symbol or number is missing (it is filter SYMBOL [/ SIZE] [@ FILE], see man "
		  "perf-record)" },
		{ "filter one /", "filter one /",
		  "a symbol or number is missing (it is filter SYMBOL [/ SIZE] [@ FILE], see man "
		  "perf-record)" },
		{ "filter one #", "filter one #",
		  "# needs a number, as in #1, or g for the global one" },
		{ "filter one #-1", "filter one #-1",
		  "# needs a number, as in #1, or g for the global one" },
		{ "filter 0x10z/1", "filter 0x10z/1", "'0x10z' is not a number" },
		{ "filter 99999999999999999999/1", "filter 99999999999999999999/1",
		  "'99999999999999999999' is not a number" },
		{ "filter 0x10", "filter 0x10",
		  "how large the range is does not follow: add / SIZE, not 0" },
		{ "filter one/0", "filter one/0",
		  "how large the range is does not follow: add / SIZE, not 0" },
		{ "filter one @", "filter one @", "a file name is missing behind @" },
		{ "filter * / 1", "filter * / 1", "* is everything and takes no size" },
	};
	char message[300];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(message, sizeof(message), "address filter '%s': %s", cases[i][1],
			 cases[i][2]);
		check_error(cases[i][0], -EINVAL, message);
	}
	check_error(" ", -EINVAL,
		    "address filter ' ': empty (it is filter SYMBOL [/ SIZE] [@ FILE], see man "
		    "perf-record)");
}

TEST_WITH(refuses_more_than_the_pmu_has, setup, remove_folder)
{
	_cleanup_free_ char *resolved = NULL;

	check_resolved("filter 1/1,filter 2/1,filter 3/1,filter 4/1",
		       "filter 0x1/0x1,filter 0x2/0x1,filter 0x3/0x1,filter 0x4/0x1");
	check_error("filter 1/1,filter 2/1,filter 3/1,filter 4/1,filter 5/1", -EINVAL,
		    "address filter 'filter 5/1': the PMU has 4 address ranges: leave out this one "
		    "and those behind it");
	assert_int_equal(addr_filter_resolve(&resolved, "filter one", 0, &log_of_test), -EINVAL);
	assert_string_equal(messages.text,
			    "address filter 'filter one': the PMU has 0 address ranges: this CPU "
			    "cannot filter, record without");
}

TEST(says_what_is_not_supported)
{
	assert_non_null(strstr(addr_filter_unsupported("filter 0x1/0x1@/bin/true"), "FILE"));
	assert_non_null(strstr(addr_filter_unsupported("start 0x1"), "neither start nor stop"));
	assert_non_null(strstr(addr_filter_unsupported("stop 0x1"), "neither start nor stop"));
	assert_non_null(strstr(addr_filter_unsupported("stop 0x1,filter 0x1/0x1"), "neither"));
	assert_non_null(strstr(addr_filter_unsupported("stop 0x1/0x1"), "tracestop is not"));
}
