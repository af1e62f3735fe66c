# SPDX-License-Identifier: GPL-2.0-only
"""Unpacks Debian packages into a cache folder, one for each suite. Installs nothing and runs no
maintainer scripts."""
import os
import re
import shutil
import subprocess
import time

from store import LabError, cache, locked, need, run_logged, say

# Archives that apt reads besides the suite
ALSO = {
    "bookworm": ["bookworm-security"], "trixie": ["trixie-security"],
    "trixie-backports": ["trixie", "trixie-security"]
}
# Debian's names of this machine's architecture and of the other that the lab has
NATIVE = "amd64"
LIBRARIES = "usr/lib/x86_64-linux-gnu"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# Merged-/usr links, which bookworm leaves to the installer, and alternatives
LINKS = {
    "bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64",
    "usr/bin/awk": "mawk"
}
UNUSED = ("doc", "man", "locale", "info", "lintian", "bug")
# Kernel packages depend on an initramfs generator.
STATUS = """\
Package: lab
Status: install ok installed
Maintainer: lab
Version: 1
Architecture: all
Provides: linux-initramfs-tool
Description: no package

"""


def mirrors():
    """Mirrors of the system's apt, by label."""
    out = subprocess.run(["apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)"],
                         capture_output=True, text=True, check=True).stdout
    found = dict(line.split("|", 1) for line in reversed(out.splitlines()))
    if "Debian" not in found:
        raise LabError(
            "apt knows no mirror of Debian: run apt-get update first, or name one in its sources")
    return found


class Package:
    """A package's file"""

    def __init__(self, deb):
        self.deb = deb

    def fields(self, *names):
        return subprocess.run(["dpkg-deb", "-f", self.deb, *names], capture_output=True, text=True,
                              check=True).stdout

    def needs(self):
        """Names of the packages that it depends on, the first of alternatives"""
        return [words.split()[0] for words in self.fields("Depends").split(",")]

    def extract(self, folder):
        without = [f"--exclude=./usr/share/{name}" for name in UNUSED]
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", self.deb],
                              stdout=subprocess.PIPE) as data:
            subprocess.run([
                "tar", "-x", "-C", folder, "--keep-directory-symlink", "--no-same-owner", *without
            ], stdin=data.stdout, check=True)
        if data.returncode:
            raise LabError(f"{self.deb}: is damaged")
        self.deb.unlink()


class Suite:
    def __init__(self, name, arch=NATIVE):
        self.name = name
        self.arch = arch
        self.folder = cache() / f"debian_{name}{'' if arch == NATIVE else '_' + arch}"
        self.apt = self.folder / ".apt"
        self.log = self.apt / "log"

    def options(self):
        """apt options that use this folder instead of the system's."""
        options = {
            "Dir::Etc::sourcelist": self.apt / "sources.list", "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State": self.apt, "Dir::State::status": self.apt / "status",
            "Dir::Cache": self.apt, "Debug::NoLocking": 1, "APT::Sandbox::User": "root",
            "Acquire::Languages": "none", "APT::Architecture": self.arch,
            "APT::Architectures": self.arch
        }
        if self.name.endswith("-backports"):
            options["APT::Default-Release"] = self.name
        return [word for item in options.items() for word in ("-o", "{}={}".format(*item))]

    def update(self):
        """Updates package lists older than an hour."""
        need("apt-get", "dpkg-deb", "tar")
        for sub in ("lists/partial", "archives/partial", "packages"):
            (self.apt / sub).mkdir(parents=True, exist_ok=True)
        for sub in ("bin", "sbin", "lib", "lib64"):
            (self.folder / "usr" / sub).mkdir(parents=True, exist_ok=True)
        for link, target in LINKS.items():
            if not (self.folder / link).is_symlink():
                (self.folder / link).symlink_to(target)
        updated = self.apt / "updated"
        if updated.exists() and time.time() - updated.stat().st_mtime < 3600:
            return
        known = mirrors()
        lines = [
            f"deb [signed-by={KEYRING}] {known[label]} {suite} main\n"
            for suite in [*ALSO[self.name], self.name]
            if (label := "Debian-Security" if suite.endswith("-security") else "Debian") in known
        ]
        (self.apt / "sources.list").write_text("".join(lines))
        (self.apt /
         "status").write_text(STATUS + "".join(p.read_text()
                                               for p in sorted((self.apt / "packages").iterdir())))
        run_logged(["apt-get", *self.options(), "update"], self.log)
        updated.touch()

    def newest(self, pattern):
        """The package with the highest version in its name among those that match the pattern."""
        with locked(self.folder.name):
            self.update()
            names = subprocess.run(["apt-cache", *self.options(), "pkgnames"], capture_output=True,
                                   text=True, check=True).stdout.split()
        found = [name for name in names if re.fullmatch(pattern, name)]
        if not found:
            raise LabError(f"{self.name} has no package {pattern}")
        return max(found, key=lambda name: [int(number) for number in re.findall(r"\d+", name)])

    def version(self, package):
        """Version of an unpacked package, or None."""
        with_version = self.apt / "packages" / package
        return re.search(r"(?m)^Version: (?:\d+:)?(.*)",
                         with_version.read_text())[1] if with_version.exists() else None

    def unpack(self, *packages):
        """Unpacks missing packages and their dependencies."""
        with locked(self.folder.name):
            if all(self.version(package) for package in packages):
                return
            self.update()
            say(f"downloading {' '.join(packages)} of {self.name}")
            run_logged([
                "apt-get", *self.options(), "install", "-y", "--download-only",
                "--no-install-recommends", *packages
            ], self.log)
            for deb in (self.apt / "archives").glob("*.deb"):
                self.unpack_one(deb)
            (self.apt /
             "status").write_text(STATUS +
                                  "".join(p.read_text()
                                          for p in sorted((self.apt / "packages").iterdir())))

    def unpack_one(self, deb):
        package = Package(deb)
        fields = package.fields()
        name = re.search(r"(?m)^Package: (.*)", fields)[1]
        package.extract(self.folder)
        (self.apt / "packages" /
         name).write_text(f"{fields.strip()}\nStatus: install ok installed\n\n")

    def download(self, package):
        """The package alone, without those that it depends on"""
        with locked(self.folder.name):
            self.update()
            say(f"downloading {package} of {self.name}")
            folder = self.apt / "archives"
            run_logged(["apt-get", *self.options(), "download", package], self.log, cwd=folder)
            return Package(next(folder.glob(f"{package}_*.deb")))

    def run(self, argv, log):
        """Runs a program of the suite with the folder as its root."""
        alone = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
        script = 'for f in dev proc; do mkdir -p "$0/$f" && mount --rbind "/$f" "$0/$f" || ' \
            'exit; done; exec chroot "$0" "$@"'
        run_logged([*alone, "sh", "-c", script, self.folder, *argv], log,
                   env={"PATH": "/usr/sbin:/usr/bin", "LC_ALL": "C.UTF-8"})

    def program(self, path):
        """The command line that runs a program of the suite with its own loader and libraries."""
        libraries = self.folder / LIBRARIES
        return [
            str(libraries / "ld-linux-x86-64.so.2"), "--library-path",
            str(libraries),
            str(self.folder / path)
        ]
