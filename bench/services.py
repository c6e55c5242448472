# SPDX-License-Identifier: GPL-2.0-or-later
"""What recording costs services under load: throughput, the slowest answers, CPU time per request."""

import csv
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from statistics import geometric_mean, median

from figures import say
from processes import cpu_time_ns, descendants

TOOLS = ("native", "heapwise-sample", "heapwise-scraped", "heapwise", "heaptrack")
TOOLS += ("jemalloc", "jemalloc-sample", "tcmalloc", "gperftools")
BUDGETED = ("heapwise-sample", "heapwise-scraped")
LEAST_THROUGHPUT, MOST_P99 = 0.98, 1.05  # compared with native
SLOW_SHARE = 0.1  # of the load, under gperftools' profiler
WARM_UP_SHARE = 0.05  # of the load, before what is measured
WAIT_S = 120
DUMP_SECONDS, QUICK_DUMP_SECONDS = 10, 2


def redis_command(folder):
    return ["redis-server", "--port", "0", "--unixsocket", f"{folder}/socket", "--save", "", "--dir", folder,
            "--loglevel", "warning"]


def redis_ready(folder):
    ping = ["redis-cli", "-s", f"{folder}/socket", "ping"]
    return subprocess.run(ping, capture_output=True, check=False).returncode == 0


REDIS_KINDS = ("set", "get", "lpush", "hset")


def redis_load(folder, quick, share):
    """50 connections, one request at a time each, from one thread of the client."""
    count = int((40_000 if quick else 300_000) * share)
    load = ["redis-benchmark", "-s", f"{folder}/socket", "--csv", "-r", "100000", "-d", "256", "-c", "50"]
    load += ["-t", ",".join(REDIS_KINDS), "-n", str(count)]
    out = subprocess.run(load, capture_output=True, check=True, text=True).stdout
    rows = {row["test"].lower(): row for row in csv.DictReader(out.splitlines())}
    return {kind: {"requests": count, "per_s": float(rows[kind]["rps"]),
                   "p99_ms": float(rows[kind]["p99_latency_ms"])} for kind in REDIS_KINDS}


