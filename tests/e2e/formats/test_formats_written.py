#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise export: what is written is read back by the tools that read such files, with the report's figures. Needs
valgrind, google-perftools, jeprof, chromium, node's npm (`./dev deps --peers`); pprof's own is test_pprof.py."""

import difflib
import csv
import gzip
import json
import re
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from browser import Browser
from hw import ask, heapwise

TESTS = hw.Tests()
OF_EVENTS = ("heaptrack", "heaptrack2", "heaptrack1", "mtrace")  # which not every source has
PERL = "my @a = map { 'x' x $_ } 1 .. 3000; my %h = map { $_ => [$_] } 1 .. 500; sub f { my $n = shift; $n ? f($n - 1) : join ',', 1 .. 999 } $h{$_} = f($_) for 1 .. 40"


def recorded(folder, program=None, name="own", options=()):
    path = folder / f"{name}.hpw"
    if not path.exists():
        command = [hw.TARGETS / program] if program else ["/usr/bin/perl", "-e", PERL]
        ended = hw.record(command, path, options=("-q", *options))
        hw.need(path.exists(), f"nothing was recorded: {ended}")
    return path


def sampled(folder):
    return recorded(folder, name="sampled", options=("--mode", "sample:4K"))


def profile(folder):
    """A file that is no recording: names, no addresses of ours, no peak."""
    path = folder / "foreign.pb.gz"
    if not path.exists():
        ask("export", recorded(folder), "--format", "pprof", "-o", path)
    return path


def sources(folder):
    return recorded(folder), recorded(folder, "peak_middle-O2", "target"), sampled(folder), profile(folder)


NASTY = 'f("a", \'b\'; c)\nd\\e #1 <x>&'


def nasty(folder):
    """A profile whose innermost function has a name with all that means something to one format or another."""
    def field(number, value):
        if isinstance(value, int):
            return bytes([number << 3]) + varint(value)
        return bytes([number << 3 | 2]) + varint(len(value)) + value

    def varint(value):
        parts = []
        while value >= 0x80:
            parts.append(value & 0x7f | 0x80)
            value >>= 7
        return bytes([*parts, value])

    strings = ["", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "main", NASTY,
               "a,b.c"]
    types = [field(1, field(1, name) + field(2, unit)) for name, unit in ((1, 2), (3, 4), (5, 2), (6, 4))]
    functions = [field(5, field(1, 1) + field(2, 7)), field(5, field(1, 2) + field(2, 8) + field(4, 9))]
    locations = [field(4, field(1, number) + field(4, field(1, number) + field(2, 42))) for number in (1, 2)]
    # The second calls itself: main → nasty → nasty, and main → nasty.
    samples = [field(2, b"".join(field(1, number) for number in stack) + b"".join(field(2, value) for value in values))
               for stack, values in (((2, 2, 1), (5, 500, 2, 200)), ((2, 1), (3, 33, 1, 11)), ((1,), (1, 7, 1, 7)))]
    path = folder / "nasty.pb"
    path.write_bytes(b"".join(types + samples + locations + functions + [field(6, text.encode()) for text in strings]))
    return path


def functions_of(source, metric="live_bytes", key=lambda row: row["name"]):
    """{name: (flat, cum)}; what has the same name is added up."""
    found = {}
    for row in json.loads(ask("report", source, "--view", "functions", "--sort", metric, "--json"))["spots"]:
        flat, cum = found.get(key(row), (0, 0))
        found[key(row)] = (flat + row["flat"][metric], cum + row["cum"][metric])
    return {name: figures for name, figures in found.items() if figures[1]}


def need_equal(ours, theirs, what):
    hw.need(ours, f"{what}: nothing to compare")
    if ours != theirs:
        differ = {name: (ours.get(name), theirs.get(name)) for name in ours.keys() | theirs.keys()
                  if ours.get(name) != theirs.get(name)}
        raise hw.Failure(f"{what}: ours, theirs: {dict(sorted(differ.items())[:6])} of {len(ours)}")


def spread_out(stacks):
    """{name: [flat, cum]} of (outermost first, value) pairs."""
    found = {}
    for stack, value in stacks:
        for name in set(stack):
            found.setdefault(name, [0, 0])[1] += value
        found[stack[-1]][0] += value
    return {name: tuple(figures) for name, figures in found.items() if figures[1]}


def export(folder, source, form, *options, name=None):
    """Writes it; returns the file and what is said on stderr."""
    path = folder / (name or f"{source.stem}.{form}")
    ended = heapwise("export", source, "--format", form, "-o", path, *options)
    hw.need(ended.status == 0, f"export --format {form} {options}: {ended}")
    return path, ended.errors


FIGURES = {"allocations": "allocations", "allocated_bytes": "allocated_bytes", "live_blocks": "live_blocks_at_end",
           "live_bytes": "live_bytes_at_end", "peak_blocks": "peak_blocks", "peak_bytes": "peak_bytes"}


def report_of(source):
    """The report, and the sums of its stacks: the totals; of a sample what each stack is rounded to."""
    report = hw.report(source)
    totals = {name: report["totals"][key] for name, key in FIGURES.items()}
    if report["recording"]["sample_bytes"]:
        for name, total in totals.items():
            totals[name] = sum(site[name] for site in report["sites"])
            hw.need(abs(totals[name] - total) <= len(report["sites"]), f"{name}: stacks have {totals[name]} of {total}")
    return report, totals


def need_same(ours, theirs, what):
    if ours != theirs:
        lines = difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "theirs", "ours", lineterm="", n=0)
        raise hw.Failure(f"{what}:\n" + "\n".join(list(lines)[:20]))


@TESTS.test
def massif(folder):
    """massif: ms_print shows what `heapwise timeline` shows, line for line from the numbers of snapshots on"""
    ms_print = hw.need_program("ms_print")
    for options in ((), ("--time-unit=B",), ("--max-snapshots=12", "--threshold=5", "--detailed-freq=2"), ("--to=peak",),
                    ("--heap-admin=0", "--alignment=1", "--alloc-fn=Perl_safesysmalloc")):
        for source in (recorded(folder), recorded(folder, "peak_middle-O2", "target"), sampled(folder)):
            path, errors = export(folder, source, "massif", *options)
            hw.need("only allocations that are live" in errors, f"losses are not said: {errors}")
            hw.need(path.read_text().count("heap_tree=peak") == 1, "peaks")
            theirs = hw.run([ms_print, "--threshold=0", path])
            hw.need(theirs.status == 0, str(theirs))
            text = ask("timeline", source, *options)
            begin = "Number of snapshots: "
            plain = lambda page: re.sub(r", (which is|all) below (the|massif's) threshold|, below massif's threshold",
                                        ", below the threshold", page[page.index(begin):]).rstrip()
            need_same(plain(text), plain(theirs.text), f"{source.name} {options}")


@TESTS.test
def massif_of_states(folder):
    """massif, of what has no moments: the peak, where it is known, and the end, with the report's totals; --time-unit=B is refused"""
    ms_print = hw.need_program("ms_print")
    sums = recorded(folder, name="sums", options=("--mode", "aggregate"))
    for source in (sums, profile(folder)):
        path, errors = export(folder, source, "massif")
        hw.need("Times are unknown" in errors, errors)
        totals = hw.report(source)["totals"]
        wanted = [total for total in (totals["peak_bytes"], totals["live_bytes_at_end"]) if total is not None]
        rows = re.findall(r"^ +\d+ +[\d,]+ +[\d,]+ +([\d,]+) ", hw.run([ms_print, path]).text, re.M)
        hw.need([int(row.replace(",", "")) for row in rows] == wanted, f"{rows}, {wanted}")
        refused = heapwise("export", source, "--format", "massif", "--time-unit=B")
        hw.need(refused.status == 3 and "--time-unit=ms" in refused.errors, str(refused))


