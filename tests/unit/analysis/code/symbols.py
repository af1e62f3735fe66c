#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Our symbols equal stock perf's, for this machine's kernel and for programs.

usage: symbols.py SYMBOLS_OF [--no-demangle]
"""
import functools
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

MISC_KERNEL, MISC_USER = 1, 2
RECORD_MMAP, RECORD_SAMPLE = 1, 9
SAMPLE_IP_TID = 1 | 2
ATTR_SIZE = 112
NAMED_MIN = 4  # shells and interpreters have symbols of their own, and what we built
PID = 4242


def skip(why):
    print('SKIP:', why)
    sys.exit(77)


def record(kind, misc, body):
    return struct.pack('<IHH', kind, misc, 8 + len(body)) + body


def mmap(misc, pid, start, length, offset, name):
    name = name.encode() + b'\0'
    name += b'\0' * (-len(name) % 8)
    return record(RECORD_MMAP, misc, struct.pack('<iiQQQ', pid, pid, start, length, offset) + name)


def write(path, maps, misc, ips):
    """A perf.data with a sample at each address."""
    attr = struct.pack('<IIQQQ', 1, ATTR_SIZE, 0, 1, SAMPLE_IP_TID).ljust(ATTR_SIZE, b'\0')
    data = maps + b''.join(
        record(RECORD_SAMPLE, misc, struct.pack('<QII', ip, PID, PID)) for ip in ips)
    at = 104 + len(attr) + 16
    with open(path, 'wb') as file:
        file.write(b'PERFILE2' + struct.pack('<QQQQQQQQ', 104,
                                             len(attr) + 16, 104,
                                             len(attr) + 16, at, len(data), 0, 0))
        file.write(bytes(32) + attr + struct.pack('<QQ', 0, 0) + data)


def perf_names(path, ips):
    out = subprocess.run(
        ['perf', 'script', '-f', '-i', path, '-F', 'ip,sym', '--no-inline', *sys.argv[2:]],
        check=True, capture_output=True, text=True).stdout.split('\n')
    rows = [row.split(None, 1) for row in out if row.strip()]
    if len(rows) != len(ips):
        sys.exit(f'perf tells {len(rows)} of {len(ips)} samples')
    return ['' if len(row) == 1 or row[1] == '[unknown]' else row[1] for row in rows]


def our_names(tool, args, ips):
    text = '\n'.join(f'{ip:x}' for ip in ips)
    return subprocess.run([tool, *args], input=text, check=True, capture_output=True,
                          text=True).stdout.split('\n')[:-1]


@functools.cache
def is_newer():
    """perf decodes PLTs by their code since 6.2; Debian's then shows parameters of C++ too."""
    text = subprocess.run(['perf', '--version'], check=True, capture_output=True, text=True).stdout
    return tuple(map(int, re.search(r'(\d+)\.(\d+)', text).groups())) > (6, 1)


def thread_locals(path, *options):
    """Variables whose relocations are among those of the PLT on arm64. They have no entry, though
    perf 6.1 counts one for each."""
    out = subprocess.run(['readelf', '-rW', *options, path], check=True, capture_output=True,
                         text=True).stdout
    return re.findall(r' R_AARCH64_TLSDESC +\w+ +(.+?)(?:@\S+)? \+ ', out)


def program_differs(without_entry, their, our):
    if not our and their.endswith('@plt') and their[:-len('@plt')] in without_entry:
        return True
    # perf 6.1 names PLT entries by the order of relocations, which may differ, and may say _init,
    # which has no size and lies before. See linkage().
    if their in ('', '_init') or their.endswith('@plt'):
        return our.endswith('@plt') or (is_newer() and not our)
    if not is_newer():
        return False
    if their == '.plt' or their.endswith('@plt') or (their, our) == ('', '_init'):
        return True
    return bool(our) and f'{our}(' in their


def module_differs(their, our):
    """Later versions of perf end a module's last symbol after a page."""
    return is_newer() and not their and our in ('three', 'last', 'bpf_prog_6deef7357e7b4530_sd_fw',
                                                'ftrace_trampoline')


