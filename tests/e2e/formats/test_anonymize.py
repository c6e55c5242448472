#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--anonymize: no name of the user's is in what is written, and all figures are."""

import csv
import gzip
import io
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()

# In every place that a name can come from.
MAIN = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#include <heapwise/client.h>
extern "C" void *quokka_library(int n);
struct QuokkaType { int value[25]; };
namespace quokkaspace {
template <typename T> __attribute__((noinline)) T *quokka_make(int n) { return new T[static_cast<unsigned>(n)]; }
}
static char *quokka_global;
static __attribute__((noinline)) void *quokka_xmalloc(int n) { return std::malloc(static_cast<unsigned>(n)); }
static void *quokka_thread(void *)
{
	pthread_setname_np(pthread_self(), "quokka-thread");
	std::free(quokka_library(501));
	std::free(quokka_xmalloc(502));
	usleep(100000);
	std::free(quokka_xmalloc(503));
	return NULL;
}
/* Code made at run time: calls what it is given. */
static void quokka_jit()
{
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf0, 0xff, 0xd0, 0x5d, 0xc3};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	std::memcpy(page, code, sizeof(code));
	char name[64], line[99];
	std::snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	int len = std::snprintf(line, sizeof(line), "%lx 1000 quokka_jitted\n", reinterpret_cast<unsigned long>(page));
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(fd, line, static_cast<unsigned>(len)) != len)
		std::abort();
	close(fd);
	reinterpret_cast<void *(*)(long, void *(*)(long))>(page)(
		303, reinterpret_cast<void *(*)(long)>(reinterpret_cast<void *>(quokka_xmalloc)));
}
int main(int argc, char **argv)
{
	heapwise_mark("quokka-loaded");
	quokka_global = static_cast<char *>(quokka_library(1001));
	std::vector<QuokkaType> *many = new std::vector<QuokkaType>(30);
	QuokkaType *made = quokkaspace::quokka_make<QuokkaType>(7);
	pthread_t thread;
	pthread_create(&thread, NULL, quokka_thread, NULL);
	pthread_join(thread, NULL);
	heapwise_mark("quokka-loaded");
	heapwise_mark("quokka-done");
	void *lost = quokka_xmalloc(77);
	quokka_jit();
	std::printf("%d%p%p%p\n", argc, (void *)many, (void *)made, lost);
	lost = NULL;
	if (fork() == 0) {
		if (argc > 2)
			execl(argv[2], argv[2], "QUOKKA", static_cast<char *>(NULL));
		_exit(0);
	}
	wait(NULL);
	return 0;
}
"""
LIBRARY = """
#include <stdlib.h>
void *quokka_library(int n);
static __attribute__((noinline)) char *quokka_inner(int n) { char *p = malloc((size_t)n); p[0] = 1; return p; }
void *quokka_library(int n) { char *p = quokka_inner(n); p[1] = 2; return p; }
"""
FORMATS = ["pprof", "massif", "dhat", "speedscope", "firefox", "callgrind", "json", "csv", "gperftools", "jemalloc", "jemalloc-live",
           "valgrind", "heaptrack", "heaptrack2", "heaptrack1", "mtrace", "folded"]


def heapwise(*words, status=0, **more):
    ended = hw.run([hw.HEAPWISE, *words], **more)
    hw.need(ended.status == status, f"{words}: {ended}")
    return ended


def recorded(folder):
    hw.need_program("g++")
    app = folder / "QUOKKA-home/quokka-app"
    app.mkdir(parents=True)
    (app / "quokka_main.cc").write_text(MAIN)
    (app / "quokka_library.c").write_text(LIBRARY)
    for command in ("gcc -g -O1 -fPIC -shared \"$PWD/quokka_library.c\" -o libquokka.so.1",
                    f"g++ -g -O1 -I{hw.SOURCE}/include \"$PWD/quokka_main.cc\" -o quokka_app \"$PWD/libquokka.so.1\" "
                    "-Wl,-rpath,\"$PWD\"",
                    "printf 'int main(void){return 0;}' | gcc -static -xc - -o quokka_static"):
        ended = hw.run(["sh", "-c", command], cwd=app)
        hw.need(ended.status == 0, f"{command}: {ended}")
    path = app / "quokka.hpw"
    ended = hw.record([app / "quokka_app", "--QUOKKA=quokka", app / "quokka_static"], path,
                      options=("-q", "--leak-check=full"), cwd=app)
    hw.need(path.exists(), f"{ended}")
    return path


def unpacked(data):
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(["zstd", "-dc"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def names(folder):
    """What is not to be found, in small letters."""
    return ["quokka", folder.name.lower(), platform.node().lower(), "perf-"]


def need_none(data, folder, what):
    text = data.lower()
    for name in names(folder):
        # A host's name of two letters is in what is packed by chance, and in longer words.
        if len(name) < 6:
            if b"\0" in text:
                continue
            found = re.search(rb"(?<![\w])" + re.escape(name.encode()) + rb"(?![\w])", text)
            at = found.start() if found else -1
        else:
            at = text.find(name.encode())
        hw.need(at < 0, f"{what}: {name}: {data[max(0, at - 80):at + 80]!r}")


def totals(path, *options):
    report = json.loads(heapwise("report", "--json", path, *options).text)
    return {key: report[key] for key in ("totals", "threads") if key in report and key == "totals"}


@TESTS.test
def exports(folder):
    """Every written format: none of the names of the command, folders, host, threads, marks, code and files is in it"""
    path = recorded(folder)
    for kind in FORMATS:
        plain, out = folder / f"plain.{kind}", folder / f"out.{kind}"
        heapwise("export", "--format", kind, "-o", plain, path)
        ended = heapwise("export", "--anonymize", "--format", kind, "-o", out, path)
        need_none(unpacked(out.read_bytes()), folder, kind)
        need_none(ended.errors.encode(), folder, f"what is said of {kind}")
        known = b"quokka" in unpacked(plain.read_bytes()).lower()
        hw.need(known, f"{kind} has no name to begin with")
        if kind not in ("speedscope", "firefox", "callgrind", "json", "csv"):
            hw.need(totals(plain) == totals(out), f"{kind}: {totals(plain)}, not {totals(out)}")
    rows = [list(csv.DictReader(io.StringIO((folder / f"{name}.csv").read_text()))) for name in ("plain", "out")]
    figures = [[{key: value for key, value in row.items() if value.isdigit()} for row in table] for table in rows]
    hw.need(len(rows[0]) == len(rows[1]) and
            [row.get("allocated_bytes") for row in figures[0]] == [row.get("allocated_bytes") for row in figures[1]],
            f"{figures}")


@TESTS.test
def views(folder):
    """Reports, trees, flames and graphs: no names, the same figures and shape; a name is one token"""
    path = recorded(folder)
    for words in (["report"], ["report", "--json"], ["report", "--view", "marks"], ["report", "--view", "threads"],
                  ["report", "--json", "--view", "sites", "--all-frames"], ["tree"], ["tree", "--modules"], ["graph"],
                  ["tree", "--json", "--at", "mark:quokka-loaded#2"], ["report", "--thread", "quokka-thread"],
                  ["flame"], ["report", "--view", "files"]):
        plain = heapwise(*words, path)
        ended = heapwise(*words, "--anonymize", path)
        need_none(ended.stdout, folder, f"{words}")
        hw.need(b"uokka" in plain.stdout, f"{words}: {plain.text}")
        numbers = [re.findall(rb"\d+(?:\.\d+)? (?:KiB|B)\b", text) for text in (plain.stdout, ended.stdout)]
        hw.need(words[0] != "tree" or numbers[0] == numbers[1], f"{words}: {numbers}")
    plain, out = (json.loads(heapwise("report", "--json", "--view", "sites", *options, path).text)["sites"]
                  for options in ((), ("--anonymize",)))
    tokens = {}
    hw.need(len(plain) == len(out), "another number of stacks")
    for before, after in zip(plain, out):
        hw.need(len(before["stack"]) == len(after["stack"]), f"{before} {after}")
        for old, new in zip(before["stack"], after["stack"]):
            hw.need(tokens.setdefault(old["function"], new["function"]) == new["function"], f"{old} {new}")
            hw.need(old["line"] == new["line"] and old["inlined"] == new["inlined"], f"{old} {new}")
    hw.need(tokens["main"] == "main" and re.fullmatch(r"function-\d+_alloc", tokens["quokka_xmalloc"]), f"{tokens}")
    hw.need(any((old or "").startswith("std::") and new.startswith("std::function-") for old, new in tokens.items()), f"{tokens}")
    hw.need(len(set(tokens.values())) == len(tokens), f"two names with one token: {tokens}")


@TESTS.test
def files_of_other_tools(folder):
    """What other tools wrote is anonymized too, and so are their texts"""
    path = recorded(folder)
    for kind in ("pprof", "massif", "dhat", "gperftools", "jemalloc", "valgrind", "heaptrack", "mtrace", "folded"):
        heapwise("export", "--format", kind, "-o", folder / f"quokka.{kind}", path)
        for to in ("json", "pprof"):
            heapwise("export", "--anonymize", "--format", to, "-o", folder / "out", folder / f"quokka.{kind}")
            need_none(unpacked((folder / "out").read_bytes()), folder, f"{kind} to {to}")
    (folder / "v.xml").write_text("""<?xml version="1.0"?>
