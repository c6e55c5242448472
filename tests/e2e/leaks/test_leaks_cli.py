#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise leaks` and `run --leak-check` as commands: options, exit statuses, forms, where output goes; and
memcheck's form beside the real one."""

import csv
import difflib
import io
import json
import os
import re
import shutil
import signal
import sys
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from hw import heapwise

TESTS = hw.Tests()
LEAKS = hw.TARGETS / "leaks"
LEAKY = LEAKS / "list_single-O2"
FORMS = ("text", "memcheck", "json", "sarif", "junit", "github")


def recording(folder, program=LEAKY, *, name="a.hpw", options=("--leak-check=full",)):
    path = folder / name
    ended = hw.run([hw.HEAPWISE, "run", "-q", "-o", path, "--show-leak-kinds=none", *options, "--", program])
    hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def leaks(path, *options):
    ended = heapwise("leaks", path, "--json", *options)
    hw.need(ended.status == 0, str(ended))
    found = json.loads(ended.text)
    hw.need(found["schema"] == "heapwise.leaks/1", f"schema is {found['schema']}")
    return found["leaks"]


def usage_error(ended, *words, status=2):
    hw.need(ended.status == status, f"expected status {status}: {ended}")
    hw.need(ended.text == "", "wrong usage printed a result")
    for word in words:
        hw.need(word in ended.errors, f"no word of {word!r}: {ended}")


def entry(record, name="known"):
    """A suppression of a record by its whole stack."""
    frames = [record["function"]] + [f["function"] for f in record["stack"]]
    frames = frames[:frames.index("main") + 1]
    return f"{{\n{name}\nMemcheck:Leak\nmatch-leak-kinds: {record['kind']}\n" + \
        "".join(f"fun:{f}\n" for f in frames) + "}\n"


def lost(path):
    """Records that are definitely lost; each test needs some."""
    found = leaks(path, "--show-leak-kinds=definite")["records"]
    hw.need(found, "the target has no leak")
    return found


@TESTS.test
def every_form(folder):
    """Every form is written, and its parser reads it"""
    path = recording(folder)
    for form in FORMS:
        ended = heapwise("leaks", f"--format={form}", path)
        hw.need(ended.status == 0 and ended.errors == "", f"{form}: {ended}")
        hw.need("definitely" in ended.text or "definite" in ended.text, f"{form}: {ended.text}")
    hw.need(heapwise("leaks", "--format", "json", path).text == heapwise("leaks", "--json", path).text,
            "--json and --format json differ")
    sarif = json.loads(heapwise("leaks", "--format=sarif", path).text)
    results = sarif["runs"][0]["results"]
    rules = sarif["runs"][0]["tool"]["driver"]["rules"]
    hw.need(sarif["version"] == "2.1.0" and results, "no results")
    for result in results:
        hw.need(rules[result["ruleIndex"]]["id"] == result["ruleId"], f"{result['ruleId']}: another rule's number")
        hw.need(re.fullmatch(r"[0-9a-f]{16}:\d+", result["partialFingerprints"]["heapwiseStack/v1"]),
                f"{result['partialFingerprints']}")
    suite = xml.etree.ElementTree.fromstring(heapwise("leaks", "--format=junit", path).text)[0]
    failures = suite.findall("testcase/failure")
    hw.need(int(suite.get("failures")) == len(failures) == len(results), f"{suite.attrib}")
    hw.need(int(suite.get("tests")) == len(suite.findall("testcase")), f"{suite.attrib}")
    annotations = heapwise("leaks", "--format=github", "-q", path).text.splitlines()
    hw.need(len(annotations) == len(results) and all(line.startswith("::error file=") for line in annotations),
            f"{annotations}")


