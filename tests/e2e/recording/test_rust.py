#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs in Rust: exact by site on the system allocator, names as Rust has them in both manglings, what is said of allocators that
are linked in and what `attach` records of them, and the profile over HTTP."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import attached, detach, need_sound, running

TESTS = hw.Tests()
SOURCES = hw.SOURCE / "tests/targets/rust"
JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.a")
MANGLINGS = {"legacy": (), "v0": ("-C", "symbol-mangling-version=v0")}


def compilers():
    """Debian's, and another one if there is one before it."""
    found = {os.path.realpath(path): path for path in ("/usr/bin/rustc", shutil.which("rustc")) if path and os.path.exists(path)}
    if not found:
        raise hw.Skip("there is no rustc: ./dev deps --peers installs it")
    return sorted(found.values())


def build(folder, source, name, *options, compiler=None):
    program = folder / name
    done = hw.run([compiler or compilers()[0], "--edition", "2021", "-g", "-C", "opt-level=1", *options, "-o", program, SOURCES / source],
                  env={**os.environ, "TMPDIR": str(folder)})
    hw.need(done.status == 0, f"{compiler}: {done}")
    return program


def functions(row):
    return [frame.get("function") or "" for frame in row["stack"]]


def sums(report, function, *figures):
    """Of the sites whose innermost function of the program that is."""
    own = [(row, next((f for f in functions(row) if f.startswith(("sites::", "<sites::", "alloc_by::main", "alloc_by::"))), None))
           for row in report["sites"]]
    return tuple(sum(row[figure] for row, f in own if f == function) for figure in figures)


# By site: allocations, their bytes, live blocks and bytes, temporary ones. The names: legacy, v0.
FIGURES = ("allocations", "allocated_bytes", "live_blocks", "live_bytes", "temporary")
ROUNDS = [32 << n for n in range(9)]  # of a Vec that grows to 1,000 of 8 bytes
SITES = [
    ("sites::boxes", None, (100, 3200, 100, 3200, 0)),
    ("sites::forgotten_vec", None, (1, 100, 1, 100, 0)),
    ("sites::grown", None, (9, sum(ROUNDS), 1, 8192, 0)),
    ("sites::zeroed", None, (1, 5000, 1, 5000, 0)),
    ("sites::wide", None, (1, 256, 1, 256, 0)),
    ("sites::wide_grown", None, (2, 64 + 256, 1, 256, 0)),
    ("sites::ring", None, (2, 2 * 72, 2, 2 * 72, 0)),
    ("sites::shared", None, (1, 104, 1, 104, 0)),
    ("sites::weakly", None, (1, 40, 1, 40, 0)),
    ("sites::in_thread", None, (100, 7200, 100, 7200, 0)),
    ("sites::with_closure::{{closure}}", "sites::with_closure::{closure#0}", (1, 88, 1, 88, 0)),
    ("sites::store::Cache<T>::fill", "<sites::store::Cache<alloc::string::String>>::fill", (11, 240 + 110, 11, 240 + 110, 0)),
    ("<sites::store::Maker as sites::store::Make>::make", None, (1, 48, 1, 48, 0)),
    ("<sites::store::Maker as core::ops::drop::Drop>::drop", None, (1, 56, 1, 56, 0)),
]
# Of a build without debug information: symbols alone.
SYMBOLS = [("sites::call", "sites::call::<sites::with_closure::{closure#0}>"), ("sites::generic", "sites::generic::<[u16; 8], 5>")]


def check_sites(report, mangling):
    for legacy, v0, truth in SITES:
        name = v0 if v0 and mangling == "v0" else legacy
        found = sums(report, name, *FIGURES)
        hw.need(found == truth, f"{mangling}: {name}: {found}, not {truth}: {[(functions(r)[:6], r['allocations']) for r in report['sites']]}")
    panicking = [row for row in report["sites"] if "sites::panics" in functions(row)]
    hw.need(sum(row["live_blocks"] for row in panicking) == 0, "what unwinding drops is live")
    held = [row for row in panicking if row["allocated_bytes"] == 330 or row["allocated_bytes"] == 340]
    hw.need(held, f"the boxes of 33 bytes: {[(r['allocations'], r['allocated_bytes']) for r in panicking]}")


def check_kinds(report):
    kinds = {f: {row["kind"] for row in report["sites"] if f in functions(row)} for f in ("sites::grown", "sites::zeroed", "sites::wide")}
    hw.need(kinds == {"sites::grown": {"malloc", "realloc"}, "sites::zeroed": {"calloc"}, "sites::wide": {"posix_memalign"}}, f"{kinds}")


