// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "trigger/trigger_internal.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bpf/bpf.h>

#include "bpf/target.skel.h"
#include "text.h"

struct trigger_cpu *trigger_find_cpu(const struct trigger *trigger, int cpu,
				     enum perf_poke_trigger_kind kind)
{
	size_t index = (size_t)(kind - 1) * trigger->nr_possible + cpu;

	if (kind == PERF_POKE_TRIGGER_IRQ)
		return &trigger->cpus[cpu];
	return (index + 1) * sizeof(*trigger->more) <= trigger->more_size ? &trigger->more[index]
									  : NULL;
}

int trigger_run_program(const struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	return err ? err : (int)opts.retval;
}

int trigger_ring_fd(const struct trigger *trigger)
{
	return ring_buffer__epoll_fd(trigger->ring);
}

void trigger_arm(struct trigger *trigger)
{
	__atomic_store_n(&trigger->skel->data_arming->armed, 1, __ATOMIC_RELEASE);
}

void trigger_hold_pause(struct trigger *trigger, bool held)
{
	__atomic_store_n(&trigger->skel->bss->pause_held, held, __ATOMIC_RELEASE);
}

void trigger_set_floor(struct trigger *trigger, enum perf_poke_trigger_kind kind, uint64_t floor_ns)
{
	__atomic_store_n(&trigger->skel->data_arming->floor_ns[kind], floor_ns, __ATOMIC_RELAXED);
}

void trigger_set_quiet(struct trigger *trigger, uint64_t until_ns)
{
	__atomic_store_n(&trigger->skel->data_arming->quiet_until_ns, until_ns, __ATOMIC_RELAXED);
}

uint64_t trigger_take_spike(struct trigger *trigger)
{
	__u32 expected = 1;

	if (!__atomic_compare_exchange_n(&trigger->skel->data_arming->armed, &expected, 0, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return 0;
	return __atomic_add_fetch(&trigger->skel->bss->sequence, 1, __ATOMIC_RELAXED);
}

int trigger_read_spike(struct trigger *trigger, struct trigger_spike *spike)
{
	int err;

	if (!trigger->have_spike) {
		err = ring_buffer__consume(trigger->ring);
		if (err < 0)
			return err;
	}
	if (!trigger->have_spike)
		return 0;
	*spike = trigger->spike;
	trigger->have_spike = false;
	return 1;
}

bool trigger_stop_asked(const struct trigger *trigger)
{
	return trigger->stop_asked;
}

int trigger_rtla_fd(const struct trigger *trigger)
{
	return trigger->rtla ? bpf_program__fd(trigger->skel->progs.trigger_rtla) : -ENOENT;
}

struct reporter trigger_reporter(const struct trigger *trigger)
{
	const struct bpf_program *prog = trigger->skel->progs.report_late;

	return (struct reporter){
		.prog_fd = bpf_program__autoload(prog) ? bpf_program__fd(prog) : -ENOENT,
		.counters = {
			.rows = trigger_find_cpu(trigger, 0, PERF_POKE_TRIGGER_REPORT),
			.nr_rows = trigger->nr_possible,
			.arming = trigger->skel->data_arming,
		},
	};
}

void trigger_set_disarmed(struct trigger *trigger, bool disarmed)
{
	__atomic_store_n(&trigger->skel->data_arming->disarmed, disarmed, __ATOMIC_RELAXED);
}

int trigger_poke_now(const struct trigger *trigger)
{
	int ret = trigger_run_program(trigger->skel->progs.trigger_poke);

	return ret > 0 ? 0 : ret ? ret : -EBUSY;
}

int trigger_claim_timers(const struct trigger *trigger)
{
	return trigger_run_program(trigger->skel->progs.trigger_claim);
}

struct trigger_session *trigger_session(const struct trigger *trigger)
{
	return trigger->session;
}

int trigger_pin(const struct trigger *trigger, const char *folder)
{
	const struct trigger_bpf *skel = trigger->skel;
	/* Pinned in this order: an observer that finds the last one finds all. */
	const struct {
		int fd;
		const char *name;
	} pins[] = {
		{ bpf_program__fd(skel->progs.trigger_poke), TRIGGER_PIN_POKE },
		{ bpf_program__fd(skel->progs.trigger_stop), TRIGGER_PIN_STOP },
		{ trigger_reporter(trigger).prog_fd, TRIGGER_PIN_REPORT },
		{ trigger->nr_ledger_links ? bpf_map__fd(skel->maps.ledger) : -ENOENT,
		  TRIGGER_PIN_LEDGER },
		{ bpf_map__fd(skel->maps.cpus), TRIGGER_PIN_CPUS },
		{ bpf_map__fd(skel->maps.cpus_more), TRIGGER_PIN_CPUS_MORE },
		{ bpf_map__fd(skel->maps.data_arming), TRIGGER_PIN_ARMING },
		{ bpf_map__fd(skel->maps.targets), TRIGGER_PIN_TARGETS },
		{ bpf_map__fd(skel->maps.session), TRIGGER_PIN_SESSION },
	};
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pins) && !err; i++) {
		_cleanup_free_ char *path = strfmt("%s/%s", folder, pins[i].name);

		if (!path)
			return -ENOMEM;
		err = pins[i].fd < 0 ? 0 : bpf_obj_pin(pins[i].fd, path);
	}
	return err;
}

