// SPDX-License-Identifier: GPL-2.0-only
/* Spins with interrupts off, so that the CPU's timers expire late. User space runs it by
 * BPF_PROG_TEST_RUN, which runs this type of program in an interrupt of that CPU. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define ROUNDS 64
#define LATE_SPINS 32

char LICENSE[] SEC("license") = "GPL";

struct spin {
	__u64 until_ns;
};

/* The newest spins, CLOCK_MONOTONIC. */
__u64 late_began_ns[LATE_SPINS] = {};
__u32 late_next = 0;

/* Divisions are slow and need no branches: an AUX sample of 60 KiB holds a whole spin. */
static long late_spin_step(__u32 index, void *ctx)
{
	const struct spin *spin = ctx;
	__u64 value = spin->until_ns;

#pragma clang loop unroll(disable)
	for (int i = 0; i < ROUNDS; i++)
		asm volatile(".rept 64\n\t%0 /= 3\n\t%0 ^= -1\n\t.endr" : "+r"(value));
	return bpf_ktime_get_ns() >= spin->until_ns;
}

SEC("raw_tp")
int late_spin(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 began_ns = bpf_ktime_get_ns();
	/* Spins for the time in test_run's first argument, in ns. */
	struct spin spin = { .until_ns = began_ns + ctx->args[0] };

	late_began_ns[late_next++ % LATE_SPINS] = began_ns;
	/* The maximum of the verifier, which takes minutes. */
	bpf_loop(1 << 23, late_spin_step, &spin, 0);
	return 0;
}
