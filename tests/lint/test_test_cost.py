#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/test-cost: a test ends as it would by itself, and the time of all that it has started is counted, also of what
outlives who started it."""

import json
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/test-cost"
SECONDS = 0.2
WORKS = f"import time\nwhile time.process_time() < {SECONDS}: pass"
# Its child is an orphan at once.
LEAVES = "import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]]); os._exit(3)"


def measured(*command):
    """How it ended, and what was written of it."""
    with tempfile.TemporaryDirectory(prefix="heapwise-cost-") as folder:
        log = pathlib.Path(folder, "log")
        ended = subprocess.run([TOOL, log, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return ended.returncode, json.loads(log.read_text(encoding="utf-8"))


def cases():
    status, line = measured(sys.executable, "-c", WORKS)
    yield "a test's own time", status == 0 and line["user"] + line["system"] >= SECONDS, (status, line)
    status, line = measured(sys.executable, "-c", LEAVES, WORKS)
    yield "that of an orphan, and the test's status", status == 3 and line["user"] + line["system"] >= SECONDS, (status, line)
    yield "an orphan that has ended is not left", not line["left"], line
    status, line = measured("/bin/sh", "-c", "kill -TERM $$")
    yield "a test that a signal ends", status == -15, (status, line)
    status, line = measured("/nonexistent/test")
    yield "a test that is not there", status == 127, (status, line)


def main():
    found = list(cases())
    print(f"1..{len(found)}")
    for number, (name, good, what) in enumerate(found, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}" + ("" if good else f"\n# {what}"))
    sys.exit(0 if all(good for _, good, _ in found) else 1)


main()