<valgrindoutput><protocolversion>4</protocolversion><protocoltool>memcheck</protocoltool>
<preamble><line>quokka</line></preamble><pid>1</pid><ppid>1</ppid><tool>memcheck</tool>
<usercomment>quokka</usercomment>
<args><vargv><exe>/quokka/valgrind</exe></vargv><argv><exe>./quokka</exe><arg>--quokka</arg></argv></args>
<status><state>RUNNING</state><time>1</time></status>
<error><unique>0x1</unique><tid>1</tid><threadname>quokka</threadname><kind>InvalidRead</kind><what>Invalid read in quokka</what>
<stack><frame><ip>0x109</ip><obj>/quokka/app</obj><fn>quokka_fn</fn><dir>/quokka</dir><file>quokka.c</file><line>3</line></frame></stack>
<auxwhat>Address is in quokka</auxwhat></error>
<status><state>FINISHED</state><time>2</time></status>
<suppcounts><pair><count>1</count><name>quokka</name></pair></suppcounts>
</valgrindoutput>
""")
    for words in (["report", "--view", "errors"], ["report", "--json", "--view", "errors"], ["report"]):
        ended = heapwise(*words, "--anonymize", folder / "v.xml")
        need_none(ended.stdout, folder, f"{words}")
        hw.need("errors" not in words or "InvalidRead" in ended.text, ended.text)


def chunks(data):
    """Payloads of a recording, unpacked."""
    at = 32
    while data[at:at + 4] == b"hwck":
        kind, flags, stored = int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6], int.from_bytes(data[at + 8:at + 12], "little")
        yield kind, unpacked(data[at + 32:at + 32 + stored]) if flags & 1 else data[at + 32:at + 32 + stored]
        at += 32 + stored


@TESTS.test
def bundles(folder):
    """bundle --anonymize: a recording without names, with every figure, that is read as any other"""
    path = recorded(folder)
    out = folder / "out.tar"
    ended = heapwise("bundle", "--anonymize", "-o", "out.tar", path, cwd=folder)
    need_none(out.read_bytes() + ended.stdout + ended.stderr, folder, "bundle")
    with tarfile.open(out) as archive:
        hw.need([member.name for member in archive] == ["manifest.json", "recording/recording.hpw"], f"{ended}")
        hw.need(not any(member.mtime or member.uid or member.uname for member in archive), "when, and whose")
        inner = archive.extractfile("recording/recording.hpw").read()
    kinds = set()
    for kind, payload in chunks(inner):
        kinds.add(kind)
        need_none(payload, folder, f"chunk {kind}")
    before = {kind for kind, _ in chunks(path.read_bytes())}
    hw.need(18 in kinds and kinds - {18} == before - {24, 14}, f"{kinds} {before}")
    for words in (["report"], ["report", "--json", "--view", "sites", "--all-frames"], ["report", "--view", "marks"],
                  ["report", "--view", "threads"], ["report", "--view", "lifetimes"], ["tree", "--lines"],
                  ["report", "--json", "--at", "peak"], ["export", "--format", "heaptrack", "-o", "-"],
                  ["report", "--json", "--from", "1ms"]):
        got = unpacked(heapwise(*words, out).stdout).replace(str(out).encode(), b"recording")
        want = unpacked(heapwise(*words, "--anonymize", path).stdout)
        hw.need(got == want, f"{words}: {got.decode()}\n{want.decode()}")
    leaks = [json.loads(heapwise("leaks", "--json", "--show-leak-kinds=all", which).text)["leaks"]["summary"]
             for which in (path, out)]
    hw.need(leaks[0] == leaks[1] and leaks[0]["never_freed"]["blocks"], f"{leaks}")
    # From a bundle with its files, elsewhere.
    heapwise("bundle", "-o", folder / "whole.tar", path)
    os.rename(path.parent, folder / "hidden")
    heapwise("bundle", "--anonymize", "-o", folder / "again.tar", folder / "whole.tar")
    hw.need((folder / "again.tar").read_bytes() == out.read_bytes(), "another one from a bundle")


@TESTS.test
def bundles_that_cannot_be(folder):
    """bundle --anonymize: of other tools' files, incomplete recordings and --sources it is said what to do instead"""
    path = recorded(folder)
    heapwise("export", "--format", "pprof", "-o", folder / "p.pb.gz", path)
    (folder / "cut.hpw").write_bytes(path.read_bytes()[:-100])
    for name in ("p.pb.gz", "cut.hpw"):
        ended = heapwise("bundle", "--anonymize", "-o", folder / "out.tar", folder / name, status=3)
        hw.need("export --anonymize" in ended.errors, f"{ended}")
    heapwise("bundle", "--anonymize", "--sources", path, status=2)
    hw.need(not [name for name in os.listdir(folder) if name.startswith("out")], f"{os.listdir(folder)}")


