#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Past bounds of docs/limits.md: where an answer is partial text and JSON say so, and what was said by what came before
is taken back; what is refused ends with an error that says what is too much."""

import http.server
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import Recorded, ask, kernel_core, read_account  # noqa: E402

tests = hw.Tests()
PROGRAM = hw.TARGETS / "heaps/heap_bounds"


def need_partial(core, name, words):
    found = ask("core", "--json", core, "types")
    # Its widest type is past that of members of one type, too.
    hw.need(set(found.get("partial", [])) == {"type-members", name}, f"{found.get('partial')}, not {name}")
    text = hw.run([hw.HEAPWISE, "core", core, "types"]).text
    hw.need(f"Partial: {words}" in text, text)
    summary = hw.run([hw.HEAPWISE, "core", core]).text
    hw.need(f"Partial: {words}" in summary, summary)


def types_by_kind(core, folder):
    found = {int(b["address"], 16): b["type"] for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    return {kind: found[address] for address, (*_, kind) in read_account(folder / "account").items()}


@tests.test
def arrays(folder):
    """Pointers that are met when 256 others have said that a block is an array say that it is none."""
    core = kernel_core(PROGRAM, folder)
    need_partial(core, "array-places", "256 pointers to elements")
    found = types_by_kind(core, folder)
    hw.need("rec" not in found["recs and leaves"] and found["entry[]"] == "entry[]", f"{found}")


@tests.test
def pools(folder):
    """Structures in a pool that may be parts of too many others."""
    core = kernel_core(PROGRAM, folder, environment={**hw.clean_environment(), "BOUNDS_POOL": "1"})
    need_partial(core, "pool-tries", "structures in a pool may be parts")
    hw.need(types_by_kind(core, folder)["entry[]"] == "entry[]", "an array beside it")


@tests.test
def members(folder):
    """What a message says of a type with very many members is said to be not all."""
    core = kernel_core(PROGRAM, folder)
    for options in ((), ("--json",)):
        ended = hw.run([hw.HEAPWISE, "core", *options, core, "follow", "one<16>.nmber"])
        hw.need(ended.status == 3 and "did you mean one of number, another (of the first 65536 members; there are more)" in
                ended.errors, f"{ended}")


@tests.test
def refused(_):
    """Patterns that take too long, too many recordings at once, timelines that are too large."""
    recording = hw.SOURCE / "tests/data/golden/recording-rows.hpw"
    wild = r"^((([a-z0-9+./]+)+)+)+[!?]$"
    for words, said in ((("report", recording, "--focus", wild), "--focus: matching '" + wild + "' takes more than 100000 steps"),
                        (("report", recording, "--ignore", wild), "--ignore: matching '" + wild + "' takes more than 100000 steps"),
                        (("report", "--json", recording, "--focus", wild), "takes more than 100000 steps"),
                        (("peek", wild, recording), "takes more than 100000 steps"),
                        (("diff", "--trend", *[recording] * 65), "64"),
                        (("timeline", recording, "--width", "1001"), "invalid --width '1001': expected a number from 4 to 1000"),
                        (("timeline", recording, "--height", "1001"), "invalid --height '1001': expected a number from 4 to 1000"),
                        (("timeline", recording, "--depth", "201"), "invalid --depth '201': expected a number from 1 to 200"),
                        (("report", recording, "--at", "1e10h"), "1e10h")):
        ended = hw.run([hw.HEAPWISE, *words])
        hw.need(ended.status == 2 and said in ended.errors and not ended.text, f"{words}: {ended}")
    ended = hw.run([hw.HEAPWISE, "run", "--ring", "17G", "true"])
    hw.need("invalid --ring '17G': expected a size from 64K to 16G" in ended.errors, f"{ended}")


@tests.test
def redirects(_):
    """A server that leads on and on."""
    class Server(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(302)
            self.send_header("Location", self.path + "x")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ended = hw.run([hw.HEAPWISE, "report", f"http://127.0.0.1:{server.server_port}/heap"])
        server.shutdown()
    hw.need(ended.status != 0 and "edirect" in ended.errors and not ended.text, f"{ended}")


@tests.test
def recordings(folder):
    """Of a folder with very many recordings it is not said that a core's is not among them."""
    with Recorded(hw.TARGETS / "heaps/heap_small", folder, folder / "own.hpw") as pid:
        hw.run([hw.HEAPWISE, "heap", str(pid), "save", folder / "core"])
    beside = folder / "beside"
    beside.mkdir()
    (folder / "core").rename(beside / "core")
    (beside / "0.hpw").touch()

    def said():
        return hw.run([hw.HEAPWISE, "core", beside / "core"], cwd=beside).errors

    hw.need("neither next to it nor here" in said(), said())
    for i in range(1, 1001):
        (beside / f"{i}.hpw").touch()
    hw.need("not among the 1000 that were looked into" in said(), said())


tests.main(always="")
