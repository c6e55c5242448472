#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is installed beside the programs: manual pages, completions in real shells, the library's .pc file,
and what `version --verbose` says.

Argument: meson.
"""

import os
import re
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from sessions import environment, wait_sessions
from terminal import Terminal

MESON = sys.argv.pop(1)
TESTS = hw.Tests()
BLANKS = "a folder with blanks"


def install(folder):
    """The prefix of an installation below a folder with blanks."""
    root = folder / BLANKS
    ended = hw.run([MESON, "install", "-C", hw.BUILD, "--no-rebuild", "--destdir", root])
    hw.need(ended.status == 0, f"{ended}; {hw.shorten(ended.text)}")
    return next(root.rglob("bin/heapwise")).parents[1]


def commands():
    listed = hw.ask("help").partition("\nCommands\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def words(text):
    return " ".join(text.split())


def shown(page):
    """A manual page as a reader sees it, in lines that are never broken."""
    ended = hw.run([hw.need_program("mandoc"), "-T", "utf8", "-O", "width=1000", page])
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    return words(re.sub(".\b", "", ended.text))


def help_parts(text):
    """What --help says: paragraphs, each option with its text, examples, without how they are laid out."""
    usage, _, rest = text.partition("\n\n")
    about, _, rest = rest.partition("\nOptions\n")
    options, _, examples = rest.partition("\nExamples\n")
    yield usage.removeprefix("Usage: ")
    about = about.split("\n", 1)
    yield about[0]
    yield from re.split(r"\n\n|\n(?=  )", "".join(about[1:]))
    for line in filter(None, options.splitlines()):
        if not line.startswith(" "):
            yield line
            continue
        option = re.fullmatch(r" +(?:-(.), )?--(\S+)(?: (\S+))?  +(.+)", line) or re.fullmatch(r" +()--(\S+) (\S+)  (.+)", line)
        hw.need(option, f"no option: {line!r}")
        yield (f"-{option[1]}, " if option[1] else "") + f"--{option[2]}" + (f" {option[3]}" if option[3] else "")
        yield option[4]
    yield from examples.splitlines()


@TESTS.test
def manuals(folder):
    """Each command has a page, which says what --help says, and mandoc finds nothing wrong with"""
    lint = hw.need_program("mandoc")
    pages = install(folder) / "share/man/man1"
    expected = {"heapwise.1", *(f"heapwise-{name}.1" for name in commands())}
    found = {path.name for path in pages.iterdir()}
    hw.need(found == expected, f"pages: {found ^ expected}")
    ended = hw.run([lint, "-T", "lint", *sorted(pages.iterdir())])
    hw.need(ended.status == 0 and not ended.text, ended.text)
    for name in commands():
        page = shown(pages / f"heapwise-{name}.1")
        for part in help_parts(hw.ask("help", name)):
            hw.need(words(part) in page, f"{name}: the page lacks {part!r}")
    page = shown(pages / "heapwise.1")
    for name in commands():
        hw.need(f" {name} " in page, f"heapwise(1) lacks {name}")


# What is typed, with a tab where it is to be completed, and the words that the command gets, as a pattern: zsh adds the '=' itself.
TYPED = (
    ("rep\t", "<report>"),
    ("run --childr\tno", "<run><--children(=|><)no>"),
    ("leaks --gen-suppressions=al\t", "<leaks><--gen-suppressions=all>"),
    ("run --show-reachable n\t", "<run><--show-reachable(=|><)no>"),
    ("report one\t", "<report><one recording[.]hpw>"),
    ("export -o one\t", "<export><-o><one recording[.]hpw>"),
    ("run ./prog\t", "<run><[.]/program>"),
    ("help timel\t", "<help><timeline>"),
    ("core one.core fragm\t", "<core><one.core><fragmentation>"),
)
SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], "source '{root}/share/bash-completion/completions/heapwise'",
             "heapwise() {{ printf '<%s>' \"$@\"; printf ' %s\\n' of {number}; }}"),
    "zsh": (["-f", "-i"], "fpath=('{root}/share/zsh/site-functions' $fpath); autoload -Uz compinit; compinit -u -D",
            "heapwise() {{ printf '<%s>' \"$@\"; printf ' %s\\n' of {number}; }}"),
    "fish": (["--no-config", "-i"], "source '{root}/share/fish/vendor_completions.d/heapwise.fish'",
             "function heapwise; printf '<%s>' $argv; printf ' %s\\n' of {number}; end"),
}


def completes(shell):
    def test(folder):
        program = hw.need_program(shell)
        root = install(folder)
        place = folder / "place"
        place.mkdir()
        (place / "one recording.hpw").touch()
        (place / "program").touch(0o755)
        options, load, catch = SHELLS[shell]
        # /usr/bin alone: what else completes to a name is no other command here.
        env = hw.clean_environment(HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder, TERM="dumb", PS1="$ ")
        with Terminal(["/usr/bin/env", "-C", place, program, *options], env) as terminal:
            terminal.type(load.format(root=root) + "\n")
            for number, (typed, expected) in enumerate(TYPED):
                terminal.type(catch.format(number=number) + "\n")
                terminal.type(f"heapwise {typed}\n")
                got = terminal.wait(f" of\r\n {number}\r\n")
                hw.need(re.search(expected, got), f"{typed!r}: no {expected} in {got[-500:]!r}")
            terminal.type("exit\n")
            terminal.end()

    test.__doc__ = f"{shell} completes commands, options, their values and files"
    TESTS.add(shell, test)


for name in SHELLS:
    completes(name)


@TESTS.test
def completion_of_nothing(folder):
    """A shell that there is no completion for is refused"""
    ended = hw.heapwise("help", "--completion=tcsh")
    hw.need(ended.status == 2 and "bash, zsh or fish" in ended.errors and not ended.text, str(ended))


@TESTS.test
def pkg_config(folder):
    """A program with a mark is compiled with what pkg-config says of the installed tree, also once that was moved"""
    root = install(folder)
    moved = folder / "moved there"
    root.rename(moved)
    source = folder / "marks.c"
    source.write_text('#include <heapwise/client.h>\n#include <stdlib.h>\n'
                      'int main(void)\n{\n\tfree(malloc(77));\n\theapwise_mark("loaded");\n\treturn 0;\n}\n')
    places = [str(path.parent) for path in moved.rglob("heapwise.pc")]
    hw.need(len(places) == 1, f"heapwise.pc: {places}")
    env = environment(folder, PKG_CONFIG_PATH=places[0])
    build = 'eval "set -- $(pkg-config --cflags --libs heapwise)" && cc -Wall -Werror -o marks marks.c "$@"'
    ended = hw.run(["sh", "-ec", build], env=env, cwd=folder)
    hw.need(ended.status == 0, str(ended))
    version = hw.run(["pkg-config", "--modversion", "heapwise"], env=env).text.strip()
    hw.need(version == hw.ask("version").split()[1], f"version {version}")
    ended = hw.run([moved / "bin/heapwise", "run", "-q", "-o", "x.hpw", "./marks"], env=env, cwd=folder)
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    wait_sessions(folder)
    hw.need("loaded" in hw.ask("report", "--view", "marks", folder / "x.hpw"), "no mark")


@TESTS.test
def install_anywhere(folder):
    """./dev install puts a tree that works where it is told"""
    if not (hw.BUILD / ".packages").exists():
        raise hw.Skip("the build folder is not one of ./dev's")
    hw.need_no_sanitizer("./dev install")
    env = hw.clean_environment(HW_BUILD=hw.BUILD)
    place = folder / BLANKS
    ended = hw.run([hw.SOURCE / "dev", "install", "--prefix", place], env=env, cwd=folder)
    hw.need(ended.status == 0, str(ended))
    ended = hw.run([place / "bin/heapwise", "run", "-q", "-o", folder / "x.hpw", "ls", "/"])
    hw.need(ended.status == 0 and not ended.errors, str(ended))
    hw.need((place / "include/heapwise/client.h").exists(), "the header is not there")
    ended = hw.run([hw.SOURCE / "dev", "install", "--prefix"], env=env)
    hw.need(ended.status == 1 and "--prefix" in ended.errors, str(ended))


@TESTS.test
def version(folder):
    """version --verbose tells the build, libraries, paths and the kernel"""
    short = hw.ask("version")
    said = hw.ask("version", "--verbose")
    hw.need(said.startswith(short) and short.count("\n") == 1, said)
    facts = dict(re.findall(r"(?m)^(\S[^ ]*(?: \S+)?) +(.+)$", said))
    for name in ("commit", "build", "compiler", "glibc", "libraries", "libarchive", "libcurl", "libpcre2-8", "libexpat", "libedit", "libmicrohttpd", "libbpf",
                 "graphviz", "command", "runtime", "lsan", "jemalloc", "mtrace", "debug files", "debuginfod", "names kept", "kernel"):
        hw.need(facts.get(name), f"no {name}: {said}")
    hw.need(facts["command"] == str(hw.HEAPWISE), facts["command"])
    hw.need(facts["runtime"] == str(hw.BUILD / "src/runtime/libheapwise-rt.so"), facts["runtime"])
    hw.need(os.uname().release in facts["kernel"] and "pidfd_open: yes" in said, said)
    for library in ("libzstd", "zlib", "libxxhash", "libelf", "libdw", "jansson"):
        hw.need(re.search(rf"\b{library} \d+\.\d", facts["libraries"]), f"{library}: {facts['libraries']}")
    hw.need("built with" not in said, f"the libraries are those of the build: {said}")
    served = hw.heapwise("version", "-v", env=hw.clean_environment(DEBUGINFOD_URLS="http://127.0.0.1:1/")).text
    hw.need("http://127.0.0.1:1/" in served, served)


def typed(page):
    """The lines after a prompt in a page, without their remarks."""
    return [line.removeprefix("$ ").partition(" #")[0].strip()
            for line in (hw.SOURCE / page).read_text().splitlines() if line.startswith("$ ")]


@TESTS.test
def readme(folder):
    """The commands of the README work one after the other, from any folder"""
    shutil.copy2(hw.EXAMPLES / "two_leaks", folder / "app")
    env = hw.clean_environment(PATH=f"{hw.BUILD}:{os.environ['PATH']}")
    lines = [line for line in typed("README.md") if not line.startswith("./dev ")]
    hw.need(len(lines) == 5, f"the README has {lines}")
    for line in lines:
        ended = hw.run(["sh", "-ec", line], env=env, cwd=folder)
        hw.need(ended.status == 0, f"{line}: {ended}")
    hw.need("<svg" in (folder / "peak.svg").read_text(), "no picture")
    pages = list(folder.glob("heapwise.app.*.html"))
    hw.need(len(pages) == 1 and 'id="heapwise-data"' in pages[0].read_text(), f"{pages}")
    usage = hw.run([hw.SOURCE / "dev"]).text
    for line in typed("README.md"):
        name = line.split()[1]
        hw.need(line in lines or f"\n  {name} " in usage, f"{line}: no such command of ./dev")


@TESTS.test
def documented_options(_):
    """Each command and option that the README and its table name exists"""
    helps = {name: hw.ask("help", name) for name in commands()}
    for page in ("README.md", "docs/questions.md"):
        text = (hw.SOURCE / page).read_text()
        for code in re.findall(r"`(heapwise [^`]+)`", text) + typed(page):
            words = code.split()
            if words[0] != "heapwise" or not words[1].islower():  # `heapwise FILE`
                continue
            hw.need(words[1] in helps, f"{page}: {code}")
            for option in re.findall(r" (--[a-z-]+)", code.partition(" -- ")[0]):
                hw.need(re.search(rf"{option}[ =\[\n]", helps[words[1]]), f"{page}: {code}: {option}")


if __name__ == "__main__":
    TESTS.main(width=1)  # meson has one log of installations
