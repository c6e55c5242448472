#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kinds of leaks in real programs on their ordinary work, searched by heapwise and by Valgrind's memcheck.

    test_leaks_real.py NAME…     of the programs below

What we call definite, indirect or possible, memcheck must call so too, or a rule of leaks_differences.py says why not;
and the other way round. Children that a program forks and that do not exec are compared by what they have allocated. Blocks are compared by kind and by the innermost part of their stacks.
"""

import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
import leaks_differences
import leaktruth
import memcheck
import ourleaks
from processes import free_port, wait_for_answer

LOST = ("definite", "indirect", "possible")
# So many calls of a stack tell blocks apart; memcheck and we end stacks differently.
DEPTH = 6
# What stands below main.
BELOW = ("(below main)", "libc_start_call_main", "libc_start_main", "start_thread", "clone")
# memcheck's own come first, then those that another library has called by a name of its own.
ALLOCATORS = ("malloc", "calloc", "realloc")
# The same functions of libc by the names that each searcher prefers.
SAME = {"pthread_create_2_1": "pthread_create"}
PERL, PYTHON = "/usr/bin/perl", "/usr/bin/python3"
# Servers that have not ended after so long are told to once more.
SIGNAL_AGAIN_S = 20


class Program:
    """One that reads and ends: what it is started with. The folder is its own, with what prepare() laid there."""

    def __init__(self, arguments, *, stdin=b"", prepare=None, **environment):
        self.arguments, self.stdin, self.prepare = arguments, stdin, prepare
        self.environment = environment

    def run(self, before, folder):
        """Runs it with `before` in front: all processes that it was are of interest."""
        arguments = filled(self.arguments, folder=folder)
        program = need_installed(arguments[0])
        environment = hw.clean_environment(HOME=folder, **self.environment)
        ended = hw.run([*before, program, *arguments[1:]], stdin=self.stdin, cwd=folder, env=environment,
                       timeout=3 * hw.TIMEOUT)
        hw.need(ended.status == 0 and ended.stdout, f"{ended}")


class Server(Program):
    """One that waits to be talked to, and to be told to stop. talk(port)."""

    def __init__(self, arguments, *, talk, stop, **more):
        super().__init__(arguments, **more)
        self.talk, self.stop = talk, stop

    def run(self, before, folder):
        port = free_port()
        if self.prepare_for_port:
            self.prepare_for_port(folder, port)
        arguments = filled(self.arguments, folder=folder, port=port)
        program = need_installed(arguments[0])
        with open(folder / "output", "wb") as output:
            process = subprocess.Popen([*before, program, *arguments[1:]], cwd=folder, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=output, start_new_session=True,
                                       env=hw.clean_environment(HOME=folder, **self.environment))
        try:
            wait_for_answer(port, process)
            self.talk(port)
            status = self.end(process, int((folder / "server.pid").read_text()))
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        hw.need(status == 0, f"ended with {hw.describe(status)}; {hw.shorten((folder / 'output').read_text())}")

    def end(self, process, pid):
        """Its exit status. nginx looks for a signal before it waits for events: one in between is only seen at the next."""
        until = time.monotonic() + 3 * hw.TIMEOUT
        while True:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, self.stop)
            try:
                return process.wait(SIGNAL_AGAIN_S)
            except subprocess.TimeoutExpired:
                if time.monotonic() > until:
                    raise

    prepare_for_port = None


def filled(arguments, **values):
    """The arguments with the values in the place of {NAME}; other braces are programs'."""
    for name, value in values.items():
        arguments = [argument.replace("{" + name + "}", str(value)) for argument in arguments]
    return arguments


def need_installed(name):
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if not found:
        raise hw.Skip(f"{name} is not installed")
    return found


def ask(port, request, answers):
    """Sends lines and reads until so many answers have come: lines that begin like the given one."""
    with socket.create_connection(("127.0.0.1", port), timeout=hw.TIMEOUT) as one:
        one.sendall(request)
        read = b""
        while read.count(answers[0]) < answers[1]:
            ready, _, _ = select.select([one], [], [], hw.TIMEOUT)
            hw.need(ready, f"no answer; so far {read[-200:]!r}")
            part = one.recv(65536)
            hw.need(part, f"the server has closed; so far {read[-200:]!r}")
            read += part


# --- inputs -------------------------------------------------------------------------------------

JSON = b"[" + b",".join(
    b'{"id": %d, "kind": "%s", "value": %d.5, "words": ["a%d", "b", null]}' % (i, b"abcde"[i % 5:][:1], i * i, i)
    for i in range(300)
) + b"]"

SQL = b"""
create table t (id integer primary key, name text, value real);
with recursive n (i) as (select 1 union all select i + 1 from n where i < 1500)
  insert into t select i, 'name ' || (i % 97), i * 0.5 from n;
create index by_name on t (name);
begin; update t set value = value + 1 where name like 'name 1%'; commit;
select name, count(*), sum(value) from t group by name having count(*) > 10 order by 3 desc limit 5;
select count(*) from t a join t b on a.name = b.name where a.id < 20;
"""

