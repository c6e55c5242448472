#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is read of real programs' heaps equals what their allocators say of themselves, in the process, at the same
moment: of the process as it runs, of cores of gcore's, as old ones wrote them too, and of the kernel's.

    test_heap_programs.py full|long [NAME…]

glibc's malloc_info() knows free chunks, the top of each arena and what the system gave: the blocks that were read make
up the rest, to the byte. jemalloc knows how many blocks of each size there are, mimalloc each block, tcmalloc their bytes.
"""

import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
import hw  # noqa: E402
from heaps import ask, cut_notes, gcore, need_cores_here  # noqa: E402
from processes import children, free_port, wait_for_answer  # noqa: E402

LONG = sys.argv.pop(1) == "long"
tests = hw.Tests()

LIBRARY = hw.LIBRARIES / "libown_words.so"
SAY = signal.SIGRTMIN + 9
LIBC = ctypes.CDLL(None)
SYS_TGKILL = 234
# What glibc has beside blocks, on 64 bits: a chunk's header; what a mapping of its own has more than that; in front of
# the first block of an arena beside the main one (heap_info, malloc_state); of each further heap of such an arena, with
# the two chunks that end the one before.
HEADER = 8
MAPPED = 8
ARENA = 2256
HEAP = 80
NO_CACHES = "glibc.malloc.tcache_count=0"


# ---- what allocators say


class Glibc:
    def __init__(self, xml):
        self.free, self.fast, self.tops, self.arenas = Counter(), [0, 0], 0, 0
        root = ElementTree.fromstring(xml)
        for heap in root.iter("heap"):
            self.arenas += 1
            rest = heap.find("total[@type='rest']")
            count, total = 0, 0
            for row in heap.find("sizes") if heap.find("sizes") is not None else ():
                if int(row.get("to")) % 16:  # else of a fast bin
                    # As in the header: with the bit that says that the one before is in use.
                    blocks, size = int(row.get("count")), int(row.get("total"))
                    count += blocks
                    total += size
                    if row.get("from") == row.get("to"):
                        self.free[int(row.get("from")) // 16 * 16] += blocks
                    else:
                        self.free["others", "blocks"] += blocks
                        self.free["others", "bytes"] += size - blocks
            hw.need(int(rest.get("count")) == count + 1, f"malloc_info has {count} chunks of {rest.attrib}")
            self.tops += int(rest.get("size")) - total
        self.fast = [int(root.find("total[@type='fast']").get(name)) for name in ("count", "size")]
        self.mapped = [int(root.find("total[@type='mmap']").get(name)) for name in ("count", "size")]
        self.system = int(root.find("system[@type='current']").get("size"))


class Words:
    """One answer of tests/lib/own_words.c."""

    def __init__(self, path):
        self.text = path.read_text()
        xml, _, rest = self.text.partition("</malloc>\n")
        self.glibc = Glibc(xml + "</malloc>")
        rows = [line.split() for line in rest.splitlines()]
        self.jemalloc = {int(row[1]): int(row[2]) for row in rows if row[0] == "jemalloc"}
        self.mimalloc = {int(row[1], 16): int(row[2]) for row in rows if row[0] == "mimalloc"}
        self.tcmalloc = {row[1]: int(row[2]) for row in rows if row[0] == "tcmalloc"}


def ask_thread(pid, thread, folder):
    path = folder / f"words.{thread}"
    path.unlink(missing_ok=True)
    hw.need(LIBC.syscall(SYS_TGKILL, pid, thread, SAY) == 0, f"thread {thread} is gone")
    hw.wait_until(path.exists, f"thread {thread} does not answer")
    return path


def own_words(pid, folder):
    """mimalloc has a heap for each thread, which that thread alone can look at."""
    words = Words(ask_thread(pid, pid, folder))
    if words.mimalloc:
        for thread in sorted(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()):
            if thread != pid:
                more = Words(ask_thread(pid, thread, folder))
                words.mimalloc |= more.mimalloc
                words.text += more.text
    return words


# ---- what heapwise says


class Found:
    """Blocks by state and size, of a heap that is named by these words."""

    def __init__(self, *heap):
        self.heap, self.counts, self.addresses = heap, Counter(), defaultdict(set)
        command = [hw.HEAPWISE, *heap, "blocks", "--no-inference", "--limit", str(1 << 30)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            for line in process.stdout:
                cells = line.split(None, 3)
                if cells and cells[0].startswith(b"0x"):
                    state = cells[2].decode()
                    self.counts[state, int(cells[1])] += 1
                    self.addresses[state].add(int(cells[0], 16))
        hw.need(process.returncode == 0 and self.counts, f"{heap}: status {process.returncode}")
        self.summary = ask(*heap[:1], "--json", *heap[1:], "--no-inference")

    def check(self):
        totals = self.summary["totals"]
        hw.need(not self.summary["damage"], f"{self.heap}: damage: {self.summary['damage'][:3]}")
        for what, states in (("used", ["used"]), ("free", ["free", "cached"]), ("cached", ["cached"])):
            hw.need((totals[f"{what}_blocks"], totals[f"{what}_bytes"]) == self.of(*states),
                    f"{self.heap}: blocks that are {what}: {self.of(*states)}, in the summary: {totals}")

    def of(self, *states):
        """How many blocks, and their usable bytes."""
        chosen = [(n, n * size) for (state, size), n in self.counts.items() if state in states]
        return sum(n for n, _ in chosen), sum(size for _, size in chosen)


def compare_glibc(found, words):
    """Free chunks by size; what is used, with what threads keep at hand, is the rest."""
    glibc = words.glibc
    theirs = {size: n for size, n in glibc.free.items() if isinstance(size, int)}
    wanted = [sum(theirs.values()) + glibc.free["others", "blocks"],
              sum(n * size for size, n in theirs.items()) + glibc.free["others", "bytes"]]
    blocks, usable = found.of("free")
    hw.need([blocks, usable + HEADER * blocks] == wanted,
            f"{blocks} free chunks of {usable + HEADER * blocks} bytes, malloc_info has {wanted}")
    fewer = {size: n for size, n in theirs.items() if found.counts["free", size - HEADER] < n}
    hw.need(not fewer, f"malloc_info has free chunks that were not found: {fewer}")
    cached, usable = found.of("cached")
    fast = [cached, usable + HEADER * cached]
    # Of threads' caches it says nothing.
    hw.need(fast == glibc.fast if NO_CACHES in words.environment else cached >= glibc.fast[0],
            f"{fast} are cached, malloc_info has {glibc.fast} in fast bins")
    blocks, usable = found.of("used", "cached", "free", "allocator")
    left = glibc.system + glibc.mapped[1] - glibc.tops - usable - HEADER * blocks - MAPPED * glibc.mapped[0]
    heaps = left - ARENA * (glibc.arenas - 1)
    hw.need(heaps >= 0 and heaps % HEAP == 0, f"{left} bytes of {glibc.arenas} arenas are in no block: {glibc.__dict__}")
    return f"{glibc.arenas} arenas, {glibc.mapped[0]} mappings, {heaps // HEAP} further heaps"


def compare_jemalloc(found, words):
    """Blocks of each size, with those that threads keep at hand, and these caches themselves."""
    ours = Counter()
    for (state, size), n in found.counts.items():
        if state != "free":
            ours[size] += n
    total = words.jemalloc.pop(0)
    wrong = {size: (ours[size], words.jemalloc.get(size, 0)) for size in ours | words.jemalloc
             if ours[size] != words.jemalloc.get(size, 0)}
    hw.need(not wrong, f"blocks by size (found, wanted): {wrong}")
    hw.need(total == sum(size * n for size, n in ours.items()), f"other bytes than {total}")


def compare_mimalloc(found, words):
    """Each block. It counts as used what other threads have freed until the owner looks, which is kept at hand."""
    more, fewer = found.addresses["used"] - words.mimalloc.keys(), words.mimalloc.keys() - found.addresses["used"]
    freed = fewer & found.addresses["cached"]
    hw.need(not more and freed == fewer, f"{len(more)} blocks are not mimalloc's: {[*map(hex, more)][:5]}, "
            f"{len(fewer - freed)} were not found: {[*map(hex, fewer - freed)][:5]}")
    return f"{len(freed)} freed by other threads"


def compare_tcmalloc(found, words):
    """Bytes of blocks in use, and of those that are kept at hand. It counts as free in its central lists also what is
    left at the end of each span, at most an eighth."""
    said = words.tcmalloc
    ours = [found.of("used")[1], found.of("cached")[1]]
    wanted = [said["generic.current_allocated_bytes"],
              said["tcmalloc.current_total_thread_cache_bytes"] + said["tcmalloc.transfer_cache_free_bytes"]]
    hw.need(ours == wanted, f"{ours} bytes are used and cached, not {wanted}")
    free = found.of("free")[1]
    ends = said["tcmalloc.central_cache_free_bytes"] - free
    hw.need(0 <= ends <= (sum(ours) + free) / 8, f"{free} bytes are free: {said}")
    return f"{ends} bytes at ends of spans"


COMPARE = {"glibc": compare_glibc, "jemalloc": compare_jemalloc, "mimalloc": compare_mimalloc, "tcmalloc": compare_tcmalloc}


# ---- the roads


def same(found, other, what):
    other.check()
    differ = (found.counts - other.counts) + (other.counts - found.counts)
    hw.need(found.counts == other.counts and found.addresses == other.addresses,
            f"{what}: other blocks than in the process: {sum(differ.values())}, {differ.most_common(5)}")


def dump(pid):
    """The core that the kernel writes when it dies."""
    work = Path(f"/proc/{pid}/cwd").resolve()
    os.kill(pid, signal.SIGXCPU)  # which nobody handles
    hw.wait_until(lambda: not Path(f"/proc/{pid}/exe").exists(), "the process does not die of a signal")
    cores = list(work.glob("core*"))
    hw.need(len(cores) == 1, f"no core: {cores}")
    return cores[0]


def judge(pid, folder, allocator):
    """All of that for a process at a moment at which it is idle; it is killed then."""
    need_cores_here()
    environment = Path(f"/proc/{pid}/environ").read_text()
    for _ in range(20):
        before = own_words(pid, folder)
        live = Found("heap", str(pid))
        core = gcore(pid, folder)
        if own_words(pid, folder).text == before.text:
            break
        core.unlink()
    else:
        raise hw.Failure("the process is never idle")
    last = dump(pid)
    live.check()
    before.environment = environment
    remark = COMPARE[allocator](live, before) or ""
    same(live, Found("core", str(core)), "gcore")
    old = folder / "old.core"
    cut_notes(core, old)
    core.unlink()
    same(live, Found("core", str(old)), "an old gcore")
    old.unlink()
    same(live, Found("core", str(last)), "the kernel's core")
    return f"{live.of('used')[0]} blocks used, {live.of('free')[0]} free, {live.of('cached')[0]} cached. {remark}"


# ---- programs


def program(name, folders=""):
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin:{folders}")
    if not found:
        raise hw.Skip(f"{name} is not installed")
    return found


def start(words, folder, preload=(), user=None, environment=None, **more):
    """With the library that answers, and leave to dump core."""
    if not (folder / LIBRARY.name).exists():
        shutil.copy(LIBRARY, folder)
        folder.chmod(0o777)
    env = hw.clean_environment(
        OWN_WORDS=folder / "words", LD_PRELOAD=":".join([*preload, str(folder / LIBRARY.name)]), HOME=folder, **(environment or {}))
    more.setdefault("cwd", folder)
    return subprocess.Popen(
        ["sh", "-c", 'ulimit -c unlimited && exec "$@"', "sh", *map(str, words)], env=env, user=user, group=user,
        extra_groups=[] if user else None, start_new_session=True, **more)


@contextlib.contextmanager
def ending(process):
    """Ended with its children: it first, so that it starts no others."""
    try:
        yield process
    finally:
        family = [process.pid] + [int(child) for child in (children(process.pid) if process.poll() is None else ())]
        for one in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.wait()


STATEMENTS = """
create table account (id serial primary key, name text, balance numeric, about jsonb);
insert into account (name, balance, about)
  select 'name ' || i, i * 1.5, jsonb_build_object('i', i, 'tags', array['a', 'b', i::text]) from generate_series(1, 5000) i;
