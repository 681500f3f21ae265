"""The sets of a daemon. The newest set of each station is kept up to date and published.

Whenever the games of a station change, its set is computed again from the index of games, the corrections of the
operator and the rules. If it differs from the last one, it is sent to subscribers and listeners. All state is in the
database, so the set is still the same after a restart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import trio

from slpstream.model.errors import StoreError
from slpstream.model.summary import IndexedGame
from slpstream.sets import (
    Change,
    Ledger,
    PlayedGame,
    Rules,
    Set,
    SetPatch,
    SetScore,
    changed,
    newest_set,
    newest_set_since_break,
    played_games,
    score_of,
    sets_of,
    undone,
)
from slpstream.sets.changes import decode, encode
from slpstream.sets.corrections import Corrections
from slpstream.store.game_rows import GameRow
from slpstream.store.index import GameIndex
from slpstream.stream.channel import Channel, Hub
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger

OnSet = Callable[[str, Mapping[str, Any]], None]
"""Called with a station and the payload of its `set` message whenever the set has changed. It must not block."""

_MIN_PAUSE_SECONDS = 0.2
_MAX_PAUSE_SECONDS = 2.0
_PAUSE_FACTOR = 5
"""The pause between two updates is this many times as long as the last update took. This means that while a thousand
old files are indexed, the sets aren't computed a thousand times."""

_GAMES_AT_FIRST = 64
_MAX_GAMES = 256
"""The number of games of a station in which we look for the last long break. It takes half a day to play them."""
_MAX_LISTED_GAMES = 4096
"""The number of games of a station in which we look for its sets since a certain time. It takes a week to play them."""


