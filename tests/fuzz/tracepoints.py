# SPDX-License-Identifier: GPL-2.0-only
"""Inputs of the target tracepoints: a perf.data with the formats of tracepoints, and samples."""
import struct

COMMON = (("unsigned short common_type", 2, 0), ("unsigned char common_flags", 1, 0),
          ("unsigned char common_preempt_count", 1, 0), ("int common_pid", 4, 1))
SAMPLE_TYPE = 1 << 16 | 1 | 2 | 4 | 1 << 7 | 1 << 10  # identifier, ip, tid, time, cpu, raw
ATTR_SIZE = 128


def field(text, offset, size, signed=0):
    return "\tfield:%s;\toffset:%s;\tsize:%s;\tsigned:%s;\n" % (text, offset, size, signed)


def format_of(name, number, fields, printed):
    offset, text = 0, ""
    for what, size, signed in COMMON:
        text += field(what, offset, size, signed)
        offset += size
    text += "\n" + "".join(field(*one) for one in fields)
    return ("name: %s\nID: %s\nformat:\n%s\nprint fmt: %s\n" %
            (name, number, text, printed)).encode()


SOFTIRQ = ("softirq_entry", 7, [
    ("unsigned int vec", 8, 4)
], '"vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 1, "TIMER" }, { 3, '
   '"NET_RX" })'
           )
SWITCH = (
    "sched_switch", 8, [("char prev_comm[16]", 8, 16), ("long prev_state", 24, 8, 1),
                        ("pid_t next_pid", 32, 4, 1)],
    '"prev_comm=%s prev_state=%s%s ==> next_pid=%d", REC->prev_comm, (REC->prev_state & ((1 | 2) - '
    '1)) ? '
    '__print_flags(REC->prev_state & 3, "|", { 0x1, "S" }, { 0x2, "D" }) : "R", REC->prev_state & '
    '4 ? "+" : "", REC->next_pid'
)
HANDLER = ("irq_handler_entry", 9, [("int irq", 8, 4, 1), ("__data_loc char[] name", 12, 4)],
           '"irq=%d name=%s", REC->irq, __get_str(name)')
RELATIVE = ("relative", 10, [("__rel_loc char[] name", 8, 4), ("u8 mac[6]", 12, 6),
                             ("__be32 ip", 20, 4)],
            '"name=%s %pM %pI4", __get_str(name), REC->mac, &REC->ip')
TIMER = ("hrtimer_expire_entry", 11, [
    ("void * function", 8, 8), ("s64 value", 16, 8, 1)
], '"function=%ps at %pS %p value=%08llx %-5lld%%", REC->function, REC->function, REC->function, '
   '(u64) REC->value, REC->value'
         )
STRING = ("rcu_utilization", 12, [("const char * s", 8, 8)], '"%s", REC->s')
ARRAY = ("array", 13, [("u8 value[4]", 8, 4), ("int nr", 12, 4)],
         '"%s %d", __print_array(REC->value, REC->nr, 4), 1 / REC->nr')
EVENTS = (SOFTIRQ, SWITCH, HANDLER, RELATIVE, TIMER, STRING, ARRAY)

RAWS = {
    "softirq_entry": struct.pack("<I", 3),
    "sched_switch": b"task".ljust(16, b"\0") + struct.pack("<qi", 2, 77),
    "irq_handler_entry": struct.pack("<iHH", 24, 16, 5) + b"eth0\0",
    "relative": struct.pack("<HH", 12, 3) + bytes(12) + b"ab\0",
    "hrtimer_expire_entry": struct.pack("<Qq", 0xffffffff81000001, -5),
    "rcu_utilization": struct.pack("<Q",
                                   0xffffffff82000000), "array": struct.pack("<4Bi", 1, 2, 3, 4, 0),
}


def sample(number, raw, time, cpu=0):
    raw = struct.pack("<HBBi", number, 0, 0, 5) + raw
    raw += bytes(-(len(raw) + 4) % 8)
    body = struct.pack("<QQIIQIII", 100 + number, 0xffffffff81000000, 5, 6, time, cpu, 0,
                       len(raw)) + raw
    return struct.pack("<IHH", 9, 0, len(body) + 8) + body


def samples(event, times=(200, 300), **kwargs):
    return b"".join(sample(event[1], RAWS[event[0]], time, **kwargs) for time in times)


def tracing(systems, head=b"\x17\x08\x44tracing0.6\0\0\x08" + struct.pack("<I", 4096),
            strings=b'0xffffffff82000000 : "Start"\n'):
    def sized(text):
        return struct.pack("<Q", len(text)) + text

    body = head + b"header_page\0" + sized(b"page") + b"header_event\0" + sized(
        b"event") + struct.pack("<II", 0, len(systems))
    for name, formats in systems:
        body += name + b"\0" + struct.pack("<I", len(formats)) + b"".join(map(sized, formats))
    return body + struct.pack("<II", 0, len(strings)) + strings + struct.pack("<Q", 0)


