// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "options/config.h"

#include <string.h>

#include <sched.h>

#include "cpulist.h"
#include "messages.h"
#include "test.h"

static char online[4096]; /* as the kernel lists it */
static char cpu[16];	  /* one of them */

static int read_online(void **state)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");

	if (!file || !fgets(online, sizeof(online), file))
		return -1;
	fclose(file);
	online[strcspn(online, "\n")] = '\0';
	snprintf(cpu, sizeof(cpu), "%d", atoi(online));
	return 0;
}

/* The macro's arguments override its own values. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define ROWS                                                                                       \
	.trigger_sz = sizeof(struct perf_poke_trigger),                                            \
	.event_sz = sizeof(struct perf_poke_event), .target_sz = sizeof(struct perf_poke_target)

/* One option is set: refused with this error and only this message, if any. */
#define REFUSES(error, message, ...)                                                               \
	do {                                                                                       \
		struct messages _messages = {};                                                    \
		struct perf_poke_opts _opts = {                                                    \
			.sz = sizeof(_opts),                                                       \
			.cpus = cpu,                                                               \
			.log = messages_add,                                                       \
			.log_ctx = &_messages,                                                     \
			ROWS,                                                                      \
			__VA_ARGS__,                                                               \
		};                                                                                 \
		struct config _config = {};                                                        \
                                                                                                   \
		assert_int_equal(config_init(&_config, &_opts), error);                            \
		assert_string_equal(_messages.text, message);                                      \
		assert_int_equal(_messages.nr, 1);                                                 \
		assert_int_equal(_messages.level, PERF_POKE_LOG_ERROR);                            \
	} while (0)

#define ACCEPTS(config, ...)                                                                       \
	do {                                                                                       \
		struct perf_poke_opts _opts = {                                                    \
			.sz = sizeof(_opts), .cpus = cpu, ROWS, __VA_ARGS__                        \
		};                                                                                 \
                                                                                                   \
		assert_int_equal(config_init(config, &_opts), 0);                                  \
	} while (0)

TEST(has_defaults)
{
	struct config config;

	ACCEPTS(&config, .sz = sizeof(struct perf_poke_opts));
	assert_int_equal(config.nr_cpus, 1);
	assert_int_equal(config.cpus[0], atoi(cpu));
	assert_int_equal(config.opts.threshold_ns, 30000);
	assert_null(config.opts.function);
	assert_int_equal(config.opts.workload, PERF_POKE_WORKLOAD_AUTO);
	assert_int_equal(config.opts.period_ns, 1000000);
	assert_int_equal(config.opts.priority, 95);
	assert_int_equal(config.opts.nr_events, 0);
	assert_int_equal(config.opts.buffer_size, 0);
	assert_int_equal(config.opts.max_captures, 1);
	assert_string_equal(config.opts.output, "perf-poke.data");
	assert_null(config.opts.session);
	assert_int_equal(config.opts.argc, 0);
	config_destroy(&config);
	assert_null(config.opts.output);
	config_destroy(&config);
}

TEST(takes_limits)
{
	struct config config;

	ACCEPTS(&config, .period_ns = 10000, .priority = 1, .threshold_ns = 1, .max_captures = 2,
		.workload = PERF_POKE_WORKLOAD_NONE, .buffer_size = 1);
	assert_int_equal(config.opts.period_ns, 10000);
	assert_int_equal(config.opts.priority, 1);
	assert_int_equal(config.opts.threshold_ns, 1);
	assert_int_equal(config.opts.max_captures, 2);
	assert_int_equal(config.opts.workload, PERF_POKE_WORKLOAD_NONE);
	assert_int_equal(config.opts.buffer_size, 1);
	config_destroy(&config);
	ACCEPTS(&config, .keep_worst = 2);
	assert_int_equal(config.opts.max_captures, UINT64_MAX);
	config_destroy(&config);
	ACCEPTS(&config, .period_ns = 1000000000, .priority = 99, .buffer_size = 1ULL << 31,
		.recorder = PERF_POKE_RECORDER_EVENTS, .function = "any");
	assert_int_equal(config.opts.period_ns, 1000000000);
	assert_int_equal(config.opts.priority, 99);
	assert_int_equal(config.opts.buffer_size, 1ULL << 31);
	assert_string_equal(config.opts.function, "any");
	config_destroy(&config);
}

