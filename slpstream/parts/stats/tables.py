"""The tables of `slpstream stats`: either one game in full, or a row for each player of every game, with a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from slpstream.api import Replay
from slpstream.cli.game_text import length_text, mode_text, player_text, summary_of
from slpstream.cli.terminal import table_console, table_width
from slpstream.formats.slippi.commands import FRAMES_PER_SECOND
from slpstream.formats.slippi.names import move_name
from slpstream.formats.slippi.stats.schema import Combo, Move, Stats, Stock
from slpstream.formats.slippi.stats.stadium import HomeRun, TargetTest
from slpstream.parts.stats.rows import Figures, GameRow, Grouping, PlayerRow, figures_of, summaries
from slpstream.system.text import printable

_MIN_COMBO_DAMAGE = 40.0
_MIN_COMBO_MOVES = 4
_MAX_COMBOS = 6
_MAX_CHARACTERS = 3

Share = Callable[[float, float], str]
"""Decides how a share is written. This is `share_text`, or `percent_text` if there is only little room."""

_Columns = Sequence[tuple[str, Callable[[Figures, Share], str]]]
"""The titles, each with a function that makes the cells below it."""

_COLUMNS: _Columns = (
    ("kills", lambda f, share: str(f.kills)),
    ("openings\n/kill", lambda f, share: ratio_text(f.openings, f.kills)),
    ("damage\n/opening", lambda f, share: ratio_text(f.damage, f.openings)),
    ("neutral\nwins", lambda f, share: share(f.neutral_wins, f.neutral_total)),
    ("L-\ncancels", lambda f, share: percent_text(f.l_cancels, f.landings)),
    ("inputs\n/min", lambda f, share: ratio_text(f.inputs, f.minutes, digits=0)),
)
"""The columns that both the table of games and the summary have."""
_RESULTS: _Columns = (
    ("games", lambda f, share: str(f.games)),
    ("won", lambda f, share: share(f.won, f.decided)),
    ("deaths", lambda f, share: str(f.deaths)),
    ("conver-\nsions", lambda f, share: share(f.punishes, f.openings)),
)
"""The columns that only the summary has."""
_GAP = 1
_INDENT = "  "
_PADDING = (0, 0, 0, len(_INDENT))


def ratio_text(count: float, total: float, digits: int = 1) -> str:
    """Format a ratio. If `total` is 0, this is a dash."""
    return f"{count / total:.{digits}f}" if total else "-"


def percent_text(count: float, total: float) -> str:
    """Format a share in percent. If `total` is 0, this is a dash."""
    return f"{100 * count / total:.0f}%" if total else "-"


def share_text(count: float, total: float) -> str:
    """Format a share, for example as `1 of 4 (25%)`. If `total` is 0, this is a dash."""
    return f"{count:g} of {total:g} ({percent_text(count, total)})" if total else "-"


def time_text(frame: int, stats: Stats) -> str:
    """Format a frame number as the time since the first frame in which players can move."""
    before_control = stats.last_frame - stats.playable_frame_count
    return length_text(max(0, frame - before_control) / FRAMES_PER_SECOND)


class _GameFigures(NamedTuple):
    """The figures of a game from which the lines of its table are made, by player index."""

    stats: Stats
    figures: Mapping[int, Figures]
    overall: Mapping[int, Any]
    actions: Mapping[int, Any]
    extra: Mapping[int, Any]
    share: Share


def print_game(replay: Replay, *, compat: bool = False, crew: bool = False) -> None:
    """Print one game in full."""
    stats = replay.stats(compat=compat, crew=crew)
    end = replay.game_end
    summary = summary_of(replay.format, replay.settings, end)
    winners = set(summary.winners)
    names = {p.index: printable(player_text(p, won=p.index in winners)) for p in summary.players}
    short = {p.index: f"P{p.port}" for p in summary.players}
    console = table_console()
    length = length_text(end.duration_seconds)
    place = ", ".join(part for part in (summary.place.text, mode_text(summary)) if part)
    about = (printable(replay.path.name), place, length, f"version {summary.version}", end.reason)
    console.print(Text("  ".join(part for part in about if part), style="bold"))
    won = ", ".join(names[index].removesuffix(" *") for index in names if index in winners)
    console.print(Text("Tie" if summary.tied else f"Winner: {won or 'not known'}"))
    stadium = replay.stadium_stats()
    if stadium is not None:
        console.print(Text(_stadium(stadium, stats)))
    console.print()
    wide = [_overall(stats, names, winners, share) for share in (share_text, percent_text)]
    overall = _fitting(console, [*wide, _overall(stats, short, winners, percent_text)])
    if overall not in wide:
        console.print(*map(Text, names.values()), "", sep="\n")
    console.print(overall)
    for table in (_stocks(stats, short, pair=len(names) == 2 and not crew), _combos(stats, short)):
        if table.row_count:
            console.print()
            console.print(table)


def _stadium(stadium: TargetTest | HomeRun, stats: Stats) -> str:
    if isinstance(stadium, HomeRun):
        return f"Home-run contest: {stadium.distance:g} {stadium.units}"
    broken = [one.frame_destroyed for one in stadium.target_breaks if one.frame_destroyed is not UNSET]
    last = f", the last at {time_text(max(broken), stats)}" if broken else ""
    return f"Target test: {len(broken)} of {len(stadium.target_breaks)} targets{last}"


def _fitting(console: Console, tables: Sequence[Table]) -> Table:
    """Return the first table that isn't too wide for the console. If all of them are too wide, return the last one."""
    return next((table for table in tables if table_width(table, console) <= console.width), tables[-1])


