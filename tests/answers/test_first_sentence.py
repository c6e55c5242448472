#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The first sentence is the one a person needs: what libraries keep for themselves is not in it, nor in budgets."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import hw

TESTS = hw.Tests()
# The documented line of docs/howto/ci.md.
GATE = ("--max-peak", "1M", "--max-never-freed", "0")


def record(folder, program, *options):
    path = folder / f"{program}{''.join(options)}.hpw"
    ended = hw.record([hw.ANSWERS / program], path, options=("-q", *options))
    hw.need(ended.status == 0, f"{program}: {ended}")
    return path


def debug_files(folder):
    """With the debug files of this machine, and without any."""
    empty = folder / "empty"
    empty.mkdir(exist_ok=True)
    return (), ("--debug-file-directory", str(empty))


def judge(status, path, *options):
    ended = hw.heapwise("budget", "--json", *options, str(path))
    hw.need(ended.status == status, f"{path.name} {options}: expected status {status}: {ended.text}")
    return {check["rule"]: check for check in json.loads(ended.text)["checks"]}


@TESTS.test
def gate_passes_on_hello_world(folder):
    """The documented gate passes on hello world in C and C++, searched or not, with and without debug files"""
    for program in ("hello", "hello_cxx"):
        for search in ((), ("--leak-check=full",)):
            path = record(folder, program, *search)
            for debug in debug_files(folder):
                judge(0, path, *GATE, "--max-per-stack", "0", *debug)
            judge(1, path, *GATE, "--count-libraries")


def check_own(folder, name):
    library = Path("/usr/lib/x86_64-linux-gnu") / name
    if not library.exists():
        raise hw.Skip("it is not installed")
    env = hw.clean_environment(LD_PRELOAD=library)
    for search in ("--leak-check=no", "--leak-check=full"):
        path = folder / f"{search}.hpw"
        hw.need(hw.record([hw.ANSWERS / "hello"], path, options=("-q", search), env=env).status == 0, name)
        for debug in debug_files(folder):
            judge(0, path, *GATE, "--max-per-stack", "0", *debug)
    ours = hw.report(path)
    theirs = json.loads(hw.ask("leaks", "--format", "json", path))["leaks"]["summary"]
    hw.need(theirs["library"]["blocks"] == ours["libraries"]["blocks"] == ours["totals"]["live_blocks_at_end"], f"{name}: {theirs}")
    path = folder / "x.hpw"
    hw.need(hw.record([hw.ANSWERS / "file_not_closed"], path, env=env).status == 0, name)
    check = judge(1, path, "--max-never-freed", "0")["max-never-freed"]
    hw.need(sum(finding["blocks"] for finding in check["findings"]) == 3, f"{name}: {check['findings']}")


for each in ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_debug.so.4", "libtcmalloc_minimal_debug.so.4",
             "libtcmalloc_and_profiler.so.4", "libjemalloc.so.2", "libmimalloc.so.2"):
    TESTS.add(f"{each}'s own blocks are a library's: the gate passes on hello world, report, leaks and gate agree; the program's are not",
              lambda folder, name=each: check_own(folder, name))


@TESTS.test
def first_sentence_of_hello_world(folder):
    """The first sentence says that nothing was left, what libraries keep comes with the view that lists it"""
    for program in ("hello", "hello_cxx"):
        path = record(folder, program)
        for debug in debug_files(folder):
            found = hw.report(path, *debug)
            total = found["totals"]
            hw.need(found["verdict"][0].startswith("No leaks: every block was freed, except "),
                    found["verdict"][0])
            hw.need("one allocation site" not in " ".join(found["verdict"]), str(found["verdict"]))
            hw.need(found["libraries"] == {"blocks": total["live_blocks_at_end"], "bytes": total["live_bytes_at_end"]},
                    f"{found['libraries']} of {total}")
            hw.need(found["top"]["never_freed"] == [], "a library's block is in the list")
            listed = hw.report(path, "--view", "libraries", *debug)["sites"]
            hw.need(sum(site["live_blocks"] for site in listed) == total["live_blocks_at_end"], f"{len(listed)} rows")
            hw.need(all(site["library"] for site in listed), "a row without a name")
        counted = hw.report(path, "--count-libraries")
        hw.need("never freed" in counted["verdict"][0], counted["verdict"][0])