TEST(reads_what_the_workload_is_like)
{
	struct config config;

	ACCEPTS(&config, .workload = PERF_POKE_WORKLOAD_TIMERLAT);
	assert_int_equal(config.sched.size, 0);
	assert_false(config.opts.hold_dma_latency);
	assert_true(config_is_timerlat(&config));
	config_destroy(&config);
	ACCEPTS(&config, .workload = PERF_POKE_WORKLOAD_TIMERLAT, .priority = 7,
		.period_ns = 100000, .cgroup = "a/b", .hold_dma_latency = true,
		.limit_idle_state = true, .deepest_idle_state = 2);
	assert_int_equal(config.sched.policy, SCHED_FIFO);
	assert_int_equal(config.sched.priority, 7);
	assert_string_equal(config.opts.cgroup, "a/b");
	assert_true(config.opts.hold_dma_latency);
	assert_int_equal(config.opts.dma_latency_us, 0);
	assert_true(config.opts.limit_idle_state);
	assert_int_equal(config.opts.deepest_idle_state, 2);
	config_destroy(&config);
	ACCEPTS(&config, .workload = PERF_POKE_WORKLOAD_CYCLIC, .scheduler = "f:8");
	assert_int_equal(config.opts.priority, 8);
	config_destroy(&config);
	REFUSES(-EINVAL,
		"scheduler 'f:0': must be f:1 to f:99, r:1 to r:99, o:-20 to o:19, or "
		"d:RUNTIME:PERIOD",
		.scheduler = "f:0");
}

int __wrap_kallsyms_find(const char *name, uint64_t *address)
{
	*address = 17;
	return !strcmp(name, "twice") ? -ENOTUNIQ : !strcmp(name, "once") ? 0 : -ENOENT;
}

TEST(finds_functions)
{
	static const struct {
		const char *name, *said;
		int r;
	} rows[] = {
		{ "once", NULL, 0 },
		{ "twice", "function 'twice': several symbols", -EINVAL },
		{ "none", "function 'none': ", -ENOENT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct messages messages = {};
		const struct config config = { .opts.function = rows[i].name,
					       .log = { messages_add, &messages } };
		uint64_t address;

		assert_int_equal(config_find_function(&config, &address), rows[i].r);
		assert_int_equal(messages.nr, rows[i].r != 0);
		if (rows[i].said)
			assert_memory_equal(messages.text, rows[i].said, strlen(rows[i].said));
	}
}

TEST(needs_the_function_of_timerlat)
{
	struct messages messages = {};
	const struct config config = { .workload = PERF_POKE_WORKLOAD_TIMERLAT,
				       .log = { messages_add, &messages } };
	uint64_t address;

	assert_int_equal(config_find_function(&config, &address), -ENOENT);
	assert_int_equal(messages.nr, 1);
	assert_non_null(strstr(messages.text, "use --workload cyclic"));
}

TEST(takes_addresses_of_functions)
{
	static const char *const refused[] = { "0x", "0x0", "0x12z", "0x10000000000000000" };
	uint64_t address = 1;

	assert_int_equal(config_find_function(&(struct config){ .opts.function = "any" }, &address),
			 0);
	assert_int_equal(address, 0);
	assert_int_equal(
		config_find_function(&(struct config){ .opts.function = "0xffffffff81abcdef" },
				     &address),
		0);
	assert_int_equal(address, 0xffffffff81abcdef);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct messages messages = {};
		struct config config = {
			.opts.function = refused[i],
			.log = { messages_add, &messages },
		};

		assert_int_equal(config_find_function(&config, &address), -EINVAL);
		assert_non_null(strstr(messages.text, "': not an address (0x...)"));
	}
}

TEST(refuses_numbers)
{
	REFUSES(-EINVAL, "period 9999 ns: must be 10us to 1s", .period_ns = 9999);
	REFUSES(-EINVAL, "period 1000000001 ns: must be 10us to 1s", .period_ns = 1000000001);
	REFUSES(-EINVAL, "priority 100: must be 1 to 99", .priority = 100);
	REFUSES(-EINVAL, "priority -1: must be 1 to 99", .priority = -1);
	REFUSES(-EINVAL, "buffer 2147483649: the kernel maps at most 2G for a CPU",
		.buffer_size = (1ULL << 31) + 1);
}

