#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What runtime/guard makes of instructions, held against objdump: each different one of libraries of this machine, and
forms that compilers seldom write, which the assembler makes (decode_forms.py).

    decode_objdump.py LISTING-PROGRAM [-v]

LISTING-PROGRAM is decode_listing. For each instruction the access, the bytes and the address that objdump's text means
are compared. TAP, one line a file; -v prints each difference.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import decode_forms

LIBRARIES = ["libc.so.6", "libcrypto.so.3", "libstdc++.so.6", "libm.so.6", "libpython3.11.so.1.0"]
FOLDERS = ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"]
# Of a library's different instructions those that are compared: enough of each kind.
INSTRUCTIONS_MAX = 400_000

BYTES = {"BYTE": 1, "WORD": 2, "DWORD": 4, "FWORD": 6, "QWORD": 8, "MMWORD": 8, "TBYTE": 10, "OWORD": 16, "XMMWORD": 16,
         "YMMWORD": 32, "ZMMWORD": 64}
NAMES = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"] + [f"r{n}" for n in range(8, 16)]
REGISTERS = {name: (n + 1) << 32 | (n + 1) << 16 for n, name in enumerate(NAMES)}
REGISTERS.update({("e" + name[1:] if n < 8 else name + "d"): (n + 1) << 16 for n, name in enumerate(NAMES)})
REGISTERS.update({"riz": 0, "eiz": 0})
BASES = {"fs": 1 << 44, "gs": 1 << 45}

PREFIXES = re.compile(r"^(rep|repz|repnz|lock|data16|addr32|cs|ds|es|ss|fs|gs|bnd|notrack|xacquire|xrelease|"
                      r"rex(\.\w+)?|\{\w+\})\s+")
MEMORY = re.compile(r"(?:(\w+) (?:PTR|BCST) )?(?:(\w\w):)?(?:\[([^\]]+)\](\{1to\d+\})?|(?<=:)(0x[0-9a-f]+))")
LINE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(?:\t(.*))?$")

ONLY_READ = re.compile(
    r"^(cmp|test|push|call|jmp|bt|div|idiv|mul|imul|fld|fild|fbld|fadd|fsub|fmul|fdiv|fcom|fiadd|fisub|fimul|fidiv|"
    r"ficom|frstor|ldmxcsr|lgdt|lidt|lldt|ltr|lmsw|verr|verw|invlpg|prefetch|vldmxcsr|nop)[a-z0-9]*$")
ONLY_WRITTEN = re.compile(
    r"^(mov|vmov|set|fst|fist|fnst|fnsave|fbstp|stmxcsr|vstmxcsr|vpextr|pextr|extractps|vextract|vcvtps2ph|vpmov|"
    r"vpcompress|vcompress|vmaskmov|vpmaskmov|kmov|maskmov|pop|sgdt|sidt|sldt|str|smsw|stos|ins|vscatter|vpscatter)")
NOT_ACCESSED = re.compile(r"^(lea|nop|prefetch|clflush|clwb|cldemote|invlpg|bnd|cldemote)")
STATE = re.compile(r"^(fx|xsave|xrstor)")
UNNAMED_WIDTH = re.compile(r"^(fn?stenv|fldenv|fn?save|frstor|movabs|v?lddqu)")
UNKNOWN_WIDTH = re.compile(r"^v?p?(gather|scatter|compress|expand)|^vp?(gather|scatter|compress|expand|maskmov)|\{k[1-7]\}")


def address_of(text, segment, rip_after):
    """The address that an operand means; None: of several."""
    address = 0
    for sign, term in re.findall(r"([+-]?)([^+-]+)", text.replace(" ", "")):
        name, _, scale = term.partition("*")
        if re.match(r"[xyz]mm", name):
            return None
        if name in ("rip", "eip"):
            value = rip_after
        elif name in REGISTERS:
            value = REGISTERS[name] * int(scale or 1)
        else:
            value = int(name, 16)
        address += -value if sign == "-" else value
    small = re.search(r"\b(e[a-ds][xipl]|e[sd]i|ebp|r\d+d|eiz|eip)\b", text)
    address %= 1 << (32 if small else 64)
    return (address + BASES.get(segment, 0)) % (1 << 64)


