#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`heapwise run java`: objects of a JVM from its start, beside malloc's recording, and the JVM unharmed."""

import re
import shutil
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()

# 16 bytes are the header of an array in a 64-bit HotSpot with compressed references.
SOURCE = """
public class Keeper {
	static Object[] kept;
	static void keep(int count) {
		kept = new Object[count];
		for (int i = 0; i < count; i++) kept[i] = new int[6000];
	}
	static java.nio.ByteBuffer last;
	static void direct() { last = java.nio.ByteBuffer.allocateDirect(1000); }
	static void directs(int count) { for (int i = 0; i < count; i++) direct(); }
	public static void main(String[] words) throws Exception {
		keep(1000);
		if (words.length > 0 && words[0].equals("direct")) directs(20000);
		if (words.length > 0 && words[0].equals("child")) {
			Process child = new ProcessBuilder(System.getProperty("java.home") + "/bin/java",
				"-cp", System.getProperty("java.class.path"), "Keeper").inheritIO().start();
			System.out.println("child " + child.waitFor());
		}
		if (words.length > 0 && words[0].equals("halt")) Runtime.getRuntime().halt(5);
		if (words.length > 0 && words[0].equals("kill"))
			new ProcessBuilder("kill", "-KILL", "" + ProcessHandle.current().pid()).start().waitFor();
		System.out.println("kept " + kept.length);
		System.exit(7);
	}
}
"""
ARRAYS, ARRAY = 1000, 16 + 4 * 6000
JAVA = ["java", "-Xmx200m", "-XX:+UseSerialGC"]
FOLDER = tempfile.TemporaryDirectory(prefix="heapwise-test-java-run-")
COMPILING = threading.Lock()


def compiled():
    for name in ("java", "javac"):
        if not shutil.which(name):
            raise hw.Skip(f"no {name} is installed")
    folder = Path(FOLDER.name)
    with COMPILING:
        if not (folder / "Keeper.class").exists():
            (folder / "Keeper.java").write_text(SOURCE)
            ended = hw.run(["javac", "-g", "-d", folder, folder / "Keeper.java"])
            hw.need(ended.status == 0, f"javac: {ended}")
    return folder


def run(folder, *words, options=(), java=tuple(JAVA), main=("Keeper",)):
    return hw.run([hw.HEAPWISE, "run", "-o", "x.hpw", *options, "--", *java, "-cp", str(compiled()), *main, *words],
                  cwd=folder, env=hw.clean_environment())


def profiles(folder):
    return sorted(path for path in Path(folder).iterdir() if path.suffix == ".pb")


def kept(profile):
    rows = [row for row in hw.report(profile, "--view", "sites", "--limit", "10000")["sites"]
            if [frame["function"] for frame in row["stack"]][:2] == ["int[]", "Keeper.keep"]]
    hw.need(len(rows) == 1, rows)
    return rows[0]


@TESTS.test
def from_start(folder):
    """objects and malloc of one run; what the program prints, and its status, are as without"""
    alone = hw.run([*JAVA, "-cp", str(compiled()), "Keeper"], cwd=folder, env=hw.clean_environment())
    ended = run(folder)
    hw.need((ended.status, ended.text) == (alone.status, alone.text) == (7, "kept 1000\n"), f"{ended}, {alone}")
    hw.need("Picked up" not in ended.errors and "WARNING" not in ended.errors, ended.errors)
    found = profiles(folder)
    hw.need(len(found) == 1 and re.fullmatch(r"x\.\d+\.pb", found[0].name), found)
    hw.need(f": {found[0].name} (sampled" in ended.errors, ended.errors)
    row = kept(found[0])
    low, high = row["ranges"]["allocated_bytes"]
    hw.need(low * 0.8 <= ARRAYS * ARRAY <= high * 1.2, row)
    hw.need(0.5 < row["live_bytes"] / (ARRAYS * ARRAY) < 1.7, row)
    hw.need(hw.report(Path(folder) / "x.hpw")["totals"]["allocations"] > 1000, "malloc was not recorded")


@TESTS.test
def native_stacks(folder):
    """malloc's stacks go through compiled Java code, and a perf map names it"""
    options = ("-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-Xbatch",
               "-XX:TieredStopAtLevel=1")
    if hw.run(["java", *options, "-version"]).status:
        raise hw.Skip("this JVM writes no perf map (17 and later do)")
    ended = run(folder, "direct", options=("--no-java",), java=(*JAVA, *options))
    hw.need(ended.status == 7, ended)
    pid = re.search(r"process (\d+)", hw.ask("report", str(Path(folder) / "x.hpw")))[1]
    try:
        lines = hw.ask("flame", "--folded", str(Path(folder) / "x.hpw")).splitlines()
    finally:
        Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)
    direct = [line for line in lines if "Unsafe_AllocateMemory0" in line]
    total = sum(int(line.rpartition(" ")[2]) for line in direct)
    named = sum(int(line.rpartition(" ")[2]) for line in direct if "Keeper.direct" in line)
    # A JVM interprets what is not called often yet: these frames have no names.
    hw.need(total >= 20000 * 1000 and named >= 20000 * 1000 * 0.5, f"{named} of {total}: {direct[:3]}")


