// SPDX-License-Identifier: GPL-2.0-only
#include "fingerprint/fingerprint_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "affix.h"
#include "util.h"

/* Copies up to the first of `ends`. */
static void copy_until(char *buf, const char *name, const char *ends)
{
	size_t nr = strcspn(name, ends);

	if (nr >= FINGERPRINT_NAME_SIZE)
		nr = FINGERPRINT_NAME_SIZE - 1;
	for (size_t i = 0; i < nr; i++) {
		unsigned char c = (unsigned char)name[i];

		buf[i] = c <= ' ' || c == 127 || c == '<' || c == '>' ? '_' : (char)c;
	}
	buf[nr] = '\0';
}

void fingerprint_function(char *buf, const char *name)
{
	static const char *const prefixes[] = { "__pfx_", "__cfi_", "." };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (has_prefix(name, prefixes[i]))
			name += strlen(prefixes[i]);
	}
	/* Compiler suffixes: .isra.0, .constprop.0, .part.0, .cold, .llvm.1234. C symbols have no
	 * dot. */
	copy_until(buf, name, ".+ \t");
}

/* Returns the name of the system call of a function such as `__x64_sys_write`, or ksys_write(), to
 * which it jumps. NULL: none. */
static const char *system_call(const char *name)
{
	static const char *const prefixes[] = {
		"__x64_compat_sys_",   "__ia32_compat_sys_",  "__x32_compat_sys_",
		"__arm64_compat_sys_", "__riscv_compat_sys_", "__se_compat_sys_",
		"__do_compat_sys_",    "__x64_sys_",	      "__ia32_sys_",
		"__arm64_sys_",	       "__riscv_sys_",	      "__s390x_sys_",
		"__se_sys_",	       "__do_sys_",	      "ksys_",
	};
	size_t length = prefix_of(name, prefixes, ARRAY_SIZE(prefixes));

	return length ? name + length : NULL;
}

struct named {
	const char *prefix; /* begin of a name; with a trailing '$', the whole name */
	const char *token;
};

static const char *find_token(const struct named *rows, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++) {
		size_t length = strcspn(rows[i].prefix, "$");

		if (!strncmp(name, rows[i].prefix, length) &&
		    (!rows[i].prefix[length] || !name[length]))
			return rows[i].token;
	}
	return NULL;
}