TEST(refuses_strings)
{
	static const struct perf_poke_event nameless[] = { { "sched:sched_switch", NULL }, {} };

	REFUSES(-EINVAL, "function '': not a symbol, an 0xADDRESS, or any", .function = "");
	REFUSES(-EINVAL, "output '': not a folder", .output = "");
	REFUSES(-EINVAL,
		"session 'a/b': not a name (1 to 63 of A-Z a-z 0-9 . _ -, other than . and ..)",
		.session = "a/b");
	REFUSES(-EINVAL, "event 1: has no name", .events = nameless, .nr_events = 2);
}

TEST(refuses_cpus)
{
	char message[5000];

	REFUSES(-EINVAL, "--cpu LIST is required: 3 or 2,4-7, all, isolated", .cpus = NULL);
	REFUSES(-EINVAL, "--cpu LIST is required: 3 or 2,4-7, all, isolated", .cpus = "");
	REFUSES(-EINVAL, "cpu 'ALL': not a list of CPUs (as in 3 or 2,4-7)", .cpus = "ALL");
	REFUSES(-EINVAL, "cpu '3-1': not a list of CPUs (as in 3 or 2,4-7)", .cpus = "3-1");
	REFUSES(-EINVAL, "cpu 'a': not a list of CPUs (as in 3 or 2,4-7)", .cpus = "a");
	snprintf(message, sizeof(message), "cpu 8191: does not exist; online CPUs: %s", online);
	REFUSES(-ENXIO, message, .cpus = "8191");
	REFUSES(-ENXIO, message, .cpus = "8191,8191");
	REFUSES(-ENXIO, "cpu '8192': must be below 8192", .cpus = "8192");
}

/* All online CPUs, and the first offline one. */
TEST(takes_online_cpus)
{
	_cleanup_free_ char *list = NULL;
	struct perf_poke_opts opts = { .sz = sizeof(opts), .cpus = online };
	char message[5000], more[5000];
	struct config config;

	assert_int_equal(config_init(&config, &opts), 0);
	assert_int_equal(cpulist_format(config.cpus, config.nr_cpus, &list), 0);
	assert_string_equal(list, online);
	snprintf(message, sizeof(message), "cpu %d: does not exist; online CPUs: %s",
		 config.cpus[config.nr_cpus - 1] + 1, online);
	snprintf(more, sizeof(more), "%s,%d", online, config.cpus[config.nr_cpus - 1] + 1);
	config_destroy(&config);
	REFUSES(-ENXIO, message, .cpus = more);
}

static char *copy_of(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	return copy;
}

/* Overwrites a string before freeing it. */
static void scrap(char *text)
{
	memset(text, '#', strlen(text));
	free(text);
}

TEST(copies_everything)
{
	char *texts[] = { copy_of(cpu),
			  copy_of("hrtimer_wakeup"),
			  copy_of("sched:sched_switch"),
			  copy_of("prev_pid == 1"),
			  copy_of("irq:*"),
			  copy_of("out"),
			  copy_of("perf-poke-ctl"),
			  copy_of("start"),
			  copy_of("noon"),
			  copy_of("hit"),
			  copy_of("me") };
	struct perf_poke_event events[] = { { texts[2], texts[3] }, { texts[4], NULL } };
	struct perf_poke_trigger triggers[] = { { PERF_POKE_TRIGGER_MARKER, 7, texts[9] },
						{ PERF_POKE_TRIGGER_WAKEUP } };
	const char *argv[] = { texts[6], texts[7] };
	struct config config;

	ACCEPTS(&config, .cpus = texts[0], .function = texts[1], .events = events, .nr_events = 2,
		.output = texts[5], .argv = argv, .argc = 2, .session = texts[8],
		.triggers = triggers, .nr_triggers = 2, .task = texts[10]);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		scrap(texts[i]);
	memset(events, 0, sizeof(events));
	memset(argv, 0, sizeof(argv));
	memset(triggers, 0, sizeof(triggers));

	assert_int_equal(config.cpus[0], atoi(cpu));
	assert_string_equal(config.opts.function, "hrtimer_wakeup");
	assert_int_equal(config.opts.nr_events, 2);
	assert_string_equal(config.opts.events[0].name, "sched:sched_switch");
	assert_string_equal(config.opts.events[0].filter, "prev_pid == 1");
	assert_string_equal(config.opts.events[1].name, "irq:*");
	assert_null(config.opts.events[1].filter);
	assert_string_equal(config.opts.output, "out");
	assert_string_equal(config.opts.session, "noon");
	assert_int_equal(config.opts.nr_triggers, 2);
	assert_int_equal(config.opts.triggers[0].kind, PERF_POKE_TRIGGER_MARKER);
	assert_int_equal(config.opts.triggers[0].threshold_ns, 7);
	assert_string_equal(config.opts.triggers[0].text, "hit");
	assert_null(config.opts.triggers[1].text);
	assert_string_equal(config.opts.task, "me");
	assert_int_equal(config.opts.argc, 2);
	assert_string_equal(config.opts.argv[0], "perf-poke-ctl");
	assert_string_equal(config.opts.argv[1], "start");
	config_destroy(&config);
}

