# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages in headless Chromium, by the DevTools protocol on a pair of pipes: messages are JSON, each with a
NUL behind it (https://chromedevtools.github.io/devtools-protocol/)."""

import atexit
import fcntl
import json
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import hw

# Chromium reads from 3 and writes to 4. Not sh: its redirections know one digit.
ON_PIPES = 'exec "$@" 3<&{} 4>&{}'


def pipe():
    """Ends above those that a shell is to rename."""
    low = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in low]
    for end in low:
        os.close(end)
    return high


class Chromium:
    """A process of the browser, which shows one page after the other: to start one takes two seconds of processor time, more
    than most tests. So suites of pages run one case at a time (`main(width=1)`), in one browser."""

    idle, lock = [], threading.Lock()

    def __init__(self):
        chromium = hw.need_program("chromium")
        self.folder = tempfile.TemporaryDirectory(prefix="heapwise-browser-", ignore_cleanup_errors=True)
        self.log = Path(self.folder.name) / "chromium.log"
        (theirs_in, self.to), (self.back, theirs_out) = pipe(), pipe()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", ON_PIPES.format(theirs_in, theirs_out), "bash", chromium, "--headless", "--no-sandbox",
                 "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update", "--disable-default-apps", f"--user-data-dir={self.folder.name}/profile",
                 "--remote-debugging-pipe", "about:blank"],
                env=hw.clean_environment(HOME=self.folder.name), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(theirs_in, theirs_out), start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.calls, self.got = 0, b""

    @classmethod
    def take(cls):
        with cls.lock:
            return cls.idle.pop() if cls.idle else cls()

    def give_back(self):
        with self.lock:
            self.idle.append(self)

    def message(self):
        until = time.monotonic() + hw.TIMEOUT
        while b"\0" not in self.got:
            hw.need(select.select([self.back], [], [], max(0, until - time.monotonic()))[0], "the browser is silent")
            piece = os.read(self.back, 1 << 20)
            hw.need(piece, f"the browser has ended: {hw.shorten(self.log.read_text(errors='replace'))}")
            self.got += piece
        one, _, self.got = self.got.partition(b"\0")
        return json.loads(one)

    def send(self, said):
        self.calls += 1
        os.write(self.to, json.dumps(dict(said, id=self.calls)).encode() + b"\0")
        return self.calls

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.folder.cleanup()

    @classmethod
    def close_idle(cls):
        while cls.idle:
            cls.idle.pop().close()


atexit.register(Chromium.close_idle)


class Browser:
    """One page, a context, at the end of which it is closed and what it stored is removed: the next one in this browser finds no
    cookies, no storage and no cache. (A BrowserContext for each takes a second of processor time more.)"""

    def __init__(self, _folder=None):
        self.session, self.exceptions, self.origins = None, [], set()

    def __enter__(self):
        self.chromium = Chromium.take()
        self.target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "DOM"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, kind, *_):
        """Of a test that failed nobody knows what it left behind."""
        if kind is None:
            try:
                self.forget()
                self.session = None
                self.call("Target.closeTarget", targetId=self.target)
            except (OSError, hw.Failure) as error:
                kind = type(error)
        if kind:
            self.chromium.close()
        else:
            self.chromium.give_back()

    def forget(self):
        """Removes what the page stored."""
        for origin in self.origins:
            self.call("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        self.call("Network.clearBrowserCookies")
        self.call("Network.clearBrowserCache")

    def message(self):
        """The next one of this page."""
        while True:
            one = self.chromium.message()
            if one.get("sessionId") == self.session:
                return one

    def next(self, wanted):
        """The next message that is wanted. What pages throw meanwhile is kept."""
        while True:
            one = self.message()
            if one.get("method") == "Runtime.exceptionThrown":
                self.exceptions.append(one["params"]["exceptionDetails"])
            if wanted(one):
                return one

    def call(self, method, **parameters):
        said = {"method": method, "params": parameters}
        if self.session:
            said["sessionId"] = self.session
        number = self.chromium.send(said)
        answer = self.next(lambda one: one.get("id") == number)
        hw.need("error" not in answer, f"{method}: {answer.get('error')}")
        return answer["result"]

    def open(self, url):
        parts = urlsplit(url)
        if parts.scheme != "about":
            self.origins.add(f"{parts.scheme}://{parts.netloc}")
        failed = self.call("Page.navigate", url=url).get("errorText")
        hw.need(not failed, f"{url}: {failed}")
        self.next(lambda one: one.get("method") == "Page.loadEventFired")

    def cpu(self):
        """{a page's process: what its main thread has computed, in ms}: what else the machine does counts less than in times."""
        session, self.session = self.session, None
        try:
            processes = self.call("SystemInfo.getProcessInfo")["processInfo"]
        finally:
            self.session = session
        found = {}
        for one in processes:
            if one["type"] == "renderer":
                try:
                    text = Path(f"/proc/{one['id']}/task/{one['id']}/schedstat").read_text(encoding="utf-8")
                except (FileNotFoundError, ProcessLookupError):
                    continue  # it has just ended
                found[one["id"]] = int(text.split()[0]) / 1e6
        return found

    def cpu_ms(self, before):
        """What was computed since an answer of cpu(); one that has ended meanwhile, of a page before, takes nothing from it."""
        return sum(ms - before.get(process, 0) for process, ms in self.cpu().items())

    def choose_file(self, selector, path):
        """As a user does in the dialogue of an <input type="file">."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[os.fspath(path)])

    def evaluate(self, expression):
        """The value of an expression of JavaScript, or of what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        hw.need("exceptionDetails" not in answer, f"{expression}: {answer.get('exceptionDetails')}")
        return answer["result"].get("value")

    def when(self, expression, value):
        """The value, as soon as the expression holds."""
        return self.evaluate(f"new Promise((ret, fail) => {{ const until = Date.now() + {hw.TIMEOUT * 500}, look = () => ({expression}) ? ret({value}) : "
                             f"Date.now() > until ? fail(new Error(`it never holds at ${{location.href}}: ${{document.body.innerText.slice(0, 300)}}`)) : setTimeout(look, 10); look(); }})")
