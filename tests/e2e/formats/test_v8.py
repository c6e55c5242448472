#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of Node.js, written by the node that is installed: they say what the program knows about itself."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import children

TESTS = hw.Tests()
THINGS = 60000
# Line 3 leaks; line 6 does not, although it allocates more.
LEAK = """globalThis.kept = [];
function Thing(i) { this.number = i; this.word = 'x' + i; }
function leakHere(n) {
    for (let i = 0; i < n; i++) kept.push(new Thing(i));
}
function dropHere(n) { for (let i = 0; i < n; i++) globalThis.last = { number: i, word: 'y' + i }; }
dropHere(2 * COUNT); leakHere(COUNT); dropHere(2 * COUNT);
""".replace("COUNT", str(THINGS))


def need_node():
    node = hw.need_program("node")
    if hw.run([node, "-e", "0"]).status:
        raise hw.Skip("node does not run here")
    return node


@TESTS.test
def heapprofile(folder):
    """Of a program that leaks node --heap-prof names the function, its file and line, within the range that is said"""
    script = folder / "leak of mine.js"
    script.write_text(LEAK)
    ended = hw.run([need_node(), "--heap-prof", "--heap-prof-interval=4096", "--heap-prof-name=x.heapprofile", script],
                   cwd=folder)
    file = folder / "x.heapprofile"
    hw.need(ended.status == 0 and file.exists(), f"no profile: {ended}")
    found = hw.report(file, "--view", "functions")
    hw.need(found["recording"]["source"] == "heapprofile" and found["recording"]["mode"] == "sample", f"{found}")
    hw.need(found["recording"]["sample_bytes"] == 4096, f"distance {found['recording']['sample_bytes']}")
    flat = {spot["name"]: spot["flat"]["live_bytes"] for spot in found["spots"]}
    hw.need(max(flat, key=flat.get) in ("leakHere", "Thing"), f"{flat}")
    hw.need(flat.get("dropHere", 0) < flat["leakHere"] / 20, f"{flat}")
    # An object with two fields (and room for more), its string, and a word in the array: 40 to 200 bytes each.
    cum = {spot["name"]: spot["cum"]["live_bytes"] for spot in found["spots"]}
    hw.need(40 * THINGS < cum["leakHere"] < 200 * THINGS, f"{cum}")
    summary = hw.report(file)
    frame = summary["top"]["never_freed"][0]["stack"]
    names = {(f["function"], f["file"], f["line"]) for f in frame}
    hw.need(("leakHere", str(script), 3) in names, f"{names}")
    hw.need("leakHere" in summary["verdict"][0] or "Thing" in summary["verdict"][0], f"{summary['verdict']}")


KINDS = {"hidden": "(system)", "array": "(array)", "string": "(string)", "code": "(compiled code)",
         "closure": "Function", "regexp": "RegExp", "synthetic": "(synthetic)"}


