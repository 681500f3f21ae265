"""Post the results of a station's games and sets to a chat, and earlier games of the players, each of them once.

We get the results from `set` messages, so they have the names that the operator has given, and only games that count.
We follow a set from the first of its games that this daemon sees being played, because results of old replays aren't
news. The database of deliveries remembers which results were posted. This way, nothing is posted twice after a restart,
and if a game has ended in the meantime, it is posted then. If an operator corrects the result of a set after its end,
it is posted again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import msgspec
import trio

from slpstream.daemon.set_news import SetNews
from slpstream.model.foreign_data import json_or_none
from slpstream.model.prepared import prepared
from slpstream.model.summary import GameSummary
from slpstream.parts.chat.messages import (
    Result,
    Templates,
    earlier_games,
    game_results,
    has_begun,
    message,
    set_result,
)
from slpstream.parts.services import Deliverer, Delivery, DeliveryStore, Meetings
from slpstream.stream.channel import Channel
from slpstream.system.http_client import Headers, Post, PostResponse, Target, post

ChatEvent = Literal["game_end", "set_end", "set_start"]

_COLLECT_SECONDS = 1.0
"""Long enough for the summary of a game to follow its end."""
_GONE_CODES = frozenset({10015, 50027})
"""Discord's error codes for a webhook that does not exist (any more), and for a wrong token in its URL."""
_FOLLOWED = "followed"
_SENT_HEADERS = frozenset({"content-type", "user-agent"})


class _News(NamedTuple):
    """The newest payload of a set, and summaries of those games that the station has in memory."""

    payload: Mapping[str, Any]
    live: Mapping[str, GameSummary]


@prepared
class _Error(msgspec.Struct):
    """The body of an error."""

    code: int = 0
    retry_after: float | None = None


class ChatSink:
    """One chat.

    You should call `run` in exactly one task, and call it again if a bug has ended it. Also, start `follow` for each
    station.
    """

    def __init__(
        self,
        deliverer: Deliverer,
        store: DeliveryStore,
        *,
        id: str,
        name: str,
        templates: Templates,
        events: frozenset[ChatEvent],
        stations: frozenset[str] | None,
        meetings: Callable[[str], Awaitable[Meetings | None]],
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`deliverer` posts the messages that are put into `store` under `id`. `name` is used for logs and metrics.

        If `stations` is `None`, this is for all of them. `meetings` returns the earlier games of the players of a
        station's set.
        """
        self._deliverer = deliverer
        self._store = store
        self._id = id
        self.name = name
        self._templates = templates
        self._events = events
        self._stations = stations
        self._meetings = meetings
        self._wall_clock = wall_clock
        self._channels: dict[str, Channel] = {}
        self._news = SetNews[_News](_COLLECT_SECONDS)

    @property
    def gone(self) -> bool:
        """Whether the webhook has ceased to exist."""
        return self._deliverer.gone.is_set()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of the given station. This doesn't wait."""
        set_id = payload.get("setId")
        wanted = self._stations is None or station in self._stations
        if wanted and set_id is not None and not self.gone:
            channel = self._channels.get(station)
            games = () if channel is None else channel.games
            live = {game.game_id: game.summary for game in games if not game.archived}
            self._news.put(station, set_id, _News(payload, live))

    async def run(self) -> None:
        """Make messages and post them, until cancelled or until the webhook is gone."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._news.store_each, self._make_messages)
            await self._deliverer.run()
            nursery.cancel_scope.cancel()

    async def follow(self, channel: Channel) -> None:
        """Keep track of the games of a station until cancelled."""
        self._channels[channel.station] = channel
        try:
            await trio.sleep_forever()
        finally:
            if self._channels.get(channel.station) is channel:
                del self._channels[channel.station]

    async def _make_messages(self, station: str, set_id: str, news: _News) -> None:
        now_ms = int(self._wall_clock() * 1000)
        earlier = await self._earlier_games(station, set_id, news.payload)
        if await self._deliverer.call_store(partial(self._store_news, station, set_id, news, earlier, now_ms)):
            self._deliverer.wake()

    async def _earlier_games(self, station: str, set_id: str, payload: Mapping[str, Any]) -> Result | None:
        """Return the earlier games of the players if they are wanted and the set has just begun."""
        if "set_start" not in self._events or not has_begun(payload):
            return None
        found = await self._meetings(station)
        return None if found is None or found.set_id != set_id else earlier_games(payload, found)

    def _store_news(self, station: str, set_id: str, news: _News, earlier: Result | None, now_ms: int) -> bool:
        """Store messages about results that are new. Returns whether there are any. This blocks."""
        followed = self._last(station, set_id) is not None
        if not followed and not any(game["gameId"] in news.live for game in news.payload["games"]):
            return False
        if not followed:
            self._remember(station, set_id, _FOLLOWED, None, now_ms)
        stored = False
        key = f"{set_id}/start"
        if earlier is not None and self._last(station, key) is None:
            body = self._message(station, "set_start", earlier)
            self._remember(station, key, earlier.digest, _delivery(key, "set_start", body), now_ms)
            stored = body is not None
        for game_id, result in game_results(news.payload, news.live).items():
            key = f"{set_id}/{game_id}"
            if self._last(station, key) is None:
                body = self._message(station, "game_end", result) if followed or game_id in news.live else None
                self._remember(station, key, result.digest, _delivery(key, "game_end", body), now_ms)
                stored = stored or body is not None
        over, key = set_result(news.payload), f"{set_id}/over"
        if over is not None and self._last(station, key) != over.digest:
            body = self._message(station, "set_end", over)
            delivery = _delivery(f"{key}/{over.digest}/{now_ms}", "set_end", body)
            self._remember(station, key, over.digest, delivery, now_ms)
            stored = stored or body is not None
        return stored

    def _message(self, station: str, event: ChatEvent, result: Result) -> bytes | None:
        if event not in self._events:
            return None
        templates = {
            "game_end": self._templates.game,
            "set_end": self._templates.set,
            "set_start": self._templates.start,
        }
        return message(self._templates, templates[event], station, result)

    def _last(self, station: str, key: str) -> str | None:
        """Return the digest that was remembered last, or `None` if this would be the first one."""
        last = self._store.last_of_set(self._id, station, key)
        return None if last is None else last[0]

    def _remember(self, station: str, key: str, digest: str, delivery: Delivery | None, now_ms: int) -> None:
        self._store.store_set(self._id, station, delivery, now_ms, set_id=key, digest=digest)


def _delivery(key: str, event: ChatEvent, body: bytes | None) -> Delivery | None:
    return None if body is None else Delivery(key, event, body)


def discord_post(send: Post = post) -> Post:
    """Return a function like `post` that understands Discord's answers and only sends the headers that it needs."""

    async def posted(target: Target, headers: Headers, body: bytes, tls: Any, timeout_seconds: float) -> PostResponse:
        kept = [(name, value) for name, value in headers if name in _SENT_HEADERS]
        response = await send(target, kept, body, tls, timeout_seconds)
        error = _error(response)
        if error.code in _GONE_CODES:
            return response._replace(status=410)
        if error.retry_after is not None and math.isfinite(error.retry_after):
            return response._replace(retry_after=str(math.ceil(max(0.0, error.retry_after))))
        return response

    return posted


def _error(response: PostResponse) -> _Error:
    found = json_or_none(response.body, _Error) if response.status >= 400 else None
    return _Error() if found is None else found
