#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""run --http: profiles at the URLs of Go's net/http/pprof, as scrapers and pprof ask for them; who may ask; that neither
clients nor many answers are felt by the program."""

import contextlib
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import state
from told import collector_of, is_readable, stop_writer

TESTS = hw.Tests()
GO = shutil.which("go")
SIZE = 1_000_003
# Allocates and frees as its standard input says, and answers each line when it is done.
PROGRAM = f"""
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes, libc.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
blocks = []
print("ready", flush=True)
for line in sys.stdin:
    count = int(line)
    for _ in range(count):
        blocks.append(libc.malloc({SIZE}))
    for _ in range(-count):
        libc.free(blocks.pop())
    print("done", flush=True)
"""


class Served:
    """A program under `run --http`."""

    def __init__(self, folder, *options, listen="127.0.0.1:0", program=sys.executable):
        self.file = folder / "x.hpw"
        words = [hw.HEAPWISE, "run", "-f", "-o", self.file, "--http", listen, *options, "--", program, "-c", PROGRAM]
        self.process = subprocess.Popen([os.fspath(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=hw.clean_environment(), cwd=folder)
        found = re.search(r"profiles: (http://\S+)debug/pprof/", self.process.stderr.readline())
        hw.need(found, "the URL is not printed")
        self.url = found[1]
        hw.need(self.process.stdout.readline() == "ready\n", "the program did not start")

    def allocate(self, count):
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        hw.need(self.process.stdout.readline() == "done\n", "the program has died")

    def end(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(hw.TIMEOUT)
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode


@contextlib.contextmanager
def served(folder, *options, **more):
    one = Served(folder, *options, **more)
    try:
        yield one
    finally:
        one.end()


def get(url, **headers):
    """Status, type and contents."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=hw.TIMEOUT) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read()


def blocks_of(folder, profile):
    """Live and allocated blocks of our size, as a profile has them."""
    path = folder / "profile.pb.gz"
    path.write_bytes(profile)
    rows = json.loads(hw.ask("export", path, "--format", "json"))["sites"]
    ours = [row for row in rows if row["allocated_bytes"] and row["allocated_bytes"] % SIZE == 0]
    return sum(row["live_blocks"] for row in ours), sum(row["allocations"] for row in ours)


@TESTS.test
def heap_and_allocs(folder):
    """/debug/pprof/heap and /allocs have what is live and was allocated, gzipped, in the order that Go has"""
    with served(folder) as one:
        one.allocate(30)
        one.allocate(-10)
        for path, first in (("heap", b"inuse_space"), ("allocs", b"alloc_space")):
            status, kind, profile = get(f"{one.url}debug/pprof/{path}?gc=1")
            hw.need((status, kind) == (200, "application/octet-stream"), f"{path}: {status} {kind}")
            hw.need(blocks_of(folder, profile) == (20, 30), f"{path}: {blocks_of(folder, profile)}")
            raw = gzip.decompress(profile)
            places = [raw.index(name) for name in (b"alloc_objects", b"alloc_space", b"inuse_objects", b"inuse_space")]
            hw.need(places == sorted(places), f"{path}: order of the types {places}")
            hw.need(GO is None or first in pprof_shows(folder, profile), f"{path}: pprof does not show {first} first")


def pprof_shows(folder, profile):
    path = folder / "shown.pb.gz"
    path.write_bytes(profile)
    home = {"HOME": os.fspath(folder), "PPROF_TMPDIR": os.fspath(folder)}
    ended = hw.run([GO, "tool", "pprof", "-top", path], env=hw.clean_environment(**home))
    hw.need(ended.status == 0, f"pprof: {ended}")
    return ended.stdout


@TESTS.test
def differences(folder):
    """?seconds=N has what changed meanwhile: less than nothing, too"""
    with served(folder) as one:
        one.allocate(30)
        root = re.search(rb"<td>(\d+) ", get(f"{one.url}debug/pprof/")[2])[1].decode()
        with contextlib.ExitStack() as stack:
            asked = subprocess.Popen([sys.executable, "-c", f"import urllib.request,sys;sys.stdout.buffer.write(urllib.request.urlopen('{one.url}debug/pprof/heap?seconds=3').read())"], stdout=subprocess.PIPE)
            stack.callback(asked.wait)
            hw.wait_until(lambda: dumps_made(root), "the first dump")
            one.allocate(-25)
            one.allocate(3)
            profile = asked.communicate(timeout=hw.TIMEOUT)[0]
        spots = json.loads(hw.ask("report", write(folder / "d.pb.gz", profile), "--view", "functions", "--json"))["spots"]
        flat = [row["change"]["flat"] for row in spots]
        ours = [row for row in flat if row["live_bytes"] and row["live_bytes"] % SIZE == 0]
        found = [(row["live_bytes"], row["live_blocks"], row["allocations"]) for row in ours]
        hw.need(found == [(-22 * SIZE, -22, 3)], f"{found} and not -22 live blocks and 3 allocations")