def _overall(stats: Stats, names: Mapping[int, str], winners: set[int], share: Share) -> Table:
    extra = {} if stats.extra is UNSET else {player.player_index: player for player in stats.extra.players}
    game = _GameFigures(
        stats,
        {index: figures_of(stats, index, won=index in winners, decided=bool(winners)) for index in names},
        {entry.player_index: entry for entry in stats.overall},
        {entry.player_index: entry for entry in stats.action_counts},
        extra,
        share,
    )
    table = _table("", *names.values(), right=range(1, len(names) + 1))
    for title, cell in _LINES:
        cells = [cell(game, index) for index in names]
        if any(cells):
            table.add_row(title, *map(Text, cells))
    return table


def _figure(name: str, cell: Callable[[Figures, Share], str]) -> tuple[str, Callable[[_GameFigures, int], str]]:
    return name, lambda game, index: cell(game.figures[index], game.share)


def _ratio(name: str, member: str) -> tuple[str, Callable[[_GameFigures, int], str]]:
    def cell(game: _GameFigures, index: int) -> str:
        found = getattr(game.overall[index], member)
        return game.share(found.count or 0, found.total)

    return name, cell


def _action(name: str, cell: Callable[[Any, Share], str]) -> tuple[str, Callable[[_GameFigures, int], str]]:
    return name, lambda game, index: cell(game.actions[index], game.share) if index in game.actions else ""


def _extra(name: str, cell: Callable[[Any, Share], str]) -> tuple[str, Callable[[_GameFigures, int], str]]:
    return name, lambda game, index: cell(game.extra[index], game.share) if index in game.extra else ""


def _first_blood(game: _GameFigures, index: int) -> str:
    first = UNSET if game.stats.extra is UNSET else game.stats.extra.first_blood
    return time_text(first.frame, game.stats) if first is not UNSET and first.last_hit_by == index else ""


def _recoveries(extra: Any, share: Share) -> str:
    return "" if extra.recoveries is UNSET else share(extra.recoveries.count, extra.recoveries.total)


