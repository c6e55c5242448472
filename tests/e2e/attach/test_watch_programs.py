#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise watch` of programs as they are in use: optimised C++, other allocators, containers, servers under load; and the forms
of its answers that memleak has, too."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from test_watch import CASES, KEPT_BYTES, LOOP, WATCHED, answer, completeness, end, last_look, looks, need_truth, expectations, \
    running, start, tell, watching

TESTS = hw.Tests()
TCMALLOC = Path(f"/usr/lib/{os.uname().machine}-linux-gnu/libtcmalloc_minimal.so.4")

CXX = r"""
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

/* Templates in templates, which inline into each other. */
template <int N> struct tower {
	std::map<int, std::unique_ptr<tower<N - 1>>> inner;
	__attribute__((noinline)) void grow(int count)
	{
		for (int i = 0; i < count; i++)
			(inner[i] = std::make_unique<tower<N - 1>>())->grow(count);
	}
};
template <> struct tower<0> {
	std::vector<char> bytes;
	__attribute__((noinline)) void grow(int)
	{
		bytes.resize(1003);
		bytes[0] = 1; /* not by a jump: the caller stays on the stack */
	}
};

static std::vector<std::string *> kept;

__attribute__((noinline)) static void fail(int depth)
{
	auto held = std::make_unique<std::string>(700, 'x');
	if (!depth)
		throw std::runtime_error("no");
	fail(depth - 1);
	std::puts(held->c_str());
}

__attribute__((noinline)) static void catch_and_keep()
{
	try {
		fail(10);
	} catch (const std::exception &) {
		kept.push_back(new std::string(801, 'k'));
	}
}

int main()
{
	char line[64];
	tower<3> top;
	std::setvbuf(stdin, nullptr, _IONBF, 0);
	std::printf("ready\n");
	std::fflush(stdout);
	if (!std::fgets(line, sizeof(line), stdin))
		return 1;
	top.grow(10);
	for (int i = 0; i < 100; i++)
		catch_and_keep();
	std::printf("done\n");
	std::fflush(stdout);
	return std::fgets(line, sizeof(line), stdin) ? 0 : 1;
}
"""


def compiled(folder, source, *options):
    path, program = folder / "program.cc", folder / "program"
    path.write_text(source)
    hw.run([hw.need_program("g++"), "-std=c++17", *options, str(path), "-o", str(program)])
    return program


def interval_of(command):
    return json.loads(last_look(command))["intervals"][-1]


def by_function(interval, word):
    """Bytes and blocks of the stacks that have a function whose name has that word."""
    rows = [stack for stack in interval["stacks"] if any(word in (frame.get("function") or "") for frame in stack["frames"])]
    return sum(row["live_bytes"] for row in rows), sum(row["live_blocks"] for row in rows)


@TESTS.test
def optimised(folder):
    """C++ at -O2: stacks through templates and after exceptions are whole, and what unwinding frees is not kept"""
    program = compiled(folder, CXX, "-O2", "-g")
    with running(program) as target, watching(target.pid, "--all", "-o", "0", "--json", "-T", "100") as command:
        tell(target)
        answer(target, "done")
        interval = interval_of(command)
        tell(target)
        hw.need(target.wait(hw.TIMEOUT) == 0, f"the program failed: {target.returncode}")
    # 1,000 vectors of 1,003 bytes; std::string has a byte more than its text.
    hw.need(by_function(interval, "tower<0>::grow") == (1003 * 1000, 1000), f"{by_function(interval, 'tower<0>::grow')}")
    texts = [stack for stack in interval["stacks"] if stack["live_bytes"] == 802 * 100]
    hw.need(len(texts) == 1 and any("catch_and_keep" in (frame.get("function") or "") for frame in texts[0]["frames"]), f"{texts}")
    hw.need(by_function(interval, "fail")[0] == 0, f"what unwinding freed: {interval['stacks']}")
    hw.need(interval["samples_with_incomplete_stacks"] == 0, f"{interval}")


@TESTS.test
def tcmalloc(_):
    """tcmalloc, by LD_PRELOAD: all is counted once with the size that was asked for, also by functions that jump to others of it"""
    if not TCMALLOC.exists():
        raise hw.Skip(f"no {TCMALLOC}")
    with running(WATCHED, preload=TCMALLOC) as target, watching(target.pid, "--all", "-o", "0", "-T", "100") as command:
        tell(target)
        expected = expectations(answer(target, "done"))
        # Its own mmap calls the kernel itself; nothing of that is seen.
        del expected["site_partly_unmapped"]
        need_truth(last_look(command), expected)


