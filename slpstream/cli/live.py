"""`slpstream verify --live`: what a daemon says of a game, against the file."""

from __future__ import annotations

import http.client
import re
import sys
import tempfile
import urllib.error
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
from slpstream.cli.log_comparison import Message, compare, log_of
from slpstream.model.errors import ConfigError
from slpstream.model.messages import TOPIC_OF_TYPE, FramesMode

_ANSWER_SECONDS = 10.0
"""How long the daemon may be silent before what is missing counts as not said."""
_CLOSE_SECONDS = 0.3
"""Who leaves at the first difference does not read on, so the daemon's farewell does not come through."""
_READ_BYTES = 1 << 20
_URL = re.compile(r"[!-~]+")
_TOKEN = re.compile(r"[ -~]+")
"""What fits into a header."""


class _Station:
    """A station of a running daemon."""

    def __init__(self, url: str, token: str | None) -> None:
        wrong = click.UsageError("--live expects http://HOST:PORT/STATION")
        try:
            parts = urlsplit(url)
            parts.port  # noqa: B018 -- raises when it is no number
        except ValueError:
            raise wrong from None
        root, _, station = parts.path.rpartition("/")
        if parts.scheme not in ("http", "https") or not parts.hostname or not station or not _URL.fullmatch(url):
            raise wrong
        self.station = unquote(station)
        self.http = f"{parts.scheme}://{parts.netloc}{root}"
        self.websocket = f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}{root}/v1/stream"
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def log(self, frames: FramesMode, topics: frozenset[str]) -> Iterator[Message]:
        """What it says of its current game, from the first message on; ends when it is silent for long."""
        wanted = {
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
            connection.send(msgspec.json.encode(wanted).decode())
            yield from _said(connection)

    def save_replay(self, game_id: str, folder: Path) -> Path:
        """The daemon's own file of a game, written into a folder."""
        request = urllib.request.Request(f"{self.http}/v1/games/{game_id}/replay", headers=self.headers)
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
            name = answer.headers.get_filename() or "replay.slp"
            path = folder / (Path(name).name or "replay.slp")
            with path.open("wb") as file:
                while data := answer.read(_READ_BYTES):
                    file.write(data)
        return path


def _said(connection: ClientConnection) -> Iterator[Message]:
    while True:
        try:
            line = connection.recv(timeout=_ANSWER_SECONDS)
        except TimeoutError:
            return
        message: dict[str, Any] = msgspec.json.decode(line)
        if message.get("type") == "error":
            fail(f"the daemon refuses: {message.get('message')}", EXIT_INPUT_OUTPUT)
        if TOPIC_OF_TYPE.get(str(message.get("type"))) is not None and "gameId" in message:
            message.pop("station", None)
            yield message


def _one_game(messages: Iterator[Message]) -> Iterator[Message]:
    first: str | None = None
    for message in messages:
        first = first or message["gameId"]
        if message["gameId"] != first:
            return
        yield message


def compare_live(
    url: str, file: Path | None, frames: FramesMode, topics: frozenset[str], token_file: Path | None
) -> None:
    """Compares a station's current game with a file, or with the daemon's own; prints the first difference.

    A file that is still written is compared as far as it goes.
    """
    station = _Station(url, None if token_file is None else _token_in(token_file))
    try:
        with ExitStack() as stack:
            said = _one_game(station.log(frames, topics))
            first = next(said, None)
            if first is None:
                fail(f"{url}: no game is played there", EXIT_INPUT_OUTPUT)
            if file is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slpstream-verify-")))
                file = station.save_replay(first["gameId"], folder)
            ahead, theirs = tee(_so_far(file, frames, topics))  # a file that grows is another when it is read again
            count = compare(_as_long_as(chain((first,), said), ahead), theirs)
    except (urllib.error.URLError, http.client.HTTPException, WebSocketException, OSError, UnicodeError) as error:
        fail(f"{url}: {error}", EXIT_INPUT_OUTPUT)
    if not count:
        fail(f"{file}: has no message to compare", EXIT_NO)
    click.echo(f"equal: {count} messages")
    sys.exit(0)


def _token_in(file: Path) -> str:
    """The token in a file. One that fits into no header is refused here: who refuses it later shows it."""
    try:
        token = file.read_text(encoding="utf-8").split("\n", 1)[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(file), "", f"cannot be read: {error}") from error
    if not _TOKEN.fullmatch(token):
        raise ConfigError(str(file), "", "expected a token in the first line, of letters, digits and signs of ASCII")
    return token


def _so_far(file: Path, frames: FramesMode, topics: frozenset[str]) -> Iterator[Message]:
    """The log of a file, without what only a reader says who knows that no more comes."""
    for message in log_of(file, frames, topics, growing=True):
        if message.get("type") == "game_end" and message.get("reason") == "incomplete":
            return  # of a file of JSON lines
        yield message


def _as_long_as(said: Iterator[Message], other: Iterator[Message]) -> Iterator[Message]:
    """What was said, no longer than the other: a game that goes on is compared up to there."""
    for _ in other:
        message = next(said, None)
        if message is None:
            return
        yield message