def perf_data(records, body, numbers, types=None):
    """Header, ids, attrs, records, the feature."""
    ids = 104
    attrs = ids + 8 * len(numbers)
    data = attrs + (ATTR_SIZE + 16) * len(numbers)
    table = data + len(records)
    header = struct.pack("<8s2Q2Q2Q2Q4Q", b"PERFILE2",
                         104, ATTR_SIZE + 16, attrs, (ATTR_SIZE + 16) * len(numbers), data,
                         len(records), 0, 0, 2 if body is not None else 0, 0, 0, 0)
    out = header + b"".join(struct.pack("<Q", 100 + number) for number in numbers)
    for i, number in enumerate(numbers):
        attr = struct.pack("<2IQQQQQ", types or 2, ATTR_SIZE, number, 1, SAMPLE_TYPE, 0, 1 << 18)
        out += attr.ljust(ATTR_SIZE, b"\0") + struct.pack("<2Q", ids + 8 * i, 8)
    out += records
    return out if body is None else out + struct.pack("<2Q", table + 16, len(body)) + body


def of_format(text, raw=bytes(64), number=7):
    return perf_data(sample(number, raw, 200), tracing([(b"system", [text])]), [number])


def odd_formats():
    """Accepted: an event without a format, or with an odd one, is still an event."""
    yield "empty", b""
    yield "no-print", b"name: x\nID: 7\nformat:\n"
    yield "no-fields", b'name: x\nID: 7\nformat:\n\nprint fmt: "x"\n'
    for name, one in (("offset", ("int a", 1 << 20, 4)), ("offset-negative", ("int a", -8, 4)),
                      ("size", ("int a", 8, 1 << 30)), ("size-0", ("int a", 8, 0)),
                      ("size-3", ("int a", 8, 3)), ("not-there", ("int a", 60000, 4)),
                      ("word", ("int", 8, 4)), ("brackets", ("int a[[[[3]]]]", 8, 4)),
                      ("data-loc", ("__data_loc char[] a", 8, 2)),
                      ("type", ("unsigned " * 500 + "int a", 8, 4)), ("empty", ("", 8, 4))):
        yield "field-" + name, format_of("x", 7, [one], '"%d", REC->a')


def inputs():
    numbers = [event[1] for event in EVENTS]
    texts = [format_of(*event) for event in EVENTS]
    body = tracing([(b"irq", [texts[0], texts[2]]), (b"sched", texts[1:2]), (b"timer", texts[4:5]),
                    (b"other", [texts[3], *texts[5:]])])
    records = b"".join(map(samples, EVENTS))
    yield "good-all", perf_data(records, body, numbers)
    yield "good-order", perf_data(
        samples(SOFTIRQ, (500, 600, 700)) + samples(TIMER, (100, 600, 2000000), cpu=1) +
        samples(SOFTIRQ, (50, 400, 300, 1)), body, numbers)
    yield "good-no-samples", perf_data(b"", body, numbers)
    yield "good-no-formats", perf_data(records, tracing([]), numbers)
    yield "good-no-tracing", perf_data(records, None, numbers)
    yield "good-hardware", perf_data(records, body, numbers, types=4)
    yield "good-other-kind", perf_data(
        sample(8, RAWS["softirq_entry"], 200) + sample(77, bytes(8), 200), body, numbers)
    yield "good-other-type", perf_data(sample(7, bytes(8), 200)[:-12] + bytes(12), body, numbers)
    for name, text in odd_formats():
        yield "good-format-" + name, of_format(text)
    for event in EVENTS:
        yield "good-raw-short-" + event[0], of_format(format_of(*event), b"", event[1])
        yield "good-raw-ones-" + event[0], of_format(format_of(*event), b"\xff" * 64, event[1])
        yield "good-raw-long-" + event[0], of_format(format_of(*event), b"\xff" * 65000, event[1])
    yield "good-many-runs", perf_data(samples(SOFTIRQ, range(9000, 100, -1)), body, numbers)

    yield "bad-tracing-cut", perf_data(records, body[:-20], numbers)
    yield "bad-tracing-empty", perf_data(records, b"", numbers)
    yield "bad-tracing-magic", perf_data(records, b"x" + body[1:], numbers)
    yield "bad-tracing-endian", perf_data(records, body.replace(b"0.6\0\0\x08", b"0.6\0\1\x08"),
                                          numbers)
    yield "bad-tracing-long", perf_data(records, body.replace(b"0.6\0\0\x08", b"0.6\0\0\x09"),
                                        numbers)
    yield "bad-tracing-count", perf_data(
        records, body.replace(struct.pack("<II", 0, 4), struct.pack("<II", 0, 1 << 31)), numbers)
    yield "bad-tracing-size", perf_data(
        records, body.replace(struct.pack("<Q", len(texts[0])), struct.pack("<Q", 1 << 63)),
        numbers)
    good = perf_data(records, body, numbers)
    yield "bad-attr-size", good[:16] + struct.pack("<Q", 8) + good[24:]
    yield "bad-attrs", good[:24] + struct.pack("<Q", 1 << 62) + good[32:]
    yield "bad-ids", good.replace(struct.pack("<2Q", 104, 8), struct.pack("<2Q", 104, 1 << 60))
    yield "bad-empty", b""
    yield "bad-cut", good[:100]
