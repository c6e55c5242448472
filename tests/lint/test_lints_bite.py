#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Proves that each lint fails on what it is for: every case plants one violation in an otherwise
clean little tree and expects a complaint that names file and line; the clean tree must pass."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
GPL = "/* SPDX-License-Identifier: GPL-2.0-or-later */\n"
LGPL = "/* SPDX-License-Identifier: LGPL-2.1-or-later */\n"
# Written in halves: this file is itself under the check for words.
MACHINE_PATH = "/ro" + "ot/project/x.c"

CLEAN = {
    "src/base/error.h": GPL + "struct error {\n\tint y;\n};\n",
    "src/base/error.c": GPL + '#include "base/error.h"\n\n#include <stdio.h>\n',
    "src/format/kinds.h": LGPL + "#include <stdint.h>\n",
    "src/runtime/core/sys.h": LGPL + "#include <asm/unistd.h>\n",
    "src/runtime/core/ring.c": LGPL + '#include "format/kinds.h"\n#include "sys.h"\n',
    "src/runtime/preload/hooks.c": LGPL + '#include "runtime/core/sys.h"\n#include <dlfcn.h>\n',
    "src/model/model.h": GPL,
    "src/model/model.c": GPL + '#include "model/model.h"\n// printf("x") in words only\n',
    "src/symbols/elf.c": GPL + "#include <gelf.h>\n#include <elfutils/libdw.h>\n",
    "src/sources/hpw.c": GPL + '#include "format/kinds.h"\n#include "model/model.h"\n',
    "src/views/text.c": GPL + '#include "model/model.h"\n',
    "src/cli/main.c": GPL + '#include "model/model.h"\n#include <stdio.h>\nprintf("");\n',
    "tests/unit/base/test_error.c": GPL + '#include "base/error.h"\n#include "lib/tap.h"\n',
    "tests/lib/tap.h": GPL,
    "tests/targets/malloc.c": GPL + '#include "truth.h"\n#include <heapwise/client.h>\n',
    "tests/targets/truth.h": GPL,
    "ARCHITECTURE.md": "## Rooms\n\n| `src/base`, `src/format`, `src/runtime/core`, `src/runtime/preload`, `src/cli`, `src/heap` | x | all rooms of "
                       "the tool |\n| `src/model` | x | base, accounts |\n| `src/accounts` | x | |\n| `src/symbols` | x | base, elfutils, libiberty |\n"
                       "| `src/sources` | x | base, accounts, symbols, heap, model, format, jansson, expat |\n"
                       "| `src/views` | x | base, model, heap |\n",
    "src/heap/walk.c": GPL + "#define STEPS_MOST 20u\n",
    "docs/limits.md": "| `src/heap/walk.c` | `STEPS_MOST` | `20u` | same | steps | a slower way |\n",
    "README.md": "[a house](LICENSE) [elsewhere](https://example.org)\n",
    "LICENSE": "x\n",
    "dev": "# SPDX-License-Identifier: GPL-2.0-or-later\n[BUILD]=\"gcc git meson libelf-dev\"\n",
    "meson.build": "# SPDX-License-Identifier: GPL-2.0-or-later\nproject('x', version: '1.2')\n",
    "debian/control": "Source: x\nBuild-Depends: debhelper-compat (= 13), libelf-dev (>= 1),\n meson,\n\nPackage: x\n",
    "debian/changelog": "heapwise (1.2) unstable; urgency=medium\n",
    "run.sh": "#!/bin/sh\n# SPDX-License-Identifier: GPL-2.0-or-later\nexit 0\n",
}

# A bound outside of the table, in digits, of another value, without an explanation; a row without a bound.
LIMITS = [
    ("src/heap/walk.c", GPL + "#define STEPS_MOST 20u\n#define BLOCKS_MOST 16384u\n", 3, "BLOCKS_MOST"),
    ("src/heap/walk.c", GPL + "#define STEPS_MOST 20u\nenum {\n\tTYPES_MAX = 64,\n};\n", 4, "TYPES_MAX"),
    ("src/heap/walk.c", GPL + "#define STEPS_MOST 20u\n\tfor (int i = 0; i < 50; i++)\n", 3, "digits"),
    ("src/search/walk.c", GPL + "#define PASSES_MAX 50u\n", 2, "PASSES_MAX"),
    ("src/analysis/walk.h", GPL + "#define LIMIT_ROWS 9\n", 2, "LIMIT_ROWS"),
    ("docs/limits.md", "| `src/heap/walk.c` | `STEPS_MOST` | `30u` | same | steps | a slower way |\n", 1, "20u"),
    ("docs/limits.md", "| `src/heap/walk.c` | `STEPS_MOST` | `20u` | fine | steps | nothing |\n", 1, "kind"),
    ("docs/limits.md", "| `src/heap/walk.c` | `STEPS_MOST` | `20u` | same | steps |\n", 1, "columns"),
    ("docs/limits.md", "| `src/heap/walk.c` | `STEPS_MOST` | `20u` | partial | steps | it says so |\n", 1, "names the test"),
    ("docs/limits.md", "| `src/heap/walk.c` | `STEPS_MOST` | `20u` | refused | steps | it says so |\n"
     "- `src/heap/walk.c` `STEPS_MOST`: `tests/unit/test_none.c`\n", 2, "no test tests/unit/test_none.c"),
    ("src/heap/walk.c", GPL, None, "has no STEPS_MOST"),
]