def check_names(report):
    names = {f for row in report["sites"] for f in functions(row)}
    odd = [f for f in names if "$" in f or ".llvm." in f or f.startswith("_R") or f.startswith("_ZN") or "::h" in f and len(f.rpartition("::h")[2]) == 16]
    hw.need(not odd, f"not as Rust has them: {odd}")


@TESTS.test
def sites_and_names(folder):
    """Each site's counts and bytes, of all compilers and both manglings, with debug information and by symbols alone"""
    for number, compiler in enumerate(compilers()):
        for mangling, options in MANGLINGS.items():
            program = build(folder, "sites.rs", f"sites_{number}_{mangling}", "--crate-name", "sites", *options, compiler=compiler)
            recording = folder / f"{number}_{mangling}.hpw"
            hw.need(hw.record([program], recording, all_processes=False).status == 0, f"{compiler}: it failed")
            report = hw.report(recording, "--view", "sites")
            check_sites(report, mangling)
            check_kinds(report)
            check_names(report)
            text = hw.ask("report", recording, "--view", "sites", "--limit", "100")
            own = [line for line in text.splitlines() if any(name in line for name in ("panic_unwind::", "__rustc::", "rust_panic ", "hashbrown::")) and "…" not in line]
            hw.need(not own, f"Rust's own frames are shown: {own}")
            bare = folder / f"bare_{number}_{mangling}"
            subprocess.run(["strip", "-g", "-o", bare, program], check=True)
            hw.need(hw.record([bare], folder / f"{bare.name}.hpw", all_processes=False).status == 0, "it failed")
            report = hw.report(folder / f"{bare.name}.hpw", "--view", "sites")
            check_names(report)
            names = {f for row in report["sites"] for f in functions(row)}
            for legacy, v0 in SYMBOLS:
                hw.need((v0 if mangling == "v0" else legacy) in names, f"{mangling}: no {legacy}: {names}")


@TESTS.test
def growth_is_no_churn(folder):
    """A Vec that grows by realloc, or is copied because of its alignment, is no temporary allocation"""
    program = build(folder, "sites.rs", "sites", "--crate-name", "sites")
    hw.need(hw.record([program], folder / "x.hpw", all_processes=False).status == 0, "it failed")
    text = hw.ask("report", folder / "x.hpw", "--view", "temporary", "--limit", "100")
    hw.need("sites::panics" in text, f"what is dropped at once is not shown:\n{text}")
    hw.need("grown" not in text, f"growth is shown as churn:\n{text}")


# In go(): allocations, their bytes, live blocks and bytes.
LINKED_FIGURES = FIGURES[:4]
LINKED = {"alloc_by::boxes": (100, 3200, 100, 3200), "alloc_by::passing": (10, 500, 0, 0), "alloc_by::grown": (5, 992, 1, 512),
          "alloc_by::zeroed": (1, 5000, 1, 5000), "alloc_by::in_thread": (50, 3600, 50, 3600), "alloc_by::wide": (2, 128 + 512, 1, 512)}


def with_jemalloc(folder, *options):
    """A program with a jemalloc whose functions have Rust's prefix."""
    if not JEMALLOC.exists():
        raise hw.Skip("there is no libjemalloc.a")
    names = ("malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc", "mallocx", "rallocx", "xallocx",
             "sallocx", "dallocx", "sdallocx", "nallocx", "mallctl", "malloc_usable_size", "malloc_stats_print")
    (folder / "names").write_text("".join(f"{name} _rjem_{name}\n" for name in names))
    subprocess.run(["objcopy", "--redefine-syms", folder / "names", JEMALLOC, folder / "librjem.a"], check=True)
    return build(folder, "alloc.rs", "with_jemalloc", "--crate-name", "alloc_by", "--cfg", "rjem", "-L", folder, "-l", "static=rjem",
                 "-C", "link-arg=-lstdc++", "-C", "link-arg=-lm", *options)


def with_mimalloc(folder):
    """A program with functions that are named and called as mimalloc's."""
    subprocess.run(["cc", "-O2", "-ffunction-sections", "-c", "-o", folder / "mi.o", SOURCES / "mi.c"], check=True)
    subprocess.run(["ar", "rcs", folder / "libmi.a", folder / "mi.o"], check=True)
    return build(folder, "alloc.rs", "with_mimalloc", "--crate-name", "alloc_by", "--cfg", "mi", "-L", folder, "-l", "static=mi")


