#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other tools that are streams of events, written by the tools themselves: figures are those of their own
reports."""

import collections
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import ask

TESTS = hw.Tests()
JSON_TEXT = json.dumps([{"name": f"n{i}", "values": list(range(i % 7))} for i in range(300)])
XML_TEXT = "<a>" + "".join(f"<b c='{i}'>t{i}</b>" for i in range(500)) + "</a>"
HEAPTRACK_COSTS = {"allocations": "allocations", "leaked": "live_bytes", "peak": "peak_bytes", "temporary": "temporary"}


def workloads(folder):
    """(name, arguments): targets in C and C++, and two programs of the distribution."""
    (folder / "in.json").write_text(JSON_TEXT)
    (folder / "in.xml").write_text(XML_TEXT)
    return [("realloc", [hw.TARGETS / "realloc_moved-O0"]), ("threads", [hw.TARGETS / "threads_small-O2"]),
            ("containers", [hw.TARGETS / "containers-O2"]),
            ("jq", [hw.need_program("jq"), "map(.values|add)", folder / "in.json"]),
            ("xmllint", [hw.need_program("xmllint"), "--xpath", "//b[@c>100]", folder / "in.xml"])]


def heaptrack(folder, name, arguments):
    path = folder / name
    ended = hw.run([hw.need_program("heaptrack"), "-o", path, *arguments])
    files = [f for f in folder.glob(f"{name}.*") if f.suffix in (".zst", ".gz")]
    hw.need(len(files) == 1, f"heaptrack made {files}: {ended}")
    return files[0]


def heaptrack_print(path, *options):
    ended = hw.run([hw.need_program("heaptrack_print"), "-f", path, "--disable-builtin-suppressions",
                    "--disable-embedded-suppressions", *options])
    hw.need(ended.status == 0, f"heaptrack_print: {ended}")
    return ended.text


def unpacked(path):
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode(errors="replace")
    return subprocess.run(["zstd", "-dc", path], check=True, stdout=subprocess.PIPE).stdout.decode(errors="replace")


def count_events(path):
    """What the file's events say, counted apart from both readers: (peak, live, temporary, temporary as
    heaptrack_print counts: it takes what follows a free for allocation 0)."""
    sizes, live, peak, last, theirs, temporary, theirs_temporary = [], 0, 0, None, 0, 0, 0
    for line in unpacked(path).splitlines():
        words = line.split(" ")
        if words[0] == "a":
            sizes.append(int(words[1], 16))
        elif words[0] == "+":
            last = theirs = int(words[1], 16)
            live += sizes[last]
            peak = max(peak, live)
        elif words[0] == "-":
            index = int(words[1], 16)
            temporary += index == last
            theirs_temporary += index == theirs
            last, theirs = None, 0
            live -= sizes[index]
    return peak, live, temporary, theirs_temporary


def their_stacks(folder, path, cost):
    """Stack, outermost first → figure, as heaptrack_print writes it for flame graphs."""
    out = folder / "folded"
    heaptrack_print(path, "-F", out, "--flamegraph-cost-type", cost)
    stacks = collections.Counter()
    for line in out.read_text().splitlines():
        stack, value = line.rsplit(" ", 1)
        frames = [plain(re.sub(r" \([^()]*\)$", "", frame)) for frame in stack.rstrip(";").split(";")]
        stacks[tuple(frames)] += int(value)
    return +stacks


def plain(frame):
    """A name without its arguments; an address as what it returns to."""
    address = re.fullmatch(r"(?:.*\+)?0x([0-9a-f]+)(?: in .*)?", frame)
    if address:
        return int(address[1], 16) + ("+0x" in frame)
    return frame


def our_stacks(path, metric, *options):
    stacks = collections.Counter()
    for line in ask("export", "--format", "folded", *options, "--metric", metric, path).splitlines():
        stack, value = line.rsplit(" ", 1)
        frames = [plain(frame) for frame in stack.split(";")]
        if "main" in frames:  # where theirs begin
            frames = frames[frames.index("main"):]
        stacks[tuple(frames)] += int(value)
    return +stacks


def unordered(stacks):
    ret = collections.Counter()
    for stack, value in stacks.items():
        ret[tuple(sorted(map(str, stack)))] += value
    return ret


def printed(text, what):
    """'772.96K' of heaptrack_print → bytes, and how far off it may be."""
    number, unit = re.search(rf"{what}: ([\d.]+)([KMGB]?)", text).groups()
    scale = {"": 1, "B": 1, "K": 1e3, "M": 1e6, "G": 1e9}[unit]
    return float(number) * scale, scale * 0.006 if scale > 1 else 0


def need_like_heaptrack(folder, name, path):
    totals = hw.report(path)["totals"]
    text = heaptrack_print(path)
    peak, live, temporary, theirs_temporary = count_events(path)
    hw.need(totals["allocations"] == int(re.search(r"calls to allocation functions: (\d+)", text)[1]), f"{name}: {text}")
    hw.need((totals["peak_bytes"], totals["live_bytes_at_end"], totals["temporary"]) == (peak, live, temporary),
            f"{name}: {totals}, the file's events {peak, live, temporary}")
    hw.need(theirs_temporary == int(re.search(r"temporary memory allocations: (\d+)", text)[1]), f"{name}: {text}")
    for what, ours in (("peak heap memory consumption", peak), ("total memory leaked", live)):
        value, slack = printed(text, what)
        hw.need(abs(value - ours) <= slack, f"{name}: {what} {value}, ours {ours}")


@TESTS.test
def heaptrack_totals(folder):
    """allocations, peak, leaked and temporary of heaptrack's files are heaptrack_print's"""
    for name, arguments in workloads(folder):
        path = heaptrack(folder, name, arguments)
        need_like_heaptrack(folder, name, path)
        found = hw.report(path)["recording"]
        hw.need(found["source"] == "heaptrack" and found["complete"], f"{found}")


@TESTS.test
def heaptrack_stacks(folder):
    """each stack has heaptrack_print's figure, in all of its four costs"""
    for name, arguments in workloads(folder):
        path = heaptrack(folder, name, arguments)
        for cost, metric in HEAPTRACK_COSTS.items():
            theirs, ours = their_stacks(folder, path, cost), our_stacks(path, metric, "--all-frames")
            if cost == "temporary":  # theirs counts what follows a free for allocation 0 as well
                theirs = collections.Counter({k: min(v, ours[k]) for k, v in theirs.items() if ours[k]})
            hw.need((ours or cost != "allocations") and sorted(theirs.values()) == sorted(ours.values()), f"{name} {cost}: {len(theirs)}, {len(ours)}")
            if name != "containers":  # names of C++ are shortened by it
                # Inlined functions stand the wrong way round in its flame graphs.
                theirs, ours = unordered(theirs), unordered(ours)
                hw.need(theirs == ours, f"{name} {cost}: theirs {list((theirs - ours).items())[:3]}, "
                                        f"ours {list((ours - theirs).items())[:3]}")


