"""A station's games in order, and the reader that works through their logs.

`StationReader` is used wherever logs are read at the reader's own pace: by a subscriber that catches up and by the
outputs (`log_consumer`). It holds a position in each game and fetches what follows, from the ring or, where the ring
has dropped it, from the file.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Container, Sequence
from typing import NamedTuple
from weakref import WeakSet

import trio

from slpstream.model.errors import CursorGone, NoSuchGame
from slpstream.model.messages import START, Cursor, FramesMode, LogMessage, Position
from slpstream.stream.game import FIRST_PLAYED, Game, Order

_MODES: frozenset[FramesMode] = frozenset(("live", "finalized"))
KNOWN_GAMES = 16
"""Games that a station keeps in memory; an older one stays only while a reader still needs it."""

Locate = Callable[[str], Awaitable[None]]
"""Make a station's games known, from the one with this game id on. Raises `NoSuchGame`."""


class StationGames:
    """The known games of one station, oldest first."""

    def __init__(self, station: str, locate: Locate, *, kept_games: int = 2) -> None:
        """`kept_games` is how many of the newest games keep their rings after they have ended."""
        self.station = station
        self._locate = locate
        self._kept_games = kept_games
        self._games: list[Game] = []
        self._changed: trio.Event | None = None
        self.readers: WeakSet[StationReader] = WeakSet()
        """Everything that holds a position in these games."""
        self._unread_modes = _MODES
        self._counted_readers = 0
        self.publish_held: Callable[[], None] = _nothing_held
        """Publishes everything that is held back while there are no readers."""
        self.current: Game | None = None
        """The game that is played: of those that are not aside, the one with the newest Game Start, unless the station
        has turned to another that goes on."""
        self.settled = False
        """The source has been searched once, so it is known which games are live."""

    @property
    def games(self) -> Sequence[Game]:
        """The known games, oldest first."""
        return self._games

    def add_reader(self, reader: StationReader) -> None:
        """Add a reader for as long as it exists. Everything that is held back is published first."""
        self.publish_held()
        self.readers.add(reader)
        self._counted_readers = -1

    @property
    def unread_modes(self) -> frozenset[FramesMode]:
        """The modes whose logs nobody reads."""
        if len(self.readers) != self._counted_readers:
            readers = list(self.readers)
            self._counted_readers = len(readers)
            self._unread_modes = _MODES.difference(reader.mode for reader in readers)
        return self._unread_modes

    async def locate(self, game_id: str) -> Game:
        """The game with this id; all later games are known afterwards. Raises `NoSuchGame`."""
        for searched in (False, True):
            if searched:
                await self._locate(game_id)
            for game in reversed(self._games):
                if game.game_id == game_id:
                    return game
        raise NoSuchGame(f"no such game: {game_id}")

    async def changed(self) -> None:
        """Return after the next change to the games, their logs or the station's state."""
        if self._changed is None:
            self._changed = trio.Event()
        await self._changed.wait()

    def notify(self) -> None:
        """Wake all tasks that wait in `changed`."""
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    def begin(self, game: Game) -> None:
        """Add a game that has just begun, and make it the current one unless it is aside.

        Older games that are over lose their rings.
        """
        self._games = [known for known in self._games if known.game_id != game.game_id or not known.archived]
        self._games.append(game)
        if game.aside:
            game.beside = self.current
        else:
            self.current = game
        for older in self._games[: -self._kept_games]:
            if not older.in_progress:
                older.forget()
        self.notify()

    def insert_archived(self, games: Sequence[Game]) -> None:
        """Add games from before this daemon; they sort before all games that it saw begin."""
        known = {game.game_id for game in self._games}
        self._games += [game for game in games if game.game_id not in known]
        self._games.sort(key=lambda game: game.order)

    def retire(self, game: Game, mtime_ns: int, name: str) -> None:
        """Archive a game: its file, read to the end, shows that it was over before the daemon started."""
        game.order = (0, mtime_ns, name)
        game.aside, game.beside = False, None  # it was not played meanwhile, but before
        game.forget()
        self._games.sort(key=lambda known: known.order)
        if self.current is game:
            known_games = reversed(self._games)
            self.current = next((known for known in known_games if not (known.archived or known.aside)), None)

    def drop_oldest(self, followed: Container[Game | None]) -> None:
        """Drop the oldest games beyond a limit, unless they are in `followed` or a reader still needs them.

        A dropped game is found again through its file, as a game from before this daemon.
        """
        behind = [reader for reader in self.readers if not reader.live]
        dropped: list[Game] = []
        aside: set[Game] = set()
        keeps_one = False
        for game in self._games[: max(0, len(self._games) - KNOWN_GAMES)]:
            if game is self.current or game in followed or any(reader.needs(game) for reader in behind):
                keeps_one = True
            elif not keeps_one:
                dropped.append(game)
            elif game.aside:
                aside.add(game)  # any other would turn into an older game than the one that is kept
        self._games = [game for game in self._games[len(dropped) :] if game not in aside]
        for reader in self.readers if dropped or aside else ():
            if dropped:  # can be thousands, after a lookup of an old game
                reader.drop(dropped)
            reader.forget(aside)

    def take_back(self, game: Game) -> None:
        """Resume a game that was left, and may have been dropped, in its old place."""
        game.lost = game.left = False
        game.read_again = True
        if game not in self._games:
            self._games.append(game)
            self._games.sort(key=lambda known: known.order)
            for reader in self.readers:
                reader.take_back(game)

    def next_order(self) -> Order:
        """The sort key for the next game that begins."""
        return (1, max((game.order[1] + 1 for game in self._games if not game.archived), default=0), "")


