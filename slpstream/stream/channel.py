"""A station as its subscribers see it: its games, its state, and the fan-out of new messages.

Live subscribers that want the same bytes form a group. Each batch of messages is encoded once for the group and written
with one call per subscriber. A channel never waits for a subscriber.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec
import trio

from slpstream.model.errors import NoSuchGame
from slpstream.model.messages import ON_AIR, START, Cursor, FramesMode, LogMessage, Position
from slpstream.stream.delta_bases import Chunk, DeltaBases, Entry, chunks
from slpstream.stream.game import Game
from slpstream.stream.games import Locate, StationGames
from slpstream.stream.on_air import ChosenBy, OnAir
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscription import Delivery
from slpstream.stream.view import View
from slpstream.system.internal_errors import InternalErrors

StationState = Literal["idle", "playing", "stalled", "offline"]


class LiveSubscriber(Protocol):
    """A subscriber of one station that is handed messages as they are published."""

    view: View
    outbox: Outbox
    delivery: Delivery

    def readable(self, chunk: Chunk) -> bytes:
        """The chunk's bytes, re-encoded if this subscriber lacks a base that they need. They count as delivered."""

    def put(self, entry: Entry) -> bool:
        """Queue one entry after what already waits; false when a lossless subscriber has no room for it."""

    def put_loose(self, message: LogMessage) -> None:
        """Queue a diagnostic that belongs to no game, if it is wanted."""

    def wake(self) -> None:
        """Something waits in the outbox: write it when the socket allows."""

    def fall_behind(self, game: Game, position: Position | None = None) -> None:
        """Stop being live, and read on after `position` of `game`."""

    def tell_state(self) -> None:
        """Send the station's state, if it has changed."""

    def tell_set(self) -> None:
        """Send the station's set, if it has changed."""

    def send_status(self, payload: dict[str, Any]) -> None:
        """Send a status message."""

    def fail(self, error_id: str) -> None:
        """End the subscription, because of a bug that was logged under this id."""


