#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that speak to LeakSanitizer, beside the real one: built with it they run alone, built without it
they run under heapwise, and what they print, their exit status, and whether leaks are shown must be the same."""

import json
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
LSAN = hw.TARGETS / "lsan"
SPEAKS = LSAN / "speaks-plain"
SHIM = "libheapwise-lsan.so"


def run(folder, program, *arguments, options=("--as=lsan",), **more):
    """Under heapwise."""
    return hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "a.hpw", *options, "--", program, *arguments], **more)


def shown(ended):
    """How often leaks were shown: each report names the places of what was lost."""
    return ended.errors.count("Direct leak of") or ended.errors.count("definitely lost")


def same(case, real, plain, **more):
    def compare(folder):
        expected = hw.run([LSAN / real, case], **more)
        hw.need("LeakSanitizer has encountered a fatal error" not in expected.errors, f"the real one failed: {expected}")
        found = run(folder, LSAN / plain, case, **more)
        hw.need(found.text == expected.text, f"printed {found.text!r}, under LeakSanitizer {expected.text!r}")
        hw.need(found.status == expected.status, f"{hw.describe(found.status)}, under LeakSanitizer {expected}; {found}")
        hw.need(shown(found) == shown(expected), f"shown: {found.errors!r}, under LeakSanitizer {expected.errors!r}")
    return compare


def cases(name):
    listed = hw.run([LSAN / f"{name}-plain"])
    hw.need(listed.status == 0, str(listed))
    return listed.text.split()


def lost(folder, *options):
    ended = hw.run([hw.HEAPWISE, "leaks", folder / "a.hpw", "--json", "--show-leak-kinds=all", *options])
    hw.need(ended.status == 0, str(ended))
    return json.loads(ended.text)["leaks"]


@TESTS.test
def alone_unaffected(folder):
    """A program that refers to the functions weakly runs without heapwise as ever"""
    ended = hw.run([SPEAKS, "recoverable"])
    hw.need(ended.status == 0 and "found -1" in ended.text, str(ended))


@TESTS.test
def not_loaded_unasked(folder):
    """A program that does not know LeakSanitizer does not get its functions"""
    ended = run(folder, "/usr/bin/env", options=())
    hw.need(ended.status == 0 and "libheapwise-rt.so" in ended.text and SHIM not in ended.text, ended.text)
    ended = run(folder, "/usr/bin/env")
    hw.need(SHIM in ended.text, f"not with --as=lsan either: {ended.text}")


@TESTS.test
def library_speaks(folder):
    """A program whose library refers to the functions gets them, and its word is heard"""
    program = LSAN / "by_library"
    hw.need(hw.run([program]).text == "alone\n", "there are such functions without heapwise")
    ended = run(folder, program, options=("--leak-check=full", "--error-exitcode=9"))
    hw.need(ended.status == 0 and ended.text == "under LeakSanitizer\n", str(ended))


@TESTS.test
def check_without_option(folder):
    """__lsan_do_leak_check searches and ends the program with 23, though nobody asked for a search"""
    ended = run(folder, SPEAKS, "checked_with_leak", options=())
    hw.need(ended.status == 23 and "checked" not in ended.text, str(ended))
    hw.need("1001 B in 1 block" in ended.errors and "speaks.c" in ended.errors, ended.errors)
    hw.need(lost(folder)["search"]["moment"] == "program", "the recording says another moment")


@TESTS.test
def check_then_end(folder):
    """A check without leaks leaves the search at the end to --leak-check, but not to --as=lsan"""
    ended = run(folder, SPEAKS, "checked_before_leak", options=("--leak-check=full", "--error-exitcode=9"))
    hw.need(ended.status == 9, str(ended))
    hw.need(run(folder, SPEAKS, "checked_before_leak").status == 0, "searched again")


@TESTS.test
def held_by_word(folder):
    """What the program says to ignore is reachable, by its own word, and so is what it holds"""
    run(folder, SPEAKS, "ignored", options=("--leak-check=full",))
    held = [r for r in lost(folder)["records"] if r["kind"] == "reachable"]
    places = {w["root"]["place"] for r in held for w in r["held_by"]}
    hw.need(sum(r["bytes"] for r in held) >= 1001 + 77 and "ignored" in places, f"{places} {held}")


@TESTS.test
def suppressions_recorded(folder):
    """The program's suppressions stand in the recording, and count when it is read again, unless refused"""
    run(folder, SPEAKS, "suppressed_by_program", options=("--leak-check=full",))
    hw.need(lost(folder)["summary"]["definite"]["blocks"] == 0, "not suppressed")
    hw.need(lost(folder, "--default-suppressions=no")["summary"]["definite"]["blocks"] == 1, "no leak without them")
    ended = hw.run([hw.HEAPWISE, "leaks", "-s", folder / "a.hpw"])
    hw.need("known_to_lose" in ended.text and "__lsan_default_suppressions" in ended.text, ended.text)


