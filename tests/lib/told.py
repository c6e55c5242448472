# SPDX-License-Identifier: GPL-2.0-or-later
"""The target `dumps`, under `heapwise run`: told what to do, a line at a time."""

import contextlib
import os
import signal
import subprocess

import hw

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

    def tell(self, word, number=0):
        """Returns what the target says to it."""
        self.process.stdin.write(f"{word} {number}\n".encode())
        self.process.stdin.flush()
        found = self.answer().split()
        hw.need(found[0] == word, f"{found} to {word}")
        return float(found[1])


@contextlib.contextmanager
def told(folder, *options, before=(), status=0):
    """The target, recorded into x.hpw in the folder, which is its working directory."""
    process = subprocess.Popen([hw.HEAPWISE, "run", "--all-processes", *options, "-o", folder / "x.hpw", "--", *before, DUMPS],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
                               start_new_session=True, env=hw.clean_environment())
    try:
        target = Told(folder, process)
        yield target
        _, errors = process.communicate(timeout=60)
        target.errors = errors.decode(errors="replace")
        hw.need(process.returncode == status, f"status {process.returncode}: {target.errors}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def of_site(report, figure, site="site_kept"):
    """The sum of a figure over the sites in that function."""
    return sum(s[figure] for s in report["sites"] if s["stack"] and s["stack"][0].get("function") == site)