class Channel(StationGames):
    """One station as its subscribers see it."""

    def __init__(
        self, station: str, locate: Locate, *, kept_games: int = 2, errors: InternalErrors | None = None
    ) -> None:
        super().__init__(station, locate, kept_games=kept_games)
        self._containment = (errors or InternalErrors()).contain("subscriber", station=station)
        self._groups: dict[Hashable, list[LiveSubscriber]] = {}
        self._group_bases: dict[Hashable, DeltaBases] = {}  # the newest messages that each group was sent
        self._state: dict[str, Any] = {"state": "offline", "reason": "starting", "starting": True}
        self._set: dict[str, Any] | None = None

    @property
    def subscribers(self) -> int:
        """Number of live subscribers. Safe to read from a worker thread."""
        return sum(len(group) for group in list(self._groups.values()))

    def publish(self, game: Game, logs: Mapping[FramesMode, Sequence[LogMessage]]) -> None:
        """Append new messages of a game, in order, to each mode's log, and send them to the live subscribers.

        Nothing is sent while the game is catching up. Messages that the log already has, from a file that is read
        again, are ignored.
        """
        before = {mode: game.logs[mode].head for mode in logs}
        if game.read_again:
            logs = {mode: [m for m in messages if m.position > before[mode]] for mode, messages in logs.items()}
        for mode, messages in logs.items():
            game.append(mode, messages)
        if not game.catching_up:
            for group in list(self._groups.values()):
                mode = group[0].view.mode
                if logs.get(mode) and _receivers(game, group):
                    self._fan_out(game, logs[mode], before[mode], group)
            for messages in logs.values():
                for message in messages:
                    message.forms = None  # the ring keeps each message once, not once per encoding
        self.notify()

    def caught_up(self, game: Game) -> None:
        """The end of the game's file is reached, so it is live from here on: tell the subscribers where it stands."""
        game.catching_up = False

        def tell(subscriber: LiveSubscriber) -> None:
            if subscriber.delivery == "lossless":
                subscriber.fall_behind(game)
            elif game.in_progress and not game.aside:
                subscriber.send_status(self.snapshot(game, subscriber.view.mode))

        self._for_each(self._live_subscribers(), tell)
        self.notify()

    def turn_to(self, game: Game) -> None:
        """Make a game that goes on the current one, and tell the live subscribers where it stands.

        Conflating subscribers, who have got nothing of a game aside, receive it from its beginning.
        """
        was_aside, game.aside = game.aside, False
        self.current = game

        def tell(subscriber: LiveSubscriber) -> None:
            if subscriber.delivery == "lossless":
                return
            if was_aside:
                subscriber.fall_behind(game, START)
            else:
                subscriber.send_status(self.snapshot(game, subscriber.view.mode))

        self._for_each(self._live_subscribers(), tell)
        self.notify()

    def publish_loose(self, message: LogMessage) -> None:
        """Send a diagnostic that belongs to no game."""
        self._for_each(self._live_subscribers(), lambda subscriber: subscriber.put_loose(message))

    def publish_state(self, state: dict[str, Any]) -> None:
        """Change the station's state and send it to all subscribers, with the summary of the game that it is about."""
        about = (game.summary for game in reversed(self._games) if game.game_id == state.get("gameId"))
        summary = next(about, None)
        self._state = state if summary is None else {**state, "summary": msgspec.to_builtins(summary)}
        self._for_each(self._live_subscribers(), lambda subscriber: subscriber.tell_state())
        self.notify()

    def state_message(self) -> dict[str, Any]:
        """The `station` status message."""
        return {"type": "station", "station": self.station, **self._state}

    def publish_set(self, payload: dict[str, Any]) -> None:
        """Change the station's set and send it to all subscribers."""
        self._set = payload
        self._for_each(self._live_subscribers(), lambda subscriber: subscriber.tell_set())
        self.notify()

    def set_message(self) -> dict[str, Any] | None:
        """The `set` status message; `None` while there is no set."""
        return None if self._set is None else {"type": "set", "station": self.station, **self._set}

    def publish_situation(self, payload: Mapping[str, Any]) -> None:
        """Tell all subscribers about a situation that was found in a game of the station."""
        message = {"type": "situation", "station": self.station, **payload}
        self._for_each(self._live_subscribers(), lambda subscriber: subscriber.send_status(message))

    def snapshot(self, game: Game, mode: FramesMode) -> dict[str, Any]:
        """The `snapshot` of a game in progress: settings, summary, newest frame and stats, and the cursor."""
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

    def attach(self, subscriber: LiveSubscriber) -> None:
        """Hand the subscriber new messages from here on. It has reached the head of every log."""
        self._groups.setdefault(subscriber.view.key, []).append(subscriber)

    def detach(self, subscriber: LiveSubscriber) -> None:
        """Stop handing the subscriber new messages."""
        key = subscriber.view.key
        group = self._groups.get(key)
        if group is not None and subscriber in group:
            group.remove(subscriber)
            if not group:
                del self._groups[key]
                self._group_bases.pop(key, None)

    def _live_subscribers(self) -> list[LiveSubscriber]:
        """A copy: a subscriber that is sent something may leave because of it."""
        return [subscriber for group in self._groups.values() for subscriber in group]

    def _fan_out(
        self, game: Game, messages: Sequence[LogMessage], position: Position, group: list[LiveSubscriber]
    ) -> None:
        """Send one batch to one group, in chunks that a socket usually takes whole."""
        view = group[0].view
        # A game aside leaves the bases as they are, for the game that is played.
        known: DeltaBases = {} if game.aside else self._group_bases.setdefault(view.key, {})
        entries: list[Entry] = []
        with self._containment as contained:
            for message in messages:
                entry = view.entry(message, self.station, game.frames_per_second, known)
                if entry is not None:
                    entries.append(entry)
        if contained.error_id is not None:  # all of the group want these bytes
            for subscriber in list(group):
                subscriber.fail(contained.error_id)
            return
        fallen: list[tuple[LiveSubscriber, LogMessage]] = []
        for chunk in chunks(entries):

            def send(subscriber: LiveSubscriber, chunk: Chunk = chunk) -> None:
                if subscriber.outbox.queued_bytes == 0:
                    if not subscriber.outbox.send(subscriber.readable(chunk)):
                        subscriber.wake()
                    return
                refused = _put_each(subscriber, chunk)
                if refused is not None:
                    fallen.append((subscriber, refused))

            self._for_each(_receivers(game, group), send)  # a subscriber that fails leaves the group
            for subscriber, refused in fallen:
                subscriber.fall_behind(game, _before(messages, refused, position))
            fallen.clear()

    def _for_each(self, subscribers: Iterable[LiveSubscriber], act: Callable[[LiveSubscriber], None]) -> None:
        """Call `act` with each subscriber. An unexpected exception ends the subscription of this one alone."""
        remaining = iter(subscribers)
        while True:
            with self._containment as contained:
                for subscriber in remaining:
                    act(subscriber)
                return
            subscriber.fail(contained.error_id or "")


