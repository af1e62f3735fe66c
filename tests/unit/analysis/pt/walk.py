#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Blocks of recordings of real CPUs: the known number of instructions, and perf's symbols for each
branch.

usage: walk.py WALK REALPT [--no-demangle]
"""
import os
import re
import shutil
import subprocess
import sys

# By DynamoRIO; 8bcc and 0b3b by perf.
RECORDINGS = {
    'drio-926b': 146740, 'drio-8bcc': 103749, 'drio-0b3b': 91452, 'drio-c2d9': 59234,
    'drio-8e84': 59225, 'drio-d36d': 8
}
BRANCH = re.compile(r'^\s*([0-9a-f]+) (.+?) =>\s+([0-9a-f]+) (.+?)\s*$')


def perf_names(data, symfs):
    out = subprocess.run([
        'perf', 'script', '-f', '-i', data, '--symfs', symfs, '--itrace=b', '-F', 'ip,sym,addr',
        *sys.argv[3:]
    ], check=True, capture_output=True, text=True).stdout
    names = {}
    for line in out.split('\n'):
        found = BRANCH.match(line)
        if found:
            names[int(found[1], 16)] = found[2]
            names[int(found[3], 16)] = found[4]
    names.pop(0, None)
    return names


def is_same(their, our):
    # For PLTs binutils are the witness, in symbols.py: perf 6.1 goes by the order of relocations,
    # and says _init, which has no size, if there are none. perf has a mapping's name in another
    # field only.
    if our.endswith('@plt'):
        return their in ('_init', '[unknown]') or their.endswith('@plt')
    return their == our or (their == '[unknown]' and our.startswith('['))


def main():
    walk, realpt = sys.argv[1:3]
    if not os.path.isdir(realpt) or not shutil.which('perf'):
        print('SKIP: no recordings of real CPUs beside the checkout, or no perf')
        sys.exit(77)
    bad = 0
    for name, count in RECORDINGS.items():
        data, symfs = f'{realpt}/perf.data/{name}.perf.data', f'{realpt}/sym/{name}'
        told = subprocess.run([walk, data, symfs], check=True, capture_output=True, text=True)
        ours = dict(line.split(None, 1) for line in told.stdout.split('\n') if line)
        ours = {int(ip, 16): symbol for ip, symbol in ours.items()}
        theirs = perf_names(data, symfs)
        wrong = [(ip, symbol, ours.get(ip)) for ip, symbol in theirs.items()
                 if not is_same(symbol, ours.get(ip, ''))]
        insns = int(told.stderr.split()[0])
        print(
            f'{name}: {insns} instructions of {count}; {len(wrong)} of {len(theirs)} addresses '
            f'have another name'
        )
        for ip, their, our in wrong[:20]:
            print(f'  {ip:x}: perf {their}, here {our}')
        bad += len(wrong) + (insns != count) + (not theirs)
    sys.exit(bool(bad))


main()
