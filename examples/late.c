/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes timers late on purpose: `late CPU DURATION [EVERY [TIMES]]` keeps the CPU busy with
 * interrupts off for DURATION microseconds, every EVERY milliseconds (default 100), TIMES times
 * (default: until killed). Needs a second CPU to do it from. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cpulist.h"
#include "late.skel.h"

#define DURATION_MAX_US 100000

static unsigned long number(const char *text, unsigned long max)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (end == text || *end || errno || value > max || *text == '-') {
		fprintf(stderr, "late: '%s': not a number from 0 to %lu\n", text, max);
		exit(2);
	}
	return value;
}

static int spin(int prog_fd, unsigned int cpu, unsigned long duration_us)
{
	__u64 args[] = { duration_us * 1000 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args),
		    .cpu = cpu, .flags = BPF_F_TEST_RUN_ON_CPU);

	return bpf_prog_test_run_opts(prog_fd, &opts);
}

int main(int argc, char **argv)
{
	unsigned long cpu, duration_us, every_ms = 100, times = 0;
	struct late_bpf *skel;
	int err = 0;

	if (argc < 3 || argc > 5) {
		fprintf(stderr, "usage: late CPU DURATION_US [EVERY_MS [TIMES]]\n");
		return 2;
	}
	cpu = number(argv[1], 8191);
	duration_us = number(argv[2], DURATION_MAX_US);
	if (argc > 3)
		every_ms = number(argv[3], 3600000);
	if (argc > 4)
		times = number(argv[4], 1000000000);

	/* On its own CPU the program would run in place, with interrupts on. */
	affinity_leave(&(int){ cpu }, 1);
	skel = late_bpf__open_and_load();
	if (!skel) {
		fprintf(stderr, "late: cannot load the BPF program: %s\n", strerror(errno));
		return 1;
	}
	for (unsigned long i = 0; !err && (!times || i < times); i++) {
		if (i)
			usleep(every_ms * 1000);
		err = spin(bpf_program__fd(skel->progs.late_spin), cpu, duration_us);
	}
	if (err)
		fprintf(stderr, "late: cannot run on CPU %lu: %s\n", cpu, strerror(-err));
	late_bpf__destroy(skel);
	return err ? 1 : 0;
}
