# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that run with libheapwise-guard.so, and what it reports: for the tests of its classes of errors.

How they are started is the launcher's: here the library is preloaded by hand, and each report is a line on stderr.
"""

import ctypes
import functools
import mmap
import os
import re
import resource
from collections import Counter

import hw

LIBRARY = hw.BUILD / "src/runtime/libheapwise-guard.so"
TARGETS = hw.TARGETS / "check"

LINE = re.compile(r"heapwise: (?P<kind>\w+)(?: in (?P<call>[^ ]+))?(?: of (?:at least )?(?P<bytes>\d+) bytes?)? at 0x[0-9a-f]+"
                  r"(?: (?P<offset>\d+) bytes (?P<where>before|inside|after) (?P<freed>freed )?block of (?P<size>\d+) bytes"
                  r" at 0x[0-9a-f]+)?(?P<late>, found later|, found at exit)?$")
EXPECTED = re.compile(r"^expect (?P<kind>\w+)(?: (?P<offset>\d+) (?P<where>\w+) (?P<size>\d+)(?P<freed> freed)?)?$", re.M)


class Preload:
    """Starts programs with the library alone."""

    def run(self, arguments, options="", **environment):
        """→ (hw.Ended without the reports in its stderr, list of matches of LINE)."""
        env = hw.clean_environment(LD_PRELOAD=LIBRARY, HEAPWISE_CHECK=options, **environment)
        ended = hw.run(arguments, env=env, preexec_fn=hw.no_core_dumps)
        reports, rest = [], []
        for line in ended.errors.splitlines(keepends=True):
            found = LINE.match(line.rstrip("\n"))
            if found:
                reports.append(found)
            else:
                rest.append(line)
        return hw.Ended(ended.status, ended.stdout, "".join(rest).encode()), reports


LAUNCHER = Preload()


def key_of(found):
    """An error for comparisons: what it is, and where it is if a block is near."""
    facts = found.groupdict()
    if not facts["size"]:
        return facts["kind"]
    return f"{facts['kind']} {facts['offset']} {facts['where']} {facts['size']}" + (" freed" if facts["freed"] else "")


def difference(counted, wanted):
    return f"missing {dict(wanted - counted)}, not expected {dict(counted - wanted)}"


def need_story(program, story, options, launcher=LAUNCHER):
    """The bad form of a story has the reports that it announces, and goes on to its end; the good one has none, and says
    what it says without the library."""
    ended, reports = launcher.run([program, story], options)
    told = f"{program.name} {story} [{options}]"
    hw.need(ended.status == 0 and ended.text.endswith("end\n"), f"{told}: {ended}\n{ended.text[-300:]}")
    wanted, counted = Counter(map(key_of, EXPECTED.finditer(ended.text))), Counter(map(key_of, reports))
    hw.need(wanted == counted, f"{told}: {difference(counted, wanted)}")
    need_same([program, story, "good"], options, launcher)
    return sum(wanted.values())


@functools.cache
def run_alone(arguments, environment):
    """How a program ends without the library. It is compared with runs in several modes: once is enough."""
    return hw.run(arguments, env=hw.clean_environment(**dict(environment)), preexec_fn=hw.no_core_dumps)


def need_same(arguments, options, launcher=LAUNCHER, **environment):
    """A program whose errors end it at most: the same output and end as without the library, and those reports alone that it announces."""
    alone = run_alone(tuple(arguments), tuple(sorted(environment.items())))
    ended, reports = launcher.run(arguments, options, **environment)
    told = f"{' '.join(map(str, arguments))[:100]} [{options}]"
    wanted = sorted(map(key_of, EXPECTED.finditer(ended.text)))
    hw.need(sorted(map(key_of, reports)) == wanted, f"{told}: {[found.group(0) for found in reports[:5]]}, expected {wanted}")
    hw.need((ended.status, ended.stdout, ended.stderr) == (alone.status, alone.stdout, alone.stderr),
            f"{told}: {ended}, alone {alone}\n{hw.shorten(ended.text)}\nalone\n{hw.shorten(alone.text)}")


def kernel_has(backend):
    """Whether this kernel has what a back-end needs, found out without the library."""
    libc = ctypes.CDLL(None, use_errno=True)
    if backend == "madvise":
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        return libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), 102) == 0
    if backend == "uffd":
        fd = libc.syscall(323, os.O_CLOEXEC | 1)
        if fd >= 0:
            os.close(fd)
        return fd >= 0
    return True


def can_lock_all():
    """Whether mlockall() is not refused for the size of what a library adds to a program (docs/check.md)."""
    return os.geteuid() == 0 or resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY


def need_backend(backend):
    if not kernel_has(backend):
        raise hw.Skip(f"this kernel has no back-end {backend}")