@TESTS.test
def wrong_options(folder):
    """What an option cannot be is refused before anything is read"""
    missing = folder / "missing.hpw"
    for option, word in (
            ("--show-leak-kinds=lost", "definite, indirect"),
            ("--show-leak-kinds=", "definite, indirect"),
            ("--errors-for-leak-kinds=definite,", "definite, indirect"),
            ("--leak-check=all", "full, yes, summary or no"),
            ("--leak-resolution=1", "low, med or high"),
            ("--num-callers=0", "num-callers"),
            ("--num-callers=501", "num-callers"),
            ("--error-exitcode=256", "0 to 255"),
            ("--gen-suppressions=maybe", "yes, no or all"),
            ("--run-libc-freeres=1", "yes or no"),
            ("--show-reachable=", "yes or no"),
            ("--format=xml", "sarif"),
            ("--limit=0", "limit"),
            ("--unheard-of", "--unheard-of")):
        usage_error(heapwise("leaks", option, missing), word)
        usage_error(heapwise("run", option, "--leak-check=full" if "leak-check=" not in option else "-q",
                             "--", "/bin/true"), word, status=125)
    # Recordings have been searched already.
    for option in ("--leak-check-heuristics=none", "--leak-check-alignment=8"):
        usage_error(heapwise("leaks", option, missing), "missing.hpw", f"heapwise run {option.split('=')[0]}=")
        usage_error(heapwise("leaks", option), "a recording")
    ended = heapwise("leaks", missing)
    hw.need(ended.status == 3 and "missing.hpw" in ended.errors, str(ended))


@TESTS.test
def separate_values(folder):
    """An option's value may stand in the next word"""
    path = recording(folder)
    joined = heapwise("leaks", "--show-leak-kinds=all", "--num-callers=3", "--limit=1", path)
    apart = heapwise("leaks", "--show-leak-kinds", "all", "--num-callers", "3", "--limit", "1", path)
    hw.need(joined.status == 0 and joined.text == apart.text, f"{joined}\n{apart}")


@TESTS.test
def kinds_shown(folder):
    """Kinds are listed as asked, by old names too, and figures are of all"""
    path = recording(folder)
    whole = leaks(path, "--show-leak-kinds=all")
    kinds = {record["kind"] for record in whole["records"]}
    hw.need("definite" in kinds and "reachable" in kinds, f"the target has only {kinds}")
    for options, wanted in (
            ((), {"definite", "possible"}),
            (("--show-leak-kinds=reachable",), {"reachable"}),
            (("--show-leak-kinds=none",), set()),
            (("--show-reachable=yes",), kinds),
            (("--show-reachable=yes", "--show-reachable=no"), {"definite", "possible"}),
            (("--show-possibly-lost=no",), {"definite"})):
        found = leaks(path, *options)
        hw.need({record["kind"] for record in found["records"]} == kinds & wanted, f"{options}: {found['records']}")
        hw.need(found["summary"] == whole["summary"], f"{options}: other figures")
    for options in (("--leak-check=summary",), ("--leak-check=no",)):
        hw.need("records" not in leaks(path, *options), f"{options}: records are listed")


@TESTS.test
def exit_statuses(folder):
    """The status is 0, unless --error-exitcode is given and there are errors"""
    path = recording(folder)
    for options, wanted in (
            ((), 0),
            (("--error-exitcode=0",), 0),
            (("--error-exitcode=7",), 7),
            (("--error-exitcode=7", "--show-leak-kinds=none"), 7),
            (("--error-exitcode=7", "--errors-for-leak-kinds=none"), 0),
            (("--error-exitcode=7", "--errors-for-leak-kinds=reachable"), 7),
            (("--error-exitcode=7", "--leak-check=summary"), 0)):
        ended = heapwise("leaks", *options, path)
        hw.need(ended.status == wanted, f"{options}: expected {wanted}: {ended}")


@TESTS.test
def suppressions(folder):
    """Suppressed places are no errors, leave their kind, and unused entries are named"""
    path = recording(folder)
    supp = folder / "known.supp"
    supp.write_text("".join(entry(record) for record in lost(path)) +
                    "{\nnever-met\nMemcheck:Leak\nfun:never_met\n}\nleak:nothing_like_it\n", encoding="utf-8")
    ended = heapwise("leaks", "--error-exitcode=7", "--errors-for-leak-kinds=definite", f"--suppressions={supp}", path)
    hw.need(ended.status == 0, str(ended))
    hw.need("never-met" in ended.text and "nothing_like_it" in ended.text, "unused entries are not named")
    before, found = leaks(path), leaks(path, "--suppressions", supp)
    hw.need(found["summary"]["definite"]["blocks"] == 0, f"{found['summary']}")
    hw.need(found["summary"]["suppressed"]["blocks"] == before["summary"]["definite"]["blocks"], f"{found['summary']}")
    hw.need([one["name"] for one in found["suppressions"]["unused"]] == ["never-met", "nothing_like_it"],
            f"{found['suppressions']}")
    hw.need(all(record["suppression"] == "known" for record in found["suppressed"]), f"{found['suppressed']}")
    listed = heapwise("leaks", "-s", f"--suppressions={supp}", path).text
    hw.need(f"known  ({supp}:2)" in listed, "-s does not list the used one")


