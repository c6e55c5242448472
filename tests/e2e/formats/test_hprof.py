#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Heap dumps of JVMs that are installed: sizes are those of `jmap -histo`, ways and sums those that the program made."""

import contextlib
import glob
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
ORDERS = 5000
SOURCE = """
import java.lang.ref.*;
import java.util.*;
public class Shop {
	static class Base { byte b; long l; }
	static class Sub extends Base { byte c; short s; int i; Object o; }
	static class Last extends Sub { byte d; double x; }
	static class Order { String id; long amount; int[] parts; Order(int i) { id = "o" + i; parts = new int[i % 5]; } }
	static class Owner { byte[] data = new byte[1000000]; Owner2 more = new Owner2(); }
	static class Owner2 { long[] data = new long[1000]; }
	static class Faint { int a; }
	static class Mild { int a; }
	static final List<Object> CACHE = new ArrayList<>();
	static Owner owner = new Owner();
	static Reference<?> weak, soft = new SoftReference<Object>(new Mild());
	static Faint strong;
	static void fill() {
		for (int i = 0; i < 77; i++)
			Collections.addAll(CACHE, new Base(), new Sub(), new Last(), new boolean[i], new double[i], new char[i]);
		new java.util.concurrent.atomic.LongAdder().add(1);
	}
	public static void main(String[] words) throws Exception {
		Map<String, Order> local = new HashMap<>();
		for (int i = 0; i < COUNT; i++) {
			Order order = new Order(i);
			if (i % 2 == 0) CACHE.add(order); else local.put(order.id, order);
		}
		fill();
		Runnable after = () -> { for (int i = 0; i < 300; i++) CACHE.add(new Base()); };
		System.out.println("ready");
		System.in.read();
		after.run();
		System.out.println("more");
		System.in.read();
		System.out.println(local.size());
	}
}
""".replace("COUNT", str(ORDERS))
PRIMITIVES = dict(B="byte", C="char", D="double", F="float", I="int", J="long", S="short", Z="boolean")


def jdks():
    """The folders of the JDKs here that can dump heaps, each once."""
    found = sorted({str(Path(tool).resolve().parents[1]) for tool in glob.glob("/usr/lib/jvm/*/bin/jmap")})
    if not found:
        raise hw.Skip("no JDK here")
    return [Path(jdk) for jdk in found]


def build(folder, jdk):
    (folder / "Shop.java").write_text(SOURCE)
    made = hw.run([jdk / "bin/javac", "Shop.java"], cwd=folder)
    hw.need(made.status == 0, f"javac: {made}")