DH_VIEW = Path("/usr/libexec/valgrind/dh_view.html")


def dh_view(browser, path):
    """The text of DHAT's own page after the file was chosen in it."""
    browser.open(DH_VIEW.as_uri())
    browser.choose_file("input", path)
    text = browser.when("gTimingsDiv.textContent || document.querySelector('.error')", "document.body.innerText")
    hw.need("Processing time" in text and not browser.exceptions, f"{text[:400]} {browser.exceptions}")
    return text


@TESTS.test
def dhat(folder):
    """dhat: what dh_view.html shows in Chromium has the report's totals and all of its stacks"""
    if not DH_VIEW.exists():
        raise hw.Skip("valgrind is not installed")
    with Browser(folder) as browser:
        for source in sources(folder):
            need_dh_view(browser, folder, source)


def need_dh_view(browser, folder, source):
    path, errors = export(folder, source, "dhat")
    found = json.loads(path.read_text())
    report, totals = report_of(source)
    text = dh_view(browser, path)
    amount = rf"([\d,]+) bytes .*? in ([\d,]+) blocks"
    shown = {name: tuple(int(number.replace(",", "")) for number in re.search(rf"{name}: +{amount}", text).groups())
             for name in (("Total", "At t-gmax", "At t-end") if found["bklt"] else ("Total",))}
    wanted = {"Total": (totals["allocated_bytes"], totals["allocations"])}
    if found["bklt"]:
        wanted["At t-gmax"] = totals["peak_bytes"], totals["peak_blocks"]
        wanted["At t-end"] = totals["live_bytes"], totals["live_blocks"]
        hw.need("is a lower bound" in errors, errors)
    else:
        hw.need("at the end is unknown" in errors, errors)
    hw.need(shown == wanted, f"{source.name}: dh_view shows {shown}, the report {wanted}")
    sites = [site for site in report["sites"] if site["allocations"]]
    hw.need(len(found["pps"]) == len(sites), f"{source.name}: {len(found['pps'])} stacks of {len(sites)}")
    names = {frame["function"] for site in sites for frame in site["stack"] if frame["function"]}
    table = "\n".join(found["ftbl"])
    hw.need(all(name in table for name in names), "functions are missing")