@TESTS.test
def written_suppressions(folder):
    """What --gen-suppressions writes suppresses all that was listed, under the same options"""
    path = recording(folder)
    for more in ((), ("--num-callers=2",)):
        text = heapwise("leaks", "--gen-suppressions=all", "--show-leak-kinds=all", "--format=memcheck", *more, path).text
        entries = re.findall(r"^\{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL)
        hw.need(entries, f"nothing was written: {text}")
        supp = folder / "written.supp"
        supp.write_text("".join(entries), encoding="utf-8")
        found = leaks(path, "--show-leak-kinds=all", f"--suppressions={supp}", *more)
        hw.need(not found["records"], f"{more}: left: {found['records']}")
        hw.need(found["summary"]["suppressed"]["blocks"] > 0, "nothing is suppressed")


@TESTS.test
def bad_suppressions(folder):
    """A malformed suppression file is refused with its line, before the program runs"""
    supp = folder / "bad.supp"
    supp.write_text("# fine\n{\nname\nMemcheck:Leak\nfan:main\n}\n", encoding="utf-8")
    mark = folder / "ran"
    for ended in (heapwise("leaks", f"--suppressions={supp}", recording(folder)),
                  heapwise("run", "--leak-check=full", f"--suppressions={supp}", "--", "/bin/touch", mark)):
        hw.need(ended.status in (3, 125) and "bad.supp:5" in ended.errors, str(ended))
    hw.need(not mark.exists(), "the program ran all the same")
    hw.need(heapwise("leaks", f"--suppressions={folder}/none.supp", folder / "a.hpw").status == 3, "a missing file")


@TESTS.test
def log_file(folder):
    """--log-file takes the process's number, variables and a count, and stdout stays empty"""
    path = recording(folder)
    pid = json.loads(heapwise("leaks", "--json", path).text)["target"]["pid"]
    env = hw.clean_environment(LEAKS_OF="nightly")
    ended = heapwise("leaks", f"--log-file={folder}/%p-%q{{LEAKS_OF}}-%n-%%.log", path, path, env=env)
    hw.need(ended.status == 0 and ended.text == "", str(ended))
    for number in (1, 2):
        log = folder / f"{pid}-nightly-{number}-%.log"
        hw.need(log.exists(), f"there are {sorted(p.name for p in folder.iterdir())}")
        hw.need(log.read_text() == heapwise("leaks", path).text, "the log differs from the result")
    for name, word in (("%q{NOT_SET_AT_ALL}", "NOT_SET_AT_ALL"), ("%q", "braces"), ("%z", "q{NAME}")):
        ended = heapwise("leaks", f"--log-file={folder}/{name}", path)
        hw.need(ended.status == 2 and word in ended.errors, f"{name}: {ended}")
    ended = heapwise("leaks", f"--log-file={folder}/no/such/folder", path)
    hw.need(ended.status == 4 and "no/such/folder" in ended.errors, str(ended))


@TESTS.test
def checked_before(folder):
    """What can't be read or written is said before the program starts"""
    started = folder / "started"
    for option, word in (("--log-file=%x", "after %"), ("--log-file=%q{NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE"),
                         ("--log-file=%q{HOME", "in braces"), ("--log-file=", "missing file name"),
                         (f"--suppressions={folder}", "is a directory")):
        ended = heapwise("run", "-q", "-o", folder / "no.hpw", "--leak-check=full", option, "--", "touch", started)
        usage_error(ended, word, status=125)
        hw.need(not started.exists(), f"{option}: the program was started")


@TESTS.test
def unsearched_gate(folder):
    """A gate that nobody could search for says so; an image that went on by exec is no such case"""
    gate = ("run", "-q", "-o", folder / "%p.hpw", "--leak-check=full", "--error-exitcode=9", "--")
    ended = heapwise(*gate, "sh", "-c", "exec true")
    hw.need(ended.status == 0 and ended.errors == "", f"exec: {ended}")
    ended = heapwise(*gate, "sh", "-c", "kill -9 $$")
    hw.need(ended.status == -signal.SIGKILL and "killed before it was searched" in ended.errors, f"killed: {ended}")
    path = folder / "image.hpw"
    heapwise("run", "-q", "-o", path, "--", "sh", "-c", "exec true")
    ended = heapwise("leaks", path)
    hw.need("executed another program (exec)" in ended.text, f"{ended}")


@TESTS.test
def not_searched(folder):
    """Without a search never freed is shown, and how to learn more"""
    path = recording(folder, options=())
    ended = heapwise("leaks", "--error-exitcode=7", path)
    hw.need(ended.status == 3 and "cannot be decided" in ended.errors, str(ended))
    hw.need("never freed" in ended.text and "--leak-check=full" in ended.text, ended.text)
    found = leaks(path)
    hw.need(found["search"] is None and found["summary"]["definite"] is None, f"{found['summary']}")
    never = found["summary"]["never_freed"]
    hw.need(never["blocks"] == sum(r["blocks"] for r in found["records"]) > 0, f"{never}")
    hw.need(all(record["kind"] == "never_freed" for record in found["records"]), "other kinds")
    memcheck = heapwise("leaks", "--format=memcheck", path).text
    hw.need("LEAK SUMMARY" not in memcheck and "never freed" in memcheck, memcheck)


@TESTS.test
def newest(folder):
    """Without a file the newest recording of the folder is read"""
    recording(folder, name="a.hpw", options=())
    os.utime(folder / "a.hpw", (1, 1))
    path = recording(folder, name="b.hpw")
    ended = heapwise("leaks", cwd=folder)
    hw.need(ended.status == 0 and ended.text == heapwise("leaks", path).text, str(ended))
    hw.need("reading b.hpw" in ended.errors, ended.errors)
    (folder / "empty").mkdir()
    ended = heapwise("leaks", cwd=folder / "empty")
    hw.need(ended.status == 3 and "no recording" in ended.errors, str(ended))


@TESTS.test
def held_by(folder):
    """What is reachable tells the variable that holds it, and the way from there"""
    found = leaks(recording(folder), "--show-leak-kinds=reachable")["records"]
    held = [hold for record in found for hold in record["held_by"]]
    hw.need(held, "nobody holds anything")
    for record in found:
        hw.need(sum(hold["blocks"] for hold in record["held_by"]) == record["blocks"], f"{record}")
    for hold in held:
        hw.need(hold["path"] and hold["text"].count("block") >= 1, f"{hold}")
    named = [hold for hold in held if hold["root"]["place"] == "data" and hold["root"]["name"]]
    hw.need(named and all(str(hold["root"]["file"]).endswith("list_single.c") for hold in named), f"{held}")


@TESTS.test
def examples(folder):
    """Each record has an example with its thread, and its age where the events are kept"""
    for options, dated in ((("--leak-check=full",), True), (("--leak-check=full", "--mode=aggregate"), False)):
        path = recording(folder, name=f"{dated}.hpw", options=options)
        for record in leaks(path, "--show-leak-kinds=all")["records"]:
            example = record["example"]
            hw.need(example["size"] * record["blocks"] >= record["bytes"], f"{record}")
            hw.need(example["tid"] and re.fullmatch("0x[0-9a-f]+", example["address"]), f"{example}")
            hw.need((example["age_ns"] is not None) == dated, f"{options}: {example}")


@TESTS.test
def after_run(folder):
    """`run --leak-check` shows what was found on stderr, with its options, and can fail for it"""
    path = folder / "a.hpw"
    ended = heapwise("run", "-o", path, "--leak-check=full", "--", LEAKY)
    hw.need(ended.status == 0, str(ended))
    hw.need("definitely lost" in ended.errors and "# expect:" in ended.text, str(ended))
    shown = heapwise("leaks", path).text
    hw.need(shown in ended.errors, "run and leaks show different things")
    ended = heapwise("run", "-q", "-f", "-o", path, "--leak-check=full", "--show-leak-kinds=none",
                     "--error-exitcode=9", "--", LEAKY)
    hw.need(ended.status == 9 and ended.errors == "", str(ended))
    ended = heapwise("run", "-q", "-f", "-o", path, "--leak-check=summary", "--error-exitcode=9", "--", LEAKY)
    hw.need(ended.status == 0 and ended.errors == "", str(ended))
    ended = heapwise("run", "-q", "-f", "-o", path, "--leak-check=full", "--error-exitcode=9", "--",
                     "/bin/sh", "-c", "exit 3")
    hw.need(ended.status in (3, 9), str(ended))


@TESTS.test
def gate_holds(folder):
    """A log that can't be written, a damaged result: leaks fail all the same, or the command does; a crash stays one"""
    gate = ("run", "-q", "-f", "-o", folder / "a.hpw", "--leak-check=full", "--error-exitcode=9")
    ended = heapwise(*gate, f"--log-file={folder / 'missing' / 'x'}", "--", LEAKY)
    hw.need(ended.status == 9 and "missing/x" in ended.errors and "definitely lost" in ended.errors, str(ended))
    data = bytearray((folder / "a.hpw").read_bytes())
    at = 32
    while data[at:at + 4] == b"hwck" and int.from_bytes(data[at + 4:at + 6], "little") != 23:  # LEAK_RECORDS
        at += 32 + int.from_bytes(data[at + 8:at + 12], "little")
    data[at + 40] ^= 0xFF
    (folder / "damaged.hpw").write_bytes(data)
    for form in FORMS:
        ended = heapwise("leaks", f"--format={form}", "--error-exitcode=9", folder / "damaged.hpw")
        hw.need(ended.status == 3, f"{form}: {ended}")
        hw.need("no leaks are possible" not in ended.text, f"{form}: {ended.text}")
    ended = heapwise(*gate, "--leak-check-on-death", "--", hw.TARGETS / "leak_moments", stdin=b"a")
    hw.need(ended.status == -6, str(ended))


@TESTS.test
def no_frames_of_ours(folder):
    """What the recorder does to see main end stands in no stack: reports and suppressions are as without it"""
    frames = {}
    for at in ("exit", "main-end"):
        path = recording(folder, name=f"{at}.hpw", options=("--leak-check=full", f"--leak-check-at={at}"))
        frames[at] = [[f["function"] for f in record["stack"]] for record in lost(path)]
        text = heapwise("report", path, "--view", "never-freed", "--all-frames").text
        hw.need("libheapwise" not in text and "main" in text, text)
    hw.need(frames["exit"] == frames["main-end"], f"{frames}")


@TESTS.test
def one_log(folder):
    """A log of several processes has what is said of each"""
    log = folder / "log"
    ended = heapwise("run", "-q", "-o", folder / "x.hpw", "--leak-check=full", f"--log-file={log}", "--",
                     "/bin/sh", "-c", f"{LEAKY}; {LEAKS / 'trees-O2'}; exit 0")
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    text = log.read_text()
    hw.need("list_single" in text and "trees" in text, text)
    log.unlink()
    heapwise("leaks", f"--log-file={log}", *sorted(folder.glob("x*.hpw")))
    text = log.read_text()
    hw.need("list_single" in text and "trees" in text, text)


@TESTS.test
def one_table(folder):
    """CSV of several recordings has one heading and says of each row whose it is; logs of their own have one each"""
    first, second = recording(folder), recording(folder, LEAKS / "trees-O2", name="b, c.hpw")
    wanted = [(str(path), str(record["blocks"])) for path in (first, second) for record in leaks(path)["records"]]
    ended = heapwise("leaks", "--format=csv", first, second)
    rows = list(csv.DictReader(io.StringIO(ended.text), strict=True))
    hw.need({path for path, _ in wanted} == {str(first), str(second)}, f"{wanted}")
    hw.need([(row["recording"], row["blocks"]) for row in rows] == wanted, f"{ended}, not {wanted}")
    heapwise("leaks", "--format=csv", f"--log-file={folder / 'log'}", first, second)
    hw.need((folder / "log").read_text() == ended.text, "one log")
    heapwise("leaks", "--format=csv", f"--log-file={folder / 'log.%n'}", first, second)
    logs = [(folder / f"log.{number}").read_text().splitlines() for number in (1, 2)]
    hw.need(logs[0] + logs[1][1:] == ended.text.splitlines() and logs[0][0] == logs[1][0], f"{logs}")


@TESTS.test
def memcheck_of_moment(folder):
    """As memcheck, of another moment than the exit: all figures are of that moment, and it is named"""
    path = recording(folder, LEAKS / "freed_at_exit-O2", options=("--leak-check=full", "--leak-check-at=main-end"))
    text = heapwise("leaks", "--format=memcheck", path).text
    hw.need("Searched after main returned" in text, text)
    numbers = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:bytes|blocks|allocs|frees)", text)]
    left, allocations, frees = numbers[1:4]
    hw.need(allocations - frees == left > 0, text)
    totals = hw.report(path)["totals"]
    hw.need(totals["allocations"] - totals["frees"] < left, f"{totals}")


