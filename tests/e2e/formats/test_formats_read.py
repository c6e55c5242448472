#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of other tools, written by the tools themselves: their figures are those of their own reports."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
# Live blocks at the end, from several functions; and a program of the distribution.
TARGET = hw.TARGETS / "live_static-O0"
JSON_TEXT = json.dumps([{"name": f"n{i}", "values": list(range(i % 7))} for i in range(300)])


def need_library(name):
    if not (LIBRARIES / name).exists():
        raise hw.Skip(f"{name} is not installed")
    return LIBRARIES / name


def workloads(folder):
    """(name, arguments): a small target, jq on some JSON, xmllint on some XML."""
    (folder / "in.json").write_text(JSON_TEXT)
    (folder / "in.xml").write_text("<a>" + "".join(f"<b n='{i}'>text</b>" for i in range(200)) + "</a>")
    return [("target", [TARGET]),
            ("jq", [hw.need_program("jq"), "map(.values|add)", folder / "in.json"]),
            ("xmllint", [hw.need_program("xmllint"), "--noout", folder / "in.xml"])]


def functions(file, *metrics):
    """Totals, and of each metric function → (flat, cum), as we read the file."""
    order = "allocated_bytes" if "allocated_bytes" in metrics else metrics[0]
    found = hw.report(file, "--view", "functions", "--sort", order)
    tables = {metric: {} for metric in metrics}
    for spot in found["spots"]:
        for metric, by_name in tables.items():
            flat, cum = by_name.get(spot["name"], (0, 0))
            by_name[spot["name"]] = (flat + spot["flat"][metric], cum + spot["cum"][metric])
    return found["totals"], tables


def pprof_text(tool, program, dump, *options):
    """Total and function → (flat, cum), as jeprof and google-pprof print them."""
    ended = hw.run([hw.need_program(tool), "--text", "--show_bytes", *options, program, dump])
    total = re.search(r"^Total: (\d+)( B| objects)$", ended.text, re.M)
    hw.need(ended.status == 0 and (total or not ended.text), f"{tool}: {ended} {ended.text}")
    if not total:
        return 0, {}
    rows = {}
    for line in ended.text.splitlines():
        row = re.match(r"\s*(\d+)\s+[\d.]+%\s+[\d.]+%\s+(\d+)\s+[\d.]+% (.*)", line)
        if row:
            rows[row[3].split("@@")[0]] = (int(row[1]), int(row[2]))
    return int(total[1]), rows


def need_same(ours, theirs, slack, what):
    """Of each function that both name (libc's have several names) flat and cum agree."""
    both = [name for name in ours if name in theirs]
    hw.need(len(both) >= min(len(theirs), 3), f"{what}: only {both} of {list(theirs)[:20]}")
    for name in both:
        for mine, other in zip(ours[name], theirs[name]):
            hw.need(abs(mine - other) <= slack, f"{what}: {name}: {ours[name]}, there {theirs[name]}")
    return len(both)


def compare_dump(tool, program, dump, metrics, slack):
    """The target in all metrics; of other programs, of which theirs reads the symbols anew each time, in the first."""
    metrics = metrics if program == TARGET else metrics[:1]
    totals, tables = functions(dump, *(metric for metric, _, _ in metrics))
    for metric, total_name, option in metrics:
        total, theirs = pprof_text(tool, program, dump, option)
        hw.need(abs(totals[total_name] - total) <= slack, f"{metric}: {totals[total_name]}, {tool}: {total}")
        # Where a program has few symbols, theirs gives an address to whatever symbol is before it.
        if program == TARGET:
            need_same(tables[metric], theirs, slack, f"{Path(program).name}, {metric}")


@TESTS.test
def jemalloc(folder):
    """jemalloc's dumps have the totals and functions that jeprof finds in them"""
    library = need_library("libjemalloc.so.2")
    for name, arguments in workloads(folder):
        options = f"prof:true,prof_final:true,prof_accum:true,lg_prof_sample:8,prof_prefix:{folder}/{name}"
        ended = hw.run(arguments, env=hw.clean_environment(LD_PRELOAD=library, MALLOC_CONF=options))
        dumps = list(folder.glob(f"{name}.*.heap"))
        if not dumps:
            raise hw.Skip(f"this jemalloc cannot profile: {ended}")
        # jeprof adds up what it scaled, we round each stack's share.
        stacks = dumps[0].read_text(errors="replace").count("\n@ ")
        compare_dump("jeprof", arguments[0], dumps[0], (
            ("live_bytes", "live_bytes_at_end", "--inuse_space"),
            ("allocated_bytes", "allocated_bytes", "--alloc_space"),
            ("allocations", "allocations", "--alloc_objects"),
        ), slack=1 + stacks / 2)
        found = hw.report(dumps[0])["recording"]
        hw.need(found["source"] == "jemalloc" and found["mode"] == "sample" and found["complete"], f"{found}")


