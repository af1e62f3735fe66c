// SPDX-License-Identifier: GPL-2.0-only
#include "code/code_parts.h"

#include <string.h>

#include "code/insns.h"
#include "code/names.h"
#include "code/sideband.h"
#include "perfdata/helpers.h"

#define KERNEL 0xffffffff81000000ULL
#define TRAMPOLINE 0xffffffffa0000000ULL
#define USER 0x400000ULL
#define PAGE 4096
#define NOP5 "\x0f\x1f\x44\x00\x00"
#define JUMP5 "\xe9\x00\x01\x00\x00"

/* Processes and the kernel, as the test defines them. */
static struct sideband_pt pt = { .found = true, .user = true, .kernel = true };
static struct sideband_kernel kernel;
static struct sideband_map map;
static int maps_asked;

const struct sideband_pt *sideband_pt(const struct sideband *sb)
{
	return &pt;
}

const struct sideband_kernel *sideband_kernel(const struct sideband *sb)
{
	return &kernel;
}

int sideband_maps(const struct sideband *sb, int pid, uint64_t time, struct sideband_maps *maps)
{
	maps_asked++;
	*maps = (struct sideband_maps){ .maps = &map, .nr = !!map.name, .until = UINT64_MAX };
	return 0;
}

void sideband_maps_release(struct sideband_maps *maps)
{
}

static struct code *code;
static struct code_view *view;

/* One segment, from the file's second page on. */
static void write_elf(const char *name, uint64_t address, const void *bytes, size_t size)
{
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_offset = PAGE,
		.p_vaddr = address,
		.p_memsz = PAGE,
	};
	uint8_t page[PAGE] = {};

	memcpy(page, bytes, size);
	put_elf(folder->fd, name, segment, page, PAGE);
}

static void write_kernel(const void *bytes, size_t size)
{
	static const char symbols[] = "ffffffff81000000 T f\n"
				      "ffffffff81000006 t g.cold\n"
				      "ffffffff81000040 T h\n";

	put_file(folder->fd, "kcore_dir/kallsyms", symbols);
	write_elf("kcore_dir/kcore", KERNEL, bytes, size);
}

static void begin(const char *symfs)
{
	const struct code_opts opts = { .data = folder->path, .symfs = symfs };
	char *why = NULL;

	assert_int_equal(code_new(&code, &opts, &why), 0);
	assert_int_equal(code_view_new(&view, code), 0);
}

static int set_up(void **state)
{
	pt = (struct sideband_pt){ .found = true, .user = true, .kernel = true };
	kernel = (struct sideband_kernel){};
	map = (struct sideband_map){};
	return make_folder(state);
}

static int tear_down(void **state)
{
	code_view_free(view);
	code_free(code);
	view = NULL;
	code = NULL;
	return remove_folder(state);
}

static struct pt_image *image_at(uint64_t time, uint64_t until)
{
	uint64_t told;
	struct pt_image *image = code_view_image(view, 1, time, &told);

	assert_non_null(image);
	assert_int_equal(told, until);
	return image;
}

/* First byte of libipt's instruction there; -1: none. */
static int first_byte(struct pt_image *image, uint64_t ip)
{
	struct pt_insn insn = {};
	struct insns *insns;
	int byte = -1;

	assert_int_equal(insns_new(&insns), 0);
	if (!insns_begin(insns, image, ip, ptem_64bit) && insns_next(insns, &insn))
		byte = insn.raw[0];
	insns_free(insns);
	return byte;
}

static const struct code_block *block_of(uint64_t first, uint64_t last, uint16_t insns)
{
	const struct pt_block block = {
		.ip = first,
		.end_ip = last,
		.ninsn = insns,
		.mode = ptem_64bit,
	};
	const struct code_block *made = code_view_block(view, &block);

	assert_non_null(made);
	assert_ptr_equal(code_view_block(view, &block), made);
	return made;
}

