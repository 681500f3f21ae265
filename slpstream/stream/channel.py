"""A station as its subscribers see it: its games, its state, and how new messages get to everyone who wants them.

Live subscribers that want the same bytes form a group. We encode each batch of messages once for the whole group, and
write it to all sockets that can take it with a single call of the kernel. The other subscribers, and all of them
without the kernel, get it one by one. A channel never waits for a subscriber, so a slow one can't delay the others.

The hub holds the channels of all stations, and knows which station is on air.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakSet

import msgspec
import trio

from slpstream.model.errors import NoSuchGame
from slpstream.model.messages import ON_AIR, START, Cursor, FramesMode, LogMessage, timestamp
from slpstream.stream.game import Game, Order, Role
from slpstream.stream.outbox import SendToAll, readiness
from slpstream.stream.subscription import Start
from slpstream.stream.view import CHUNK_BYTES, Chunk, DeltaBases, View, chunks
from slpstream.system.changing import Changing
from slpstream.system.internal_errors import InternalErrors

if TYPE_CHECKING:
    from slpstream.stream.station_reader import StationReader
    from slpstream.stream.subscriber import StationDelivery

StationState = Literal["idle", "playing", "stalled", "offline"]
ChosenBy = Literal["operator", "rule"]
Locate = Callable[[str], Awaitable[None]]
"""Adds the game with this id and all later games to the station's known games. Raises `NoSuchGame`."""

KNOWN_GAMES = 16
"""Number of games that a station keeps in memory; an older one stays only while a reader still needs it."""
_SECONDARY = Role.SECONDARY
_JOINED_BYTES = CHUNK_BYTES // 8
"""The messages about so many bytes of a file usually fit into a chunk."""