create index on account (name);
create table entry (id serial primary key, account int references account, amount numeric, at timestamp default now());
insert into entry (account, amount) select 1 + i % 5000, i % 100 from generate_series(1, 20000) i;
create function pay(a int, b int) returns numeric language plpgsql as $$
  declare sum numeric; begin
    update account set balance = balance - b where id = a returning balance into sum;
    insert into entry (account, amount) values (a, b);
    return sum; exception when others then return null; end $$;
do $$ begin for i in 1..300 loop execute format('create table part_%s (a int, b text, c numeric default %s)', i, i); end loop; end $$;
do $$ begin for i in 1..500 loop perform pay(i, i % 7); end loop; end $$;
select a.name, sum(e.amount), count(*) from account a join entry e on e.account = a.id group by 1 order by 2 desc, 1;
select about -> 'tags', string_agg(name, ',' order by name) from account group by 1;
prepare p1 as select * from account where id = $1; execute p1(1); execute p1(2); execute p1(3);
do $$ begin for i in 1..300 by 2 loop execute format('drop table part_%s', i); end loop; end $$;
create temp table t as select i, md5(i::text) m from generate_series(1, 20000) i; analyze t; create index on t (m);
begin; declare c cursor with hold for select * from entry order by amount, id; fetch 100 from c; commit;
"""


@tests.test
def postgres(folder):
    """postgres: a backend after real work"""
    folders = ":".join(map(str, Path("/usr/lib/postgresql").glob("*/bin")))
    server, client = program("postgres", folders), program("psql", folders)
    user = "postgres" if os.geteuid() == 0 else None
    data = folder / "data"
    folder.chmod(0o777)
    ended = hw.run([program("initdb", folders), "-D", data, "-A", "trust", "-U", "postgres", "-N", "--no-locale"], user=user,
                   group=user, extra_groups=[] if user else None, cwd=folder)
    hw.need(ended.status == 0, str(ended))
    with ending(start([server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off",
                       "-c", "shared_buffers=4MB", "-c", "autovacuum=off"], folder, user=user,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) as process:
        hw.wait_until(lambda: process.poll() is not None or len(list(folder.glob(".s.PGSQL.*"))) > 1, "no server")
        with ending(subprocess.Popen([client, "-X", "-q", "-t", "-A", "-h", folder, "-U", "postgres", "postgres"], text=True,
                                     env=hw.clean_environment(), cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as talk:
            talk.stdin.write(f"\\o rows\n{STATEMENTS}\\o\nselect 'backend', pg_backend_pid();\n")
            talk.stdin.flush()
            for line in talk.stdout:
                if line.startswith("backend|"):
                    break
            hw.need((folder / "rows").stat().st_size > 100000, "the statements failed")
            return judge(int(line.split("|")[1]), folder, "glibc")


def add_redis(keys):
    def test(folder):
        server, port = program("redis-server"), free_port()
        with ending(start([server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--hz", "1",
                           "--dynamic-hz", "no", "--crash-log-enabled", "no", "--activerehashing", "no", "--enable-debug-command", "yes"],
                          folder, stdout=subprocess.DEVNULL)) as process:
            wait_for_answer(port, process)
            with socket.create_connection(("127.0.0.1", port)) as talk, talk.makefile("rb") as answers:
                script = ("for i=1,%d do local k='key:'..i redis.call('set', k, string.rep('v', i%%97)) "
                          "if i%%10==0 then redis.call('hset', 'h'..i%%1000, 'f'..i, 'value '..i) "
                          "redis.call('rpush', 'l'..i%%100, i) redis.call('zadd', 'z'..i%%500, i, 'm'..i) end "
                          "if i%%3==0 then redis.call('del', 'key:'..i/3) end end return redis.call('dbsize')") % keys
                talk.sendall(b"EVAL %d 0\r\n".replace(b"%d", b'"' + script.encode() + b'"'))
                count = answers.readline()
                hw.need(count.startswith(b":"), count.decode())
            hw.wait_until(lambda: b"connected_clients:1\r" in hw.run(["redis-cli", "-p", str(port), "info", "clients"]).stdout, "")
            return f"{int(count[1:])} keys: {judge(process.pid, folder, 'jemalloc')}"

    tests.add(f"redis-server with {keys} keys", test)


add_redis(1000000 if LONG else 30000)


NGINX = """daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1; {user}
working_directory {folder}; worker_rlimit_core 2000m;
events {{ worker_connections 512; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
 uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; keepalive_timeout 600s; keepalive_requests 100000; gzip on; gzip_types *; gzip_proxied any;
 server {{ listen 127.0.0.1:{port}; location / {{ root {folder}/pages; }} location /far/ {{ proxy_pass http://127.0.0.1:{port}/; }}
  location /text {{ return 200 "fine"; }} }} }}
"""


@tests.test
def nginx(folder):
    """nginx: a worker that was under load"""
    server, load = program("nginx"), program("wrk")
    port = free_port()
    (folder / "pages").mkdir()
    for i in range(10):
        (folder / f"pages/{i}.txt").write_text(f"{i} lines\n" * 3 ** i)
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, user="" if os.geteuid() else "user root;"))
    with ending(start([server, "-e", folder / "error.log", "-c", folder / "nginx.conf"], folder)) as process:
        wait_for_answer(port, process)
        for path in ("text", "far/7.txt"):
            ended = hw.run([load, "-t1", "-c32", "-d1s", f"http://127.0.0.1:{port}/{path}"])
            hw.need(ended.status == 0 and "Non-2xx" not in ended.text, f"{ended} {ended.text}")
        with contextlib.ExitStack() as stack:
            for i in range(60):
                one = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                one.sendall(f"GET /{i % 10}.txt HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nX-Long: {'x' * 13 * i}\r\n\r\n".encode())
                hw.need(one.recv(100).startswith(b"HTTP/1.1 200"), "no answer")
            return judge(int(children(process.pid)[0]), folder, "glibc")


@tests.test
def java(folder):
    """a JVM's native heap"""
    registry = program("rmiregistry")
    port = free_port()
    # gcore reads what is only reserved, too: no more of that than needed.
    options = [f"-J{o}" for o in ("-Xmx32m", "-XX:+UseG1GC", "-XX:ParallelGCThreads=4", "-Xshare:off", "-XX:-UsePerfData",
                                  "-XX:CompressedClassSpaceSize=16m", "-XX:ReservedCodeCacheSize=16m")]
    with ending(start([registry, *options, port], folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)) as process:
        wait_for_answer(port, process)
        return judge(process.pid, folder, "glibc")


PYTHON = """
import json, sys, threading, zlib
class Item:
    def __init__(self, i):
        self.name, self.parts, self.table = f"item {i}", list(range(i % 50)), {j: str(j) for j in range(i % 20)}
items = [Item(i) for i in range(3000)]
del items[::3]
texts = ["x" * (i * i % 70000) for i in range(500)]
packed = [zlib.compress(json.dumps([t[:200], i]).encode()) for i, t in enumerate(texts)]
def work():
    done.extend(bytes(i * 7 % 5000) for i in range(400))
    wait.wait()
done, wait = [], threading.Event()
threads = [threading.Thread(target=work) for _ in range(5)]
for t in threads: t.start()
while len(done) < 2000: pass
del texts[::2], done[::3]
print("ready", flush=True)
sys.stdin.read()
"""


def add_python(allocator, library=None, name="python3", **environment):
    def test(folder):
        with ending(start(["/usr/bin/python3", "-c", PYTHON], folder, [library] if library else [], environment=environment,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as process:
            hw.need(process.stdout.readline() == b"ready\n", f"{library} is not installed, or python fails")
            return judge(process.pid, folder, allocator)

    tests.add(name, test)


add_python("glibc", name="python3, all by malloc()", PYTHONMALLOC="malloc")
add_python("glibc", name="python3 without threads' caches", PYTHONMALLOC="malloc", GLIBC_TUNABLES=NO_CACHES)
add_python("jemalloc", "libjemalloc.so.2", "python3 with jemalloc", PYTHONMALLOC="malloc")
add_python("tcmalloc", "libtcmalloc_minimal.so.4", "python3 with tcmalloc", PYTHONMALLOC="malloc")
add_python("mimalloc", "libmimalloc.so.2", "python3 with mimalloc", PYTHONMALLOC="malloc")

tests.main(width=1)
