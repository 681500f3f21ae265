"""The sets of all stations, kept up to date: games of the index, corrections of operators, and the rules, put together.

Whenever the games of a station change, its set is made again from the index, and said to subscribers and listeners if
it is another one than before. There is no state that is not in the database, so after a restart it is the same set.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import trio

from slpstream.model.errors import StoreError
from slpstream.sets import (
    Corrections,
    PlayedGame,
    Player,
    Rules,
    Set,
    SetPatch,
    SetScore,
    corrected,
    newest_set,
    score_of,
    since_break,
)
from slpstream.sets.corrections import decode, encode
from slpstream.store import GameIndex, PlayedRow
from slpstream.stream import Channel, Hub
from slpstream.system.logs import get_logger

OnSet = Callable[[str, Mapping[str, Any]], None]
"""Is told the station and the payload of its `set` message whenever that has changed; must not wait."""

_REST_SECONDS = 0.2
_MAX_REST_SECONDS = 2.0
_REST_FOR_WORK = 5
"""Between two looks at the index it rests, in proportion to the work, so that the reading of a thousand old files does
not become a thousand looks."""

_GAMES_AT_FIRST = 64
_MAX_GAMES = 256
"""Of a station: as far back as that the last long break is looked for. So many games without one take half a day."""
_CPU = 1


class StationSets:
    """The newest set of each station. `run` it once; it ends only by cancellation."""

    def __init__(self, hub: Hub, rules: Rules) -> None:
        self._hub = hub
        self._rules = rules
        self._index: GameIndex | None = None
        self._dirty: set[str] | None = None
        """Stations whose games have changed; `None`: any of them."""
        self._work = trio.Event()
        self._computing = trio.Lock()
        self._limiter = trio.CapacityLimiter(1)
        self._said: dict[str, SetScore] = {}
        self._listeners: list[OnSet] = []
        self._log = get_logger()

    def listen(self, on_set: OnSet) -> None:
        """From now on `on_set` is told every change."""
        self._listeners.append(on_set)

    def use(self, rules: Rules) -> None:
        """Other rules from now on: the configuration was read again."""
        self._rules = rules
        self.changed(None)

    def changed(self, station: str | None) -> None:
        """The games of a station have changed, or of any when it is `None`. Returns at once."""
        if station is None:
            self._dirty = None
        elif self._dirty is not None:
            self._dirty.add(station)
        self._work.set()

    async def run(self, index: GameIndex) -> None:
        """Keeps the sets up to date until cancelled."""
        self._index = index
        self._work.set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch_channels)
            await self._keep_up(index)

    async def _watch_channels(self) -> None:
        """A station that comes, or comes back, has a channel that nobody has told its set."""
        known: Mapping[str, Channel] = {}
        while True:
            channels = self._hub.channels
            for station, channel in channels.items():
                if known.get(station) is not channel:
                    self.changed(station)
            known = channels
            await self._hub.changed()

    async def _keep_up(self, index: GameIndex) -> None:
        while True:
            await self._work.wait()
            self._work = trio.Event()
            dirty, self._dirty = self._dirty, set()
            await index.written()
            began = trio.current_time()
            for station in self._stations(dirty):
                async with self._computing:
                    self._tell(station, *await self._look(index, station))
            took = trio.current_time() - began
            await trio.sleep(min(_MAX_REST_SECONDS, max(_REST_SECONDS, _REST_FOR_WORK * took)))

    # -- what the outside asks ---------------------------------------------------------------------------------------

    async def score(self, station: str) -> SetScore:
        """The newest set of a station, as of this moment."""
        index = self._need_index()
        await index.written()
        async with self._computing:
            found, corrections, _ = await self._look(index, station)
            return score_of(found, corrections)

    async def correct(
        self, station: str, patch: SetPatch, may: Callable[[SetScore], bool] = lambda _: True
    ) -> SetScore | None:
        """Takes what an operator says; the set as it is then. `None` when `may` says of the set as it was that this was
        not meant.

        Raises `ImpossibleCorrection` when it is about what is not there, and `StoreError`; then nothing has changed.
        """
        index = self._need_index()
        await index.written()
        async with self._computing:
            found, before, games = await self._look(index, station)
            if not may(score_of(found, before)):
                return None
            correct = partial(corrected, before, patch, partial(newest_set, games, rules=self._rules))
            after = await trio.to_thread.run_sync(correct, limiter=self._limiter)
            if after != before and not await index.keep_corrections(station, encode(after)):
                raise StoreError("the index of games cannot be written to")
            self._log.info("set corrected", station=station, said=msgspec.to_builtins(patch))
            found, after, games = await self._look(index, station)
            self._tell(station, found, after, games)
            return score_of(found, after)

    # -- making them -------------------------------------------------------------------------------------------------

    def _need_index(self) -> GameIndex:
        if self._index is None:
            raise StoreError("the index of games is not open yet")
        return self._index

    def _stations(self, dirty: Collection[str] | None) -> list[str]:
        return [name for name in self._hub.channels if dirty is None or name in dirty]

    async def _look(self, index: GameIndex, station: str) -> _Found:
        """The newest set of a station, the corrections, and the games that it was made of."""
        corrections = await self._corrections(index, station)
        limit = _GAMES_AT_FIRST
        while True:
            rows = await index.played_on(station, limit)
            channel = self._hub.channels.get(station)
            running = {game.game_id for game in channel.games if game.in_progress} if channel is not None else set()
            more = len(rows) == limit < _MAX_GAMES
            make = partial(_make, rows, running, corrections, self._rules, more=more)
            # In a thread: of hundreds of games it takes longer than a frame.
            found = await trio.to_thread.run_sync(make, limiter=self._limiter)
            if found is not None:
                return found
            limit *= 4

    async def _corrections(self, index: GameIndex, station: str) -> Corrections:
        document = (await index.corrections() or {}).get(station)
        if document is None:
            return Corrections()
        try:
            return decode(document)
        except msgspec.DecodeError as error:
            self._log.error("corrections of sets cannot be read", station=station, what=str(error))
            return Corrections()

    def _tell(self, station: str, found: Set, corrections: Corrections, games: Sequence[PlayedGame]) -> None:
        score = score_of(found, corrections)
        channel = self._hub.channels.get(station)
        known = self._said.get(station)
        nothing = known is None and not games and corrections == Corrections()
        if channel is None or nothing or (known == score and channel.set_message() is not None):
            return
        self._said[station] = score
        payload: dict[str, Any] = msgspec.to_builtins(score)
        channel.publish_set(payload)
        if known != score:
            for on_set in self._listeners:
                on_set(station, payload)


_Found = tuple[Set, Corrections, Sequence[PlayedGame]]


def _make(
    rows: Sequence[PlayedRow], running: Collection[str], corrections: Corrections, rules: Rules, *, more: bool
) -> _Found | None:
    """The newest set of these games; `None` when there are `more` before them and they may make a difference."""
    games = played_games(rows, running)
    at = since_break(games, corrections, rules)
    if at is None and more:
        return None
    games = games[at or 0 :]
    return newest_set(games, corrections, rules), corrections, games


# -- a row of the index to a game --------------------------------------------------------------------------------------


class _PlayerSettings(msgspec.Struct, rename="camel", frozen=True):
    player_index: int
    port: int | None = None
    type: int = 0
    start_stocks: int | None = None
    character_id: int | None = None
    character_color: int | None = None
    team_id: int | None = None
    nametag: str = ""
    display_name: str = ""
    connect_code: str = ""


class _Match(msgspec.Struct, rename="camel", frozen=True):
    session_id: str = ""


class _Settings(msgspec.Struct, rename="camel", frozen=True):
    """What of the settings of a game sets are made from; formats that have other ones are in no set."""

    players: list[_PlayerSettings]
    stage_id: int | None = None
    is_teams: bool = False
    match_info: _Match = _Match()


class _Named(msgspec.Struct, frozen=True):
    """A player as the index has it: here the names of the metadata are too."""

    index: int
    name: str = ""
    code: str = ""
    tag: str = ""


class _End(msgspec.Struct, rename="camel", frozen=True):
    game_end_method: int | None = None
    lras_initiator_index: int | None = None


class _GameEnd(msgspec.Struct, rename="camel", frozen=True):
    game_end: _End = _End()


class _Standing(msgspec.Struct, frozen=True):
    stocks: int | None = None
    percent: float | None = None


_RANKED = "mode.ranked"
_NO_NAMES = _Named(-1)
_NO_STANDING = _Standing()


def played_games(rows: Sequence[PlayedRow], running: Collection[str]) -> list[PlayedGame]:
    """The games of a station that sets are made of, in the order in which they were played; those of one side alone are
    none. `running`: ids of games in progress."""
    order = {row.game_id: (row.started_at_ms, row.mtime_ns or 0, row.game_id) for row in rows}
    games = [game for row in rows if (game := played_game(row, running)) is not None and len(game.sides()) > 1]
    return sorted(games, key=lambda game: (game.in_progress, order[game.game_id]))


def played_game(row: PlayedRow, running: Collection[str]) -> PlayedGame | None:
    """A game for the making of sets; `None` when it is of a kind that has none. `running`: ids of games in progress."""
    try:
        settings = msgspec.json.decode(row.settings, type=_Settings)
        named = {player.index: player for player in msgspec.json.decode(row.players, type=list[_Named])}
        end = _End() if row.game_end is None else msgspec.json.decode(row.game_end, type=_GameEnd).game_end
        winners = [] if row.winners is None else msgspec.json.decode(row.winners, type=list[int])
        standings = {} if row.standings is None else msgspec.json.decode(row.standings, type=dict[str, _Standing])
    except msgspec.ValidationError:
        return None
    players = [
        _player(
            player, named.get(player.player_index, _NO_NAMES), standings.get(str(player.player_index), _NO_STANDING)
        )
        for player in settings.players
    ]
    match_id = settings.match_info.session_id
    return PlayedGame(
        game_id=row.game_id,
        players=players,
        stage_id=settings.stage_id,
        is_teams=settings.is_teams,
        match_id=match_id if match_id.startswith(_RANKED) else "",
        said_at_ms=row.said_at_ms,
        written_at_ms=row.started_at_ms if row.mtime_ns is None else row.mtime_ns // 1_000_000,
        duration_seconds=row.duration_seconds,
        in_progress=row.reason is None and row.game_id in running,
        reason=row.reason,
        end_method=end.game_end_method,
        quitter=end.lras_initiator_index,
        winners=winners,
    )


def _player(player: _PlayerSettings, named: _Named, standing: _Standing) -> Player:
    # The index calls a tag a name where there is no better one.
    name = player.display_name or ("" if named.name == named.tag else named.name)
    return Player(
        index=player.player_index,
        port=player.player_index + 1 if player.port is None else player.port,
        connect_code=player.connect_code or named.code,
        netplay_name=name,
        tag=player.nametag or named.tag,
        character_id=player.character_id,
        character_color=player.character_color,
        team=player.team_id,
        human=player.type != _CPU,
        start_stocks=player.start_stocks,
        stocks=standing.stocks,
        percent=standing.percent,
    )
