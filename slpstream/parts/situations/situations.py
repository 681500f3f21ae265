"""The situations of a daemon: the search for those in the configuration, and the list of those that were found, from
the index.

A daemon without `[[situations]]` still lists the ones that it found before, but it doesn't import the search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from slpstream.daemon.game_log import links_of
from slpstream.model.messages import timestamp
from slpstream.model.prepared import prepared
from slpstream.model.summary import PlayerSummary
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.situations.part import Situation
from slpstream.parts.situations.query import SituationPage, SituationsQuery
from slpstream.parts.situations.schemas import SituationItem, SituationList
from slpstream.parts.situations.stored import page as stored_page
from slpstream.store import GameRow
from slpstream.stream.channel import Channel
from slpstream.web.schemas import HighlightLinks

if TYPE_CHECKING:
    from slpstream.parts.situations.station_search import StationSearch


@prepared
class _Payload(msgspec.Struct, rename="camel"):
    """The payload of a situation."""

    name: str
    query: str
    number: int
    player: PlayerSummary
    opponent: PlayerSummary
    frames: list[int]
    known_frame: int


_decode = msgspec.json.Decoder(_Payload).decode


class Situations(RunningPart):
    """The situations of one daemon."""

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if one of the queries is invalid."""
        self._host = host
        self._search: StationSearch | None = None
        wanted = host.config.sections(Situation)
        if wanted:
            from slpstream.parts.situations.station_search import StationSearch  # noqa: PLC0415 -- few daemons need it

            self._search = StationSearch(wanted, host)

    async def follow(self, channel: Channel) -> None:
        """Search the games of a station until cancelled."""
        if self._search is not None:
            await self._search.follow(channel)

    async def situations(self, query: SituationsQuery) -> SituationList:
        """Return a page of the situations that were found, without links for the Slippi Launcher."""
        index, games = self._host.index, self._host.games
        await index.written()
        page = await index.read(lambda database: stored_page(database, query)) or SituationPage([], None)
        rows: dict[str, GameRow | None] = {}
        for row in page.situations:
            if row.game_id not in rows:
                game = await index.game(row.game_id)
                station = row.station if query.station is UNSET else query.station
                rows[row.game_id] = None if game is None else game.row._replace(station=station)
        names = await self._host.sets.names_of([row for row in rows.values() if row is not None])
        items = []
        for row in page.situations:
            station = row.station if query.station is UNSET else query.station
            known = rows[row.game_id]
            links = links_of(row.game_id, station, None if known is None else games.replay_name(known))
            found = _decode(row.document)
            for who in ("player", "opponent"):
                player: PlayerSummary = getattr(found, who)
                name = names.get(row.game_id, {}).get(player.index, player.name)
                setattr(found, who, msgspec.structs.replace(player, name=name))
            items.append(
                SituationItem(
                    game_id=row.game_id,
                    station=station,
                    at=timestamp(row.found_at_ms / 1000),
                    links=HighlightLinks(game=links.self, replay=links.replay, file=links.file),
                    **msgspec.structs.asdict(found),
                )
            )
        return SituationList(situations=items, next=None if page.next is None else str(page.next))
