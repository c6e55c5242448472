#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Moments and parts of recordings, growth, and the choice of blocks, of a program that says itself what it did when."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
PHASES = hw.TARGETS / "phases"


def recorded(folder, *options):
    """The recording, and the middle of the pause before each phase, as a moment."""
    path = folder / "x.hpw"
    ended = hw.record([PHASES], path, options=("-q", *options))
    hw.need(ended.status == 0, str(ended))
    began = hw.report(path)["target"]["wall_start_ns"]
    told = [line.split()[1:] for line in ended.text.splitlines()]
    return path, {name: f"{int(when) - began}ns" for name, when in told}


def total(path, *arguments):
    return hw.report(path, *arguments)["totals"]


@TESTS.test
def live_at_a_moment(folder):
    """What is live at a moment is what the program had then, to the byte, though nothing was stamped near it"""
    path, at = recorded(folder)
    for phase, blocks, size in (("first", 0, 0), ("freed", 1000, 100_000), ("second", 400, 40_000),
                                ("end", 400 + 500, 40_000 + 25_000)):
        found = total(path, "--at", at[phase], "--view", "sites")
        hw.need((found["live_blocks_at_end"], found["live_bytes_at_end"]) == (blocks, size), f"{phase}: {found}")


@TESTS.test
def late_in_a_pause(folder):
    """What comes after a long pause is not taken for what was before: neither at a moment nor of the peak"""
    path, at = recorded(folder)
    # A phase begins 500 ms after it is told.
    late = {phase: f"{int(when[:-2]) + 400_000_000}ns" for phase, when in at.items()}
    for phase, size in (("first", 0), ("freed", 100_000), ("second", 40_000), ("end", 65_000)):
        found = total(path, "--at", late[phase], "--view", "sites")
        hw.need(found["live_bytes_at_end"] == size, f"{phase}: {found}")
    peak = total(path)["peak_time_ns"]
    hw.need(peak >= int(late["first"][:-2]), f"the peak came after {peak} ns, the first phase after {late['first']}")


@TESTS.test
def meanings_of_a_range(folder):
    """Of a range: calls in it, what was live at its end, what of that was allocated in it, the peak inside"""
    path, at = recorded(folder)
    found = total(path, "--from", at["freed"], "--to", at["end"], "--view", "sites")
    hw.need(found["allocations"] == 500 and found["allocated_bytes"] == 25_000, f"{found}")
    hw.need(found["frees"] == 600, f"{found}")
    hw.need(found["live_bytes_at_end"] == 65_000, f"{found}")
    hw.need(found["kept_blocks"] == 500 and found["kept_bytes"] == 25_000, f"{found}")
    # When the range begins everything of the first phase is live: nothing later is as much.
    hw.need(found["peak_bytes"] == 100_000 and found["peak_blocks"] == 1000, f"{found}")
    later = total(path, "--from", at["second"], "--view", "peak")
    hw.need(later["peak_bytes"] == 65_000, f"{later}")


@TESTS.test
def range_of_the_peak(folder):
    """The peak is a moment too"""
    path, at = recorded(folder)
    found = hw.report(path, "--at", "peak", "--view", "sites")
    hw.need(found["totals"]["live_bytes_at_end"] == found["totals"]["peak_bytes"] == 100_000, f"{found['totals']}")
    after = total(path, "--from", "peak", "--view", "sites")
    hw.need(after["allocations"] == 500 and after["frees"] == 1500, f"{after}")