NGINX = """daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
 fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; gzip on;
 server {{ listen unix:{folder}/socket; listen 127.0.0.1:{port}; root {folder};
  location = /fixed {{ return 200 "fine"; }} }} }}
"""
NGINX_KINDS = {"fixed": [], "page.html": ["-H", "Accept-Encoding: gzip"]}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def nginx_command(folder):
    port, user = free_port(), "" if os.geteuid() else "user root;"
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as f:
        f.write(NGINX.format(folder=folder, port=port, user=user))
    with open(f"{folder}/page.html", "w", encoding="ascii") as f:
        f.writelines(f"<p>Paragraph {i} of a page, {i * 7919 % 1000}.</p>\n" for i in range(200))
    with open(f"{folder}/port", "w", encoding="ascii") as f:
        f.write(str(port))
    return ["nginx", "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]


def nginx_url(folder):
    with open(f"{folder}/port", encoding="ascii") as f:
        return f"http://127.0.0.1:{f.read()}"


def nginx_ready(folder):
    try:
        return urllib.request.urlopen(f"{nginx_url(folder)}/fixed", timeout=1).status == 200
    except OSError:
        return False


MILLISECONDS = {"us": 1e-3, "ms": 1, "s": 1e3}


def nginx_load(folder, quick, share):
    """16 connections from one thread of the client."""
    seconds = max(1, round((2 if quick else 10) * share))
    found = {}
    for kind, more in NGINX_KINDS.items():
        load = ["wrk", "-t1", "-c16", f"-d{seconds}s", "--latency", *more, f"{nginx_url(folder)}/{kind}"]
        out = subprocess.run(load, capture_output=True, check=True, text=True).stdout
        if "Non-2xx" in out or "Socket errors" in out:
            raise ValueError(f"wrk: {out}")
        p99, unit = re.search(r"^ +99% +([0-9.]+)(us|ms|s)$", out, re.M).groups()
        found[kind] = {"requests": int(re.search(r"(\d+) requests in ", out)[1]),
                       "per_s": float(re.search(r"^Requests/sec: +([0-9.]+)", out, re.M)[1]),
                       "p99_ms": float(p99) * MILLISECONDS[unit]}
    return found


@dataclass
class Service:
    name: str
    server: str
    client: str
    command: object
    ready: object
    load: object
    own_allocator: str = ""  # that it is linked with, instead of libc's


SERVICES = [
    Service("redis", "redis-server", "redis-benchmark", redis_command, redis_ready, redis_load, "jemalloc"),
    Service("nginx", "nginx", "wrk", nginx_command, nginx_ready, nginx_load),
]


@dataclass
class Recorder:
    """A way to run a service."""

    name: str
    base: str = "native"  # what it is compared with
    words: list = field(default_factory=list)  # before the service's command; {out}, {port}
    share: float = 1
    least_dumps: int = 0  # files that it must have written, besides a recording


def preload(library, *environment):
    """None if the library is not installed."""
    paths = sorted(glob.glob(f"/usr/lib/*/{library}") + glob.glob(f"/usr/lib/{library}"))
    return ["env", f"LD_PRELOAD={paths[0]}", *environment] if paths else None


def recorders(names, heapwise, service, seconds):
    """Those that are installed."""
    run = [heapwise, "run", "-q", "-f", "-o", "{out}.hpw"]
    sample = [*run, "--mode", "sample:512K", "--http", "127.0.0.1:{port}", "--dump-every", f"{seconds}s", "--"]
    prof = "prof:true,lg_prof_sample:19,lg_prof_interval:28,prof_prefix:{out}"
    profile = ["HEAPPROFILE={out}", f"HEAP_PROFILE_TIME_INTERVAL={seconds}"]
    heaptrack = ["heaptrack", "-o", "{out}"] if shutil.which("heaptrack") else None
    known = [
        Recorder("native"),
        Recorder("heapwise-sample", words=sample, least_dumps=1),
        Recorder("heapwise-scraped", words=sample, least_dumps=1),
        Recorder("heapwise", words=[*run, "--"]),
        Recorder("heaptrack", words=heaptrack),
        # Their profilers come with their allocators: what profiling costs is the difference.
        Recorder("jemalloc", words=preload("libjemalloc.so.2")),
        Recorder("jemalloc-sample", "jemalloc", preload("libjemalloc.so.2", f"MALLOC_CONF={prof}")),
        Recorder("tcmalloc", words=preload("libtcmalloc.so.4")),
        Recorder("gperftools", "tcmalloc", preload("libtcmalloc.so.4", *profile), SLOW_SHARE),
    ]
    found = []
    for one in known:
        if one.name not in names and one.name not in {other.base for other in known if other.name in names}:
            continue
        if one.name == service.own_allocator:
            continue
        if one.base == service.own_allocator:
            one.base = "native"
        if one.words is None:
            say(f"skipped: {one.name} is not there")
        else:
            found.append(one)
    return found


class Scraper(threading.Thread):
    """Asks for the profile again and again, as monitoring does."""

    def __init__(self, port, seconds):
        super().__init__(daemon=True)
        self.url = f"http://127.0.0.1:{port}/debug/pprof/heap"
        self.seconds = seconds
        self.ended = threading.Event()
        self.answers, self.problem = 0, None

    def ask(self):
        try:
            with urllib.request.urlopen(self.url, timeout=WAIT_S) as answer:
                self.answers += len(answer.read()) > 0
        except OSError as error:
            self.problem = str(error)

    def run(self):
        while not self.ended.wait(self.seconds):
            self.ask()
        if not self.answers:  # the load was shorter than that
            self.ask()

    def end(self):
        self.ended.set()
        self.join()
        if self.problem or not self.answers:
            raise ValueError(f"{self.url}: {self.problem or 'not asked once'}")


class Running:
    """A service under a recorder, in a folder of its own."""

    def __init__(self, bench, service, recorder, folder):
        self.service, self.recorder, self.folder = service, recorder, folder
        self.result = os.path.join(folder, "result")
        self.port = free_port()
        words = [word.replace("{out}", f"{folder}/out").replace("{port}", str(self.port))
                 for word in recorder.words]
        command = [os.path.join(bench.bin, "timed"), self.result, *words, *service.command(folder)]
        self.errors = os.path.join(folder, "stderr")
        with open(self.errors, "wb") as stderr:
            self.timed = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=stderr, cwd=folder, start_new_session=True)

    def wait_ready(self):
        deadline = time.monotonic() + WAIT_S
        while not self.service.ready(self.folder):
            if self.timed.poll() is not None or time.monotonic() > deadline:
                with open(self.errors, errors="replace", encoding="utf-8") as f:
                    raise ValueError(f"{self.service.name} under {self.recorder.name} does not answer: {f.read()}")
            time.sleep(0.02)

    def servers(self):
        """Processes of the service itself: of what others run in their copies, the cost is theirs."""
        found, program = [], shutil.which(self.service.server)
        for pid in descendants(self.timed.pid):
            try:
                if os.path.samefile(f"/proc/{pid}/exe", program):
                    found.append(pid)
            except OSError:
                continue
        return found

    def cpu_ns(self):
        return sum(cpu_time_ns(pid) for pid in self.servers())

    def stop(self):
        """Ends the service, and waits for what the recorder has still to do. Returns its CPU time, all included."""
        servers = self.servers()
        if servers:
            os.kill(servers[0], signal.SIGTERM)  # nginx: the master
        self.timed.wait(WAIT_S)
        with open(self.result, encoding="ascii") as f:
            return json.load(f)["cpu_ns"]

    def kill(self):
        if self.timed.poll() is None:
            for pid in [*descendants(self.timed.pid), self.timed.pid]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.timed.wait()


