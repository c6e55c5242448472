#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of JDK Flight Recorder: figures by stack are those of the JDK's own tool, and of files whose events are known."""

import collections
import gzip
import json
import math
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import jfr_files
import pagefile

TESTS = hw.Tests()

MAIN = ["app/Main.main:3"]
SOURCE = """
import java.util.*;
public class Mix {
	static volatile Object sink;
	static final List<byte[]> kept = new ArrayList<>();
	static final class Order { long a, b, c; String s; Order(String s) { this.s = s; } }
	static Object bytes(int i) { return new byte[50000 + i % 100]; }
	static Object order(int i) { return new Order("wö" + i); }
	static Object grid(int i) { return new int[100][200]; }
	static Object deep(int n) { return n == 0 ? new char[100000] : deep(n - 1); }
	static int rounds;
	static void loop() {
		for (int i = 0; i < rounds; i++) {
			sink = bytes(i); sink = order(i); sink = grid(i); sink = deep(90);
			if (i % 100 == 0) synchronized (kept) { kept.add(new byte[1024]); }
		}
	}
	public static void main(String[] words) throws Exception {
		rounds = Integer.parseInt(words[0]);
		Thread other = new Thread(Mix::loop, "wörker");
		other.start();
		loop();
		other.join();
	}
}
"""


def sites(file):
    """What each stack allocated and has live, "main;inner:line" → {metric: figure}."""
    exported = json.loads(hw.ask("export", file, "--format", "json"))
    found = {}
    for site in exported["sites"]:
        words = [frame["function"] + (f":{frame['line']}" if frame["line"] else "") for frame in reversed(site["stack"])]
        found[";".join(words)] = site
    return found, exported


def java_name(name):
    dimensions = len(name) - len(name.lstrip("["))
    inner = name[dimensions:]
    if dimensions:
        inner = dict(zip("ZBCDFIJS", ["boolean", "byte", "char", "double", "float", "int", "long", "short"])).get(
            inner, inner[1:-1])
    return inner.replace("/", ".") + "[]" * dimensions


def printed(file, kind, field):
    """The same figures by the JDK's own reader."""
    ended = subprocess.run([hw.need_program("jfr"), "print", "--json", "--stack-depth", "2000", "--events", kind, file],
                           capture_output=True, text=True, timeout=hw.TIMEOUT, check=True)
    sums = collections.Counter()
    events = json.loads(ended.stdout)["recording"]["events"]
    for event in events:
        values = event["values"]
        frames = values["stackTrace"]["frames"] if values["stackTrace"] else []
        words = [java_name(frame["method"]["type"]["name"]) + "." + frame["method"]["name"]
                 + (f":{frame['lineNumber']}" if frame["lineNumber"] > 0 else "") for frame in reversed(frames)]
        sums[";".join([*words, java_name(values["objectClass"]["name"])])] += int(values[field])
    return sums, len(events)


def record(folder, name, rounds, changes):
    """A recording of the JDK, of so many rounds, with its settings "profile" and changes to them."""
    settings = Path(subprocess.run(["java", "-XshowSettings:properties", "-version"], capture_output=True, text=True,
                                   check=True).stderr.split("java.home = ")[1].split("\n")[0]) / "lib/jfr/profile.jfc"
    words = settings.read_text().split("<event ")
    for kind, enabled in changes.items():
        at = next(i for i, one in enumerate(words) if f'name="{kind}"' in one)
        own = words[at].replace(' control="gc-enabled-high"', "").replace(' control="object-allocation-enabled"', "")
        words[at] = own.replace('name="enabled">' + ("false", "true")[not enabled], 'name="enabled">' + ("false", "true")[enabled])
    (folder / "x.jfc").write_text("<event ".join(words))
    (folder / "Mix.java").write_text(SOURCE)
    hw.need(hw.run(["javac", "-encoding", "UTF-8", "Mix.java"], cwd=folder).status == 0, "javac")
    ended = hw.run(["java", "-Xmx256m", f"-XX:StartFlightRecording:settings={folder}/x.jfc,filename={folder}/{name}", "Mix", str(rounds)],
                   cwd=folder)
    hw.need(ended.status == 0 and (folder / name).exists(), f"{ended}")
    return folder / name