TEST_WITH(cuts_rows, set_up, tear_down)
{
	static const struct {
		uint64_t first, last;
		uint32_t insns;
		enum irq_change irqs;
		const char *name;
	} rows[] = {
		{ KERNEL, KERNEL + 1, 2, IRQ_OFF, "f" },
		{ KERNEL + 2, KERNEL + 3, 2, IRQ_ON, "f" },
		{ KERNEL + 4, KERNEL + 4, 1, IRQ_RESTORED, "f" },
		{ KERNEL + 5, KERNEL + 5, 1, IRQ_SAME, "f" },
		{ KERNEL + 6, KERNEL + 7, 2, IRQ_SAME, "g.cold" },
	};
	const struct code_block *block;

	write_kernel("\x90\xfa\x90\xfb\x9d\x90\x90\xc3", 8);
	begin(NULL);
	assert_int_equal(first_byte(image_at(0, UINT64_MAX), KERNEL), 0x90);
	block = block_of(KERNEL, KERNEL + 7, 8);
	assert_int_equal(block->insns, 8);
	assert_int_equal(block->length, 1);
	assert_int_equal(block->branch, CODE_RETURN);
	assert_int_equal(block->nr_rows, ARRAY_SIZE(rows));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct code_row *row = &block->rows[i];

		assert_int_equal(row->first, rows[i].first);
		assert_int_equal(row->last, rows[i].last);
		assert_int_equal(row->insns, rows[i].insns);
		assert_int_equal(row->irqs, rows[i].irqs);
		assert_string_equal(row->symbol->text, rows[i].name);
		assert_true(row->symbol->kernel);
	}
	/* An interrupt ends it before. */
	block = block_of(KERNEL, KERNEL, 1);
	assert_int_equal(block->nr_rows, 1);
	assert_int_equal(block->branch, CODE_NO_BRANCH);
}

TEST_WITH(knows_waits, set_up, tear_down)
{
	static const struct {
		const char *bytes;
		uint16_t size, last, insns;
		bool waits;
	} blocks[] = {
		{ "\xfb\xf4", 2, 1, 2, true },
		{ "\x90\x90\xf4", 3, 2, 3, true },
		{ "\x90\x0f\x01\xc9\x90", 5, 4, 3, true },
		{ "\x0f\x01\xfb", 3, 0, 1, true },
		{ "\x90\xb0\xf4", 3, 1, 2, false },	/* mov $0xf4, %al */
		{ "\x0f\x01\xc8\x90", 4, 3, 2, false }, /* monitor */
	};
	uint8_t bytes[16 * ARRAY_SIZE(blocks)] = {};

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		memcpy(bytes + 16 * i, blocks[i].bytes, blocks[i].size);
	write_kernel(bytes, sizeof(bytes));
	begin(NULL);
	first_byte(image_at(0, UINT64_MAX), KERNEL);
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		uint64_t first = KERNEL + 16 * i;
		const struct code_block *block =
			block_of(first, first + blocks[i].last, blocks[i].insns);

		assert_int_equal(block->waits, blocks[i].waits);
		assert_int_equal(!block->symbol, blocks[i].waits);
	}
}

TEST_WITH(numbers_names, set_up, tear_down)
{
	const struct symbol *symbol;
	struct names *names;

	write_kernel("\x90", 1);
	begin(NULL);
	assert_int_equal(names_new(&names), 0);
	symbol = code_named_symbol(code_view_symbol(view, 1, 0, KERNEL + 8), names);
	assert_string_equal(names_get(names, symbol->name), "g.cold");
	assert_string_equal(names_get(names, symbol->base), "g");
	assert_ptr_equal(code_view_symbol(view, 1, 0, KERNEL + 9), symbol);
	names_free(names);
}

