// SPDX-License-Identifier: GPL-2.0-only
#include "program.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>

extern const char ptsim_main[], ptsim_interrupt[], ptsim_loop[], ptsim_deep[];
extern const void *const ptsim_interrupt_at;

struct ptsim_program ptsim_programs[] = {
	{ .name = "mixed", .entry = ptsim_main, .handler = ptsim_interrupt },
	{ .name = "loop", .entry = ptsim_loop },
	{ .name = "deep", .entry = ptsim_deep },
};
const unsigned int ptsim_program_count = ARRAY_SIZE(ptsim_programs);

#define STEPS_MAX 1024
#define STACK_MAX 128
#define INSTRUCTIONS_MAX 100000

struct machine {
	struct ptsim_program *program;
	const u8 *ip;
	u64 registers[8];
	bool zero; /* the flag */
	const u8 *stack[STACK_MAX];
	unsigned int depth;
	bool interrupted;
};

static void step(struct machine *m, enum ptsim_step_kind kind, const u8 *to, bool taken)
{
	struct ptsim_program *program = m->program;
	struct ptsim_step *s = &program->steps[program->step_count];

	if (program->step_count == STEPS_MAX)
		return;
	program->step_count++;
	s->kind = kind;
	s->from = (u64)m->ip;
	s->to = (u64)to;
	s->taken = taken;
	s->cycle = program->counts.cycles;
}

static int push(struct machine *m, const u8 *ip)
{
	if (m->depth == STACK_MAX)
		return -E2BIG;
	m->stack[m->depth++] = ip;
	m->program->counts.depth = max(m->program->counts.depth, m->depth);
	return 0;
}

static int call(struct machine *m, enum ptsim_step_kind kind, const u8 *to, unsigned int length)
{
	int err = push(m, m->ip + length);

	step(m, kind, to, true);
	m->program->steps[m->program->step_count - 1].call = true;
	m->program->counts.calls++;
	m->program->counts.branches++;
	m->ip = to;
	return err;
}

static int jump(struct machine *m, enum ptsim_step_kind kind, const u8 *to)
{
	step(m, kind, to, true);
	m->program->counts.jumps++;
	m->program->counts.branches++;
	m->ip = to;
	return 0;
}

static int conditional(struct machine *m, bool taken, int length, int displacement)
{
	const u8 *to = m->ip + length + (taken ? displacement : 0);

	step(m, PTSIM_CONDITIONAL, to, taken);
	m->program->counts.conditional++;
	m->program->counts.taken += taken;
	m->program->counts.branches += taken;
	m->ip = to;
	return 0;
}

static int leave(struct machine *m, enum ptsim_step_kind kind, u32 *count)
{
	if (!m->depth)
		return -EINVAL;
	step(m, kind, m->stack[m->depth - 1], true);
	++*count;
	m->program->counts.branches++;
	m->ip = m->stack[--m->depth];
	return 0;
}