@TESTS.test
def what_is_no_moment(folder):
    """What is no moment, or is not in the recording, is said with what there is"""
    path, at = recorded(folder)
    for moment, status, words in (("soon", 2, "invalid moment"), ("1000s", 3, "is shorter than"),
                                  ("mark:x", 3, "no mark 'x'"), ("3.2parsec", 2, "invalid moment")):
        ended = hw.run([hw.HEAPWISE, "report", path, "--at", moment])
        hw.need(ended.status == status and words in ended.errors, f"{moment}: {ended}")
    ended = hw.run([hw.HEAPWISE, "report", path, "--from", at["end"], "--to", at["freed"]])
    hw.need(ended.status == 3 and "comes after" in ended.errors, str(ended))
    # Nothing happens between these two.
    when = int(at["freed"][:-2])
    for command in ("report", "timeline"):
        ended = hw.run([hw.HEAPWISE, command, path, "--from", f"{when + 1}ns", "--to", f"{when}ns"])
        hw.need(ended.status == 3 and "comes after" in ended.errors, str(ended))
    # It lasted longer than things happened.
    ended = hw.run([hw.HEAPWISE, "report", path, "--at", "1000s"])
    hw.need("it ends after 2." in ended.errors, str(ended))


@TESTS.test
def sums_have_no_moments(folder):
    """A recording of sums says that it has no moments"""
    path, _ = recorded(folder, "--mode", "aggregate")
    ended = hw.run([hw.HEAPWISE, "report", path, "--at", "peak"])
    hw.need(ended.status == 3 and "no single events" in ended.errors, str(ended))


@TESTS.test
def chosen_blocks(folder):
    """Blocks are chosen by size, age and thread"""
    path, _ = recorded(folder)
    small = hw.report(path, "--max-size", "60", "--view", "sites")
    hw.need(small["totals"]["allocations"] == 500 and small["recording"]["blocks"] == "of at most 60 B", f"{small}")
    large = total(path, "--min-size", "61", "--view", "sites")
    hw.need(large["allocations"] == 1000 and large["peak_bytes"] == 100_000, f"{large}")
    for tag, allocations in (("60:200", 1000), ("bytes=50", 500), ("1kb:", 0), (":60B", 500), ("kind=malloc", 1500),
                             ("thread=phases", 1500)):
        rows = hw.report(path, "--tagfocus", tag, "--view", "sites")["sites"]
        hw.need(sum(row["allocations"] for row in rows) == allocations, f"{tag}: {rows}")
    wrong = hw.run([hw.HEAPWISE, "report", path, "--tagfocus", "colour=red"])
    hw.need(wrong.status == 2 and "invalid tag" in wrong.errors, str(wrong))
    ended = hw.run([hw.HEAPWISE, "report", path, "--min-size", "1.5M"])
    hw.need(ended.status == 2, str(ended))
    for size in re.findall(r"[\d.]+[KMG]?(?=,| or|\nTry)", ended.errors.partition("expected a number like ")[2]):
        hw.need(hw.run([hw.HEAPWISE, "report", path, "--min-size", size]).status == 0, f"{size} is named as a size and is none")
    nobody = hw.run([hw.HEAPWISE, "report", path, "--thread", "nobody"])
    hw.need(nobody.status == 3 and "no thread" in nobody.errors, str(nobody))
    main = total(path, "--thread", "phases", "--view", "sites")
    hw.need(main["allocations"] == 1500, f"{main}")
    young = total(path, "--max-lifetime", "1ns", "--view", "sites")
    hw.need(young["allocations"] <= 1500 and young["live_bytes_at_end"] == 0, f"{young}")


@TESTS.test
def growth_without_a_leak(folder):
    """A leak that is freed at exit is found, and caches, bursts and churn are told from it"""
    ended = hw.record([hw.TARGETS / "grows"], folder / "g.hpw")
    hw.need(ended.status == 0, str(ended))
    report = hw.report(folder / "g.hpw", "--view", "growth")
    verdicts = {}
    for place in report["growth"]["places"]:
        function = next(frame["function"] for frame in place["stack"] if frame["function"])
        verdicts[function] = place["verdict"]
    wanted = {"leaks": "leak-suspect", "drips": "leak-suspect", "caches": "cache", "bursts": "burst", "churns": "steady", "starts": "start-up"}
    hw.need({name: verdicts.get(name) for name in wanted} == wanted, f"{verdicts}")
    hw.need([name for name, verdict in verdicts.items() if verdict == "leak-suspect"] == ["leaks", "drips"], f"{verdicts}")
    hw.need("leaks" in report["verdict"][0] and "freed before exit" in report["verdict"][0], f"{report['verdict']}")
    hw.need(report["totals"]["live_bytes_at_end"] == 0, f"{report['totals']}")


