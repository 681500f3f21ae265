"""The rows of trends, as the endpoint, `--json` and CSV files have them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from slpstream.model.csv_cells import csv_cell
from slpstream.model.summary import Thing
from slpstream.parts.trends.figures import likely_rates
from slpstream.parts.trends.own_games import Trend
from slpstream.web.schemas import Schema

Share = Annotated[float, Meta(ge=0, le=1)]


class TrendRow(Schema, kw_only=True):
    """The games of one group. Figures that no game has are left out."""

    group: Annotated[
        str,
        Meta(
            description="The Monday of the week, the opponent's connect code or name, the character, or the stage. "
            "Empty if it is unknown."
        ),
    ]
    name: Annotated[str, Meta(description="The newest name of an opponent with a connect code.")] = ""
    thing: Annotated[Thing | None, Meta(description="The character or the stage.")] = None
    games: int
    won: int
    win_rate: Share | None = None
    win_rate_low: Annotated[
        Share | None, Meta(description="The lower end of the 95 % interval of the win rate (Wilson).")
    ] = None
    win_rate_high: Annotated[Share | None, Meta(description="The upper end.")] = None
    average_seconds: Annotated[float | None, Meta(description="Average length of a game.")] = None
    kills: float
    openings: float
    damage: float
    openings_per_kill: float | None = None
    damage_per_opening: float | None = None
    neutral_win_rate: Share | None = None
    l_cancel_rate: Annotated[Share | None, Meta(description="Only of the command: the index does not have it.")] = None
    inputs_per_minute: float | None = None


_NUMBERS = tuple(name for name in TrendRow.__struct_fields__ if name not in ("group", "name", "thing"))
_DIGITS = 4


def trend_row(trend: Trend) -> TrendRow:
    """Return the row of a group."""
    group, figures = trend
    low, high = likely_rates(figures.won, figures.games) if figures.games else (None, None)
    return TrendRow(
        group=group.key,
        name="" if group.name == group.key else group.name,
        thing=group.thing if group.thing != Thing() else None,
        games=figures.games,
        won=figures.won,
        win_rate=_rounded(figures.win_rate),
        win_rate_low=_rounded(low),
        win_rate_high=_rounded(high),
        average_seconds=_rounded(figures.average_seconds),
        kills=figures.kills,
        openings=figures.openings,
        damage=round(figures.damage, _DIGITS),
        openings_per_kill=_rounded(figures.openings_per_kill),
        damage_per_opening=_rounded(figures.damage_per_opening),
        neutral_win_rate=_rounded(figures.neutral_win_rate),
        l_cancel_rate=_rounded(figures.l_cancel_rate),
        inputs_per_minute=_rounded(figures.inputs_per_minute),
    )


def csv_of(rows: Iterable[tuple[str, TrendRow]]) -> str:
    """Return rows as a CSV file, each with its grouping."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["by", "group", "name", *_NUMBERS])
    for by, row in rows:
        values = [getattr(row, name) for name in _NUMBERS]
        writer.writerow(map(_cell, [by, row.group, row.name, *values]))
    return buffer.getvalue()


def _cell(value: str | float | None) -> str | float:
    if value is None:
        return ""
    return csv_cell(value) if isinstance(value, str) else value


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