@TESTS.test
def changed(folder):
    """A program that was built again after the dump was written is told"""
    library = need_library("libjemalloc.so.2")
    program = folder / "program"
    program.write_bytes(TARGET.read_bytes())
    program.chmod(0o755)
    options = f"prof:true,prof_final:true,lg_prof_sample:8,prof_prefix:{folder}/x"
    hw.run([program], env=hw.clean_environment(LD_PRELOAD=library, MALLOC_CONF=options))
    dumps = list(folder.glob("x.*.heap"))
    if not dumps:
        raise hw.Skip("this jemalloc cannot profile")
    hw.need(not hw.report(dumps[0])["recording"]["damage"], "damage before")
    program.write_bytes(TARGET.read_bytes())
    damage = hw.report(dumps[0], "--view", "functions")["recording"]["damage"]
    hw.need(len(damage) == 1 and f"{program} was changed after" in damage[0], f"{damage}")


@TESTS.test
def gperftools(folder):
    """gperftools' heap profiles have the totals and functions that google-pprof finds in them"""
    library = need_library("libtcmalloc.so.4")
    for name, arguments in workloads(folder):
        ended = hw.run(arguments, env=hw.clean_environment(LD_PRELOAD=library, HEAPPROFILE=folder / name))
        dumps = sorted(folder.glob(f"{name}.*.heap"))
        hw.need(dumps, f"no dump: {ended}")
        compare_dump("google-pprof", arguments[0], dumps[-1], (
            ("live_bytes", "live_bytes_at_end", "--inuse_space"),
            ("allocated_bytes", "allocated_bytes", "--alloc_space"),
        ), slack=0)
        # The same as a sample: what the tool's reader scales, ours does.
        text = dumps[-1].read_text().replace("@ heapprofile", "@ heap_v2/512", 1)
        (folder / "sampled").write_text(text)
        compare_dump("google-pprof", arguments[0], folder / "sampled", (
            ("live_bytes", "live_bytes_at_end", "--inuse_space"),), slack=text.count("@ 0x"))


def massif_table(text):
    """Rows of numbers and nodes of trees, as ms_print and timelines show them."""
    rows = re.findall(r"^ *(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$", text, re.M)
    # Where Valgrind's unwinder ran off the stack, it has addresses like 0x2, which are none.
    nodes = re.findall(r"->(\d+\.\d+% \([\d,]+B\) 0x[0-9A-F]{2}.*)", text)
    return rows, nodes


@TESTS.test
def massif(folder):
    """A timeline of a file of Massif has the rows and trees of ms_print, in each unit of time"""
    valgrind, printer = hw.need_program("valgrind"), hw.need_program("ms_print")
    for (name, arguments), units in zip(workloads(folder), (("i", "ms", "B"), ("i",), ("B",))):
        for unit in units:
            file = folder / f"{name}-{unit}"
            hw.run([valgrind, "--tool=massif", f"--massif-out-file={file}", f"--time-unit={unit}",
                    "--detailed-freq=4", "--stacks=" + ("yes" if unit == "B" else "no"), *arguments])
            theirs = hw.run([printer, file]).text
            ours = hw.run([hw.HEAPWISE, "timeline", file]).text
            their_rows, their_nodes = massif_table(theirs)
            our_rows, our_nodes = massif_table(ours)
            hw.need(their_rows and our_rows == their_rows, f"{file.name}: {set(our_rows) ^ set(their_rows)}")
            # Of trees of nothing the file has only the root.
            hw.need(their_nodes and sorted(our_nodes) == sorted(their_nodes),
                    f"{file.name}: {sorted(set(our_nodes) ^ set(their_nodes))[:6]}")
            hw.need(f"time({unit})" in ours, f"{file.name}: no time({unit})")
            # The snapshot that Massif calls the peak is the last one before memory was given back, not always the largest.
            peak = max(int(size) for size in re.findall(r"^mem_heap_B=(\d+)$", file.read_text(), re.M))
            totals = hw.report(file)["totals"]
            hw.need(totals["peak_bytes"] == peak, f"{file.name}: peak {totals}, {peak}")
    graph = ours.split("\n\n")[1:]
    hw.need("#" in ours and "B\n" in ours and graph, "no graph")


