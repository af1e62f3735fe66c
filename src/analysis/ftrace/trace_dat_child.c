// SPDX-License-Identifier: GPL-2.0-only
/* The process that runs libtracecmd. It trusts nothing it computes either: the reader of the image
 * checks it. */
#include <endian.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <trace-cmd.h>

#include "ftrace/trace_dat.h"

/* Kernel addresses of 64-bit machines have all these bits. */
#define KERNEL_FIRST (UINT64_C(0xffff) << 48)
/* Of 64 bits: functions and tasks are far fewer than records. */
#define SEEN_ROOM (1 << 20)
#define IMAGE_MAX (UINT64_C(2) << 30)
#define BUFFER (1 << 20)
/* libtracecmd unpacks some pages at a time. */
#define ROOM (16 << 20)
/* Of CPU time. A file of 16 MiB takes half a second. */
#define TIME_MAX_S 60
/* Arm64 has some ten. */
#define REASONS_MAX 64
#define CHILD_FILE 3
#define CHILD_IMAGE 4

/* Numbers, each with another one. */
struct seen {
	uint64_t *keys, *values;
	size_t nr;
};

enum seen_type {
	TYPE_PLAIN = 1,
	TYPE_WITH_REASON,
};

struct dumper {
	FILE *image;
	const struct trace_dat_opts *opts;
	struct tep_handle *tep;
	struct seen
		addresses; /* and functions: their begin, and one more than the largest of them */
	struct seen tasks, types;
	uint64_t reasons[REASONS_MAX]; /* addresses of those that were put */
	size_t nr_reasons;
};

/* What the child may still do. All else fails with EPERM, as a library expects of files that it
 * may not open. */
static const int allowed_syscalls[] = {
	SYS_read,	    SYS_pread64,       SYS_write,      SYS_lseek,
	SYS_close,	    SYS_fstat,	       SYS_mmap,       SYS_munmap,
	SYS_mremap,	    SYS_mprotect,      SYS_madvise,    SYS_brk,
	SYS_futex,	    SYS_exit,	       SYS_exit_group, SYS_rt_sigreturn,
	SYS_rt_sigprocmask, SYS_clock_gettime, SYS_getpid,     SYS_gettid,
	SYS_getrandom,	    SYS_sysinfo,
#ifdef __SANITIZE_ADDRESS__
	SYS_sigaltstack, /* before _exit() */
#endif
};

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE_ARCH AUDIT_ARCH_RISCV64
#elif defined(__s390x__)
#define NATIVE_ARCH AUDIT_ARCH_S390X
#endif