def access_of(mnemonic, place):
    if mnemonic.startswith(("movs", "cmps")) and mnemonic in ("movs", "cmps"):
        return "r" if mnemonic == "cmps" or place else "w"
    if place:
        return "r"
    if mnemonic in ("scas", "lods", "outs") or ONLY_READ.match(mnemonic) and not mnemonic.startswith(("btr", "bts", "btc", "cmpxchg")):
        return "r"
    return "w" if ONLY_WRITTEN.match(mnemonic) else "rw"


def width_unnamed(mnemonic, operands):
    """Of an operand that objdump gives no width."""
    if "lddqu" in mnemonic:
        return 32 if "ymm" in operands else 16
    if mnemonic != "movabs":
        return 28 if "env" in mnemonic else 108
    return {"al": 1, "ax": 2, "eax": 4, "rax": 8}[re.search(r"\b(al|[er]?ax)\b", operands)[1]]


def stack_access(mnemonic, bytes_of_code):
    size = 2 if 0x66 in bytes_of_code[:2] and bytes_of_code[0] != 0xC3 else 8
    rsp = REGISTERS["rsp"]
    if mnemonic in ("push", "pushf", "pushfw", "call"):
        size = 8 if mnemonic == "call" else size
        return [("w", size, rsp - size)]
    if mnemonic in ("pop", "popf", "popfw", "ret"):
        return [("r", 8 if mnemonic == "ret" else size, rsp)]
    return [("r", size, REGISTERS["rbp"])] if mnemonic.startswith("leave") else []


def meant(code, text, rip):
    """What objdump's text means: a list of (access, bytes or None, address or None)."""
    text = text.split("#")[0].split("<")[0].strip()
    while PREFIXES.match(text):
        text = PREFIXES.sub("", text, count=1)
    mnemonic, _, operands = text.partition(" ")
    found = stack_access(mnemonic, code)
    for match in MEMORY.finditer(operands):
        width, segment, inner, _, absolute = match.groups()
        place = operands[:match.start()].count(",")
        if NOT_ACCESSED.match(mnemonic):
            continue
        address = address_of(inner or absolute, segment, rip + len(code))
        size = BYTES.get(width)
        if UNKNOWN_WIDTH.search(text) or STATE.match(mnemonic):
            size = None
        if UNNAMED_WIDTH.match(mnemonic) and size is None:
            size = width_unnamed(mnemonic, operands)
        if re.match(r"bt[src]?$", mnemonic) and not re.search(r",0x\w+$", operands):
            address = None  # the register's bits count from there
        access = access_of(mnemonic, place)
        if mnemonic == "xlat":
            address, size = REGISTERS["rbx"], 1
        if mnemonic == "pop" and not place:
            if "rsp" in (inner or ""):
                address += found[0][1]
        if STATE.match(mnemonic):
            access = "w" if "save" in mnemonic else "r"
        found.append((access, size, address))
    return mnemonic, found


def agrees(wanted, told):
    """Whether decode_listing's line is what is wanted."""
    if told == "?":
        return False
    rest = list(wanted)
    for operand in told.split():
        access, size, plus, address = re.match(r"([rw]+|-)(\d+)(\+?)@(\w+)", operand).groups()
        for one in rest:
            if access == one[0] and (int(size) == one[1] or plus and one[1] is None) and \
                    (int(address, 16) == one[2] or one[2] is None):
                rest.remove(one)
                break
        else:
            return False
    return not rest


