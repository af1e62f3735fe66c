// SPDX-License-Identifier: GPL-2.0-only
/* Keeps a CPU busy with interrupts off, so that its timers expire late. User space runs it on the
 * CPU by BPF_PROG_TEST_RUN, which for this type of program means: in an interrupt of that CPU. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct spin {
	__u64 until_ns;
};

static long spin_step(__u32 index, void *ctx)
{
	const struct spin *spin = ctx;

	(void)index;
	return bpf_ktime_get_ns() >= spin->until_ns;
}

SEC("raw_tp")
int late_spin(struct bpf_raw_tracepoint_args *ctx)
{
	/* As long as test_run's first argument says, in ns. */
	struct spin spin = { .until_ns = bpf_ktime_get_ns() + ctx->args[0] };

	/* The most that the verifier allows: some 100 ms and more. */
	bpf_loop(1 << 23, spin_step, &spin, 0);
	return 0;
}
