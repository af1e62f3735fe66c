# SPDX-License-Identifier: GPL-2.0-only
"""A page with its scripts as an array in C. usage: embed.py OUTPUT NAME PAGE"""
import pathlib
import re
import sys

output, name, path = sys.argv[1:]
page = pathlib.Path(path)
text = re.sub(r'<script src="(.*?)"></script>',
              lambda found: f"<script>\n{(page.parent / found[1]).read_text('utf-8')}</script>",
              page.read_text("utf-8"))
data = text.encode() + b"\0"
with open(output, "w", encoding="ascii") as out:
    out.write(f"static const char {name}[] = {{\n")
    for at in range(0, len(data), 20):
        out.write(",".join(str(byte if byte < 128 else byte - 256)
                           for byte in data[at:at + 20]) + ",\n")
    out.write("};\n")