def from_npm(folder, package):
    """The archive of a package, which npm checks."""
    packed = hw.run([hw.need_program("npm"), "pack", "--silent", "--fetch-retries=0", "--fetch-timeout=20000", package],
                    cwd=folder, env=hw.clean_environment(HOME=folder))
    if packed.status != 0:
        raise hw.Skip(f"npm cannot fetch {package}: no network?")
    return tarfile.open(folder / packed.text.split()[-1])


def speedscope_schema(folder):
    """The package's own schema, from npm."""
    with from_npm(folder, "speedscope@1.25.0") as package:
        name = next((name for name in package.getnames() if "file-format-schema" in name), None)
        hw.need(name, "speedscope's package has no schema")
        return json.load(package.extractfile(name))


@TESTS.test
def speedscope(folder):
    """speedscope: each profile has the report's total, each function its flat and cumulative figures"""
    titles = {"Live at the peak": "peak_bytes", "Live at the end": "live_bytes", "Allocated": "allocated_bytes",
              "Allocations": "allocations", "Blocks live at the end": "live_blocks", "Blocks live at the peak": "peak_blocks"}
    for source in (*sources(folder), nasty(folder)):
        path, errors = export(folder, source, "speedscope")
        found = json.loads(path.read_text())
        totals = report_of(source)[1]
        names = [frame["name"] for frame in found["shared"]["frames"]]
        shown = {titles[one["name"]]: one for one in found["profiles"] if one["name"] in titles}
        need_equal({name: total for name, total in totals.items() if total is not None},
                   {name: sum(one["weights"]) for name, one in shown.items()}, source.name)
        hw.need(all(one["endValue"] == sum(one["weights"]) and len(one["weights"]) == len(one["samples"])
                    and all(one["samples"]) for one in found["profiles"]), f"{source.name}: uneven")
        theirs = spread_out(([names[i] for i in stack], weight) for stack, weight in
                            zip(shown["live_bytes"]["samples"], shown["live_bytes"]["weights"]))
        need_equal(functions_of(source), {name: value for name, value in theirs.items() if name[0] != "("}, source.name)


@TESTS.test
def speedscope_by_its_schema(folder):
    """speedscope: files are as speedscope's own JSON schema, from npm, wants them"""
    try:
        import jsonschema
    except ImportError:
        raise hw.Skip("python3-jsonschema is not installed") from None
    schema = speedscope_schema(folder)
    for source in (*sources(folder), nasty(folder)):
        jsonschema.validate(json.loads(export(folder, source, "speedscope")[0].read_text()), schema)


