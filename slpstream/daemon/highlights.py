"""The highlights of a daemon's games, from the index; those of older games are computed on request."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import UNSET

from slpstream.daemon.game_log import links_of
from slpstream.daemon.sets import StationSets
from slpstream.model.messages import timestamp
from slpstream.model.summary import GameSummary
from slpstream.sources.packed import is_packed
from slpstream.store.game_rows import GameRow, StoredGame
from slpstream.store.highlights_query import HighlightPage, HighlightRow, HighlightsQuery
from slpstream.store.index import GameIndex
from slpstream.web import schemas
from slpstream.web.launcher import FORMAT


def replay_path(game: StoredGame) -> Path | None:
    """The replay of a game that Dolphin can play; `None` if there is none."""
    if game.row.format != FORMAT:
        return None
    for file in game.files:
        path = Path(os.fsdecode(file.path))
        if is_packed(path):
            continue  # Dolphin reads neither archives nor compressed replays
        try:
            file.path.decode()
        except UnicodeDecodeError:
            return None  # the file that Dolphin reads is JSON, which has no such names
        return path
    return None


class DaemonHighlights:
    """The highlights of one daemon, see `web.highlights.Highlights`."""

    def __init__(
        self,
        index: GameIndex,
        find: Callable[[str], Awaitable[StoredGame | None]],
        replay_name: Callable[[GameRow], str | None],
        sets: StationSets,
        has_station: Callable[[str], bool],
    ) -> None:
        """`find` returns a game of the index after computing its highlights if that is necessary. `replay_name` returns
        the unique name of its replay."""
        self._index = index
        self._find = find
        self._replay_name = replay_name
        self._sets = sets
        self._has_station = has_station

    async def highlights(self, query: HighlightsQuery) -> schemas.HighlightList | None:
        """A page of highlights; `None` if the game or station of the query is unknown."""
        page = await self.page(query)
        if page is None:
            return None
        found: dict[str, StoredGame | None] = {}
        for row in page.highlights:
            if row.game_id not in found:
                found[row.game_id] = await self._index.game(row.game_id)
        games = {
            game_id: game._replace(row=game.row._replace(station=_station_of(game, query)))
            for game_id, game in found.items()
            if game is not None
        }
        names = await self._sets.names_of(game.row for game in games.values())
        items = [
            self._item(row, games[row.game_id], names.get(row.game_id, {}))
            for row in page.highlights
            if row.game_id in games
        ]
        return schemas.HighlightList(highlights=items, next=None if page.next is None else str(page.next))

    async def combos(self, query: HighlightsQuery) -> bytes | None:
        """The same as a queue for Dolphin."""
        from slpstream.game.dolphin_queue import around, combos  # noqa: PLC0415 -- few ask for it

        page = await self.page(query)
        if page is None:
            return None
        clips = []
        for row in page.highlights:
            found = await self._index.game(row.game_id)
            path = None if found is None else replay_path(found)
            moment = row.highlight
            clip = None if path is None else around(path, moment.start_frame, moment.end_frame)
            if found is not None and clip is not None:
                clips.append(clip._replace(station=_station_of(found, query)))
        return combos(clips)

    async def page(self, query: HighlightsQuery) -> HighlightPage | None:
        """The same as the index has it."""
        await self._index.written()
        game_ids: list[str] | None = None
        if query.set is not UNSET:
            if not self._has_station(query.set):
                return None
            game_ids = await self._game_ids_of_set(query.set)
        if query.game is not UNSET:
            game_ids = [query.game] if game_ids is None or query.game in game_ids else []
            if await self._find(query.game) is None:
                return None
        for game_id in game_ids or ():
            await self._find(game_id)  # which computes what is missing
        return await self._index.highlights(query, game_ids)

    async def _game_ids_of_set(self, station: str) -> list[str]:
        """The ids of the games of a station's newest set, in order."""
        score = await self._sets.score(station)
        return [game.game_id for game in score.games]

    def _item(self, row: HighlightRow, game: StoredGame, names: Mapping[int, str]) -> schemas.HighlightItem:
        summary = msgspec.json.decode(game.row.summary, type=GameSummary)
        players = {player.index: player for player in schemas.described(summary, names)["players"]}
        highlight, links = row.highlight, links_of(row.game_id, game.row.station, self._replay_name(game.row))
        return schemas.HighlightItem(
            game_id=row.game_id,
            number=row.number,
            station=game.row.station,
            played_at=timestamp(row.listed_at_ms / 1000),
            player=players.get(highlight.player_index, schemas.Player(index=highlight.player_index)),
            opponent=players.get(highlight.opponent_index, schemas.Player(index=highlight.opponent_index)),
            highlight=highlight,
            links=schemas.HighlightLinks(game=links.self, replay=links.replay, file=links.file),
        )


def _station_of(game: StoredGame, query: HighlightsQuery) -> str:
    """The station of a game to show: the one that was asked for, if the game is there."""
    asked = query.set if query.set is not UNSET else query.station
    return game.row.station if asked is UNSET else asked
