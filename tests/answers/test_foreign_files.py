#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other tools: maps in pprof's short form, addresses that others look up, cells that run, pipes, limits that name
themselves, and what is no file of ours but looks like one that people give."""

import csv
import gzip
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
PROGRAM = hw.ANSWERS / "leaves_blocks"
SHORT_MAPS = """\
heap profile:      3:  3000 [     3:  3000] @ heapprofile
     1:     1000 [     1:     1000] @ 0x401234 0x7f0000001234
     2:     2000 [     2:     2000] @ 0x401334 0x7f0000101234

W1220 15:07:15.201776    8272 logger.cc:12033] --- Memory map: ---
  source=/nowhere/of/this
  00400000-00fcb000: $source/server
W1220 15:07:15.202776    8272 logger.cc:12033]   7f0000000000-7f0000002000: /nowhere/libone.so
  0x7f0000100000-0x7f0000102000 /nowhere/libtwo-2.15.so (@1000) abc123
  7fff63dfe000-7fff63e00000: [vdso]
  7fff63e00000-7fff63e01000 rw-p 00000000 00:00 0 [heap]
"""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def recorded(folder):
    recording = folder / "a.hpw"
    ended = hw.record([PROGRAM], recording)
    hw.need(ended.status == 0, f"run: {ended}")
    return recording


@TESTS.test
def packed_twice(folder):
    """A file that is packed twice is said to be, not to be of no kind that is known"""
    path = folder / "twice.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"main;keep 5000\n")))
    ended = hw.heapwise("report", path)
    hw.need(ended.status == 3 and "is compressed twice, gzip inside gzip: unpack it once" in ended.errors, f"{ended}")


@TESTS.test
def dump_cut_in_its_mappings(folder):
    """A dump that ends within its mappings says so; one that is whole does not"""
    head = "heap profile: 1: 100 [1: 100] @ heapprofile\n1: 100 [1: 100] @ 0x401100 0x7f0000001000\n\nMAPPED_LIBRARIES:\n"
    maps = ["00400000-00410000 r-xp 00000000 08:01 5 /opt/app\n", "7f0000000000-7f0000010000 r-xp 00000000 08:01 6 /opt/libx.so\n"]
    for text, words in ((head, "its list of mappings is empty"), (head + maps[0], "after its last mapping"), (head + "".join(maps), None)):
        path = folder / "cut.heap"
        path.write_text(text, encoding="ascii")
        said = hw.ask("report", path)
        hw.need(("the end of the dump" in said) == (words is not None) and (words or "") in said, said)


@TESTS.test
def program_first(folder):
    """A heaptrack file does not say which of its files is the program: a pprof profile of it has first what is no library"""
    path, profile = folder / "h.txt", folder / "h.pb.gz"
    path.write_text("v 10400 3\nX ./app\ns 10 /lib64/ld-1.so.2\ns 8 /opt/app\ni 7f190b0a3120 1\ni 5e2922001140 2\nt 1 0\nt 2 1\n"
                    "a 3e8 1\na 3e8 2\n+ 0\n+ 1\n", encoding="ascii")
    hw.ask("export", path, "--format", "pprof", "-o", profile)
    data = gzip.decompress(profile.read_bytes())
    hw.need(hw.ask("report", profile).startswith("/opt/app\n"), hw.ask("report", profile)[:100])
    hw.need(b"/opt/app" in data and b"/lib64/ld-1.so.2" in data, "a file is missing")


@TESTS.test
def temporary_of_any_thread(folder):
    """Files that do not tell threads apart do not say that the same thread freed what was temporary"""
    heaptrack, mtrace = folder / "h.txt", folder / "m.log"
    heaptrack.write_text("v 10400 3\nX ./app\ns 8 /opt/app\ns 4 work\ni 5e2922001140 1 2\nt 1 0\na 3e8 1\n+ 0\n- 0\n+ 0\n- 0\n", encoding="ascii")
    mtrace.write_text("= Start\n" + "@ ./app:[0x401156] + 0x1000 0x10\n@ ./app:[0x401178] - 0x1000\n" * 2 + "= End\n", encoding="ascii")
    for path, hint in ((heaptrack, False), (mtrace, True)):
        said = hw.ask("report", path)
        hw.need("were temporary (freed before the next allocation of any thread)" in said and "same thread" not in said, said)
        note = hw.ask("report", "--view", "temporary", path)
        hw.need("freed before the next allocation of any thread" in note and ("--temporary-within" in note) == hint, note)
    said = hw.ask("report", "--temporary-within", "2", mtrace)
    hw.need("freed within 2 allocations of any thread" in said, said)


@TESTS.test
def stacks_of_a_place(folder):
    """A place in the list of what is live stands for the stacks that have live blocks, and shows what these share"""
    path = folder / "place.heap"
    names = "--- symbol\n0x401100 keep\n0x401200 first\n0x401300 second\n---\n--- heap\n"
    path.write_text(names + "heap profile: 1: 100 [3: 300] @ heapprofile\n1: 100 [1: 100] @ 0x401100 0x401200\n"
                    "0: 0 [2: 200] @ 0x401100 0x401300\n\nMAPPED_LIBRARIES:\n00400000-00410000 r-xp 00000000 08:01 5 /opt/app\n",
                    encoding="ascii")
    top = hw.report(path)["top"]
    live = top["never_freed"][0]
    hw.need(live["merged_stacks"] == 1 and not live["partial"] and [frame["function"] for frame in live["stack"]] == ["keep", "first"], f"{live}")
    hw.need(live["live_bytes"] == 100 and sum(row["merged_stacks"] for row in top["calls"]) == 2, f"{top}")


@TESTS.test
def short_maps(folder):
    """A memory map in pprof's short form gives modules, their offsets and the program"""
    path = folder / "short.heap"
    path.write_text(SHORT_MAPS)
    report = hw.report(path)
    text = hw.ask("report", path)
    hw.need(text.startswith("/nowhere/of/this/server\n"), text[:200])
    modules = sorted({frame["module"] for site in report["sites"] for frame in site["stack"]})
    wanted = ["/nowhere/libone.so", "/nowhere/libtwo-2.15.so", "/nowhere/of/this/server"]
    hw.need(modules == wanted, f"{modules}")
    hw.need("libtwo-2.15.so+0x2233" in text and "libone.so+0x1233" in text, f"offsets: {text}")


