// SPDX-License-Identifier: GPL-2.0-only
/* Unwinds a stack that was kept, in the symbolizer's process. */
#include <gelf.h>
#include <string.h>

#include "code/symbolizer_internal.h"
#include "memory.h"

/* For a row of a table, libdw keeps a rule of each register up to the highest number in it, and
 * copies them for each state that is remembered: a few bytes of a file take gigabytes. */
#define UNWIND_MEMORY (UINT64_C(128) << 20)

struct unwinding {
	const struct unwind_registers *registers;
	uint64_t size;
	const uint64_t (*words)[2];
	size_t nr_words;
	uint64_t *frames;
	size_t nr;
	struct {
		const struct elf_file *file;
		uint64_t bias;
	} reported[UNWIND_CODE_MAX];
	size_t nr_reported;
};

static pid_t unwind_next_thread(Dwfl *dwfl, void *unwinding, void **thread)
{
	if (*thread)
		return 0;
	*thread = unwinding;
	return 1;
}

/* Words that were not kept are zero: they are neither code nor addresses of the stack. */
static bool unwind_read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *ctx)
{
	const struct unwinding *unwinding = ctx;
	uint64_t sp = unwinding->registers->sp, index;

	if (address < sp || address - sp >= unwinding->size || (address - sp) % sizeof(*word))
		return false;
	index = (address - sp) / sizeof(*word);
	*word = 0;
	for (size_t i = 0; i < unwinding->nr_words; i++) {
		if (unwinding->words[i][0] == index)
			*word = unwinding->words[i][1];
	}
	return true;
}

static bool unwind_set_registers(Dwfl_Thread *thread, void *ctx)
{
	const struct unwind_registers *registers = ((const struct unwinding *)ctx)->registers;

	dwfl_thread_state_register_pc(thread, registers->pc);
	return dwfl_thread_state_registers(thread, 0, (unsigned int)registers->nr,
					   registers->dwarf);
}

/* Whether a table of the code has a row for an address. libdw looks in the same order. */
static bool unwind_has_row(Dwfl_Module *module, uint64_t pc)
{
	static Dwarf_CFI *(*const tables[])(
		Dwfl_Module *, Dwarf_Addr *) = { dwfl_module_eh_cfi, dwfl_module_dwarf_cfi };

	for (size_t i = 0; module && i < ARRAY_SIZE(tables); i++) {
		Dwarf_Frame *row;
		Dwarf_Addr bias;
		Dwarf_CFI *cfi = tables[i](module, &bias);

		if (cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &row)) {
			free(row);
			return true;
		}
	}
	return false;
}

/* Where no table is for an address, libdw takes a register for the frame pointer, and what that one
 * points to for the caller. Of such code, the caller is not known. */
static int unwind_take_frame(Dwfl_Frame *frame, void *ctx)
{
	Dwfl *dwfl = dwfl_thread_dwfl(dwfl_frame_thread(frame));
	struct unwinding *unwinding = ctx;
	bool is_exact;
	Dwarf_Addr pc;

	if (unwinding->nr == UNWIND_FRAMES_MAX || !dwfl_frame_pc(frame, &pc, &is_exact))
		return DWARF_CB_ABORT;
	unwinding->frames[unwinding->nr++] = pc;
	/* The call is before its return address, maybe at the end of a function. */
	pc -= !is_exact;
	return unwind_has_row(dwfl_addrmodule(dwfl, pc), pc) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* Asked for where the file itself does not unwind an address: a program in C may be compiled with
 * .debug_frame alone, which strip moves. What is named by a path is dwz's, without such a table. */
static int unwind_find_debug(Dwfl_Module *module, void **userdata, const char *module_name,
			     Dwarf_Addr base, const char *file_name, const char *debuglink,
			     GElf_Word crc, char **path)
{
	if (debuglink && strchr(debuglink, '/'))
		return -1;
	return elf_file_find_local_debug(*userdata, debuglink, crc, path);
}

/* What is added to the addresses of the file. */
static bool unwind_find_bias(Elf *elf, const uint64_t code[4], uint64_t *bias)
{
	GElf_Phdr header;
	size_t nr;

	if (!elf || elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    code[3] + (code[2] - code[1]) <= header.p_offset ||
		    code[3] >= header.p_offset + header.p_filesz || !(header.p_flags & PF_X))
			continue;
		*bias = code[1] - code[3] - (header.p_vaddr - header.p_offset);
		return true;
	}
	return false;
}