def suspects(report):
    """{"new": {"caches"}, …}, by innermost function."""
    found = {}
    for place in report["growth"]["places"]:
        function = next(frame["function"] for frame in place["stack"] if frame["function"])
        found.setdefault(place["suspect"], {})[function] = place
    return found


@TESTS.test
def growth_beside_an_older_build(folder):
    """Beside an older build growth says which suspects are new, which there were, with both rates, and which are gone"""
    for name in ("grows", "grows_next"):
        ended = hw.record([hw.TARGETS / name], folder / f"{name}.hpw")
        hw.need(ended.status == 0, str(ended))
    older, newer = folder / "grows.hpw", folder / "grows_next.hpw"
    report = hw.report(newer, "--view", "growth", "--base", older)
    found = suspects(report)
    hw.need({name: set(found.get(name, {})) for name in ("new", "before", "gone")} ==
            {"new": {"caches"}, "before": {"leaks"}, "gone": {"drips"}}, f"{found}")
    leaks = found["before"]["leaks"]
    rates = leaks["bytes_per_second"] / leaks["older"]["bytes_per_second"]
    hw.need(1.5 < rates < 2.7, f"the rate is {rates} times the older one")
    words = " ".join(report["verdict"])
    hw.need("did not before" in words and "as it did before" in words and "no longer keeps growing" in words, words)
    same = suspects(hw.report(older, "--view", "growth", "--base", older))
    hw.need(set(same.get("before", {})) == {"leaks", "drips"} and not {"new", "gone"} & set(same), f"{same}")


@TESTS.test
def growth_of_some(folder):
    """Growth of stacks and of blocks that are chosen, also beside an older recording; what makes no sense is refused"""
    path = folder / "g.hpw"
    ended = hw.record([hw.TARGETS / "grows"], path)
    hw.need(ended.status == 0, str(ended))

    def judged(*options):
        places = hw.report(path, "--view", "growth", *options)["growth"]["places"]
        return {next(frame["function"] for frame in place["stack"] if frame["function"]): place["verdict"]
                for place in places}

    hw.need(judged("--focus", "^leaks$|^starts$") == {"leaks": "leak-suspect", "starts": "start-up"}, "focus")
    hw.need("leaks" not in judged("--ignore", "^leaks$"), "ignore")
    hw.need(set(judged("--hide", "^(leaks|drips|caches)$", "--focus", "^(leaks|drips)$")) == {"main"}, "hide")
    hw.need(set(judged("--show-from", "^caches$")) == {"caches"}, "show-from")
    hw.need(judged("--min-size", "900", "--max-size", "1100") == {"leaks": "leak-suspect"}, "sizes")
    hw.need(judged("--thread", "grows") == judged(), "thread")
    hw.need(judged("--min-lifetime", "400ms").get("leaks") and "bursts" not in judged("--min-lifetime", "400ms"), "life")
    ended = hw.heapwise("report", "--view", "growth", "--kind", "calloc", path)
    hw.need(ended.status == 3 and "leaves none" in ended.errors, f"kind: {ended}")
    both = hw.report(path, "--view", "growth", "--base", path, "--max-size", "800")
    hw.need(set(suspects(both)["before"]) == {"drips"}, f"{both['growth']}")
    for options, words in ((("--view", "growth", "--base", path, "--normalize"), "each recording over time"),
                           (("--view", "timeline", "--focus", "x"), "filters don't work with --view timeline"),
                           (("--view", "growth", "--base", path, "--merge", path), "shows one recording"),
                           (("--view", "growth", "--sort", "live_bytes"), "can't be sorted")):
        ended = hw.run([hw.HEAPWISE, "report", path, *options])
        hw.need(ended.status == 2 and words in ended.errors, str(ended))


TESTS.main()
