// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "kernel_function.h"

#include "test.h"
#include "util.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

TEST(rows_are_sorted_and_unique)
{
	for (size_t i = 1; i < kernel_functions_nr; i++) {
		if (strcmp(kernel_functions[i - 1].name, kernel_functions[i].name) >= 0)
			fail_msg("'%s' before '%s'", kernel_functions[i - 1].name,
				 kernel_functions[i].name);
	}
}

TEST(entries_and_waits_alone_have_tokens)
{
	for (size_t i = 0; i < kernel_functions_nr; i++)
		assert_int_equal(!!(kernel_functions[i].meaning & (KERNEL_ENTRY | KERNEL_WAITS)),
				 !!kernel_functions[i].token);
}

TEST(the_longest_name_with_a_meaning_fits)
{
	const struct kernel_function *row = kernel_function_find(
		"asm_exc_nmi", KERNEL_NMI | KERNEL_EXCEPTION | KERNEL_INTERRUPT);

	assert_int_equal(row->meaning, KERNEL_NMI);
	assert_null(kernel_function_find("schedule_timeout", KERNEL_IRQS_ON));
	assert_non_null(kernel_function_find("schedule", KERNEL_IRQS_ON));
	assert_null(kernel_function_find("schedule", KERNEL_IRQS_OFF));
	assert_non_null(kernel_function_find("schedule.isra.0", KERNEL_IRQS_ON));
	assert_null(kernel_function_find("", KERNEL_ENTRY));
	assert_string_equal(kernel_function_after("__x64_sys_write", KERNEL_BEFORE_SYSCALL),
			    "write");
	assert_null(kernel_function_after("vfs_write", KERNEL_BEFORE_SYSCALL));
}

/* Names of other architectures, versions and configurations: x86-64 of Linux 6.18 has none. */
static const char *const elsewhere[] = {
	"Function call",
	"IRQ work",
	"Rescheduling",
	"Timer broadcast",
	"__arm64_",
	"__raw_",
	"__riscv_",
	"__s390x_",
	"__se_",
	"__x32_",
	"__x64_compat_sys_",
	"arch_",
	"el0",
	"el1",
	"hv_",
	"invoke_syscall",
	"lockdep_",
	"native_irq_",
	"native_safe_halt",
	"tdx_",
	"threshold",
	"trace_hardirqs",
	"deferred_error",
	"xen_",
};

static bool is_named(const struct kernel_function *row, const char *symbol)
{
	static const char *const before[] = { "", "asm_sysvec_", "sysvec_", "asm_exc_", "exc_" };
	size_t length = strcspn(row->name, "*");

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		size_t nr = strlen(before[i]);

		if (!strncmp(symbol, before[i], nr) && !strncmp(symbol + nr, row->name, length) &&
		    (row->name[length] || !symbol[nr + length] || symbol[nr + length] == '.'))
			return true;
	}
	return false;
}

static bool is_elsewhere(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
		if (!strncmp(name, elsewhere[i], strlen(elsewhere[i])))
			return true;
	}
	return false;
}

/* Compilers inline some functions, and versions rename them: a few may be missing. */
TEST(this_kernel_has_nearly_all)
{
	_cleanup_free_ bool *found = calloc(kernel_functions_nr, sizeof(*found));
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");
	char line[512], symbol[256];
	bool x86 = false;
	size_t missing = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*s %*s %255s", symbol) != 1)
			continue;
		x86 |= !strcmp(symbol, "asm_sysvec_apic_timer_interrupt");
		for (size_t i = 0; i < kernel_functions_nr; i++)
			found[i] = found[i] || is_named(&kernel_functions[i], symbol);
	}
	if (!x86)
		skip();
	for (size_t i = 0; i < kernel_functions_nr; i++) {
		if (found[i] || is_elsewhere(kernel_functions[i].name))
			continue;
		print_message("not in this kernel: %s\n", kernel_functions[i].name);
		missing++;
	}
	assert_true(missing <= kernel_functions_nr / 10);
}