/* A file may have several mappings of code. libdwfl drops a module that is reported again. */
static bool unwind_has_reported(struct unwinding *unwinding, const struct elf_file *file,
				uint64_t bias)
{
	for (size_t i = 0; i < unwinding->nr_reported; i++) {
		if (unwinding->reported[i].file == file && unwinding->reported[i].bias == bias)
			return true;
	}
	if (unwinding->nr_reported == UNWIND_CODE_MAX)
		return true;
	unwinding->reported[unwinding->nr_reported].file = file;
	unwinding->reported[unwinding->nr_reported++].bias = bias;
	return false;
}

static void unwind_report_code(struct unwinding *unwinding, Dwfl *dwfl, struct elf_file *file,
			       const uint64_t code[4])
{
	Dwfl_Module *module;
	void **userdata;
	uint64_t bias;
	int fd;

	if (!unwind_find_bias(file->elf, code, &bias) || unwind_has_reported(unwinding, file, bias))
		return;
	fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	module = fd < 0 ? NULL
			: dwfl_report_elf(dwfl, file->wanted.name, file->wanted.name, fd, bias,
					  true);
	if (!module) {
		closep(&fd);
		return;
	}
	dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = file;
}

static void unwind_walk(Dwfl *dwfl, struct unwinding *unwinding)
{
	struct rlimit before;
	bool is_bounded = memory_bound(UNWIND_MEMORY, &before);

	(void)dwfl_getthread_frames(dwfl, 1, unwind_take_frame, unwinding);
	if (is_bounded)
		memory_unbound(&before);
}

size_t unwind_put_numbers(uint64_t *numbers, const struct unwind_wanted *wanted, uint32_t child)
{
	size_t nr = UNWIND_REGISTERS + 2 + 2 * wanted->nr_words;

	memcpy(numbers, &wanted->registers, sizeof(wanted->registers));
	numbers[UNWIND_REGISTERS] = wanted->size;
	numbers[UNWIND_REGISTERS + 1] = wanted->nr_words;
	memcpy(numbers + UNWIND_REGISTERS + 2, wanted->words,
	       wanted->nr_words * sizeof(*wanted->words));
	for (size_t i = 0; i < wanted->nr_code; i++) {
		if (wanted->code[i][0] >> 16 != child)
			continue;
		memcpy(numbers + nr, wanted->code[i], sizeof(wanted->code[i]));
		numbers[nr] &= 0xffff;
		nr += 4;
	}
	return nr;
}

size_t unwind_frames(struct elf_file *const *files, size_t nr_files, const uint64_t *numbers,
		     size_t nr, uint64_t frames[UNWIND_FRAMES_MAX])
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
						  .find_debuginfo = unwind_find_debug };
	static const Dwfl_Thread_Callbacks threads = {
		.next_thread = unwind_next_thread,
		.memory_read = unwind_read_memory,
		.set_initial_registers = unwind_set_registers,
	};
	struct unwinding unwinding = { .registers = (const void *)numbers, .frames = frames };
	const uint64_t(*code)[4];
	size_t nr_code;
	Dwfl *dwfl;

	if (nr < UNWIND_REGISTERS + 2 || unwinding.registers->nr > ARCH_DWARF_MAX)
		return 0;
	unwinding.size = numbers[UNWIND_REGISTERS];
	unwinding.nr_words = numbers[UNWIND_REGISTERS + 1];
	unwinding.words = (const void *)(numbers + UNWIND_REGISTERS + 2);
	if (unwinding.nr_words > (nr - UNWIND_REGISTERS - 2) / 2)
		return 0;
	code = (const void *)(unwinding.words + unwinding.nr_words);
	nr_code = (nr - UNWIND_REGISTERS - 2 - 2 * unwinding.nr_words) / 4;
	dwfl = dwfl_begin(&callbacks);
	if (!dwfl)
		return 0;
	for (size_t i = 0; i < nr_code; i++) {
		if (code[i][0] < nr_files)
			unwind_report_code(&unwinding, dwfl, files[code[i][0]], code[i]);
	}
	if (!dwfl_report_end(dwfl, NULL, NULL) &&
	    dwfl_attach_state(dwfl, NULL, 1, &threads, &unwinding))
		unwind_walk(dwfl, &unwinding);
	dwfl_end(dwfl);
	return unwinding.nr;
}
