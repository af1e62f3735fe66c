#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""An installation is complete: header, library, pkg-config file and program work from there."""
import glob
import os
import re
import shutil
import subprocess

import common

BUILD = os.environ["PERF_POKE_BUILD"]
VERSION = os.environ["PERF_POKE_VERSION"]
SOURCE = os.environ["PERF_POKE_SOURCE"]
CC = os.environ["PERF_POKE_CC"].split()
UNITS = ["perf-poke@.service"] if os.environ["PERF_POKE_SYSTEMD"] == "1" else []
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


class Install(common.HostTest):
    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.folder, "root")
        self.run_tool("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", self.root)

    def run_tool(self, *argv, env=None):
        if not shutil.which(argv[0]):
            self.skipTest("needs " + argv[0])
        result = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True,
                                env={**os.environ, **(env or {})})
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def find(self, name):
        found = glob.glob(os.path.join(self.root, "**", name), recursive=True)
        self.assertEqual(len(found), 1, (name, found))
        return found[0]

    def pkg_config(self, *args):
        folder = os.path.dirname(self.find("libperfpoke.pc"))
        return self.run_tool("pkg-config", *args, "libperfpoke",
                             env={"PKG_CONFIG_PATH": folder,
                                  "PKG_CONFIG_SYSROOT_DIR": self.root}).split()

    def library_path(self):
        return {"LD_LIBRARY_PATH": os.path.dirname(self.find("libperfpoke.so"))}

    def test_files(self):
        """The program, its manual, completions for three shells, one header, one shared library,
        and the binding; nothing internal.
        """
        files = []
        for folder, _, names in os.walk(self.root):
            files += [os.path.join(folder, name) for name in names]
        names = sorted(os.path.basename(file) for file in files)
        expected = [
            "_perf-poke-ctl", "libperfpoke.pc", "libperfpoke.so", "libperfpoke.so.0",
            "libperfpoke.so." + VERSION, "perf-poke-ctl", "perf-poke-ctl.bash",
            "perf-poke-ctl.fish", *UNITS, "perf_poke.h", "rtla-action.bpf.o"
        ]
        self.assertIn("perf_poke__report.3", names)
        names = [name for name in names if not name.endswith(".3")]
        binding = {name for name in names if name.endswith((".py", ".typed", ".pyc"))}
        self.assertLessEqual({"__init__.py", "_library.py", "fixture.py", "py.typed"}, binding)
        names = [name for name in names if name not in binding]
        manual = [name for name in names if re.fullmatch(r"perf-poke[a-z-]*\.[157]", name)]
        commands = re.findall(r"^  ([\w-]+) ", common.run_ctl("--help").stdout, re.MULTILINE)
        pages = [
            "perf-poke-capture.5", "perf-poke-ctl.1", "perf-poke.7",
            *("perf-poke-ctl-%s.1" % command for command in commands)
        ]
        self.assertEqual(manual, sorted(pages))
        self.assertEqual([name for name in names if name not in manual], expected)
        self.assertEqual(self.pkg_config("--modversion"), [VERSION])

    def test_program(self):
        program = self.find("perf-poke-ctl")
        self.assertEqual(self.run_tool(program, "--version", env=self.library_path()),
                         "perf-poke-ctl %s\n" % VERSION)
        linked = self.run_tool("ldd", program, env=self.library_path())
        self.assertIn("libperfpoke.so.0 => " + self.root, linked)

    def test_python_folder(self):
        """The distribution's Python finds the binding below its own prefixes, with no variable
        set."""
        python = "/usr/bin/python3"
        if not os.path.exists(python):
            self.skipTest("needs " + python)
        looks_in = self.run_tool(python, "-ISc", "import site; print(site.getsitepackages())")
        script = os.path.join(SOURCE, "src", "python", "module_folder.py")
        for prefix in "/usr", "/usr/local":
            folder = self.run_tool(python, script, prefix).strip()
            if not folder and "dist-packages" not in looks_in:
                continue
            self.assertEqual(os.path.commonpath([prefix + "/lib", folder]), prefix + "/lib")
            self.assertIn(repr(folder), looks_in)
        self.assertEqual(self.run_tool(python, script, "/nonexistent"), "\n")

    def test_binding(self):
        folder = os.path.dirname(os.path.dirname(self.find("_library.py")))
        said = self.run_tool("python3", "-Bc", "import perf_poke; print(perf_poke.version())",
                             env={"PYTHONPATH": folder, **self.library_path()})
        self.assertEqual(said, VERSION + "\n")

    def test_examples_by_their_comments(self):
        """The command in the comment of each example compiles it in another folder, where it
        refuses a CPU that there is not."""
        env = {"PKG_CONFIG_PATH": os.path.dirname(self.find("libperfpoke.pc")),
               "PKG_CONFIG_SYSROOT_DIR": self.root, **self.library_path()}
        for name in "embed", "loop":
            source = os.path.join(SOURCE, "examples", name + ".c")
            with open(source) as file:
                command = re.search(r"^ \*\t(cc .*) && sudo (\./\w+) 3$", file.read(), re.MULTILINE)
            self.assertTrue(command, name)
            shutil.copy(source, self.folder)
            said = self.run_tool("sh", "-c", f"cd {self.folder} && {command[1]}", env=env)
            self.assertEqual(said, "")
            result = subprocess.run([command[2], "8191"], cwd=self.folder, text=True,
                                    env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(result.returncode, 1)
            self.assert_one_line(result.stderr, "cpu", "8191")

    def test_consumer_in_c(self):
        source, program = os.path.join(SOURCE, "examples",
                                       "embed.c"), os.path.join(self.folder, "embed")
        self.run_tool(*CC, "-std=c11", *STRICT, source, "-o", program,
                      *self.pkg_config("--cflags", "--libs"))
        result = subprocess.run([program, "nonsense"], env={**os.environ, **self.library_path()},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "cpu", "'nonsense'")

    def test_consumer_in_cpp(self):
        source, program = os.path.join(self.folder,
                                       "consumer.cc"), os.path.join(self.folder, "consumer")
        with open(source, "w") as file:
            file.write(
                "#include <perf_poke.h>\n"
                "int main()\n{\n"
                "\tstruct perf_poke_opts opts = {};\n"
                "\topts.sz = sizeof(opts);\n"
                "\tperf_poke *session;\n"
                "\treturn perf_poke__new(&session, &opts) ? perf_poke__version()[0] != '0' : 1;\n"
                "}\n")
        self.run_tool("c++", "-std=c++17", *STRICT, source, "-o", program,
                      *self.pkg_config("--cflags", "--libs"))
        self.run_tool(program, env=self.library_path())


if __name__ == "__main__":
    common.main()