@TESTS.test
def dumps_for_others(folder):
    """go tool pprof and google-pprof find the functions of a gperftools dump of ours, and the program is the first mapping"""
    recording, dump = recorded(folder), folder / "a.heap"
    hw.ask("export", "--format", "gperftools", "-o", dump, recording)
    maps = dump.read_text().partition("MAPPED_LIBRARIES:\n")[2].splitlines()
    hw.need(maps[0].endswith(str(PROGRAM.resolve())), f"first mapping: {maps[0]}")
    segments = hw.run([hw.need_program("readelf"), "-lW", PROGRAM]).text
    offset = int(re.search(r"LOAD +(0x\w+) .* R E ", segments)[1], 16)
    hw.need(int(maps[0].split()[2], 16) == offset, f"offset of {maps[0]}, expected {offset:x}")
    environment = hw.clean_environment(HOME=folder, PPROF_TMPDIR=folder)
    go = hw.run([hw.need_program("go"), "tool", "pprof", "-top", "-unit=B", dump], env=environment)
    hw.need(re.search(r"^ *3000B +100% .* make_kept", go.text, re.M), f"go tool pprof: {go}\n{go.text}")
    perl = hw.run([hw.need_program("google-pprof"), "--text", "--show_bytes", PROGRAM, dump], env=environment)
    hw.need(re.search(r"^ *3000 +100.0% .* make_kept", perl.text, re.M), f"google-pprof: {perl}\n{perl.text}")


