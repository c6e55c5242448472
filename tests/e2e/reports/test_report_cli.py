#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise report` as a command: options, what it refuses, which file it takes, where output goes."""

import csv
import io
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise

TESTS = hw.Tests()
VIEWS = ("summary", "sites", "never-freed", "peak", "temporary", "sizes", "threads")
SITE_VIEWS = VIEWS[:5]
METRICS = ("allocations", "allocated_bytes", "live_bytes", "live_blocks", "peak_bytes", "temporary", "failed")


def recording(folder, name="a.hpw", program="peak_twice-O2"):
    path = folder / name
    ended = hw.record([hw.TARGETS / program], path)
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def usage_error(ended, *words):
    hw.need(ended.status == 2, f"expected status 2: {ended}")
    hw.need(ended.text == "", "wrong usage printed a result")
    hw.need(ended.errors.startswith("heapwise: "), str(ended))
    for word in words:
        hw.need(word in ended.errors, f"no word of {word!r}: {ended}")


@TESTS.test
def every_view(folder):
    """Every view is shown as text and as JSON"""
    path = recording(folder)
    for view in VIEWS:
        text = heapwise("report", path, "--view", view)
        hw.need(text.status == 0 and text.errors == "", f"{view}: {text}")
        hw.need("peak_twice-O2" in text.text.splitlines()[0], f"{view}: no heading: {text.text}")
        found = hw.report(path, "--view", view)
        hw.need(found["view"] == view, f"{view}: says it is {found['view']}")
        hw.need(found["recording"]["file"] == str(path), "another file's name")
        part = view if view in ("sizes", "threads") else "sites"
        hw.need(found[part] or view == "never-freed", f"{view}: {part} is empty")


def first_of(value):
    """What stands for a row of a list in one cell: of a frame its function, else where it is in its module; the first text."""
    if not isinstance(value, dict):
        return str(value)
    if value.get("module") and value.get("function", "") is None and value.get("offset") is not None:
        return f"{value['module']}+{int(str(value['offset']), 0):#x}"
    return next((text for text in value.values() if isinstance(text, str)), "")


def flattened(row):
    """A row of JSON as CSV has it: members of objects as outer.inner, of arrays what stands first in each row."""
    found = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found.update({f"{name}.{inner}": cell for inner, cell in flattened(value).items()})
        elif isinstance(value, list):
            found[name] = ";".join(first_of(one) for one in value)
        else:
            found[name] = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return found


@TESTS.test
def every_table(folder):
    """--csv writes the rows of JSON, column by column, also of frames without names"""
    path = recording(folder)
    parts = {"summary": "sites", "sites": "sites", "never-freed": "sites", "peak": "sites", "temporary": "sites", "functions": "spots",
             "modules": "spots", "sizes": "sizes", "threads": "threads", "realloc": "reallocs", "timeline": "snapshots",
             "errors": "errors", "marks": "marks"}
    for view, part in parts.items():
        ended = heapwise("report", path, "--view", view, "--csv")
        hw.need(ended.status == 0 and ended.errors == "", f"{view}: {ended}")
        table = list(csv.DictReader(io.StringIO(ended.text), strict=True))
        rows = json.loads(heapwise("report", path, "--view", view, "--json").text)[part]
        hw.need(len(table) == len(rows), f"{view}: {len(table)} rows, {len(rows)} in JSON")
        for cells, row in zip(table, rows):
            wrong = {name: (cells.get(name), value) for name, value in flattened(row).items()
                     if name in cells and cells[name] != value and "." not in name}
            missing = [name for name, value in row.items() if name not in cells and not isinstance(value, dict)
                       and value is not None]
            hw.need(not wrong and not missing, f"{view}: {wrong}, {missing}")
    table = list(csv.DictReader(io.StringIO(heapwise("symbols", path, "--csv").text), strict=True))
    rows = json.loads(heapwise("symbols", path, "--json").text)["modules"]
    hw.need([(row["path"], row["quality"], row["missing"]) for row in table]
            == [(row["path"], row["quality"], ";".join(row["missing"])) for row in rows], f"{table}, {rows}")
    usage_error(heapwise("symbols", path, "--csv", "--json"), "--csv", "--json")
    short = heapwise("report", path, "--view", "sites", "--csv", "--limit", "1")
    hw.need(len(list(csv.reader(io.StringIO(short.text)))) == 2, f"a heading and one row: {short}")
    frames = hw.SOURCE / "tests/data/golden/recording-frames.hpw"
    rows = list(csv.DictReader(io.StringIO(heapwise("report", frames, "--view", "sites", "--csv").text)))
    stacks = {row["stack"] for row in rows}
    hw.need("Parser.read;/usr/bin/story+0x401135" in stacks, f"functions, else places in modules: {stacks}")
    wrong = folder / "wrong.hpw"
    hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", wrong, hw.ANSWERS / "bad_frees", "small"])
    (row,) = csv.DictReader(io.StringIO(heapwise("report", wrong, "--view", "errors", "--csv").text), strict=True)
    hw.need("free_again" in row["stacks"] and "make" in row["stacks"], f"the stacks of an error: {row}")
    usage_error(heapwise("report", path, "--view", "sites", "--csv", "--json"), "--csv", "--json")


