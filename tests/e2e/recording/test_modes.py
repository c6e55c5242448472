#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The modes that keep less than every event, held against exact recordings of the same program."""

import json
import re
import statistics
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

# Whose calls do not depend on how threads run: each recording of them has the same figures.
SAME_EACH_TIME = (
    "aligned calloc deep end_abort end_sigkill failed live_static malloc_free names new_forms "
    "peak_middle peak_realloc peak_twice realloc realloc_moved sizes_large temporary zero_sizes"
).split()
EVENTS, SITE_STATS, RING = 5, 7, 15  # types of chunks
DENSE = (
    "aligned calloc exceptions new_forms producer_consumer realloc_moved "
    "siglongjmp signal_handler threads_200 tls_destructor vfork_exec"
).split()
# Of these no block is so small that it could be passed over by one in every byte.
LARGE = ("failed", "realloc_in_vain")
SUMS = ("allocations", "allocated_bytes", "frees", "failed", "live_blocks_at_end", "live_bytes_at_end")
VIEWS = ("summary", "sites", "never-freed", "peak", "temporary", "sizes", "threads")
# Of one run, not of the program.
OF_THE_RUN = {
    "target": {"pid", "ppid", "outer_pid", "outer_ppid", "wall_start_ns"},
    "recording": {"file", "mode", "duration_ns", "resident_peak_bytes", "longest_wait_ns", "wait_ns", "waits", "dropped_steps", "kept_steps",
                  "kept_from_ns", "kept_until_ns"},
    "totals": {"peak_time_ns"},
    "threads": {"tid", "name", "ended", "first_ns", "last_ns"},
}


def without(found, names):
    return {key: value for key, value in found.items() if key not in names}


def without_addresses(found):
    """Where code was loaded is another place each time."""
    if isinstance(found, dict):
        return {key: without_addresses(value) for key, value in found.items() if key != "address"}
    return [without_addresses(value) for value in found] if isinstance(found, list) else found


