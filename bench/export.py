# SPDX-License-Identifier: GPL-2.0-or-later
"""What it takes to write a recording of 100 M events in each format, beside what that format's own reader takes for it."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from statistics import median

from figures import say
from moments import facts, measured

EXPR, QUICK_EXPR = "300", "30"
SLOW_SECONDS = 30  # who takes longer is run once
BUDGET_SECONDS, BUDGET_EVENT_SECONDS, BUDGET_MB = 2.0, 40.0, 200
DH_VIEW_SHOW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dh_view.js")
DH_VIEW = "/usr/libexec/valgrind/dh_view.js"
PARSE = "JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8'))"


@dataclass
class Format:
    """A format, the program that reads it elsewhere, and whether `heapwise report` reads it too."""

    name: str
    reader: str = ""
    arguments: tuple = ()  # {program}: what was recorded, {file}: what was written
    suffix: str = ""
    read_back: str = ""  # the command that reads it
    events: bool = False  # every event is written
    statuses: tuple = (0,)  # with which the reader ends


FORMATS = [
    Format("pprof", "go", ("tool", "pprof", "-top", "{file}"), read_back="report"),
    Format("massif", "ms_print", ("{file}",), read_back="report"),
    Format("dhat", "node", (DH_VIEW_SHOW, DH_VIEW, "{file}"), read_back="report"),
    Format("speedscope", "node", ("-e", PARSE, "{file}")),
    Format("firefox", "node", ("-e", PARSE, "{file}")),
    Format("callgrind", "callgrind_annotate", ("{file}",)),
    Format("json", "jq", ("-n", "input | length", "{file}")),
    Format("csv", "sqlite3", (":memory:", ".import --csv {file} stacks", "select count(*) from stacks")),
    Format("gperftools", "google-pprof", ("--text", "{program}", "{file}"), read_back="report"),
    Format("jemalloc", "jeprof", ("--text", "{program}", "{file}"), read_back="report"),
    Format("valgrind", "xmllint", ("--noout", "{file}"), read_back="leaks"),
    Format("folded", read_back="report"),
    Format("heaptrack", "heaptrack_print", ("{file}",), ".zst", "report", True),
    Format("heaptrack2", "heaptrack_print", ("{file}",), ".zst", "report", True),
    Format("heaptrack1", "heaptrack_print", ("{file}",), ".gz", "report", True),
    # It ends with 1 where blocks were never freed.
    Format("mtrace", "mtrace", ("{file}",), "", "report", True, (0, 1)),
]


def reader_of(form, program, file):
    """The command, or None where the reader is not there: that is said."""
    if not form.reader:
        return None
    found = shutil.which(form.reader)
    if form.name == "dhat" and not os.path.exists(DH_VIEW):
        found = None
    if not found:
        say(f"skipped: {form.name}: its reader {form.reader} is not there")
        return None
    return [found, *(word.format(program=program, file=file) if word != PARSE else word for word in form.arguments)]


def runs_of(commands, count):
    """(seconds, MB) of so many runs of each command, in turns; of those that take long, of one."""
    runs = {name: [] for name in commands}
    for _ in range(count):
        for name, (command, statuses) in commands.items():
            if not runs[name] or runs[name][0][0] < SLOW_SECONDS:
                runs[name].append(measured(command, statuses, stderr=subprocess.DEVNULL))
    return {name: {"seconds": median(took for took, _ in of), "rss_mb": max(mb for _, mb in of)}
            for name, of in runs.items()}


def row_of(bench, heapwise, form, program, recording):
    file = os.path.join(bench.scratch, f"{form.name}.out{form.suffix}")
    commands = {"written": ([heapwise, "export", recording, "--format", form.name, "-o", file], (0,))}
    reader = reader_of(form, program, file)
    if reader:
        commands["its reader"] = reader, form.statuses
    if form.read_back:
        # `leaks` ends with 1 where there are some.
        commands["read back"] = [heapwise, form.read_back, file], (0, 1)
    row = {"format": form.name, "reader": form.reader if reader else None, "events": form.events}
    row.update(runs_of(commands, bench.options.runs))
    row["bytes"] = os.path.getsize(file)
    os.unlink(file)
    return row


def export(bench, heapwise):
    """Figures by format, medians of the rounds."""
    program = os.path.join(bench.bin, "expr")
    recording = os.path.join(bench.scratch, "export.hpw")
    size = QUICK_EXPR if bench.options.quick else EXPR
    # The search is for valgrind's format.
    subprocess.run([heapwise, "run", "-q", "-f", "--leak-check=yes", "-o", recording, "--", program, size],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    events, _ = facts(heapwise, recording)
    rows = [row_of(bench, heapwise, form, program, recording) for form in FORMATS]
    return {"events": events, "rows": rows}


def figure(row, name):
    found = row.get(name)
    return f"{found['seconds']:7.2f} s {found['rss_mb']:4.0f} MB" if found else f"{'-':>17}"


def ratio(row, name):
    """So many times what the format's own reader takes."""
    if name not in row or "its reader" not in row:
        return f"{'-':>6}"
    return f"{row[name]['seconds'] / row['its reader']['seconds']:5.2f}x"


def print_export(found):
    print(f"export: a recording of {found['events'] / 1e6:.1f} M events, written, read by the format's own reader and by heapwise")
    print(f"  {'format':<11} {'file':>10}  {'written':>17}  {'its reader':>17}  {'x':>6}  {'read back':>17}  {'x':>6}")
    for row in found["rows"]:
        print(f"  {row['format']:<11} {row['bytes'] / 1e6:7.1f} MB  {figure(row, 'written')}  {figure(row, 'its reader')}"
              f"  {ratio(row, 'written')}  {figure(row, 'read back')}  {ratio(row, 'read back')}  {row['reader'] or ''}")
        seconds = BUDGET_EVENT_SECONDS if row["events"] else BUDGET_SECONDS
        for name in ("written", "read back"):
            if name in row and (row[name]["seconds"] > seconds or row[name]["rss_mb"] > BUDGET_MB):
                print(f"  over budget: {name} in {seconds} s, {BUDGET_MB} MB")
    print(flush=True)