def check_dumps(recorder, folder):
    dumps = glob.glob(f"{glob.escape(folder)}/*.dump")
    if len(dumps) < recorder.least_dumps:
        raise ValueError(f"{len(dumps)} dumps, not {recorder.least_dumps}: the load is too short")


def one_run(bench, service, recorder, number):
    """What one load of a service under a recorder has cost."""
    quick = bench.options.quick
    folder = os.path.join(bench.scratch, f"{service.name}-{recorder.name}-{number}")
    os.mkdir(folder)
    running = Running(bench, service, recorder, folder)
    scraper = Scraper(running.port, QUICK_DUMP_SECONDS if quick else DUMP_SECONDS)
    try:
        running.wait_ready()
        before = service.load(folder, quick, WARM_UP_SHARE)
        if recorder.name == "heapwise-scraped":
            scraper.start()
        kinds = service.load(folder, quick, recorder.share)
        if scraper.ident:
            scraper.end()
        own_ns = running.cpu_ns()
        cpu_ns = running.stop()
        check_dumps(recorder, folder)
    finally:
        running.kill()
        shutil.rmtree(folder, ignore_errors=True)
    requests = sum(kind["requests"] for load in (before, kinds) for kind in load.values())
    return {"kinds": kinds, "requests": requests, "program_us": own_ns / requests / 1e3,
            "cpu_us": cpu_ns / requests / 1e3}


def mean_of_kinds(run, key):
    return geometric_mean(kind[key] for kind in run["kinds"].values())


def ratios(runs, base, figure):
    """Each run over the base's run of the same round: (median, smallest, largest)."""
    of_rounds = [figure(run) / figure(other) for run, other in zip(runs, base)]
    return [median(of_rounds), min(of_rounds), max(of_rounds)]