def _receivers(game: Game, group: Sequence[LiveSubscriber]) -> list[LiveSubscriber]:
    """A copy of the group without the subscribers that get nothing of this game."""
    return [subscriber for subscriber in group if subscriber.delivery == "lossless" or not game.aside]


def _put_each(subscriber: LiveSubscriber, chunk: Chunk) -> LogMessage | None:
    """Queue the entries one by one; return the message that a lossless subscriber had no room for."""
    for entry in chunk.entries:
        if not subscriber.put(entry):
            return entry.message
    return None


def _before(messages: Sequence[LogMessage], message: LogMessage, first: Position) -> Position:
    """Position of the message before `message` in its log; `first` is the position before the whole batch."""
    at = next(i for i, candidate in enumerate(messages) if candidate is message)
    return messages[at - 1].position if at else first


class Hub:
    """All channels by station name. Channels come and go while the daemon runs."""

    def __init__(self, on_air: OnAir | None = None) -> None:
        """Without `on_air`, no subscription can follow the station on air."""
        self.channels: dict[str, Channel] = {}
        self.on_air = on_air
        self._changed = trio.Event()

    def add(self, channel: Channel) -> None:
        """Add a channel, in place of any other of the same name."""
        self.channels = {**self.channels, channel.station: channel}
        self._notify()

    def remove(self, channel: Channel) -> None:
        """Remove a channel; does nothing if it is not, or no longer, there."""
        if self.channels.get(channel.station) is channel:
            self.channels = {name: other for name, other in self.channels.items() if other is not channel}
            self._notify()

    async def changed(self) -> None:
        """Return after the next channel that comes or goes, or when another station is on air."""
        await self._changed.wait()

    def put_on_air(self, station: str | None, chosen_by: ChosenBy | None, at: float) -> bool:
        """Put a station on air at some Unix time; subscriptions follow. Return whether anything has changed."""
        changed = self.on_air is not None and self.on_air.put(station, chosen_by, at)
        if changed:
            self._notify()
        return changed

    def wanted(self, stations: Sequence[str] | None) -> WantedChannels:
        """The channels of a subscription; `None` means all. Raises `NoSuchGame` for an unknown name."""
        known = self.channels if self.on_air is None else {ON_AIR, *self.channels}
        missing = [name for name in stations or () if name not in known]
        if missing:
            raise NoSuchGame(f"no such station: {missing[0]}")
        return WantedChannels(self, stations)

    def _notify(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()


class WantedChannels:
    """The channels of one subscription, looked up anew at each iteration."""

    def __init__(self, hub: Hub, stations: Sequence[str] | None) -> None:
        self._hub = hub
        self._stations = stations

    def __iter__(self) -> Iterator[Channel]:
        channels = self._hub.channels
        names = channels if self._stations is None else dict.fromkeys(map(self._resolved, self._stations))
        return iter([channels[name] for name in names if name in channels])

    def _resolved(self, name: str) -> str | None:
        return self._hub.on_air.station_id if name == ON_AIR and self._hub.on_air is not None else name

    @property
    def follow_on_air(self) -> bool:
        """Whether the station on air is one of them, so that the channels change with it."""
        return self._stations is not None and ON_AIR in self._stations

    def names(self, station: str) -> bool:
        """Whether a station is wanted for its own sake, and not because it is on air."""
        return self._stations is None or station in self._stations

    @property
    def over(self) -> bool:
        """Whether stations were named and all of them are gone."""
        if self._stations is None or self.follow_on_air:
            return False
        return not any(name in self._hub.channels for name in self._stations)

    def on_air_message(self) -> dict[str, Any] | None:
        """The `on_air` message; `None` for subscriptions of other stations, and for `*` until a station is on air."""
        on_air = self._hub.on_air
        if on_air is None or not (self.follow_on_air or (self._stations is None and on_air.since is not None)):
            return None
        return on_air.message()

    async def changed(self) -> None:
        """Return after the next channel that comes or goes, or when another station is on air."""
        await self._hub.changed()
