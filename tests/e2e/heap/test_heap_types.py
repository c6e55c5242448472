#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Types from debug information: layouts are gdb's, values are the program's, and what blocks are follows from
what points to them, by each road and each form of debug information."""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))
import hw  # noqa: E402
from heaps import Waiting, ask, gcore, kernel_core, members_of, read_account  # noqa: E402

tests = hw.Tests()

UNKNOWN = re.compile(r"\d+ bytes(, pointers at( \d+)+)?")
FORMS = ["typed", "typed_dwarf4", "typed_split", "typed_sections", "typed_clang"]
# Two of gdb's own: an offset, of bit fields with the bit, and a size.
ROW = re.compile(r"/\* +(\d+)(?:: *(\d+))? +\| +(\d+) \*/")


def program_of(name):
    return hw.TARGETS / f"heaps/heap_{name}"


def compare(account, blocks):
    """Each block is called what the program calls it; what no declaration says stays unknown."""
    found = {int(b["address"], 16): b for b in blocks if b["state"] == "used"}
    wrong = Counter()
    for address, (_, used, _, kind) in account.items():
        name = found[address]["type"] if address in found else "not there"
        if used and not (UNKNOWN.fullmatch(name) if kind == "?" else name == kind):
            wrong[f"'{kind}' is called '{name}'"] += 1
    if wrong or len(account) < 500:
        raise hw.Failure(f"of {len(account)} blocks: " + "; ".join(f"{n} times: {what}" for what, n in wrong.most_common(5)))


def rows_of(text):
    return [tuple(int(n or 0) for n in row) for row in ROW.findall(text)]


def add(name):
    program = program_of(name)

    def by_kernel(folder):
        core = kernel_core(program, folder)
        compare(read_account(folder / "account"), ask("core", "--json", core, "blocks")["blocks"])

    def by_gcore_and_live(folder):
        with Waiting(program, folder) as pid:
            core = gcore(pid, folder)
            live = ask("heap", "--json", str(pid), "blocks")["blocks"]
        account = read_account(folder / "account")
        compare(account, ask("core", "--json", core, "blocks")["blocks"])
        compare(account, live)

    def layouts(folder):
        """Number for number."""
        hw.need_program("gdb")
        core = kernel_core(program, folder)
        for kind in ("struct shape", "struct node", "registry_t", "struct message", "struct account_row", "struct derived"):
            gdb = hw.run(["gdb", "-batch", "-nx", "-ex", f"ptype /o {kind}", program])
            own = hw.run([hw.HEAPWISE, "core", core, "layout", kind])
            if not rows_of(gdb.text) or rows_of(gdb.text) != rows_of(own.text):
                raise hw.Failure(f"{kind}: gdb has {rows_of(gdb.text)}, we have {rows_of(own.text)}: {own}")

    tests.add(f"{name}: a kernel's core tells what its blocks are", by_kernel)
    tests.add(f"{name}: so do a core of gcore's and the process", by_gcore_and_live)
    tests.add(f"{name}: layouts are gdb's", layouts)


for each in FORMS:
    if program_of(each).exists():
        add(each)


def add_stacks(name):
    def check(account, blocks):
        found = {int(b["address"], 16): b["type"] for b in blocks if b["state"] == "used"}
        wrong = Counter(f"'{kind}' is called '{found[address]}'" for address, (_, _, _, kind) in account.items()
                        if not (UNKNOWN.fullmatch(found[address]) if kind == "?" else found[address] == kind))
        if wrong or len(account) < 30:
            raise hw.Failure(f"of {len(account)} blocks: {wrong}")

    def stacks(folder):
        (folder / "crashed").mkdir()
        core = kernel_core(program_of(name), folder / "crashed")
        check(read_account(folder / "crashed/account"), ask("core", "--json", core, "blocks")["blocks"])
        with Waiting(program_of(name), folder) as pid:
            core = gcore(pid, folder)
            account = read_account(folder / "account")
            check(account, ask("heap", "--json", str(pid), "blocks")["blocks"])
        check(account, ask("core", "--json", core, "blocks")["blocks"])

    tests.add(f"{name}: variables on stacks tell types, unless they have no value yet", stacks)


for each in ("stack_types", "stack_types_optimised", "stack_types_dwarf4", "stack_types_clang"):
    if program_of(each).exists():
        add_stacks(each)


@tests.test
def separate_debug_information(folder):
    """A stripped program, whose debug file lies beside it; without that nothing is inferred."""
    hw.need_program("objcopy")
    program = folder / "app"
    program.write_bytes(program_of("typed").read_bytes())
    program.chmod(0o755)
    hw.run(["objcopy", "--only-keep-debug", program, folder / "app.debug"])
    hw.run(["strip", program])
    hw.run(["objcopy", "--add-gnu-debuglink=app.debug", program], cwd=folder)
    core = kernel_core(program, folder)
    compare(read_account(folder / "account"), ask("core", "--json", core, "blocks")["blocks"])
    if any(t["kind"] == "inferred" for t in ask("core", "--json", "--no-inference", core)["types"]):
        raise hw.Failure("--no-inference infers")
    (folder / "app.debug").unlink()
    kinds = {t["kind"] for t in ask("core", "--json", core)["types"]}
    if "inferred" in kinds:
        raise hw.Failure(f"kinds: {kinds}")
    ended = hw.run([hw.HEAPWISE, "core", core, "layout", "shape_nobody_has"])
    if ended.status != 3:
        raise hw.Failure(f"layout without debug information: {ended}")


@tests.test
def values(folder):
    """Members have the values that the program gave them."""
    core = kernel_core(program_of("typed"), folder)
    shapes = ask("core", "--json", core, "show", "shape")["blocks"]
    wanted = {"visible": "1", "closed": "true", "corners": "{0, -3, 0}", "value": "0.5", "number": "77", "green": "200 '\\310'",
              "flags": "FLAG_A | FLAG_C", "weight": "1.25"}
    for block in shapes:
        found = members_of(block)
        number = int(found["key"])
        wanted |= {"label": f'"s{number}"', "layer": str(number % 32), "depth": str(number % 64 - 32),
                   "colour": "BLUE" if number % 2 else "NONE"}
        wrong = {name: (found.get(name), value) for name, value in wanted.items() if found.get(name) != value}
        if wrong or "<draw>" not in found["draw"]:
            raise hw.Failure(f"of {block['address']} (found, wanted): {wrong}, draw {found['draw']}")
    account = read_account(folder / "account")
    if len(shapes) != sum(kind == "shape" for _, _, _, kind in account.values()):
        raise hw.Failure(f"{len(shapes)} shapes")
    unknown = next(f"0x{address:x}" for address, (size, _, _, kind) in account.items() if kind == "?" and size == 200)
    forced = members_of(ask("core", "--json", core, "show", unknown, "--as", "struct shape")["blocks"][0])
    if forced["visible"] != "0" or forced["owner"] != "NULL":
        raise hw.Failure(f"--as: {forced}")
    shown = hw.run([hw.HEAPWISE, "core", core, "show", "node", "--limit", "4"])
    if len(shown.text.splitlines()) != 6 or not re.search(r"next +name +shape +number", shown.text):
        raise hw.Failure(f"a table: {shown}")


@tests.test
def what_is_not_there(folder):
    """Errors say what there is instead."""
    with Waiting(program_of("typed"), folder) as pid:
        core = gcore(pid, folder)
    account = read_account(folder / "account")
    unknown = next(f"0x{address:x}" for address, (_, _, _, kind) in account.items() if kind == "?")
    for words, code, said in ((["layout", "shap"], 3, "shape"), (["layout", "nodes"], 3, "node"),
                              (["show", unknown], 3, "--as TYPE"), (["show", unknown, "--as", "account_file_x"], 3, "account_file"),
                              (["show", "node", "--as", "shape"], 3, "80 bytes"), (["show", "nothing"], 2, "neither an address")):
        ended = hw.run([hw.HEAPWISE, "core", core, *words])
        if ended.status != code or said not in ended.errors:
            raise hw.Failure(f"{words}: {ended}")


@tests.test
def words_and_why_name_members(folder):
    """Words of blocks, addresses in blocks, who holds what, and globals as they are declared."""
    with Waiting(program_of("typed"), folder) as pid:
        core = gcore(pid, folder)
    account = read_account(folder / "account")
    node = next(f"0x{address:x}" for address, (_, _, _, kind) in account.items() if kind == "node")
    words = ask("core", "--json", core, "words", node)["words"]
    if [w["member"] for w in words] != ["next", "name", "shape", "number", None]:
        raise hw.Failure(f"words: {words}")
    text = hw.run([hw.HEAPWISE, "core", core, "why", "shape"]).text
    for said in ("of node, by shape", "struct shape *[], by [", "static struct node *list", "static registry_t registry, its shapes"):
        if said not in text:
            raise hw.Failure(f"'{said}' is not said: {text}")


@tests.test
def elements_of_containers(folder):
    """Where debug information says what a container has, its memory is called so, and shown as that."""
    core = kernel_core(program_of("containers"), folder)
    types = {t["name"]: t["blocks"] for t in ask("core", "--json", core, "types")["types"]}
    for name in ("std::vector buffer of short int", "std::vector buffer of Point", "std::unordered node of long int",
                 "std::list node of int", "std::deque block of Point"):
        if name not in types:
            raise hw.Failure(f"no '{name}' in {list(types)}")
    points = ask("core", "--json", core, "show", "std::vector buffer of Point", "--limit", "1")["blocks"][0]
    if points["as"] != "Point" or not points["members"][0]["members"]:
        raise hw.Failure(f"a vector's elements: {str(points)[:500]}")
    numbers = ask("core", "--json", core, "show", "std::list node of int")["blocks"]
    values = sorted(int(value) for block in numbers for name, value in members_of(block).items() if name == "_M_storage")
    if len(values) != len(numbers) or len(set(values)) < 2:
        raise hw.Failure(f"a list of numbers: {values[:20]}, {str(numbers[0])[:500]}")


@tests.test
def containers_on_a_stack(folder):
    """What only variables of main() hold."""
    with Waiting(program_of("containers"), folder) as pid:
        types = {t["name"] for t in ask("heap", "--json", str(pid), "types")["types"]}
    missing = {"std::vector buffer of long int", "std::deque block of char", "std::deque map of char *"} - types
    if missing or "std::map/set node" in types:
        raise hw.Failure(f"missing: {missing} of {types}")


@tests.test
def what_is_behind_structures(folder):
    """What stands behind the end of structures and nodes holds nothing, unless most of a type have something there."""
    def check(account, *source):
        leaks = {int(b["address"], 16): b["leak"] for b in ask(*source, "blocks")["blocks"] if b["state"] == "used"}
        wrong = Counter((kind, leaks.get(address), leak) for address, (_, _, leak, kind) in account.items() if leaks.get(address) != leak)
        if wrong or len(account) != 33:
            raise hw.Failure(f"of {len(account)} blocks (kind, found, wanted): {wrong}")

    (folder / "crashed").mkdir()
    core = kernel_core(program_of("tail_types"), folder / "crashed")
    check(read_account(folder / "crashed/account"), "core", "--json", core)
    with Waiting(program_of("tail_types"), folder) as pid:
        core = gcore(pid, folder)
        account = read_account(folder / "account")
        check(account, "heap", "--json", str(pid))
    check(account, "core", "--json", core)
    nodes = [b["address"] for b in ask("core", "--json", core, "blocks")["blocks"] if b.get("type", "").endswith("::Node")]
    behind = [w["offset"] for node in nodes for w in ask("core", "--json", core, "words", node)["words"] if w.get("behind_end")]
    refs = [w["offset"] for node in nodes for w in ask("core", "--json", core, "refs", node)["words"]]
    if behind != [32] * 2 or set(refs) != {0}:
        raise hw.Failure(f"words behind: {behind}, references: {refs}")


PARTS = {"vector": "std::vector buffer of ", "list": "std::list node of ", "tree": "std::map/set node of ",
         "hash": "std::unordered node of ", "deque": "std::deque block of "}
ELEMENTS = ["elements", "elements_clang", "elements_libcxx"]


def element_pattern(kind):
    """What a block of elements.cc must be called, as compilers write it."""
    part, _, element = kind.partition(" ")
    spelled = re.escape(element.replace(" *", "*").replace("*", " *")).replace(r"\ \*", r" ?\*").replace("Hidden", r"\(anonymous namespace\)::Hidden")
    key, pair, value = spelled.removeprefix("pair<").partition(r",\ ")
    if pair:
        spelled = rf"std::pair<(const {key}|{key}( int)? const), {value.removesuffix('>')} ?>"
    if part == "forward":
        return rf"std::(_Fwd_list_node<{spelled} ?>|__forward_list_node<{spelled}, void ?\*>)"
    return PARTS[part] + spelled if part in PARTS else re.escape(kind)


def add_elements(name):
    def elements(folder):
        core = kernel_core(program_of(name), folder)
        blocks = {int(b["address"], 16): b["type"] for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
        seen, wrong = Counter(), Counter()
        for address, (_, used, _, kind) in read_account(folder / "account").items():
            seen[kind] += used
            if used and not re.fullmatch(element_pattern(kind), blocks.get(address, "not there")):
                wrong[f"'{kind}' is called '{blocks.get(address)}'"] += 1
        if wrong or len(+seen) < 30:
            raise hw.Failure(f"of {len(+seen)} kinds: " + "; ".join(f"{n} times: {what}" for what, n in wrong.most_common(8)))

    tests.add(f"{name}: elements of all containers, and what they point to", elements)


for each in ELEMENTS:
    if program_of(each).exists():
        add_elements(each)


@tests.test
def families(folder):
    """All nodes of large containers are named, and of containers that are in their elements, too."""
    core = kernel_core(program_of("families"), folder)
    types = {re.sub(r"::\(anonymous namespace\)|\(anonymous namespace\)::", "", t["name"]): t["blocks"]
             for t in ask("core", "--json", core, "types")["types"]}
    account = read_account(folder / "account").values()
    wrong = [f"{blocks} of '{kind}', found {types.get(kind)}" for blocks, _, _, kind in account if types.get(kind) != blocks]
    if wrong or len(account) != 3:
        raise hw.Failure(f"{wrong} in {types}")


@tests.test
def candidates(folder):
    """Of blocks that nothing declared leads to the true type comes first, with reasons."""
    core = kernel_core(program_of("hidden"), folder)
    account = read_account(folder / "account")
    blocks = {int(b["address"], 16): b for b in ask("core", "--json", core, "blocks")["blocks"] if b["state"] == "used"}
    asked = Counter()
    for address, (_, _, _, kind) in account.items():
        if kind == "known" or kind.startswith("shared_ptr"):
            if blocks[address]["type"] != kind and kind != "known":
                raise hw.Failure(f"{kind} is called {blocks[address]['type']}")
            continue
        asked[kind] += 1
        if asked[kind] != 4:
            continue
        found = ask("core", "--json", core, "type", f"0x{address:x}")["candidates"]
        best = [c["type"] + "[]" * c["is_array"] for c in found if c["score"] == found[0]["score"]]
        # What is laid out alike can't be told from it.
        if kind not in best[:3] or (kind in ("ToKnown", "ToOther", "std::_List_node<Value>") and best != [kind]):
            raise hw.Failure(f"a {kind} may be {[(c['type'], c['score']) for c in found[:5]]}")
        if kind == "ToKnown" and found[0]["agreeing"] != ["known"]:
            raise hw.Failure(f"reasons: {found[0]}")
        if kind == "Element[]" and (found[0]["header"], found[0]["count"]) != (8, 7):
            raise hw.Failure(f"elements: {found[0]}")
    if len(asked) != 5:
        raise hw.Failure(f"asked for: {asked}")
    holders = ask("core", "--json", core, "type", "Known")["members"]
    if not {"ToKnown.known", "Value.first"} <= set(holders) or "ToOther.other" in holders:
        raise hw.Failure(f"who may point to Known: {holders}")
    group = hw.run([hw.HEAPWISE, "core", core, "type", blocks[next(a for a, r in account.items() if r[3] == "Link")]["type"]]).text
    if "1  Link, 56 bytes" not in group or "for: pointers in next before content" not in group:
        raise hw.Failure(f"a group of links: {group}")


tests.main(sanitized_part=2)
