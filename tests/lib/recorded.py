# SPDX-License-Identifier: GPL-2.0-or-later
"""A program under `heapwise run`, and the processes of the command around it, for tests that interfere with them."""

import os
import select
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import hw


class Recorded:
    """A program under recording that waits for a line on its standard input, and our two processes."""

    SCRIPT = '$| = 1; my @kept = map { "x" x 100 } 1 .. 500; print "$$\\n"; <STDIN>; exit 9'

    def __init__(self, folder, script=SCRIPT, *, arguments=None, options=(), environment=None, **more):
        """script is perl's; arguments: another program instead, which says its PID first."""
        self.arguments = arguments or ["/usr/bin/perl", "-e", script]
        self.session = folder / "session"
        self.session.mkdir(exist_ok=True)
        self.recording = folder / "x.hpw"
        self.environment = hw.clean_environment(XDG_RUNTIME_DIR=self.session, **(environment or {}))
        self.run = subprocess.Popen(
            [hw.HEAPWISE, "run", *options, "-o", self.recording, "--", *self.arguments],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, **more,
        )
        self.program = int(self.run.stdout.readline())
        children = Path(f"/proc/{self.run.pid}/task/{self.run.pid}/children").read_text().split()
        self.collector = next(int(pid) for pid in children if int(pid) != self.program)
        self.program_end = os.pidfd_open(self.program)
        self.collector_end = os.pidfd_open(self.collector)

    def wait(self, pidfd, what):
        ready, _, _ = select.select([pidfd], [], [], hw.TIMEOUT / 2)
        hw.need(ready, f"{what} does not end")

    def sessions(self):
        return [path.name for path in self.session.iterdir()]

    def close(self):
        for pid, pidfd in ((self.program, self.program_end), (self.collector, self.collector_end)):
            try:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.close(pidfd)
        self.run.kill()
        self.run.communicate()


@contextmanager
def recorded(folder, *arguments, **more):
    """Ends them all, whatever the test did."""
    one = Recorded(folder, *arguments, **more)
    try:
        yield one
    finally:
        one.close()