def _nothing_held() -> None:
    """Do nothing: stations without a file to follow hold nothing back."""


class Unread(NamedTuple):
    """Messages of one game that follow a reader's position.

    Empty `messages` say that the game's file was lost, and nothing more can come.
    """

    game: Game
    messages: Sequence[LogMessage]


class StationReader:
    """A position in each game of one station, and what follows it.

    Choose where to begin with one of the `from_` methods, then call `next`. The position moves only when the owner
    calls `took`, so messages that were fetched and not delivered are fetched again.
    """

    def __init__(self, station: StationGames, mode: FramesMode, *, reads_aside: bool = True) -> None:
        """`reads_aside` is false for readers that follow only what is played."""
        self._station = station
        self.mode = mode
        self._reads_aside = reads_aside
        self.positions: dict[Game, Position] = {}
        """The last message that was taken from each game."""
        self.resumed: dict[str, Position] = {}
        """Positions by game id, for games that the station meets again as another `Game`."""
        self.live = False
        """The owner is handed new messages as they are published, and has nothing left to read."""
        self._first: Game | Order = (0, 0, "")  # a game can move in the order, so its sort key is looked up each time
        self._exhausted: set[Game] = set()  # archived games read to their end: they cannot grow
        self._pass: deque[Game] = deque()
        self._passed_time = False
        self._reported_lost: set[Game] = set()
        station.add_reader(self)

    async def settle(self) -> None:
        """Return when it is known which games there are."""
        while not self._station.settled:
            await self._station.changed()

    def from_start(self) -> None:
        """Begin with the first message of the current game, or of the next one."""
        current = self._station.current
        self._first = self._station.next_order() if current is None else current

    def from_first_played(self) -> None:
        """Begin with the first game that was found running, or seen to begin, since the station exists."""
        self._first = FIRST_PLAYED

    def from_heads(self) -> None:
        """Begin with what comes next in the games in progress, and with the games after them."""
        running = [game for game in self._station.games if game.in_progress]
        self._first = min(running, key=lambda game: game.order) if running else self._station.next_order()
        for game in self._station.games:
            if self.wants(game):
                self.positions[game] = game.logs[self.mode].head

    def from_game(self, game: Game) -> None:
        """Begin with this game; set its position first if it is not its beginning."""
        self._first = game

    def resume_in(self, game: Game) -> None:
        """Begin with this game, for an owner that does not know how far it has come in other games.

        From a game aside, the game that was played meanwhile is read again from its beginning, so that nothing of it is
        missed.
        """
        self._first = game
        played = game.beside
        if not self._reads_aside or played is None or played not in self._station.games:
            return
        self._first = played
        for other in self._station.games:
            if other.aside and other.order < game.order:  # games aside are read one after the other
                if other.archived:
                    self._exhausted.add(other)
                else:
                    self.positions[other] = other.logs[self.mode].head

    async def position_of(self, game: Game, cursor: Cursor) -> Position:
        """The position in `game` that a cursor names. Raises `CursorGone`."""
        position = cursor.position
        while game.catching_up and (position is None or position > game.logs[self.mode].head):
            await self._station.changed()
        if position is None:
            return await game.log_reader.find_frame(self.mode, cursor.frame or 0)
        if position > game.logs[self.mode].head and not game.archived and not game.in_progress:
            raise CursorGone("the game has ended before this place")
        return position

    async def check_end(self, game: Game, position: Position) -> None:
        """Raise `CursorGone` for a position past the end of an archived game that is over.

        Nothing would ever follow it, whereas an archived game without an end can still grow.
        """
        messages, mode = game.log_reader.messages, self.mode
        if not game.archived or position <= START:
            return
        if await messages(mode, position) or await messages(mode, Position(position.offset, position.count - 1)):
            return
        end, over = START, False
        while found := await messages(mode, end):
            over = over or any(message.type == "game_end" for message in found)
            end = found[-1].position
        if over and position > end:
            raise CursorGone("the game has ended before this place")

    def position(self, game: Game) -> Position:
        """Where this reader is in a game."""
        position = self.positions.get(game) or self.resumed.get(game.game_id)
        if position is None:
            # An archived game whose file has grown is another `Game` with the same log.
            same = (p for other, p in self.positions.items() if other.archived and other.game_id == game.game_id)
            position = next(same, START)
        return position

    def cursor(self) -> Cursor | None:
        """Where this reader is in the newest game of which it has read anything."""
        for game in reversed(self.games()):
            at_head = self.live and not game.archived
            position = game.logs[self.mode].head if at_head else self.position(game)
            if position > START:
                return Cursor(game.game_id, self.mode, position)
        return None

    def games(self) -> list[Game]:
        """The games to read, in the station's order."""
        first = self._first_order
        return [game for game in self._station.games if game.order >= first and self.wants(game)]

    def wants(self, game: Game) -> bool:
        """Whether a game is for this reader, if it has come so far."""
        return self._reads_aside or not game.aside or game is self._first

    async def next(self) -> Unread | None:
        """The next unread messages of any game, or `None` when all heads are reached.

        Works through one game after the other. When it returns `None`, no time has passed since the heads were
        looked at, so the caller can go live without a gap. Raises `CursorGone`; `skip` then passes over the game that
        `stuck_in` returns.
        """
        if self._pass and self._pass[0].aside:
            self._pass.clear()  # the game that is played comes first
        while True:
            if not self._pass:
                self._pass.extend(self.games())
                self._passed_time = False
            while self._pass:
                game = self._pass[0]
                messages = await self._following(game)
                if messages is not None:
                    self._passed_time = True
                    if messages:
                        return Unread(game, messages)
                    continue
                self._pass.popleft()
                if game.lost and game not in self._reported_lost:
                    self.report_lost(game)
                    self._passed_time = True  # the caller may wait before it asks again
                    return Unread(game, ())
            if not self._passed_time:
                return None

    @property
    def stuck_in(self) -> Game | None:
        """The game that `next` was reading when it raised."""
        return self._pass[0] if self._pass else None

    def report_lost(self, game: Game) -> None:
        """Do not report again that this game was lost."""
        self._reported_lost = {known for known in self._reported_lost if known in self._station.games} | {game}

    def took(self, game: Game, message: LogMessage) -> None:
        """Move the position in `game` to `message`."""
        self.positions[game] = message.position

    async def _following(self, game: Game) -> Sequence[LogMessage] | None:
        """Some of the messages after the position in a game.

        Empty: the log was read and has nothing more. `None`: the same, and no time has passed. Raises `CursorGone`.
        """
        if game in self._exhausted:
            return None
        position = self.position(game)
        messages: Sequence[LogMessage] | None = None if game.archived else game.logs[self.mode].since(position)
        if messages is None:
            messages = await game.log_reader.messages(self.mode, position)
            if not messages:
                if not game.archived:
                    raise CursorGone("the replay does not have what follows any more")
                self._exhausted.add(game)
                if not any(other.needs(game) for other in self._station.readers):
                    game.log_reader.forget()  # each of hundreds of old games would keep megabytes
            return messages
        return messages or None

    def waits_for(self, game: Game) -> bool:
        """Whether the game's log has yet to reach this reader's position, or the end of its file."""
        return game.catching_up or (not game.archived and self.position(game) > game.logs[self.mode].head)

    def needs(self, game: Game) -> bool:
        """Whether this reader has yet to read something of a game."""
        if self.live or game in self._exhausted or game.order < self._first_order or not self.wants(game):
            return False
        return game.archived or self.position(game) < game.logs[self.mode].head

    def drop(self, games: Sequence[Game]) -> None:
        """The station has dropped its oldest games, and this reader needs nothing of them.

        Should one of them become known again through a lookup, it is still not for this reader.
        """
        ordinal, place, name = games[-1].order
        if self._first_order <= games[-1].order:
            self._first = (ordinal, place, name + "\0")
        self.forget(games)

    def forget(self, games: Collection[Game]) -> None:
        """Forget the positions in games that the station does not know any more."""
        for game in games:
            self.positions.pop(game, None)
        self._exhausted.difference_update(games)

    def take_back(self, game: Game) -> None:
        """The station knows an old game again because it goes on: what follows in it is for this reader too."""
        if game.order < self._first_order:
            for other in self._station.games:
                if game.order <= other.order < self._first_order:
                    self.positions[other] = other.logs[self.mode].head
            self._first = game.order

    def go_live(self) -> None:
        """From here on the owner is handed new messages of all games, also of older ones that go on."""
        first = self._first_order
        older = [game for game in self._station.games if FIRST_PLAYED <= game.order < first]
        self.positions |= {game: game.logs[self.mode].head for game in older}
        if older:
            self._first = min(older, key=lambda game: game.order)
        self.live = True

    def fall_behind(self, game: Game, position: Position | None) -> None:
        """Stop being live: `game` was taken up to `position`, all other live games up to their heads.

        `None` leaves the position in `game` as it was.
        """
        self.live = False
        positions = {other: self.position(other) for other in self._station.games}
        for other in positions:
            if not (other.archived or other.catching_up or other is game):
                positions[other] = other.logs[self.mode].head
        if position is not None:
            positions[game] = position
        self.positions = positions

    def skip(self, game: Game) -> None:
        """Pass over what cannot be read of a game: go on with what the ring has."""
        if game.archived:
            self._exhausted.add(game)
        else:
            log = game.logs[self.mode]
            self.positions[game] = max(self.position(game), log.dropped_through)

    @property
    def _first_order(self) -> Order:
        return self._first.order if isinstance(self._first, Game) else self._first
