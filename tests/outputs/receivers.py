"""Receivers of webhooks: one that is a function, for virtual time, and a real one on 127.0.0.1 in a thread."""

from __future__ import annotations

import hashlib
import hmac
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import trio

from slpstream.model.errors import SinkError
from slpstream.outputs.post import Answer, Headers, Target

SECRET = b"a secret that nobody else knows"
OK = Answer(204, "")


class Got(NamedTuple):
    """One request."""

    at: float
    key: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value


def verified(got: Got) -> bool:
    """As the page says that a receiver does it."""
    signed = f"{got.headers['x-slpstream-timestamp']}.".encode() + got.body
    expected = "sha256=" + hmac.new(SECRET, signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, got.headers["x-slpstream-signature"])


class FakeReceiver:
    """Takes the place of `post`. `answer` says what is answered to a request; a text is the reason for no answer."""

    def __init__(self, answer: Callable[[Got], Answer | str] = lambda got: OK) -> None:
        self.answer = answer
        self.asked: list[Got] = []
        self.took: list[Got] = []

    async def __call__(
        self, target: Target, headers: Headers, body: bytes, *, tls: ssl.SSLContext | None, timeout_seconds: float
    ) -> Answer:
        await trio.lowlevel.checkpoint()
        said = dict(headers)
        got = Got(trio.current_time(), said["idempotency-key"], said, body)
        self.asked.append(got)
        answer = self.answer(got)
        if isinstance(answer, str):
            raise SinkError(answer)
        if 200 <= answer.status < 300:
            self.took.append(got)
        return answer

    @property
    def keys(self) -> list[str]:
        """What was taken."""
        return [got.key for got in self.took]


class RealReceiver:
    """An HTTP server. `status` is what it answers."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.status = 204
        self.headers: dict[str, str] = {}
        self.body = b""
        self.asked: list[Got] = []
        self.took: list[Got] = []
        self.url = f"http://127.0.0.1:{server.server_address[1]}/hook?room=1"
        self.paths: list[str] = []

    def wait(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Until something has come."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, [got.key for got in self.asked]
            time.sleep(0.02)


@contextmanager
def real_receiver() -> Iterator[RealReceiver]:
    """One that is surely stopped."""

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            headers = {name.lower(): value for name, value in self.headers.items()}
            got = Got(time.monotonic(), headers["idempotency-key"], headers, self.rfile.read(length))
            receiver.paths.append(self.path)
            receiver.asked.append(got)
            if receiver.status < 300:
                receiver.took.append(got)
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    server.daemon_threads = True
    receiver = RealReceiver(server)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