PERL_SCRIPT = r"""
my (%seen, @list);
for my $i (1 .. 800) { my $word = "w" . ($i * 7919 % 131); push @{ $seen{$word} }, { number => $i, text => "x" x ($i % 40) }; }
for my $word (sort { @{ $seen{$b} } <=> @{ $seen{$a} } || $a cmp $b } keys %seen) {
  push @list, join ",", map { $_->{text} =~ /^(x+)$/ ? length $1 : 0 } @{ $seen{$word} };
}
my $ring = { }; $ring->{self} = $ring;
print scalar(@list), " ", length(join "", @list), "\n";
"""

PYTHON_SCRIPT = r"""
import collections, json, re
data = [{"id": i, "name": f"name {i % 17}", "tags": [str(i)] * (i % 5)} for i in range(300)]
again = json.loads(json.dumps(data))
groups = collections.defaultdict(list)
for one in again:
    groups[one["name"]].append(one["id"])
ring = []
ring.append(ring)
print(sorted((len(ids), name) for name, ids in groups.items())[-1], len(re.findall(r"\d+", json.dumps(again))))
"""

NGINX = """daemon off; master_process {master}; worker_processes 1; pid {folder}/server.pid; error_log {folder}/error.log;
{user} events {{ worker_connections 64; }}
http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
 fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; gzip on; gzip_types text/plain;
 server {{ listen 127.0.0.1:{port}; location / {{ default_type text/plain; return 200 "fine $request_uri\\n"; }}
 location /files {{ alias {folder}; }} }} }}
"""


