#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The commands of docs/fleet.md that ask SQL, with SQLite and with a PostgreSQL server of its
own."""
import datetime
import glob
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit/ctl"))
import made  # noqa: E402

SOURCE, CTL = os.environ["PERF_POKE_SOURCE"], os.environ["PERF_POKE_CTL"]
HOSTILE = "'); DROP TABLE cause; --\"$1\\"


def make(folder):
    now = datetime.datetime.now(datetime.timezone.utc)
    for number, (host, culprit, hours) in enumerate([("rt1", "acme_flush", 40),
                                                     ("rt1", "acme_flush", 2),
                                                     (HOSTILE, "acme_drain", 2)]):
        made.stack_capture(
            folder / f"hosts/{number}/20261121-093000.000-cpu1-83us", culprit, host=host,
            wall_time=f"{now - datetime.timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}.000000Z")


def answers(folder, commands, name):
    """What the commands of one database print."""
    first, sqlite, psql = commands.split("\n\n")
    script = first + "\n" + {"sqlite3": sqlite, "psql": psql}[name]
    return subprocess.run(["sh", "-euc", script], cwd=folder, check=True, capture_output=True,
                          text=True).stdout


def check(text, name):
    assert re.search(r"irqs-off/acme_drain:[0-9a-f]{8}", text), (name, text)
    assert "acme_flush" not in text, (name, text)
    assert HOSTILE.split("\\")[0] in text and re.search(r"rt1\W+2\b", text), (name, text)


def main():
    page = pathlib.Path(SOURCE, "docs/fleet.md").read_text(encoding="utf-8")
    commands = page.split("## Ask with SQL")[1].split("```sh\n")[1].split("\n```")[0]
    server = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1:] or [shutil.which("initdb")]
    for program, path in ("sqlite3", shutil.which("sqlite3")), ("psql",
                                                                shutil.which("psql")), ("initdb",
                                                                                        server[0]):
        if not path:
            print(f"skipped: needs {program} (tests/install-deps --fleet)")
            sys.exit(77)
    tools, user = os.path.dirname(os.path.realpath(server[0])), pwd.getpwnam("nobody")
    who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []
           } if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="pp-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        (folder / "server").mkdir()
        if who:
            os.chown(folder / "server", user.pw_uid, user.pw_gid)
        make(folder)
        os.environ.update(PATH=f"{os.path.dirname(CTL)}:{os.environ['PATH']}",
                          PGHOST=f"{folder}/server", PGUSER="postgres", PGDATABASE="postgres")
        check(answers(folder, commands, "sqlite3"), "sqlite3")
        data = f"{folder}/server/data"
        subprocess.run([
            f"{tools}/initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8",
            "--locale=C", "--no-sync"
        ], cwd=folder / "server", check=True, stdout=subprocess.DEVNULL, **who)
        control = [f"{tools}/pg_ctl", "-D", data, "-w", "-s"]
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}/server -c fsync=off"
        subprocess.run([*control, "-l", f"{folder}/server/log", "-o", options, "start"],
                       cwd=folder / "server", check=True, **who)
        try:
            check(answers(folder, commands, "psql"), "psql")
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], cwd=folder / "server", check=True,
                           **who)


main()
