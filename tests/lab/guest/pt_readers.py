# SPDX-License-Identifier: GPL-2.0-only
"""Every perf command that reads a trace accepts a capture silently, in all versions, from the
capture's folder alone, even if the traced code is gone. With hidden kernel addresses there is a
capture that says so."""
import collections
import ctypes
import errno
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import capture
import guest
from capture import take
from guest import check, equal

CTL = sys.argv[1]
KPTR_RESTRICT = pathlib.Path("/proc/sys/kernel/kptr_restrict")
# Hides perf's caches.
ENV = {**os.environ, "HOME": "/nonexistent", "PERF_BUILDID_DIR": "/nonexistent"}


def run(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=ENV,
                          stdin=subprocess.DEVNULL, errors="replace")


def text(*argv):
    """Output of a reader, which must not warn."""
    out = run(*argv)
    equal((out.returncode, out.stderr), (0, ""), " ".join(argv))
    return out.stdout


def injected(perf, data, number):
    output = f"/tmp/pt_readers_injected{number}"
    text(perf, "inject", "--itrace=i100usb", "-i", data, "-o", output)
    # Has samples instead of the trace: as many branches as the trace.
    events = collections.Counter(
        re.findall(r"^ *([\w-]+):", text(perf, "script", "-i", output, "-F", "event"),
                   re.MULTILINE))
    shutil.rmtree(output, ignore_errors=True)
    pathlib.Path(output).unlink(missing_ok=True)
    return events


def check_readers(perf, data, number):
    machine = os.uname()
    head = text(perf, "report", "-i", data, "--header-only")
    for fact in (f"hostname : {machine.nodename}", f"os release : {machine.release}",
                 f"arch : {machine.machine}", f"nrcpus online : {os.cpu_count()}"):
        check(fact in head, f"{perf}: no '{fact}' in the header: {head[:600]}")
    report = text(perf, "report", "-i", data, "--header", "--stdio", "--itrace=i100us")
    check("ptsim_" in report,
          f"{perf}: nothing of the traced program in the report: {report[-600:]}")
    check("kernel" in text(perf, "buildid-list", "-i", data), f"{perf}: no build id of the kernel")
    dump = text(perf, "script", "-i", data, "-D")
    check("PSB" in dump, f"{perf}: no trace in the dump")
    check("intel_pt" in text(perf, "evlist", "-i", data, "-v"), f"{perf}: no event intel_pt")
    events = injected(perf, data, number)
    branches = len(guest.Decoded(data, itrace="b", perf=perf).branches)
    check(branches and events["branches"] >= branches,
          f"{perf}: {events} injected of {branches} branches")
    print(f"{perf}: {len(dump.splitlines())} lines of dump, {dict(events)} injected")


def decoded_text(perf, data):
    return text(perf, "script", "-i", data, "--itrace=be", "--ns")


def check_moved(one, perfs):
    """Reads the folder elsewhere, where the traced module is missing or at another address."""
    before = [decoded_text(perf, one.data) for perf in perfs]
    elsewhere = "/tmp/pt_readers_elsewhere/capture"
    shutil.copytree(one.folder, elsewhere)
    shutil.rmtree(one.folder)
    guest.unload("ptsim")
    for perf, expected in zip(perfs, before):
        check("ptsim_main" in expected, f"{perf}: no symbols of the traced module")
        check(
            decoded_text(perf, f"{elsewhere}/perf.data") == expected,
            f"{perf}: another text of the copy than of the capture")


def check_hidden(perfs):
    """Kernel addresses are hidden from everybody: the capture lacks code, says so, and crashes
    no perf."""
    KPTR_RESTRICT.write_text("2")
    try:
        one = take(CTL, "/tmp/pt_readers_hidden")[0]
    finally:
        KPTR_RESTRICT.write_text("0")
    equal(one.json["recorder"]["kcore"], False,
          "kernel code in a capture while addresses are hidden")
    for perf in perfs:
        for argv in (["report", "--header-only"], ["script", "-D"], ["script", "--itrace=be"],
                     ["evlist", "-v"], ["buildid-list"]):
            out = run(perf, *argv, "-i", one.data)
            equal(out.returncode, 0,
                  f"{perf} {argv} of a capture without kernel code: {out.stderr[-300:]}")


