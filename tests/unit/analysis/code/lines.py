#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Lines and inlined functions are those of addr2line -i, names of C++ and Rust those of c++filt.

usage: lines.py SYMBOLS_OF REALPT [--no-demangle]
"""
import http.server
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

C = """
#include <stdio.h>
static inline __attribute__((always_inline)) int third(volatile int *p) {
    int sum = 0;
    for (int i = 0; i < 9; i++)
        sum += p[i] * i;
    return sum;
}
static inline __attribute__((always_inline)) int second(volatile int *p) {
    return third(p) + third(p + 1);
}
__attribute__((noinline)) int first(volatile int *p) {
    return second(p) ^ 5;
}
int main(int argc, char **argv) {
    volatile int some[16] = { argc };
    printf("%d\\n", first(some));
    return 0;
}
"""
CPP = """
#include <vector>
namespace acme { template <typename T> struct Queue {
    std::vector<T> list;
    __attribute__((noinline)) void push(const T &one) { list.push_back(one); }
    __attribute__((noinline)) T sum() const {
        T all{}; for (auto &one : list) all += one; return all;
    }
}; }
int main(int argc, char **argv) {
    acme::Queue<long> queue;
    queue.push(argc);
    return (int)queue.sum();
}
"""
RUST = """
mod acme { pub struct Queue<T>(pub Vec<T>);
impl<T: Copy + Into<i64>> Queue<T> {
    #[inline(never)] pub fn total(&self) -> i64 { self.0.iter().map(|&one| one.into()).sum() }
} }
fn main() {
    let list: Vec<i32> = std::env::args().map(|word| word.len() as i32).collect();
    println!("{}", acme::Queue(list).total());
}
"""


def run(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, errors='replace',
                          **more).stdout


def ours(tool, path, offsets, env=None):
    """Chains of (function, source, line), by offset."""
    chains = {}
    text = run(tool, 'lines', path, input='\n'.join(f'{at:x}' for at in offsets),
               env={**os.environ, **(env or {})})
    for row in text.splitlines():
        at, place, function = row.split(' ', 2)
        source, line = place.rsplit(':', 1)
        chains.setdefault(int(at, 16), []).append((function, source, int(line)))
    return chains


def theirs(path, addresses):
    chains, address = {}, None
    text = run('addr2line', '-a', '-i', '-f', '-C', '-e', path,
               input='\n'.join(f'{at:x}' for at in addresses))
    rows = iter(text.splitlines())
    for row in rows:
        if re.fullmatch('0x[0-9a-f]+', row):
            address = int(row, 16)
            continue
        place = re.sub(r' \(discriminator \d+\)$', '', next(rows))
        source, line = place.rsplit(':', 1)
        chains.setdefault(address, []).append(
            (row, source.rsplit('/', 1)[-1], int(line) if line.isdigit() else 0))
    return chains


def code_of(path):
    """Functions of the file itself, as (address, size), and what to take off for offsets."""
    segment = next(row.split() for row in run('readelf', '-lW', path).splitlines()
                   if row.split()[:1] == ['LOAD'] and ' E ' in row)
    functions = [(int(row[1], 16), int(row[2], 0)) for row in map(
        str.split, run('readelf', '-sW', path).splitlines())
                 if len(row) > 7 and row[3] == 'FUNC' and row[6].isdigit() and row[2] != '0']
    return sorted(set(functions)), int(segment[2], 16) - int(segment[1], 16)


def plain(name):
    """Without parameters, as perf has it."""
    return re.sub(r'\(.*$', '', name)


def compare(what, tool, path, functions=None, names=True):
    all_of, moved = code_of(path)
    spans = [span for span in all_of if functions is None or span in functions]
    addresses = sorted({at for start, size in spans for at in range(start, start + size)})
    addresses = addresses[::len(addresses) // 20000 + 1]
    found = ours(tool, path, [at - moved for at in addresses])
    wanted, bad, known, deep = theirs(path, addresses), [], 0, 0
    for at in addresses:
        chain, other = found.get(at - moved, []), wanted.get(at, [])
        # Without a line, it is from the symbol table.
        if not any(place[2] for place in other) and not any(place[2] for place in chain):
            continue
        known += 1
        deep += len(chain) > 1
        same = [place[1:] for place in chain] == [place[1:] for place in other]
        if names:
            same &= [plain(p[0]) for p in chain] == [plain(p[0]) for p in other]
        if not same:
            bad.append((hex(at), chain, other))
    print(f'{what}: {known} of {len(addresses)} addresses with lines, {deep} inlined, '
          f'{len(bad)} differ')
    for row in bad[::len(bad) // 5 or 1]:
        print('  %s\n    here      %s\n    addr2line %s' % row)
    must(not bad, 'all are the same')
    return known, deep


def must(holds, what):
    if not holds:
        sys.exit(f'not so: {what}')


def c_program(tool, folder):
    with open('request.c', 'w') as file:
        file.write(C)
    for flags in (['-O2'], ['-O2', '-gdwarf-4'], ['-O0'], ['-O2', '-no-pie', '-gz']):
        run('gcc', *flags, '-g', '-o', 'request', 'request.c')
        known, deep = compare(f'C {flags}', tool, f'{folder}/request')
        must(known > 60 and (deep > 20 or '-O0' in flags), 'the program has inlined functions')


def first_chain(tool, path, address_of, **env):
    moved = code_of(address_of)[1]
    start = int(re.search(r'^([0-9a-f]+) T first$', run('nm', address_of), re.M)[1], 16)
    return ours(tool, path, [start - moved], env).get(start - moved)


def split_programs(tool, folder):
    """Stripped, with the debug information elsewhere; a name that is a path is not followed."""
    run('gcc', '-O2', '-g', '-o', 'whole', 'request.c')
    wanted = first_chain(tool, f'{folder}/whole', 'whole')
    must(wanted and wanted[-1][0] == 'first' and wanted[-1][1] == 'request.c', wanted)
    build_id = re.search(r'Build ID: ([0-9a-f]+)', run('readelf', '-n', 'whole'))[1]
    os.makedirs('bin/.debug')
    run('objcopy', '--only-keep-debug', 'whole', 'keep.debug')
    kept = f'.build-id/{build_id[:2]}/{build_id[2:]}'
    for link, place, env, found in (
            (True, 'bin/keep.debug', {}, True),
            (True, 'bin/.debug/keep.debug', {}, True),
            (True, 'keep.debug', {}, False),
            (False, f'cache/{kept}/debug', {'PLACES': f'{folder}/cache'}, True),
            (False, f'root/usr/lib/debug/{kept}.debug', {'SYMFS': f'{folder}/root'}, True),
            (True, f'root{folder}/bin/keep.debug', {'SYMFS': f'{folder}/root'}, True),
            (True, f'root/usr/lib/debug{folder}/bin/keep.debug', {'SYMFS': f'{folder}/root'}, True),
            (False, None, {}, False)):
        run('strip', '-o', 'bin/part', 'whole')
        if link:
            run('objcopy', '--add-gnu-debuglink=keep.debug', 'bin/part')
        if place:
            os.makedirs(os.path.dirname(place) or '.', exist_ok=True)
            if place != 'keep.debug':
                shutil.copy('keep.debug', place)
        chain = first_chain(tool, f'{folder}/bin/part', 'whole', HOME=folder, **env)
        must(chain == (wanted if found else None), (link, place, chain))
        if place and place != 'keep.debug':
            os.remove(place)
    # Of another build.
    run('gcc', '-O2', '-g', '-DOTHER', '-o', 'other', 'request.c', '-Wl,--build-id=0x1234')
    run('objcopy', '--only-keep-debug', 'other', 'bin/keep.debug')
    run('objcopy', '--add-gnu-debuglink=bin/keep.debug', 'bin/part')
    must(first_chain(tool, f'{folder}/bin/part', 'whole') is None, 'another build')
    # As long as the name before it.
    with open('bin/part', 'rb') as file:
        data = file.read()
    shutil.copy('keep.debug', 'bin/keep.debug')
    with open('bin/part', 'wb') as file:
        file.write(data.replace(b'keep.debug\0', b'../k.debug\0'))
    shutil.copy('keep.debug', 'k.debug')
    must(first_chain(tool, f'{folder}/bin/part', 'whole') is None, 'a path is not followed')


def served_debug(tool, folder):
    """From a server, if DEBUGINFOD_URLS names one, and never without."""
    if not any(os.path.exists(f'{place}/libdebuginfod.so.1')
               for place in ('/usr/lib/x86_64-linux-gnu', '/usr/lib64')):
        print('there is no libdebuginfod')
        return
    asked = []
    build_id = re.search(r'Build ID: ([0-9a-f]+)', run('readelf', '-n', 'whole'))[1]
    run('strip', '-o', 'bin/part', 'whole')

    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            found = self.path == f'/buildid/{build_id}/debuginfo'
            self.send_response(200 if found else 404)
            self.end_headers()
            if found:
                with open(f'{folder}/keep.debug', 'rb') as file:
                    self.wfile.write(file.read())

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(('127.0.0.1', 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {'HOME': folder, 'DEBUGINFOD_CACHE_PATH': f'{folder}/served'}
        must(first_chain(tool, f'{folder}/bin/part', 'whole', **env) is None and not asked,
             'no server is asked without DEBUGINFOD_URLS')
        env['DEBUGINFOD_URLS'] = f'http://127.0.0.1:{server.server_address[1]}'
        chain = first_chain(tool, f'{folder}/bin/part', 'whole', **env)
        must(chain and chain[-1][0] == 'first' and asked, (chain, asked))
        server.shutdown()
    print(f'a server was asked for {asked}')
    reader_is_killed(tool, folder)


def gone(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rpartition(')')[2].split()[0] == 'Z'
    except OSError:
        return True


def reader_is_killed(tool, folder):
    """While a server of debug information does not answer: no process is left."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        env = os.environ | {
            'HOME': folder, 'DEBUGINFOD_CACHE_PATH': f'{folder}/hung',
            'DEBUGINFOD_URLS': f'http://127.0.0.1:{server.getsockname()[1]}'
        }
        reader = subprocess.Popen([tool, 'lines', f'{folder}/bin/part'], env=env,
                                  stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        reader.stdin.write(b'0\n')
        reader.stdin.close()
        server.settimeout(30)
        with server.accept()[0]:
            with open(f'/proc/{reader.pid}/task/{reader.pid}/children') as file:
                child = int(file.read())
            reader.kill()
            reader.wait()
            end = time.monotonic() + 20
            while not gone(child) and time.monotonic() < end:
                time.sleep(0.01)
            must(gone(child), 'it ends with its reader')


def odd_files(tool, folder):
    """Whatever a file has in its debug information, the symbolizer's user goes on."""
    with open('whole', 'rb') as file:
        whole = file.read()
    chooser, named = random.Random(1), 0
    _, moved = code_of('whole')
    start = int(re.search(r'^([0-9a-f]+) T first$', run('nm', 'whole'), re.M)[1], 16)
    sections = [(int(row[0], 16), int(row[1], 16)) for row in re.findall(
        r'\.debug_\S+ +PROGBITS +\w+ (\w+) (\w+)', run('readelf', '-SW', 'whole'))]
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chooser.choice((1, 5, 50))):
            at, size = chooser.choice(sections)
            data[at + chooser.randrange(size)] = chooser.choice((0, 1, 0x7f, 0x80, 0xff,
                                                                 chooser.randrange(256)))
        with open('odd', 'wb') as file:
            file.write(data)
        named += bool(ours(tool, f'{folder}/odd', [start - moved]))
    print(f'{named} of 60 odd files have lines')


