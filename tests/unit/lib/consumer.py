#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The public header by itself is pedantic C99, C11 and C++17. Usage: consumer.py HEADER CC..."""

import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I."]
CONSUMER = """\
#include "perf_poke.h"
#include "perf_poke.h"

int main(void)
{
	struct perf_poke_opts opts;
	struct perf_poke *pp;

	opts.sz = sizeof(opts);
	if (perf_poke__new(&pp, &opts))
		return 1;
	perf_poke__free(pp);
	return perf_poke__version() ? PERF_POKE_LOG_ERROR : 1;
}
"""


def compile_in(folder, compiler, standard, source):
    """The assembly, or None after showing why there is none."""
    result = subprocess.run([*compiler, f"-std={standard}", *FLAGS, "-S", "-o", "-", source],
                            cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        print(f"{shlex.join(compiler)} -std={standard}:\n{result.stderr}")
        return None
    return result.stdout


def check(folder, compiler, standard, source):
    assembly = compile_in(folder, compiler, standard, source)
    if assembly is None:
        return False
    # Mangled, it would not be found in the library.
    if not re.search(r"\bperf_poke__new\b", assembly):
        print(f"{shlex.join(compiler)}: the functions are not extern \"C\"")
        return False
    print(f"{shlex.join(compiler)} -std={standard}: fine")
    return True


def main():
    header, *built_with = sys.argv[1:]
    if not shutil.which(built_with[0]):
        print(f"skipped: {built_with[0]} is of another machine")
        return 77
    c_compilers = [built_with] + [[name] for name in ("cc", "gcc", "clang") if shutil.which(name)]
    cxx_compilers = [[name] for name in ("c++", "g++", "clang++") if shutil.which(name)]
    if not cxx_compilers:
        print("no C++ compiler: only C is checked")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(header, folder)
        (folder / "consumer.c").write_text(CONSUMER)
        (folder / "consumer.cpp").write_text(CONSUMER)
        results = [check(folder, compiler, standard, "consumer.c")
                   for compiler in c_compilers for standard in ("c99", "c11")]
        results += [check(folder, compiler, "c++17", "consumer.cpp") for compiler in cxx_compilers]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
