// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Synthesized records: the state of the system before the trace began. */
#include "internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io.h"

#define COMM_SIZE 16

/* Size of the sample id (sample_id_all) after each record that is not a sample. */
static size_t sample_id_size(const struct perf_event_attr *attr)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	if (!attr->sample_id_all)
		return 0;
	return __builtin_popcountll(attr->sample_type & fields) * sizeof(uint64_t);
}

/* The header of a record with `body` bytes, a name and the sample id. */
static void put_record_header(struct perfdata_buf *buf, const struct perf_event_attr *attr,
			      uint32_t type, uint16_t misc, size_t body, const char *name)
{
	perfdata_buf_header(buf, type, misc,
			    sizeof(struct perf_event_header) + body + ALIGN8(strlen(name) + 1) +
				    sample_id_size(attr));
}

/* A sample id of zeros means the first event, without a time, so before all others. */
static void put_name_and_sample_id(struct perfdata_buf *buf, const struct perf_event_attr *attr,
				   const char *name)
{
	size_t len = strlen(name);

	perfdata_buf_add(buf, name, len);
	perfdata_buf_zero(buf, ALIGN8(len + 1) - len + sample_id_size(attr));
}

static void put_kernel_mmap(struct perfdata_buf *buf, const struct perf_event_attr *attr,
			    uint64_t start, uint64_t len, uint64_t pgoff, const char *name)
{
	put_record_header(buf, attr, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, 32, name);
	perfdata_buf_u32(buf, -1);
	perfdata_buf_u32(buf, 0);
	perfdata_buf_u64(buf, start);
	perfdata_buf_u64(buf, len);
	perfdata_buf_u64(buf, pgoff);
	put_name_and_sample_id(buf, attr, name);
}

static void put_comm_record(struct perfdata_buf *buf, const struct perf_event_attr *attr,
			    uint32_t pid, uint32_t tid, const char *comm)
{
	put_record_header(buf, attr, PERF_RECORD_COMM, 0, 8, comm);
	perfdata_buf_u32(buf, pid);
	perfdata_buf_u32(buf, tid);
	put_name_and_sample_id(buf, attr, comm);
}

struct kernel_bounds {
	uint64_t text, stext, etext; /* addresses of the symbols; 0 if hidden or missing */
};

/* The symbols of the kernel proper are sorted, and _etext is in the middle. */
static void read_kernel_bounds(struct kernel_bounds *bounds, FILE *kallsyms)
{
	const struct {
		const char *name;
		uint64_t *address;
	} wanted[] = {
		{ " _text\n", &bounds->text },
		{ " _stext\n", &bounds->stext },
		{ " _etext\n", &bounds->etext },
	};
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (!bounds->etext && getline(&line, &size, kallsyms) > 0) {
		const char *name = strrchr(line, ' ');

		for (size_t i = 0; i < ARRAY_SIZE(wanted) && name; i++) {
			if (!strcmp(name, wanted[i].name))
				*wanted[i].address = strtoull(line, NULL, 16);
		}
	}
}

static void put_module_maps(struct perfdata_buf *buf, const struct perf_event_attr *attr,
			    char *modules)
{
	char name[66], *rest = modules, *line;
	uint64_t size, start;

	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name + 1, &size,
			   &start) != 3 ||
		    !start)
			continue;
		name[0] = '[';
		strcat(name, "]");
		put_kernel_mmap(buf, attr, start, size, 0, name);
	}
}

/* A missing file, such as modules of a kernel without modules, is empty. */
static int read_proc_text(struct perfdata_buf *text, int rootfd, const char *path)
{
	int err = perfdata_buf_read_text(text, rootfd, path);

	if (err != -ENOENT)
		return err;
	perfdata_buf_zero(text, 1);
	return text->error;
}

