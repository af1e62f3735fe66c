/* SPDX-License-Identifier: GPL-2.0-only */
/* For LD_PRELOAD: breaks the library in the way that PERF_POKE_BROKEN names. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include <perf_poke.h>

static bool is_broken(const char *way)
{
	const char *broken = getenv("PERF_POKE_BROKEN");

	return broken && !strcmp(broken, way);
}

/* Sessions forget their targets. */
int perf_poke__new(struct perf_poke **pp, const struct perf_poke_opts *opts)
{
	struct perf_poke_opts changed = *opts;
	int (*new)(struct perf_poke * *pp, const struct perf_poke_opts *opts) =
		dlsym(RTLD_NEXT, "perf_poke__new");

	if (is_broken("signal"))
		changed.nr_targets = 0;
	return new (pp, &changed);
}

/* The kernel has no trampolines. */
int libbpf_find_vmlinux_btf_id(const char *name, enum bpf_attach_type type)
{
	int (*find)(const char *name, enum bpf_attach_type type) =
		dlsym(RTLD_NEXT, "libbpf_find_vmlinux_btf_id");

	return is_broken("trampoline") ? -ENOENT : find(name, type);
}

/* Sessions leak a descriptor. */
void perf_poke__free(struct perf_poke *pp)
{
	void (*free)(struct perf_poke * pp) = dlsym(RTLD_NEXT, "perf_poke__free");

	if (is_broken("clean") && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
		abort();
	free(pp);
}