def write(path, data):
    path.write_bytes(data)
    return path


def dumps_made(pid):
    return json.loads(hw.ask("ctl", pid, "status", "--json"))["dumps"]


@TESTS.test
def texts(folder):
    """?debug=1 is the text form; the index lists the process; / is a page; other paths and values are refused"""
    with served(folder) as one:
        one.allocate(7)
        status, kind, text = get(f"{one.url}debug/pprof/heap?debug=1")
        hw.need(status == 200 and kind.startswith("text/plain"), f"{status} {kind}")
        hw.need(re.match(rb"(--- symbol\n.*\n---\n)?heap profile: +\d+: +\d+ \[ *\d+: +\d+\] @ ", text, re.S), text[:80])
        hw.need(f"7: {7 * SIZE} [7: {7 * SIZE}] @" in re.sub(r" +", " ", text.decode()), "the blocks are not in the text")
        status, kind, index = get(f"{one.url}debug/pprof/")
        hw.need(status == 200 and b"(default)" in index and b"heap?" in index, f"{status} {index[:200]}")
        status, kind, page = get(one.url)
        hw.need(status == 200 and kind.startswith("text/html") and b"<script" in page, f"{status} {kind}")
        for path, expected in (("nothing", 404), ("debug/pprof/heap?seconds=0", 400), ("debug/pprof/heap?seconds=999", 400),
                               ("debug/pprof/heap?seconds=x", 400), ("debug/pprof/heap?debug=7", 400),
                               ("debug/pprof/heap?debug=1&seconds=2", 400), ("debug/pprof/heap?pid=1", 404)):
            status, kind, text = get(one.url + path)
            hw.need(status == expected and kind.startswith("text/plain") and text.endswith(b"\n"), f"{path}: {status} {kind} {text}")


@TESTS.test
def stopped(folder):
    """While recording is stopped the answer is 403, and says what to do; afterwards there are profiles again"""
    with served(folder) as one:
        one.allocate(5)
        root = re.search(rb"<td>(\d+) ", get(f"{one.url}debug/pprof/")[2])[1].decode()
        hw.ask("ctl", root, "stop")
        status, kind, text = get(f"{one.url}debug/pprof/heap")
        hw.need((status, kind[:10]) == (403, "text/plain") and b"heap profiling not activated" in text, f"{status} {kind} {text}")
        hw.need(get(one.url)[0] == 200, "the page is refused, too")
        hw.ask("ctl", root, "start")
        one.allocate(2)
        hw.need(blocks_of(folder, get(f"{one.url}debug/pprof/heap")[2]) == (7, 7), "the profile after that is wrong")


@TESTS.test
def who_may_ask(folder):
    """Names that were made to stand for 127.0.0.1 are refused, as is POST; other addresses need --allow-remote and a token"""
    with served(folder) as one:
        hw.need(get(f"{one.url}debug/pprof/heap", Host="evil.example")[0] == 403, "another host is served")
        hw.need(get(f"{one.url}debug/pprof/heap", Origin="http://evil.example")[0] == 403, "another page is served")
        request = urllib.request.Request(f"{one.url}debug/pprof/heap", data=b"x")
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=hw.TIMEOUT)
            raise hw.Failure("POST is answered")
    ended = hw.heapwise("run", "-o", folder / "y.hpw", "--http", "0.0.0.0:0", "/bin/true")
    hw.need(ended.status == 125 and "--allow-remote" in ended.errors and "--listen" not in ended.errors, f"{ended}")
    hw.need(not (folder / "y.hpw").exists(), "the program ran")
    with served(folder, "--allow-remote", listen="0.0.0.0:0") as one:
        port, token = re.fullmatch(r"http://[^/]+:(\d+)/([0-9a-f]{32})/", one.url).groups()
        plain = f"http://127.0.0.1:{port}/"
        hw.need(get(f"{plain}debug/pprof/heap")[0] == 403, "answered without the token")
        hw.need(get(f"{plain}{token}/debug/pprof/heap")[0] == 200, "not answered with the token in the URL")
        hw.need(get(f"{plain}debug/pprof/heap", Authorization=f"Bearer {token}")[0] == 200, "not answered with the header")
        hw.need(get(f"{plain}debug/pprof/heap", Authorization=f"Bearer {'0' * 32}")[0] == 403, "answered with another token")


