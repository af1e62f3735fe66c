# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Prints the folder below a prefix where this Python looks for modules; nothing if it has none.

Meson asks Python's install schemes instead, and Debian's python3 does not look where these say for
/usr/local: it has /usr/local/lib/python3.X/dist-packages, but /usr/lib/python3/dist-packages.

Usage: module_folder.py PREFIX
"""
import pathlib
import site
import sys

lib = pathlib.Path(sys.argv[1], "lib")
below = [folder for folder in site.getsitepackages() if lib in pathlib.Path(folder).parents]
print(below[0] if below else "")
