#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""redis-server under load with `run --http`, scraped by the real pprof once a second: each answer is whole, what is live
moves as redis' own count does, redis answers as ever, and nothing is left behind.

    test_http_service.py SECONDS
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import children, free_port, state, wait_for_answer
from sessions import environment

SECONDS = int(sys.argv.pop(1))
TESTS = hw.Tests()
GO = shutil.which("go")
MIB = 1 << 20
# redis counts what its allocator made of its requests: size classes are up to a fifth larger. What is for neither: buffers
# that come and go between the two looks.
PART_LEAST, SLACK = 0.75, 4 * MIB
FILLED = 40 * MIB
VALUE = 4000


class Redis:
    """A client that speaks redis' protocol."""

    def __init__(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=hw.TIMEOUT).makefile("rwb")

    def ask(self, *words):
        parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.stream.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        self.stream.flush()
        line = self.stream.readline()[:-2]
        hw.need(line[:1] in b"+:$", f"redis says {line} to {parts[0]}")
        if line[:1] != b"$":
            return line[1:]
        size = int(line[1:])
        return None if size < 0 else self.stream.read(size + 2)[:-2]

    def used(self):
        return int(re.search(rb"used_memory:(\d+)", self.ask("INFO", "memory"))[1])


def scrape(folder, url):
    """A profile, by pprof if that is here; live bytes."""
    path = folder / "scraped.pb.gz"
    path.unlink(missing_ok=True)
    if GO:
        home = {"HOME": os.fspath(folder), "PPROF_TMPDIR": os.fspath(folder / "pprof")}
        ended = hw.run([GO, "tool", "pprof", "-proto", "-output", path, f"{url}debug/pprof/heap"], env=hw.clean_environment(**home))
        hw.need(ended.status == 0, f"pprof: {ended}")
    else:
        path.write_bytes(urllib.request.urlopen(f"{url}debug/pprof/heap", timeout=hw.TIMEOUT).read())
    sites = json.loads(hw.ask("export", path, "--format", "json"))["sites"]
    return sum(site["live_bytes"] for site in sites)


def need_alike(live, used):
    """Of a profile and of what redis said before and after it."""
    hw.need(PART_LEAST * min(used) - SLACK <= live <= max(used) + SLACK, f"{live} bytes are live; redis: {used}")


@contextlib.contextmanager
def loaded(port):
    """redis-benchmark, in a loop."""
    words = [hw.need_program("redis-benchmark"), "-p", str(port), "-t", "set,get,lpush,lpop", "-r", "1000", "-d", "300", "-l", "-q"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as load:
        try:
            yield
            hw.need(load.poll() is None, "redis-benchmark has ended by itself")
        finally:
            load.kill()


class Answers:
    """Values that are set and asked for in turn."""

    def __init__(self, redis):
        self.redis, self.count = redis, 0

    def check(self):
        key, value = f"own:{self.count}", os.urandom(VALUE)
        hw.need(self.redis.ask("SET", key, value) == b"OK" and self.redis.ask("GET", key) == value, f"{key} is another value")
        self.count += 1


def watch(folder, url, redis, seconds):
    """Scrapes each second. Returns how often."""
    answers, began, count = Answers(redis), time.monotonic(), 0
    while time.monotonic() - began < seconds:
        before = redis.used()
        live = scrape(folder, url)
        need_alike(live, (before, redis.used()))
        answers.check()
        count += 1
        time.sleep(max(0, began + count - time.monotonic()))
    return count


def fill_and_flush(folder, url, redis):
    """Live memory follows a known amount, up and down."""
    before = scrape(folder, url)
    for i in range(FILLED // VALUE):
        redis.ask("SET", f"filled:{i}", bytes(VALUE))
    full = scrape(folder, url)
    need_alike(full, (redis.used(), redis.used()))
    redis.ask("FLUSHALL", "SYNC")
    empty = scrape(folder, url)
    need_alike(empty, (redis.used(), redis.used()))
    hw.need(full - before >= FILLED and full - empty >= FILLED, f"{before}, filled with {FILLED}: {full}, flushed: {empty}")


@TESTS.test
def redis_scraped(folder):
    """redis-server under load, a profile each second: whole, true to redis' own count, unfelt"""
    server = hw.need_program("redis-server")
    port = free_port()
    process = subprocess.Popen(
        [hw.HEAPWISE, "run", "-f", "-o", folder / "x.hpw", "--http", "127.0.0.1:0", "--", server, "--port", str(port), "--bind",
         "127.0.0.1", "--save", "", "--dir", folder, "--logfile", folder / "log"],
        stderr=subprocess.PIPE, text=True, env=environment(folder), cwd=folder, start_new_session=True)
    try:
        url = re.search(r"profiles: (http://\S+)debug/pprof/", process.stderr.readline())[1]
        wait_for_answer(port, process)
        redis = Redis(port)
        with loaded(port):
            count = watch(folder, url, redis, SECONDS)
        fill_and_flush(folder, url, redis)
        ours = children(process.pid)
        redis.stream.write(b"SHUTDOWN NOSAVE\r\n")
        redis.stream.flush()
        errors = process.communicate(timeout=hw.TIMEOUT)[1]
        hw.need(process.returncode == 0, f"{hw.describe(process.returncode)}: {errors}")
        hw.wait_until(lambda: all(state(pid) in "ZX" for pid in ours), "a process is left")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with contextlib.suppress(OSError):
        urllib.request.urlopen(url, timeout=hw.TIMEOUT)
        raise hw.Failure("the server of profiles goes on")
    recording = hw.report(folder / "x.hpw")["recording"]
    hw.need(recording["complete"] and not recording["lost_events"], f"{recording}")
    hw.need(not list((folder / "sessions").iterdir()), "a session is left")
    return f"{count} profiles, longest wait {recording['longest_wait_ns'] / 1e6:.1f} ms, {recording['events']} events"


TESTS.main(width=1)
