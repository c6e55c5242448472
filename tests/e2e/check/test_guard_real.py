#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs under libheapwise-guard.so: no report, and the same output as without it, in each back-end."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import guarded
import hw

TESTS = hw.Tests()

PYTHON = """
import json, re, threading
rows = [{"a": i, "b": "x" * i} for i in range(200)]
print(len(json.dumps(rows)), json.loads(json.dumps(rows)) == rows, len(re.findall(r"\\w+", "foo bar " * 500)))
threads = [threading.Thread(target=lambda: [str(i) for i in range(500)]) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
SQL = """
create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 4000) insert into t select x, hex(x * 7) from c;
create index i on t(b);
select count(*), max(b), sum(length(b)) from t;
"""
XML = "<list>" + "".join(f"<item number='{i}'>text {i}</item>" for i in range(500)) + "</list>"
C = "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { printf(\"%d\\n\", rand()); return 0; }\n"
CXX = "#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; m[\"a\"] = 1; return m.size() - 1; }\n"

# What programs read is in the same place in all modes, so that each runs alone once.
FILES = tempfile.TemporaryDirectory(prefix="heapwise-test-")

# Of each its command line after the name, and more of the environment.
PROGRAMS = {
    "ls": (["-lR", "/usr/include/linux"], {}),
    "bash": (["-c", "for i in $(seq 200); do x=\"$x$i\"; declare -A m; m[$i]=$(echo $i); done; echo ${#x} ${#m[@]}"], {}),
    "perl": (["-e", "my %h; $h{$_} = \"x\" x ($_ % 100) for 1..5000; print scalar(keys %h), qq(\\n)"], {}),
    "/usr/bin/python3": (["-c", PYTHON], {}),
    "/usr/bin/python3 with malloc": (["-c", PYTHON], {"PYTHONMALLOC": "malloc"}),
    "sqlite3": ([":memory:", SQL], {}),
    "jq": (["-n", "[range(2000) | {a: ., b: (tostring * 3)}] | map(select(.a % 7 == 0)) | length"], {}),
    "awk": (["BEGIN { for (i = 0; i < 5000; i++) a[i] = i \"x\"; print length(a) }"], {}),
    "gcc": (["-O1", "-S", "-o", "-", "FOLDER/a.c"], {}),
    "g++": (["-O1", "-S", "-o", "-", "FOLDER/a.cc"], {}),
    "xmllint": (["--format", "FOLDER/a.xml"], {}),
    "tar": (["cf", "-", "--mtime=@0", "--owner=0", "--group=0", "/usr/include/linux/fs.h"], {}),
    "git": (["-C", str(hw.SOURCE), "--version"], {}),
}
MODES = {
    "by call stack": "",
    "every block, madvise": "full=1,backend=madvise",
    "every block, userfaultfd": "full=1,backend=uffd",
    "every block, mprotect": "full=1,backend=mprotect",
    "every block, the page before it": "full=1,before=100",
}


def same(name, options):
    for word in ("madvise", "uffd", "mprotect"):
        if word in options:
            guarded.need_backend(word)
    program = hw.need_program(name.split()[0])
    arguments, environment = PROGRAMS[name]
    guarded.need_same([program, *(word.replace("FOLDER", FILES.name) for word in arguments)], options, **environment)


for mode, settings in MODES.items():
    for real in PROGRAMS:
        TESTS.add(f"{real}: {mode}", lambda _, real=real, settings=settings: same(real, settings))

if __name__ == "__main__":
    for file, text in (("a.c", C), ("a.cc", CXX), ("a.xml", XML)):
        Path(FILES.name, file).write_text(text)
    TESTS.main()