@TESTS.test
def report_and_leaks_agree(folder):
    """report and leaks have the same blocks of each kind, and the same for the libraries"""
    for program in ("hello", "hello_cxx", "file_not_closed", "own_like_library"):
        path = record(folder, program, "--leak-check=full")
        ours = hw.report(path)["leaks"]
        theirs = json.loads(hw.ask("leaks", "--format", "json", path))["leaks"]["summary"]
        for kind in ("definite", "indirect", "possible", "reachable", "library"):
            hw.need(ours[kind]["blocks"] == theirs[kind]["blocks"], f"{program}: {kind}: {ours} and {theirs}")


@TESTS.test
def file_not_closed_is_the_programs(folder):
    """A file that is never closed is the program's, its buffer libc's; the gate fails and blames fopen's caller"""
    path = record(folder, "file_not_closed")
    for debug in debug_files(folder):
        check = judge(1, path, "--max-never-freed", "0", *debug)["max-never-freed"]
        hw.need(sum(finding["blocks"] for finding in check["findings"]) == 3, str(check["findings"]))
        sentence = hw.report(path, *debug)["verdict"][0]
        hw.need("in 3 blocks" in sentence and "main (" in sentence, sentence)


@TESTS.test
def nothing_of_the_programs_is_a_librarys(folder):
    """What libc allocates for the program, or a callback of libc's, counts as the program's"""
    path = record(folder, "own_like_library")
    for debug in debug_files(folder):
        found = hw.report(path, "--view", "libraries", *debug)["sites"]
        hw.need([site["library"] for site in found] == ["stdio-buffer"], str([site["library"] for site in found]))
        judge(1, path, "--max-never-freed", "0", *debug)


@TESTS.test
def libraries_of_many_recordings(folder):
    """What libraries keep in each of many recordings is theirs in the sum of them"""
    paths = [record(folder, "hello")] * 17  # 68 KiB of buffers
    found = hw.report("--merge", *paths)
    hw.need(found["totals"]["live_blocks_at_end"] >= len(paths), f"{found['totals']}")
    hw.need(found["verdict"][0].startswith("No leaks: every block was freed, except "), found["verdict"][0])


