#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise serve: answers are those of heapwise html, byte by byte; nobody else gets any; slow and hostile clients
don't keep it from others; what grows is read again."""

import base64
import gzip
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise
from served import Server

TESTS = hw.Tests()
DATA = re.compile(r'<script type="text/plain" id="heapwise-data">([^<]*)</script>')
REQUEST_SECONDS, WAITING_MOST = 10, 32
# Of 20 lists of 4,096 files.
MANY_TICKS = 160


def recording(folder, name="a.hpw", program="containers-O2", options=()):
    path = folder / name
    ended = hw.record([hw.TARGETS / program], path, options=("-q", *options))
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def container_of(path, *options):
    ended = heapwise("html", path, "-o", "-", *options)
    hw.need(ended.status == 0, f"{options}: {ended}")
    return gzip.decompress(base64.b64decode(DATA.findall(ended.text)[0]))


def header_of(container):
    magic, _, length = struct.unpack_from("<4sII", container)
    hw.need(magic == b"HWPG", f"{container[:20]}")
    return json.loads(container[12:12 + length])


@TESTS.test
def same_bytes(folder):
    """Answers are what heapwise html writes with the same options, and their figures the report's"""
    path = recording(folder, options=("--leak-check=full",))
    end = hw.report(path)["recording"]["duration_ns"]
    questions = ((), (("from", f"{end // 3}ns"), ("to", f"{end // 2}ns")), (("at", "peak"),), (("focus", "vector"), ("ignore", "map")),
                 (("min-size", "64"), ("max-size", "1K")), (("kind", "malloc"), ("kind", "operator new")), (("all-frames", "1"),),
                 (("timeline", "no"), ("lifetimes", "no")), (("hide", "^std::"), ("lifetimes", "yes")), (("focus", ""),))
    with Server(path) as server:
        for question in questions:
            options = [f"--{name}={value}" if name != "all-frames" else "--all-frames" for name, value in question if value]
            answer = server.data(*question)
            hw.need(answer.status == 200 and answer.body == container_of(path, *options), f"{question}: {answer}")
            hw.need(server.data(*question).body == answer.body, f"{question}: another answer the second time")
        hw.need(server.data(("all-frames", "0")).body == server.data().body != server.data(("all-frames", "1")).body, "0 counts as yes")
        found = header_of(server.data(*questions[1]).body)["documents"]["report"]
        wanted = hw.report(path, "--from", f"{end // 3}ns", "--to", f"{end // 2}ns")
        hw.need(found == wanted and found["recording"]["range"], "figures of a range")
        quick = header_of(server.data(("timeline", "no")).body)
        hw.need("timeline" not in quick["documents"] and "--timeline no" in quick["cut"]["missing"]["timeline"], str(quick["cut"]))
    written = heapwise("html", path, "--container")
    hw.need(written.stdout == container_of(path), "--container is what is in the page")


@TESTS.test
def common_options(folder):
    """Options of the command are those of all answers"""
    path = recording(folder)
    with Server(path, "--names", "raw", "--all-frames") as server:
        hw.need(server.data().body == heapwise("html", "--container", "--names=raw", "--all-frames", path).stdout, "options are lost")


@TESTS.test
def large(folder):
    """Of a million stacks, more than a page has room for, an answer has what --container has; both sum up by the same limit"""
    hw.need_no_sanitizer("a million stacks take too long")
    path, count = folder / "large.folded", 1_000_000
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"a{i // 10000};b{i // 100 % 100};c{i % 100} {i * 7919 % 9973 + 1}\n" for i in range(count))
    total = sum(i * 7919 % 9973 + 1 for i in range(count))
    with Server(path) as server:
        server.patience = 4 * hw.TIMEOUT
        answer = server.data()
    hw.need(answer.status == 200 and answer.body == heapwise("html", "--container", path, timeout=4 * hw.TIMEOUT).stdout, f"other bytes: {answer}")
    header = header_of(answer.body)
    hw.need(len(answer.body) > 16 << 20 and header["cut"]["rows"] is None, f"{len(answer.body)} bytes, {header['cut']}")
    hw.need(header["columns"]["row.node"]["count"] == count and header["documents"]["report"]["totals"]["live_bytes_at_end"] == total, "not all is there")