@TESTS.test
def environment_options(folder):
    """LSAN_OPTIONS: exit status, suppressions, no search; before it the program's own; others are named"""
    (folder / "known.supp").write_text("leak:one_lost\nleak:lose_vector\n")
    for program, case in (("speaks", "one_lost"), ("scoped", "lost_behind_scope")):
        for options in ("exitcode=41", "exitcode=0", "suppressions=known.supp", "detect_leaks=0",
                        "max_leaks=1,exitcode=5", "exitcode='6' report_objects=1"):
            env = hw.clean_environment(LSAN_OPTIONS=options)
            same(case, f"{program}-lsan", f"{program}-plain", env=env, cwd=folder)(folder)
    ended = run(folder, SPEAKS, "nothing_lost", env=hw.clean_environment(LSAN_OPTIONS="use_tls=0:exitcode=3"))
    hw.need(ended.status == 0 and ended.errors.count("use_tls") == 1 and "exitcode" not in ended.errors, str(ended))


@TESTS.test
def heapwise_options_win(folder):
    """What is asked of heapwise by name goes before what LeakSanitizer would do"""
    hw.need(run(folder, SPEAKS, "one_lost", options=("--as=lsan", "--error-exitcode=5")).status == 5, "exit status")
    hw.need(run(folder, SPEAKS, "one_lost", options=("--errors-for-leak-kinds=none", "--as=lsan")).status == 0, "kinds")
    ended = run(folder, SPEAKS, "one_lost", options=("--as=asan",))
    hw.need(ended.status == 125 and "expected lsan" in ended.errors, str(ended))


@TESTS.test
def sampled_and_aggregate(folder):
    """In the other modes too: disabled blocks are left out, and a lost one is found"""
    for mode in ("aggregate", "sample:1"):
        for case, status in (("disabled_then_enabled", 23), ("disabled", 0), ("ignored", 0), ("checked_with_leak", 23)):
            ended = run(folder, SPEAKS, case, options=("--as=lsan", f"--mode={mode}"))
            hw.need(ended.status == status, f"{mode} {case}: {ended}")


@TESTS.test
def output_kept(folder):
    """What stands in buffers of streams is written out, though leaks end the program (LeakSanitizer loses it)"""
    source = folder / "buffered.c"
    source.write_text("#include <stdio.h>\n#include <stdlib.h>\n"
                      "static __attribute__((noinline)) void lose(void) { char *volatile p = malloc(1001); p = NULL; }\n"
                      "int main(void) { lose(); volatile char room[9999]; for (int i = 0; i < 9999; i++) room[i] = 0;\n"
                      "printf(\"buffered\\n\"); return 0; }\n")
    built = hw.run(["gcc", "-O0", "-o", folder / "buffered", source])
    hw.need(built.status == 0, str(built))
    ended = run(folder, folder / "buffered")
    hw.need(ended.status == 23 and ended.text == "buffered\n" and shown(ended) == 1, f"{ended.text!r} {ended}")


@TESTS.test
def forms_and_files(folder):
    """The form, the file and the limit that are asked for hold for what the program is shown"""
    ended = run(folder, SPEAKS, "one_lost", options=("--as=lsan", "--format=json", "--log-file=log.%p"), cwd=folder)
    logs = list(folder.glob("log.*"))
    hw.need(ended.status == 23 and len(logs) == 1 and shown(ended) == 0, f"{logs} {ended}")
    records = json.loads(logs[0].read_text())["leaks"]["records"]
    hw.need([r["bytes"] for r in records] == [1001], str(records))


@TESTS.test
def child_with_the_real_one(folder):
    """A child that is built with LeakSanitizer has the real one, and only that"""
    script = '"$1" disabled; echo $?; "$1" one_lost 2>/dev/null; echo $?; exec "$1" checked_with_leak'
    ended = run(folder, "/bin/sh", "-c", script, "sh", LSAN / "speaks-lsan")
    hw.need(ended.status == 23 and ended.text.split() == "main ends 0 main ends 23".split(), f"{ended.text!r} {ended}")
    hw.need("Direct leak of 1001" in ended.errors, ended.errors)


@TESTS.test
def by_environment(folder):
    """heapwise env --as=lsan: a program that is started by something else checks itself"""
    printed = hw.run([hw.HEAPWISE, "env", "--as=lsan", "-f", "-o", folder / "b.hpw"])
    hw.need(printed.status == 0 and SHIM in printed.text, str(printed))
    ended = hw.run(["/bin/sh", "-c", f'{printed.text.strip()}; exec "$@"', "sh", LSAN / "speaks-exports", "checked_with_leak"])
    hw.need(ended.status == 23 and "1001 B in 1 block" in ended.errors, str(ended))
    ended = hw.run(["/bin/sh", "-c", f'{printed.text.strip()}; exec "$@"', "sh", LSAN / "speaks-exports", "one_lost"])
    hw.need(ended.status == 23 and "1001 B in 1 block" in ended.errors, f"at the end: {ended}")


def main():
    variants = [("lsan", "plain"), ("lsan", "exports")]
    if (LSAN / "speaks-clang").exists():
        variants.append(("clang-lsan", "clang"))
    for name in ("speaks", "scoped"):
        for case in cases(name):
            for real, plain in variants:
                TESTS.add(f"as LeakSanitizer: {case.replace('_', ' ')} ({name}-{plain})",
                          same(case, f"{name}-{real}", f"{name}-{plain}"))
    TESTS.main(width=2, sanitized_part=3)


if __name__ == "__main__":
    main()
