"""The input and output of a relay: files that grow, and the bytes that a client receives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import trio

from slpstream.parts.consoles.feed import RelayFeed
from slpstream.parts.consoles.session import ConsoleSession, EventBytes
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import FileIdentity
from tests.oracles.slippi_js import slippi_js


class GrowingFile:
    """A growing file, as a station passes it to the feed."""

    def __init__(self, path: Path, feed: RelayFeed) -> None:
        self.path = path
        self._file = TailedFile(path, FileIdentity(0, 0), 0, 0)
        self._feed = feed
        self.size_bytes = 0
        path.write_bytes(b"")

    def grow(self, data: bytes, *, to_disk: bool = True) -> None:
        if to_disk:
            with self.path.open("ab") as file:
                file.write(data)
        self._feed.grew(self, self._file, self.size_bytes, data)
        self.size_bytes += len(data)


async def receive(stream: trio.SocketStream, session: ConsoleSession, until: int) -> tuple[bytes, list[Any]]:
    """Receive until the session's cursor reaches `until`. Returns the event bytes, and all other session events.

    The handshake must have been sent.
    """
    data = b""
    others: list[Any] = []
    while not session.handshake_done or session.cursor < until:
        more = await stream.receive_some(65536)
        assert more, "the relay closed the connection"
        for event in session.receive(bytes(more)):
            if isinstance(event, EventBytes):
                data += event.data
            else:
                others.append(event)
    return data, others


def check_against_files(games: Sequence[Any], replays: Sequence[bytes], folder: Path) -> None:
    """The games that slippi-js has received are those that it reads from the replays."""
    assert len(games) == len(replays)
    with slippi_js("frames") as reader:
        for number, (game, replay) in enumerate(zip(games, replays, strict=True)):
            path = folder / f"whole{number}.slp"
            path.write_bytes(replay)
            from_file = reader.ask(path)
            for part in ("frames", "gameEnd", "settings"):
                assert game[part] == from_file[part]