@TESTS.test
def firefox(folder):
    """firefox: tables are whole, stacks are trees, each thread has the report's total and its functions"""
    for source in (*sources(folder), nasty(folder)):
        found = json.loads(export(folder, source, "firefox")[0].read_text())
        totals = report_of(source)[1]
        hw.need(found["meta"]["preprocessedProfileVersion"] == 48, "version")
        sums = {}
        for thread in found["threads"]:
            for name, table in thread.items():
                if isinstance(table, dict) and "length" in table:
                    hw.need(all(len(column) == table["length"] for column in table.values() if isinstance(column, list)),
                            f"{source.name}: {name} is uneven")
            stacks, frames, functions = thread["stackTable"], thread["frameTable"], thread["funcTable"]
            hw.need(all(prefix is None or prefix < i for i, prefix in enumerate(stacks["prefix"])), "prefixes")
            hw.need(all(frame < frames["length"] for frame in stacks["frame"]), "frames")
            hw.need(all(function < functions["length"] for function in frames["func"]), "functions")

            def names_of(stack):
                names = []
                while stack is not None:
                    names.append(thread["stringArray"][functions["name"][frames["func"][stacks["frame"][stack]]]])
                    stack = stacks["prefix"][stack]
                return names[::-1]

            allocations = thread["nativeAllocations"]
            sums[thread["name"]] = sum(allocations["weight"])
            if thread["name"] == "Live at the end":
                theirs = spread_out((names_of(stack) or ["(no stack)"], weight)
                                    for stack, weight in zip(allocations["stack"], allocations["weight"]))
                theirs.pop("(no stack)", None)
                need_equal(functions_of(source), theirs, source.name)
        wanted = {"Live at the peak": totals["peak_bytes"], "Live at the end": totals["live_bytes"],
                  "Allocated": totals["allocated_bytes"]}
        need_equal({name: total for name, total in wanted.items() if total is not None}, sums, source.name)


