// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "base/probe.h"

#include <stdarg.h>

#include <bpf/btf.h>

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
