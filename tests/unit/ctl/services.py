# SPDX-License-Identifier: GPL-2.0-only
"""Real services of the distribution, private to a test: in a temporary folder, ended by their PID."""
import contextlib
import glob
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import unittest


def find(*names):
    """The first program of these that exists, or the test is skipped. Names may be patterns of paths."""
    for name in names:
        found = sorted(glob.glob(name))[-1:] if "/" in name else [shutil.which(name)]
        if found and found[0]:
            return found[0]
    raise unittest.SkipTest(f"needs {names[0]} (tests/install-deps --fleet)")


@contextlib.contextmanager
def postgresql():
    """A server on a Unix socket; yields a function that makes URLs of databases of it."""
    server = find("/usr/lib/postgresql/*/bin/postgres", "postgres")
    user = None
    if os.geteuid() == 0:  # whom the server refuses
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            raise unittest.SkipTest("needs the user postgres") from None
    with tempfile.TemporaryDirectory(prefix="pp-") as folder:
        who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        if user:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data, tools = f"{folder}/data", os.path.dirname(server)
        subprocess.run([f"{tools}/initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"], cwd=folder,
                       check=True, stdout=subprocess.DEVNULL, **who)
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = [f"{tools}/pg_ctl", "-D", data, "-w", "-s"]
        subprocess.run([*control, "-l", f"{folder}/log", "-o", options, "start"], cwd=folder, check=True, **who)
        try:
            yield lambda name="postgres": f"postgresql:///{name}?host={folder}&user=postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], cwd=folder, check=True, **who)


def query(url, sql):
    """Rows of text."""
    out = subprocess.run([find("psql"), "-X", "-q", "-t", "-A", "-F", "\t", "-c", sql, url], check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in out.splitlines()]


def export(entries):
    """Entries of a journal in its export format, of hosts by their field _HOSTNAME."""
    out = []
    for number, entry in enumerate(entries):
        time = 1795000000000000 + number
        boot = "0123456789abcdef0123456789abcdef"
        out.append((f"__CURSOR=s={boot};i={number + 1:x};b={boot};m={number + 1:x};t={time:x};x={number + 1:x}\n"
                    f"__REALTIME_TIMESTAMP={time}\n__MONOTONIC_TIMESTAMP={number + 1}\n_BOOT_ID={boot}\n").encode())
        for key, value in entry.items():
            data = value if isinstance(value, bytes) else str(value).encode()
            if b"\n" in data:
                out.append(key.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n")
            else:
                out.append(key.encode() + b"=" + data + b"\n")
        out.append(b"\n")
    return b"".join(out)


def journal(path, entries):
    """A file of the journal, as systemd-journal-remote writes it."""
    remote = find("/lib/systemd/systemd-journal-remote", "/usr/lib/systemd/systemd-journal-remote")
    subprocess.run([remote, f"--output={path}", "-"], input=export(entries), check=True, capture_output=True)


def journalctl(path, *options):
    return subprocess.run([find("journalctl"), f"--file={path}", "--no-pager", *options], check=True, capture_output=True).stdout


def journal_json(path, *options):
    return [json.loads(line) for line in journalctl(path, "-o", "json", *options).splitlines()]
