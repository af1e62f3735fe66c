#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Put the parts of a kernel source that libperf is built from into a folder, and print where they
are from.

usage: unpack.py SOURCE FOLDER

SOURCE is a tarball or a tree; empty, the newest one that a distribution's package has installed. A
FOLDER that already has the parts of this SOURCE is left as it is.
"""

import os
import re
import shutil
import subprocess
import sys
from glob import glob
from pathlib import Path

PARTS = ('tools/lib/perf', 'tools/lib/api', 'tools/lib/zalloc.c', 'tools/include', 'tools/arch')
PLACES = (
    '/usr/src/linux-source-*',
    '/usr/src/linux',
    '~/rpmbuild/SOURCES/linux-*.tar.*',
    '~/rpmbuild/BUILD/kernel-*/linux-*',
)
MISSING = """\
no kernel source to build libperf from.
Debian, Ubuntu: apt install linux-source
Fedora: dnf download --source kernel && rpm -i kernel-*.src.rpm
or say where it is, unpacked or a tarball: -Dkernel_source=/PATH"""


def is_tree(path):
    return (path / PARTS[0]).is_dir()


def is_tarball(path):
    return path.is_file() and '.tar' in path.suffixes


def version(path):
    match = re.search(r'(\d+)\.(\d+)', path.resolve().name)
    return tuple(map(int, match.groups())) if match else (0, 0)


def find_source(name):
    if name:
        found = [Path(name).expanduser()]
    else:
        found = [Path(path) for place in PLACES for path in glob(os.path.expanduser(place))]
    found = [path for path in found if is_tree(path) or is_tarball(path)]
    if not found:
        sys.exit(
            f'{name}: not a kernel tree with tools/lib/perf, nor a tarball (option kernel_source)'
            if name else MISSING)
    return max(found, key=version).resolve()


def files_of(tree):
    for part in PARTS:
        yield tree / part
        yield from (tree / part).rglob('*')


def identity(source):
    files = [source] if is_tarball(source) else files_of(source)
    return f'{source} {max(path.lstat().st_mtime_ns for path in files)}\n'


def unpack(source, folder):
    """Files get the time of now: else ninja would not see that an older kernel has replaced a newer
    one."""
    if is_tarball(source):
        tar = subprocess.run(
            ['tar', '-xmf', source, '-C', folder, '--strip-components=1', '--no-same-owner',
             '--wildcards', *(f'*/{part}' for part in PARTS)],
            env=os.environ | {'XZ_DEFAULTS': '--threads=0'})
        if tar.returncode:
            sys.exit(f'{source}: not a whole kernel source (option kernel_source)')
        return
    for part in PARTS:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, folder / part, symlinks=True, copy_function=shutil.copy)
        else:
            shutil.copy(source / part, folder / part)


def main(name, folder):
    source = find_source(name)
    stamp = identity(source)
    if not ((folder / 'stamp').is_file() and (folder / 'stamp').read_text() == stamp):
        new = folder.with_suffix('.new')
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        unpack(source, new)
        (new / 'stamp').write_text(stamp)
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    print(source)


main(sys.argv[1], Path(sys.argv[2]))