@TESTS.test
def cells(folder):
    """No cell of a CSV runs in a spreadsheet, and no export has control characters; figures below 0 stay numbers"""
    path = folder / "evil.folded"
    path.write_bytes("main;=cmd|calc;a\033[31mred\007;+x\x7f;\x9b31m;-y 100\n@sum;=1+2 5\n-1;\tq 7\n".encode())
    rows = list(csv.reader(hw.ask("export", "--format", "csv", path).splitlines()))
    texts = [cell for row in rows[1:] for cell in row if not cell.lstrip("-").isdigit()]
    hw.need(not [cell for cell in texts if cell[:1] in ("=", "+", "-", "@", "\t", "\r")], f"{texts}")
    hw.need("'=1+2" in texts and "'-y" in texts, f"{texts}")
    dump = folder / "evil.heap"
    dump.write_bytes("--- symbol\n0x10 a\033[31mred\007\n0x20 +x\x7f\x9b31m\n---\nheap profile: 1: 9 [1: 9] @ heapprofile\n"
                     "1: 9 [1: 9] @ 0x11 0x21\n\nMAPPED_LIBRARIES:\n".encode())
    for source in (path, dump):
        for name in ("csv", "folded", "json", "speedscope", "firefox", "callgrind", "massif", "dhat", "jemalloc", "gperftools"):
            if source == path and name in ("jemalloc", "gperftools"):
                continue  # folded stacks have no counts, which those need
            found = CONTROL.search(hw.ask("export", "--format", name, source).replace("\r\n", "\n"))
            hw.need(not found, f"{source} {name}: {found}")


@TESTS.test
def limits(folder):
    """A folded file beyond a limit is told which, and one within is read"""
    path = folder / "a.folded"
    for text, wanted in ((";".join(f"f{i}" for i in range(60000)) + " 5\n", "more than 4096 frames"),
                         ("main;" + "x" * 2000000 + " 5\n", "longer than 1048576 bytes")):
        path.write_text(text)
        ended = hw.heapwise("report", path)
        hw.need(ended.status == 3 and wanted in ended.errors, f"{ended}")
    path.write_text("main;" + "x" * 400000 + " 5\nmain 2\n")
    hw.need(hw.report(path)["totals"]["live_bytes_at_end"] == 7, "a name of 400,000 bytes")


@TESTS.test
def hints(folder):
    """Logs that are text for people are recognised, with what to do instead"""
    for text, wanted in (("==12== Memcheck, a memory error detector\n==12== HEAP SUMMARY:\n", "--xml=yes"),
                         ("==12== LEAK SUMMARY:\n", "--xml=yes"),
                         ("=====\n==12==ERROR: AddressSanitizer: heap-use-after-free\n", "run --leak-check"),
                         ("=====\n==12==ERROR: LeakSanitizer: detected memory leaks\n", "run --leak-check"),
                         ("==12== Massif, a heap profiler\n", "massif.out"),
                         ("==12== DHAT, a dynamic heap analysis tool\n", "dhat.out"),
                         ("--- heapz 1 ---\nformat = java\n", "go tool pprof"),
                         ("\n" * 5000, "only white space"), ("x\n" * 3000, "unrecognised file format"),
                         (b"BZh91AY", "bzip2 -d"), (b"\x04\x22\x4d\x18", "lz4 -d"), (b"PK\x03\x04", "unzip"),
                         ("main;f 5\n".encode("utf-16"), "iconv")):
        path = folder / "log"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        ended = hw.heapwise("report", path)
        hw.need(ended.status == 3 and wanted in ended.errors, f"{text!r}: {ended}")


def texts(folder):
    """A file of each format that is text, of one program."""
    recording = recorded(folder)
    for form in ("folded", "jemalloc", "gperftools", "mtrace", "massif", "dhat"):
        path = folder / f"a.{form}"
        hw.ask("export", "--format", form, "-o", path, recording)
        yield path
    packed = folder / "a.zst"
    hw.ask("export", "--format", "heaptrack", "-o", packed, recording)
    path = folder / "a.heaptrack"
    path.write_bytes(hw.run([hw.need_program("zstd"), "-qdc", packed]).stdout)
    yield path
    path = folder / "a.xml"
    path.write_text("""<?xml version="1.0"?>
<valgrindoutput><protocolversion>4</protocolversion><protocoltool>memcheck</protocoltool>
<args><vargv><exe>v</exe></vargv><argv><exe>./t</exe></argv></args>
<error><unique>0x0</unique><tid>1</tid><kind>Leak_DefinitelyLost</kind>
<xwhat><text>x</text><leakedbytes>10</leakedbytes><leakedblocks>1</leakedblocks></xwhat>
<stack><frame><ip>0x1</ip><fn>f</fn></frame></stack></error>
<status><state>FINISHED</state><time>00:00:00:00.8</time></status>
</valgrindoutput>
""")
    yield path