# check, file, what replaces its text, the line that the complaint must name, a word in it
LAYERS = [
    ("src/format/kinds.h", LGPL + "\n#include <string.h>\n", 3, "<string.h>"),
    ("src/format/kinds.h", LGPL + '#include "base/error.h"\n', 2, "src/base"),
    ("src/runtime/core/ring.c", LGPL + "#include <string.h>\n", 2, "<string.h>"),
    ("src/runtime/core/ring.c", LGPL + '#include "../preload/hooks.h"\n', 2, "climb"),
    ("src/runtime/core/ring.c", LGPL + '# include "runtime/preload/h.h"\n', 2, "src/runtime/preload"),
    ("src/runtime/preload/hooks.c", LGPL + "#include <stdio.h>\n", 2, "<stdio.h>"),
    ("src/runtime/preload/hooks.c", LGPL + '#include "base/error.h"\n', 2, "src/base"),
    ("src/base/error.c", GPL + '#include "format/kinds.h"\n', 2, "src/format"),
    ("src/model/model.c", GPL + "#include <stdio.h>\n", 2, "<stdio.h>"),
    ("src/model/model.c", GPL + '#include "format/kinds.h"\n', 2, "src/format"),
    ("src/model/model.c", GPL + "#include <gelf.h>\n", 2, "elfutils"),
    ("src/model/model.c", GPL + 'void f(void)\n{\n\tprintf("x");\n}\n', 4, "print"),
    ("src/base/error.c", GPL + "\texit(1);\n", 2, "exit"),
    ("src/base/error.c", GPL + "\tfputs(text, stderr);\n", 2, "stderr"),
    ("src/sources/hpw.c", GPL + '#include "views/text.h"\n', 2, "src/views"),
    ("src/sources/hpw.c", GPL + "#include <zstd.h>\n", 2, "zstd"),
    ("src/views/text.c", GPL + '#include "sources/recording/hpw.h"\n', 2, "src/sources"),
    ("src/views/text.c", GPL + '#include "heap/inner/text.h"\n', 2, "for itself"),
    ("src/cli/main.c", GPL + '#include "runtime/core/sys.h"\n', 2, "src/runtime"),
    ("src/query/open.c", GPL + '#include "views/text.h"\n', 2, "src/views"),
    ("src/query/open.c", GPL + '#include "cli/terminal/message.h"\n', 2, "src/cli"),
    ("src/query/open.c", GPL + "\tputs(text);\n", 2, "print"),
    ("src/query/open.c", GPL + "\texit(2);\n", 2, "exit"),
    ("tests/embed/ask.c", GPL + '#include "model/model.h"\n', 2, "src/model"),
    ("tests/embed/ask.c", GPL + '#include "query/inner/open.h"\n', 2, "for itself"),
    ("tests/targets/malloc.c", GPL + '#include "base/error.h"\n', 2, "src/base"),
    ("bench/workloads/w.c", GPL + '#include "format/kinds.h"\n', 2, "src/format"),
    ("src/attic/x.c", GPL, 1, ""),
    ("src/views/text.h", GPL + "struct error {\n\tint x;\n};\n", 2, "src/base/error.h, too"),
    ("src/views/text.c", GPL + "/* take() */\nstatic int take(int x)\n{\n\treturn x;\n}\n", 3, "noun_verb"),
    ("ARCHITECTURE.md", "## Rooms\n\n| `src/base` | x | libc, zstd, zlib, xxhash, libarchive |\n| `src/model` | x | base, zstd |\n", 4, "zstd"),
    ("ARCHITECTURE.md", "## Rooms\n\n| `src/base` | x | libc, zstd, xxhash, libarchive |\n", 3, "zlib"),
    ("ARCHITECTURE.md", "## Rooms\n\n| `src/attic` | x | base |\n", 3, "no room"),
    ("ARCHITECTURE.md", "## Rooms\n", 1, "lacks src/views"),
]
PACKAGE = [
    ("debian/control", "Source: x\nBuild-Depends: meson\n", 2, "lacks libelf-dev"),
    ("debian/control", "Build-Depends: meson, libelf-dev,\n zlib1g-dev\n", None, "lacks zlib1g-dev"),
    ("debian/changelog", "heapwise (1.1) unstable; urgency=medium\n", 1, "1.1"),
]
TREE = [
    ("licences", "src/base/error.c", "#include <stdio.h>\n", 1, "no licence"),
    ("licences", "src/base/error.c", LGPL, 1, "GPL-2.0-or-later"),
    ("licences", "src/format/kinds.h", GPL, 1, "LGPL"),
    ("licences", "run.sh", "#!/bin/sh\nexit 0\n", 2, "no licence"),
    ("links", "README.md", "\n[x](docs/gone.md#a)\n", 2, "docs/gone.md"),
    ("length", "src/base/error.c", GPL + "int x;\n" * 900, 901, "900"),
    ("words", "src/base/error.c", GPL + f"// {MACHINE_PATH}\n", 2, "path"),
    ("words", "src/base/error.c", GPL + "/*\n * What is told\n * apart. */\n", 3, "told"),
    ("words", "src/base/error.c", GPL + "/* The same of a file. */\n", 2, "The same of"),
    ("words", "src/base/error.c", GPL + "int x;\nint BYTES_BEHIND;\n", 3, "plainer: after"),
    ("words", "src/base/error.c", GPL + '#include "base/error.h"\nvoid survey_tell(void);\n', 3, "survey"),
    ("format", "src/base/error.c", GPL + "int  x ;\n", None, "clang-format"),
    ("shell", "run.sh", "#!/bin/sh\n# x\necho $1\n", None, "shellcheck"),
]