TEST_WITH(knows_branches, set_up, tear_down)
{
	static const struct {
		const char *bytes;
		uint8_t length, branch;
	} insns[] = {
		{ "\xe8\0\0\0\0", 5, CODE_CALL },   { "\xeb\x10", 2, CODE_JUMP },
		{ "\x74\x10", 2, CODE_COND },	    { "\xf3\xc3", 2, CODE_RETURN },
		{ "\x0f\x05", 2, CODE_SYSCALL },    { "\x0f\x34", 2, CODE_SYSCALL },
		{ "\x48\x0f\x07", 3, CODE_SYSRET }, { "\x48\x0f\x35", 3, CODE_SYSRET },
		{ "\x48\xcf", 2, CODE_IRET },	    { "\xcc", 1, CODE_INT },
		{ "\xcd\x80", 2, CODE_INT },	    { "\x48\xcb", 2, CODE_OTHER },
		{ "\xff\xe0", 2, CODE_JUMP },	    { "\x0f\x84\0\0\0\0", 6, CODE_COND },
	};
	uint8_t bytes[16 * ARRAY_SIZE(insns)] = {};

	for (size_t i = 0; i < ARRAY_SIZE(insns); i++)
		memcpy(bytes + 16 * i, insns[i].bytes, insns[i].length);
	write_kernel(bytes, sizeof(bytes));
	begin(NULL);
	first_byte(image_at(0, UINT64_MAX), KERNEL);
	for (size_t i = 0; i < ARRAY_SIZE(insns); i++) {
		const struct code_block *block = block_of(KERNEL + 16 * i, KERNEL + 16 * i, 1);

		assert_int_equal(block->branch, insns[i].branch);
		assert_int_equal(block->length, insns[i].length);
	}
}

/* The copy may predate the patch or not. */
static void check_patches(const char *copied)
{
	static const struct sideband_poke pokes[] = {
		{ 100, KERNEL + 0x80, 5, 5, (const uint8_t *)NOP5, (const uint8_t *)JUMP5 },
		{ 200, KERNEL + 0x80, 5, 5, (const uint8_t *)JUMP5, (const uint8_t *)NOP5 },
		{ 300, TRAMPOLINE, 0, 1, NULL, (const uint8_t *)"\xc3" },
	};
	uint8_t bytes[256];

	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes + 0x80, copied, 5);
	write_kernel(bytes, sizeof(bytes));
	kernel.pokes = pokes;
	kernel.nr_pokes = ARRAY_SIZE(pokes);
	begin(NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(first_byte(image_at(150, 200), KERNEL + 0x80), 0xe9);
		assert_int_equal(first_byte(image_at(50, 100), KERNEL + 0x80), 0x0f);
		assert_int_equal(first_byte(image_at(50, 100), KERNEL + 0x79), 0x90);
		assert_int_equal(first_byte(image_at(50, 100), KERNEL + 0xc0), 0x90);
		assert_int_equal(first_byte(image_at(250, 300), KERNEL + 0x80), 0x0f);
		assert_int_equal(first_byte(image_at(250, 300), TRAMPOLINE), -1);
		assert_int_equal(first_byte(image_at(300, UINT64_MAX), TRAMPOLINE), 0xc3);
		assert_int_equal(first_byte(image_at(300, UINT64_MAX), TRAMPOLINE + 1), -1);
	}
}

TEST_WITH(undoes_patches, set_up, tear_down)
{
	check_patches(JUMP5);
}

TEST_WITH(applies_patches, set_up, tear_down)
{
	check_patches(NOP5);
}

/* Blocks are known by the code that was there, not by its address. */
TEST_WITH(keeps_patched_blocks_apart, set_up, tear_down)
{
	static const struct sideband_poke poke = {
		100, KERNEL + 0x80, 5, 5, (const uint8_t *)NOP5, (const uint8_t *)JUMP5,
	};

	write_kernel("", 0);
	kernel.pokes = &poke;
	kernel.nr_pokes = 1;
	begin(NULL);
	first_byte(image_at(0, 100), KERNEL + 0x80);
	assert_int_equal(block_of(KERNEL + 0x80, KERNEL + 0x80, 1)->branch, CODE_NO_BRANCH);
	first_byte(image_at(100, UINT64_MAX), KERNEL + 0x80);
	assert_int_equal(block_of(KERNEL + 0x80, KERNEL + 0x80, 1)->branch, CODE_JUMP);
}