@TESTS.test
def other_systems(folder):
    """Lines that end with CR LF, and a byte order mark before them, change no figure and no name"""
    for path in texts(folder):
        plain = path.read_bytes()
        wanted = hw.report(path)
        for what, data in (("CR LF", plain.replace(b"\n", b"\r\n")), ("a mark", b"\xef\xbb\xbf" + plain)):
            path.write_bytes(data)
            found = hw.report(path)
            for key in ("totals", "sites", "target"):
                hw.need(found[key] == wanted[key], f"{path.name} with {what}: {key}: {found[key]}, expected {wanted[key]}")
            hw.need(found["recording"]["damage"] == wanted["recording"]["damage"], f"{path.name}: {found['recording']['damage']}")


@TESTS.test
def leaks_of_a_difference(folder):
    """A difference of two profiles says nothing of leaks, even where nothing in it is above 0"""
    def field(number, value):
        data = bytes([value]) if isinstance(value, int) else bytes([len(value)]) + value
        return bytes([number << 3 | (0 if isinstance(value, int) else 2)]) + data
    below = b"\xec" + b"\xff" * 8 + b"\x01"
    strings = b"".join(field(6, name) for name in (b"", b"inuse_space", b"bytes", b"f"))
    path = folder / "a.pb"
    path.write_bytes(field(1, field(1, 1) + field(2, 2)) + field(2, field(1, 1) + b"\x10" + below) +
                     field(4, field(1, 1) + field(4, field(1, 1))) + field(5, field(1, 1) + field(2, 3)) + strings)
    hw.need("shrank by 20 B" in hw.ask("report", path), "that it is a difference")
    ended = hw.heapwise("leaks", "--error-exitcode", "7", path)
    hw.need(ended.status == 3 and not ended.text, f"{ended}")


def memcheck(*parts):
    def leak(number, total, size):
        return (f"<error><unique>0x{number}</unique><tid>1</tid><kind>Leak_DefinitelyLost</kind><xwhat><text>{size} bytes in 1 blocks "
                f"are definitely lost in loss record {number} of {total}</text><leakedbytes>{size}</leakedbytes>"
                f"<leakedblocks>1</leakedblocks></xwhat><stack><frame><ip>0x{size}</ip><fn>f</fn></frame></stack></error>\n")
    head = """<?xml version="1.0"?>
<valgrindoutput><protocolversion>4</protocolversion><protocoltool>memcheck</protocoltool>
<args><vargv><exe>/usr/bin/valgrind</exe><arg>--show-leak-kinds=all</arg></vargv><argv><exe>./t</exe></argv></args>
"""
    ended = "<status><state>FINISHED</state><time>00:00:00:00.8</time></status>\n"
    return head + "".join(leak(*part) if isinstance(part, tuple) else ended if part == "ended" else part for part in parts)


@TESTS.test
def gates_of_memcheck(folder):
    """No gate passes on memcheck's XML that is cut off or has a second process in it; of several searches the last one counts"""
    end, path = "</valgrindoutput>\n", folder / "a.xml"
    clean = memcheck("ended", end)
    for what, text, leaks, live in (
            ("nothing lost", clean, 0, 0),
            ("cut behind the program's end", memcheck("ended"), 3, 3),
            ("another process behind it", clean + memcheck("ended", (1, 1, 10), end), 3, 3),
            ("lost", memcheck("ended", (1, 1, 10), end), 7, 0),
            ("searched twice", memcheck((1, 1, 10), "ended", (1, 1, 10), end), 7, 0),
            ("freed since the program searched", memcheck((1, 1, 10), "ended", end), 0, 0)):
        path.write_text(text)
        hw.need(hw.heapwise("leaks", "--error-exitcode=7", path).status == leaks, f"{what}: leaks")
        budget = hw.heapwise("budget", "--max-leak", "10", "--max-never-freed", "10", path)
        hw.need(budget.status == live, f"{what}: {budget}")