static s32 read_s32(const u8 *at)
{
	s32 value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* inc, dec, and call and jmp through a register or a table */
static int execute_ff(struct machine *m)
{
	u8 modrm = m->ip[1];
	u64 *reg = &m->registers[modrm & 7];
	const u8 *to = (const u8 *)*reg;

	switch (modrm & 0xf8) {
	case 0xc0:
	case 0xc8:
		*reg = (u32)(*reg + (modrm & 8 ? -1 : 1));
		m->zero = !*reg;
		m->ip += 2;
		return 0;
	case 0xd0:
		m->program->counts.indirect++;
		return call(m, PTSIM_INDIRECT, to, 2);
	case 0x20:
		if (modrm != 0x24 || m->ip[2] != 0xc2) /* (%rdx, %rax, 8) */
			return -EINVAL;
		to = ((const u8 *const *)m->registers[2])[m->registers[0]];
		m->program->counts.indirect++;
		return jump(m, PTSIM_INDIRECT, to);
	}
	return -EINVAL;
}

/* iretq, lea */
static int execute_rex_w(struct machine *m)
{
	const u8 *ip = m->ip;

	if (ip[1] == 0xcf)
		return leave(m, PTSIM_INDIRECT, &m->program->counts.irets);
	if (ip[1] == 0x8d && (ip[2] & 0xc7) == 0x05) {
		m->ip += 7;
		m->registers[ip[2] >> 3 & 7] = (u64)(m->ip + read_s32(ip + 3));
		return 0;
	}
	return -EINVAL;
}

static int execute(struct machine *m)
{
	const u8 *ip = m->ip;

	m->program->counts.instructions++;
	m->program->counts.cycles++;
	switch (ip[0]) {
	case 0x0f:
		if (ip[1] != 0x84 && ip[1] != 0x85)
			return -EINVAL;
		return conditional(m, m->zero == (ip[1] == 0x84), 6, read_s32(ip + 2));
	case 0x31: /* xor of a register with itself */
		if (ip[1] >> 6 != 3 || (ip[1] >> 3 & 7) != (ip[1] & 7))
			return -EINVAL;
		m->registers[ip[1] & 7] = 0;
		m->zero = true;
		m->ip += 2;
		return 0;
	case 0x48:
		return execute_rex_w(m);
	case 0x74:
	case 0x75:
		return conditional(m, m->zero == (ip[0] == 0x74), 2, (s8)ip[1]);
	case 0x90:
		m->ip++;
		return 0;
	case 0xb8 ... 0xbf:
		m->registers[ip[0] & 7] = (u32)read_s32(ip + 1);
		m->ip += 5;
		return 0;
	case 0xc3:
		return leave(m, PTSIM_RETURN, &m->program->counts.returns);
	case 0xe8:
		return call(m, PTSIM_DIRECT, ip + 5 + read_s32(ip + 1), 5);
	case 0xe9:
		return jump(m, PTSIM_DIRECT, ip + 5 + read_s32(ip + 1));
	case 0xeb:
		return jump(m, PTSIM_DIRECT, ip + 2 + (s8)ip[1]);
	case 0xf3: /* pause */
		m->ip += 2;
		return ip[1] == 0x90 ? 0 : -EINVAL;
	case 0xff:
		return execute_ff(m);
	}
	return -EINVAL;
}

static int interrupt(struct machine *m)
{
	int err = push(m, m->ip);

	step(m, PTSIM_INTERRUPT, m->program->handler, true);
	m->interrupted = true;
	m->program->counts.interrupts++;
	m->program->counts.branches++;
	m->ip = m->program->handler;
	return err;
}

static int run_iteration(struct ptsim_program *program)
{
	struct machine *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int err;

	if (!m)
		return -ENOMEM;
	m->program = program;
	m->ip = program->entry;
	do {
		if (m->ip == program->interrupt_at && !m->interrupted)
			err = interrupt(m);
		else
			err = execute(m);
	} while (!err && m->ip != program->entry &&
		 program->counts.instructions < INSTRUCTIONS_MAX);
	if (!err && (m->ip != program->entry || m->depth || program->step_count == STEPS_MAX))
		err = -E2BIG;
	if (err)
		pr_err("ptsim: program %s fails at %pS: %d\n", program->name, m->ip, err);
	kfree(m);
	return err;
}

int ptsim_programs_init(void)
{
	ptsim_programs[0].interrupt_at = ptsim_interrupt_at;
	for (unsigned int i = 0; i < ptsim_program_count; i++) {
		struct ptsim_program *program = &ptsim_programs[i];
		int err;

		program->steps = kcalloc(STEPS_MAX, sizeof(*program->steps), GFP_KERNEL);
		err = program->steps ? run_iteration(program) : -ENOMEM;
		if (err) {
			ptsim_programs_exit();
			return err;
		}
	}
	return 0;
}

void ptsim_programs_exit(void)
{
	for (unsigned int i = 0; i < ptsim_program_count; i++) {
		kfree(ptsim_programs[i].steps);
		ptsim_programs[i].steps = NULL;
	}
}
