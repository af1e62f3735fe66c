// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin of QEMU that is the Intel PT of each vCPU: it sees all that is executed, and writes
 * packets where the guest's module (../ptsim, source "emulated") asks for them; see ptemu.h.
 *
 *	-plugin ptemu.so[,log=FOLDER][,single=on|,icount=SHIFT]
 *
 * With a folder, what is executed while the module asks for a log goes to FOLDER/vcpuN: addresses
 * of 8 bytes each; after an address of 0 there is a time (TSC).
 *
 * `single` is for thread=single, SHIFT that of -icount.
 */
#include "inside.h"
#include "qemu.h"
#include "trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#define VCPUS 64
/* With `single`. QEMU makes room for at least 16 numbers, here bytes. */
#define SINGLE_VCPUS 8
#define PAGE 4096
#define VECTORS 256
/* Left of the limit: what an end needs, and what the module takes for too little */
#define RESERVE 4096
/* From where the module reads the time to its command */
#define SAME_INSNS 100

struct vcpu {
	struct trace trace;
	struct ptemu_block block;
	u64 block_at; /* in the guest */
	u64 *pages;
	u64 room, place; /* in the area; where the next byte goes to */
	u64 shift;	 /* of the user space code that is running, see on_user_block() */
	struct qemu_bytes *bytes;
	void *registers[16], *cr2, *cr3, *rip;
	u64 handlers[VECTORS];
};

__attribute__((visibility("default"))) int qemu_plugin_version = PTEMU_QEMU_API;
__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv);

static struct vcpu vcpus[VCPUS];
/* Of each vCPU: not 0 while it is traced. Translated code asks it before it calls us. */
static struct qemu_u64 tracing;
static const char *log_folder;
static bool single;
static s64 tsc_offset = INT64_MIN;
static pthread_mutex_t tsc_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * With `single` translated code asks for the CPU that it was translated on, a constant that QEMU
 * 11.1 multiplies by the size of a number in place. So that size is 1, and the numbers overlap.
 */
static void tell_tracing(const struct vcpu *running)
{
	u64 *numbers = qemu_plugin_scoreboard_find(tracing.board, 0);

	if (single)
		memset(numbers, running->trace.on, SINGLE_VCPUS - 1 + sizeof(*numbers));
	else
		numbers[running - vcpus] = running->trace.on;
}

/* -- The guest's memory and registers --------------------------------------------------------- */

static bool read_guest(struct vcpu *v, u64 address, void *to, size_t size)
{
	if (!qemu_plugin_read_memory_vaddr(address, v->bytes, size))
		return false;
	memcpy(to, v->bytes->data, size);
	return true;
}

static bool write_guest(u64 address, const void *from, size_t size)
{
	struct qemu_bytes bytes = { .data = (u8 *)from, .len = size };

	return qemu_plugin_write_memory_vaddr(address, &bytes);
}

static u64 read_register(struct vcpu *v, void *handle)
{
	u64 value = 0;

	g_byte_array_set_size(v->bytes, 0);
	if (handle && qemu_plugin_read_register(handle, v->bytes) && v->bytes->len >= sizeof(value))
		memcpy(&value, v->bytes->data, sizeof(value));
	return value;
}

/* The array that the handles are found in stays QEMU's. */
static void find_registers(struct vcpu *v)
{
	static const char *const names[16] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp",
					       "rsi", "rdi", "r8",  "r9",  "r10", "r11",
					       "r12", "r13", "r14", "r15" };
	struct qemu_registers *all = qemu_plugin_get_registers();

	for (unsigned int i = 0; i < all->len; i++) {
		if (!strcmp(all->data[i].name, "cr2"))
			v->cr2 = all->data[i].handle;
		if (!strcmp(all->data[i].name, "cr3"))
			v->cr3 = all->data[i].handle;
		if (!strcmp(all->data[i].name, "rip"))
			v->rip = all->data[i].handle;
		for (unsigned int n = 0; n < 16; n++) {
			if (!strcmp(all->data[i].name, names[n]))
				v->registers[n] = all->data[i].handle;
		}
	}
}