TEST_WITH(names_what_was_made_later, set_up, tear_down)
{
	static const struct sideband_ksymbol symbol = {
		.start = TRAMPOLINE,
		.len = 64,
		.name = "bpf_trampoline",
	};

	write_kernel("\x90", 1);
	kernel.ksymbols = &symbol;
	kernel.nr_ksymbols = 1;
	begin(NULL);
	assert_string_equal(code_view_symbol(view, 1, 0, TRAMPOLINE + 63)->text, "bpf_trampoline");
	assert_string_equal(code_view_symbol(view, 1, 0, TRAMPOLINE + 64)->text,
			    "[[kernel.kallsyms]]");
}

/* One program after another, at one address. */
TEST_WITH(names_what_was_there_then, set_up, tear_down)
{
	static const struct sideband_ksymbol symbols[] = {
		{ .time = 10, .start = TRAMPOLINE, .len = 64, .name = "first", .removed = true },
		{ .time = 20, .start = TRAMPOLINE + 32, .len = 32, .name = "second" },
		{ .time = 30,
		  .start = TRAMPOLINE + 32,
		  .len = 32,
		  .name = "second",
		  .removed = true },
		{ .time = 40, .start = TRAMPOLINE, .len = 64, .name = "third" },
	};
	static const char *const names_then[] = { "first", "[[kernel.kallsyms]]", "second",
						  "[[kernel.kallsyms]]", "third" };

	write_kernel("\x90", 1);
	kernel.ksymbols = symbols;
	kernel.nr_ksymbols = ARRAY_SIZE(symbols);
	begin(NULL);
	for (uint64_t i = 0; i < ARRAY_SIZE(names_then); i++)
		assert_string_equal(code_view_symbol(view, 1, 5 + 10 * i, TRAMPOLINE + 40)->text,
				    names_then[i]);
}

static void assert_missing(const char *name, const char *why)
{
	struct code_file *files;
	size_t nr;

	assert_int_equal(code_files(code, &files, &nr), 0);
	assert_int_equal(nr, 1);
	assert_string_equal(files[0].name, name);
	assert_null(files[0].path);
	assert_non_null(strstr(files[0].why, why));
	free(files);
}