def git_repository(folder):
    """A history of 12 commits of 5 files."""
    def git(*arguments):
        ended = hw.run([need_installed("git"), "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder,
                       env=hw.clean_environment(HOME=folder, GIT_CONFIG_NOSYSTEM=1))
        hw.need(ended.status == 0, str(ended))

    git("init", "-q", "-b", "main", ".")
    for commit in range(12):
        for file in range(5):
            lines = [f"line {i} of {file}: {i * commit % (file + 2)}\n" for i in range(60)]
            (folder / f"file{file}").write_text("".join(lines))
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", f"commit {commit}")


def nginx_configuration(master):
    def prepare(folder, port):
        folder.chmod(0o755)
        (folder / "nginx.conf").write_text(NGINX.format(
            folder=folder, port=port, master=master, user="" if os.geteuid() else "user root;"))

    return prepare


def talk_to_nginx(port):
    for i in range(20):
        request = f"GET /{i} HTTP/1.1\r\nHost: here\r\nAccept-Encoding: gzip\r\n\r\n".encode()
        ask(port, request * 3, (b"HTTP/1.1 200", 3))


def talk_to_redis(port):
    lines = []
    for i in range(200):
        lines += [f"SET key{i} value{i * 37}", f"LPUSH list{i % 9} {i}", f"HSET hash{i % 5} field{i} {i}",
                  f"SADD set{i % 7} {i}", f"DEL key{i - 50}"]
    ask(port, ("\r\n".join(lines) + "\r\nPING\r\n").encode(), (b"+PONG", 1))


def server(arguments, prepare=None, **more):
    made = Server(arguments, **more)
    made.prepare_for_port = prepare
    return made


NGINX_ARGUMENTS = ["nginx", "-e", "{folder}/error.log", "-c", "{folder}/nginx.conf"]
PROGRAMS = {
    "jq": Program(["jq", "-c", "group_by(.kind) | map({kind: .[0].kind, sum: (map(.value) | add), "
                   "words: (map(.words[0]) | sort | join(\"-\") | test(\"a1\"))})"], stdin=JSON),
    "sqlite3": Program(["sqlite3", "-batch", "{folder}/file.db"], stdin=SQL),
    "git": Program(["git", "--no-pager", "log", "--stat", "-p", "-M"], prepare=git_repository, GIT_CONFIG_NOSYSTEM=1),
    "perl": Program([PERL, "-e", PERL_SCRIPT], PERL_HASH_SEED=0, PERL_PERTURB_KEYS=0),
    "perl-e": Program([PERL, "-e", "print 1"], PERL_HASH_SEED=0, PERL_PERTURB_KEYS=0),
    "gcc": Program(["gcc", "-print-search-dirs"]),
    "python3": Program([PYTHON, "-S", "-c", PYTHON_SCRIPT], PYTHONHASHSEED=0, PYTHONDONTWRITEBYTECODE=1),
    "python3-malloc": Program([PYTHON, "-c", PYTHON_SCRIPT], PYTHONHASHSEED=0, PYTHONDONTWRITEBYTECODE=1,
                              PYTHONMALLOC="malloc"),
    "nginx": server(NGINX_ARGUMENTS, nginx_configuration("off"), talk=talk_to_nginx, stop=signal.SIGQUIT),
    "nginx-master": server(NGINX_ARGUMENTS, nginx_configuration("on"), talk=talk_to_nginx, stop=signal.SIGQUIT),
    "redis-server": server(["redis-server", "--port", "{port}", "--bind", "127.0.0.1", "--save", "", "--pidfile",
                            "{folder}/server.pid", "--dir", "{folder}", "--daemonize", "no"],
                           talk=talk_to_redis, stop=signal.SIGTERM),
}


# --- comparing ----------------------------------------------------------------------------------


def function(frame):
    """A function's name, whatever libc's version of it, or the compiler's part."""
    name = leaktruth.plain_name(frame.function).lstrip("_").partition(".")[0]
    return SAME.get(name, name)


def key(record):
    """The innermost calls of a stack: function and line as far as they are known, else places. Inlined functions,
    which stand at the place of the function that they are in, count with that."""
    calls, before = [], None
    for frame in record.frames:
        name = function(frame)
        if name.startswith(BELOW):
            break
        if not calls and name in ALLOCATORS:
            continue
        if frame.line is not None and before == frame.place:
            calls.pop()
        before = frame.place
        calls.append((name, frame.line) if name else frame.place)
    return tuple(calls[:DEPTH])


class Found:
    """What a searcher found of one process: blocks and bytes by place and kind."""

    def __init__(self, records):
        self.places = defaultdict(lambda: defaultdict(int))
        self.names = {}
        self.kinds = {kind: [0, 0] for kind in leaktruth.KINDS}
        for record in records:
            place = key(record)
            self.places[place][record.kind] += record.blocks
            self.names.setdefault(place, leaktruth.names(record.frames[:8]))
            self.kinds[record.kind][0] += record.blocks
            self.kinds[record.kind][1] += record.bytes

    def __str__(self):
        return ", ".join(f"{kind} {blocks} blocks {size} B" for kind, (blocks, size) in self.kinds.items())


def lost(kinds):
    return sum(kinds[kind] for kind in LOST)


FORKED = "of a forked child we know the blocks that it has allocated itself, and what else is in its heap is a root"


def compare(name, ours, theirs, is_forked):
    """Sentences on each place where the kinds differ and no rule explains it; and what rules have explained. Where
    the searchers have seen other numbers of blocks, since the program did other things, only whether any are lost
    is compared."""
    problems, explained = [], defaultdict(int)
    for place in {**ours.places, **theirs.places}:
        mine, other = ours.places[place], theirs.places[place]
        same_number = sum(mine.values()) == sum(other.values())
        if dict(mine) == dict(other) or (not same_number and bool(lost(mine)) == bool(lost(other))):
            continue
        names = ours.names.get(place) or theirs.names.get(place)
        more = lost(mine) > lost(other)
        why = leaks_differences.real(name, names, more) or (FORKED if is_forked and not more else "")
        if why:
            explained[why] += 1
        elif more:
            problems.append(f"lost by our word alone: {dict(mine)}, memcheck {dict(other)}: {names}")
        else:
            problems.append(f"ours {dict(mine)}, memcheck {dict(other)}: {names}")
    return problems, explained


def search_by_memcheck(program, folder):
    """What each process was, the first one first."""
    before = memcheck.command(folder / "memcheck.%p.xml", "--child-silent-after-fork=no")
    program.run(before, folder)
    paths = sorted(folder.glob("memcheck.*.xml"), key=lambda path: int(path.name.split(".")[1]))
    return [memcheck.records(path)[0] for path in paths]


def search_by_heapwise(program, folder):
    recording = folder / "x.hpw"
    sessions = folder / "sessions"
    sessions.mkdir()
    program.environment["XDG_RUNTIME_DIR"] = sessions
    program.run([hw.HEAPWISE, "run", "-q", "--no-pyobjects", "--leak-check=full", "-o", recording, "--"], folder)
    others = sorted(folder.glob("x.*.hpw"), key=lambda path: int(path.name.split(".")[1]))
    return [ourleaks.records(path) for path in [recording, *others]]


def check(name, folder):
    ourleaks.need_search()
    memcheck.need_valgrind()
    program, found = PROGRAMS[name], []
    for way in (search_by_memcheck, search_by_heapwise):
        place = folder / way.__name__
        place.mkdir()
        if program.prepare:
            program.prepare(place)
        found.append([Found(records) for records in way(program, place)])
    theirs, ours = found
    hw.need(len(ours) == len(theirs), f"{len(ours)} processes, under memcheck {len(theirs)}")
    problems, remarks = [], []
    for number, (mine, other) in enumerate(zip(ours, theirs)):
        unexplained, explained = compare(name, mine, other, is_forked=number > 0)
        problems += unexplained
        remarks += [f"{name}: heapwise {mine}", f"{name}: memcheck {other}"]
        remarks += [f"{name}: {places} places differ: {why}" for why, places in explained.items()]
    hw.need(not problems, "\n".join(remarks + problems))
    return "\n".join(remarks)


def main():
    tests = hw.Tests()
    names, sys.argv[1:] = sys.argv[1:] or list(PROGRAMS), []
    for name in names:
        tests.add(name, lambda folder, name=name: check(name, folder))
    tests.main(width=2)


if __name__ == "__main__":
    main()
