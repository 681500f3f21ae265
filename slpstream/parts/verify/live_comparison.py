"""`slpstream verify --live`: compare the messages that a daemon sends about a game with the file of this game."""

from __future__ import annotations

import http.client
import re
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, tee
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click
import msgspec
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, fail
from slpstream.cli.access_token import read_token
from slpstream.cli.answers import decoded
from slpstream.model.messages import FramesMode
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.parts.verify.log_comparison import Message, compare, log_of

_RESPONSE_SECONDS = 10.0
"""After this long without a message, we assume that the daemon has sent everything."""
_CLOSE_SECONDS = 0.3
"""This is short, because after a difference there are unread messages, which keep the closing handshake from
completing."""
_READ_BYTES = 1 << 20
_URL = re.compile(r"[!-~]+")


class _Station:
    """A station of a running daemon."""

    def __init__(self, url: str, token: str | None) -> None:
        error = click.UsageError("--live expects http://HOST:PORT/STATION")
        try:
            parts = urlsplit(url)
            parts.port  # noqa: B018 -- raises ValueError for an invalid port
        except ValueError:
            raise error from None
        root, _, station = parts.path.rpartition("/")
        if parts.scheme not in ("http", "https") or not parts.hostname or not station or not _URL.fullmatch(url):
            raise error
        self.station = unquote(station)
        self.http = f"{parts.scheme}://{parts.netloc}{root}"
        self.websocket = f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}{root}/v1/stream"
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def log(self, frames: FramesMode, topics: frozenset[str]) -> Iterator[Message]:
        """Yield the messages of the station from the start of its current game, until there are none for some time."""
        subscription = {
            "op": "subscribe",
            "stations": [self.station],
            "topics": sorted(topics),
            "frames": frames,
            "delivery": "lossless",
            "cursor": "start",
        }
        with connect(
            self.websocket, additional_headers=self.headers, max_size=None, close_timeout=_CLOSE_SECONDS
        ) as connection:
            connection.send(msgspec.json.encode(subscription).decode())
            yield from _received(connection)

    def save_replay(self, game_id: str, folder: Path) -> Path:
        """Download the replay of a game from the daemon into `folder`, and return the path of the new file."""
        request = urllib.request.Request(f"{self.http}/v1/games/{game_id}/replay", headers=self.headers)
        with urllib.request.urlopen(request, timeout=_RESPONSE_SECONDS) as response:
            name = response.headers.get_filename() or "replay.slp"
            path = folder / (Path(name).name or "replay.slp")
            with path.open("wb") as file:
                while data := response.read(_READ_BYTES):
                    file.write(data)
        return path


def _received(connection: ClientConnection) -> Iterator[Message]:
    """Yield log messages without their `station`. If the daemon sends an error, this exits."""
    while True:
        try:
            line = connection.recv(timeout=_RESPONSE_SECONDS, decode=False)
        except TimeoutError:
            return
        try:
            message = decoded(line, dict[str, Any])
        except ValueError as error:
            fail(f"the daemon: {error}", EXIT_INPUT_OUTPUT)
        if message.get("type") == "error":
            fail(f"the daemon refused: {message.get('message')}", EXIT_INPUT_OUTPUT)
        if TOPIC_OF_TYPE.get(str(message.get("type"))) is not None and "gameId" in message:
            message.pop("station", None)
            yield message


def _one_game(messages: Iterator[Message]) -> Iterator[Message]:
    """Yield the messages of the first game only."""
    first: str | None = None
    for message in messages:
        first = first or message["gameId"]
        if message["gameId"] != first:
            return
        yield message


def compare_live(
    url: str, file: Path | None, frames: FramesMode, topics: frozenset[str], token_file: Path | None
) -> None:
    """Compare the current game of a station with `file`, or by default with the daemon's own file.

    Print the first difference and exit. If the file is still being written, it is compared as far as it has grown.
    """
    station = _Station(url, None if token_file is None else read_token(token_file))
    try:
        with ExitStack() as stack:
            received = _one_game(station.log(frames, topics))
            first = next(received, None)
            if first is None:
                fail(f"{url}: no game is being played", EXIT_INPUT_OUTPUT)
            if file is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slpstream-verify-")))
                file = station.save_replay(first["gameId"], folder)
            ahead, expected = tee(_file_log(file, frames, topics))  # a growing file must not be read twice
            count = compare(_limited(chain((first,), received), ahead), expected)
    except (http.client.HTTPException, WebSocketException, OSError, UnicodeError) as error:
        fail(f"{url}: {error}", EXIT_INPUT_OUTPUT)
    if not count:
        fail(f"{file}: has no messages to compare", EXIT_NO)
    click.echo(f"equal: {count} messages")
    sys.exit(0)


def _file_log(file: Path, frames: FramesMode, topics: frozenset[str]) -> Iterator[Message]:
    """Yield the log of a file that may still be growing, without the game end that only results from the end of the
    file.
    """
    for message in log_of(file, frames, topics, growing=True):
        if message.get("type") == "game_end" and message.get("reason") == "incomplete":
            return  # in a file of JSON lines
        yield message


def _limited(messages: Iterator[Message], other: Iterator[Message]) -> Iterator[Message]:
    """Yield at most as many messages as `other` has, because the game may continue after the end of the file."""
    for _ in other:
        message = next(messages, None)
        if message is None:
            return
        yield message