@TESTS.test
def hidden_libc(folder):
    """A process in PID and mount namespaces of its own, whose libc is nowhere to be seen outside, is watched and its stacks are named"""
    hw.need_program("unshare")
    if os.getuid() != 0:
        raise hw.Skip("not root")
    # The program and its libraries lie in a file system that only the process has.
    root = folder / "root"
    root.mkdir()
    script = ("set -e; mount -t tmpfs none \"$0\"; mkdir -p \"$0/lib\" \"$0/proc\"; cp \"$1\" \"$0/program\"; "
              "ldd \"$1\" | grep -o '/[^ ]*' | while read -r file; do mkdir -p \"$0$(dirname \"$file\")\"; cp \"$file\" \"$0$file\"; done; "
              "mount -t proc proc \"$0/proc\"; exec chroot \"$0\" /program 3")
    outer = start(["unshare", "--pid", "--mount", "--fork", "sh", "-c", script, root, LOOP], stderr=subprocess.PIPE)
    try:
        if not outer.stdout.readline().startswith("ready"):
            raise hw.Skip(f"namespaces can't be made here: {outer.stderr.read().strip()}")
        pid = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()[0])
        hw.need(not (root / "program").exists(), "the program is seen outside")
        with watching(pid, "--all", "-o", "0") as command:
            tell(outer)
            answer(outer, "done")
            stacks = looks(last_look(command))[-1]
    finally:
        end(outer)
    hw.need(stacks and stacks[0].bytes == KEPT_BYTES, f"{stacks}")
    hw.need(stacks[0].frames[0].startswith("allocate_both ") and "libc.so.6" in str(stacks[0].frames), f"{stacks[0]}")


@TESTS.test
def trace(_):
    """-t has a line for each allocation and each free, and what is left is what the program kept"""
    with running(LOOP, "2") as target, watching(target.pid, "--all", "-t", "-z", "1003", "-Z", "1003") as command:
        lines = []
        tell(target)
        hw.need(answer(target, "done"), "it has not ended")
        command.send_signal(signal.SIGINT)
        lines = command.stdout.read().splitlines()
        hw.need(command.wait(hw.TIMEOUT) == 0, command.stderr.read())
    rows = [re.match(r"^[\d.]+ thread (\d+): (?:(alloc) exited, size = (\d+), result = ([0-9a-f]+)|free entered, address = ([0-9a-f]+), size = (\d+))$",
                     line) for line in lines]
    rows = [row for row in rows if row]
    lost = sum(int(found[1].replace(",", "")) for found in re.finditer(r"\[([\d,]+) event", "\n".join(lines)))
    allocations = [row for row in rows if row[2]]
    frees = [row for row in rows if not row[2]]
    hw.need({int(row[1]) for row in rows} == {target.pid}, "another thread's number")
    hw.need({row[3] or row[6] for row in rows} == {"1003"}, "another size")
    # What the ring has no room for is counted.
    hw.need(lost or (len(allocations), len(frees)) == (80000, 40000), f"{len(allocations)} and {len(frees)} of 80000 and 40000; {lines[-5:]}")


@TESTS.test
def blocks_shown(_):
    """-a shows address and size of each block that is outstanding"""
    text = hw.heapwise("watch", "-c", f"{CASES} malloc", "1000", "--all", "-a", "-o", "0")
    if text.status != 0:
        raise hw.Skip(text.errors)
    found = re.findall(r"^\taddr = ([0-9a-f]+) size = (\d+)$", text.text, re.M)
    hw.need(("30000" in {size for _, size in found}) and len({address for address, _ in found}) == len(found), text.text)


@TESTS.test
def combined(_):
    """-C sums up stacks without looking at each block, and agrees with the truth"""
    with running(WATCHED) as target, watching(target.pid, "--all", "-C", "-T", "100") as command:
        tell(target)
        lines = answer(target, "done")
        need_truth(last_look(command), expectations(lines))


@TESTS.test
def one_object(_):
    """-O probes the allocator of one file: of libc where jemalloc is in use nothing is seen, of jemalloc all"""
    library = Path(f"/usr/lib/{os.uname().machine}-linux-gnu/libjemalloc.so.2")
    if not library.exists():
        raise hw.Skip(f"no {library}")
    for name, expected in (("c", 0), (str(library), KEPT_BYTES)):
        with running(LOOP, "2", preload=library) as target, watching(target.pid, "--all", "-o", "0", "-O", name) as command:
            tell(target)
            answer(target, "done")
            stacks = looks(last_look(command))[-1]
        hw.need(sum(stack.bytes for stack in stacks if "allocate_both" in str(stack)) == expected, f"{name}: {stacks}")


