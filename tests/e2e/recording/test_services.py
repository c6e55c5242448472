#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real services with LD_PRELOAD alone: started as daemons, loaded, stopped. Each process's recording is complete, and
no thread ever waited long for the recorder, as the runtime itself has measured.

    test_services.py SECONDS [NAME…]     under load for so long
"""

import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import free_port, wait_for_answer
from sessions import environment, wait_sessions

SECONDS = int(sys.argv.pop(1))
TESTS = hw.Tests()
LIBRARY = hw.BUILD / "src/runtime/libheapwise-rt.so"
# The runtime gives up on a collector after 1 s; the start of the collector is the longest wait there should be.
LONGEST_WAIT_NS = 900_000_000
WORKERS = 3


def program(name):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not found:
        raise hw.Skip(f"{name} is not installed")
    return found


def stop(pid_file, number):
    """Asks a daemon to stop and waits until it has."""
    pid = int(pid_file.read_text())
    handle = os.pidfd_open(pid)
    signal.pidfd_send_signal(handle, number)
    hw.need(select.select([handle], [], [], hw.TIMEOUT)[0], f"{pid} does not stop")
    os.close(handle)


def check_recordings(folder, least, allocations):
    wait_sessions(folder)
    reports = [hw.report(path) for path in sorted(folder.glob("*.hpw"))]
    hw.need(len(reports) >= least, f"{len(reports)} recordings, expected {least}")
    longest = 0
    for report in reports:
        recording = report["recording"]
        name = recording["file"]
        hw.need(recording["complete"], f"{name} is incomplete")
        hw.need(recording["lost_events"] == 0 and recording["repairs"] == 0, f"{name}: {recording}")
        longest = max(longest, recording["longest_wait_ns"])
    most = max(report["totals"]["allocations"] for report in reports)
    hw.need(most >= allocations, f"{most} allocations at most, expected {allocations}")
    hw.need(longest < LONGEST_WAIT_NS, f"a thread waited {longest / 1e6:.0f} ms")
    return f"{len(reports)} recordings, longest wait {longest / 1e6:.1f} ms, {most} allocations at most"


NGINX = """daemon on; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes {workers};
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
 uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
 server {{ listen 127.0.0.1:{port}; location / {{ return 200 "fine"; }} }} }}
"""


@TESTS.test
def nginx(folder):
    """nginx: master and workers, all recordings complete"""
    server, load = program("nginx"), program("wrk")
    folder.chmod(0o755)
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port, workers=WORKERS) + (
        "" if os.geteuid() else "user root;\n"))
    env = environment(folder, LD_PRELOAD=LIBRARY, HEAPWISE_OPTIONS="-o x.hpw")
    ended = hw.run([server, "-e", folder / "error.log", "-c", configuration], cwd=folder, env=env)
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    try:
        ended = hw.run([load, "-t1", "-c16", f"-d{SECONDS}s", f"http://127.0.0.1:{port}/"],
                       timeout=SECONDS + hw.TIMEOUT)
        hw.need(ended.status == 0 and "Non-2xx" not in ended.text, f"{ended} {ended.text}")
    finally:
        stop(folder / "nginx.pid", signal.SIGQUIT)
    # The command that was typed, the master that it left behind, the workers.
    return check_recordings(folder, 2 + WORKERS, 100)


@TESTS.test
def redis(folder):
    """redis-server: a daemon, stopped with SIGTERM, its recording complete"""
    server, load = program("redis-server"), program("redis-benchmark")
    port, pid_file = free_port(), folder / "redis.pid"
    env = environment(folder, LD_PRELOAD=LIBRARY, HEAPWISE_OPTIONS="-o x.hpw")
    ended = hw.run([server, "--port", str(port), "--bind", "127.0.0.1", "--daemonize", "yes", "--save", "",
                    "--pidfile", pid_file, "--dir", folder, "--logfile", folder / "log"], cwd=folder, env=env)
    hw.need(ended.status == 0, str(ended))
    wait_for_answer(port)
    with subprocess.Popen([load, "-p", str(port), "-t", "set,get,lpush,hset", "-d", "300", "-l", "-q"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as loader:
        try:
            loader.wait(SECONDS)
            raise hw.Failure("the load has ended by itself")
        except subprocess.TimeoutExpired:
            pass
        finally:
            loader.kill()
            stop(pid_file, signal.SIGTERM)
    return check_recordings(folder, 2, 1000)


if __name__ == "__main__":
    TESTS.main(width=1)
