/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the plugin uses of QEMU's interface for TCG plugins, version 7 (QEMU 11.1). Debian packages
 * no header of it; its documentation is docs/devel/tcg-plugins.rst in QEMU's source.
 */
#ifndef PTEMU_QEMU_H
#define PTEMU_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTEMU_QEMU_API 7

typedef uint64_t qemu_plugin_id_t;

struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};

/* How a callback uses the CPU's registers */
enum qemu_cb_flags { QEMU_NO_REGS, QEMU_READ_REGS };

enum qemu_discon { QEMU_INTERRUPT = 1, QEMU_EXCEPTION = 2, QEMU_HOSTCALL = 4 };

/* GLib's GByteArray and GArray */
struct qemu_bytes {
	uint8_t *data;
	unsigned int len;
};

struct qemu_register {
	void *handle;
	const char *name, *feature;
	bool is_readonly;
};

struct qemu_registers {
	struct qemu_register *data;
	unsigned int len;
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_scoreboard;

/* A number of each CPU that translated code reads */
struct qemu_u64 {
	struct qemu_scoreboard *board;
	size_t offset;
};

enum qemu_cond { QEMU_COND_NE = 3 };

typedef void (*qemu_vcpu_cb)(unsigned int vcpu, void *data);
typedef void (*qemu_discon_cb)(unsigned int vcpu, enum qemu_discon type, uint64_t from, uint64_t to,
			       void *data);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_vcpu_cb cb, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(struct qemu_plugin_tb *tb, void *data),
					   void *data);
void qemu_plugin_register_vcpu_discon_cb(qemu_plugin_id_t id, int types, qemu_discon_cb cb,
					 void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_vcpu_cb cb,
					    enum qemu_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cond_cb(struct qemu_plugin_insn *insn, qemu_vcpu_cb cb,
						 enum qemu_cb_flags flags, enum qemu_cond cond,
						 struct qemu_u64 number, uint64_t than, void *data);
struct qemu_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
void *qemu_plugin_scoreboard_find(struct qemu_scoreboard *board, unsigned int vcpu);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_vcpu_cb cb,
					  enum qemu_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, qemu_vcpu_cb cb,
					       enum qemu_cb_flags flags, enum qemu_cond cond,
					       struct qemu_u64 number, uint64_t than, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to, size_t size);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
struct qemu_registers *qemu_plugin_get_registers(void);
bool qemu_plugin_read_register(void *handle, struct qemu_bytes *to);
bool qemu_plugin_read_memory_vaddr(uint64_t address, struct qemu_bytes *to, size_t size);
bool qemu_plugin_write_memory_vaddr(uint64_t address, struct qemu_bytes *from);

struct qemu_bytes *g_byte_array_new(void);
struct qemu_bytes *g_byte_array_set_size(struct qemu_bytes *array, unsigned int length);

#endif
