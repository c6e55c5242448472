# SPDX-License-Identifier: GPL-2.0-or-later
"""heapwise serve as tests use it: started with what it is to serve, ended at the end of a context."""

import http.client
import json
import signal
import socket
import subprocess
import urllib.parse

import hw


class Answer:
    def __init__(self, answer):
        self.status, self.headers, self.body = answer.status, answer.headers, answer.read()

    @property
    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return f"{self.status} {self.body[:300]!r}"


class Server:
    patience = hw.TIMEOUT  # seconds that an answer may take

    def __init__(self, *arguments, **more):
        self.process = subprocess.Popen([hw.HEAPWISE, "serve", *arguments], env=hw.clean_environment(), text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def __enter__(self):
        self.url = self.process.stdout.readline().strip()
        hw.need(self.url, f"no URL: {self.process.stderr.read() if self.process.poll() is not None else 'it runs'}")
        place = urllib.parse.urlsplit(self.url)
        self.host, self.port = place.hostname, place.port
        self.token = self.url.split("/")[3]
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end(signal.SIGTERM)

    def end(self, number):
        """Its exit status and what it said."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=hw.TIMEOUT)
        return self.process.returncode, said

    def connection(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=self.patience)

    def socket(self):
        made = socket.create_connection(("127.0.0.1", self.port), hw.TIMEOUT)
        made.settimeout(hw.TIMEOUT)
        return made

    def get(self, path, *arguments, method="GET", token=None, headers=None, body=None):
        """The answer to a path below the token, with pairs of names and values."""
        query = "?" + urllib.parse.urlencode(arguments) if arguments else ""
        for again in range(5):
            connection = self.connection()
            try:
                connection.request(method, f"/{token or self.token}/{path}{query}", body, headers or {})
                return Answer(connection.getresponse())
            except (http.client.RemoteDisconnected, ConnectionResetError):
                # As browsers do: it was closed before it had asked, to make room for others.
                if again == 4:
                    raise
            finally:
                connection.close()

    def data(self, *arguments, file=0):
        return self.get("data", ("file", file), *arguments)
