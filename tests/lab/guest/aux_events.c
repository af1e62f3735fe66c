// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opens Intel PT on a CPU, and siblings that pause and resume it, by plain system calls; then does
 *what its input says, a command a line, and answers each with a line.
 *
 *	aux_events CPU SIZE CONFIG START PAUSE
 *
 * SIZE is that of the AUX area in bytes, CONFIG the event's, START 1 for aux_start_paused, PAUSE 1
 *for siblings at all. If an event cannot be opened the answer is `refused EVENT ERRNO`, else
 *`ready`. The siblings are a pause and a resume on bpf_trace_printk, for texts that begin with
 *PTSIM-PAUSE and PTSIM-RESUME, and a resume on cpu-clock that is disabled.
 *
 *	print TEXT	a BPF program prints it on that CPU; answers when, CLOCK_MONOTONIC ns before
 *and after enable, disable	the leader refresh		the sibling on cpu-clock, for one
 *overflow head		answers aux_head dump PATH	writes the AUX area, from the oldest byte on
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* attr.aux_action: after the headers of many a distribution */
#define AUX_ACTION_OFFSET 116
#define AUX_START_PAUSED 1
#define AUX_PAUSE 2
#define AUX_RESUME 4

#define DATA_PAGES 16
#define PERIOD_NS 1000000

static const char pmu_type[] = "/sys/bus/event_source/devices/intel_pt/type";
static const char printk_id[] = "/sys/kernel/tracing/events/bpf_trace/bpf_trace_printk/id";

static _Noreturn void fail(const char *what)
{
	printf("failed %s: %s\n", what, strerror(errno));
	exit(1);
}

static unsigned int read_number(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int number;

	if (!file || fscanf(file, "%u", &number) != 1)
		fail(path);
	fclose(file);
	return number;
}

static int open_event(const char *what, struct perf_event_attr *attr, int cpu, int leader,
		      uint32_t action)
{
	int fd;

	attr->size = sizeof(*attr);
	memcpy((char *)attr + AUX_ACTION_OFFSET, &action, sizeof(action));
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		printf("refused %s %d\n", what, errno);
		exit(0);
	}
	return fd;
}

static int open_printk(const char *what, const char *filter, int cpu, int leader, uint32_t action)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = read_number(printk_id),
		.sample_period = 1,
	};
	int fd = open_event(what, &attr, cpu, leader, action);

	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		fail("PERF_EVENT_IOC_SET_FILTER");
	return fd;
}

static int open_clock(int cpu, int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.disabled = 1,
	};

	return open_event("clock", &attr, cpu, leader, AUX_RESUME);
}

static const char *area;

static struct perf_event_mmap_page *map_rings(int fd, size_t size)
{
	size_t data = (1 + DATA_PAGES) * sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page =
		mmap(NULL, data, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		fail("mmap");
	page->aux_offset = data;
	page->aux_size = size;
	area = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, data);
	if (area == MAP_FAILED)
		fail("mmap of the AUX area");
	return page;
}

/* A program that prints `text`, for BPF_PROG_TEST_RUN */
static int load_printer(const char *text)
{
	struct bpf_insn insns[64];
	char padded[64] = "";
	size_t words = strlen(text) / 8 + 1, n = 0;

	if (words > sizeof(padded) / 8)
		return -1;
	strcpy(padded, text);
	for (size_t i = 0; i < words; i++) {
		int32_t part[2];

		memcpy(part, padded + 8 * i, sizeof(part));
		insns[n++] = (struct bpf_insn){ .code = BPF_LD | BPF_DW | BPF_IMM,
						.dst_reg = 1,
						.imm = part[0] };
		insns[n++] = (struct bpf_insn){ .imm = part[1] };
		insns[n++] = (struct bpf_insn){ .code = BPF_STX | BPF_MEM | BPF_DW,
						.dst_reg = 10,
						.src_reg = 1,
						.off = -8 * (int)(words - i) };
	}
	insns[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
					.dst_reg = 1,
					.src_reg = 10 };
	insns[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_K,
					.dst_reg = 1,
					.imm = -8 * (int)words };
	insns[n++] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,
					.dst_reg = 2,
					.imm = strlen(text) + 1 };
	insns[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_trace_printk };
	insns[n++] =
		(struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 };
	insns[n++] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };

	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.insns = (uintptr_t)insns,
		.insn_cnt = n,
		.license = (uintptr_t) "GPL",
	};
	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void print(const char *text, int cpu)
{
	uint64_t unused[2] = { 0 }, before;
	union bpf_attr attr = { .test = {
					.prog_fd = load_printer(text),
					.ctx_in = (uintptr_t)unused,
					.ctx_size_in = sizeof(unused),
					.flags = BPF_F_TEST_RUN_ON_CPU,
					.cpu = cpu,
				} };

	if ((int)attr.test.prog_fd < 0)
		fail("BPF_PROG_LOAD");
	before = now_ns();
	if (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
		fail("BPF_PROG_TEST_RUN");
	printf("%llu %llu\n", (unsigned long long)before, (unsigned long long)now_ns());
	close(attr.test.prog_fd);
}

static void do_ioctl(int fd, unsigned long request, int argument)
{
	if (ioctl(fd, request, argument))
		fail("ioctl");
	puts("done");
}

static void dump(const char *path, const volatile struct perf_event_mmap_page *page)
{
	size_t head = page->aux_head & (page->aux_size - 1);
	FILE *file = fopen(path, "w");

	if (!file || fwrite(area + head, 1, page->aux_size - head, file) != page->aux_size - head ||
	    fwrite(area, 1, head, file) != head || fclose(file))
		fail(path);
	puts("done");
}

static void serve(int leader, int clock, int cpu, const volatile struct perf_event_mmap_page *page)
{
	char line[128];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "print ", 6))
			print(line + 6, cpu);
		else if (!strcmp(line, "enable"))
			do_ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
		else if (!strcmp(line, "disable"))
			do_ioctl(leader, PERF_EVENT_IOC_DISABLE, 0);
		else if (!strcmp(line, "refresh"))
			do_ioctl(clock, PERF_EVENT_IOC_REFRESH, 1);
		else if (!strcmp(line, "head"))
			printf("%llu\n", (unsigned long long)page->aux_head);
		else if (!strncmp(line, "dump ", 5))
			dump(line + 5, page);
		else
			puts("unknown");
	}
}

int main(int argc, char **argv)
{
	struct perf_event_attr attr = { .disabled = 1, .exclude_user = 1 };
	struct perf_event_mmap_page *page;
	int cpu, leader, clock = -1;

	if (argc != 6) {
		fputs("usage: aux_events CPU SIZE CONFIG START PAUSE\n", stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	cpu = atoi(argv[1]);
	attr.type = read_number(pmu_type);
	attr.config = strtoull(argv[3], NULL, 0);
	leader = open_event("leader", &attr, cpu, -1, atoi(argv[4]) ? AUX_START_PAUSED : 0);
	page = map_rings(leader, strtoul(argv[2], NULL, 0));
	if (atoi(argv[5])) {
		open_printk("pause", "bpf_string ~ \"PTSIM-PAUSE*\"", cpu, leader, AUX_PAUSE);
		open_printk("resume", "bpf_string ~ \"PTSIM-RESUME*\"", cpu, leader, AUX_RESUME);
		clock = open_clock(cpu, leader);
	}
	puts("ready");
	serve(leader, clock, cpu, page);
	return 0;
}
