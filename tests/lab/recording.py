# SPDX-License-Identifier: GPL-2.0-only
"""Contents of an Intel PT recording of `perf record --kcore`: trace, code and its changes,
kernel symbols."""
import bisect
import functools
import json
import mmap
import pathlib
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import dense  # noqa: E402  # pylint: disable=wrong-import-position

TEXT_POKE, AUXTRACE_INFO, AUXTRACE = 20, 70, 71
# perf's sample_id behind each record: pid, tid, time, CPU, id
SAMPLE_ID = struct.Struct("<IIQIIQ")


def words_at(data, *offsets):
    return [struct.unpack_from("<Q", data, offset)[0] for offset in offsets]


def as_capture(data, buildid, cpu=1):
    """Makes a capture of perf's recording, in a folder beside it, with a spike behind its end. perf
    wrote a stream, and only snapshots are read."""
    dense.join(data / "data")
    capture = data.parent / "as_capture"
    capture.mkdir()
    (capture / "perf.data").symlink_to(data)
    (capture / "buildid").symlink_to(buildid)
    about = {
        "schema": 1, "spike": {"time_ns": 1 << 62, "cpu": cpu},
        "recorder": {"kind": "pt", "clock": {"monotonic_ns": 1, "perf_ns": 1}}
    }
    (capture / "capture.json").write_text(json.dumps(about))
    return capture


class Kcore:
    """perf's copy of /proc/kcore."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start, = words_at(self.data, 32)
        count, = struct.unpack_from("<H", self.data, 56)
        headers = struct.iter_unpack("<IIQQQQQQ", self.data[start:start + 56 * count])
        # Address, size, file offset
        self.segments = [(h[3], h[5], h[2]) for h in headers if h[0] == 1 and h[5]]

    def bytes(self, address, size):
        for begin, length, offset in self.segments:
            if begin <= address < begin + length:
                at = offset + address - begin
                return self.data[at:at + min(size, begin + length - address)]
        return b""


class Symbols:
    def __init__(self, path):
        lines = (line.split() for line in path.read_text().splitlines())
        # Address, name, module
        self.all = sorted((int(w[0], 16), w[2], w[3] if len(w) > 3 else "") for w in lines)
        self.starts = [address for address, _, _ in self.all]
        self.places = {name: address for address, name, _ in self.all}

    def of(self, address):
        """Name, module, offset"""
        at = bisect.bisect(self.starts, address) - 1
        begin, name, module = self.all[at]
        return name, module, address - begin


class Recording:
    def __init__(self, folder):
        self.content = (folder / "data").read_bytes()
        self.kcore = Kcore(folder / "kcore_dir/kcore")
        self.symbols = Symbols(folder / "kcore_dir/kallsyms")
        info = next(r for kind, _, r, _ in self.records() if kind == AUXTRACE_INFO)
        # Conversion of TSC to perf's time
        self.shift, self.mult, self.zero = struct.unpack_from("<QQq", info, 24)

    def records(self):
        """Type, misc, record with header, AUX data behind it"""
        at, size = words_at(self.content, 40, 48)
        end = at + size
        while at < end:
            kind, misc, length = struct.unpack_from("<IHH", self.content, at)
            record = self.content[at:at + length]
            aux = words_at(record, 8)[0] if kind == AUXTRACE else 0
            yield kind, misc, record, self.content[at + length:at + length + aux]
            at += length + aux

    def ns(self, tsc):
        return ((tsc * self.mult >> self.shift) + self.zero) % 2**64

    def tsc(self, ns):
        return max((ns - self.zero << self.shift) // self.mult, 0) if ns else 0

    @functools.cached_property
    def pokes(self):
        """TSC, address, old bytes, new bytes"""
        found = []
        for kind, _, record, _ in self.records():
            if kind == TEXT_POKE:
                address, old, new = struct.unpack_from("<QHH", record, 8)
                found.append((self.tsc(SAMPLE_ID.unpack(record[-SAMPLE_ID.size:])[2]), address,
                              record[20:20 + old], record[20 + old:20 + old + new]))
        return sorted(found)
