#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Bugs that real programs once had, put back into their source: `heapwise check` finds each, where memcheck finds it.

Sources are those of Debian's packages, which `./dev deps --peers` fetches into .packages/sources. Each is compiled twice by the
system's compiler, as it is and with the mistake that a release has corrected; both read the same input. The correct one has
no error. Of the other one the error is known: its kind, and where the access, the allocation and the free of the block are.
"""

import hashlib
import json
import re
import shutil
import sys
import tarfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw

TESTS = hw.Tests()
FETCHED = hw.SOURCE / ".packages/sources"
# Frames without inlining, and lines that are the same in both tools.
FLAGS = ["-g", "-O0", "-w", "-fno-omit-frame-pointer", "-D_GNU_SOURCE"]

EXPAT_CONFIG = """
#define BYTEORDER 1234
#define HAVE_GETRANDOM 1
#define XML_CONTEXT_BYTES 1024
#define XML_DTD 1
#define XML_NS 1
"""
# Stops in the text of an entity, goes on, and then gives more than the buffer has room for.
EXPAT_PROGRAM = r"""
#include <expat.h>
#include <stdio.h>
#include <string.h>

static XML_Parser parser;
static int stopped;

static void on_text(void *data, const XML_Char *text, int length)
{
	if (!stopped++)
		XML_StopParser(parser, XML_TRUE);
}

static enum XML_Status feed(const char *text, int room, int is_final)
{
	memcpy(XML_GetBuffer(parser, room), text, strlen(text));
	return XML_ParseBuffer(parser, (int)strlen(text), is_final);
}

int main(int argc, char **argv)
{
	char lines[2][1000];
	FILE *input = fopen(argv[1], "r");
	if (!input || !fgets(lines[0], 1000, input) || !fgets(lines[1], 1000, input))
		return 2;
	fclose(input);
	parser = XML_ParserCreate(NULL);
	XML_SetCharacterDataHandler(parser, on_text);
	feed(lines[0], 1000, 0);
	if (stopped)
		XML_ResumeParser(parser);
	feed(lines[1], 100000, 1);
	printf("%s\n", XML_ErrorString(XML_GetErrorCode(parser)) ?: "no error");
	XML_ParserFree(parser);
	return 0;
}
"""
JQ_FLAGS = ["-DHAVE_ISATTY=1", "-DHAVE_MEMMEM=1", "-DHAVE_TIMEGM=1", "-DHAVE_GMTIME_R=1", "-DHAVE_LOCALTIME_R=1",
            "-DHAVE_MKTIME=1", "-DHAVE_STRPTIME=1", "-DHAVE_STRFTIME=1", "-DHAVE_PTHREAD_KEY_CREATE=1", "-DHAVE_PTHREAD=1",
            "-DHAVE_TM_TM_GMT_OFF=1", "-DHAVE_ALLOCA_H=1", "-DIEEE_8087=1"]
JQ_SOURCES = ["builtin", "bytecode", "compile", "execute", "jq_test", "jv", "jv_alloc", "jv_aux", "jv_dtoa", "jv_file", "jv_parse",
              "jv_print", "jv_unicode", "lexer", "linker", "locfile", "main", "parser", "util"]


def jq_files(root):
    """What jq's build makes out of its source before it compiles."""
    text = (root / "src/builtin.jq").read_text()
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    (root / "src/builtin.inc").write_text("".join(f'"{line}\\n"\n' for line in quoted.splitlines()))
    (root / "src/version.h").write_text('#define JQ_VERSION "1.6"\n')


def expat_files(root):
    (root / "expat_config.h").write_text(EXPAT_CONFIG)
    (root / "program.c").write_text(EXPAT_PROGRAM)


def no_files(root):
    pass


class Bug:
    """A mistake of the past: how to make it again, an input that shows it, and what is to be found.

    after, correct, wrong: in `file`, the first `correct` after the last `after` becomes `wrong`.
    places: the program's own innermost function where the access, the allocation and the free (None: not freed) are.
    """

    def __init__(self, tarball, folder, sources, flags, prepare, file, after, correct, wrong, given, kind, places):
        self.tarball, self.folder, self.sources, self.flags, self.prepare = tarball, folder, sources, flags, prepare
        self.file, self.after, self.correct, self.wrong, self.given = file, after, correct, wrong, given
        self.kind, self.places = kind, places