def need_java():
    for name in ("java", "javac", "jfr"):
        hw.need_program(name)


TLAB = ("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB")


@TESTS.test
def jdk(folder):
    """Of the JDK's own recordings each stack has the bytes that `jfr print` gives it, in all chunks of a file"""
    need_java()
    sampled = record(folder, "sampled.jfr", 5000, {})
    both = record(folder, "both.jfr", 1000, dict.fromkeys(TLAB, True))
    want, count = printed(sampled, "jdk.ObjectAllocationSample", "weight")
    hw.need(count > 20 and len(want) >= 4, f"too few events for a test: {count}, {want}")
    found, exported = sites(sampled)
    hw.need({k: v["allocated_bytes"] for k, v in found.items()} == want, f"{found}\n{want}")
    hw.need(f"weights of {count:,} events" in exported["notes"][0] and exported["totals"]["allocations"] is None, f"{exported['notes']}")
    hw.need(exported["target"]["command"] == ["Mix", "5000"] and exported["totals"]["live_bytes_at_end"] is None, f"{exported['target']}")
    buffers, _ = printed(both, TLAB[0], "tlabSize")
    outside, _ = printed(both, TLAB[1], "allocationSize")
    hw.need(len(buffers) > 3, f"{buffers}")
    found, exported = sites(both)
    hw.need({k: v["allocated_bytes"] for k, v in found.items()} == buffers + outside, f"{found}")
    hw.need("which are not added" in exported["notes"][0], f"{exported['notes']}")
    # What a recorder appends, and what `jfr assemble` makes: one chunk after the other.
    joined = folder / "joined.jfr"
    joined.write_bytes(sampled.read_bytes() + both.read_bytes() + sampled.read_bytes())
    found, _ = sites(joined)
    hw.need({k: v["allocated_bytes"] for k, v in found.items()} == want + want + buffers + outside, f"{found}")


@TESTS.test
def biased(folder):
    """The JDK's samples are not taken by chance: the sum has a range, no stack has one, and no change of a stack is beyond the error"""
    for name, small in (("old.jfr", 10), ("new.jfr", 90)):
        chunk = jfr_files.Chunk()
        for i in range(100):
            chunk.sample([f"app/Main.{'small' if i < small else 'large'}:12", *MAIN], "[B", 1 << 20)
        (folder / name).write_bytes(chunk.whole())
    found, exported = sites(folder / "new.jfr")
    low, high = exported["totals"]["ranges"]["allocated_bytes"]
    hw.need(low < 100 << 20 < high, f"{exported['totals']}")
    hw.need(len(found) == 2 and not any(site.get("ranges") for site in found.values()), f"{found}")
    text = hw.ask("report", folder / "new.jfr")
    hw.need("samples were not taken by chance" in text and "contain the true values" not in text, text)
    rows = json.loads(hw.ask("diff", folder / "old.jfr", folder / "new.jfr", "--metric", "allocated_bytes", "--json"))["rows"]
    hw.need(len(rows) == 2 and all(row["allocated_bytes"]["within_error"] for row in rows), f"{rows}")


