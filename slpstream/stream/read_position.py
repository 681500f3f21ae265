"""A place in each game of one station, and what follows it: out of the ring or, for what that has dropped, by `replay`.

Whoever reads a station's logs at a pace of its own holds one of these: a subscriber that is behind, a tap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from weakref import WeakSet

from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, Cursor, FramesMode, LogMessage, Position
from slpstream.stream.game import FIRST_PLAYED, Game, Order


class Games(Protocol):
    """What is read: a station's games in their order."""

    station: str
    readings: WeakSet[ReadPosition]
    """All that are somewhere in these games."""

    @property
    def games(self) -> Sequence[Game]:
        """The known games, in order."""

    @property
    def current(self) -> Game | None:
        """The game with the newest Game Start."""

    @property
    def settled(self) -> bool:
        """It is known which games there are."""

    async def changed(self) -> None:
        """Returns after the next change."""

    async def locate(self, game_id: str) -> Game:
        """The game of a cursor, all later ones known. Raises `NoSuchGame`."""

    def next_order(self) -> Order:
        """The place of the next game that begins."""


class ReadPosition:
    """How far a reader has come in one station."""

    def __init__(self, channel: Games, mode: FramesMode) -> None:
        self._channel = channel
        self._mode = mode
        self.places: dict[Game, Position] = {}
        """The last message that was taken of each game; of those that are missing nothing was."""
        self.first: Game | Order = (0, 0, "")
        """The first game that concerns this reader. A game can be moved in the order, so it is asked for its place
        each time."""
        self.at_heads = False
        """Whoever reads is told what comes, and is behind in none of the games."""
        self._exhausted: set[Game] = set()
        """Archived games that were read to their end: that cannot change."""
        channel.readings.add(self)

    async def settle(self) -> None:
        """Returns when it is known which games there are."""
        while not self._channel.settled:
            await self._channel.changed()

    def from_start(self) -> None:
        """Begins with the first message of the current game, or of the next one."""
        current = self._channel.current
        self.first = self._channel.next_order() if current is None else current

    def from_first_played(self) -> None:
        """Begins with the first game that was found running, or seen to begin, since the station is there."""
        self.first = FIRST_PLAYED

    def from_heads(self) -> None:
        """Begins with what comes next in the games that run, and with the games that follow."""
        running = [game for game in self._channel.games if game.in_progress]
        self.first = min(running, key=lambda game: game.order) if running else self._channel.next_order()
        for game in self._channel.games:
            self.places[game] = game.logs[self._mode].head

    async def position_of(self, game: Game, cursor: Cursor) -> Position:
        """Where a cursor points to in its game. Raises `CursorGone`."""
        position = cursor.position
        while game.catching_up and (position is None or position > game.logs[self._mode].head):
            await self._channel.changed()
        if position is None:
            return await game.find_frame(self._mode, cursor.frame or 0)
        if position > game.logs[self._mode].head and not game.archived and not game.in_progress:
            raise CursorGone("the game has ended before this place")
        return position

    def place(self, game: Game) -> Position:
        """Where this reader is in a game. A file that was archived and has grown is another `Game` with the same
        log."""
        place = self.places.get(game)
        if place is None:
            same = (p for other, p in self.places.items() if other.archived and other.game_id == game.game_id)
            place = next(same, START)
        return place

    def todo(self) -> list[Game]:
        """The games from the first one on, in the station's order."""
        first = self._first_order
        return [game for game in self._channel.games if game.order >= first]

    async def following(self, game: Game) -> Sequence[LogMessage] | None:
        """Some of the messages behind the place in a game: none, when there are none but time has passed, and `None`
        when not even that. The place stays; move it when they are taken. Raises `CursorGone`."""
        if game in self._exhausted:
            return None
        place = self.place(game)
        messages: Sequence[LogMessage] | None = None if game.archived else game.logs[self._mode].since(place)
        if messages is None:
            messages = await game.replay(self._mode, place)
            if not messages:
                if not game.archived:
                    raise CursorGone("the replay does not have what follows any more")
                self._exhausted.add(game)
                if not any(other.needs(game) for other in self._channel.readings):
                    game.forget_replay()  # of hundreds of old games, each would keep megabytes
            return messages
        return messages or None

    def needs(self, game: Game) -> bool:
        """Whether something of a game is still to be read here."""
        if self.at_heads or game in self._exhausted or game.order < self._first_order:
            return False
        return game.archived or self.place(game) < game.logs[self._mode].head

    def drop(self, games: Sequence[Game]) -> None:
        """The station does not know these games any more, in their order, nor any before them, and nothing of them is
        needed here. Should they become known again because somebody asks for them, they are still not for this
        reader."""
        ordinal, place, name = games[-1].order
        if self._first_order <= games[-1].order:
            self.first = (ordinal, place, name + "\0")
        for game in games:
            self.places.pop(game, None)
        self._exhausted.difference_update(games)

    def take_back(self, game: Game) -> None:
        """The station knows an old game again, because it goes on: what follows is for this reader too, and no more of
        the games since then than before."""
        if game.order < self._first_order:
            for other in self._channel.games:
                if game.order <= other.order < self._first_order:
                    self.places[other] = other.logs[self._mode].head
            self.first = game.order

    @property
    def _first_order(self) -> Order:
        return self.first.order if isinstance(self.first, Game) else self.first

    def live(self) -> None:
        """From here on whoever reads is told what comes, of all games: also of one before the first that goes on, which
        thereby concerns this reader from its newest message on."""
        first = self._first_order
        older = [game for game in self._channel.games if FIRST_PLAYED <= game.order < first]
        self.places |= {game: game.logs[self._mode].head for game in older}
        if older:
            self.first = min(older, key=lambda game: game.order)
        self.at_heads = True

    def skip(self, game: Game) -> None:
        """What of a game cannot be read is passed over: goes on with what the ring has."""
        if game.archived:
            self._exhausted.add(game)
        else:
            log = game.logs[self._mode]
            self.places[game] = max(self.place(game), log.dropped_through)
