# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes files of JDK Flight Recorder: chunks with their own types, constants and events, as the JDK and async-profiler do."""

import struct

# Types by name: (id, fields), a field being (name, type) with "*" for keys of constants and "[]" for arrays.
NUMBERS = ["boolean", "byte", "char", "short", "int", "long", "float", "double", "java.lang.String"]
TYPES = {
    "java.lang.Class": [("classLoader", "*java.lang.Class"), ("name", "*jdk.types.Symbol"), ("modifiers", "int")],
    "jdk.types.Symbol": [("string", "java.lang.String")],
    "jdk.types.Method": [("type", "*java.lang.Class"), ("name", "*jdk.types.Symbol"), ("descriptor", "*jdk.types.Symbol")],
    "jdk.types.StackTrace": [("truncated", "boolean"), ("frames", "[]jdk.types.StackFrame")],
    "jdk.types.StackFrame": [("method", "*jdk.types.Method"), ("lineNumber", "int"), ("bytecodeIndex", "int"),
                             ("type", "*jdk.types.FrameType")],
    "jdk.types.FrameType": [("description", "java.lang.String")],
    "jdk.types.OldObject": [("address", "long"), ("type", "*java.lang.Class"), ("description", "java.lang.String")],
    "java.lang.Thread": [("osName", "java.lang.String"), ("osThreadId", "long")],
    "jdk.types.Range": [("low", "long"), ("rates", "[]double")],
}
HEAD = [("startTime", "long"), ("eventThread", "*java.lang.Thread"), ("stackTrace", "*jdk.types.StackTrace")]
EVENTS = {
    "jdk.ObjectAllocationSample": HEAD + [("objectClass", "*java.lang.Class"), ("weight", "long")],
    "jdk.ObjectAllocationInNewTLAB": HEAD + [("objectClass", "*java.lang.Class"), ("allocationSize", "long"),
                                             ("tlabSize", "long")],
    "jdk.ObjectAllocationOutsideTLAB": HEAD + [("objectClass", "*java.lang.Class"), ("allocationSize", "long")],
    "jdk.OldObjectSample": HEAD + [("allocationTime", "long"), ("object", "*jdk.types.OldObject"), ("arrayElements", "int")],
    "profiler.LiveObject": HEAD + [("objectClass", "*java.lang.Class"), ("allocationSize", "long"), ("allocationTime", "long")],
    "profiler.Malloc": HEAD + [("address", "long"), ("size", "long")],
    "profiler.Free": HEAD + [("address", "long")],
    "jdk.ActiveSetting": [("startTime", "long"), ("id", "long"), ("name", "java.lang.String"), ("value", "java.lang.String")],
    "jdk.JVMInformation": [("startTime", "long"), ("jvmName", "java.lang.String"), ("javaArguments", "java.lang.String"),
                           ("pid", "long")],
    # About no memory, with each kind of value.
    "app.Note": [("startTime", "long"), ("rate", "float"), ("sum", "double"), ("ok", "boolean"), ("range", "jdk.types.Range"),
                 ("words", "[]java.lang.String")],
}


def number(value, pad=0):
    """LEB128 of at most nine bytes, the ninth whole; `pad`: as long as that."""
    out = bytearray()
    for _ in range(8):
        if value < 0x80 and len(out) + 1 >= pad:
            return bytes(out) + bytes([value])
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def text(value):
    """A string in each of the encodings, by what is in it."""
    if value is None:
        return b"\0"
    if not value:
        return b"\1"
    if isinstance(value, int):  # of a constant
        return b"\2" + number(value)
    if max(value) > "\xff":
        units = struct.unpack(f"<{len(value.encode('utf-16-le')) // 2}H", value.encode("utf-16-le"))
        return b"\4" + number(len(units)) + b"".join(number(unit) for unit in units)
    if max(value) > "\x7f":
        return b"\5" + number(len(value)) + value.encode("latin-1")
    return b"\3" + number(len(value)) + value.encode()


