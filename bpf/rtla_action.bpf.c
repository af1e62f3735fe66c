// SPDX-License-Identifier: GPL-2.0-only
/* For `rtla timerlat --bpf-action`: tail-calls the program of the newest session, if any; see
 * reported.bpf.h. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* Pinned in bpffs under this name by rtla or the session, whichever is first. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} perf_poke_rtla SEC(".maps");

/* rtla looks for this name, and accepts only tracepoint programs. */
SEC("tp/timerlat_action")
int action_handler(void *ctx)
{
	bpf_tail_call(ctx, &perf_poke_rtla, 0);
	return 0;
}