class FirefoxProfiler:
    """A file in Firefox's profiler without its pages, as its makers have that on npm: the same program reads it."""

    PACKAGE = "@firefox-devtools/profiler-cli@0.10.0"

    def __init__(self, folder, path):
        node, self.folder = hw.need_program("node"), folder
        if not (folder / "package").exists():
            with from_npm(folder, self.PACKAGE) as package:
                package.extractall(folder)
        self.command = [node, folder / "package/dist/profiler-cli.js"]
        self.environment = hw.clean_environment(HOME=folder, PROFILER_CLI_SESSION_DIR=folder, PROFILER_CLI_NO_SYMBOLICATE=1)
        # Not its `load`, which starts the same in the background, and gives up after half a second.
        self.log = folder / f"{path.stem}.log"
        self.process = subprocess.Popen([*self.command, "--daemon", path, "--session", path.stem], env=self.environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        try:
            hw.wait_until(self.is_loaded, "Firefox's profiler does not end reading it")
        except hw.Failure:
            self.__exit__()
            raise
        return self

    def is_loaded(self):
        said = self.log.read_text(errors="replace") if self.log.exists() else ""
        hw.need("Failed to load" not in said and self.process.poll() is None, f"Firefox's profiler does not read it: {said}")
        return "Profile loaded" in said

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def functions(self, thread):
        """Its name, and {function: (flat, cum)}."""
        ended = hw.run([*self.command, "thread", "functions", "--json", "--limit", "0", "--thread", f"t-{thread}"],
                       env=self.environment)
        hw.need(ended.status == 0, f"profiler-cli: {ended}")
        found, sums = json.loads(ended.text), {}
        hw.need(found["weightType"] == "bytes", f"weights of {found['weightType']}")
        for one in found["functions"]:
            flat, cum = sums.get(one["name"], (0, 0))
            sums[one["name"]] = flat + one["selfSamples"], cum + one["totalSamples"]
        return found["friendlyThreadName"], sums


@TESTS.test
def firefox_by_its_profiler(folder):
    """firefox: Firefox's profiler, from npm, shows the report's functions, also beside a thread with nothing to show"""
    target, foreign = recorded(folder, "peak_twice-O2", "target"), profile(folder)
    for source, shown in ((target, ("Live at the peak", "Live at the end", "Allocated")), (foreign, ("Live at the end",))):
        with FirefoxProfiler(folder, export(folder, source, "firefox")[0]) as profiler:
            for number, name in enumerate(shown):
                metric = {"Live at the peak": "peak_bytes", "Live at the end": "live_bytes"}.get(name, "allocated_bytes")
                title, theirs = profiler.functions(number)
                hw.need(title == name, f"{source.name}: {title}, not {name}")
                if (source, name) == (target, "Live at the end"):
                    hw.need(theirs == {}, f"{theirs}")
                else:
                    need_equal(functions_of(source, metric), theirs, f"{source.name}: {name}")


def annotated(path, *options):
    """What callgrind_annotate shows: totals by event, and {(file, function): figures}."""
    ended = hw.run([hw.need_program("callgrind_annotate"), "--threshold=100", "--show-percs=no", "--auto=no", *options, path],
                   cwd=path.parent)  # it shortens names below the folder that it is in, of some lines alone
    hw.need(ended.status == 0 and "WARNING" not in ended.errors, f"callgrind_annotate: {ended}")
    events = re.search(r"^Events shown: +(.*)$", ended.text, re.M)[1].split()
    numbers = rf"^ *((?:[\d,]+ +){{{len(events)}}})"
    row = lambda words: dict(zip(events, (int(word.replace(",", "")) for word in words.split())))
    totals = row(re.search(numbers + "PROGRAM TOTALS", ended.text, re.M)[1])
    functions = {}
    for figures, name in re.findall(numbers + r"(\S*?:.*?)(?: \[[^\]]*\])?$", ended.text, re.M):
        functions[name] = row(figures)
    return totals, functions


@TESTS.test
def callgrind(folder):
    """callgrind: callgrind_annotate shows the report's totals, and of functions, recursive ones too, its inclusive and own figures"""
    for source in (*sources(folder), recorded(folder, "deep-O2", "deep"), nasty(folder)):
        path, errors = export(folder, source, "callgrind")
        wanted = report_of(source)[1]
        for metric in ("live_bytes", "allocations"):
            # As a file has it: names that stand in several files or modules are one there.
            plain = lambda name: re.sub(r"'\d+$", "", name.split(":", 1)[1].replace("\n", "?"))
            ours = {name.replace("\n", "?"): figures for name, figures in functions_of(source, metric).items()}
            own, inclusive = {}, {}
            totals, functions = annotated(path)
            need_equal({name: total for name, total in wanted.items() if total is not None},
                       {name: total for name, total in totals.items() if name in wanted}, source.name)
            for name, figures in functions.items():
                own[plain(name)] = own.get(plain(name), 0) + figures[metric]
            for name, figures in annotated(path, "--inclusive=yes")[1].items():
                if not re.search(r"'\d+$", name):
                    inclusive[plain(name)] = inclusive.get(plain(name), 0) + figures[metric]
            hw.need(inclusive["(all)"] == totals[metric], "what calls all")
            theirs = {name: (own.get(name, 0), cum) for name, cum in inclusive.items() if cum and name != "(all)"}
            need_equal(ours, theirs, f"{source.name} {metric}")


@TESTS.test
def json_dump(folder):
    """json: every stack as the report has it, with the same members"""
    for source in (*sources(folder), nasty(folder)):
        found = json.loads(export(folder, source, "json")[0].read_text())
        report = hw.report(source)
        hw.need(found["schema"] == "heapwise.export/1", found["schema"])
        hw.need(found["totals"] == report["totals"], f"{source.name}: totals")
        ordered = lambda sites: sorted(json.dumps(site, sort_keys=True) for site in sites)
        hw.need(ordered(found["sites"]) == ordered(report["sites"]), f"{source.name}: sites")
    some = json.loads(export(folder, recorded(folder), "json", "--focus", "sv_grow", "--at", "peak")[0].read_text())
    hw.need(some["sites"] and all("sv_grow" in json.dumps(site["stack"]) for site in some["sites"]), "--focus")


@TESTS.test
def table(folder):
    """csv: Python's csv reads a row a stack, with the report's sums; names with quotes, commas and newlines survive"""
    for source in (*sources(folder), nasty(folder)):
        path, _ = export(folder, source, "csv")
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, strict=True))
        report, totals = report_of(source)
        hw.need(len(rows) == len(report["sites"]), f"{source.name}: {len(rows)} rows of {len(report['sites'])}")
        for name, total in totals.items():
            cells = [row[name] for row in rows]
            hw.need(all(cell == "" for cell in cells) if total is None else sum(map(int, cells)) == total,
                    f"{source.name}: {name}")
        split = lambda stack: [re.sub(r"\\(.)", r"\1", name, flags=re.S) for name in
                               re.findall(r"(?:[^;\\]|\\.)+", stack, re.S)]
        theirs = spread_out((split(row["stack"]), int(row["live_bytes"])) for row in rows)
        need_equal(functions_of(source), {name: value for name, value in theirs.items() if name[0] != "("}, source.name)
    hw.need(rows[0]["function"] == NASTY and rows[0]["file"] == "a,b.c", f"{rows[0]}")


