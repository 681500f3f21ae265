"""A lossless subscriber inside the daemon. Outputs use it to read the logs of a station.

A log consumer doesn't queue anything. It fetches messages when you ask for them. You should store `ConsumerOffsets`
together with your results. If you pass these offsets to another consumer after a restart, it continues where the first
one stopped, and goes through all games that were played in the meantime. If some messages can't be read any more, they
are skipped, and you get a report about that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import trio

from slpstream.model.errors import CursorGone, NoSuchGame, ProtocolViolation
from slpstream.model.foreign_data import read_json
from slpstream.model.messages import Cursor, FramesMode, LogMessage, parse_cursor
from slpstream.model.topics import TOPIC_OF_TYPE, TOPICS, Topic
from slpstream.stream.channel import Channel
from slpstream.stream.game import FIRST_PLAYED, Game
from slpstream.stream.station_reader import StationReader
from slpstream.stream.subscription import Start

_KEPT_OFFSETS = 16
_REMEMBERED_GAMES = 256
_TRIES = 6
RETRY_SECONDS = 5.0


class ConsumedBatch(NamedTuple):
    """Some messages of one game, in order.

    If messages after the last one are missing, or if there can't be any more, then `gone` gives you the reason.
    """

    game_id: str
    messages: Sequence[LogMessage]
    gone: str | None = None


class ConsumerOffset(NamedTuple):
    """The last message of a game that was consumed. If the game has no more messages, `over` is true."""

    cursor: Cursor
    over: bool = False


class ConsumerOffsets:
    """The offsets of a consumer in the newest games of a station, in the order in which it began to read them."""

    def __init__(self, offsets: Sequence[ConsumerOffset] = ()) -> None:
        self._offsets = {offset.cursor.game_id: offset for offset in offsets}

    @property
    def offsets(self) -> list[ConsumerOffset]:
        """One offset for each game, beginning with the oldest game."""
        return list(self._offsets.values())

    def note(self, batch: ConsumedBatch) -> None:
        """Note that a batch was consumed."""
        game_id = batch.game_id
        known = self._offsets.get(game_id)
        if not batch.messages:
            if known is not None:
                self._offsets[game_id] = ConsumerOffset(known.cursor, known.over or batch.gone is not None)
            return
        last = batch.messages[-1]
        over = last.type == "metadata" or batch.gone is not None  # a lost file can come back and continue
        self._offsets[game_id] = ConsumerOffset(Cursor(game_id, last.mode, last.position), over)
        while len(self._offsets) > _KEPT_OFFSETS:
            del self._offsets[next(iter(self._offsets))]

    def dump(self) -> str:
        """Return the offsets as text. You can turn it back into offsets with `parse`."""
        return msgspec.json.encode([(str(offset.cursor), offset.over) for offset in self._offsets.values()]).decode()

    @classmethod
    def parse(cls, text: str) -> ConsumerOffsets:
        """Parse a text that `dump` has returned. Raises `ProtocolViolation` for any other text."""
        pairs = read_json(text.encode(), list[tuple[str, bool]], ProtocolViolation)
        return cls([ConsumerOffset(parse_cursor(cursor), over) for cursor, over in pairs])


class LogConsumer:
    """Gives you the log messages of one station, each of them exactly once. To use it, write `async for batch in
    consumer`.

    If several games are played at the same time, you might get their batches alternately, but within a game, the
    messages are always in the order of its log. Diagnostics from before a Game Start are left out, because they have no
    place in a log. Don't share an instance between tasks.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        frames: FramesMode = "live",
        topics: frozenset[Topic] = frozenset(TOPICS),
        offsets: Sequence[ConsumerOffset] = (),
        start: Start = "start",
        collect_seconds: float = 0.0,
    ) -> None:
        """Begin after `offsets`, which is where an earlier consumer stopped.

        If none of the games in `offsets` is known any more, then `start` decides: with `start`, you get all games that
        were in progress when the station was created or have begun since; with `live`, you begin with the next
        messages. If you prefer larger batches, set `collect_seconds`. The consumer then waits for this time after a
        message has arrived.
        """
        self._channel = channel
        self._frames = frames
        self._types = frozenset(kind for kind, topic in TOPIC_OF_TYPE.items() if topic in topics)
        self._offsets = offsets
        self._start: Start = start
        self._collect_seconds = collect_seconds
        self._reader: StationReader | None = None
        self._reports: deque[ConsumedBatch] = deque()

    def __aiter__(self) -> LogConsumer:
        return self

    async def __anext__(self) -> ConsumedBatch:
        if self._reader is None:
            self._reader = await self._begin()
        if self._reports:
            return self._reports.popleft()
        batch = await self._next(self._reader)
        if batch is not None:
            await trio.lowlevel.checkpoint()
        while batch is None:
            await self._channel.changed()
            if self._collect_seconds:
                await trio.sleep(self._collect_seconds)
            batch = await self._next(self._reader)
        return batch

    async def _begin(self) -> StationReader:
        reader = StationReader(self._channel, self._frames)
        await reader.settle()
        found: list[Game] = []
        known_end = False
        for offset in reversed(self._offsets):
            # All games after the newest one that was over are new; games that were not over can continue.
            if offset.over and known_end:
                continue
            game = await self._locate(offset.cursor)
            if game is not None:
                found.append(game)
                known_end |= offset.over
        if not found:
            if self._start == "start":
                reader.first = FIRST_PLAYED
            else:
                reader.from_heads()
            return reader
        while any(game.catching_up for game in found):  # one of them can prove to be over
            await self._channel.changed()
        games = {game.game_id: game for game in self._channel.games}
        for offset in self._offsets:
            game = games.get(offset.cursor.game_id)
            if game is None or offset.cursor.mode != self._frames:
                continue
            try:
                position = await reader.position_of(game, offset.cursor)
            except CursorGone as error:
                self._reports.append(ConsumedBatch(game.game_id, (), error.what))
                position = game.logs[self._frames].head
            reader.positions[game] = reader.resumed[game.game_id] = position
            if offset.over and game.archived:
                reader.skip(game)
        reader.first = min(found, key=lambda game: game.order)
        return reader

    async def _locate(self, cursor: Cursor) -> Game | None:
        if cursor.mode != self._frames:
            reason = f"this cursor is not of the frames mode {self._frames!r}"
            self._reports.append(ConsumedBatch(cursor.game_id, (), reason))
            return None
        for tries_left in reversed(range(_TRIES)):
            try:
                return await self._channel.locate(cursor.game_id)
            except (NoSuchGame, CursorGone) as error:
                if isinstance(error, NoSuchGame) or not tries_left:
                    self._reports.append(ConsumedBatch(cursor.game_id, (), error.what))
                    break
            await trio.sleep(RETRY_SECONDS)
        return None

    async def _next(self, reader: StationReader) -> ConsumedBatch | None:
        """Return the next batch, or `None` if there's nothing to read.

        In the second case, there was no checkpoint after the heads were compared. If a file can't be read, this tries
        again for a while before it skips and reports it. The reason can be a network share, or too many open files.
        """
        tries = 0
        while True:
            try:
                unread = await reader.next()
            except CursorGone as error:
                game = reader.stuck_in
                tries += 1
                if game.stopped == "lost" or tries == _TRIES:
                    reader.skip(game)
                    return ConsumedBatch(game.game_id, (), error.what)
                await trio.sleep(RETRY_SECONDS)
                continue
            if unread is None:
                return None
            game, messages = unread
            if not messages:
                return ConsumedBatch(game.game_id, (), "the file was lost")
            reader.positions[game] = reader.resumed[game.game_id] = messages[-1].position
            while len(reader.resumed) > _REMEMBERED_GAMES:
                del reader.resumed[next(iter(reader.resumed))]
            wanted = [message for message in messages if message.type in self._types]
            if wanted:
                return ConsumedBatch(game.game_id, wanted)
            tries = 0