@TESTS.test
def memcheck_of_killed(folder):
    """Of a program that a signal killed memcheck's definite leaks are judged, and what was reachable then is not"""
    path = folder / "a.xml"
    signal, end = "<fatal_signal><tid>1</tid><signo>11</signo></fatal_signal>\n", "</valgrindoutput>\n"
    for kind, words, decided in (("DefinitelyLost", "definitely lost", 1), ("StillReachable", "still reachable", 3)):
        for killed in (False, True):
            text = memcheck(*[signal] * killed, "ended", (1, 1, 10), end)
            path.write_text(text.replace("DefinitelyLost", kind).replace("definitely lost", words))
            budget = hw.heapwise("budget", "--max-leak", "0", "--fail-on", "all", path)
            hw.need(budget.status == (decided if killed else 1), f"{kind}, killed: {killed}: {budget}")


@TESTS.test
def pipes(folder):
    """Standard input, pipes and <(…) are read like files, by commands that look twice too"""
    recording = recorded(folder)
    data = recording.read_bytes()
    wanted = hw.ask("export", "--format", "csv", recording)
    for name in ("-", "/dev/stdin", "/proc/self/fd/0"):
        ended = hw.heapwise("export", "--format", "csv", name, stdin=data)
        hw.need(ended.status == 0 and ended.text == wanted, f"{name}: {ended}")
    for words in (["report", "-"], ["leaks", "-"], ["tree", "-"], ["timeline", "-"], ["diff", recording, "-"],
                  ["export", "--format", "heaptrack1", "-"], ["list", "make_kept", "-"]):
        ended = hw.heapwise(*words, stdin=data)
        hw.need(ended.status in (0, 1) and ended.text, f"{words}: {ended}")
    shell = f"{hw.HEAPWISE} report --json <(cat {recording}) && {hw.HEAPWISE} export --format csv <(cat {recording})"
    ended = hw.run(["bash", "-c", shell])
    hw.need(ended.status == 0 and ended.text.endswith(wanted), f"<(…): {ended}")
    bundle = folder / "b.tar.gz"
    hw.ask("bundle", "-o", bundle, recording)
    ended = hw.heapwise("export", "--format", "csv", "-", stdin=bundle.read_bytes())
    hw.need(ended.status == 0 and ended.text == wanted, f"a bundle: {ended}")
    ended = hw.heapwise("report", "-", stdin=b"")
    hw.need(ended.status == 3 and "empty" in ended.errors, f"nothing: {ended}")


@TESTS.test
def nothing_there(folder):
    """peek of what isn't there, or has nothing of the figure, says so and fails"""
    recording = recorded(folder)
    for words, wanted in ((["peek", "make_keptt"], "make_kept"), (["list", "make_keptt"], "make_kept"),
                          (["peek", "make_freed", "--metric", "live_bytes"], "--metric")):
        ended = hw.heapwise(*words, recording)
        hw.need(ended.status == 1 and not ended.text and wanted in ended.errors, f"{words}: {ended}")
    hw.need("make_freed" in hw.ask("peek", "make_freed", recording, "--metric", "allocated_bytes"), "it has allocations")


@TESTS.test
def many_added_up(folder):
    """--merge adds up 150 recordings"""
    recording = recorded(folder)
    one, report = hw.report(recording), None
    for count in (65, 150):
        report = hw.report(recording, "--merge", *[recording] * (count - 1))
        for name in ("allocations", "live_blocks_at_end", "live_bytes_at_end"):
            hw.need(report["totals"][name] == count * one["totals"][name], f"{name} of {count}")


TESTS.main(always="")
