# SPDX-License-Identifier: GPL-2.0-or-later
"""Other processes as a test sees them: their states and children, servers that start."""

import contextlib
import random
import socket
from pathlib import Path

import hw


def state(pid):
    """Its state as a letter, as ps(1) has it; X: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def status_line(pid, name):
    """What its status says by that name."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    raise hw.Failure(f"{name} is not in the status of {pid}")


def children(pid):
    """Those of all its threads, as text."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += (task / "children").read_text().split()
        except FileNotFoundError:
            continue
    return found


# Below those that the kernel gives to whoever connects (ip_local_port_range): nobody else has one by chance.
PORTS = range(20000, 32000)


def free_port():
    """A port for a server that can't be told to choose one itself."""
    while True:
        port = random.SystemRandom().choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            return port


def wait_for_answer(port, process=None):
    """Returns once somebody listens there; `process`: who is to do so, and is still there."""
    def answers():
        hw.need(process is None or process.poll() is None, "the server has ended")
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return False
        return True

    hw.wait_until(answers, "the server does not start")