/* Not where the kernel cannot do it: limits remain. */
static void dumper_restrict_syscalls(void)
{
#ifdef NATIVE_ARCH
	struct sock_filter filter[2 * ARRAY_SIZE(allowed_syscalls) + 5];
	struct sock_fprog program = { .filter = filter };

	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							     offsetof(struct seccomp_data, arch));
	filter[program.len++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
	filter[program.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							     offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_SIZE(allowed_syscalls); i++) {
		filter[program.len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)allowed_syscalls[i], 0, 1);
		filter[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[program.len++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	if (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

/* Keeps of the reader only the two files, and no signals. */
static void dumper_leave_reader(int file, int image)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (int number = 1; number < SIGRTMIN; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "pp-trace.dat");
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	/* Beyond both numbers, so that none is overwritten before it is copied */
	file = fcntl(file, F_DUPFD, CHILD_IMAGE + 1);
	image = fcntl(image, F_DUPFD, CHILD_IMAGE + 1);
	dup2(file, CHILD_FILE);
	dup2(image, CHILD_IMAGE);
	close_range(CHILD_IMAGE + 1, ~0U, 0);
}

static void dumper_set_limits(void)
{
	const struct rlimit none = { 0, 0 }, time = { TIME_MAX_S, TIME_MAX_S + 1 };
	struct rlimit limit;

	/* This process and the image share what the reader may use. */
	if (getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur / 2 > IMAGE_MAX)
		limit.rlim_cur = limit.rlim_max = IMAGE_MAX;
	else
		limit.rlim_cur = limit.rlim_max = limit.rlim_cur / 2;
	setrlimit(RLIMIT_FSIZE, &limit);
	/* AddressSanitizer has terabytes that it never touches. */
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_DATA, &limit);
#endif
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_CPU, &time);
}

static void dumper_put(struct dumper *dumper, const struct trace_dat_head *head, const char *name,
		       const void *data, size_t size)
{
	static const char zeros[8];
	struct trace_dat_head item = *head;
	size_t length = name ? strlen(name) + 1 : 0;

	item.size = (uint32_t)(length + size);
	fwrite(&item, sizeof(item), 1, dumper->image);
	fwrite(name ?: "", length, 1, dumper->image);
	fwrite(data, size, 1, dumper->image);
	fwrite(zeros, -(length + size) % sizeof(zeros), 1, dumper->image);
}

static int seen_new(struct seen *seen)
{
	seen->keys = calloc(SEEN_ROOM, sizeof(*seen->keys));
	seen->values = calloc(SEEN_ROOM, sizeof(*seen->values));
	return seen->keys && seen->values ? 0 : -ENOMEM;
}

/* The value of a key other than 0, of which a new one has 0. NULL: no room. */
static uint64_t *seen_value(struct seen *seen, uint64_t key)
{
	size_t i = (key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % SEEN_ROOM;

	while (seen->keys[i] && seen->keys[i] != key)
		i = (i + 1) % SEEN_ROOM;
	if (seen->keys[i])
		return &seen->values[i];
	if (seen->nr == SEEN_ROOM / 2)
		return NULL;
	seen->nr++;
	seen->keys[i] = key;
	return &seen->values[i];
}

/* Notes the functions of all kernel addresses in a record. Those of callers are behind the call,
 * perhaps in the next function. */
static void dumper_note_addresses(struct dumper *dumper, const struct tep_record *record)
{
	for (int at = 0; at + 8 <= record->size; at += 4) {
		uint64_t address, start, *known;

		memcpy(&address, (const char *)record->data + at, sizeof(address));
		if (address < KERNEL_FIRST || address == UINT64_MAX)
			continue;
		known = seen_value(&dumper->addresses, address);
		if (!known || *known)
			continue;
		*known = 1;
		for (uint64_t of = address - 1; of <= address; of++) {
			start = tep_find_function_address(dumper->tep, of);
			known = start ? seen_value(&dumper->addresses, start) : NULL;
			if (known && *known <= of)
				*known = of + 1;
		}
	}
}

/* Puts the reason of an interrupt from another CPU: a string of the kernel, which libtraceevent
 * tells only where it prints the event, as "(Function call interrupts)". */
static void dumper_put_reason(struct dumper *dumper, struct tep_record *record)
{
	struct tep_event *event = tep_find_event_by_record(dumper->tep, record);
	struct tep_format_field *field = event ? tep_find_field(event, "reason") : NULL;
	struct trace_dat_head head = { .item = TRACE_DAT_STRING };
	unsigned long long address;
	struct trace_seq text;

	if (!field || field->offset + field->size > record->size ||
	    tep_read_number_field(field, record->data, &address))
		return;
	for (size_t i = 0; i < dumper->nr_reasons; i++)
		if (dumper->reasons[i] == address)
			return;
	if (dumper->nr_reasons == REASONS_MAX)
		return;
	dumper->reasons[dumper->nr_reasons++] = head.numbers[0] = address;
	trace_seq_init(&text);
	tep_print_event(dumper->tep, &text, record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&text);
	if (text.len > 2 && text.buffer[0] == '(' && text.buffer[text.len - 1] == ')') {
		text.buffer[text.len - 1] = '\0';
		dumper_put(dumper, &head, text.buffer + 1, "", 0);
	}
	trace_seq_destroy(&text);
}

/* Whether records of this type, which is new, have a reason. */
static bool dumper_type_has_reason(const struct dumper *dumper, int type)
{
	const struct tep_event *event = tep_find_event(dumper->tep, type);

	return event && event->system && !strcmp(event->system, "ipi") && event->name &&
	       (!strcmp(event->name, "ipi_entry") || !strcmp(event->name, "ipi_exit"));
}

static int dumper_take_record(struct tracecmd_input *input, struct tep_record *record, int cpu,
			      void *ctx)
{
	struct dumper *dumper = ctx;
	const struct trace_dat_head head = {
		.item = TRACE_DAT_RECORD,
		.numbers = { record->ts,
			     (uint32_t)cpu | (record->missed_events ? TRACE_DAT_MISSED : 0) },
	};
	uint64_t *known;
	int tid, type;

	(void)input;
	if (record->ts < dumper->opts->begin || record->ts > dumper->opts->end || record->size <= 0)
		return ferror(dumper->image) ? -1 : 0;
	dumper_put(dumper, &head, NULL, record->data, (size_t)record->size);
	dumper_note_addresses(dumper, record);
	type = tep_data_type(dumper->tep, record);
	known = seen_value(&dumper->types, (uint64_t)type);
	if (known && !*known)
		*known = dumper_type_has_reason(dumper, type) ? TYPE_WITH_REASON : TYPE_PLAIN;
	if (known && *known == TYPE_WITH_REASON)
		dumper_put_reason(dumper, record);
	tid = tep_data_pid(dumper->tep, record);
	known = tid > 0 ? seen_value(&dumper->tasks, (uint64_t)tid) : NULL;
	if (known)
		*known = 1;
	return ferror(dumper->image) ? -1 : 0;
}

static void dumper_put_fields(FILE *file, const struct tep_format_field *field)
{
	for (; field; field = field->next) {
		bool is_array =
			field->flags & TEP_FIELD_IS_ARRAY && !(field->flags & TEP_FIELD_IS_DYNAMIC);
		size_t length = strcspn(field->type, is_array ? "[" : "");

		fprintf(file, "\tfield:%.*s %s", (int)length, field->type, field->name);
		if (is_array && field->arraylen)
			fprintf(file, "[%u]", field->arraylen);
		else if (is_array)
			fputs("[]", file);
		fprintf(file, ";\toffset:%d;\tsize:%d;\tsigned:%d;\n", field->offset, field->size,
			!!(field->flags & TEP_FIELD_IS_SIGNED));
	}
}

/* The text of the format again, of which libtracecmd has kept what it parsed. */
static int dumper_put_format(struct dumper *dumper, const struct tep_event *event)
{
	const struct trace_dat_head head = { .item = TRACE_DAT_FORMAT,
					     .numbers = { (uint64_t)event->id } };
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (!file)
		return -ENOMEM;
	fprintf(file, "name: %s\nID: %d\nformat:\n", event->name, event->id);
	dumper_put_fields(file, event->format.common_fields);
	fputc('\n', file);
	dumper_put_fields(file, event->format.fields);
	fputs("\nprint fmt: \"\"\n", file);
	if (fclose(file)) {
		free(text);
		return -ENOMEM;
	}
	dumper_put(dumper, &head, event->system, text, size);
	free(text);
	return 0;
}

static void dumper_put_names(struct dumper *dumper)
{
	for (size_t i = 0; i < SEEN_ROOM; i++) {
		struct trace_dat_head head = { .item = TRACE_DAT_SYMBOL };
		const char *name;

		head.numbers[0] = dumper->addresses.keys[i];
		head.numbers[1] = dumper->addresses.values[i];
		name = head.numbers[0] && head.numbers[1] > 1
			       ? tep_find_function(dumper->tep, head.numbers[0])
			       : NULL;
		if (name)
			dumper_put(dumper, &head, name, "", 0);
	}
	for (size_t i = 0; i < SEEN_ROOM; i++) {
		struct trace_dat_head head = { .item = TRACE_DAT_TASK };
		const char *comm;

		head.numbers[0] = dumper->tasks.keys[i];
		comm = head.numbers[0] ? tep_data_comm_from_pid(dumper->tep, (int)head.numbers[0])
				       : NULL;
		/* libtraceevent's word for unknown ones */
		if (comm && strcmp(comm, "<...>") != 0)
			dumper_put(dumper, &head, comm, "", 0);
	}
}

/* Whether libtracecmd has run out of memory: then it has left out records, and says nothing. */
static bool dumper_lacks_memory(void)
{
	void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return room == MAP_FAILED || munmap(room, ROOM);
}

static int dumper_read_ring(struct dumper *dumper, struct tracecmd_input *input)
{
	if (tracecmd_iterate_events(input, NULL, 0, dumper_take_record, dumper))
		return ferror(dumper->image) ? TRACE_DAT_TOO_BIG : TRACE_DAT_NOT_ONE;
	return dumper_lacks_memory() ? TRACE_DAT_TOO_BIG : 0;
}

static int dumper_read_rings(struct dumper *dumper, struct tracecmd_input *input)
{
	int err = dumper_read_ring(dumper, input);

	for (int i = 0; !err && i < tracecmd_buffer_instances(input); i++) {
		struct tracecmd_input *ring = tracecmd_buffer_instance_handle(input, i);

		if (!ring)
			continue;
		err = dumper_read_ring(dumper, ring);
		tracecmd_close(ring);
	}
	return err;
}

static int dumper_run(struct dumper *dumper, struct tracecmd_input *input)
{
	struct trace_dat_head last = { .item = TRACE_DAT_END };
	int err;

	dumper->tep = tracecmd_get_tep(input);
	if (tep_is_file_bigendian(dumper->tep) != (BYTE_ORDER == BIG_ENDIAN))
		return TRACE_DAT_NOT_ONE;
	if (seen_new(&dumper->addresses) || seen_new(&dumper->tasks) || seen_new(&dumper->types))
		return TRACE_DAT_TOO_BIG;
	err = dumper_read_rings(dumper, input);
	if (err)
		return err;
	for (size_t i = 0; i < SEEN_ROOM; i++) {
		uint64_t type = dumper->types.keys[i];
		const struct tep_event *event =
			type ? tep_find_event(dumper->tep, (int)type) : NULL;

		if (event && event->name && event->system && dumper_put_format(dumper, event))
			return TRACE_DAT_TOO_BIG;
	}
	dumper_put_names(dumper);
	last.numbers[0] = (uint64_t)tep_get_long_size(dumper->tep);
	dumper_put(dumper, &last, NULL, "", 0);
	return fflush(dumper->image) ? TRACE_DAT_TOO_BIG : TRACE_DAT_DONE;
}

bool trace_dat_is_built(void)
{
	return true;
}

int trace_dat_child(int file, int image, const struct trace_dat_opts *opts)
{
	struct dumper dumper = { .opts = opts };
	struct tracecmd_input *input;

	dumper_leave_reader(file, image);
	dumper.image = fdopen(CHILD_IMAGE, "w");
	if (!dumper.image || setvbuf(dumper.image, NULL, _IOFBF, BUFFER))
		return TRACE_DAT_TOO_BIG;
	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	dumper_set_limits();
	dumper_restrict_syscalls();
	/* Plugins are code for the formats of their print. */
	input = tracecmd_open_fd(CHILD_FILE, TRACECMD_FL_LOAD_NO_PLUGINS);
	return input ? dumper_run(&dumper, input) : TRACE_DAT_NOT_ONE;
}