@TESTS.test
def every_metric(folder):
    """Sites are sorted by every metric; --limit cuts after sorting"""
    path = recording(folder)
    for view in SITE_VIEWS:
        for metric in METRICS:
            found = hw.report(path, "--view", view, "--sort", metric)
            values = [site[metric] for site in found["sites"]]
            hw.need(values == sorted(values, reverse=True), f"{view} by {metric}: {values}")
            first = hw.report(path, "--view", view, "--sort", metric, "--limit", "1")
            hw.need(first["sites"] == found["sites"][:1], f"{view} by {metric}: another first row")


@TESTS.test
def wrong_options(folder):
    """Wrong options name what would be right"""
    usage_error(heapwise("report", "--view", "nonsense"), "nonsense", *VIEWS)
    usage_error(heapwise("report", "--sort", "nonsense"), "nonsense", *METRICS)
    usage_error(heapwise("report", "--view", "sizes", "--sort", "failed"), "failed", "allocated_bytes")
    for number in ("0", "-1", "", "1x", "99999999999999999999"):
        usage_error(heapwise("report", f"--limit={number}"), "--limit")
    usage_error(heapwise("report", "--nonsense"), "--nonsense")
    usage_error(heapwise("report", "-x"), "-x")
    usage_error(heapwise("report", "--view"), "--view")
    usage_error(heapwise("report", "a.hpw", "b.hpw", "--view", "sites"), "--merge")
    usage_error(heapwise("nonsense"), "nonsense")
    usage_error(heapwise())


@TESTS.test
def filters(folder):
    """Stacks and frames are chosen by patterns, as in pprof; what is wrong with one is said, and where"""
    path = recording(folder)
    whole = hw.report(path, "--view", "sites")
    first = hw.report(path, "--focus", "first_peak")
    rest = hw.report(path, "--ignore", "first_peak")
    hw.need(first["view"] == "sites" and first["filter"] == "--focus 'first_peak'", f"{first['view']}, {first['filter']}")
    hw.need(0 < first["sites_total"] < whole["sites_total"], "focus keeps all or nothing")
    for metric in METRICS:
        parts = [sum(site[metric] for site in report["sites"]) for report in (first, rest, whole)]
        hw.need(parts[0] + parts[1] == parts[2], f"{metric}: {parts}")
    ended = heapwise("report", path, "--show-from", "^main$", "--hide", "^main$")
    hw.need(ended.status == 3 and "leaves none" in ended.errors, "main is hidden, yet stacks are shown from there")
    cut = hw.report(path, "--show-from", "^main$")
    hw.need({site["stack"][-1]["function"] for site in cut["sites"]} == {"main"}, "not from main on")
    hw.need(heapwise("report", path, "--kind", "calloc").status == 3, "the program calls malloc alone")
    usage_error(heapwise("report", path, "--focus", "ma(in"), "--focus", "'ma(in'", "at byte 6")
    usage_error(heapwise("report", path, "--kind", "mallo"), "'mallo'", "malloc, calloc")
    usage_error(heapwise("report", path, "--view", "threads", "--kind", "malloc"), "threads", "--view sites")


