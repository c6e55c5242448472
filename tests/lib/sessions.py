# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions of recorded programs in a test: a place of their own, and the moment when they are over."""

import fcntl
import os
import signal

import hw

PERL = "/usr/bin/perl"


def environment(folder, **more):
    """With a place for sessions of this test alone."""
    sessions = folder / "sessions"
    sessions.mkdir(exist_ok=True)
    return hw.clean_environment(XDG_RUNTIME_DIR=sessions, **more)


def wait_sessions(folder):
    """Returns once no session is alive: all recordings are complete. The collector holds a lock on its folder."""
    for path in (folder / "sessions").iterdir():
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        signal.alarm(int(hw.TIMEOUT / 2))
        fcntl.flock(lock, fcntl.LOCK_EX)
        signal.alarm(0)
        os.close(lock)
        hw.need(not path.exists(), "the session's folder is left")
