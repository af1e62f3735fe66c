// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "capture/span_ends.h"

#include "test.h"

static void check(const char *text, const char *by, const char *entry, const char *exit)
{
	struct json_object *json = span_ends_json(text), *value;

	assert_non_null(json);
	assert_true(json_object_object_get_ex(json, "by", &value));
	assert_string_equal(json_object_get_string(value), by);
	assert_true(json_object_object_get_ex(json, "entry", &value));
	assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), entry);
	assert_true(json_object_object_get_ex(json, "exit", &value));
	assert_string_equal(json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN), exit);
	json_object_put(json);
}

#define AT_CALL(functions) "{\"functions\":[" functions "],\"at\":\"call\"}"
#define AT_RETURN(functions) "{\"functions\":[" functions "],\"at\":\"return\"}"

TEST(names_functions)
{
	check("read=fn:vfs_read", "thread", AT_CALL("\"vfs_read\""), AT_RETURN("\"vfs_read\""));
	check("x=uprobe:/bin/x:begin+0x10..uretprobe:/bin/x:end,by=cpu", "cpu",
	      AT_CALL("\"begin\""), AT_RETURN("\"end\""));
	/* Of an address no function is known, of a usdt neither. */
	check("x=uprobe:/bin/x:0x10..usdt:/bin/x:acme:done", "thread", AT_CALL(""), AT_CALL(""));
}

TEST(names_what_a_tracepoint_calls)
{
	check("call=tp:syscalls:sys_enter_read..tp:syscalls:sys_exit_read", "thread",
	      "{\"event\":\"syscalls:sys_enter_read\",\"functions\":[\"__x64_sys_read\"],"
	      "\"at\":\"call\"}",
	      "{\"event\":\"syscalls:sys_exit_read\",\"functions\":[\"__x64_sys_read\"],"
	      "\"at\":\"return\"}");
	check("io=tp:block:block_rq_issue..fn:done,by=dev:arg1", "argument",
	      "{\"event\":\"block:block_rq_issue\",\"functions\":[\"__traceiter_block_rq_issue\","
	      "\"__bpf_trace_block_rq_issue\",\"perf_trace_block_rq_issue\","
	      "\"trace_event_raw_event_block_rq_issue\"],\"at\":\"call\"}",
	      AT_RETURN("\"done\""));
}

TEST(needs_a_span)
{
	assert_null(span_ends_json(NULL));
	assert_null(span_ends_json("nonsense"));
}
