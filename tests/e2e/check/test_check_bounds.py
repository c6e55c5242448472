#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise check`: what its bounds say when they are reached, which options have no effect, and that nothing is left behind."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
# Writes so many lines, then one that depends on a byte that was never written.
LONG = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	unsigned char *volatile block = malloc(4);
	for (long i = atol(argv[1]); i; i--)
		puts("sixty-three characters of a line, and so a mebibyte is 16384 l");
	puts(block[2] & 1 ? "odd" : "even");
	return argc != 2;
}
"""
# Never ends if the lowest bit of a byte that was never written is clear.
SLOW = """#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	unsigned char *volatile block = malloc(1);
	while (!(*block & 1))
		pause();
	return 3;
}
"""
# Reads behind each of so many blocks, so often.
OVER = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	long count = atol(argv[1]), times = atol(argv[2]);
	volatile char **blocks = malloc((unsigned long)count * sizeof(*blocks));
	volatile long sum = 0;
	for (long i = 0; i < count; i++)
		blocks[i] = malloc(32);
	for (long i = 0; i < count; i++)
		for (long k = 0; k < times; k++)
			sum += blocks[i][32];
	puts("done");
	return argc != 3;
}
"""

# Has blocks from libc past the allocator, and frees and moves them as its own; then two wrong frees.
PAST = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_memalign(size_t, size_t);
static long words[8];
int main(int argc, char **argv)
{
	void *own[20];
	for (int i = 0; i < 20; i++)
		own[i] = malloc(40 + (size_t)i);
	for (size_t i = 0; i < 20; i++) {
		char *block = __libc_malloc(100 + i * 300);
		memset(block, 1, 100);
		if (malloc_usable_size(block) < 100)
			puts("usable");
		free(block);
	}
	char *moved = __libc_malloc(30);
	strcpy(moved, "as it was");
	moved = realloc(moved, 60);
	puts(moved);
	free(moved);
	free(__libc_malloc(1 << 20));
	free(__libc_calloc(3, 100));
	free(__libc_memalign(4096, 1 << 20));
	free(__libc_memalign(64, 100));
	void *(*found)(size_t) = (void *(*)(size_t))dlsym(dlopen("libc.so.6", RTLD_NOW), "malloc");
	free(found(77));
	if (argc > 1) {
		free((void *volatile)(words + 2));
		free((char *volatile)own[1] + 16);
	}
	for (int i = 0; i < 20; i++)
		free(own[i]);
	puts(argv[argc] ? "" : "done");
	return 0;
}
"""

# So many children, one after the other, each of which writes behind a block.
FAMILY = """#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void wrong(volatile char *block) { block[16] = 1; }
int main(int argc, char **argv)
{
	for (long i = atol(argv[1]); i; i--) {
		if (!fork()) {
			char *block = malloc(16);
			wrong(block);
			free(block);
			exit(argc != 2);
		}
		wait(NULL);
	}
	return 0;
}
"""


def build(folder):
    (folder / "long.c").write_text(LONG)
    subprocess.run(["cc", "-O1", "-o", folder / "long", folder / "long.c"], check=True)
    return folder / "long"


@TESTS.test
def runs(folder):
    """A search that ends at its bound of runs says that, and no gate passes; numbers beyond the bounds are refused"""
    program = build(folder)
    ended = hw.heapwise("check", "--uninit", "--uninit-runs=6", "--error-exitcode=9", "--", program, "1")
    hw.need(ended.status == 9 and "at its bound of 6 runs" in ended.errors, str(ended))
    for option in ("--uninit=17", "--uninit-runs=5"):
        ended = hw.heapwise("check", option, "--", program, "1")
        hw.need(ended.status == 125 and "expected a number" in ended.errors, str(ended))


@TESTS.test
def family(folder):
    """The summary and documents have the errors of many processes; beyond the bound that some are left out is said, and no gate passes"""
    (folder / "family.c").write_text(FAMILY)
    program = folder / "family"
    subprocess.run(["cc", "-g", "-o", program, folder / "family.c"], check=True)
    ended = hw.heapwise("check", "--error-exitcode=9", "--", program, "60")
    hw.need(ended.status == 9 and "60 errors at 1 place, in 61 processes" in ended.errors, str(ended))
    hw.need("not shown" not in ended.errors, str(ended))
    ended = hw.heapwise("check", "--format=junit", "--error-exitcode=9", "--", program, "60")
    hw.need(ended.status == 9 and 'failures="1" errors="0"' in ended.errors and "60 times" in ended.errors, str(ended))
    ended = hw.heapwise("check", "--error-exitcode=9", "--", program, "520")
    hw.need(ended.status == 9 and "8 more processes may have errors that are not shown" in ended.errors, ended.errors[-2000:])
    hw.need(ended.errors.count("  [InvalidWrite, ") == 520, ended.errors[-2000:])


@TESTS.test
def steps(folder):
    """Errors of more blocks, of one block or in all than pages are closed for again are said, fewer are not; none is lost"""
    (folder / "over.c").write_text(OVER)
    subprocess.run(["cc", "-O1", "-o", folder / "over", folder / "over.c"], check=True)
    for count, times, limited in ((1000, 1, False), (1100, 1, True), (1, 200, False), (1, 300, True), (450, 200, False), (550, 200, True)):
        ended = hw.heapwise("check", "--full", "--before=0", "--json", "--", folder / "over", str(count), str(times))
        last = json.loads([line for line in ended.errors.splitlines() if line.startswith("{")][-1])
        hw.need(ended.status == 0 and ended.text == "done\n" and last["sums"]["errors"] == count, f"{count} {times}: {last}")
        hw.need(("errors" in last["coverage"]["limited_by"]) == limited, f"{count} {times}: {last}")


# Copies so many bytes from behind a block, by one instruction.
ROUNDS = """#include <stdlib.h>
int main(int argc, char **argv)
{
	static char to[4096];
	char *block = malloc(32), *from = block + 32, *at = to;
	unsigned long count = strtoul(argv[1], NULL, 10);
	__asm__ volatile("rep movsb" : "+S"(from), "+D"(at), "+c"(count) : : "memory");
	free(block);
	return argc != 2;
}
"""


@TESTS.test
def rounds(folder):
    """An instruction that repeats itself for longer than it is stepped over leaves a page accessible, and that is said"""
    (folder / "rounds.c").write_text(ROUNDS)
    subprocess.run(["cc", "-O1", "-o", folder / "rounds", folder / "rounds.c"], check=True)
    for count, limited in ((100, False), (2000, True)):
        ended = hw.heapwise("check", "--full", "--before=0", "--json", "--", folder / "rounds", str(count))
        last = json.loads([line for line in ended.errors.splitlines() if line.startswith("{")][-1])
        hw.need(ended.status == 0 and last["sums"]["errors"] == 1, f"{count}: {ended} {last}")
        hw.need(("errors" in last["coverage"]["limited_by"]) == limited, f"{count}: {last}")


@TESTS.test
def slower(folder):
    """A run that goes on for much longer than the first one is ended, and that is the difference"""
    (folder / "slow.c").write_text(SLOW)
    subprocess.run(["cc", "-O1", "-o", folder / "slow", folder / "slow.c"], check=True)
    ended = hw.heapwise("check", "--uninit", "--uninit-runs=6", "--", folder / "slow")
    hw.need("the exit status: 3 or no end within the time that was allowed" in ended.errors, str(ended))
    hw.need(ended.status == 3, str(ended))


@TESTS.test
def long_output(folder):
    """Output beyond what is kept is compared the same in each run, and a difference in it is found"""
    ended = hw.run([hw.HEAPWISE, "check", "--uninit", "--json", "--", build(folder), str(66 << 14)])
    line = next(json.loads(line) for line in ended.errors.splitlines() if '"uninit"' in line)
    hw.need(line["search"]["verdict"] == "found", f"{line}")
    one = line["unwritten"][0]
    hw.need((one["offset"], one["bytes"]) == (2, 1), f"{one}")
    hw.need(one["difference"] == "standard output, after its first 64 MiB", f"{one}")


@TESTS.test
def ineffective(folder):
    """Options without effect are named once; those with one are not"""
    ended = hw.heapwise("check", "--engine=valgrind", "--full", "--seed=7", "--", folder / "none")
    hw.need(ended.status == 127 and ended.errors.count("--full, --seed have no effect with --engine=valgrind") == 1, str(ended))
    ended = hw.heapwise("check", "--engine=valgrind", "--num-callers=7", "--errors=first", "--", folder / "none")
    hw.need("no effect" not in ended.errors, str(ended))
    ended = hw.heapwise("check", "--uninit", "--full", "--", folder / "none")
    hw.need("--full has no effect with --uninit" in ended.errors, str(ended))
    ended = hw.heapwise("check", "--full", "--seed=7", "--", folder / "none")
    hw.need("no effect" not in ended.errors, str(ended))


@TESTS.test
def left_folders(folder):
    """Folders that killed commands have left are removed, but not new ones, those in use, or what a link leads to"""
    for name in ("old", "used", "new"):
        (folder / f"heapwise-check-{name}").mkdir()
        (folder / f"heapwise-check-{name}" / "check.hpw").write_text("x")
    (folder / "elsewhere").mkdir()
    (folder / "heapwise-check-link").symlink_to(folder / "elsewhere")
    for name in ("heapwise-check-old", "heapwise-check-used", "elsewhere"):
        os.utime(folder / name, (time.time() - 3 * 86400,) * 2)
    used = os.open(folder / "heapwise-check-used", os.O_RDONLY)
    fcntl.flock(used, fcntl.LOCK_SH)
    ended = hw.heapwise("check", "-q", "--", "true", env=hw.clean_environment(TMPDIR=folder))
    os.close(used)
    hw.need(ended.status == 0, str(ended))
    left = sorted(path.name for path in folder.iterdir())
    hw.need(left == ["elsewhere", "heapwise-check-link", "heapwise-check-new", "heapwise-check-used"], f"{left}")


# Frees a block twice, says so, and waits for the end of its input.
WAITS = """#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char *volatile block = malloc(33), c;
	free(block);
	free(block);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
