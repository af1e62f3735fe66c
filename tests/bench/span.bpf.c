// SPDX-License-Identifier: GPL-2.0-only
/* Empty programs of the types that spans use. */
#include <linux/types.h>
#include <stdbool.h>

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "GPL";

SEC("?tp")
int empty_tp(void *ctx)
{
	return 1;
}

SEC("?raw_tp")
int empty_raw(void *ctx)
{
	return 0;
}

SEC("?fentry")
int empty_fentry(void *ctx)
{
	return 0;
}

SEC("?fexit")
int empty_fexit(void *ctx)
{
	return 0;
}

SEC("?kprobe")
int empty_probe(void *ctx)
{
	return 0;
}

SEC("?usdt")
int empty_usdt(void *ctx)
{
	return 0;
}