def read_by(folder, name, url):
    """Bytes by function, with callees: as google-pprof or jeprof shows them."""
    home = {"HOME": os.fspath(folder), "PPROF_TMPDIR": os.fspath(folder)}
    ended = hw.run([hw.need_program(name), "--text", "--show_bytes", url], env=hw.clean_environment(**home), cwd=folder)
    hw.need(ended.status == 0, f"{name}: {ended}")
    return {row[1]: int(row[0]) for row in re.findall(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +(.*)$", ended.text, re.M)}


@TESTS.test
def read_by_perl_in_python(folder):
    """google-pprof and jeprof name Python functions, too, which have no address"""
    with served(folder) as one:
        one.allocate(7)
        profile = write(folder / "go.pb.gz", get(f"{one.url}debug/pprof/heap")[2])
        spots = json.loads(hw.ask("report", profile, "--view", "functions", "--json", "--limit", "100000"))["spots"]
        names = [row["function"] for row in spots]
        # Where several functions have a name they are one there, and what is between < and > is left out.
        sums = {row["function"]: row["cum"]["live_bytes"] for row in spots
                if names.count(row["function"]) == 1 and "<" not in row["function"] and row["cum"]["live_bytes"] >= 50000}
        hw.need({"_compile_bytecode", "_call_with_frames_removed"} <= set(sums), f"{names[:20]}")
        for name in ("google-pprof", "jeprof"):
            found = read_by(folder, name, f"{one.url}pprof/heap")
            hw.need(not any(function.startswith("0x1") for function in found), f"{name}: {found}")
            for function, size in sums.items():
                parts = [found.get(function, 0), found.get(f"{function} (inline)", 0)]
                hw.need(max(parts) <= size <= sum(parts), f"{name}: {function} has {parts}, not {size}: {found}")


@TESTS.test
def read_by_perl(folder):
    """google-pprof and jeprof read a running program by its URL alone, and name the same functions as Go's profile"""
    with served(folder, "--no-pyobjects") as one:
        one.allocate(7)
        profile = write(folder / "go.pb.gz", get(f"{one.url}debug/pprof/heap")[2])
        spots = json.loads(hw.ask("report", profile, "--view", "functions", "--json", "--limit", "100000"))["spots"]
        sums = {row["function"]: row["cum"]["live_bytes"] for row in spots if row["function"] and row["cum"]["live_bytes"] >= 7 * SIZE}
        hw.need(len(sums) > 1, f"{sums}")
        for name in ("google-pprof", "jeprof"):
            found = read_by(folder, name, f"{one.url}pprof/heap")
            for function, size in sums.items():
                # Where a function was inlined it is another one there, and some stacks have both.
                parts = [found.get(function, 0), found.get(f"{function} (inline)", 0)]
                hw.need(max(parts) <= size <= sum(parts), f"{name}: {function} has {parts}, not {size}: {found}")
        status, _, line = get(f"{one.url}pprof/cmdline")
        hw.need(status == 200 and line.split(b"\0")[:2] == [os.fsencode(sys.executable), b"-c"] and line[-1:] != b"\0", f"{status} {line}")
        hw.need(get(f"{one.url}debug/pprof/cmdline")[2] == line, "Go's path differs")
        hw.need(get(f"{one.url}pprof/symbol")[2] == b"num_symbols: 1\n", "no symbols are promised")
        hw.need(get(f"{one.url}pprof/heap?seconds=1")[0] == 400, "a difference of addresses")
        hw.need(get(f"{one.url}pprof/profile")[0] == 404, "a profile of time")


@TESTS.test
def bodies(folder):
    """A body is taken at /pprof/symbol alone, from who may ask, and up to a bound"""
    with served(folder) as one:
        host = one.url.split("/")[2]
        place = (host.split(":")[0], int(host.split(":")[1]))

        def post(path, *, declared, sent, **headers):
            lines = [f"POST /{path} HTTP/1.1", f"Host: {host}", f"Content-Length: {declared}", "Connection: close",
                     *(f"{name}: {value}" for name, value in headers.items())]
            with socket.create_connection(place, timeout=hw.TIMEOUT) as client:
                client.sendall("\r\n".join([*lines, "", ""]).encode())
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    for _ in range(0, sent, 1 << 16):
                        client.sendall(b"x" * min(sent, 1 << 16))
                answer = b""
                with contextlib.suppress(ConnectionResetError):
                    while part := client.recv(1 << 16):
                        answer += part
            return answer.split(b"\r\n")[0]

        hw.need(b" 200 " in post("pprof/symbol", declared=20, sent=20), "not answered")
        hw.need(b" 405 " in post("pprof/heap", declared=20, sent=20), "POST of another path is answered")
        hw.need(b" 403 " in post("pprof/symbol", declared=20, sent=20, Origin="http://evil.example"), "another page may ask")
        hw.need(b" 200 " not in post("pprof/symbol", declared=17 << 20, sent=17 << 20), "17 MiB are taken")
        hw.need(b" 200 " in post("pprof/symbol", declared=16 << 20, sent=16 << 20), "16 MiB are refused")
        one.allocate(1)


@TESTS.test
def port_taken(folder):
    """An address that can't be had is said before the program starts"""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = hw.heapwise("run", "-o", folder / "x.hpw", "--http", f"127.0.0.1:{taken.getsockname()[1]}", "/bin/true")
        hw.need(ended.status == 125 and "--http" in ended.errors, f"{ended}")


@TESTS.test
def ends(folder):
    """The server ends with the recording, of a killed program too; nothing is left"""
    with served(folder) as one:
        servers = set(of_server(one.process.pid))
        hw.need(servers, "there is no server")
        root = int(re.search(rb"<td>(\d+) ", get(f"{one.url}debug/pprof/")[2])[1])
        os.kill(root, signal.SIGKILL)
        one.process.wait(hw.TIMEOUT)
        hw.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in servers), "the end of the server")


