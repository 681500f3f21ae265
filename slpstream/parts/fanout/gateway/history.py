"""One log of a station in the broker. You can read its turns, and any part of it by a range of entry ids.

If the broker has already trimmed a part, this raises `CursorGone`, so that a reader can't skip a gap without noticing
it. To know whether a range is complete, we also read the oldest entry that is left. This happens in the same pipeline,
but after the range. If the range isn't older than this entry, it is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, FramesMode, LogMessage, Position
from slpstream.parts.fanout.connection import Client, StreamEntry, entries_of
from slpstream.parts.fanout.gateway.broker import Broker
from slpstream.parts.fanout.gateway.lines import message_in
from slpstream.parts.fanout.streams import StationKeys, Turn, ids_of_turn, pack, parse_turns, unpack

_BATCH = 256
_SAMPLE = 16
_NEAR_BYTES = 64 * 1024
_MAX_ROLLBACK_FRAMES = 64
"""In a live log, a frame number can follow one that is higher by less than this."""


class History:
    """One log of a station in the broker."""

    def __init__(self, broker: Broker, keys: StationKeys, mode: FramesMode) -> None:
        self._broker = broker
        self._keys = keys
        self.mode = mode
        self.stream = keys.stream(mode)
        self.turns: dict[int, Turn] = {}
        """By ordinal, oldest first."""

    def of_game(self, game_id: str) -> list[Turn]:
        """Return the turns of a game, beginning with the oldest."""
        return [turn for turn in self.turns.values() if turn.game_id == game_id]

    def aside(self, through: float) -> dict[str, str]:
        """Return those games for which all turns up to the ordinal `through` were marked as secondary.

        For each of them, you get the game that was being played when it began, or an empty string.
        """
        played, found, turned_to = "", dict[str, str](), set[str]()
        for turn in self.turns.values():
            if turn.ordinal > through:
                break
            if turn.aside:
                found.setdefault(turn.game_id, played)
            else:
                played = turn.game_id
                turned_to.add(played)
        return {game_id: beside for game_id, beside in found.items() if game_id not in turned_to}

    async def refresh(self) -> None:
        """Read the turns from the broker."""
        turns = await self._broker.ask(lambda client: client.hgetall(self._keys.turns(self.mode)))
        self.turns = {turn.ordinal: turn for turn in parse_turns(turns)}

    async def turn_of(self, entry: StreamEntry) -> Turn | None:
        """Return the turn to which an entry belongs.

        If there's no record of the turn, we derive it from its first entry. If that isn't a message, this returns
        `None`.
        """
        turn = self.turns.get(entry.ordinal)
        if turn is not None:
            return turn
        await self.refresh()
        turn = self.turns.get(entry.ordinal)
        if turn is None:
            message = message_in(entry.line)
            if message is None:
                return None
            behind = START if message.type == "game_start" else message.position.before
            turn = Turn(entry.ordinal, message.game_id or "", behind)
            self.turns = {known.ordinal: known for known in sorted([*self.turns.values(), turn])}
        return turn

    async def messages(self, game_id: str, position: Position) -> Sequence[LogMessage]:
        """Return the next messages after a position. At the end of everything the broker has, the result is empty.

        Raises `CursorGone` if some of them were trimmed.
        """
        for fresh in (False, True):
            if fresh:
                await self.refresh()
            turns = self.of_game(game_id)
            first = next((i for i in reversed(range(len(turns))) if turns[i].after <= position), None)
            if first is None:
                if turns:
                    raise CursorGone("the broker no longer has what follows")
                continue
            for turn in turns[first:]:
                found = await self._range(turn, max(position, turn.after), _BATCH)
                if found:
                    return found
        return []

    async def last(self, game_id: str) -> LogMessage | None:
        """Return the last message of a game, or `None` if all of them were trimmed."""
        found = await self.last_few(game_id, 1)
        return found[-1] if found else None

    async def last_few(self, game_id: str, count: int = _SAMPLE) -> list[LogMessage]:
        """Return the last few messages of a game, which come from its newest turn that still has any."""
        for turn in reversed(self.of_game(game_id)):
            found = await self._broker.ask(partial(self._backwards, turn, count))
            if found:
                return messages_of(found[::-1])
        return []

    async def first_of(self, game_id: str) -> LogMessage | None:
        """Return the oldest message of a game, or `None` if all of them were trimmed."""
        for turn in self.of_game(game_id):
            found = messages_of(await self._broker.ask(partial(self._forwards, turn, -1, 1)))
            if found:
                return found[0]
        return None

    async def _forwards(self, turn: Turn, after: int, count: int, client: Client) -> list[StreamEntry]:
        first_id, last_id = ids_of_turn(turn.ordinal, after)
        return entries_of(await client.xrange(self.stream, first_id, last_id, count=count))

    async def _backwards(self, turn: Turn, count: int, client: Client) -> list[StreamEntry]:
        first_id, last_id = ids_of_turn(turn.ordinal)
        return entries_of(await client.xrevrange(self.stream, last_id, first_id, count=count))

    async def find_frame(self, game_id: str, number: int) -> Position:
        """Return the position just before the first `frame` message that has this number or a higher one.

        Raises `CursorGone` if it was trimmed.
        """
        position = START
        for turn in self.of_game(game_id):
            near = await self._near(turn, number - _MAX_ROLLBACK_FRAMES)
            if near is None:
                break
            position = near
        over = False
        while True:
            found = await self.messages(game_id, position)
            if not found:
                raise CursorGone(f"frame {number} is not in the game{'' if over else ' yet'}")
            for message in found:
                over = over or message.type == "game_end"
                if message.frame is not None and message.frame >= number:
                    return message.position.before
            position = found[-1].position

    async def _near(self, turn: Turn, number: int) -> Position | None:
        """Bisect a turn to find a position shortly before the first frame that has this number or a higher one.

        All frames before that position have lower numbers. If it is before this turn, this returns `None`.
        """
        newest = await self._frame_after(turn, -1)
        if newest is None or newest[1] >= number:
            return turn.after if turn.after == START else None
        low, high = newest[0], pack(Position((1 << 39) - 1, 0))
        last = await self.last(turn.game_id)
        if last is not None:
            high = min(high, pack(last.position))
        while high - low > pack(Position(_NEAR_BYTES, 0)):
            middle = (low + high) // 2
            found = await self._frame_after(turn, middle)
            if found is None or found[1] >= number:
                high = middle
            else:
                low = max(found[0], middle)
        return unpack(low).before

    async def _frame_after(self, turn: Turn, position: int) -> tuple[int, int] | None:
        """Return the packed position and the number of the first frame after a packed position."""
        for message in messages_of(await self._broker.ask(partial(self._forwards, turn, position, _SAMPLE))):
            if message.frame is not None:
                return pack(message.position), message.frame
        return None

    async def _range(self, turn: Turn, after: Position, count: int) -> list[LogMessage]:
        """Return messages of the given turn after a position. Raises `CursorGone` if some of them were trimmed."""
        first_id, last_id = ids_of_turn(turn.ordinal, pack(after))

        async def query(client: Client) -> tuple[list[StreamEntry], list[StreamEntry]]:
            async with client.pipeline(transaction=False) as pipeline:
                wanted = pipeline.xrange(self.stream, first_id, last_id, count=count)
                oldest = pipeline.xrange(self.stream, count=1)
            return entries_of(await wanted), entries_of(await oldest)

        wanted, oldest = await self._broker.ask(query)
        found = messages_of(wanted)
        if oldest and (oldest[0].ordinal, oldest[0].position) > (turn.ordinal, pack(after)):
            begins_with_it = bool(found) and after == START and found[0].type == "game_start"
            if not begins_with_it and oldest[0].ordinal >= turn.ordinal:
                raise CursorGone("the broker no longer has what follows")
        return found


def messages_of(entries: Sequence[StreamEntry]) -> list[LogMessage]:
    """Return the messages in some entries. If an entry isn't a message, it is left out."""
    found: list[LogMessage] = []
    for entry in entries:
        message = message_in(entry.line)
        if message is not None:
            found.append(message)
    return found
