#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes the seed corpus of the fuzz targets, which is also run as it is. In FOLDER/TARGET, good-*
must be accepted and bad-* refused.

Usage: corpus.py FOLDER REALPT

Of those in FOLDER/TARGET good-* must be accepted and bad-* refused.
"""
import io
import itertools
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile

import ring
import symbols
import tracepoints
import unwind

CAPTURE = {
    "schema": 1, "version": "0.1.0", "spike": {
        "sequence": 1, "cpu": 1, "latency_ns": 29841094, "time_ns": 7881842767,
        "expected_ns": 7851933892, "actual_ns": 7881774986,
        "wall_time": "2026-11-21T07:01:43.881833Z", "function": "hrtimer_wakeup", "pid": 24,
        "tid": 24, "comm": "kworker/1:0", "idle": False, "poked": False
    }, "history_ns": 90562087, "recorder": {
        "kind": "pt", "freeze": "sample",
        "clock": {"monotonic_ns": 7888409479, "perf_ns": 7879745716}
    }, "statistics": {
        "cpu": 1, "count": 9, "min_ns": 5, "avg_ns": 7, "p50_ns": 6, "p99_ns": 8,
        "p99_9_ns": 29841094, "max_ns": 29841094, "spikes": 1, "unarmed": 0,
        "histogram": [[0, 16, 8], [27262976, 31457280, 1], [1073741824, None, 0]]
    }, "kernel": {"release": "7.3.4", "version": "#1 SMP"}, "machine": {"hostname": "lab"},
}
MAX_SIZE = 1 << 20  # as the target has it


class Archive:
    """A tar file in memory, with headers that may lie."""

    def __init__(self, pax=False):
        self.file = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.file, mode="w",
                                format=tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT)

    def add(self, name, data=None, kind=None, **fields):
        info = tarfile.TarInfo(name)
        info.type = kind or (tarfile.DIRTYPE if data is None else tarfile.REGTYPE)
        info.mode = 0o755 if data is None else 0o644
        info.size = len(data or b"")
        for field, value in fields.items():
            setattr(info, field, value)
        if info.size == len(data or b""):
            self.tar.addfile(info, io.BytesIO(data) if data else None)
        else:
            # addfile() does not write a header that lies.
            header = info.tobuf(self.tar.format)
            self.file.write(header)
            self.tar.offset += len(header)
        return self

    def bytes(self):
        self.tar.close()
        return self.file.getvalue()


def add_capture(archive, top):
    return (archive.add(top).add(top + "/capture.json", json.dumps(CAPTURE).encode())
            .add(top + "/perf.data").add(top + "/perf.data/data", b"PERFILE2" * 100))


def capture(top="capture", **kwargs):
    return add_capture(Archive(**kwargs), top)


SELFTEST = "perf-poke-selftest/"


def selftest():
    archive = Archive().add(SELFTEST)
    for name in ("selftest.json", "messages", "host.json"):
        archive.add(SELFTEST + name, b"{}")
    for name in ("20261121-093015.042-cpu3-83us", "capture"):
        add_capture(archive, SELFTEST + name).add(SELFTEST + name + "/ring.cpu3", b"x" * 100)
    return archive


def whole():
    """Everything that a capture may contain."""
    top = "20261121-093015.042-cpu3-thread-83us-2/"
    archive = capture(top[:-1]).add(top + "host.json", b"{}")
    for folder, names in (("perf.data/kcore_dir", ("kallsyms", "modules", "kcore")),
                          ("buildid", ()), ("buildid/.build-id", ()), ("buildid/.build-id/0a", ()),
                          ("buildid/.build-id/0a/" + "bc" * 19, ("elf", "debug", "vdso"))):
        archive.add(top + folder)
        for name in names:
            archive.add(top + "%s/%s" % (folder, name), b"x")
    return archive


def many(nr):
    """Twice the limit of entries, plus three."""
    archive = Archive().add("capture").add("capture/buildid").add("capture/buildid/.build-id")
    for i in range(nr):
        archive.add("capture/buildid/.build-id/%02x" % i).add("capture/buildid/.build-id/%02x/01" %
                                                              i)
    return archive


def sparse(size):
    """One byte in a file of that size, as GNU tar has it in pax headers."""
    return Archive(pax=True).add("capture").add(
        "capture/GNUSparseFile.0/host.json", b"1\n0\n1\n".ljust(512, b"\0") + b"x", pax_headers={
            "GNU.sparse.major": "1", "GNU.sparse.minor": "0",
            "GNU.sparse.name": "capture/host.json", "GNU.sparse.realsize": str(size)
        })


def archives():
    yield "good-capture", capture().bytes()
    yield "good-whole", whole().bytes()
    yield "good-poked", capture("20261121-093015.042-poke").bytes()
    yield "good-pax", capture(pax=True).bytes()
    yield "good-link", capture().add("capture/host.json", kind=tarfile.LNKTYPE,
                                     linkname="capture/capture.json").bytes()
    yield "good-setuid", capture().add("capture/host.json", b"#!", mode=0o7777, uid=0,
                                       gid=0).bytes()
    yield "good-many", many(98).bytes()
    yield "good-large", Archive().add("capture").add("capture/host.json", b"a" * MAX_SIZE).bytes()
    yield "good-hole", sparse(MAX_SIZE).bytes()
    yield "good-selftest", selftest().bytes()
    yield "good-not-a-capture", Archive().add("capture").bytes()

    for name, top in (("hidden", ".git"), ("ssh", ".ssh"), ("else", "top"), ("here", "."),
                      ("parent", ".."), ("root", ""), ("date", "20261121-093015"),
                      ("trigger", "20261121-093015.042-cpu3-X-83us"), ("option", "-capture"),
                      ("longer", "captures"), ("newline", "capture\n"), ("c1", "capture\u009b"),
                      ("cpu", "20261121-093015.042-cpu%s-83us" % ("3" * 300))):
        yield "bad-top-" + name, capture(top).bytes()
    for name in ("thread", "newer"):
        yield "good-top-" + name, capture("20261121-093015.042-cpu3-%s-83us" % name).bytes()
    for name, path in (("parent", "capture/../../outside"), ("parent-first",
                                                             "../outside"), ("parent-last",
                                                                             "capture/.."),
                       ("parent-only", ".."), ("parent-deep", "capture/perf.data/../../../outside"),
                       ("dot", "capture/./host.json"), ("dot-first", "./capture/host.json"),
                       ("absolute", "/tmp/perf-poke-fuzz-absolute"), ("empty-part",
                                                                      "capture//host.json"),
                       ("escape", "capture/\x1b[2Jx"), ("newline", "capture/host.json\n"),
                       ("delete", "capture/a\x7f"), ("unicode-control", "capture/a\u009bx"),
                       ("other-top", "other/host.json"), ("unknown", "capture/notes"),
                       ("hidden", "capture/.git"), ("config", "capture/.git/config"),
                       ("in-perf",
                        "capture/perf.data/perf.data"), ("build-id",
                                                         "capture/buildid/.build-id/0a/BC/elf"),
                       ("build-id-short", "capture/buildid/.build-id/0/bc/elf"),
                       ("build-id-name",
                        "capture/buildid/.build-id/0a/bc/x"), ("under-file",
                                                               "capture/capture.json/x"),
                       ("long", "capture/" + "/".join(["y" * 200] * 30)), ("twice",
                                                                           "capture/capture.json"),
                       ("file-for-folder", "capture/perf.data"), ("file-for-top", "capture")):
        yield "bad-" + name, capture().add(path, b"x").bytes()
        yield "bad-pax-" + name, capture(pax=True).add(path, b"x").bytes()
    for name, path in (("capture", "capture.json"), ("data", "perf.data/data"),
                       ("name", "x/capture.json"), ("hidden", ".git/config"), ("parent",
                                                                               "../outside"),
                       ("within", "capture/selftest.json"), ("itself", SELFTEST + "capture.json"),
                       ("deeper", "capture/capture/capture.json"), ("up", "capture/../messages"),
                       ("unknown", "capture/notes"), ("file-for-folder",
                                                      "20261121-093015.042-cpu4-83us"),
                       ("twice", "messages"), ("long", "y" * 300 + "/capture.json")):
        yield "bad-selftest-" + name, selftest().add(SELFTEST + path, b"x").bytes()
    yield "bad-selftest-of-others", capture().add(SELFTEST + "messages", b"x").bytes()
    yield "bad-folder-twice", capture().add("capture/perf.data").bytes()
    yield "bad-folder-for-file", capture().add("capture/host.json").bytes()
    yield "bad-folder-unknown", capture().add("capture/.git").bytes()
    yield "bad-top-is-file", Archive().add("capture", b"x").bytes()
    yield "bad-many", many(99).bytes()

    for name, target in (("absolute", "/etc/passwd"), ("parent", "../outside"),
                         ("inside", "capture.json"), ("folder", "perf.data"), ("up", "..")):
        link = capture().add("capture/host.json", kind=tarfile.SYMTYPE, linkname=target)
        yield "bad-symlink-" + name, link.bytes()
        # A file written through the link.
        link = Archive().add("capture").add("capture/perf.data", kind=tarfile.SYMTYPE,
                                            linkname=target)
        yield "bad-through-" + name, link.add("capture/perf.data/data", b"x").bytes()
        yield "bad-hardlink-" + name, capture().add("capture/host.json", kind=tarfile.LNKTYPE,
                                                    linkname=target).bytes()
    for name, target in (("missing", "capture/perf.data/kcore_dir/kcore"),
                         ("to-folder", "capture/perf.data"), ("to-top", "capture"),
                         ("to-itself", "capture/host.json"), ("with-parent", "capture/../outside"),
                         ("empty", ""), ("out", "../folder/outside")):
        link = capture().add("capture/host.json", kind=tarfile.LNKTYPE, linkname=target)
        yield "bad-hardlink-" + name, link.bytes()
    yield "bad-hardlink-later", (Archive().add("capture").add(
        "capture/host.json", kind=tarfile.LNKTYPE,
        linkname="capture/capture.json").add("capture/capture.json", b"x").bytes())
    for name, kind in (("character", tarfile.CHRTYPE), ("block", tarfile.BLKTYPE),
                       ("pipe", tarfile.FIFOTYPE)):
        yield "bad-device-" + name, capture().add("capture/host.json", kind=kind, devmajor=1,
                                                  devminor=3).bytes()

    yield "bad-large", Archive().add("capture").add("capture/host.json",
                                                    b"a" * (MAX_SIZE + 1)).bytes()
    yield "bad-sum", (Archive().add("capture").add(
        "capture/host.json", b"a" * (MAX_SIZE // 2)).add("capture/perf.data").add(
            "capture/perf.data/data", b"b" * (MAX_SIZE // 2)).add("capture/capture.json",
                                                                  b"c").bytes())
    yield "bad-hole", sparse(1 << 60).bytes()
    yield "bad-hole-a-bit", sparse(MAX_SIZE + 1).bytes()
    yield "bad-announced", Archive().add("capture").add("capture/host.json", b"x",
                                                        size=1 << 40).bytes()
    yield "bad-announced-negative", (Archive().add("capture").add("capture/host.json", b"x",
                                                                  size=-1).bytes())
    plain = capture().bytes()
    yield "bad-empty", b""
    yield "bad-no-entries", Archive().bytes()
    yield "bad-text", b"schema\n" * 1000
    yield "bad-cut-in-header", plain[:700]
    yield "bad-cut-in-data", plain[:1024 + 600]
    yield "bad-checksum", plain[:512] + b"x" + plain[513:]
    if shutil.which("zstd"):
        packed = subprocess.run(["zstd", "-qc", "--no-check"], input=plain, stdout=subprocess.PIPE,
                                check=True).stdout
        yield "good-zstd", packed
        yield "bad-zstd-cut", packed[:-20]
        # Change the header of the first block: without a checksum, changed literals are not
        # noticed.
        yield "bad-zstd-damaged", packed[:6] + bytes(byte ^ 0x55
                                                     for byte in packed[6:12]) + packed[12:]
        zeros = Archive().add("capture").add("capture/host.json", b"\0" * (4 * MAX_SIZE)).bytes()
        yield "bad-zstd-bomb", subprocess.run(["zstd", "-qc"], input=zeros, stdout=subprocess.PIPE,
                                              check=True).stdout


def changed(path, value, of=CAPTURE):
    copy = json.loads(json.dumps(of))
    *folders, last = path.split(".")
    at = copy
    for folder in folders:
        at = at[folder]
    at[last] = value
    return json.dumps(copy).encode()


def captures():
    kernel = {
        "address": "0xffffffff81000000", "user": False, "symbol": "f", "module": "m", "offset": 7
    }
    user = {
        "address": "0x7f0000001000", "user": True, "file": "/usr/bin/x", "offset": 4096,
        "build_id": "11" * 20
    }
    spike = dict(CAPTURE["spike"], trigger="thread", stack=[kernel, user], policy="fifo",
                 priority=50, holder={"pid": 1, "tid": 2, "interrupted": True,
                                      "stack": [kernel]}, noise={"irq_ns": 1})
    one = dict(CAPTURE, spike=spike)
    whole = json.dumps(one, indent=2).encode()
    yield "good-whole", whole
    yield "good-plain", json.dumps(CAPTURE).encode()
    yield "good-more", changed("spike.more", {"a": [1, 2.5, None]})
    yield "good-poked", changed("spike.cpu", -1)
    yield "good-perf", changed("recorder", {"kind": "perf"})
    yield "good-long-name", changed("spike.comm", "x" * 1000)
    yield "good-escapes", changed("spike.comm", "\x1b[2J\n\u0000\u009b\u202e")
    # The command line's messages have the name, cut.
    for i, name in enumerate(("of tomorrow", "p\nt", "p\u009bt", "x" * 31 + "\u00e4")):
        yield "good-kind-%d" % i, json.dumps(dict(CAPTURE, recorder={"kind": name}),
                                             ensure_ascii=False).encode()
    yield "good-clock", changed("recorder.clock.monotonic_ns", (1 << 63) - 2)
    yield "good-no-clock", changed("recorder.clock", [[]])
    states = [{"name": "C1\x1b", "exit_latency_ns": 2}, {"name": "C6"}, 5]
    yield "good-hardware", changed(
        "hardware", {"since_ns": 5, "smis": -1, "steal_ns": None, "idle_states": states}, one)
    yield "good-histogram", changed(
        "statistics", {"count": 9, "cpu": 1 << 40, "histogram": [[0, 16, 8], [64, None, 1]]}, one)
    for i, rows in enumerate(
        (7, [7], [[]], [[0, 1]], [[0, 1, 2, 3]], [[0, 1, -2]], [[None, 1,
                                                                 2]], [[5, 5, 1]], [[0, None, 1],
                                                                                    [9, 10, 1]])):
        yield "bad-histogram-%d" % i, changed("statistics", {"histogram": rows}, one)
    yield "good-deep-stack", changed("spike.stack", [kernel, user] * 200, one)
    for i, text in enumerate(("", "1", "x", "111", "11" * 100, "1x", 5, None)):
        yield "good-build-id-%d" % i, changed("spike.stack", [dict(user, build_id=text)], one)
    for i, text in enumerate(("", "0x", "x", "0x" + "f" * 100, 5, None)):
        yield "good-address-%d" % i, changed("spike.stack", [dict(kernel, address=text)], one)
    yield "bad-trigger", changed("spike.trigger", "of tomorrow", one)
    for i, value in enumerate((1, "x", None, [])):
        yield "bad-frame-%d" % i, changed("spike.holder.stack", [kernel, value], one)
    for i, value in enumerate((-2, 8192, 1 << 40, 1.5, "1", None, [], {}, True)):
        yield "bad-cpu-%d" % i, changed("spike.cpu", value, one)
        yield "bad-time-%d" % i, changed("spike.time_ns", -1 if isinstance(value, int) else value,
                                         one)
        if value is not None:
            yield "bad-ran-cpu-%d" % i, changed("spike.ran_cpu", value, one)
    for field in ("schema", "spike", "recorder", "recorder.kind", "spike.pid", "spike.comm",
                  "spike.time_ns", "spike.holder.interrupted", "spike.wall_time"):
        yield "bad-" + field, changed(field, [[]], one)
    for i in range(0, len(whole) - 1, 97):
        yield "bad-cut-%d" % i, whole[:i]
    yield "bad-deep", b"[" * 100000
    yield "bad-deep-objects", b'{"a":' * 100000
    yield "bad-nul", whole + b"\0"
    yield "bad-tail", whole + b"x"
    yield "bad-utf8", whole.replace(b"lab", b"\xff\xfe")
    yield "bad-large", b" " * (MAX_SIZE + 1)


def record(name, build_id=b"\x11" * 20, misc=0x8002, size=None, id_size=20):
    body = struct.pack("<i20sB3x", -1, build_id, id_size) + name.ljust(
        -(-(len(name) + 1) // 64) * 64, b"\0")
    return struct.pack("<IHH", 67, misc, size if size is not None else len(body) + 8) + body


def mapped(name, build_id=b"\x33" * 20, misc=0x4002, size=None, id_size=20):
    """PERF_RECORD_MMAP2 with a build id."""
    body = struct.pack("<2I3QB3x20s2I", 7, 7, 4096, 4096, 0, id_size, build_id, 5, 2) + name.ljust(
        -(-(len(name) + 1) // 8) * 8, b"\0")
    return struct.pack("<IHH", 10, misc, size if size is not None else len(body) + 8) + body


def with_records(records, table=b""):
    whole = perf_data(table, data=(104, len(records)))
    return whole[:104] + records + struct.pack("<2Q", len(records) + 120, len(table)) + table


def perf_data(table, features=1 << 2, offset=None, size=None, data=(104, 0)):
    before = bin(features & 3).count("1")
    at = 104 + 16 * (before + 1)
    header = struct.pack("<8s2Q2Q2Q2Q4Q", b"PERFILE2", 104, 144, 104, 0, *data, 0, 0, features, 0,
                         0, 0)
    sections = struct.pack("<2Q", at, 0) * before
    sections += struct.pack("<2Q", at if offset is None else offset,
                            len(table) if size is None else size)
    return header + sections + table


def tables():
    two = record(b"/bin/true") + record(b"[vdso]", b"\x22" * 20)
    yield "good-two", perf_data(two)
    yield "good-twice", perf_data(two + two)
    yield "good-kernel", perf_data(record(b"[kernel.kallsyms]", misc=0x8001) + two)
    yield "good-short-id", perf_data(record(b"/bin/true", id_size=8))
    yield "good-id-too-long", perf_data(record(b"/bin/true", id_size=255))
    yield "good-features-before", perf_data(two, features=7)
    yield "good-none", perf_data(b"", features=0)
    yield "good-empty", perf_data(b"")
    aux = struct.pack("<IHHQ32x", 71, 0, 48, 300000) + mapped(b"/not/seen") + bytes(300000 - 88)
    yield "good-mapped", with_records(
        mapped(b"/bin/true") + struct.pack("<IHH", 68, 0, 8) + mapped(b"[vdso]"), two)
    yield "good-mapped-many", with_records(mapped(b"/bin/true") * 4000)
    yield "good-mapped-no-id", with_records(
        mapped(b"/bin/true", misc=2) + mapped(b"//anon", id_size=0))
    yield "good-mapped-behind-trace", with_records(aux + mapped(b"/bin/true"))
    yield "good-mapped-not-aligned", with_records(
        struct.pack("<IHH3x", 81, 0, 11) + mapped(b"/bin/true"))
    yield "bad-mapped-no-name", with_records(mapped(b"/bin/true", size=72))
    yield "bad-mapped-long", with_records(mapped(b"/bin/true", size=104))
    yield "bad-mapped-0", with_records(mapped(b"/bin/true", size=0))
    yield "bad-trace-cut", with_records(aux[:-8])
    yield "bad-trace-size", with_records(struct.pack("<IHHQ32x", 71, 0, 48, 1 << 63))
    yield "bad-empty", b""
    yield "bad-magic", b"X" + perf_data(two)[1:]
    yield "bad-cut", perf_data(two)[:-1]
    yield "bad-header", perf_data(two)[:100]
    yield "bad-offset", perf_data(two, offset=1 << 63)
    yield "bad-offset-end", perf_data(two, offset=1 << 40)
    yield "bad-size", perf_data(two, size=1 << 62)
    yield "bad-data", perf_data(two, data=((1 << 64) - 8, 16))
    yield "bad-data-without-table", perf_data(b"", features=0, data=((1 << 64) - 8, 16))
    yield "bad-record-0", perf_data(record(b"/bin/true", size=0))
    yield "bad-record-header", perf_data(record(b"/bin/true", size=36))
    yield "bad-record-odd", perf_data(record(b"/bin/true", size=41))
    yield "bad-record-long", perf_data(record(b"/bin/true", size=104))
    yield "bad-no-nul", perf_data(record(b"/" * 63).replace(b"/\0", b"//"))


class Recording:
    """A recording of Intel PT on four CPUs as perf record writes it, as far as it is read."""

    PSB, PSBEND = b"\x02\x82" * 8, b"\x02\x23"
    PMU, FIRST_ID, CPUS = 9, 100, 4
    SAMPLE_TYPE = 0x10086  # IDENTIFIER, TID, TIME, CPU
    MMAP, LOST, COMM, FORK, SAMPLE = 1, 2, 3, 7, 9
    MMAP2, AUX, ITRACE_START, SWITCH, SWITCH_CPU_WIDE = 10, 11, 12, 14, 15
    KSYMBOL, TEXT_POKE, ID_INDEX, AUXTRACE_INFO, AUXTRACE, COMPRESSED = 17, 20, 69, 70, 71, 81

    def __init__(self, sampled=False, clock=(31, 1 << 30, 1000)):
        self.data = b""
        self.types = [self.SAMPLE_TYPE | (1 << 20 if sampled else 0), self.SAMPLE_TYPE]
        shift, mult, zero = clock
        self.add(
            self.AUXTRACE_INFO,
            struct.pack("<I4x18Q", 1, self.PMU, shift, mult, zero, 1, 0x400, 0x800, 3, 1, 1, 0x200,
                        0x3c000, 2, 84, 2, 20, 0, 0))

    def add(self, kind, body=b"", misc=0):
        self.data += struct.pack("<IHH", kind, misc, 8 + len(body)) + body
        return self

    def event(self, kind, body=b"", misc=0, time=0, cpu=0, task=(1, 1)):
        body += bytes(-len(body) % 8)
        return self.add(
            kind,
            body + struct.pack("<IIQIIQ", *task, time, cpu, 0, self.FIRST_ID + self.CPUS + cpu),
            misc)

    def switch(self, time, cpu, task, following):
        self.event(self.SWITCH_CPU_WIDE, struct.pack("<ii", *following), 0x2000, time, cpu, task)
        return self.event(self.SWITCH_CPU_WIDE, struct.pack("<ii", *task), 0, time + 9, cpu,
                          following)

    def mapped(self, pid, start, length, name, misc=2, time=0, pgoff=0, build_id=b""):
        identity = struct.pack("<B3x20s", len(build_id), build_id)
        return self.event(
            self.MMAP2,
            struct.pack("<iiQQQ24sII", pid, pid, start, length, pgoff, identity, 5, 2) + name +
            b"\0", misc | (0x4000 if build_id else 0), time)

    def trace(self, data, cpu=0, reference=1 << 57, size=None):
        self.add(
            self.AUXTRACE,
            struct.pack("<QQQIiII",
                        len(data) if size is None else size, 0, reference, cpu, -1, cpu, 0))
        self.data += data
        return self

    def sample(self, data, cpu=0, time=0):
        return self.add(
            self.SAMPLE,
            struct.pack("<QIIQIIQ", self.FIRST_ID + cpu, 1, 1, time, cpu, 0, len(data)) + data)

    @classmethod
    def segments(cls, *times, size=200):
        """Each is a PSB+ with that TSC (None: without), and TNT packets."""
        tsc = [b"" if time is None else b"\x19" + struct.pack("<Q", time)[:7] for time in times]
        return b"".join(cls.PSB + packet + cls.PSBEND + bytes([4 + 2 * (i % 100)]) * size
                        for i, packet in enumerate(tsc))

    def attr(self, event):
        sampled = 4096 if self.types[event] & 1 << 20 else 0
        return struct.pack("<IIQQQQQ", 1 if event else self.PMU, 128, 0xf401 if not event else 9, 1,
                           self.types[event], 0, 1 << 18).ljust(112, b"\0") + struct.pack(
                               "<Q8x", sampled)

    def ids(self, event):
        return struct.pack(
            "<4Q", *range(self.FIRST_ID + event * self.CPUS,
                          self.FIRST_ID + (event + 1) * self.CPUS))

    def whole(self):
        attrs = b"".join(self.attr(i) + struct.pack("<QQ", 104 + 32 * i, 32) for i in range(2))
        head = self.ids(0) + self.ids(1) + attrs
        return struct.pack("<8sQQQQQQ48x", b"PERFILE2", 104, 144, 168, len(attrs), 104 + len(head),
                           len(self.data)) + head + self.data

    def piped(self):
        return struct.pack("<8sQ", b"PERFILE2", 16) + self.data


def with_sideband(one):
    """All kinds of records"""
    one.event(one.COMM, struct.pack("<II", 7, 7) + b"shell\0").mapped(7, 0x1000, 0x4000, b"/bin/sh")
    one.mapped(-1, 0xffffffff81000000, 1 << 24, b"[kernel.kallsyms]_text", misc=1)
    one.event(one.MMAP, struct.pack("<iiQQQ", 7, 7, 0x3000, 0x1000, 0) + b"/lib\0", 2, 5)
    one.event(one.ITRACE_START, struct.pack("<II", 7, 7), time=10,
              cpu=1).switch(20, 1, (7, 7), (0, 0)).switch(50, 1, (0, 0), (8, 9))
    one.event(one.FORK, struct.pack("<IIIIQ", 8, 7, 8, 7, 30),
              time=30).event(one.FORK, struct.pack("<IIIIQ", 8, 8, 9, 8, 31), time=31)
    one.event(one.COMM,
              struct.pack("<II", 8, 8) + b"true\0", 0x2000,
              40).mapped(8, 0x1000, 0x1000, b"/bin/true", time=41)
    one.event(one.SWITCH, b"", 0x2000, 60, 2).event(one.LOST, struct.pack("<QQ", 1, 3), time=70)
    one.event(one.AUX, struct.pack("<QQQ", 0, 4096, 13),
              time=80).event(one.KSYMBOL,
                             struct.pack("<QIHH", 1 << 63, 9, 1, 0) + b"bpf\0", time=5)
    return one.event(one.TEXT_POKE, struct.pack("<QHH", 1 << 63, 2, 2) + b"oldn", time=6)


def recordings():
    new, segments = Recording, Recording.segments
    yield "good-snapshot", with_sideband(new()).trace(segments(1000, 2000, 3000),
                                                      1).trace(segments(5000), 2).whole()
    yield "bad-piped", with_sideband(new()).trace(segments(1000, 2000, 3000), 1).piped()
    overlap = segments(1000, 2000, 3000, 4000)
    whole, untimed = segments(1000, 2000, 3000, 4000), segments(None, None, None, None)
    yield "good-backwards", new().trace(segments(3000, 1000, 500)).whole()
    yield "bad-pieces", new().trace(whole[:300]).trace(whole[300:]).whole()
    yield "good-no-points", new().trace(bytes(100)).trace(bytes(3), 2).whole()
    samples = new(sampled=True).add(new.ID_INDEX, struct.pack("<QQQQq", 1, 101, 1, 1, -1))
    yield "good-samples", samples.sample(whole[:400], 1, 3).sample(untimed[:80], 2).whole()
    yield "good-no-clock", new(clock=(0, 0, 0)).trace(whole).whole()
    yield "good-odd-clock", new(clock=(32, 1, (1 << 64) - 1)).trace(whole).whole()
    yield "good-not-a-reference", new().trace(whole, reference=0).whole()
    yield "good-cut", new().trace(whole).trace(segments(7000), 2).whole()[:-100]
    many = new().trace(whole)
    for i in range(300):
        many.event(new.FORK, struct.pack("<IIIIQ", i + 2, i + 1, i + 2, i + 1, i),
                   time=i).mapped(i, 0x1000 * i, 0x1800, b"/x", time=i)
    yield "good-forks", many.whole()
    yield "bad-empty", b""
    yield "bad-no-records", new().whole()[:168 + 2 * 144]
    yield "bad-no-trace", with_sideband(new()).whole()
    yield "bad-no-info", new().trace(b"").whole()
    yield "bad-compressed", new().trace(whole).add(new.COMPRESSED, bytes(8)).whole()
    yield "bad-trace-size", new().trace(overlap, size=1 << 63).whole()
    yield "bad-attrs", new().trace(whole).whole().replace(struct.pack("<II", new.PMU, 128),
                                                          struct.pack("<II", new.PMU, 1 << 31))


def flows():
    """Traces of the code in the decoder's target: a pattern of 32 bytes."""
    user, kernel = 0x401000, 0xffffffff81001000

    def place(first, ip):
        return bytes([0xc0 | first]) + struct.pack("<Q", ip)

    def psb(time, ip=None):
        tsc = b"\x19" + struct.pack("<Q", time)[:7]
        return (Recording.PSB + (b"\x99\x01" + place(0x1d, ip) if ip is not None else b"") +
                b"\x03" + tsc + b"\x02\x73" + bytes(5) + b"\x02\x03\x14\0" + Recording.PSBEND)

    def one(*parts, **options):
        return with_sideband(Recording(**options)).trace(b"".join(parts), 1).whole()

    fup, tip, pge, pgd = (lambda ip, first=first: place(first, ip)
                          for first in (0x1d, 0x0d, 0x11, 0x01))
    off = b"\x01"
    flow = b"\x06\x0c" + tip(user + 16) + b"\x2b\x33" + tip(user +
                                                            64) + b"\x59\x20" + tip(kernel +
                                                                                    12) + tip(user)
    yield "good-flow", one(psb(1000, user), flow * 40, off)
    yield "good-joined", one(*(psb(1000 * i + 1000, user) + flow * i + tip(user) for i in range(9)),
                             off)
    yield "good-switch", one(psb(1000, kernel), b"\x06" * 30, tip(kernel + 0x1000), flow * 9,
                             psb(90000, user), flow, off)
    yield "good-interrupts", one(psb(1000,
                                     user), (fup(user) + tip(kernel) + b"\x0e" + tip(user)) * 50,
                                 fup(user), off)
    yield "good-off", one(psb(1000), (b"\x99\x01" + pge(user) + b"\x06" + off) * 20, psb(2000),
                          pge(kernel), fup(kernel), pgd(user))
    yield "good-overflow", one(psb(1000, user), (b"\x02\xf3" + fup(user + 32) + flow) * 9,
                               b"\x02\xf3", psb(3000, user), flow)
    yield "good-transaction", one(psb(1000, user), b"\x99\x21", fup(user), b"\x99\x22",
                                  fup(user + 1), tip(user), flow)
    yield "good-hole", one(psb(1000, user + 0x7000), flow, psb(2000, user), flow,
                           tip(user + 0x7000), psb(3000, user), flow)
    yield "good-endless", one(psb(1000, user), tip(user + 28), psb(2000, user), tip(user + 28),
                              fup(user), off)
    yield "good-damaged", one(psb(1000, user), flow, b"\x02\xff", flow, psb(2000, user)[:30])
    yield "good-snapshots", with_sideband(Recording()).trace(
        flow[5:] + psb(2000, user) + flow + psb(3000, user) + flow,
        1).trace(psb(2500, kernel) + flow, 2).whole()
    yield "bad-no-trace", with_sideband(Recording()).whole()
    yield "bad-empty", b""


