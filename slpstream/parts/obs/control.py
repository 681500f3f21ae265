"""Control OBS from a daemon, by watching the stations that the rules are about and turning everything that happens
there into wishes.

Each station is in a certain state: a game is running, it has ended, its set is over, or nothing is played. So if the
daemon is restarted, or another station goes on air, we don't miss anything that is still true. For momentary actions,
this isn't enough. They need a change that we have seen while it happened.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import trio

from slpstream.model.messages import ON_AIR
from slpstream.model.prepared import prepared
from slpstream.parts.obs.desk import Desk, Kept, WishKey
from slpstream.parts.obs.link import ObsLink, OpenStream
from slpstream.parts.obs.rules import Actions, Occasion, Rule, placeholders
from slpstream.stream.channel import Channel, Hub
from slpstream.stream.log_consumer import LogConsumer
from slpstream.stream.station_reader import StationReader
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger

ANY = "*"
_MAX_HANDLED = 512
_TICK_SECONDS = 0.001


class _Handled(msgspec.Struct, omit_defaults=True):
    """Everything about a station that the rules have already seen: the ids of the game and the set, and whether they
    were over.
    """

    game: str = ""
    ended: bool = False
    set: str = ""
    idle_seconds: float = -1.0
    """The longest wait of a rule about an idle station that is over; -1 if none is."""


@prepared
class Remembered(msgspec.Struct, omit_defaults=True):
    """Everything that has to survive a restart of the daemon."""

    desk: Kept = msgspec.field(default_factory=Kept)
    handled: dict[str, _Handled] = {}
    """By scope and station, joined by a space."""


class _Watched(NamedTuple):
    """A station, and the scope of the rules because of which we watch it, which is a station, `*` or `on-air`."""

    scope: str
    channel: Channel

    @property
    def name(self) -> str:
        return f"{self.scope} {self.channel.station}"


class ObsControl:
    """Controls one OBS from a daemon.

    You should call `run` in exactly one task. If a bug has ended it, call it again.
    """

    def __init__(
        self,
        hub: Hub,
        rules: Sequence[Rule],
        url: str,
        read_password: Callable[[], Awaitable[str | None]],
        *,
        respect_seconds: float,
        on_outcome: Callable[[str], None] = lambda outcome: None,
        on_reconnect: Callable[[], None] = lambda: None,
        is_hidden: Callable[[str], bool] = lambda station: False,
        wall_clock: Callable[[], float] = time.time,
        errors: InternalErrors | None = None,
        open_stream: OpenStream = trio.open_tcp_stream,
    ) -> None:
        """`on_outcome` is called once for each request, with `done`, `failed` or `missed`.

        If a station `is_hidden`, then rules for any station don't apply to it.
        """
        self._hub = hub
        self._rules: dict[str, list[Rule]] = {}
        for rule in rules:
            self._rules.setdefault(rule.station, []).append(rule)
        self._is_hidden = is_hidden
        self._errors = errors or InternalErrors()
        self._log = get_logger()
        self._desk = Desk(
            respect_seconds=respect_seconds,
            clock=wall_clock,
            on_problem=lambda subject, what: self._log.warning("OBS refused", subject=subject, what=what),
            on_outcome=on_outcome,
        )
        self._link = ObsLink(
            url,
            self._desk,
            read_password,
            clock=wall_clock,
            on_reconnect=on_reconnect,
            on_kept=self._keep,
            open_stream=open_stream,
        )
        self._handled: dict[str, _Handled] = {}
        self._loaded = False
        self._remember: Callable[[Remembered], None] = lambda remembered: None
        self._kept: bytes = b""
        self._readers: dict[_Watched, StationReader] = {}
        self._texts: dict[str, tuple[str, str]] = {}
        """By text source: the station and scope whose game it shows, and the text with its placeholders."""
        self._known = {key for rule in rules for key, _ in _wishes(rule.actions, {})}

    @property
    def is_connected(self) -> bool:
        """Whether OBS answers."""
        return self._desk.is_connected

    def not_ready(self) -> list[str]:
        """Return the reasons why OBS doesn't follow the rules, in words for people."""
        if self._link.problem is not None:
            return [f"OBS: {self._link.problem}"]
        return [f"OBS: {subject}: {what}" for subject, what in self._desk.problems.items()]

    def resume(self) -> None:
        """Try to connect again, even if OBS has closed the connection for good.

        Call this when the configuration was read again.
        """
        self._link.resume()

    def situation_found(self, station: str, game_id: str, name: str) -> None:
        """Apply the rules about a situation that was found in a game. This doesn't wait.

        If the game isn't being played, and wasn't until now, this does nothing.
        """
        for watched in list(self._readers):
            game = watched.channel.current
            if watched.channel.station == station and game is not None and game.game_id == game_id and game.is_played:
                rules = self._rules[watched.scope]
                self._apply(
                    watched,
                    [rule for rule in rules if rule.on == "situation" and rule.situation in ("", name)],
                    live=True,
                    event={},
                )

    async def run(self, remembered: Any, remember: Callable[[Remembered], None]) -> None:
        """Control OBS until cancelled. If an earlier run has given something to `remember`, pass it as `remembered`."""
        if not self._loaded:  # after a bug, what this run knows is newer
            self._load(remembered)
            self._loaded = True
        self._remember = remember
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._errors.keep_running, "obs", self._link.run)
            await self._watch_stations(nursery)

    def _load(self, remembered: Any) -> None:
        try:
            found = Remembered() if remembered is None else msgspec.convert(remembered, Remembered)
        except msgspec.ValidationError as error:
            self._log.warning("what OBS was asked in the last run is not known", what=str(error))
            return
        self._handled = dict(found.handled)
        self._desk.load(found.desk, self._known.__contains__)

    def _keep(self) -> None:
        remembered = Remembered(self._desk.keep(), self._handled)
        encoded = msgspec.json.encode(remembered)
        if encoded != self._kept:
            self._kept = encoded
            self._remember(remembered)

    async def _watch_stations(self, nursery: trio.Nursery) -> None:
        """Run a task for each station that the rules are about. Stations can come and go, and be put on air."""
        running: dict[_Watched, trio.CancelScope] = {}
        while True:
            wanted = list(self._wanted())
            for watched in [watched for watched in running if watched not in wanted]:
                running.pop(watched).cancel()
            for watched in wanted:
                if watched not in running:
                    if watched.scope == ON_AIR:
                        self._forget_others_on_air(watched)
                    running[watched] = trio.CancelScope()
                    nursery.start_soon(self._watch, watched, running[watched])
            await self._hub.changed()

    def _forget_others_on_air(self, watched: _Watched) -> None:
        """Forget the other stations, because another one is on air now.

        When one of them goes on air again, OBS has to show it again.
        """
        for name in [name for name in self._handled if name.startswith(f"{ON_AIR} ") and name != watched.name]:
            del self._handled[name]

    def _wanted(self) -> Iterator[_Watched]:
        channels, on_air = self._hub.channels, self._hub.on_air
        for scope in self._rules:
            if scope == ANY:
                names = [name for name in channels if not self._is_hidden(name)]
            elif scope == ON_AIR:
                names = [] if on_air is None or on_air.station_id is None else [on_air.station_id]
            else:
                names = [scope]
            yield from (_Watched(scope, channels[name]) for name in names if name in channels)

    async def _watch(self, watched: _Watched, scope: trio.CancelScope) -> None:
        with scope:
            channel = watched.channel
            while not channel.settled or any(game.catching_up for game in channel.games):
                await channel.changed()
            # Without a reader, the messages of a station can come half a second late.
            self._readers[watched] = StationReader(channel, "live", reads_secondary=False)
            try:
                async with trio.open_nursery() as nursery:
                    if any(rule.on == "event" for rule in self._rules[watched.scope]):
                        run = partial(self._follow_events, watched)
                        nursery.start_soon(partial(self._errors.keep_running, "obs", run, station=channel.station))
                    look = partial(self._follow_states, watched)
                    nursery.start_soon(partial(self._errors.keep_running, "obs", look, station=channel.station))
            finally:
                del self._readers[watched]

    async def _follow_states(self, watched: _Watched) -> None:
        """Apply the rules to the state of the station, first now and then after each change."""
        channel = watched.channel
        seen = self._handled.setdefault(watched.name, _Handled())
        while len(self._handled) > _MAX_HANDLED:
            del self._handled[next(iter(self._handled))]
        ended_live = self._look(watched, seen, "", live=False)
        played: Mapping[str, Any] | None = None
        idle_since, was_playing = trio.current_time(), _is_playing(channel)
        while True:
            with trio.move_on_at(self._idle_at(watched, seen, idle_since)) as waiting:
                await channel.changed()
            if waiting.cancelled_caught:
                self._idle(watched, seen, trio.current_time() - idle_since)
            else:
                ended_live = self._look(watched, seen, ended_live, live=True)
                if channel.set_message() != played:  # the score, or a correction by an operator
                    played = channel.set_message()
                    self._refresh_texts(watched, seen)
                if was_playing or _is_playing(channel):
                    idle_since, was_playing = trio.current_time(), _is_playing(channel)

    def _look(self, watched: _Watched, seen: _Handled, ended_live: str, *, live: bool) -> str:
        """Compare the station with the state to which the rules were last applied.

        `ended_live` is the last game that we have seen ending while it happened. Returns the game for which this is
        true now.
        """
        game, played = watched.channel.current, watched.channel.set_message() or {}
        if game is not None and game.is_played and game.game_id != seen.game:
            seen.game, seen.ended, seen.idle_seconds = game.game_id, False, -1.0
            if live or game.in_progress:
                self._fire(watched, "game_start", live=live)
        runs = game is not None and game.game_id == seen.game and game.in_progress
        if runs and seen.idle_seconds >= 0 and _is_playing(watched.channel):
            seen.idle_seconds = -1.0
            self._fire(watched, "game_start", live=False)  # it continues after a long pause, so its start applies again
        if seen.game and not (seen.ended or runs):
            seen.ended = True
            ended_live = seen.game if live else ended_live
            self._fire(watched, "game_end", live=live)
        # An operator may extend a set that is over; then it is over once more, after another game.
        set_id = f"{played.get('setId') or ''} {seen.game}"
        # Only the set of the game that was seen last: a set from yesterday is no news.
        if set_id != seen.set and played.get("state") == "over" and seen.ended and played.get("gameId") == seen.game:
            seen.set = set_id
            self._fire(watched, "set_end", live=live and ended_live == seen.game)
        return ended_live

    def _refresh_texts(self, watched: _Watched, seen: _Handled) -> None:
        """Set the texts about the game again, because the set has changed."""
        game = watched.channel.current
        if game is None or game.game_id != seen.game:
            return
        occasions = ["game_start", *(["game_end"] if seen.ended else [])]
        for rule in self._rules[watched.scope]:
            if rule.on in occasions:
                for source, words in rule.actions.text.items():
                    self._texts.setdefault(source, (watched.name, words))
        values = placeholders(watched.channel)
        for source, (owner, words) in self._texts.items():
            if owner == watched.name:
                self._desk.wish(WishKey("text", source=source), words.format_map(values), again=False)
        self._link.wake()

    def _idle_at(self, watched: _Watched, seen: _Handled, idle_since: float) -> float:
        """Return when the next rule about an idle station applies, as a time of the event loop."""
        if _is_playing(watched.channel):
            return math.inf
        waits = [rule.after_seconds for rule in self._rules[watched.scope] if rule.on == "station_idle"]
        return min((idle_since + wait for wait in waits if wait > seen.idle_seconds), default=math.inf)

    def _idle(self, watched: _Watched, seen: _Handled, seconds: float) -> None:
        rules = [rule for rule in self._rules[watched.scope] if rule.on == "station_idle"]
        seconds += _TICK_SECONDS  # sums of times are rounded
        due = [rule for rule in rules if seen.idle_seconds < rule.after_seconds <= seconds]
        seen.idle_seconds = max((rule.after_seconds for rule in due), default=seconds)
        self._apply(watched, due, live=True)
        self._keep()

    async def _follow_events(self, watched: _Watched) -> None:
        """Apply rules about events, but only to those that happen from now on."""
        rules = [rule for rule in self._rules[watched.scope] if rule.on == "event"]
        consumer = LogConsumer(watched.channel, topics=frozenset({"event"}), start="live")
        async for batch in consumer:
            game = watched.channel.current
            if game is None or game.game_id != batch.game_id or not game.is_played:
                continue
            for message in batch.messages:
                event = msgspec.json.decode(b"{" + message.body)
                self._apply(watched, [rule for rule in rules if rule.matches_event(event)], live=True, event=event)

    def _fire(self, watched: _Watched, occasion: Occasion, *, live: bool) -> None:
        self._apply(watched, [rule for rule in self._rules[watched.scope] if rule.on == occasion], live=live)
        self._keep()

    def _apply(
        self, watched: _Watched, rules: Sequence[Rule], *, live: bool, event: Mapping[str, Any] | None = None
    ) -> None:
        """Carry out rules in their order. Momentary actions are only carried out if it is happening right now."""
        if not rules:
            return
        values = placeholders(watched.channel, event)
        for rule in rules:
            # What an event has said is not said again when the set changes.
            owner = watched.name if event is None else ""
            self._texts |= {source: (owner, words) for source, words in rule.actions.text.items()}
            for key, value in _wishes(rule.actions, values):
                self._desk.wish(key, value)
            if live:
                self._ask(rule.actions, values)
        self._link.wake()

    def _ask(self, actions: Actions, values: Mapping[str, str]) -> None:
        if actions.recording == "start":
            self._desk.ask("StartRecord")
        if actions.save_replay:
            self._desk.ask("SaveReplayBuffer")
        if actions.chapter:
            self._desk.ask("CreateRecordChapter", chapterName=actions.chapter.format_map(values))
        if actions.recording == "stop":
            self._desk.ask("StopRecord")


def _is_playing(channel: Channel) -> bool:
    """Whether a game is being played. If there's just a short pause, this is still true."""
    return channel.state_message()["state"] in ("playing", "stalled")


def _wishes(actions: Actions, values: Mapping[str, str]) -> Iterator[tuple[WishKey, str | bool]]:
    """Return the lasting wishes of a rule. If you don't pass `values`, the placeholders in texts aren't replaced."""
    if actions.scene:
        yield WishKey("scene"), actions.scene
    if actions.preview:
        yield WishKey("preview"), actions.preview
    for sources, shown in ((actions.show, True), (actions.hide, False)):
        for source in sources:
            yield WishKey("item", actions.in_scene, source), shown
    for source, words in actions.text.items():
        yield WishKey("text", source=source), words.format_map(values) if values else words
