"""Draws the trends of a player as an SVG file: one plot for each figure, with a point for each week."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from slpstream.parts.stats.rows import Figures
    from slpstream.parts.stats.trends import Trend

_WIDTH, _HEIGHT = 760, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 34, 24
_STYLE = """
svg { font: 13px system-ui, sans-serif; background: #fff; color: #1b1f27; }
@media (prefers-color-scheme: dark) { svg { background: #10141b; color: #e8eaf0; } }
text { fill: currentColor; }
.title { font-weight: 700; }
.axis { stroke: currentColor; stroke-opacity: 0.3; }
.line { fill: none; stroke: #4c8bf5; stroke-width: 2; }
.week { fill: #4c8bf5; }
"""


class _Plot(NamedTuple):
    title: str
    value: Callable[[Figures], float | None]
    unit: str = ""


def _ratio(count: float, total: float, scale: float = 1) -> float | None:
    return scale * count / total if total else None


_PLOTS = (
    _Plot("Games won", lambda f: _ratio(f.won, f.decided, 100), " %"),
    _Plot("Neutral wins", lambda f: _ratio(f.neutral_wins, f.neutral_total, 100), " %"),
    _Plot("Openings per kill", lambda f: _ratio(f.openings, f.kills)),
    _Plot("Damage per opening", lambda f: _ratio(f.damage, f.openings)),
    _Plot("L-cancels", lambda f: _ratio(f.l_cancels, f.landings, 100), " %"),
    _Plot("Inputs per minute", lambda f: _ratio(f.inputs, f.minutes)),
)


def drawn(title: str, by_week: Sequence[Trend]) -> str:
    """Return an SVG document. Weeks without games have their place, and the line goes on after them.

    `by_week` has the weeks in their order. Those without a date are left out.
    """
    dated = [trend for trend in by_week if trend.group]
    height = 40 + _HEIGHT * len(_PLOTS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="title" x="{_LEFT}" y="24">{escape(title)}</text>',
    ]
    if dated:
        weeks = weeks_between(dated[0].group, dated[-1].group)
        for number, plot in enumerate(_PLOTS):
            parts.append(f'<g transform="translate(0 {40 + number * _HEIGHT})">')
            parts += _lines(plot, dated, weeks)
            parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def weeks_between(first: str, last: str) -> list[str]:
    """Return all Mondays from the first to the last."""
    monday, end = date.fromisoformat(first), date.fromisoformat(last)
    return [(monday + timedelta(weeks=week)).isoformat() for week in range((end - monday).days // 7 + 1)]


def _lines(plot: _Plot, trends: Sequence[Trend], weeks: Sequence[str]) -> list[str]:
    """Return the elements of one plot."""
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(weeks) - 1)
    places = {week: _LEFT + i * step for i, week in enumerate(weeks)}
    found = [(trend, value) for trend in trends if (value := plot.value(trend.figures)) is not None]
    top = 100.0 if plot.unit else max((value for _, value in found), default=0.0) * 1.1 or 1.0
    bottom_y = _HEIGHT - _BOTTOM

    def height(value: float) -> float:
        return bottom_y - value / top * (bottom_y - _TOP)

    points = [(places[trend.group], height(value), trend, value) for trend, value in found]
    lines = [
        f'<text class="title" x="{_LEFT}" y="20">{plot.title}</text>',
        f'<line class="axis" x1="{_LEFT}" y1="{bottom_y}" x2="{_WIDTH - _RIGHT}" y2="{bottom_y}"/>',
        f'<text x="{_LEFT - 8}" y="{bottom_y}" text-anchor="end">0</text>',
        f'<text x="{_LEFT - 8}" y="{_TOP + 5}" text-anchor="end">{top:.0f}{plot.unit}</text>',
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{weeks[0]}</text>',
    ]
    if len(weeks) > 1:
        lines.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">{weeks[-1]}</text>')
    lines.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in points)}"/>')
    for x, y, trend, value in points:
        games = f"{trend.figures.games} {'game' if trend.figures.games == 1 else 'games'}"
        told = f"{trend.group}: {value:.1f}{plot.unit}, {games}"
        lines.append(f'<circle class="week" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{told}</title></circle>')
    return lines
