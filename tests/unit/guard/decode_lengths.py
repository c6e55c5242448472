#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long runtime/guard takes instructions to be, held against objdump: all of the allocators' functions in the archives
that programs are linked with, from the first instruction of each function to its last.

    decode_lengths.py LENGTHS-PROGRAM [-v]

LENGTHS-PROGRAM is decode_lengths. An archive that is not there is left out. TAP, one line an archive; -v prints each
difference.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/x86_64-linux-musl"]
ARCHIVES = ["libc.a", "libjemalloc.a", "libtcmalloc.a", "libtcmalloc_minimal.a", "libmimalloc.a"]
# Members of libc.a that have the functions; of the others all.
MEMBERS = re.compile(r"^(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|memalign|valloc|pvalloc|reallocarray|fork|_Fork|donate"
                     r"|lite_malloc|libc_calloc|malloc_usable_size)\.l?o$")
NAMES = re.compile(r"^(je_|_rjem_|tc_|mi_|__libc_)?(malloc|calloc|realloc|reallocarray|free|cfree|posix_memalign|aligned_alloc|memalign|valloc"
                   r"|pvalloc|mallocx|rallocx|dallocx|sdallocx|malloc_usable_size|_Zn[wa]m\w*|_Zd[la]Pv\w*|_Fork|fork)(\.cold)?$")
HEAD = re.compile(r"^[0-9a-f]+ <(.+)>:$")
MEMBER = re.compile(r"^(\S+):\s+file format")
LINE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(?:\t(.*))?$")
JUMPS = re.compile(r"^(?:(?:bnd|notrack) )?(j\w+|call|loop\w*|xbegin)\s+[0-9a-f]+ <")


def functions(path):
    """→ (name, [(bytes, text)]) of each function that counts."""
    process = subprocess.Popen(["objdump", "-d", "-w", "-M", "intel", "--insn-width=15", path], stdout=subprocess.PIPE, text=True, errors="replace")
    member, name, rows = "", None, []
    with process.stdout:
        for line in process.stdout:
            line = line.rstrip("\n")
            if found := MEMBER.match(line):
                member = found[1]
            elif found := HEAD.match(line):
                if rows:
                    yield name, rows
                name, rows = found[1], []
            elif name and (found := LINE.match(line)) and found[3] and (path.name != "libc.a" or MEMBERS.match(member)):
                if path.name == "libc.a" or NAMES.match(name):
                    rows.append((bytes.fromhex(found[2].replace(" ", "")), found[3].strip()))
    if rows:
        yield name, rows
    process.wait()


def compare(program, path, verbose):
    """→ (functions, instructions, differences)."""
    wanted, asked, count = [], [], 0
    for _, rows in functions(path):
        count += 1
        code = b"".join(one for one, _ in rows)
        at = 0
        for one, text in rows:
            # What follows is part of the question: nothing says where an instruction ends.
            asked.append((code[at:at + 15] + bytes(15))[:15].hex())
            wanted.append((f"{len(one)}{'r' if 'rip' in text else ''}{'d' if JUMPS.match(text) else ''}", text))
            at += len(one)
    told = subprocess.run([program], input="\n".join(asked) + "\n", text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    assert len(told) == len(asked)
    different = [(code, text, want, line) for code, (want, text), line in zip(asked, wanted, told) if want != line]
    if verbose:
        for code, text, want, line in different:
            print(f"# {code}  {text}: {want}, not {line}")
    return count, len(asked), different


def main():
    program, verbose = sys.argv[1], "-v" in sys.argv
    paths = [Path(folder, name) for folder in FOLDERS for name in ARCHIVES if Path(folder, name).exists()]
    print(f"1..{len(paths) or '0 # SKIP there are no archives'}")
    for number, path in enumerate(paths, 1):
        count, instructions, different = compare(program, path, verbose)
        passed = count > 3 and instructions > 100 and not different
        print(f"{'ok' if passed else 'not ok'} {number} - {path}: {count} functions, {instructions} instructions")
        for code, text, want, line in different[:5]:
            print(f"# {code}  {text}: {want}, not {line}")


main()
