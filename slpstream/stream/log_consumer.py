"""A lossless subscriber within the daemon: what sinks and the broker read a station's logs with.

A log consumer queues nothing: it holds a position in each game and fetches what follows when it is asked for more, from
the ring or, if its owner was slow, from the file. `ConsumerOffsets` say how far it has come; the owner stores them with
its own work. A consumer that starts with stored offsets goes on there, through all games that were played meanwhile.
What can no longer be read is skipped and reported.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import trio

from slpstream.model.errors import CursorGone, NoSuchGame
from slpstream.model.messages import (
    TOPIC_OF_TYPE,
    TOPICS,
    Cursor,
    FramesMode,
    LogMessage,
    Position,
    Topic,
    parse_cursor,
)
from slpstream.stream.game import Game, place_of
from slpstream.stream.read_position import Games, ReadPosition
from slpstream.stream.subscription import Start

_KEPT_BOOKMARKS = 16
_REMEMBERED_GAMES = 256
_TRIES = 6
_RETRY_SECONDS = 5.0


class Batch(NamedTuple):
    """Messages of one game, in order. With `gone`: what is missing behind the last one, or that nothing more comes,
    and why."""

    game_id: str
    messages: Sequence[LogMessage]
    gone: str | None = None


class ConsumerOffset(NamedTuple):
    """The last message of a game that was taken; `over`: it was its last one."""

    cursor: Cursor
    over: bool = False


class ConsumerOffsets:
    """Where a consumer is in the newest games of a station, in the order in which it met them: a value to keep."""

    def __init__(self, marks: Sequence[ConsumerOffset] = ()) -> None:
        self._marks = {mark.cursor.game_id: mark for mark in marks}

    def __len__(self) -> int:
        return len(self._marks)

    @property
    def marks(self) -> list[ConsumerOffset]:
        """Oldest game first."""
        return list(self._marks.values())

    def note(self, batch: Batch) -> None:
        """A batch was taken."""
        game_id = batch.game_id
        known = self._marks.get(game_id)
        if not batch.messages:
            if known is not None:
                self._marks[game_id] = ConsumerOffset(known.cursor, known.over or batch.gone is not None)
            return
        last = batch.messages[-1]
        over = last.type == "metadata" or batch.gone is not None  # a file that was lost can come back, and go on
        self._marks[game_id] = ConsumerOffset(Cursor(game_id, last.mode, last.position), over)
        while len(self._marks) > _KEPT_BOOKMARKS:
            del self._marks[next(iter(self._marks))]

    def dump(self) -> str:
        """As text."""
        return msgspec.json.encode([(str(mark.cursor), mark.over) for mark in self._marks.values()]).decode()

    @classmethod
    def parse(cls, text: str) -> ConsumerOffsets:
        """The other way round. Raises `msgspec.DecodeError` or `ProtocolViolation` for what was not made by `dump`."""
        pairs = msgspec.json.decode(text, type=list[tuple[str, bool]])
        return cls([ConsumerOffset(parse_cursor(cursor), over) for cursor, over in pairs])


class LogConsumer:
    """The log messages of one station, batch by batch, each exactly once: `async for batch in consumer`.

    One consumer a tap. Batches of games that are played at the same time can alternate; within a game the order is
    that of its log. Diagnostics from before a Game Start have no place in a log and do not come.
    """

    def __init__(
        self,
        channel: Games,
        *,
        frames: FramesMode = "live",
        topics: frozenset[Topic] = frozenset(TOPICS),
        marks: Sequence[ConsumerOffset] = (),
        start: Start = "start",
        collect_seconds: float = 0.0,
    ) -> None:
        """Begins behind `marks`, of a consumer that was here before. Without any that is still known: with the games
        that were found running or have begun since the station is there (`start`), or with what comes next (`live`).
        `collect_seconds`: how long it waits for more once something has come, to hand out larger batches."""
        self.station = channel.station
        self._channel = channel
        self._frames = frames
        self._types = frozenset(kind for kind, topic in TOPIC_OF_TYPE.items() if topic in topics)
        self._all = len(self._types) == len(TOPIC_OF_TYPE)
        self._marks = marks
        self._start: Start = start
        self._collect_seconds = collect_seconds
        self._reading: ReadPosition | None = None
        self._taken: dict[str, Position] = {}
        """By game: a file that is read again, from another place, is the same log."""
        self._said: deque[Batch] = deque()
        self._lost: set[Game] = set()

    def __aiter__(self) -> LogConsumer:
        return self

    async def __anext__(self) -> Batch:
        reading = self._reading
        if reading is None:
            reading = self._reading = await self._begin()
        waited = False
        while not self._said:
            batch = await self._find(reading)
            if batch is not None:
                if not waited:
                    await trio.lowlevel.checkpoint()
                return batch
            if not self._said:
                waited = True
                await self._channel.changed()
                if self._collect_seconds:
                    await trio.sleep(self._collect_seconds)
        return self._said.popleft()

    # -- the beginning -----------------------------------------------------------------------------------------------

    async def _begin(self) -> ReadPosition:
        reading = ReadPosition(self._channel, self._frames)
        await reading.settle()
        found: list[Game] = []
        known_end = False
        for mark in reversed(self._marks):
            # Behind the newest game that was over comes all that is new; what is not over goes on.
            if mark.over and known_end:
                continue
            game = await self._locate(mark.cursor)
            if game is not None:
                found.append(game)
                known_end |= mark.over
        if not found:
            if self._start == "start":
                reading.from_first_played()
            else:
                reading.from_heads()
            return reading
        while any(game.catching_up for game in found):  # one of them may turn out to be over
            await self._channel.changed()
        games = {game.game_id: game for game in self._channel.games}
        for mark in self._marks:
            game = games.get(mark.cursor.game_id)
            if game is not None and mark.cursor.position is not None and mark.cursor.mode == self._frames:
                await self._resume(reading, game, mark)
        reading.first = min(found, key=lambda game: game.order)
        return reading

    async def _locate(self, cursor: Cursor) -> Game | None:
        if cursor.mode != self._frames:
            self._said.append(Batch(cursor.game_id, (), f"this cursor is not of the frames mode {self._frames!r}"))
            return None
        for left in reversed(range(_TRIES)):
            try:
                return await self._channel.locate(cursor.game_id)
            except (NoSuchGame, CursorGone) as error:
                if isinstance(error, NoSuchGame) or not left:
                    self._said.append(Batch(cursor.game_id, (), error.what))
                    break
            await trio.sleep(_RETRY_SECONDS)
        return None

    async def _resume(self, reading: ReadPosition, game: Game, mark: ConsumerOffset) -> None:
        try:
            place = await reading.position_of(game, mark.cursor)
        except CursorGone as error:
            self._said.append(Batch(game.game_id, (), error.what))
            place = game.logs[self._frames].head
        reading.places[game] = self._taken[game.game_id] = place
        if mark.over and game.archived:
            reading.skip(game)

    # -- reading -----------------------------------------------------------------------------------------------------

    async def _find(self, reading: ReadPosition) -> Batch | None:
        """The next batch; `None` when there is none anywhere, and no time has passed since that was seen."""
        while True:
            progressed = False
            for game in reading.todo():
                if game not in reading.places and game.game_id in self._taken:
                    reading.places[game] = self._taken[game.game_id]
                while (messages := await self._following(reading, game)) is not None:
                    progressed = True
                    if not messages:
                        break
                    reading.places[game] = self._taken[game.game_id] = place_of(messages[-1])
                    while len(self._taken) > _REMEMBERED_GAMES:
                        del self._taken[next(iter(self._taken))]
                    wanted = messages if self._all else [m for m in messages if m.type in self._types]
                    if wanted:
                        return Batch(game.game_id, wanted)
                if self._said:
                    return None
                if game.lost and game not in self._lost:
                    self._lost = {known for known in self._lost if known in self._channel.games} | {game}
                    return Batch(game.game_id, (), "the file was lost")
            if not progressed:
                return None

    async def _following(self, reading: ReadPosition, game: Game) -> Sequence[LogMessage] | None:
        """Like `ReadPosition.following`, but an unreadable file is retried for a while, then skipped.

        A share may be away, or too many files may be open.
        """
        for left in reversed(range(_TRIES)):
            try:
                return await reading.following(game)
            except CursorGone as error:
                if game.lost or not left:
                    reading.skip(game)
                    self._lost.add(game)
                    self._said.append(Batch(game.game_id, (), error.what))
                    break
                await trio.sleep(_RETRY_SECONDS)
        return ()
