"""A reader with which subscribers that catch up, and outputs, read the logs of a station at their own pace.

The messages come from the ring of a game or, if the ring has already dropped them, from its file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from slpstream.model.errors import CursorGone
from slpstream.model.messages import START, Cursor, FramesMode, LogMessage, Position
from slpstream.stream.game import FIRST_PLAYED, Game, Order

if TYPE_CHECKING:
    from slpstream.stream.channel import Channel


class StationReader:
    """Reads the logs of the games of one station, and remembers a position in each of them.

    To use it, first choose where to begin by setting `first` or calling `from_heads` or `resume_after`, and then call
    `next` repeatedly. After you have delivered a message, store its position in `positions`. If you have fetched
    messages but didn't manage to deliver them, you get them again.
    """

    def __init__(self, channel: Channel, mode: FramesMode, *, reads_secondary: bool = True) -> None:
        """Pass `reads_secondary=False` if you are only interested in the games that are being played."""
        self._channel = channel
        self.mode = mode
        self._reads_secondary = reads_secondary
        self.positions: dict[Game, Position] = {}
        """The last message that was consumed of each game."""
        self.resumed: dict[str, Position] = {}
        """Positions by game id, for games that the station finds again as another `Game`."""
        self.live = False
        """Whether the channel sends the owner new messages, so that nothing is left to read."""
        self.first: Game | Order = (0, 0, "")
        """Where to begin. If you set it to a game, and don't want to read that from its start, set its position too."""
        self.stuck_in: Game
        """The game that `next` was reading when it raised an exception."""
        self._exhausted: set[Game] = set()  # archived games read to their end: they cannot grow
        self._reported_lost: set[Game] = set()
        channel.publish_held()
        channel.readers.add(self)

    async def settle(self) -> None:
        """Wait until the source was searched for the first time."""
        while not self._channel.settled:
            await self._channel.changed()

    def from_heads(self) -> None:
        """Begin with the next messages of the games that are in progress now, and then read all later games."""
        running = (game for game in self._channel.games if game.in_progress)
        self.first = next(running, None) or self._channel.next_order()
        for game in self._channel.games:
            if self.wants(game):
                self.positions[game] = game.logs[self.mode].head

    async def resume_after(self, game: Game, cursor: Cursor) -> None:
        """Begin after a cursor in the given game. Use this if you don't know your positions in the other games.

        If the game is secondary, then its primary game is read again from the beginning, because otherwise you might
        miss some of its messages. Raises `CursorGone` if there are no messages after the cursor and never will be.
        """
        self.first = game
        if self._reads_secondary and game.primary is not None and game.primary in self._channel.games:
            self.first = game.primary
            for other in self._channel.games:
                if other.secondary and other.order < game.order:  # secondary games are read one after the other
                    if other.archived:
                        self._exhausted.add(other)
                    else:
                        self.positions[other] = other.logs[self.mode].head
        position = await self.position_of(game, cursor)
        if game.archived:
            await self._check_end(game, position)
        self.positions[game] = position

    async def position_of(self, game: Game, cursor: Cursor) -> Position:
        """Return the position in `game` that a cursor refers to. Raises `CursorGone` if it can't be read any more."""
        position = cursor.position
        while game.catching_up and (position is None or position > game.logs[self.mode].head):
            await self._channel.changed()
        if position is None:
            return await game.log_reader.find_frame(self.mode, cursor.frame or 0)
        if position > game.logs[self.mode].head and not game.archived and not game.in_progress:
            raise CursorGone("the game has ended before this place")
        return position

    async def _check_end(self, game: Game, position: Position) -> None:
        """Raise `CursorGone` if a position is past the end of an archived game. Without an end, it can still grow."""
        messages, mode = game.log_reader.messages, self.mode
        if await messages(mode, position) or await messages(mode, position.before):
            return
        end, over = START, False
        while found := await messages(mode, end):
            over = over or any(message.type == "game_end" for message in found)
            end = found[-1].position
        if over and position > end:
            raise CursorGone("the game has ended before this place")

    def position(self, game: Game) -> Position:
        """Return the position of the reader in the given game."""
        if self.live and not (game.archived or game.catching_up):
            return game.logs[self.mode].head
        position = self.positions.get(game) or self.resumed.get(game.game_id)
        if position is None:
            # An archived game whose file has grown is another `Game` with the same log.
            same = (p for other, p in self.positions.items() if other.archived and other.game_id == game.game_id)
            position = next(same, START)
        return position

    def cursor(self) -> Cursor | None:
        """Return the cursor of the reader in the newest game from which it has read something."""
        for game in reversed(self.games()):
            position = self.position(game)
            if position > START:
                return Cursor(game.game_id, self.mode, position)
        return None

    def games(self) -> list[Game]:
        """Return the games to read, in the order of the station."""
        first = self._first_order
        return [game for game in self._channel.games if game.order >= first and self.wants(game)]

    def wants(self, game: Game) -> bool:
        """Whether this reader is going to read the game at all, once it gets there."""
        return self._reads_secondary or not game.secondary or game is self.first

    async def next(self) -> tuple[Game, Sequence[LogMessage]] | None:
        """Return a game with its next unread messages, or `None` if the heads of all logs are reached.

        If there are no messages, the file of the game was lost, so there won't be any more.

        The games are read one after the other. If the result is `None`, there was no checkpoint since the heads were
        compared, so you can go live without missing anything in between. If this raises `CursorGone`, you can pass the
        game `stuck_in` to `skip` if you want to do without it.
        """
        while True:
            for game in self.games():
                self.stuck_in = game
                messages = await self._following(game)
                if messages:
                    return game, messages
                if messages is not None:
                    break  # time has passed, so the heads have to be compared again
                if game.stopped == "lost" and game not in self._reported_lost:
                    self._reported_lost.add(game)
                    return game, ()
            else:
                return None

    async def _following(self, game: Game) -> Sequence[LogMessage] | None:
        """Return some of the messages after the position in the given game.

        An empty result means that the log was read back and has no more messages. If this returns `None`, there are no
        more messages either, but it came to this conclusion without a checkpoint. Raises `CursorGone`.
        """
        if game in self._exhausted:
            return None
        position = self.position(game)
        messages: Sequence[LogMessage] | None = None if game.archived else game.logs[self.mode].since(position)
        if messages is None:
            messages = await game.log_reader.messages(self.mode, position)
            if not messages:
                if not game.archived:
                    raise CursorGone("the replay no longer has the messages after this place")
                self._exhausted.add(game)
                if not any(other.needs(game) for other in self._channel.readers):
                    game.log_reader.forget()  # each of hundreds of old games would keep megabytes
            return messages
        return messages or None

    def waits_for(self, game: Game) -> bool:
        """Whether the log still has to grow until it reaches the position of this reader, or the end of its file."""
        return game.catching_up or (not game.archived and self.position(game) > game.logs[self.mode].head)

    def needs(self, game: Game) -> bool:
        """Whether there are messages in a game that this reader hasn't read yet."""
        if self.live or game in self._exhausted or game.order < self._first_order or not self.wants(game):
            return False
        return game.archived or self.position(game) < game.logs[self.mode].head

    def drop(self, games: Collection[Game]) -> None:
        """Forget games that the station has dropped.

        The reader begins with the oldest remaining game, so that there is nothing to read again if they are looked up.
        """
        oldest = self._channel.games[0].order
        if self._first_order < oldest:
            self.first = oldest
        for game in games:
            self.positions.pop(game, None)
            self._exhausted.discard(game)
            self._reported_lost.discard(game)

    def take_back(self, order: Order) -> None:
        """Also read what follows in the games from `order` on that come before the first one."""
        first = self._first_order
        if order < first:
            for game in self._channel.games:
                if order <= game.order < first:
                    self.positions[game] = game.logs[self.mode].head
            self.first = order

    def go_live(self) -> None:
        """Become live: from now on, the channel sends you the new messages of all games, including older ones."""
        self.take_back(FIRST_PLAYED)
        self.live = True

    def fall_behind(self, game: Game, position: Position | None) -> None:
        """Stop being live. The position in `game` becomes `position`, and in all other live games it becomes the head.

        If `position` is `None`, the position in `game` stays as it is.
        """
        positions = {other: self.position(other) for other in self._channel.games}
        self.live = False
        positions[game] = self.position(game) if position is None else position
        self.positions = positions

    def skip(self, game: Game) -> None:
        """Skip the part of a game that can't be read, and continue in the ring. Its loss isn't reported any more."""
        self._reported_lost.add(game)
        if game.archived:
            self._exhausted.add(game)
        else:
            log = game.logs[self.mode]
            self.positions[game] = max(self.position(game), log.dropped_through)

    @property
    def _first_order(self) -> Order:
        # A game can move in the order, so its sort key is looked up each time.
        return self.first.order if isinstance(self.first, Game) else self.first
