"""The situations that a daemon has found, from the index."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import UNSET

from slpstream.daemon.game_log import links_of
from slpstream.daemon.games import NamesOf
from slpstream.model.messages import timestamp
from slpstream.model.prepared import prepared
from slpstream.model.summary import PlayerSummary
from slpstream.store import GameIndex, GameRow, SituationsQuery
from slpstream.web import schemas


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


async def list_situations(
    index: GameIndex, replay_name: Callable[[GameRow], str | None], names_of: NamesOf, query: SituationsQuery
) -> schemas.SituationList:
    """A page of situations. `replay_name` returns the unique name of a game's replay, and `names_of` the names that
    were given to players."""
    await index.written()
    page = await index.situations(query)
    games: dict[str, GameRow | None] = {}
    for row in page.situations:
        if row.game_id not in games:
            game = await index.game(row.game_id)
            station = row.station if query.station is UNSET else query.station
            games[row.game_id] = None if game is None else game.row._replace(station=station)
    names = await names_of([game for game in games.values() if game is not None])
    items = []
    for row in page.situations:
        station = row.station if query.station is UNSET else query.station
        known = games[row.game_id]
        links = links_of(row.game_id, station, None if known is None else replay_name(known))
        found = _decode(row.document)
        for who in ("player", "opponent"):
            player: PlayerSummary = getattr(found, who)
            name = names.get(row.game_id, {}).get(player.index, player.name)
            setattr(found, who, msgspec.structs.replace(player, name=name))
        items.append(
            schemas.SituationItem(
                game_id=row.game_id,
                station=station,
                at=timestamp(row.found_at_ms / 1000),
                links=schemas.HighlightLinks(game=links.self, replay=links.replay, file=links.file),
                **msgspec.structs.asdict(found),
            )
        )
    return schemas.SituationList(situations=items, next=None if page.next is None else str(page.next))