@TESTS.test
def helps(folder):
    """Each command tells about itself"""
    listing = heapwise("help")
    hw.need(listing.status == 0, str(listing))
    hw.need(heapwise("--help").text == listing.text, "--help and help differ")
    names = [line.split()[0] for line in listing.text.splitlines() if line.startswith("  ")]
    hw.need(len(set(names)) == len(names) > 8, f"listed twice: {names}")
    for command in ("run", "report", "version", "help"):
        hw.need(f"  {command}" in listing.text, f"{command} is not listed")
        for words in ((command, "--help"), ("help", command)):
            ended = heapwise(*words)
            hw.need(ended.status == 0 and ended.text.startswith(f"Usage: heapwise {command}"), str(ended))
    hw.need("Examples" in heapwise("report", "--help").text, "no examples")
    version = heapwise("--version")
    hw.need(version.status == 0 and version.text.startswith("heapwise "), str(version))


def code(report):
    """(module, offset) of each frame of all stacks."""
    return [[(Path(frame["module"] or "").name, frame["offset"]) for frame in site["stack"]] for site in report["sites"]]


@TESTS.test
def offsets(folder):
    """Frames without names are offsets in their files, as addr2line takes them: two runs compare equal"""
    built = hw.TARGETS / "peak_twice-O2"
    stripped = folder / "stripped"
    for tool in ("strip", "addr2line"):
        hw.need_program(tool)
    hw.need(hw.run(["strip", "-o", stripped, built]).status == 0, "strip failed")
    reports = []
    for name in ("a.hpw", "b.hpw"):
        hw.record([stripped], folder / name)
        reports.append(hw.report(folder / name, "--view", "sites"))
    named = hw.report(recording(folder, "named.hpw"), "--view", "sites")
    hw.need(code(reports[0]) and code(reports[0]) == code(reports[1]), f"{code(reports[0])}, {code(reports[1])}")
    sought = [frame["offset"] for site in reports[0]["sites"] for frame in site["stack"]
              if frame["module"] == str(stripped)]
    hw.need(sought and not any(f["function"] for s in reports[0]["sites"] for f in s["stack"]
                               if f["module"] == str(stripped)), "there are names: the test shows nothing")
    found = hw.run(["addr2line", "-i", "-s", "-e", built, *sought]).text.splitlines()
    lines = {f"{Path(f['file']).name}:{f['line']}" for s in named["sites"] for f in s["stack"] if f["file"]}
    ours = {line.split()[0] for line in found if not line.startswith("?")}
    hw.need(ours and ours <= lines, f"addr2line says {sorted(ours)}, with names it is {sorted(lines)}")
    text = heapwise("report", folder / "a.hpw").text
    hw.need(f"\n      stripped+{sought[0]}\n" in text, f"no stripped+{sought[0]} in {text}")


def modules_of(folder, program, cwd=None):
    hw.record([program], folder / "x.hpw", options=("-q", "-f"), cwd=cwd)
    report = hw.report(folder / "x.hpw", "--view", "sites")
    return {frame["module"] for site in report["sites"] for frame in site["stack"] if frame["function"] == "main"}