class Tap:
    def __init__(self):
        self.number = 0

    def result(self, good, name, output="", skip=None):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} - {name}" +
              (f" # SKIP {skip}" if skip else ""))
        if not good:
            print("".join(f"# {line}\n" for line in output.splitlines()), end="")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run(*command):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def plant(tap, scratch, tool, file, text, line, word):
    """tool: the command without its ROOT."""
    tree = scratch / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    for name, clean in {**CLEAN, file: text}.items():
        write(tree / name, clean)
    if "format" in tool:
        shutil.copy(ROOT / ".clang-format", tree)
    status, output = run(*tool, tree)
    name = f"{tool[0].name} {' '.join(tool[1:])}: {file}: {word or 'no room'}"
    if status == 77:
        tap.result(True, name, skip=output.splitlines()[0])
        return
    place = f"{file}:{line}: " if line else ""
    tap.result(status == 1 and any(place in text and word in text for text in output.splitlines()),
               name, f"status {status}, expected '{place}' and '{word}' in:\n{output}")


def clean_tree(tap, scratch):
    tree = scratch / "clean"
    for name, text in CLEAN.items():
        write(tree / name, text)
    shutil.copy(ROOT / ".clang-format", tree)
    for tool in [["check-layers"], ["check-limits"], ["check-package"]] + [["check-tree", check]
                                      for check in ("licences", "links", "length", "words", "shell")]:
        status, output = run(TOOLS / tool[0], *tool[1:], tree)
        skip = output.splitlines()[0] if status == 77 else None
        tap.result(status in (0, 77), f"{' '.join(tool)}: clean tree", output, skip)


def crowded(tap, scratch):
    """A folder of more files than people look through."""
    tree = scratch / "crowded"
    for name, text in {**CLEAN, **{f"src/views/x{number}.h": GPL for number in range(45)}}.items():
        write(tree / name, text)
    status, output = run(TOOLS / "check-tree", "length", tree)
    tap.result(status == 1 and "src/views:46: " in output, "check-tree length: a crowded folder", output)


