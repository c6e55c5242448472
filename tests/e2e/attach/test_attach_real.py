#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs that are attached while they work, and let go: they answer as before, and the recordings are sound."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from attaching import attached, detach, need_let_go, need_sound, running
from processes import children, free_port, wait_for_answer

TESTS = hw.Tests()
ROUNDS = 3


def need(name):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin:/usr/lib/postgresql/15/bin")
    if not found:
        raise hw.Skip(f"{name} is not installed")
    return found


class Process:
    """One that was started by others."""

    def __init__(self, pid):
        self.pid = int(pid)


def record(target, folder, work, *options, least=1):
    """Attaches to a process while it works, some times, without and with samples."""
    for number in range(ROUNDS):
        sampled = ("--mode", "sample:4K") if number == ROUNDS - 1 else ()
        with attached(target, folder / "x.hpw", *options, *sampled):
            work()
            detach(target)
        need_let_go(target)
        work()
        report = hw.report(folder / "x.hpw")
        need_sound(report["recording"])
        hw.need(sampled or report["totals"]["allocations"] >= least, f"{report['totals']}")


NGINX = """daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
 uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
 server {{ listen 127.0.0.1:{port}; location / {{ return 200 "fine"; }} }} }}
"""


@TESTS.test
def nginx(folder):
    """nginx: its worker, under requests"""
    server, port = need("nginx"), free_port()
    folder.chmod(0o755)
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port, user="" if os.geteuid() else "user root;"))
    process = subprocess.Popen([server, "-e", folder / "error.log", "-c", configuration], cwd=folder, stderr=subprocess.DEVNULL,
                               start_new_session=True, env=hw.clean_environment())

    def ask():
        for _ in range(100):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=hw.TIMEOUT) as answer:
                hw.need(answer.read() == b"fine", "another answer")

    try:
        wait_for_answer(port, process)
        ask()
        record(Process(children(process.pid)[0]), folder, ask, least=100)
        process.send_signal(signal.SIGQUIT)
        hw.need(process.wait(hw.TIMEOUT) == 0, "it did not stop well")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


PYTHON = """
import json, os, sys, threading, zlib
going = True
def work():
    while going:
        json.loads(json.dumps([{'a': 'x' * 700, 'b': list(range(100))} for _ in range(20)]))
        zlib.compress(bytes(5000))
threads = [threading.Thread(target=work) for _ in range(4)]
for one in threads: one.start()
print('ready', os.getpid(), flush=True)
for line in sys.stdin:
    print(line.split()[0], len(zlib.decompress(zlib.compress(bytes(100000)))), flush=True)
going = False
for one in threads: one.join()
print('ended 0', flush=True)
"""


@TESTS.test
def python(folder):
    """python3 with threads, also with the addresses that its data holds"""
    with running(folder, "-c", PYTHON, program=need("python3")) as target:
        for options in ((), ("--patch-pointers",)):
            record(target, folder, lambda: hw.need(target.tell("pack") == 100000, "another answer"), *options, least=100)
        target.process.stdin.close()
        hw.need(target.told("ended") == 0 and target.process.wait(hw.TIMEOUT) == 0, "it did not end well")


@TESTS.test
def sqlite(folder):
    """sqlite3, also with the addresses that its data holds"""
    process = subprocess.Popen([need("sqlite3"), ":memory:"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               start_new_session=True, env=hw.clean_environment())

    def ask():
        process.stdin.write("with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) "
                            "insert into t select i, hex(randomblob(i)) from n;\nselect count(*) % 500 from t;\n")
        process.stdin.flush()
        hw.need(process.stdout.readline() == "0\n", "another answer")

    try:
        process.stdin.write("create table t(a, b);\n")
        ask()
        for options in ((), ("--patch-pointers",)):
            record(process, folder, ask, *options, least=100)
        process.stdin.close()
        hw.need(process.wait(hw.TIMEOUT) == 0, "it did not end well")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


JAVA = """
import java.io.*;
import java.util.zip.*;
public class Works {
    public static void main(String[] unused) throws Exception {
        for (int i = 0; i < 3; i++) {
            Thread thread = new Thread(() -> { for (;;) { pack(); } });
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready " + ProcessHandle.current().pid());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            for (int i = 0; i < 50; i++) pack();
            System.out.println(line.split(" ")[0] + " " + pack());
        }
    }
    static int pack() {
        Deflater deflater = new Deflater();
        deflater.setInput(new byte[10000]);
        deflater.finish();
        int bytes = deflater.deflate(new byte[20000]);
        deflater.end();
        return bytes > 0 && bytes < 10000 ? 1 : 0;
    }
}
"""


@TESTS.test
def java(folder):
    """A JVM whose threads allocate in native code"""
    compiler, machine = need("javac"), need("java")
    (folder / "Works.java").write_text(JAVA)
    subprocess.run([compiler, "-d", folder, folder / "Works.java"], check=True)
    with running(folder, "-Xmx64m", "-cp", folder, "Works", program=machine) as target:
        record(target, folder, lambda: hw.need(target.tell("pack") == 1, "another answer"), "--before", "none", least=50)
        target.process.stdin.close()
        hw.need(target.process.wait(hw.TIMEOUT) == 0, "it did not end well")


@TESTS.test
def postgres(folder):
    """A backend of PostgreSQL, between queries and during them"""
    initdb, server, client = need("initdb"), need("postgres"), need("psql")
    folder.chmod(0o777)
    by = () if os.geteuid() else (need("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups")
    data, port = folder / "data", free_port()
    ended = hw.run([*by, initdb, "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"], cwd=folder)
    hw.need(ended.status == 0, f"initdb: {ended}")
    process = subprocess.Popen([*by, server, "-D", data, "-p", str(port), "-k", folder, "-c", "fsync=off"], cwd=folder,
                               stderr=subprocess.DEVNULL, start_new_session=True, env=hw.clean_environment())
    try:
        wait_for_answer(port, process)
        shell = subprocess.Popen([client, "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-qAt", "postgres"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, env=hw.clean_environment())

        def ask(query="select count(*), sum(length(repeat(i::text, 100))) from generate_series(1, 20000) i;", known="20000|8889400"):
            shell.stdin.write(query + "\n")
            shell.stdin.flush()
            answer = shell.stdout.readline().strip()
            hw.need(known is None or answer == known, f"another answer: {answer}")
            return answer

        backend = int(ask("select pg_backend_pid();", None))
        record(Process(backend), folder, ask)
        shell.stdin.close()
        hw.need(shell.wait(hw.TIMEOUT) == 0, "the client did not end well")
        process.send_signal(signal.SIGINT)
        hw.need(process.wait(hw.TIMEOUT) == 0, "it did not stop well")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    TESTS.main()