class StationSets:
    """The newest set of each station. Call `run` in one task, and call it again after a bug."""

    def __init__(self, hub: Hub, rules: Rules, errors: InternalErrors | None = None) -> None:
        self._hub = hub
        self._errors = errors or InternalErrors()
        self._rules = rules
        self._index: GameIndex | None = None
        self._dirty: set[str] | None = None
        """The stations whose games have changed. `None` stands for all stations."""
        self._work = trio.Event()
        self._computing = trio.Lock()
        self._limiter = trio.CapacityLimiter(1)
        self._published: dict[str, SetScore] = {}
        self._listeners: list[OnSet] = []
        self._log = get_logger()

    def listen(self, on_set: OnSet) -> None:
        """Call `on_set` after every change from now on."""
        self._listeners.append(on_set)

    def use(self, rules: Rules) -> None:
        """Use other rules from now on."""
        self._rules = rules
        self.changed(None)

    def changed(self, station: str | None) -> None:
        """Schedule the update of a station whose games have changed. `None` stands for all stations."""
        if station is None:
            self._dirty = None
        elif self._dirty is not None:
            self._dirty.add(station)
        self._work.set()

    async def run(self, index: GameIndex) -> None:
        """Keep the sets up to date until cancelled."""
        self._index = index
        self._work.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_channels)
            await self._update_for_ever(index)

    async def _watch_channels(self) -> None:
        """Schedule the update of each station with a new channel, because this channel doesn't have a set yet."""
        known: Mapping[str, Channel] = {}
        while True:
            channels = self._hub.channels
            for station, channel in channels.items():
                if known.get(station) is not channel:
                    self.changed(station)
            known = channels
            await self._hub.changed()

    async def _update_for_ever(self, index: GameIndex) -> None:
        while True:
            await self._work.wait()
            self._work = trio.Event()
            dirty, self._dirty = self._dirty, set()
            await index.written()
            began = trio.current_time()
            for station in [name for name in self._hub.channels if dirty is None or name in dirty]:
                with self._errors.contain("sets", station=station):
                    async with self._computing:
                        self._publish(station, *await self._make(index, station))
            took = trio.current_time() - began
            await trio.sleep(min(_MAX_PAUSE_SECONDS, max(_MIN_PAUSE_SECONDS, _PAUSE_FACTOR * took)))

    async def score(self, station: str) -> SetScore:
        """Return the newest set of a station. Raises `StoreError` as long as the index isn't open."""
        index = self._open_index()
        await index.written()
        async with self._computing:
            found, ledger, _ = await self._make(index, station)
            return _score(found, ledger)

    async def sets_since(self, station: str, since_ms: int) -> list[Set]:
        """Return the sets of a station's newest games, oldest first.

        They include all sets since `since_ms` (Unix time). Raises `StoreError` as long as the index isn't open.
        """
        index = self._open_index()
        await index.written()
        async with self._computing:
            ledger = await self._ledger(index, station)
            limit = _GAMES_AT_FIRST
            while True:
                indexed = await index.played_on(station, limit)
                recent = {game.game_id for game in indexed if game.listed_at_ms >= since_ms}
                make = partial(_all_sets, indexed, self._running(station), ledger.corrections, self._rules)
                found = await trio.to_thread.run_sync(make, limiter=self._limiter)
                if len(indexed) < limit:
                    return found
                # The first set may have begun earlier.
                is_enough = len(found) > 1 and not any(game.game_id in recent for game in found[0].games)
                if is_enough or limit >= _MAX_LISTED_GAMES:
                    return found[1:]
                limit *= 4

    async def scores_since(self, station: str, since_ms: int) -> list[SetScore]:
        """Return the payloads of the sets whose last game began at the given time or later. Raises `StoreError`."""
        found = await self.sets_since(station, since_ms)
        ledger = await self._ledger(self._open_index(), station)
        return [_score(each, ledger) for each in found if each.entries and _began_at_ms(each.games[-1]) >= since_ms]

    async def names_of(self, games: Iterable[GameRow]) -> Mapping[str, Mapping[int, str]]:
        """Return the names that were given to the players of games by operators or phones, by game id and player index.

        Each game gets the names from the station in its row. If its sets can't be read, it does not get any.
        """
        at_stations: dict[str, list[GameRow]] = {}
        for game in games:
            at_stations.setdefault(game.station, []).append(game)
        names: dict[str, Mapping[int, str]] = {}
        for station, rows in at_stations.items():
            if self._index is None or await self._ledger(self._index, station) == Ledger():
                continue  # no names were given there
            wanted = {row.game_id for row in rows}
            for each in await self.sets_since(station, min(row.listed_at_ms for row in rows)):
                names |= {game_id: given for game_id, given in each.given_names().items() if game_id in wanted}
        return names

    async def score_of_set(self, station: str, set_id: str) -> SetScore | None:
        """Return a set with all its games, or `None` if the station doesn't have it.

        `set_id` is the id of the set or of any of its games. Raises `StoreError`.
        """
        index = self._open_index()
        await index.written()
        game = await index.game(set_id)
        if game is None:
            return None
        found = await self.sets_since(station, game.row.listed_at_ms)
        ledger = await self._ledger(index, station)
        for each in found:
            if any(set_id in played.ids for played in each.games):
                return score_of(each, ledger.corrections, ledger.last_change, max_games=len(each.entries))
        return None

    async def changes(self, station: str) -> Sequence[Change]:
        """Return the changes that operators have made on a station, oldest first. Raises `StoreError`."""
        ledger = await self._ledger(self._open_index(), station)
        return ledger.changes

    async def undo(self, station: str, change_id: int, *, by: str = "") -> SetScore:
        """Undo a change by an operator, and return the resulting set. `by` is the name of the operator.

        Raises `ImpossibleCorrection` or `StoreError`, and changes nothing in this case.
        """
        index = self._open_index()
        await index.written()
        async with self._computing:
            before = await self._ledger(index, station)
            undo = partial(undone, before, change_id, at_ms=_now_ms(), by=by)
            after = await trio.to_thread.run_sync(undo, limiter=self._limiter)
            self._log.info("correction of a set undone", station=station, change=change_id, by=by)
            return await self._keep(index, station, before, after)

    async def correct(
        self, station: str, patch: SetPatch, may: Callable[[SetScore], bool] = lambda _: True, *, by: str = ""
    ) -> SetScore | None:
        """Apply a change by an operator, and return the resulting set.

        `may` returns whether the set as it is now is the one that the operator meant. If it isn't, `correct` returns
        `None`. `by` is the name of the operator. Raises `ImpossibleCorrection` if the change is about a player or a
        game that does not exist, or `StoreError`. In both cases, nothing changes.
        """
        index = self._open_index()
        await index.written()
        async with self._computing:
            found, before, games = await self._make(index, station)
            if not may(_score(found, before)):
                return None
            newest = partial(newest_set, games, rules=self._rules)
            change = partial(changed, before, patch, newest, at_ms=_now_ms(), by=by)
            after = await trio.to_thread.run_sync(change, limiter=self._limiter)
            self._log.info("set corrected", station=station, said=msgspec.to_builtins(patch), by=by)
            return await self._keep(index, station, before, after)

    async def _keep(self, index: GameIndex, station: str, before: Ledger, after: Ledger) -> SetScore:
        """Store a changed ledger, publish the resulting set, and return it. Raises `StoreError`."""
        if after != before and not await index.keep_corrections(station, encode(after)):
            raise StoreError(f"the correction cannot be kept; index of games: {index.trouble}")
        found, after, games = await self._make(index, station)
        self._publish(station, found, after, games)
        return _score(found, after)

    def _open_index(self) -> GameIndex:
        if self._index is None:
            raise StoreError("the index of games is not open yet")
        return self._index

    async def _make(self, index: GameIndex, station: str) -> tuple[Set, Ledger, Sequence[PlayedGame]]:
        """Return the newest set of a station, the corrections, and the games from which the set was computed."""
        ledger = await self._ledger(index, station)
        limit = _GAMES_AT_FIRST
        while True:
            indexed = await index.played_on(station, limit)
            more = len(indexed) == limit < _MAX_GAMES
            make = partial(_newest_set, indexed, self._running(station), ledger.corrections, self._rules, more=more)
            # In a thread, because hundreds of games take longer than a frame.
            found = await trio.to_thread.run_sync(make, limiter=self._limiter)
            if found is not None:
                newest, games = found
                return newest, ledger, games
            limit *= 4

    def _running(self, station: str) -> set[str]:
        """Return the ids of the games that are in progress on a station."""
        channel = self._hub.channels.get(station)
        return {game.game_id for game in channel.games if game.in_progress} if channel is not None else set()

    async def _ledger(self, index: GameIndex, station: str) -> Ledger:
        document = (await index.corrections() or {}).get(station)
        if document is None:
            return Ledger()
        try:
            return decode(document)
        except StoreError as error:
            self._log.error("corrections of sets cannot be read", station=station, what=str(error))
            return Ledger()

    def _publish(self, station: str, found: Set, ledger: Ledger, games: Sequence[PlayedGame]) -> None:
        """Publish a set if it has changed, or if the channel of the station doesn't have it yet."""
        score = _score(found, ledger)
        channel = self._hub.channels.get(station)
        known = self._published.get(station)
        nothing = known is None and not games and ledger == Ledger()
        if channel is None or nothing or (known == score and channel.set_message() is not None):
            return
        self._published[station] = score
        payload: dict[str, Any] = msgspec.to_builtins(score)
        channel.publish_set(payload)
        if known != score:
            for on_set in self._listeners:
                on_set(station, payload)


def _newest_set(
    indexed: Sequence[IndexedGame], running: Collection[str], corrections: Corrections, rules: Rules, *, more: bool
) -> tuple[Set, Sequence[PlayedGame]] | None:
    return newest_set_since_break(played_games(indexed, running), corrections, rules, more=more)


def _all_sets(
    indexed: Sequence[IndexedGame], running: Collection[str], corrections: Corrections, rules: Rules
) -> list[Set]:
    return sets_of(played_games(indexed, running), corrections, rules)


def _began_at_ms(game: PlayedGame) -> int:
    """Return when the file of a game arrived. If we didn't see it arrive, this is when it was last written to."""
    return game.written_at_ms if game.arrived_at_ms is None else game.arrived_at_ms


def _score(found: Set, ledger: Ledger) -> SetScore:
    return score_of(found, ledger.corrections, ledger.last_change)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