@TESTS.test
def named_in_report(folder):
    """The report's verdict names the kinds"""
    path = recording(folder)
    verdict = " ".join(hw.report(path)["verdict"])
    hw.need("definitely lost" in verdict and "heapwise leaks" in verdict, verdict)
    hw.need(hw.report(path)["leaks"]["definite"]["blocks"] == leaks(path)["summary"]["definite"]["blocks"], "figures")
    hw.need(hw.report(recording(folder, name="b.hpw", options=()))["leaks"] is None, "kinds out of nothing")


def masked(text):
    """memcheck's words without what differs from run to run, or only there: numbers of processes, addresses, where
    the allocation function is, and how the kernel starts threads."""
    text = re.sub(r"^(==|--)\d+(==|--)", r"\1P\2", text, flags=re.MULTILINE)
    text = re.sub(r"0x[0-9A-Fa-f]+", "0x?", text)
    text = re.sub(r" \((in [^)]*vgpreload_memcheck[^)]*|vg_replace_malloc\.c:\d+|in libheapwise-rt\.so)\)$", "", text,
                  flags=re.MULTILINE)
    text = re.sub(r"clone3? \(clone3?\.S:\d+\)", "clone", text)
    begin = text.find("==P== HEAP SUMMARY")
    return text[begin if begin >= 0 else 0:]