class Snapshot:
    """A heap snapshot, read by Python's own JSON, with what holds what as docs/formats.md says it."""

    def __init__(self, file):
        data = json.loads(file.read_text())
        meta, nodes, edges, strings = (data["snapshot"]["meta"], data["nodes"], data["edges"], data["strings"])
        width = len(meta["node_fields"])
        types, kinds = meta["node_types"][0], meta["edge_types"][0]
        rows = [nodes[i:i + width] for i in range(0, len(nodes), width)]
        self.bytes = [row[3] for row in rows]
        self.names = [strings[row[1]] if types[row[0]] in ("object", "native")
                      else KINDS.get(types[row[0]], f"({types[row[0]]})") for row in rows]
        self.held = [[] for _ in rows]
        at = 0
        for number, row in enumerate(rows):
            for kind, name, to in zip(*[iter(edges[at:at + 3 * row[4]])] * 3):
                table = (re.search(r" pair in WeakMap \(table @(\d+)", strings[name])
                         if kinds[kind] == "internal" else None)
                if not (kinds[kind] == "weak" or (kinds[kind] == "shortcut" and number)
                        or (table and int(table[1]) == row[2])):
                    self.held[number].append(to // width)
            at += 3 * row[4]

    def reached(self, without=None):
        """Objects that are held if `without` is not there."""
        seen, todo = {0}, [0]
        while todo:
            for to in self.held[todo.pop()]:
                if to != without and to not in seen:
                    seen.add(to)
                    todo.append(to)
        return seen

    def retained(self, name):
        """What would be gone with one object of that name: by leaving it out."""
        number = self.names.index(name)
        return sum(self.bytes[i] for i in self.reached() - self.reached(number))


# In calls of their own: what the stack of a function holds would be held twice.
SNAPSHOTS = """const v8 = require('v8');
class Session { constructor(i) { this.user = new User(i); this.buffer = new Array(20).fill(i + 0.5); } }
class User { constructor(i) { this.name = 'user number ' + i; } }
class Owner { constructor() { this.sessions = []; } }
class Key { } class Value { constructor() { this.words = 'x'.repeat(9) + Math.random(); } }
function begin() {
    globalThis.owner = new Owner();
    globalThis.weak = new WeakMap();
    globalThis.key = new Key();
    weak.set(key, new Value());
    for (let i = 0; i < 1000; i++) owner.sessions.push(new Session(i));
}
function goOn() {
    owner.sessions.splice(0, 100);
    for (let i = 0; i < 300; i++) owner.sessions.push(new Session(i));
}
setImmediate(() => { begin();
    setImmediate(() => { v8.writeHeapSnapshot('one.heapsnapshot');
        setImmediate(() => { goOn();
            setImmediate(() => { v8.writeHeapSnapshot('two.heapsnapshot'); }); }); }); });
"""


def snapshots(folder):
    (folder / "app.js").write_text(SNAPSHOTS)
    ended = hw.run([need_node(), "app.js"], cwd=folder)
    hw.need(ended.status == 0, f"{ended}")
    return folder / "one.heapsnapshot", folder / "two.heapsnapshot"


def node_json(*arguments):
    ended = hw.heapwise("node", *arguments, "--json")
    hw.need(ended.status == 0, f"{ended} {ended.stderr}")
    return json.loads(ended.stdout)


@TESTS.test
def heapsnapshot(folder):
    """Constructors have as many objects as the program made, and what they retain is what leaving them out frees"""
    one, two = snapshots(folder)
    reference = Snapshot(one)
    found = node_json(one)
    rows = {row["constructor"]: row for row in found["constructors"]}
    counts = {name: rows[name]["objects"] for name in ("Session", "User", "Owner", "Key", "Value")}
    hw.need(counts == {"Session": 1000, "User": 1000, "Owner": 1, "Key": 1, "Value": 1}, f"{counts}")
    for name, row in rows.items():
        objects = [size for size, other in zip(reference.bytes, reference.names) if other == name and size]
        hw.need((row["objects"], row["bytes"]) == (len(objects), sum(objects)), f"{row}: {len(objects)}")
    for name in ("Owner", "Key", "Value"):
        hw.need(rows[name]["retained_bytes"] == reference.retained(name), f"{rows[name]} {reference.retained(name)}")
    # All sessions hang on one array, which nothing else has.
    hw.need(rows["Session"]["retained_bytes"] > 1000 * (20 * 8 + 16), f"{rows['Session']}")
    hw.need(rows["Owner"]["retained_bytes"] > rows["Session"]["retained_bytes"], f"{rows['Owner']}")
    unheld = set(range(len(reference.bytes))) - reference.reached()
    hw.need(found["unheld_objects"] == len(unheld), f"{found['unheld_objects']}, there {len(unheld)}")
    summary = hw.report(one, "--view", "functions")
    hw.need(summary["totals"]["live_bytes_at_end"] == sum(reference.bytes), f"{summary['totals']}")


@TESTS.test
def why(folder):
    """--why says by which variables objects are held, and names what is like a constructor that is not there"""
    one, _ = snapshots(folder)
    ways = node_json(one, "--why", "User")["ways"]
    hw.need(len(ways) == 1 and ways[0]["objects"] == 1000, f"{ways}")
    hw.need(ways[0]["held_by"][:4] == [".user of Session", "[] of Array", ".sessions of Owner", ".owner of global"],
            f"{ways}")
    text = hw.heapwise("node", one, "--why", "User").text
    hw.need(".sessions of Owner" in text and "1,000 objects" in text, text)
    wrong = hw.heapwise("node", one, "--why", "sess")
    hw.need(wrong.status == 3 and b"there is 'Session'" in wrong.stderr, f"{wrong} {wrong.stderr}")


@TESTS.test
def compared(folder):
    """--base says what is new and what was deleted, exactly"""
    one, two = snapshots(folder)
    rows = {row["constructor"]: row for row in node_json(two, "--base", one)["constructors"]}
    for name in ("Session", "User"):
        row = rows[name]
        hw.need((row["new_objects"], row["gone_objects"], row["more_objects"]) == (300, 100, 200), f"{row}")
    hw.need("Owner" not in rows and "Key" not in rows, f"{rows.get('Owner')}")
    same = hw.heapwise("node", one, "--base", one)
    hw.need(same.status == 0 and "Nothing differs" in same.text, same.text)
    diff = hw.heapwise("diff", one, two, "--json")
    hw.need(diff.status in (0, 1) and b"Session" in diff.stdout, f"{diff} {diff.stderr}")


SERVICE = """let n = 0;
class Order { constructor(i) { this.number = i; this.text = 'order ' + i; } }
globalThis.orders = [];
function keepOrders() { for (let i = 0; i < 2000; i++) orders.push(new Order(i)); }
const server = require('http').createServer((request, response) => { keepOrders(); response.end('' + ++n); });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""


class Service:
    """A service under load, until it is left."""

    def __init__(self, folder, *options):
        (folder / "service.js").write_text(SERVICE)
        self.process = subprocess.Popen([need_node(), *options, folder / "service.js"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.port = int(self.process.stdout.readline())
        self.answers, self.stop = 0, threading.Event()
        self.error = None

    def load(self):
        while not self.stop.wait(0.01):  # each answer adds to the heap that is written
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=60) as answer:
                    self.answers += 1
                    if int(answer.read()) != self.answers:
                        self.error = "an answer is missing"
            except OSError as error:
                self.error = error
                return

    def __enter__(self):
        self.thread = threading.Thread(target=self.load)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.process.kill()
        self.process.wait()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@TESTS.test
def live(folder):
    """A service that works is profiled and goes on; its inspector is closed again"""
    file = folder / "x.heapprofile"
    port = free_port()
    with Service(folder, f"--inspect-port={port}") as service:
        ended = hw.heapwise("node", str(service.process.pid), "--for", "3s", "--interval", "4K", "-o", file)
        hw.need(ended.status == 0, f"{ended} {ended.stderr}")
        hw.need(b"stays open" not in ended.stderr, f"{ended.stderr}")
        hw.need("keepOrders" in ended.text, ended.text)
        before = service.answers
        hw.wait_until(lambda: service.answers > before + 2 or service.error, "answers of the service")
        hw.need(not service.error and service.process.poll() is None, f"{service.error}")
        with socket.socket() as one:
            hw.need(one.connect_ex(("127.0.0.1", port)) != 0, "the inspector still listens")
        snapshot = folder / "x.heapsnapshot"
        taken = hw.heapwise("node", str(service.process.pid), "--snapshot", "-o", snapshot)
        hw.need(taken.status == 0 and "Order" in taken.text, f"{taken} {taken.stderr}")
        hw.need(snapshot.stat().st_mode & 0o77 == 0, "others may read the heap")
        hw.need(not service.error, f"{service.error}")
    json.loads(snapshot.read_text())
    found = hw.report(file, "--view", "sites")
    lines = {(frame["function"], frame["file"], frame["line"]) for site in found["sites"] for frame in site["stack"]}
    hw.need(("keepOrders", str(folder / "service.js"), SERVICE.split("function keepOrders")[0].count("\n") + 1) in lines, f"{lines}")
    hw.need(found["recording"]["sample_bytes"] == 4096, f"{found['recording']}")


@contextlib.contextmanager
def idle_node(folder, before=()):
    """A node that does nothing; yields its number here."""
    (folder / "idle.js").write_text("console.log('ready'); setInterval(() => {}, 1000);\n")
    process = subprocess.Popen([*before, need_node(), "--inspect-port=0", folder / "idle.js"], stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.wait()


@TESTS.test
def idle(folder):
    """A profile without a sample still says at which distance samples were taken"""
    with idle_node(folder) as pid:
        ended = hw.heapwise("node", str(pid), "--for", "50ms", "--interval", "8M", "-o", folder / "x.heapprofile")
        hw.need(ended.status == 0, f"{ended}")
    found = hw.report(folder / "x.heapprofile")
    hw.need(found["recording"]["sample_bytes"] == 8 << 20, f"{found['recording']}")
    hw.need("The distance of samples is that which the file says" in ended.text, ended.text)


@TESTS.test
def users(folder):
    """Root profiles another user's node; that user can't profile root's, and is told so before anything is sent"""
    if os.geteuid() != 0:
        raise hw.Skip("only root can be other users")
    user = 1700000000 + os.getpid()
    as_user = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
    folder.chmod(0o777)
    with idle_node(folder, as_user) as pid:
        ended = hw.heapwise("node", str(pid), "--for", "50ms", "-o", folder / "x.heapprofile")
        hw.need(ended.status == 0 and (folder / "x.heapprofile").exists(), f"{ended}")
    with idle_node(folder) as pid:
        ended = hw.run([*as_user, hw.HEAPWISE, "node", str(pid), "--for", "50ms", "-o", folder / "y"])
        hw.need(ended.status == 4 and "be its user, or root" in ended.errors and not (folder / "y").exists(), f"{ended}")
        hw.need(Path(f"/proc/{pid}").exists(), "it was ended")


@TESTS.test
def contained(folder):
    """A node in a network and namespaces of its own, as in a container, is profiled by its number here"""
    hw.need_program("unshare")
    unshare = ("unshare", "--user", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        raise hw.Skip("namespaces of their own are not allowed here")
    # Loopback is down in a new network.
    if subprocess.run([*unshare, "sh", "-c", "ip link set lo up"], capture_output=True, check=False).returncode:
        raise hw.Skip("ip is not installed")
    with idle_node(folder, (*unshare, "sh", "-c", 'ip link set lo up && exec "$0" "$@"')) as outer:
        pid = int(children(outer)[0])
        ended = hw.heapwise("node", str(pid), "--for", "50ms", "-o", folder / "x.heapprofile")
        hw.need(ended.status == 0 and (folder / "x.heapprofile").exists(), f"{ended}")


@TESTS.test
def wrong(folder):
    """What is not node gets no signal, and the message says so"""
    with subprocess.Popen(["/usr/bin/sleep", "600"]) as process:
        ended = hw.heapwise("node", str(process.pid), "-o", folder / "x")
        hw.need(ended.status == 3 and b"is not node" in ended.stderr and b"Nothing was sent" in ended.stderr,
                f"{ended} {ended.stderr}")
        hw.need(process.poll() is None and not (folder / "x").exists(), "it was ended, or a file is left")
        process.kill()
    ended = hw.heapwise("node", "4194300", "-o", folder / "x")
    hw.need(ended.status == 3 and b"4194300" in ended.stderr, f"{ended} {ended.stderr}")
    for words in (["1", "--why", "X"], ["file", "--for", "1s"], ["1", "--snapshot", "--for", "1s"], [], ["a", "b"]):
        ended = hw.heapwise("node", *words)
        hw.need(ended.status == 2, f"{words}: {ended}")
    (folder / "x.txt").write_text("hello\n")
    ended = hw.heapwise("node", folder / "x.txt")
    hw.need(ended.status == 3 and b"x.txt" in ended.stderr, f"{ended} {ended.stderr}")


@TESTS.test
def taken(folder):
    """A port that another process has is told, before anything is sent"""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with Service(folder, f"--inspect-port={port}") as service:
            ended = hw.heapwise("node", str(service.process.pid), "--for", "1s", "-o", folder / "x")
            hw.need(ended.status == 4 and b"another process has" in ended.stderr, f"{ended} {ended.stderr}")
            hw.need(not service.error, f"{service.error}")


# Programs that listen where an inspector would, or as if they had one.
PROGRAMS = {
    "plain": "require('http').createServer((q, r) => { console.log('asked'); r.end('hello'); }).listen(PORT, '127.0.0.1', up);",
    "liar": """const server = require('http').createServer((q, r) => r.end(q.url == '/json/version'
        ? '{"Browser": "node.js/v20"}' : '[{"webSocketDebuggerUrl": "ws://127.0.0.1/abc"}]'));
        server.on('upgrade', (q, socket) => socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\n\\r\\n'));
        server.listen(PORT, '127.0.0.1', up);""",
    "relay": """const net = require('net'); net.createServer(one => { const two = net.connect(OTHER, '127.0.0.1');
        one.pipe(two).pipe(one); one.on('error', () => 0); two.on('error', () => 0); }).listen(PORT, '127.0.0.1', up);""",
    "handler": """process.on('SIGUSR1', () => require('http').createServer((q, r) => { console.log('asked'); r.end('hello'); })
        .listen(0, '127.0.0.1')); up();""",
    "idle": "up();",
}


@contextlib.contextmanager
def program(folder, name, *options, other=0):
    """Runs one of them; yields the process, and the port that its inspector would have."""
    port = free_port()
    script = folder / f"{name}.js"
    script.write_text("const up = () => console.log('up'); setInterval(() => 0, 1000);\n" +
                      PROGRAMS[name].replace("PORT", str(port)).replace("OTHER", str(other)))
    with subprocess.Popen([need_node(), *(options or [f"--inspect-port={port}"]), script], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            hw.need(process.stdout.readline() == "up\n", f"{name} does not start")
            yield process, port
        finally:
            process.kill()


@TESTS.test
def proved(folder):
    """What listens is only taken for the inspector if it proves to be that, and of this process"""
    file = folder / "x.heapprofile"
    parts = {"plain": "does not say that it is node", "liar": "does not answer the key",
             "relay": "that of another process", "handler": "did not open its inspector"}
    at = free_port()
    with program(folder, "idle", f"--inspect=127.0.0.1:{at}"):
        for name, part in parts.items():
            with program(folder, name, other=at) as (process, _):
                ended = hw.heapwise("node", str(process.pid), "--for", "100ms", "-o", file)
                hw.need(ended.status == 4 and part in ended.errors, f"{name}: {ended}")
                hw.need("stays open at" not in ended.errors and not file.exists(), f"{name}: {ended}")
                hw.need(process.poll() is None, f"{name}: was ended")
                process.kill()
                rest = process.communicate()
                hw.need(rest[0].count("asked") <= 1, f"{name}: was asked again and again")
                hw.need("listening" not in rest[1], f"{name}: an inspector was opened")


@TESTS.test
def any_port(folder):
    """With --inspect-port=0 the port is not guessed, whoever has the usual one"""
    with socket.socket() as other:
        with contextlib.suppress(OSError):
            other.bind(("127.0.0.1", 9229))
            other.listen()
        with program(folder, "idle", "--inspect-port=0") as (process, _):
            ended = hw.heapwise("node", str(process.pid), "--for", "100ms", "-o", folder / "x.heapprofile")
            hw.need(ended.status == 0 and "stays open" not in ended.errors, f"{ended}")


@TESTS.test
def interrupted(folder):
    """SIGTERM ends the time of a profile, and the inspector is closed"""
    with program(folder, "idle") as (process, port):
        with subprocess.Popen([hw.HEAPWISE, "node", str(process.pid), "--for", "1h", "-o", folder / "x.heapprofile"],
                              env=hw.clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as command:
            line = ""
            while "attached" not in line:
                line = process.stderr.readline()
                hw.need(line, "the inspector was not opened")
            command.terminate()
            hw.need(command.wait(hw.TIMEOUT) in (0, 4), "it was ended")
        with socket.socket() as one:
            hw.need(one.connect_ex(("127.0.0.1", port)) != 0, "the inspector still listens")


@TESTS.test
def buffers(folder):
    """Memory of Buffers, which is outside of V8's heap, is in a recording of node"""
    (folder / "buffers.js").write_text("globalThis.kept = []; for (let i = 0; i < 40; i++) "
                                       "kept.push(Buffer.alloc(1000003, 7)); process.reallyExit(0);\n")
    recording = folder / "x.hpw"
    ended = hw.record([need_node(), folder / "buffers.js"], recording)
    hw.need(ended.status == 0, f"{ended} {ended.stderr}")
    sizes = hw.report(recording, "--view", "sizes")
    hw.need("1000003" in json.dumps(sizes) or hw.report(recording)["totals"]["live_bytes_at_end"] > 40000000,
            f"{hw.report(recording)['totals']}")


JIT = """function hotBuffers(n) { const k = []; for (let i = 0; i < n; i++) k.push(Buffer.allocUnsafeSlow(5003)); return k; }
globalThis.kept = []; for (let j = 0; j < 60; j++) kept.push(hotBuffers(500));
"""


@TESTS.test
def compiled(folder):
    """With --perf-basic-prof functions that V8 compiled have names in the native stacks of a recording"""
    (folder / "jit.js").write_text(JIT)
    recording = folder / "x.hpw"
    ended = hw.record([need_node(), "--perf-basic-prof", f"--logfile={folder}/v8.log", "--no-logfile-per-isolate",
                       folder / "jit.js"], recording)
    hw.need(ended.status == 0, f"{ended} {ended.stderr}")
    found = hw.report(recording, "--view", "peak", "--limit", "5")
    Path(f"/tmp/perf-{found['target']['pid']}.map").unlink(missing_ok=True)
    hw.need("hotBuffers" in json.dumps(found), f"{found}")


@TESTS.test
def totals_have_ranges(folder):
    """Totals are estimates with a range, also where only bytes are known; without a sample it is not 0 for sure"""
    def written(name, size, children):
        frame = {"functionName": name, "scriptId": "0", "url": "", "lineNumber": -1, "columnNumber": -1}
        return {"callFrame": frame, "selfSize": size, "id": 1, "children": children}
    for name, leaves, least in (("empty", [], "0 B"), ("some", [written("f", 8192, [])], None)):
        file = folder / f"{name}.heapprofile"
        file.write_text(json.dumps({"head": written("(root)", 0, leaves), "samples": []}))
        low, high = hw.report(file)["totals"]["ranges"]["live_bytes_at_end"]
        hw.need(low <= 8192 * len(leaves) < high, f"{name}: {low} to {high}")
        totals = hw.ask("report", file).split("Totals\n")[1].splitlines()
        hw.need(totals[0].startswith("  live then") and totals[1].startswith(f"    95% {least or ''}"), f"{name}: {totals}")


TESTS.main(width=2)