/* The vectors have the names of the tracepoints irq_vectors:*, softirqs those of /proc/softirqs. */
static const struct named entries[] = {
	{ "process_one_work$", "workqueue" },
	{ "process_scheduled_works$", "workqueue" },
	{ "worker_thread$", "workqueue" },
	{ "rescuer_thread$", "workqueue" },
	{ "kthread_worker_fn$", "kthread" },
	{ "smpboot_thread_fn$", "kthread" },
	{ "kthread$", "kthread" },
	{ "ret_from_fork", "kthread" },
	{ "irq_thread", "irq_thread" },
	{ "irq_forced_thread_fn$", "irq_thread" },
	{ "cpu_stopper_thread$", "stopper" },
	{ "multi_cpu_stop$", "stopper" },
	{ "task_work_run$", "task_work" },
	{ "do_idle$", "idle" },
	{ "cpuidle_", "idle" },
	{ "default_idle_call$", "idle" },
	{ "cpu_startup_entry$", "idle" },
	{ "net_rx_action$", "NET_RX" },
	{ "net_tx_action$", "NET_TX" },
	{ "run_timer_softirq$", "TIMER" },
	{ "__run_timers$", "TIMER" },
	{ "call_timer_fn$", "TIMER" },
	{ "expire_timers$", "TIMER" },
	{ "tasklet_hi_action$", "HI" },
	{ "tasklet_action", "TASKLET" },
	{ "blk_done_softirq$", "BLOCK" },
	{ "irq_poll_softirq$", "IRQ_POLL" },
	{ "run_rebalance_domains$", "SCHED" },
	{ "sched_balance_softirq$", "SCHED" },
	{ "hrtimer_run_softirq$", "HRTIMER" },
	{ "rcu_core", "RCU" },
	{ "__do_softirq$", "softirq" },
	{ "handle_softirqs$", "softirq" },
	{ "__hrtimer_run_queues$", "local_timer" },
	{ "hrtimer_interrupt$", "local_timer" },
	{ "apic_timer_interrupt$", "local_timer" },
	{ "generic_smp_call_function_single_interrupt$", "call_function_single" },
	{ "call_function_single$", "call_function_single" },
	{ "call_function$", "call_function" },
	{ "reschedule_ipi$", "reschedule" },
	{ "irq_work$", "irq_work" },
	{ "thermal$", "thermal_apic" },
	{ "threshold$", "threshold_apic" },
	{ "deferred_error$", "deferred_error_apic" },
	{ "error_interrupt$", "error_apic" },
	{ "spurious_apic_interrupt$", "spurious_apic" },
	{ "nmi$", "nmi" },
	{ "nmi_kvm_vmx$", "nmi" },
	{ "nmi_handle$", "nmi" },
	{ "default_do_nmi$", "nmi" },
	{ "end_repeat_nmi$", "nmi" },
	{ "first_nmi$", "nmi" },
	{ "repeat_nmi$", "nmi" },
	{ "nested_nmi$", "nmi" },
	{ "common_interrupt$", "irq" },
	{ "__common_interrupt$", "irq" },
	{ "handle_edge_irq$", "irq" },
	{ "handle_fasteoi_irq$", "irq" },
	{ "handle_level_irq$", "irq" },
	{ "handle_irq_event", "irq" },
	{ "__handle_irq_event_percpu$", "irq" },
	{ "do_syscall_64$", "syscall" },
	{ "do_fast_syscall", "syscall" },
	{ "__do_fast_syscall", "syscall" },
	{ "do_int80", "syscall" },
	{ "entry_", "syscall" },
	{ "el0", "syscall" },
	{ "invoke_syscall", "syscall" },
};

/* Returns the name after the prefixes of an x86 entry, or NULL. */
static const char *behind_entry(const char *name)
{
	static const char *const prefixes[] = { "asm_sysvec_", "__sysvec_", "sysvec_",
						"asm_exc_",    "exc_",	    "asm_" };
	size_t length = prefix_of(name, prefixes, ARRAY_SIZE(prefixes));

	return length ? name + length : NULL;
}

static void put_token(char *token, const char *name)
{
	snprintf(token, FINGERPRINT_NAME_SIZE, "[%.*s]", FINGERPRINT_NAME_SIZE - 3, name);
}

enum frame_role fingerprint_role(char *token, const char *function)
{
	static const struct named passes[] = {
		{ "vfs_", "" },
		{ "new_sync_", "" },
		{ "__vfs_", "" },
		{ "do_iter_", "" },
		{ "proc_reg_", "" },
		{ "kernfs_fop_", "" },
		{ "full_proxy_", "" },
		{ "debugfs_", "" },
		{ "x64_sys_call$", "" },
		{ "ia32_sys_call$", "" },
		{ "__flush_smp_call_function_queue$", "" },
		{ "flush_smp_call_function_queue$", "" },
		{ "__napi_poll", "" },
		{ "napi_poll$", "" },
		{ "run_ksoftirqd$", "" },
		{ "run_timer_base$", "" },
		{ "__irq_exit_rcu$", "" },
		{ "irq_exit_rcu$", "" },
		{ "do_softirq", "" },
		{ "_raw_spin_", "" },
		{ "_raw_read_", "" },
		{ "_raw_write_", "" },
	};
	const char *entry = behind_entry(function);
	const char *found = system_call(function);

	if (!found)
		found = find_token(entries, ARRAY_SIZE(entries), entry ?: function) ?: entry;
	if (!found)
		return find_token(passes, ARRAY_SIZE(passes), function) ? FRAME_GLUE
									: FRAME_FUNCTION;
	put_token(token, found);
	return FRAME_ENTRY;
}