@TESTS.test
def views(folder):
    """Every view takes a recording of JFR: tree, flame graph, page, diff, pprof"""
    old, new = jfr_files.Chunk(), jfr_files.Chunk(base=900)
    old.sample(["app/Main.load:12", *MAIN], "[B", 1 << 20)
    new.sample(["app/Main.load:12", *MAIN], "[B", 3 << 20)
    (folder / "old.jfr").write_bytes(old.whole())
    (folder / "new.jfr").write_bytes(new.whole())
    text = hw.ask("tree", folder / "new.jfr")
    hw.need("app.Main.load" in text and "3.00 MiB" in text, text)
    hw.need("byte[]" in hw.ask("report", folder / "new.jfr", "--view", "functions"), "functions")
    summary = hw.ask("report", folder / "new.jfr").split("Sites by allocated_bytes\n")[1].split()
    hw.need(summary[:2] == ["3.00", "MiB"], f"{summary}")
    ended = hw.heapwise("report", "--view", "never-freed", folder / "new.jfr")
    hw.need(ended.status == 3 and b"contain no data for --view never-freed" in ended.stderr, f"{ended}")
    diff = json.loads(hw.ask("diff", folder / "old.jfr", folder / "new.jfr", "--json"))
    hw.need(diff["totals"]["allocated_bytes"]["change"] == 2 << 20, f"{diff['totals']}")
    hw.ask("flame", folder / "new.jfr", "-o", folder / "x.svg")
    hw.need("app.Main.load" in (folder / "x.svg").read_text(), "flame")
    hw.ask("html", folder / "new.jfr", "-o", folder / "x.html")
    hw.need((folder / "x.html").read_text().startswith("<!"), "html")
    hw.need(hw.heapwise("export", folder / "new.jfr", "--format", "pprof", "-o", folder / "x.pb").status == 0, "pprof")
    again, _ = sites(folder / "x.pb")
    hw.need(next(iter(again.values()))["allocated_bytes"] == 3 << 20, f"{again}")


@TESTS.test
def compared(folder):
    """Without --metric two recordings are compared by what both know: as text, JSON, page, tree and trend, with a note"""
    old, new, live = jfr_files.Chunk(), jfr_files.Chunk(base=900), jfr_files.Chunk()
    for _ in range(100):
        old.sample(["app/Main.load:12", *MAIN], "[B", 1 << 20)
        new.sample(["app/Main.load:12", *MAIN], "[B", 3 << 20)
    live.setting("alloc", "1000")
    live.live(["app/Main.kept:5", *MAIN], "[B", 50000)
    live.tlab(["app/Main.kept:5", *MAIN], "[B", 50000, 50000)
    files = {name: folder / f"{name}.jfr" for name in ("old", "new", "live")}
    for name, chunk in (("old", old), ("new", new), ("live", live)):
        files[name].write_bytes(chunk.whole())
    pair = [files["old"], files["new"]]
    note = "allocated_bytes is compared, since both files contain no live_bytes; --metric chooses another."
    text = hw.ask("diff", *pair)
    hw.need("Grown (1 allocation site, +200 MiB)" in text and "Total allocated memory grew by about 200 MiB" in text, text)
    hw.need(f"  {note}\n" in text, text)
    answer = json.loads(hw.ask("diff", *pair, "--json"))
    row = answer["rows"][0]["allocated_bytes"]
    hw.need((answer["metric"], row["change"], answer["notes"][0]) == ("allocated_bytes", 200 << 20, note), f"{answer}")
    hw.ask("diff", *pair, f"--html={folder}/x.html")
    page = pagefile.Page((folder / "x.html").read_text()).documents["diff"]
    hw.need((page["metric"], page["notes"][0], page["verdict"]) == ("allocated_bytes", note, answer["verdict"]), f"{page}")
    hw.need("Allocated, top-down by functions: +200 MiB" in hw.ask("diff", "--view", "tree", *pair), "tree")
    hw.need("allocated_bytes grows steadily: 100 MiB" in hw.ask("diff", "--trend", *pair), "trend")
    # Of one of them alone it is known what is live: nothing is new for that.
    one = hw.ask("diff", files["old"], files["live"])
    hw.need("since the older file contains no live_bytes" in one, one)
    hw.need("since the newer file contains no live_bytes" in hw.ask("diff", files["live"], files["old"]), "newer")
    asked = json.loads(hw.ask("diff", files["old"], files["live"], "--metric", "live_bytes", "--json"))
    hw.need(not asked["rows"] and "is unknown" in asked["verdict"][0], f"{asked}")
    refused = hw.heapwise("diff", "--trend", "--metric", "live_bytes", *pair)
    hw.need(refused.status == 3 and b"contain no live_bytes; use --metric allocated_bytes" in refused.stderr, f"{refused}")
    # A gate is about what was asked, or what is usual.
    gate = hw.heapwise("diff", *pair, "--fail-on-growth", "5%")
    hw.need(gate.status == 3 and b"can't decide whether live_bytes grew" in gate.stderr, f"{gate}")