BUGS = {
    # The byte that ends a number is written after a buffer that the number fills.
    "jq: CVE-2015-8863, a number as long as its buffer": Bug(
        "jq_1.6.orig.tar.gz", "jq-jq-1.6", [f"src/{name}.c" for name in JQ_SOURCES],
        [*JQ_FLAGS, "-I.", "-Isrc", "-lm", "-lpthread"], jq_files,
        "src/jv_parse.c", "static void tokenadd(", "if (p->tokenpos >= (p->tokenlen - 1)) {", "if (p->tokenpos == p->tokenlen) {",
        "1" * 256 + "\n", "InvalidWrite", ("check_literal", "jv_mem_realloc", None)),
    # The string of a tag is not made longer before what %21 stands for is added to it.
    "libyaml: CVE-2014-2525, a tag with many escaped characters": Bug(
        "libyaml_0.2.5.orig.tar.gz", "libyaml-0.2.5",
        [*(f"src/{name}.c" for name in ("api", "reader", "scanner", "parser")), "tests/run-parser.c"],
        ["-Iinclude", '-DYAML_VERSION_STRING="0.2.5"', "-DYAML_VERSION_MAJOR=0", "-DYAML_VERSION_MINOR=2", "-DYAML_VERSION_PATCH=5"],
        no_files,
        "src/scanner.c", "/* Check if it is a URI-escape sequence. */", "if (!STRING_EXTEND(parser, string))\n                goto error;",
        "", "--- !<tag:" + "%21" * 60 + "> text\n", "InvalidWrite", ("yaml_parser_scan_uri_escapes", "yaml_malloc", None)),
    # Names of open elements stay in the buffer, which is freed, where the parser went on within an entity.
    "expat: CVE-2022-40674, an element after a stop in an entity": Bug(
        "expat_2.5.0.orig.tar.gz", "libexpat-R_2_5_0/expat", ["lib/xmlparse.c", "lib/xmlrole.c", "lib/xmltok.c", "program.c"],
        ["-I.", "-Ilib"], expat_files,
        "lib/xmlparse.c", "\ninternalEntityProcessor(XML_Parser parser, const char *s,",
        "    if (result == XML_ERROR_NONE) {\n      if (! storeRawNames(parser))\n        return XML_ERROR_NO_MEMORY;\n    }\n", "",
        "<!DOCTYPE a [<!ENTITY e 'some<i/>text'>]><a>&e;<name>inside\n</name></a>\n",
        "InvalidRead", ("doContent", "XML_GetBuffer", "XML_GetBuffer")),
}


def need_source(bug):
    """The tarball, which must be the one that ./dev names."""
    path = FETCHED / bug.tarball
    if not path.exists():
        raise hw.Skip(f"{bug.tarball} is not in .packages/sources (./dev deps --peers fetches it)")
    named = re.search(rf"^\s*([0-9a-f]{{64}})\s+\S+/{re.escape(bug.tarball)}", (hw.SOURCE / "dev").read_text(), re.MULTILINE)
    hw.need(named, f"./dev does not name {bug.tarball}")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    hw.need(found == named[1], f"{path} has SHA-256 {found}, not {named[1]}: remove it, and ./dev deps --peers fetches it again")
    return path


def unpack(bug, folder):
    with tarfile.open(need_source(bug)) as archive:
        archive.extractall(folder, [one for one in archive.getmembers() if one.name.startswith(bug.folder + "/") and one.isfile()])
    root = folder / bug.folder
    bug.prepare(root)
    return root


def make_mistake(bug, root):
    path = root / bug.file
    text = path.read_text()
    start = text.rfind(bug.after)
    at = text.find(bug.correct, start)
    hw.need(start >= 0 and at >= 0, f"{bug.file} does not have what was to be changed after {bug.after!r}")
    # As many lines as before.
    wrong = bug.wrong + "\n" * (bug.correct.count("\n") - bug.wrong.count("\n"))
    path.write_text(text[:at] + wrong + text[at + len(bug.correct):])
    hw.need(path.read_text() != text, f"{bug.file} is unchanged")