bool fingerprint_only_waits(const char *function)
{
	static const char *const prefixes[] = {
		"__const_udelay", "__delay",   "__ndelay",  "__udelay",
		"delay_",	  "ktime_get", "kvm_clock", "local_clock",
		"native_sched",	  "pvclock_",  "read_tsc",  "sched_clock",
	};

	return prefix_of(function, prefixes, ARRAY_SIZE(prefixes));
}

void fingerprint_entry(char *token, const char *name)
{
	char text[FINGERPRINT_NAME_SIZE];

	if (has_prefix(name, "irq ")) {
		name += strlen("irq ");
		name += strspn(name, "0123456789");
		fingerprint_irq(text, name + (*name == ' '));
		snprintf(token, FINGERPRINT_NAME_SIZE, "[irq:%.*s]", FINGERPRINT_NAME_SIZE - 7,
			 text);
		return;
	}
	fingerprint_function(text, name);
	if (fingerprint_role(token, text) != FRAME_ENTRY)
		put_token(token, text);
}

/* Such as `irq/45-nvme0q1`. */
static bool put_irq_thread(char *buf, const char *comm)
{
	char name[FINGERPRINT_NAME_SIZE];
	const char *at = comm + strlen("irq/");

	if (!has_prefix(comm, "irq/") || !isdigit((unsigned char)*at))
		return false;
	at += strspn(at, "0123456789");
	/* The kernel truncates task names; `s-` marks a second handler. */
	at += *at == '-';
	if (has_prefix(at, "s-"))
		at += 2;
	fingerprint_irq(name, at);
	snprintf(buf, FINGERPRINT_NAME_SIZE, "irq/%.*s", FINGERPRINT_NAME_SIZE - 5, name);
	return true;
}

/* Cuts at the first separator before a number, as in `ksoftirqd/1` and `pool-12`. */
void fingerprint_task(char *buf, const char *comm)
{
	size_t end = 0;

	if (put_irq_thread(buf, comm))
		return;
	if (has_prefix(comm, "kworker/") || has_prefix(comm, "kworker+"))
		comm = "kworker";
	while (comm[end] &&
	       !(end && strchr("/-:#_ .", comm[end]) && isdigit((unsigned char)comm[end + 1])))
		end++;
	copy_until(buf, comm, "");
	if (end < FINGERPRINT_NAME_SIZE)
		buf[end] = '\0';
}

static bool is_separator(char c)
{
	return !isalnum((unsigned char)c);
}

/* Names of hardware begin with one letter and a number: i8042, i915, e1000e, r8169. */
static bool is_of_part(const char *name, size_t at)
{
	return at && isalpha((unsigned char)name[at - 1]) &&
	       (at == 1 || is_separator(name[at - 2])) && isdigit((unsigned char)name[at + 1]) &&
	       isdigit((unsigned char)name[at + 2]);
}

/* The end of `0q1`: an instance and its queue. */
static size_t skip_number(const char *name, size_t at)
{
	size_t end = at + strspn(name + at, "0123456789");

	if (name[end] == 'q' && isdigit((unsigned char)name[end + 1]))
		end += 1 + strspn(name + end + 1, "0123456789");
	return end;
}

void fingerprint_irq(char *buf, const char *name)
{
	char text[FINGERPRINT_NAME_SIZE];
	size_t nr = 0, at = 0;

	/* ahci[0000:00:1f.2], mlx5_comp3@pci:0000:01:00.0, snd_hda_intel:card0 */
	copy_until(text, name, "[@:");
	while (text[at]) {
		size_t digits = strspn(text + at, "0123456789");

		if (digits && is_of_part(text, at)) {
			memcpy(buf + nr, text + at, digits);
			nr += digits;
			at += digits;
		} else if (digits) {
			at = skip_number(text, at);
		} else {
			buf[nr++] = text[at++];
		}
	}
	while (nr && is_separator(buf[nr - 1]))
		nr--;
	buf[nr] = '\0';
}
