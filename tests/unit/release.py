#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What makes a release: the version of meson.build wherever else it has to stand; `meson devenv`
runs what is built; the bill of materials names what is linked, as the loader sees it. Usage:
release.py TREE BUILD VERSION
"""
import json
import os
import pathlib
import re
import subprocess
import sys

VERSIONS = {
    "NEWS.md": r"^## (\S+) \(\d{4}-\d\d-\d\d\)$",
    "packaging/debian/changelog": r"^perf-poke \((\S+)\) ",
    "packaging/perf-poke.spec": r"^Version: +(\S+)$",
}


def output(*words, **env):
    return subprocess.run(words, capture_output=True, text=True, check=True,
                          env=os.environ | env).stdout


def libraries(build, version):
    """What the loader loads for ours."""
    return re.findall(r"NEEDED\s+(lib\S+)",
                      output("objdump", "-p", f"{build}/src/lib/libperfpoke.so.{version}"))


def check_versions(tree, version):
    for name, pattern in VERSIONS.items():
        found = re.search(pattern, (tree / name).read_text(), re.MULTILINE)
        assert found and found[
            1] == version, f"{name}: is of {found and found[1]}, meson.build of {version}"


def check_devenv(build, version):
    said = output("meson", "devenv", "-C", build, "perf-poke-ctl", "--version")
    assert said == f"perf-poke-ctl {version}\n", said
    with_binding = any(
        to.endswith("perf_poke/__init__.py")
        for to in json.loads(output("meson", "introspect", "--installed", build)).values())
    if with_binding:
        # A sanitizer has to be loaded first.
        preload = next((name for name in libraries(build, version) if name.startswith("libasan.")),
                       "")
        said = output("meson", "devenv", "-C", build, sys.executable, "-c",
                      "import perf_poke; print(perf_poke.__file__)", LD_PRELOAD=preload,
                      ASAN_OPTIONS="detect_leaks=0")
        assert said.endswith("src/python/perf_poke/__init__.py\n"), said


def check_bill(tree, build, version):
    bill = json.loads(output(sys.executable, str(tree / "packaging/sbom"), build))
    rows = {row["SPDXID"]: row for row in bill["packages"] + bill["files"]}
    assert len(rows) == len(bill["packages"]) + len(bill["files"]), "two rows with one ID"
    for relation in bill["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]
                } <= {"SPDXRef-DOCUMENT", *rows}, relation
    linked = {
        relation["relatedSpdxElement"]: relation["relationshipType"]
        for relation in bill["relationships"] if "LINK" in relation["relationshipType"]
    }
    # The loader's names of libraries begin as those of packages do: libbpf.so.1 is of libbpf1 or
    # libbpf.
    needed = {re.match(r"(lib[a-z-]+)[\w.-]*\.so", name)[1] for name in libraries(build, version)}
    assert needed, "the library loads nothing"
    for name in needed - {"libasan", "libubsan"}:
        assert any(row.removeprefix("SPDXRef-").startswith(name.rstrip("-"))
                   for row in linked) or name == "libc", f"{name} is not in {linked}"
    return len(linked)


def main():
    tree, build, version = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    check_versions(tree, version)
    check_devenv(build, version)
    print(f"{check_bill(tree, build, version)} libraries")
    return 0


if __name__ == "__main__":
    sys.exit(main())