def names_of_others(tool, folder, mangled):
    """Of compilers that mangle names: as c++filt has them, without parameters."""
    for name, source, compiler, wanted in (
            ('queue.cc', CPP, ['g++', '-std=c++17'], ['acme::Queue<long>::push',
                                                      'acme::Queue<long>::sum']),
            ('queue.rs', RUST, ['rustc'], ['queue::acme::Queue<T>::total']),
            ('v0.rs', RUST, ['rustc', '-Csymbol-mangling-version=v0'],
             ['<v0::acme::Queue<i32>>::total'])):
        if not shutil.which(compiler[0]) or mangled:
            print(f'{name}: no {compiler[0]}, or names stay as they are')
            continue
        with open(name, 'w') as file:
            file.write(source)
        level = '-O' if name.endswith('rs') else '-O2'
        made = subprocess.run([*compiler, level, '-g', '-o', 'queue', name], capture_output=True,
                              check=False)
        if made.returncode:
            print(f'{name}: {compiler[0]} does not work here')
            continue
        functions = run('nm', '-S', 'queue').splitlines()
        spans = [tuple(int(word, 16) for word in row.split()[:2]) for row in functions
                 if re.search(r' [tTwW] \S*(Queue)', row)]
        moved = code_of('queue')[1]
        found = {name for chain in ours(tool, f'{folder}/queue', [
            at - moved for start, size in spans for at in range(start, start + size)
        ]).values() for name, _, _ in chain}
        must(set(wanted) <= found, (wanted, sorted(found)))
        compare(name, tool, f'{folder}/queue', spans, names=False)


def main():
    tool, realpt = map(os.path.abspath, sys.argv[1:3])
    os.environ.pop('DEBUGINFOD_URLS', None)
    if not shutil.which('addr2line') or not shutil.which('gcc'):
        print('SKIP: there is no addr2line, or no gcc')
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        c_program(tool, folder)
        split_programs(tool, folder)
        served_debug(tool, folder)
        odd_files(tool, folder)
        names_of_others(tool, folder, '--no-demangle' in sys.argv)
    recorded = [
        f'{root}/{name}' for root, _, files in os.walk(f'{realpt}/sym') for name in files
        if b'.debug_info' in open(f'{root}/{name}', 'rb').read()
    ]
    for path in recorded:
        compare(path.removeprefix(realpt), tool, path)


main()