def first_difference(a, b, way=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(a.keys() | b.keys()):
            if a.get(key) != b.get(key):
                return first_difference(a.get(key), b.get(key), f"{way}.{key}")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, pair in enumerate(zip(a, b)):
            if pair[0] != pair[1]:
                return first_difference(*pair, f"{way}[{i}]")
    return f"{way}: {hw.shorten(repr(a))} and {hw.shorten(repr(b))}"


def figures(recording, view):
    """All that a report says of the program, however its run went."""
    found = without_addresses(hw.report(recording, "--view", view, "--all-frames"))
    for part, names in OF_THE_RUN.items():
        if isinstance(found.get(part), dict):
            found[part] = without(found[part], names)
        elif part in found:
            found[part] = sorted(repr(without(row, names)) for row in found[part])
    # A moment in time.
    found["verdict"] = [line for line in found.get("verdict", []) if not line.startswith("Peak ")]
    return found


def check_same_figures(program, folder):
    """What the collector sums up by itself is what it sums up for the footer of an exact recording."""
    reports = {}
    for mode in ("exact", "aggregate"):
        recording = Path(folder) / f"{mode}.hpw"
        hw.record([program], recording, options=("-q", "--mode", mode))
        reports[mode] = {view: figures(recording, view) for view in VIEWS}
        said = hw.report(recording)["recording"]["mode"]
        hw.need(said == mode, f"its mode is said to be {said}")
    for view in VIEWS:
        hw.need(reports["exact"][view] == reports["aggregate"][view],
                f"{view} differs: " + first_difference(reports["exact"][view], reports["aggregate"][view]))
    hw.need(reports["exact"]["summary"]["totals"]["allocations"] > 0, "nothing was recorded")


def chunks(recording):
    """Type and place of each chunk of a file, in order (src/format/FORMAT.md)."""
    data = Path(recording).read_bytes()
    found, at = [], 32
    while data[at:at + 4] == b"hwck":
        kind, _, stored = struct.unpack_from("<HHI", data, at + 4)
        found.append((kind, at))
        at += 32 + stored
    hw.need(data[at + 16:] == b"HWINDEX\0", "the file does not end in its trailer")
    return found


def on_disk(recording):
    """What states of the sums took is given back at the end."""
    return recording.stat().st_blocks * 512


def check_bounded(folder):
    """Millions of events, and no chunk of them."""
    recording = Path(folder) / "laps.hpw"
    hw.record([hw.TARGETS / "ring_laps-O2"], recording, options=("-q", "--mode=aggregate"))
    hw.need(not {EVENTS, RING} & set(dict(chunks(recording))), "there are events in it")
    hw.need(hw.report(recording)["recording"]["events"] > 1_000_000, "too few for a test")
    hw.need(on_disk(recording) < 65536, f"{on_disk(recording)} bytes")


def check_cut(folder):
    """Without its end an aggregate recording has no figures; it says so instead of zeros."""
    recording = Path(folder) / "cut.hpw"
    hw.record([hw.TARGETS / "malloc_free-O2"], recording, options=("-q", "--mode=aggregate"))
    recording.write_bytes(recording.read_bytes()[:dict(chunks(recording))[SITE_STATS]])
    ended = hw.run([hw.HEAPWISE, "report", recording])
    hw.need("has no events" in ended.errors, f"nothing is said: {ended}")


SEEDS = range(1, 201)
ESTIMATED = (
    ("size_mixes", "sample:32K", ("site_small", "site_middle", "site_large")),
    ("plateau", "sample:64K", ("site_even", "site_odd")),
)
SAMPLED = ("allocations", "allocated_bytes", "live_blocks", "live_bytes", "peak_blocks", "peak_bytes")


def estimates(found, sites=("site_small", "site_middle", "site_large")):
    """{(site, figure): (estimate, [low, high])} of a report, of the program's sites and its totals."""
    rows = {row["stack"][1]["function"]: row for row in found["sites"] if len(row["stack"]) > 1}
    totals = dict(found["totals"])
    ranges = dict(totals["ranges"] or {})
    for part in (totals, ranges):
        for name in ("live_blocks", "live_bytes"):
            part[name] = part.get(name + "_at_end")
    every = {
        ("all", name): (totals[name], ranges.get(name)) for name in SAMPLED
    }
    for site in sites:
        row = rows.get(site, {})
        for name in SAMPLED:
            every[site, name] = (row.get(name, 0), (row.get("ranges") or {}).get(name))
    return every


def sampled_runs(program, mode, sites, folder):
    """The truth, and what a sampled recording of each seed says."""
    recording = Path(folder) / "exact.hpw"
    hw.record([program], recording)
    exact = estimates(hw.report(recording, "--view=sites"), sites)

    def sampled(seed):
        path = Path(folder) / f"{seed}.hpw"
        hw.record([program], path, options=("-q", f"--mode={mode}", "--seed", str(seed)))
        found = estimates(hw.report(path, "--view=sites"), sites)
        path.unlink()
        return found

    with ThreadPoolExecutor(2) as pool:
        return {key: value for key, (value, _) in exact.items()}, list(pool.map(sampled, SEEDS))


def check_estimates(name, mode, sites, folder):
    """Right on average, and the ranges hold as many truths as they promise. The seeds are fixed, so
    this holds each time or never."""
    truth, runs = sampled_runs(hw.TARGETS / f"{name}-O2", mode, sites, folder)
    for key, true in truth.items():
        values = [run[key][0] for run in runs]
        mean, deviation = statistics.fmean(values), statistics.stdev(values)
        off = abs(mean - true)
        hw.need(off <= 3 * deviation / len(values) ** 0.5 + 1,
                f"{key}: {true}, estimated {mean:.0f} on average, one deviates by {deviation:.0f}")
        held = sum(low <= true <= high for low, high in (run[key][1] or (true, true) for run in runs))
        least = 0.9 if key[1].startswith("peak") else 0.92
        hw.need(held >= least * len(runs), f"{key}: {held} of {len(runs)} ranges hold {true}")


def check_dense(name, folder):
    """One block in every byte is nearly every block: what free, realloc, threads and forks do to
    samples shows, and the program does what it would have done."""
    program = hw.TARGETS / f"{name}-O2"
    exact, dense = Path(folder) / "exact.hpw", Path(folder) / "dense.hpw"
    wanted = hw.record([program], exact)
    ended = hw.record([program], dense, options=("-q", "--mode=sample:1", "--seed=3"))
    hw.need(ended.status == wanted.status, str(ended))
    before, after = hw.report(exact), hw.report(dense)
    hw.need(after["recording"]["lost_events"] == 0 and after["recording"]["repairs"] == 0,
            str(after["recording"]))
    for figure in SUMS:
        true, found = before["totals"][figure], after["totals"][figure]
        off = 0 if name in LARGE else 2 + true // 50
        hw.need(abs(true - found) <= off, f"{figure}: {true}, and {found} of nearly all")


def check_fork_in_handler(folder):
    """A child that a handler forks while a sample is taken has no sampler of its own yet."""
    for mode in ("sample:1", "sample:100"):
        ended = hw.record([hw.TARGETS / "fork_in_handler-O2"], Path(folder) / f"{mode[7:]}.hpw",
                          options=("-q", "--children=no", f"--mode={mode}"))
        hw.need(ended.status == 0, f"{ended}; {hw.shorten(ended.text)}")


def check_same_seed(folder):
    found = []
    for name in ("a", "b"):
        recording = Path(folder) / f"{name}.hpw"
        hw.record([hw.TARGETS / "size_mixes-O2"], recording, options=("-q", "--mode=sample:32K", "--seed=5"))
        found.append(estimates(hw.report(recording, "--view=sites")))
    hw.need(found[0] == found[1], "two runs differ")


def check_said(folder):
    recording = Path(folder) / "x.hpw"
    hw.record([hw.TARGETS / "size_mixes-O2"], recording, options=("-q", "--mode=sample"))
    text = hw.run([hw.HEAPWISE, "report", recording]).text
    hw.need("about one block per 524,288 bytes" in text and "95%" in text, text)
    report = hw.report(recording)
    hw.need(report["recording"]["sample_bytes"] == 524288, "not in JSON")
    peak = next(sentence for sentence in report["verdict"] if sentence.startswith("Peak "))
    hw.need(re.match(r"Peak about [\d.]+ [KMG]iB \([\d.]+ \w+ to [\d.]+ \w+\)", peak), f"no range: {peak}")


def check_temporary_unknown(folder):
    """A sample cannot know what the next allocation was: neither none nor 0 is said."""
    recording = Path(folder) / "x.hpw"
    hw.record([hw.TARGETS / "temporary-O2"], recording, options=("-q", "--mode=sample:1"))
    report = hw.report(recording, "--view=sites")
    rows = [report["totals"], *report["sites"], *hw.report(recording, "--view=threads")["threads"]]
    hw.need(len(rows) > 2 and all(row["temporary"] is None for row in rows), f"{rows}")
    hw.need(all(site["fits_on_stack"] is None for site in report["sites"]), "fits on the stack")
    tree = json.loads(hw.run([hw.HEAPWISE, "report", "--json", folder]).text)
    hw.need([row["temporary"] for row in (tree["totals"], *tree["recordings"])] == [None] * 2, f"{tree}")
    for options in (["--view=temporary"], ["--sort=temporary"]):
        text = hw.run([hw.HEAPWISE, "report", *options, recording]).text
        hw.need("emporary" in text and "\n  not known of a sample\n" in text, text)
    text = hw.run([hw.HEAPWISE, "report", "--view=threads", recording]).text
    hw.need(text.rstrip().endswith(" not known"), text)


def check_kept(option, folder):
    """Some of the events, in bounded room; the figures of all."""
    exact = hw.report(record_laps(folder, "exact"))
    recording = record_laps(folder, "less", option, "128K")
    less = hw.report(recording)
    hw.need(less["totals"].keys() == exact["totals"].keys(), "other totals")
    for name in ("allocations", "allocated_bytes", "frees", "live_blocks_at_end", "live_bytes_at_end"):
        hw.need(less["totals"][name] == exact["totals"][name], f"{name} is another")
    hw.need(len(less["sites"]) == len(exact["sites"]), "other sites")
    said = less["recording"]
    steps = said["kept_steps"] + said["dropped_steps"]
    hw.need(steps >= 3_300_000 and said["dropped_steps"] > 1_000_000, f"{said}")
    hw.need(0 < said["kept_steps"], "no events are kept")
    events = sum(kind in (EVENTS, RING) for kind, _ in chunks(recording))
    hw.need(events > 0 and on_disk(recording) < 400_000, f"{on_disk(recording)} bytes")
    last = option == "--ring"
    hw.need((said["kept_from_ns"] > exact["totals"]["peak_time_ns"] // 20) == last, f"{said}")
    text = hw.run([hw.HEAPWISE, "report", recording]).text
    hw.need("Single events are available only from" in text, text[:400])


def record_laps(folder, name, *options):
    recording = Path(folder) / f"{name}.hpw"
    hw.record([hw.TARGETS / "ring_laps-O2"], recording,
              options=("-q", *options))
    return recording


def check_wrong(folder):
    for words in (["--mode", "exakt"], ["--mode="], ["--mode=sample:"], ["--mode=sample:0"], ["--mode=sample:5X"],
                  ["--mode=sample:99999999999G"]):
        ended = hw.record(["true"], Path(folder) / "x.hpw", options=words)
        hw.need(ended.status == 125 and "invalid --mode" in ended.errors, str(ended))


def main():
    tests = hw.Tests()
    if "estimates" in sys.argv[1:]:
        del sys.argv[1:]
        for case in ESTIMATED:
            tests.add(f"estimates are unbiased and their ranges hold, 200 seeds: {case[0]}",
                      lambda folder, case=case: check_estimates(*case, folder))
        tests.main()
        return
    for name in SAME_EACH_TIME:
        program = hw.TARGETS / f"{name}-O2"
        tests.add(f"aggregate has the figures of exact: {name}",
                  lambda folder, program=program: check_same_figures(program, folder))
    tests.add("aggregate keeps no events", check_bounded)
    tests.add("an aggregate recording that is cut says what is missing", check_cut)
    for option in ("--ring", "--max-file"):
        tests.add(f"{option} keeps some events and all sums",
                  lambda folder, option=option: check_kept(option, folder))
    for name in (*DENSE, *LARGE):
        tests.add(f"nearly every block sampled: {name}", lambda folder, name=name: check_dense(name, folder))
    tests.add("forks in handlers while samples are taken", check_fork_in_handler)
    tests.add("a seed takes the same samples again", check_same_seed)
    tests.add("a sampled recording says so", check_said)
    tests.add("temporary allocations are not known of a sample", check_temporary_unknown)
    tests.add("a mode that does not exist is refused", check_wrong)
    tests.main()


if __name__ == "__main__":
    main()
