#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The command starts where the programs that it records start; libraries that few commands need are loaded by those."""

import os
import pty
import re
import resource
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402

tests = hw.Tests()
# 18 MiB and 40 MiB; with what libarchive and libcurl bring it was 66 MiB for each.
STARTS, REPORTS = 18_000, 40_000


def within(kib, *arguments):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (kib << 10, resource.RLIM_INFINITY))
    return hw.heapwise(*arguments, preexec_fn=limit)


@tests.test
def little_address_space(folder):
    """Under an address space limit that programs live with, commands answer as they do without one"""
    hw.need_no_sanitizer("these take terabytes of address space")
    path = folder / "x.hpw"
    hw.record([hw.ANSWERS / "two_tables"], path)
    for kib, *command in ((STARTS, "--version"), (STARTS, "--help"), (REPORTS, "report", path), (REPORTS, "leaks", path),
                          (REPORTS, "timeline", path), (REPORTS, "diff", path, path)):
        limited = within(kib, *command)
        hw.need((limited.status, limited.text) == (0, hw.ask(*command)), f"{command} in {kib} KiB: {limited}")


@tests.test
def libraries_missing(folder):
    """What needs a library that can't be loaded says which package has it; all else goes on"""
    hw.need_no_sanitizer("their libraries are searched for in other places")
    path, packed = folder / "x.hpw", folder / "core.gz"
    hw.record([hw.ANSWERS / "two_tables"], path)
    bundle = folder / "x.tar"
    hw.ask("bundle", "-o", bundle, path)
    packed.write_bytes(subprocess.run(["gzip", "-c"], input=b"\x7fELF" + bytes(5000), stdout=subprocess.PIPE, check=True).stdout)
    xml = folder / "x.xml"
    xml.write_text('<?xml version="1.0"?>\n<valgrindoutput>\n</valgrindoutput>\n')
    for name in ("libarchive.so.13", "libcurl.so.4", "libpcre2-8.so.0", "libexpat.so.1", "libedit.so.2", "libmicrohttpd.so.12", "libbpf.so.1"):
        (folder / name).write_bytes(b"no library")
    without = hw.clean_environment(LD_LIBRARY_PATH=folder)
    for package, *command in (("libarchive13", "bundle", "-o", folder / "y.tar", path), ("libarchive13", "report", bundle),
                              ("libarchive13", "core", packed), ("libcurl4", "report", "http://127.0.0.1:9/heap"),
                              ("libmicrohttpd12", "serve", path), ("libpcre2-8-0", "report", "--focus", "a.b", path), ("libpcre2-8-0", "peek", "a.b", path), ("libexpat1", "report", xml)):
        ended = hw.heapwise(*command, env=without)
        hw.need(ended.status == 4 and f"(package {package})" in ended.errors, f"{command}: {ended}")
    hw.need(not (folder / "y.tar").exists(), "half a bundle is left")
    hw.need(hw.heapwise("report", path, env=without).text == hw.ask("report", path), "a report needs none of them")


@tests.test
def libraries_of_the_start(folder):
    """What is loaded before main() is what recording, the recordings' files and names need; the rest comes when it is used"""
    listed = hw.run(["readelf", "-dW", hw.HEAPWISE])
    needed = set(re.findall(r"NEEDED.*\[(\S+?)\.so", listed.text))
    allowed = {"libzstd", "libz", "libxxhash", "libjansson", "libelf", "libdw", "libm", "libc", "ld-linux-x86-64"}
    hw.need("libzstd" in needed and (needed <= allowed or hw.SANITIZERS != "none"), f"{needed - allowed}")


@tests.test
def prompt_without_editor(folder):
    """On a terminal a prompt without libedit says which package has it"""
    hw.need_no_sanitizer("their libraries are searched for in other places")
    path = folder / "x.hpw"
    hw.record([hw.ANSWERS / "two_tables"], path)
    (folder / "libedit.so.2").write_bytes(b"no library")
    ours, theirs = pty.openpty()
    ended = subprocess.run([hw.HEAPWISE, "prompt", path], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
                           env=hw.clean_environment(LD_LIBRARY_PATH=folder, TERM="dumb"), timeout=hw.TIMEOUT / 2)
    os.close(theirs)
    os.close(ours)
    hw.need(ended.returncode == 4 and b"(package libedit2)" in ended.stderr, f"{ended}")


tests.main()
