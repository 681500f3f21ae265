"""A client for the stream of a daemon or gateway, for programs in Python."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import trio
from websockets.client import process_exception
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.trio.client import connect as open_websocket
from websockets.typing import Subprotocol

from slpstream.model.delta import SUBPROTOCOL, DeltaDecoder
from slpstream.model.errors import CursorGone, NoSuchGame, NotAuthorised, ProtocolViolation
from slpstream.model.foreign_data import MAX_BYTES, read_json
from slpstream.model.messages import ON_AIR, FramesMode
from slpstream.model.topics import TOPICS, Topic
from slpstream.stream.subscription import Delivery, parse_subscription
from slpstream.system.backoff import backoff_seconds
from slpstream.system.live_iterator import LiveIterator

if TYPE_CHECKING:
    from slpstream.web.message_types import Message as Message  # noqa: PLC0414 -- public
else:  # only type checkers know the keys of messages
    Message = dict[str, Any]

_REFUSALS = {error.close_code: error for error in (ProtocolViolation, NotAuthorised, NoSuchGame, CursorGone)}
_FIRST_PAUSE_SECONDS = 0.25
_MAX_PAUSE_SECONDS = 5.0
_MAX_NOT_FOUND = 6
"""How often a station may be missing after the connection was lost. A daemon that starts finds some of them late."""


def connect(
    url: str = "http://127.0.0.1:5151",
    *,
    stations: str | Sequence[str] = "*",
    topics: Sequence[Topic] = TOPICS,
    also: Sequence[str] = (),
    frames: FramesMode = "live",
    finality: bool = True,
    fields: Sequence[str] | None = None,
    rate: int | None = None,
    delivery: Delivery = "lossless",
    cursor: str | Mapping[str, str] = "live",
    token: str = "",
    protocol: Literal["json", "delta"] = "json",
) -> Client:
    """Subscribe to a daemon or gateway, and iterate over its messages.

    Use `for` in a plain program, and `async for` under asyncio or trio. Each message is a dict with a `type`. If the
    connection is lost, or if there is no daemon yet, the client connects again and again. After that, each log
    continues where it was, so that you get each of its messages exactly once.

    `stations` are names, `*` for all, or `on-air`. `also` has types of messages that parts send, such as `odds`.
    `cursor` is `live`, `start`, the cursor of a message, or one for each station, such as the `cursors` of an earlier
    client. If you only need the present, pass `delivery="conflate"` to miss frames rather than be late. With
    `protocol="delta"`, the same messages take a twentieth of the bytes. The other arguments are those of a `subscribe`
    message.

    Raises `ProtocolViolation` for wrong arguments. While you iterate, `NotAuthorised` is raised if the token is wrong,
    `NoSuchGame` if there is no such station or game, and `CursorGone` if the file of a cursor is gone.
    """
    named = [stations] if isinstance(stations, str) and stations != "*" else stations
    request = {"op": "subscribe", "stations": named, "topics": topics, "frames": frames, "finality": finality}
    request |= {"also": also, "fields": fields, "rate": rate, "delivery": delivery, "cursor": cursor}
    parse_subscription(request)
    return Client(url, request, token=token, delta=protocol == "delta")


class Client(LiveIterator["Message"]):
    """The messages of a daemon or gateway, as `connect` returns them."""

    def __init__(self, url: str, request: Mapping[str, Any], *, token: str, delta: bool) -> None:
        self._link = _Link(url, request, token, delta=delta)
        self._positions = _Positions()
        super().__init__(self._link.messages, f"messages of {url}")

    def __next__(self) -> Message:
        return self._received(super().__next__())

    async def __anext__(self) -> Message:
        return self._received(await super().__anext__())

    def _received(self, message: Message) -> Message:
        self._positions.take(message, on_air_only=self._link.on_air_only)
        return message

    @property
    def cursors(self) -> dict[str, str]:
        """The cursor of each station, after the messages that you have received. Save them to continue later."""
        return self._positions.cursors()


class _Positions(dict[str, tuple[str, str]]):
    """The game and the cursor of the newest log message of each station."""

    def take(self, message: Mapping[str, Any], *, on_air_only: bool) -> None:
        """Note a message. If two games of a station are written at the same time, the later one counts."""
        kind, station, game, cursor = (str(message.get(key, "")) for key in ("type", "station", "gameId", "cursor"))
        if kind == "on_air" and on_air_only:
            for other in self.keys() - {station}:
                del self[other]
        elif cursor and (kind in ("game_start", "snapshot") or self.get(station, (game, ""))[0] == game):
            self[station] = game, cursor

    def cursors(self) -> dict[str, str]:
        """Return the cursor of each station."""
        return {station: cursor for station, (_, cursor) in self.items()}


class _Link:
    """The connections of a client, one after another."""

    def __init__(self, url: str, request: Mapping[str, Any], token: str, *, delta: bool) -> None:
        base = re.sub("^http", "ws", url if "://" in url else f"http://{url}")
        self._url = base.rstrip("/").removesuffix("/v1/stream") + "/v1/stream"
        self._request = request
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._delta = delta
        self._positions = _Positions()
        self._refusal = ""
        self.on_air_only = request["stations"] == [ON_AIR]
        self._problem = ""

    async def messages(self) -> AsyncGenerator[Message, None]:
        """Yield the messages of all connections. Raises `SubscriberError` if the subscription is refused."""
        subprotocols = [Subprotocol(SUBPROTOCOL)] if self._delta else None  # JSON is the default
        from_json = partial(read_json, kind=dict[str, Any], failure=ProtocolViolation)
        failures = 0
        while True:
            decode: Callable[[bytes], Any] = DeltaDecoder().decode if self._delta else from_json
            try:
                async with open_websocket(
                    self._url, subprotocols=subprotocols, additional_headers=self._headers, max_size=MAX_BYTES
                ) as socket:
                    while True:
                        message = decode(await socket.recv(decode=False))
                        if message.get("type") == "hello":
                            await socket.send(self._subscribe(message.get("stations", ())), text=True)
                            self._problem = ""
                        self._positions.take(message, on_air_only=self.on_air_only)
                        failures = 0 if message.get("cursor") else failures
                        if message.get("type") == "error":
                            self._refusal = str(message.get("message", ""))
                        else:
                            yield message
            except ConnectionClosed as closed:
                code, reason = (0, "") if closed.rcvd is None else (closed.rcvd.code, closed.rcvd.reason)
                problem = self._refusal or reason or "the connection was lost"
                is_late = code == NoSuchGame.close_code and self._positions and failures < _MAX_NOT_FOUND
                if code in _REFUSALS and not is_late:
                    raise _REFUSALS[code](problem) from closed
            except (OSError, InvalidHandshake) as error:
                if process_exception(error) is not None:
                    raise ProtocolViolation(f"no stream of slpstream at {self._url}: {error}") from error
                problem = str(error) or type(error).__name__
            if problem != self._problem:
                logging.getLogger("slpstream.client").warning("%s: %s; connecting again", self._url, problem)
            self._problem, self._refusal = problem, ""
            failures += 1
            pause_seconds = min(backoff_seconds(failures, _FIRST_PAUSE_SECONDS), _MAX_PAUSE_SECONDS)
            await trio.sleep(pause_seconds * random.uniform(0.75, 1.25))  # noqa: S311 -- only spreads the load

    def _subscribe(self, names: Sequence[str]) -> bytes:
        """Return the `subscribe` message, which continues each log for which there is a position."""
        cursor = self._request["cursor"]
        if self._positions:
            wanted = names if self._request["stations"] == "*" else self._request["stations"]
            first = dict.fromkeys(wanted, cursor) if cursor == "start" else cursor
            cursor = (first if isinstance(first, dict) else {}) | self._positions.cursors()
        return msgspec.json.encode({**self._request, "cursor": cursor})