_LINES: Sequence[tuple[str, Callable[[_GameFigures, int], str]]] = (
    _figure("Kills", lambda f, share: str(f.kills)),
    _figure("Damage", lambda f, share: f"{f.damage:.1f}"),
    _figure("Openings", lambda f, share: str(f.openings)),
    _figure("Openings per kill", lambda f, share: ratio_text(f.openings, f.kills)),
    _figure("Damage per opening", lambda f, share: ratio_text(f.damage, f.openings)),
    _ratio("Conversions", "successful_conversions"),
    _ratio("Neutral wins", "neutral_win_ratio"),
    _ratio("Counter hits", "counter_hit_ratio"),
    _ratio("Beneficial trades", "beneficial_trade_ratio"),
    _figure("L-cancels", lambda f, share: share(f.l_cancels, f.landings)),
    _figure("Inputs per minute", lambda f, share: ratio_text(f.inputs, f.minutes)),
    ("Digital inputs per minute", lambda game, i: _per_minute(game.overall[i].digital_inputs_per_minute)),
    _action("Wavedashes, wavelands", lambda a, share: f"{a.wavedash_count}, {a.waveland_count}"),
    _action("Dash dances", lambda a, share: str(a.dash_dance_count)),
    _action("Rolls, spot dodges", lambda a, share: f"{a.roll_count}, {a.spot_dodge_count}"),
    _action("Grabs", lambda a, share: share(a.grab_count.success, a.grab_count.success + a.grab_count.fail)),
    _action(
        "Ground techs",
        lambda a, share: share(
            sum(techs := (a.ground_tech_count.in_, a.ground_tech_count.away, a.ground_tech_count.neutral)),
            sum(techs) + a.ground_tech_count.fail,
        ),
    ),
    _action("Ledge grabs", lambda a, share: str(a.ledgegrab_count)),
    _extra("Recoveries", _recoveries),
    _extra("Stage control", lambda e, share: percent_text(e.stage_control.count, e.stage_control.total)),
    _extra("In shield", lambda e, share: f"{e.shield_frames / FRAMES_PER_SECOND:.1f} s"),
    _extra("Score", lambda e, share: "" if e.score is UNSET else str(e.score)),
    _extra("KOs", lambda e, share: "" if e.kos is UNSET else str(e.kos)),
    _extra("Falls", lambda e, share: "" if e.falls is UNSET else str(e.falls)),
    _extra("Self-destructs", lambda e, share: str(e.self_destructs)),
    _extra("Stocks given up", lambda e, share: "" if e.stocks_given_up is UNSET else str(e.stocks_given_up)),
    ("First blood", _first_blood),
)
"""The lines in the table of a game. A line that is empty for all players is left out."""


def _per_minute(ratio: Any) -> str:
    return "-" if ratio.ratio in (UNSET, None) else f"{ratio.ratio:.1f}"


def _stocks(stats: Stats, names: Mapping[int, str], *, pair: bool) -> Table:
    """Return a table of all lost stocks, in the order of the losses."""
    table = _table("Lost stock", "at", "percent", "by", "with", right=(1, 2))
    kills = {}
    for conversion in stats.conversions:
        if conversion.did_kill:
            kills[conversion.player_index, conversion.end_frame] = conversion
    for stock in sorted((s for s in stats.stocks if s.end_frame is not UNSET), key=_end):
        kill = kills.get((stock.player_index, stock.end_frame))
        if kill is None or kill.last_hit_by is UNSET:
            by, how = ("self-destruct" if pair and kill is None else "", "")
        else:
            by, how = names.get(kill.last_hit_by, ""), _move(kill.moves[-1]) if kill.moves else ""
        percent = "" if stock.end_percent is UNSET else f"{stock.end_percent:.1f}"
        life = "life" if stock.count is UNSET else f"stock {stock.count}"
        lost = f"{names.get(stock.player_index, '')} {life}"
        table.add_row(*map(Text, (lost, time_text(_end(stock), stats), percent, by, how)))
    return table


def _end(stock: Stock) -> int:
    return 0 if stock.end_frame is UNSET else stock.end_frame


def _combos(stats: Stats, names: Mapping[int, str]) -> Table:
    """Return a table of the notable combos with the most damage, in the order of the game."""
    table = _table("Combo", "at", "damage", "moves", right=(1, 2))
    notable = [c for c in stats.combos if c.moves and _is_notable(c)]
    best = sorted(notable, key=_damage, reverse=True)[:_MAX_COMBOS]
    for combo in (c for c in notable if any(c is one for one in best)):
        who = names.get(combo.moves[0].player_index, "")
        moves = ", ".join(map(_move, combo.moves)) + (" (kill)" if combo.did_kill else "")
        on = f"{who} on {names.get(combo.player_index, '')}"
        table.add_row(*map(Text, (on, time_text(combo.start_frame, stats), f"{_damage(combo):.1f}", moves)))
    return table


def _damage(combo: Combo) -> float:
    return sum(move.damage for move in combo.moves)


