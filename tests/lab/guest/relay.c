// SPDX-License-Identifier: GPL-2.0-only
/*
 * The older design's way to stop a trace: a BPF program tells of the spike through a ring buffer,
 * and a process that waits for it with epoll sends SIGUSR2 to `perf record -S`.
 *
 * usage: relay CPU THRESHOLD_NS PID. Each line on stdin arms it once, each spike taken is a line on
 * stdout: when the program saw it (CLOCK_MONOTONIC), and how late the timer was.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/trigger.h"
#include "trigger.skel.h"
#include "trigger/trigger.h"

static int on_spike(void *ctx, void *data, size_t size)
{
	const struct trigger_spike *spike = data;
	const pid_t *perf = ctx;

	if (size < sizeof(*spike))
		return -EINVAL;
	if (kill(*perf, SIGUSR2))
		return -errno;
	printf("%llu %llu\n", spike->time_ns, spike->latency_ns);
	fflush(stdout);
	return 0;
}

static struct trigger_bpf *load(int cpu, uint64_t threshold_ns)
{
	const struct trigger_cpu watched = { .watched = TRIGGER_WATCHED,
					     .threshold_ns = threshold_ns };
	struct trigger_bpf *skel = trigger_bpf__open();

	if (!skel)
		goto fail;
	bpf_program__set_autoload(skel->progs.trigger_resume, false);
	if (bpf_map__set_max_entries(skel->maps.cpus, libbpf_num_possible_cpus()) ||
	    trigger_bpf__load(skel) ||
	    bpf_map_update_elem(bpf_map__fd(skel->maps.cpus), &cpu, &watched, BPF_ANY) ||
	    trigger_bpf__attach(skel))
		goto fail;
	return skel;
fail:
	trigger_bpf__destroy(skel);
	return NULL;
}

static int watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Until the end of stdin. */
static int relay(struct trigger_bpf *skel, struct ring_buffer *ring, int epoll)
{
	struct epoll_event event;
	char line[16];

	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) < 0)
			return -errno;
		if (event.data.fd != STDIN_FILENO) {
			int taken = ring_buffer__consume(ring);

			if (taken < 0)
				return taken;
			continue;
		}
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			return 0;
		__atomic_store_n(&skel->data_arming->armed, 1, __ATOMIC_RELEASE);
	}
}

int main(int argc, char **argv)
{
	struct trigger_bpf *skel;
	struct ring_buffer *ring = NULL;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int err = -EINVAL;
	pid_t perf;

	if (argc != 4) {
		fprintf(stderr, "usage: relay CPU THRESHOLD_NS PID\n");
		return 2;
	}
	perf = atoi(argv[3]);
	skel = load(atoi(argv[1]), strtoull(argv[2], NULL, 10));
	if (skel)
		ring = ring_buffer__new(bpf_map__fd(skel->maps.spikes), on_spike, &perf, NULL);
	if (ring && !watch(epoll, ring_buffer__epoll_fd(ring)) && !watch(epoll, STDIN_FILENO)) {
		printf("ready\n");
		fflush(stdout);
		err = relay(skel, ring, epoll);
	}
	if (err)
		fprintf(stderr, "relay: failed: %d\n", err);
	ring_buffer__free(ring);
	trigger_bpf__destroy(skel);
	close(epoll);
	return err ? 1 : 0;
}