/* -- Output ----------------------------------------------------------------------------------- */

static void fail(struct vcpu *v, const char *what)
{
	fprintf(stderr, "ptemu: %s failed\n", what);
	v->trace.on = false;
	v->block.unexplained++;
}

/* Writes what there is to the AUX area, page by page. */
static void flush(struct vcpu *v)
{
	const u8 *from = v->trace.buffer;
	size_t left = v->trace.p.size;

	v->block.written += left;
	v->trace.p.place += left;
	while (left) {
		u64 offset = v->place % PAGE;
		size_t part = left < PAGE - offset ? left : PAGE - offset;

		if (!write_guest(v->pages[v->place / PAGE] + offset, from, part)) {
			fail(v, "writing to the AUX area");
			return;
		}
		from += part;
		left -= part;
		v->place = (v->place + part) % v->room;
	}
	v->trace.p.size = 0;
}

/* The module's part of the block is not written. */
static void publish(struct vcpu *v)
{
	size_t from = offsetof(struct ptemu_block, answer);

	if (!write_guest(v->block_at + from, (u8 *)&v->block + from, sizeof(v->block) - from))
		fail(v, "writing to the block");
}

static bool is_full(const struct vcpu *v)
{
	return v->block.limit != UINT64_MAX &&
	       v->block.written + v->trace.p.size + RESERVE > v->block.limit;
}

static void take(struct vcpu *v, const struct insn *insn)
{
	if (v->trace.p.size >= TRACE_BUFFER)
		flush(v);
	if (!is_full(v))
		return;
	trace_stop(&v->trace, insn);
	tell_tracing(v);
	flush(v);
	v->block.full = 1;
}

/* -- Commands --------------------------------------------------------------------------------- */

/* The module's time is a little older than ours, now more, now less. */
static void learn_time(const struct ptemu_block *block, u64 now)
{
	s64 offset = block->tsc - now;

	pthread_mutex_lock(&tsc_lock);
	if (offset > tsc_offset)
		tsc_offset = offset;
	pthread_mutex_unlock(&tsc_lock);
}

static void open_log(struct vcpu *v, u64 how)
{
	char path[4096];

	if (v->trace.log) {
		fclose(v->trace.log);
		v->trace.log = NULL;
	}
	if (!how || !log_folder)
		return;
	snprintf(path, sizeof(path), "%s/vcpu%td", log_folder, v - vcpus);
	v->trace.log = fopen(path, how > 1 ? "w" : "a");
	if (!v->trace.log)
		perror(path);
}

static bool set_area(struct vcpu *v)
{
	u64 count = v->block.page_count;
	u64 *pages = realloc(v->pages, count * sizeof(*pages));

	if (!pages)
		abort();
	v->pages = pages;
	v->room = count * PAGE;
	v->place = v->block.offset % v->room;
	return read_guest(v, v->block.pages, pages, count * sizeof(*pages));
}

/* Where the gates of the guest's IDT lead to */
static bool read_handlers(struct vcpu *v)
{
	struct {
		u16 low, segment, type, middle;
		u32 high, reserved;
	} gates[VECTORS];

	if (!read_guest(v, v->block.idt, gates, sizeof(gates)))
		return false;
	for (size_t i = 0; i < VECTORS; i++)
		v->handlers[i] =
			gates[i].low | (u64)gates[i].middle << 16 | (u64)gates[i].high << 32;
	return true;
}

static u8 vector_of(const struct vcpu *v, u64 to)
{
	for (int i = 0; i < VECTORS; i++) {
		if (v->handlers[i] == to)
			return i;
	}
	return 0;
}

/* What is counted has to be what the guest reads. */
static bool is_same_time(void)
{
	return !inside_step() ||
	       (tsc_offset <= 0 && tsc_offset >= -(s64)(SAME_INSNS * inside_step()));
}

