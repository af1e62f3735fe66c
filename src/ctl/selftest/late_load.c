// SPDX-License-Identifier: GPL-2.0-only
#include "selftest/selftest.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cpulist.h"
#include "late.skel.h"
#include "task.h"

#define READY_MS 2000
#define POLL_MS 5

/* Shared memory. */
struct load_shared {
	atomic_uint signals;
	atomic_bool ready;
};

static struct load_shared *counted;

static void count_load_signal(int number)
{
	atomic_fetch_add(&counted->signals, 1);
}

static int open_load_event(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Opens the event that wakes the target. NULL if unavailable, e.g. without tracefs. */
static struct perf_event_mmap_page *open_wakeup_event(int cpu, int *fd)
{
	static const char *const id_files[] = {
		"/sys/kernel/tracing/events/bpf_trace/bpf_trace_printk/id",
		"/sys/kernel/debug/tracing/events/bpf_trace/bpf_trace_printk/id",
	};
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
		.wakeup_events = 1,
	};
	size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *page;
	unsigned long long id = 0;

	for (size_t i = 0; i < ARRAY_SIZE(id_files) && !id; i++) {
		_cleanup_fclose_ FILE *file = fopen(id_files[i], "re");

		if (file && fscanf(file, "%llu", &id) != 1)
			id = 0;
	}
	attr.config = id;
	*fd = attr.config ? open_load_event(&attr, -1, cpu) : -1;
	if (*fd < 0)
		return NULL;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (page != MAP_FAILED &&
	    !ioctl(*fd, PERF_EVENT_IOC_SET_FILTER, "bpf_string ~ \"" LOAD_WAKE "*\""))
		return page;
	closep(fd);
	return NULL;
}

/* Waits like perf, in poll() on a perf event; with a timeout if no event wakes it. */
static void load_run_target(const struct load *load)
{
	const struct perf_event_attr dummy = { .type = PERF_TYPE_SOFTWARE,
					       .size = sizeof(dummy),
					       .config = PERF_COUNT_SW_DUMMY };
	const struct sigaction count = { .sa_handler = count_load_signal };
	struct pollfd fd = { .events = POLLIN };
	struct perf_event_mmap_page *page = open_wakeup_event(load->cpu, &fd.fd);

	counted = load->shared;
	if (!page)
		fd.fd = open_load_event(&dummy, 0, -1);
	if (sigaction(SIGUSR2, &count, NULL))
		return;
	load->shared->ready = true;
	for (;;) {
		poll(&fd, 1, page ? -1 : POLL_MS);
		if (page)
			page->data_tail = page->data_head;
		else
			usleep(POLL_MS * 1000);
	}
}

static void load_run_late_timers(const struct load *load)
{
	__u64 args[] = { load->spin_ns };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args),
		    .cpu = (__u32)load->cpu, .flags = BPF_F_TEST_RUN_ON_CPU);
	char byte;

	/* On this CPU the program would run directly, with interrupts on. */
	affinity_leave(&load->cpu, 1);
	/* Run promptly on a busy machine. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	while (read(load->gate[0], &byte, 1) == 1)
		bpf_prog_test_run_opts(bpf_program__fd(load->skel->progs.late_spin), &opts);
}

/* An idle CPU would run the program without an interrupt. Two tasks that keep switching also fill
 * the rings. */
static void load_run_busy_task(const struct load *load, int side)
{
	char byte = 0;

	if (affinity_set(&load->cpu, 1))
		return;
	while (read(load->ball[side], &byte, 1) == 1 && write(load->ball[side], &byte, 1) == 1)
		;
}

int load_open_program(struct load *load, int cpu, uint64_t spin_ns)
{
	*load = (struct load){
		.cpu = cpu, .spin_ns = spin_ns, .gate = { -1, -1 }, .ball = { -1, -1 }
	};
	load->shared = mmap(NULL, sizeof(*load->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (load->shared == MAP_FAILED) {
		load->shared = NULL;
		return -errno;
	}
	libbpf_set_print(NULL);
	load->skel = late_bpf__open_and_load();
	return load->skel ? 0 : -errno;
}

int load_start_processes(struct load *load)
{
	pid_t parent = getpid();

	load->shared->signals = 0;
	load->shared->ready = false;
	if (pipe2(load->gate, O_CLOEXEC) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, load->ball))
		return -errno;
	for (size_t i = 0; i < LOAD_PROCESSES; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (pid) {
			load->pids[i] = pid;
			continue;
		}
		/* The processes die with the selftest. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		if (i == 0)
			load_run_target(load);
		else if (i == 1)
			load_run_late_timers(load);
		else
			load_run_busy_task(load, i - 2);
		_exit(0);
	}
	for (int i = 0; i < READY_MS && !load->shared->ready; i++)
		poll(NULL, 0, 1);
	return load->shared->ready ? 0 : -ETIMEDOUT;
}

static void load_kill_process(pid_t *pid)
{
	if (!*pid)
		return;
	kill(*pid, SIGKILL);
	pid_wait_for_exit(*pid, NULL);
	*pid = 0;
}

void load_end_busy_tasks(struct load *load)
{
	for (size_t i = 1; i < LOAD_PROCESSES; i++)
		load_kill_process(&load->pids[i]);
}

void load_end_processes(struct load *load)
{
	load_end_busy_tasks(load);
	load_kill_process(&load->pids[0]);
	for (size_t i = 0; i < 2; i++) {
		closep(&load->gate[i]);
		closep(&load->ball[i]);
	}
}

int load_make_cpu_busy(const struct load *load)
{
	return write(load->ball[0], "", 1) == 1 ? 0 : -errno;
}

void load_delay_timers(const struct load *load)
{
	if (write(load->gate[1], "", 1) != 1)
		return;
}

bool load_delayed_timer(const struct load *load, uint64_t expected_ns, uint64_t time_ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(load->skel->bss->late_began_ns); i++) {
		uint64_t began_ns = load->skel->bss->late_began_ns[i];

		if (time_ns > began_ns && expected_ns < began_ns + load->spin_ns)
			return true;
	}
	return false;
}

unsigned int load_count_signals(const struct load *load)
{
	return load->shared->signals;
}

void load_close_program(struct load *load)
{
	load_end_processes(load);
	late_bpf__destroy(load->skel);
	if (load->shared)
		munmap(load->shared, sizeof(*load->shared));
}