@TESTS.test
def started_by_link(folder):
    """A program that was started by a link goes by the link's name, and its symbols are found"""
    target = hw.TARGETS / "peak_twice-O2"
    (folder / "server").symlink_to(target)
    hw.need(modules_of(folder, folder / "server") == {str(folder / "server")}, "by the link's path")
    found = modules_of(folder, "./server", cwd=folder)
    hw.need({os.path.normpath(path) for path in found} == {str(folder / "server")}, f"relative: {found}")
    script = folder / "script"
    script.write_text(f"#!{target}\n")
    script.chmod(0o700)
    hw.need(modules_of(folder, script) == {str(target)}, "a script's interpreter goes by its own name")
    same = folder / "elsewhere"
    same.mkdir()
    (same / target.name).symlink_to(target)
    hw.need(modules_of(folder, same / target.name) == {str(target)}, "by the file's path if the names are the same")


@TESTS.test
def newest_recording(folder):
    """Without FILE the newest recording of the folder is taken, and said"""
    none = heapwise("report", cwd=folder)
    hw.need(none.status == 3 and "heapwise run" in none.errors, f"expected status 3: {none}")
    for name, when in (("old.hpw", 2000), ("new.hpw", 3000), ("oldest.hpw", 1000)):
        os.utime(recording(folder, name), (when, when))
    (folder / "newer.hpw").mkdir()
    (folder / "newer.txt").write_text("no recording")
    ended = heapwise("report", "--json", cwd=folder)
    hw.need(ended.status == 0 and "new.hpw" in ended.errors, str(ended))
    hw.need(json.loads(ended.text)["recording"]["file"] == "new.hpw", "another file")


@TESTS.test
def bad_files(folder):
    """A file that is no recording: one line and status 3, and nothing on stdout"""
    (folder / "nothing").mkdir()
    (folder / "empty.hpw").write_bytes(b"")
    (folder / "foreign.hpw").write_bytes(b"\x7fELF" + bytes(500))
    for name in ("missing.hpw", "empty.hpw", "foreign.hpw", "nothing"):
        ended = heapwise("report", folder / name)
        hw.need(ended.status == 3, f"{name}: expected status 3: {ended}")
        hw.need(ended.text == "" and len(ended.errors.splitlines()) == 1, f"{name}: {ended}")


MANY = 300


def little(memory):
    """For the command: little time of the processor, few descriptors, little memory. (A sanitizer maps terabytes.)"""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
        if hw.SANITIZERS == "none":
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    return limit


@TESTS.test
def folder_of_many(folder):
    """A folder of 300 recordings is shown in little time and memory; what is broken in it is named, and stops nothing"""
    first = recording(folder, "r0.hpw")
    for number in range(1, MANY):
        (folder / f"r{number}.hpw").hardlink_to(first)
    data = first.read_bytes()
    (folder / "broken0.hpw").write_bytes(b"")
    (folder / "broken1.hpw").write_bytes(data[:100])
    (folder / "broken2.hpw").write_bytes(b"text\n")
    (folder / "broken3.hpw").mkdir()
    (folder / "broken4.hpw").symlink_to("nowhere")
    os.mkfifo(folder / "broken5.hpw")
    (folder / "s.hpw").write_bytes(data[: len(data) // 2])
    (folder / "none.txt").write_bytes(data)
    ended = heapwise("report", "--json", folder, preexec_fn=little(128 << 20))
    hw.need(ended.status == 3, str(ended))
    named = [line.split(": ")[1] for line in ended.errors.splitlines()]
    hw.need(named == [str(folder / f"broken{n}.hpw") for n in range(6)], f"{ended.errors}")
    rows = json.loads(ended.text)["recordings"]
    hw.need(len(rows) == MANY + 1, f"{len(rows)} are shown")
    hw.need(sum(row["complete"] for row in rows) == MANY, "the cut one is said to be complete")
    one = hw.report(first)["totals"]["allocations"]
    hw.need(sum(row["allocations"] for row in rows if row["complete"]) == MANY * one, "they do not add up")


@TESTS.test
def table_of_strange_arguments(folder):
    """Arguments with control characters and long ones keep to their line of the table"""
    program = hw.TARGETS / "peak_twice-O2"
    hw.record([program, "a\nb\x1b[31m", "ä" * 200], folder / "a.hpw")
    recording(folder, "b.hpw")
    ended = heapwise("report", folder)
    lines = [line for line in ended.text.splitlines() if "a.hpw: " in line]
    hw.need(ended.status == 0 and len(lines) == 1, f"{ended} {ended.text}")
    hw.need("\x1b" not in ended.text and "\ufffd" not in ended.text and lines[0].endswith("…"), lines[0])


@TESTS.test
def incomplete_recording(folder):
    """A recording cut short is shown with status 0, and stderr says that it is incomplete"""
    path = recording(folder)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 40])
    ended = heapwise("report", path, "--json")
    hw.need(ended.status == 0 and "incomplete" in ended.errors, str(ended))
    found = json.loads(ended.text)
    hw.need(not found["recording"]["complete"], "said to be complete")
    hw.need(found["notes"], "no note says so")
    text = heapwise("report", path)
    hw.need(text.status == 0 and "incomplete" in text.text, str(text))


