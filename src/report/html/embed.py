# SPDX-License-Identifier: GPL-2.0-only
"""Files as arrays in C. usage: embed.py OUTPUT NAME=FILE..."""
import pathlib
import sys

with open(sys.argv[1], "w", encoding="ascii") as out:
    for word in sys.argv[2:]:
        name, path = word.split("=", 1)
        data = pathlib.Path(path).read_bytes() + b"\0"
        out.write(f"static const char {name}[] = {{\n")
        for at in range(0, len(data), 20):
            out.write(",".join(str(byte if byte < 128 else byte - 256) for byte in data[at:at + 20]) + ",\n")
        out.write("};\n")