@TESTS.test
def chunks(folder):
    """Keys mean something else in each chunk; constants come in several tables; strings have four encodings"""
    first, second = jfr_files.Chunk(start_ns=10**18), jfr_files.Chunk(start_ns=10**18 + 5 * 10**9)
    first.jvm("app.Main with words", 4711)
    first.note()
    first.sample(["app/Main.a:7", *MAIN], "[[J", 100)
    first.checkpoint()
    first.sample(["app/Mäin.ö:8", *MAIN], "java/lang/String", 20)
    first.sample(["水.𝄞:9", *MAIN], "[Ljava/util/Map$Entry;", 3)
    second.sample(["app/Main.b:7", *MAIN], "[C", 1000)
    second.sample(None, "[Z", 5)
    second.sample(["app/Main.cut:2"], "[C", 6, truncated=True)
    file = folder / "x.jfr"
    file.write_bytes(first.whole() + second.whole(duration_ns=2 * 10**9))
    found, exported = sites(file)
    want = {"app.Main.main:3;app.Main.a:7;long[][]": 100, "app.Main.main:3;app.Mäin.ö:8;java.lang.String": 20,
            "app.Main.main:3;水.𝄞:9;java.util.Map$Entry[]": 3, "app.Main.main:3;app.Main.b:7;char[]": 1000, "boolean[]": 5,
            "app.Main.cut:2;char[]": 6}
    hw.need({k: v["allocated_bytes"] for k, v in found.items()} == want, f"{found}")
    hw.need(exported["target"]["command"] == ["app.Main", "with", "words"] and exported["target"]["pid"] == 4711, f"{exported}")
    hw.need(exported["recording"]["duration_ns"] == 7 * 10**9, f"{exported['recording']}")
    hw.need("1 event has no stack" in exported["notes"][0] and "Stacks of 1 event lack" in exported["notes"][0], f"{exported['notes']}")
    packed = folder / "x.jfr.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    hw.need(sites(packed)[1]["totals"] == exported["totals"], "packed")


def near(figure, want):
    return abs(figure - want) <= 0.5 + want * 1e-9


@TESTS.test
def async_profiler(folder):
    """Samples of async-profiler stand for what one sample per interval says, what is live too, as of the last time"""
    chunk = jfr_files.Chunk()
    chunk.setting("alloc", "1000")
    for _ in range(3):
        chunk.tlab(["app/Main.small:4", *MAIN], "[B", 100, 1000)
    chunk.tlab(["app/Main.large:5", *MAIN], "[B", 50000, 50000)
    chunk.live(["app/Main.large:5", *MAIN], "[B", 50000)
    late = jfr_files.Chunk(base=50)
    late.setting("alloc", "1000")
    late.live(["app/Main.small:4", *MAIN], "[B", 100)
    file = folder / "x.jfr"
    file.write_bytes(chunk.whole() + late.whole())
    found, exported = sites(file)
    weight = 1 / -math.expm1(-0.1)
    small, large = found["app.Main.main:3;app.Main.small:4;byte[]"], found["app.Main.main:3;app.Main.large:5;byte[]"]
    hw.need(near(small["allocations"], 3 * weight) and near(small["allocated_bytes"], 300 * weight), f"{small}")
    hw.need(near(small["live_blocks"], weight) and near(small["live_bytes"], 100 * weight), f"{small}")
    hw.need((large["allocations"], large["allocated_bytes"], large["live_blocks"]) == (1, 50000, 0), f"{large}")
    hw.need(exported["recording"]["mode"] == "sample" and exported["recording"]["sample_bytes"] == 1000, f"{exported['recording']}")
    live = hw.ask("report", file, "--view", "sites")
    hw.need("Sites by live_bytes" in live and "Sites\n" not in live, live)
    hw.need("\nLive then\n" in hw.ask("report", file, "--view", "never-freed"), "never freed")
    hw.need("Never freed" not in hw.ask("report", file) and "never freed" not in hw.ask("report", file), "never freed")
    low, high = small["ranges"]["allocated_bytes"]
    hw.need(low < 3 * 100 * weight < high, f"{small['ranges']}")


