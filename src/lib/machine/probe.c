// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "machine/base.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/capability.h>

#include "io.h"
#include "util.h"

void probe_say(struct probe_detail *detail, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail->text, sizeof(detail->text), format, ap);
	va_end(ap);
}

static void keep_first(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	struct probe_detail *detail = ctx;

	if (level == PERF_POKE_LOG_ERROR && !detail->text[0])
		probe_say(detail, "%s", msg);
}

struct log probe_log(struct probe_detail *detail)
{
	return (struct log){ keep_first, detail };
}

bool kfunc_exists(const char *name)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool found = btf && btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return found;
}

bool function_has_trampoline(const char *function)
{
	const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	_cleanup_close_ int link = -1, fd = -1;
	int id = libbpf_find_vmlinux_btf_id(function, BPF_TRACE_FENTRY);

	if (id <= 0)
		return false;
	opts.attach_btf_id = (__u32)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "try", "GPL", program, ARRAY_SIZE(program),
			   &opts);
	if (fd >= 0)
		link = bpf_raw_tracepoint_open(NULL, fd);
	return link >= 0;
}

struct need {
	cap_value_t cap;
	cap_value_t instead; /* grants it too */
	const char *name;
	bool realtime; /* only for real-time threads */
};

static const struct need needs[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF", false },
	{ CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON", false },
	{ CAP_SYS_NICE, CAP_SYS_NICE, "CAP_SYS_NICE", true },
};

static bool has(cap_t caps, cap_value_t cap)
{
	cap_flag_value_t value = CAP_CLEAR;

	return !cap_get_flag(caps, cap, CAP_EFFECTIVE, &value) && value == CAP_SET;
}

int caps_missing(bool realtime, char *names, size_t size)
{
	cap_t caps = cap_get_proc();
	size_t len = 0;

	if (!caps)
		return -errno;
	names[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (needs[i].realtime > realtime || has(caps, needs[i].cap) ||
		    has(caps, needs[i].instead))
			continue;
		len += snprintf(names + len, size - len, "%s%s", len ? ", " : "", needs[i].name);
	}
	cap_free(caps);
	return len ? -EPERM : 0;
}

bool caps_locked_down(void)
{
	char levels[64];

	/* The active level is in brackets. */
	return !read_text_at(AT_FDCWD, "/sys/kernel/security/lockdown", levels, sizeof(levels)) &&
	       strstr(levels, "[confidentiality]");
}