static void start(struct vcpu *v, const struct ptemu_block *told, u64 now)
{
	size_t size = offsetof(struct ptemu_block, answer);

	memcpy(&v->block, told, size);
	v->block.written = 0;
	v->block.full = 0;
	if (!v->block.page_count || !set_area(v)) {
		fail(v, "reading the list of pages");
		return;
	}
	if (v->block.event && !read_handlers(v)) {
		fail(v, "reading the IDT");
		return;
	}
	if (!is_same_time()) {
		fail(v, "counting the guest's time");
		return;
	}
	open_log(v, v->block.logging);
	v->trace.block = &v->block;
	v->trace.tsc_offset = tsc_offset;
	v->trace.counted = now;
	trace_start(&v->trace, read_register(v, v->cr3));
}

static void command(struct vcpu *v, const struct insn *insn, u64 now)
{
	struct ptemu_block told;
	u64 at = read_register(v, v->registers[0]);

	if (!read_guest(v, at, &told, sizeof(told)))
		return;
	v->block_at = at;
	v->block.answer = PTEMU_VERSION;
	learn_time(&told, now);
	switch (told.command) {
	case PTEMU_HELLO:
		break;
	case PTEMU_START:
		start(v, &told, now);
		break;
	case PTEMU_STOP:
		if (v->trace.on)
			trace_stop(&v->trace, insn);
		if (v->trace.log)
			fflush(v->trace.log);
		break;
	case PTEMU_SYNC:
		v->block.limit = told.limit;
		break;
	case PTEMU_OVERFLOW:
		if (v->trace.on)
			trace_overflow(&v->trace);
		break;
	}
	tell_tracing(v);
	flush(v);
	publish(v);
}

/* -- What QEMU calls -------------------------------------------------------------------------- */

/* The CPU that a callback of a block or an instruction is for */
static struct vcpu *vcpu_of(unsigned int index)
{
	return &vcpus[inside_cpu(index)];
}

static void on_insn(unsigned int index, void *data)
{
	struct vcpu *v = vcpu_of(index);

	if (!v->trace.on)
		return;
	v->trace.counted += inside_step();
	trace_insn(&v->trace, data);
	take(v, data);
}

/* QEMU counts all instructions of a block when it begins. */
static void on_single_block(unsigned int index, void *data)
{
	bool is_another = inside_block((uintptr_t)data);
	struct vcpu *v = vcpu_of(index);
	u64 before;

	if (is_another)
		tell_tracing(v);
	if (!v->trace.on || !inside_step())
		return;
	before = inside_now() - ((uintptr_t)data + 1) * inside_step();
	/* The block that the trace was started in is told as done. */
	if (before > v->trace.counted)
		v->trace.counted = before;
}

/*
 * QEMU translates a page once for all the addresses that it is mapped at, and here has those of the
 * first. While a block begins, rip is exact.
 */
static void on_user_block(unsigned int index, void *data)
{
	struct vcpu *v = vcpu_of(index);
	const struct insn *first = data;

	if (v->trace.on && v->block.user)
		v->shift = read_register(v, v->rip) - first->ip;
}

static void on_user_insn(unsigned int index, void *data)
{
	struct vcpu *v = vcpu_of(index);
	const struct insn *insn = data;

	if (!v->trace.on)
		return;
	if (v->block.user && v->shift)
		insn = insn_get(insn->ip + v->shift, insn->bytes, insn->size);
	on_insn(index, (void *)insn);
}

static void on_cr3(unsigned int index, void *data)
{
	struct vcpu *v = vcpu_of(index);
	const struct insn *insn = data;

	if (!v->trace.on)
		return;
	on_insn(index, data);
	v->trace.new_cr3 = read_register(v, v->registers[insn->reg]);
}

static void on_magic(unsigned int index, void *data)
{
	/* At once: what comes between makes the trace's times too early. */
	u64 now = inside_step() ? inside_now() : __rdtsc();

	on_insn(index, data);
	command(vcpu_of(index), data, now);
}

