// SPDX-License-Identifier: GPL-2.0-only
/* For `rtla timerlat --bpf-action`: goes on in the program that the newest session has put into the
 * map, see rtla.h; does nothing when there is none. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

/* In bpffs, by this name: whoever comes first makes it, rtla or the session. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} perf_poke_rtla SEC(".maps");

/* rtla looks for this name, and calls nothing but programs of the type tracepoint. */
SEC("tp/timerlat_action")
int action_handler(void *ctx)
{
	bpf_tail_call(ctx, &perf_poke_rtla, 0);
	return 0;
}
