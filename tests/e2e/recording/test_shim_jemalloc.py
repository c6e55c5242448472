#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that were made for jemalloc's heap profiler, beside the real one: the same names of files, answers of
mallctl() and messages, and files that jeprof reads."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lib"))

import hw
from processes import free_port

TESTS = hw.Tests()
USER = hw.TARGETS / "jemalloc_user"
SHIM = "libheapwise-jemalloc.so"
REAL = "libjemalloc.so.2"
LUA_MODULES = [Path("/usr/lib/nginx/modules") / name for name in ("ndk_http_module.so", "ngx_http_lua_module.so")]


def real_is_here():
    if not any(Path(where, REAL).exists() for where in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")):
        raise hw.Skip(f"no {REAL} here")


def native(folder, conf, *program):
    """With the real one."""
    real_is_here()
    return hw.run(program, env=hw.clean_environment(LD_PRELOAD=REAL, MALLOC_CONF=conf), cwd=folder)


def run(folder, conf, *program, options=(), **variables):
    if conf is not None:
        variables["MALLOC_CONF"] = conf
    return hw.run([hw.HEAPWISE, "run", "-q", "--as=jemalloc", "-f", "-o", folder / "a.hpw", *options, "--", *program],
                  env=hw.clean_environment(**variables), cwd=folder)


def heaps(folder):
    """Names of the dumps without the process's number, sorted by theirs; nothing else may be left of them."""
    names = [path.name for path in folder.iterdir() if ".heap" in path.name]
    hw.need(all(name.endswith(".heap") for name in names), f"left over: {names}")
    hw.need(not list(folder.glob("*.tmp*")), f"left over: {list(folder.iterdir())}")
    return [re.sub(r"\.\d+\.(\d+)\.", r".PID.\1.", name, count=1)
            for name in sorted(names, key=lambda name: [int(n) for n in re.findall(r"\d+", name)])]


def heap_file(folder, pattern):
    found = list(folder.glob(pattern))
    hw.need(len(found) == 1, f"{pattern}: {[path.name for path in folder.iterdir()]}")
    return found[0]


def total(path):
    """Of a file: period, live blocks and bytes."""
    found = re.search(r"^heap_v2/(\d+)\n  t\*: (\d+): (\d+) \[", path.read_text(), re.M)
    hw.need(found, f"{path.name}: {path.read_text()[:200]}")
    return tuple(map(int, found.groups()))


def jeprof(path, program=USER):
    """Bytes by function, its own, as jeprof says."""
    ended = hw.run([hw.need_program("jeprof"), "--text", "--show_bytes", program, path])
    hw.need(ended.status == 0, str(ended))
    rows = re.findall(r"^\s*(\d+)\s+[\d.]+%\s+[\d.]+%\s+\d+\s+[\d.]+%\s+(\S+)", ended.text, re.M)
    return {name: int(size) for size, name in rows}


def jeprof_all(path):
    """What jeprof says of all that was ever allocated."""
    return hw.run([hw.need_program("jeprof"), "--text", "--alloc_space", USER, path]).text


@TESTS.test
def absent_unasked(folder):
    """Without --as a program finds none of the functions; with it also where it is started without the command"""
    ended = hw.run([hw.HEAPWISE, "run", "-q", "-f", "-o", folder / "a.hpw", USER, "answers"])
    hw.need(ended.text == "no jemalloc\n", str(ended))
    line = hw.ask("env", "--as=jemalloc", "-o", folder / "b.hpw")
    hw.need(SHIM in line, line)
    script = f'{line}\nMALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0 "{USER}" leak_check'
    ended = hw.run(["/bin/sh", "-c", script], cwd=folder)
    hw.need(ended.status == 0 and heaps(folder) == ["jeprof.PID.0.f.heap"], f"{ended} {heaps(folder)}")
    hw.need(total(heap_file(folder, "*.f.heap"))[2] >= 49950000, "less than was lost")


@TESTS.test
def leak_checking(folder):
    """The documentation's leak check: the summary's words, the last dump, jeprof's total"""
    conf = "prof_leak:true,lg_prof_sample:0,prof_final:true"
    ended = run(folder, conf, USER, "leak_check")
    found = re.fullmatch(r"<jemalloc>: Leak approximation summary: ~(\d+) bytes, ~(\d+) objects, >= (\d+) contexts?\n"
                         r"<jemalloc>: Run jeprof on dump output for leak detail\n", ended.errors)
    hw.need(ended.status == 0 and found, str(ended))
    hw.need(heaps(folder) == ["jeprof.PID.0.f.heap"], heaps(folder))
    path = heap_file(folder, "*.f.heap")
    period, blocks, size = total(path)
    hw.need((period, blocks) == (1, int(found[2])) and size >= 49950000 and blocks >= 1000, f"{total(path)}, {ended.errors}")
    hw.need(0 <= int(found[1]) - size < 100, f"{size} in the file, {ended.errors}")
    hw.need(jeprof(path).get("do_something") == 49950000, jeprof(path))
    theirs = native(folder, conf, USER, "leak_check")
    hw.need(re.sub(r"\d+", "N", theirs.errors).replace("contexts", "context") ==
            re.sub(r"\d+", "N", ended.errors).replace("contexts", "context"), f"{theirs.errors!r}, ours {ended.errors!r}")


@TESTS.test
def leak_error(folder):
    """prof_leak_error makes the status 1, and only if something was lost"""
    for story, status in (("leak_check", 1), ("leak_nothing", 0)):
        ended = run(folder, "prof_leak_error:true,lg_prof_sample:0,prof_final:true", USER, story, options=("--mode=exact",))
        hw.need(ended.status == status, f"{story}: {ended}")
        hw.need(("Exiting with error code because memory leaks were detected" in ended.errors) == bool(status), str(ended))
    for path in folder.glob("*.heap"):
        path.unlink()
    ended = run(folder, "prof_leak:true", USER, "leak_check")
    hw.need(ended.status == 0 and not ended.errors and not heaps(folder), f"without prof_final: {ended} {heaps(folder)}")


@TESTS.test
def accumulated(folder):
    """What was freed is in the files with prof_accum, and only then"""
    for conf, expected in (("", r"\[0: 0\]"), (",prof_accum:true", r"\[1[0-9]: 1[0-9]{4}\]")):
        ended = run(folder, f"prof:true,lg_prof_sample:0,prof_final:true{conf}", USER, "leak_nothing")
        path = heap_file(folder, "*.f.heap")
        hw.need(ended.status == 0 and re.search(r"^  t\*: \d+: \d+ " + expected, path.read_text(), re.M), path.read_text()[:300])
        hw.need(("leak_nothing" in str(jeprof_all(path))) == bool(conf), f"{conf}: {jeprof_all(path)}")
        path.unlink()


@TESTS.test
def dumps_named(folder):
    """prof.dump writes to the name it is given or the next one, of the prefix of then; what can't be written is EFAULT"""
    ended = run(folder, "prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:a%b", USER, "many_kinds")
    hw.need(ended.text == "0\n0\n0\n14\n14\n" and ended.status == 0, str(ended))
    hw.need(heaps(folder) == ["a%b.PID.0.m0.heap", "other.PID.1.m1.heap", "other.PID.2.f.heap"], heaps(folder))
    hw.need(total(heap_file(folder, "*.m0.heap"))[1:] == (64, 64 * 65536), total(heap_file(folder, "*.m0.heap")))
    ended = run(folder, "prof:true,prof_final:true,prof_prefix:", USER, "from_threads")
    hw.need(ended.text == "32 failed\n", f"without a prefix: {ended}")


@TESTS.test
def dumps_automatic(folder):
    """Dumps by bytes allocated and at new heights come by themselves and are numbered one after the other"""
    ended = run(folder, "prof:true,lg_prof_sample:0,lg_prof_interval:20,prof_final:true", USER, "leak_check")
    names = heaps(folder)
    hw.need(ended.status == 0 and names[-1] == f"jeprof.PID.{len(names) - 1}.f.heap" and len(names) > 1, f"{ended} {names}")
    hw.need(names[:-1] == [f"jeprof.PID.{i}.i{i}.heap" for i in range(len(names) - 1)], names)
    for path in folder.glob("*.heap"):
        total(path)
        path.unlink()
    run(folder, "prof:true,lg_prof_sample:0,prof_gdump:true", USER, "leak_check")
    names = heaps(folder)
    hw.need(names and names == [f"jeprof.PID.{i}.u{i}.heap" for i in range(len(names))], names)


def heights(folder):
    """How many dumps of new heights there are with each prefix."""
    names = [path.name[0] for path in folder.glob("*.u*.heap")]
    for path in folder.glob("*.heap"):
        path.unlink()
    return [names.count(prefix) for prefix in "abcd"]


@TESTS.test
def dumps_by_page(folder):
    """prof_gdump dumps when another slab or page of large blocks is needed, as often as jemalloc does"""
    # Slabs of 64 blocks of 320 bytes, 4 of 5120, 2 of 10240; large blocks by themselves.
    ended = run(folder, "prof:true,lg_prof_sample:0", USER, "grow_pages")
    ours = heights(folder)
    hw.need(ended.status == 0 and not ended.text and ours == [3, 3, 3, 3], f"{ours} {ended}")
    hw.need("prof_gdump with lg_prof_sample:0 dumps far less" in ended.errors, str(ended))
    ended = run(folder, "prof:true,lg_prof_sample:1,prof_gdump:true", USER, "leak_check")
    heights(folder)
    hw.need(ended.status == 0 and "prof_gdump" not in ended.errors, str(ended))
    # Thread caches fetch blocks before they are wanted.
    ended = native(folder, "prof:true,lg_prof_sample:40,tcache:false", USER, "grow_pages")
    theirs = heights(folder)
    hw.need(ended.status == 0 and theirs == ours, f"{ours}, really {theirs} {ended}")


@TESTS.test
def dumps_concurrent(folder):
    """32 dumps from eight threads at a time are all written"""
    ended = run(folder, "prof:true,lg_prof_sample:0", USER, "from_threads")
    hw.need(ended.text == "0 failed\n", str(ended))
    hw.need(heaps(folder) == [f"jeprof.PID.{i}.m{i}.heap" for i in range(32)], heaps(folder))


@TESTS.test
def dumps_forked(folder):
    """A forked child has files of its own number"""
    ended = run(folder, "prof:true,lg_prof_sample:0,prof_final:true", USER, "in_child")
    numbers = re.findall(r"^(\d+) 0$", ended.text, re.M)
    hw.need(len(numbers) == 2, str(ended))
    for number in numbers:
        for which in ("0.m0", "1.f"):
            hw.need((folder / f"jeprof.{number}.{which}.heap").exists(), f"{number}: {heaps(folder)}")
    hw.need(total(folder / f"jeprof.{numbers[0]}.0.m0.heap")[1:] == (5, 5000), "the child's five blocks")


@TESTS.test
def stats_forked(folder):
    """A child reads statistics, whatever its parent's threads do when it is forked"""
    for conf in ("prof:false", "prof:true"):
        ended = run(folder, conf, USER, "stats_in_children", options=("--children=no",))
        hw.need(ended.text == "300 of 300\n", f"{conf}: {ended}")


@TESTS.test
def activated(folder):
    """prof.active begins and ends what is counted"""
    ended = run(folder, "prof:true,lg_prof_sample:0,prof_active:false", USER, "heap_profile")
    hw.need(ended.text == "0\n" * 5, str(ended))
    found = [jeprof(heap_file(folder, name)).get("keep_block", 0) for name in ("jeprof.*.0.m0.heap", "named.heap", "jeprof.*.1.m1.heap")]
    hw.need(found == [0, 200300, 200300], found)


@TESTS.test
def sampled(folder):
    """Without --mode the distance of samples is jemalloc's, and jeprof scales the file to what there was"""
    ended = run(folder, "prof:true,lg_prof_sample:12,prof_final:true", USER, "leak_check", options=("--seed=7",))
    path = heap_file(folder, "*.f.heap")
    period, _, size = total(path)
    hw.need(ended.status == 0 and period == 4096 and abs(size - 49950000) < 1500000, f"{ended} {total(path)}")
    lost = jeprof(path)["do_something"]
    hw.need(abs(lost - 49950000) < 1500000, f"{lost} by jeprof")
    # Of blocks that are far smaller than the distance few are seen, and stand for all.
    run(folder, "prof:true,lg_prof_sample:18,prof_final:true,prof_prefix:few", USER, "leak_check", options=("--seed=7",))
    found = total(heap_file(folder, "few.*.f.heap"))
    lost = jeprof(heap_file(folder, "few.*.f.heap"))["do_something"]
    hw.need(found[2] < 30000000 and abs(lost - 49950000) < 15000000, f"{lost} by jeprof, {found}")
    for options, conf in (((), "prof:true"), (("--mode=exact",), "prof:true,lg_prof_sample:12"), ((), "lg_prof_sample:12")):
        run(folder, conf, USER, "leak_nothing", options=options)
        mode = hw.report(folder / "a.hpw")["recording"]["mode"]
        hw.need(("exact" in mode) == (conf != "prof:true"), f"{options} {conf}: {mode}")


@TESTS.test
def own_options(folder):
    """The program's malloc_conf counts, also for the distance of samples, and MALLOC_CONF comes after it"""
    for conf, prefix, period in ((None, "own", 1024), ("prof_prefix:mine,lg_prof_sample:11", "mine", 2048)):
        ended = run(folder, conf, f"{USER}_conf", "leak_check")
        hw.need(ended.status == 0, str(ended))
        hw.need(total(heap_file(folder, f"{prefix}.*.0.f.heap"))[0] == period, f"{conf}: {total(heap_file(folder, prefix + '*'))}")
    hw.need(not list(folder.glob("jeprof.*")), heaps(folder))


@TESTS.test
def answers_as_real(folder):
    """mallctl() and its kin read, refuse and describe what the real ones do, call by call"""
    theirs = native(folder, "prof:true", USER, "answers")
    ours = run(folder, "prof:true", USER, "answers")
    hw.need(theirs.status == 0 and ours.status == 0, f"{theirs}; {ours}")
    for one, other in zip(ours.text.splitlines(), theirs.text.splitlines()):
        hw.need(one == other, f"{one!r}, the real one's {other!r}")
    hw.need(len(ours.text.splitlines()) == len(theirs.text.splitlines()) > 200, "one answers more")


@TESTS.test
def messages_as_real(folder):
    """What is malformed, unknown or out of range is said in the real one's words"""
    for conf in ("prof:true,", "prof:true,nonsense:1,lg_prof_sample:08", "prof:tru", "a-b", "prof", "lg_prof_interval:64,m:x",
                 "confirm_conf:true,prof_leak:true,x:,narenas:default"):
        theirs, ours = native(folder, conf, "/bin/true"), run(folder, conf, "/bin/true")
        hw.need(ours.errors == theirs.errors and ours.status == theirs.status == 0, f"{conf}: {ours}, the real one {theirs}")
    theirs, ours = (one(folder, "abort_conf:true,x:1", "/bin/true") for one in (native, run))
    hw.need("Abort (abort_conf:true)" in ours.errors and ours.status in (-signal.SIGABRT, 128 + signal.SIGABRT), str(ours))
    hw.need(ours.errors.splitlines()[:2] == theirs.errors.splitlines()[:2], f"{ours.errors}, the real one {theirs.errors}")


@TESTS.test
def profiler_off(folder):
    """Without prof:true nothing is profiled, but the recording is made, and statistics are the allocator's"""
    ended = run(folder, None, USER, "heap_profile")
    hw.need(ended.text == "2\n2\n2\n0\n2\n" and not heaps(folder), f"{ended} {heaps(folder)}")
    hw.need(hw.report(folder / "a.hpw")["recording"]["mode"] == "exact", "another mode")
    ended = run(folder, None, USER, "stats")
    hw.need(ended.text == "0 right\n" and "Allocated: " in ended.errors and '"allocated":' in ended.errors, str(ended))


@TESTS.test
def real_one_there(folder):
    """With a real jemalloc in the process its profiler stays off, ours writes, and the rest is the real one's answer"""
    real_is_here()
    conf = "prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:x"
    with_real = ("/bin/sh", "-c", f'LD_PRELOAD="$LD_PRELOAD:{REAL}" exec "{USER}" "$0"')
    ended = run(folder, conf, *with_real, "leak_check")
    hw.need(ended.status == 0 and heaps(folder) == ["x.PID.0.f.heap"], f"{ended} {heaps(folder)}")
    hw.need(jeprof(heap_file(folder, "*.heap")).get("do_something") == 49950000, "counted by size classes: the real one's")
    ended = run(folder, "nonsense:1", *with_real, "stats")
    hw.need(ended.errors.count("Invalid conf pair: nonsense:1") == 2 and "Arenas: " in ended.errors, str(ended)[-600:])


def start(folder, conf, *program, **more):
    return subprocess.Popen([hw.HEAPWISE, "run", "-q", "--as=jemalloc", "-f", "-o", folder / "a.%p.hpw", "--", *program],
                            env=hw.clean_environment(MALLOC_CONF=conf), cwd=folder,
                            stdout=subprocess.DEVNULL, start_new_session=True, **more)


def end(process):
    """All of them, if a test has failed in between."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
    except ProcessLookupError:
        pass


LUA = """{modules}daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr notice;
{user}events {{ worker_connections 64; }}
http {{ access_log off; lua_package_path "/usr/share/lua/5.1/?.lua;;";
client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
scgi_temp_path {folder}/t5;
init_by_lua_block {{
local ffi = require "ffi"
ffi.cdef[[ int mallctl(const char *, void *, size_t *, void *, size_t); void *malloc(size_t); ]]
for i = 1, 50 do ffi.C.malloc(12345) end
ngx.log(ngx.NOTICE, "dumped: ", ffi.C.mallctl("prof.dump", nil, nil, ffi.new("const char *[1]"), 8))
}}
server {{ listen 127.0.0.1:{port}; location / {{ content_by_lua_block {{ ngx.say("hello") }} }} }} }}
"""


def wait_for_line(process, part):
    """Reads what a server writes to standard error until there is a line with `part`; the lines."""
    lines = []
    alarm = threading.Timer(hw.TIMEOUT, process.kill)
    alarm.start()
    try:
        while not lines or part not in lines[-1]:
            line = process.stderr.readline()
            hw.need(line, f"no {part!r} in {''.join(lines)}")
            lines.append(line)
    finally:
        alarm.cancel()
    return lines


@TESTS.test
def nginx_reloaded(folder):
    """nginx, whose Lua asks for a dump through FFI and leaks: the diff of two dumps, with a reload between, shows that block"""
    server = hw.need_program("nginx")
    if not all(path.exists() for path in LUA_MODULES):
        raise hw.Skip("nginx's Lua module is not here")
    port = free_port()
    modules = "".join(f"load_module {path};\n" for path in LUA_MODULES)
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(LUA.format(folder=folder, modules=modules, port=port, user=user))
    process = start(folder, f"prof:true,lg_prof_sample:0,prof_prefix:{folder}/jeprof", server, "-p", folder, "-e", "stderr", "-c",
                    folder / "nginx.conf", stderr=subprocess.PIPE, text=True)
    try:
        wait_for_line(process, "dumped: 0")
        wait_for_line(process, "start worker process ")
        pid = int((folder / "nginx.pid").read_text())
        hw.need(urllib.request.urlopen(f"http://127.0.0.1:{port}/").read() == b"hello\n", "no answer")
        os.kill(pid, signal.SIGHUP)
        wait_for_line(process, "dumped: 0")
        os.kill(pid, signal.SIGTERM)  # which a worker that has just begun does not miss, in contrast to SIGQUIT
        errors = process.communicate(timeout=60)[1]
        hw.need(process.returncode == 0, errors)
    finally:
        end(process)
    dumps = [heap_file(folder, f"jeprof.{pid}.{i}.m{i}.heap") for i in range(2)]
    shown = hw.ask("diff", *dumps, "--all-frames")
    hw.need(re.search(r"^New .*\n  \+603 KiB .*\+50 blocks, from 0 to 50", shown, re.M), f"{50 * 12345} bytes are not first: {shown}")


LUA_ARENA = """{modules}daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr notice;
{user}events {{ worker_connections 64; }}
http {{ access_log off; lua_package_path "/usr/share/lua/5.1/?.lua;;";
client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4;
scgi_temp_path {folder}/t5;
init_worker_by_lua_block {{ kept = {{}} }}
server {{ listen 127.0.0.1:{port}; location / {{ content_by_lua_block {{
for i = 1, 16 do kept[#kept + 1] = string.rep(tostring(#kept), 1048576 / #tostring(#kept)) end
collectgarbage()
ngx.say(collectgarbage("count") * 1024)
}} }} }} }}
"""


def lua_mapped(path):
    """Bytes that LuaJIT's library has mapped and that still are, by a dump with mappings."""
    rows = json.loads(hw.ask("report", path, "--class", "mapping", "--view", "sites", "--json", "--limit", "100000"))["sites"]
    return sum(row["live_bytes"] for row in rows if row["stack"] and "libluajit" in (row["stack"][0]["module"] or ""))


@TESTS.test
def nginx_lua_arena(folder):
    """nginx whose Lua keeps strings: with --mmap a dump of the worker has them as mapped by LuaJIT's library, as much as Lua says"""
    server = hw.need_program("nginx")
    if not all(path.exists() for path in LUA_MODULES):
        raise hw.Skip("nginx's Lua module is not here")
    port = free_port()
    modules = "".join(f"load_module {path};\n" for path in LUA_MODULES)
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(LUA_ARENA.format(folder=folder, modules=modules, port=port, user=user))
    words = [hw.HEAPWISE, "run", "-q", "--mmap", "-f", "-o", folder / "a.%p.hpw", "--", server, "-p", folder, "-e", "stderr", "-c", folder / "nginx.conf"]
    process = subprocess.Popen([os.fspath(word) for word in words], env=hw.clean_environment(), cwd=folder, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        worker = re.search(r"start worker process (\d+)", wait_for_line(process, "start worker process ")[-1])[1]
        found = []
        for number in range(2):
            used = float(urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=hw.TIMEOUT).read())
            dump = folder / f"{number}.dump"
            hw.ask("dump", worker, "-o", dump)
            found.append((used, lua_mapped(dump)))
        os.kill(int((folder / "nginx.pid").read_text()), signal.SIGTERM)
        errors = process.communicate(timeout=60)[1]
        hw.need(process.returncode == 0, errors)
    finally:
        end(process)
    for used, mapped in found:
        # What was there before the worker was forked is the master's.
        hw.need(used > (15 << 20) and used - (1 << 20) <= mapped < used * 1.5 + (4 << 20), f"{used} used, {mapped} mapped: {found}")
    hw.need(found[1][1] - found[0][1] >= 15 << 20, f"16 MiB more were kept: {found}")


@TESTS.test
def redis_serves(folder):
    """Redis, which Debian links with jemalloc: its own commands go on, one dump is written"""
    server, client = hw.need_program("redis-server"), hw.need_program("redis-cli")
    path = folder / "socket"
    process = start(folder, "prof:true,lg_prof_sample:0,prof_final:true", server, "--port", "0", "--unixsocket", path, "--save", "",
                    stderr=subprocess.PIPE, text=True)
    try:
        hw.wait_until(path.exists, "the socket")
        for words in (("set", "a", "b"), ("memory", "doctor"), ("memory", "stats"), ("memory", "purge"), ("memory", "malloc-stats"),
                      ("config", "set", "activedefrag", "yes"), ("info", "memory"), ("ping",)):
            ended = hw.run([client, "-s", path, *words])
            hw.need(ended.status == 0 and ended.text, f"{words}: {ended}")
        hw.need(ended.text == "PONG\n", str(ended))
        hw.run([client, "-s", path, "shutdown", "nosave"])
        errors = process.communicate(timeout=60)[1]
        hw.need(process.returncode == 0, errors)
    finally:
        end(process)
    hw.need(heaps(folder) == ["jeprof.PID.0.f.heap"], heaps(folder))
    hw.need(total(heap_file(folder, "*.heap"))[2] > 100000, "hardly anything is live")


TESTS.main()
