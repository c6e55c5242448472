# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs on a terminal of their own. Not pty.fork: between fork and exec Python would run in a copy
of a process with threads, and the other tests' programs would hold the terminal as well."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import hw

ROWS, COLUMNS = 40, 120


class Terminal:
    """A program on a terminal, which it leads. As a context it is killed at the end, if it is still there."""

    def __init__(self, arguments, environment):
        self.file, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", ROWS, COLUMNS, 0, 0))
        # setsid makes its standard input the terminal and becomes the program.
        command = [hw.need_program("setsid"), "-c", *arguments]
        self.process = subprocess.Popen([os.fspath(word) for word in command], env=environment,
                                        stdin=inner, stdout=inner, stderr=inner)
        os.close(inner)
        self.name = " ".join(map(str, arguments))
        self.got = b""  # and not waited for yet

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The program leads a group of its own once setsid has run; nothing is sent to one that was waited for.
        if self.process.poll() is None:
            if os.getpgid(self.process.pid) == self.process.pid:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        os.close(self.file)

    def read(self, until, wanted):
        """One more piece. False: the program has closed the terminal."""
        left = until - time.monotonic()
        if left < 0 or not select.select([self.file], [], [], left)[0]:
            state = hw.process_state(self.process.pid)
            raise hw.Failure(f"{self.name}: no {wanted} ({state}): {self.got[-2000:]!r}")
        try:
            piece = os.read(self.file, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.got += piece
        return bool(piece)

    def wait(self, words):
        """What is shown up to the words and with them; the next wait goes on behind them."""
        until, wanted = time.monotonic() + hw.TIMEOUT, words.encode()
        while wanted not in self.got:
            hw.need(self.read(until, repr(words)), f"{self.name}: it ended without {words!r}: {self.got!r}")
        end = self.got.index(wanted) + len(wanted)
        found, self.got = self.got[:end], self.got[end:]
        return self.text(found)

    def type(self, keys):
        keys = keys.encode()
        while keys:
            keys = keys[os.write(self.file, keys):]

    def end(self):
        """Exit status, and what was shown since the last wait, when the program has ended."""
        until = time.monotonic() + hw.TIMEOUT
        while self.read(until, "end"):
            pass
        try:
            status = self.process.wait(max(1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise hw.Failure(f"{self.name}: it does not end: {hw.process_state(self.process.pid)}") from None
        return status, self.text(self.got)

    @staticmethod
    def text(shown):
        return shown.decode(errors="replace").replace("\r\n", "\n")
