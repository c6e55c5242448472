# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages in headless Firefox, by its Marionette protocol: messages are "LENGTH:JSON" over a socket
(https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html)."""

import json
import os
import signal
import socket
import subprocess
import time

import hw

# Asks nobody but the page's file: what it wants from the network goes to a port where nothing is.
PREFERENCES = {"marionette.port": 0, "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9,
               "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": 9, "network.proxy.no_proxies_on": "127.0.0.1",
               "app.update.enabled": False, "datareporting.policy.dataSubmissionEnabled": False, "browser.shell.checkDefaultBrowser": False,
               "services.settings.server": "data:,", "browser.aboutwelcome.enabled": False, "toolkit.telemetry.enabled": False}


class Firefox:
    """One window of a browser whose profile is in the folder; a context, at the end of which it is closed."""

    def __init__(self, folder):
        firefox = hw.need_program("firefox-esr")
        self.profile, self.log = folder / "profile", folder / "firefox.log"
        self.profile.mkdir()
        (self.profile / "user.js").write_text("".join(f"user_pref({json.dumps(key)}, {json.dumps(value)});\n" for key, value in PREFERENCES.items()))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([firefox, "--headless", "--no-remote", "--marionette", "--profile", self.profile, "about:blank"],
                                            env=hw.clean_environment(HOME=folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        self.socket, self.got, self.calls = None, b"", 0

    def port(self):
        """Where it listens, as soon as it does. A browser that can't start on this machine is no fault of a page."""
        until, found = time.monotonic() + hw.TIMEOUT, self.profile / "MarionetteActivePort"
        while not (found.exists() and found.read_text().strip()):
            if self.process.poll() is not None or time.monotonic() >= until:
                raise hw.Skip(f"Firefox does not start here: {hw.shorten(self.log.read_text(errors='replace'))}")
            time.sleep(0.05)
        return int(found.read_text())

    def __enter__(self):
        try:
            self.socket = socket.create_connection(("127.0.0.1", self.port()), timeout=hw.TIMEOUT)
            self.message()
            self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": False}})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.socket:
            self.socket.close()

    def message(self):
        while True:
            length, colon, rest = self.got.partition(b":")
            if colon and len(rest) >= int(length):
                self.got = rest[int(length):]
                return json.loads(rest[:int(length)])
            piece = self.socket.recv(1 << 16)
            hw.need(piece, f"Firefox has ended: {hw.shorten(self.log.read_text(errors='replace'))}")
            self.got += piece

    def call(self, command, **parameters):
        self.calls += 1
        said = json.dumps([0, self.calls, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(said), said))
        while True:
            one = self.message()
            if isinstance(one, list) and one[:2] == [1, self.calls]:
                hw.need(not one[2], f"{command}: {one[2]}")
                return one[3]

    def open(self, url):
        self.call("WebDriver:Navigate", url=url)

    def evaluate(self, expression):
        """The value of an expression of JavaScript."""
        return self.call("WebDriver:ExecuteScript", script=f"return ({expression})", args=[])["value"]

    def when(self, expression, value):
        """The value, as soon as the expression holds."""
        script = (f"const ret = arguments[arguments.length - 1]; const look = () => ({expression}) ? ret({value}) : setTimeout(look, 10); look();")
        return self.call("WebDriver:ExecuteAsyncScript", script=script, args=[])["value"]