# By one mnemonic these are two widths or several addresses: objdump does not say which.
LEFT_OUT = re.compile(r"^(\(bad\)|ud1|lds|les|lfs|lgs|lss|enter|iret|bound|xlat|insb|insw|ins|cmpxchg8b|lret|retf|jmpf|callf|"
                      r"sysret|sysexit|vmread|vmwrite|vmptr|vmxon|vmclear|invept|invvpid|invpcid|sgdt|sidt|lgdt|lidt|"
                      r"lar|lsl|fcmov|movdir|enqcmd|wrss|wruss|rstorssp|clrssbsy|aesenc.*kl|aesdec.*kl|.*wide.*kl)")


def instructions(path):
    process = subprocess.Popen(["objdump", "-d", "-w", "-M", "intel", "--insn-width=15", path],
                               stdout=subprocess.PIPE, text=True, errors="replace")
    seen = set()
    with process.stdout:
        for line in process.stdout:
            match = LINE.match(line.rstrip("\n"))
            if not match or not match[3]:
                continue
            text = match[3].strip()
            key = re.sub(r"0x[0-9a-f]+", "N", text.split("#")[0].split("<")[0])
            if key in seen:
                continue
            seen.add(key)
            yield int(match[1], 16), bytes.fromhex(match[2].replace(" ", "")), text
            if len(seen) >= INSTRUCTIONS_MAX:
                process.terminate()
                break
    process.wait()


def compare(program, path, verbose):
    """→ (instructions with memory that agree, of how many, mnemonics of the others)."""
    rows = list(instructions(path))
    told = subprocess.run([program], input="".join(f"{rip:x} {code.hex()}\n" for rip, code, _ in rows),
                          text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    assert len(told) == len(rows)
    good, all_of_them, others = 0, 0, Counter()
    for (rip, code, text), line in zip(rows, told):
        mnemonic, wanted = meant(code, text, rip)
        if LEFT_OUT.match(mnemonic) or "(bad)" in text or "FWORD" in text or code[0] == 0x9B:
            continue
        if not wanted and line == "?":
            continue  # an unknown one that accesses no memory can't fault
        all_of_them += bool(wanted)
        if agrees(wanted, line):
            good += bool(wanted)
            continue
        others[mnemonic] += 1
        if verbose:
            print(f"# {code.hex()}  {text}: {wanted}, not {line!r}")
    return good, all_of_them, others


def assemble(folder):
    """The object file of decode_forms.py, without the lines that the assembler does not take."""
    lines = [".intel_syntax noprefix", ".text"] + list(decode_forms.lines())
    for _ in range(2):
        Path(folder, "forms.s").write_text("\n".join(lines) + "\n", encoding="ascii")
        done = subprocess.run(["as", "-o", f"{folder}/forms.o", f"{folder}/forms.s"], stderr=subprocess.PIPE, text=True)
        if done.returncode == 0:
            print(f"# {len(lines)} forms")
            return f"{folder}/forms.o"
        wrong = {int(number) for number in re.findall(r"forms\.s:(\d+): Error", done.stderr)}
        if "-v" in sys.argv:
            print("".join(f"# not assembled: {lines[number - 1]}\n" for number in sorted(wrong)))
        lines = [line for number, line in enumerate(lines, 1) if number not in wrong]
    sys.exit(f"the assembler fails: {done.stderr[:500]}")


def main():
    program = sys.argv[1]
    verbose = "-v" in sys.argv
    paths = [p for name in LIBRARIES for p in [next((f"{d}/{name}" for d in FOLDERS if Path(f"{d}/{name}").exists()), None)] if p]
    with tempfile.TemporaryDirectory() as folder:
        assembled = assemble(folder)
        print(f"1..{len(paths) + 1}")
        for number, path in enumerate([assembled] + paths, 1):
            good, count, others = compare(program, path, verbose)
            # Some assembly has tables among its instructions, which objdump takes for more of them.
            bearable = 0 if path == assembled else count // 1000
            passed = count > 100 and sum(others.values()) <= bearable
            print(f"{'ok' if passed else 'not ok'} {number} - {Path(path).name}: {good} of {count} different accesses")
            if others:
                print(f"# others: {others.most_common(12)}")


main()
