// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's own cost of a program of the trigger's type, including the clock */
#include <linux/types.h>

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/hrtimer_expire_entry")
int empty(void *ctx)
{
	return 0;
}