class Group:
    """Live subscribers that all receive the same bytes."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.members: list[StationDelivery] = []
        self.bases: DeltaBases = {}
        """The newest messages that were sent to the group. Members that have exactly these share this dictionary."""
        self._descriptors: list[int] = []
        self._readiness: object = None

    def share_bases(self, member: StationDelivery) -> None:
        """Let a member that has exactly the bases of the group share them, so that it can read all that follows."""
        if member.bases is not self.bases and member.bases == self.bases:
            member.bases = self.bases
            readiness.version = object()

    def send_at_once(self, data: bytes, send_to_all: SendToAll) -> dict[StationDelivery, int]:
        """Send data that was encoded for the group to all members whose sockets can take it now.

        Returns the other members, and how many bytes their sockets have taken. If this is 0, they may lack a base or
        still have other data to send, or their socket is full or has failed.
        """
        bases, members = self.bases, self.members
        if self._readiness is not readiness.version:
            self._descriptors = [
                member.outbox.socket.descriptor if member.bases is bases and not member.outbox.queued_bytes else -1
                for member in members
            ]
            self._readiness = readiness.version
        shortfalls = send_to_all(self._descriptors, data)
        return {members[index]: taken for index, taken in shortfalls} if shortfalls else {}


class Channel(Changing):
    """One station as its subscribers see it.

    It changes when there is something new in its games, their logs, or the state of the station.
    """

    kept_games = 2
    """The number of games that keep their rings after they have ended. These are always the newest ones."""

    def __init__(
        self,
        station: str,
        locate: Locate,
        *,
        publish_held: Callable[[], None] = lambda: None,
        errors: InternalErrors | None = None,
        send_to_all: SendToAll | None = None,
    ) -> None:
        """`publish_held` is called when a reader appears. It should publish the messages that the source of the games
        holds back as long as nothing reads them.

        Without `send_to_all`, sockets are written to one by one.
        """
        self.station = station
        self._locate = locate
        self.publish_held = publish_held
        self._containment = (errors or InternalErrors()).contain("subscriber", station=station)
        self._send_to_all = send_to_all
        self.groups: tuple[Group, ...] = ()
        """The live subscribers, by what they want."""
        self.readers: WeakSet[StationReader] = WeakSet()
        """All readers that hold a position in the games, until they are garbage collected."""
        self.games: list[Game] = []
        """The known games, oldest first."""
        self.current: Game | None = None
        """The game that is played: the one with the newest Game Start that is not secondary, unless the station has
        turned to another game that continues."""
        self.settled = False
        """Whether the source has been searched once, so that the live games are known."""
        self._state: dict[str, Any] = {"state": "offline", "reason": "starting", "starting": True}
        self._set: dict[str, Any] | None = None

    async def locate(self, game_id: str) -> Game:
        """Find the game with this id and return it. Afterwards, all later games are known too.

        Raises `NoSuchGame` if there's no game with this id.
        """
        for searched in (False, True):
            if searched:
                await self._locate(game_id)
            for game in reversed(self.games):
                if game.game_id == game_id:
                    return game
        raise NoSuchGame(f"no such game: {game_id}")

    def begin(self, game: Game) -> None:
        """Add a game that has just begun. Unless it is secondary, it becomes the current game.

        To save memory, older games that aren't in progress any more lose their rings.
        """
        self.games = [known for known in self.games if known.game_id != game.game_id or not known.archived]
        self.games.append(game)
        if game.secondary:
            game.primary = self.current
        else:
            self.current = game
        for older in self.games[: -self.kept_games]:
            if not older.in_progress:
                older.forget()
        self.notify()

    def insert_archived(self, games: Sequence[Game]) -> None:
        """Add games that were played before this daemon started, so they come before all games that it saw begin."""
        known = {game.game_id for game in self.games}
        self.games += [game for game in games if game.game_id not in known]
        self.games.sort(key=lambda game: game.order)

    def retire(self, game: Game, mtime_ns: int, name: str) -> None:
        """Archive a game that was over before the daemon started, as we know once its file was read to its end."""
        game.order = (0, mtime_ns, name)
        if game.secondary:  # it was played earlier, not while another game was played
            game.role = Role.RECORDED
        game.primary = None
        game.forget()
        self.games.sort(key=lambda known: known.order)
        if self.current is game:
            known_games = reversed(self.games)
            self.current = next((known for known in known_games if not (known.archived or known.secondary)), None)

    def drop_oldest(self, followed: Container[Game | None]) -> None:
        """Drop the oldest games if there are too many, except for those in `followed` and those that a reader needs.

        A dropped game isn't lost. If it is looked up, we find it again through its file, as an archived game.
        """
        behind = [reader for reader in self.readers if not reader.live]
        dropped: set[Game] = set()
        keeps_one = False
        for game in self.games[:-KNOWN_GAMES]:
            if game is self.current or game in followed or any(reader.needs(game) for reader in behind):
                keeps_one = True
            elif game.secondary or not keeps_one:
                # Any other game would, if it is found again, sort before the one that is kept.
                dropped.add(game)
        if dropped:
            self.games = [game for game in self.games if game not in dropped]
            for reader in self.readers:
                reader.drop(dropped)

    def take_back(self, game: Game) -> None:
        """Resume a game that was left or lost. If it was dropped since, it gets back its old place in the order."""
        game.resume()
        if game not in self.games:
            self.games.append(game)
            self.games.sort(key=lambda known: known.order)
            for reader in self.readers:
                reader.take_back(game.order)

    def next_order(self) -> Order:
        """Return the sort key for the next game that begins."""
        return (1, max((game.order[1] + 1 for game in self.games if not game.archived), default=0), "")

    @property
    def subscribers(self) -> int:
        """The number of live subscribers. You can read this from any thread."""
        return sum(len(group.members) for group in self.groups)

    def publish(self, game: Game, logs: Mapping[FramesMode, list[LogMessage]]) -> None:
        """Append new messages of a game to the log of each mode, and send them to the live subscribers.

        The messages must be in order. While the game is still catching up, nothing is sent. If the log already has some
        of the messages, which happens if the file is read again, these are ignored.
        """
        groups = self.groups
        for mode in logs:
            messages = game.logs[mode].append(logs[mode])
            if game.catching_up or not messages:
                continue
            for group in groups:
                view = group.view
                if view.mode == mode and (view.delivery == "lossless" or game.role is not _SECONDARY):
                    self._fan_out(game, messages, group)
            for message in messages:
                message.forms = None  # the ring keeps each message once, not once per encoding
        if self._changed is not None:
            self.notify()

    def caught_up(self, game: Game) -> None:
        """Make a game live and send the subscribers a snapshot of it. Call this once its file was read to its end."""
        game.go_live()

        def tell(member: StationDelivery) -> None:
            if member.view.delivery == "lossless":
                member.set_back(game)
            elif game.in_progress and not game.secondary:
                member.subscriber.send_status(self.snapshot(game, member.view.mode))

        self._for_each(tell)
        self.notify()

    def turn_to(self, game: Game) -> None:
        """Make a game that is already known the current one, and send the conflating subscribers a snapshot of it.

        If it was secondary until now, they haven't received any of its messages, so they read it from its start.
        """
        was_secondary, game.role = game.secondary, Role.PLAYED
        self.current = game

        def tell(member: StationDelivery) -> None:
            if member.view.delivery == "lossless":
                return
            if was_secondary:
                member.set_back(game, START)
            else:
                member.subscriber.send_status(self.snapshot(game, member.view.mode))

        self._for_each(tell)
        self.notify()

    def publish_loose(self, message: LogMessage) -> None:
        """Send a diagnostic that doesn't belong to any game."""
        self._for_each(lambda member: member.put_loose(message))

    def publish_state(self, state: dict[str, Any]) -> None:
        """Change the state of the station, and send it to all subscribers together with the summary of its game."""
        about = (game.summary for game in reversed(self.games) if game.game_id == state.get("gameId"))
        summary = next(about, None)
        self._state = state if summary is None else {**state, "summary": msgspec.to_builtins(summary)}
        message = self.state_message()
        self._for_each(lambda member: member.tell(message))
        self.notify()

    def state_message(self) -> dict[str, Any]:
        """Return the `station` status message."""
        return {"type": "station", "station": self.station, **self._state}

    def publish_set(self, payload: dict[str, Any]) -> None:
        """Change the set of the station, and send it to all subscribers."""
        self._set = payload
        message = self.set_message()
        self._for_each(lambda member: member.tell(message))
        self.notify()

    def set_message(self) -> dict[str, Any] | None:
        """Return the `set` status message, or `None` as long as there's no set."""
        return None if self._set is None else {"type": "set", "station": self.station, **self._set}

    def publish_situation(self, payload: Mapping[str, Any]) -> None:
        """Tell all subscribers about a situation that was found in a game of the station."""
        message = {"type": "situation", "station": self.station, **payload}
        self._for_each(lambda member: member.subscriber.send_status(message))

    def snapshot(self, game: Game, mode: FramesMode) -> dict[str, Any]:
        """Return the `snapshot` message of a game in progress.

        It contains everything that a subscriber needs if it joins in the middle: the settings, the summary, the newest
        frame and stats, and the cursor from which the next messages follow.
        """
        payload: dict[str, Any] = {"type": "snapshot", "station": self.station, "gameId": game.game_id}
        if game.start is not None:
            start = msgspec.json.decode(b"{" + game.start.body, type=dict[str, msgspec.Raw])
            payload |= {key: start[key] for key in ("format", "rate", "settings") if key in start}
        payload["summary"] = msgspec.to_builtins(game.summary)
        for name, message in (("frame", game.logs[mode].newest.get("frame")), ("stats", game.newest_stats)):
            if message is not None:
                payload[name] = msgspec.json.decode(b"{" + message.body, type=dict[str, msgspec.Raw])[name]
        if self._set is not None:
            payload["set"] = self._set
        payload["cursor"] = str(Cursor(game.game_id, mode, game.logs[mode].head))
        return payload

    def attach(self, member: StationDelivery) -> None:
        """Start to send new messages to a subscriber, which must have reached the head of every log."""
        group = next((group for group in self.groups if group.view.key == member.view.key), None)
        if group is None:
            group = Group(member.view)
            self.groups = (*self.groups, group)
        group.members.append(member)
        group.share_bases(member)
        readiness.version = object()

    def detach(self, member: StationDelivery) -> None:
        """Stop sending new messages to the given subscriber, which must be live."""
        for group in self.groups:
            if member in group.members:
                group.members.remove(member)
        self.groups = tuple(group for group in self.groups if group.members)
        member.bases = {}
        readiness.version = object()

    def _fan_out(self, game: Game, messages: list[LogMessage], group: Group) -> None:
        """Send a batch of messages to one group."""
        view, members, send_to_all = group.view, group.members, self._send_to_all
        encoded: list[Chunk] = []

        def encode() -> list[Chunk]:
            return chunks(view.entries(messages, self.station, game.frames_per_second, group.bases))

        try:  # not a `with` block, which would be two more calls for each frame
            # Many frames would not fit into a socket, and may have to be encoded again for some members.
            is_short = messages[-1].offset - messages[0].offset < _JOINED_BYTES
            if send_to_all is not None and view.joined is not None and is_short:
                data = view.joined(messages, self.station, view.types, view.fields)
            else:
                encoded = encode()
                data = encoded[0][0] if len(encoded) == 1 else b""
            if not (data or encoded):
                return
            if send_to_all is not None and data:
                taken_bytes = group.send_at_once(data, send_to_all)
            else:
                taken_bytes = dict.fromkeys(members, 0)
            if not taken_bytes:
                return
            encoded = encoded or encode()
        except BaseException as error:  # noqa: BLE001 -- raised again if it isn't to be contained
            error_id = self._containment.caught(error)
            for member in [*members]:  # all of them want these bytes
                member.subscriber.fail(error_id)
            return

        def send(member: StationDelivery) -> None:
            if taken_bytes[member]:
                member.outbox.keep_rest(data, taken_bytes[member])
                return
            refused = member.take(encoded, group.bases)
            if refused is None:
                group.share_bases(member)
            else:
                member.set_back(game, refused.position.before)

        self._for_each(send, taken_bytes)

    def _live_subscribers(self) -> list[StationDelivery]:
        """Return all live subscribers in a new list, because one can leave while we send something to it."""
        return [member for group in self.groups for member in group.members]

    def _for_each(
        self, act: Callable[[StationDelivery], None], members: Iterable[StationDelivery] | None = None
    ) -> None:
        """Call `act` with each of the live subscribers, or with those in `members`.

        An unexpected exception only ends the subscription that caused it.
        """
        remaining = iter(self._live_subscribers() if members is None else members)
        while True:
            with self._containment as contained:
                for member in remaining:
                    act(member)
                return
            member.subscriber.fail(contained.error_id or "")