int trigger_resume_trace(const struct trigger *trigger, int cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .cpu = cpu, .flags = BPF_F_TEST_RUN_ON_CPU);

	return bpf_prog_test_run_opts(bpf_program__fd(trigger->skel->progs.trigger_resume), &opts);
}

void trigger_set_drops_idle(struct trigger *trigger)
{
	__atomic_store_n(&trigger->skel->bss->drops_idle, 1, __ATOMIC_RELAXED);
}

int trigger_check_targets(const struct trigger *trigger)
{
	return trigger_run_program(trigger->skel->progs.poke_look_all);
}

volatile struct poke_target *trigger_targets(const struct trigger *trigger)
{
	return trigger->targets;
}

void trigger_add_unpaired(const struct trigger *trigger, struct perf_poke_stats *stats)
{
	stats_add_unpaired(stats, trigger_find_cpu(trigger, 0, PERF_POKE_TRIGGER_SPAN),
			   (size_t)trigger->nr_possible);
}

bool trigger_read_latencies(const struct trigger *trigger, int cpu, uint64_t sequence,
			    struct trigger_latencies *latencies)
{
	const volatile struct trigger_latencies *seen =
		&trigger->recent[cpu].spikes[sequence % TRIGGER_RECENT];

	*latencies = *seen;
	return latencies->sequence == sequence && seen->sequence == sequence;
}

bool trigger_read_stacks(const struct trigger *trigger, uint64_t sequence,
			 struct trigger_stacks *stacks)
{
	const volatile struct trigger_stacks *seen = trigger->stacks;

	if (!trigger->skel)
		return false;
	seen += sequence % TRIGGER_RECENT;
	*stacks = *seen;
	return stacks->sequence == sequence && seen->sequence == sequence;
}

uint64_t trigger_read_smis(const struct trigger *trigger, const struct perf_poke_spike *spike)
{
	const volatile struct trigger_stacks *seen = trigger->stacks;
	int64_t smis;

	if (!trigger->skel || spike->cpu != spike->ran_cpu)
		return UINT64_MAX;
	seen += spike->sequence % TRIGGER_RECENT;
	smis = seen->smis;
	return seen->sequence == spike->sequence && smis >= 0 ? (uint64_t)smis : UINT64_MAX;
}

int trigger_count_smis(struct trigger *trigger, int cpu, int fd)
{
	return bpf_map__update_elem(trigger->skel->maps.smi_events, &cpu, sizeof(cpu), &fd,
				    sizeof(fd), 0);
}

bool trigger_read_noise(const struct trigger *trigger, uint64_t sequence,
			struct trigger_noise_parts *parts)
{
	const volatile struct trigger_noise_parts *seen = trigger->noise_parts;