class Chunk:
    """A chunk that is being written. Keys begin at `base`: those of other chunks mean something else."""

    def __init__(self, base=1, sized_old=False, start_ns=1_700_000_000_000_000_000):
        self.base, self.start_ns = base, start_ns
        events = dict(EVENTS)
        if sized_old:
            events["jdk.OldObjectSample"] = HEAD + [("objectSize", "long"), ("object", "*jdk.types.OldObject")]
        self.types = {name: [] for name in NUMBERS} | TYPES | events
        self.events = set(events)
        self.ids = {name: 100 + base + at for at, name in enumerate(self.types)}
        self.known, self.fresh, self.body, self.tables, self.time = {}, {}, b"", 0, 0

    def constant(self, kind, what, value):
        """The key of a constant, which a checkpoint writes later."""
        key = self.known.get((kind, what))
        if key is None:
            key = self.known[kind, what] = self.base + len(self.known)
            self.fresh.setdefault(kind, []).append(number(key) + value)
        return key

    def symbol(self, name):
        return self.constant("jdk.types.Symbol", name, text(name))

    def shared(self, name):
        """A constant string."""
        return self.constant("java.lang.String", name, text(name))

    def of_class(self, name):
        return self.constant("java.lang.Class", name, number(0) + number(self.symbol(name)) + number(1))

    def method(self, name):
        of, _, own = name.rpartition(".")
        return self.constant("jdk.types.Method", name,
                             number(self.of_class(of)) + number(self.symbol(own)) + number(self.symbol("()V")))

    def stack(self, frames, truncated=False):
        """Frames, innermost first: "Class.method:12"."""
        if frames is None:
            return 0
        data = bytes([truncated]) + number(len(frames))
        for frame in frames:
            name, _, line = frame.partition(":")
            data += number(self.method(name)) + number(int(line or 0)) + number(3) + number(1)
        return self.constant("jdk.types.StackTrace", (*frames, truncated), data)

    def event(self, kind, body, head=True, stack=None, truncated=False, time=None):
        self.time += 1
        data = number(self.ids[kind], 2) + number(self.time if time is None else time)
        if head:
            data += number(7) + number(self.stack(stack, truncated))
        self.body += self.sized(data + body)

    @staticmethod
    def sized(data):
        """An event begins with its size, here always in four bytes."""
        return number(len(data) + 4, 4) + data

    def sample(self, stack, of, weight, **more):
        self.event("jdk.ObjectAllocationSample", number(self.of_class(of)) + number(weight), stack=stack, **more)

    def tlab(self, stack, of, size, buffer, **more):
        self.event("jdk.ObjectAllocationInNewTLAB", number(self.of_class(of)) + number(size) + number(buffer), stack=stack, **more)

    def outside(self, stack, of, size, **more):
        self.event("jdk.ObjectAllocationOutsideTLAB", number(self.of_class(of)) + number(size), stack=stack, **more)

    def live(self, stack, of, size, **more):
        self.event("profiler.LiveObject", number(self.of_class(of)) + number(size) + number(5), stack=stack, **more)

    def old(self, stack, of, size=None, **more):
        """An object that JFR kept an eye on; its class is that of a constant."""
        row = self.constant("jdk.types.OldObject", ("old", self.time), number(0x7f00) + number(self.of_class(of)) + text(None))
        body = number(4) + number(row) + number(0) if size is None else number(size) + number(row)
        self.event("jdk.OldObjectSample", body, stack=stack, **more)

    def malloc(self, stack, address, size, **more):
        self.event("profiler.Malloc", number(address) + number(size), stack=stack, **more)

    def free(self, address, **more):
        self.event("profiler.Free", number(address), **more)

    def setting(self, name, value):
        self.event("jdk.ActiveSetting", number(9) + text(name) + text(value), head=False)

    def jvm(self, words, pid):
        self.event("jdk.JVMInformation", text("HotSpot") + text(words) + number(pid), head=False)

    def note(self):
        body = struct.pack(">fd", 1.5, 2.5) + b"\1" + number(2**62) + number(2) + bytes(16) + number(2) + text("é") + text("水")
        self.event("app.Note", body, head=False)

    def checkpoint(self):
        """Writes the constants that are new."""
        pools = b"".join(number(self.ids[kind]) + number(len(rows)) + b"".join(rows) for kind, rows in self.fresh.items())
        back = self.tables - len(self.body) if self.tables else 0
        head = number(1) + number(self.time) + number(0) + number(back % 2**64) + b"\1"
        self.tables = 68 + len(self.body)
        self.body += self.sized(head + number(len(self.fresh)) + pools)
        self.fresh = {}

    def metadata(self):
        words = {}

        def word(value):
            return number(words.setdefault(value, len(words)))

        def element(name, attributes, children):
            own = word(name) + number(len(attributes)) + b"".join(word(a) + word(b) for a, b in attributes)
            return own + number(len(children)) + b"".join(children)

        classes = []
        for name, fields in self.types.items():
            rows = []
            for field, kind in fields:
                attributes = [("name", field), ("class", str(self.ids[kind.lstrip("*[]")]))]
                attributes += [("constantPool", "true")] if "*" in kind else []
                attributes += [("dimension", "1")] if "[]" in kind else []
                rows.append(element("field", attributes, [element("annotation", [("class", "7"), ("value", "x")], [])]))
            own = [("id", str(self.ids[name])), ("name", name)]
            own += [("superType", "jdk.jfr.Event")] if name in self.events else []
            classes.append(element("class", own, rows))
        tree = element("root", [], [element("metadata", [], classes), element("region", [("locale", "en_ÜS☃")], [])])
        strings = number(len(words)) + b"".join(text(value) for value in words)
        return self.sized(number(0) + number(1) + number(0) + number(2) + strings + tree)

    def whole(self, state=0, flags=1, version=(2, 1), duration_ns=10**9):
        """The bytes of the chunk."""
        self.checkpoint()
        types_at = 68 + len(self.body)
        body = self.body + self.metadata()
        return b"FLR\0" + struct.pack(">HHQQQQQQQBHB", *version, 68 + len(body), self.tables, types_at, self.start_ns,
                                      duration_ns, 1000, 10**9, state, 0, flags) + body
