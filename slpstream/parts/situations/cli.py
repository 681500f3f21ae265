"""`slpstream situations`: find situations in the frames of replays.

`examine` searches one file, and only returns the lines to print and the clips. It runs either in this process or in
several worker processes. The results come in the order of the files.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from slpstream.cli import describe_error, report
from slpstream.cli.game_query import GameQuery, checked_games, config_option, games_option, is_match, me_option
from slpstream.cli.replay_files import FoundReplay, at_hand, fail_without_replays, find_files
from slpstream.cli.replay_work import examined_files
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.query_problem import QueryProblem
from slpstream.system.member_paths import path_text
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.game.dolphin_queue import Clip
    from slpstream.model.occurrence import Occurrence


class Search(NamedTuple):
    """The situation to search for, either in all games or in those that match a query."""

    query: str
    as_json: bool
    games: GameQuery | None


class FileResult(NamedTuple):
    """The result for a file: the lines to print, the parts to play, and (if there is one) the error message with its
    exit code.
    """

    lines: tuple[str, ...] = ()
    clips: tuple[Clip, ...] = ()
    error: str | None = None
    code: int = 0


def _endings() -> tuple[str, ...]:
    from slpstream.formats.registry import format_called
    from slpstream.formats.slplog.container import SUFFIX

    format_ = format_called("slippi")
    return (*(format_.suffixes if format_ is not None else ()), SUFFIX)


def _parse_query(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from slpstream.parts.situations.search import parse, shown

    query = parse(value)
    if isinstance(query, QueryProblem):
        raise click.BadParameter(printable_lines(shown(query, value)))
    return value


def printable_lines(text: str) -> str:
    """Return a text of several lines in a form that is safe for a terminal."""
    return "\n".join(printable(line) for line in text.split("\n"))


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.argument("query", callback=_parse_query)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each situation.")
@click.option(
    "--dolphin",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write the situations to this file, as a queue for Dolphin.",
)
@games_option
@me_option
@config_option
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one per core if there are enough files]"
)
def command(
    paths: tuple[Path, ...],
    query: str,
    as_json: bool,
    dolphin: Path | None,
    games: str | None,
    me: tuple[str, ...],
    config_file: Path | None,
    jobs: int | None,
) -> None:
    """Find the situations that QUERY describes, such as 'fox: upthrow -> upair, kill'.

    The situations of each file are listed below its name, with the time on the game's timer, the first and the last
    frame, and the players. The page docs/data/situations.md describes the queries. Files that cannot be read are
    reported. To find games by their players, characters, stage or date, use `slpstream find`, or --games with the same
    queries.
    """
    wanted = checked_games(games, me, config_file)
    files = list(find_files(paths, _endings()))
    if not files:
        fail_without_replays(paths)
    code, clips = 0, list[Any]()
    search = partial(examine, Search(query, as_json=as_json, games=wanted))
    for result in examined_files(search, files, _endings(), jobs):
        for line in result.lines:
            print(line)
        clips += result.clips
        if result.error is not None:
            report(result.error)
        code = max(code, result.code)
    if dolphin is not None:
        from slpstream.cli.atomic_file import write_atomically
        from slpstream.game.dolphin_queue import combos

        write_atomically(dolphin, [combos(clips)], overwrite=True)
    sys.stdout.flush()
    sys.exit(code)


def examine(search: Search, replay_file: FoundReplay) -> FileResult:
    """Search one replay."""
    from slpstream.api import open_replay, read_game

    file = replay_file.path
    try:
        source = at_hand(replay_file)
        if search.games is not None and not is_match(search.games, file, read_game(source).record()):
            return FileResult()
        replay = open_replay(source)
        found = replay.situations(search.query)
        if not found:
            return FileResult()
        from slpstream.cli.game_text import summary_of
        from slpstream.formats.slippi.game_time import timer_start_at_end
        from slpstream.game.dolphin_queue import around

        end = replay.game_end
        starts_at = timer_start_at_end(end.last_frame, end.duration_seconds)
        players = {player.index: player for player in summary_of(replay.format, replay.settings, None).players}
        lines: list[str] = [] if search.as_json else [printable(path_text(file))]
        clips: list[Clip] = []
        for occurrence in found:
            time = time_text(occurrence.frames[0] - starts_at)
            described = _object(occurrence, players, time) if search.as_json else _text(occurrence, players, time)
            lines.append(_line(file, replay.game_id, described))
            clip = around(file.absolute(), occurrence.frames[0], occurrence.frames[-1])
            clips += [] if clip is None else [clip]
    except (FormatError, SourceError) as error:
        message, code = describe_error(file, error)
        return FileResult(error=message, code=code)
    return FileResult(tuple(lines), tuple(clips))


def _line(file: Path, game_id: str, described: str | dict[str, Any]) -> str:
    if isinstance(described, str):
        return printable(f"  {described}")
    import msgspec

    name = path_text(file).encode("utf-8", "replace").decode()
    return msgspec.json.encode({"file": name, "gameId": game_id, **described}).decode()


def _object(occurrence: Occurrence, players: Any, time: str) -> dict[str, Any]:
    import msgspec

    return {
        "player": msgspec.to_builtins(players[occurrence.player_index]),
        "opponent": msgspec.to_builtins(players[occurrence.opponent_index]),
        "time": time,
        "frames": list(occurrence.frames),
    }


def _text(occurrence: Occurrence, players: Any, time: str) -> str:
    from slpstream.cli.game_text import player_text

    own, other = (
        player_text(players[index], won=False) for index in (occurrence.player_index, occurrence.opponent_index)
    )
    first, last = occurrence.frames[0], occurrence.frames[-1]
    return f"{time}  frames {first} to {last}  {own} against {other}"


def time_text(timer_frames: int) -> str:
    """Return how long the timer of a game has run, in minutes and seconds."""
    minutes, seconds = divmod(max(0, timer_frames) // 60, 60)
    return f"{minutes}:{seconds:02}"
