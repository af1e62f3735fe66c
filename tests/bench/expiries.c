// SPDX-License-Identifier: GPL-2.0-only
/* `expiries CPUS INSTANCE NAMED PINS FUNCTION THRESHOLD NAME...`: counts what a session counts, in
 * other ways. A BPF program counts the expiries of timers whose callback is at the address
 * FUNCTION. The ftrace instance in the folder INSTANCE traces them; the one in NAMED traces those
 * that interrupt a task with one of the NAMEs. The session's maps are pinned in the folder PINS.
 * Prints a JSON object a line: `ready`; `late` for each timer that is late by THRESHOLD ns; and
 * `counts` for each line that it reads. All counters are read between the same two expiries. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "cpulist.h"
#include "expiries.h"
#include "expiries.skel.h"
#include "trigger/trigger.h"
#include "util.h"

/* After the types that it needs. */
#include "bpf/trigger.skel.h"

#define TRIES 100000

struct counts {
	uint64_t session, session_late, unarmed;
	uint64_t other, other_late, untold, named;
	uint64_t ftrace, ftrace_named;
};

struct expiries {
	int *cpus;
	size_t nr;
	int *stats, *named_stats; /* of ftrace, a descriptor for each CPU */
	const char *pins;
	const volatile struct trigger_cpu *session; /* NULL: not needed yet */
	const volatile struct expiries_cpu *other;
	struct expiries_bpf *skel;
	struct ring_buffer *ring;
};

static int fail(const char *what)
{
	fprintf(stderr, "expiries: %s: %s\n", what, strerror(errno));
	return -errno;
}

static int print_late(void *ctx, void *data, size_t size)
{
	const struct expiries_late *late = data;

	printf("{\"type\": \"late\", \"cpu\": %u, \"time_ns\": %llu, \"latency_ns\": %llu}\n",
	       late->cpu, late->time_ns, late->latency_ns);
	return 0;
}

static const volatile void *map_values(int fd, size_t size)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *mapping = mmap(NULL, (size + page - 1) & ~(page - 1), PROT_READ, MAP_SHARED, fd, 0);

	return mapping == MAP_FAILED ? NULL : mapping;
}

static int open_stats(const struct expiries *e, int **stats, const char *instance)
{
	char path[256];

	*stats = calloc(e->nr, sizeof(**stats));
	if (!*stats)
		return -ENOMEM;
	for (size_t i = 0; i < e->nr; i++) {
		snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/stats", instance, e->cpus[i]);
		(*stats)[i] = open(path, O_RDONLY | O_CLOEXEC);
		if ((*stats)[i] < 0)
			return fail(path);
	}
	return 0;
}

static void set_names(struct expiries_bpf__rodata *rodata, char **names, size_t nr)
{
	rodata->nr_names = nr;
	for (size_t i = 0; i < nr; i++)
		memcpy((void *)rodata->names[i], names[i],
		       strnlen(names[i], EXPIRIES_NAME_SIZE - 1));
}

static int open_other(struct expiries *e, char **argv, size_t nr_names)
{
	e->skel = expiries_bpf__open();
	if (!e->skel)
		return fail("program");
	e->skel->rodata->function = strtoull(argv[0], NULL, 0);
	e->skel->rodata->threshold_ns = strtoull(argv[1], NULL, 10);
	set_names(e->skel->rodata, argv + 2, nr_names);
	if (expiries_bpf__load(e->skel))
		return fail("program");
	e->other = map_values(bpf_map__fd(e->skel->maps.counts),
			      EXPIRIES_CPUS * sizeof(struct expiries_cpu));
	e->ring = ring_buffer__new(bpf_map__fd(e->skel->maps.late), print_late, NULL, NULL);
	if (!e->other || !e->ring || expiries_bpf__attach(e->skel))
		return fail("program");
	return 0;
}

static int open_session(struct expiries *e)
{
	_cleanup_close_ int fd = -1;
	char path[256];

	snprintf(path, sizeof(path), "%s/" TRIGGER_PIN_CPUS, e->pins);
	fd = bpf_obj_get(path);
	if (fd >= 0)
		e->session = map_values(fd, libbpf_num_possible_cpus() * sizeof(*e->session));
	return e->session ? 0 : fail(path);
}

static uint64_t field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* All that were ever written, including those overwritten. */
static uint64_t count_ftrace(int fd)
{
	char text[1024];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

	if (size < 0)
		return 0;
	text[size] = '\0';
	return field(text, "entries: ") + field(text, "\noverrun: ") +
	       field(text, "\nread events: ");
}

static struct counts look(const struct expiries *e, size_t i)
{
	const volatile struct expiries_cpu *other = &e->other[e->cpus[i]];
	const volatile struct trigger_cpu *session = &e->session[e->cpus[i]];
	struct counts counts = {
		.session = session->count,
		.session_late = session->spikes,
		.unarmed = session->unarmed,
		.other = other->count,
		.other_late = other->late,
		.untold = other->untold,
		.named = other->named,
	};

	counts.ftrace = count_ftrace(e->stats[i]);
	counts.ftrace_named = count_ftrace(e->named_stats[i]);
	return counts;
}

/* No timer expired between two reads with the same counts. */
static int print_counts(struct expiries *e)
{
	if (!e->session && open_session(e))
		return -1;
	printf("{\"type\": \"counts\", \"cpus\": [");
	for (size_t i = 0; i < e->nr; i++) {
		struct counts a, b = look(e, i);
		int tries = 0;

		do {
			a = b;
			b = look(e, i);
		} while (memcmp(&a, &b, sizeof(a)) && ++tries < TRIES);
		if (tries == TRIES) {
			fprintf(stderr, "expiries: they never stop\n");
			return -1;
		}
		printf("%s{\"cpu\": %d, \"session\": %" PRIu64 ", \"session_late\": %" PRIu64
		       ", \"unarmed\": %" PRIu64 ", \"other\": %" PRIu64
		       ", \"other_late\": %" PRIu64 ", \"untold\": %" PRIu64 ", \"named\": %" PRIu64
		       ", \"ftrace\": %" PRIu64 ", \"ftrace_named\": %" PRIu64 "}",
		       i ? ", " : "", e->cpus[i], a.session, a.session_late, a.unarmed, a.other,
		       a.other_late, a.untold, a.named, a.ftrace, a.ftrace_named);
	}
	printf("]}\n");
	return 0;
}

static int run(struct expiries *e)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = ring_buffer__epoll_fd(e->ring), .events = POLLIN },
	};
	char line[16];

	printf("{\"type\": \"ready\"}\n");
	for (;;) {
		fflush(stdout);
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return fail("poll");
		/* Late timers that expired before are reported first. */
		ring_buffer__consume(e->ring);
		if (!fds[0].revents)
			continue;
		if (read(STDIN_FILENO, line, sizeof(line)) <= 0)
			return 0;
		if (print_counts(e))
			return -1;
	}
}

int main(int argc, char **argv)
{
	struct expiries e = { 0 };

	if (argc < 7 || argc > 7 + EXPIRIES_NAMES || cpulist_parse(argv[1], &e.cpus, &e.nr)) {
		fprintf(stderr,
			"usage: expiries CPUS INSTANCE NAMED PINS FUNCTION THRESHOLD NAME...\n");
		return 2;
	}
	e.pins = argv[4];
	if (open_stats(&e, &e.stats, argv[2]) || open_stats(&e, &e.named_stats, argv[3]) ||
	    open_other(&e, argv + 5, argc - 7))
		return 1;
	return run(&e) ? 1 : 0;
}