TEST_WITH(misses_kernel, set_up, tear_down)
{

	begin(NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(first_byte(image_at(0, UINT64_MAX), KERNEL), -1);
	assert_missing("[kernel.kallsyms]", "no kcore_dir");
}

TEST_WITH(refuses_kernel_of_another_boot, set_up, tear_down)
{
	static const struct sideband_map text = {
		.pgoff = KERNEL + PAGE,
		.name = "[kernel.kallsyms]f",
	};

	write_kernel("\x90", 1);
	kernel.maps = &text;
	kernel.nr_maps = 1;
	begin(NULL);
	assert_int_equal(first_byte(image_at(0, UINT64_MAX), KERNEL), -1);
	assert_missing("[kernel.kallsyms]", "another boot");
}

TEST_WITH(finds_symbol_of_kernel, set_up, tear_down)
{
	uint64_t start, end;

	write_kernel("\x90", 1);
	begin(NULL);
	assert_int_equal(code_kernel_symbol(code, "f", &start, &end), 0);
	assert_int_equal(start, KERNEL);
	assert_int_equal(end, KERNEL + 6);
	assert_int_equal(code_kernel_symbol(code, "none", &start, &end), -ENOENT);
}

static void set_map(const char *name)
{
	map = (struct sideband_map){
		.start = USER,
		.end = USER + PAGE,
		.pgoff = PAGE,
		.name = name,
	};
}

TEST_WITH(finds_file_by_name, set_up, tear_down)
{
	struct code_file *files;
	size_t nr;

	write_elf("program", USER, "\xc3", 1);
	set_map("/program");
	begin(folder->path);
	assert_int_equal(first_byte(image_at(0, UINT64_MAX), USER), 0xc3);
	assert_string_equal(code_view_symbol(view, 1, 0, USER)->text, "[program]");
	assert_string_equal(code_view_symbol(view, 1, 0, USER + PAGE)->text, "[unknown]");
	assert_int_equal(code_files(code, &files, &nr), 0);
	assert_int_equal(nr, 1);
	assert_string_equal(files[0].name, "/program");
	assert_non_null(strstr(files[0].path, "/program"));
	assert_int_equal(files[0].ip, USER);
	free(files);
}

/* The file exceeds libipt's cache. */
TEST_WITH(finds_code_in_large_file, set_up, tear_down)
{
	static const uint64_t places[] = { 0, 31 << 20, 33 << 20, 1500u << 20 };
	const struct sideband_maps maps = { .maps = &map, .nr = 1, .until = UINT64_MAX };
	struct code_region region;
	char path[128];
	int fd;

	write_elf("program", USER, "\xc3", 1);
	snprintf(path, sizeof(path), "%s/program", folder->path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		assert_int_equal(pwrite(fd, "\xcb", 1, PAGE + (off_t)places[i]), 1);
	close(fd);
	set_map("/program");
	map.end = USER + (2000u << 20);
	begin(folder->path);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		assert_int_equal(first_byte(image_at(0, UINT64_MAX), USER + places[i]), 0xcb);
		assert_int_equal(code_find_region(code, &maps, 0, USER + places[i], &region), 0);
		assert_in_range(region.end - region.start, PAGE, 64 << 20);
		assert_in_range(USER + places[i], region.start, region.end - 1);
	}
	assert_int_equal(first_byte(image_at(0, UINT64_MAX), USER + (1900u << 20)), -1);
}

TEST_WITH(refuses_other_build_id, set_up, tear_down)
{
	static const uint8_t id[20] = { 0xab, 0xcd };

	write_elf("program", USER, "\xc3", 1);
	set_map("/program");
	map.build_id = id;
	map.build_id_size = sizeof(id);
	begin(folder->path);
	for (int i = 0; i < 2; i++)
		assert_int_equal(first_byte(image_at(0, UINT64_MAX), USER), -1);
	assert_missing("/program", "no build id abcd");
	assert_missing("/program", "/program is another one now");
}

TEST_WITH(takes_no_data, set_up, tear_down)
{

	write_elf("program", USER, "\xc3", 1);
	set_map("/program");
	map.is_data = true;
	begin(folder->path);
	assert_int_equal(first_byte(image_at(0, UINT64_MAX), USER), -1);
}

TEST_WITH(refuses_what_is_no_program, set_up, tear_down)
{

	put_file(folder->fd, "program", "#!/bin/sh");
	set_map("/program");
	begin(folder->path);
	assert_int_equal(first_byte(image_at(0, UINT64_MAX), USER), -1);
	assert_missing("/program", "ELF");
}

TEST_WITH(tells_what_is_no_file, set_up, tear_down)
{

	set_map("[heap]");
	begin(NULL);
	assert_int_equal(first_byte(image_at(0, UINT64_MAX), USER), -1);
	assert_missing("[heap]", "no file");
}

TEST_WITH(has_many_processes, set_up, tear_down)
{
	struct pt_image *image;
	uint64_t until;

	write_elf("program", USER, "\xc3", 1);
	set_map("/program");
	begin(folder->path);
	for (int pid = 0; pid < 3000; pid++) {
		image = code_view_image(view, pid % 1000, 0, &until);
		assert_int_equal(first_byte(image, USER), 0xc3);
	}
}

/* Processes share an image if only the kernel was traced. */
TEST_WITH(shares_kernel, set_up, tear_down)
{
	uint64_t until;

	pt.user = false;
	write_kernel("\x90", 1);
	begin(NULL);
	maps_asked = 0;
	assert_ptr_equal(code_view_image(view, 1, 0, &until), code_view_image(view, 2, 5, &until));
	assert_int_equal(maps_asked, 0);
}