FIGURES = {
    "throughput": lambda run: mean_of_kinds(run, "per_s"),
    "p99": lambda run: mean_of_kinds(run, "p99_ms"),
    "program_cpu": lambda run: run["program_us"],
    "cpu": lambda run: run["cpu_us"],
}


def row_of(service, recorder, runs, failure):
    own = runs[recorder.name]
    row = {"service": service.name, "tool": recorder.name, "base": recorder.base, "rounds": len(own),
           "over_budget": [], "failure": failure}
    if failure:
        return row
    for name, figure in FIGURES.items():
        row[name] = median(figure(run) for run in own)
        if recorder.name != "native":
            row[f"{name}_ratio"] = ratios(own, runs[recorder.base], figure)
    row["runs"] = own
    if recorder.name in BUDGETED:
        if row["throughput_ratio"][0] < LEAST_THROUGHPUT:
            row["over_budget"].append(f"throughput {row['throughput_ratio'][0]:.3f}x of {LEAST_THROUGHPUT}x")
        if row["p99_ratio"][0] > MOST_P99:
            row["over_budget"].append(f"p99 {row['p99_ratio'][0]:.2f}x of {MOST_P99}x")
    return row


def rounds_of(bench, service, tools):
    """The runs of each tool, in turns, and why tools failed. What is compared with a failed one fails, too."""
    runs, failures = {recorder.name: [] for recorder in tools}, {}
    for number in range(bench.options.runs):
        for recorder in tools:
            if recorder.name in failures or recorder.base in failures:
                failures.setdefault(recorder.name, f"{recorder.base} failed")
                continue
            try:
                runs[recorder.name].append(one_run(bench, service, recorder, number))
            except (ValueError, OSError, subprocess.SubprocessError) as problem:
                failures[recorder.name] = str(problem)
                say(f"{service.name} under {recorder.name}: {problem}")
    return runs, failures


def services(bench, heapwise):
    """Rows of figures, medians of the rounds, in turns."""
    seconds = QUICK_DUMP_SECONDS if bench.options.quick else DUMP_SECONDS
    os.environ["PATH"] += ":/usr/sbin:/sbin"  # where servers are
    rows = []
    for service in SERVICES:
        if not (shutil.which(service.server) and shutil.which(service.client)):
            say(f"skipped: {service.server} or {service.client} is not there")
            continue
        tools = recorders(bench.options.service_tools, heapwise, service, seconds)
        runs, failures = rounds_of(bench, service, tools)
        failures |= {one.name: f"{one.base} failed" for one in tools if one.base in failures}
        rows += [row_of(service, recorder, runs, failures.get(recorder.name)) for recorder in tools]
    return rows


def ratio_text(row, name):
    if f"{name}_ratio" not in row:
        return f"{'':>20}"
    middle, least, most = row[f"{name}_ratio"]
    return f"{middle:5.3f}x ({least:.2f}-{most:.2f})".rjust(20)


def print_services(rows):
    print("services: loads of requests, ratios to the row's base in the same round (smallest and largest)")
    print(f"  {'service':<8} {'tool':<17} {'base':<9} {'requests/s':>10} {'p99':>10} {'CPU/request':>11}"
          f" {'throughput':>20} {'p99':>20} {'CPU of program':>20} {'CPU of all':>20}")
    for row in rows:
        if row["failure"]:
            print(f"  {row['service']:<8} {row['tool']:<17} FAILED: {row['failure']}")
            continue
        texts = " ".join(ratio_text(row, name) for name in FIGURES)
        base = row["base"] if row["tool"] != "native" else ""
        print(f"  {row['service']:<8} {row['tool']:<17} {base:<9} {row['throughput']:10.0f}"
              f" {row['p99']:7.3f} ms {row['cpu']:8.2f} µs {texts}")
        for over in row["over_budget"]:
            print(f"  {row['service']}, {row['tool']}: over budget: {over}")
    print(flush=True)
