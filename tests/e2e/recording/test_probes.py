#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The probes of sampled recordings (otel_memory:alloc, free): as notes, under gdb, and under the kernel's tracers."""

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
LIBRARY = hw.BUILD / "src/runtime/libheapwise-rt.so"
BLOCKS = hw.TARGETS / "sampled_blocks"
SAMPLED = ("--mode=sample:20000", "--seed=5")


def steps_of(text):
    """What the program did: [(what, address, size)]."""
    return [(what, int(address, 16), int(size or 0))
            for what, address, size in re.findall(r"^(alloc|free) (0x[0-9a-f]+)(?: (\d+))?$", text, re.M)]


def probes_of(text):
    """What probes said: [(what, address, size, weight)]."""
    return [(what, *(int(number) for number in (numbers + " 0 0").split()[:3]))
            for what, numbers in re.findall(r"^PROBE (alloc|free) ((?:\d+ ?)+)$", text, re.M)]


def need_right(probes, steps, recording):
    """Each probe is of a block of the program, in its order; the frees are those of sampled blocks; weights add up."""
    totals = hw.report(recording)["totals"]
    wanted = iter(steps)
    alive = {}
    for what, address, size, weight in probes:
        hw.need(any(step == (what, address, size if what == "alloc" else 0) for step in wanted),
                f"{what} {address:#x} {size} is not in the program's order")
        if what == "alloc":
            hw.need(weight > size, f"{size} stands for {weight}")
            alive[address] = weight
        else:
            hw.need(address in alive, f"free of {address:#x}, which was not sampled")
            del alive[address]
    allocs = [probe for probe in probes if probe[0] == "alloc"]
    hw.need(len(allocs) > 100 and len(probes) > len(allocs), f"{len(allocs)} of {len(probes)}")
    weights = sum(probe[3] for probe in allocs)
    # The reader adds up fractions, and the program's library allocates a little of its own.
    hw.need(abs(weights - totals["allocated_bytes"]) <= len(allocs), f"{weights}, the recording {totals}")
    left = sum(alive.values())
    hw.need(abs(left - totals["live_bytes_at_end"]) <= len(allocs), f"{left} live by the probes, the recording {totals}")


@TESTS.test
def notes(_):
    """readelf shows both probes with semaphores and arguments, each in a register"""
    shown = hw.run(["readelf", "-n", LIBRARY]).text
    found = {}
    for provider, name, semaphore, arguments in re.findall(
            r"Provider: (\S+)\s+Name: (\S+)\s+Location: 0x[0-9a-f]+, Base: 0x[0-9a-f]+, Semaphore: 0x([0-9a-f]+)\s+Arguments: (.*)", shown):
        hw.need(provider == "otel_memory" and int(semaphore, 16), shown)
        hw.need(re.fullmatch(r"8@%r\w+(?: 8@%r\w+)*", arguments), arguments)
        found.setdefault(name, set()).add(len(arguments.split()))
    hw.need(found == {"alloc": {3}, "free": {1}}, f"{found} {shown}")


GDB = """set breakpoint pending on
set startup-with-shell off
set debuginfod enabled off
set environment LD_PRELOAD {library}
set environment HEAPWISE_OPTIONS {options}
break -probe-stap otel_memory:alloc
commands
silent
printf "PROBE alloc %lu %lu %lu\\n", $_probe_arg0, $_probe_arg1, $_probe_arg2
continue
end
break -probe-stap otel_memory:free
commands
silent
printf "PROBE free %lu\\n", $_probe_arg0
continue
end
run
"""


def under_gdb(folder, *options):
    """→ (what the probes said, the program's steps, its recording)."""
    recording, commands = folder / "g.hpw", folder / "commands"
    commands.write_text(GDB.format(library=LIBRARY, options=" ".join((*options, "-o", str(recording)))))
    ended = hw.run([hw.need_program("gdb"), "-batch", "-nx", "-x", commands, BLOCKS])
    hw.need(ended.status == 0, str(ended))
    complete = lambda: recording.exists() and hw.run([hw.HEAPWISE, "doctor", "--json", recording]).status == 0
    hw.wait_until(complete, "a complete recording")
    return probes_of(ended.text), steps_of(ended.text), recording


@TESTS.test
def arguments_right(folder):
    """gdb sets the semaphores: address, size and weight of each sampled block, and its free, are right"""
    probes, steps, traced = under_gdb(folder, *SAMPLED)
    need_right(probes, steps, traced)
    alone = folder / "alone.hpw"
    hw.record([BLOCKS], alone, options=("-q", *SAMPLED))
    ours, theirs = (hw.report(path)["totals"]["ranges"] for path in (alone, traced))
    hw.need(ours == theirs, f"who listens changes what is sampled: {theirs}, alone {ours}")


@TESTS.test
def exact_silent(folder):
    """In an exact recording no probe fires, whoever listens"""
    probes, steps, recording = under_gdb(folder, "--mode=exact")
    hw.need(not probes and len(steps) > 2000, f"{probes[:3]} {len(steps)}")
    hw.need(hw.report(recording)["totals"]["allocations"] >= 2000, "not recorded")


@TESTS.test
def kernel_tracer(folder):
    """bpftrace sees every process that runs under heapwise, by the library's file"""
    tracer = hw.need_program("bpftrace")
    if os.geteuid():
        raise hw.Skip("bpftrace needs root")
    script, program = folder / "probes.bt", folder / "probed"
    shutil.copy(BLOCKS, program)
    script.write_text(f'BEGIN {{ printf("READY\\n"); }}\n'
                      f'usdt:{LIBRARY}:otel_memory:alloc /comm == "probed"/ {{ printf("PROBE alloc %lu %lu %lu\\n", arg0, arg1, arg2); }}\n'
                      f'usdt:{LIBRARY}:otel_memory:free /comm == "probed"/ {{ printf("PROBE free %lu\\n", arg0); }}\n')
    with subprocess.Popen([tracer, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        lines, complaints = [], []
        reader = threading.Thread(target=lambda: complaints.append(process.stderr.read()))
        reader.start()
        for line in process.stdout:
            lines.append(line)
            if line == "READY\n":
                break
        if "READY\n" not in lines:
            process.kill()
            reader.join()
            raise hw.Skip(f"this kernel does not let bpftrace attach: {complaints}")
        recording = folder / "b.hpw"
        ended = hw.run([hw.HEAPWISE, "run", "-q", "-o", recording, *SAMPLED, program])
        process.send_signal(2)
        lines += process.stdout
        reader.join()
    hw.need(ended.status == 0, str(ended))
    need_right(probes_of("".join(lines)), steps_of(ended.text), recording)


# One at a time: the kernel's breakpoints are in the file, and so in gdb's process, too.
TESTS.main(width=1)