"""


def begin(folder, *options):
    """→ the command, its log, its TMPDIR; when the error is printed."""
    (folder / "waits.c").write_text(WAITS)
    subprocess.run(["cc", "-w", "-O0", "-o", folder / "waits", folder / "waits.c"], check=True)
    log, temporary = folder / "log", folder / "tmp"
    temporary.mkdir()
    command = subprocess.Popen([hw.HEAPWISE, "check", "--log-file", log, *options, "--", folder / "waits"], stdin=subprocess.PIPE,
                               env=hw.clean_environment(TMPDIR=temporary), start_new_session=True)
    hw.wait_until(lambda: log.exists() and "[DoubleFree" in log.read_text(), "no error is printed")
    return command, temporary


def collector_of(temporary):
    """Who has the recording open for writing."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            for file in Path(f"/proc/{pid}/fd").iterdir():
                if os.readlink(file).startswith(str(temporary)) and os.readlink(file).endswith(".hpw"):
                    return int(pid)
        except OSError:
            continue
    raise AssertionError("there is no collector")


@TESTS.test
def killed_collector(folder):
    """Errors that were printed before the collector was killed count for the exit status"""
    command, temporary = begin(folder, "--error-exitcode=9")
    os.kill(collector_of(temporary), signal.SIGKILL)
    command.stdin.close()
    hw.need(command.wait(hw.TIMEOUT) == 9, f"{command.returncode}")
    hw.need(not list(temporary.iterdir()), f"{list(temporary.iterdir())}")


@TESTS.test
def killed_command(folder):
    """When the command is killed, its folder goes with the program's end"""
    command, temporary = begin(folder)
    hw.need(len(list(temporary.iterdir())) == 1, "where is the recording?")
    command.kill()
    command.wait(hw.TIMEOUT)
    command.stdin.close()
    hw.wait_until(lambda: not list(temporary.iterdir()), "the folder stays")


@TESTS.test
def past(folder):
    """Blocks that the program had from libc itself are freed without an error, and it is said that they were not checked"""
    (folder / "past.c").write_text(PAST)
    subprocess.run(["cc", "-w", "-o", folder / "past", folder / "past.c"], check=True)
    for options in ((), ("--full",)):
        for arguments, errors in (((), 0), (("wrong",), 2)):
            ended = hw.heapwise("check", *options, "--", folder / "past", *arguments)
            hw.need(ended.status == 0 and ended.text == "as it was\ndone\n", str(ended))
            hw.need(ended.errors.count("[InvalidFree, ") == errors, f"{options} {arguments}: {ended}")
            hw.need("limited by blocks from libc itself, which were not checked" in ended.errors, str(ended))


if __name__ == "__main__":
    TESTS.main()