def beside_valgrind(program, *options, arguments=()):
    """Both outputs, masked; the options are the same for both."""
    def compare(folder):
        if not shutil.which("valgrind"):
            raise hw.Skip("valgrind is not installed (./dev deps --peers)")
        path = folder / "a.hpw"
        hw.run([hw.HEAPWISE, "run", "-q", "-o", path, "--leak-check=full", "--show-leak-kinds=none", "--", program,
                *arguments])
        theirs = folder / "valgrind.log"
        hw.run(["valgrind", "--leak-check=full", f"--log-file={theirs}", *options, program, *arguments])
        ours = heapwise("leaks", "--format=memcheck", *options, path)
        hw.need(ours.status == 0, str(ours))
        expected, found = masked(theirs.read_text(errors="replace")), masked(ours.text)
        words = "rerun with: --leak-check=full" if "--leak-check=no" in options else "LEAK SUMMARY"
        hw.need(words in expected or "no leaks are possible" in expected, f"valgrind: {expected}")
        diff = list(difflib.unified_diff(expected.splitlines(), found.splitlines(), "memcheck", "heapwise", lineterm=""))
        hw.need(not diff, "\n".join(diff[:40]))
    return compare


def main():
    for name, *options in (
            ("list_single", "--show-leak-kinds=all"),
            ("list_single", "-s"),
            ("list_single", "--show-leak-kinds=definite", "--num-callers=2"),
            ("list_single", "--gen-suppressions=all"),
            ("trees", "--show-leak-kinds=all", "--num-callers=3"),
            ("cycles_joined", "--show-leak-kinds=all"),
            ("interior_only", "--leak-check=summary"),
            ("heuristic_length64", "--show-leak-kinds=all"),
            ("heuristic_newarray", "--show-leak-kinds=all"),
            ("heuristic_inheritance", "--leak-check=summary"),
            ("size_zero", "--leak-check=no", "--show-leak-kinds=all")):
        TESTS.add(f"as memcheck: {name} {' '.join(options)}", beside_valgrind(LEAKS / f"{name}-O2", *options))
    TESTS.add("as memcheck: heuristic_stdstring, narrow", beside_valgrind(
        LEAKS / "heuristic_stdstring-O2", "--show-leak-kinds=all", arguments=("narrow",)))
    TESTS.add("as memcheck: nothing left", beside_valgrind(hw.TARGETS / "no_allocation-O2"))
    TESTS.main(width=2)


if __name__ == "__main__":
    main()