def _is_notable(combo: Combo) -> bool:
    count = len(combo.moves)
    return count > 1 and (combo.did_kill or count >= _MIN_COMBO_MOVES or _damage(combo) >= _MIN_COMBO_DAMAGE)


def _move(move: Move) -> str:
    return move_name(move.move_id) or f"move {move.move_id}"


def print_rows(games: Sequence[GameRow], by: Grouping) -> None:
    """Print each game with a row for each of its players, and then a summary of each player."""
    console = table_console()
    for part in (*_games(games, console.width), *_summary(games, by, console)):
        console.print(part)


def _games(games: Sequence[GameRow], width: int) -> Iterator[RenderableType]:
    """Yield a line for each game, and below it a table of its players.

    The columns of all tables have the same widths.
    """
    names = {id(player): _player_text(player) for game in games for player in game.players}
    longest = max(map(cell_len, ("players", *names.values())))
    for share in (share_text, percent_text):
        cells = {id(p): [cell(p.figures, share) for _, cell in _COLUMNS] for game in games for p in game.players}
        widths = [
            max(map(len, (*title.split("\n"), *(row[index] for row in cells.values()))))
            for index, (title, _) in enumerate(_COLUMNS)
        ]
        room = width - len(_INDENT) - sum(widths) - _GAP * len(widths)
        if room >= longest:
            break
    widths.insert(0, min(longest, max(room, 1)))
    yield Padding(_player_table([("players", *(title for title, _ in _COLUMNS))], widths, "bold"), _PADDING)
    for game in games:
        end = "" if game.reason == "game_end" else f" ({game.reason})"
        about = (game.stage, length_text(game.duration_seconds) + end)
        line = Text(printable(Path(game.file).name), style="bold", overflow="fold")
        yield line.append("".join(_INDENT + part for part in about if part), style="not bold")
        rows = [(names[id(player)], *cells[id(player)]) for player in game.players]
        yield Padding(_player_table(rows, widths), _PADDING)


def _player_text(player: PlayerRow) -> str:
    name = f"P{player.port} {player.character} {player.code or player.tag or player.name}".rstrip()
    return printable(name + (" *" if player.won else ""))


def _player_table(rows: Iterable[Sequence[str]], widths: Sequence[int], style: str = "") -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), show_header=False)
    for index, width in enumerate(widths):
        table.add_column(
            justify="right" if index else "left", width=width, overflow="fold", vertical="bottom" if style else "top"
        )
    for row in rows:
        table.add_row(*(Text(cell, style=style) for cell in row))
    return table


def _summary(games: Sequence[GameRow], by: Grouping, console: Console) -> Iterator[RenderableType]:
    """Yield the players over all games. They are in one table if it isn't too wide, and otherwise in two."""
    whole = _summary_table(games, by, (*_RESULTS, *_COLUMNS), share_text, characters=True)
    if table_width(whole, console) <= console.width:
        yield from ("", whole)
        return
    for columns in (_RESULTS, _COLUMNS):
        parts = [
            _summary_table(games, by, columns, share, characters=columns is _RESULTS)
            for share in (share_text, percent_text)
        ]
        yield from ("", _fitting(console, parts))


def _summary_table(
    games: Sequence[GameRow],
    by: Grouping,
    columns: _Columns,
    share: Share,
    *,
    characters: bool,
) -> Table:
    table = _table("player", gap=_GAP)
    if characters:
        table.add_column(Text("characters"), overflow="fold", vertical="top")
    for title, _ in columns:
        table.add_column(Text(title), justify="right", no_wrap=True)
    for summary in summaries(games, by):
        cells = [printable(summary.key) or f"(no {by})"]
        if characters:
            played = [f"{name} {count}" if count > 1 else name for name, count in summary.characters]
            rest = len(played) - _MAX_CHARACTERS
            cells.append(", ".join(played[:_MAX_CHARACTERS]) + (f", {rest} more" if rest > 0 else ""))
        table.add_row(*map(Text, (*cells, *(cell(summary.figures, share) for _, cell in columns))))
    return table


def _table(*titles: str, right: Iterable[int] = (), gap: int = 2) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for index, title in enumerate(titles):
        table.add_column(Text(title), justify="right" if index in right else "left", overflow="fold")
    return table