int perfdata_put_kernel(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd)
{
	int fd = openat(rootfd, "proc/kallsyms", O_RDONLY | O_CLOEXEC);
	_cleanup_fclose_ FILE *kallsyms = fd < 0 ? NULL : fdopen(fd, "r");
	/* perf uses the symbol after the name to detect a relocated kernel (KASLR). */
	const char *name = "[kernel.kallsyms]_text";
	struct kernel_bounds bounds = {};

	if (!kallsyms) {
		int err = errno == ENOENT ? 0 : -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	read_kernel_bounds(&bounds, kallsyms);
	if (ferror(kallsyms))
		return -EIO;
	if (!bounds.text) {
		name = "[kernel.kallsyms]_stext";
		bounds.text = bounds.stext;
	}
	if (bounds.text && bounds.etext > bounds.text)
		put_kernel_mmap(buf, attr, bounds.text, bounds.etext - bounds.text, bounds.text,
				name);
	return buf->error;
}

int perfdata_put_modules(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd)
{
	_cleanup_buf_ struct perfdata_buf modules = {};
	int err = read_proc_text(&modules, rootfd, "proc/modules");

	if (err < 0)
		return err;
	put_module_maps(buf, attr, (char *)modules.data);
	return buf->error;
}

/* Whether a task exited meanwhile, or is not accessible. */
static bool is_task_hidden(int error)
{
	return error == -ENOENT || error == -ESRCH || error == -EACCES || error == -EPERM;
}

static int put_thread_comm(struct perfdata_buf *buf, const struct perf_event_attr *attr,
			   int tasks_fd, const char *pid, const char *tid)
{
	char path[sizeof(((struct dirent *)0)->d_name) + sizeof("/comm")];
	char comm[COMM_SIZE];
	int err;

	snprintf(path, sizeof(path), "%s/comm", tid);
	err = read_text_at(tasks_fd, path, comm, sizeof(comm));
	if (err)
		return is_task_hidden(err) ? 0 : err;
	put_comm_record(buf, attr, strtoul(pid, NULL, 10), strtoul(tid, NULL, 10), comm);
	return 0;
}

/* Converts a line of /proc/PID/maps if it is executable. */
static void put_maps_line(struct perfdata_buf *buf, const struct perf_event_attr *attr,
			  uint32_t pid, const char *line)
{
	unsigned int major, minor;
	uint64_t start, end, pgoff, inode;
	char flags[5], *name;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start,
		   &end, flags, &pgoff, &major, &minor, &inode, &at) < 7 ||
	    flags[2] != 'x')
		return;
	name = strdup(at && line[at] ? line + at : "//anon");
	if (!name)
		return;
	put_record_header(buf, attr, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, 64, name);
	perfdata_buf_u32(buf, pid);
	perfdata_buf_u32(buf, pid);
	perfdata_buf_u64(buf, start);
	perfdata_buf_u64(buf, end - start);
	perfdata_buf_u64(buf, pgoff);
	perfdata_buf_u32(buf, major);
	perfdata_buf_u32(buf, minor);
	perfdata_buf_u64(buf, inode);
	perfdata_buf_u64(buf, 0); /* generation of the inode */
	perfdata_buf_u32(buf, PROT_READ | PROT_EXEC);
	perfdata_buf_u32(buf, flags[3] == 's' ? MAP_SHARED : MAP_PRIVATE);
	put_name_and_sample_id(buf, attr, name);
	free(name);
}

static int put_process_maps(struct perfdata_buf *buf, const struct perf_event_attr *attr,
			    int proc_fd, const char *pid)
{
	char path[sizeof(((struct dirent *)0)->d_name) + sizeof("/maps")];
	_cleanup_buf_ struct perfdata_buf maps = {};
	char *rest, *line;
	int err;

	snprintf(path, sizeof(path), "%s/maps", pid);
	err = perfdata_buf_read_text(&maps, proc_fd, path);
	if (err < 0)
		return is_task_hidden(err) ? 0 : err;
	for (rest = (char *)maps.data; (line = strsep(&rest, "\n"));)
		put_maps_line(buf, attr, strtoul(pid, NULL, 10), line);
	return 0;
}

