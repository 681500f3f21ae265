"""A station's games in their order, and the fan-out to those who are live.

Subscribers that want the same bytes form a group: each batch of messages is encoded once for the group and written
with one call per subscriber. A channel never waits for anybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal
from weakref import WeakSet

import msgspec
import trio

from slpstream.model.errors import NoSuchGame
from slpstream.model.messages import Cursor, FramesMode, LogMessage, Position
from slpstream.stream.delta_bases import Chunk, Entry, Known, chunks
from slpstream.stream.game import Game, Order, place_of
from slpstream.stream.read_position import ReadPosition
from slpstream.stream.subscriber import StationReader

StationState = Literal["idle", "playing", "stalled", "offline"]
_KNOWN_GAMES = 16
"""Of a station; who needs older ones keeps them known until they are read."""

Locate = Callable[[str], Awaitable[None]]
"""Makes the games of a station known from the one with this id on; raises `NoSuchGame`."""


class Channel:
    """One station as its subscribers see it."""

    def __init__(self, station: str, locate: Locate, *, kept_games: int = 2) -> None:
        self.station = station
        self._locate = locate
        self._kept_games = kept_games
        self._games: list[Game] = []
        self._groups: dict[Hashable, list[StationReader]] = {}
        self._known: dict[Hashable, Known] = {}
        """Of each group: the newest messages that it was sent."""
        self.readings: WeakSet[ReadPosition] = WeakSet()
        """All that are somewhere in these games."""
        self._changed: trio.Event | None = None
        self.current: Game | None = None
        """The game with the newest Game Start."""
        self.settled = False
        """The first look at the source is over: what is live is known."""
        self._state: dict[str, Any] = {"state": "offline", "reason": "starting"}
        self._set: dict[str, Any] | None = None

    @property
    def games(self) -> Sequence[Game]:
        """The known games, oldest first."""
        return self._games

    @property
    def subscribers(self) -> int:
        """How many are live here; asked from a worker thread."""
        return sum(len(readers) for readers in list(self._groups.values()))

    async def locate(self, game_id: str) -> Game:
        """The game of a cursor, with all later ones known after it. Raises `NoSuchGame`."""
        for known in (True, False):
            for game in reversed(self._games):
                if game.game_id == game_id:
                    return game
            if known:
                await self._locate(game_id)
        raise NoSuchGame(f"no such game: {game_id}")

    async def changed(self) -> None:
        """Returns after the next change of anything here."""
        if self._changed is None:
            self._changed = trio.Event()
        await self._changed.wait()

    def notify(self) -> None:
        """Something has changed."""
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()

    # -- games -----------------------------------------------------------------------------------------------------

    def begin(self, game: Game) -> None:
        """A game has begun: it is the current one. The rings of all but the last few are given back."""
        self._games = [known for known in self._games if known.game_id != game.game_id or not known.archived]
        self._games.append(game)
        self.current = game
        for older in self._games[: -self._kept_games]:
            if not older.in_progress:
                older.forget()
        self.notify()

    def insert_archived(self, games: Sequence[Game]) -> None:
        """Games from before this daemon; they come before all that it saw itself."""
        known = {game.game_id for game in self._games}
        self._games += [game for game in games if game.game_id not in known]
        self._games.sort(key=lambda game: game.order)

    def retire(self, game: Game, mtime_ns: int, name: str) -> None:
        """A game turned out to be over before the daemon started: it is known, but not current."""
        game.order = (0, mtime_ns, name)
        game.forget()
        self._games.sort(key=lambda known: known.order)
        if self.current is game:
            self.current = next((known for known in reversed(self._games) if not known.archived), None)

    def drop_oldest(self, followed: Container[Game | None]) -> None:
        """The oldest games beyond some number are not known any more, if they are not `followed` and nobody here needs
        anything of them. Who asks for one finds it as one from before this daemon, by its file."""
        behind = [reading for reading in self.readings if not reading.at_heads]
        count = 0
        for game in self._games[: max(0, len(self._games) - _KNOWN_GAMES)]:
            if game is self.current or game in followed or any(reading.needs(game) for reading in behind):
                break  # a later one must not become older than this
            count += 1
        dropped, self._games = self._games[:count], self._games[count:]
        if dropped:  # thousands, when somebody has asked for an old one
            for reading in self.readings:
                reading.drop(dropped)

    def take_back(self, game: Game) -> None:
        """A game that was left, and perhaps is not known any more, goes on: in its old place, with what is new."""
        game.lost = game.left = False
        game.read_again = True
        if game not in self._games:
            self._games.append(game)
            self._games.sort(key=lambda known: known.order)
            for reading in self.readings:
                reading.take_back(game)

    def next_order(self) -> Order:
        """The place of the next game that begins."""
        return (1, max((game.order[1] + 1 for game in self._games if not game.archived), default=0), "")

    # -- publishing -------------------------------------------------------------------------------------------------

    def publish(self, game: Game, logs: Mapping[FramesMode, Sequence[LogMessage]]) -> None:
        """New messages of a game, in order, for each mode. While the game is catching up nobody is told; its log grows.

        Messages that the log has already, from a file that is read again, are passed over.
        """
        before = {mode: game.logs[mode].head for mode in logs}
        if game.read_again:
            logs = {mode: [m for m in messages if place_of(m) > before[mode]] for mode, messages in logs.items()}
        for mode, messages in logs.items():
            game.append(mode, messages)
        if not game.catching_up:
            for readers in list(self._groups.values()):
                mode = readers[0].subscriber.subscription.frames
                if logs.get(mode):
                    self._fan_out(game, logs[mode], before[mode], readers)
            for messages in logs.values():
                for message in messages:
                    message.forms = None  # the ring keeps what is said, not every form of it
        self.notify()

    def caught_up(self, game: Game) -> None:
        """The end of the file is reached: from here on the game is live. Who waited for that is told where it
        stands."""
        game.catching_up = False
        for reader in self._readers():
            if reader.subscriber.subscription.delivery == "lossless":
                reader.fall_behind(game)
            elif game.in_progress:
                reader.subscriber.send_status(self.snapshot(game, reader.subscriber.subscription.frames))
        self.notify()

    def publish_loose(self, message: LogMessage) -> None:
        """A diagnostic that belongs to no game."""
        for reader in self._readers():
            data = reader.subscriber.encode(message, self.station, 60)
            if data is not None:
                reader.subscriber.put(data, message, self.station)

    def publish_state(self, state: dict[str, Any]) -> None:
        """Send the new state of the station to all readers, with the summary of the game that it is about."""
        about = (game.summary for game in reversed(self._games) if game.game_id == state.get("gameId"))
        summary = next(about, None)
        self._state = state if summary is None else {**state, "summary": msgspec.to_builtins(summary)}
        for reader in self._readers():
            reader.tell_state()
        self.notify()

    def state_message(self) -> dict[str, Any]:
        """The `station` status message."""
        return {"type": "station", "station": self.station, **self._state}

    def publish_set(self, payload: dict[str, Any]) -> None:
        """The set of the station has changed: a status message to everybody."""
        self._set = payload
        for reader in self._readers():
            reader.tell_set()
        self.notify()

    def set_message(self) -> dict[str, Any] | None:
        """The `set` status message; `None` while there is no set."""
        return None if self._set is None else {"type": "set", "station": self.station, **self._set}

    def snapshot(self, game: Game, mode: FramesMode) -> dict[str, Any]:
        """The `snapshot` of a game in progress: settings, summary, newest frame and stats, and where the log
        continues."""
        payload: dict[str, Any] = {"type": "snapshot", "station": self.station, "gameId": game.game_id}
        if game.start is not None:
            start = msgspec.json.decode(b"{" + game.start.body, type=dict[str, msgspec.Raw])
            payload |= {key: start[key] for key in ("format", "rate", "settings") if key in start}
        payload["summary"] = msgspec.to_builtins(game.summary)
        for name, message in (("frame", game.newest_frames.get(mode)), ("stats", game.newest_stats)):
            if message is not None:
                payload[name] = msgspec.json.decode(b"{" + message.body, type=dict[str, msgspec.Raw])[name]
        if self._set is not None:
            payload["set"] = self._set
        payload["cursor"] = str(Cursor(game.game_id, mode, game.logs[mode].head))
        return payload

    def _fan_out(
        self, game: Game, messages: Sequence[LogMessage], position: Position, readers: list[StationReader]
    ) -> None:
        """One batch to one group, in chunks that a socket usually takes whole."""
        first = readers[0].subscriber
        known = self._known.setdefault(first.key, {})
        entries: list[Entry] = []
        for message in messages:
            entry = first.entry(message, self.station, game.frames_per_second, known)
            if entry is not None:
                entries.append(entry)
        fallen: list[tuple[StationReader, LogMessage]] = []
        for chunk in chunks(entries):
            for reader in list(readers):  # who has failed leaves it
                subscriber = reader.subscriber
                if subscriber.outbox.queued_bytes == 0:
                    if not subscriber.outbox.send(reader.readable(chunk)):
                        subscriber.wake()
                    continue
                refused = self._put_each(reader, chunk)
                if refused is not None:
                    fallen.append((reader, refused))
            for reader, refused in fallen:
                reader.fall_behind(game, _before(messages, refused, position))
            fallen.clear()

    def _put_each(self, reader: StationReader, chunk: Chunk) -> LogMessage | None:
        """Message by message into an outbox that is not empty; the one that a lossless subscriber did not take."""
        for entry in chunk.entries:
            if not reader.put(entry):
                return entry.message
        return None

    # -- subscribers ------------------------------------------------------------------------------------------------

    def _readers(self) -> list[StationReader]:
        """All that are live, as of now: who is told something can leave by it."""
        return [reader for readers in self._groups.values() for reader in readers]

    def attach(self, reader: StationReader) -> None:
        """A reader has reached all heads and is live from here on."""
        self._groups.setdefault(reader.subscriber.key, []).append(reader)

    def detach(self, reader: StationReader) -> None:
        """A reader leaves."""
        readers = self._groups.get(reader.subscriber.key)
        if readers is not None and reader in readers:
            readers.remove(reader)
            if not readers:
                del self._groups[reader.subscriber.key]
                self._known.pop(reader.subscriber.key, None)


def _before(messages: Sequence[LogMessage], message: LogMessage, first: Position) -> Position:
    """Position of the message before `message` in its log; `first` is that before the batch."""
    at = next(i for i, candidate in enumerate(messages) if candidate is message)
    return place_of(messages[at - 1]) if at else first


class Hub:
    """All channels by station name; they come and go."""

    def __init__(self) -> None:
        self.channels: dict[str, Channel] = {}
        self.subscriptions = 0
        """How many were ever begun."""
        self._changed = trio.Event()

    def add(self, channel: Channel) -> None:
        """A station comes into being, or takes the place of the one of this name."""
        self.channels = {**self.channels, channel.station: channel}
        self._notify()

    def remove(self, channel: Channel) -> None:
        """A station goes. Of a channel that is not there (any more) nothing happens."""
        if self.channels.get(channel.station) is channel:
            self.channels = {name: other for name, other in self.channels.items() if other is not channel}
            self._notify()

    async def changed(self) -> None:
        """Returns after the next channel that comes or goes."""
        await self._changed.wait()

    def wanted(self, stations: Sequence[str] | None) -> WantedChannels:
        """The channels of a subscription, `None`: all. Raises `NoSuchGame` for a name that is none."""
        missing = [name for name in stations or () if name not in self.channels]
        if missing:
            raise NoSuchGame(f"no such station: {missing[0]}")
        return WantedChannels(self, stations)

    def _notify(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()


class WantedChannels:
    """The channels of one subscription, as they are each time they are asked for."""

    def __init__(self, hub: Hub, stations: Sequence[str] | None) -> None:
        self._hub = hub
        self._stations = stations

    def __iter__(self) -> Iterator[Channel]:
        channels = self._hub.channels
        names = channels if self._stations is None else self._stations
        return iter([channels[name] for name in names if name in channels])

    @property
    def over(self) -> bool:
        """Stations were named, and none of them is left."""
        return self._stations is not None and not any(name in self._hub.channels for name in self._stations)

    async def changed(self) -> None:
        """Returns after the next one that comes or goes."""
        await self._hub.changed()
