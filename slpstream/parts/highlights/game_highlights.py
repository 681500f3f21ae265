"""The highlights of a daemon's games. They come from the index, and those of older games are computed on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import UNSET

from slpstream.daemon.game_log import links_of
from slpstream.model.messages import timestamp
from slpstream.model.summary import GameSummary
from slpstream.parts.highlights import pages
from slpstream.parts.highlights.schemas import HighlightItem, HighlightList, HighlightOdds
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import Highlights, Odds, Span, Swing
from slpstream.store import HighlightPage, HighlightRow, HighlightsQuery, StoredGame
from slpstream.web.schemas import HighlightLinks, Player, described


class GameHighlights(RunningPart):
    """The highlights of one daemon."""

    def __init__(self, host: Host) -> None:
        self._host = host
        host.provide(Highlights, self)

    async def highlights(self, query: HighlightsQuery) -> HighlightList | None:
        """Return a page of highlights with their games, or `None` if the game or station of the query is unknown."""
        ranked = await self._ranked(query)
        if ranked is None:
            return None
        page, swings = ranked
        found: dict[str, StoredGame | None] = {}
        for row in page.highlights:
            if row.game_id not in found:
                found[row.game_id] = await self._host.index.game(row.game_id)
        games = {
            game_id: game._replace(row=game.row._replace(station=_station_of(game, query)))
            for game_id, game in found.items()
            if game is not None
        }
        names = await self._host.sets.names_of(game.row for game in games.values())
        items = [
            self._item(row, games[row.game_id], names.get(row.game_id, {}), swings.get((row.game_id, row.number)))
            for row in page.highlights
            if row.game_id in games
        ]
        return HighlightList(highlights=items, next=None if page.next is None else str(page.next))

    async def combos(self, query: HighlightsQuery) -> bytes | None:
        """Return a page of highlights as a queue for Dolphin, or `None` if the game or station of the query is
        unknown.
        """
        from slpstream.game.dolphin_queue import around, combos, replay_path  # noqa: PLC0415 -- few ask for it

        page = await self.page(query)
        if page is None:
            return None
        clips = []
        for row in page.highlights:
            found = await self._host.index.game(row.game_id)
            path = None if found is None else replay_path(found)
            moment = row.highlight
            clip = None if path is None else around(path, moment.start_frame, moment.end_frame)
            if found is not None and clip is not None:
                clips.append(clip._replace(station=_station_of(found, query)))
        return combos(clips)

    async def page(self, query: HighlightsQuery) -> HighlightPage | None:
        """Return a page of highlights from the index, or `None` if the game or station of the query is unknown."""
        ranked = await self._ranked(query)
        return None if ranked is None else ranked[0]

    async def _ranked(self, query: HighlightsQuery) -> tuple[HighlightPage, pages.Swings] | None:
        """Return a page of highlights and, if they are ordered by them, the swings of those in the same games."""
        index, games = self._host.index, self._host.games
        await index.written()
        game_ids: list[str] | None = None
        if query.set is not UNSET:
            if query.set not in self._host.stations:
                return None
            game_ids = await self._game_ids_of_set(query.set)
        if query.game is not UNSET:
            game_ids = [query.game] if game_ids is None or query.game in game_ids else []
            if await games.find(query.game) is None:
                return None
        for game_id in game_ids or ():
            await games.find(game_id)  # which computes missing highlights
        by_swing = query.order == "swing"
        read = pages.everything(query) if by_swing else query
        page = await index.read(lambda database: pages.page(database, read, game_ids)) or HighlightPage([], None)
        if not by_swing:
            return page, {}
        swings = await self._swings(page.highlights)
        return pages.page_by_swing(query, page.highlights, swings), swings

    async def _swings(self, rows: Sequence[HighlightRow]) -> pages.Swings:
        found: pages.Swings = {}
        odds = self._host.find(Odds)
        if odds is None:
            return found
        for game_id in {row.game_id for row in rows}:
            of_game = [row for row in rows if row.game_id == game_id]
            spans = [Span(each.player_index, each.start_frame, each.end_frame) for *_, each in of_game]
            for row, swing in zip(of_game, await odds.swings(game_id, spans), strict=True):
                if swing is not None:
                    found[game_id, row.number] = swing
        return found

    async def _game_ids_of_set(self, station: str) -> list[str]:
        """Return the ids of the games in a station's newest set, in order."""
        score = await self._host.sets.score(station)
        return [game.game_id for game in score.games]

    def _item(
        self, row: HighlightRow, game: StoredGame, names: Mapping[int, str], swing: Swing | None
    ) -> HighlightItem:
        summary = msgspec.json.decode(game.row.summary, type=GameSummary)
        players = {player.index: player for player in described(summary, names)["players"]}
        highlight, file_name = row.highlight, self._host.games.replay_name(game.row)
        links = links_of(row.game_id, game.row.station, file_name)
        return HighlightItem(
            game_id=row.game_id,
            number=row.number,
            station=game.row.station,
            played_at=timestamp(row.listed_at_ms / 1000),
            player=players.get(highlight.player_index, Player(index=highlight.player_index)),
            opponent=players.get(highlight.opponent_index, Player(index=highlight.opponent_index)),
            highlight=highlight,
            odds=None if swing is None else HighlightOdds(before=swing.before, after=swing.after),
            links=HighlightLinks(game=links.self, replay=links.replay, file=links.file),
        )


def _station_of(game: StoredGame, query: HighlightsQuery) -> str:
    """Return the station that we show for a game. If the query asks for a station, it is this one."""
    asked = query.set if query.set is not UNSET else query.station
    return game.row.station if asked is UNSET else asked
