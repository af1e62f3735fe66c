// SPDX-License-Identifier: GPL-2.0-only
#include "code/insns.h"

#include <string.h>

#include "code/code_parts.h"

#define OPCODE_POPF 0x9d
#define OPCODE_IRET 0xcf
#define OPCODE_CLI 0xfa
#define OPCODE_STI 0xfb
#define OPCODE_HLT 0xf4
#define OPCODE_ESCAPE 0x0f
/* After the escape byte. */
#define OPCODE_SYSCALL 0x05
#define OPCODE_SYSRET 0x07
#define OPCODE_SYSENTER 0x34
#define OPCODE_SYSEXIT 0x35
#define OPCODE_GROUP 0x01
/* After these two. */
#define OPCODE_VMLAUNCH 0xc2
#define OPCODE_VMRESUME 0xc3
#define OPCODE_ERET 0xca
#define OPCODE_MWAIT 0xc9
#define OPCODE_MWAITX 0xfb

struct insns {
	uint8_t trace[PSB_STATE_SIZE]; /* marks an address only */
	struct pt_insn_decoder *decoder;
	bool over;
};

int insns_new(struct insns **ret)
{
	struct insns *insns = calloc(1, sizeof(*insns));
	struct pt_config config;

	if (!insns)
		return -ENOMEM;
	pt_config_init(&config);
	config.begin = insns->trace;
	config.end = insns->trace + PSB_STATE_SIZE;
	insns->decoder = pt_insn_alloc_decoder(&config);
	if (!insns->decoder) {
		free(insns);
		return -ENOMEM;
	}
	*ret = insns;
	return 0;
}

void insns_free(struct insns *insns)
{
	if (!insns)
		return;
	pt_insn_free_decoder(insns->decoder);
	free(insns);
}

int insns_begin(struct insns *insns, struct pt_image *image, uint64_t ip, enum pt_exec_mode mode)
{
	int status;

	psb_write(insns->trace, ip,
		  mode == ptem_64bit   ? PSB_64_BITS
		  : mode == ptem_32bit ? PSB_32_BITS
				       : 0);
	insns->over = false;
	status = pt_insn_set_image(insns->decoder, image);
	if (status < 0)
		return status;
	status = pt_insn_sync_set(insns->decoder, 0);
	while (status >= 0 && status & pts_event_pending) {
		struct pt_event event;

		status = pt_insn_event(insns->decoder, &event, sizeof(event));
	}
	return status < 0 ? status : 0;
}

/* The code after a branch is not in the block: the branch itself shows its effect on interrupts. */
bool insns_next(struct insns *insns, struct pt_insn *insn)
{
	int status;

	if (insns->over)
		return false;
	status = pt_insn_next(insns->decoder, insn, sizeof(*insn));
	insns->over = status < 0;
	return insn->size;
}

bool insns_may_change_irqs(uint8_t byte)
{
	return byte == OPCODE_POPF || byte == OPCODE_CLI || byte == OPCODE_STI;
}

bool insns_may_wait(const uint8_t *bytes, size_t size)
{
	return bytes[0] == OPCODE_HLT ||
	       (size >= 2 && bytes[0] == OPCODE_ESCAPE && bytes[1] == OPCODE_GROUP);
}

enum irq_change insn_irq_change(const struct pt_insn *insn)
{
	if (insn->size != 1)
		return IRQ_SAME;
	switch (insn->raw[0]) {
	case OPCODE_CLI:
		return IRQ_OFF;
	case OPCODE_STI:
		return IRQ_ON;
	case OPCODE_POPF:
		return IRQ_RESTORED;
	default:
		return IRQ_SAME;
	}
}

static bool is_prefix_byte(uint8_t byte, enum pt_exec_mode mode)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					    0x66, 0x67, 0xf0, 0xf2, 0xf3 };

	return memchr(prefixes, byte, sizeof(prefixes)) ||
	       (mode == ptem_64bit && byte >= 0x40 && byte <= 0x4f);
}