def dhat_sums(profile, keys):
    """Function → sums over all stacks that have it, once each, as dh_view adds them up."""
    names = [re.sub(r"^0x[0-9A-F]+: | \((in )?[^()]*\)$", "", frame) for frame in profile["ftbl"]]
    sums = {}
    for point in profile["pps"]:
        for name in {names[frame] for frame in point["fs"]}:
            found = sums.setdefault(name.split("(")[0], dict.fromkeys(keys, 0))
            for key in keys:
                found[key] += point[key]
    return sums


@TESTS.test
def dhat(folder):
    """DHAT's profiles have DHAT's own totals, and the sums of each function that its viewer shows"""
    valgrind = hw.need_program("valgrind")
    for name, arguments in workloads(folder):
        file = folder / name
        ended = hw.run([valgrind, "--tool=dhat", f"--dhat-out-file={file}", *arguments])
        said = re.findall(r"== (Total|At t-gmax|At t-end): +([\d,]+) bytes in ([\d,]+) blocks", ended.errors)
        numbers = [int(number.replace(",", "")) for row in said for number in row[1:]]
        totals = hw.report(file)["totals"]
        ours = [totals[key] for key in ("allocated_bytes", "allocations", "peak_bytes", "peak_blocks",
                                        "live_bytes_at_end", "live_blocks_at_end")]
        hw.need(ours == numbers, f"{name}: {ours}, DHAT: {numbers}")
        metrics = {"tb": "allocated_bytes", "tbk": "allocations", "gb": "peak_bytes", "gbk": "peak_blocks",
                   "eb": "live_bytes", "ebk": "live_blocks"}
        theirs = dhat_sums(json.loads(file.read_text()), metrics)
        tables = functions(file, *metrics.values())[1]
        ours = {key: tables[metric] for key, metric in metrics.items()}
        names = [other for other in theirs if other in ours["tb"] and other not in ("???", "malloc", "calloc", "realloc")]
        hw.need(len(names) >= 3, f"{name}: only {names}")
        for function in names:
            found = {key: ours[key][function][1] for key in metrics}
            hw.need(found == theirs[function], f"{function}: {found}, there {theirs[function]}")
    for mode in ("copy", "ad-hoc"):
        hw.run([valgrind, "--tool=dhat", f"--mode={mode}", f"--dhat-out-file={folder}/{mode}", TARGET])
        ended = hw.run([hw.HEAPWISE, "report", folder / mode])
        hw.need(ended.status == 3 and f"mode {mode}" in ended.errors, f"{mode}: {ended}")


MEMCHECK_KINDS = {"definitely lost": "definite", "indirectly lost": "indirect", "possibly lost": "possible",
                  "still reachable": "reachable"}


def memcheck(folder, program, *options):
    """A file of XML of a run, and what memcheck itself says: its summary of leaks, kinds of errors → how many."""
    valgrind = hw.need_program("valgrind")
    file = folder / "checked.xml"
    common = [valgrind, "--leak-check=full", "--show-leak-kinds=all", *options]
    hw.run([*common, "--xml=yes", f"--xml-file={file}", *program])
    said = hw.run([*common, *program]).errors
    summary = {}
    for words, kind in MEMCHECK_KINDS.items():
        found = re.search(rf"{words}: ([\d,]+) bytes in ([\d,]+) blocks", said)
        summary[kind] = tuple(int(n.replace(",", "")) for n in found.groups()) if found else (0, 0)
    return file, summary, said


