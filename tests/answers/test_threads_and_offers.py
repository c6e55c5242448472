# SPDX-License-Identifier: GPL-2.0-or-later
"""Short-lived threads; rebuilt programs; what reports offer; recordings that are being written."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402

tests = hw.Tests()


@tests.test
def thread_names(folder):
    """Threads that live for a millisecond are known by their names."""
    recording = folder / "threads.hpw"
    hw.record([hw.ANSWERS / "short_threads"], recording)
    for name in ("w0", "w1", "w2"):
        found = hw.report(recording, "--thread", name)
        sizes = range(1000 + int(name[1]), 1030, 3)
        hw.need(found["totals"]["allocated_bytes"] == sum(sizes), f"{name}: {found['totals']}")
        hw.need(found["recording"]["blocks"] == f"of thread {name}", found["recording"]["blocks"])


@tests.test
def offers(folder):
    """A report offers the view of marks only where that can be had."""
    for number, options in enumerate(((), ("--ring", "64K"), ("--max-file", "64K"))):
        recording = folder / f"{number}.hpw"
        hw.record([hw.ANSWERS / "marks_and_waits"], recording, options=("-q", *options))
        offered = "--view marks" in hw.ask("report", recording)
        works = hw.heapwise("report", recording, "--view", "marks").status == 0
        hw.need(not offered or works, f"{options}: offered, and refused")
        hw.need(options or offered, "not offered")


@tests.test
def offers_of_many_events(folder):
    """What a report did not look at, as there are too many events, it offers only where the file has them."""
    for number, options in enumerate(((), ("--mode", "aggregate"), ("--ring", "64K"), ("--max-file", "64K"))):
        recording = folder / f"{number}.hpw"
        hw.record([hw.ANSWERS / "churns", "1100000"], recording, options=("-q", *options))
        text = hw.ask("report", recording)
        for view in ("growth", "realloc"):
            offered = f"--view {view}" in text
            works = hw.heapwise("report", recording, "--view", view).status == 0
            hw.need(offered == works, f"{options}: --view {view} offered {offered}, works {works}")


@tests.test
def in_progress(folder):
    """A recording that is still being written says so, and has an end when it is done."""
    recording = folder / "waits.hpw"
    process = subprocess.Popen(
        [hw.HEAPWISE, "run", "-q", "-o", recording, "--", hw.ANSWERS / "marks_and_waits", "wait"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hw.clean_environment())
    hw.need(process.stdout.readline() == b"ready\n", "it did not begin")

    def said():
        ended = hw.heapwise("report", recording)
        return ended.status == 0 and "marks_and_waits" in ended.text and ended.text

    text = hw.wait_until(said, "nothing of it was written")
    hw.need("is still running" in text and "still being recorded" in text and "not recorded" not in text, text)
    process.communicate()
    text = hw.ask("report", recording)
    hw.need("ended with status 0" in text and "still" not in text, text)


@tests.test
def rebuilt(folder):
    """A program without a build-id that was built anew gives no names."""
    compiler = hw.need_program("cc")
    source = hw.SOURCE / "tests/answers/programs/leaks/rebuilt.c"
    program, recording = folder / "rebuilt", folder / "rebuilt.hpw"

    def build(name):
        ended = hw.run([compiler, "-g", "-O0", f"-DFIRST={name}", "-Wl,--build-id=none", "-o", program, source])
        hw.need(ended.status == 0, str(ended))

    build("before")
    hw.record([program], recording)
    text = hw.ask("report", recording)
    hw.need("before" in text and "no longer" not in text, text)
    build("after")
    text = hw.ask("report", recording)
    hw.need("after  " not in text and "has changed since it was recorded" in text, text)


tests.main()