	if (!trigger->skel || !bpf_program__autoload(trigger->skel->progs.noise_sample))
		return false;
	seen += sequence % TRIGGER_RECENT;
	*parts = *seen;
	return parts->sequence == sequence && seen->sequence == sequence;
}

int trigger_read_code(const struct trigger *trigger, uint64_t address,
		      uint8_t code[TRIGGER_CODE_SIZE])
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &address, .ctx_size_in = sizeof(address));
	int err = bpf_prog_test_run_opts(bpf_program__fd(trigger->skel->progs.stack_code), &opts);

	memcpy(code, trigger->skel->bss->code, TRIGGER_CODE_SIZE);
	return err ? err : (int)opts.retval;
}

int trigger_cpu_online(struct trigger *trigger, int cpu)
{
	int err = 0;

	for (size_t i = 0; i < HITS && !err; i++)
		err = trigger->filters[i] ? filter_cpu_online(trigger->filters[i], cpu) : 0;
	return err;
}

bool trigger_has_noise(const struct trigger *trigger)
{
	return trigger->noise;
}

uint64_t trigger_missed(const struct trigger *trigger)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);
	int fd;

	if (!trigger->skel)
		return trigger->missed;
	fd = bpf_program__fd(trigger->hrtimer);
	return bpf_obj_get_info_by_fd(fd, &info, &size) ? trigger->missed : info.recursion_misses;
}

void trigger_detach(struct trigger *trigger)
{
	trigger->missed = trigger_missed(trigger);
	/* The entry is detached some time before the exit. */
	if (trigger->skel)
		trigger->skel->bss->span_counting = 0;
	interruption_detach(trigger);
	ring_buffer__free(trigger->ring);
	trigger->ring = NULL;
	trigger_bpf__destroy(trigger->skel);
	trigger->skel = NULL;
	for (size_t i = 0; i < HITS; i++)
		filter_free(TAKE_PTR(trigger->filters[i]));
}

void trigger_free(struct trigger *trigger)
{
	if (!trigger)
		return;
	trigger_detach(trigger);
	/* Unmapped maps have size 0. */
	munmap(trigger->cpus, trigger->cpus_size);
	munmap(trigger->more, trigger->more_size);
	munmap(trigger->recent, trigger->recent_size);
	munmap(trigger->stacks, trigger->stacks_size);
	munmap(trigger->noise_parts, trigger->noise_parts_size);
	munmap(trigger->targets, trigger->targets_size);
	munmap(trigger->session, trigger->session_size);
	free(trigger->sources);
	free(trigger);
}

/* -- Statistics */

/* Programs and other threads count meanwhile. */
#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

uint64_t stats_count_bucket(const struct stats_table *table, unsigned int bucket)
{
	uint64_t count = 0;

	for (size_t i = 0; i < table->nr; i++)
		count += LOAD(table->table[table->cpus[i]].buckets[bucket]);
	return count;
}

void stats_add_unpaired(struct perf_poke_stats *stats, const volatile struct trigger_cpu *cpus,
			size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		stats->not_entered += LOAD(cpus[i].unpaired[SPAN_NOT_ENTERED]);
		stats->reentered += LOAD(cpus[i].unpaired[SPAN_REENTERED]);
		stats->thread_died += LOAD(cpus[i].unpaired[SPAN_THREAD_DIED]);
		stats->no_room += LOAD(cpus[i].unpaired[SPAN_NO_ROOM]);
	}
}

struct perf_poke_stats stats_sum_rows(const struct stats_table *table)
{
	struct perf_poke_stats sum = { .sz = sizeof(sum), .min_ns = UINT64_MAX };

	for (size_t i = 0; i < table->nr; i++) {
		const volatile struct trigger_cpu *one = &table->table[table->cpus[i]];
		uint64_t min_ns = ~LOAD(one->min_inverse), max_ns = LOAD(one->max_ns);
		uint64_t last_ns = LOAD(one->last_ns);

		sum.count += LOAD(one->count);
		sum.sum_ns += LOAD(one->sum_ns);
		sum.spikes += LOAD(one->spikes);
		sum.unarmed += LOAD(one->unarmed);
		if (last_ns > sum.last_ns)
			sum.last_ns = last_ns;
		if (min_ns < sum.min_ns)
			sum.min_ns = min_ns;
		if (max_ns > sum.max_ns)
			sum.max_ns = max_ns;
	}
	if (sum.min_ns == UINT64_MAX)
		sum.min_ns = 0;
	return sum;
}