/* A caller compiled against a first version that had only the CPUs. */
TEST(older_callers)
{
	struct perf_poke_opts opts;
	struct config config;

	memset(&opts, 0xff, sizeof(opts));
	opts.log = NULL;
	opts.owned = NULL;
	opts.cpus = cpu;
	opts.sz = offsetof(struct perf_poke_opts, threshold_ns);
	assert_int_equal(config_init(&config, &opts), 0);
	assert_int_equal(config.opts.threshold_ns, 30000);
	assert_null(config.log.fn);
	config_destroy(&config);
	/* Members beyond the caller's size get defaults. */
	opts.threshold_ns = 5000;
	opts.function = NULL;
	opts.sz = offsetof(struct perf_poke_opts, workload);
	assert_int_equal(config_init(&config, &opts), 0);
	assert_int_equal(config.opts.threshold_ns, 5000);
	assert_int_equal(config.opts.period_ns, 1000000);
	config_destroy(&config);
	opts.sz = offsetof(struct perf_poke_opts, threshold_ns) - 1;
	assert_int_equal(config_init(&config, &opts), -EINVAL);
	opts.sz = 0;
	assert_int_equal(config_init(&config, &opts), -EINVAL);
}

TEST(newer_callers)
{
	struct {
		struct perf_poke_opts opts;
		char tail[9];
	} newer = { .opts = { .sz = offsetof(typeof(newer), tail) + sizeof(newer.tail),
			      .cpus = cpu } };
	struct config config;

	assert_int_equal(config_init(&config, &newer.opts), 0);
	config_destroy(&config);
	for (size_t i = 0; i < sizeof(newer.tail); i++) {
		newer.tail[i] = 1;
		assert_int_equal(config_init(&config, &newer.opts), -EINVAL);
		newer.tail[i] = 0;
	}
	/* Memory past the caller's size is not read. */
	newer.tail[0] = 1;
	newer.opts.sz = sizeof(newer.opts);
	assert_int_equal(config_init(&config, &newer.opts), 0);
	config_destroy(&config);
}

#define TARGETS(...)                                                                               \
	.targets = (const struct perf_poke_target[]){ __VA_ARGS__ },                               \
	.nr_targets = sizeof((struct perf_poke_target[]){ __VA_ARGS__ }) /                         \
		      sizeof(struct perf_poke_target)

TEST(takes_targets)
{
	char wake[] = "word-1";
	struct config config;

	ACCEPTS(&config, TARGETS({ .pid = 7, .signal = 10, .wake = wake }, { .pid = 8 }),
		.delivery = PERF_POKE_DELIVERY_FASYNC, .signal = 12, .any_process = true);
	memset(wake, 'x', sizeof(wake) - 1);
	assert_int_equal(config.opts.nr_targets, 2);
	assert_int_equal(config.opts.targets[0].pid, 7);
	assert_int_equal(config.opts.targets[0].signal, 10);
	assert_string_equal(config.opts.targets[0].wake, "word-1");
	assert_int_equal(config.opts.targets[1].pid, 8);
	assert_int_equal(config.opts.targets[1].signal, 12);
	assert_true(config.opts.targets[1].any_process);
	assert_null(config.opts.targets[1].wake);
	assert_int_equal(config.opts.delivery, PERF_POKE_DELIVERY_FASYNC);
	config_destroy(&config);
}

struct longer {
	struct perf_poke_trigger known;
	uint64_t more;
};

