"""The websocket as an echo server, for the Autobahn test suite: `python -m tests.web.autobahn PORT`.

The suite expects every message back, whole, up to 16 MB. So this server raises the message limit and has no rate
limit. Reading, joining fragments, writing, pongs and closing are the daemon's own code.
"""

from __future__ import annotations

import sys

import trio
from websockets.frames import Opcode
from websockets.protocol import State

from slpstream.stream import Hub
from slpstream.web import server as server_module
from slpstream.web import websocket
from slpstream.web.access import Access
from slpstream.web.observer import Observer
from slpstream.web.server import Limits, WebServer, listen
from tests.web.served import FakeGames, FakeStations

MAX_BYTES = 32 << 20


class EchoSession(websocket.WebsocketSession):
    """Echoes every message."""

    def _message(self, opcode: Opcode, data: bytes, nursery: trio.Nursery) -> None:
        if opcode is Opcode.TEXT:
            try:
                data.decode()
            except UnicodeDecodeError:
                self._close(websocket.NOT_UTF8, "", None)
        if self._protocol.state is State.OPEN:
            send = self._protocol.send_text if opcode is Opcode.TEXT else self._protocol.send_binary
            send(data)
            self._flush_protocol()

    def _send_status(self, payload: object) -> None:
        """Does nothing: the suite expects no `hello`."""

    async def _limit_rate(self) -> None:
        await trio.lowlevel.checkpoint()


def _ignore(*_: object) -> None:
    pass


async def serve(port: int, stop: trio.Event) -> None:
    """Serves until `stop`, after printing the port."""
    server = WebServer(
        Hub(),
        FakeStations(),
        FakeGames(),
        access=Access(),
        limits=Limits(max_connections=100, outbox_bytes=MAX_BYTES * 2, socket_buffer_bytes=1 << 20),
        observer=Observer(_ignore, _ignore, _ignore, _ignore),
    )
    listeners = listen("127.0.0.1", port)
    print(listeners[0].getsockname()[1], flush=True)
    await server.serve(listeners, stop, grace_seconds=1)


async def _until_stdin_ends(port: int) -> None:
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve, port, stop)
        await trio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        stop.set()


if __name__ == "__main__":
    server_module.__dict__["WebsocketSession"] = EchoSession
    websocket.__dict__.update(MAX_MESSAGE_BYTES=MAX_BYTES, _READ_BYTES=1 << 20)
    trio.run(_until_stdin_ends, int(sys.argv[1]))
