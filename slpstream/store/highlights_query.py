"""The query of `/v1/highlights`, and the highlights that it finds."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from slpstream.model.highlight import Highlight
from slpstream.model.prepared import prepared

MAX_HIGHLIGHTS = 200
SITUATIONS = 100_000
"""The number of the first situation among the highlights of a game, which has fewer others."""
_KEY = re.compile(r"-?[0-9]{1,15}\.[0-9a-f]{32}\.[0-9]{1,6}")


class HighlightKey(tuple[int, str, int]):
    """A highlight's place in the list: score or time of its game, game id, and number within the game."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> HighlightKey:
        """The inverse of `str`. Raises `ValueError`."""
        if not _KEY.fullmatch(text):
            raise ValueError("expected `next` of the previous page")
        first, game_id, number = text.split(".")
        return cls((int(first), game_id, int(number)))

    def __str__(self) -> str:
        return ".".join(map(str, self))


class HighlightsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Which highlights to list."""

    game: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{32}$")] | UnsetType, Meta(description="Only highlights of this game.")
    ] = UNSET
    station: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType,
        Meta(description="Only highlights of games of this station."),
    ] = UNSET
    set: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType,
        Meta(description="Only highlights of the newest set of this station."),
    ] = UNSET
    order: Annotated[
        Literal["newest", "best"],
        Meta(
            description="`newest`: the newest game first, and in it the last situation, then the last of the others. "
            "`best`: by score."
        ),
    ] = "newest"
    limit: Annotated[int, Meta(ge=1, le=MAX_HIGHLIGHTS, description="Maximum number of highlights.")] = 50
    cursor: Annotated[
        Annotated[HighlightKey, Meta(extra_json_schema={"pattern": f"^{_KEY.pattern}$"})] | UnsetType,
        Meta(description="Where the page begins: `next` of the previous page, which had the same `order`."),
    ] = UNSET


class HighlightRow(NamedTuple):
    """One highlight in a list."""

    game_id: str
    number: int
    """From 0, in the order in which the highlights of the game ended; situations have numbers from `SITUATIONS`."""
    listed_at_ms: int
    """The place of its game in lists."""
    highlight: Highlight


class HighlightPage(NamedTuple):
    """A page of highlights."""

    highlights: list[HighlightRow]
    next: HighlightKey | None
    """The `cursor` of the next page; `None` on the last one."""


def tenths(score: float) -> int:
    """A score as the index sorts it: a number without fractions."""
    return round(10 * score)


_decode = msgspec.json.Decoder(list[Highlight]).decode


class _Index(msgspec.Struct):
    index: int


@prepared
class _Situation(msgspec.Struct, rename="camel"):
    """The part of a payload that makes a highlight."""

    name: str
    player: _Index
    opponent: _Index
    frames: list[int]
    known_frame: int


_decode_situation = msgspec.json.Decoder(_Situation).decode


def _of_situation(document: str, score: float) -> Highlight:
    """The highlight that a situation is. It ends when the situation is known: with `kill`, when the opponent dies."""
    found = _decode_situation(document)
    return Highlight(
        of="situation",
        situation=found.name,
        player_index=found.player.index,
        opponent_index=found.opponent.index,
        start_frame=found.frames[0],
        end_frame=found.known_frame,
        score=score,
        reasons=(),
    )


def highlight_row(
    game_id: str, number: int, score: int, listed_at_ms: int, highlights: str, situation: str | None
) -> HighlightRow:
    """A row of the statement. `highlights` are those of the game's log, and `situation` is the one that is meant."""
    highlight = _decode(highlights)[number] if situation is None else _of_situation(situation, score / 10)
    return HighlightRow(game_id, number, listed_at_ms, highlight)


def highlights_statement(query: HighlightsQuery, game_ids: list[str] | None) -> tuple[str, list[Any]]:
    """The SQL statement of a page, which reads one highlight more, and its values.

    `game_ids` are the only games to search; `None` searches all games.
    """
    values: list[Any] = []
    conditions: list[str] = []
    of_station = query.station is not UNSET
    # CROSS JOIN: in this order, so that no more is read than the page has.
    if query.order == "best":
        source, key = "highlights h CROSS JOIN games g ON g.game_id = h.game_id", "h.score"
    elif of_station:
        source = "tags t CROSS JOIN games g ON g.game_id = t.game_id CROSS JOIN highlights h ON h.game_id = t.game_id"
        key = "t.listed_at_ms"
        conditions.append("t.kind = 'station' AND t.value = ?")
        values.append(query.station)
    else:
        source, key = "games g CROSS JOIN highlights h ON h.game_id = g.game_id", "g.listed_at_ms"
    if of_station and query.order == "best":
        conditions.append(
            "EXISTS (SELECT 1 FROM tags t WHERE t.kind = 'station' AND t.value = ?"
            " AND t.listed_at_ms = g.listed_at_ms AND t.game_id = g.game_id)"
        )
        values.append(query.station)
    if game_ids is not None:
        conditions.append(f"g.game_id IN ({', '.join('?' * len(game_ids))})")
        values += game_ids
    if query.cursor is not UNSET:
        conditions.append(f"({key}, h.game_id, h.number) < (?, ?, ?)")
        values += query.cursor
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    columns = "h.game_id, h.number, h.score, g.listed_at_ms, g.highlights, s.document"
    source += " LEFT JOIN situations s ON s.id = h.situation"
    statement = f"SELECT {columns} FROM {source} {where}ORDER BY {key} DESC, h.game_id DESC, h.number DESC LIMIT ?"  # noqa: S608 -- the values are bound
    return statement, [*values, query.limit + 1]