@contextlib.contextmanager
def running(folder, jdk, *options):
    process = subprocess.Popen([jdk / "bin/java", *options, "-cp", folder, "Shop"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    try:
        lines = []  # warnings about options come before
        while not lines or (lines[-1] and lines[-1] != "ready\n"):
            lines.append(process.stdout.readline())
        hw.need(lines[-1] == "ready\n", f"{options}: {lines}")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def class_name(name):
    """jmap's "[Ljava.lang.Object;" as "java.lang.Object[]"; hidden classes have a number, with one sign or another."""
    nests = len(name) - len(name.lstrip("["))
    inner = name[nests:]
    if nests:
        inner = inner[1:-1] if inner[0] == "L" else PRIMITIVES[inner]
    return re.sub(r"[/+.]0x", "/0x", inner) + "[]" * nests


def histogram(jdk, pid):
    ended = hw.run([jdk / "bin/jmap", "-histo:live", str(pid)])
    hw.need(ended.status == 0, f"jmap: {ended}")
    rows = re.findall(r"^ *\d+: +(\d+) +(\d+)  (\S+)", ended.stdout.decode(), re.MULTILINE)
    return {class_name(name): (int(count), int(size)) for count, size, name in rows}


def dump(jdk, pid, file, *options):
    ended = hw.run([jdk / "bin/jcmd", str(pid), "GC.heap_dump", *options, str(file)])
    hw.need(file.exists(), f"no dump: {ended}")
    return file


def java_json(*arguments):
    ended = hw.heapwise("java", *arguments, "--json")
    hw.need(ended.status == 0, f"{ended} {ended.stderr}")
    return json.loads(ended.stdout)


def check_sizes(folder, jdk, *options):
    with running(folder, jdk, *options) as process:
        histogram(jdk, process.pid)  # what the first one loads is there in the second
        before = histogram(jdk, process.pid)
        file = dump(jdk, process.pid, folder / "sizes.hprof")
        after = histogram(jdk, process.pid)
    found = java_json(file)
    file.unlink()
    rows = {class_name(row["class"]): (row["instances"], row["bytes"]) for row in found["classes"]}
    steady = {name: row for name, row in before.items() if after.get(name) == row}
    hw.need(len(steady) > 0.9 * len(before), f"{options}: the JVM does not stand still")
    if "-Xshare:off" not in options:  # classes of its archive that are not loaded are in no dump
        steady.pop("java.lang.Class", None)
    if "-XX:+UseSerialGC" in options:  # JDK 25 dumps more of them than jmap counts
        steady.pop("int[]", None)
    wrong = {name: (rows.get(name), row) for name, row in steady.items() if rows.get(name) != row}
    hw.need(not wrong, f"{jdk} {options}: here and by jmap {wrong}; {found['sizes']}")
    hw.need({"Shop$Last", "Shop$Sub", "char[]", "java.lang.Thread"} <= set(steady), f"{sorted(steady)}")
    hw.need("estimates" not in found["sizes"], found["sizes"])


@TESTS.test
def sizes(folder):
    """Instances and bytes of each class are those of jmap -histo:live at the same moment, in all layouts of HotSpot"""
    for jdk in jdks():
        build(folder, jdk)
        for options in ([], ["-Xshare:off"], ["-XX:-UseCompressedOops"], ["-XX:ObjectAlignmentInBytes=16"],
                        ["-XX:+UseSerialGC"]):
            check_sizes(folder, jdk, *options)


@TESTS.test
def compact(folder):
    """Compact headers of 8 bytes, where the JVM has them, and class pointers that are not compressed"""
    for jdk in jdks():
        build(folder, jdk)
        for options in (["-XX:+UseCompactObjectHeaders"],
                        ["-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"]):
            if hw.run([jdk / "bin/java", *options, "-version"]).status == 0:
                check_sizes(folder, jdk, *options)


def ways_of(found):
    return [(way["objects"], way["held_by"]) for way in found["ways"]]


@TESTS.test
def why(folder):
    """What holds objects is named: a static field, a local variable with its frame and thread; weak ones hold nothing"""
    jdk = jdks()[0]
    build(folder, jdk)
    with running(folder, jdk) as process:
        file = dump(jdk, process.pid, folder / "one.hprof")
        packed = dump(jdk, process.pid, folder / "one.hprof.gz", "-gz=1")
        live = java_json(str(process.pid), "--heap", "--why", "Shop$Order")
        left = [name for name in os.listdir("/tmp") if (Path("/tmp") / name / "heap.hprof").exists()]
        hw.need(not left, f"the dump was left in /tmp: {left}")
    found = java_json(file, "--why", "Shop$Order")
    ways = ways_of(found)
    cache = ["[] of java.lang.Object[]", ".elementData of java.util.ArrayList", ".CACHE of class Shop"]
    hw.need((ORDERS // 2, cache) in ways, f"{ways}")
    local = [held for count, held in ways if re.fullmatch(
        r'local variable of Shop\.main\(Shop\.java:\d+\), thread "main"', held[-1])]
    hw.need(local and all(".value of java.util.HashMap$Node" in held for held in local), f"{ways}")
    hw.need(sum(count for count, _ in ways) == ORDERS == found["instances"], f"{found}")
    hw.need(ways_of(live) == ways, f"of the running JVM {ways_of(live)}, of the file {ways}")
    again = java_json(packed)
    plain = java_json(file)
    rows = [{row["class"]: row["bytes"] for row in one["classes"] if "Shop" in row["class"]} for one in (plain, again)]
    hw.need(rows[0] == rows[1] and rows[0], f"{rows}")
    classes = {row["class"]: row for row in plain["classes"]}
    # Headers of 12 bytes and references of 4: an array's elements begin after 16 bytes.
    small = 16 + 16 + 8 * 1000
    hw.need(classes["Shop$Owner2"]["retained_bytes"] == small, f"{classes['Shop$Owner2']}")
    hw.need(classes["Shop$Owner"]["retained_bytes"] == 24 + 16 + 1000000 + small, f"{classes['Shop$Owner']}")
    mild = ways_of(java_json(file, "--why", "Shop$Mild"))
    hw.need(mild == [(1, [".referent of java.lang.ref.SoftReference", ".soft of class Shop"])], f"{mild}")


@TESTS.test
def compared(folder):
    """Two dumps differ by what the program allocated between them"""
    jdk = jdks()[0]
    build(folder, jdk)
    with running(folder, jdk) as process:
        one = dump(jdk, process.pid, folder / "one.hprof")
        process.stdin.write("\n")
        process.stdin.flush()
        hw.need(process.stdout.readline() == "more\n", "it does not go on")
        two = dump(jdk, process.pid, folder / "two.hprof")
    rows = {row["class"]: row for row in java_json(two, "--base", one)["classes"]}
    hw.need(rows["Shop$Base"]["more_instances"] == 300, f"{rows}")
    hw.need(rows["Shop$Base"]["more_bytes"] == 300 * 24 and "Shop$Order" not in rows, f"{rows}")
    text = hw.heapwise("java", two, "--base", one)
    hw.need(text.status == 0 and b"Shop$Base" in text.stdout and b"+300" in text.stdout, f"{text}")


@TESTS.test
def refused(folder):
    """Files that are cut off, are none, or are asked for what they don't have, end with a clear error"""
    jdk = jdks()[0]
    build(folder, jdk)
    with running(folder, jdk) as process:
        file = dump(jdk, process.pid, folder / "one.hprof")
    whole = file.read_bytes()
    for size in (0, 10, 33, 40, 1000, len(whole) // 2, len(whole) - 1, len(whole) - 9):
        file.write_bytes(whole[:size])
        ended = hw.heapwise("java", file)
        hw.need(ended.status == 3 and b"one.hprof" in ended.stderr and not ended.stdout, f"{size}: {ended}")
        hw.need( b"cut off" in ended.stderr, f"{size}: {ended.stderr}")
    file.write_bytes(whole)
    ended = hw.heapwise("java", file, "--why", "Orde")
    hw.need(ended.status == 3 and b"there is 'Shop$Order'" in ended.stderr, f"{ended}")
    ended = hw.heapwise("report", file)
    hw.need(ended.status == 3 and b"'heapwise java FILE'" in ended.stderr, f"{ended}")
    for words in (["--live"], ["--why", "A", "--base", file], ["-d", "3"], ["--json", "--csv"]):
        ended = hw.heapwise("java", file, *words)
        hw.need(ended.status == 2, f"{words}: {ended}")


TESTS.main(width=2)