@TESTS.test
def full_disk(folder):
    """A result that cannot be written: status 4 and the reason"""
    path = recording(folder)
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([hw.HEAPWISE, "report", path], stdout=full, stderr=subprocess.PIPE,
                               timeout=hw.TIMEOUT, check=False)
    hw.need(ended.returncode == 4, f"status {ended.returncode}")
    hw.need(b"No space left" in ended.stderr, ended.stderr.decode())
    ended = subprocess.run(["/bin/sh", "-c", 'exec "$0" report "$1" >&-', hw.HEAPWISE, path],
                           stderr=subprocess.PIPE, timeout=hw.TIMEOUT, check=False)
    hw.need(ended.returncode == 4 and ended.stderr.startswith(b"heapwise: "), f"closed stdout: {ended}")


@TESTS.test
def no_library(folder):
    """Without the library for regular expressions: its package is named, and it is no wrong usage"""
    path = recording(folder)
    (folder / "libpcre2-8.so.0").touch()
    environment = hw.clean_environment(LD_LIBRARY_PATH=folder)
    for words in (("report", path), ("html", path), ("tree", path)):
        ended = hw.run([hw.HEAPWISE, *words, "--focus", "main"], env=environment)
        hw.need(ended.status == 4 and "--focus: cannot load libpcre2-8.so.0 (package libpcre2-8-0)" in ended.errors and
                "--help" not in ended.errors, f"{words}: {ended}")


@TESTS.test
def reader_leaves(folder):
    """A reader that leaves early is no error"""
    path = recording(folder)
    ended = subprocess.Popen([hw.HEAPWISE, "report", path, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    ended.stdout.close()
    errors = ended.stderr.read()
    hw.need(ended.wait(hw.TIMEOUT) == 0 and errors == b"", f"status {ended.returncode}: {errors.decode()}")


@TESTS.test
def all_frames(folder):
    """Allocator frames are hidden, and shown with --all-frames as the innermost ones"""
    path = recording(folder)
    for site in hw.report(path, "--view", "sites")["sites"]:
        functions = [frame["function"] for frame in site["stack"]]
        hw.need(site["kind"] not in functions[:1], f"{functions} begins with the allocator")
    for site in hw.report(path, "--view", "sites", "--all-frames")["sites"]:
        hw.need(site["stack"][0]["function"] == site["kind"], f"{site['stack'][0]} is not the allocator")


@TESTS.test
def same_bytes(folder):
    """The same recording gives the same bytes"""
    path = recording(folder)
    for view in VIEWS:
        for form in ((), ("--json",)):
            first, second = (heapwise("report", path, "--view", view, *form).text for _ in range(2))
            hw.need(first == second, f"{view} {form}: two reports differ")


TESTS.main()