/* COMM records of all threads have the PID, so perf needs no FORK records. */
static int put_process_comms(struct perfdata_buf *buf, const struct perf_event_attr *attr,
			     int proc_fd, const char *pid)
{
	char path[sizeof(((struct dirent *)0)->d_name) + sizeof("/task")];
	_cleanup_closedir_ DIR *tasks = NULL;
	const struct dirent *entry;
	int err;

	snprintf(path, sizeof(path), "%s/task", pid);
	err = opendir_at(&tasks, proc_fd, path);
	if (err < 0)
		return is_task_hidden(err) ? 0 : err;
	while ((entry = readdir(tasks))) {
		if (!isdigit(entry->d_name[0]))
			continue;
		err = put_thread_comm(buf, attr, dirfd(tasks), pid, entry->d_name);
		if (err < 0)
			return err;
	}
	return 0;
}

static int each_process(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd,
			int (*put)(struct perfdata_buf *, const struct perf_event_attr *, int,
				   const char *))
{
	_cleanup_closedir_ DIR *proc = NULL;
	const struct dirent *entry;
	int err;

	err = opendir_at(&proc, rootfd, "proc");
	if (err < 0)
		return err;
	while ((entry = readdir(proc))) {
		if (!isdigit(entry->d_name[0]))
			continue;
		err = put(buf, attr, dirfd(proc), entry->d_name);
		if (err < 0)
			return err;
	}
	return buf->error;
}

int perfdata_put_tasks(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd)
{
	return each_process(buf, attr, rootfd, put_process_comms);
}

/* Copies the fork's sample id: at equal times, perf keeps the order of the file. */
int perfdata_put_forked(struct perfdata_buf *buf, const struct perf_event_header *record,
			int rootfd)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time_ns;
		uint8_t trailer[];
	} *fork = (const void *)record;
	size_t trailer = record->size - sizeof(*fork);
	char path[64], comm[COMM_SIZE] = "";
	int err;

	snprintf(path, sizeof(path), "proc/%" PRIu32 "/task/%" PRIu32 "/comm", fork->pid,
		 fork->tid);
	err = read_text_at(rootfd, path, comm, sizeof(comm));
	if (err)
		return is_task_hidden(err) ? 0 : err;
	perfdata_buf_header(buf, PERF_RECORD_COMM, 0,
			    sizeof(struct perf_event_header) + 8 + sizeof(comm) + trailer);
	perfdata_buf_u32(buf, fork->pid);
	perfdata_buf_u32(buf, fork->tid);
	perfdata_buf_add(buf, comm, sizeof(comm));
	perfdata_buf_add(buf, fork->trailer, trailer);
	return buf->error;
}

int perfdata_put_task_maps(struct perfdata_buf *buf, const struct perf_event_attr *attr, int rootfd,
			   int pid)
{
	_cleanup_close_ int proc_fd = -1;
	char name[16];

	if (pid >= 0) {
		proc_fd = openat(rootfd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
		snprintf(name, sizeof(name), "%d", pid);
		return proc_fd < 0 ? -errno
				   : put_process_maps(buf, attr, proc_fd, name) ?: buf->error;
	}
	return each_process(buf, attr, rootfd, put_process_maps);
}

int perfdata_put_itrace_start(struct perfdata_buf *buf, int cpu, uint32_t pid, uint32_t tid)
{
	perfdata_buf_header(buf, PERF_RECORD_ITRACE_START, 0,
			    sizeof(struct perf_event_header) + 40);
	/* In the record and in the sample id. */
	for (int i = 0; i < 2; i++) {
		perfdata_buf_u32(buf, pid);
		perfdata_buf_u32(buf, tid);
	}
	perfdata_buf_u64(buf, 0);
	perfdata_buf_u32(buf, cpu);
	perfdata_buf_u32(buf, 0);
	perfdata_buf_u64(buf, 0);
	return buf->error;
}

int perfdata_put_finished_round(struct perfdata_buf *buf)
{
	perfdata_buf_header(buf, PERFDATA_RECORD_FINISHED_ROUND, 0,
			    sizeof(struct perf_event_header));
	return buf->error;
}