Send = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Sends the payload of a message to one subscription. Waits until a lossless one has room for it."""
MessageSource = Callable[[Channel, Start | Cursor, Send], Awaitable[None]]
"""Sends the messages of one type about a station to one subscription, which begins at the cursor, until cancelled."""


class OnAir(Changing):
    """The station that is on air.

    If you want to follow it, remember the station that you showed last, and wait for a different one with `other_than`.
    This way you can't miss a change, no matter how long you were busy in between.
    """

    def __init__(self) -> None:
        self.station_id: str | None = None
        """The station on air, or `None` while there is no such station."""
        self.chosen_by: ChosenBy | None = None
        """Whether the operator or the rule chose it, or `None` while no station is on air."""
        self.since: float | None = None
        """Unix time of the last change of the station on air, or `None` if no station was ever on air."""

    async def other_than(self, station_id: str | None) -> str | None:
        """Wait until a station other than `station_id` is on air, and return it."""
        await trio.lowlevel.checkpoint()
        while self.station_id == station_id:
            await self.changed()
        return self.station_id

    def put(self, station_id: str | None, chosen_by: ChosenBy | None, at: float) -> bool:
        """Put a station on air, where `at` is the Unix time of the change. Returns whether this changed anything."""
        if (station_id, chosen_by) == (self.station_id, self.chosen_by):
            return False
        if station_id != self.station_id or self.since is None:
            self.since = at
        self.station_id, self.chosen_by = station_id, chosen_by
        self.notify()
        return True

    def message(self) -> dict[str, Any]:
        """Return the `on_air` status message, which describes the current state."""
        since = None if self.since is None else timestamp(self.since)
        return {"type": "on_air", "station": self.station_id, "by": self.chosen_by, "since": since}


class Hub(Changing):
    """All channels, by the names of their stations. You can add and remove channels while the daemon is running.

    The hub changes when a channel is added or removed, and when the station on air changes.
    """

    def __init__(self, on_air: OnAir | None = None) -> None:
        """If you don't pass `on_air`, then it isn't possible to subscribe to the station on air."""
        self.channels: dict[str, Channel] = {}
        self.on_air = on_air
        self.sources: dict[str, MessageSource] = {}
        """The sources of the messages that aren't in a log, by their type."""

    def add(self, channel: Channel) -> None:
        """Add a channel. If there is already a channel with this name, it is replaced."""
        self.channels = {**self.channels, channel.station: channel}
        self.notify()

    def remove(self, channel: Channel) -> None:
        """Remove a channel. This does nothing if the hub doesn't have it any more."""
        if self.channels.get(channel.station) is channel:
            self.channels = {name: other for name, other in self.channels.items() if other is not channel}
            self.notify()

    def put_on_air(self, station: str | None, chosen_by: ChosenBy | None, at: float) -> bool:
        """Like `OnAir.put`. Subscriptions that follow the station on air switch to it."""
        changed = self.on_air is not None and self.on_air.put(station, chosen_by, at)
        if changed:
            self.notify()
        return changed

    def check(self, stations: Sequence[str] | None) -> None:
        """Raise `NoSuchGame` if a subscription asks for a station that is unknown."""
        known = self.channels if self.on_air is None else {ON_AIR, *self.channels}
        missing = [name for name in stations or () if name not in known]
        if missing:
            raise NoSuchGame(self.no_such_station(missing[0]))

    def wanted(self, stations: Sequence[str] | None) -> list[Channel]:
        """Return the channels that a subscription gets now, where `None` stands for all stations."""
        shown = None if self.on_air is None else self.on_air.station_id
        names = self.channels if stations is None else stations
        resolved = dict.fromkeys(shown if name == ON_AIR else name for name in names)
        return [self.channels[name] for name in resolved if name in self.channels]

    def no_such_station(self, name: str) -> str:
        """Return an error message about an unknown station. If an id only differs in its case, the message names it."""
        similar = [known for known in self.channels if known.casefold() == name.casefold()]
        return f"no such station: {name}" + (f". Did you mean {similar[0]!r}?" if similar else "")