@TESTS.test
def what_grows_is_no_librarys_own(folder):
    """Values of setenv() in a loop, buffers of files that are never closed: what grows with the work is told, with debug files and without"""
    for words, most in ((("1000",), 1000000), (("300", "files"), 300 * 4096)):
        path = folder / "grows.hpw"
        for options in ((), ("--leak-check=full",)):
            hw.record([hw.ANSWERS / "sets_variables", *words], path, options=("-q", "-f", *options))
            for debug in debug_files(folder):
                judge(1, path, "--max-never-freed", str(most - 1), *debug)
                found = hw.report(path, *debug)
                hw.need("was never freed" in found["verdict"][0] or "were never freed" in found["verdict"][0], f"{found['verdict']}")
                hw.need(found["libraries"]["bytes"] < most // 10, f"{found['libraries']}")
            if options:
                kinds = [json.loads(hw.ask("leaks", "--format", "json", *debug, path))["leaks"]["summary"] for debug in debug_files(folder)]
                hw.need(kinds[0]["library"]["bytes"] < most // 10, f"{kinds[0]}")
                hw.need(kinds[0]["reachable"]["bytes"] + kinds[0]["possible"]["bytes"] >= most, f"{kinds[0]}")
                hw.need(kinds[0]["reachable"] == kinds[1]["reachable"] and kinds[0]["library"] == kinds[1]["library"], f"{kinds}")


@TESTS.test
def no_answer_needs_debug_files(folder):
    """A variable that is set once is libc's in reports, leaks and gates, with debug files or without, searched or not"""
    path = folder / "one.hpw"
    for options in ((), ("--leak-check=full",)):
        hw.record([hw.ANSWERS / "sets_variables", "1"], path, options=("-q", "-f", *options))
        own = [hw.report(path, *debug)["libraries"] for debug in debug_files(folder)]
        hw.need(own[0] == own[1] and own[0]["blocks"] == 3, f"{own}")
        for debug in debug_files(folder):
            judge(0, path, "--max-never-freed", "0", *debug)


KEPT = ("threads", "passwd", "passwd-id", "group", "address", "numeric", "host", "resolver", "service", "library", "late-storage", "library-error", "iconv",
        "locale", "wide", "zone", "local-time", "named-zone", "environment")


@TESTS.test
def what_libraries_keep(folder):
    """Joined threads, users, hosts, libraries, locales, time zones, the environment: the gate passes; report, leaks and gate have the same blocks, debug files or not"""
    path = folder / "keeps.hpw"
    for options in ((), ("--leak-check=full",)):
        hw.record([hw.ANSWERS / "libraries_keep", *KEPT], path, options=("-q", "-f", *options))
        for debug in debug_files(folder):
            judge(0, path, "--max-never-freed", "0", *debug)
            found = hw.report(path, *debug)
            hw.need(found["verdict"][0].startswith("No leaks: every block was freed, except "), found["verdict"][0])
            hw.need(found["libraries"]["blocks"] == found["totals"]["live_blocks_at_end"] > 100, f"{found['libraries']}")
            if options:
                leaks = json.loads(hw.ask("leaks", "--format", "json", *debug, path))["leaks"]["summary"]
                hw.need(leaks["library"]["blocks"] == found["libraries"]["blocks"], f"{leaks} and {found['libraries']}")
    # One way alone: above, another one went first and had libc make what both need.
    for word in ("address", "local-time", "named-zone", "wide", "library-error"):
        hw.record([hw.ANSWERS / "libraries_keep", word], path, options=("-q", "-f"))
        judge(0, path, "--max-never-freed", "0", *debug_files(folder)[1])


@TESTS.test
def what_calls_main(folder):
    """What calls main is folded with libc's debug files and without: stacks read the same"""
    path = record(folder, "own_like_library")
    texts = [hw.ask("report", "--view", "never-freed", *debug, path) for debug in debug_files(folder)]
    for text in texts:
        stacks = re.findall(r"from \w+ at\n((?: +\S.*\n)+)", text)
        hw.need(stacks and all(" main " in stack and "libc.so.6+0x" not in stack.split(" main ")[-1] for stack in stacks), text)


@TESTS.test
def what_is_owed_to_libraries(folder):
    """What getaddrinfo, glob, regcomp, scandir, opendir, fopen, iconv_open, getline… give and the program keeps stays the program's"""
    path = folder / "owes.hpw"
    ways = set(re.findall(r"^\tway_(\w+)", (hw.SOURCE / "tests/answers/programs/leaks/owes_to_libraries.c").read_text(), re.M))
    for options in ((), ("--leak-check=full",)):
        hw.record([hw.ANSWERS / "owes_to_libraries"], path, options=("-q", "-f", *options))
        for debug in debug_files(folder):
            sites = hw.report(path, "--view", "never-freed", *debug)["sites"]
            seen = {frame["function"][4:] for site in sites if not site["library"] for frame in site["stack"]
                    if (frame["function"] or "").startswith("way_")}
            hw.need(seen == ways and len(ways) == 17, f"hidden: {ways - seen}")


@TESTS.test
def threads_never_joined(folder):
    """A thread that ended and that nobody joined: its table is possibly lost, as for memcheck; that of a joined one is libc's"""
    path = folder / "threads.hpw"
    for words, kind in ((("never-joined",), "possible"), (("threads",), "library")):
        hw.record([hw.ANSWERS / "libraries_keep", *words], path, options=("-q", "-f", "--leak-check=full"))
        ours, theirs = hw.report(path), json.loads(hw.ask("leaks", "--format", "json", path))["leaks"]["summary"]
        hw.need(theirs[kind]["blocks"] == ours["leaks"][kind]["blocks"] == 3, f"{theirs} and {ours['leaks']}")
        hw.need(ours["libraries"]["blocks"] == (3 if kind == "library" else 0), f"{ours['libraries']}")
        judge(int(kind == "possible"), path, "--max-never-freed", "0")


@TESTS.test
def bound_is_said(folder):
    """Where a stack has more than a library keeps it counts as the program's, and a note says so"""
    path = folder / "files.hpw"
    for count, said in ((10, False), (20, True)):
        hw.record([hw.ANSWERS / "sets_variables", str(count), "files"], path, options=("-q", "-f"))
        for text in (hw.ask("report", path), hw.heapwise("budget", "--max-never-freed", "0", path).text):
            hw.need(("one stack has more of them than a library normally keeps" in text) == said, text)


@TESTS.test
def reserve_in_the_program(folder):
    """libstdc++'s emergency pool for exceptions is its own in programs that have libstdc++ in them, too"""
    path = record(folder, "hello_cxx_static")
    for debug in debug_files(folder):
        judge(0, path, "--max-never-freed", "0", *debug)


@TESTS.test
def share_and_list_have_one_base(folder):
    """Of a moment, and of what another tool wrote down, the first sentence, its share and the list are of all blocks"""
    path = folder / "prints.hpw"
    hw.record([hw.ANSWERS / "peaks_more", "10", "0", "words"], path)
    files = [f"{path}@peak"]
    for form in ("pprof", "gperftools", "jemalloc"):
        files.append(folder / f"prints.{form}")
        hw.ask("export", "--format", form, "-o", files[-1], path)
    for file in files:
        found = hw.report(file)
        total = found["totals"]["live_bytes_at_end"]
        listed = [site["live_bytes"] for site in found["top"]["never_freed"]]
        hw.need(sum(listed) == total == 14336 and found["libraries"]["blocks"] == 0, f"{file}: {listed} of {total}")
        hw.need(f" {round(100 * max(listed) / total)}% of it from one allocation site" in found["verdict"][0], f"{file}: {found['verdict'][0]}, {listed}")


@TESTS.test
def peak_names_the_share_of_libraries(folder):
    """A peak that is mostly what libraries keep is not told by the program's few bytes alone"""
    for count, share in (("2", "; libraries keep 67% of it for themselves."), ("10", "(peaks_more.c:12).")):
        path = folder / f"prints{count}.hpw"
        hw.record([hw.ANSWERS / "peaks_more", count, "0", "words"], path)
        peak = next(line for line in hw.report(path)["verdict"] if line.startswith("Peak "))
        hw.need(peak.endswith(share), peak)
        hw.need(("libraries" in peak) == (count == "2"), peak)
        listed = hw.ask("report", path).split("\nLive at the peak", 1)[1].split("\n\n")[0]
        shares = [float(share) for share in re.findall(r" \(([\d.]+)%\)  ", listed)]
        left = re.search(r"\n  Libraries kept another [\d.]+ KiB \(([\d.]+)%\) for themselves, left out here: --view peak shows all\.", listed)
        hw.need(left and abs(sum(shares) + float(left[1]) - 100) < 0.2, listed)
        hw.need("stdio" in hw.ask("report", "--view", "peak", path) or "_IO_" in hw.ask("report", "--view", "peak", path), "the view leaves them out, too")


@TESTS.test
def no_process_of_that_number(folder):
    """A number that no process has is answered as such"""
    ended = hw.heapwise("leaks", "99999999")
    hw.need(ended.status == 3 and "no such process: 99999999" in ended.errors, f"{ended}")


@TESTS.test
def growth_leaves_libraries_out(folder):
    """A baseline that wrote nothing: the buffer that a later program has of libc is no growth"""
    path = record(folder, "hello_cxx")
    base = record(folder, "hello")
    judge(0, path, "--baseline", base, "--max-growth", "0")
    judge(1, path, "--baseline", base, "--max-growth", "0", "--count-libraries")


TESTS.main(sanitized_part=2)
