#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of code that was made at run time: from /tmp/perf-PID.map, if that can be the program's, and it is said which."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
JIT = hw.TARGETS / "jit-O2"


def map_of(pid):
    return Path(f"/tmp/perf-{pid}.map")


def recorded(folder, how):
    """Records the target that lists its code in that way; its notes, and the functions in its stacks."""
    file = folder / f"{how.split()[0]}.hpw"
    ended = hw.record([JIT, how], file)
    hw.need(ended.status == 0, f"{how}: {ended}")
    found = hw.report(file, "--view", "sites")
    with contextlib.suppress(FileNotFoundError):
        map_of(found["target"]["pid"]).unlink()
    functions = {frame["function"] for site in found["sites"] for frame in site["stack"]}
    return found["target"]["pid"], hw.ask("report", file), functions


@TESTS.test
def used(folder):
    """Names are those of the program's list, later lines instead of earlier ones, and the report says of which file"""
    pid, text, functions = recorded(folder, "with a list")
    hw.need({"made_inner", "made_outer"} <= functions and not any("earlier" in str(f) for f in functions), f"{functions}")
    hw.need(f"made at run time: its names are those of /tmp/perf-{pid}.map." in text, text)


@TESTS.test
def refused(folder):
    """A list that is older than the program, of another user, a link or not there gives no names, and the report says why"""
    ways = {"stale": "is older than the process", "link": "is no plain file"}
    if os.geteuid() == 0:
        ways["another user's"] = "belongs to neither the process's user nor root"
    for how, why in ways.items():
        pid, text, functions = recorded(folder, how)
        hw.need(not any("made_" in str(f) for f in functions), f"{how}: {functions}")
        hw.need(f"/tmp/perf-{pid}.map {why}" in text, f"{how}: {text}")
    ended = hw.record([JIT], folder / "none.hpw")
    hw.need(ended.status == 0, f"{ended}")
    text = hw.ask("report", folder / "none.hpw")
    hw.need("it has no names, as the program lists none in /tmp/perf-" in text, text)


BUFFERS = """function hotBuffers(n) {
    const all = [];
    for (let i = 0; i < n; i++) all.push(Buffer.allocUnsafeSlow(5003));
    return all;
}
for (let j = 0; j < 50; j++) hotBuffers(500);
globalThis.kept = []; for (let j = 0; j < 60; j++) kept.push(hotBuffers(500));
"""


@TESTS.test
def contained(folder):
    """In a container the list is in its own /tmp, by the number that the program has there"""
    hw.need_program("unshare")
    unshare = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child")
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        raise hw.Skip("namespaces of their own are not allowed here")
    stranger = map_of(1)
    hw.need(not stranger.exists(), f"{stranger} is there already")
    node = hw.need_program("node")
    (folder / "app.js").write_text(BUFFERS)
    inside = f'exec 9<"$0"; mount -t tmpfs none /tmp && exec {node} --perf-basic-prof --logfile=/tmp/v8.log --no-logfile-per-isolate - <&9'
    ended = hw.record([*unshare, "sh", "-c", inside, folder / "app.js"], folder / "x.hpw")
    hw.need(ended.status == 0, f"{ended}")
    hw.need(not stranger.exists(), "the list is in the machine's /tmp")
    texts = [hw.ask("report", file, "--view", "peak", "--limit", "5") for file in sorted(folder.glob("*.hpw"))]
    hw.need(any("hotBuffers" in text for text in texts), "\n".join(texts))
    hw.need(any("its names are those of /tmp/perf-1.map" in text for text in texts), "\n".join(texts))


PYTHON = """import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
kept = []
def keep_blocks():
    for _ in range(50):
        kept.append(libc.malloc(ctypes.c_size_t(7777)))
keep_blocks()
"""


@TESTS.test
def python(folder):
    """python3.12 -X perf names the function of Python that calls into C, in a native stack"""
    versions = [*map(str, Path.home().glob(".pyenv/versions/3.12*/bin/python3.12")), shutil.which("python3.12")]
    interpreter = next((each for each in versions if each and not hw.run([each, "-c", "0"]).status), None)
    if not interpreter:
        raise hw.Skip("python3.12 is not installed")
    (folder / "app.py").write_text(PYTHON)
    ended = hw.record([interpreter, "-X", "perf", folder / "app.py"], folder / "x.hpw",
                      options=("-q", "--no-pyobjects"), all_processes=False)
    hw.need(ended.status == 0, f"{ended}")
    found = hw.report(folder / "x.hpw", "--view", "sites", "--focus", "keep_blocks")
    map_of(found["target"]["pid"]).unlink()
    hw.need(any(site["live_bytes"] == 50 * 7777 for site in found["sites"]), json.dumps(found["sites"])[:2000])


BUSY = """function innerLoop(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }
function outerLoop() {
    let t = 0;
    for (let i = 0; ; i++) { t += innerLoop(100000); if (i == 2000) console.log('busy'); }
}
outerLoop();
"""


@contextlib.contextmanager
def running(arguments):
    """A process that has written a line; its list goes with it."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        process.stdout.readline()
        yield process.pid
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(FileNotFoundError):
            map_of(process.pid).unlink()


def functions_of_threads(pid):
    threads = json.loads(hw.ask("heap", "--json", str(pid), "threads"))
    return threads, {frame["function"] for thread in threads["threads"] for frame in thread["stack"]}


@TESTS.test
def threads_of_node(folder):
    """Stacks of a process that runs have names of compiled JavaScript; without a list it is said why not"""
    node = hw.need_program("node")
    (folder / "busy.js").write_text(BUSY)
    with running([node, "--perf-basic-prof", f"--logfile={folder}/v8.log", "--no-logfile-per-isolate", folder / "busy.js"]) as pid:
        found, functions = functions_of_threads(pid)
        hw.need(any(name in str(f) for f in functions for name in ("innerLoop", "outerLoop")), f"{functions}")
        hw.need(f"its names are those of /tmp/perf-{pid}.map" in found["made_code"]["names"], f"{found['made_code']}")
        text = hw.ask("heap", str(pid), "threads")
        hw.need("[made at run time]" in text and f"/tmp/perf-{pid}.map" in text, text)
    with running([node, folder / "busy.js"]) as pid:
        found, functions = functions_of_threads(pid)
        hw.need(not any("Loop" in str(f) for f in functions), f"{functions}")
        hw.need("lists none in" in found["made_code"]["names"], f"{found['made_code']}")


LOOP = """public class Loop {
    static double grow(int n) { double s = 0; for (int i = 0; i < n; i++) s += Math.sqrt(i); return s; }
    public static void main(String[] words) {
        double t = 0;
        for (int i = 0; ; i++) { t += grow(100000); if (i == 2000) System.out.println("busy " + t); }
    }
}
"""


@TESTS.test
def threads_of_java(folder):
    """jcmd PID Compiler.perfmap writes a list, too: it names compiled methods of a JVM's threads"""
    java, javac, jcmd = (hw.need_program(name) for name in ("java", "javac", "jcmd"))
    (folder / "Loop.java").write_text(LOOP)
    hw.need(hw.run([javac, "-d", folder, folder / "Loop.java"]).status == 0, "javac")
    with running([java, "-XX:+PreserveFramePointer", "-cp", str(folder), "Loop"]) as pid:
        if hw.run([jcmd, str(pid), "Compiler.perfmap"]).status or not map_of(pid).exists():
            raise hw.Skip("this JVM writes no perf map")
        _, functions = functions_of_threads(pid)
        hw.need(any("Loop" in str(f) for f in functions), f"{functions}")


TESTS.main(width=2)