@TESTS.test
def valgrind_leaks(folder):
    """Leaks in XML of memcheck have the sums and kinds of its own summary"""
    targets = hw.TARGETS / "leaks"
    for name in ("trees-O2", "list_single-O2", "interior_only-O2", "cycles-O2"):
        if not (targets / name).exists():
            raise hw.Skip(f"{name} is not built")
        file, summary, _ = memcheck(folder, [targets / name])
        ended = hw.run([hw.HEAPWISE, "leaks", "--json", file])
        kinds = json.loads(ended.text)["leaks"]["summary"]
        ours = {kind: (kinds[kind]["bytes"], kinds[kind]["blocks"]) for kind in summary}
        hw.need(ours == summary, f"{name}: {ours}, memcheck: {summary}")


@TESTS.test
def valgrind_leaks_of_libraries(folder):
    """What we would suppress by ourselves, and memcheck did not, is in the sums of its file as in its own"""
    source = folder / "thread.c"
    source.write_text("""#include <pthread.h>
        #include <unistd.h>
        static void *run(void *arg) { pause(); return arg; }
        int main(void) { pthread_t thread; pthread_create(&thread, 0, run, 0); _exit(0); }""")
    built = hw.run([hw.need_program("gcc"), "-g", source, "-o", folder / "thread", "-lpthread"])
    hw.need(built.status == 0, str(built))
    file, summary, _ = memcheck(folder, [folder / "thread"])
    kinds = json.loads(hw.run([hw.HEAPWISE, "leaks", "--json", file]).text)["leaks"]["summary"]
    ours = {kind: (kinds[kind]["bytes"], kinds[kind]["blocks"]) for kind in summary}
    hw.need(ours == summary and summary["possible"][1] == 1, f"{ours}, memcheck: {summary}")


@TESTS.test
def valgrind_errors(folder):
    """Other errors in XML of memcheck are counted as it counts them; a file that was cut off says so"""
    source = folder / "wrong.c"
    source.write_text("""#include <stdlib.h>
        static int *volatile kept;
        int main(void) {
            int *p = malloc(40), sum = 0;
            for (int i = 0; i < 5; i++) p[10] = i;
            free(p);
            for (int i = 0; i < 3; i++) sum += p[i];
            kept = malloc(8);
            if (*kept) sum++;
            free(p);
            return sum == 12345;
        }""")
    built = hw.run([hw.need_program("gcc"), "-g", "-O0", "-w", source, "-o", folder / "wrong"])
    hw.need(built.status == 0, str(built))
    file, _, said = memcheck(folder, [folder / "wrong"])
    counts = re.search(r"ERROR SUMMARY: (\d+) errors from (\d+) contexts", said)
    found = hw.report(file, "--view", "errors")
    leaks = len(re.findall("<kind>Leak_Def", file.read_text()))
    ours = found["error_count"] + leaks, found["errors_total"] + leaks
    hw.need(ours == tuple(map(int, counts.groups())), f"{ours}, memcheck: {counts[0]}")
    kinds = {error["kind"] for error in found["errors"]}
    hw.need({"InvalidRead", "InvalidWrite", "InvalidFree"} <= kinds, f"{kinds}")
    for error in found["errors"]:
        hw.need(error["stacks"][0]["stack"][-1]["function"] == "main", f"{error}")
    whole = file.read_bytes()
    (folder / "cut.xml").write_bytes(whole[: whole.index(b"<kind>InvalidFree") + 9])
    cut = hw.report(folder / "cut.xml", "--view", "errors")
    hw.need(not cut["recording"]["complete"] and 0 < cut["errors_total"] < found["errors_total"], f"{cut}")


@TESTS.test
def folded(folder):
    """What is exported as folded stacks is read again with the same functions"""
    recording = folder / "x.hpw"
    hw.need(hw.record([TARGET], recording).status == 0, "no recording")
    written = hw.run([hw.HEAPWISE, "export", recording, "--format", "folded", "--metric", "live_bytes"])
    file = folder / "stacks.txt"
    file.write_bytes(written.stdout)
    want, there = functions(recording, "live_bytes")
    totals, here = functions(file, "live_bytes")
    there, here = there["live_bytes"], here["live_bytes"]
    hw.need(totals["live_bytes_at_end"] == want["live_bytes_at_end"] > 0, f"{totals}")
    hw.need(here == {name: row for name, row in there.items() if row != (0, 0)}, f"{here}, there {there}")
    whole = hw.report(file)
    hw.need(any("read as live bytes" in note for note in whole["notes"]), f"{whole['notes']}")


TESTS.main(width=2, sanitized_part=2)
