#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise maps: memory by mappings, at one look, over several, and of saved looks; the truth is known to the page."""

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
PAGE = 4096
REGIONS = hw.TARGETS / "mapped_regions"
# The kernel numbers system calls by machine; elsewhere a test can't see that the command waits for its next look.
SIGTIMEDWAIT = {"x86_64": "128", "aarch64": "137"}.get(os.uname().machine)


class Target:
    """mapped_regions, which is told to grow."""

    def __init__(self, process):
        self.process = process
        self.pid = int(self.line().split()[1])

    def line(self):
        line = self.process.stdout.readline().decode()
        hw.need(line, "the target has ended")
        return line

    def tell(self, word, pages=0):
        """Returns an address."""
        self.process.stdin.write(f"{word} {pages}\n".encode())
        self.process.stdin.flush()
        found = self.line().split()
        hw.need(found[0] == word, f"{found} to {word}")
        return int(found[1], 16)


@contextlib.contextmanager
def target(*arguments, **more):
    with subprocess.Popen([REGIONS, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=hw.clean_environment(), **more) as process:
        try:
            told = Target(process)
            # Each way of growing once, so that what it needs besides is there.
            for word in ("heap", "arena", "stack", "region", "shared"):
                told.tell(word, 1)
            yield told
        finally:
            process.kill()


def look(pid, *options):
    return json.loads(hw.ask("maps", "--json", str(pid), *options))


def saved(folder, name, pid, *options):
    path = folder / name
    path.write_text(hw.ask("maps", str(pid), *options))
    return path


def compared(old, new):
    return json.loads(hw.ask("maps", "--json", old, new))


def at(document, address):
    """The row of an address."""
    found = [row for row in document["mappings"] if int(row["start"], 16) <= address < int(row["end"], 16) and not row["gone"]]
    hw.need(len(found) == 1, f"{address:#x} is in {found}")
    return found[0]


def grown(document):
    return {int(row["start"], 16): row["growth_bytes"] // PAGE for row in document["mappings"] if row["growth_bytes"]}


@contextlib.contextmanager
def watching(pid, *options):
    """The command in a series, once it has taken its first look."""
    process = subprocess.Popen([hw.HEAPWISE, "maps", str(pid), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=hw.clean_environment(), start_new_session=True)

    def waits():
        hw.need(process.poll() is None, f"it ended: {process.returncode}")
        with contextlib.suppress(OSError):
            return Path(f"/proc/{process.pid}/syscall").read_text().split()[0] == SIGTIMEDWAIT
        return False

    try:
        if SIGTIMEDWAIT is None:
            raise hw.Skip("the number of a system call is not known on this machine")
        hw.wait_until(waits, "it does not look")
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def interrupted(process):
    """What it shows after ^C."""
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=hw.TIMEOUT)
    hw.need(process.returncode == 0, f"status {process.returncode}: {errors}")
    return output.decode()


@TESTS.test
def kinds(folder):
    """Each kind of memory grows by the pages that were touched, and by no other; its owner is known"""
    with target("file") as told:
        growth = (("arena", 300, "heap"), ("stack", 5, "thread stack"), ("region", 7, "anonymous"),
                  ("shared", 11, "shared"), ("file", 13, "file"))
        old = saved(folder, "old.json", told.pid, "--json")
        where = {word: told.tell(word, pages) for word, pages, _ in growth}
        new = saved(folder, "new.json", told.pid, "--json")
        found = compared(old, new)
        for word, pages, owner in growth:
            row = at(found, where[word])
            hw.need(row["owner"] == owner, f"{word}: {row}")
            # Blocks have headers, and the arena its own page.
            most = pages + (8 if word == "arena" else 1 if word == "stack" else 0)
            hw.need(pages <= row["growth_bytes"] // PAGE <= most, f"{word} by {pages} pages: {row}")
            hw.need(row["growth_bytes_per_second"] is None and row["shape"] == "uneven", f"a rate of two looks: {row}")
        hw.need(at(found, where["arena"])["whose"].startswith("arena at 0x"), "the arena has no name")
        hw.need(at(found, where["stack"])["whose"].startswith("thread "), "the thread has no name")
        hw.need(len(grown(found)) == len(growth), f"others grew too: {grown(found)}")


@TESTS.test
def heap_and_block(folder):
    """The program break and blocks of malloc with mappings of their own are told apart"""
    with target() as told:
        old = saved(folder, "old.json", told.pid, "--json")
        heap, block = told.tell("heap", 200), told.tell("block", 100)
        found = compared(old, saved(folder, "new.json", told.pid, "--json"))
    hw.need(at(found, heap)["owner"] == "heap" and 200 <= at(found, heap)["growth_bytes"] // PAGE <= 206, f"{at(found, heap)}")
    row = at(found, block)
    hw.need(row["owner"] == "malloc block" and row["growth_bytes"] // PAGE in (100, 101), f"{row}")


@TESTS.test
def as_pmap(folder):
    """The sums are those of pmap -x, of heapwise by smaps and of heapwise by page tables"""
    pmap = hw.need_program("pmap")
    with target("file") as told:
        told.tell("region", 50)
        lines = hw.run([pmap, "-x", str(told.pid)]).text.splitlines()
        total = lines[-1].split()
        found = look(told.pid)
        hw.need(sum(row["rss_bytes"] for row in found["mappings"]) == int(total[3]) * 1024, f"{total}: {found['processes']}")
        hw.need(sum(row["size_bytes"] for row in found["mappings"]) == int(total[2]) * 1024, f"{total}")
        hw.need(sum(row["dirty_bytes"] for row in found["mappings"]) == int(total[4]) * 1024, f"{total}")
        scanned = hw.heapwise("maps", "--json", str(told.pid), "--source=scan", "--every=10ms", "--for=30ms")
        if "PAGEMAP_SCAN" in scanned.errors:
            raise hw.Skip("this kernel has no PAGEMAP_SCAN")
        by_scan = json.loads(scanned.text)
        hw.need(by_scan["processes"][0]["source"] == "PAGEMAP_SCAN", f"{by_scan['processes']}")
        hw.need({row["start"]: row["rss_bytes"] for row in by_scan["mappings"]} == {row["start"]: row["rss_bytes"] for row in found["mappings"]},
                "page tables and smaps differ")


@TESTS.test
def forms(folder):
    """Text, JSON, CSV, smaps and pmap -x of the same two looks give the same growth"""
    pmap = hw.need_program("pmap")
    with target() as told:
        paths = {}
        for name in ("old", "new"):
            paths[name] = [
                saved(folder, f"{name}.txt", told.pid), saved(folder, f"{name}.json", told.pid, "--json"),
                folder / f"{name}.smaps", folder / f"{name}.pmap"]
            paths[name][2].write_bytes(Path(f"/proc/{told.pid}/smaps").read_bytes())
            paths[name][3].write_text(hw.run([pmap, "-x", str(told.pid)]).text)
            if name == "old":
                where = told.tell("region", 9)
                told.tell("shared", 4)
                told.tell("stack", 6)
        truths = [grown(compared(old, new)) for old, new in zip(paths["old"], paths["new"])]
        hw.need(truths[0] and all(truth == truths[0] for truth in truths), f"{truths}")
        for old, new in zip(paths["old"], paths["new"]):
            text = hw.ask("maps", old, new)
            hw.need("could not be understood" not in text, f"{old}: {text}")
        mixed = compared(paths["old"][3], paths["new"][1])
        hw.need(at(mixed, where)["growth_bytes"] == 9 * PAGE, f"of two forms: {at(mixed, where)}")
        hw.need(grown(mixed) == truths[0], f"of two forms: {grown(mixed)}")
        rows = list(csv.DictReader(io.StringIO(hw.ask("maps", "--csv", paths["new"][1]))))
        hw.need(len(rows) == len(look(told.pid)["mappings"]), f"{len(rows)} rows of CSV")
        kinds_of = [[(row["start"], row["end"], row["owner"], row["name"]) for row in json.loads(hw.ask("maps", "--json", path))["mappings"]]
                    for path in paths["new"][:2]]
        hw.need(kinds_of[0] == kinds_of[1], f"text and JSON: {set(kinds_of[0]) ^ set(kinds_of[1])}")


@TESTS.test
def split(folder):
    """A mapping that is split by mprotect, joined again, cut by munmap and moved by mremap is one"""
    with target() as told:
        told.tell("region", 20)
        told.tell("movable", 4)
        with watching(told.pid, "--json", "--every=20ms") as process:
            told.tell("split", 5)
            found = json.loads(interrupted(process))
        row = at(found, told.tell("join", 5))
        hw.need(row["growth_bytes"] == 0 and row["mappings"] == 3, f"{row}")
        hw.need(not grown(found), f"a split is growth: {grown(found)}")
        with watching(told.pid, "--json", "--every=20ms") as process:
            told.tell("drop", 0)
            address = told.tell("move", 30)
            found = json.loads(interrupted(process))
        row = at(found, address)
        hw.need(row["moved"] and row["growth_bytes"] == 0, f"{row}")
        # Of files pages of code come that were not needed before.
        hw.need(sum(row["growth_bytes"] for row in found["mappings"] if row["owner"] != "file") == -PAGE, f"{grown(found)}")


@TESTS.test
def steady(folder):
    """Steady growth has its rate, and no other mapping one; a step has none"""
    with target() as told:
        with watching(told.pid, "--json", "--every=50ms") as process:
            address = told.tell("steady", 500)
            told.tell("region", 100)
            for _ in range(3):
                hw.wait_until(lambda count=int(Path(f"/proc/{process.pid}/status").read_text().split("voluntary_ctxt_switches:")[1].split()[0]):
                              int(Path(f"/proc/{process.pid}/status").read_text().split("voluntary_ctxt_switches:")[1].split()[0]) > count + 8,
                              "it does not look")
            end = told.tell("stop")
            found = json.loads(interrupted(process))
        row = at(found, address)
        hw.need(row["growth_bytes"] == end - address, f"{end - address}: {row}")
        step = at(found, told.tell("region", 0))
        hw.need(step["growth_bytes"] == 100 * PAGE and step["shape"] in ("once", "uneven") and step["growth_bytes_per_second"] is None, f"{step}")
        looks = row["looks"]
        hw.need(looks == sorted(looks) and looks[-1] - looks[0] == end - address, f"{looks}")
        # A machine that stands still between looks has no line: then no rate is said.
        if row["shape"] == "steady":
            hw.need(row["growth_low"] <= row["growth_bytes_per_second"] <= row["growth_high"], f"{row}")
            hw.need(abs(row["growth_bytes_per_second"] / (500 * PAGE) - 1) < 0.25, f"{row}")
        rates = [row for row in found["mappings"] if row["growth_bytes_per_second"] is not None]
        hw.need(len(rates) == (row["shape"] == "steady"), f"{rates}")
        return f"{row['shape']}, {len(looks)} looks"


@TESTS.test
def explained(folder):
    """--explain shows the strings of new pages, and a command that looks inside, which works"""
    program = "import sys\nkept = []\nfor line in sys.stdin:\n    kept += ['known-record-%07d' % i for i in range(20000)]\n    print(flush=True)\n"
    with subprocess.Popen([hw.need_program("python3"), "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=hw.clean_environment()) as process:
        try:
            process.stdin.write(b"\n")
            process.stdin.flush()
            process.stdout.readline()
            with watching(process.pid, "--json", "--explain", "--every=20ms") as command:
                for _ in range(3):
                    process.stdin.write(b"\n")
                    process.stdin.flush()
                    process.stdout.readline()
                found = json.loads(interrupted(command))
            if found["processes"][0]["source"] != "PAGEMAP_SCAN":
                raise hw.Skip("this kernel has no PAGEMAP_SCAN")
            explained = [row["new_pages"] for row in found["mappings"] if "new_pages" in row]
            texts = [string["text"] for pages in explained for string in pages["strings"][:3]]
            hw.need(any(text.startswith("known-record-#") for text in texts), f"{texts}")
            hw.need(all(pages["read_bytes"] == pages["bytes"] and not pages["unread"] for pages in explained), f"{explained}")
            # Every command that is given works, and each kind finds something: not in each mapping, a list has no strings.
            commands = [row["command"].split()[1:] for row in found["mappings"] if row["command"] and row["growth_bytes"] > 0]
            hw.need(commands, "no command is given")
            finds = {command[2]: "" for command in commands}
            for command in commands:
                ended = hw.heapwise(*command, "--limit", "5")
                hw.need(ended.status == 0, f"{command}: {ended}")
                finds[command[2]] += ended.text
            hw.need(all(finds.values()), f"{commands}: {finds}")
        finally:
            process.kill()


@TESTS.test
def first_thread(folder):
    """A process whose first thread has ended while others go on is looked at by one of these"""
    source, program = folder / "first.c", folder / "first"
    source.write_text("""#include <pthread.h>
#include <stdio.h>
static void *wait_for_end(void *none) { getchar(); return none; }
int main(void) { pthread_t thread; pthread_create(&thread, NULL, wait_for_end, NULL); pthread_exit(NULL); }
""")
    built = hw.run([hw.need_program("gcc"), "-pthread", "-o", program, source])
    hw.need(built.status == 0, str(built))
    with subprocess.Popen([program], stdin=subprocess.PIPE) as process:
        try:
            hw.wait_until(lambda: ") Z " in Path(f"/proc/{process.pid}/stat").read_text(), "its first thread has ended")
            for options in ((), ("--every", "10ms", "--for", "50ms", "--explain", "--changed")):
                shown = hw.heapwise("maps", "--json", *options, str(process.pid))
                hw.need(shown.status == 0, str(shown))
                names = [row["name"] for row in json.loads(shown.text)["mappings"]]
                hw.need(any(name and name.endswith("/first") for name in names) and "[heap]" in names, f"{names}")
        finally:
            process.stdin.close()


@TESTS.test
def ended(folder):
    """A process that ends, or executes another program, leaves what was seen; so does ^C"""
    with target() as told:
        with watching(told.pid, "--every=10ms", "--for=1h") as process:
            told.process.kill()
            output, errors = process.communicate(timeout=hw.TIMEOUT)
            hw.need(process.returncode == 0 and b"ended between" in output and b"RSS" in output, f"{output} {errors}")
    with subprocess.Popen(["/bin/sh", "-c", "read line; exec sleep 100"], stdin=subprocess.PIPE) as other:
        try:
            with watching(other.pid, "--every=10ms", "--for=1h") as process:
                other.stdin.write(b"\n")
                other.stdin.flush()
                output, errors = process.communicate(timeout=hw.TIMEOUT)
                hw.need(process.returncode == 0 and b"executed another program" in output, f"{output} {errors}")
        finally:
            other.kill()


@TESTS.test
def several(folder):
    """Several processes are looked at together; a file has one"""
    with target() as one, target() as two:
        with watching(one.pid, str(two.pid), "--json", "--every=10ms") as process:
            address = two.tell("region", 3)
            document = json.loads(interrupted(process))
        hw.need([row["pid"] for row in document["processes"]] == [one.pid, two.pid], f"{document['processes']}")
        rows = [row for row in document["mappings"] if row["growth_bytes"]]
        hw.need([(row["pid"], row["growth_bytes"]) for row in rows] == [(two.pid, 3 * PAGE)], f"{rows}")
        hw.need(int(rows[0]["start"], 16) <= address < int(rows[0]["end"], 16), f"{rows}")
        for name, options in (("both.json", ["--json"]), ("both.txt", [])):
            both = folder / name
            both.write_text(hw.ask("maps", *options, str(one.pid), str(two.pid)))
            wrong = hw.heapwise("maps", both)
            hw.need(wrong.status == 3 and "process" in wrong.errors, f"{wrong}")


@TESTS.test
def refused(folder):
    """What can't be looked at is said with a reason; what is not known is not 0"""
    hw.need(hw.heapwise("maps").status == 2, "no operand")
    hw.need(hw.heapwise("maps", "1", folder).status == 2, "a PID and a file")
    for options in (["--every=0s"], ["--every=fast"], ["--for=-1s"], ["--source=x"], ["--every=2s", "--for=1s"], ["--limit=0"]):
        hw.need(hw.heapwise("maps", "1", *options).status == 2, f"{options}")
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    zombie = hw.heapwise("maps", str(child))
    os.waitpid(child, 0)
    hw.need(zombie.status in (3, 4) and "has ended" in zombie.errors, f"{zombie}")
    gone = hw.heapwise("maps", str(child))
    hw.need(gone.status == 3 and "there is no process" in gone.errors, f"{gone}")
    maps = folder / "maps"
    maps.write_bytes(Path("/proc/self/maps").read_bytes())
    found = json.loads(hw.ask("maps", "--json", maps))
    hw.need(all(row["rss_bytes"] is None for row in found["mappings"]), "maps have no resident bytes")
    hw.need("not known" in hw.ask("maps", maps), "the text does not say so")


@TESTS.test
def damaged(folder):
    """Damaged and foreign files are refused or read in part, which is said"""
    smaps = Path("/proc/self/smaps").read_bytes()
    path = folder / "x"
    for name, data in (("empty", b""), ("foreign", b"hello\nworld\n"), ("NUL", b"\0" * 100), ("JSON", b"{\"a\": 1}"), ("cut JSON", b"{\"a\": "),
                       ("other schema", b"{\"schema\": \"heapwise.heap/1\", \"mappings\": []}")):
        path.write_bytes(data)
        ended = hw.heapwise("maps", path)
        hw.need(ended.status == 3 and str(path) in ended.errors, f"{name}: {ended}")
    path.write_bytes(smaps[: len(smaps) // 2])
    hw.need(hw.heapwise("maps", path).status == 0, "a cut file")
    lines = smaps.split(b"\n")
    path.write_bytes(b"\n".join(lines[:30] + [b"zzzz-qqqq what", b"\xff\xfe"] + lines[30:]))
    ended = hw.heapwise("maps", path)
    hw.need(ended.status == 0 and "could not be understood" in ended.text, f"{ended}")
    absent = hw.heapwise("maps", folder / "absent")
    hw.need(absent.status == 3, f"{absent}")


@TESTS.test
def of_others(folder):
    """Another user's process is refused with what to do"""
    if os.getuid():
        raise hw.Skip("it needs two users")
    public = folder / "heapwise"
    public.write_bytes(hw.HEAPWISE.read_bytes())
    public.chmod(0o755)
    folder.chmod(0o755)
    ended = hw.run([public, "maps", str(os.getpid())], user=65534, group=65534)
    hw.need(ended.status == 4 and "CAP_SYS_PTRACE" in ended.errors, f"{ended}")


@TESTS.test
def many(folder):
    """10,000 mappings are followed, each by itself"""
    with target("file", "10000") as told:
        with watching(told.pid, "--json", "--every=100ms") as process:
            address = told.tell("region", 17)
            told.tell("shared", 3)
            found = json.loads(interrupted(process))
        hw.need(found["processes"][0]["mappings"] > 19000, f"{found['processes']}")
        hw.need(at(found, address)["growth_bytes"] == 17 * PAGE and len(grown(found)) == 2, f"{grown(found)}")


@TESTS.test
def changed(folder):
    """--changed counts the pages whose contents differ, neither new ones nor those that were written to and are as before"""
    with target() as told:
        address = told.tell("region", 40)
        with watching(told.pid, "--changed", "--json", "--every=100ms") as process:
            told.tell("rewrite", 9)
            told.tell("region", 5)
            found = json.loads(interrupted(process))
        row = at(found, address)
        # One page of the region was there from the start.
        hw.need(row["compared_bytes"] == 41 * PAGE and row["changed_bytes"] == 9 * PAGE, f"{row}")
        sums = found["processes"][0]
        hw.need(sums["uncompared"] is None and sums["changed_bytes"] >= 9 * PAGE, f"{sums}")
        hw.need(sums["changed_bytes"] == sum(other["changed_bytes"] for other in found["mappings"]), f"the sum of the mappings is another: {sums}")
        told.tell("repeat", 9)
        with watching(told.pid, "--changed", "--every=100ms") as process:
            told.tell("repeat", 9)
            text = interrupted(process)
        hw.need(f"{address:x}" not in text, f"pages that are as before are changed ones: {text}")
        with watching(told.pid, "--changed", "--every=100ms") as process:
            told.tell("rewrite", 9)
            text = interrupted(process)
        (line,) = [line for line in text.splitlines() if line.startswith(f"{address:012x}")]
        hw.need(" CHANGED " in text and line.split()[5] == "36" and "in pages whose contents changed" in text, text)


@TESTS.test
def changed_unknown(folder):
    """What --changed can't compare is not known: without page tables, and of a process that has ended"""
    with target() as told:
        told.tell("region", 4)
        found = look(told.pid, "--changed", "--source=smaps", "--every=10ms", "--for=30ms")
        sums = found["processes"][0]
        hw.need(sums["changed_bytes"] is None and "PAGEMAP_SCAN" in sums["uncompared"], f"{sums}")
        hw.need(all(row["changed_bytes"] is None for row in found["mappings"]), "a mapping knows what its process does not")
        with watching(told.pid, "--changed", "--json", "--every=10ms") as process:
            told.process.kill()
            output, _ = process.communicate(timeout=hw.TIMEOUT)
        sums = json.loads(output)["processes"][0]
        hw.need(sums["changed_bytes"] is None and "ended" in sums["uncompared"], f"{sums}")


@TESTS.test
def nodes(folder):
    """--numa shows resident memory by NUMA nodes, of mappings and of the process over time"""
    if not Path("/proc/self/numa_maps").exists():
        raise hw.Skip("this kernel knows no NUMA nodes")
    with target() as told:
        with watching(told.pid, "--numa", "--json", "--every=100ms") as process:
            address = told.tell("region", 50)
            found = json.loads(interrupted(process))
        row = at(found, address)
        hw.need(sum(node["bytes"] for node in row["nodes"]) == row["rss_bytes"] == 51 * PAGE, f"{row}")
        rows = [kind for kind in found["kinds"] if kind["kind"] == "node"]
        hw.need(rows and sum(kind["growth_bytes"] for kind in rows) == 50 * PAGE, f"{rows}")
        hw.need("node 0: " in hw.ask("maps", "--numa", str(told.pid)), "text has no nodes")


@TESTS.test
def huge(folder):
    """Huge pages have a column, and their growth a row, by page tables and by smaps"""
    if "never" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text().split("[")[1].split("]")[0]:
        raise hw.Skip("this machine gives no huge pages")
    with target() as told:
        for source in ("scan", "smaps"):
            with watching(told.pid, "--json", f"--source={source}", "--every=100ms") as process:
                address = told.tell("huge", 3)
                found = json.loads(interrupted(process))
            row = at(found, address)
            if row["huge_bytes"] == 0 and "AnonHugePages:         0 kB" in Path(f"/proc/{told.pid}/smaps_rollup").read_text():
                raise hw.Skip("the kernel had no huge pages left")
            (kind,) = [kind for kind in found["kinds"] if kind["kind"] == "huge pages"]
            hw.need(row["huge_bytes"] == 3 << 21 and kind["growth_bytes"] == 3 << 21, f"{source}: {row} {kind}")
        text = saved(folder, "huge.txt", told.pid)
        hw.need(" HUGE " in text.read_text(), "text has no column of huge pages")
        again = json.loads(hw.ask("maps", "--json", text))
        hw.need(at(again, address)["huge_bytes"] == 3 << 21, "the column is not read again")


if __name__ == "__main__":
    TESTS.main()
