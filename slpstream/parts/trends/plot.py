"""Draws the trends of a player as an SVG file: one plot for each figure, with a point for each week."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.parts.trends.figures import Figures
    from slpstream.parts.trends.own_games import Trend

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


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


_PLOTS = (
    _Plot("Games won", lambda f: _percent(f.win_rate), " %"),
    _Plot("Neutral wins", lambda f: _percent(f.neutral_win_rate), " %"),
    _Plot("Openings per kill", lambda f: f.openings_per_kill),
    _Plot("Damage per opening", lambda f: f.damage_per_opening),
    _Plot("L-cancels", lambda f: _percent(f.l_cancel_rate), " %"),
    _Plot("Inputs per minute", lambda f: f.inputs_per_minute),
)


def drawn(title: str, by_week: Sequence[Trend]) -> str:
    """Return an SVG document. Weeks without games have their place, in which the line has a gap.

    `by_week` has the weeks in their order. Those without a date are left out.
    """
    title = printable(title)
    dated = [trend for trend in by_week if trend.group.key]
    height = 40 + _HEIGHT * len(_PLOTS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="title" x="{_LEFT}" y="24">{escape(title)}</text>',
    ]
    if dated:
        weeks = weeks_between(dated[0].group.key, dated[-1].group.key)
        for number, plot in enumerate(_PLOTS):
            parts.append(f'<g transform="translate(0 {40 + number * _HEIGHT})">')
            parts += _lines(plot, dated, weeks)
            parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def weeks_between(first: str, last: str) -> list[str]:
    """Return all Mondays from the first to the last."""
    monday, end = date.fromisoformat(first), date.fromisoformat(last)
    return [(monday + timedelta(weeks=week)).isoformat() for week in range((end - monday).days // 7 + 1)]


_Point = tuple[float, float, Any, float]
"""Its place, its week, and the value."""


def _lines(plot: _Plot, trends: Sequence[Trend], weeks: Sequence[str]) -> list[str]:
    """Return the elements of one plot."""
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(weeks) - 1)
    places = {week: _LEFT + i * step for i, week in enumerate(weeks)}
    found = [(trend, value) for trend in trends if (value := plot.value(trend.figures)) is not None]
    top = 100.0 if plot.unit else max((value for _, value in found), default=0.0) * 1.1 or 1.0
    bottom_y = _HEIGHT - _BOTTOM

    def height(value: float) -> float:
        return bottom_y - value / top * (bottom_y - _TOP)

    points = [(places[trend.group.key], height(value), trend, value) for trend, value in found]
    lines = [
        f'<text class="title" x="{_LEFT}" y="20">{plot.title}</text>',
        f'<line class="axis" x1="{_LEFT}" y1="{bottom_y}" x2="{_WIDTH - _RIGHT}" y2="{bottom_y}"/>',
        f'<text x="{_LEFT - 8}" y="{bottom_y}" text-anchor="end">0</text>',
        f'<text x="{_LEFT - 8}" y="{_TOP + 5}" text-anchor="end">{top:.0f}{plot.unit}</text>',
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">{weeks[0]}</text>',
    ]
    if len(weeks) > 1:
        lines.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 6}" text-anchor="end">{weeks[-1]}</text>')
    runs = (" ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in run) for run in _runs(points, step))
    lines += [f'<polyline class="line" points="{run}"/>' for run in runs]
    for x, y, trend, value in points:
        games = f"{trend.figures.games} {'game' if trend.figures.games == 1 else 'games'}"
        told = f"{trend.group.key}: {value:.1f}{plot.unit}, {games}"
        lines.append(f'<circle class="week" cx="{x:.1f}" cy="{y:.1f}" r="3.5"><title>{told}</title></circle>')
    return lines


def _runs(points: Sequence[_Point], step: float) -> Iterator[Sequence[_Point]]:
    """Yield the points of successive weeks."""
    start = 0
    for place in range(1, len(points) + 1):
        if place == len(points) or points[place][0] - points[place - 1][0] > 1.5 * step:
            yield points[start:place]
            start = place