@TESTS.test
def nativemem(folder):
    """Of malloc what was not freed is live, across chunks and whatever the order of events; without frees it is unknown"""
    first, second = jfr_files.Chunk(), jfr_files.Chunk(base=300)
    first.malloc(["libc.a", *MAIN], 0x1000, 100, time=5)
    first.free(0x1000, time=9)
    first.malloc(["libc.a", *MAIN], 0x1000, 40, time=12)
    first.malloc(["libc.b", *MAIN], 0x2000, 7, time=13)
    first.free(0x3000, time=30)
    first.malloc(["libc.b", *MAIN], 0x3000, 9, time=20)
    second.free(0x2000, time=50)
    file = folder / "x.jfr"
    file.write_bytes(first.whole() + second.whole())
    found, exported = sites(file)
    a, b = found["app.Main.main:3;libc.a"], found["app.Main.main:3;libc.b"]
    hw.need((a["kind"], a["allocations"], a["allocated_bytes"], a["live_blocks"], a["live_bytes"]) == ("malloc", 2, 140, 1, 40), f"{a}")
    hw.need((b["allocations"], b["allocated_bytes"], b["live_bytes"]) == (2, 16, 0), f"{b}")
    bare = jfr_files.Chunk()
    bare.setting("nativemem", "1000")
    bare.malloc(["libc.a", *MAIN], 0x1000, 100)
    bare.malloc(["libc.a", *MAIN], 0x2000, 5000)
    file.write_bytes(bare.whole())
    found, exported = sites(file)
    hw.need((exported["totals"]["allocations"], exported["totals"]["allocated_bytes"]) == (11, 6000), f"{exported['totals']}")
    hw.need(exported["totals"]["live_bytes_at_end"] is None and "no calls of free" in exported["notes"][0], f"{exported}")


@TESTS.test
def old_objects(folder):
    """Objects that JFR kept an eye on are shown where there is nothing else, and are never what is left of all"""
    chunk = jfr_files.Chunk(sized_old=True)
    for _ in range(3):
        chunk.old(["app/Main.leak:9", *MAIN], "app/Order", 32)
    file = folder / "x.jfr"
    file.write_bytes(chunk.whole())
    found, exported = sites(file)
    row = found["app.Main.main:3;app.Main.leak:9;app.Order"]
    hw.need((row["live_blocks"], row["live_bytes"], row["allocated_bytes"]) == (3, 96, None), f"{row}")
    hw.need("no measure of what fills the heap" in exported["notes"][0], f"{exported['notes']}")
    bare = jfr_files.Chunk()
    bare.old(MAIN, "app/Order")
    file.write_bytes(bare.whole())
    totals = sites(file)[1]["totals"]
    hw.need((totals["live_blocks_at_end"], totals["live_bytes_at_end"]) == (1, None), f"{totals}")
    bare.sample(MAIN, "[B", 10)
    file.write_bytes(bare.whole())
    totals = sites(file)[1]["totals"]
    hw.need((totals["live_blocks_at_end"], totals["allocated_bytes"]) == (None, 10), f"{totals}")


