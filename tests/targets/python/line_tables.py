# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the lines that a program (the first argument) decodes of the standard library's code with those that the
interpreter itself has: of each n-th file (the second argument), and of code with many lines. Prints as JSON how much
was compared, and what differs."""

import dis
import itertools
import json
import pathlib
import struct
import subprocess
import sys
import sysconfig

FORMAT = 1 if sys.version_info < (3, 10) else 2 if sys.version_info < (3, 11) else 3
FAR = "x = 1\n" + "\n" * 300 + "y = 2\n" + "\n" * 70000 + "z = (x,\n" + "\n" * 40 + "y)\nfor i in x:\n    y(\ni,\n z)\n"
LONG = "f(" + "a + b, " * 3000 + "\n" + "\nc\n + d, " * 3000 + ")\n"


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def sources(step):
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py"))[::step]:
        if "site-packages" not in path.parts:
            yield str(path), path.read_bytes()
    yield "far", FAR.encode()
    yield "long", LONG.encode()


def compiled(step):
    for name, source in sources(step):
        try:
            yield from ((name, code) for code in codes(compile(source, name, "exec", dont_inherit=True)))
        except (SyntaxError, ValueError):
            pass  # some files are there to fail


def expected(code):
    """(instruction, line) where the line changes; line 0: none."""
    if FORMAT == 1:
        pairs = dis.findlinestarts(code)
    else:
        pairs = ((start, line or 0) for start, end, line in code.co_lines() if start < end)
    rows = []
    for at, line in pairs:
        if at < len(code.co_code) and not (rows and rows[-1][1] == line):
            rows.append((at, line))
    return rows


def records(all_codes):
    for _, code in all_codes:
        table = code.co_lnotab if FORMAT == 1 else code.co_linetable
        yield struct.pack("=III", FORMAT, code.co_firstlineno, len(table)) + table


def main():
    all_codes = list(compiled(int(sys.argv[2])))
    ended = subprocess.run([sys.argv[1]], input=b"".join(records(all_codes)), stdout=subprocess.PIPE, check=True)
    differs, lines = [], 0
    for (name, code), text in itertools.zip_longest(all_codes, ended.stdout.decode().splitlines()):
        rows = [tuple(map(int, row.split(":"))) for row in text.split()]
        rows = [row for row in rows if row[0] < len(code.co_code)]
        lines += len(rows)
        if rows != expected(code):
            differs.append([name, code.co_name, code.co_firstlineno, rows[:20], expected(code)[:20]])
    print(json.dumps({"codes": len(all_codes), "lines": lines, "differs": differs[:5], "count": len(differs)}))


main()
