#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Manual pages of section 3 from the public header: one for each function and type, and
libperfpoke(3).

Usage: man3.py HEADER NEWS VERSION FOLDER
"""
import pathlib
import re
import shutil
import sys
import textwrap

LIBRARY = "libperfpoke"
COMMENT = r"/\*\*<?(?:(?!\*/).)*\*/"
# A description, and what it describes: a type with a body, a typedef, an opaque struct or a
# function
ITEM = re.compile(
    rf"^({COMMENT})\n((?:struct|enum) \w+(?: \{{\n.*?^\}})?;|typedef [^;]*;|[^#/\n][^;{{]*\);)",
    re.MULTILINE | re.DOTALL)
NAME = re.compile(r"\bperf_poke(?:_\w+)?")


def text_of(comment):
    """Without the stars."""
    inner = re.sub(r"^/\*\*<?|\*/$", "", comment)
    return re.sub(r"^[ \t]*\*[ ]?|^[ \t]+(?!\*)", "", inner, flags=re.MULTILINE).strip()


def escaped(text):
    text = text.replace("\\", "\\e")
    text = re.sub(r"(?<![A-Za-z])-", r"\\-", text)
    return re.sub(
        r"`([^`]*)`",
        lambda match: rf"\fB{match[1].replace('-', chr(92) + '-')}\fR".replace(r"\\-", r"\-"), text)


def bold_names(text):
    return re.sub(r"\bperf_poke__\w+\(\)|\b(?:PERF_POKE|RLIMIT|CLOCK)_\w+", r"\\fB\g<0>\\fR", text)


def filled(text):
    """Lines of a paragraph. None begins as a request does."""
    words = bold_names(escaped(" ".join(text.split())))
    lines = textwrap.wrap(words, 78, break_long_words=False, break_on_hyphens=False)
    return [r"\&" + line if line[0] in ".'" else line for line in lines]


def literal(text):
    return [
        ".PP", ".nf", *(r"\&" + line.replace("\\", "\\e").replace("-", "\\-").expandtabs(8)
                        for line in text.split("\n")), ".fi"
    ]


def tagged(tag, text):
    return [".TP", r".B " + tag.replace("-", "\\-"), *filled(text)]


def paragraph(text):
    """With the rows of a list, if it has any."""
    if text.startswith("\t"):
        return literal(text)
    head, *rows = re.split(r"^- ", text, flags=re.MULTILINE)
    lines = [".PP", *filled(head)] if head else []
    for row in rows:
        lines += [".IP \\(bu 2", *filled(row)]
    return lines


def paragraphs(text):
    return re.split(r"\n[ ]*\n", text)


def first_sentence(text):
    sentence = " ".join(
        re.match(r"(.*?[^.])(?:\.(?=\s|$)|$)",
                 paragraphs(text)[0], re.DOTALL)[1].split())
    return sentence if re.match("[A-Z]{2}", sentence) else sentence[0].lower() + sentence[1:]


def section(title, lines):
    return [".SH " + title, *(lines[1:] if lines[0] == ".PP" else lines)] if lines else []


def members(body):
    """(declaration, description) of those of a struct or an enum that have one"""
    found, before = [], ""
    for comment, declaration in re.findall(rf"({COMMENT})|([^;,/]+)[;,]",
                                           body.replace("\n\n", "\n"), re.DOTALL):
        if not comment:
            found.append([" ".join(declaration.split()), before])
            before = ""
        elif comment.startswith("/**<"):
            found[-1][1] = text_of(comment)
        else:
            before = text_of(comment)
    return [row for row in found if row[1]]


class Item:
    """A function or a type of the header."""

    def __init__(self, comment, declaration):
        self.text = text_of(comment)
        self.declaration = declaration
        self.is_function = declaration.endswith(");") and not declaration.startswith("typedef")
        head = declaration.split("{")[0]
        self.name = re.search(r"\(\*(\w+)\)|(\w+)\(|(\w+) ?;?$", head.strip()).group(1, 2, 3)
        self.name = next(name for name in self.name if name)

    def synopsis(self):
        bare = re.sub(rf"[ \t]*{COMMENT}", "", self.declaration, flags=re.DOTALL)
        lines = [re.sub(r"(?<=\S)\s+", " ", line) for line in bare.split("\n") if line.strip()]
        return section("SYNOPSIS",
                       [".nf", ".B #include <perf_poke.h>", ".PP", *literal("\n".join(lines))[2:]])

    def sections(self):
        blocks = {"DESCRIPTION": [], "PARAMETERS": [], "RETURN VALUE": [], "HISTORY": []}
        text = re.sub(r"^(Since|Returns):", r"\n\1:", self.text, flags=re.MULTILINE)
        for block in paragraphs(text):
            block = block.strip("\n")
            if block.startswith("@param"):
                for row in re.split(r"^@param ", block, flags=re.MULTILINE)[1:]:
                    blocks["PARAMETERS"] += tagged(*row.split(None, 1))
            elif block.startswith("Returns:"):
                blocks["RETURN VALUE"] += paragraph(block.removeprefix("Returns:").strip())
            elif block.startswith("Since:"):
                blocks["HISTORY"] += [".PP", f"Since {LIBRARY} {block.split()[1]}."]
            else:
                blocks["DESCRIPTION"] += paragraph(block)
        if "{" in self.declaration:
            for declaration, text in members(self.declaration.split("{", 1)[1].rpartition("}")[0]):
                blocks["DESCRIPTION"] += tagged(declaration, text)
        return [line for title, lines in blocks.items() for line in section(title, lines)]

    def mentions(self, names):
        return sorted(({*NAME.findall(self.text), *NAME.findall(self.declaration)} & names) -
                      {self.name})

    def page(self, names):
        return [
            *section("NAME", [rf"{self.name} \- {escaped(first_sentence(self.text))}"]),
            *self.synopsis(), *self.sections(), *see_also([*self.mentions(names), LIBRARY])
        ]


def see_also(names):
    return section("SEE ALSO",
                   [f".BR {name} (3){',' if name != names[-1] else ''}" for name in names])


def listed(items):
    return [line for item in items for line in tagged(item.name + "(3)", first_sentence(item.text))]


def overview(text, items):
    """What the header says of the whole."""
    brief, _, rest = text.removeprefix("@file").strip().partition("\n\n")
    # The example's tabs are what makes it literal.
    body = [line for block in paragraphs(rest) for line in paragraph(block)]
    return [
        *section("NAME", [rf"{LIBRARY} \- {brief.partition(': ')[2].rstrip('.')}"]),
        *section("SYNOPSIS", [
            ".nf", ".B #include <perf_poke.h>", ".PP",
            ".B cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs libperfpoke)", ".fi"
        ]), *section("DESCRIPTION", body),
        *section("FUNCTIONS", listed(item for item in items if item.is_function)),
        *section("TYPES", listed(item for item in items if not item.is_function)), ".SH SEE ALSO",
        ".BR perf\\-poke\\-ctl (1)"
    ]


def main():
    header, news, version, folder = sys.argv[1:]
    release = re.search(rf"^## {re.escape(version)} \((\S+)\)$",
                        pathlib.Path(news).read_text(), re.MULTILINE)
    if not release:
        sys.exit(f"{news}: has no line `## {version} (YYYY-MM-DD)`")
    text = pathlib.Path(header).read_text()
    head = re.search(rf"^{COMMENT}", text[text.index("/**"):], re.DOTALL)[0]
    items = [Item(*match) for match in ITEM.findall(text) if "@file" not in match[0]]
    names = {item.name for item in items}
    pages = {LIBRARY: overview(text_of(head), items)
             } | {item.name: item.page(names) for item in items}
    # What is gone from the header leaves no page.
    shutil.rmtree(folder, ignore_errors=True)
    pathlib.Path(folder).mkdir()
    for name, lines in pages.items():
        title = f'.TH {name} 3 {release[1]} "perf-poke {version}" "perf-poke"'
        (pathlib.Path(folder) /
         f"{name}.3").write_text("\n".join([r'.\" From perf_poke.h', title, *lines]) + "\n")


if __name__ == "__main__":
    sys.exit(main())