@TESTS.test
def limit(folder):
    """--page-limit is that of html, and what it sums up is said; more than an answer can have is refused"""
    path = recording(folder)
    whole = heapwise("html", "--container", path).stdout
    for bytes_most in (len(whole) * 4, len(whole) - 1, len(whole) // 2):
        with Server(path, "--page-limit", str(bytes_most)) as server:
            body = server.data().body
        hw.need(body == heapwise("html", "--container", "--page-limit", str(bytes_most), path).stdout, f"{bytes_most}: other bytes")
        cut = header_of(body)["cut"]
        hw.need(len(body) <= bytes_most and (body == whole) == (bytes_most > len(whole)), f"{len(body)} bytes of {bytes_most}")
        hw.need(body == whole or cut["rows"] or cut["documents"] or cut["moments"], f"nothing is said of {bytes_most} bytes: {cut}")
    for wrong in ("0", "129M", "much", "-1"):
        ended = heapwise("serve", "--page-limit", wrong, path)
        hw.need(ended.status == 2 and wrong in ended.errors and "128M" in ended.errors, f"{wrong}: {ended}")
    hw.need(heapwise("html", "--page-limit", "0", path).status == 2, "a page of no bytes")


@TESTS.test
def anonymous(folder):
    """With --anonymize no answer names a file: lists, tables and errors number them alike"""
    broken, path = folder / "secret-broken.hpw", recording(folder, "secret.hpw")
    broken.write_bytes(path.read_bytes()[:20] + b"\xff" * 500)
    with Server(broken, path, folder, "--anonymize") as server:
        hw.need(server.data(file=1).body == heapwise("html", "--container", "--anonymize", path).stdout, "other data than that of html")
        files, table = server.get("files"), server.get("recordings")
        hw.need([one["file"] for one in files.json["files"]][:2] == ["recording-1", "recording-2"], f"{files}")
        hw.need("recording-2" in [row["file"] for row in table.json["recordings"]], f"{table}")
        refused = server.data(file=0)
        hw.need(refused.status == 422 and "recording-1: " in refused.json["error"], f"{refused}")
        path.unlink()
        gone = server.data(file=1)
        hw.need(gone.status == 422 and "recording-2 is not there any more" in gone.json["error"], f"{gone}")
        for answer in (files, table, refused, gone):
            hw.need(b"secret" not in answer.body and folder.name.encode() not in answer.body, f"{answer.body}")


@TESTS.test
def errors(folder):
    """What the command refuses is said, with its exit code; what is none of the page's business is refused"""
    path = recording(folder)
    broken = folder / "broken.hpw"
    broken.write_bytes(path.read_bytes()[:20] + b"\xff" * 500)
    with Server(path, broken) as server:
        for question, code, said in (((("focus", "nothing_is_called_so"),), 3, "leaves none"), ((("focus", "("),), 2, "regular expression"),
                                     ((("from", "yesterday"),), 2, "yesterday"), ((("min-size", "much"),), 2, "much"),
                                     ((("all-frames", "yes"),), 2, "expected 1 or 0"),
                                     ((("output", "/tmp/x"),), 2, "output"), ((("sysroot", "/"),), 2, "sysroot"),
                                     ((("file", "7"),), 2, "7"), ((("base", "7"),), 2, "")):
            answer = server.data(*question)
            hw.need(answer.status == 422 and answer.json["exit_code"] == code and said in answer.json["error"], f"{question}: {answer}")
            hw.need("Try 'heapwise" not in answer.json["error"] and not answer.json["error"].startswith("heapwise:"), f"{answer}")
        answer = server.data(file=1)
        ended = heapwise("html", broken, "-o", "-")
        hw.need(answer.json["exit_code"] == ended.status != 0 and answer.json["error"] in ended.errors, f"{answer}, {ended}")
        many = server.data(*(("focus", "") for _ in range(70)))
        hw.need(many.status == 400, f"70 arguments: {many}")
        hw.need(server.data(("focus", "a\0b")).status == 400, "a NUL")
        hw.need(server.data(("focus", "x" * 5000)).json["exit_code"] == 2, "a long value")
        for request in ("nothing", "data/", "../data", "%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "a.hpw"):
            hw.need(server.get(request).status in (403, 404), request)
        hw.need(server.data().status == 200, "it has ended")


@TESTS.test
def others(folder):
    """Without the token, by another name, from another page, by another method: refused"""
    path = recording(folder)
    with Server(path) as server:
        wrong = server.token[:-1] + ("0" if server.token[-1] != "0" else "1")
        own = f"127.0.0.1:{server.port}"
        for wanted, more in ((403, {"token": wrong}), (403, {"token": "x"}), (403, {"token": server.token.upper() + "A"}),
                             (403, {"headers": {"Host": "evil.example"}}), (403, {"headers": {"Host": f"evil.example:{server.port}"}}),
                             (403, {"headers": {"Host": f"127.0.0.1:{server.port + 1}"}}), (403, {"headers": {"Origin": "http://evil.example"}}),
                             (403, {"headers": {"Origin": "null"}}), (403, {"headers": {"Sec-Fetch-Site": "cross-site"}}),
                             (403, {"headers": {"Sec-Fetch-Site": "same-site"}}), (405, {"method": "POST"}), (405, {"method": "PUT", "body": "x"}),
                             (405, {"method": "DELETE"}), (405, {"method": "OPTIONS"}), (413, {"body": "x"}),
                             (200, {"headers": {"Host": f"localhost:{server.port}"}}), (200, {"headers": {"Origin": f"http://{own}"}}),
                             (200, {"headers": {"Sec-Fetch-Site": "same-origin"}}), (200, {"method": "HEAD"})):
            for place in ("files", "recordings"):
                answer = server.get(place, **more)
                hw.need(answer.status == wanted, f"{place} {more}: {answer}")
                hw.need(wanted == 200 or path.name.encode() not in answer.body, f"{more}: {answer}")
        hw.need(not server.get("files", method="HEAD").body, "HEAD has a body")
        page = server.get("", headers={"Sec-Fetch-Site": "cross-site"})
        hw.need(page.status == 200 and b"heapwise-served" in page.body and path.name.encode() not in page.body, "a link to the page")
        policy = page.headers["Content-Security-Policy"]
        hw.need(policy.startswith("default-src 'none'; script-src 'sha256-") and policy.endswith("; connect-src 'self'"), policy)
        hw.need(f'content="{policy}"'.encode() in page.body, "the page has another policy")
        for answer in (page, server.get("files"), server.get("files", token=wrong), server.data()):
            hw.need(answer.headers["Cache-Control"] == "no-store" and answer.headers["Referrer-Policy"] == "no-referrer"
                    and answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["X-Frame-Options"] == "DENY"
                    and answer.headers["Cross-Origin-Resource-Policy"] == "same-origin" and "Access-Control-Allow-Origin" not in answer.headers,
                    f"{answer.headers}")
        with server.socket() as bare:
            bare.sendall(f"GET /{server.token}/files HTTP/1.0\r\n\r\n".encode())
            hw.need(b" 403 " in bare.recv(100), "no host at all")
    with Server(path) as other:
        hw.need(other.token != server.token and re.fullmatch("[0-9a-f]{32}", other.token), other.token)


def listed(server):
    return [Path(one["file"]).name for one in server.get("files").json["files"]]


@TESTS.test
def folders(folder):
    """A folder's recordings are a list, to which new ones come at the end; of other files there is none"""
    recording(folder, "b.hpw")
    (folder / "secret.txt").write_text("secret")
    (folder / ".hidden.hpw").write_text("hidden")
    with Server(folder, str(os.getpid())) as server:
        files = server.get("files").json
        hw.need(listed(server) == [str(os.getpid()), "b.hpw"] and files["schema"] == "heapwise.serve/1", str(files))
        hw.need(files["files"][1]["bytes"] == (folder / "b.hpw").stat().st_size, str(files))
        wanted = server.data(file=1).body
        shutil.copy(folder / "b.hpw", folder / "a.hpw")
        hw.need(listed(server) == [str(os.getpid()), "b.hpw", "a.hpw"], f"{listed(server)}")
        hw.need(server.data(file=1).body == wanted, "numbers have changed")
        rows = server.get("recordings").json
        hw.need({row["file"] for row in rows["recordings"]} == {str(folder / "a.hpw"), str(folder / "b.hpw")}, f"{rows}")
        hw.need(rows["recordings"][0]["complete"] and "containers" in rows["recordings"][0]["program"], f"{rows}")
        (folder / "b.hpw").unlink()
        hw.need(not server.get("files").json["files"][1]["there"] and server.data(file=1).status == 422, "it is still there")
    with Server(cwd=folder) as server:
        hw.need(listed(server) == ["a.hpw"], "the current folder")


GROWING = "import sys; kept = []\nfor line in sys.stdin: kept.append(bytes(3000000)); print('grown', flush=True)"


@TESTS.test
def heaps(folder):
    """A process is looked at anew by each question, with the figures of `heap`; a core is a heap, too; one that has ended is said"""
    hw.need_no_sanitizer("it would find itself in the other process")
    with subprocess.Popen(["/usr/bin/python3", "-c", GROWING], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        with Server(str(process.pid), folder) as server:
            seen = []
            for _ in range(2):
                process.stdin.write(b"more\n")
                process.stdin.flush()
                hw.need(process.stdout.readline() == b"grown\n", "it does not go on")
                header = header_of(server.data(("timeline", "no"), ("lifetimes", "no")).body)
                hw.need(header["kind"] == "heap" and header["title"] == f"process {process.pid}", str(header)[:500])
                seen.append(header["documents"]["summary"]["totals"]["used_bytes"])
                alone = json.loads(hw.run([hw.HEAPWISE, "heap", "--json", str(process.pid)]).stdout)
                hw.need(seen[-1] == alone["totals"]["used_bytes"], f"{seen} and {alone['totals']}")
            hw.need(2_990_000 < seen[1] - seen[0] < 3_100_000, f"the growth of 3,000,000 is {seen}")
            hw.need(hw.run([hw.HEAPWISE, "heap", str(process.pid), "save", folder / "x.core"]).status == 0, "no core")
            refused = server.data(("focus", "main")).json
            hw.need(refused["exit_code"] == 2 and "choose stacks" in refused["error"], str(refused))
            process.kill()
            process.wait()
            ended = server.data(file=0)
            hw.need(ended.status == 422 and f"process {process.pid} is not there any more" in ended.json["error"], f"{ended}")
    with Server(folder / "x.core") as server:
        header = header_of(server.data().body)
        hw.need(header["kind"] == "heap" and header["documents"]["summary"]["totals"]["used_bytes"] == seen[1], str(header)[:500])


@TESTS.test
def no_rows(folder):
    """The table of recordings has no rows of what can't be read and of cores, and may have none"""
    hw.need_no_sanitizer("it would find itself in the other process")
    (folder / "empty.hpw").touch()
    with subprocess.Popen(["sleep", "1000"]) as process:
        hw.wait_until(lambda: b"sleep" in Path(f"/proc/{process.pid}/cmdline").read_bytes(), "sleep does not start")
        saved = hw.run([hw.HEAPWISE, "heap", str(process.pid), "save", folder / "core.hpw"])
        process.kill()
    hw.need(saved.status == 0, str(saved))
    with Server(folder, str(os.getpid())) as server:
        answer = server.get("recordings")
        hw.need(answer.status == 200 and answer.json["recordings"] == [] and answer.json["processes"] == 0, f"{answer}")
        path = recording(folder)
        hw.need([row["file"] for row in server.get("recordings").json["recordings"]] == [str(path)], "the one that can be read")
    ended = heapwise("report", "--json", folder)
    hw.need([row["file"] for row in json.loads(ended.stdout)["recordings"]] == [str(path)], f"{ended}")
    hw.need(ended.status == 3 and "core.hpw: no recording (read as core" in ended.errors, f"{ended}")


@TESTS.test
def half_closed(folder):
    """A client that has closed one direction gets all its answers, and then the end; it may have asked several times"""
    path = needs_slow_command(folder)
    with Server(path) as server:
        def ask(version, *paths):
            with server.socket() as made:
                for place in paths:
                    made.sendall(f"GET /{server.token}/{place} HTTP/{version}\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
                made.shutdown(socket.SHUT_WR)
                parts = []
                while parts[-1:] != [b""]:
                    parts.append(made.recv(1 << 16))
                return b"".join(parts)
        for version in ("1.1", "1.0"):
            begun = time.monotonic()
            got = ask(version, "files")
            hw.need(got.endswith(server.get("files").body), f"{version}: {got[:500]!r}")
            hw.need(time.monotonic() - begun < REQUEST_SECONDS, "the end comes with the bound alone")
            got = ask(version, f"data?file=0&lifetimes=yes&min-size={version[-1]}")
            hw.need(got.endswith(server.data(("lifetimes", "yes"), ("min-size", version[-1])).body), f"{version}: {got[:500]!r}")
        for number in range(20):
            got = ask("1.1", "files", f"data?file=0&timeline=no&min-size={number}", "files", "files")
            hw.need(got.count(b"HTTP/1.1 200 OK") == 4, f"{got.count(b'HTTP/1.1 200 OK')} answers, question {number}")


def cpu_ticks(pid):
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))


@TESTS.test
def many_files(folder):
    """Of a folder with more than 4,096 recordings the list says how many it leaves out"""
    for number in range(4100):
        (folder / f"{number:04}.hpw").touch()
    with Server(folder) as server:
        files = server.get("files").json
        hw.need(len(files["files"]) == 4096 and files["left_out"] == 4, f"{len(files['files'])}, {files['left_out']}")
        before = cpu_ticks(server.process.pid)
        for _ in range(20):
            server.get("files")
        ticks = cpu_ticks(server.process.pid) - before
        hw.need(hw.SANITIZERS != "none" or ticks < MANY_TICKS, f"20 lists took {ticks} ticks of CPU time")


@TESTS.test
def growing(folder):
    """A recording that grows, or is replaced, is read again"""
    path = recording(folder)
    whole = path.read_bytes()
    path.write_bytes(whole[:len(whole) // 2])
    with Server(path) as server:
        half = header_of(server.data().body)["documents"]["report"]
        hw.need(not half["recording"]["complete"] and half == hw.report(path), "half of it")
        before = server.get("files").json["files"][0]
        with open(path, "ab") as file:
            file.write(whole[len(whole) // 2:])
        after = server.get("files").json["files"][0]
        hw.need(before["bytes"] < after["bytes"] and before["number"] == after["number"], f"{before} {after}")
        found = header_of(server.data().body)["documents"]["report"]
        hw.need(found["recording"]["complete"] and found == hw.report(path), "all of it")


def children_of(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def needs_slow_command(folder):
    """A recording whose page takes long: the target writes and frees all the time."""
    source = folder / "many.c"
    source.write_text("#include <stdlib.h>\nint main(void) { for (int i = 0; i < 3000000; i++) { void *volatile p = malloc(1 + i % 99);"
                      " free(p); } return 0; }\n")
    made = hw.run([hw.need_program("gcc"), "-g", "-O1", "-fno-builtin-malloc", source, "-o", folder / "many"])
    hw.need(made.status == 0, str(made))
    hw.record([folder / "many"], folder / "many.hpw")
    return folder / "many.hpw"


@TESTS.test
def who_leaves(folder):
    """Who goes away ends what was computed for them alone, even if it stands still; others get their answers"""
    path = needs_slow_command(folder)
    with Server(path) as server:
        gone = server.socket()
        gone.sendall(f"GET /{server.token}/data?file=0&lifetimes=yes HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        hw.wait_until(lambda: children_of(server.process.pid), "nothing is computed")
        child = int(children_of(server.process.pid)[0])
        os.kill(child, signal.SIGSTOP)
        gone.close()
        hw.wait_until(lambda: str(child) not in children_of(server.process.pid), "a process goes on for nobody")
        hw.need(server.data(("timeline", "no")).body == container_of(path, "--timeline", "no"), "another client's answer")


@TESTS.test
def queue(folder):
    """One answer at a time is computed for a file; beyond 32 that wait questions are refused; who leaves ends a process"""
    path = needs_slow_command(folder)
    with Server(path) as server:
        def ask(number):
            made = server.socket()
            made.sendall(f"GET /{server.token}/data?file=0&lifetimes=yes&min-size={number} HTTP/1.1\r\n"
                         f"Host: 127.0.0.1:{server.port}\r\n\r\n".encode())
            return made
        first = ask(1)
        hw.wait_until(lambda: children_of(server.process.pid), "nothing is computed")
        # The first may be answered meanwhile: then one more waits.
        waiting = [ask(2 + i) for i in range(WAITING_MOST + 2)]
        refused = waiting[-1].recv(1000)
        hw.need(b" 503 " in refused and b"too many questions" in refused, f"{refused}")
        hw.need(len(children_of(server.process.pid)) <= 1, "several at a time")
        hw.need(server.get("files").status == 200, "it does nothing else meanwhile")
        for one in (first, *waiting):
            one.close()
        hw.wait_until(lambda: not children_of(server.process.pid), "it computes for nobody")
        hw.need(server.data(("timeline", "no")).status == 200, "nothing is answered any more")


@TESTS.test
def bounds(folder):
    """Long URLs and large headers are refused, and those who send nothing are closed"""
    path = recording(folder)
    with Server(path) as server:
        slow, silent = server.socket(), server.socket()
        begun = time.monotonic()
        slow.sendall(b"GET / HTTP/1.1\r\n")
        for request in (f"GET /{server.token}/data?focus={'x' * 100000} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n",
                        f"GET /{server.token}/files HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX: {'x' * 100000}\r\n\r\n",
                        f"GET /{server.token}/files HTTP/1.1\r\n" + "X: y\r\n" * 20000 + "\r\n", "\0\1\2\n" * 50000, "GET " * 50000):
            with server.socket() as hostile:
                try:
                    hostile.sendall(request.encode())
                    answer = hostile.recv(100)
                except (BrokenPipeError, ConnectionResetError):
                    answer = b""
            hw.need(not answer or re.match(rb"HTTP/1\.1 4(00|03|13|14|31) ", answer), f"{request[:60]!r}: {answer}")
            hw.need(server.get("files").status == 200, f"it has ended: {request[:60]!r}")
        # A byte now and then keeps nobody's connection.
        slow.settimeout(1)
        closed = False
        while not closed and time.monotonic() - begun < 6 * REQUEST_SECONDS:
            try:
                slow.sendall(b"X")
                closed = slow.recv(100) == b""
            except TimeoutError:
                pass
            except OSError:
                closed = True
        hw.need(closed, "a slow client stays")
        hw.need(silent.recv(100) == b"", "a silent client stays")
        slow.close()
        silent.close()


@TESTS.test
def crowds(folder):
    """A thousand connections that send nothing don't keep others out, nor does one that doesn't read"""
    path = recording(folder)
    with Server(path) as server:
        crowd, wanted = [], server.data().body
        deaf = server.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.sendall(f"GET /{server.token}/data?file=0 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode() * 5)
        for number in range(1000):
            made = socket.socket()
            made.setblocking(False)
            made.connect_ex(("127.0.0.1", server.port))
            crowd.append(made)
            if number % 250 == 0:
                hw.need(server.get("files").status == 200, f"after {number}")
        hw.need(server.data().body == wanted, "another answer")
        hw.need(len(os.listdir(f"/proc/{server.process.pid}/fd")) < 100, "all of them are held")
        for one in (deaf, *crowd):
            one.close()
        hw.need(server.get("files").status == 200, "afterwards")


@TESTS.test
def ends(folder):
    """SIGTERM and SIGINT end it, with status 0 and all of its processes, also while it computes"""
    path = recording(folder)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with Server(path) as server:
            status, said = server.end(number)
            hw.need((status, said) == (0, ""), f"{number}: {status} {said}")
    with Server(needs_slow_command(folder)) as server:
        asked = server.socket()
        asked.sendall(f"GET /{server.token}/data?file=0&lifetimes=yes HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        hw.wait_until(lambda: children_of(server.process.pid), "nothing is computed")
        child = children_of(server.process.pid)[0]
        status, said = server.end(signal.SIGTERM)
        hw.need(status == 0, f"{status} {said}")
        hw.wait_until(lambda: not Path(f"/proc/{child}").exists(), "what it computed goes on")
        asked.close()


@TESTS.test
def wrong(folder):
    """What can't be served or listened at is said, with the exit code of its kind"""
    path = recording(folder)
    os.mkfifo(folder / "fifo")
    for words, status, said in (((folder / "nowhere.hpw",), 3, "nowhere.hpw"), ((folder / "fifo",), 3, "fifo"),
                                ((path, "--listen", "somewhere"), 2, "somewhere"), ((path, "--listen", "*:0"), 2, "whole numeric address"),
                                ((f"{path}@peak",), 2, f"give it {path}"), ((path, "--listen", "0.0.0.0:0"), 2, "--allow-remote"),
                                ((path, "--listen", "192.0.2.1:1", "--allow-remote"), 4, "192.0.2.1:1"), ((path, "--focus", "x"), 2, "--focus"),
                                (("999999999",), 3, "999999999")):
        ended = heapwise("serve", *words)
        hw.need(ended.status == status and said in ended.errors and not ended.text, f"{words}: {ended}")
    with Server(path) as server:
        taken = heapwise("serve", path, "--listen", str(server.port))
        hw.need(taken.status == 4 and "in use" in taken.errors, str(taken))
    interfaces = Path("/proc/net/if_inet6")
    if interfaces.exists() and re.search(r"^0{31}1 ", interfaces.read_text(), re.M):
        with Server(path, "--listen", "[::1]:0") as server:
            hw.need(server.host == "::1" and server.get("files").status == 200, server.url)
    with Server(path, "--listen", "0.0.0.0:0", "--allow-remote") as server:
        hw.need(server.get("files").status == 200 and server.get("files", token="x").status == 403, "a token all the same")


@TESTS.test
def opened(folder):
    """--open: root gets no browser; others get one with a URL that works once"""
    path = recording(folder)
    (folder / "bin").mkdir()
    opener = folder / "bin/xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" >"{folder}/url.new" && mv "{folder}/url.new" "{folder}/url"\n')
    opener.chmod(0o755)
    process = subprocess.Popen([hw.HEAPWISE, "serve", "--open", path], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=hw.clean_environment(PATH=f"{folder}/bin:{os.environ['PATH']}"))
    try:
        url = process.stdout.readline().strip()
        if os.geteuid() == 0:
            hw.need("for root" in process.stderr.readline(), "root gets a browser")
            return
        hw.wait_until((folder / "url").exists, "no browser was started")
        given = (folder / "url").read_text().strip()
        hw.need(given != url and given.rsplit("/", 2)[0] == url.rsplit("/", 2)[0], f"{given} {url}")
        looked = [hw.run(["python3", "-c", "import sys, urllib.request, urllib.error\ntry: print(urllib.request.urlopen(sys.argv[1]).url)\n"
                          "except urllib.error.HTTPError as wrong: print(wrong.code)", given]).text.strip() for _ in range(2)]
        hw.need(looked == [url, "403"], f"{looked}")
    finally:
        process.terminate()
        process.communicate()


TESTS.main()