class Busy(capture.Late):
    """Programs that are gone, deleted, or in another mount namespace when a capture is written."""

    SHORT, DELETED = "/tmp/pt_readers_short", "/tmp/pt_readers_deleted"
    ELSEWHERE = "/tmp/pt_readers_mount/program"

    def __init__(self):
        super().__init__()
        folder = os.path.dirname(self.ELSEWHERE)
        os.makedirs(folder)
        for path, program in ((self.SHORT, "true"), (self.DELETED, "sleep")):
            shutil.copy(shutil.which(program), path)
        self.programs = [
            subprocess.Popen([self.DELETED, "1000"]),
            subprocess.Popen([
                "unshare", "-m", "sh", "-c",
                f"mount -t tmpfs tmpfs {folder} && cp $(which sleep) {folder}/program && "
                f"exec {folder}/program 1000"
            ])
        ]
        for program, path in zip(self.programs, (self.DELETED, self.ELSEWHERE)):
            # The other mount namespace is not below the guest's changed root.
            guest.wait_for(
                lambda pid=program.pid, path=path: os.readlink(f"/proc/{pid}/exe").endswith(path),
                path)
        self.elsewhere = os.readlink(f"/proc/{self.programs[1].pid}/exe")
        os.unlink(self.DELETED)
        check(not os.path.exists(self.ELSEWHERE), "the other mount namespace is this one")

    def __enter__(self):
        subprocess.run([self.SHORT], check=True)
        return super().__enter__()

    def __exit__(self, *args):
        super().__exit__(*args)
        for program in self.programs:
            program.kill()
            program.wait()


def build_ids(perf, path):
    return {
        name: build_id
        for build_id, name in (line.split(" ", 1)
                               for line in text(perf, "buildid-list", "-i", path).splitlines())
    }


def elf_build_id(perf, path):
    return text(perf, "buildid-list", "-i", path).strip()


def check_build_ids(perfs):
    """Build IDs of the kernel, its modules, the vDSO, and files mapped by tasks that run or ran."""
    busy = Busy()
    # The first capture may be of a timer that was late while the programs started.
    one = take(CTL, "/tmp/pt_readers_user", "-e", "intel_pt//ku", late=busy, count=3)[-1]
    sleep, true = (elf_build_id(perfs[0], os.path.realpath(shutil.which(name)))
                   for name in ("sleep", "true"))
    expected = {Busy.SHORT: true, f"{Busy.DELETED} (deleted)": sleep, busy.elsewhere: sleep}
    mapped = {
        line.split()[5] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
        if " r-xp " in line and "/" in line
    }
    expected |= {path: elf_build_id(perfs[0], path) for path in mapped}
    for perf in perfs:
        ids = build_ids(perf, one.data)
        equal({name: ids.get(name) for name in expected}, expected, f"{perf}: build ids of files")
        for name in ("[kernel.kallsyms]", "[ptsim]", "[late_timer]", "[vdso]"):
            check(re.fullmatch("[0-9a-f]{40}", ids.get(name, "")),
                  f"{perf}: no build id of {name}: {ids}")
        notes = pathlib.Path("/sys/module/ptsim/notes/.note.gnu.build-id").read_bytes()
        equal(ids["[ptsim]"], notes[-20:].hex(), f"{perf}: build id of the module")
        text(perf, "script", "-i", one.data)
        check("ptsim_main" in decoded_text(perf, one.data),
              f"{perf}: no symbols of the traced module")
    print(f"{len(ids)} build ids")


# -- Code of BPF programs --------------------------------------------------------------------------

SYS_BPF, BPF_PROG_GET_NEXT_ID, BPF_PROG_GET_FD_BY_ID, BPF_OBJ_GET_INFO_BY_FD = 321, 11, 13, 15
INFO = struct.Struct("<II8sIIQQQIIQ16sIIQQIIQQ")  # from linux/bpf.h
InfoOf = collections.namedtuple(
    "InfoOf",
    "type id tag code_len xlated_len code xlated load_time uid nr_maps maps name ifindex gpl "
    "netns_dev netns_ino nr_symbols nr_lens symbols lens")


def bpf(command, attr):
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(SYS_BPF, command, attr, len(attr))
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


def program_info(fd, **wanted):
    info = ctypes.create_string_buffer(
        INFO.pack(*InfoOf(*[b"" if f in ("tag", "name") else 0
                            for f in InfoOf._fields])._replace(**wanted)))
    bpf(BPF_OBJ_GET_INFO_BY_FD,
        ctypes.create_string_buffer(struct.pack("<IIQ", fd, INFO.size, ctypes.addressof(info)), 16))
    return InfoOf(*INFO.unpack_from(info))


def program_functions(fd):
    """Code of a program's functions as the kernel reports it: address, bytes."""
    info = program_info(fd)
    code = ctypes.create_string_buffer(info.code_len)
    symbols, lens = (ctypes.c_uint64 * info.nr_symbols)(), (ctypes.c_uint32 * info.nr_lens)()
    program_info(fd, code_len=info.code_len, code=ctypes.addressof(code),
                 nr_symbols=info.nr_symbols, symbols=ctypes.addressof(symbols),
                 nr_lens=info.nr_lens, lens=ctypes.addressof(lens))
    functions, at = [], 0
    for address, length in zip(symbols, lens):
        functions.append((address, code.raw[at:at + length]))
        at += length
    return info.name.rstrip(b"\0").decode(), functions


