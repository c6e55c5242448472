#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What small programs give to functions of libc that is wrong, by libheapwise-guard.so: each function, with guarded
blocks and without; the same programs without the errors; real programs, which make none."""

import re
import shutil
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import guarded
import hw

TESTS = hw.Tests()
VARIANTS = ("O0", "O2", "fortified")
STORIES = ("memory", "memory_ends", "freed", "endless", "compared", "small_destination", "overlaps",
           "overlapping_strings", "wide", "prints", "system_calls", "names", "structures", "files", "threads", "handlers", "places")
# A write before a plain block damages what is known of it, which the free finds.
GUARDED_ALONE = ("memory_before",)
EXPECTED = re.compile(r"^expect (?P<kind>\w+)(?: (?P<offset>\d+) (?P<where>\w+) (?P<size>\d+)(?P<freed> freed)?)? by (?P<call>\S+)$",
                      re.M)


def key_of(found):
    """An error for comparisons; of an overlap it does not matter where."""
    facts = found.groupdict()
    late = " late" if facts.get("late") else ""
    if facts["kind"] == "Overlap":
        return f"Overlap {facts['call']}"
    return (f"{facts['kind']} {facts['call']} {facts['offset']} {facts['where']} {facts['size']}"
            f"{' freed' if facts['freed'] else ''}{late}")


def need_calls(program, story, options):
    ended, reports = guarded.LAUNCHER.run([program, story], options)
    told = f"{program.name} {story} [{options}]"
    hw.need(ended.status == 0 and ended.text.endswith("end\n"), f"{told}: {ended}\n{ended.text[-300:]}")
    wanted, counted = Counter(map(key_of, EXPECTED.finditer(ended.text))), Counter(map(key_of, reports))
    hw.need(sum(wanted.values()) == ended.text.count("expect "), f"{told}: not all expectations are understood")
    hw.need(wanted == counted, f"{told}: {guarded.difference(counted, wanted)}")
    guarded.need_same([program, story, "good"], options)
    return sum(wanted.values())


def tell(stories, options):
    errors = sum(need_calls(guarded.TARGETS / f"calls-{variant}", story, options)
                 for variant in VARIANTS for story in stories)
    hw.need(errors > 100, f"{errors} errors")
    return f"{errors} errors"


def every_block(backend):
    guarded.need_backend(backend)
    tell(STORIES + GUARDED_ALONE, f"full=1,before=100,backend={backend}")
    return tell(STORIES + GUARDED_ALONE, f"full=1,before=0,backend={backend}")


for name in ("madvise", "uffd", "mprotect"):
    TESTS.add(f"Each call is reported once where {name} guards every block", lambda _, name=name: every_block(name))


@TESTS.test
def plain_blocks(_):
    """Without guards each call is reported as exactly, and what it wrote not again when the block is freed"""
    return tell(STORIES, "backend=none")


OFTEN = {key_of(EXPECTED.match("expect InvalidRead 0 after 21 by memcpy"))}


@TESTS.test
def often(_):
    """A place that calls often is looked at now and then, and each time where every block is guarded"""
    for variant in VARIANTS:
        command = [guarded.TARGETS / f"calls-{variant}", "often"]
        for options, least, most in (("backend=none", 20, 400), ("full=1,backend=mprotect,before=0", 1, 4000)):
            ended, reports = guarded.LAUNCHER.run(command, options)
            hw.need(ended.status == 0, f"{variant} [{options}]: {ended}")
            hw.need(set(map(key_of, reports)) == OFTEN and least <= len(reports) <= most,
                    f"{variant} [{options}]: {len(reports)} reports, {set(map(key_of, reports))}")
            guarded.need_same([*command, "good"], options)


ACCESS = re.compile(r"^expect (?P<kind>\w+) (?P<offset>\d+) (?P<where>\w+) (?P<size>\d+) of (?P<bytes>\d+)$", re.M)


def access_of(found):
    return " ".join(found.group(name) for name in ("kind", "offset", "where", "size", "bytes"))


@TESTS.test
def accesses(_):
    """A report of an instruction says how many bytes it accesses, and where the access begins"""
    done = []
    for backend in filter(guarded.kernel_has, ("madvise", "uffd", "mprotect")):
        options = f"full=1,before=0,backend={backend}"
        program = guarded.TARGETS / "accesses-O2"
        ended, reports = guarded.LAUNCHER.run([program, "sizes"], options)
        wanted = [access_of(found) for found in ACCESS.finditer(ended.text)]
        counted = [access_of(found) for found in reports]
        hw.need(len(wanted) > 15 and wanted == counted and ended.status == 0,
                f"{backend}: missing {sorted(set(wanted) - set(counted))}, not expected {sorted(set(counted) - set(wanted))}: {ended}")
        guarded.need_same([program, "sizes", "good"], options)
        done.append(backend)
    return ", ".join(done)


@TESTS.test
def first_ends(_):
    """errors=first ends the program before the call is made"""
    ended, reports = guarded.LAUNCHER.run([guarded.TARGETS / "calls-O2", "files"], "errors=first,exit=77")
    hw.need((ended.status, len(reports)) == (77, 1), f"{ended}: {len(reports)} reports")
    hw.need(ended.text.count("expect ") == 1, ended.text)


def hash_of_call(name, *numbers):
    """As the library has it: of the function, the size of the buffer, that of its block, and the place in it."""
    value = 0xcbf29ce484222325
    for byte in name.encode() + b"".join(number.to_bytes(8, "little") for number in numbers):
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return value | 1


@TESTS.test
def filled(_):
    """Bytes that leave the program are reported if leaves= lists them and they are as fill= fills new blocks"""
    call = f"{hash_of_call('write(buf)', 21, 21, 0):016x}"
    for variant in VARIANTS:
        program = [guarded.TARGETS / f"calls-{variant}", "filled"]
        ended, reports = guarded.LAUNCHER.run(program, f"fill=5a,leaves={call}:1:7-20")
        wanted = Counter(map(key_of, EXPECTED.finditer(ended.text)))
        counted = Counter(map(key_of, reports))
        hw.need(wanted and wanted == counted, f"{variant}: {guarded.difference(counted, wanted)}: {ended}")
        # Cleared memory; bytes some of which were written since; bytes after the end; no such call; and nothing listed.
        for listed in (f"{call}:0:7-20", f"{call}:2:7-20", f"{call}:1:7-21", f"{call}:9:7-20", f"{call}:1:20-7", ""):
            _, reports = guarded.LAUNCHER.run(program, f"fill=5a,leaves={listed}")
            hw.need(not reports, f"{variant}, {listed}: {len(reports)} reports")
        _, reports = guarded.LAUNCHER.run(program, f"leaves={call}:1:7-20")
        hw.need(not reports, f"{variant}, not filled: {len(reports)} reports")


CXX = ("copied", "strings")


@TESTS.test
def of_cxx(_):
    """Algorithms and strings of C++ are calls of the same functions"""
    for options in ("full=1,before=0", "backend=none"):
        for variant in ("O0", "O2"):
            for story in CXX:
                need_calls(guarded.TARGETS / f"calls_cxx-{variant}", story, options)


def need_clean(arguments, options="", **environment):
    hw.need_program(arguments[0])
    guarded.need_same(arguments, options, **environment)


REAL = {
    "ls": ["ls", "-la", "/usr/lib"],
    "bash": ["bash", "-c", "x=(); for i in {1..2000}; do x+=(\"v$i\"); done; echo ${#x[@]} ${x[@]: -1} | tr v w"],
    "perl": ["perl", "-e", 'my %h; $h{$_} = $_ x 50 for 1..20000; print join(",", sort keys %h) =~ tr/1//, "\n"'],
    "python3": ["/usr/bin/python3", "-c", "import json,re,zlib;t=json.dumps([{str(i):[i]*3} for i in range(9000)]);"
                "print(len(re.sub('1+','x',t)), zlib.crc32(t.encode()))"],
    "sqlite3": ["sqlite3", ":memory:", "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c "
                "where x<20000) insert into t select x, hex(x) from c; select count(*), max(b) from t where b like '%3%';"],
    "jq": ["jq", "-n", "[range(9000)|{a:.,b:tostring}]|map(.b)|add|length"],
    "git": ["git", "--version"],
    "xmllint": ["xmllint", "--noout", "/usr/share/mime/packages/freedesktop.org.xml"],
    "sort": ["sort", str(hw.SOURCE / "ARCHITECTURE.md")],
    "tar": ["tar", "cf", "/dev/null", str(hw.SOURCE / "src/runtime")],
}


def run_clean(name):
    need_clean(REAL[name], "before=0", PYTHONMALLOC="malloc")
    need_clean(REAL[name], "backend=none")


for name in REAL:
    if not (name == "xmllint" and not Path(REAL[name][2]).exists()):
        TESTS.add(f"{name} has no report", lambda _, name=name: run_clean(name))


@TESTS.test
def compiled(folder):
    """gcc has no report, and compiles the same"""
    hw.need_program("gcc")
    source = hw.SOURCE / "src/runtime/guard/decode.c"
    outputs = []
    for number, options in enumerate((None, "", "backend=none")):
        output = folder / f"{number}.s"
        command = [shutil.which("gcc"), "-O1", "-S", "-I", hw.SOURCE / "src", "-o", output, source]
        if options is None:
            hw.need(hw.run(command).status == 0, "gcc fails by itself")
        else:
            ended, reports = guarded.LAUNCHER.run(command, options)
            hw.need(ended.status == 0 and not reports, f"{ended}: {[found.group(0) for found in reports[:5]]}")
        outputs.append(output.read_bytes())
    hw.need(outputs[0] == outputs[1] == outputs[2], "the outputs differ")


if __name__ == "__main__":
    TESTS.main()