@TESTS.test
def endings(folder):
    """halt() writes the profile; of a JVM that is killed it is said to be lost, with --no-java nothing comes"""
    ended = run(folder, "halt")
    hw.need(ended.status == 5 and len(profiles(folder)) == 1, ended)
    profiles(folder)[0].unlink()
    ended = run(folder, "kill", options=["-f"])
    hw.need("the profile of Java objects is lost" in ended.errors and not profiles(folder), ended)
    ended = run(folder, options=["-f", "--no-java"])
    hw.need(ended.status == 7 and "Java objects" not in ended.errors and not profiles(folder), ended)
    ended = run(folder, options=["-f", "-q"])
    hw.need(ended.status == 7 and "Java objects" not in ended.errors and len(profiles(folder)) == 1, ended)


@TESTS.test
def children(folder):
    """JVMs that a program starts are recorded with --java alone, each with its profile"""
    ended = run(folder, "child")
    hw.need(ended.status == 7 and "child 7\n" in ended.text and len(profiles(folder)) == 1, ended)
    hw.need("Picked up" not in ended.errors, ended.errors)
    profiles(folder)[0].unlink()
    ended = run(folder, "child", options=["-f", "--java"])
    hw.need(ended.status == 7 and "child 7\n" in ended.text, ended)
    hw.need(ended.errors.count("Picked up JAVA_TOOL_OPTIONS") == 2, ended.errors)
    hw.need(len(profiles(folder)) == 2 and all(kept(file) for file in profiles(folder)), profiles(folder))
    for file in profiles(folder):
        file.unlink()
    script = Path(folder) / "start.sh"
    script.write_text("#!/bin/sh\n\"$@\"\n")
    script.chmod(0o755)
    ended = run(folder, options=["-f", "--java"], java=["./start.sh", *JAVA])
    hw.need(ended.status == 7 and len(profiles(folder)) == 1, ended)


@TESTS.test
def refused(folder):
    """what stands in the way is said, and the JVM runs all the same"""
    other = Path(folder) / "a,b"
    other.mkdir()
    ended = run(other)
    hw.need(ended.status == 7 and "has a comma" in ended.errors and not profiles(other), ended)
    deep = Path(folder).joinpath(*["d" * 200] * 5)
    deep.mkdir(parents=True)
    ended = run(deep)
    hw.need(ended.status == 7 and "path is too long" in ended.errors and not profiles(deep), ended)
    archive = f"-XX:ArchiveClassesAtExit={folder}/classes.jsa"
    plain = hw.run([*JAVA, archive, "-cp", str(compiled()), "Keeper"], cwd=folder, env=hw.clean_environment())
    ended = run(folder, java=[*JAVA, archive])
    hw.need(ended.status == plain.status and "takes no agent" in ended.errors, f"{ended} {plain}")
    ended = run(folder, options=["-f"], java=[*JAVA, "-version"])
    hw.need(ended.status == 0 and "openjdk" in ended.errors.lower(), ended)
    # An agent that the user gives the JVM comes first, and keeps the sampling.
    library = hw.BUILD / "src/runtime/libheapwise-java.so"
    own = Path(folder) / "own.so"
    shutil.copy(library, own)
    mine = Path(folder) / "mine.pb"
    for file in profiles(folder):
        file.unlink()
    ended = run(folder, options=["-f"], java=[*JAVA, f"-agentpath:{own}=start,exit={mine}"])
    hw.need(ended.status == 7, ended)
    hw.need(profiles(folder) == [mine] and "another agent in this JVM samples" in ended.errors, f"{ended}")


@TESTS.test
def files_of_options(folder):
    """a program whose main class is in an @argfile gets its own words alone, and is recorded"""
    (Path(folder) / "words").write_text(f"-cp {compiled()} Keeper")
    ended = hw.run([hw.HEAPWISE, "run", "-o", "x.hpw", *JAVA, "@words", "halt"], cwd=folder,
                   env=hw.clean_environment())
    hw.need(ended.status == 5 and len(profiles(folder)) == 1 and kept(profiles(folder)[0]), ended)


@TESTS.test
def archives(folder):
    """an option that takes no agent is found behind a class path, in files and in variables, and the JVM runs"""
    archive = f"-XX:ArchiveClassesAtExit={folder}/classes.jsa"
    (Path(folder) / "words").write_text(archive)
    places = [([*JAVA, "-cp", str(compiled()), archive], {}), ([*JAVA, "@words"], {}),
              ([*JAVA, "-XX:VMOptionsFile=words"], {}), (JAVA, {"JDK_JAVA_OPTIONS": archive})]
    for java, variables in places:
        command = [*java, "-cp", str(compiled()), "Keeper"]
        environment = {**hw.clean_environment(), **variables}
        plain = hw.run(command, cwd=folder, env=environment)
        ended = hw.run([hw.HEAPWISE, "run", "-f", "-o", "x.hpw", *command], cwd=folder, env=environment)
        kept_both = "kept 1000" in ended.text, "kept 1000" in plain.text
        hw.need(ended.status == plain.status and kept_both in ((True, True), (False, False)), f"{ended} {plain}")
        hw.need("JVMTI agent" not in ended.text + ended.errors, ended)
        hw.need("takes no agent" in ended.errors and not profiles(folder), ended)


@TESTS.test
def others(folder):
    """JVMs of other versions that are here, too"""
    compiled()
    usual = Path(shutil.which("java")).resolve()
    found = [path for path in Path("/usr/lib/jvm").glob("*/bin/java")
             if not path.parents[1].is_symlink() and path.resolve() != usual]
    if not found:
        raise hw.Skip("no other JVM is installed")
    for path in found:
        ended = run(folder, options=["-f"], java=[str(path), *JAVA[1:]])
        hw.need(ended.status == 7 and "WARNING" not in ended.errors, ended)
        for file in profiles(folder):
            kept(file)
            file.unlink()


TESTS.main()