class Programs(capture.Late):
    """Reads the code of all BPF programs from the kernel meanwhile."""

    def __enter__(self):
        self.functions, attr = {}, ctypes.create_string_buffer(16)
        while True:
            try:
                bpf(BPF_PROG_GET_NEXT_ID, attr)
            except OSError as error:
                check(error.errno == errno.ENOENT, f"BPF_PROG_GET_NEXT_ID: {error}")
                return super().__enter__()
            attr[0:4] = attr[4:8]
            fd = bpf(BPF_PROG_GET_FD_BY_ID, ctypes.create_string_buffer(attr[0:4], 4))
            name, functions = program_functions(fd)
            self.functions.setdefault(name, []).extend(functions)
            os.close(fd)


def kcore_bytes(path, address, length):
    """Bytes of a segment at an address."""
    elf = pathlib.Path(path).read_bytes()
    for i in range(struct.unpack_from("<H", elf, 56)[0]):
        _, _, offset, start, _, size = struct.unpack_from("<IIQQQQ", elf, 64 + i * 56)
        if start <= address and address + length <= start + size:
            return elf[offset + address - start:offset + address - start + length]
    return b""


def enter_in_trace(data, address):
    """Replaces the trace by one that enters a function and runs past the first conditional
    branch."""
    raw = bytearray(data.read_bytes())
    psb = raw.index(bytes.fromhex("0282") * 8)
    kind, _, size, length = struct.unpack_from("<IHHQ", raw, psb - 48)
    equal((kind, size), (71, 48), "the record AUXTRACE before the trace")
    tsc = raw.index(b"\x19", psb + 16)
    packets = (raw[psb:psb + 16] + raw[tsc:tsc + 8] + bytes.fromhex("0223 9901 d1") +
               struct.pack("<Q", address) + bytes.fromhex("04 01")
               )  # PSBEND, MODE.Exec, TIP.PGE, one branch not taken, TIP.PGD
    raw[psb:psb + length] = packets + bytes(length - len(packets))
    data.write_bytes(raw)


def decoded_instructions(perf, data):
    """Address, symbol and bytes of each executed instruction."""
    out = text(perf, "script", "-i", data, "--itrace=i0ns", "-F", "ip,sym,insn")
    return [(int(ip, 16), symbol, bytes.fromhex(code)) for ip, symbol, code in
            re.findall(r"^ *([0-9a-f]+) (\S+).*insn: ((?:[0-9a-f]{2} ?)+)", out, re.MULTILINE)]


def check_bpf(perfs):
    """perf finds the trigger's code in the capture, equal to the kernel's, and decodes through
    it."""
    programs = Programs()
    one = take(CTL, "/tmp/pt_readers_bpf", "--freeze", "signal", late=programs)[0]
    symbols = (one.folder / "perf.data/kcore_dir/kallsyms").read_text()
    check("trigger_hrtimer" in programs.functions, f"no trigger among {list(programs.functions)}")
    for name, functions in programs.functions.items():
        for address, code in functions:
            check(re.search(rf"^{address:016x} t bpf_prog_\S+\s\[bpf\]$", symbols, re.MULTILINE),
                  f"no symbol of {name} at {address:x}")
            equal(
                kcore_bytes(one.folder / "perf.data/kcore_dir/kcore", address, len(code)).hex(),
                code.hex(), f"code of {name}")
    address, code = programs.functions["trigger_hrtimer"][0]
    enter_in_trace(pathlib.Path(one.data) / "data", address)
    for perf in perfs:
        # It may call kernel functions.
        instructions = [
            i for i in decoded_instructions(perf, one.data) if address <= i[0] < address + len(code)
        ]
        check(len(instructions) > 3, f"{perf}: only {instructions} of the trigger")
        equal(instructions[0][0], address, f"{perf}: first instruction")
        for ip, symbol, insn in instructions:
            check(re.fullmatch(r"bpf_prog_[0-9a-f]{16}_trigger_hrtimer", symbol),
                  f"{perf}: {ip:x} is of {symbol}")
            equal(insn, code[ip - address:ip - address + len(insn)],
                  f"{perf}: instruction at {ip:x}")
        print(f"{perf}: {len(instructions)} instructions of the trigger decoded")


capture.load()
readers = capture.perfs()
check_hidden(readers)
visible = take(CTL, "/tmp/pt_readers")[0]
check(visible.json["recorder"]["kcore"], "no kernel code in the capture")
for index, reader in enumerate(readers):
    check_readers(reader, visible.data, index)
check_build_ids(readers)
check_bpf(readers)
check_moved(visible, readers)