/* The opcode, with an escape in the upper byte. The group of vmlaunch and vmresume goes on in a
 * third byte. */
static unsigned int opcode_with_escape(const struct pt_insn *insn)
{
	size_t at = 0;

	while (at + 1 < insn->size && is_prefix_byte(insn->raw[at], insn->mode))
		at++;
	if (insn->raw[at] != OPCODE_ESCAPE || at + 1 >= insn->size)
		return insn->raw[at];
	if (insn->raw[at + 1] == OPCODE_GROUP && at + 2 < insn->size)
		return OPCODE_ESCAPE << 16 | OPCODE_GROUP << 8 | insn->raw[at + 2];
	return OPCODE_ESCAPE << 8 | insn->raw[at + 1];
}

bool insn_waits(const struct pt_insn *insn)
{
	switch (opcode_with_escape(insn)) {
	case OPCODE_HLT:
	case OPCODE_ESCAPE << 16 | OPCODE_GROUP << 8 | OPCODE_MWAIT:
	case OPCODE_ESCAPE << 16 | OPCODE_GROUP << 8 | OPCODE_MWAITX:
		return true;
	default:
		return false;
	}
}

static enum code_branch far_call_branch(unsigned int opcode)
{
	switch (opcode) {
	case OPCODE_ESCAPE << 8 | OPCODE_SYSCALL:
	case OPCODE_ESCAPE << 8 | OPCODE_SYSENTER:
		return CODE_SYSCALL;
	case 0xcc:			/* int3 */
	case 0xcd:			/* int */
	case 0xce:			/* into */
	case 0xf1:			/* int1 */
	case OPCODE_ESCAPE << 8 | 0x0b: /* ud2 */
	case OPCODE_ESCAPE << 8 | 0xb9: /* ud1 */
	case OPCODE_ESCAPE << 8 | 0xff: /* ud0 */
		return CODE_INT;
	default:
		return CODE_OTHER;
	}
}

static enum code_branch far_return_branch(unsigned int opcode)
{
	switch (opcode) {
	case OPCODE_IRET:
	case OPCODE_ESCAPE << 16 | OPCODE_GROUP << 8 | OPCODE_ERET: /* erets, eretu */
		return CODE_IRET;
	case OPCODE_ESCAPE << 16 | OPCODE_GROUP << 8 | OPCODE_VMLAUNCH:
	case OPCODE_ESCAPE << 16 | OPCODE_GROUP << 8 | OPCODE_VMRESUME:
		return CODE_VM_ENTRY;
	case OPCODE_ESCAPE << 8 | OPCODE_SYSRET:
	case OPCODE_ESCAPE << 8 | OPCODE_SYSEXIT:
		return CODE_SYSRET;
	default:
		return CODE_OTHER;
	}
}

enum code_branch insn_code_branch(const struct pt_insn *insn)
{
	switch (insn->iclass) {
	case ptic_call:
		return CODE_CALL;
	case ptic_return:
		return CODE_RETURN;
	case ptic_jump:
		return CODE_JUMP;
	case ptic_cond_jump:
		return CODE_COND;
	case ptic_far_call:
		return far_call_branch(opcode_with_escape(insn));
	case ptic_far_return:
		return far_return_branch(opcode_with_escape(insn));
	case ptic_far_jump:
		return CODE_OTHER;
	default:
		return CODE_NO_BRANCH;
	}
}

int code_cache_new(struct pt_image_section_cache **ret)
{
	*ret = pt_iscache_alloc(NULL);
	return *ret ? 0 : -ENOMEM;
}

void code_cache_free(struct pt_image_section_cache *cache)
{
	pt_iscache_free(cache);
}

int code_cache_add(struct pt_image_section_cache *cache, const struct code_section *section)
{
	int isid = pt_iscache_add_file(cache, section->path, section->offset, section->size,
				       section->start);

	if (isid > 0)
		return isid;
	return isid == -pte_nomem ? -ENOMEM : -ENOENT;
}