@TESTS.test
def heaptrack_moments(folder):
    """a moment of heaptrack's file: at its peak the stacks live then; timelines; raw data is refused"""
    name, arguments = workloads(folder)[3]
    path = heaptrack(folder, name, arguments)
    whole, at_peak = hw.report(path)["totals"], hw.report(path, "--at", "peak")["totals"]
    hw.need(at_peak["live_bytes_at_end"] == whole["peak_bytes"], f"{whole} {at_peak}")
    hw.need("Peak" in ask("timeline", path) or "snapshot" in ask("timeline", path), "no timeline")
    sized = hw.report(path, "--min-size", "1000")["totals"]
    hw.need(0 < sized["allocations"] < whole["allocations"], f"{sized}")
    ended = hw.run([hw.HEAPWISE, "report", "--view", "threads", path])
    hw.need(ended.status == 3, f"{ended}")
    hw.run([hw.need_program("heaptrack"), "-r", "-o", folder / "raw", *arguments])
    raw = next(folder.glob("raw.*"))
    ended = hw.run([hw.HEAPWISE, "report", raw])
    hw.need(ended.status == 3 and "heaptrack_interpret" in ended.errors, f"{ended}")


@TESTS.test
def heaptrack_cut(folder):
    """a heaptrack file that is cut opens as far as it goes, or is refused"""
    name, arguments = workloads(folder)[3]
    path = heaptrack(folder, name, arguments)
    text = unpacked(path).encode()
    cut = folder / "cut"
    cut.write_bytes(text[:len(text) * 2 // 3].rsplit(b"\n", 1)[0] + b"\n+")
    found = hw.report(cut)["recording"]
    hw.need(not found["complete"] and "cut" in found["damage"][0], f"{found}")
    cut.write_bytes(path.read_bytes()[:path.stat().st_size // 2])
    ended = hw.run([hw.HEAPWISE, "report", cut])
    hw.need(ended.status == 3 and "offset" in ended.errors, f"{ended}")


def mtrace_log(folder, name, arguments):
    log = folder / f"{name}.mtrace"
    ended = hw.run(arguments, env=hw.clean_environment(
        LD_PRELOAD=f"libc_malloc_debug.so.0:{hw.TARGETS / 'libmtrace.so'}", MALLOC_TRACE=log))
    hw.need(log.exists() and ended.status == 0, f"no log: {ended}")
    return log


def mtrace_script(log, *program):
    """(Counter of sizes that were not freed, lines that complain)."""
    text = hw.run([hw.need_program("mtrace"), *program, log]).text
    left = collections.Counter(int(size, 16) for size in re.findall(r"^0x[0-9a-f]{16}\s+(0x[0-9a-f]+|0)\s", text, re.M))
    return left, re.findall(r"^[-+] 0x.*$", text, re.M), text


@TESTS.test
def mtrace(folder):
    """what mtrace's script finds was never freed, we find, by size, caller and line"""
    for name, arguments in workloads(folder):
        log = mtrace_log(folder, name, arguments)
        # What a program writes last may stay in its buffer.
        whole = log.read_bytes().endswith(b"\n")
        if not whole:
            hw.need(not hw.report(log)["recording"]["complete"], f"{name}: a cut line is not told")
            log.write_bytes(log.read_bytes().rpartition(b"\n")[0] + b"\n")
        left, complaints, text = mtrace_script(log)
        found = hw.report(log)
        totals = found["totals"]
        hw.need(totals["live_blocks_at_end"] == sum(left.values()), f"{name}: {totals} {left}")
        hw.need(totals["live_bytes_at_end"] == sum(k * v for k, v in left.items()), f"{name}: {totals} {left}")
        unknown = [line for line in complaints if "never alloc'd" in line]
        hw.need(found["recording"]["unknown_frees"] == len(unknown), f"{name}: {found['recording']} {complaints}")
        lines = log.read_text().splitlines()
        calls = sum(bool(re.search(r"\] [+>] 0x", line)) for line in lines)
        hw.need(totals["allocations"] == calls, f"{name}: {totals}, {calls} calls")
        hw.need(found["recording"]["source"] == "mtrace" and found["recording"]["complete"], f"{found['recording']}")


@TESTS.test
def mtrace_callers(folder):
    """callers have functions and lines of the files that the log names"""
    log = mtrace_log(folder, "realloc", [hw.TARGETS / "realloc_moved-O0"])
    functions = {spot["name"] for spot in hw.report(log, "--view", "functions", "--all-frames")["spots"]}
    hw.need(any(name.startswith("site_") for name in functions), f"{functions}")
    reallocs = ask("report", log, "--view", "realloc")
    hw.need("site_" in reallocs, reallocs)


@TESTS.test
def same_program(folder):
    """one program under heapwise, heaptrack and mtrace: the same allocations, peak and bytes never freed"""
    arguments = [hw.TARGETS / "peak_middle-O0"]
    recorded = folder / "own.hpw"
    hw.need(hw.record(arguments, recorded).status == 0, "not recorded")
    ours = hw.report(recorded)["totals"]
    # Both see a block of libstdc++'s own that is not the program's; heaptrack brings it.
    theirs = hw.report(heaptrack(folder, "ht", arguments))["totals"]
    logged = hw.report(mtrace_log(folder, "mt", arguments))["totals"]
    for other, slack in ((theirs, 80000), (logged, 8192)):
        hw.need(abs(other["allocations"] - ours["allocations"]) <= 3, f"{ours} {other}")
        hw.need(abs(other["peak_bytes"] - ours["peak_bytes"]) <= slack, f"{ours} {other}")


def recorded(folder, name, arguments, *options):
    path = folder / f"{name}.hpw"
    hw.record(arguments, path, options=("-q", *options))
    hw.need(path.exists(), f"{name}: nothing was recorded")
    return path


def totals_of(path, *options):
    totals = hw.report(path, *options)["totals"]
    return {name: totals[name] for name in (
        "allocations", "allocated_bytes", "frees", "peak_bytes", "peak_blocks", "live_bytes_at_end", "live_blocks_at_end")}


def less_unknown(path, totals):
    """What is written has no frees of blocks that nobody saw allocated."""
    return totals | {"frees": totals["frees"] - hw.report(path)["recording"]["unknown_frees"]}


@TESTS.test
def heaptrack_written(folder):
    """heaptrack_print reads what is exported: totals and stacks are the recording's, in each version"""
    for name, arguments in workloads(folder):
        path = recorded(folder, name, arguments)
        for number, suffix in (("", "zst"), ("2", "zst"), ("1", "gz")):
            written = folder / f"{name}{number}.{suffix}"
            ask("export", "--format", f"heaptrack{number}", "-o", written, path)
            need_like_heaptrack(folder, name, written)
            ours = less_unknown(path, totals_of(path))
            hw.need(totals_of(written) == ours, f"{name}{number}: {totals_of(written)}, the recording {ours}")
        for cost, metric in list(HEAPTRACK_COSTS.items())[:3]:
            theirs, ours = their_stacks(folder, folder / f"{name}.zst", cost), our_stacks(path, metric)
            hw.need(sorted(theirs.values()) == sorted(ours.values()), f"{name} {cost}: {len(theirs)}, {len(ours)}")
            if name not in ("containers", "jq", "xmllint"):  # all of their frames have names, which it leaves as they are
                hw.need(unordered(theirs) == unordered(ours), f"{name} {cost}: theirs {list((theirs - ours).items())[:3]}, "
                                                              f"ours {list((ours - theirs).items())[:3]}")


@TESTS.test
def heaptrack_again(folder):
    """heaptrack's own file, read and written again, is the same to heaptrack_print"""
    name, arguments = workloads(folder)[3]
    path = heaptrack(folder, name, arguments)
    written = folder / "again.zst"
    ask("export", "--format", "heaptrack", "-o", written, path)
    hw.need(totals_of(written) == totals_of(path), f"{totals_of(written)} {totals_of(path)}")
    for cost in list(HEAPTRACK_COSTS)[:3]:
        hw.need(their_stacks(folder, written, cost) == their_stacks(folder, path, cost), cost)


@TESTS.test
def mtrace_written(folder):
    """the script mtrace reads what is exported: the same blocks were never freed; all totals come back"""
    for name, arguments in workloads(folder):
        path, log = recorded(folder, name, arguments), folder / f"{name}.log"
        ask("export", "--format", "mtrace", "-o", log, path)
        left, complaints, text = mtrace_script(log)
        ours = totals_of(path)
        hw.need(not complaints, f"{name}: {complaints[:3]}")
        hw.need((sum(left.values()), sum(k * v for k, v in left.items())) ==
                (ours["live_blocks_at_end"], ours["live_bytes_at_end"]), f"{name}: {ours} {left}")
        hw.need(totals_of(log) == less_unknown(path, ours), f"{name}: {totals_of(log)} {ours}")
    whole, again = (hw.report(folder / f"realloc.{suffix}")["totals"] for suffix in ("hpw", "log"))
    hw.need(again["temporary"] == whole["temporary"], f"{again} {whole}")


@TESTS.test
def failed_calls(folder):
    """calls that failed, and reallocs, go through a log of mtrace"""
    path, log = recorded(folder, "r", [hw.TARGETS / "realloc-O0"]), folder / "r.log"
    ask("export", "--format", "mtrace", "-o", log, path)
    whole, again = (hw.report(file)["totals"] for file in (path, log))
    hw.need(whole["failed"] == again["failed"] > 0, f"{whole} {again}")
    reallocs = [sum(site["calls"] for site in hw.report(file, "--view", "realloc")["reallocs"]) for file in (path, log)]
    hw.need(reallocs[0] == reallocs[1] > 0, f"{reallocs}")


@TESTS.test
def moment_written(folder):
    """--to ends what is written"""
    path = recorded(folder, "own", [hw.TARGETS / "peak_middle-O0"])
    ask("export", "--format", "heaptrack", "--to", "peak", "-o", folder / "part.zst", path)
    part, whole = totals_of(folder / "part.zst"), totals_of(path)
    hw.need(part["live_bytes_at_end"] == whole["peak_bytes"] == part["peak_bytes"], f"{part} {whole}")


@TESTS.test
def refused(folder):
    """sources without events are refused with the reason; so are choices that events don't take"""
    program = [hw.TARGETS / "peak_middle-O0"]
    path = recorded(folder, "own", program)
    ask("export", "--format", "pprof", "-o", folder / "own.pb.gz", path)
    for file, reason in ((recorded(folder, "aggregate", program, "--mode", "aggregate"), "contains only sums"),
                         (recorded(folder, "sampled", program, "--mode", "sample:64"), "is a sample"),
                         (folder / "own.pb.gz", "no events")):
        for form in ("heaptrack", "mtrace"):
            ended = hw.run([hw.HEAPWISE, "export", "--format", form, "-o", folder / "out", file])
            hw.need(ended.status == 3 and reason in ended.errors, f"{file} {form}: {ended}")
    for options in (("--from", "peak"), ("--focus", "main"), ("--min-size", "10")):
        ended = hw.run([hw.HEAPWISE, "export", "--format", "heaptrack", *options, path])
        hw.need(ended.status == 2, f"{options}: {ended}")


TESTS.main(width=2)