TEST(knows_the_size_of_rows)
{
	struct longer rows[] = { { { PERF_POKE_TRIGGER_THREAD, 60000 }, 0 },
				 { { PERF_POKE_TRIGGER_IRQ, 7 }, 0 } };
	struct config config;

	ACCEPTS(&config, .triggers = &rows[0].known, .nr_triggers = 2,
		.trigger_sz = sizeof(rows[0]));
	assert_int_equal(config.opts.triggers[0].threshold_ns, 60000);
	assert_int_equal(config.opts.triggers[1].threshold_ns, 7);
	config_destroy(&config);
	rows[1].more = 1;
	REFUSES(-EINVAL,
		"trigger_sz 32: the library has no member that is set (struct perf_poke_trigger)",
		.triggers = &rows[0].known, .nr_triggers = 2, .trigger_sz = sizeof(rows[0]));
	REFUSES(-EINVAL, "trigger_sz 0: must be sizeof(struct perf_poke_trigger)",
		.triggers = &rows[0].known, .nr_triggers = 2, .trigger_sz = 0);
}

TEST(refuses_targets)
{
	struct perf_poke_target many[17] = {};

	for (size_t i = 0; i < 17; i++)
		many[i].pid = 100 + i;
	REFUSES(-EINVAL, "target 0: not a process ID", TARGETS({ .pid = 0 }));
	REFUSES(-EINVAL, "target -3: not a process ID", TARGETS({ .pid = -3 }));
	REFUSES(-EINVAL, "target 5: signal 65: must be 1 to 64",
		TARGETS({ .pid = 5, .signal = 65 }));
	REFUSES(-EINVAL, "target 5: wake '': must be 1 to 23 letters, digits, - or _",
		TARGETS({ .pid = 5, .wake = "" }));
	REFUSES(-EINVAL, "target 5: wake 'a\"b': must be 1 to 23 letters, digits, - or _",
		TARGETS({ .pid = 5, .wake = "a\"b" }));
	REFUSES(-EINVAL,
		"target 5: wake 'abcdefghijklmnopqrstuvwx': must be 1 to 23 letters, digits, - or "
		"_",
		TARGETS({ .pid = 5, .wake = "abcdefghijklmnopqrstuvwx" }));
	REFUSES(-EINVAL, "wake: only one target can have it",
		TARGETS({ .pid = 5, .wake = "a" }, { .pid = 6, .wake = "b" }));
	REFUSES(-EINVAL, "17 targets: at most 16 are possible", .targets = many, .nr_targets = 17);
}

TEST(a_session_refuses_unknown_values)
{
	static const struct {
		struct perf_poke_opts opts;
		const char *error;
	} rows[] = {
		{ { .recorder = 99 }, "recorder 99: unknown" },
		{ { .workload = -1 }, "workload -1: unknown" },
		{ { .delivery = 99 }, "delivery 99: unknown" },
		{ { .freeze = 99 }, "freeze 99: unknown" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct perf_poke_opts opts = rows[i].opts;
		struct perf_poke *pp;

		opts.sz = sizeof(opts);
		opts.cpus = cpu;
		assert_int_equal(perf_poke__new(&pp, &opts), -EINVAL);
		assert_string_equal(perf_poke__last_error(), rows[i].error);
	}
}

TEST(a_session_passes_errors_on)
{
	struct perf_poke_opts opts = { .sz = sizeof(opts), .cpus = "8191" };
	struct perf_poke *pp = NULL;
	size_t nr = 0;

	assert_int_equal(perf_poke__new(&pp, &opts), -ENXIO);
	assert_null(pp);
	assert_non_null(strstr(perf_poke__last_error(), "cpu 8191: "));
	assert_int_equal(perf_poke__new(&pp, NULL), -EINVAL);
	assert_string_equal(perf_poke__last_error(), "Invalid argument");
	opts.cpus = cpu;
	assert_int_equal(perf_poke__new(&pp, &opts), 0);
	assert_string_equal(perf_poke__last_error(), "");
	assert_int_equal(perf_poke__cpus(pp, &nr)[0], atoi(cpu));
	assert_int_equal(nr, 1);
	assert_int_equal(perf_poke__fd(pp), -ENOTCONN);
	assert_int_equal(perf_poke__poll(pp, 0), -ENOTCONN);
	assert_int_equal(perf_poke__poke(pp), -ENOTCONN);
	assert_int_equal(perf_poke__leave_tracing(pp), -ENOTCONN);
	assert_null(perf_poke__session(pp));
	assert_int_equal(perf_poke__stop(pp), 0);
	perf_poke__free(pp);
	perf_poke__free(NULL);
	assert_int_equal(perf_poke__stop(NULL), 0);
}

int main(void)
{
	return run_all(read_online, NULL);
}
