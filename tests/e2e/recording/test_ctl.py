#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise ctl`, and what programs say of themselves: recording is stopped and started, sums begin anew."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from told import of_site, told

TESTS = hw.Tests()


def sites(file, *options):
    return hw.report(file, "--view", "sites", *options)


def status(target):
    found = json.loads(hw.ask("ctl", target.name, "status", "--json"))
    hw.need(found["schema"] == "heapwise.ctl/1" and found["pid"] == target.pid, f"{found}")
    return found


@TESTS.test
def stop_and_start(folder):
    """What is allocated while it is stopped is in no figure; frees of what is known still are"""
    with told(folder, "-q") as target:
        target.tell("keep", 1000)
        target.tell("keep", 2000)
        hw.ask("ctl", target.name, "stop")
        hw.need(not status(target)["recording"], "it says that it records")
        target.tell("keep", 4000)
        target.tell("grow", 5000)
        target.tell("free", 2)
        target.tell("brief1000", 1000)
        hw.ask("ctl", target.name, "start")
        target.tell("keep", 300)
        target.tell("brief1000", 10)
        found = status(target)
    hw.need(found["recording"] and found["stops"] == 1 and found["stopped_ns"] > 0, f"{found}")
    hw.need(found["live_bytes"] == 1300, f"{found}")
    report = sites(folder / "x.hpw")
    hw.need(of_site(report, "live_bytes") == 1300 and of_site(report, "allocations") == 3, "kept")
    hw.need(of_site(report, "allocations", "site_brief") == 10, "brief")
    recording = report["recording"]
    hw.need(recording["stops"] == 1 and recording["unknown_frees"] == 0 and recording["repairs"] == 0, f"{recording}")
    hw.need(any("Recording was stopped 1 time" in note for note in report["notes"]), f"{report['notes']}")
    again = sites(folder / "x.hpw", "--from", "0s")
    for figure in ("allocations", "allocated_bytes", "frees", "live_bytes_at_end", "peak_bytes"):
        hw.need(again["totals"][figure] == report["totals"][figure], f"{figure}: {again['totals']}, not {report['totals']}")
    hw.need(again["recording"]["events"] == recording["events"], f"{again['recording']['events']} events")
    marks = hw.ask("report", folder / "x.hpw", "--view", "marks")
    hw.need("recording stopped" in marks and "recording resumed" in marks, marks)


@TESTS.test
def unknown_is_not_zero(folder):
    """Gates do not pass on what was not recorded, and no free of that time is a wrong one"""
    with told(folder, "-q") as target:
        hw.need(target.tell("stop") == 0, "stop")
        target.tell("keep", 1 << 20)
        hw.need(target.tell("start") == 0, "start")
        target.tell("free", 1)
    budget = hw.heapwise("budget", folder / "x.hpw", "--max-allocations", "1000")
    hw.need(budget.status != 0 and "stopped" in budget.text + budget.errors, f"{budget}")
    errors = hw.report(folder / "x.hpw", "--view", "errors")
    hw.need(not errors["errors"], f"{errors['errors']}")


@TESTS.test
def stopped_is_cheap(folder):
    """While it is stopped an allocation costs less than while it is recorded"""
    hw.need_no_sanitizer("it measures")
    costs = {"recorded": [], "stopped": []}
    with told(folder, "-q", "--mode", "aggregate") as target:
        for _ in range(5):
            costs["recorded"].append(target.tell("cost", 200000))
            target.tell("stop")
            target.tell("brief1000", 70000)
            costs["stopped"].append(target.tell("cost", 200000))
            target.tell("start")
    hw.need(min(costs["stopped"]) < min(costs["recorded"]), f"{costs}")


@TESTS.test
def stopped_sample(folder):
    """A sampled recording is stopped, too"""
    with told(folder, "-q", "--mode", "sample:1") as target:
        target.tell("keep", 1000)
        target.tell("stop")
        target.tell("keep", 9000)
        target.tell("start")
        target.tell("keep", 2000)
    found = of_site(sites(folder / "x.hpw"), "allocations")
    hw.need(found == 2, f"{found} allocations")


@TESTS.test
def reset(folder):
    """After a reset dumps count calls anew; what is live stays, and the recording has all"""
    with told(folder, "-q") as target:
        target.tell("keep", 1000)
        target.tell("brief1000", 50)
        hw.ask("ctl", target.name, "reset")
        target.tell("keep", 200)
        target.tell("brief1000", 7)
        hw.ask("dump", target.name, "-o", folder / "a.dump")
    report = sites(folder / "a.dump")
    hw.need(of_site(report, "allocations", "site_brief") == 7, "brief calls")
    hw.need(of_site(report, "allocations") == 1 and of_site(report, "live_bytes") == 1200, "kept")
    hw.need(report["recording"]["reset_ns"] > 0, "no reset")
    hw.need(any("were reset after" in note for note in report["notes"]), f"{report['notes']}")
    hw.need(of_site(sites(folder / "x.hpw"), "allocations", "site_brief") == 57, "the recording")


@TESTS.test
def ignored(folder):
    """heapwise_ignore_begin(): blocks are left out; heapwise_block_alloc() counts in their place"""
    with told(folder, "-q") as target:
        target.tell("keep", 100)
        target.tell("ignore", 1)
        target.tell("keep", 65536)
        target.tell("ignore", 0)
        target.tell("block", 48)
        target.tell("brief1000", 5)
        report_live = status(target)["live_bytes"]
        target.tell("unblock")
        target.tell("free", 1)
    hw.need(report_live == 148, f"{report_live} live")
    report = sites(folder / "x.hpw")
    hw.need(of_site(report, "live_bytes") == 100 and report["recording"]["ignores"], "left out")
    hw.need(of_site(report, "allocations", "site_brief") == 5, "after it")
    hw.need(not hw.report(folder / "x.hpw", "--view", "errors")["errors"], "wrong frees")


@TESTS.test
def words(folder):
    """Status in words, modes, marks, and what makes no sense"""
    with told(folder, "-q") as target:
        target.tell("keep", 4096)
        text = hw.ask("ctl", target.name, "status")
        hw.need("recording             yes" in text and "4.00 KiB" in text and "x.hpw" in text, text)
        hw.ask("ctl", target.name, "mark", "here")
        hw.ask("ctl", target.name, "mode", "exact")
        refused = hw.heapwise("ctl", target.name, "mode", "aggregate")
        hw.need(refused.status != 0 and "its mode stays exact" in refused.errors, f"{refused}")
        for wrong in (["stop", "x"], ["mark"], ["what"], [], ["mode", "sampled"], ["stop", "--json"]):
            ended = hw.heapwise("ctl", target.name, *wrong)
            hw.need(ended.status == 2, f"{wrong}: {ended}")
    hw.need("here" in hw.ask("report", folder / "x.hpw", "--view", "marks"), "no mark")
    ended = hw.heapwise("ctl", "1", "status")
    hw.need(ended.status != 0 and ended.errors, f"{ended}")


TESTS.main(width=2)