@TESTS.test
def unfinished(folder):
    """Of a file that is cut, damaged or still written the whole chunks are read, and what is missing is said"""
    one = jfr_files.Chunk()
    one.sample(MAIN, "[B", 10)
    two = jfr_files.Chunk(base=70)
    two.sample(MAIN, "[B", 200)
    file = folder / "x.jfr"
    whole, more = one.whole(), two.whole()
    file.write_bytes(whole + more[:-1])
    _, exported = sites(file)
    hw.need(exported["totals"]["allocated_bytes"] == 10 and not exported["recording"]["complete"], f"{exported}")
    hw.need(f"its last chunk, at offset {len(whole)} of" in exported["recording"]["damage"][0], f"{exported['recording']}")
    # What a JVM that runs has flushed, and what it has written since.
    file.write_bytes(whole + two.whole(state=3) + b"\x20\x01")
    _, exported = sites(file)
    hw.need(exported["totals"]["allocated_bytes"] == 210, f"{exported['totals']}")
    hw.need("still being written" in exported["recording"]["damage"][0], f"{exported['recording']}")
    # A chunk that says nonsense of itself; the next one is good.
    file.write_bytes(whole[:70] + b"\xff" * 9 + whole[79:] + more)
    _, exported = sites(file)
    hw.need(exported["totals"]["allocated_bytes"] == 200, f"{exported['totals']}")
    hw.need("the chunk at offset 0 is left out: the event at offset" in exported["recording"]["damage"][0], f"{exported}")
    file.write_bytes(whole[:-1])
    ended = hw.heapwise("report", file)
    hw.need(ended.status != 0 and b"not even its first chunk is whole" in ended.stderr and b"JFR.dump" in ended.stderr, f"{ended}")


@TESTS.test
def refusals(folder):
    """What is no recording of allocations is refused in a sentence that says how to get one"""
    chunk = jfr_files.Chunk()
    chunk.note()
    file = folder / "x.jfr"
    file.write_bytes(chunk.whole())
    ended = hw.heapwise("report", file)
    hw.need(ended.status != 0 and b"none of the 1 events" in ended.stderr and b"settings=profile" in ended.stderr, f"{ended}")
    file.write_bytes(jfr_files.Chunk().whole(version=(1, 0)))
    ended = hw.heapwise("report", file)
    hw.need(b"version 1.0 of JFR's format" in ended.stderr, f"{ended}")
    file.write_bytes(jfr_files.Chunk().whole(flags=0))
    hw.need(b"not compressed" in hw.heapwise("report", file).stderr, "flags")
    hw.need(b"is a recording of JFR, which needs no JVM" in hw.heapwise("java", file).stderr, "java FILE.jfr")
    chunk.sample(MAIN, "[B", 10)
    file.write_bytes(chunk.whole())
    ended = hw.heapwise("report", file, "--min-size", "4k")
    hw.need(ended.status != 0 and b"a recording of JFR, which does not record block sizes" in ended.stderr, f"{ended}")


@TESTS.test
def bounds(folder):
    """Types in types without end, too many types and many damaged chunks are refused or counted, not followed"""
    one = jfr_files.Chunk()
    one.sample(MAIN, "[B", 10)
    good = one.whole()
    file = folder / "x.jfr"
    deep = jfr_files.Chunk(base=40)
    deep.types["jdk.types.Range"] = [("low", "jdk.types.Range")]
    deep.constant("jdk.types.Range", "deep", b"\1" * 40)
    file.write_bytes(good + deep.whole())
    damage = sites(file)[1]["recording"]["damage"]
    hw.need("is damaged" in damage[0], f"{damage}")
    many = jfr_files.Chunk(base=40)
    many.types["app.Many"], many.ids["app.Many"] = [("x", "int")] * (1 << 20), 9999
    file.write_bytes(good + many.whole())
    damage = sites(file)[1]["recording"]["damage"]
    hw.need("more than 1048576 types and fields" in damage[0], f"{damage}")
    bad = good[:70] + b"\xff" * 9 + good[79:]
    file.write_bytes(good + bad * 20)
    damage = sites(file)[1]["recording"]["damage"]
    hw.need(len(damage) == 9 and damage[8].startswith("12 more chunks"), f"{damage}")


TESTS.main(width=2)