@TESTS.test
def tables_of_processes(folder):
    """The table of a folder's recordings: programs, what ran unrecorded, rows without files and files have tokens"""
    hw.need_program("gcc")
    (folder / "QUOKKA").mkdir()
    ended = hw.run(["sh", "-c", "printf 'int main(void){return 0;}' | gcc -static -xc - -o QUOKKA/quokka_static"], cwd=folder)
    hw.need(ended.status == 0, f"{ended}")
    (folder / "QUOKKA/quokka.sh").write_text("/bin/true QUOKKA\n" * 6 + "QUOKKA/quokka_static\n:\n")
    hw.record(["sh", "QUOKKA/quokka.sh"], folder / "QUOKKA/quokka.hpw", cwd=folder)
    for options in ((), ("--json",)):
        plain = heapwise("report", *options, folder / "QUOKKA")
        ended = heapwise("report", "--anonymize", *options, folder / "QUOKKA")
        hw.need(b"uokka" in plain.stdout and "quokka_static" in plain.text, plain.text)
        need_none(ended.stdout, folder, f"{options}")
        hw.need(re.findall(r"[\d.]+ KiB", plain.text) == re.findall(r"[\d.]+ KiB", ended.text), ended.text)
    found = json.loads(ended.text)["recordings"]
    hw.need(len({row["file"] for row in found if row["own_file"]}) == sum(row["own_file"] for row in found), f"{found}")


@TESTS.test
def what_it_goes_with(folder):
    """Names can't be asked for once they are gone: with --focus or --base it is refused"""
    path = recorded(folder)
    for words in (["report", "--focus", "quokka"], ["report", "--base", path], ["export", "--format", "csv", "--ignore", "x"]):
        ended = heapwise(*words, "--anonymize", path, status=2)
        hw.need("--anonymize" in ended.errors and not ended.text, f"{ended}")
    heapwise("report", "--merge", "--anonymize", path, path)


TESTS.main()