def real(folder):
    """Recordings of real CPUs, if available."""
    for path in sorted(pathlib.Path(folder).glob("perf.data/*")):
        if path.stat().st_size < 65536:
            yield "good-" + path.name.split(".")[0], path.read_bytes()


def known():
    """Files of known causes."""
    one = {"fingerprint": "irqs-off/acme_flush:0db23299", "worst": "83.412us",
           "count": 12, "expires": "2027-01-31", "comment": "say \"when\""}

    def whole(*causes):
        return json.dumps({"version": 5, "causes": causes}, indent=2).encode()

    yield "good-whole", whole(one, {"fingerprint": "idle/C*"})
    yield "good-empty", whole()
    yield "good-quotes", whole({**one, "comment": "// no comment /* \\\" */"})
    yield "good-escapes", whole({"fingerprint": "\u001b[2J\u202e<>", "comment": "\n\t"})
    for key, value in (("fingerprint", 7), ("fingerprint", ""), ("chain", ["a"]), ("worst", "0us"),
                       ("worst", 7), ("worst", "1y"), ("count", "1"), ("expires", "2027-02-30"),
                       ("expires", "2027-1-1"), ("comment", []), ("more", 1), ("\u001b", 1)):
        yield f"bad-{key.encode().hex()}-{json.dumps(value).encode().hex()[:40]}", whole(
            {**one, key: value})
    yield "bad-version", b'{"version": 1, "causes": []}'
    yield "bad-list", b"[]"
    yield "bad-null", b"null"
    yield "bad-row", whole(one, 7)
    yield "bad-comment", b"// one\n" + whole(one)
    yield "bad-nul", whole(one) + b"\0"
    yield "bad-utf8", whole(one).replace(b"ticket", b"\xff").replace(b"when", b"\xff")
    yield "bad-empty-file", b""
    text = whole(one)
    for at in range(1, len(text) - 1, 7):
        yield f"bad-cut-{at}", text[:at]


def main():
    for target, inputs in (("unpack", archives()), ("capture", captures()), ("known", known()),
                           ("ring", ring.inputs()),
                           ("traced", tables()), ("tracepoints",
                                                  tracepoints.inputs()), ("trace", recordings()),
                           ("decode", itertools.chain(flows(),
                                                      real(sys.argv[2]))), ("symbols",
                                                                            symbols.inputs()),
                           ("unwind", unwind.inputs())):
        folder = os.path.join(sys.argv[1], target)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        # Inputs that libFuzzer keeps: neither good nor bad.
        os.makedirs(os.path.join(sys.argv[1], "found", target), exist_ok=True)
        for name, data in inputs:
            with open(os.path.join(folder, name), "xb") as file:
                file.write(data)


if __name__ == "__main__":
    main()