def has_own_symbols(path):
    """perf 6.1 names the PLT only of a file that has a symbol besides."""
    out = subprocess.run(['readelf', '-sW', path], check=True, capture_output=True,
                         text=True).stdout
    return re.search(r'^ +\d+: +(?!0+ )\w+ +\w+ +(FUNC|OBJECT|IFUNC) +\w+ +\w+ +\d+ ', out, re.M)


def compare(what, ips, theirs, ours, allow, has_names=True):
    bad = [(ip, their, our) for ip, their, our in zip(ips, theirs, ours)
           if their != our and not allow(their, our)]
    named = sum(bool(name) for name in theirs)
    print(f'{what}: {len(ips)} addresses, {named} with a name, {len(bad)} differ')
    for ip, their, our in bad[::len(bad) // 20 or 1]:
        print(f'  {ip:x}: perf {their!r}, here {our!r}')
    if bad or (has_names and not named) or len(theirs) != len(ours):
        sys.exit(1)
    return named


def write_kcore(path, parts):
    """A core of these parts; its contents do not affect symbols."""
    head = b'\x7fELF\x02\x01\x01'.ljust(16, b'\0')
    head += struct.pack('<HHIQQQIHHHHHH', 4, 62, 1, 0, 64, 0, 0, 64, 56, len(parts), 0, 0, 0)
    at = 0x1000
    for start, end in parts:
        head += struct.pack('<IIQQQQQQ', 1, 7, at, start, 0, end - start, end - start, 0x1000)
        at += end - start
    with open(path, 'wb') as file:
        file.write(head)
        file.truncate(at)


# Two unordered modules, aliases, data, another case, a program and a trampoline.
MODULES = """ffffffffc0203000 t two\t[b]
ffffffffc0203010 t three\t[b]
ffffffffc0201000 t init\t[a]
ffffffffc0201000 t __init\t[a]
ffffffffc0201040 t $d\t[a]
ffffffffc0201080 t $x\t[a]
ffffffffc0201080 W weak\t[a]
ffffffffc0201080 T strong\t[a]
ffffffffc0201080 t hidden\t[a]
ffffffffc0201100 d variable\t[a]
ffffffffc0201180 r ignored\t[a]
ffffffffc0201200 T last\t[a]
ffffffffc0208000 t bpf_prog_6deef7357e7b4530_sd_fw\t[bpf]
ffffffffc020a000 t ftrace_trampoline\t[__builtin__ftrace]
"""
MODULE_PART = (0xffffffffc0201000, 0xffffffffc020c000)


def kernel(tool, folder):
    with open('/proc/kallsyms') as file:
        lines = [line for line in file if '[' not in line]
    starts = sorted({int(line.split()[0], 16) for line in lines})
    named = {line.split()[2]: int(line.split()[0], 16) for line in lines}
    if not named.get('_stext') or not named.get('_etext'):
        return False
    parts = [(named['_stext'] & ~0xfff, named['_etext'] + 0xfff & ~0xfff), MODULE_PART]
    data = f'{folder}/kernel'
    os.makedirs(f'{data}/kcore_dir')
    with open(f'{data}/kcore_dir/kallsyms', 'w') as file:
        file.write(''.join(lines) + MODULES)
    open(f'{data}/kcore_dir/modules', 'w').close()
    write_kcore(f'{data}/kcore_dir/kcore', parts)
    starts = [
        ip for start in starts if parts[0][0] <= start < parts[0][1]
        for ip in (start, start + 1, start + 64)
    ]
    ips = sorted(set(starts)) + list(range(MODULE_PART[0], MODULE_PART[1], 8))
    maps = mmap(MISC_KERNEL, -1, parts[0][0], parts[0][1] - parts[0][0], named['_text'],
                '[kernel.kallsyms]_text')
    write(f'{data}/data', maps, MISC_KERNEL, ips)
    compare('kernel', ips, perf_names(data, ips),
            our_names(tool, ['kallsyms', f'{data}/kcore_dir/kallsyms'], ips), module_differs)
    return True


def program(tool, folder, path):
    out = subprocess.run(['readelf', '-lW', path], check=True, capture_output=True,
                         text=True).stdout
    row = next(line.split() for line in out.split('\n')
               if line.split()[:1] == ['LOAD'] and ' E ' in line)
    offset, size = int(row[1], 16) & ~0xfff, (int(row[4], 16) + 0x1fff) & ~0xfff
    step = max(size // 50000, 7)
    ips = list(range(offset, min(offset + size, os.path.getsize(path)), step))
    base = 0x500000000000
    data = f'{folder}/program'
    write(data, mmap(MISC_USER, PID, base + offset, size, offset, path), MISC_USER,
          [base + ip for ip in ips])
    without_entry = thread_locals(path, *([] if sys.argv[2:] else ['--demangle']))
    named = compare(path, ips, perf_names(data, ips), our_names(tool, ['elf', path], ips),
                    functools.partial(program_differs, without_entry),
                    is_newer() or has_own_symbols(path))
    linkage(tool, path, int(row[1], 16) - int(row[2], 16))
    return named > 0


def run(*argv):
    return subprocess.run(argv, check=False, capture_output=True, text=True).stdout


def linkage_by_binutils(path):
    """Entries of the PLT as objdump names them, but those of indirect functions"""
    text = run('objdump', '-d', '-j', '.plt', '-j', '.plt.got', '-j', '.plt.sec', path)
    return {
        int(ip, 16): name.split('@')[0]
        for ip, name in re.findall(r'^([0-9a-f]+) <([^>]+)@plt>:', text, re.M)
        if not name.startswith(('*ABS*', '_Z'))
    }


def linkage_by_slots(path):
    """The same of arm64, by the address that each entry loads from, and what is relocated there:
    objdump takes entries of 24 bytes for 16 in a PIE with BTI, as Debian 13 has them."""
    slots = {
        int(slot, 16): name for slot, name in re.findall(
            r'^([0-9a-f]+) +\w+ R_AARCH64_JUMP_SLOT +\w+ +([^@ ]+)', run('readelf', '-rW', path),
            re.M)
    }
    loads = re.findall(
        r'^ +([0-9a-f]+):\t.*\tadrp\tx16, ([0-9a-f]+).*\n'
        r'(?:\n.*>:\n)? +([0-9a-f]+):\t.*\tldr\tx17, \[x16(?:, #(\d+))?\]',
        run('objdump', '-d', '-j', '.plt', path), re.M)
    return {
        int(ip, 16): name for first, page, second, offset in loads
        if not (name := slots.get(int(page, 16) + int(offset or 0), '_Z')).startswith('_Z')
        for ip in (first, second)
    }


def linkage(tool, path, moved):
    names = (linkage_by_slots if os.uname().machine == 'aarch64' else linkage_by_binutils)(path)
    ours = our_names(tool, ['elf', path], [ip + moved for ip in names])
    bad = [(hex(ip), name, our) for (ip, name), our in zip(names.items(), ours)
           if our != f'{name}@plt']
    print(f'  {len(names)} lines of linkage, {len(bad)} differ {bad[:5]}')
    if bad:
        sys.exit(1)


def main():
    tool = sys.argv[1]
    if not shutil.which('perf') or not shutil.which('readelf'):
        skip('there is no perf, or no readelf')
    with tempfile.TemporaryDirectory() as folder:
        libraries = f'/usr/lib/{os.uname().machine}-linux-gnu'
        programs = [
            '/bin/true', '/bin/bash', sys.executable, f'{libraries}/libc.so.6',
            f'{libraries}/libm.so.6', f'{libraries}/libstdc++.so.6', tool
        ]
        named = [path for path in programs
                 if os.path.exists(path) and program(tool, folder, os.path.realpath(path))]
        if len(named) < NAMED_MIN:
            sys.exit(f'perf names something in {len(named)} files only')
        if not kernel(tool, folder):
            skip('names of the kernel: its addresses are hidden from others than root')


main()