uint64_t stats_percentile(const struct stats_table *table, double percent)
{
	uint64_t max_ns = stats_sum_rows(table).max_ns;
	uint64_t total = 0, seen = 0, counts[TRIGGER_BUCKETS];
	double wanted;

	/* Reads each bucket once; the total is the sum of these reads. */
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		total += counts[i] = stats_count_bucket(table, i);
	wanted = total * percent / 100;
	for (unsigned int i = 0; i < TRIGGER_BUCKETS && total; i++) {
		uint64_t high_ns = i + 1 < TRIGGER_BUCKETS ? bucket_low_ns(i + 1) - 1 : UINT64_MAX;

		seen += counts[i];
		/* The upper end of the bucket, but at most the maximum. */
		if (seen && seen >= wanted)
			return high_ns < max_ns ? high_ns : max_ns;
	}
	return 0;
}

void stats_take_snapshot(const struct stats_table *table, struct stats_snapshot *snapshot)
{
	for (unsigned int i = 0; i < TRIGGER_BUCKETS; i++)
		snapshot->buckets[i / STATS_STEP] += stats_count_bucket(table, i);
	snapshot->sum = stats_sum_rows(table);
	snapshot->p50_ns = stats_percentile(table, 50);
	snapshot->p99_ns = stats_percentile(table, 99);
	snapshot->p99_9_ns = stats_percentile(table, 99.9);
}

/* -- Addresses in the kernel, for the programs */

/* Reading the iterator runs the program for each task of our PID namespace, or for each BPF
 * program. */
static int target_run_iterator(struct target_bpf *skel, struct bpf_program *iterator)
{
	struct bpf_program *program;
	struct bpf_link *link;
	_cleanup_close_ int fd = -1;
	char none[16];
	ssize_t len;
	int err;

	bpf_object__for_each_program(program, skel->obj)
		bpf_program__set_autoload(program, program == iterator);
	err = target_bpf__load(skel);
	if (err)
		return err;
	link = bpf_program__attach_iter(iterator, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	len = fd < 0 ? -1 : read(fd, none, sizeof(none));
	bpf_link__destroy(link);
	return len < 0 ? -errno : 0;
}

int trigger_find_task(int pid, struct poke_target *task)
{
	struct target_bpf *skel;
	struct stat namespace;
	int err;

	if (stat("/proc/self/ns/pid", &namespace))
		return -errno;
	skel = target_bpf__open();
	if (!skel)
		return -errno;
	skel->rodata->wanted = pid;
	skel->rodata->namespace = namespace.st_ino;
	err = target_run_iterator(skel, skel->progs.target_find);
	if (!err && !skel->bss->tid)
		err = -ESRCH;
	if (!err) {
		task->tgid = skel->bss->tgid;
		task->tid = skel->bss->tid;
		task->start_ns = skel->bss->start_ns;
		task->task = skel->bss->address;
		task->exec_id = skel->bss->exec_id;
	}
	target_bpf__destroy(skel);
	return err;
}

int trigger_find_misses(const struct bpf_program *const *programs, __u64 *addresses)
{
	struct target_bpf *skel = target_bpf__open();
	int err = skel ? 0 : -errno;

	for (size_t i = 0; !err && i < SPAN_EXITS; i++) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);

		if (programs[i])
			err = bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &size);
		skel->rodata->wanted_programs[i] = info.id;
	}
	err = err ?: target_run_iterator(skel, skel->progs.target_find_misses);
	for (size_t i = 0; !err && i < SPAN_EXITS; i++) {
		addresses[i] = skel->bss->misses[i];
		if (programs[i] && !addresses[i])
			err = -ENOENT;
	}
	target_bpf__destroy(skel);
	return err;
}
