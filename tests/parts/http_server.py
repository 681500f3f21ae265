"""HTTP servers on 127.0.0.1 with responses made by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple


class Response(NamedTuple):
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


Respond = Callable[[str, str, Mapping[str, str], bytes], Response | None]
"""The response to a method, a path, headers by lower-case name, and a body; `None` closes the connection."""


@contextmanager
def serving(respond: Respond) -> Iterator[str]:
    """Serve on a free port for the duration of the block, and return the address."""

    class Requests(BaseHTTPRequestHandler):
        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = respond(self.command, self.path, headers, body)
            if response is None:
                self.close_connection = True
                return
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = do_POST = _respond

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