def check_attached(folder, program, function):
    with running(folder, program=program) as target:
        target.tell("go")
        said = hw.heapwise("attach", "--dry-run", str(target.pid))
        hw.need(said.status == 0 and function in said.text, f"{said} {said.text}")
        with attached(target, folder / "x.hpw", "--before", "none"):
            target.tell("go")
            detach(target)
        target.tell("go")
        target.ask("end")
        hw.need(target.process.wait(60) == 0, "it was harmed")
    report = hw.report(folder / "x.hpw", "--view", "sites")
    need_sound(report["recording"])
    check_names(report)
    for name, truth in LINKED.items():
        found = sums(report, name, *LINKED_FIGURES)
        hw.need(found == truth, f"{name}: {found}, not {truth}: {[(functions(r)[:8], r['kind'], r['allocations'], r['allocated_bytes']) for r in report['sites']]}")
    text = hw.ask("report", folder / "x.hpw", "--view", "sites", "--limit", "100")
    hw.need("GlobalAlloc" not in text, f"the binding of the allocator is shown:\n{text}")


def check_said(folder, program):
    """`run` and `doctor` say that they can't, and what can."""
    ended = hw.run([hw.HEAPWISE, "run", "-o", folder / "run.hpw", "--", program], stdin=b"go\nend\n")
    hw.need(ended.status == 0, f"{ended}")
    hw.need("NOT recorded" in ended.errors and "heapwise attach" in ended.errors, f"run: {ended.errors}")
    text = hw.ask("report", folder / "run.hpw")
    hw.need("heapwise attach" in text, f"report: {text}")
    said = hw.heapwise("doctor", program)
    hw.need("own malloc" in said.text and "heapwise attach" in said.text, f"doctor: {said.text}")


@TESTS.test
def jemalloc_linked_in(folder):
    """_rjem_ functions, with flags for what is aligned: said by run, recorded by attach"""
    program = with_jemalloc(folder)
    check_said(folder, program)
    check_attached(folder, program, "_rjem_sdallocx")


@TESTS.test
def mimalloc_linked_in(folder):
    """mi_malloc_aligned and the like, as Rust's binding calls them: said by run, recorded by attach"""
    program = with_mimalloc(folder)
    check_said(folder, program)
    check_attached(folder, program, "mi_realloc_aligned")


def fetched(folder, url):
    with urllib.request.urlopen(url, timeout=hw.TIMEOUT) as answer:
        (folder / "heap.pb.gz").write_bytes(answer.read())
    return folder / "heap.pb.gz"


def profile_of_service(folder, program):
    """The profile of a program that has done its work once."""
    process = subprocess.Popen([hw.HEAPWISE, "run", "--http", "127.0.0.1:0", "-o", folder / "x.hpw", "--", program], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=hw.clean_environment(), start_new_session=True)
    try:
        address = None
        while address is None:
            line = process.stderr.readline()
            hw.need(line, "no address was said")
            address = next((word.rstrip("/,;.") for word in line.split() if word.startswith("http://")), None)
        hw.need(process.stdout.readline().startswith("ready"), "it is not ready")
        process.stdin.write("go\n")
        process.stdin.flush()
        hw.need(process.stdout.readline().startswith("go"), "it has ended")
        profile = fetched(folder, f"{address.partition('/debug')[0]}/debug/pprof/heap")
        process.communicate("end\n", timeout=hw.TIMEOUT)
        hw.need(process.returncode == 0, f"status {process.returncode}")
        return profile
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


@TESTS.test
def over_http(folder):
    """The profile of a service, for pprof and for heapwise: exact, by Rust's names"""
    program = build(folder, "alloc.rs", "service", "--crate-name", "alloc_by")
    profile = profile_of_service(folder, program)
    report = json.loads(hw.ask("report", profile, "--json", "--view", "sites"))
    for name in ("alloc_by::boxes", "alloc_by::zeroed", "alloc_by::in_thread"):
        found = sums(report, name, *LINKED_FIGURES)
        hw.need(found == LINKED[name], f"{name}: {found}, not {LINKED[name]}")
    check_names(report)
    if shutil.which("go"):
        shown = hw.run(["go", "tool", "pprof", "-top", "-unit=B", "-cum", "-sample_index=inuse_space", profile], env={**os.environ, "HOME": str(folder)})
        rows = {line.split()[-1].rstrip(): line.split() for line in shown.text.splitlines() if "alloc_by::" in line and "(inline)" not in line}
        hw.need(shown.status == 0 and rows.get("alloc_by::boxes", [""] * 4)[3] == "3200B", f"{shown} {shown.text}")


TESTS.main()
