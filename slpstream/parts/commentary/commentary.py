"""The listeners of a daemon's commentary. Nothing is computed for a station that has none."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from slpstream.parts.commentary.commentator import Commentator, Sentence
from slpstream.parts.commentary.phrases import PHRASES, Language
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import Odds
from slpstream.stream.channel import Channel
from slpstream.stream.log_consumer import LogConsumer
from slpstream.system.text import printable
from slpstream.web.station_path import NoSuchStation

PAUSE_SECONDS = 1.5
"""The pause after a sentence. It takes people about this long to read one, or a program to say it."""
MAX_WAITING = 12
"""A listener who reads slower than this misses the oldest sentences."""
MAX_LISTENERS = 64
"""Of one daemon."""


class Listener:
    """One listener of a station. The sentences wait here until they are sent."""

    def __init__(self, language: Language, *, with_odds: bool = False) -> None:
        self.with_odds = with_odds
        """Whether to say how the odds have changed."""
        self.commentator = Commentator(PHRASES[language])
        self.over = False
        """Whether the station has ended."""
        self._waiting: deque[Sentence] = deque()
        self._changed = trio.Event()

    def put(self, sentences: Sequence[Sentence]) -> None:
        """Queue sentences. Of those that aren't important, only the newest one waits."""
        for sentence in sentences:
            if not sentence.important:
                self._waiting = deque(waiting for waiting in self._waiting if waiting.important)
            self._waiting.append(sentence)
            if len(self._waiting) > MAX_WAITING:
                self._waiting.popleft()
        if sentences:
            self._changed.set()

    def end(self) -> None:
        """Note that the station has ended, so there won't be any more sentences."""
        self.over = True
        self._changed.set()

    async def next(self) -> str | None:
        """Wait for the next sentence and return it on one line, or `None` at the end."""
        while not self._waiting and not self.over:
            await self._changed.wait()
            self._changed = trio.Event()
        return printable(self._waiting.popleft().text) if self._waiting else None


class Commentary(RunningPart):
    """The commentary of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._listeners: dict[str, list[Listener]] = {}

    @property
    def is_full(self) -> bool:
        """Whether there are as many listeners as a daemon may have."""
        return sum(map(len, self._listeners.values())) >= MAX_LISTENERS

    @asynccontextmanager
    async def listening(self, station: str, language: Language, *, with_odds: bool = False) -> AsyncIterator[Listener]:
        """Listen to a station during this block. Raises `NoSuchStation` if it's gone."""
        channel = self._host.hub.channels.get(station)
        if channel is None:
            raise NoSuchStation(station)
        listener = Listener(language, with_odds=with_odds)
        game = channel.current
        is_running = game is not None and game.in_progress
        listener.commentator.join(game.start if game is not None and is_running else None, channel.set_message())
        self._listeners.setdefault(station, []).append(listener)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read, channel, listener)
                yield listener
                nursery.cancel_scope.cancel()
        finally:
            listeners = self._listeners[station]
            listeners.remove(listener)
            if not listeners:
                del self._listeners[station]

    async def follow(self, channel: Channel) -> None:
        """End the listeners of a station together with it."""
        try:
            await trio.sleep_forever()
        finally:
            for listener in self._listeners.get(channel.station, ()):
                listener.end()

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Say how a set stands."""
        for listener in self._listeners.get(station, ()):
            listener.put(listener.commentator.set_changed(payload))

    def situation_seen(self, station: str, payload: Mapping[str, Any]) -> None:
        """Say that a situation was found."""
        for listener in self._listeners.get(station, ()):
            listener.put(listener.commentator.situation_seen(payload))

    async def _read(self, channel: Channel, listener: Listener) -> None:
        """Read the log of a station for a listener. Replays that are copied in while a game is played are left out."""
        consumer = LogConsumer(channel, frames="finalized", topics=frozenset({"game", "event"}), start="live")
        commentator = listener.commentator
        async for batch in consumer:
            if any(game.game_id == batch.game_id and game.secondary for game in channel.games):
                continue
            listener.put(commentator.take(batch.messages))
            spans = commentator.spans if listener.with_odds else []
            odds = self._host.find(Odds) if spans else None
            if odds is not None:
                for span, swing in zip(spans, await odds.swings(batch.game_id, spans), strict=True):
                    listener.put(commentator.odds_changed(span.player_index, swing))
