# SPDX-License-Identifier: GPL-2.0-or-later
"""The target `dumps`, under `heapwise run`: told what to do, a line at a time."""

import contextlib
import os
import select
import signal
import subprocess
from pathlib import Path

import hw
from processes import children, state

DUMPS = hw.TARGETS / "dumps"


class Told:
    """A running target that answers each line."""

    def __init__(self, folder, process):
        self.folder, self.process = folder, process
        self.name = self.answer().split()[1]
        self.pid = int(self.name)

    def answer(self):
        line = self.process.stdout.readline().decode()
        hw.need(line, "the target has ended")
        return line

    def ask(self, word, number=0):
        """The answer is to come."""
        self.process.stdin.write(f"{word} {number}\n".encode())
        self.process.stdin.flush()

    def told(self, word):
        """Returns the answer."""
        found = self.answer().split()
        hw.need(found[0] == word, f"{found} to {word}")
        return float(found[1])

    def tell(self, word, number=0):
        """Returns what the target says to it."""
        self.ask(word, number)
        return self.told(word)


@contextlib.contextmanager
def told(folder, *options, before=(), status=0, program=DUMPS):
    """The target, or another one that does what it reads, recorded into x.hpw in the folder, which is its working directory."""
    process = subprocess.Popen([hw.HEAPWISE, "run", "--all-processes", *options, "-o", folder / "x.hpw", "--", *before, program],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                               start_new_session=True, env=hw.clean_environment())
    try:
        target = Told(folder, process)
        yield target
        _, errors = process.communicate(timeout=60)
        target.errors = errors.decode(errors="replace")
        hw.need(status is None or process.returncode == status, f"status {process.returncode}: {target.errors}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def of_site(report, figure, site="site_kept"):
    """The sum of a figure over the sites in that function."""
    return sum(s[figure] for s in report["sites"] if s["stack"] and s["stack"][0].get("function") == site)


def collector_of(folder):
    """The collector's number: it has the recording open, and is no copy that writes a dump."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if any(os.readlink(path) == str(folder / "x.hpw") for path in Path(f"/proc/{pid}/fd").iterdir()):
                found.append(int(pid))
    hw.need(found, "there is no collector")
    return min(found)


def stop_writer(collector, ask, is_answered):
    """Stops what writes a dump, which `ask` begins, in the middle of that. None: it was done before, which is sure when
    that is answered."""
    before = children(collector)
    ask()
    found = []
    def is_there():
        found[:] = [pid for pid in children(collector) if pid not in before]
        return found or is_answered()
    hw.wait_until(is_there, "nothing writes a dump")
    if not found:
        return None
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(found[0]), signal.SIGSTOP)
        hw.wait_until(lambda: state(found[0]) in "TZX", "the writer does not stop")
        return int(found[0]) if state(found[0]) == "T" else None
    return None


def is_readable(file):
    """Whether there is something to read, or the end."""
    return bool(select.select([file], [], [], 0)[0])