# addr2line would read all debug information of perl and libc, of which functions need none: they ask nm instead.
NO_LINES = ("--tools=addr2line:/bin/false,nm:/usr/bin/nm,objdump:/usr/bin/objdump,c++filt:/usr/bin/c++filt",)


def perl_pprof(tool, program, path, *options):
    """What google-pprof or jeprof --text shows: the total, and {name: (flat, cum)}."""
    ended = hw.run([hw.need_program(tool), "--text", "--show_bytes", "--nodecount=100000", "--nodefraction=0",
                    "--edgefraction=0", *NO_LINES, *options, *([program] if program else []), path],
                   env=hw.clean_environment(HOME=path.parent, PPROF_TMPDIR=path.parent))
    hw.need(ended.status == 0, f"{tool}: {ended}")
    total = int(re.search(r"^Total: (\d+)", ended.text, re.M)[1])
    rows = re.findall(r"^ *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% (.*)$", ended.text, re.M)
    return total, {name: (int(flat), int(cum)) for flat, cum, name in rows}


def near(ours, theirs, part):
    return all(abs(a - b) <= max(1, part * a) for a, b in zip(ours, theirs))


@TESTS.test
def gperftools(folder):
    """gperftools: google-pprof --text shows the report's totals and the program's functions, of a sample within 10%"""
    all_options = (("--inuse_space", "live_bytes"), ("--alloc_space", "allocated_bytes"),
                   ("--inuse_objects", "live_blocks"), ("--alloc_objects", "allocations"))
    programs = ((recorded(folder), "/usr/bin/perl", "Perl_", all_options[:1]),
                (recorded(folder, "peak_middle-O2", "target"), hw.TARGETS / "peak_middle-O2", "site_", all_options))
    for source, program, prefix, options in programs:
        path, errors = export(folder, source, "gperftools")
        hw.need("omitted: peak" in errors, errors)
        for option, metric in options:
            total, theirs = perl_pprof("google-pprof", program, path, option)
            hw.need(total == report_of(source)[1][metric], f"{source.name} {metric}: {total}")
            # Theirs are the symbol table's, which knows no inlined functions.
            ours = spread_out(([frame["function"] or "?" for frame in site["stack"][::-1] if not frame["inlined"]], site[metric])
                              for site in hw.report(source)["sites"])
            ours = {name: figures for name, figures in ours.items() if name.startswith(prefix) and name in theirs}
            # Code without a symbol they take for the function before it: of perl, which is stripped, some functions have more.
            more = {name for name, ours_of in ours.items() if program == "/usr/bin/perl" and
                    all(a <= b for a, b in zip(ours_of, theirs[name])) and ours_of != theirs[name]}
            hw.need(len(more) <= len(ours) // 20, f"{source.name} {metric}: more in theirs of {sorted(more)}")
            ours = {name: figures for name, figures in ours.items() if name not in more}
            need_equal(ours, {name: theirs[name] for name in ours}, f"{source.name} {metric}")
    path, errors = export(folder, sampled(folder), "gperftools")
    hw.need("@ heap_v2/4096\n" in path.read_text() and "scale up again" in errors, errors)
    totals = report_of(sampled(folder))[1]
    for option, metric in (("--inuse_space", "live_bytes"), ("--alloc_space", "allocated_bytes")):
        total, _ = perl_pprof("google-pprof", hw.TARGETS / "peak_middle-O2", path, option)  # names don't matter
        hw.need(near((totals[metric],), (total,), 0.1), f"a sample's {metric}: {total}, the report's {totals[metric]}")


@TESTS.test
def jemalloc(folder):
    """jemalloc: jeprof --text shows the report's totals and functions, but for what it adds to the smallest blocks"""
    # Each run of jeprof takes 15 seconds.
    for source, option, metric, part in ((recorded(folder), "--inuse_space", "live_bytes", 0.01),
                                         (sampled(folder), "--alloc_space", "allocated_bytes", 0.1)):
        path, _ = export(folder, source, "jemalloc")
        totals = report_of(source)[1]
        total, theirs = perl_pprof("jeprof", "/usr/bin/perl", path, option)
        hw.need(near((totals[metric],), (total,), part), f"{source.name} {metric}: {total}, not {totals[metric]}")
        ours = {name: figures for name, figures in functions_of(source, metric).items()
                if name.startswith("Perl_safesys") and name in theirs}
        hw.need(ours and all(near(figures, theirs[name], part) for name, figures in ours.items()), f"{ours}, {theirs}")


@TESTS.test
def dumps_by_name(folder):
    """gperftools and jemalloc, of functions without addresses: google-pprof and jeprof show their names"""
    for form, tool in (("gperftools", "google-pprof"), ("jemalloc", "jeprof")):
        path, errors = export(folder, nasty(folder), form)
        hw.need("have no address" in errors and path.read_text().startswith("--- symbol\n"), errors)
        total, theirs = perl_pprof(tool, None, path, "--alloc_space")
        hw.need(abs(total - 540) <= 1 and theirs["main"][1] == total, f"{total}, {theirs}")


@TESTS.test
def dumps_read_again(folder):
    """gperftools and jemalloc: what is written is read again, with the same totals"""
    source = recorded(folder)
    totals = report_of(source)[1]
    for form, part in (("gperftools", 0), ("jemalloc", 0.01)):
        again = hw.report(export(folder, source, form)[0])["totals"]
        for name in ("live_bytes", "allocated_bytes", "live_blocks", "allocations"):
            hw.need(near((totals[name],), (again[FIGURES[name]],), part), f"{form} {name}: {again[FIGURES[name]]}")


@TESTS.test
def valgrind(folder):
    """valgrind: well-formed XML of protocol 4, with the kinds, stacks, bytes and blocks that `heapwise leaks` has"""
    program = hw.TARGETS / "leaks/trees-O2"
    source = folder / "leaks.hpw"
    hw.record([program], source, options=("-q", "--leak-check=full"))
    path, errors = export(folder, source, "valgrind")
    hw.need("contains only leaks" in errors, errors)
    ended = hw.run([hw.need_program("xmllint"), "--noout", path])
    hw.need(ended.status == 0, str(ended))
    root = xml.etree.ElementTree.parse(path).getroot()
    hw.need(root.findtext("protocolversion") == "4" and root.findtext("protocoltool") == "memcheck", "head")
    leaks = json.loads(ask("leaks", source, "--format", "json", "--show-leak-kinds=all", "--leak-check=full"))
    kinds = {"definite": "Leak_DefinitelyLost", "indirect": "Leak_IndirectlyLost", "possible": "Leak_PossiblyLost",
             "reachable": "Leak_StillReachable"}
    wanted = sorted((kinds[row["kind"]], row["retained_bytes"], row["blocks"],
                     [frame["function"] for frame in row["stack"]]) for row in leaks["leaks"]["records"])
    theirs = []
    for error in root.iter("error"):
        frames = [frame.findtext("fn") for frame in error.find("stack").iter("frame")]
        theirs.append((error.findtext("kind"), int(error.findtext("xwhat/leakedbytes")),
                       int(error.findtext("xwhat/leakedblocks")), frames[1:]))
    hw.need(wanted and sorted(theirs) == wanted, f"{sorted(theirs)[:3]} is not {wanted[:3]}")
    hw.need(heapwise("leaks", source, "--format", "valgrind", "--show-leak-kinds=all").text.count("<error>")
            == len(theirs), "heapwise leaks --format valgrind")


@TESTS.test
def losses(folder):
    """The notes list what the file contains and the format can't represent"""
    for source, form, lost in (
            (recorded(folder), "folded", "Folded stacks contain only one figure, here peak_bytes (--metric); files"),
            (recorded(folder), "pprof", "Not representable in pprof, omitted: peak, times, threads, temporary allocations, failed"),
            (sampled(folder), "pprof", "Not representable in pprof, omitted: peak, times, threads, failed"),
            (recorded(folder), "speedscope", "Not representable in speedscope, omitted: times, threads, kinds of allocations.\n"),
            (profile(folder), "pprof", None)):
        errors = export(folder, source, form)[1]
        hw.need(lost in errors if lost else not errors, f"{source.name}, {form}: {errors}")


@TESTS.test
def folded(folder):
    """folded: a line a stack, `;` and newlines of names replaced, with the report's sum"""
    for source in (*sources(folder), nasty(folder)):
        lines = export(folder, source, "folded", "--metric", "live_bytes")[0].read_text().splitlines()
        total = sum(int(line.rpartition(" ")[2]) for line in lines)
        hw.need(total == report_of(source)[1]["live_bytes"], f"{source.name}: {total}")
    hw.need(sorted(line.count(";") for line in lines) == [0, 1, 2], f"{lines}")


@TESTS.test
def options(folder):
    """What a format cannot do is refused with exit code 2; each format that --help names is one"""
    source = recorded(folder)
    for words, arguments in (("massif contains whole snapshots", ("massif", "--focus", "sv_grow")),
                             ("folded has no snapshots", ("folded", "--time-unit=B")),
                             ("--metric works for formats with one metric", ("massif", "--metric", "live_bytes")),
                             ("invalid --format 'x'", ("x",)), ("invalid --time-unit 's'", ("massif", "--time-unit=s"))):
        ended = heapwise("export", source, "--format", *arguments)
        hw.need(ended.status == 2 and words in ended.errors and not ended.text, f"{arguments}: {ended}")
    known = re.search(r"expected one of (.*)", heapwise("export", source, "--format", "x").errors)[1].split(", ")
    shown = re.findall(r"^  ([a-z]\S*) {2,}", ask("export", "--help").split("Options")[0], re.M)
    hw.need(sorted(known) == sorted(shown), f"{known}, --help has {shown}")
    for form in known:
        for some in (*sources(folder), nasty(folder)):
            if form == "valgrind":
                refused = heapwise("export", some, "--format", form)
                hw.need(refused.status == 3 and "run --leak-check" in refused.errors, str(refused))
            elif form in OF_EVENTS:
                ended = heapwise("export", some, "--format", form)
                hw.need(ended.status == 0 or (ended.status == 3 and "events" in ended.errors), f"{form}: {ended}")
            else:
                export(folder, some, form)


@TESTS.test
def addresses(folder):
    """Addresses are those of calls where a format has these, else what calls return to; read again they are the file's"""
    source = recorded(folder, "peak_middle-O2", "target")

    def of(path):
        return {int(frame["address"], 16) for site in hw.report(path)["sites"] for frame in site["stack"] if frame["address"]}

    returned_to, written = of(source), {}
    for form, behind in (("pprof", 1), ("dhat", 1), ("massif", 1), ("heaptrack", 0)):
        written[form], _ = export(folder, source, form)
        found = of(written[form])
        if form == "massif":  # which has no place for what is small
            hw.need(found and found <= {address - 1 for address in returned_to}, f"{form}: {found}")
        else:
            hw.need(found == {address - behind for address in returned_to}, f"{form}: {found} of {returned_to}")
        if form in ("dhat", "massif"):
            again, _ = export(folder, written[form], form, name=f"again.{form}")
            theirs = [set(re.findall(r"0x([0-9A-F]+): ", path.read_text())) - {"0"} for path in (written[form], again)]
            hw.need({int(text, 16) for text in theirs[0]} >= found and theirs[0] == theirs[1], f"{form}: {theirs}")
    merged = hw.run([hw.HEAPWISE, "report", "--json", "--merge", written["dhat"], written["dhat"]])
    hw.need(merged.status == 0 and all(f'"0x{address - 1:x}"' in merged.text for address in returned_to), str(merged))


@TESTS.test
def packed(folder):
    """-o NAME.gz and NAME.zst are packed, and unpack to what is written otherwise"""
    source = recorded(folder)
    plain, _ = export(folder, source, "massif", "--time-unit=B")
    gz, _ = export(folder, source, "massif", "--time-unit=B", name="a.gz")
    hw.need(gzip.decompress(gz.read_bytes()) == plain.read_bytes(), "gzip")
    zst, _ = export(folder, source, "massif", "--time-unit=B", name="a.zst")
    unzstd = subprocess.run(["zstd", "-dqc", zst], stdout=subprocess.PIPE, check=True)
    hw.need(unzstd.stdout == plain.read_bytes(), "zstd")
    # heaptrack's tools go by the name.
    plain, _ = export(folder, source, "heaptrack", name="b.heaptrack")
    hw.need(plain.read_bytes().startswith(b"v "), f"{plain.read_bytes()[:20]}")
    gz, _ = export(folder, source, "heaptrack", name="b.gz")
    hw.need(gzip.decompress(gz.read_bytes()) == plain.read_bytes(), "gzip of heaptrack")
    if shutil.which("heaptrack_print"):
        texts = [subprocess.run(["heaptrack_print", "-f", path], stdout=subprocess.PIPE, check=True).stdout for path in (plain, gz)]
        hw.need(b"total runtime" in texts[0] and texts[0] == texts[1].replace(b"b.gz", b"b.heaptrack"), f"{texts}")


if __name__ == "__main__":
    TESTS.main(width=2)