def binaries(tap, scratch):
    """The two checks that read what the compiler made."""
    source, library, allow = scratch / "x.c", scratch / "libx.so", scratch / "allow"
    write(source, "void *malloc(unsigned long);\nvoid *f(void);\nvoid *f(void)\n"
                  "{\n\treturn malloc(1);\n}\n")
    status, output = run("cc", "-shared", "-fPIC", "-nostartfiles", "-o", library, source)
    tap.result(status == 0, "a library to look at", output)
    for text, good, word in [("malloc # the truth\n", True, ""),
                             ("", False, "needs malloc"),
                             ("malloc\n", False, "no reason"),
                             ("malloc # yes\nfree # no\n", False, "free is not needed")]:
        write(allow, text)
        status, output = run(TOOLS / "check-runtime-symbols", library, allow)
        tap.result(status == (0 if good else 1) and word in output,
                   f"check-runtime-symbols: {word or 'agrees'}", output)

    for text, good in [("static const char *const names[] = {\"a\"};\n"
                        "const char *f(int i);\nconst char *f(int i)\n{\n\treturn names[i];\n}\n", True),
                       ("static int count;\nint f(void);\nint f(void)\n{\n\treturn count++;\n}\n",
                        False)]:
        write(source, text)
        archive = scratch / "build/src/base/libbase.a"
        archive.parent.mkdir(parents=True, exist_ok=True)
        archive.unlink(missing_ok=True)
        run("cc", "-c", "-fPIC", "-o", scratch / "x.o", source)
        run("ar", "rcs", archive, scratch / "x.o")
        status, output = run(TOOLS / "check-globals", scratch / "build")
        tap.result(status == (0 if good else 1) and (good or "count" in output),
                   f"check-globals: {'constants pass' if good else 'a counter fails'}", output)


def tidy(tap, scratch):
    """clang-tidy with our configuration, over a folder where one file is built, another is not."""
    tree = scratch / "tidy"
    source, build = tree / "src/base/x.c", tree / "build"
    write(build / "compile_commands.json", json.dumps(
        [{"directory": str(build), "file": "../src/base/x.c", "command": "cc -c ../src/base/x.c"}]))
    shutil.copy(ROOT / ".clang-tidy", tree)
    write(tree / "src/base/unbuilt.c", GPL + "error\n")
    function = "int f(int a, int b);\nint f(int a, int b)\n{{\n\treturn a + b > 1 && a + {} > 1;\n}}\n"
    for term, word in [("2", ""), ("b", "both sides of operator are equivalent")]:
        write(source, GPL + function.format(term))
        status, output = run(TOOLS / "check-tidy", build, tree)
        place = "src/base/x.c:5:" if word else "1 files"
        good = status == (1 if word else 0) and place in output and word in output
        tap.result(good or status == 77, f"check-tidy: {word or 'a clean file'}", output,
                   skip=output.splitlines()[0] if status == 77 else None)
    # Two of a library are read as one, with other names for what both call the same; where that doesn't compile, each by itself.
    write(build / "compile_commands.json", json.dumps(
        [{"directory": str(build), "file": f"../src/base/{name}.c", "command": f"cc -o base.p/{name}.o -c ../src/base/{name}.c",
          "output": f"base.p/{name}.o"} for name in "xy"]))
    for own, more, how in [
            ("static int g;\n", "int h(void);\nint h(void)\n{\n\treturn 1;\n}\n", "with another"),
            ("static long f;\n#define a 1\nstatic struct f {\n\tint g;\n} g;\n", "static int g;\n", "with another of the same names"),
            ("static long puts;\n", "#include <stdio.h>\n", "by itself")]:
        write(tree / "src/base/x.c", GPL + own)
        write(tree / "src/base/y.c", GPL + function.format("b") + more)
        status, output = run(TOOLS / "check-tidy", build, tree)
        alone = "not together" in output
        tap.result(status == 77 or status == 1 and "src/base/y.c:5:" in output and "2 files" in output and alone == (how == "by itself"),
                   f"check-tidy: a file {how}", output, skip=output.splitlines()[0] if status == 77 else None)


def main():
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="heapwise-lint-") as folder:
        scratch = pathlib.Path(folder)
        clean_tree(tap, scratch)
        crowded(tap, scratch)
        for file, text, line, word in LAYERS:
            plant(tap, scratch, [TOOLS / "check-layers"], file, text, line, word)
        for file, text, line, word in LIMITS:
            plant(tap, scratch, [TOOLS / "check-limits"], file, text, line, word)
        for file, text, line, word in PACKAGE:
            plant(tap, scratch, [TOOLS / "check-package"], file, text, line, word)
        for check, file, text, line, word in TREE:
            plant(tap, scratch, [TOOLS / "check-tree", check], file, text, line, word)
        binaries(tap, scratch)
        tidy(tap, scratch)
    print(f"1..{tap.number}")


os.environ["LC_ALL"] = "C"
sys.exit(main())
