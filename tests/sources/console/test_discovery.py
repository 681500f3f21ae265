"""The socket that hears consoles, with the errors that Windows reports on it."""

from __future__ import annotations

from typing import cast

import pytest
import trio
import trio.testing

from slpstream.sources.console import discovery

pytestmark = pytest.mark.trio


class FailingSocket:
    """Fails as Windows does after a datagram that could not be delivered, then receives a console's broadcast."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def recvfrom(self, max_bytes: int) -> tuple[bytes, tuple[str, int]]:
        if self.failures:
            self.failures -= 1
            raise ConnectionResetError(10054, "An existing connection was forcibly closed by the remote host")
        return b"SLIP_READY" + bytes(range(6)) + b"Wii".ljust(32, b"\0"), ("192.0.2.7", 50000)


async def test_errors_of_the_socket_are_waited_out(autojump_clock: trio.testing.MockClock) -> None:
    socket = cast(trio.socket.SocketType, FailingSocket(failures=30))
    began = trio.current_time()
    call = await discovery.next_call(socket)
    assert (call.nick, call.mac, call.host) == ("Wii", "00:01:02:03:04:05", "192.0.2.7")
    assert trio.current_time() - began >= 1, "an error that stays must not take all of the processor"


async def test_port_is_shared_where_trio_leaves_out_the_constant_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """`trio.socket` has no SO_REUSEADDR on Windows, because it means something else for servers there."""
    monkeypatch.delattr(trio.socket, "SO_REUSEADDR", raising=False)
    first = await discovery.hear("127.0.0.1", 0)
    with first:
        port = first.getsockname()[1]
        with await discovery.hear("127.0.0.1", port) as second:
            assert second.getsockname()[1] == port