@TESTS.test
def server_killed(folder):
    """The server is killed in the middle of an answer: the client gets none, the program goes on, its recording is whole"""
    with served(folder) as one:
        one.allocate(50)
        port = int(one.url.rsplit(":", 1)[1].strip("/"))
        collector = collector_of(folder)
        servers = [pid for pid in of_server(one.process.pid) if pid != collector]
        hw.need(len(servers) == 1, f"{servers} are servers")
        asked = socket.create_connection(("127.0.0.1", port), timeout=hw.TIMEOUT)
        question = b"GET /debug/pprof/heap HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % port
        writer = stop_writer(collector, lambda: asked.sendall(question), lambda: is_readable(asked))
        os.kill(servers[0], signal.SIGKILL)
        if writer:
            with contextlib.suppress(ConnectionResetError):
                hw.need(asked.recv(10) == b"", "a dead server answers")
            os.kill(writer, signal.SIGCONT)
        one.allocate(1)
    hw.need(one.process.returncode == 0, hw.describe(one.process.returncode))
    hw.need(hw.report(one.file)["recording"]["complete"], "the recording is not whole")


@TESTS.test
def forged_names(folder):
    """A program whose name has a line end in it is one process in the list"""
    program = folder / "x\n7 1 1 forged"
    shutil.copy(sys.executable, program)
    with served(folder, program=program) as one:
        status, _, text = get(one.url + "debug/pprof/")
        hw.need(status == 200 and text.count(b"<tr>") == 2 and b"x?7 1 1 forged (default)" in text, text.decode())


@TESTS.test
def named_by_links(folder):
    """A program that was started by a link to its file goes by the link's name in the list, whose links say what they lead to"""
    program = folder / "a-server-with-a-long-name"
    program.symlink_to(sys.executable)
    with served(folder, program=program) as one:
        status, _, text = get(one.url + "debug/pprof/")
        hw.need(status == 200 and b" a-server-with-a-long-name (default)<td>" in text, text.decode())
        links = dict(re.findall(rb'<a href="([a-z]+\?[a-z0-9=&;]*)pid=\d+">([a-z0-9 ]+)</a>', text))
        hw.need(links == {b"heap?": b"live heap", b"allocs?": b"all allocations", b"heap?debug=1&amp;": b"live heap as text",
                          b"heap?seconds=30&amp;": b"what changes in 30 seconds"}, text.decode())


