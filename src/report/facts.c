// SPDX-License-Identifier: GPL-2.0-only
#include "facts.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "utf8.h"

static json_object *find(json_object *from, const char *group, const char *name)
{
	json_object *value = NULL;

	if (group && !json_object_object_get_ex(from, group, &from))
		return NULL;
	if (!json_object_is_type(from, json_type_object))
		return NULL;
	json_object_object_get_ex(from, name, &value);
	return value;
}

static uint64_t number(json_object *json, const char *group, const char *name)
{
	json_object *value = find(json, group, name);
	int64_t n = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : 0;

	return n > 0 ? (uint64_t)n : 0;
}

static bool truth(json_object *json, const char *group, const char *name)
{
	json_object *value = find(json, group, name);

	return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

/* One line, and no escape sequence, whoever wrote it. */
static void text(char *buf, size_t size, json_object *json, const char *group, const char *name)
{
	json_object *value = find(json, group, name);

	buf[0] = '\0';
	if (!json_object_is_type(value, json_type_string))
		return;
	snprintf(buf, size, "%s", json_object_get_string(value));
	for (char *c = buf; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == '\x7f')
			*c = ' ';
	}
	/* It may have been cut in a character. */
	utf8_repair(buf);
}

static void read_spike(struct facts *facts, json_object *json)
{
	json_object *cpu = find(json, "spike", "cpu");
	char trigger[16];

	text(trigger, sizeof(trigger), json, "spike", "trigger");
	facts->thread = trigger[0] && strcmp(trigger, "irq");
	facts->poked = truth(json, "spike", "poked");
	facts->idle = truth(json, "spike", "idle");
	facts->cpu = json_object_is_type(cpu, json_type_int) ? json_object_get_int(cpu) : -1;
	facts->expected_ns = number(json, "spike", "expected_ns");
	facts->actual_ns = number(json, "spike", "actual_ns");
	facts->time_ns = number(json, "spike", "time_ns");
	facts->latency_ns = number(json, "spike", "latency_ns");
	facts->pid = (int)number(json, "spike", "pid");
	facts->tid = (int)number(json, "spike", "tid");
	text(facts->comm, sizeof(facts->comm), json, "spike", "comm");
	text(facts->function, sizeof(facts->function), json, "spike", "function");
	if (!facts->function[0])
		text(facts->function, sizeof(facts->function), json, "spike", "function_address");
	text(facts->wall_time, sizeof(facts->wall_time), json, "spike", "wall_time");
}

/* A file may say anything; what follows takes it that these are in order. */
static void put_in_order(struct facts *facts)
{
	if (!facts->actual_ns || facts->actual_ns > facts->time_ns)
		facts->actual_ns = facts->time_ns;
	if (!facts->expected_ns || facts->expected_ns > facts->actual_ns)
		facts->expected_ns = facts->actual_ns -
				     (facts->latency_ns < facts->actual_ns ? facts->latency_ns : 0);
	facts->latency_ns = facts->actual_ns - facts->expected_ns;
}

int facts_read(struct facts *facts, const char *json_text)
{
	json_object *json = json_tokener_parse(json_text);
	json_object *clock = NULL, *recorder;

	*facts = (struct facts){ 0 };
	if (!json)
		return -EINVAL;
	recorder = find(json, NULL, "recorder");
	facts->pt = recorder && find(recorder, NULL, "kind") &&
		    !strcmp(json_object_get_string(find(recorder, NULL, "kind")), "pt");
	read_spike(facts, json);
	put_in_order(facts);
	facts->threshold_ns = number(json, NULL, "threshold_ns");
	facts->history_ns = number(json, NULL, "history_ns");
	facts->skid_ns = number(json, NULL, "skid_ns");
	facts->events = number(json, NULL, "events");
	facts->lost = number(json, NULL, "lost");
	text(facts->release, sizeof(facts->release), json, "kernel", "release");
	text(facts->hostname, sizeof(facts->hostname), json, "machine", "hostname");
	text(facts->model, sizeof(facts->model), json, "machine", "cpu");
	if (facts->pt)
		clock = find(recorder, NULL, "clock");
	if (json_object_is_type(clock, json_type_object))
		facts->to_clock_ns =
			number(clock, NULL, "perf_ns") - number(clock, NULL, "monotonic_ns");
	facts->expected_ns += facts->to_clock_ns;
	facts->actual_ns += facts->to_clock_ns;
	facts->time_ns += facts->to_clock_ns;
	json_object_put(json);
	return facts->expected_ns <= facts->actual_ns && facts->actual_ns <= facts->time_ns
		       ? 0
		       : -EINVAL;
}

const char *facts_task(const struct facts *facts, char *buf, unsigned int size)
{
	if (facts->idle)
		snprintf(buf, size, "idle");
	else if (facts->tid == facts->pid)
		snprintf(buf, size, "%s/%d", facts->comm, facts->pid);
	else
		snprintf(buf, size, "%s/%d, thread %d", facts->comm, facts->pid, facts->tid);
	return buf;
}
