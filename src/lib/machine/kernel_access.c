// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What the kernel offers, and lets this process use: probes, privileges, tracefs, maps. */
#include "machine/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/mount.h>

#include "io.h"
#include "util.h"

void probe_set_detail(struct probe_detail *detail, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(detail->text, sizeof(detail->text), format, ap);
	va_end(ap);
}

static void keep_first_error(void *ctx, enum perf_poke_log_level level, const char *msg)
{
	struct probe_detail *detail = ctx;

	if (level == PERF_POKE_LOG_ERROR && !detail->text[0])
		probe_set_detail(detail, "%s", msg);
}

struct log probe_detail_log(struct probe_detail *detail)
{
	return (struct log){ keep_first_error, detail };
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

static const struct need needed_capabilities[] = {
	{ CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF", false },
	{ CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON", false },
	{ CAP_SYS_NICE, CAP_SYS_NICE, "CAP_SYS_NICE", true },
};

static bool has_effective_capability(cap_t caps, cap_value_t cap)
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
	for (size_t i = 0; i < ARRAY_SIZE(needed_capabilities); i++) {
		if (needed_capabilities[i].realtime > realtime ||
		    has_effective_capability(caps, needed_capabilities[i].cap) ||
		    has_effective_capability(caps, needed_capabilities[i].instead))
			continue;
		len += snprintf(names + len, size - len, "%s%s", len ? ", " : "",
				needed_capabilities[i].name);
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

/* glibc 2.36 is the first with wrappers of these system calls. */
static int tracefs_mount_detached(void)
{
	_cleanup_close_ int fs = syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return fd < 0 ? -errno : fd;
}

static int tracefs_open_at(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || faccessat(fd, "events", R_OK | X_OK, 0))
		return -errno;
	return TAKE_FD(fd);
}

/* Try the path below debugfs last: looking it up mounts tracefs there permanently. */
int tracefs_open(void)
{
	int mounted = tracefs_open_at("/sys/kernel/tracing");
	int fd, err;

	if (mounted >= 0)
		return mounted;
	err = tracefs_mount_detached();
	if (err >= 0)
		return err;
	fd = tracefs_open_at("/sys/kernel/debug/tracing");
	if (fd >= 0)
		return fd;
	return mounted == -EACCES ? mounted : err;
}

const char *tracefs_strerror(int err)
{
	switch (err) {
	case -EPERM:
		return "tracefs is not mounted, and mounting it needs CAP_SYS_ADMIN";
	case -EACCES:
		return "reading files of tracefs needs CAP_DAC_READ_SEARCH";
	default:
		return strerror(-err);
	}
}

bool tracefs_has_event(const char *name)
{
	_cleanup_close_ int tracefs = tracefs_open();
	char path[128];

	snprintf(path, sizeof(path), "events/%s/id", name);
	return tracefs >= 0 && !faccessat(tracefs, path, F_OK, 0);
}

int tracefs_read_event(const char *name, const char *file, char *text, size_t size)
{
	_cleanup_close_ int tracefs = tracefs_open();
	size_t group = strcspn(name, ":/");
	char path[256];

	if (tracefs < 0)
		return tracefs;
	if (!name[group])
		return -ENOENT;
	snprintf(path, sizeof(path), "events/%.*s/%s/%s", (int)group, name, name + group + 1, file);
	return read_text_at(tracefs, path, text, size);
}

int tracefs_event_id(const char *name, uint64_t *id)
{
	char text[32];
	int err = tracefs_read_event(name, "id", text, sizeof(text));

	*id = err ? 0 : strtoull(text, NULL, 10);
	return err;
}

uint64_t tracefs_printk_id(void)
{
	uint64_t id;

	tracefs_event_id("bpf_trace/bpf_trace_printk", &id);
	return id;
}

size_t page_aligned_size(size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (size + page - 1) & ~(page - 1);
}

int bpf_map_memory(void **ret, size_t *size, const struct bpf_map *map)
{
	size_t mapped =
		page_aligned_size((size_t)bpf_map__max_entries(map) * bpf_map__value_size(map));
	void *mapping = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (mapping == MAP_FAILED)
		return -errno;
	*ret = mapping;
	*size = mapped;
	return 0;
}