def compile_all(bug, root):
    """→ the correct program, and the one with the mistake."""
    objects = [root / f"{source}.o" for source in bug.sources]
    flags = [flag for flag in bug.flags if not flag.startswith("-l")]
    libraries = [flag for flag in bug.flags if flag.startswith("-l")]

    def build(source):
        ended = hw.run(["gcc", *FLAGS, *flags, "-c", source, "-o", f"{source}.o"], cwd=root)
        hw.need(ended.status == 0, f"{source}: {ended}")

    def link(name):
        ended = hw.run(["gcc", *objects, *libraries, "-o", name], cwd=root)
        hw.need(ended.status == 0, f"{name}: {ended}")
        return root / name

    for source in bug.sources:
        build(source)
    good = link("correct")
    make_mistake(bug, root)
    build(bug.file)
    return good, link("wrong")


def errors_of(folder, command, *options):
    """→ (how it ended, rows of `report --view errors` of what `check` has kept)."""
    kept = folder / "kept"
    ended = hw.run([hw.HEAPWISE, "check", "-f", "-o", kept, *options, "--", *command], cwd=folder)
    shown = hw.heapwise("report", "--json", "--view", "errors", kept)
    hw.need(shown.status == 0, f"{options}: {shown}; {ended}")
    return ended, json.loads(shown.text)["errors"]


def place_of(frames, program):
    """The innermost place in the program's own code: function, file, line."""
    for frame in frames:
        if frame["module"] and Path(frame["module"]).name == program.name:
            return frame["function"], Path(frame["file"] or "?").name, frame["line"]
    return None


def native_key(row, program):
    block = row["block"] or {"allocated_at": [], "freed_at": []}
    stacks = [row["stacks"][0]["stack"], block["allocated_at"], block["freed_at"]]
    return (row["kind"], *(place_of(stack, program) for stack in stacks))


def memcheck_key(row, program):
    """memcheck tells of a freed block first where it was freed, then where it was allocated."""
    access, *others = row["stacks"]
    others = [other for other in others if other["stack"]]
    freed = [other for other in others if "free'd" in (other["what"] or "")]
    allocated = [other for other in others if other not in freed]
    return (row["kind"], place_of(access["stack"], program), place_of(allocated[0]["stack"], program) if allocated else None,
            place_of(freed[0]["stack"], program) if freed else None)


def need_found(bug, program, way, rows, key):
    """The first error is that which is known. → its key"""
    hw.need(rows, f"{way}: nothing was found")
    first = key(rows[0], program)
    functions = tuple(place and place[0] for place in first[1:])
    hw.need((first[0], functions) == (bug.kind, bug.places), f"{way}: found {first}, expected {bug.kind} {bug.places}: {rows[0]}")
    hw.need(all(place is None or place[2] for place in first[1:]), f"{way}: a line is not known: {first}")
    return first


def found(folder, bug):
    need_source(bug)
    hw.need_program("gcc")
    root = unpack(bug, folder)
    good, bad = compile_all(bug, root)
    given = folder / "input"
    given.write_text(bug.given)
    words = [".", given] if "jq" in bug.tarball else [given]
    firsts = {}
    for way in ((), ("--full",)):
        ended, rows = errors_of(folder, [good, *words], *way)
        alone = hw.run([good, *words], cwd=folder)
        hw.need(not rows and (ended.status, ended.stdout) == (alone.status, alone.stdout), f"correct {way}: {rows}; {ended}, {alone}")
        _, rows = errors_of(folder, [bad, *words], *way)
        firsts[way] = need_found(bug, bad, way, rows, native_key)
    if not shutil.which("valgrind"):
        raise hw.Skip("no Valgrind here (./dev deps --peers installs it): found natively, but not compared")
    way = ("--engine=valgrind",)
    _, rows = errors_of(folder, [good, *words], *way)
    hw.need(not rows, f"correct {way}: {rows}")
    _, rows = errors_of(folder, [bad, *words], *way)
    firsts[way] = need_found(bug, bad, way, rows, memcheck_key)
    hw.need(len(set(firsts.values())) == 1, f"not the same everywhere: {firsts}")


for name, one in BUGS.items():
    TESTS.add(name, lambda folder, one=one: found(folder, one))

if __name__ == "__main__":
    TESTS.main()