static void on_discon(unsigned int index, enum qemu_discon type, u64 from, u64 to, void *data)
{
	struct vcpu *v = &vcpus[index];
	u8 vector = 0;

	(void)type;
	(void)data;
	if (!v->trace.on)
		return;
	if (inside_step())
		v->trace.counted = inside_now();
	if (v->block.event)
		vector = vector_of(v, to);
	trace_event(&v->trace, from, to, vector,
		    vector == PAGE_FAULT ? read_register(v, v->cr2) : 0);
}

static struct insn *insn_of(struct qemu_plugin_insn *of)
{
	u8 bytes[INSN_BYTES_MAX];
	size_t size = qemu_plugin_insn_data(of, bytes, sizeof(bytes));

	return insn_get(qemu_plugin_insn_vaddr(of), bytes, size);
}

static void while_tracing(struct qemu_plugin_insn *of, qemu_vcpu_cb cb, enum qemu_cb_flags flags,
			  struct insn *insn)
{
	qemu_plugin_register_vcpu_insn_exec_cond_cb(of, cb, flags, QEMU_COND_NE, tracing, 0, insn);
}

static void instrument(struct qemu_plugin_insn *of)
{
	struct insn *insn = insn_of(of);

	if (insn_is_user(insn->ip))
		while_tracing(of, on_user_insn, QEMU_NO_REGS, insn);
	else if (insn->kind == INSN_MAGIC)
		qemu_plugin_register_vcpu_insn_exec_cb(of, on_magic, QEMU_READ_REGS, insn);
	else if (insn->kind == INSN_CR3)
		while_tracing(of, on_cr3, QEMU_READ_REGS, insn);
	else
		while_tracing(of, on_insn, QEMU_NO_REGS, insn);
}

static void on_translate(struct qemu_plugin_tb *tb, void *data)
{
	struct insn *first = insn_of(qemu_plugin_tb_get_insn(tb, 0));

	(void)data;
	if (single)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, on_single_block, QEMU_NO_REGS,
						     (void *)qemu_plugin_tb_n_insns(tb));
	if (insn_is_user(first->ip))
		qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, on_user_block, QEMU_READ_REGS,
							  QEMU_COND_NE, tracing, 0, first);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		instrument(qemu_plugin_tb_get_insn(tb, i));
}

static void on_vcpu(unsigned int index, void *data)
{
	struct vcpu *v = &vcpus[index];

	(void)data;
	v->trace.block = &v->block;
	v->trace.p.data = v->trace.buffer;
	v->bytes = g_byte_array_new();
	find_registers(v);
	inside_add(index);
}

static bool set_option(const char *option)
{
	if (!strncmp(option, "log=", 4)) {
		log_folder = option + 4;
		return true;
	}
	if (!strncmp(option, "icount=", 7))
		return single = inside_icount(atoi(option + 7));
	if (!strcmp(option, "single=on"))
		return single = inside_single();
	fprintf(stderr, "ptemu: '%s': options are log=FOLDER, single=on, icount=SHIFT\n", option);
	return false;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
	if (!info->system_emulation || strcmp(info->target_name, "x86_64") ||
	    info->system.max_vcpus > VCPUS) {
		fprintf(stderr, "ptemu: for qemu-system-x86_64 with at most %d CPUs\n", VCPUS);
		return -1;
	}
	for (int i = 0; i < argc; i++) {
		if (!set_option(argv[i]))
			return -1;
	}
	if (single && info->system.max_vcpus > SINGLE_VCPUS) {
		fprintf(stderr, "ptemu: at most %d CPUs with single and icount\n", SINGLE_VCPUS);
		return -1;
	}
	tracing.board = qemu_plugin_scoreboard_new(single ? 1 : sizeof(u64));
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu, NULL);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate, NULL);
	qemu_plugin_register_vcpu_discon_cb(id, QEMU_INTERRUPT | QEMU_EXCEPTION, on_discon, NULL);
	return 0;
}