@TESTS.test
def collector_killed(folder):
    """The collector is killed: answers say so, the program goes on, and the server ends with it"""
    with served(folder) as one:
        collector = collector_of(folder)
        servers = [pid for pid in of_server(one.process.pid) if pid != collector]
        os.kill(collector, signal.SIGKILL)
        hw.wait_until(lambda: state(collector) in "ZX", "the collector's end")
        for path in ("debug/pprof/heap", "debug/pprof/", ""):
            status, kind, text = get(one.url + path)
            hw.need((status, kind[:10]) == (500, "text/plain") and b"can't be reached" in text, f"{path}: {status} {kind} {text}")
        one.allocate(1)
        one.process.stdin.close()
        hw.need(one.process.wait(hw.TIMEOUT) == 0 and "the collector was killed" in one.process.stderr.read(), "the program's end")
        hw.wait_until(lambda: all(state(pid) in "ZX" for pid in servers), "the end of the server")


def of_server(pid):
    """The processes that listen for a run: they have its program's name, and are nobody's children any more."""
    exe = os.readlink(f"/proc/{pid}/exe")
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and int(entry.name) != pid and os.readlink(entry / "exe") == exe \
                    and (entry / "cmdline").read_bytes() == Path(f"/proc/{pid}/cmdline").read_bytes():
                yield int(entry.name)


@TESTS.test
def many_answers(folder):
    """Fifty answers, and clients that send nothing, leave neither descriptors nor processes, and the program goes on"""
    with served(folder) as one:
        one.allocate(50)
        port = int(one.url.rsplit(":", 1)[1].strip("/"))
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
        get(f"{one.url}debug/pprof/heap")
        processes = sorted(of_server(one.process.pid))
        before = {pid: descriptors(pid) for pid in processes}
        for number in range(50):
            status, _, profile = get(f"{one.url}debug/pprof/heap")
            hw.need(status == 200, f"answer {number}: {status} {profile[:200]}")
        for client in silent:
            client.close()
        one.allocate(1)
        hw.need(blocks_of(folder, get(f"{one.url}debug/pprof/heap")[2]) == (51, 51), "the last answer is wrong")
        hw.wait_until(lambda: sorted(of_server(one.process.pid)) == processes, "the end of what made the answers")
        for pid in processes:
            hw.need(descriptors(pid) <= before[pid] + 2, f"{pid} had {before[pid]} descriptors, has {descriptors(pid)}")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@TESTS.test
def gives_way(folder):
    """The server, and so what makes its answers, comes after the program and its recorder where there is no free processor"""
    with served(folder) as one:
        collector = collector_of(folder)
        root = int(re.search(rb"<td>(\d+) ", get(f"{one.url}debug/pprof/")[2])[1])
        servers = [pid for pid in of_server(one.process.pid) if pid != collector]
        ours = os.getpriority(os.PRIO_PROCESS, 0)
        found = [os.getpriority(os.PRIO_PROCESS, pid) - ours for pid in (root, collector, *servers)]
        hw.need(len(servers) == 1 and (found == [0, 0, 10] or ours > 9), f"{found}")


@TESTS.test
def from_the_environment(folder):
    """A program that is started with the environment of `heapwise env --http` is served as well"""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = hw.ask("env", "-o", folder / "e.hpw", "--http", f"127.0.0.1:{port}") + f'exec "{sys.executable}" -c "$1"\n'
    with subprocess.Popen(["/bin/sh", "-c", script, "sh", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=hw.clean_environment(), cwd=folder) as program:
        hw.need(program.stdout.readline() == "ready\n", "the program did not start")
        program.stdin.write("9\n")
        program.stdin.flush()
        program.stdout.readline()
        profile = get(f"http://127.0.0.1:{port}/debug/pprof/heap")[2]
        program.stdin.close()
        program.wait(hw.TIMEOUT)
        hw.need(blocks_of(folder, profile) == (9, 9), f"{blocks_of(folder, profile)}")


@TESTS.test
def ends_meanwhile(folder):
    """?seconds=N of a program that ends before: 404 with the reason, at once"""
    with served(folder) as one:
        root = re.search(rb"<td>(\d+) ", get(f"{one.url}debug/pprof/")[2])[1].decode()
        found = []
        asks = threading.Thread(target=lambda: found.append(get(f"{one.url}debug/pprof/heap?seconds=300")))
        asks.start()
        hw.wait_until(lambda: dumps_made(root), "the first dump")
        one.end()
        asks.join(hw.TIMEOUT)
        hw.need(found and found[0][0] == 404 and b"has ended before 300 seconds" in found[0][2], f"{found}")


if __name__ == "__main__":
    sys.exit(TESTS.main())