@TESTS.test
def nginx(folder):
    """Of the stacks of an nginx worker under load 99 % are complete, and it serves all requests"""
    hw.need_program("nginx")
    folder.chmod(0o755)
    place = folder / "socket"
    (folder / "page").write_text("x" * 5000)
    settings = folder / "settings"
    settings.write_text(f"""daemon off; worker_processes 1; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 64; }}
http {{ access_log off; gzip on; gzip_types text/plain; default_type text/plain;
  server {{ listen unix:{place}; root {folder}; }} }}
""")
    server = start(["nginx", "-p", str(folder), "-c", str(settings)], stderr=subprocess.PIPE)
    try:
        hw.wait_until(place.exists, "nginx listens")
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
        hw.wait_until(lambda: children.read_text().split(), "nginx has a worker")
        with watching(children.read_text().split()[0], "--all", "-o", "0", "--json") as command:
            for _unused in range(400):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(str(place))
                    connection.sendall(b"GET /page HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
                    data = b"".join(iter(lambda: connection.recv(65536), b""))
                hw.need(data.startswith(b"HTTP/1.1 200"), f"{data[:200]}")
            return completeness(command)
    finally:
        end(server)


@TESTS.test
def python_threads(_):
    """python3 with threads under load goes on to the end, and its figures are exact"""
    script = ("import threading; kept = []; print('ready', flush=True); input()\n"
              "def work(n):\n"
              "    for i in range(2000): kept.append(bytes(5003 - 33)); bytes(20000 + i)\n"
              "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
              "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
              "print('done', flush=True); input()")
    with running("/usr/bin/python3", "-c", script) as target, \
            watching(target.pid, "--all", "-o", "0", "--json", "-z", "5003", "-Z", "5003") as command:
        tell(target)
        answer(target, "done")
        interval = interval_of(command)
        tell(target)
        hw.need(target.wait(hw.TIMEOUT) == 0, f"the program failed: {target.returncode}")
    hw.need((interval["live_bytes"], interval["live_blocks"]) == (8000 * 5003, 8000), f"{interval['live_bytes']} {interval['live_blocks']}")


@TESTS.test
def postgres(folder):
    """A server process of PostgreSQL is watched while it sorts and joins, and answers as ever"""
    for program in ("initdb", "postgres", "psql"):
        hw.need_program(program)
    if os.getuid() == 0 and not shutil.which("setpriv"):
        raise hw.Skip("no setpriv, and PostgreSQL refuses root")
    folder.chmod(0o777)
    ordinary = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups") if os.getuid() == 0 else ()
    data = folder / "data"
    made = subprocess.run([*ordinary, "initdb", "-D", data, "-U", "own", "-A", "trust", "-N"], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise hw.Skip(f"initdb fails here: {made.stderr.strip()[-200:]}")
    with contextlib.ExitStack() as stack:
        # Compiled queries would bring libLLVM, whose tables take a while to read.
        server = start([*ordinary, "postgres", "-c", "jit=off", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"], stderr=subprocess.DEVNULL)
        stack.callback(end, server)
        hw.wait_until((folder / ".s.PGSQL.5432").exists, "PostgreSQL listens")
        client = start(["psql", "-h", folder, "-U", "own", "-d", "postgres", "-At"], stderr=subprocess.STDOUT)
        stack.callback(end, client)

        def ask(query):
            client.stdin.write(query + "\n")
            client.stdin.flush()
            return client.stdout.readline().strip()

        pid = int(ask("select pg_backend_pid();"))
        with watching(pid, "--all", "-o", "0", "--json") as command:
            query = "select count(*) from (select a.i from generate_series(1, 20000) a(i) join generate_series(1, 20000) b(i) using (i) order by -i) t;"
            for _unused in range(20):
                hw.need(ask(query) == "20000", "another answer")
            interval = interval_of(command)
    hw.need(interval["samples"] > 100 and interval["samples_with_incomplete_stacks"] * 100 <= interval["samples"], f"{interval}")


@TESTS.test
def three_ways(_):
    """--all, --sample-bytes and -s exclude each other: none of them is left out silently"""
    for words in (("-s", "10", "--all"), ("-s", "2", "--sample-bytes", "1M"), ("--all", "--sample-bytes", "64K")):
        result = hw.heapwise("watch", str(os.getpid()), "1", "1", *words)
        hw.need(result.status == 2 and "expected one" in result.errors, f"{words}: {result}")


if __name__ == "__main__":
    TESTS.main()
